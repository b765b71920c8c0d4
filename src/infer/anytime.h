/* A model over blocks, run anytime (000, section 4): each step looks at a sample of the blocks and improves q(v), and where
   hyperparameters are learned anytime, these and the inducing inputs too.  After every step there is a valid model.

   Step t at hyperparameters h, with S blocks of P and their statistics times P / S:
       learning   Adam on the gradient of the bound at the q so far, which the sample does not depend on: unbiased
       q          natural gradient (24-26) or plain gradient (14, 17, 18)
   Step sizes are rho_t = rho_0 / (1 + tau rho_0 t)^kappa, from the prior on, where the user gives any of the three.  Else:
   - With fixed hyperparameters the first epoch absorbs block after block: after t steps q is the batch posterior of the rows
     seen so far, and after the epoch that of all.  Scaling the statistics of a few rows up to all of them, as theorem 6 does,
     would claim a certainty that is not there and fit their noise.  Where blocks are parts of space (pitc, pic) a few rows
     from all over it, taken one by one as in fitc, stand for the blocks not seen yet, with the share of those as exponent.
     Later epochs take rho_t = 1 / (1 + t): a running mean of the statistics, which is the batch result at the end of each.
   - While learning kappa = 0.6, so that statistics at old hyperparameters fade; the last 30 % of the run keep the
     hyperparameters and go back to a running mean.  A run that ends before every block was seen claims the certainty of the
     rows it has seen, with the same start for the others [walk_posterior]. */
#ifndef INFER_ANYTIME_H
#define INFER_ANYTIME_H

#include "infer/train.h"

/* From the hyperparameters in h; leaves the final ones there, and the posterior. */
anygp_status anytime_run(const model_ops *model, void *state, const problem *p, hyper *h, const train_options *o,
                         anygp_status stopped, train_result *r, posterior **out, anygp_error *e);

#endif
