/* Labelled rows to scores, a block at a time: normal predictions as they are, classes by their probabilities, other targets and
   mixtures by what the likelihood says about them.  Over several processes all have the rows; each predicts its share of every block, and
   all score all predictions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "gp/gp.h"
#include "gp/ranks.h"

struct scorer {
    predictor *predictor;
    const gp *g;
    const comm *comm;
    bool latent;
    observer o;
    likelihood seen; /* for gaussian targets, what o says */
    int64_t filled, block, *number;
    int64_t *in;                  /* block of each row; */
    int64_t *label;               /* its class */
    bool routed;                  /* blocks are not given */
    double *X, *y, *w, *exposure; /* X in model units, y in data units */
    double *out;                  /* block x width: what was predicted */
    regression_scores acc;
    class_scores *classes;      /* NULL: the target is a number */
    double *expects;            /* to work with, block x (2 C + 1); NULL: gaussian */
    exact_sum expected, weight; /* of this rank's rows */
    int64_t rows;               /* so far */
};

/* Columns of `out`, each of all rows of a block.  Normal predictions have the first three, classes a column each; Y comes behind the last,
   which is to work with. */
enum {
    OUT_MEAN,
    OUT_VARIANCE,
    OUT_NOISE,
    OUT_BELOW = OUT_NOISE,
    OUT_UP_TO,
    OUT_DENSITY,
    OUT_WIDTH,
    OUT_CRPS,
    OUT_WORK,
    OUT_Y
};

void scorer_free(scorer *r)
{
    if (!r) return;
    predictor_free(r->predictor);
    class_scores_free(r->classes);
    double *const owned[] = {r->X, r->y, r->w, r->exposure, r->out, r->expects};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(r->number);
    free(r->in);
    free(r->label);
    free(r);
}

/* Doubles of `out` per row. */
static int64_t out_width(const gp *g)
{
    return gp_is_class(g) ? g->schema.classes : gp_is_normal(g) ? OUT_NOISE + 1 : OUT_Y + g->likelihood->columns;
}

/* Columns of `out` that scores of all rows are made of. */
static int64_t out_shared(const gp *g)
{
    return gp_is_class(g) ? g->schema.classes : gp_is_normal(g) ? OUT_VARIANCE + 1 : OUT_CRPS + 1;
}

static anygp_status scorer_rows(scorer *r, anygp_error *e)
{
    int64_t D = r->g->schema.D, width = out_width(r->g);
    double **const columns[] = {&r->y, &r->w, &r->exposure};
    r->block = predictor_block(r->predictor);
    TRY(ranks_least(r->comm, &r->block, e));
    r->X = mem_doubles(r->block, D);
    r->out = mem_doubles(r->block, width);
    r->number = mem_alloc(r->block, sizeof *r->number);
    r->in = mem_alloc(r->block, sizeof *r->in);
    r->label = mem_alloc(r->block, sizeof *r->label);
    bool ok = r->X && r->out && r->number && r->in && r->label;
    for (int i = 0; i < 3; i++) ok = (*columns[i] = mem_alloc(r->block, sizeof(double))) && ok;
    if (!gp_is_gaussian(r->g)) ok = (r->expects = mem_doubles(r->block, 2 * gp_latents(r->g) + 1)) && ok;
    if (gp_is_class(r->g)) ok = (r->classes = class_scores_new(r->g->schema.classes)) && ok;
    return ok ? ANYGP_OK : fail_memory(e, "scores", 8.0 * (double)r->block * (double)(D + width + 6));
}

void gp_see_width(const gp *g, observer *o, likelihood *seen)
{
    const schema *s = &g->schema;
    double sd = warp_is(&s->warp) ? 1e-12 : 1e-12 * s->y_sd / s->y_scale;
    *seen = *o->like;
    seen->value[0] = fmax(seen->value[0], sd * sd);
    o->like = seen;
}

