/* The parts of the relevance vector machine: rvm.c (evidence, gradient) and rvm_posterior.c (predictions). */
#ifndef MODEL_WEIGHTS_RVM_H
#define MODEL_WEIGHTS_RVM_H

#include "model/model.h"
#include "model/weights/relevance.h"

/* Kernel evaluations at the columns of r that are in, whose places are rows X[n,D]. */
anygp_status rvm_posterior_new(const relevance *r, const double *X, const hyper *h, posterior **out, anygp_error *e);
anygp_status rvm_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                      int64_t count, posterior **out, anygp_error *e);

#endif
