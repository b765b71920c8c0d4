/* A step of a variational model: natural gradients for q, Adam for the hyperparameters and inducing inputs, both from one pass
   over the sample. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/jitter.h"
#include "linalg/linalg.h"
#include "gauss/orthogonal.h"
#include "model/variational/svgp_state.h"
#include "gauss/transport.h"

enum { TRIALS = 6, TRUSTED = 16, EVERY = 4 };
static const double NOISE_STEP = 0.5, STRETCH = 10;

/* L at h: with the jitter so far, or where that does not suffice with more. */
anygp_status svgp_state_prepare(svgp_state *q, const hyper *h, anygp_error *e)
{
    if (q->prepared) return ANYGP_OK;
    q->prepared = chain_prepare(&q->s, h, false, &q->jitter);
    if (q->prepared) return ANYGP_OK;
    double jitter = fmax(q->jitter, JITTER_FIRST);
    if (!chain_prepare(&q->s, h, true, &jitter) || jitter > JITTER_MOST) return inducing_no_factor(e);
    q->jitter = jitter, q->prepared = true;
    return ANYGP_OK;
}

/* q before the first step.  Likelihoods with exp(f) have curvatures like exp(var / 2): under a wide prior the first step would
   claim a precision that it takes hundreds to forget, so functions start with a variance of at most about 1. */
static void start_q(layer *l)
{
    double size = 0;
    for (int64_t j = 0; j < l->M; j++) size += la_dot(l->M, l->u.L + j * l->M, l->u.L + j * l->M) / (double)l->M;
    for (int64_t i = 0; i < l->C * l->K; i++) {
        gauss *q = &l->q[i];
        int64_t p = i % l->K == 0 ? l->p : 0; /* of the mean */
        for (int64_t k = 0; k < q->M; k++) q->Lambda[k + k * q->M] = fmax(1, k < p ? l->mean->B : size);
        layer_q_set(l, q, q->Lambda, q->theta);
    }
}

anygp_status svgp_begin(void *state, hyper *h, double jitter, anygp_error *e)
{
    svgp_state *q = state;
    TRY(ascent_begin(&q->up, h, e));
    q->jitter = jitter, q->prepared = chain_prepare(&q->s, h, true, &q->jitter);
    if (!q->prepared) return inducing_no_factor(e);
    if (!q->s.gaussian) start_q(q->s.f);
    return ANYGP_OK;
}

/* The noise of Gaussian targets by a natural step: n rows know log s2 to a precision of n / 2, so that
   log s2 += rho (mean of (y - mu)^2 + var over s2 - 1), which at rho = 1 comes close to the best s2 for this q.  Adam, which
   does not know how far it is, takes hundreds of steps for it.  gu: the gradient in u. */
static void move_noise(svgp_state *q, const hyper *h, double rho)
{
    double precision = 0.5 * q->rows;
    int64_t f = 0, P = hyper_kernel_params(h);
    for (int64_t i = 0; i < h->count; i++) {
        if (!hyper_facts(h, i)->free) continue;
        if (i >= P) q->up.u[f] = q->up.before[f] + fmin(fmax(rho * q->up.gu[f] / precision, -NOISE_STEP), NOISE_STEP);
        f++;
    }
}

/* The noise alone, while the rest stands. */
static anygp_status settle_noise(svgp_state *q, hyper *h, const chain_stat *stat, const step_context *now,
                                 anygp_error *e)
{
    const comm *c = q->problem->comm;
    size_t bytes = (size_t)h->free * sizeof(double);
    memset(q->up.gp, 0, (size_t)hyper_size(h) * sizeof(double));
    memcpy(q->up.gp + hyper_kernel_params(h), stat->like, (size_t)h->likes * sizeof(double));
    ascent_slope(&q->up, h);
    ascent_keep(&q->up);
    move_noise(q, h, now->rho);
    if (c->size > 1) TRY(c->broadcast(c->ctx, 0, (int64_t)bytes, q->up.u, e));
    hyper_unpack(h, q->up.u);
    chain_take_values(&q->s, h);
    return ANYGP_OK;
}

