/* Vecchia's approximation: learning (vecchia.h). */
#include "model/local/vecchia.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "linalg/jitter.h"
#include "model/local/vecchia_state.h"

/* ------------------------------------------------------------------------------------------- state */

static void look_at(vecchia_state *q, const hyper *h)
{
    q->view = *h;
    q->view.D = q->problem->rows->D;
    if (!model_has_inducing(q->self)) q->view.M = 0, q->view.Z = q->view.C = NULL, q->view.learn_Z = false;
    q->s.h = &q->view;
}

static int64_t near_of(const problem *p) { return p->near.learn > 0 ? p->near.learn : VECCHIA_NEAR; }

void vecchia_close(void *state)
{
    vecchia_state *q = state;
    if (!q) return;
    arrangement_clear(&q->a);
    sparse_clear(&q->s);
    free(q->marks);
    free(q->stat);
    free(q->adjoint);
    free(q->chosen);
    merged_clear(&q->some);
    free(q);
}

/* A list of nearest other rows needs another row; earlier ones may be none. */
static anygp_status check_neighbours(const model_ops *self, const problem *p, anygp_error *e)
{
    if (self->needs.ordered || p->rows->n > 1) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "%s needs two rows with different inputs, so that each has a neighbour; use --model exact",
                     self->name);
}

anygp_status vecchia_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    return vecchia_open_with(self, p, h, VECCHIA_NEAR, INT64_MAX, state, e);
}

anygp_status vecchia_open_with(const model_ops *self, const problem *p, const hyper *h, int64_t near, int64_t most,
                               void **state, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    vecchia_state *q = calloc(1, sizeof *q);
    if (!q) return fail_memory(e, "the model", sizeof *q);
    q->problem = p, q->seen = 1, q->self = self, q->ordered = self->needs.ordered;
    q->near = p->near.learn > 0 ? p->near.learn : near;
    q->predict = p->rows->D < VECCHIA_WIDE ? VECCHIA_PREDICT : VECCHIA_PREDICT_WIDE;
    TRY_DONE(check_neighbours(self, p, e));
    TRY_DONE(vecchia_choose_rows(q, h->kernel, most, e));
    look_at(q, h);
    TRY_DONE(sparse_init(&q->s, KEPT_BLOCK, p->mean, &q->view, q->learned->total, e));
    look_at(q, h);
    q->marks = mem_alloc(vecchia_mark_count(h->kernel), sizeof *q->marks);
    q->stat = mem_alloc(sparse_given_at_once.stat_size(&q->s), sizeof *q->stat);
    q->adjoint = mem_alloc(sparse_given.adjoint_size(&q->s), sizeof *q->adjoint);
    if (!q->marks || !q->stat || !q->adjoint) {
        status = fail_memory(e, "the sums", 16.0 * (double)q->s.Mt);
        goto done;
    }
    vecchia_marks(h->kernel, q->marks);
    TRY_DONE(vecchia_arrange(q, h->kernel, e));
done:
    if (ANYGP_FAILED(status))
        vecchia_close(q);
    else
        *state = q;
    return status;
}

/* ------------------------------------------------------------------------------------- evaluations */

/* What this jitter adds to the noise at h. */
static double added(const vecchia_state *q, const hyper *h, double jitter)
{
    double variance;
    kernel_diag(h->kernel, 1, q->problem->rows->X, q->problem->rows->D, &variance);
    return jitter * variance;
}

anygp_status vecchia_prepare(vecchia_state *q, const hyper *h, double jitter, anygp_error *e)
{
    sparse *s = &q->s;
    double within = s->M ? jitter : 0;
    q->jitter = jitter;
    look_at(q, h);
    if (!inducing_prepare(&s->u, h->kernel, hyper_set_of(&q->view), false, &within)) return inducing_no_factor(e);
    s->noise = h->like[0] + kernel_white(h->kernel) + added(q, h, jitter);
    return ANYGP_OK;
}

