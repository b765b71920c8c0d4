/* The workspace of a tile and the packing of its inputs, in double and in float (real.h). */
#include "kernel/tile.h"

#include <string.h>

#include "kernel/vector.h"
#ifdef REAL_FLOAT
#include "kernel/leaf_f32.h"
#else
#include "kernel/wide.h"
#endif

/* Dims of the largest slice any leaf packs.  A wide leaf may still pack these (arccosine does). */
static int64_t deepest(const kernel *k)
{
    int64_t most = 0;
    for (int64_t i = 0; i < k->n_leaves; i++)
        if (k->leaves[i].n_dims > most) most = k->leaves[i].n_dims;
    return slice_padded(slice_length(most, 0));
}

/* What leaves need besides: in double the workspace of wide ones, in float that of leaves in double (leaf.c). */
#ifdef REAL_FLOAT
static int64_t beside_work(const kernel *k, int64_t rows, int64_t cols)
{
    return 2 * leaf_beside_doubles(k, rows, cols);
}
static void beside_place(tile *t, const kernel *k, int64_t rows, int64_t cols, real *work)
{
    t->k = k, t->beside = leaf_beside_doubles(k, rows, cols) ? (double *)(void *)work : NULL;
}
#else
static int64_t beside_work(const kernel *k, int64_t rows, int64_t cols) { return wide_work(k, rows, cols); }
static void beside_place(tile *t, const kernel *k, int64_t rows, int64_t cols, real *work)
{
    wide_place(&t->wide, k, rows, cols, work);
}
#endif

int64_t tile_work(const kernel *k, int64_t rows, int64_t cols)
{
    return even(LEAF_TILES * rows * cols) + 2 * (deepest(k) * PACK_ROWS + cols * TILE_SLICE) +
           even(beside_work(k, rows, cols));
}

void tile_place(tile *t, const kernel *k, int64_t rows, int64_t cols, real *work)
{
    int64_t x = deepest(k) * PACK_ROWS, z = cols * TILE_SLICE;
    t->x = work, t->gx = t->x + x;
    t->z = t->gx + x, t->gz = t->z + z;
    for (int i = 0; i < LEAF_TILES; i++) t->work[i] = t->gz + z + i * rows * cols;
    beside_place(t, k, rows, cols, t->gz + z + even(LEAF_TILES * rows * cols));
}

static inline real clamp(real v, real limit) { return at_least(at_most(v, limit), -limit); }

/* What is subtracted from input d: distances do not change, and what is left of the inputs is small where it is rounded. */
static inline double origin(const tile *t, int64_t d)
{
#ifdef REAL_FLOAT
    return t->X[d];
#else
    return (void)t, (void)d, 0;
#endif
}

/* Eight rows at a time: whole cache lines are read and written. */
VECTORISED static void pack_rows(const tile *t, const int64_t *dims, int64_t count, const double *scale, real limit)
{
    for (int64_t i0 = 0; i0 < t->rows; i0 += 8) {
        int64_t run = t->rows - i0 < 8 ? t->rows - i0 : 8;
        for (int64_t d = 0; d < count; d++) {
            const double *from = t->X + i0 * t->ldx + dims[d], s = scale ? scale[d] : 1, o = origin(t, dims[d]);
            real *to = t->x + d * PACK_ROWS + i0;
            for (int64_t i = 0; i < run; i++) to[i] = clamp((real)(s * (from[i * t->ldx] - o)), limit);
        }
    }
    memset(t->x + count * PACK_ROWS, 0, (size_t)((slice_padded(count) - count) * PACK_ROWS) * sizeof *t->x);
}

VECTORISED static void pack_cols(const tile *t, const int64_t *dims, int64_t count, const double *scale, real limit)
{
    for (int64_t j = 0; j < t->cols; j++) {
        const double *from = t->Z + j * t->ldz;
        real *to = t->z + j * TILE_SLICE;
        for (int64_t d = 0; d < count; d++)
            to[d] = clamp((real)((scale ? scale[d] : 1) * (from[dims[d]] - origin(t, dims[d]))), limit);
        for (int64_t d = count; d < slice_padded(count); d++) to[d] = 0;
    }
}

void slice_pack(const leaf *l, const tile *t, int64_t first, int64_t count, const double *scale, real limit)
{
    pack_rows(t, l->dims + first, count, scale, limit);
    pack_cols(t, l->dims + first, count, scale, limit);
}

void slice_clear(const tile *t, int64_t count)
{
    memset(t->gx, 0, (size_t)(count * PACK_ROWS) * sizeof(real));
    memset(t->gz, 0, (size_t)(t->cols * TILE_SLICE) * sizeof(real));
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