/* Where q_t is at home, for ivsgpr. */
static void remember(svgp_state *q, const hyper *h)
{
    if (!q->old_L) return;
    size_t size = (size_t)(h->M * h->D);
    memcpy(q->old_L, q->s.f->u.L, (size_t)(h->M * h->M) * sizeof(double));
    memcpy(q->old_Z, h->Z, size * sizeof(double));
    if (h->C) memcpy(q->old_Z + size, h->C, size * sizeof(double));
}

/* ------------------------------------------------------------------------- steps that are not exact */

/* The bound on the sample at the new q. */
static anygp_status value_after(svgp_state *q, const step_context *c, double *value, anygp_error *e)
{
    double sums[1 + LIKELIHOOD_PARAMS * 4], *room = sums;
    int64_t size = 1 + q->s.T * q->s.like->params;
    if (size > (int64_t)(sizeof sums / sizeof *sums) && !(room = mem_alloc(size, sizeof *room)))
        return fail_memory(e, "the sums", 8.0 * (double)size);
    anygp_status status = ANYGP_OK;
    q->s.value_only = true;
    if (q->s.f->O && !orthogonal_prepare(q->s.f, c->seed, c->t)) status = fail_memory(e, "kernel tiles", 0);
    if (!ANYGP_FAILED(status)) status = svgp_precision_prepare(q, e);
    if (!ANYGP_FAILED(status)) status = driver_stat(q->driver, &q->s, c->count, c->which, c->scale, room, e);
    q->s.value_only = false;
    *value = ANYGP_FAILED(status) ? -INFINITY : room[0] - chain_kl(&q->s);
    if (room != sums) free(room);
    return status == ANYGP_ERR_NUMERIC ? ANYGP_OK : status;
}

/* q as it was before a step that cannot be taken. */
static anygp_status stays(svgp_state *q, const step_context *c, anygp_error *e)
{
    if (q->kept) layer_take_back(q->s.f, q->kept);
    if (c->t > 0) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_NUMERIC, "a step of any size leads to a precision that is not positive definite");
}

/* Whether the bound after a natural step is looked at, which costs a forward pass: where the step leads far at all, and after
   TRUSTED looks in a row that found nothing wrong only at every EVERY-th step. */
static bool looks(const svgp_state *q, const step_context *c)
{
    return !q->s.gaussian && (q->approved < TRUSTED || c->t % EVERY == 0) && layer_far_moved(q->s.f, q->kept);
}

/* The natural step of a likelihood that is not quadratic can lead too far: where the sample's bound falls it is taken back and
   tried at a quarter, and in the end left out.  So is one that no size makes a distribution, but for the first.
   moved: what layer_move said of the step of size c->rho. */
static anygp_status look_at_q(svgp_state *q, const step_context *c, const chain_stat *stat, bool moved, double before,
                              anygp_error *e)
{
    double rho = c->rho, after;
    for (int k = 0;; k++) {
        if (!moved) return stays(q, c, e);
        if (!looks(q, c)) return ANYGP_OK;
        TRY(value_after(q, c, &after, e));
        if (after >= before) return q->approved++, ANYGP_OK;
        layer_take_back(q->s.f, q->kept);
        q->approved = 0;
        if (k == TRIALS) return ANYGP_OK;
        moved = layer_move(q->s.f, stat->f, rho *= 0.25, NULL, NULL);
    }
}

/* ivsgpr: q follows the new kernel and places; for a likelihood that is not quadratic only where the sample's bound has not
   fallen over the whole step, else v stands still as in svgp. */
