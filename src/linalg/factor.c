/* Cholesky factor and inverses by halves, so that nearly all work is in dgemm:
       potrf   L11 = chol(A11),   L21 = A21 L11^-T,   L22 = chol(A22 - L21 L21')
       trtri   (L^-1)21 = -L22^-1 L21 L11^-1                           (L^-1 in place)
       lauum   (L'L)11 = L11'L11 + L21'L21,   (L'L)21 = L22'L21        (in place)
   potri = trtri, then lauum: (L L')^-1 = L^-T L^-1.
   The diagonal blocks of L are inverted once, as for la_trsm: T[la_trsm_size(n)], TRIANGLE_STRIDE doubles per unknown.
   Without memory for T, LAPACK is used.  Factor and inverse are in double and in float (linalg_f32.h), where there is no factor
   without T. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/blas.h"
#include "linalg/linalg.h"

#ifdef REAL_FLOAT
#include "linalg/linalg_f32.h"
typedef float real;
#define la_gemm la_gemm_f32
#define la_syrk la_syrk_f32
#define la_gemm_lower la_gemm_lower_f32
#define la_trsm_prepare la_trsm_prepare_f32
#define la_trsm_prepared la_trsm_prepared_f32
#define triangle_factor triangle_factor_f32
#define triangle_invert triangle_invert_f32
#define triangle_multiply triangle_multiply_f32
#else
typedef double real;
#endif

enum {
    BASE = TRIANGLE_BASE,
    ALONE = 512,      /* a matrix this small is done by one thread */
    SYRK_LEAST = 256, /* BLAS's own product is slower than ours for less */
};

typedef int64_t routine(int64_t n, real *A, int64_t lda, real *T);

static int64_t half(int64_t n) { return (n / 2 + BASE - 1) / BASE * BASE; }

static int64_t run(routine *r, int64_t n, real *A, int64_t lda, real *T)
{
    if (n > ALONE) return r(n, A, lda, T);
    int former = blas_alone_begin();
    int64_t info = r(n, A, lda, T);
    blas_alone_end(former);
    return info;
}

/* lower triangle of C[n,n] += alpha op(A) op(A)' */
static void add_square(la_op op, int64_t n, int64_t k, real alpha, const real *A, int64_t lda, real *C, int64_t ldc)
{
    if (n < SYRK_LEAST)
        la_gemm_lower(op, op == LA_T ? LA_N : LA_T, n, k, alpha, A, lda, A, lda, 1, C, ldc);
    else
        la_syrk(op, n, k, alpha, A, lda, 1, C, ldc);
}

static int64_t factor(int64_t n, real *A, int64_t lda, real *T)
{
    if (n <= BASE) {
        int64_t info = triangle_factor(n, A, lda);
        if (!info) triangle_invert(n, A, lda, T);
        return info;
    }
    int64_t n1 = half(n), n2 = n - n1;
    real *A21 = A + n1, *A22 = A21 + n1 * lda;
    int64_t info = run(factor, n1, A, lda, T);
    if (info) return info;
    la_trsm_prepared(LA_RIGHT, LA_T, n2, n1, A, lda, T, A21, lda);
    add_square(LA_N, n2, n1, -1, A21, lda, A22, lda);
    info = run(factor, n2, A22, lda, T + n1 * TRIANGLE_STRIDE);
    return info ? n1 + info : 0;
}

#ifdef REAL_FLOAT
bool la_factor_f32(int64_t n, float *A, int64_t lda)
{
    float *T = mem_alloc(la_trsm_size(n), sizeof *T);
    bool ok = T && run(factor, n, A, lda, T) == 0;
    for (int64_t i = 0; ok && i < n; i++) ok = A[i + i * lda] > 0 && isfinite(A[i + i * lda]);
    free(T);
    return ok;
}
#else
int64_t la_potrf(int64_t n, double *A, int64_t lda)
{
    double *T = n > BASE ? mem_alloc(la_trsm_size(n), sizeof *T) : NULL;
    int64_t info = T ? run(factor, n, A, lda, T) : blas_potrf(n, A, lda);
    free(T);
    return info;
}
#endif

