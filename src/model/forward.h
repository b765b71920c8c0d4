/* A block model written forward: the first version of a new system, and later its slow reference.

   Its author gives three functions that compute values on a tape (tape/tape.h), as a paper has them:
       prepare   parameters to what all blocks share, such as L = chol(K_uu)
       stat      a block's statistic: one node, of the same shape for every block; the driver adds them up
       head      the objective, a scalar, from the sum, which it gets as one column
   and gets the objective and its gradient in all parameters, over all blocks or a sample, on any number of threads and ranks, from
   memory or from files (block_model.h).  README.md has a walk-through; forward_svgp.c and forward_sparse.c are examples.

   How the gradient comes about: prepare is recorded on a tape that stays; stat is recorded block by block on a thread's own tape,
   with the shared nodes as leaves; head on a third.  The reverse goes from head to the adjoint s of the sum, through every block
   from s to adjoints of the shared nodes (each block is recorded again: nothing is kept), and with their sum, and head's own
   share, through prepare.
   Cost: a gradient takes four to five times the forward pass, since each block multiplies M x M adjoints of what it shares, which
   a reverse written by hand can often do once in its head; for fitc with M = 200 1.4 to 1.9 times as long as by hand,
   more where the latter may keep products between its passes.  Memory: a block's intermediates for each thread. */
#ifndef MODEL_FORWARD_H
#define MODEL_FORWARD_H

#include "model/block_model.h"
#include "model/model.h"
#include "tape/tape.h"

/* Nodes by number.  Every model has the first three: parameters of the kernel and of the likelihood as columns of natural values,
   and inducing inputs Z[D,M], one in each column.  The model's own parameters follow in their order, then what prepare makes. */
enum { FORWARD_KERNEL, FORWARD_LIKE, FORWARD_Z, FORWARD_OWN, FORWARD_NODES = 32 };

/* What the three functions see. */
typedef struct forward_view {
    const void *model; /* constants of the model's own, such as a likelihood */
    const hyper *h;    /* with the kernel that tape_gram wants */
    const basis *mean; /* the prior mean h(x)'b, b ~ N(0, B I) */
    node *v[FORWARD_NODES];
} forward_view;

typedef struct forward_block {
    int64_t n;
    node *X;       /* D x n: one row of inputs in each column */
    node *y;       /* n x 1; Q x n where a row has Q > 1 numbers */
    node *w;       /* n x 1: weights */
    node *H;       /* p x n: sqrt(B) h(x), the rows that a prior mean adds to A */
    int64_t first; /* the number of the first row, unique among all rows: for random numbers */
} forward_block;

typedef struct forward_model {
    bool rows_alone; /* stat adds over rows, so that a block may be cut anywhere */
    int made;        /* nodes that prepare makes: g->v[FORWARD_OWN + own parameters] and the following */
    void (*prepare)(tape *t, forward_view *g);
    node *(*stat)(tape *t, const forward_view *g, const forward_block *b);
    node *(*head)(tape *t, const forward_view *g, node *sum);
} forward_model;

/* A parameter of the model's own.  Its values are read at every evaluation; they must not move in memory. */
typedef struct forward_param {
    int64_t rows, cols;
    const double *value;
} forward_param;

typedef struct forward forward;

/* model, p, own[count] and what they point to outlive it. */
anygp_status forward_open(const forward_model *m, const void *model, int count, const forward_param *own,
                          const problem *p, forward **out, anygp_error *e);
void forward_close(void *f); /* accepts NULL */

/* The objective at h and at the parameters' values, over the `count` blocks in `which`, their sum times `scale` (NULL: over all,
   scale 1), and unless g is NULL the gradient: hyper_size(h) natural parameters, then the model's own.  *jitter is that of the
   Cholesky factors in prepare only, relative, and grows only if allowed.  ANYGP_ERR_NUMERIC: not finite here.  ANYGP_TIME_LIMIT:
   problem.pass came before the last block. */
anygp_status forward_gradient(forward *f, const hyper *h, int64_t count, const int64_t *which, double scale, bool grow,
                              double *jitter, double *value, double *g, anygp_error *e);

/* evaluate, failure and rows of model_ops, for a model without parameters of its own whose state is the forward itself. */
bool forward_evaluate(void *f, const hyper *h, bool grow, double *jitter, double *value, double *gp);
const anygp_error *forward_failure(const void *f);
double forward_rows(const void *f);

#endif
