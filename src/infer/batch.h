/* Batch learning: L-BFGS runs over a model's objective, with checkpoints between iterations. */
#ifndef INFER_BATCH_H
#define INFER_BATCH_H

#include "infer/lbfgs.h"
#include "infer/train.h"

/* What the optimiser's callbacks share.  `best` survives restarts. */
typedef struct batch {
    const model_ops *model;
    const problem *p;
    void *state;
    hyper *h;
    const train_options *o;
    lbfgs *optimiser;
    int64_t most;  /* iterations of the run of it that is under way */
    double *start; /* where the first run starts */
    double saved;  /* by the clock */
    bool quiet;    /* the warm-up does not report */
    int64_t restart;
    int64_t evaluations; /* of all runs */
    int64_t iterations;
    double jitter;   /* relative, fixed within a run */
    bool refused;    /* a Cholesky failed at this jitter */
    bool first;      /* the run's first evaluation may raise the jitter */
    double longest;  /* seconds an evaluation takes */
    double expected; /* seconds one would take, before the first was made; 0: not known */
    deadline pass;   /* of the pass over blocks under way [problem.pass] */
    double *gp;      /* hyper_size(h) */
    double best;     /* log objective + log prior */
    double *best_u;
    train_result *r;
    anygp_status status;
    anygp_error error; /* of a status that is a failure */
} batch;

/* r and quiet are set by the caller before. */
anygp_status batch_open(batch *q, const model_ops *model, const problem *p, hyper *h, const train_options *o,
                        anygp_error *e);
void batch_close(batch *q); /* accepts one that was not opened */

/* A run from the values in h, or with `resume` from the checkpoint. */
anygp_status batch_climb(batch *q, int64_t iterations, bool resume, anygp_error *e);
/* All runs, from q->start; h is then at the best point, and the result is filled in. */
anygp_status batch_learn(batch *q, anygp_error *e);

#endif
