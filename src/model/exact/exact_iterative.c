/* The exact model by iteration: workspace, right-hand sides, stopping, the table (exact_iterative.h).  iterative_evidence.c makes the log
   evidence and its gradient from the solutions. */
#include "model/exact/exact_iterative.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernel/kernel_operator.h"
#include "linalg/linalg.h"
#include "model/exact/exact.h"
#include "model/exact/iterative_parts.h"
#include "model/local/vecchia.h"

/* ---------------------------------------------------------------------------------- workspace */

void iterative_close(void *state)
{
    exact_iterative *s = state;
    if (!s) return;
    cg_free(s->solver);
    la_operator_free(s->P);
    la_operator_free(s->K);
    if (s->precond && s->precond->clear) s->precond->clear(s->plan);
    double *const owned[] = {s->B, s->V, s->low, s->high, s->alpha, s->W, s->R, s->b, s->history};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(s);
}

/* What depends on the number of probes. */
anygp_status iterative_resize(exact_iterative *s, int64_t probes, anygp_error *e)
{
    cg_free(s->solver);
    double **const arrays[] = {&s->B, &s->V, &s->low, &s->high};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(*arrays[i]), *arrays[i] = NULL;
    s->solver = NULL;
    s->probes = probes < s->n ? probes : s->n;
    s->t = 1 + s->p + s->probes;
    s->B = mem_doubles(s->n, s->t), s->V = mem_doubles(s->n, s->probes);
    s->low = mem_doubles(s->probes, 1), s->high = mem_doubles(s->probes, 1);
    if (!s->B || !s->V || !s->low || !s->high)
        return fail_memory(e, "the right-hand sides", 16.0 * (double)s->n * (double)s->t);
    return cg_new(s->K, NULL, s->t, ITERATIONS_MOST, &s->solver, e);
}

/* Bytes besides the tiles: vectors of the solver, right-hand sides and products, and a preconditioner of low rank with its factors. */
static double vector_bytes(double n, double p)
{
    double t = 1 + p + PROBES_MOST, M = (double)precond_rank_most((int64_t)n);
    return 8 * (n * (9 * t + M + 64) + 8 * M * M + p * p) + 1e7;
}

anygp_status iterative_open(const problem *p, void **state, anygp_error *e)
{
    exact_iterative *s = calloc(1, sizeof *s);
    if (!s) return fail_memory(e, "the model", sizeof *s);
    anygp_status status = ANYGP_OK;
    int64_t n = s->n = p->rows->n, q = s->p = p->mean->p;
    s->problem = p, s->rows = p->rows, s->mean = p->mean;
    s->rough = n > ROUGH_ABOVE && !(p->solver.tolerance > 0);
    s->precond = p->solver.precond ? precond_find(p->solver.precond) : NULL;
    kernel_rows rows = {n, p->rows->D, p->rows->X, p->rows->c};
    kernel_operator_options o = {.keep = p->keep, .comm = p->comm};
    TRY_DONE(kernel_operator_new(&rows, &o, &s->K, e));
    s->alpha = mem_doubles(n, 1), s->W = mem_doubles(n, q), s->R = mem_doubles(q, q), s->b = mem_doubles(q, 1);
    if (!s->alpha || !s->W || !s->R || !s->b)
        status = fail_memory(e, "the workspace", 8.0 * (double)n * (double)(1 + q));
    if (status == ANYGP_OK) status = iterative_resize(s, s->rough ? PROBES_FEW : PROBES, e);
done:
    if (ANYGP_FAILED(status))
        iterative_close(s);
    else
        *state = s;
    return status;
}

static anygp_status open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    (void)self, (void)h;
    return iterative_open(p, state, e);
}

/* ---------------------------------------------------------------------------- right-hand sides */

void probe_signs(uint64_t seed, int64_t k, int64_t n, double *z)
{
    random_stream signs = {seed, RANDOM_PROBES, (uint64_t)k};
    for (int64_t i = 0; i < n; i += 64) {
        uint64_t bits = random_bits(signs, (uint64_t)(i / 64));
        for (int64_t j = i; j < n && j < i + 64; j++, bits >>= 1) z[j] = bits & 1 ? 1 : -1;
    }
}

