/* The mean's system over all rows, at hyperparameters that stay: Newton's method by preconditioned conjugate gradients.

   At a base a the bound's gradient and its curvature in a (svdgp_block.c) are
       r = K_{alpha,x} g(a) - K_alpha a,        A = K_alpha + K_{alpha,x} Lambda(a) K_{x,alpha}
   and likewise for the coefficients of the prior mean, whose prior is I.  Conjugate gradients on A d = r need r once and a product A p
   for each iteration: sums over all rows, and over all bases for K_alpha.  A step adds as many blocks of rows to the sum as it samples,
   and the same share of the bases, so that its cost depends neither on the number of rows nor on more than M_alpha; once all are in,
   the coefficients move by an iteration.  For Gaussian noise A does not depend on a, and the mean goes to that of dtc; the gradient is
   made anew from time to time, for the sake of rounding.  Otherwise it is made when CG has reduced the residual ten times, and a base
   whose bound is lower than that of the one before is refused: the coefficients go back half of the way.
   Each latent has its own iteration.  Latents that share a likelihood move half as far: their joint curvature is at most twice
   their own (for two latents, and for softmax).

   Preconditioner: svdgp_coarse.c, from witnesses that stand for all rows.
   Cost of a step: twice N M_alpha kernel values for rows, M_alpha^2 N / n for bases. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/decoupled/svdgp_state.h"

enum { ITERATIONS_MOST = 100, ITERATIONS_NEWTON = 8 };
static const double ENOUGH = 1e-20, ENOUGH_NEWTON = 1e-2; /* of r'z, which is a square */
static const double LOWER = 0.01; /* a bound that is lower by less than this share may be the covariance's doing */

int64_t svdgp_coefficients(const svdgp_state *q) { return (svdgp_Ma(&q->s) + q->s.p) * q->s.C; }

static anygp_status resize(param_segment *g, int64_t rows, anygp_error *e)
{
    g->rows = 0;
    return segment_append(g, rows, NULL, e);
}

void svdgp_solve_drop(svdgp_state *q)
{
    q->solve.stage = SOLVE_NONE;
    svdgp_coarse_free(q->coarse);
    q->coarse = NULL;
}

void svdgp_read_coefficients(const svdgp_state *q, double *to)
{
    const svdgp *s = &q->s;
    int64_t Ma = svdgp_Ma(s) * s->C;
    for (int64_t i = 0; i < Ma; i++) to[i] = s->a.values[i] / s->scale;
    if (s->p) memcpy(to + Ma, s->trend.values, (size_t)(s->p * s->C) * sizeof *to);
}

static double *coefficient(svdgp *s, int64_t i)
{
    int64_t Ma = svdgp_Ma(s) * s->C;
    return i < Ma ? s->a.values + i : s->trend.values + i - Ma;
}

/* ------------------------------------------------------------------------------------------- sums */

static void begin_sum(svdgp_state *q, int stage)
{
    q->solve.stage = stage, q->solve.blocks = 0, q->solve.sum_value = 0;
    memset(q->sum.values, 0, (size_t)svdgp_coefficients(q) * sizeof *q->sum.values);
}

svdgp svdgp_at(const svdgp_state *q, double *coefficients)
{
    svdgp at = q->s;
    at.newton = at.learn = at.places = false, at.gradient = true;
    at.coefficient = coefficients, at.trend.values = coefficients + svdgp_Ma(&at) * at.C;
    at.random = (random_stream){q->problem->seed, RANDOM_STEP, 0};
    return at;
}

/* Rows of blocks first .. first + count - 1. */
static anygp_status add_rows(svdgp_state *q, svdgp *at, int64_t first, int64_t count, anygp_error *e)
{
    const svdgp_layout o = svdgp_layout_of(at);
    int64_t Ma = svdgp_Ma(at) * at->C, *which = mem_alloc(count, sizeof *which);
    anygp_status status = ANYGP_OK;
    if (!which) return fail_memory(e, "a step", 8.0 * (double)count);
    for (int64_t i = 0; i < count; i++) which[i] = first + i;
    TRY_DONE(svdgp_room(&q->stat, &q->stat_room, o.size, e));
    TRY_DONE(driver_stat(q->driver, at, count, which, 1, q->stat, e));
    la_axpy(Ma, 1, q->stat + o.a, q->sum.values);
    la_axpy(at->p * at->C, 1, q->stat + o.trend, q->sum.values + Ma);
    q->solve.sum_value += q->stat[o.value];
done:
    free(which);
    return status;
}

