/* What svgp, solve, odvgp and ivsgpr have between steps: q and what it rests on (svgp.h), Adam's moments of everything else.
   svgp_models.c opens and closes it and has the tables, svgp_step.c moves it, svgp_pack.c is its checkpoint. */
#ifndef MODEL_SVGP_STATE_H
#define MODEL_SVGP_STATE_H

#include "model/svgp.h"

typedef struct svgp_state {
    svgp s;
    const problem *problem;
    driver *driver;
    double *stat;
    double jitter;
    bool prepared; /* L is that of h */
    adam adam;     /* of u, the free hyperparameters */
    double *u, *gu, *before, *gp;
    double *old_L, *old_Z; /* ivsgpr: before the step, the widths behind the places; else NULL */
    adam adam_a;           /* odvgp: of a */
    double *ga;
    double *kept;     /* q before the step */
    int64_t approved; /* looks at the bound after a step, the last in a row, that found it no lower */
    double *numbers;  /* of a checkpoint: Adam's t, jitter, approved */
} svgp_state;

/* Entries of `numbers`. */
enum { SVGP_NUMBER_ADAM, SVGP_NUMBER_ADAM_A, SVGP_NUMBER_JITTER, SVGP_NUMBER_APPROVED, SVGP_NUMBERS };

/* L at h: with the jitter so far, or where that does not suffice with more. */
anygp_status svgp_state_prepare(svgp_state *q, const hyper *h, anygp_error *e);

/* step_ops. */
anygp_status svgp_begin(void *state, hyper *h, double jitter, anygp_error *e);
anygp_status svgp_step(void *state, hyper *h, const step_context *c, double *value, anygp_error *e);
anygp_status svgp_bound(void *state, const hyper *h, double *value, anygp_error *e);
anygp_status svgp_save(void *state, state_writer put, void *ctx, anygp_error *e);
bool svgp_restore(void *state, hyper *h, state_reader get, const void *ctx);

#endif