/* Signs, or the k-th unit vector times sqrt(n) where there is one probe for each. */
static void fill_probe(const exact_iterative *s, int64_t k, double *z)
{
    if (s->probes < s->n) {
        probe_signs(s->problem->seed, k, s->n, z);
        return;
    }
    memset(z, 0, (size_t)s->n * sizeof *z);
    z[k] = sqrt((double)s->n);
}

/* B = [y, H, R Z] and V = P^-1 R Z. */
anygp_status iterative_fill(exact_iterative *s, anygp_error *e)
{
    int64_t n = s->n;
    double *w = s->B + n * (1 + s->p);
    memcpy(s->B, s->rows->y, (size_t)n * sizeof *s->B);
    basis_fill(s->mean, n, s->rows->X, s->rows->D, s->B + n, 1, n);
    for (int64_t k = 0; k < s->probes; k++) fill_probe(s, k, s->V + k * n);
    if (s->P)
        TRY(s->P->ops->root(s->P, s->probes, s->V, n, w, n, e));
    else
        memcpy(w, s->V, (size_t)(n * s->probes) * sizeof *w);
    memcpy(s->V, w, (size_t)(n * s->probes) * sizeof *w);
    return s->P ? s->P->ops->solve(s->P, s->probes, s->V, n, e) : ANYGP_OK;
}

/* -------------------------------------------------------------------------------- stopping */

/* size: of the log evidence, about; 0: not known */
static double tolerance_at(const exact_iterative *s, double size)
{
    static const double NATS = 0.1, SHARE = 1e-5, ROUGH_NATS = 0.5, ROUGH_SHARE = 1e-4;
    double given = s->problem->solver.tolerance;
    if (s->rough) return ROUGH_NATS + ROUGH_SHARE * (double)s->n; /* the same for all evaluations */
    return given > 0 ? given : NATS + SHARE * (size > 0 ? size : (double)s->n);
}

double iterative_tolerance(const exact_iterative *s) { return tolerance_at(s, s->reference); }

static const double COLUMN_SHARE = 0.25; /* of the tolerance: for y, and for the quadratures */

/* What the stopping of the iterations may change from one evaluation to the next. */
static double resolution(const void *state) { return COLUMN_SHARE * tolerance_at(state, 0); }

/* Iterations between looks at a quadrature.  Rough: what those since the last look have changed, and how much of the tolerance that may be; where
   they change so little the rest is not worth more than a few times as much, even if convergence is slow. */
enum { EVERY = 8, ROUGH_EVERY = 4 };
static const double ROUGH_CHANGE = 0.25;

static int64_t every(const exact_iterative *s) { return s->rough ? ROUGH_EVERY : EVERY; }

/* How far column k of y or the mean is off, as a change of b'Ky^-1 b. */
static double left_of(const exact_iterative *s, const cg *c, int64_t k)
{
    return s->rough ? cg_progress(c, k, ROUGH_EVERY) / ROUGH_CHANGE : c->rr[k] / s->least_K;
}

/* How far the quadrature of column k is off. */
static double gap_of(exact_iterative *s, const cg *c, int64_t k)
{
    int64_t probe = k - 1 - s->p;
    double former = s->high[probe];
    log_quadrature q = lanczos_log(c->steps[k], c->alpha + k * c->room, c->beta + k * c->room, c->first[k], s->least);
    s->high[probe] = q.upper;
    if (!s->rough) return q.upper - q.lower;
    return c->steps[k] > ROUGH_EVERY ? fabs(q.upper - former) / ROUGH_CHANGE : INFINITY;
}

/* A quarter of the tolerance each for y and for the quadratures; a function of the mean is a number that its precision is part of. */
bool iterative_settled(void *ctx, const cg *c, int64_t k)
{
    exact_iterative *s = ctx;
    double share = COLUMN_SHARE * iterative_tolerance(s);
    if (k == 0) return 0.5 * left_of(s, c, k) <= share;
    if (k <= s->p) {
        double left = left_of(s, c, k), precision = 1 / s->mean->B + la_dot(c->n, s->B + k * c->n, c->X + k * c->n);
        return left <= share * fmax(precision, 1 / s->mean->B);
    }
    return c->steps[k] % every(s) == 0 && 0.5 * gap_of(s, c, k) <= share;
}

