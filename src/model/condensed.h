/* Marginals of a posterior over inducing inputs, made ready for many rows.

   With k = k_u(x), h = sqrt(B) h(x) the basis functions of the mean, and q's mean and covariance V = (F F')^-1 (gauss/layer.h) split
   into inducing inputs and basis functions, a latent has
       mean      w'k + m_h'h,                                                             w = L^-T m_u
       variance  k(x,x) - k'L^-T (I - V_uu) L^-1 k + 2 k'N h + h'V_hh h,                  N = L^-T V_uh
   Where I - V_uu = W'W with W lower triangular, the second term is |R k|^2 with R = W L^-1, lower triangular too: M^2
   operations per row and latent instead of two or more solves.  I - V_uu is positive semidefinite whenever q knows no less
   than the prior in any direction: always for Gaussian noise, and for every log-concave likelihood that has converged.
   Preparation: about 3 M^3 operations per latent. */
#ifndef MODEL_CONDENSED_H
#define MODEL_CONDENSED_H

#include "model/model.h"

/* What a posterior provides; everything is copied. */
typedef struct condensed_source {
    const posterior *of;
    int64_t M, K;
    const int64_t *set; /* K + 1: where each set of v begins */
    bool
        basis_first; /* the basis functions come before the inducing inputs of the first set; else after those of the last */
    const inducing_set *u;
    const double *m;       /* Mt x C */
    double *const *F;      /* for set k: M_k x M_k for each latent, one after the other */
    const inducing_set *o; /* inducing inputs for the mean only, or NULL, */
    const double *a;       /* and their coefficients O x C */
} condensed_source;

/* A posterior with marginals only, or NULL: there is no memory, I - V_uu is not positive semidefinite, or the kind of inducing
   variables has no K_uf. */
posterior *condensed_new(const condensed_source *s);
/* The same for means alone: w takes a triangular solve per latent, and nothing else is made.  F may be NULL. */
posterior *condensed_mean_new(const condensed_source *s);

#endif
