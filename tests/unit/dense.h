/* Plain dense algebra in extended precision, straight from the definitions: the other road for the tests. */
#ifndef TEST_DENSE_H
#define TEST_DENSE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef long double real;

/* A[n,n] symmetric, row-major, is replaced by its inverse; returns log det.  Gauss-Jordan with row exchange. */
static inline real dense_invert(int n, real *A)
{
    real logdet = 0, *B = calloc((size_t)(n * n), sizeof *B);
    for (int i = 0; i < n; i++) B[i * n + i] = 1;
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++)
            if (fabsl(A[i * n + k]) > fabsl(A[p * n + k])) p = i;
        for (int j = 0; j < n && p != k; j++) {
            real t = A[k * n + j], u = B[k * n + j];
            A[k * n + j] = A[p * n + j], A[p * n + j] = t;
            B[k * n + j] = B[p * n + j], B[p * n + j] = u;
        }
        real pivot = A[k * n + k];
        logdet += logl(fabsl(pivot));
        for (int j = 0; j < n; j++) A[k * n + j] /= pivot, B[k * n + j] /= pivot;
        for (int i = 0; i < n; i++) {
            real f = A[i * n + k];
            if (i == k || f == 0) continue;
            for (int j = 0; j < n; j++) A[i * n + j] -= f * A[k * n + j], B[i * n + j] -= f * B[k * n + j];
        }
    }
    memcpy(A, B, (size_t)(n * n) * sizeof *A);
    free(B);
    return logdet;
}

static inline real dense_quadratic(int n, const real *A, const real *x, const real *y)
{
    real s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) s += x[i] * A[i * n + j] * y[j];
    return s;
}

/* log N(y; 0, C) with C given by its inverse and log det. */
static inline real dense_log_normal(int n, const real *inverse, real logdet, const real *y)
{
    return -0.5L * (dense_quadratic(n, inverse, y, y) + logdet + n * 1.837877066409345483560659472811L);
}

#endif
