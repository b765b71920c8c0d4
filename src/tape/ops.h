/* What the files of this folder share: the inside of a tape, and how an operation is recorded. */
#ifndef TAPE_OPS_H
#define TAPE_OPS_H

#include "base/memory.h"
#include "tape/tape.h"

struct tape {
    arena *memory;
    node *newest;
    double relative, jitter; /* asked for; the largest since the reset */
    bool grow;
    anygp_error failure;
    node dead; /* what calls return after a failure */
    double dead_value;
};

/* A recorded node with room for its value.  If the operands do not `fit`, or the tape has failed, the dead node. */
node *tape_begin(tape *t, const tape_op *op, bool fit, int64_t rows, int64_t cols, int n_inputs, node *const *inputs);
/* Runs its forward function, unless the tape has failed. */
node *tape_finish(tape *t, node *n);

typedef struct tape_op_list {
    const tape_op *ops;
    int count;
} tape_op_list;

extern const tape_op_list tape_ops_element, tape_ops_blas, tape_ops_factor, tape_ops_reduce;

static inline int64_t node_size(const node *n) { return n->rows * n->cols; }
static inline bool node_is_scalar(const node *n) { return n->rows == 1 && n->cols == 1; }
static inline bool same_shape(const node *a, const node *b) { return a->rows == b->rows && a->cols == b->cols; }

/* lower(D) += alpha lower(S), n x n */
void add_lower(int64_t n, double alpha, const double *S, double *D);

#endif
