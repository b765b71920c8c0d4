/* The Bayesian committee machine for several rows at once (Tresp 2000).  With C_k the covariance of f at n rows by expert k, C_0 = L L'
   that of the prior,
       C^-1 = C_0^-1 + sum_k (C_k^-1 - C_0^-1),      m = C sum_k C_k^-1 m_k
   in coordinates where the prior is white, C_k = L (I - W_k'W_k) L' with W_k = L_k^-1 K_k* L^-T, so that
       P = I + sum_k [(I - W_k'W_k)^-1 - I],         C = L P^-1 L',   m = L P^-1 sum_k (I - W_k'W_k)^-1 L^-1 m_k
   Cost: n^3 and n^2 J operations per expert. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/local/experts.h"

typedef struct meeting {
    int64_t n;
    double *L, *P, *C;      /* n x n */
    double *sum, *m, *diag; /* n */
    double *H, *k, *room;   /* largest x p, largest x n, query_doubles() */
} meeting;

static anygp_status no_factor(int64_t n, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_NUMERIC, "the joint covariance of %lld rows has no Cholesky factor", (long long)n);
}

/* L; added: variance of the noise, where y is aggregated. */
static anygp_status begin(const experts_posterior *p, const expert_query *q, double added, meeting *t, anygp_error *e)
{
    const posterior *b = &p->base;
    int64_t n = t->n, m = b->mean.p;
    double mean = 0, jitter;
    if (!kernel_gram(b->kernel, n, q->X, q->ldx, n, q->X, q->ldx, t->L, n)) return fail_memory(e, "kernel tiles", 0);
    if (m) la_gemm(LA_T, LA_N, n, n, m, 1, q->h, m, q->h, m, 1, t->L, n);
    for (int64_t j = 0; j < n; j++) t->L[j + j * n] += added, mean += t->L[j + j * n] / (double)n;
    if (!la_cholesky_scaled(n, t->L, n, mean, 0, t->diag, &jitter)) return no_factor(n, e);
    la_zero_upper(n, t->L, n);
    memset(t->P, 0, (size_t)(n * n) * sizeof *t->P);
    for (int64_t j = 0; j < n; j++) t->P[j + j * n] = 1, t->sum[j] = 0;
    return ANYGP_OK;
}

static anygp_status add_expert(const experts_posterior *p, const expert *x, const expert_query *q, meeting *t,
                               anygp_error *e)
{
    int64_t n = t->n;
    double jitter;
    TRY(expert_covariances(p, x, q, t->H, t->k, e));
    la_gemv(LA_T, x->n, n, 1, t->k, x->n, x->alpha, 0, t->m);
    la_trsv(LA_N, n, t->L, n, t->m);
    la_trsm(LA_LEFT, LA_N, x->n, n, 1, x->L, x->n, t->k, x->n);
    la_trsm(LA_RIGHT, LA_T, x->n, n, 1, t->L, n, t->k, x->n);
    la_syrk(LA_T, n, x->n, -1, t->k, x->n, 0, t->C, n);
    for (int64_t j = 0; j < n; j++) t->C[j + j * n] += 1;
    if (!la_cholesky_scaled(n, t->C, n, 1, 0, t->diag, &jitter) || la_potri(n, t->C, n) != 0) return no_factor(n, e);
    la_mirror(n, t->C, n);
    la_gemv(LA_N, n, n, 1, t->C, n, t->m, 1, t->sum);
    for (int64_t j = 0; j < n; j++) t->C[j + j * n] -= 1;
    for (int64_t i = 0; i < n * n; i++) t->P[i] += t->C[i];
    return ANYGP_OK;
}

/* Mean and, in C, the covariance. */
static anygp_status finish(double added, meeting *t, double *mean, double *C, int64_t ldc, anygp_error *e)
{
    int64_t n = t->n;
    double jitter;
    if (!la_cholesky_scaled(n, t->P, n, 1, 0, t->diag, &jitter)) return no_factor(n, e);
    la_trsv(LA_N, n, t->P, n, t->sum);
    la_trsv(LA_T, n, t->P, n, t->sum);
    la_gemv(LA_N, n, n, 1, t->L, n, t->sum, 0, mean);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) t->C[i + j * n] = t->L[j + i * n]; /* L' */
    la_trsm(LA_LEFT, LA_N, n, n, 1, t->P, n, t->C, n);
    la_syrk(LA_T, n, n, 1, t->C, n, 0, C, ldc);
    for (int64_t j = 0; j < n; j++) C[j + j * ldc] = fmax(C[j + j * ldc] - added, 0);
    return ANYGP_OK;
}

static anygp_status sit_down(const experts_posterior *p, int64_t n, meeting *t, double **all, anygp_error *e)
{
    int64_t J = p->largest, size = 3 * n * n + 3 * n + J * (p->base.mean.p + n) + query_doubles(p, n);
    double *at = *all = mem_doubles(size, 1);
    if (!at) return fail_memory(e, "the joint distribution", 8.0 * (double)size);
    *t = (meeting){.n = n, .L = at, .P = at + n * n, .C = at + 2 * n * n, .sum = at + 3 * n * n};
    t->m = t->sum + n, t->diag = t->m + n, t->H = t->diag + n, t->k = t->H + J * p->base.mean.p, t->room = t->k + J * n;
    return ANYGP_OK;
}

anygp_status bcm_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                       double *covariance, int64_t ldc, anygp_error *e)
{
    const experts_posterior *p = (const experts_posterior *)base;
    double added = p->asked[EXPERTS_OBSERVED] ? base->noise + kernel_white(base->kernel) : 0, *all;
    anygp_status status;
    meeting t = {.n = n};
    expert_query q;
    (void)work;
    TRY(sit_down(p, n, &t, &all, e));
    TRY_DONE(query_prepare(p, n, X, ldx, t.H, t.room, &q, e));
    TRY_DONE(begin(p, &q, added, &t, e));
    for (int64_t k = 0; k < p->count; k++) {
        expert x = expert_at(p, k);
        if (x.n > 0) TRY_DONE(add_expert(p, &x, &q, &t, e));
    }
    status = finish(added, &t, mean, covariance, ldc, e);
done:
    free(all);
    return status;
}
