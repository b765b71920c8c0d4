/* What marginal and joint predictions of variational nearest-neighbour GPs share, and updates (vnngp_posterior.c, vnngp_joint.c,
   vnngp_update.c). */
#ifndef MODEL_LOCAL_VNNGP_POSTERIOR_H
#define MODEL_LOCAL_VNNGP_POSTERIOR_H

#include "model/local/vecchia_posterior.h"

/* Its rows, in their order, have the means of the first latent for y, and weight 1. */
typedef struct vnngp_posterior {
    vecchia_posterior near;
    double *m, *s; /* n x C */
} vnngp_posterior;

/* The training rows in the list, as inducing variables: without values and noise of their own. */
void vnngp_conditional_begin(const vnngp_posterior *p, int64_t count, const int32_t *rows, conditional *c);
anygp_status vnngp_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                         double *covariance, int64_t ldc, anygp_error *e); /* [vnngp_joint.c] */

#endif
