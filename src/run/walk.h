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
#ifndef RUN_WALK_H
#define RUN_WALK_H

#include "gauss/gauss.h"
#include "params/ascent.h"
#include "run/run.h"

typedef struct walk {
    run r;
    const anytime_ops *ops;
    int64_t epoch; /* steps that see every block once */
    bool absorbing;
    int64_t from;    /* the step at which that began */
    bool again;      /* it is to begin again, at another L */
    bool exact;      /* `value` is that of all rows */
    bool behind;     /* q is still to be made of what was absorbed */
    double rho_turn; /* rho where hyperparameters began to stay */
    gauss q;
    ascent up;
    double *V;                 /* M x M: covariance of q, or L */
    double *start_S, *start_b; /* statistics that stand for blocks not seen yet; NULL: none */
    bool prepared;
} walk;

/* From the hyperparameters in h; leaves the final ones there, and the posterior. */
anygp_status walk_run(const model_ops *model, void *state, const problem *p, hyper *h, const train_options *o,
                      anygp_status stopped, train_result *result, posterior **out, anygp_error *e);

/* ------------------------------------------------------------------------------- [walk_steps.c] */

double walk_rho(const walk *w, int64_t t);
/* Whether to absorb; sets the start. */
anygp_status walk_begin(walk *w, anygp_error *e);
/* Tries a step; one that breaks down is to be taken back. */
anygp_status walk_step(walk *w, anygp_error *e);
void walk_take_back(walk *w);
/* That of q or, before an epoch of learning is done, that of the rows seen so far: a few blocks' statistics times P / S would
   claim a certainty that is not there and fit their noise, and where blocks are parts of space they know nothing of the rest. */
anygp_status walk_posterior(walk *w, posterior **out, anygp_error *e);
/* L at the hyperparameters so far, and q's factor and mean. */
anygp_status walk_ready(walk *w, bool grow, anygp_error *e);

#endif
