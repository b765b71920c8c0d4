/* Learning: from a model's objective to hyperparameters and a posterior.
   Starting points come from the data, L-BFGS climbs log objective + log prior, restarts can only improve on the
   first run, and whatever stops it (convergence, --iters, --time, the caller) the best point seen is kept. */
#ifndef INFER_TRAIN_H
#define INFER_TRAIN_H

#include "model/model.h"

typedef enum train_stage { TRAIN_SCAN, TRAIN_WARM_UP, TRAIN_MAIN } train_stage;

typedef struct train_step { /* one row of the trace */
    train_stage stage;
    int64_t iteration, evaluations, restart;
    double seconds;
    double objective;  /* without the prior */
    double rmse, mnlp; /* leave-one-out, model units; NaN where the model has none */
} train_step;

typedef struct train_options {
    int64_t iterations, restarts;
    double jitter;                                    /* relative, to start with */
    double time_limit;                                /* seconds from `began`; infinite: none */
    double began;                                     /* clock_seconds() when the work began */
    int (*report)(void *ctx, const train_step *step); /* may be NULL; nonzero: stop */
    void *ctx;
} train_options;

typedef struct train_result {
    anygp_status status; /* OK, TIME_LIMIT or INTERRUPTED */
    double objective, log_prior, rows, jitter;
    int64_t iterations, evaluations;
    leave_one_out loo; /* its own copies; n = 0 where the model has none */
} train_result;

/* h: starting values in, learned values out. */
anygp_status train(const model_ops *model, const problem *p, hyper *h, const train_options *o, train_result *r,
                   posterior **out, anygp_error *e);
void train_result_clear(train_result *r);

#endif
