/* What svgp, solve, odvgp and ivsgpr have between steps: q and what it rests on (chain.h), Adam's moments of everything else.
   svgp_models.c opens and closes it and has the tables, svgp_step.c moves it, svgp_grow.c adds inducing inputs, svgp_pack.c is its
   checkpoint. */
#ifndef MODEL_VARIATIONAL_SVGP_STATE_H
#define MODEL_VARIATIONAL_SVGP_STATE_H

#include "model/variational/chain.h"
#include "params/ascent.h"

typedef struct svgp_state {
    chain s;
    const problem *problem;
    driver *driver;
    double *stat;
    double jitter;
    double rows;           /* weight of the rows that the noise is known from */
    bool prepared;         /* L is that of h */
    ascent up;             /* of the hyperparameters */
    bool transported;      /* ivsgpr */
    double *old_L, *old_Z; /* ivsgpr: before the step, the widths behind the places; else NULL */
    adam adam_a;           /* odvgp: of a */
    double *ga;
    double *kept;  /* q before the step */
    bool in_float; /* rows are, from the next pass on */
    rounding rounding;
    char remark[200];
    int64_t approved; /* looks at the bound after a step, the last in a row, that found it no lower */
} svgp_state;

/* L at h: with the jitter so far, or where that does not suffice with more. */
anygp_status svgp_state_prepare(svgp_state *q, const hyper *h, anygp_error *e);

/* Without a driver: that is the caller's. */
anygp_status svgp_state_open(const problem *p, const hyper *h, const chain_kind *kind, svgp_state **out,
                             anygp_error *e);
void svgp_close(void *state); /* accepts NULL */

/* Room for sums and for what a step keeps, for as many inducing inputs as h has. */
anygp_status svgp_state_allocate(svgp_state *q, const hyper *h, anygp_error *e);
/* 001, algorithm 1, line 4: after step t = 0, 1, ... there are problem.grow (t + 1) inducing inputs, those that are new at rows of its
   sample, until all are there.  The process stays what it is.  [svgp_grow.c] */
anygp_status svgp_grow(svgp_state *q, hyper *h, const step_context *c, anygp_error *e);

/* The two halves of a step around the pass over its rows [svgp_step.c]: all that the pass needs; and, from its sums, which are at
   q->stat, the step itself.  *value: the bound before it. */
anygp_status svgp_before_rows(svgp_state *q, const hyper *h, const step_context *c, bool learn, anygp_error *e);
anygp_status svgp_after_rows(svgp_state *q, hyper *h, const step_context *c, bool learn, double *value, anygp_error *e);

/* [svgp_precision.c]  Whether rows can be in float at all, decided once; the rounded copies for a pass; the error of the bound on a
   sample of blocks, after which rows are in double where it is too large; and at the end, where nothing changes any more. */
void svgp_precision_begin(svgp_state *q);
anygp_status svgp_precision_prepare(svgp_state *q, anygp_error *e);
anygp_status svgp_precision_check(svgp_state *q, const hyper *h, const step_context *c, anygp_error *e);
anygp_status svgp_precision_end(svgp_state *q, anygp_error *e);
rounding svgp_rounding(const void *state);
const char *svgp_remark(const void *state);

/* step_ops. */
anygp_status svgp_begin(void *state, hyper *h, double jitter, anygp_error *e);
anygp_status svgp_step(void *state, hyper *h, const step_context *c, double *value, anygp_error *e);
anygp_status svgp_bound(void *state, const hyper *h, double *value, anygp_error *e);
anygp_status svgp_save(void *state, checkpoint *to, anygp_error *e);
bool svgp_restore(void *state, hyper *h, const checkpoint *from);

#endif