/* Once the pass has taken too long, or someone asked for its end; rank 0 decides. */
bool iterative_enough(void *ctx)
{
    enum { GO_ON, LATE, STOPPED };
    exact_iterative *s = ctx;
    const comm *c = s->problem->comm;
    const deadline *pass = s->problem->pass;
    int end = !pass || !deadline_passed(pass) ? GO_ON : stop_heard(pass->stop) ? STOPPED : LATE;
    if (c->size > 1 && ANYGP_FAILED(c->broadcast(c->ctx, 0, sizeof end, &end, &s->failure))) return true;
    if (end) s->failure = (anygp_error){.status = ANYGP_TIME_LIMIT};
    s->stopped = end == STOPPED;
    return end != GO_ON;
}

/* ------------------------------------------------------------------------------- preconditioner */

/* Which one, once, at the first hyperparameters, and what it takes as given there.  Hardly any jitter: a choice needs no more. */
static anygp_status choose(exact_iterative *s, const hyper *h, anygp_error *e)
{
    static const double JITTER = 1e-8;
    char why[200] = "";
    if (!s->precond) {
        TRY(precond_try(s->problem, h->kernel, h->like[0], JITTER, &s->precond, sizeof why, why, e));
        snprintf(
            s->remark, sizeof s->remark,
            "preconditioner %s (%s), which takes the least work per evaluation, in products with the kernel matrix: %s",
            s->precond->name, s->precond->summary, why);
    }
    return s->precond->plan && !s->plan ? s->precond->plan(s->precond, s->problem, h->kernel, &s->plan, e) : ANYGP_OK;
}

/* P at these hyperparameters. */
anygp_status iterative_precondition(exact_iterative *s, const hyper *h, anygp_error *e)
{
    la_operator_free(s->P);
    s->P = NULL;
    TRY(choose(s, h, e));
    return s->precond->make(s->problem, s->plan, h->kernel, kernel_operator_added(s->K), &s->P, &s->least, e);
}

/* ---------------------------------------------------------------------------------- checkpoints */

enum { SETTLED_PRECOND, SETTLED_PROBES, SETTLED_DONE, SETTLED_SOLVED, SETTLED_REFERENCE, SETTLED_WIDTH, SETTLED };

int64_t iterative_settled_numbers(const void *state, double *to)
{
    const exact_iterative *s = state;
    int64_t precond = 0, history = s->kept * s->width;
    while (precond < precond_count() && precond_at(precond) != s->precond) precond++;
    const double numbers[SETTLED] = {[SETTLED_PRECOND] = (double)precond, [SETTLED_PROBES] = (double)s->probes,
                                     [SETTLED_DONE] = s->settled,         [SETTLED_SOLVED] = s->solved || s->lost,
                                     [SETTLED_REFERENCE] = s->reference,  [SETTLED_WIDTH] = (double)s->width};
    if (to) memcpy(to, numbers, sizeof numbers);
    if (to && history) memcpy(to + SETTLED, s->history, (size_t)history * sizeof *to);
    return SETTLED + history;
}

/* Whether these can have been written; width: of the history. */
static bool can_be_settled(const exact_iterative *s, const double *from, int64_t history, int64_t width)
{
    double probes = from[SETTLED_PROBES], precond = from[SETTLED_PRECOND];
    bool whole = history == 0 ? from[SETTLED_WIDTH] == 0 || from[SETTLED_WIDTH] == (double)width
                              : from[SETTLED_WIDTH] == (double)width && history % width == 0;
    double most = s->n < PROBES_MOST ? (double)s->n : PROBES_MOST;
    size_t last = (sizeof(evidence_estimate) - offsetof(evidence_estimate, precond)) / sizeof(double);
    for (int64_t k = 1; whole && k * width <= history; k++) {
        double which = from[SETTLED + k * width - (int64_t)last];
        whole = which >= 0 && which < (double)precond_count();
    }
    return whole && probes >= 1 && probes <= most && precond >= 0 && precond <= (double)precond_count() &&
           from[SETTLED_REFERENCE] >= 0 && isfinite(from[SETTLED_REFERENCE]);
}

