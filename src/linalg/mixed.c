/* Between float and double: rounding, and sums in double of numbers in float. */
#include "base/simd.h"
#include "linalg/linalg_f32.h"

#define MOST 3e38

VECTORISED void la_round(int64_t n, const double *from, float *to)
{
    SIMD for (int64_t i = 0; i < n; i++)
    {
        double v = from[i] < MOST ? from[i] : MOST;
        to[i] = (float)(v > -MOST ? v : -MOST);
    }
}

void la_round_lower(int64_t n, const double *A, int64_t lda, float *B, int64_t ldb)
{
    for (int64_t j = 0; j < n; j++) la_round(n - j, A + j + j * lda, B + j + j * ldb);
}

VECTORISED double la_dot_f32(int64_t n, const float *x, const float *y)
{
    double sum = 0;
    SIMD_SUM(sum) for (int64_t i = 0; i < n; i++) sum += (double)x[i] * y[i];
    return sum;
}

VECTORISED double la_dot_mixed(int64_t n, const float *x, const double *y)
{
    double sum = 0;
    SIMD_SUM(sum) for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

VECTORISED void la_axpy_mixed(int64_t n, double alpha, const float *x, double *y)
{
    SIMD for (int64_t i = 0; i < n; i++) y[i] += alpha * x[i];
}

void la_add_lower_mixed(int64_t n, const float *B, int64_t ldb, double *C, int64_t ldc)
{
    for (int64_t j = 0; j < n; j++) la_axpy_mixed(n - j, 1, B + j + j * ldb, C + j + j * ldc);
}