static anygp_status carry_q(svgp_state *q, const step_context *c, double before, anygp_error *e)
{
    double after;
    if (!q->old_L) return ANYGP_OK;
    if (q->kept) layer_keep(q->s.f, q->kept);
    function_set old = {q->s.f->M, q->old_Z, q->s.h->C ? q->old_Z + q->s.f->M * q->s.f->D : NULL};
    if (!layer_transport(q->s.f, old, q->old_L)) return fail_memory(e, "the step", 0);
    if (!q->kept) return ANYGP_OK;
    TRY(value_after(q, c, &after, e));
    if (!(after >= before)) layer_take_back(q->s.f, q->kept);
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------- hyperparameters */

/* Whether the function lies so far out, in units of its prior, that another kernel at the same v may be a function that has
   nothing to do with the data: weights and counts in the millions do that. */
static bool daring(const svgp_state *q)
{
    int64_t n = q->s.f->Mt * q->s.f->C;
    return !q->s.gaussian && la_dot(n, q->s.f->m, q->s.f->m) > STRETCH * STRETCH * (double)n;
}

/* A step of the hyperparameters after which the sample's bound is below that before all of the step is made smaller, and in
   the end left out. */
static anygp_status look_at_hyper(svgp_state *q, hyper *h, const step_context *c, double before, anygp_error *e)
{
    double after;
    for (int k = 0; k <= TRIALS; k++) {
        TRY(value_after(q, c, &after, e));
        if (after >= before) return ANYGP_OK;
        for (int64_t i = 0; i < h->free; i++)
            q->up.u[i] = k == TRIALS ? q->up.before[i] : q->up.before[i] + 0.25 * (q->up.u[i] - q->up.before[i]);
        hyper_unpack(h, q->up.u);
        q->prepared = false;
        TRY(svgp_state_prepare(q, h, e));
    }
    return ANYGP_OK;
}

/* A place where K_uu has no factor is not gone to.  Over ranks all go where rank 0 goes. */
static anygp_status move_hyper(svgp_state *q, hyper *h, const step_context *now, double value, anygp_error *e)
{
    const comm *c = q->problem->comm;
    size_t bytes = (size_t)h->free * sizeof(double);
    ascent_slope(&q->up, h);
    ascent_keep(&q->up);
    ascent_step(&q->up, now->rate);
    if (q->s.gaussian) move_noise(q, h, now->rho);
    if (c->size > 1) TRY(c->broadcast(c->ctx, 0, (int64_t)bytes, q->up.u, e));
    remember(q, h);
    hyper_unpack(h, q->up.u);
    q->prepared = false;
    if (!ANYGP_FAILED(svgp_state_prepare(q, h, e))) {
        TRY(carry_q(q, now, value, e));
        return daring(q) ? look_at_hyper(q, h, now, value, e) : ANYGP_OK;
    }
    ascent_back(&q->up, h);
    return svgp_state_prepare(q, h, e);
}

static anygp_status move_a(svgp_state *q, const step_context *now, anygp_error *e)
{
    const comm *c = q->problem->comm;
    adam_step(&q->adam_a, now->rate, q->ga, q->s.f->a);
    return c->size > 1 ? c->broadcast(c->ctx, 0, q->adam_a.cols * (int64_t)sizeof(double), q->s.f->a, e) : ANYGP_OK;
}

/* Whether a learning step costs less with V at hand; from numbers that all ranks share, since their sums must be of one size. */
static bool learns_by_V(const svgp_state *q, const step_context *c)
{
    const row_blocks *b = q->problem->blocks;
    double rows = (double)(c->which ? c->count : b->count) * (double)b->largest;
    return q->s.L == 1 && q->s.f->C * q->s.f->K == 1 && q->s.f->O == 0 && 4 * (double)q->s.f->Mt < 3 * rows;
}

static anygp_status hold_or_drop_V(svgp_state *q, anygp_error *e)
{
    if (!q->s.f->by_V) layer_drop_V(q->s.f);
    return q->s.f->by_V && !layer_hold_V(q->s.f)
               ? fail_memory(e, "the covariance of q", 8.0 * (double)(q->s.f->Mt * q->s.f->Mt))
               : ANYGP_OK;
}

anygp_status svgp_before_rows(svgp_state *q, const hyper *h, const step_context *c, bool learn, anygp_error *e)
{
    TRY(svgp_state_prepare(q, h, e));
    chain_learn(&q->s, learn);
    q->s.f->by_V = learn && learns_by_V(q, c);
    TRY(hold_or_drop_V(q, e));
    TRY(svgp_precision_prepare(q, e));
    q->s.random = (random_stream){c->seed, RANDOM_LIKELIHOOD, (uint64_t)c->t};
    if (q->s.f->O && !orthogonal_prepare(q->s.f, c->seed, c->t)) return fail_memory(e, "kernel tiles", 0);
    return ANYGP_OK;
}

static anygp_status statistics(svgp_state *q, const hyper *h, const step_context *c, bool learn, anygp_error *e)
{
    TRY(svgp_before_rows(q, h, c, learn, e));
    return driver_stat(q->driver, &q->s, c->count, c->which, c->scale, q->stat, e);
}

/* The gradient and the step of q, neither of which needs the other.  False: no memory. */
static bool gradient_and_move(svgp_state *q, chain_stat *stat, double rho, bool *moved)
{
    bool ok = false;
    int threads = q->s.f->beside && threads_max() > 1 ? 2 : 1;
    if (q->s.f->by_V) layer_E(q->s.f, stat->f);
    la_serial_begin(threads);
#pragma omp parallel sections num_threads(threads) if (threads > 1)
    {
#pragma omp section
        ok = chain_gradient(&q->s, stat, q->up.gp);
#pragma omp section
        *moved = layer_move(q->s.f, stat->f, rho, NULL, NULL);
    }
    la_serial_end(threads);
    return ok;
}

anygp_status svgp_after_rows(svgp_state *q, hyper *h, const step_context *c, bool learn, double *value, anygp_error *e)
{
    chain_stat stat;
    bool moved;
    chain_stat_place(&q->s, q->stat, &stat);
    *value = *stat.value - chain_kl(&q->s);
    if (q->s.f->O && !orthogonal_gradient(q->s.f, stat.f, q->ga)) return fail_memory(e, "kernel tiles", 0);
    if (!q->s.gaussian) layer_keep(q->s.f, q->kept);
    if (!learn)
        moved = layer_move(q->s.f, stat.f, c->rho, NULL, NULL);
    else if (!gradient_and_move(q, &stat, c->rho, &moved))
        return fail_memory(e, "kernel tiles", 0);
    TRY(look_at_q(q, c, &stat, moved, *value, e));
    if (q->s.f->O) TRY(move_a(q, c, e));
    if (learn) return move_hyper(q, h, c, *value, e);
    return c->settle && q->s.gaussian && h->free > 0 ? settle_noise(q, h, &stat, c, e) : ANYGP_OK;
}

anygp_status svgp_step(void *state, hyper *h, const step_context *c, double *value, anygp_error *e)
{
    svgp_state *q = state;
    TRY(svgp_grow(q, h, c, e));
    bool learn = c->learn && h->free > 0;
    TRY(svgp_precision_check(q, h, c, e));
    TRY(statistics(q, h, c, learn, e));
    return svgp_after_rows(q, h, c, learn, value, e);
}

anygp_status svgp_bound(void *state, const hyper *h, double *value, anygp_error *e)
{
    svgp_state *q = state;
    chain_stat stat;
    TRY(statistics(q, h, &(step_context){.scale = 1, .seed = q->problem->seed}, false, e));
    chain_stat_place(&q->s, q->stat, &stat);
    if (q->s.f->O && !orthogonal_whole(q->s.f)) return fail_memory(e, "kernel tiles", 0);
    *value = *stat.value - chain_kl(&q->s);
    return isfinite(*value) ? ANYGP_OK : fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not a number");
}
