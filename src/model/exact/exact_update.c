/* New rows for the exact model.  The hyperparameters stay; the result is what a fit to all rows would be at them.

   With the factor, in the notation of exact.c, old rows 0 and new rows 1 (merged among themselves; a row with the inputs of an old one is a
   row of its own, which has the same posterior):
       L = [ L0, 0;  (L0^-1 K01)', L1 ],   L1 L1' = K11 + noise - K10 Ky00^-1 K01
       a0 = L0'alpha0 + V0 beta0,          a1 = L1^-1 (y1 - K10 L0^-T a0)            so that no old y is needed
       V1 = L1^-1 (H1 - K10 L0^-T V0),     S = I/B + V'V,   beta = S^-1 V'a,   alpha = L^-T (a - V beta)
   L grows by STRIP rows at a time, all rows before being old ones; between strips somebody may end it.
   Cost: n^2 per new row.  The log evidence grows by that of the new rows given the old ones.

   Without it: old and new rows are merged, and the last solve is made again, from the old alpha and with the old preconditioner; the log
   evidence stays that of the rows that were learned from. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/exact/exact.h"
#include "model/exact/exact_iterative.h"
#include "model/exact/exact_posterior.h"
#include "model/local/vecchia_update.h"

/* --------------------------------------------------------------------------------- with the factor */

enum { STRIP = 128 }; /* about a second for 10 000 rows on one core */

typedef struct factor_update {
    const exact_posterior *from;
    double jitter; /* relative to the mean of the diagonal, as in exact.c */
    stop_poll stop;
    int64_t n, room;
    double *X, *y, *w; /* new rows */
} factor_update;

static void factor_close(void *state)
{
    factor_update *u = state;
    free(u->X);
    free(u->y);
    free(u->w);
    free(u);
}

static anygp_status factor_open(const posterior *p, void **state, anygp_error *e)
{
    factor_update *u = calloc(1, sizeof *u);
    if (!u) return fail_memory(e, "the update", sizeof *u);
    u->from = (const exact_posterior *)p;
    *state = u;
    return ANYGP_OK;
}

static anygp_status factor_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                               anygp_error *e)
{
    factor_update *u = state;
    int64_t D = u->from->base.D, all = u->n + n;
    if (all > u->room) {
        int64_t room = all < 2 * u->room ? 2 * u->room : all;
        if (!mem_grow(&u->X, room, D) || !mem_grow(&u->y, room, 1) || !mem_grow(&u->w, room, 1))
            return fail_memory(e, "the new rows", 8.0 * (double)room * (double)(D + 2));
        u->room = room;
    }
    if (n == 0) return ANYGP_OK;
    memcpy(u->X + u->n * D, X, (size_t)(n * D) * sizeof *X);
    memcpy(u->y + u->n, y, (size_t)n * sizeof *y);
    memcpy(u->w + u->n, w, (size_t)n * sizeof *w);
    u->n = all;
    return ANYGP_OK;
}

/* n rows wait, and the factor of all is made beside the old one, with a strip of L^-1 K. */
static double factor_held(const void *state)
{
    const factor_update *u = state;
    double n0 = (double)u->from->base.n, n = (double)u->n;
    return n > 0 ? 8 * (n * ((double)u->from->base.D + 2) + (n0 + n) * (fmin(n, STRIP) + n0 + n)) : 0;
}

/* t't, t = R'beta */
static double explained(const exact_posterior *q)
{
    double sum = 0;
    for (int64_t j = 0; j < q->p; j++) {
        double t = la_dot(q->p - j, q->R + j + j * q->p, q->beta + j);
        sum += t * t;
    }
    return sum;
}

/* -1/2 [ a'a - t't + log|Ky| + log|S| + p log B + n log 2 pi ] */
static double log_evidence(const exact_posterior *q, const double *a)
{
    int64_t n = q->base.n, p = q->p;
    double sum = la_dot(n, a, a) + la_logdet(n, q->L, n) + (double)n * LOG_2PI;
    if (p) sum += la_logdet(p, q->R, p) + (double)p * log(q->base.mean.B) - explained(q);
    return -0.5 * sum;
}

