/* The posterior of the exact model with its factor: what exact_posterior.c and exact_update.c share. */
#ifndef MODEL_EXACT_EXACT_POSTERIOR_H
#define MODEL_EXACT_EXACT_POSTERIOR_H

#include "model/model.h"

typedef struct exact_posterior {
    posterior base;
    int64_t p;                            /* basis functions of the mean */
    double *X, *alpha, *L, *V, *R, *beta; /* X: D x n column-major (one row of inputs after the other) */
} exact_posterior;

/* Room for n rows and the functions of the mean, not filled, with copies of kernel and mean. */
anygp_status exact_posterior_new(const kernel *k, double noise, const basis *mean, int64_t D, int64_t n,
                                 exact_posterior **out, anygp_error *e);
bool exact_has_factor(const posterior *p); /* it is such a posterior */

#endif
