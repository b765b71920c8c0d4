/* Products and triangular solves in float, for work over rows; factors and all that decides stay in double (linalg.h).
   triangular.c, lower.c, strips.c and mirror.c are compiled twice, in double and, by the files *_f32.c, in float. */
#ifndef LINALG_LINALG_F32_H
#define LINALG_LINALG_F32_H

#include "linalg/linalg.h"

/* C[m,n] = alpha op(A) op(B) + beta C */
void la_gemm_f32(la_op opa, la_op opb, int64_t m, int64_t n, int64_t k, float alpha, const float *A, int64_t lda,
                 const float *B, int64_t ldb, float beta, float *C, int64_t ldc);
/* lower triangle of C[n,n] = alpha op(A) op(A)' + beta C */
void la_syrk_f32(la_op op, int64_t n, int64_t k, float alpha, const float *A, int64_t lda, float beta, float *C,
                 int64_t ldc);
/* lower triangle of C[n,n] = alpha op(A) op(B) + beta C, for products known to be symmetric */
void la_gemm_lower_f32(la_op opa, la_op opb, int64_t n, int64_t k, float alpha, const float *A, int64_t lda,
                       const float *B, int64_t ldb, float beta, float *C, int64_t ldc);
/* As la_trsm_prepared, L and T rounded. */
void la_trsm_prepared_f32(la_side side, la_op op, int64_t m, int64_t n, const float *L, int64_t ldl, const float *T,
                          float *B, int64_t ldb);

void la_mirror_f32(int64_t n, float *A, int64_t lda);
/* As la_strips_*. */
int64_t la_strips_size_f32(bool lower, int64_t n);
void la_strips_prepare_f32(bool lower, int64_t n, const float *R, int64_t ldr, float *P);
int64_t la_strips_work_f32(int64_t n);
void la_strips_product_f32(bool lower, int64_t n, const float *P, int64_t m, const float *B, int64_t ldb, float *work,
                           float *C, int64_t ldc);
void la_strips_norms_f32(bool lower, int64_t n, const float *P, int64_t m, const float *B, int64_t ldb, float *work,
                         float *norm);

void la_round(int64_t n, const double *from, float *to);                             /* finite where `from` is */
void la_round_lower(int64_t n, const double *A, int64_t lda, float *B, int64_t ldb); /* of a lower triangle */
/* sum x y, and y += alpha x, in double */
double la_dot_f32(int64_t n, const float *x, const float *y);
double la_dot_mixed(int64_t n, const float *x, const double *y);
void la_axpy_mixed(int64_t n, double alpha, const float *x, double *y);
/* lower triangle of C[n,n] in double += that of B in float */
void la_add_lower_mixed(int64_t n, const float *B, int64_t ldb, double *C, int64_t ldc);

#endif