/* What the fit added to each element of the diagonal of Ky: r m, where L0 L0' has the mean (1 + r) m. */
static double jitter_added(const exact_posterior *from, double relative)
{
    int64_t n = from->base.n;
    double trace = 0;
    for (int64_t j = 0; j < n; j++) trace += la_dot(n - j, from->L + j + j * n, from->L + j + j * n);
    return relative / (1 + relative) * trace / (double)n;
}

/* Rows done .. done+k-1 of q's factor, whose leading rows are there; noise[k]: of each; C[done,k]: work, becomes L^-1 K. */
static anygp_status extend_strip(exact_posterior *q, int64_t done, int64_t k, const double *noise, double *C,
                                 anygp_error *e)
{
    const posterior *b = &q->base;
    int64_t n = b->n;
    const double *X = q->X + done * b->D;
    double *side = q->L + done, *corner = side + done * n;
    if (!kernel_gram(b->kernel, done, q->X, b->D, k, X, b->D, C, done) ||
        !kernel_gram_sym(b->kernel, k, X, b->D, corner, n))
        return fail_memory(e, "kernel tiles", 0);
    la_trsm(LA_LEFT, LA_N, done, k, 1, q->L, n, C, done);
    for (int64_t i = 0; i < k; i++) {
        corner[i + i * n] += noise[i];
        for (int64_t j = 0; j < done; j++) side[i + j * n] = C[j + i * done];
    }
    la_syrk(LA_T, k, done, -1, C, done, 1, corner, n);
    if (la_factor(k, corner, n)) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_NUMERIC,
                     "the covariance of the new rows given the old ones is not positive definite, since the model has "
                     "next to no noise; fit again with all rows");
}

/* L of all rows. */
static anygp_status extend_factor(const factor_update *u, const merged *m, exact_posterior *q, anygp_error *e)
{
    const exact_posterior *from = u->from;
    int64_t n0 = from->base.n, n = n0 + m->n;
    double noise[STRIP], added = u->jitter > 0 ? jitter_added(from, u->jitter) : 0;
    double *C = mem_doubles(n, m->n < STRIP ? m->n : STRIP);
    if (!C) return fail_memory(e, "the new rows", 8.0 * (double)n * STRIP);
    anygp_status status = ANYGP_OK;
    for (int64_t j = 0; j < n0; j++) memcpy(q->L + j + j * n, from->L + j + j * n0, (size_t)(n0 - j) * sizeof(double));
    for (int64_t done = n0, k; done < n && !ANYGP_FAILED(status); done += k) {
        k = n - done < STRIP ? n - done : STRIP;
        for (int64_t i = 0; i < k; i++) noise[i] = from->base.noise / m->c[done - n0 + i] + added;
        status = stop_check(&u->stop, e);
        if (!ANYGP_FAILED(status)) status = extend_strip(q, done, k, noise, C, e);
    }
    if (!ANYGP_FAILED(status)) la_zero_upper(n, q->L, n);
    free(C);
    return status;
}

/* V and R of all rows. */
static anygp_status extend_mean(const exact_posterior *from, const merged *m, exact_posterior *q, anygp_error *e)
{
    const basis *mean = &from->base.mean;
    int64_t n0 = from->base.n, k = m->n, n = n0 + k, p = q->p;
    if (p == 0) return ANYGP_OK;
    for (int64_t j = 0; j < p; j++) memcpy(q->V + j * n, from->V + j * n0, (size_t)n0 * sizeof(double));
    basis_fill(mean, k, m->X, m->D, q->V + n0, 1, n);
    la_gemm(LA_N, LA_N, k, p, n0, -1, q->L + n0, n, from->V, n0, 1, q->V + n0, n);
    la_trsm(LA_LEFT, LA_N, k, p, 1, q->L + n0 + n0 * n, n, q->V + n0, n);
    la_syrk(LA_T, p, n, 1, q->V, n, 0, q->R, p);
    for (int64_t j = 0; j < p; j++) q->R[j + j * p] += 1 / mean->B;
    if (!la_factor(p, q->R, p)) return fail_with(e, ANYGP_ERR_NUMERIC, "the mean has no precision");
    la_zero_upper(p, q->R, p);
    return ANYGP_OK;
}

