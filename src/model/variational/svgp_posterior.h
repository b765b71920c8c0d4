/* Predictions of a variational model (004, eq. 23 and 24): with a = L^-1 k_u over the basis functions, latent c has
       mean a'm_c,   covariance k(x, x') - a'a' + sum_k (F_ck^-1 a_k)'(F_ck^-1 a'_k)        (notation of gauss/layer.h)
   White terms are what an observation adds, whatever the likelihood; they are no part of this. */
#ifndef MODEL_VARIATIONAL_SVGP_POSTERIOR_H
#define MODEL_VARIATIONAL_SVGP_POSTERIOR_H

#include "model/variational/chain.h"

typedef struct svgp_posterior {
    posterior base;
    int64_t Mt, K, set[MODEL_SETS_MOST + 1];
    inducing_set u;
    double *m;                  /* Mt x C */
    double *F[MODEL_SETS_MOST]; /* of set k: M_k x M_k for each latent, one after the other */
    bool by_covariance;         /* F[0], the only one, has the roots R of V = R R' instead (gauss/gauss.h) */
    int64_t O;                  /* odvgp: inducing inputs of the mean alone, */
    inducing_set o;             /* which have no factor, */
    double *a;                  /* and their coefficients, O x C; m is then m - w */
    double *sizes;              /* K: as an array of the file */
} svgp_posterior;

/* Functions first .. first + count - 1 of a layer, which are copied. */
anygp_status svgp_posterior_of(const layer *l, int64_t first, int64_t count, double noise, posterior **out,
                               anygp_error *e);
/* Target t. */
anygp_status svgp_posterior_new(const chain *s, int64_t t, posterior **out, anygp_error *e);
anygp_status svgp_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                       int64_t count, posterior **out, anygp_error *e);
extern const update_ops svgp_updates; /* svgp_update.c */

#endif
