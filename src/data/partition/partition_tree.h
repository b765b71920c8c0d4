/* What the files of partition.h share: the router is a forest, kept as the array of numbers that goes into the model
   file.  With `top` trees and `splits` inner nodes there are top + splits blocks, and the rows are

       0                      kind, top, D
       1 + i                  the root of tree i < top, block i
       1 + top + 2 s, ... + 1 the left and the right part of split s: the left keeps the block, the right is top + s

   A node's columns are the row of its left part (0: a leaf), its block, and then
       kmeans, means          its centre[D]; the part of a row x is the one with the nearer centre, the left on ties
       kdtree                 j and v of the split: x_j <= v goes left; one tree only
   Parts come after what was split, so descending ends. */
#ifndef DATA_PARTITION_PARTITION_TREE_H
#define DATA_PARTITION_PARTITION_TREE_H

#include <stdbool.h>

#include "data/partition/partition.h"

enum { HEAD_KIND, HEAD_TOP, HEAD_INPUTS };                     /* columns of row 0 */
enum { NODE_PART, NODE_BLOCK, NODE_CELLS };                    /* of the others */
enum { NODE_COLUMN = NODE_CELLS, NODE_VALUE, KDTREE_COLUMNS }; /* of a kdtree */

struct router {
    router_kind kind;
    int64_t D, top, splits;
    int64_t cols, capacity; /* of values, which has room for `capacity` rows */
    double *values;
    double *centres; /* [top, D]: those of the roots, together; NULL for a kdtree */
};

router *router_new(router_kind kind, int64_t D, int64_t top); /* roots without cells; NULL: out of memory */
int64_t router_columns(router_kind kind, int64_t D);
int64_t router_rows(const router *r);
double *router_node(const router *r, int64_t row);
bool router_reserve(router *r, int64_t rows);
anygp_status router_check_sample(int64_t n, int64_t D, int64_t ldx, int64_t P, anygp_error *e);
void router_gather_centres(router *r); /* from the roots */

/* Splits a leaf into two with empty cells; returns the row of the left part, or 0: out of memory. */
int64_t router_add_split(router *r, int64_t row);
int64_t router_leaf(const router *r, int64_t block); /* the row of a block's leaf */

/* The part of a node that x[D] belongs to.  Making a split and routing both ask here, so they agree to the bit. */
int64_t router_part(const router *r, int64_t row, const double *x);

#endif