/* Sums over all groups at h, and without a mean and inducing inputs the adjoints too.  partly: over those that there is time for. */
static anygp_status pass(vecchia_state *q, const hyper *h, double jitter, bool partly, anygp_error *e)
{
    sparse *s = &q->s;
    TRY(vecchia_prepare(q, h, jitter, e));
    driver_expect_reverse(q->a.driver, s->Mt > 0);
    driver_until(q->a.driver, q->problem->pass, &q->seen);
    anygp_status status = driver_stat(q->a.driver, s, 0, NULL, 1, q->stat, e);
    driver_until(q->a.driver, NULL, NULL);
    if (ANYGP_FAILED(status)) return status;
    return q->seen < 1 && !partly ? ANYGP_TIME_LIMIT : ANYGP_OK;
}

double vecchia_within(const vecchia_state *q) { return q->learned->SS / q->s.noise; }

static anygp_status head(vecchia_state *q, bool gradient, double *value, anygp_error *e)
{
    sparse *s = &q->s;
    if (s->Mt == 0)
        *value = -0.5 * (s->total * LOG_2PI + *stat_l(s, q->stat) + *stat_q(s, q->stat));
    else if (!sparse_evidence(s, q->stat, gradient, value))
        *value = NAN;
    *value -= 0.5 * vecchia_within(q);
    return isfinite(*value) ? ANYGP_OK : fail_with(e, ANYGP_ERR_NUMERIC, "the log evidence is not a number");
}

anygp_status vecchia_finish(vecchia_state *q, double *adjoint, double *gp, anygp_error *e)
{
    memset(gp, 0, (size_t)hyper_size(q->s.h) * sizeof *gp);
    if (!sparse_finish(&q->s, adjoint, gp)) return fail_memory(e, "kernel tiles", 0);
    double *noise = &gp[hyper_kernel_params(q->s.h)], share;
    *noise += 0.5 * vecchia_within(q) / q->s.noise;
    share = q->jitter * *noise;
    kernel_diag_reverse(q->s.h->kernel, 1, q->problem->rows->X, q->s.D, &share, gp, NULL, 0);
    return ANYGP_OK;
}

static anygp_status gradient_of(vecchia_state *q, double *gp, anygp_error *e)
{
    double *adjoint = q->s.Mt ? q->adjoint : q->stat + sparse_given.stat_size(&q->s);
    if (q->s.Mt) {
        driver_until(q->a.driver, q->problem->pass, &q->seen);
        anygp_status status = driver_reverse(q->a.driver, &q->s, 0, NULL, 1, adjoint, e);
        driver_until(q->a.driver, NULL, NULL);
        if (ANYGP_FAILED(status)) return status;
        if (q->seen < 1) return ANYGP_TIME_LIMIT;
    }
    return vecchia_finish(q, adjoint, gp, e);
}

static anygp_status evidence(vecchia_state *q, const hyper *h, double jitter, double *value, double *gp, anygp_error *e)
{
    anygp_status status = pass(q, h, jitter, false, e);
    if (status == ANYGP_OK) status = head(q, gp != NULL, value, e);
    if (gp) memset(gp, 0, (size_t)hyper_size(h) * sizeof *gp);
    return status == ANYGP_OK && gp ? gradient_of(q, gp, e) : status;
}

bool vecchia_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    vecchia_state *q = state;
    anygp_error why = {0};
    anygp_status status = evidence(q, h, *jitter, value, gp, &why);
    while (status == ANYGP_ERR_NUMERIC && grow && *jitter < JITTER_MOST) {
        *jitter = jitter_next(*jitter);
        status = evidence(q, h, *jitter, value, gp, &why);
    }
    q->failure = model_failure(status, &why);
    return status == ANYGP_OK;
}

int64_t vecchia_blocks(const void *state) { return ((const vecchia_state *)state)->a.blocks->count; }

static anygp_status vecchia_estimate(void *state, const hyper *h, double jitter, int64_t count, const int64_t *which,
                                     double scale, double *value, double *gp, anygp_error *e)
{
    vecchia_state *q = state;
    TRY(vecchia_prepare(q, h, jitter, e));
    TRY(driver_stat(q->a.driver, &q->s, count, which, scale, q->stat, e));
    TRY(head(q, true, value, e));
    return gradient_of(q, gp, e);
}

