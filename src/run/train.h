/* Learning: from a model's objective to hyperparameters and a posterior.
   Starting points come from the data.  Batch: L-BFGS climbs log objective + log prior, restarts can only improve on the
   first run, and whatever stops it (convergence, --iters, --time, the caller) the best point seen is kept.  Anytime: see
   walk.h.  Over several ranks, rank 0 decides what depends on a clock or on the caller, and the others follow. */
#ifndef RUN_TRAIN_H
#define RUN_TRAIN_H

#include "params/checkpoint.h"
#include "model/model.h"

typedef enum train_stage { TRAIN_SCAN, TRAIN_WARM_UP, TRAIN_MAIN } train_stage;

/* On rows held out, or leave-one-out; model units.  NaN: not known. */
typedef struct train_scores {
    double rmse, mnlp, mell; /* predict/scores.h */
    double coverage;         /* of 95 % intervals, a share */
} train_scores;

static inline train_scores train_scores_none(void) { return (train_scores){NAN, NAN, NAN, NAN}; }

typedef struct train_step { /* one row of the trace */
    train_stage stage;
    int64_t iteration, evaluations, restart;
    int64_t most; /* iterations of the run; 0: as the caller said */
    double seconds;
    double objective; /* without the prior */
    train_scores scores;
    bool record; /* worth a row of the trace; else only a sign of life */
} train_step;

/* What an anytime run is told; NaN: the default. */
typedef struct anytime_options {
    bool on;
    bool learn;     /* hyperparameters as well; else they stay */
    bool plain;     /* plain instead of natural gradients */
    bool replace;   /* independent draws */
    int64_t sample; /* blocks per step; 0: as the model's objective would have it */
    int64_t steps;  /* 0: a few epochs */
    double rho, tau, kappa;
    double step; /* Adam's */
} anytime_options;

typedef struct train_options {
    int64_t iterations, restarts;
    bool iterations_given;                            /* by the user */
    bool traced;                                      /* someone reads one value of the objective after the other */
    double jitter;                                    /* relative, to start with */
    double time_limit;                                /* seconds from `began`; infinite: none */
    double began;                                     /* clock_seconds() when the work began */
    stop_watch *stop;                                 /* asked inside long work; NULL: nobody is */
    bool started;                                     /* the values in h are a good start: none is looked for */
    bool start_only;                                  /* batch: only a start is looked for, and is the result */
    int (*report)(void *ctx, const train_step *step); /* may be NULL; nonzero: stop */
    void (*tell)(void *ctx, anygp_log_level level, const char *sentence); /* may be NULL */
    /* May be NULL: scores of a posterior on rows held out, model units.  Its time does not count. */
    anygp_status (*score)(void *ctx, const posterior *p, train_scores *out, anygp_error *e);
    /* Every so many seconds (infinite: never), on rank 0: the state of the run and, if that returned true, the posteriors so far, one per
       target (they stay the run's).  The callee reports what cannot be written: it is no reason to end a run. */
    double save_every;
    bool (*save)(void *ctx, checkpoint *c, const hyper *h); /* false: only changes were saved, or nothing could be */
    void (*save_model)(void *ctx, const checkpoint *c, const hyper *h, double objective, double jitter,
                       posterior *const *so_far);
    const checkpoint *resume; /* NULL: from the start */
    void *ctx;
    anytime_options anytime;
} train_options;

/* How the inducing inputs were chosen. */
typedef struct inducing_start {
    const char *how; /* NULL: they were not */
    double left;     /* what they leave of the prior variance on average, */
    double share;    /* as a share; NaN: not looked at */
    double other;    /* of the other choice, where the better of two was taken; else NaN */
} inducing_start;

typedef struct train_result {
    anygp_status status; /* OK, TIME_LIMIT or INTERRUPTED */
    double objective, log_prior, rows, jitter;
    evidence_bounds *bounds; /* targets of them */
    inducing_start places;
    bool exact; /* the objective is that of all rows, not a running estimate */
    int64_t iterations, evaluations;
    rounding rounding;
    leave_one_out loo; /* its own copies; n = 0 where the model has none */
} train_result;

/* h: starting values in, learned values out; out[targets]. */
anygp_status train(const model_ops *model, const problem *p, hyper *h, const train_options *o, train_result *r,
                   posterior **out, anygp_error *e);
void train_result_clear(train_result *r);

/* Rank 0's values of these flags or numbers count on every rank. */
anygp_status train_agree(const problem *p, int *flags, anygp_error *e);
deadline train_deadline(const train_options *o);
/* A message to the caller, from rank 0. */
void train_tell(const problem *p, const train_options *o, anygp_log_level level, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
anygp_status train_share(const problem *p, int64_t n, double *x, anygp_error *e);

#endif
