/* Which preconditioner: each of them solves for one right-hand side.  What counts is the work of an evaluation, in products of the kernel
   matrix with all its right-hand sides: iterations until the residual has fallen by DECADES, as learning needs, and what it costs to make P
   and its gradient.  Where rows are many, some of them at random stand for all.  No clock is asked: the same rows give the same choice. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernel/kernel_operator.h"
#include "linalg/linalg.h"
#include "model/exact/exact_iterative.h"

enum { TRY_ROWS = 8000, TRY_ITERATIONS = 30, LIST_MOST = 8 };
static const double DECADES = 3; /* of the residual */

typedef struct contender {
    const precond_ops *ops;
    precond_plan *plan;
    la_operator *P;
    cg *solver;
    double first, work; /* r'r at first; work per iteration, in products with all rows */
    int64_t iterations;
    bool rests;
} contender;

static void contender_clear(contender *c)
{
    cg_free(c->solver);
    la_operator_free(c->P);
    if (c->ops && c->ops->clear) c->ops->clear(c->plan);
}

/* Of an iteration: a product and a solve, which is known by what the preconditioner is. */
static double work_of(const precond_ops *o, double n)
{
    double per_row = o == &precond_none      ? 0
                     : o == &precond_jacobi  ? 256
                     : o == &precond_vecchia ? 240 /* short lists, all over memory */
                                             : 2 * (double)precond_rank(o->columns, (int64_t)n);
    return 1 + per_row / n;
}

/* Of P and its gradient: with M columns about five times n M^2 operations, of which a product has 2 n^2 per right-hand side. */
static double making_of(const precond_ops *o, double n)
{
    double M = o->columns > 0 ? (double)precond_rank(o->columns, (int64_t)n) : 0;
    return 2.5 * M * M / (n * (1 + PROBES));
}

static double decades_of(const contender *c) { return 0.5 * log10(c->first / fmax(c->solver->rr[0], 1e-300)); }

static anygp_status step(contender *c, anygp_error *e)
{
    cg_options once = {.most = c->iterations + 1};
    TRY(cg_run(c->solver, &once, e));
    c->rests = c->solver->broken || c->solver->steps[0] <= c->iterations || decades_of(c) >= DECADES;
    c->iterations = c->solver->steps[0];
    c->solver->rests[0] = false;
    return ANYGP_OK;
}

/* Work of an evaluation; infinite: it broke down. */
static double score(const contender *c, double n)
{
    if (!c->solver || c->solver->broken || c->iterations == 0) return INFINITY;
    double decades = decades_of(c), needed = DECADES * (double)c->iterations / decades;
    return decades > 0 ? work_of(c->ops, n) * needed + making_of(c->ops, n) : INFINITY;
}

static anygp_status enter(const problem *p, const precond_ops *ops, kernel *k, la_operator *K, contender *c,
                          anygp_error *e)
{
    double least;
    *c = (contender){.ops = ops};
    if (ops->plan) TRY(ops->plan(ops, p, k, &c->plan, e));
    TRY(ops->make(p, c->plan, k, kernel_operator_added(K), &c->P, &least, e));
    TRY(cg_new(K, c->P, 1, TRY_ITERATIONS, &c->solver, e));
    TRY(cg_begin(c->solver, p->rows->y, p->rows->n, false, e));
    c->first = c->solver->rr[0];
    return ANYGP_OK;
}

/* An iteration of each in turn, until they are there or have worked more than one that was. */
static anygp_status race(contender *list, int64_t count, double n, anygp_error *e)
{
    double least = INFINITY;
    for (int round = 0; round < TRY_ITERATIONS; round++)
        for (int64_t i = 0; i < count; i++) {
            contender *c = &list[i];
            c->rests |= work_of(c->ops, n) * (double)c->iterations + making_of(c->ops, n) > least;
            if (c->rests) continue;
            TRY(step(c, e));
            if (c->rests) least = fmin(least, score(c, n));
        }
    return ANYGP_OK;
}

static anygp_status compete(const problem *p, kernel *k, double noise, double jitter, double n_all,
                            const precond_ops **best, size_t size, char *why, anygp_error *e)
{
    const merged *m = p->rows;
    contender list[LIST_MOST] = {{0}};
    int64_t count = precond_count();
    double least = INFINITY;
    la_operator *K = NULL;
    kernel_rows rows = {m->n, m->D, m->X, m->c};
    anygp_status status =
        kernel_operator_new(&rows, &(kernel_operator_options){.keep = 8.0 * (double)m->n * (double)m->n}, &K, e);
    if (ANYGP_FAILED(status)) return status;
    kernel_operator_set(K, k, noise, jitter, true);
    for (int64_t i = 0; i < count; i++) {
        anygp_error broken;
        status = enter(p, precond_at(i), k, K, &list[i], &broken);
        list[i].rests = ANYGP_FAILED(status);
        if (ANYGP_FAILED(status) && status != ANYGP_ERR_NUMERIC) {
            *e = broken;
            goto done;
        }
    }
    TRY_DONE(race(list, count, n_all, e));
    size_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        double s = score(&list[i], n_all);
        if (s < least) least = s, *best = list[i].ops;
        if (isfinite(s) && at < size)
            at += (size_t)snprintf(why + at, size - at, "%s%s %.3g", at ? ", " : "", list[i].ops->name, s);
    }
    status = ANYGP_OK;
done:
    for (int64_t i = 0; i < count; i++) contender_clear(&list[i]);
    la_operator_free(K);
    return status;
}

anygp_status precond_try(const problem *p, kernel *k, double noise, double jitter, const precond_ops **best,
                         size_t size, char *why, anygp_error *e)
{
    const merged *m = p->rows;
    *best = &precond_none, *why = 0;
    if (m->n <= TRY_ROWS) return compete(p, k, noise, jitter, (double)m->n, best, size, why, e);
    merged some = {0};
    problem few = *p;
    int64_t *chosen = mem_alloc(TRY_ROWS, sizeof *chosen);
    if (!chosen) return fail_memory(e, "the preconditioner", 8.0 * TRY_ROWS);
    random_subset((random_stream){p->seed, RANDOM_PROBES, UINT64_MAX}, m->n, TRY_ROWS, chosen);
    anygp_status status = merged_select(m, TRY_ROWS, chosen, &some, e);
    few.rows = &some, few.near.given = NULL, few.comm = comm_self();
    if (!ANYGP_FAILED(status)) status = compete(&few, k, noise, jitter, (double)m->n, best, size, why, e);
    merged_clear(&some);
    free(chosen);
    return status;
}
