/* Predictions of exact+ (exact_steps.h): mean = k*'alpha, variance = k** - |S'k*|^2, and jointly K** - (S'K*)'(S'K*).
   Cost: n m per row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/exact/exact_steps.h"

typedef struct steps_posterior {
    posterior base;
    int64_t m;
    double *X, *alpha, *S; /* D x n, n, n x m */
    double *beta, *SH;     /* p, m x p: B H'alpha, B S'H; the prior mean is part of the kernel */
} steps_posterior;

enum { CHUNK = 1024 }; /* training rows whose kernel columns are made at a time */

static void steps_free(posterior *base)
{
    steps_posterior *p = (steps_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    free(p->X);
    free(p->alpha);
    free(p->S);
    free(p->beta);
    free(p->SH);
    free(p);
}

static int64_t steps_work(const posterior *base, int64_t n)
{
    return n * (CHUNK + ((const steps_posterior *)base)->m + base->mean.p);
}

/* From arrays that are its own to beta and SH. */
static anygp_status prepare(steps_posterior *p, anygp_error *e)
{
    const basis *mean = &p->base.mean;
    int64_t n = p->base.n, q = mean->p;
    double *H = mem_doubles(n, q);
    p->beta = mem_doubles(q, 1), p->SH = mem_doubles(p->m, q);
    if (!H || !p->beta || !p->SH) return free(H), fail_memory(e, "the prior mean", 8.0 * (double)(n * q));
    basis_fill(mean, n, p->X, p->base.D, H, 1, n);
    if (q > 0) la_gemv(LA_T, n, q, mean->B, H, n, p->alpha, 0, p->beta);
    if (q > 0 && p->m > 0) la_gemm(LA_T, LA_N, p->m, q, n, mean->B, p->S, n, H, n, 0, p->SH, p->m);
    free(H);
    return ANYGP_OK;
}

/* The means and, unless G is NULL, G[m,count] = S'K*; leaves h* [p,count] in H. */
static anygp_status project(const steps_posterior *p, int64_t count, const double *X, int64_t ldx, double *K, double *G,
                            double *H, double *mean, anygp_error *e)
{
    int64_t n = p->base.n, D = p->base.D;
    memset(mean, 0, (size_t)count * sizeof *mean);
    for (int64_t i0 = 0; i0 < n; i0 += CHUNK) {
        int64_t some = n - i0 < CHUNK ? n - i0 : CHUNK;
        if (!kernel_gram(p->base.kernel, some, p->X + i0 * D, D, count, X, ldx, K, some))
            return fail_memory(e, "kernel tiles", 0);
        la_gemv(LA_T, some, count, 1, K, some, p->alpha + i0, 1, mean);
        if (G) la_gemm(LA_T, LA_N, p->m, count, some, 1, p->S + i0, n, K, some, i0 > 0, G, p->m);
    }
    int64_t q = p->base.mean.p;
    if (q == 0) return ANYGP_OK;
    basis_fill(&p->base.mean, count, X, ldx, H, q, 1);
    la_gemv(LA_T, q, count, 1, H, q, p->beta, 1, mean);
    if (G) la_gemm(LA_N, LA_N, p->m, count, q, 1, p->SH, p->m, H, q, 1, G, p->m);
    return ANYGP_OK;
}

static anygp_status steps_marginal(const posterior *base, int64_t count, const double *X, int64_t ldx, double *work,
                                   double *mean, double *variance, anygp_error *e)
{
    const steps_posterior *p = (const steps_posterior *)base;
    int64_t q = base->mean.p;
    double *G = work + count * CHUNK, *H = G + count * p->m;
    TRY(project(p, count, X, ldx, work, variance ? G : NULL, H, mean, e));
    if (!variance) return ANYGP_OK;
    kernel_diag(base->kernel, count, X, ldx, variance);
    for (int64_t i = 0; i < count; i++) {
        double known = la_dot(p->m, G + i * p->m, G + i * p->m), of_mean = la_dot(q, H + i * q, H + i * q);
        variance[i] = fmax(variance[i] + base->mean.B * of_mean - known, 0);
    }
    return ANYGP_OK;
}

static anygp_status steps_joint(const posterior *base, int64_t count, const double *X, int64_t ldx, double *work,
                                double *mean, double *covariance, int64_t ldc, anygp_error *e)
{
    const steps_posterior *p = (const steps_posterior *)base;
    double *G = work + count * CHUNK, *H = G + count * p->m, white = kernel_white(base->kernel);
    TRY(project(p, count, X, ldx, work, G, H, mean, e));
    if (!kernel_gram_sym(base->kernel, count, X, ldx, covariance, ldc)) return fail_memory(e, "kernel tiles", 0);
    if (base->mean.p > 0) la_syrk(LA_T, count, base->mean.p, base->mean.B, H, base->mean.p, 1, covariance, ldc);
    la_syrk(LA_T, count, p->m, -1, G, p->m, 1, covariance, ldc);
    for (int64_t i = 0; i < count; i++) covariance[i + i * ldc] -= white;
    return ANYGP_OK;
}

static void steps_arrays(posterior *base, array_list *list)
{
    steps_posterior *p = (steps_posterior *)base;
    array_list_add(list, (named_array){"X", base->D, base->n, p->X, false});
    array_list_add(list, (named_array){"alpha", base->n, 1, p->alpha, false});
    array_list_add(list, (named_array){"S", base->n, p->m, p->S, false});
}

static const posterior_ops steps_ops = {.work_doubles = steps_work,
                                        .marginal = steps_marginal,
                                        .joint = steps_joint,
                                        .arrays = steps_arrays,
                                        .free = steps_free};

anygp_status steps_posterior_new(const exact_steps *s, const hyper *h, posterior **out, anygp_error *e)
{
    const merged *rows = s->rows;
    int64_t n = s->n;
    steps_posterior *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    p->base = (posterior){.ops = &steps_ops, .noise = h->like[0], .D = rows->D, .n = n};
    p->m = s->m;
    p->base.kernel = kernel_copy(h->kernel);
    p->X = mem_copied(rows->D, n, rows->X);
    p->alpha = mem_zeroed(n, sizeof(double)), p->S = mem_copied(n, s->m, s->S);
    anygp_status status = p->base.kernel && p->X && p->alpha && p->S
                              ? basis_copy(s->problem->mean, &p->base.mean, e)
                              : fail_memory(e, "the posterior", 8.0 * (double)n * (double)(s->m + rows->D + 1));
    if (ANYGP_FAILED(status)) return steps_free(&p->base), status;
    if (s->m > 0) la_gemv(LA_N, n, s->m, 1, s->S, n, s->w, 0, p->alpha);
    if (ANYGP_FAILED(status = prepare(p, e))) return steps_free(&p->base), status;
    *out = &p->base;
    return ANYGP_OK;
}

anygp_status steps_posterior_load(kernel *k, double noise, basis *mean, int64_t D, named_array *list, int64_t count,
                                  posterior **out, anygp_error *e)
{
    named_array *X = named_array_need(list, count, "X", e),
                *alpha = X ? named_array_need(list, count, "alpha", e) : NULL,
                *S = alpha ? named_array_need(list, count, "S", e) : NULL;
    if (!S) return ANYGP_ERR_FILE;
    TRY(named_array_check(X, D, X->cols, e));
    TRY(named_array_check(alpha, X->cols, 1, e));
    TRY(named_array_check(S, X->cols, S->cols, e));
    steps_posterior *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    p->base = (posterior){.ops = &steps_ops, .kernel = k, .noise = noise, .mean = *mean, .D = D, .n = X->cols};
    *mean = (basis){0};
    p->m = S->cols;
    p->X = named_array_take(X), p->alpha = named_array_take(alpha), p->S = named_array_take(S);
    anygp_status status = prepare(p, e);
    if (!ANYGP_FAILED(status)) return *out = &p->base, ANYGP_OK;
    *mean = p->base.mean; /* kernel and mean stay the caller's */
    p->base.kernel = NULL, p->base.mean = (basis){0};
    steps_free(&p->base);
    return status;
}