/* T: the inverses of the diagonal blocks. */
static int64_t invert(int64_t n, real *L, int64_t ldl, real *T)
{
    if (n <= BASE) {
        for (int64_t j = 0; j < n; j++) memcpy(L + j + j * ldl, T + j + j * BASE, (size_t)(n - j) * sizeof *L);
        return 0;
    }
    int64_t n1 = half(n), n2 = n - n1;
    real *L21 = L + n1, *L22 = L21 + n1 * ldl, *T22 = T + n1 * TRIANGLE_STRIDE;
    run(invert, n1, L, ldl, T);
    run(invert, n2, L22, ldl, T22);
    triangle_multiply(LA_LEFT, LA_N, n2, n1, -1, L22, ldl, T22, L21, ldl);
    triangle_multiply(LA_RIGHT, LA_N, n2, n1, 1, L, ldl, T, L21, ldl);
    return 0;
}

static int64_t singular(int64_t n, const real *L, int64_t ldl)
{
    for (int64_t i = 0; i < n; i++)
        if (L[i + i * ldl] == 0) return i + 1;
    return 0;
}

#ifndef REAL_FLOAT
int64_t la_trtri(int64_t n, double *L, int64_t ldl)
{
    int64_t info = singular(n, L, ldl);
    double *T = info ? NULL : mem_alloc(la_trsm_size(n), sizeof *T);
    if (T) {
        la_trsm_prepare(n, L, ldl, T);
        run(invert, n, L, ldl, T);
    } else if (!info) {
        info = blas_trtri(n, L, ldl);
    }
    free(T);
    return info;
}
#endif

/* L'L in place of L = T; T': its transpose, after it. */
static void base_square(int64_t n, real *L, int64_t ldl, const real *T)
{
    real full[BASE * BASE];
    la_gemm(LA_N, LA_N, n, n, n, 1, T + BASE * BASE, BASE, T, BASE, 0, full, BASE);
    for (int64_t j = 0; j < n; j++) memcpy(L + j + j * ldl, full + j + j * BASE, (size_t)(n - j) * sizeof *L);
}

/* T: the diagonal blocks of L as squares. */
static int64_t transpose_times_self(int64_t n, real *L, int64_t ldl, real *T)
{
    if (n <= BASE) {
        base_square(n, L, ldl, T);
        return 0;
    }
    int64_t n1 = half(n), n2 = n - n1;
    real *L21 = L + n1, *L22 = L21 + n1 * ldl, *T22 = T + n1 * TRIANGLE_STRIDE;
    run(transpose_times_self, n1, L, ldl, T);
    add_square(LA_T, n1, n2, 1, L21, ldl, L, ldl);
    triangle_multiply(LA_LEFT, LA_T, n2, n1, 1, L22, ldl, T22, L21, ldl);
    run(transpose_times_self, n2, L22, ldl, T22);
    return 0;
}

#ifdef REAL_FLOAT
bool la_potri_f32(int64_t n, float *L, int64_t ldl)
{
    float *T = singular(n, L, ldl) ? NULL : mem_alloc(la_trsm_size(n), sizeof *T);
    if (!T) return false;
    la_trsm_prepare(n, L, ldl, T);
    run(invert, n, L, ldl, T);
    run(transpose_times_self, n, L, ldl, T);
    free(T);
    return true;
}
#else
int64_t la_potri(int64_t n, double *L, int64_t ldl)
{
    int64_t info = singular(n, L, ldl);
    double *T = info ? NULL : mem_alloc(la_trsm_size(n), sizeof *T);
    if (T) {
        la_trsm_prepare(n, L, ldl, T);
        run(invert, n, L, ldl, T);
        run(transpose_times_self, n, L, ldl, T);
    } else if (!info) {
        info = blas_potri(n, L, ldl);
    }
    free(T);
    return info;
}

double la_inverse_norm2(int64_t n, const double *L, int64_t ldl, double *work)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) memcpy(work + j + j * n, L + j + j * ldl, (size_t)(n - j) * sizeof *work);
    la_trtri(n, work, n);
    for (int64_t j = 0; j < n; j++) sum += la_dot(n - j, work + j + j * n, work + j + j * n);
    return sum;
}
#endif
