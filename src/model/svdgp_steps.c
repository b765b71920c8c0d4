/* svdgp by steps over a sample of the blocks (001, algorithm 1): bases grow, then everything moves at once.  What moves how is
   said in svdgp.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/svdgp_posterior.h"
#include "model/svdgp_state.h"

enum { COLUMNS = 1024, FRESH = 1024, TRIAL_STEPS = 100, TRIAL_LAST = 10 };
static const double FIRST_RATES[] = {0.1, 0.01, 0.001}; /* the paper's choice */

anygp_status svdgp_room(double **array, int64_t *room, int64_t size, anygp_error *e)
{
    if (size <= *room) return ANYGP_OK;
    free(*array);
    *array = mem_alloc(size, sizeof **array);
    *room = *array ? size : 0;
    return *array ? ANYGP_OK : fail_memory(e, "a step's sums", 8.0 * (double)size);
}

/* ---------------------------------------------------------------------------------------- the sums */

static anygp_status prepare(svdgp_state *q, const hyper *h, anygp_error *e)
{
    return svdgp_prepare(&q->s, h->kernel, h->likes, h->like, e);
}

static anygp_status sums(svdgp_state *q, const hyper *h, const step_context *c, anygp_error *e)
{
    svdgp *s = &q->s;
    s->gradient = c != NULL, s->learn = c && c->learn;
    s->places = s->learn && !s->dual && q->problem->learn_inducing;
    s->random = (random_stream){c ? c->seed : q->problem->seed, RANDOM_STEP, c ? (uint64_t)c->t + 1 : 0};
    TRY(prepare(q, h, e));
    TRY(svdgp_room(&q->stat, &q->stat_room, svdgp_layout_of(s).size, e));
    return c ? driver_stat(q->driver, s, c->count, c->which, c->scale, q->stat, e)
             : driver_stat(q->driver, s, 0, NULL, 1, q->stat, e);
}

