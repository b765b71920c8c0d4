/* The posterior of lagp: that of vecchia, and how it chooses the rows of a prediction. */
#ifndef MODEL_LOCAL_LAGP_POSTERIOR_H
#define MODEL_LOCAL_LAGP_POSTERIOR_H

#include "model/local/lagp.h"
#include "model/local/vecchia_posterior.h"

typedef struct lagp_posterior {
    vecchia_posterior near;
    lagp_kind kind;
} lagp_posterior;

extern const posterior_form lagp_form; /* the kind is set by whoever makes it */
anygp_status lagp_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                       int64_t count, posterior **out, anygp_error *e);

#endif
