/* The state of an anytime run, shared by anytime.c (the run: reports, checkpoints) and anytime_step.c (its steps). */
#ifndef INFER_WALK_H
#define INFER_WALK_H

#include "model/adam.h"
#include "infer/anytime.h"
#include "infer/natural.h"

typedef struct walk {
    const model_ops *model;
    const anytime_ops *ops;
    void *state;
    const problem *p;
    hyper *h;
    const train_options *o;
    int64_t P, S, steps;
    int64_t epoch; /* steps that see every block once */
    int64_t t;     /* steps done */
    bool absorbing;
    int64_t from;    /* the step at which that began */
    bool again;      /* it is to begin again, at another L */
    bool exact;      /* `value` is that of all rows */
    bool behind;     /* q is still to be made of what was absorbed */
    int64_t turned;  /* the step from which hyperparameters stay; -1: not yet */
    double rho_turn; /* rho there */
    int64_t failures;
    int64_t *which;
    gaussian_q q;
    adam adam;
    double *u, *gu, *gp, *before; /* free parameters, their gradient, natural gradient, u before the step */
    double *V;                    /* M x M: covariance of q, or L */
    double *start_S, *start_b;    /* statistics that stand for blocks not seen yet; NULL: none */
    double jitter, value;         /* the running estimate of the bound; NaN: none yet */
    int64_t valued;               /* values it rests on */
    bool prepared;
    double paused;  /* seconds that do not count */
    double longest; /* seconds of a step */
    double saved;   /* by the clock */
    train_scores scores;
    int64_t next_record;
    anygp_status status;
} walk;

bool walk_learns(const walk *w);
double walk_rho(const walk *w, int64_t t);
/* Whether to absorb; sets the start. */
anygp_status walk_begin(walk *w, anygp_error *e);
anygp_status walk_step(walk *w, anygp_error *e);
/* That of q, or before an epoch of learning is done that of the rows seen so far: a few blocks' statistics times P / S would
   claim a certainty that is not there and fit their noise, and where blocks are parts of space know nothing of the rest. */
anygp_status walk_posterior(walk *w, posterior **out, anygp_error *e);
/* L at the hyperparameters so far, and q's factor and mean. */
anygp_status walk_ready(walk *w, bool grow, anygp_error *e);

#endif
