/* Starting points from the data: a scan of length-scales and noise, then of periods, on a few hundred rows. */
#ifndef INFER_START_H
#define INFER_START_H

#include "model/model.h"

/* Improves the free parameters of h that the user did not give, until stop(ctx) says it is enough. */
anygp_status start_from_data(const problem *p, hyper *h, bool (*stop)(void *ctx), void *ctx, anygp_error *e);

/* Random move of the free parameters for restart k > 0: u += N(0, 1), a function of (seed, k). */
void start_perturb(hyper *h, uint64_t seed, int64_t restart);

/* At most `size` of the rows, at random. */
anygp_status start_subset(const problem *p, int64_t size, merged *out, anygp_error *e);

/* What the inducing inputs of h leave of the prior variance, on average over some rows: *left, and as a share of it. */
anygp_status start_left_by_inducing(const problem *p, const hyper *h, double *left, double *share, anygp_error *e);

/* Raises a noise that is learned to what the inducing inputs leave: of a lower bound that is where the climb begins. */
void start_noise_of_inducing(hyper *h, double left);

#endif