/* a[n] of all rows, alpha and beta; *before: the log evidence of the old rows. */
static void extend_solution(const exact_posterior *from, const merged *m, exact_posterior *q, double *a, double *before)
{
    int64_t n0 = from->base.n, k = m->n, n = n0 + k, p = q->p;
    memcpy(a, from->alpha, (size_t)n0 * sizeof *a);
    la_trmm(LA_LEFT, LA_T, n0, 1, 1, from->L, n0, a, n0);
    if (p) la_gemv(LA_N, n0, p, 1, from->V, n0, from->beta, 1, a);
    *before = log_evidence(from, a);
    memcpy(a + n0, m->y, (size_t)k * sizeof *a);
    la_gemv(LA_N, k, n0, -1, q->L + n0, n, a, 1, a + n0);
    la_trsm(LA_LEFT, LA_N, k, 1, 1, q->L + n0 + n0 * n, n, a + n0, k);
    memcpy(q->alpha, a, (size_t)n * sizeof *a);
    if (p) {
        la_gemv(LA_T, n, p, 1, q->V, n, a, 0, q->beta);
        la_trsm(LA_LEFT, LA_N, p, 1, 1, q->R, p, q->beta, p);
        la_trsm(LA_LEFT, LA_T, p, 1, 1, q->R, p, q->beta, p);
        la_gemv(LA_N, n, p, -1, q->V, n, q->beta, 1, q->alpha);
    }
    la_trsm(LA_LEFT, LA_T, n, 1, 1, q->L, n, q->alpha, n);
}

static anygp_status extend(const factor_update *u, const merged *m, exact_posterior **out, double *added,
                           anygp_error *e)
{
    const exact_posterior *from = u->from;
    const posterior *b = &from->base;
    int64_t n0 = b->n, k = m->n;
    double before, *a = mem_doubles(n0 + k, 1);
    anygp_status status = a ? ANYGP_OK : fail_memory(e, "the new rows", 8.0 * (double)(n0 + k));
    if (!ANYGP_FAILED(status)) status = exact_posterior_new(b->kernel, b->noise, &b->mean, b->D, n0 + k, out, e);
    if (!ANYGP_FAILED(status)) {
        memcpy((*out)->X, from->X, (size_t)(n0 * b->D) * sizeof(double));
        memcpy((*out)->X + n0 * b->D, m->X, (size_t)(k * b->D) * sizeof(double));
        status = extend_factor(u, m, *out, e);
    }
    if (!ANYGP_FAILED(status)) status = extend_mean(from, m, *out, e);
    if (!ANYGP_FAILED(status)) {
        extend_solution(from, m, *out, a, &before);
        *added = log_evidence(*out, a) - before + exact_repeated_terms(m, b->noise);
    }
    free(a);
    return status;
}

static anygp_status factor_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    factor_update *u = state;
    const posterior *b = &u->from->base;
    dataset data = {.n = u->n, .D = b->D, .X = u->X, .y = u->y, .w = u->w};
    exact_posterior *made = NULL;
    merged m = {0};
    double added = 0;
    TRY(dataset_merge(&data, !kernel_has_white(b->kernel), &m, e));
    anygp_status status = ANYGP_OK;
    if (!m.plain && !(b->noise > 0))
        status = fail_with(
            e, ANYGP_ERR_DATA,
            "the model has no noise, and without noise rows with equal inputs or with weights have no density");
    if (!ANYGP_FAILED(status)) status = extend(u, &m, &made, &added, e);
    if (made && ANYGP_FAILED(status))
        made->base.ops->free(&made->base);
    else if (made)
        *out = &made->base;
    *r = (update_report){.rows = m.total, .before = NAN, .after = added, .upper = NAN};
    merged_clear(&m);
    return status;
}

/* ----------------------------------------------------------------------------------------- without */

