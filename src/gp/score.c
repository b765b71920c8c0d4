/* Labelled rows to scores, a block at a time: normal predictions as they are, classes by their probabilities, other targets and
   mixtures by what the likelihood says about them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "gp/gp.h"

struct scorer {
    predictor *predictor;
    const gp *g;
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
    class_scores *classes; /* NULL: the target is a number */
    double *expects;       /* to work with, block x (2 C + 1); NULL: gaussian */
    exact_sum expected, weight;
    int64_t rows; /* so far */
};

/* Columns of `out` beside Y: mean, variance, below, up to, density, width, crps, and one to work with. */
enum { OUT_COLUMNS = 8 };

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
    return gp_is_class(g) ? g->schema.classes : gp_is_normal(g) ? 3 : OUT_COLUMNS + g->likelihood->columns;
}

static anygp_status scorer_rows(scorer *r, anygp_error *e)
{
    int64_t D = r->g->schema.D, width = out_width(r->g);
    double **const columns[] = {&r->y, &r->w, &r->exposure};
    r->block = predictor_block(r->predictor);
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

anygp_status scorer_new(const gp *g, double bytes, bool latent, scorer **out, anygp_error *e)
{
    if (latent && !gp_is_gaussian(g))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "with the likelihood %s f and y cannot be compared; score without latent",
                         g->likelihood->ops->name);
    scorer *r = calloc(1, sizeof *r);
    if (!r) return fail_memory(e, "scores", sizeof *r);
    r->g = g, r->latent = latent, r->o = gp_observer(g, latent);
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

/* E[log N(y; f, s^2)], f ~ N(mean, variance - s^2): what is not f is noise, white terms too. */
static void expect_normal(scorer *r, int64_t n, const double *mean, const double *variance, const double *noise)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(r->y[i]) || !(noise[i] > 0)) continue;
        double z = fmin(fabs(r->y[i] - mean[i]) / sqrt(noise[i]), Z_MOST), u = variance[i] - (r->latent ? 0 : noise[i]);
        exact_add(&r->expected, -0.5 * r->w[i] * (LOG_2PI + log(noise[i]) + z * z + fmax(u, 0) / noise[i]));
        exact_add(&r->weight, r->w[i]);
    }
}

static void expect_observed(scorer *r, const latents *f, const double *Y)
{
    exact_add(&r->expected, observe_expected(&r->o, f, Y, r->w, r->rows, r->expects));
    for (int64_t i = 0; i < f->n; i++) exact_add(&r->weight, r->w[i]);
    r->rows += f->n;
}

/* The same for a mixture, or a target that was transformed.  E is of the second order in f: moments are enough, where there is one noise.
   mean[n], variance[n]: work. */
static void expect_mixture(scorer *r, const latents *f, const double *Y, double *mean, double *variance)
{
    const posterior *q = r->g->posterior;
    if (q->noises || q->ops->marginal_noise) return;
    double s2 = gp_observation_variance(r->g);
    mixture_moments(r->o.like, f, NULL, mean, variance);
    for (int64_t i = 0; i < f->n; i++) {
        double z = fmin(fabs(Y[i] - mean[i]) / sqrt(s2), Z_MOST), u = variance[i] - (r->latent ? 0 : s2);
        if (!isfinite(r->y[i]) || !(s2 > 0)) continue;
        double model = -0.5 * (LOG_2PI + log(s2) + z * z + fmax(u, 0) / s2);
        exact_add(&r->expected, r->w[i] * (model + observe_log_slope(&r->o, r->y[i])));
        exact_add(&r->weight, r->w[i]);
    }
}

static anygp_status score_normal(scorer *r, const row_batch *b, anygp_error *e)
{
    double *mean = r->out, *variance = r->out + b->n, *noise = variance + b->n;
    TRY(predictor_run_noise(r->predictor, b, r->latent, mean, variance, noise, e));
    regression_scores_add(&r->acc, b->n, r->y, mean, variance, r->w);
    expect_normal(r, b->n, mean, variance, noise);
    return ANYGP_OK;
}

static anygp_status score_classes(scorer *r, const row_batch *b, anygp_error *e)
{
    latents f;
    for (int64_t i = 0; i < b->n; i++) r->label[i] = (int64_t)r->y[i];
    TRY(predictor_latents(r->predictor, b, true, &f, e));
    observe_classes(&r->o, &f, r->out, b->n);
    expect_observed(r, &f, r->y);
    return class_scores_add(r->classes, b->n, r->label, r->out, b->n, r->w, e);
}

/* P(y' < y) of a count is P(y' <= y - 1), and P(y' <= y) of a real target.  Y's first column has y in model units; y: work. */
static void score_ranks(const scorer *r, const row_batch *b, const latents *f, const double *Y, double *y,
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

static anygp_status score_observed(scorer *r, const row_batch *b, anygp_error *e)
{
    int64_t n = b->n, columns = r->o.like->columns;
    double *mean = r->out, *variance = mean + n, *below = variance + n, *up_to = below + n, *density = up_to + n;
    double *width = density + n, *crps = width + n, *work = crps + n, *Y = work + n;
    bool gaussian = gp_is_gaussian(r->g);
    latents f;
    TRY(predictor_latents(r->predictor, b, !r->latent, &f, e));
    for (int64_t i = 0; i < n; i++) observe_target(&r->o, r->y[i], r->exposure[i], Y + i * columns);
    observe_moments(&r->o, &f, b->exposure, mean, variance);
    TRY(predictor_check(b, n, mean, e));
    observe_density(&r->o, &f, Y, density);
    if (!gaussian)
        expect_observed(r, &f, Y);
    else
        expect_mixture(r, &f, Y, below, up_to);
    if (gaussian) observe_crps(&r->o, &f, Y, crps);
    score_ranks(r, b, &f, Y, work, below, up_to);
    observe_quantile(&r->o, &f, b->exposure, 0.975, width);
    observe_quantile(&r->o, &f, b->exposure, 0.025, work);
    for (int64_t i = 0; i < n; i++) width[i] -= work[i];
    predicted p = {mean, density, below, up_to, width, gaussian ? crps : NULL};
    regression_scores_add_predicted(&r->acc, n, r->y, &p, r->w);
    return ANYGP_OK;
}

static anygp_status flush(scorer *r, anygp_error *e)
{
    const gp *g = r->g;
    row_batch b = {.n = r->filled,
                   .X = r->X,
                   .number = {0, r->number},
                   .block = r->routed ? NULL : r->in,
                   .exposure = g->schema.exposed ? r->exposure : NULL};
    r->filled = 0;
    return r->classes ? score_classes(r, &b, e) : gp_is_normal(g) ? score_normal(r, &b, e) : score_observed(r, &b, e);
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

static void add_expected(const scorer *r, gp_scores *out)
{
    double mell = exact_value(r->expected) / exact_value(r->weight);
    add_score(out, "mell", mell);
    add_score(out, "bound", mell - r->g->kl / r->g->rows);
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
    add_expected(r, out);
    return ANYGP_OK;
}
