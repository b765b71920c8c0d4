/* Steps of qsgp.

   Plain steps: v += eta G.  The bound's curvature in v is Phi'Phi / s + S, and a sample of b rows shows one of at most
   N (k/b + top) / s, k = k(x, x) and N top the largest eigenvalue of Phi'Phi; so eta = gamma / (1 + N (k/b + top) / s) is stable for gamma < 2, with
   nothing to tune.  gamma falls to 0 along the run, which averages the noise of the samples away.  Where cells are sampled too, that noise
   adds up in directions that the rows do not see, by about gamma^2 over^2 k^2 / (m b (k/b + top)^2) of |v|^2 in a step: gamma is
   held so low that this stays below 1 over the run.
   Blocks, the default where a step has all basis functions: see qsgp_block.c and qsgp_newton.c.  Dense columns take plain steps then.
   adagrad: the paper's, v += rate G / sqrt(sum of G^2), element by element. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "linalg/linalg.h"
#include "model/weights/qsgp_state.h"

enum { LOOK_ROWS = 256, LOOK_ROUNDS = 30, PLACES_MOST = 1024 };
static const double GAMMA = 0.9, ADAGRAD = 0.1, ADAGRAD_LEAST = 1e-2, HYPER_SHARE = 1e-4, RELAXED = 0.95;

/* ------------------------------------------------------------------------------------------------ start */

/* Power iterations on the kernel's matrix at a few rows. */
static anygp_status look_at_kernel(qsgp_state *q, const kernel *k, anygp_error *e)
{
    const merged *m = q->problem->rows;
    int64_t n = m->n < LOOK_ROWS ? m->n : LOOK_ROWS, D = m->D, *chosen = mem_alloc(n, sizeof *chosen);
    double *X = mem_doubles(n, D), *K = mem_doubles(n, n), *x = mem_doubles(n, 2), *y = x ? x + n : NULL;
    bool ok = chosen && X && K && x;
    if (ok) random_subset((random_stream){q->problem->seed, RANDOM_CELLS, UINT64_MAX - 1}, m->n, n, chosen);
    for (int64_t i = 0; ok && i < n; i++) memcpy(X + i * D, m->X + chosen[i] * D, (size_t)D * sizeof *X);
    ok = ok && kernel_gram(k, n, X, D, n, X, D, K, n);
    q->size = q->top = 0;
    for (int64_t i = 0; ok && i < n; i++) q->size += K[i + i * n] / (double)n, x[i] = 1;
    for (int round = 0; ok && round < LOOK_ROUNDS; round++) {
        la_gemv(LA_N, n, n, 1 / (double)n, K, n, x, 0, y);
        q->top = la_norm(n, y) / la_norm(n, x);
        for (int64_t i = 0; i < n; i++) x[i] = q->top > 0 ? y[i] / q->top : 1;
    }
    q->prior = 1;
    if (ok && q->q.cells.kind == CELLS_KERNEL) { /* Phi = S = K */
        double all = (double)q->q.cells.m;
        q->size = all * la_dot(n * n, K, K) / (double)(n * n), q->prior = all * q->top, q->top *= q->prior;
    }
    if (q->q.s) q->prior = 0; /* implicit */
    double *const owned[] = {X, K, x};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(chosen);
    return ok ? ANYGP_OK : fail_memory(e, "the start", 8.0 * (double)(n * n));
}

