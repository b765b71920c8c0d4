/* What the other files of this folder need of BLAS beyond linalg.h. */
#ifndef LINALG_BLAS_H
#define LINALG_BLAS_H

#include "linalg/linalg.h"

/* BLAS's own. */
void blas_trsm(la_side side, la_op op, int64_t m, int64_t n, double alpha, const double *L, int64_t ldl, double *B,
               int64_t ldb);

void blas_trsm_f32(la_side side, la_op op, int64_t m, int64_t n, float alpha, const float *L, int64_t ldl, float *B,
                   int64_t ldb);

/* LAPACK's own, lower triangles; for small blocks, and to be measured against. */
int64_t blas_potrf(int64_t n, double *A, int64_t lda);
int64_t blas_potri(int64_t n, double *L, int64_t ldl);
int64_t blas_trtri(int64_t n, double *L, int64_t ldl); /* L^-1 in place */
int64_t blas_lauum(int64_t n, double *L, int64_t ldl); /* L'L in place */

/* Around small products: one thread, since waking others costs more than it gains.  begin returns what end needs. */
int blas_alone_begin(void);
void blas_alone_end(int former);

/* Triangles whose diagonal blocks, TRIANGLE_BASE wide, are available as full squares (triangular.c): for each block its square
   and its transpose, TRIANGLE_STRIDE doubles per unknown. */
enum { TRIANGLE_BASE = 32, TRIANGLE_STRIDE = 2 * TRIANGLE_BASE };
/* A[n,n] = L L' in place, lower, n <= TRIANGLE_BASE; 0, or the order of the minor that is not positive (base_block.c). */
int64_t triangle_factor(int64_t n, double *A, int64_t lda);
/* T = L[n,n]^-1 and its transpose, n <= TRIANGLE_BASE, zeros elsewhere: what la_trsm_prepare makes of each block. */
void triangle_invert(int64_t n, const double *L, int64_t ldl, double *T);
/* B[m,n] = sign op(R) B (left) or sign B op(R) (right), R lower with the squares of its diagonal blocks in T. */
void triangle_multiply(la_side side, la_op op, int64_t m, int64_t n, double sign, const double *R, int64_t ldr,
                       const double *T, double *B, int64_t ldb);
/* The same in float. */
int64_t triangle_factor_f32(int64_t n, float *A, int64_t lda);
void triangle_invert_f32(int64_t n, const float *L, int64_t ldl, float *T);
void la_trsm_prepare_f32(int64_t n, const float *L, int64_t ldl, float *T);
void triangle_multiply_f32(la_side side, la_op op, int64_t m, int64_t n, float sign, const float *R, int64_t ldr,
                           const float *T, float *B, int64_t ldb);

#endif