anygp_status scorer_new(const gp *g, const comm *c, double bytes, bool latent, scorer **out, anygp_error *e)
{
    if (latent && !gp_is_gaussian(g))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "with the likelihood %s f and y cannot be compared; score without latent",
                         g->likelihood->ops->name);
    scorer *r = calloc(1, sizeof *r);
    if (!r) return fail_memory(e, "scores", sizeof *r);
    r->g = g, r->comm = c, r->latent = latent, r->o = gp_observer(g, latent);
    if (gp_is_gaussian(g)) gp_see_width(g, &r->o, &r->seen);
    regression_scores_begin(&r->acc, g->schema.y_mean, g->schema.y_sd);
    anygp_status status = predictor_new(g, bytes, &r->predictor, e);
    if (!ANYGP_FAILED(status)) status = scorer_rows(r, e);
    if (ANYGP_FAILED(status))
        scorer_free(r);
    else
        *out = r;
    return status;
}

/* ---------------------------------------------------------------------------------- one block */

static const double Z_MOST = 1e140;

/* The rows of a block that this rank predicts. */
typedef struct share {
    row_batch b;
    int64_t from, all; /* of so many */
    const double *y, *w;
} share;

static share share_of(const scorer *r, int64_t n)
{
    int64_t from = ranks_from(r->comm, n);
    return (share){.b = {.n = ranks_end(r->comm, n) - from,
                         .X = r->X + from * r->g->schema.D,
                         .number = {0, r->number + from},
                         .block = r->routed ? NULL : r->in + from,
                         .exposure = r->g->schema.exposed ? r->exposure + from : NULL},
                   .from = from,
                   .all = n,
                   .y = r->y + from,
                   .w = r->w + from};
}

static double *out_column(const scorer *r, const share *h, int k) { return r->out + k * h->all + h->from; }

/* E[log N(y; f, s^2)], f ~ N(mean, variance - s^2): what is not f is noise, white terms too. */
static void expect_normal(scorer *r, const share *h, const double *mean, const double *variance, const double *noise)
{
    for (int64_t i = 0; i < h->b.n; i++) {
        if (!isfinite(h->y[i]) || !(noise[i] > 0)) continue;
        double z = fmin(fabs(h->y[i] - mean[i]) / sqrt(noise[i]), Z_MOST), u = variance[i] - (r->latent ? 0 : noise[i]);
        exact_add(&r->expected, -0.5 * h->w[i] * (LOG_2PI + log(noise[i]) + z * z + fmax(u, 0) / noise[i]));
        exact_add(&r->weight, h->w[i]);
    }
}

static void expect_observed(scorer *r, const share *h, const latents *f, const double *Y)
{
    exact_add(&r->expected, observe_expected(&r->o, f, Y, h->w, r->rows + h->from, r->expects));
    for (int64_t i = 0; i < f->n; i++) exact_add(&r->weight, h->w[i]);
}

/* The same for a mixture, or a target that was transformed.  E is of the second order in f: moments are enough, where there is one noise.
   mean[n], variance[n]: work. */
static void expect_mixture(scorer *r, const share *h, const latents *f, const double *Y, double *mean, double *variance)
{
    const posterior *q = r->g->posterior;
    if (q->noises || q->ops->marginal_noise) return;
    double s2 = gp_observation_variance(r->g);
    mixture_moments(r->o.like, f, NULL, mean, variance);
    for (int64_t i = 0; i < f->n; i++) {
        double z = fmin(fabs(Y[i] - mean[i]) / sqrt(s2), Z_MOST), u = variance[i] - (r->latent ? 0 : s2);
        if (!isfinite(h->y[i]) || !(s2 > 0)) continue;
        double model = -0.5 * (LOG_2PI + log(s2) + z * z + fmax(u, 0) / s2);
        exact_add(&r->expected, h->w[i] * (model + observe_log_slope(&r->o, h->y[i])));
        exact_add(&r->weight, h->w[i]);
    }
}

