/* What joint predictions of models conditioned on neighbours share (vecchia_joint.c, vnngp_joint.c): rows to predict in maximin order, each
   given the nearest training rows and the nearest of those to predict before it. */
#ifndef MODEL_LOCAL_VECCHIA_JOINT_H
#define MODEL_LOCAL_VECCHIA_JOINT_H

#include "model/local/vecchia_posterior.h"

typedef struct companions {
    int64_t n, k, *order; /* k: neighbours of each kind, */
    int64_t most;         /* training rows of a row in a gap */
    int32_t *rows, *count;
    near_rows near; /* among the rows to predict, in their order */
    int64_t q;      /* columns of R */
    double *room, *R, *C, *mean;
} companions;

anygp_status companions_find(const vecchia_posterior *p, int64_t n, const double *X, int64_t ldx, int64_t most,
                             companions *g, anygp_error *e);
/* R[n,q], C[n,n] and the means. */
anygp_status companions_reserve(companions *g, int64_t q, anygp_error *e);
void companions_clear(companions *g); /* accepts a half-built one */

/* Behind the training rows in c the rows to predict that place i of the order is given: they have no value of their own. */
void companions_add(const vecchia_posterior *p, const companions *g, int64_t i, const double *X, int64_t ldx,
                    conditional *c);
/* Row i of C and of R, and its mean, from those before it: weight[near.count[i]] are theirs, the rest of it has this mean, R_i = t[q] and
   this variance. */
void companions_follow(companions *g, int64_t i, const double *weight, double mean, const double *t, double variance);

#endif