bool iterative_settle_numbers(void *state, const hyper *h, int64_t count, const double *from, anygp_error *e)
{
    exact_iterative *s = state;
    int64_t width = iterative_width(h), history = count - SETTLED;
    if (history < 0 || !can_be_settled(s, from, history, width)) return false;
    int64_t precond = (int64_t)from[SETTLED_PRECOND];
    s->precond = precond < precond_count() ? precond_at(precond) : s->precond;
    if (ANYGP_FAILED(s->precond ? choose(s, h, e) : ANYGP_OK)) return false;
    if (ANYGP_FAILED(iterative_resize(s, (int64_t)from[SETTLED_PROBES], e))) return false;
    if (history && !(s->history = mem_copied(history, 1, from + SETTLED)))
        return fail_memory(e, "the estimates", 8.0 * (double)history), false;
    s->settled = from[SETTLED_DONE] == 1, s->lost = history && from[SETTLED_SOLVED] == 1;
    s->reference = from[SETTLED_REFERENCE];
    s->width = width, s->kept = s->room = history / width;
    return true;
}

/* ------------------------------------------------------------------------------------ the table */

/* The share of the packed lower half, 2 n^2 bytes, that is kept between iterations (gp/shares.h). */
static double kept_share(const cost_facts *f, double bytes)
{
    static const double KEPT = 0.4;
    return f->memory > 0 ? fmin(1, KEPT * f->memory / fmax(bytes, 1)) : 1;
}

/* Iterations: a product each with all tiles and a solve with a preconditioner of low rank.  Once per evaluation: tiles, the preconditioner
   (2 n M^2) and its reverse (3 n M^2), the reverse of the tiles, which is worth two of making them. */
static model_cost cost(const model_ops *self, const cost_facts *f, const cost_size *size)
{
    static const double SHARE = 0.5, USUAL = 60, REVERSE = 2; /* of R; iterations; in kernel entries */
    double n = f->distinct, t = 1 + (double)f->basis + PROBES, M = (double)precond_rank_most((int64_t)n), kept = 2 * n;
    (void)self, (void)size;
    double passes = 1 + REVERSE + (USUAL - 1) * (1 - kept_share(f, kept * n));
    double seconds =
        cost_of_work(f, SHARE, USUAL * t * (2 * n * n + 4 * n * M) + 4 * n * n * t + 5 * n * M * M, passes * n * n / 2);
    return (model_cost){.rows = seconds, .bytes = vector_bytes(n, (double)f->basis), .kept = kept};
}

static int64_t size(const problem *p) { return p->rows->n; }
static double rows(const void *state) { return ((const exact_iterative *)state)->rows->total; }
static const anygp_error *failure(const void *state) { return &((const exact_iterative *)state)->failure; }

static const char *remark(const void *state)
{
    const exact_iterative *s = state;
    return *s->remark ? s->remark : NULL;
}

static const char *caution(const void *state)
{
    const exact_iterative *s = state;
    return *s->caution ? s->caution : NULL;
}

const model_ops model_exact_iterative = {
    .name = "exact",
    .summary = "exact Gaussian process",
    .objective = "log evidence",
    .needs = {.rows = ROWS_ALL, .mean = true, .weights = true, .joint = true, .iterative = true},
    .order = "n^2",
    .warm = 5000,
    .refine = 2,
    .cost = cost,
    .size = size,
    .open = open,
    .evaluate = iterative_evaluate,
    .failure = failure,
    .resolution = resolution,
    .settled = iterative_settled_numbers,
    .settle = iterative_settle_numbers,
    .loo_after = rows_posterior_loo,
    .posterior = iterative_to_posterior,
    .rows = rows,
    .remark = remark,
    .caution = caution,
    .close = iterative_close,
    .load = exact_load,
    .update = &exact_updates,
};