static anygp_status predict_normal(scorer *r, const share *h, anygp_error *e)
{
    double *mean = out_column(r, h, OUT_MEAN), *variance = out_column(r, h, OUT_VARIANCE);
    double *noise = out_column(r, h, OUT_NOISE);
    TRY(predictor_run_noise(r->predictor, &h->b, r->latent, mean, variance, noise, e));
    expect_normal(r, h, mean, variance, noise);
    return ANYGP_OK;
}

static anygp_status predict_classes(scorer *r, const share *h, anygp_error *e)
{
    latents f;
    TRY(predictor_latents(r->predictor, &h->b, true, &f, e));
    observe_classes(&r->o, &f, out_column(r, h, 0), h->all);
    expect_observed(r, h, &f, h->y);
    return ANYGP_OK;
}

/* P(y' < y) of a count is P(y' <= y - 1), and P(y' <= y) of a real target.  Y's first column has y in model units; y: work. */
static void predict_ranks(const scorer *r, const row_batch *b, const latents *f, const double *Y, double *y,
                          double *below, double *up_to)
{
    const likelihood *l = r->o.like;
    int64_t n = b->n;
    for (int64_t i = 0; i < n; i++) y[i] = Y[i * l->columns];
    observe_cdf(&r->o, f, y, b->exposure, up_to);
    memcpy(below, up_to, (size_t)n * sizeof *below);
    if (l->ops->target != TARGET_COUNT) return;
    for (int64_t i = 0; i < n; i++) y[i]--;
    observe_cdf(&r->o, f, y, b->exposure, below);
    for (int64_t i = 0; i < n; i++)
        if (y[i] < 0) below[i] = 0;
}

static anygp_status predict_observed(scorer *r, const share *h, anygp_error *e)
{
    const row_batch *b = &h->b;
    int64_t n = b->n, columns = r->o.like->columns;
    double *mean = out_column(r, h, OUT_MEAN), *below = out_column(r, h, OUT_BELOW),
           *up_to = out_column(r, h, OUT_UP_TO);
    double *width = out_column(r, h, OUT_WIDTH), *work = out_column(r, h, OUT_WORK);
    double *Y = r->out + OUT_Y * h->all + h->from * columns;
    latents f;
    TRY(predictor_latents(r->predictor, b, !r->latent, &f, e));
    for (int64_t i = 0; i < n; i++) observe_target(&r->o, h->y[i], r->exposure[h->from + i], Y + i * columns);
    observe_moments(&r->o, &f, b->exposure, mean, out_column(r, h, OUT_VARIANCE));
    TRY(predictor_check(b, n, mean, e));
    observe_density(&r->o, &f, Y, out_column(r, h, OUT_DENSITY));
    if (!gp_is_gaussian(r->g)) {
        expect_observed(r, h, &f, Y);
    } else {
        expect_mixture(r, h, &f, Y, below, up_to);
        observe_crps(&r->o, &f, Y, out_column(r, h, OUT_CRPS));
    }
    predict_ranks(r, b, &f, Y, work, below, up_to);
    observe_quantile(&r->o, &f, b->exposure, 0.975, width);
    observe_quantile(&r->o, &f, b->exposure, 0.025, work);
    for (int64_t i = 0; i < n; i++) width[i] -= work[i];
    return ANYGP_OK;
}

static anygp_status predict_share(scorer *r, const share *h, anygp_error *e)
{
    if (r->classes) return predict_classes(r, h, e);
    return gp_is_normal(r->g) ? predict_normal(r, h, e) : predict_observed(r, h, e);
}

/* The shares of all ranks, on each. */
static anygp_status predict_block(scorer *r, int64_t n, anygp_error *e)
{
    const comm *c = r->comm;
    share h = share_of(r, n);
    if (c->size == 1) return predict_share(r, &h, e);
    int64_t shared = n * out_shared(r->g);
    anygp_error said = {0};
    anygp_status status = ANYGP_OK;
    memset(r->out, 0, (size_t)shared * sizeof *r->out);
    if (h.b.n > 0) status = predict_share(r, &h, &said);
    TRY(ranks_agree(c, status, &said, e));
    return c->sum(c->ctx, shared, r->out, e);
}

