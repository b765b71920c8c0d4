/* A run of qsgp: its parameters, what a step works on, and what steps remember.  qsgp_steps.c moves it, qsgp_pack.c is its checkpoint,
   qsgp_model.c opens it and has the table. */
#ifndef MODEL_WEIGHTS_QSGP_STATE_H
#define MODEL_WEIGHTS_QSGP_STATE_H

#include "model/weights/qsgp.h"
#include "params/ascent.h"

typedef struct qsgp_state {
    qsgp q;
    qsgp_kind kind;
    const problem *problem;
    qsgp_sample sample;
    qsgp_pass pass;
    kernel *first; /* as it was before the first step: control rows keep its basis functions */
    ascent up;     /* of the hyperparameters */
    double *sum;   /* adagrad: m x V sums of squared gradients; else NULL */
    double *eta;   /* C step sizes */
    double size;   /* k(x, x) on average, */
    double top;    /* and the largest eigenvalue of the kernel's matrix over its number of rows */
    double curve;  /* the largest curvature of a row so far, where noise is not Gaussian */
} qsgp_state;

extern const step_ops qsgp_steps;

/* ------------------------------------------------------------------------------------ [qsgp_pack.c] */

anygp_status qsgp_save(void *state, checkpoint *to, anygp_error *e);
bool qsgp_restore(void *state, hyper *h, const checkpoint *from);

#endif
