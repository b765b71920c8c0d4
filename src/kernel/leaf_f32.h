/* Leaves without float tiles beside those with: computed in double, in a workspace of their own, and rounded [leaf.c]. */
#ifndef KERNEL_LEAF_F32_H
#define KERNEL_LEAF_F32_H

#include "kernel/kind.h"

#define FLOAT_MOST 1e37 /* of a value: products of two are clamped to it again */

/* Where a tile is: the fields of tile.h that do not depend on the type of its numbers. */
typedef struct tile_place_of {
    const kernel *k;
    int64_t rows, cols;
    const double *X, *Z;
    int64_t ldx, ldz, diagonal;
    bool symmetric;
} tile_place_of;

bool leaf_has_float(const leaf *l);
/* Doubles of the workspace; 0: every leaf has float tiles. */
int64_t leaf_beside_doubles(const kernel *k, int64_t rows, int64_t cols);
void leaf_tile_rounded(const leaf *l, const tile_place_of *p, double *work, float *K, int64_t ldk);
void leaf_reverse_widened(const leaf *l, const tile_place_of *p, double *work, const float *G, int64_t ldg,
                          tile_gradient *g);

#endif
