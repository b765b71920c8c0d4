/* Cholesky factor and inverse by halves, so that nearly all work is in dgemm-like products of large blocks:
       potrf   L11 = chol(A11),   L21 = A21 L11^-T,   L22 = chol(A22 - L21 L21')
       trtri   (L^-1)21 = -L22^-1 L21 L11^-1                           (L^-1 in place)
       lauum   (L'L)11 = L11'L11 + L21'L21,   (L'L)21 = L22'L21        (in place)
   potri = trtri, then lauum: (L L')^-1 = L^-T L^-1. */
#include <string.h>

#include "linalg/blas.h"
#include "linalg/linalg.h"

enum { BASE = 256, FACTOR_BASE = 512 }; /* LAPACK's own is as fast up to here */

static int64_t half(int64_t n) { return (n / 2 + BASE - 1) / BASE * BASE; }

/* A small block by one thread: waking others costs more than they bring. */
static int64_t alone(int64_t (*routine)(int64_t, double *, int64_t), int64_t n, double *A, int64_t lda)
{
    int former = la_threads(1);
    int64_t info = routine(n, A, lda);
    la_threads(former);
    return info;
}

static int64_t factor_halves(int64_t n, double *A, int64_t lda)
{
    int64_t n1 = half(n), n2 = n - n1;
    double *A21 = A + n1, *A22 = A21 + n1 * lda;
    int64_t info = la_potrf(n1, A, lda);
    if (info) return info;
    la_trsm(LA_RIGHT, LA_T, n2, n1, 1, A, lda, A21, lda);
    la_syrk(LA_N, n2, n1, -1, A21, lda, 1, A22, lda);
    info = la_potrf(n2, A22, lda);
    return info ? n1 + info : 0;
}

int64_t la_potrf(int64_t n, double *A, int64_t lda)
{
    return n <= FACTOR_BASE ? alone(blas_potrf, n, A, lda) : factor_halves(n, A, lda);
}

int64_t la_trtri(int64_t n, double *L, int64_t ldl)
{
    if (n <= BASE) return alone(blas_trtri, n, L, ldl);
    int64_t n1 = half(n), n2 = n - n1;
    double *L21 = L + n1, *L22 = L21 + n1 * ldl;
    int64_t info = la_trtri(n1, L, ldl);
    if (info) return info;
    info = la_trtri(n2, L22, ldl);
    if (info) return n1 + info;
    la_trmm(LA_LEFT, LA_N, n2, n1, -1, L22, ldl, L21, ldl);
    la_trmm(LA_RIGHT, LA_N, n2, n1, 1, L, ldl, L21, ldl);
    return 0;
}

static void transpose_times_self(int64_t n, double *L, int64_t ldl)
{
    if (n <= BASE) {
        alone(blas_lauum, n, L, ldl);
        return;
    }
    int64_t n1 = half(n), n2 = n - n1;
    double *L21 = L + n1, *L22 = L21 + n1 * ldl;
    transpose_times_self(n1, L, ldl);
    la_syrk(LA_T, n1, n2, 1, L21, ldl, 1, L, ldl);
    la_trmm(LA_LEFT, LA_T, n2, n1, 1, L22, ldl, L21, ldl);
    transpose_times_self(n2, L22, ldl);
}

int64_t la_potri(int64_t n, double *L, int64_t ldl)
{
    if (n <= FACTOR_BASE) return blas_potri(n, L, ldl);
    int64_t info = la_trtri(n, L, ldl);
    if (!info) transpose_times_self(n, L, ldl);
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
