/* Predictions of a mixture of experts (003, eq. 22): K components, the marginals of the experts, with the gates as weights of each row
   and a noise of their own.  Given x, rows are each of one expert independently of the others: a joint draw is one of every expert's
   function, from which every row takes its expert's value. */
#ifndef MODEL_MIXTURE_MOE_POSTERIOR_H
#define MODEL_MIXTURE_MOE_POSTERIOR_H

#include "model/mixture/moe.h"
#include "model/variational/svgp_nested.h"

typedef struct moe_posterior {
    posterior base; /* its kernel and noise are the first expert's */
    int64_t K;
    posterior *at[MOE_EXPERTS_MOST];
    gate gate;
    double *noise;      /* K */
    double *observed;   /* K: with white terms of the kernels */
    nested_paths *path; /* K: names of arrays */
} moe_posterior;

/* Of K experts of those that a gate has, the ones in `kept`: at[K], which are taken over on success, and their part of the gate. */
anygp_status moe_posterior_new(int64_t K, const int64_t *kept, posterior **at, const gate *g, posterior **out,
                               anygp_error *e);
anygp_status moe_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                      int64_t count, posterior **out, anygp_error *e);
extern const update_ops moe_updates; /* moe_update.c */

#endif