const sum_ops vecchia_sum = {.blocks = vecchia_blocks, .estimate = vecchia_estimate};

const anygp_error *vecchia_failure(const void *state) { return &((const vecchia_state *)state)->failure; }
double vecchia_total(const void *state) { return ((const vecchia_state *)state)->s.total; }
int64_t vecchia_size(const problem *p) { return near_of(p) < p->rows->n ? near_of(p) : p->rows->n; }

anygp_status vecchia_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    vecchia_state *q = state;
    return vecchia_posterior_as(q, q->ordered ? &vecchia_form : &vecchia_marginal_form, h, jitter, out, e);
}

anygp_status vecchia_posterior_at(vecchia_state *q, const posterior_form *form, const hyper *h, double jitter,
                                  const double *mean, const double *B, posterior **out, anygp_error *e)
{
    const merged *m = q->problem->rows;
    vecchia_rows rows = {.n = m->n,
                         .D = m->D,
                         .X = m->X,
                         .y = m->y,
                         .w = m->c,
                         .near = q->problem->near.predict,
                         .learned = q->near,
                         .jitter = added(q, h, jitter),
                         .u = q->s.M ? &q->s.u : NULL};
    if (rows.near <= 0) rows.near = q->predict;
    return vecchia_posterior_new(form, h->kernel, h->like[0], q->problem->mean, &rows, mean, B, out, e);
}

/* The posterior of v, the values at the inducing inputs and the mean's coefficients: after the deadline from as many groups as were seen. */
static anygp_status find_v(vecchia_state *q, const hyper *h, double *jitter, anygp_error *e)
{
    double value;
    anygp_status status = pass(q, h, *jitter, true, e);
    if (status == ANYGP_OK) status = head(q, false, &value, e);
    if (status != ANYGP_ERR_NUMERIC || *jitter >= JITTER_MOST) return status;
    *jitter = jitter_next(*jitter);
    return find_v(q, h, jitter, e);
}

const char *vecchia_remark(const void *state)
{
    const vecchia_state *q = state;
    return *q->remark ? q->remark : NULL;
}

double vecchia_seen(const void *state) { return ((const vecchia_state *)state)->seen; }

anygp_status vecchia_posterior_as(vecchia_state *q, const posterior_form *form, const hyper *h, double *jitter,
                                  posterior **out, anygp_error *e)
{
    q->seen = 1; /* the rows themselves are all there */
    if (q->s.Mt) TRY(find_v(q, h, jitter, e));
    return vecchia_posterior_at(q, form, h, *jitter, q->s.m, q->s.B, out, e);
}

/* ------------------------------------------------------------------------------------------- table */

model_cost vecchia_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    static const double SHARE = 0.1; /* of R: small matrices */
    double k = VECCHIA_NEAR, D = (double)f->inputs;
    (void)self, (void)s;
    /* Of a group of 8 rows with 1.5 k in all: the factor, its inverse and the adjoint; orders and neighbours, over
       all evaluations, take the longer the more inputs there are.  With lists and blocks on disk, grouping still needs 6 numbers for a row. */
    return (model_cost){.rows = cost_of_work(f, SHARE, (10 + 5 * D) * f->rows * k * k, 20 * f->rows * k),
                        .bytes = f->rows * (8 * (3 * D + 6) + 12 * k) + 8 * f->threads * 16 * k * k,
                        .state = f->rows * (12 * k - 48),
                        .last = 8 * f->rows * (2 * D + 4)};
}

const model_ops model_vecchia = {
    .name = "vecchia",
    .summary = "each row given its nearest earlier rows",
    .objective = "log evidence",
    .needs =
        {.rows = ROWS_ALL, .local = true, .mean = true, .weights = true, .near = true, .ordered = true, .joint = true},
    .order = "n k^2",
    .jitter = 0,
    .cost = vecchia_cost,
    VECCHIA_RUN,
    .information = vecchia_information,
    .sum = &vecchia_sum,
    .update = &vecchia_update_ops,
    .with_inducing = &vecchia_full,
    .ordinary = VECCHIA_GAP_ROWS,
};