/* sign K_alpha v of bases first .. end - 1, and of the value v'K_alpha v / 2. */
static anygp_status add_bases(svdgp_state *q, svdgp *at, int64_t first, int64_t end, double sign, anygp_error *e)
{
    int64_t n = end - first, C = at->C, *which = mem_alloc(n, sizeof *which);
    double value, *pull = mem_doubles(n, C);
    bool ok = which && pull;
    for (int64_t i = 0; ok && i < n; i++) which[i] = first + i;
    ok = ok && (n == 0 || svdgp_kl_mean(at, n, which, 1, &value, NULL, pull));
    if (ok && n > 0) {
        la_axpy(n * C, sign, pull, q->sum.values + first * C);
        q->solve.sum_value += sign * value;
    }
    free(which);
    free(pull);
    return ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

static anygp_status add_share(svdgp_state *q, int64_t count, double *now, anygp_error *e)
{
    svdgp_solve *v = &q->solve;
    int64_t P = q->problem->blocks->count, Ma = svdgp_Ma(&q->s), C = q->s.C;
    bool product = v->stage == SOLVE_PRODUCT;
    svdgp rows = svdgp_at(q, product ? q->base.values : now), bases = svdgp_at(q, product ? q->direction.values : now);
    if (product) rows.direction = q->direction.values, rows.direction_trend = q->direction.values + Ma * C;
    TRY(add_rows(q, &rows, v->blocks, count, e));
    TRY(add_bases(q, &bases, Ma * v->blocks / P, Ma * (v->blocks + count) / P, product ? 1 : -1, e));
    v->blocks += count;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- iterations */

/* Blocks that have as many rows as the preconditioner wants. */
static anygp_status witness_blocks(const svdgp_state *q, int64_t *count, int64_t **which, anygp_error *e)
{
    const row_blocks *b = q->problem->blocks;
    int64_t largest = b->largest > 0 ? b->largest : 1;
    *count = (svdgp_coarse_witnesses(&q->s, q->coarse_most) + largest - 1) / largest;
    if (*count > b->count) *count = b->count;
    *which = mem_alloc(*count, sizeof **which);
    if (!*which) return fail_memory(e, "a step", 8.0 * (double)*count);
    random_subset((random_stream){q->problem->seed, RANDOM_BASES, UINT64_MAX - (uint64_t)q->solve.begun}, b->count,
                  *count, *which);
    return ANYGP_OK;
}

/* Witnesses at the coefficients as they are. */
static anygp_status take_witnesses(svdgp_state *q, anygp_error *e)
{
    svdgp at = q->s;
    int64_t count, *which = NULL;
    anygp_status status = ANYGP_OK;
    TRY_DONE(witness_blocks(q, &count, &which, e));
    TRY_DONE(svdgp_witness_seat(q, count, which, INT64_MAX, e));
    at.witness = q->s.witness, at.block.n = 0, at.learn = at.places = false, at.gradient = true;
    at.direction = NULL;
    const svdgp_layout o = svdgp_layout_of(&at);
    TRY_DONE(svdgp_room(&q->stat, &q->stat_room, o.size, e));
    TRY_DONE(driver_stat(q->driver, &at, count, which, 1, q->stat, e));
    q->witness.rows = q->oldest = 0;
    TRY_DONE(svdgp_witness_keep(q, q->stat + o.witness, INT64_MAX, e));
done:
    free(which);
    return status;
}

static anygp_status make_coarse(svdgp_state *q, anygp_error *e)
{
    random_stream random = {q->problem->seed, RANDOM_COLUMNS, (uint64_t)q->solve.begun};
    svdgp_coarse_free(q->coarse);
    q->coarse = svdgp_coarse_new(&q->s, q->coarse_most, &q->witness, svdgp_witness_scale(q), random);
    return q->coarse
               ? ANYGP_OK
               : fail_with(e, ANYGP_ERR_NUMERIC, "the kernel matrix of the mean's bases is not positive definite");
}

/* z = P r in the place of q->sum, and r'z of each latent. */
static anygp_status precondition(svdgp_state *q, double *rz, anygp_error *e)
{
    int64_t C = q->s.C, n = svdgp_coefficients(q) / C;
    if (!svdgp_coarse_apply(&q->s, q->coarse, false, q->residual.values, q->sum.values))
        return fail_memory(e, "kernel tiles", 0);
    for (int64_t c = 0; c < C; c++) rz[c] = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < C; c++) rz[c] += q->residual.values[i * C + c] * q->sum.values[i * C + c];
    return ANYGP_OK;
}

/* A start for Gaussian noise: the optimum over S by the witnesses alone. */
static anygp_status start_from_witnesses(svdgp_state *q, anygp_error *e)
{
    int64_t count, *which = NULL, size = svdgp_coefficients(q), Ma = svdgp_Ma(&q->s) * q->s.C;
    svdgp at = svdgp_at(q, q->base.values); /* zeros */
    anygp_status status = ANYGP_OK;
    TRY_DONE(take_witnesses(q, e));
    TRY_DONE(make_coarse(q, e));
    TRY_DONE(witness_blocks(q, &count, &which, e));
    const svdgp_layout o = svdgp_layout_of(&at);
    TRY_DONE(svdgp_room(&q->stat, &q->stat_room, o.size, e));
    TRY_DONE(driver_stat(q->driver, &at, count, which, svdgp_witness_scale(q), q->stat, e));
    memcpy(q->residual.values, q->stat + o.a, (size_t)Ma * sizeof *q->residual.values);
    memcpy(q->residual.values + Ma, q->stat + o.trend, (size_t)(size - Ma) * sizeof *q->residual.values);
    if (!svdgp_coarse_apply(&q->s, q->coarse, true, q->residual.values, q->sum.values))
        TRY_DONE(fail_memory(e, "kernel tiles", 0));
    for (int64_t i = 0; i < size; i++) *coefficient(&q->s, i) = q->sum.values[i];
done:
    free(which);
    return status;
}

static anygp_status begin(svdgp_state *q, const step_context *c, anygp_error *e)
{
    param_segment *const list[] = {&q->base, &q->residual, &q->direction, &q->sum};
    svdgp_solve_drop(q);
    for (int i = 0; i < 4; i++) TRY(resize(list[i], svdgp_Ma(&q->s) + q->s.p, e));
    TRY(resize(&q->rz, 2, e));
    q->solve = (svdgp_solve){.begun = c->t, .value = NAN};
    if (svdgp_quadratic(&q->s) && !c->settle) TRY(start_from_witnesses(q, e));
    begin_sum(q, SOLVE_GRADIENT);
    return ANYGP_OK;
}

/* Half of the way back to the base. */
static void retreat(svdgp_state *q)
{
    for (int64_t i = 0; i < svdgp_coefficients(q); i++) {
        double *a = coefficient(&q->s, i);
        *a = 0.5 * (*a + q->base.values[i]);
    }
    begin_sum(q, SOLVE_GRADIENT);
}

bool svdgp_solve_retreat(svdgp_state *q)
{
    if (q->solve.stage == SOLVE_NONE || isnan(q->solve.value)) return false;
    retreat(q);
    return true;
}

/* The gradient is complete: a new base, unless its bound is lower than the last one's. */
static anygp_status take_gradient(svdgp_state *q, const double *now, anygp_error *e)
{
    svdgp_solve *v = &q->solve;
    svdgp *s = &q->s;
    int64_t C = s->C, size = svdgp_coefficients(q), Ma = svdgp_Ma(s) * C;
    for (int64_t i = Ma; i < size; i++) q->sum.values[i] -= now[i], v->sum_value -= 0.5 * now[i] * now[i];
    if (!svdgp_quadratic(s) && v->value - v->sum_value > LOWER * fabs(v->value)) {
        retreat(q);
        return ANYGP_OK;
    }
    v->value = v->sum_value, v->iterations = 0;
    memcpy(q->base.values, now, (size_t)size * sizeof *now);
    memcpy(q->residual.values, q->sum.values, (size_t)size * sizeof *now);
    if (!q->coarse || !svdgp_quadratic(s)) {
        TRY(take_witnesses(q, e));
        TRY(make_coarse(q, e));
    }
    TRY(precondition(q, q->rz.values, e));
    memcpy(q->rz.values + C, q->rz.values, (size_t)C * sizeof *q->rz.values);
    memcpy(q->direction.values, q->sum.values, (size_t)size * sizeof *q->sum.values);
    begin_sum(q, SOLVE_PRODUCT);
    return ANYGP_OK;
}

/* p'A p of latent c. */
static double curvature(const svdgp_state *q, int64_t c)
{
    double sum = 0;
    for (int64_t i = c; i < svdgp_coefficients(q); i += q->s.C) sum += q->direction.values[i] * q->sum.values[i];
    return sum;
}

/* The product is complete: an iteration. */
static anygp_status iterate(svdgp_state *q, anygp_error *e)
{
    svdgp_solve *v = &q->solve;
    svdgp *s = &q->s;
    int64_t C = s->C, size = svdgp_coefficients(q), Ma = svdgp_Ma(s) * C;
    double share = s->likelihood->latents > 1 ? 0.5 : 1;
    double enough = svdgp_quadratic(s) ? ENOUGH : ENOUGH_NEWTON;
    bool done = true;
    if (!q->coarse) TRY(make_coarse(q, e));
    double *rz = mem_alloc(C, sizeof *rz);
    if (!rz) return fail_memory(e, "a step", 8.0 * (double)C);
    for (int64_t i = Ma; i < size; i++) q->sum.values[i] += q->direction.values[i];
    for (int64_t c = 0; c < C; c++) {
        double Ap = curvature(q, c), alpha = Ap > 0 ? q->rz.values[c] / Ap : 0;
        for (int64_t i = c; i < size; i += C) {
            *coefficient(s, i) += share * alpha * q->direction.values[i];
            q->residual.values[i] -= alpha * q->sum.values[i];
        }
    }
    anygp_status status = precondition(q, rz, e);
    for (int64_t c = 0; c < C && !ANYGP_FAILED(status); c++) {
        double beta = q->rz.values[c] > 0 ? rz[c] / q->rz.values[c] : 0;
        for (int64_t i = c; i < size; i += C) q->direction.values[i] = q->sum.values[i] + beta * q->direction.values[i];
        q->rz.values[c] = rz[c];
        done = done && rz[c] <= enough * q->rz.values[C + c];
    }
    free(rz);
    done = done || ++v->iterations >= (svdgp_quadratic(s) ? ITERATIONS_MOST : ITERATIONS_NEWTON);
    begin_sum(q, done ? SOLVE_GRADIENT : SOLVE_PRODUCT);
    return status;
}

anygp_status svdgp_solve_step(svdgp_state *q, const step_context *c, anygp_error *e)
{
    int64_t P = q->problem->blocks->count, left = c->which ? c->count : 2 * P, size;
    if (q->solve.stage == SOLVE_NONE || q->base.rows != svdgp_Ma(&q->s) + q->s.p) TRY(begin(q, c, e));
    size = svdgp_coefficients(q);
    double *now = mem_alloc(size, sizeof *now);
    anygp_status status = ANYGP_OK;
    if (!now) return fail_memory(e, "a step", 8.0 * (double)size);
    while (left > 0) {
        int64_t count = P - q->solve.blocks < left ? P - q->solve.blocks : left;
        svdgp_read_coefficients(q, now);
        TRY_DONE(add_share(q, count, now, e));
        left -= count;
        if (q->solve.blocks < P) continue;
        TRY_DONE(q->solve.stage == SOLVE_GRADIENT ? take_gradient(q, now, e) : iterate(q, e));
    }
done:
    free(now);
    return status;
}
