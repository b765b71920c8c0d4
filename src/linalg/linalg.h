/* Dense linear algebra: the only access to BLAS and LAPACK.
   Matrices are column-major with an explicit leading dimension; sizes are int64_t and narrowed here, checked.
   Triangular factors are lower.  No function can fail for lack of memory: those that use workspace
   of their own work without it if there is none. */
#ifndef LINALG_LINALG_H
#define LINALG_LINALG_H

#include <stdbool.h>
#include <stdint.h>

typedef enum la_op { LA_N, LA_T } la_op;
typedef enum la_side { LA_LEFT, LA_RIGHT } la_side;

double la_dot(int64_t n, const double *x, const double *y);
double la_norm(int64_t n, const double *x);
void la_axpy(int64_t n, double alpha, const double *x, double *y); /* y += alpha x */
bool la_all_finite(int64_t n, const double *x);
void la_scale(int64_t n, double alpha, double *x);

/* y = alpha op(A) x + beta y,  A[m,n] */
void la_gemv(la_op op, int64_t m, int64_t n, double alpha, const double *A, int64_t lda, const double *x, double beta,
             double *y);
/* C[m,n] = alpha op(A) op(B) + beta C */
void la_gemm(la_op opa, la_op opb, int64_t m, int64_t n, int64_t k, double alpha, const double *A, int64_t lda,
             const double *B, int64_t ldb, double beta, double *C, int64_t ldc);
/* lower triangle of C[n,n] = alpha op(A) op(A)' + beta C;  op(A)[n,k] */
void la_syrk(la_op op, int64_t n, int64_t k, double alpha, const double *A, int64_t lda, double beta, double *C,
             int64_t ldc);
/* lower triangle of C[n,n] = alpha op(A) op(B) + beta C, for products known to be symmetric; op(A)[n,k], op(B)[k,n] */
void la_gemm_lower(la_op opa, la_op opb, int64_t n, int64_t k, double alpha, const double *A, int64_t lda,
                   const double *B, int64_t ldb, double beta, double *C, int64_t ldc);
/* C[m,n] = alpha A B + beta C (left) or alpha B A + beta C (right), A symmetric, its lower triangle read */
void la_symm(la_side side, int64_t m, int64_t n, double alpha, const double *A, int64_t lda, const double *B,
             int64_t ldb, double beta, double *C, int64_t ldc);
/* B[m,n] = alpha op(L)^-1 B (left) or alpha B op(L)^-1 (right) */
void la_trsm(la_side side, la_op op, int64_t m, int64_t n, double alpha, const double *L, int64_t ldl, double *B,
             int64_t ldb);
/* For many solves with one L[n,n]: T[la_trsm_size(n)] is what la_trsm computes from it each time. */
int64_t la_trsm_size(int64_t n);
void la_trsm_prepare(int64_t n, const double *L, int64_t ldl, double *T);
void la_trsm_prepared(la_side side, la_op op, int64_t m, int64_t n, const double *L, int64_t ldl, const double *T,
                      double *B, int64_t ldb);
/* B[m,n] = alpha op(L) B (left) or alpha B op(L) (right) */
void la_trmm(la_side side, la_op op, int64_t m, int64_t n, double alpha, const double *L, int64_t ldl, double *B,
             int64_t ldb);
/* For many products with one R[n,n], which may be lower: P[la_strips_size(n)] is R in the order they read it.  C[n,m] = R B;
   norm[m] = |R b|^2 for each column b.  By one thread; work[la_strips_work(n)]. */
int64_t la_strips_size(bool lower, int64_t n);
void la_strips_prepare(bool lower, int64_t n, const double *R, int64_t ldr, double *P);
int64_t la_strips_work(int64_t n);
void la_strips_product(bool lower, int64_t n, const double *P, int64_t m, const double *B, int64_t ldb, double *work,
                       double *C, int64_t ldc);
void la_strips_norms(bool lower, int64_t n, const double *P, int64_t m, const double *B, int64_t ldb, double *work,
                     double *norm);
void la_trsv(la_op op, int64_t n, const double *L, int64_t ldl, double *x);

/* A (lower triangle) = L L', in place.  0, or k > 0: the leading minor of order k is not positive definite. */
int64_t la_potrf(int64_t n, double *A, int64_t lda);
/* The same, and true only if every diagonal element of the factor is finite and positive. */
bool la_factor(int64_t n, double *A, int64_t lda);
/* From the factor L in place to the lower triangle of (L L')^-1. */
int64_t la_potri(int64_t n, double *L, int64_t ldl);
/* L^-1 in place, lower.  0, or k > 0: L_kk is 0. */
int64_t la_trtri(int64_t n, double *L, int64_t ldl);
/* Lower triangle of L^-T E L^-1 in place of that of E, symmetric; T as in la_trsm_prepared, or NULL.  n^3 operations. */
void la_congruence(int64_t n, const double *L, int64_t ldl, const double *T, double *E, int64_t lde);
/* tr (L L')^-1, the sum of squares of L^-1; work[n,n] gets L^-1, lower.  L_ii != 0.  n^3/3 operations. */
double la_inverse_norm2(int64_t n, const double *L, int64_t ldl, double *work);
/* A = V diag(w) V', ascending; A's lower triangle is read and replaced by V.  work: la_eigh_work(n) doubles. */
int64_t la_eigh_work(int64_t n);
int64_t la_eigh(int64_t n, double *A, int64_t lda, double *w, double *work);

void la_mirror(int64_t n, double *A, int64_t lda);     /* lower triangle onto the upper */
void la_zero_upper(int64_t n, double *A, int64_t lda); /* zeros strictly above the diagonal */

/* Cholesky that recovers from failure: factors A + j I where j starts at `relative` times the mean diagonal (0: without)
   and on failure grows tenfold, as in jitter.h.  The strict upper triangle is used as the copy of A
   and is overwritten; diag[n] is workspace.  *jitter gets the absolute amount added.  False when A has a number
   that is not finite, or is not near a positive definite matrix (jitter would exceed 1e-2 of the mean diagonal). */
bool la_cholesky(int64_t n, double *A, int64_t lda, double relative, double *diag, double *jitter);
/* The same with jitter relative to `scale`: for differences of matrices, whose rounding errors are of the size of what was
   subtracted. */
bool la_cholesky_scaled(int64_t n, double *A, int64_t lda, double scale, double relative, double *diag, double *jitter);

/* 2 sum log L_ii */
double la_logdet(int64_t n, const double *L, int64_t ldl);

/* From now on our parallel regions and BLAS use `count` threads (0: all processors); returns the former number.
   Inside a parallel region there is one thread, and this does nothing. */
int la_threads(int count);

/* Around a parallel region of ours that calls BLAS inside: a BLAS with its own threads (not OpenMP's) gets one. */
void la_serial_begin(int threads);
void la_serial_end(int threads);

#endif
