/* svdgp by steps over a sample of the blocks (001, algorithm 1): bases grow, then everything moves at once.  What moves how is
   said in svdgp.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/decoupled/svdgp_posterior.h"
#include "model/decoupled/svdgp_state.h"

enum { TRIAL_STEPS = 100, TRIAL_LAST = 10 };
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
    s->places = s->learn && !s->newton && q->problem->learn_inducing;
    s->random = (random_stream){c ? c->seed : q->problem->seed, RANDOM_STEP, c ? (uint64_t)c->t + 1 : 0};
    TRY(prepare(q, h, e));
    TRY(svdgp_room(&q->stat, &q->stat_room, svdgp_layout_of(s).size, e));
    return c ? driver_stat(q->driver, s, c->count, c->which, c->scale, q->stat, e)
             : driver_stat(q->driver, s, 0, NULL, 1, q->stat, e);
}

/* sga: as many columns of K_alpha as the sample has rows, a function of the step. */
static anygp_status sampled_columns(svdgp_state *q, const step_context *c, anygp_error *e)
{
    const row_blocks *b = q->problem->blocks;
    int64_t Ma = svdgp_Ma(&q->s), rows = (c->which ? c->count : b->count) * b->largest, count = Ma < rows ? Ma : rows;
    int64_t *which = mem_alloc(count, sizeof *which);
    double value;
    if (!which) return fail_memory(e, "a step", 8.0 * (double)count);
    random_subset((random_stream){c->seed, RANDOM_COLUMNS, (uint64_t)c->t}, Ma, count, which);
    bool ok = svdgp_kl_mean(&q->s, count, which, (double)Ma / (double)count, &value, q->stat, NULL);
    free(which);
    return ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

/* ------------------------------------------------------------------------------------------- steps */

static void step_hyper(svdgp_state *q, hyper *h, double rate)
{
    const svdgp_layout o = svdgp_layout_of(&q->s);
    memset(q->up.gp, 0, (size_t)hyper_size(h) * sizeof(double));
    memcpy(q->up.gp, q->stat + o.kernel, (size_t)q->s.params * sizeof(double));
    memcpy(q->up.gp + q->s.params, q->stat + o.like, (size_t)q->s.likes * sizeof(double));
    ascent_slope(&q->up, h);
    hyper_pack(h, q->up.u);
    ascent_step(&q->up, rate);
    hyper_unpack(h, q->up.u);
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
        TRY(segment_step(&s->L[c], rate, triangle, 1 / s->scale, e));
    }
    return ANYGP_OK;
}

static anygp_status step_beta(svdgp_state *q, double rate, const svdgp_layout *o, anygp_error *e)
{
    svdgp *s = &q->s;
    if (!s->learn || !q->problem->learn_inducing) return ANYGP_OK;
    TRY(segment_step(&s->beta, rate, q->stat + o->beta, 1, e));
    return s->widths ? segment_step(&s->beta_width, rate, q->stat + o->beta_width, 1, e) : ANYGP_OK;
}

static anygp_status step_sga(svdgp_state *q, hyper *h, const step_context *c, double *value, anygp_error *e)
{
    svdgp *s = &q->s;
    const svdgp_layout o = svdgp_layout_of(s);
    double rate = (c->rate > 0 ? c->rate : q->gamma) / (1 + 0.1 * sqrt((double)c->t + 1)); /* t = 1, 2, ... in print */
    if (!svdgp_head(s, q->stat)) return fail_memory(e, "kernel tiles", 0);
    TRY(sampled_columns(q, c, e));
    *value = q->stat[o.value];
    if (!isfinite(*value)) return fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not a number");
    if (s->precondition) svdgp_pull_scale(s, q->stat);
    TRY(segment_step(&s->a, rate, q->stat + o.a, 1 / s->scale, e));
    TRY(segment_step(&s->trend, rate, q->stat + o.trend, 1, e));
    if (s->places) TRY(segment_step(&s->alpha, rate, q->stat + o.alpha, 1, e));
    if (s->places && s->alpha_widths) TRY(segment_step(&s->alpha_width, rate, q->stat + o.alpha_width, 1, e));
    TRY(step_L(s, rate, q->stat + o.S, e));
    TRY(step_beta(q, rate, &o, e));
    if (s->learn) step_hyper(q, h, rate);
    return ANYGP_OK;
}

/* newton: a'K_alpha a from the columns of the block, with K_{block,alpha} a; the block moves, unless a goes by svdgp_solve. */
static anygp_status step_mean(svdgp_state *q, const step_context *c, bool solves, anygp_error *e)
{
    svdgp *s = &q->s;
    int64_t n = s->block.n;
    double value, *pull = mem_doubles(n, s->C);
    anygp_status status = ANYGP_OK;
    if (!pull || !svdgp_kl_mean(s, n, s->block.which, (double)svdgp_Ma(s) / (double)n, &value, q->stat, pull))
        status = fail_memory(e, "kernel tiles", 8.0 * (double)n);
    else if (!solves)
        status = svdgp_block_step(q, c, pull, e);
    free(pull);
    return status;
}

