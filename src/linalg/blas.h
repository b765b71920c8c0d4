/* What the other files of this folder need of BLAS beyond linalg.h. */
#ifndef LINALG_BLAS_H
#define LINALG_BLAS_H

#include "linalg/linalg.h"

/* BLAS's own. */
void blas_trsm(la_side side, la_op op, int64_t m, int64_t n, double alpha, const double *L, int64_t ldl, double *B,
               int64_t ldb);

/* LAPACK's own, lower triangles; for small blocks, and to be measured against. */
int64_t blas_potrf(int64_t n, double *A, int64_t lda);
int64_t blas_potri(int64_t n, double *L, int64_t ldl);
int64_t blas_trtri(int64_t n, double *L, int64_t ldl); /* L^-1 in place */
int64_t blas_lauum(int64_t n, double *L, int64_t ldl); /* L'L in place */

/* T[TRIANGLE_BASE,TRIANGLE_BASE] = L[n,n]^-1 of a diagonal block, n <= TRIANGLE_BASE, zeros above (triangular.c): what
   la_trsm_prepare makes of each. */
enum { TRIANGLE_BASE = 32 };
void triangle_invert(int64_t n, const double *L, int64_t ldl, double *T);

#endif