static anygp_status score_block(scorer *r, int64_t n, anygp_error *e)
{
    const double *mean = r->out + OUT_MEAN * n, *variance = r->out + OUT_VARIANCE * n, *crps = r->out + OUT_CRPS * n;
    if (r->classes) {
        for (int64_t i = 0; i < n; i++) r->label[i] = (int64_t)r->y[i];
        return class_scores_add(r->classes, n, r->label, r->out, n, r->w, e);
    }
    if (gp_is_normal(r->g)) {
        regression_scores_add(&r->acc, n, r->y, mean, variance, r->w);
        return ANYGP_OK;
    }
    predicted p = {mean,
                   r->out + OUT_DENSITY * n,
                   r->out + OUT_BELOW * n,
                   r->out + OUT_UP_TO * n,
                   r->out + OUT_WIDTH * n,
                   gp_is_gaussian(r->g) ? crps : NULL};
    regression_scores_add_predicted(&r->acc, n, r->y, &p, r->w);
    return ANYGP_OK;
}

static anygp_status flush(scorer *r, anygp_error *e)
{
    int64_t n = r->filled;
    r->filled = 0;
    TRY(predict_block(r, n, e));
    TRY(score_block(r, n, e));
    r->rows += n;
    return ANYGP_OK;
}

/* The row that was added behind the others now counts. */
static anygp_status add_last(scorer *r, double y, double exposure, int64_t number, int64_t block, anygp_error *e)
{
    int64_t k = r->filled++;
    r->y[k] = y, r->exposure[k] = exposure, r->number[k] = number;
    r->in[k] = block, r->routed = block < 0;
    return r->filled == r->block ? flush(r, e) : ANYGP_OK;
}

anygp_status scorer_add(scorer *r, const labelled_row *row, anygp_error *e)
{
    int64_t D = r->g->schema.D;
    if (D) memcpy(r->X + r->filled * D, row->x, (size_t)D * sizeof(double));
    r->w[r->filled] = row->weight;
    return add_last(r, row->y, row->exposure, row->number, row->block, e);
}

anygp_status scorer_take(scorer *r, const row_units *u, int64_t number, const double *row, int64_t block,
                         anygp_error *e)
{
    double y[2] = {0, 1};
    row_use use;
    TRY(row_units_take(u, &r->g->schema, number, row, r->X + r->filled * u->D, y, r->w + r->filled, &use, e));
    return use == ROW_USED ? add_last(r, y[0], y[1], number, block, e) : ANYGP_OK;
}

anygp_status scorer_flush(scorer *r, anygp_error *e) { return r->filled ? flush(r, e) : ANYGP_OK; }

/* Before the last, which is n. */
static void add_score(gp_scores *out, const char *name, double value)
{
    if (!isfinite(value) || out->count >= SCORES_MOST) return;
    out->list[out->count] = out->list[out->count - 1];
    out->list[out->count++ - 1] = (score){name, value};
}

static anygp_status add_expected(const scorer *r, gp_scores *out, anygp_error *e)
{
    double both[2] = {exact_value(r->expected), exact_value(r->weight)};
    TRY(r->comm->sum(r->comm->ctx, 2, both, e));
    double mell = both[0] / both[1];
    add_score(out, "mell", mell);
    add_score(out, "bound", mell - r->g->kl / r->g->rows);
    return ANYGP_OK;
}

const class_scores *scorer_classes(const scorer *r) { return r->classes; }

anygp_status scorer_finish(scorer *r, gp_scores *out, anygp_error *e)
{
    TRY(scorer_flush(r, e));
    if (r->classes) {
        TRY(class_scores_list(r->classes, out->list, &out->count, e));
        out->trivial = class_scores_trivial(r->classes);
    } else
        out->count = regression_scores_list(&r->acc, out->list);
    return add_expected(r, out, e);
}