static anygp_status step_newton(svdgp_state *q, hyper *h, const step_context *c, bool grew, bool solves, double *value,
                                anygp_error *e)
{
    svdgp *s = &q->s;
    double rho = grew || !(c->rho > 0) ? 1 : c->rho;
    if (!solves) svdgp_solve_drop(q);
    TRY(svdgp_block_choose(q, c, e));
    anygp_status status = sums(q, h, c, e);
    if (status == ANYGP_ERR_NUMERIC) svdgp_solve_retreat(q); /* the next attempt begins there */
    TRY(status);
    const svdgp_layout o = svdgp_layout_of(s);
    if (!svdgp_natural_step(s, q->stat + o.S, 1 - rho, rho))
        return fail_with(
            e, ANYGP_ERR_NUMERIC,
            "the covariance of svdgp cannot move: the kernel matrix of its %lld bases has no factor; take fewer "
            "(--inducing Ma/Mb) or another kernel",
            (long long)svdgp_Mb(s));
    if (!svdgp_head(s, q->stat)) return fail_memory(e, "kernel tiles", 0);
    TRY(step_mean(q, c, solves, e));
    *value = q->stat[o.value];
    TRY(step_beta(q, c->rate, &o, e));
    if (s->learn) step_hyper(q, h, c->rate);
    return solves && !s->learn ? svdgp_solve_step(q, c, e) : ANYGP_OK;
}

/* On one thread where a step is not worth waking others for. */
static anygp_status step_alone(svdgp_state *q, hyper *h, const step_context *c, bool grew, bool solves, double *value,
                               anygp_error *e)
{
    static const double SMALL = 1e6; /* covariances */
    double rows = q->problem->blocks->total / c->scale;
    bool alone = (rows + (double)svdgp_Ma(&q->s)) * (double)svdgp_Ma(&q->s) < SMALL;
    int former = alone ? la_threads(1) : 0;
    anygp_status status = step_newton(q, h, c, grew, solves, value, e);
    if (alone) la_threads(former);
    return status;
}

/* ------------------------------------------------------------------------------ begin, and sga's rate */

static anygp_status restart(svdgp_state *q, hyper *h, anygp_error *e)
{
    bool newton = q->s.newton;
    double jitter = q->s.jitter;
    svdgp_solve_drop(q);
    q->witness.rows = q->oldest = 0;
    svdgp_clear(&q->s);
    ascent_clear(&q->up);
    TRY(svdgp_init(&q->s, q->problem, h->kernel, newton, e));
    q->s.jitter = jitter;
    TRY(ascent_init(&q->up, h, e));
    TRY(ascent_begin(&q->up, h, e));
    if (q->given) TRY(svdgp_add_alpha(&q->s, q->Ma, h->Z, e));
    if (h->M == 0) return ANYGP_OK;
    return svdgp_add_beta(&q->s, h->M < q->Mb ? h->M : q->Mb, h->Z + (q->given ? q->Ma * h->D : 0), SVDGP_SMALL, e);
}

static anygp_status one_step(svdgp_state *q, hyper *h, const step_context *c, double *value, anygp_error *e)
{
    bool grew;
    int64_t before = svdgp_Ma(&q->s);
    TRY(svdgp_grow(q, c, &grew, e));
    bool complete = svdgp_Ma(&q->s) == before || svdgp_Ma(&q->s) == q->Ma || !c->which;
    if (q->s.newton) return step_alone(q, h, c, grew, complete && !c->learn, value, e);
    TRY(sums(q, h, c, e));
    return step_sga(q, h, c, value, e);
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
    int64_t S = asks->which ? asks->count : q->problem->blocks->count, *which;
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
    if (!q->s.newton && !(c->rate > 0) && !(q->gamma > 0)) TRY(choose_gamma(q, h, c, e));
    return one_step(q, h, c, value, e);
}

/* ---------------------------------------------------------------------------------- what comes out */

static anygp_status bound(void *state, const hyper *h, double *value, anygp_error *e)
{
    svdgp_state *q = state;
    double kl = 0;
    TRY(sums(q, h, NULL, e));
    bool ok = svdgp_head(&q->s, q->stat) && svdgp_kl_mean(&q->s, 0, NULL, 1, &kl, NULL, NULL);
    *value = q->stat[svdgp_layout_of(&q->s).value] - kl;
    return ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

static anygp_status posteriors(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    svdgp_state *q = state;
    anygp_status status = ANYGP_OK;
    int64_t t = 0;
    double factor = 1;
    TRY(prepare(q, h, e));
    if (!q->s.newton) TRY(svdgp_shorten(q, &factor, e));
    q->shortened = factor < 1;
    *jitter = q->s.jitter;
    for (; t < q->s.targets; t++)
        TRY_DONE(svdgp_posterior_new(&q->s, h, t, factor, q->problem->blocks->total, &out[t], e));
done:
    if (ANYGP_FAILED(status))
        while (t-- > 0) out[t]->ops->free(out[t]), out[t] = NULL;
    return status;
}

static const char *remark(const void *state)
{
    return ((const svdgp_state *)state)->shortened
               ? "the mean had gone far beyond the targets when the run ended, and was shortened; take more steps "
                 "(--iters), or a smaller first one (--step)"
               : NULL;
}

const step_ops svdgp_steps = {.begin = begin,
                              .step = step,
                              .bound = bound,
                              .posteriors = posteriors,
                              .save = svdgp_save,
                              .restore = svdgp_restore,
                              .remark = remark};
