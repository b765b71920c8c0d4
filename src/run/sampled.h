/* A model whose objective is a sum over blocks (sum_ops), run anytime: each step estimates the gradient from a sample of the blocks, and
   Adam moves the hyperparameters.  There is a valid model after every step; its posterior rests on all rows, whatever was sampled.

   Adam's rate falls linearly to a twentieth over the run, by steps or by the clock.  Without --sample a step has about 2000 rows, and at
   least a hundredth of all.  What the model takes as given, such as who is near whom, is made again after 10, 20, 40, ... steps. */
#ifndef RUN_SAMPLED_H
#define RUN_SAMPLED_H

#include "run/train.h"

/* From the hyperparameters in h; leaves the final ones there, and the posterior. */
anygp_status sampled_run(const model_ops *model, void *state, const problem *p, hyper *h, const train_options *o,
                         anygp_status stopped, train_result *result, posterior **out, anygp_error *e);

#endif
