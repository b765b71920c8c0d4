/* Starting points from the data. */
#ifndef RUN_START_H
#define RUN_START_H

#include "run/train.h"

/* Improves the free parameters of h that the user did not give, until stop(ctx) says it is enough. */
anygp_status start_from_data(const problem *p, hyper *h, const train_options *o, bool (*stop)(void *ctx), void *ctx,
                             anygp_error *e);

/* A short climb of the exact evidence of p->rows from h, which moves to the best point; *best: log evidence + log prior there. */
anygp_status start_climb_exact(const problem *p, hyper *h, const train_options *o, int64_t iterations, double *best,
                               anygp_status *stopped, anygp_error *e);

/* A short exact run on some hundred rows: close to the optimum at a fraction of the cost.  *stopped: TIME_LIMIT or INTERRUPTED.
   *cubic: seconds per evaluation, divided by the cube of its rows. */
anygp_status start_warm_up(const problem *p, hyper *h, const train_options *o, anygp_status *stopped, double *cubic,
                           anygp_error *e);
/* A further one on so many rows, at random, for a model that looks at all of them only a few times. */
anygp_status start_warm_more(const problem *p, hyper *h, const train_options *o, int64_t rows, anygp_status *stopped,
                             anygp_error *e);

/* For a model that keeps the hyperparameters it starts with: rows that are close together may say too much of a small scale (nearly equal rows
   that were measured once say that there is no noise), and rows at random too little.  So both have a warm-up, and the leave-one-out score of
   the nearest of many rows decides. */
anygp_status start_to_keep(const problem *p, hyper *h, const train_options *o, anygp_status *stopped, double *cubic,
                           anygp_error *e);

/* For a model of neighbours: a short run of its own on some of the rows with few neighbours, where there are many more. */
anygp_status start_near(const model_ops *model, const problem *p, hyper *h, const train_options *o,
                        anygp_status *stopped, anygp_error *e);

/* Random move of the free parameters for restart k > 0, a function of (seed, k). */
void start_perturb(hyper *h, uint64_t seed, int64_t restart);

/* At most `size` of the rows, at random. */
anygp_status start_subset(const problem *p, int64_t size, merged *out, anygp_error *e);

/* At most `size` of the rows, some at random and some close together; unit[D]: units of the columns, NULL: 1. */
anygp_status start_rows(const problem *p, int64_t size, const double *unit, merged *out, anygp_error *e);

/* What the inducing inputs of h leave of the prior variance, on average over some rows: *left, and as a share of it. */
anygp_status start_left_by_inducing(const problem *p, const hyper *h, double *left, double *share, anygp_error *e);

/* Raises a noise that is learned to what the inducing inputs leave: that is where the climb of a lower bound begins. */
void start_noise_of_inducing(hyper *h, double left);

#endif
