/* A tile of a Gram matrix: the terms of an expression, forward and reverse. */
#include "kernel/tile.h"

#include <string.h>

#include "kernel/vector.h"
#include "kernel/wide.h"

/* Dims of the largest slice any leaf packs.  A wide leaf may still pack these (arccosine does). */
static int64_t deepest(const kernel *k)
{
    int64_t most = 0;
    for (int64_t i = 0; i < k->n_leaves; i++)
        if (k->leaves[i].n_dims > most) most = k->leaves[i].n_dims;
    return slice_padded(slice_length(most, 0));
}

int64_t tile_work(const kernel *k, int64_t rows, int64_t cols)
{
    return LEAF_TILES * rows * cols + 2 * (deepest(k) * PACK_ROWS + cols * TILE_SLICE) + wide_work(k, rows, cols);
}

void tile_place(tile *t, const kernel *k, int64_t rows, int64_t cols, double *work)
{
    int64_t x = deepest(k) * PACK_ROWS, z = cols * TILE_SLICE;
    t->x = work, t->gx = t->x + x;
    t->z = t->gx + x, t->gz = t->z + z;
    for (int i = 0; i < LEAF_TILES; i++) t->work[i] = t->gz + z + i * rows * cols;
    wide_place(&t->wide, k, rows, cols, t->gz + z + LEAF_TILES * rows * cols);
}

static inline double clamp(double v, double limit) { return at_least(at_most(v, limit), -limit); }

/* Eight rows at a time: whole cache lines are read and written. */
VECTORISED static void pack_rows(const tile *t, const int64_t *dims, int64_t count, const double *scale, double limit)
{
    for (int64_t i0 = 0; i0 < t->rows; i0 += 8) {
        int64_t run = t->rows - i0 < 8 ? t->rows - i0 : 8;
        for (int64_t d = 0; d < count; d++) {
            const double *from = t->X + i0 * t->ldx + dims[d], s = scale ? scale[d] : 1;
            double *to = t->x + d * PACK_ROWS + i0;
            for (int64_t i = 0; i < run; i++) to[i] = clamp(s * from[i * t->ldx], limit);
        }
    }
    memset(t->x + count * PACK_ROWS, 0, (size_t)((slice_padded(count) - count) * PACK_ROWS) * sizeof *t->x);
}

VECTORISED static void pack_cols(const tile *t, const int64_t *dims, int64_t count, const double *scale, double limit)
{
    for (int64_t j = 0; j < t->cols; j++) {
        const double *from = t->Z + j * t->ldz;
        double *to = t->z + j * TILE_SLICE;
        for (int64_t d = 0; d < count; d++) to[d] = clamp((scale ? scale[d] : 1) * from[dims[d]], limit);
        for (int64_t d = count; d < slice_padded(count); d++) to[d] = 0;
    }
}

void slice_pack(const leaf *l, const tile *t, int64_t first, int64_t count, const double *scale, double limit)
{
    pack_rows(t, l->dims + first, count, scale, limit);
    pack_cols(t, l->dims + first, count, scale, limit);
}

void slice_clear(const tile *t, int64_t count)
{
    memset(t->gx, 0, (size_t)(count * PACK_ROWS) * sizeof(double));
    memset(t->gz, 0, (size_t)(t->cols * TILE_SLICE) * sizeof(double));
}

void slice_unpack(const leaf *l, const tile *t, int64_t first, int64_t count, const double *factor, double sign_z,
                  const tile_gradient *g)
{
    const int64_t *dims = l->dims + first;
    for (int64_t i = 0; g->gX && i < t->rows; i++)
        for (int64_t d = 0; d < count; d++) g->gX[i * g->ldgx + dims[d]] += factor[d] * t->gx[d * PACK_ROWS + i];
    for (int64_t j = 0; g->gZ && j < t->cols; j++)
        for (int64_t d = 0; d < count; d++)
            g->gZ[j * g->ldgz + dims[d]] += sign_z * factor[d] * t->gz[j * TILE_SLICE + d];
}
