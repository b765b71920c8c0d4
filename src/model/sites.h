/* Rows of any likelihood under a joint Gaussian prior N(m, K) on their C independent latents: the Gaussian q that maximises
   sum E[log p(y_i | f_i)] - KL(q || N(m, K)).  It is the prior times a site exp(nu f - lambda f^2 / 2) for each row and latent,
       d = (I + diag(lambda) K)^-1 (nu - lambda m),   mean m + K d,   covariance (K^-1 + diag(lambda))^-1
   and natural steps move  lambda -> -2 dE/dvar,  nu -> lambda mu + dE/dmu, here with sites that are never negative.  With Gaussian
   noise the first step is exact: lambda = w / noise, d = (K + noise / w)^-1 (y - m).  n^3 operations per round and latent. */
#ifndef MODEL_SITES_H
#define MODEL_SITES_H

#include "base/error.h"
#include "likelihood/likelihood.h"

/* Y[n, columns], w[n]; m[n,C]; K: C lower triangles of n x n, one after the other.  var[n,C]: NULL, or the variances to
   take the expectations at, instead of those of q.  Out: d[n,C], lambda[n,C], and
   *density: for Gaussian noise the log density of y under the prior, else the expected log likelihood there. */
anygp_status sites_find(const likelihood *l, int64_t n, const double *Y, const double *w, const double *m,
                        const double *K, const double *var, double *d, double *lambda, double *density, anygp_error *e);

#endif
