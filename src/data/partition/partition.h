/* Cutting the input space into blocks, and finding the block of a row afterwards (000, section 2: X_1 ... X_P).
   A router is made from a sample of the rows, then routes any row:
       kmeans   to the nearest centre, and where that block was split, to the nearest of its subcentres
       kdtree   by descending the tree, which may also be made cut by cut
       means    to the nearest mean of the members: random partitions, and those that are given
   A block that turns out too large is split, so that no block exceeds the cap: the cost of pitc and pic is a cube of it. */
#ifndef DATA_PARTITION_PARTITION_H
#define DATA_PARTITION_PARTITION_H

#include <stdint.h>

#include "base/deadline.h"
#include "base/error.h"

typedef enum router_kind { ROUTER_KMEANS, ROUTER_KDTREE, ROUTER_MEANS } router_kind;
typedef struct router router;

/* About P blocks from the sample X[n,D] (row-major, stride ldx); fewer where there are fewer different rows.  until: when k-means has to
   end, with the centres it has; NULL: any time. */
anygp_status router_kmeans(int64_t n, int64_t D, const double *X, int64_t ldx, int64_t P, uint64_t seed,
                           const deadline *until, router **out, anygp_error *e);
anygp_status router_kdtree(int64_t n, int64_t D, const double *X, int64_t ldx, int64_t P, router **out, anygp_error *e);
/* means[P,D] row-major, copied; without inputs all rows are of block 0. */
anygp_status router_means(int64_t P, int64_t D, const double *means, router **out, anygp_error *e);
anygp_status router_copy(const router *r, router **out, anygp_error *e);
void router_free(router *r); /* accepts NULL */

router_kind router_kind_of(const router *r);
int64_t router_blocks(const router *r); /* ids are 0 .. router_blocks - 1 */
int64_t router_inputs(const router *r);

/* block[n]: the block of each row. */
anygp_status router_route(const router *r, int64_t n, const double *X, int64_t ldx, int64_t *block, anygp_error *e);

/* Splits block `id` so that none of its rows X[n,D] are in a part of more than `cap`: the first part keeps the id, the others
   get new ones at the end.  block[n] gets the ids.  If too many rows are equal, the split is by position in the list and
   routing finds the first of the parts. */
anygp_status router_split(router *r, int64_t id, int64_t cap, int64_t n, const double *X, int64_t ldx, int64_t *block,
                          anygp_error *e);

/* A tree of one block for all rows, and the cut of a block that is not split: x_column <= value keeps its id, the others get a new one
   at the end. */
anygp_status router_whole(int64_t D, router **out, anygp_error *e);
anygp_status router_cut(router *r, int64_t id, int64_t column, double value, anygp_error *e);

/* The v for which the number of t[n] <= v is as near to `target` as equal numbers allow, halfway to the next one.
   Neither side is empty where t has two different numbers, as it must.  Reorders t.  O(n). */
double cut_between(int64_t n, double *t, int64_t target);

/* Places on the borders between cells of a kd-tree over at most three inputs, within the box from low[D] to high[D]: `each` along every
   input that the border extends in [partition_borders.c]. */
typedef struct border_points {
    int64_t count, room;
    double *X;    /* count x D */
    double *side; /* 2 x count: the two cells */
} border_points;
anygp_status router_borders(const router *r, const double *low, const double *high, int64_t each, border_points *out,
                            anygp_error *e);
void border_points_clear(border_points *b);

/* As one array of numbers for the model file, and back.  What comes from a file may be damaged or hostile: everything is
   checked, and routing with what was accepted is safe.  values belongs to the router. */
const double *router_values(const router *r, int64_t *rows, int64_t *cols);
anygp_status router_from_values(int64_t rows, int64_t cols, const double *values, int64_t D, router **out,
                                anygp_error *e);

#endif
