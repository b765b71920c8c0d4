/* One run: a learner improves a model step after step.  The loop alone knows the clock, the ranks, the trace, the scores of rows
   held out, checkpoints, retries and what ends a run; the learner defines what a step is:
       climb      [climb.c]     L-BFGS on the objective over all rows, with restarts
       walk       [walk.c]      stochastic natural gradients on an explicit q(v), the anytime variants
       stepwise   [stepwise.c]  the model's own steps
       sampled    [sampled.c]   Adam on samples of an objective that is a sum over blocks
   A learner's state begins with a `run`, so its functions are given that and know the rest.  After every step there is a valid
   model.  Over several ranks, rank 0 decides what depends on a clock or on the caller, and the others follow. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "run/train.h"

typedef struct run run;

typedef struct learner {
    const char *name; /* in checkpoints */
    double learning;  /* the share of the run after which hyperparameters stay */
    bool scored;      /* posteriors on the way are cheap enough for scores in the trace */

    anygp_status (*begin)(run *r, anygp_error *e); /* before the first step, and after restore; NULL: nothing to do */
    /* One step, or r->done: there was none left to take.  ANYGP_ERR_NUMERIC: it broke down; attempt counts the tries. */
    anygp_status (*step)(run *r, int attempt, anygp_error *e);
    void (*take_back)(run *r);                       /* NULL: a step that breaks down has moved nothing */
    void (*turn)(run *r);                            /* from now on hyperparameters stay; NULL: nothing to do */
    void (*describe)(const run *r, train_step *now); /* what the trace has beyond t, value and scores; NULL: nothing */
    /* The posteriors of the run so far, out[targets], and their jitter; the run goes on.  They may stay NULL: it has none on the
       way. */
    anygp_status (*posteriors)(run *r, double *jitter, posterior **out, anygp_error *e);
    anygp_status (*save)(run *r, checkpoint *to, anygp_error *e);
    bool (*restore)(run *r, const checkpoint *from, anygp_error *e); /* false: e, or else: it is from another run */
} learner;

struct run {
    const learner *learner;
    const model_ops *model;
    void *state; /* the model's */
    const problem *p;
    hyper *h;
    const train_options *o;
    int64_t targets;
    train_stage stage;

    /* steps over samples of the blocks */
    int64_t P, S, *which; /* blocks: all, in a step, those */
    int64_t steps;        /* 0: as many as the learner has */
    bool learns;          /* hyperparameters move */
    double share;         /* of the run that is done, by steps or by the clock of rank 0 */
    int64_t turned;       /* the step from which hyperparameters stay; -1: not yet */

    int64_t t; /* steps done */
    bool done;
    bool saves;        /* checkpoints are wanted, and there is something to go on from */
    int retries;       /* of a step that breaks down, each after take_back */
    int failures_most; /* steps in a row that could not be taken and were left out; the first one must be */
    int failures;
    double value;   /* the objective, or a running estimate of it; NaN: none yet */
    int64_t valued; /* values the estimate rests on */
    double jitter;  /* relative */
    bool scored;    /* someone, on rank 0, wants scores on the way */
    train_scores scores;
    int64_t next_record;
    double longest, paused, saved, asked; /* seconds: a piece of work, what does not count; when, by the clock */
    double renewal;                       /* seconds that model_ops.renew takes, or fewer */
    double *made;                         /* h->free: where the model made what it takes as given; NULL: not kept */
    anygp_status status;                  /* OK, or what ends the run */
};

/* What all runs begin with; `stopped`: what ended the search for a start. */
void run_init(run *r, const learner *l, const model_ops *model, void *state, const problem *p, hyper *h,
              const train_options *o, anygp_status stopped);
anygp_status run_sample_init(run *r, anygp_error *e); /* P, S, which */
/* Blocks of a step, of the P there are, where nobody says: about 2000 rows, and at least a hundredth of all. */
int64_t run_default_sample(const run *r);
void run_clear(run *r);

anygp_status run_go(run *r, anygp_error *e);
/* r's part of the result. */
void run_keep(const run *r, train_result *result);
void run_keep_loo(leave_one_out *to, const leave_one_out *from); /* makes room for it */

/* ------------------------------------------------------------------------------------ for learners */

static inline bool run_sees_all(const run *r) { return r->S == r->P; }
double run_elapsed(const run *r); /* wall seconds, as the time limit counts them */
/* A piece of work that the time limit must leave room for once more: an evaluation, a step. */
void run_worked(run *r, double began, double paused);
bool run_is_late(const run *r);
/* Whether a last pass over all blocks, of so many seconds, fits the time and takes no longer than the steps did; on every rank. */
anygp_status run_affords_pass(run *r, double seconds, int *affordable, anygp_error *e);
/* model_ops.renew, where the model has it and there is time for it and for as much again: *renewed. */
#define RENEW_MOVED 0.1 /* at the end of a climb, or between steps */
anygp_status run_renew(run *r, double moved, bool *renewed, anygp_error *e);
/* made: here and now; into a checkpoint; and from there, with what the model takes as given made again. */
anygp_status run_made_here(run *r, anygp_error *e);
void run_made_save(const run *r, checkpoint *to);
bool run_made_restore(run *r, const checkpoint *from, anygp_error *e); /* false: e, or else: it is from another run */
/* Leave-one-out of a posterior, in a tenth of the time limit beyond it; without time for it there is none, and a note. */
anygp_status run_leave_out(run *r, const posterior *from, leave_one_out *out, anygp_error *e);
void run_remark(const run *r); /* what the model has to say, as a warning; of how it was solved, as a note */
/* A running mean that first forgets the start, with the cube of the number of values, and then has a fixed memory. */
void run_smooth(run *r, double value);
/* Tells the caller where the run is; true: it should stop.  On rank 0. */
bool run_report(run *r, bool record);

#endif
