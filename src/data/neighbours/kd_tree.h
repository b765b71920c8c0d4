/* A kd-tree over rows that come in an order: the nearest rows, and the nearest among those that come earlier.

   Rows are numbered from 0 in their order.  Each node has the box around its rows and the lowest of their numbers, so that a search
   among the rows before i passes over nodes without any.  Distances are |x - z|^2, summed over the inputs in their order; of rows
   equally far away the lower number is nearer.  So the answer does not depend on the tree. */
#ifndef DATA_NEIGHBOURS_KD_TREE_H
#define DATA_NEIGHBOURS_KD_TREE_H

#include <stdint.h>

#include "base/error.h"

enum { KD_LEAF = 16 }; /* rows of a leaf at most */

typedef struct kd_tree {
    int64_t n, D;
    int64_t
        leaves; /* a power of two: node 1 is the root, 2 i and 2 i + 1 are the children of i, leaf l is node leaves + l */
    int64_t *start;  /* leaves + 1: rows of a leaf among X and row */
    double *X;       /* n x D, row-major: the rows, leaf after leaf, within a leaf in their order */
    int64_t *row;    /* n: their numbers */
    double *box;     /* 2 D for each node: lowest, then highest */
    int64_t *lowest; /* for each node: the lowest number; n where it has no rows */
} kd_tree;

/* X[n,D] row-major, copied; n below 2^31. */
anygp_status kd_tree_open(int64_t n, int64_t D, const double *X, kd_tree *t, anygp_error *e);
void kd_tree_clear(kd_tree *t); /* accepts a half-built one */

/* |x - z|^2, for the nearest point z of the box of a node. */
double kd_box_distance(const kd_tree *t, int64_t node, const double *x);

/* The k rows nearest to x among those numbered below `before`, nearest first, and their distances; returns how many there are. */
int64_t kd_tree_nearest(const kd_tree *t, const double *x, int64_t before, int64_t k, int32_t *rows, double *distance);
/* The same among all rows z of one direction: z_d >= x_d where bit d of `way` is set, z_d < x_d where it is not. */
int64_t kd_tree_nearest_towards(const kd_tree *t, const double *x, unsigned way, int64_t k, int32_t *rows,
                                double *distance);

#endif
