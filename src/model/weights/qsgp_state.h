/* A run of qsgp: its parameters, what a step works on, and what steps remember.  qsgp_steps.c moves it, qsgp_pack.c is its checkpoint,
   qsgp_model.c opens it and has the table. */
#ifndef MODEL_WEIGHTS_QSGP_STATE_H
#define MODEL_WEIGHTS_QSGP_STATE_H

#include "model/weights/qsgp.h"
#include "params/ascent.h"

/* qsrvm: what function r is told in its turn, for one latent. */
typedef struct qsrvm_look {
    double b, h;      /* b before the step; h over all rows, as far as is known, */
    double curve;     /* and at the rows of the step, times their scale */
    double rho, edge; /* edge: e */
} qsrvm_look;

typedef struct qsrvm_turns {
    double *b;           /* m x C */
    int64_t cells;       /* that have their turn in this step: */
    int64_t *cell;       /* these; room for as many again */
    uint8_t *both;       /* cells.count threes: of i and j at once */
    double *tile;        /* rows x width: a cell, */
    double *squares;     /* width x C: and its squares */
    int64_t count, room; /* functions that are in, */
    int64_t *at;         /* count: which, */
    double *T;           /* rows x count: at the rows of the step */
    qsrvm_look *look;    /* (count + 1) x C */
    int64_t rows;        /* that there is room for */
    int64_t *solved;     /* count: of those that are in, the ones that are solved for together, */
    double *U, *G;       /* and room for that */
    int64_t U_room, G_room;
} qsrvm_turns;

typedef struct qsgp_state {
    qsgp q;
    qsgp_kind kind;
    const problem *problem;
    qsgp_sample sample;
    qsgp_pass pass;
    kernel *first;         /* as it was before the first step: control rows keep its basis functions */
    ascent up;             /* of the hyperparameters */
    changes cells, blocks; /* that have changed since a checkpoint: of arrays over functions; of alpha */
    double *looked; /* cells.count: `seen` when the last one was made, which has grown for every cell that moved */
    double *alpha;  /* by blocks: coefficients of rows, C of each, block after block; else NULL */
    double *step;   /* m x C: where mu goes */
    double *damping, *gain; /* C each: of the rows' square; what a step would gain */
    double *block;          /* and room for their square */
    int64_t block_room;
    bool stale;   /* mu is not Phi'alpha: the kernel has moved */
    double *sum;  /* adagrad: m x V sums of squared gradients; else NULL */
    double *eta;  /* C step sizes */
    double relax; /* of steps by blocks */
    double size;  /* k(x, x) on average, */
    double top;   /* and the largest eigenvalue of the kernel's matrix over its number of rows */
    double prior; /* the largest eigenvalue of S */
    double curve; /* the largest curvature of a row so far, where noise is not Gaussian */
    qsrvm_turns turns;
} qsgp_state;

extern const step_ops qsgp_steps;

/* ----------------------------------------------------------------------------------- [qsgp_block.c] */

/* Whether mu moves by blocks of rows: with one latent function per target, where a step has all basis functions. */
bool qsgp_by_blocks(const qsgp_state *q);
bool qsgp_block_fits(const qsgp_state *q); /* for the rows of this step */
/* In the pass: R of mu becomes the change of the rows' coefficients, after which mu += Phi'R. */
anygp_status qsgp_block_turn(qsgp_pass *p, void *ctx, anygp_error *e);
/* After the pass: alpha and mu move. */
void qsgp_block_finish(qsgp_state *q);
/* mu = Phi'alpha, after the kernel has moved. */
anygp_status qsgp_block_renew(qsgp_state *q, const hyper *h, anygp_error *e);

/* ---------------------------------------------------------------------------------- [qsgp_newton.c] */

int64_t qsgp_newton_doubles(int64_t n);
/* The rows of the pass, target t, where noise is not Gaussian: delta[n] of their coefficients alpha, from K[n,n], the kernel's matrix there, and
   delta'(f - f_b).  B[n,n] and room[qsgp_newton_doubles(n)] are room. */
anygp_status qsgp_newton_solve(qsgp_pass *p, int64_t t, const double *alpha, const double *K, double *B, double *room,
                               double *delta, double *gain, anygp_error *e);

/* ---------------------------------------------------------------------------------------- [qsrvm.c] */

anygp_status qsrvm_open(qsgp_state *q, anygp_error *e);
void qsrvm_close(qsgp_state *q); /* accepts a half-built one */
/* The sample are the cells with functions that are in; those drawn for the step have their turn with them. */
anygp_status qsrvm_sample_cells(qsgp_state *q, uint64_t seed, uint64_t t, anygp_error *e);
/* After a pass over the sample. */
anygp_status qsrvm_take_turns(qsgp_state *q, const step_context *c, anygp_error *e);

/* Other steps: s at the start, and of a cell whose weights have moved, `share` of the run being done. */
void qsrvm_start(qsgp_state *q, const kernel *k);
void qsrvm_move_precisions(qsgp *q, const cells_hand *hand, int64_t slot, double share);

/* ------------------------------------------------------------------------------------ [qsgp_pack.c] */

anygp_status qsgp_save(void *state, checkpoint *to, anygp_error *e);
bool qsgp_restore(void *state, hyper *h, const checkpoint *from);

#endif
