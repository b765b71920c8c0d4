/* Predictions of a deep GP (Salimbeni and Deisenroth 2017, eq. 19): a mixture of S Gaussians, one for each way through the inner layers.
   Component s of a row takes f^l_c = f^(l-1)_c + s_c (mu_c + sqrt(var_c) e_lcs), the same e for all rows: S points that cut N(0, 1) into
   shares of 1 / S, in an order of their own for each layer and function. */
#ifndef MODEL_DEEP_DEEP_POSTERIOR_H
#define MODEL_DEEP_DEEP_POSTERIOR_H

#include "model/variational/chain.h"
#include "model/variational/svgp_nested.h"

enum { DEEP_COMPONENTS = 32 };

typedef struct deep_posterior {
    posterior base; /* its kernel is the last layer's */
    int64_t L;
    posterior *at[CHAIN_LAYERS_MOST];
    double *spread; /* D */
    double *e;      /* D x S for each inner layer */
    nested_paths path[CHAIN_LAYERS_MOST];
} deep_posterior;

/* Target t of a chain of several layers. */
anygp_status deep_posterior_new(const chain *s, int64_t t, posterior **out, anygp_error *e);
/* With no inner layers among the arrays: svgp_load. */
anygp_status deep_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                       int64_t count, posterior **out, anygp_error *e);

#endif
