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

#endif