/* sga: COLUMNS columns of K_alpha, a function of the step. */
static anygp_status sampled_columns(svdgp_state *q, const step_context *c, anygp_error *e)
{
    int64_t Ma = svdgp_Ma(&q->s), count = Ma < COLUMNS ? Ma : COLUMNS, *which = mem_alloc(count, sizeof *which);
    double value;
    if (!which) return fail_memory(e, "a step", 8.0 * (double)count);
    random_subset((random_stream){c->seed, RANDOM_COLUMNS, (uint64_t)c->t}, Ma, count, which);
    bool ok = svdgp_kl_mean(&q->s, count, which, (double)Ma / (double)count, &value, q->stat);
    free(which);
    return ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

/* ------------------------------------------------------------------------------------------- steps */

static anygp_status step_hyper(svdgp_state *q, hyper *h, double rate, anygp_error *e)
{
    const svdgp_layout o = svdgp_layout_of(&q->s);
    double *gp = mem_zeroed(hyper_size(h), sizeof *gp), *gu = mem_zeroed(h->free, sizeof *gu);
    anygp_status status = gp && gu ? segment_begin(&q->u, e) : fail_memory(e, "a step", 8.0 * (double)hyper_size(h));
    if (!ANYGP_FAILED(status)) {
        memcpy(gp, q->stat + o.kernel, (size_t)q->s.params * sizeof *gp);
        memcpy(gp + q->s.params, q->stat + o.like, (size_t)q->s.likes * sizeof *gp);
        hyper_chain(h, gp, gu);
        hyper_log_prior(h, gu);
        hyper_pack(h, q->u.x);
        segment_step(&q->u, rate, gu, 1);
        hyper_unpack(h, q->u.x);
    }
    free(gp);
    free(gu);
    return status;
}

static anygp_status step_segment(segment *g, double rate, const double *gradient, double scale, anygp_error *e)
{
    TRY(segment_begin(g, e));
    segment_step(g, rate, gradient, scale);
    return ANYGP_OK;
}

/* Adam on L: its gradient by rows, in the place of the square. */
static anygp_status step_L(svdgp *s, double rate, double *squares, anygp_error *e)
{
    int64_t Mt = s->Mt;
    double *triangle = s->work[0];
    for (int64_t c = 0; c < s->C; c++) {
        const double *G = squares + c * Mt * Mt;
        for (int64_t i = 0, at = 0; i < Mt; i++)
            for (int64_t j = 0; j <= i; j++) triangle[at++] = G[i + j * Mt];
        TRY(step_segment(&s->L[c], rate, triangle, 1 / s->scale, e));
    }
    return ANYGP_OK;
}

static anygp_status step_beta(svdgp_state *q, double rate, const svdgp_layout *o, anygp_error *e)
{
    svdgp *s = &q->s;
    if (!s->learn || !q->problem->learn_inducing) return ANYGP_OK;
    TRY(step_segment(&s->beta, rate, q->stat + o->beta, 1, e));
    return s->widths ? step_segment(&s->beta_width, rate, q->stat + o->beta_width, 1, e) : ANYGP_OK;
}

static anygp_status step_sga(svdgp_state *q, hyper *h, const step_context *c, double *value, anygp_error *e)
{
    svdgp *s = &q->s;
    const svdgp_layout o = svdgp_layout_of(s);
    double rate = c->rate > 0 ? c->rate : q->gamma / (1 + 0.1 * sqrt((double)c->t));
    if (!svdgp_head(s, q->stat)) return fail_memory(e, "kernel tiles", 0);
    TRY(sampled_columns(q, c, e));
    *value = q->stat[o.value];
    if (!isfinite(*value)) return fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not a number");
    if (s->precondition) svdgp_pull_scale(s, q->stat);
    TRY(step_segment(&s->a, rate, q->stat + o.a, 1 / s->scale, e));
    TRY(step_segment(&s->trend, rate, q->stat + o.trend, 1, e));
    if (s->places) TRY(step_segment(&s->alpha, rate, q->stat + o.alpha, 1, e));
    if (s->places && s->alpha_widths) TRY(step_segment(&s->alpha_width, rate, q->stat + o.alpha_width, 1, e));
    TRY(step_L(s, rate, q->stat + o.S, e));
    TRY(step_beta(q, rate, &o, e));
    return s->learn ? step_hyper(q, h, rate, e) : ANYGP_OK;
}

/* The bases whose rows are in the sample, each with 1 / (scale times how often it is there). */
static anygp_status sampled_bases(const svdgp_state *q, const step_context *c, int64_t *n, int64_t **bases,
                                  double **weight, anygp_error *e)
{
    const svdgp *s = &q->s;
    int64_t Ma = svdgp_Ma(s), P = q->problem->blocks->count;
    int64_t *times = mem_zeroed(P, sizeof *times);
    *bases = mem_alloc(Ma, sizeof **bases), *weight = mem_alloc(Ma, sizeof **weight), *n = 0;
    if (!times || !*bases || !*weight) {
        free(times);
        return fail_memory(e, "a step", 16.0 * (double)Ma);
    }
    for (int64_t i = 0; i < (c->which ? c->count : P); i++) times[c->which ? c->which[i] : i]++;
    for (int64_t m = 0; m < Ma; m++) {
        int64_t often = times[s->rows.id[m] >> 32];
        if (often == 0) continue;
        (*weight)[*n] = 1 / (c->scale * (double)often);
        (*bases)[(*n)++] = m;
    }
    free(times);
    return ANYGP_OK;
}

/* Where the sample has few bases: FRESH of them at random, with what their rows say now; no data are needed for it. */
static anygp_status fresh_bases(svdgp_state *q, const step_context *c, int64_t *n, int64_t *bases, double *weight,
                                const double **own, anygp_error *e)
{
    svdgp *s = &q->s;
    int64_t Ma = svdgp_Ma(s), Q = s->target.width, count = Ma < FRESH ? Ma : FRESH, start[2] = {0, count};
    double *X = mem_doubles(count, s->D + Q + 1), *y = X + count * s->D, *w = y + count * Q;
    row_blocks *rows = NULL;
    driver *d = NULL;
    anygp_status status = ANYGP_OK;
    if (!X) return fail_memory(e, "a step", 8.0 * (double)count);
    random_subset((random_stream){c->seed, RANDOM_COLUMNS, (uint64_t)c->t}, Ma, count, bases);
    for (int64_t i = 0; i < count; i++) {
        memcpy(X + i * s->D, s->alpha.x + bases[i] * s->D, (size_t)s->D * sizeof *X);
        memcpy(y + i * Q, s->target.x + bases[i] * Q, (size_t)Q * sizeof *y);
        w[i] = s->weight.x[bases[i]], weight[i] = 1;
    }
    s->gradient = false, s->chosen = bases, *n = count;
    TRY_DONE(svdgp_room(&q->fresh, &q->fresh_room, svdgp_layout_of(s).size, e));
    TRY_DONE(blocks_of_arrays(1, start, s->D, Q, X, y, w, &rows, e));
    TRY_DONE(driver_open(&svdgp_rows, rows, comm_self(), 0, &d, e));
    TRY_DONE(driver_stat(d, s, 0, NULL, 1, q->fresh, e));
    *own = q->fresh + svdgp_layout_of(s).own;
done:
    s->chosen = NULL, s->gradient = true;
    driver_close(d);
    blocks_free(rows);
    free(X);
    return status;
}

static bool quadratic(const svdgp *s) { return !s->likelihood || likelihood_is_gaussian(s->likelihood); }

static anygp_status step_mean(svdgp_state *q, const step_context *c, anygp_error *e)
{
    svdgp *s = &q->s;
    int64_t n, *bases = NULL;
    double *weight = NULL;
    anygp_status status = ANYGP_OK;
    TRY_DONE(sampled_bases(q, c, &n, &bases, &weight, e));
    const double *own = q->stat + svdgp_layout_of(s).own;
    if (2 * n < FRESH && n < svdgp_Ma(s)) TRY_DONE(fresh_bases(q, c, &n, bases, weight, &own, e));
    TRY_DONE(svdgp_dual_step(s, n, bases, own, weight, quadratic(s), e));
done:
    free(bases);
    free(weight);
    return status;
}

static anygp_status step_dual(svdgp_state *q, hyper *h, const step_context *c, bool grew, double *value, anygp_error *e)
{
    svdgp *s = &q->s;
    const svdgp_layout o = svdgp_layout_of(s);
    double rho = grew || !(c->rho > 0) ? 1 : c->rho;
    svdgp_natural_step(s, q->stat + o.S, 1 - rho, rho);
    if (!svdgp_head(s, q->stat)) return fail_memory(e, "kernel tiles", 0);
    *value = q->stat[o.value];
    TRY(step_mean(q, c, e));
    TRY(step_beta(q, c->rate, &o, e));
    return s->learn ? step_hyper(q, h, c->rate, e) : ANYGP_OK;
}

/* ------------------------------------------------------------------------------ begin, and sga's rate */

static anygp_status restart(svdgp_state *q, hyper *h, anygp_error *e)
{
    bool dual = q->s.dual;
    double jitter = q->s.jitter;
    svdgp_clear(&q->s);
    segment_clear(&q->u);
    TRY(svdgp_init(&q->s, q->problem, h->kernel, dual, e));
    q->s.jitter = jitter;
    q->u.width = 1;
    TRY(segment_append(&q->u, h->free, NULL, e));
    hyper_begin(h, q->u.x);
    if (h->M == 0) return ANYGP_OK;
    return svdgp_add_beta(&q->s, h->M < q->Mb ? h->M : q->Mb, h->Z, SVDGP_SMALL, e);
}

static anygp_status one_step(svdgp_state *q, hyper *h, const step_context *c, double *value, anygp_error *e)
{
    bool grew;
    TRY(svdgp_grow(q, c, &grew, e));
    TRY(sums(q, h, c, e));
    return q->s.dual ? step_dual(q, h, c, grew, value, e) : step_sga(q, h, c, value, e);
}

int64_t svdgp_sample_blocks(const row_blocks *b)
{
    enum { ROWS = 1024 };
    return (int64_t)fmin(ceil(ROWS * (double)b->count / fmax(b->total, 1)), (double)b->count);
}

/* Blocks of step t of a trial. */
static void trial_sample(const svdgp_state *q, int64_t t, int64_t S, int64_t *which)
{
    int64_t P = q->problem->blocks->count, steps = P / S;
    random_stream r = {q->problem->seed, RANDOM_BASES, (uint64_t)(t / steps) + 1};
    for (int64_t i = 0; i < S; i++) which[i] = random_shuffled(r, P, t % steps * S + i);
}

static bool out_of_time(const step_context *asks) { return asks->enough && asks->enough(asks->ctx); }

/* The bound after TRIAL_STEPS, the mean of the last few; -infinity: it broke down, or there was no time for it. */
static anygp_status trial(svdgp_state *q, hyper *h, const step_context *asks, int64_t S, int64_t *which, double gamma,
                          double *reached, anygp_error *e)
{
    double value;
    *reached = 0;
    q->gamma = gamma;
    for (int64_t t = 0; t < TRIAL_STEPS; t++) {
        trial_sample(q, t, S, which);
        step_context c = {.seed = q->problem->seed, .t = t, .count = S, .which = which, .learn = true, .rho = 1};
        c.scale = (double)q->problem->blocks->count / (double)S;
        anygp_status status = out_of_time(asks) ? ANYGP_ERR_NUMERIC : one_step(q, h, &c, &value, e);
        if (status == ANYGP_ERR_NUMERIC) {
            *reached = -INFINITY;
            return ANYGP_OK;
        }
        TRY(status);
        if (t >= TRIAL_STEPS - TRIAL_LAST) *reached += value / TRIAL_LAST;
    }
    return ANYGP_OK;
}

/* The best of those that were tried to their end; with no time for any, the middle one. */
static anygp_status choose_gamma(svdgp_state *q, hyper *h, const step_context *asks, anygp_error *e)
{
    const row_blocks *b = q->problem->blocks;
    int64_t S = svdgp_sample_blocks(b), *which;
    double *first = mem_alloc(h->count, sizeof *first), best = -INFINITY, gamma = FIRST_RATES[1], reached;
    anygp_status status = ANYGP_OK;
    which = mem_alloc(S, sizeof *which);
    if (!first || !which) {
        status = fail_memory(e, "a step", 8.0 * (double)S);
        goto done;
    }
    hyper_natural(h, first);
    for (size_t i = 0; i < sizeof FIRST_RATES / sizeof *FIRST_RATES; i++) {
        TRY_DONE(trial(q, h, asks, S, which, FIRST_RATES[i], &reached, e));
        if (reached > best) best = reached, gamma = FIRST_RATES[i];
        for (int64_t k = 0; k < h->count; k++) hyper_set(h, k, first[k]);
        TRY_DONE(restart(q, h, e));
    }
    q->gamma = gamma;
done:
    free(first);
    free(which);
    return status;
}

static anygp_status begin(void *state, hyper *h, double jitter, anygp_error *e)
{
    ((svdgp_state *)state)->s.jitter = jitter;
    return restart(state, h, e);
}

static anygp_status step(void *state, hyper *h, const step_context *c, double *value, anygp_error *e)
{
    svdgp_state *q = state;
    if (!q->s.dual && !(c->rate > 0) && !(q->gamma > 0)) TRY(choose_gamma(q, h, c, e));
    return one_step(q, h, c, value, e);
}

/* ---------------------------------------------------------------------------------- what comes out */

static anygp_status bound(void *state, const hyper *h, double *value, anygp_error *e)
{
    svdgp_state *q = state;
    double kl = 0;
    TRY(sums(q, h, NULL, e));
    bool ok = svdgp_head(&q->s, q->stat) && (q->s.dual || svdgp_kl_mean(&q->s, 0, NULL, 1, &kl, NULL));
    *value = q->stat[svdgp_layout_of(&q->s).value] - kl;
    return ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

static anygp_status posteriors(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    svdgp_state *q = state;
    anygp_status status = ANYGP_OK;
    int64_t t = 0;
    double *kept = NULL;
    if (!q->s.dual) TRY(svdgp_shorten(q, h, &kept, e));
    TRY_DONE(prepare(q, h, e));
    *jitter = q->s.jitter;
    for (; t < q->s.targets; t++) TRY_DONE(svdgp_posterior_new(&q->s, h, t, q->problem->blocks->total, &out[t], e));
done:
    svdgp_lengthen(q, kept);
    if (ANYGP_FAILED(status))
        while (t-- > 0) out[t]->ops->free(out[t]), out[t] = NULL;
    return status;
}

const step_ops svdgp_steps = {.begin = begin,
                              .step = step,
                              .bound = bound,
                              .posteriors = posteriors,
                              .save = svdgp_save,
                              .restore = svdgp_restore};
