/* The prior covariance of f at two places, kernel and prior mean together, from the definitions. */
#ifndef TEST_DENSE_PRIOR_H
#define TEST_DENSE_PRIOR_H

#include "dense.h"
#include "inducing/basis.h"

enum { DENSE_BASIS = 8 }; /* functions of the mean at most */

static inline real dense_prior(const kernel *covariance, const basis *mean, int64_t D, const double *x, const double *z,
                               bool same)
{
    double h[DENSE_BASIS], g[DENSE_BASIS];
    basis_fill(mean, 1, x, D, h, 1, 1);
    basis_fill(mean, 1, z, D, g, 1, 1);
    real k = kernel_reference(covariance, x, z, same);
    for (int64_t j = 0; j < mean->p; j++) k += mean->B * h[j] * g[j];
    return k;
}

#endif
