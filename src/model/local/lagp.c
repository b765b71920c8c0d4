/* lagp: the model and its expression lagp(design=mspe,start=6,close=1000,local=yes,scale=integrated) (lagp.h).

   Hyperparameters are those of all rows: the largest pseudo-likelihood (nene.c) of at most LEARNED rows, drawn at random, each given
   its nearest rows, as many as a design has. */
#include <math.h>

#include "model/local/lagp_posterior.h"
#include "model/local/vecchia_state.h"
#include "model/made.h"

enum { LEARNED = 2000, ROWS = 50, START = 6, CLOSE = 1000 };

static const lagp_kind defaults = {.design = DESIGN_ALC};

static const lagp_kind *kind_of(const model_ops *self) { return self->family; }

/* --------------------------------------------------------------------------------------------- model */

static int64_t rows_of(const problem *p)
{
    return p->near.predict > 0 ? p->near.predict : p->near.learn > 0 ? p->near.learn : ROWS;
}

static anygp_status check_kind(const lagp_kind *k, const problem *p, anygp_error *e)
{
    int64_t m = rows_of(p);
    if (k->start > m) /* 0: not given */
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "lagp(start=%lld), but a design has %lld rows; use a smaller start, or a larger --neighbors",
                         (long long)k->start, (long long)m);
    if (k->close > 0 && k->close < m)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "lagp(close=%lld), but a design has %lld rows to choose from them; use a larger close, or a "
                         "smaller --neighbors",
                         (long long)k->close, (long long)m);
    return ANYGP_OK;
}

static anygp_status lagp_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    TRY(check_kind(kind_of(self), p, e));
    TRY(vecchia_open_with(self, p, h, ROWS, LEARNED, state, e));
    ((vecchia_state *)*state)->predict = rows_of(p);
    return ANYGP_OK;
}

/* What the user did not give, for designs of this size. */
static lagp_kind complete(lagp_kind k, const vecchia_posterior *p)
{
    int64_t m = vecchia_near(p);
    if (k.start == 0) k.start = START < m ? START : m;
    if (k.close == 0) k.close = CLOSE > m ? CLOSE : m;
    return k;
}

static void take_kind(const model_ops *self, posterior *p)
{
    lagp_take_kind(p, complete(*kind_of(self), &((lagp_posterior *)p)->near));
}

static anygp_status lagp_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    vecchia_state *q = state;
    TRY(vecchia_posterior_as(q, &lagp_form, h, jitter, out, e));
    take_kind(q->self, *out);
    return ANYGP_OK;
}

anygp_status lagp_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                       int64_t count, posterior **out, anygp_error *e)
{
    TRY(vecchia_load_as(&lagp_form, k, noise, mean, D, list, count, out, e));
    take_kind(self, *out);
    return ANYGP_OK;
}

static int64_t lagp_size(const problem *p) { return rows_of(p) < p->rows->n ? rows_of(p) : p->rows->n; }

static model_cost lagp_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    static const double SHARE = 0.1; /* of R: small matrices */
    double k = ROWS, n = fmin(f->rows, LEARNED), D = (double)f->inputs;
    (void)self, (void)s;
    return (model_cost){.rows = cost_of_work(f, SHARE, n * k * k * k, n * k * k / 2),
                        .bytes = 8 * (f->rows * (3 * D + 6) + n * 2 * k + f->threads * 16 * k * k),
                        .last = 8 * f->rows * (2 * D + 4)};
}

const model_ops model_lagp = {
    .name = "lagp",
    .summary = "each row given rows chosen for it",
    .objective = "log pseudo-likelihood",
    .family = &defaults,
    .needs = {.rows = ROWS_ALL, .local = true, .mean = true, .weights = true, .near = true},
    .order = "k^3",
    .jitter = 0,
    .cost = lagp_cost,
    .size = lagp_size,
    .open = lagp_open,
    .renew = vecchia_renew,
    .evaluate = vecchia_evaluate,
    .failure = vecchia_failure,
    .posterior = lagp_to_posterior,
    .rows = vecchia_total,
    .close = vecchia_close,
    .load = lagp_load,
    .update = &lagp_update_ops,
    .sum = &vecchia_sum,
};

/* ---------------------------------------------------------------------------------------- expressions */

enum { DESIGN, STARTS, CLOSENESS, LOCAL, SCALE, OPTIONS };
static const char *const designs[] = {"alc", "mspe", "nn", "ray", NULL}, *const answers[] = {"no", "yes", NULL},
                         *const scales[] = {"fixed", "integrated", NULL};

static const made_option options[OPTIONS] = {[DESIGN] = {"design", .words = designs},
                                             [STARTS] = {"start"},
                                             [CLOSENESS] = {"close"},
                                             [LOCAL] = {"local", .words = answers},
                                             [SCALE] = {"scale", .words = scales}};

anygp_status made_lagp(scanner *s, made_model **out, anygp_error *e)
{
    int64_t value[OPTIONS];
    TRY(made_options(s, "lagp", OPTIONS, options, value));
    TRY(scan_end(s));
    TRY(made_new(&model_lagp, sizeof(*out)->kind.lagp, out, e));
    (*out)->kind.lagp = (lagp_kind){.design = (lagp_design)value[DESIGN],
                                    .start = value[STARTS],
                                    .close = value[CLOSENESS],
                                    .local = value[LOCAL],
                                    .integrated = value[SCALE]};
    made_write("lagp", OPTIONS, options, value, (*out)->name, sizeof(*out)->name);
    return ANYGP_OK;
}
