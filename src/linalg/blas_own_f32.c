/* What linalg_f32.h needs of BLAS, in plain loops, for a library built without it. */
#include "base/simd.h"
#include "linalg/blas.h"
#include "linalg/linalg_f32.h"

VECTORISED static void add_column(int64_t n, float alpha, const float *x, int64_t step, float *y)
{
    if (step == 1) {
        SIMD for (int64_t i = 0; i < n; i++) y[i] += alpha * x[i];
    } else {
        for (int64_t i = 0; i < n; i++) y[i] += alpha * x[i * step];
    }
}

/* Rows first .. m-1 of column j. */
static void product_column(la_op opa, la_op opb, int64_t first, int64_t m, int64_t j, int64_t k, float alpha,
                           const float *A, int64_t lda, const float *B, int64_t ldb, float beta, float *c)
{
    for (int64_t i = first; i < m; i++) c[i] = beta == 0 ? 0 : beta * c[i];
    for (int64_t p = 0; p < k; p++) {
        float b = alpha * (opb == LA_T ? B[j + p * ldb] : B[p + j * ldb]);
        add_column(m - first, b, opa == LA_T ? A + p + first * lda : A + first + p * lda, opa == LA_T ? lda : 1,
                   c + first);
    }
}

void la_gemm_f32(la_op opa, la_op opb, int64_t m, int64_t n, int64_t k, float alpha, const float *A, int64_t lda,
                 const float *B, int64_t ldb, float beta, float *C, int64_t ldc)
{
    for (int64_t j = 0; j < n; j++) product_column(opa, opb, 0, m, j, k, alpha, A, lda, B, ldb, beta, C + j * ldc);
}

void la_syrk_f32(la_op op, int64_t n, int64_t k, float alpha, const float *A, int64_t lda, float beta, float *C,
                 int64_t ldc)
{
    for (int64_t j = 0; j < n; j++)
        product_column(op, op == LA_T ? LA_N : LA_T, j, n, j, k, alpha, A, lda, A, lda, beta, C + j * ldc);
}

/* x[n], its elements `step` apart, becomes op(L)^-1 x. */
static void solve(la_op op, int64_t n, const float *L, int64_t ldl, float *x, int64_t step)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t i = op == LA_T ? n - 1 - k : k;
        float sum = x[i * step];
        for (int64_t p = 0; op == LA_N && p < i; p++) sum -= L[i + p * ldl] * x[p * step];
        for (int64_t p = i + 1; op == LA_T && p < n; p++) sum -= L[p + i * ldl] * x[p * step];
        x[i * step] = sum / L[i + i * ldl];
    }
}

void blas_trsm_f32(la_side side, la_op op, int64_t m, int64_t n, float alpha, const float *L, int64_t ldl, float *B,
                   int64_t ldb)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) B[i + j * ldb] *= alpha;
    for (int64_t j = 0; side == LA_LEFT && j < n; j++) solve(op, m, L, ldl, B + j * ldb, 1);
    for (int64_t i = 0; side == LA_RIGHT && i < m; i++) solve(op == LA_T ? LA_N : LA_T, n, L, ldl, B + i, ldb);
}
