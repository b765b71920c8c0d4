/* A run of a model that learns by steps (step_ops): each looks at a random sample of the blocks and moves q, hyperparameters
   and inducing inputs.  After every step there is a valid model.

   The natural gradient's rho_t = max(rho_0, 1 / (2 + t)), a running mean of the statistics that forgets: rho_0 is such that it
   rests on 20 rows per inducing input, or is the user's --rho.  Hyperparameters begin to move once q has seen a few samples, at
   Adam's rate; the last quarter of the run keeps them, and rho falls to a running mean again, so that q settles.
   Where every step sees all blocks, rho is 1 for Gaussian noise, which is exact, and 1/2 else. */
#ifndef RUN_STEPWISE_H
#define RUN_STEPWISE_H

#include "run/train.h"

/* From the hyperparameters in h; leaves the final ones there, and the posteriors out[targets]. */
anygp_status stepwise_run(const model_ops *model, void *state, const problem *p, hyper *h, const train_options *o,
                          anygp_status stopped, train_result *r, posterior **out, anygp_error *e);

#endif
