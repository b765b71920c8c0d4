/* A matrix that is stored: what others are compared with, and small ones.  With A = L L' it has all that is optional. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "linalg/operators/operator.h"

typedef struct dense {
    la_operator base;
    double *A, *L; /* n x n; L NULL: it is not positive definite */
} dense;

static void dense_free(la_operator *base)
{
    dense *a = (dense *)base;
    free(a->A);
    free(a->L);
    free(a);
}

static anygp_status multiply(const la_operator *base, int64_t t, const double *V, int64_t ldv, double *W, int64_t ldw,
                             anygp_error *e)
{
    const dense *a = (const dense *)base;
    (void)e;
    la_symm(LA_LEFT, base->n, t, 1, a->A, base->n, V, ldv, 0, W, ldw);
    return ANYGP_OK;
}

static anygp_status diagonal(const la_operator *base, double *d, anygp_error *e)
{
    const dense *a = (const dense *)base;
    (void)e;
    for (int64_t i = 0; i < base->n; i++) d[i] = a->A[i + i * base->n];
    return ANYGP_OK;
}

static anygp_status columns(const la_operator *base, int64_t count, const int64_t *which, double *C, int64_t ldc,
                            anygp_error *e)
{
    const dense *a = (const dense *)base;
    int64_t n = base->n;
    (void)e;
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0, j = which[k]; i < n; i++) C[i + k * ldc] = i < j ? a->A[j + i * n] : a->A[i + j * n];
    return ANYGP_OK;
}

static anygp_status no_factor(anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_NUMERIC, "a matrix that should have a factor is not positive definite");
}

static anygp_status solve(const la_operator *base, int64_t t, double *B, int64_t ldb, anygp_error *e)
{
    const dense *a = (const dense *)base;
    if (!a->L) return no_factor(e);
    la_trsm(LA_LEFT, LA_N, base->n, t, 1, a->L, base->n, B, ldb);
    la_trsm(LA_LEFT, LA_T, base->n, t, 1, a->L, base->n, B, ldb);
    return ANYGP_OK;
}

static double logdet(const la_operator *base)
{
    const dense *a = (const dense *)base;
    return a->L ? la_logdet(base->n, a->L, base->n) : (double)NAN;
}

static anygp_status logdet_reverse(const la_operator *base, double scale, double *gp, anygp_error *e)
{
    (void)base, (void)scale, (void)gp, (void)e;
    return ANYGP_OK;
}

static anygp_status root(const la_operator *base, int64_t t, const double *Z, int64_t ldz, double *W, int64_t ldw,
                         anygp_error *e)
{
    const dense *a = (const dense *)base;
    if (!a->L) return no_factor(e);
    for (int64_t k = 0; k < t; k++) memcpy(W + k * ldw, Z + k * ldz, (size_t)base->n * sizeof *W);
    la_trmm(LA_LEFT, LA_N, base->n, t, 1, a->L, base->n, W, ldw);
    return ANYGP_OK;
}

static const la_operator_ops dense_ops = {.name = "dense",
                                          .multiply = multiply,
                                          .diagonal = diagonal,
                                          .columns = columns,
                                          .free = dense_free,
                                          .solve = solve,
                                          .logdet = logdet,
                                          .logdet_reverse = logdet_reverse,
                                          .root = root};

anygp_status dense_operator_new(int64_t n, const double *A, int64_t lda, la_operator **out, anygp_error *e)
{
    dense *a = calloc(1, sizeof *a);
    if (!a) return fail_memory(e, "a matrix", sizeof *a);
    a->base = (la_operator){&dense_ops, n};
    a->A = mem_doubles(n, n), a->L = mem_doubles(n, n);
    if (!a->A || !a->L) return dense_free(&a->base), fail_memory(e, "a matrix", 16.0 * (double)n * (double)n);
    for (int64_t j = 0; j < n; j++) memcpy(a->A + j * n, A + j * lda, (size_t)n * sizeof *A);
    memcpy(a->L, a->A, (size_t)(n * n) * sizeof *A);
    if (!la_factor(n, a->L, n)) free(a->L), a->L = NULL;
    if (a->L) la_zero_upper(n, a->L, n);
    *out = &a->base;
    return ANYGP_OK;
}
