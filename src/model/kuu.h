/* K_uu, the covariance of inducing inputs, without the white terms of the kernel: inducing inputs are not rows. */
#ifndef MODEL_KUU_H
#define MODEL_KUU_H

#include "model/hyper.h"

/* L[M,M] = chol(K_uu + jitter), zeros above, of the first M inducing inputs of h; T: of la_trsm_prepare.  *jitter is relative to
   the mean diagonal and grows only if allowed; work: M.  False: there is no factor. */
bool kuu_factor(const hyper *h, int64_t M, bool grow, double *jitter, double *L, double *T, double *work);

/* K_uu bar = -L^-T E L^-1 / 2 in place of E, lower triangles, with the share of the jitter, which is relative to the mean
   diagonal; returns its trace.  T: of la_trsm_prepare, or NULL. */
double kuu_bar(int64_t M, const double *L, const double *T, double jitter, double *E);

/* White is on the diagonal of kernel_gram_sym alone: adds g times the gradient of what it has there more than kernel_diag. */
bool kuu_white_reverse(const hyper *h, double g, double *gp);

#endif
