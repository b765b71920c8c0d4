/* Inducing variables that are values of the function (points.c), with the work over rows in float: A = L^-1 K_uf and its reverse.
   L stays double; here are rounded copies of it, made once for a pass.

   A row's a = L^-1 k is off by about eps |L^-1| |k|, eps = 6e-8: the jitter in L bounds that.  Inputs may be far from 0, since
   differences of them are taken in double.  Shapes as in inducing.h, A and Abar in float; gradients accumulate in double. */
#ifndef INDUCING_INDUCING_F32_H
#define INDUCING_INDUCING_F32_H

#include "inducing/basis.h"

typedef struct inducing_f32 {
    float *L, *T; /* M x M, and of la_trsm_prepare */
} inducing_f32;

bool inducing_f32_fits(const inducing_set *v); /* whether variables of this kind can have their rows in float */
bool inducing_f32_open(inducing_f32 *f, int64_t M);
void inducing_f32_clear(inducing_f32 *f);                                /* accepts a half-built one */
void inducing_f32_prepare(const inducing_f32 *f, const inducing_set *v); /* after v's own */

/* K[M,n]: gets K_uf, or NULL. */
bool inducing_f32_features(const inducing_f32 *f, const inducing_set *v, int64_t n, const double *X, int64_t ldx,
                           float *A, int64_t lda, float *K);
/* d[n] = max(k_ii - |a_i|^2, 0), in double */
void inducing_f32_residual(const inducing_set *v, int64_t n, const double *X, int64_t ldx, const float *A, int64_t lda,
                           double *d);
/* Abar is used up; of_A false: it is K_uf bar already.  dbar: NULL, or the residuals' own adjoints. */
bool inducing_f32_reverse(const inducing_f32 *f, const inducing_set *v, int64_t n, const double *X, int64_t ldx,
                          float *Abar, int64_t lda, bool of_A, const double *dbar, inducing_grad g);
/* H[p,n] = sqrt(B) h(x), leading dimension ldh */
void basis_rows_f32(const basis *b, int64_t n, const double *X, int64_t ldx, float *H, int64_t ldh);

#endif