static anygp_status begin(void *state, hyper *h, double jitter, anygp_error *e)
{
    qsgp_state *q = state;
    (void)jitter;
    TRY(ascent_begin(&q->up, h, e));
    memcpy(kernel_values(q->first), kernel_values(h->kernel), (size_t)hyper_kernel_params(h) * sizeof(double));
    qsgp_take_values(&q->q, h);
    TRY(qsgp_control_start(&q->q, q->problem, h->kernel, e));
    TRY(look_at_kernel(q, h->kernel, e));
    if (q->q.s && !qsgp_in_turn(&q->kind)) qsrvm_start(q, h->kernel);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------------- moves */

typedef struct step_sizes {
    qsgp_state *q;
    double rate;  /* adagrad's */
    double share; /* of the run that is done */
    double *eta;  /* C: plain */
    bool blocks;  /* mu by blocks */
} step_sizes;

/* A diagonal element of a dense column stays positive. */
static double moved(double v, double step, bool positive) { return positive ? fmax(v + step, 0.5 * v) : v + step; }

static void move_cell(qsgp *q, const qsgp_pass *p, int64_t slot, const double *G, void *ctx)
{
    const step_sizes *s = ctx;
    int64_t first = cell_first(&q->cells, p->s->cell[slot]), size = cell_size(&q->cells, p->s->cell[slot]);
    for (int64_t f = 0; f < size; f++)
        for (int64_t k = 0; k < q->V; k++) {
            int64_t j = first + f, at = j * q->V + k, r = k % (1 + q->K) - 1;
            double g = G[k + f * q->V], step = 0;
            if (!isfinite(g)) continue;
            if (s->blocks && r < 0) { /* as a whole, after the pass */
                if (s->q->alpha)
                    s->q->step[j * q->C + k / (1 + q->K)] = g + q->v[at]; /* without the prior, which alpha has */
            } else if (!s->q->sum) {
                double eta = s->eta[k / (1 + q->K)], times = p->s->over * (p->s->in[slot] == 3 ? 1 : 0.5);
                /* s may be of any size: a step that is implicit in it */
                step = eta * g / (1 + (q->s ? eta * times * q->s[j * q->C + k / (1 + q->K)] : 0));
            } else {
                s->q->sum[at] += g * g;
                step = s->q->sum[at] > 0 ? s->rate * g / sqrt(s->q->sum[at]) : 0;
            }
            q->v[at] = moved(q->v[at], step, r == j);
        }
    if (q->s) qsrvm_move_precisions(q, &p->now, slot, s->share);
}

/* gamma that the noise of sampled cells allows. */
static double calm(const qsgp_state *q, const step_context *c, double curve)
{
    const qsgp_sample *s = &q->sample;
    double m = (double)q->q.cells.m, b = (double)s->n, steps = (double)(c->steps > 0 ? c->steps : 1);
    if (!(s->over > 1) || !(q->size > 0)) return INFINITY;
    return sqrt(m * b / (s->over * (s->over - 1) * steps)) * curve / q->size;
}

static void plain_sizes(const qsgp_state *q, const step_context *c, double *eta)
{
    double b = q->sample.n > 0 ? (double)q->sample.n : 1, curve = q->size / b + q->top;
    double gamma = fmin(c->rate > 0 ? c->rate : GAMMA, calm(q, c, curve));
    if (!(c->rate > 0)) gamma *= 1 - fmin(c->share, 1);
    for (int64_t i = 0; i < q->q.C; i++)
        eta[i] = gamma / (q->prior + q->q.N * curve * (q->q.gaussian ? 1 / qsgp_noise(&q->q, i) : q->curve));
}

/* Before the curvature of a likelihood is known there is no step size: the first pass of a run only looks. */
static void look_at_curvature(qsgp_state *q)
{
    const qsgp_sample *s = &q->sample;
    for (int64_t i = 0; i < s->n * q->q.C && !q->q.gaussian; i++)
        q->curve = fmax(q->curve, q->pass.weight[i] / (s->scale * s->w[i % s->n]));
}

/* ------------------------------------------------------------------------------------------------- steps */

/* Whether control rows' basis functions are not those of now. */
static bool has_moved(const qsgp_state *q, const hyper *h)
{
    return memcmp(kernel_values(q->first), kernel_values(h->kernel), (size_t)hyper_kernel_params(h) * sizeof(double));
}

static int64_t rows_of_step(const qsgp_state *q, const step_context *c)
{
    const row_blocks *b = q->problem->blocks;
    int64_t rows = (c->which ? c->count : b->count) * b->largest;
    return rows < PLACES_MOST ? rows : PLACES_MOST;
}

static anygp_status prepare(qsgp_state *q, const hyper *h, const step_context *c, anygp_error *e)
{
    row_blocks *b = q->problem->blocks;
    bool all = c->which == NULL;
    qsgp_take_values(&q->q, h);
    q->pass.now.kernel = h->kernel, q->pass.apart = has_moved(q, h);
    q->pass.random = (random_stream){c->seed, RANDOM_LIKELIHOOD, (uint64_t)c->t};
    if (qsgp_in_turn(&q->kind))
        TRY(qsrvm_sample_cells(q, c->seed, (uint64_t)c->t, e));
    else
        TRY(qsgp_sample_cells(&q->q, c->seed, (uint64_t)c->t, !q->q.gaussian, &q->sample, e));
    if (qsgp_by_blocks(q) && !q->alpha)
        return qsgp_sample_places(&q->q, c->seed, (uint64_t)c->t, rows_of_step(q, c), &q->sample, e);
    return qsgp_sample_rows(&q->q, b, all ? b->count : c->count, c->which, c->scale, true, &q->sample, e);
}

static anygp_status move_hyper(qsgp_state *q, hyper *h, const step_context *c, anygp_error *e)
{
    const comm *ranks = q->problem->comm;
    double rate = HYPER_SHARE * (c->rate > 0 ? c->rate : GAMMA * (1 - fmin(c->share, 1)));
    ascent_slope(&q->up, h);
    ascent_keep(&q->up);
    ascent_step(&q->up, rate);
    if (ranks->size > 1) TRY(ranks->broadcast(ranks->ctx, 0, h->free * (int64_t)sizeof(double), q->up.u, e));
    hyper_unpack(h, q->up.u);
    qsgp_take_values(&q->q, h);
    q->stale = q->alpha != NULL;
    return ANYGP_OK;
}

static anygp_status turns(qsgp_state *q, const hyper *h, const step_context *c, double *value, anygp_error *e)
{
    q->pass.turn = NULL;
    TRY(qsgp_run_pass(&q->pass, NULL, NULL, false, h, NULL, e));
    *value = q->pass.value;
    return qsrvm_take_turns(q, c, e);
}

static anygp_status step(void *state, hyper *h, const step_context *c, double *value, anygp_error *e)
{
    qsgp_state *q = state;
    bool learn = c->learn && h->free > 0 && q->q.cells.kind == CELLS_FOURIER && !q->q.s;
    step_sizes sizes = {.q = q,
                        .blocks = false,
                        .eta = q->eta,
                        .share = c->share,
                        .rate = c->rate > 0 ? c->rate : ADAGRAD * pow(ADAGRAD_LEAST, c->share)};
    if (q->stale && !learn) TRY(qsgp_block_renew(q, h, e));
    TRY(prepare(q, h, c, e));
    if (qsgp_in_turn(&q->kind)) return turns(q, h, c, value, e);
    sizes.blocks = qsgp_by_blocks(q) && qsgp_block_fits(q);
    q->pass.turn = sizes.blocks ? qsgp_block_turn : NULL;
    q->relax = c->rate > 0 ? c->rate : 1 - RELAXED * fmin(c->share, 1);
    if (!sizes.blocks && !q->q.gaussian && !(q->curve > 0)) {
        TRY(qsgp_run_pass(&q->pass, NULL, NULL, true, h, NULL, e));
        look_at_curvature(q);
    }
    plain_sizes(q, c, q->eta);
    if (learn) memset(q->up.gp, 0, (size_t)hyper_size(h) * sizeof(double));
    TRY(qsgp_run_pass(&q->pass, move_cell, &sizes, true, h, learn ? q->up.gp : NULL, e));
    look_at_curvature(q);
    if (sizes.blocks && q->alpha) qsgp_block_finish(q);
    *value = q->pass.value;
    return learn ? move_hyper(q, h, c, e) : ANYGP_OK;
}

/* The mean over blocks of what each says with the others in its place: over all cells where a step has all of them, else from samples. */
static anygp_status bound(void *state, const hyper *h, double *value, anygp_error *e)
{
    qsgp_state *q = state;
    row_blocks *b = q->problem->blocks;
    step_context c = {.seed = q->problem->seed, .count = 1, .scale = (double)b->count};
    *value = 0;
    if (qsgp_by_blocks(q) && !q->alpha)
        return fail_with(e, ANYGP_ERR_NUMERIC, "the bound over all rows would take all pairs of them");
    for (int64_t i = 0; i < b->count; i++) {
        c.which = &i, c.t = -1 - i;
        TRY(prepare(q, h, &c, e));
        q->pass.random = (random_stream){c.seed, RANDOM_LIKELIHOOD, 0};
        TRY(qsgp_run_pass(&q->pass, NULL, NULL, false, h, NULL, e));
        *value += q->pass.value / (double)b->count;
    }
    return isfinite(*value) ? ANYGP_OK : fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not a number");
}

static anygp_status posteriors(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    qsgp_state *q = state;
    *jitter = 0;
    qsgp_take_values(&q->q, h);
    for (int64_t t = 0; t < q->q.T; t++) {
        anygp_status status = qsgp_posterior_new(&q->q, h, t, &out[t], e);
        for (int64_t i = 0; ANYGP_FAILED(status) && i < t; i++) out[i]->ops->free(out[i]), out[i] = NULL;
        if (ANYGP_FAILED(status)) return status;
    }
    return ANYGP_OK;
}

/* Functions, or draws of several latent functions. */
static bool sampled(const void *state)
{
    const qsgp_state *q = state;
    return qsgp_batch(&q->kind, q->q.cells.m) < q->q.cells.m || q->q.each > 1;
}

const step_ops qsgp_steps = {.sampled = sampled,
                             .by_changes = true,
                             .frozen = 0.1,
                             .begin = begin,
                             .step = step,
                             .bound = bound,
                             .posteriors = posteriors,
                             .save = qsgp_save,
                             .restore = qsgp_restore};
