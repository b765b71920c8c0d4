/* Diagonal blocks of TRIANGLE_BASE unknowns, where calls of LAPACK would cost more than the work: whole columns of fixed length
   that stay in registers.  What is computed above the diagonal on the way is not used.  In double and in float. */
#include <math.h>
#include <string.h>

#include "base/simd.h"
#include "linalg/blas.h"

#ifdef REAL_FLOAT
typedef float real;
#define triangle_factor triangle_factor_f32
#define triangle_invert triangle_invert_f32
#else
typedef double real;
#endif

enum { BASE = TRIANGLE_BASE };

/* to[BASE] -= sum_k<count factor[k * step] from[BASE,k] */
VECTORISED static void subtract_columns(int64_t count, const real *factor, int64_t step, const real *from, real *to)
{
    real sum[BASE];
    for (int i = 0; i < BASE; i++) sum[i] = to[i];
    for (int64_t k = 0; k < count; k++) {
        real f = factor[k * step];
        SIMD for (int i = 0; i < BASE; i++) sum[i] -= f * from[i + k * BASE];
    }
    for (int i = 0; i < BASE; i++) to[i] = sum[i];
}

/* Column j of L is (column j of A less sum_k<j L_jk column k) / L_jj. */
int64_t triangle_factor(int64_t n, real *A, int64_t lda)
{
    real L[BASE * BASE];
    memset(L, 0, sizeof L);
    for (int64_t j = 0; j < n; j++) memcpy(L + j + j * BASE, A + j + j * lda, (size_t)(n - j) * sizeof *L);
    for (int64_t j = 0; j < n; j++) {
        real *column = L + j * BASE;
        subtract_columns(j, L + j, BASE, L, column);
        if (!(column[j] > 0)) return j + 1;
        real root = (real)sqrt(column[j]), r = 1 / root;
        for (int64_t i = j + 1; i < n; i++) A[i + j * lda] = column[i] *= r;
        A[j + j * lda] = column[j] = root;
    }
    return 0;
}

/* Row i of L^-1 is (e_i - sum_k<i L_ik row k) / L_ii; rows are the columns of U. */
void triangle_invert(int64_t n, const real *L, int64_t ldl, real *T)
{
    real *U = T + BASE * BASE;
    memset(T, 0, BASE * TRIANGLE_STRIDE * sizeof *T);
    for (int64_t i = 0; i < n; i++) {
        real *row = U + i * BASE, r = 1 / L[i + i * ldl];
        subtract_columns(i, L + i, ldl, U, row);
        for (int64_t j = 0; j < i; j++) row[j] *= r;
        row[i] = r;
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) T[i + j * BASE] = U[j + i * BASE];
}