static anygp_status solve_again(const vecchia_update *u, const merged *m, const hyper *h, double memory, deadline *pass,
                                posterior **out, anygp_error *e)
{
    static const double SHARE = 0.4; /* of the memory, for tiles */
    const posterior *b = &u->from->base;
    const evidence_estimate *before = b->ops->estimate(b);
    problem p = {.rows = m, .mean = &b->mean, .comm = comm_self(), .keep = SHARE * memory, .pass = pass};
    void *state = NULL;
    p.near.predict = (int64_t)u->from->facts[FACT_PREDICT];
    if (before) p.solver.precond = precond_at((int64_t)before->precond)->name;
    TRY(iterative_open(&p, &state, e));
    anygp_status status = iterative_again(state, h, b, u->from->facts[FACT_JITTER], out, e);
    iterative_close(state);
    if (ANYGP_FAILED(status) || !stop_heard(pass->stop)) return status;
    (*out)->ops->free(*out);
    *out = NULL;
    return fail_stopped(e);
}

static anygp_status rows_finish(void *state, double memory, stop_poll stop, posterior **out, update_report *r,
                                anygp_error *e)
{
    stop_watch watch = {stop, 0};
    deadline pass = {.limit = INFINITY, .stop = &watch};
    vecchia_update *u = state;
    const posterior *b = &u->from->base;
    dataset data;
    merged m = {0};
    hyper h = {0};
    kernel *k = kernel_copy(b->kernel);
    if (!k) return fail_memory(e, "the kernel", 0);
    TRY(hyper_init(&h, k, b->noise, true, true, false, e));
    anygp_status status = vecchia_update_merge(u, &data, &m, e);
    if (!ANYGP_FAILED(status)) status = solve_again(u, &m, &h, memory, &pass, out, e);
    *r = (update_report){.kept = true, .upper = NAN};
    for (int64_t i = 0; i < u->n; i++) r->rows += u->w[b->n + i];
    merged_clear(&m);
    hyper_clear(&h);
    return status;
}

/* -------------------------------------------------------------------------------------- which of them */

typedef struct exact_update {
    bool factor;
    void *state;
    double memory; /* that may be taken */
    stop_poll stop;
} exact_update;

static void update_close(void *state)
{
    exact_update *u = state;
    if (!u) return;
    if (u->state) (u->factor ? factor_close : vecchia_update_close)(u->state);
    free(u);
}

static anygp_status update_open(const model_ops *self, const posterior *p, const likelihood *l, void **state,
                                anygp_error *e)
{
    bool factor = exact_has_factor(p);
    if (!factor && !rows_posterior_alpha(p))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "exact+ cannot take new rows, since its directions are of the old ones; fit again with all "
                         "rows, or use exact");
    exact_update *u = calloc(1, sizeof *u);
    if (!u) return fail_memory(e, "the update", sizeof *u);
    u->factor = factor;
    anygp_status status = factor ? factor_open(p, &u->state, e) : vecchia_update_open(self, p, l, &u->state, e);
    if (ANYGP_FAILED(status))
        update_close(u);
    else
        *state = u;
    return status;
}

static void update_given(void *state, double jitter, double memory, stop_poll stop)
{
    exact_update *u = state;
    u->memory = memory, u->stop = stop;
    if (!u->factor) return; /* jitter is among its facts */
    factor_update *f = u->state;
    f->jitter = jitter, f->stop = stop;
}

static anygp_status update_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                               const int64_t *ids, anygp_error *e)
{
    exact_update *u = state;
    return u->factor ? factor_add(u->state, n, X, y, w, e) : vecchia_update_add(u->state, n, X, y, w, ids, e);
}

static double update_held(const void *state)
{
    const exact_update *u = state;
    return (u->factor ? factor_held : vecchia_update_held)(u->state);
}

static anygp_status update_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    exact_update *u = state;
    return u->factor ? factor_finish(u->state, out, r, e) : rows_finish(u->state, u->memory, u->stop, out, r, e);
}

const update_ops exact_updates = {.open = update_open,
                                  .given = update_given,
                                  .add = update_add,
                                  .held = update_held,
                                  .finish = update_finish,
                                  .close = update_close};
