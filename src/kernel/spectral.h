/* A kernel as a sum of waves with random frequencies (Rahimi and Recht 2007), as a function of its parameters.

   The expression is multiplied out to T terms, each a product of kernels; terms with a white factor are left out.  By Bochner
       k(x, x') = sum_t v_t E[cos w'(x - x')],   v_t the product of the factors' variances.
   rbf, matern and rq are mixtures of Gaussians, of an rbf kernel with tau / l^2 in the place of 1 / l^2:
       rbf  tau = 1        matern of order nu  tau = 2 nu / chi2(2 nu), Student's t        rq  tau = Gamma(alpha) / alpha
   The frequencies of a product are sums of independent ones of its factors f, and given tau that is one Gaussian:
       w_d = z_d sqrt(sum_f tau_f / l_fd^2),   z ~ N(0, I).
   Wave i, from 0, is of term i mod T; with m_t waves in term t
       k(x, x') ~ sum_i a_i^2 cos w_i'(x - x'),   a_i^2 = v_t / m_t.
   z_i is the caller's: a frequency in units of length-scales, which stays while these change.  tau_f is a function of i alone, the
   quantile at a point of an equidistributed sequence (i times the root of a prime, without its whole part), which adds far less to the
   error than draws would, and is smooth in alpha.

   Shapes: Z, W [M,D] row-major, as in kernel.h. */
#ifndef KERNEL_SPECTRAL_H
#define KERNEL_SPECTRAL_H

#include "kernel/kernel.h"

enum { SPECTRAL_TERMS_MOST = 64 };

typedef struct spectral {
    int64_t terms, factors;     /* T; the factors that a term has at most */
    int *leaf, *count;          /* T x factors: which leaves; T: how many */
    int64_t M, D;               /* waves of the last spectral_waves */
    int64_t total;              /* of which they are, in the expansion; */
    const int64_t *number;      /* M: which ones, the caller's; NULL: all, in order */
    double *W, *amplitude;      /* M x D, M */
    double *root;               /* M x D: W = Z root */
    double *precision, *slopes; /* M x factors: tau, and dtau / dalpha */
} spectral;

/* What the expression is made of.  Refused with a sentence: a kernel without such a form. */
anygp_status spectral_open(spectral *s, const kernel *k, anygp_error *e);
void spectral_clear(spectral *s); /* accepts a half-built one */

/* W and amplitude of M waves at the kernel's values.  False: no memory. */
bool spectral_waves(spectral *s, const kernel *k, int64_t M, const double *Z);
/* The same for M waves of `total`, those in number[M], which stays until the reverse. */
bool spectral_waves_some(spectral *s, const kernel *k, int64_t total, int64_t M, const int64_t *number,
                         const double *Z);
/* From Wbar[M,D] and abar[M] of these to gp and, unless NULL, gZ[M,D], which accumulate. */
void spectral_reverse(const spectral *s, const kernel *k, const double *Z, const double *Wbar, const double *abar,
                      double *gp, double *gZ);

/* Whether there is one term of one factor.  Then wave i is z_i sqrt(tau_i) times over[D] = 1 / l, 0 for inputs that the kernel does not have: */
bool spectral_is_one(const spectral *s);
double spectral_one(const spectral *s, const kernel *k, int64_t total,
                    double *over);                                            /* over, and the amplitude of all */
double spectral_one_precision(const spectral *s, const kernel *k, int64_t i); /* tau_i */

/* z of M waves, each a function of (seed, index).  Independent, or orthogonal within blocks of D waves of a term (Yu and others 2016):
   directions of independent ones made orthogonal, with the lengths of others. */
anygp_status spectral_draw(const spectral *s, uint64_t seed, bool orthogonal, int64_t M, double *Z, anygp_error *e);

#endif
