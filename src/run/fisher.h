/* Steps by Fisher's information, for models that have it [model_ops.information]: a preconditioner of L-BFGS in the free parameters u. */
#ifndef RUN_FISHER_H
#define RUN_FISHER_H

#include "model/model.h"

/* d becomes (J'F J + C)^-1 d at the values in h, J = d(natural) / du, C the curvature of the log prior; false: there is none there. */
bool fisher_step(const model_ops *model, void *state, hyper *h, double *d);

#endif
