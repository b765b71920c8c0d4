#include "kernel/tile.h"

#include <string.h>

#include "kernel/vector.h"

enum { SLICE_X = TILE_ROWS * TILE_SLICE, SLICE_Z = TILE_COLS * TILE_SLICE };

int64_t tile_work(int64_t rows, int64_t cols) { return LEAF_TILES * rows * cols + 2 * (SLICE_X + SLICE_Z); }

void tile_place(tile *t, int64_t rows, int64_t cols, double *work)
{
    t->x = work, t->gx = t->x + SLICE_X;
    t->z = t->gx + SLICE_X, t->gz = t->z + SLICE_Z;
    for (int i = 0; i < LEAF_TILES; i++) t->work[i] = t->gz + SLICE_Z + i * rows * cols;
}

static inline double clamp(double v, double limit) { return at_least(at_most(v, limit), -limit); }

VECTORISED static void pack_rows(const tile *t, const int64_t *dims, int64_t count, const double *scale, double limit)
{
    for (int64_t d = 0; d < count; d++) {
        const double *from = t->X + dims[d], s = scale ? scale[d] : 1;
        double *to = t->x + d * TILE_ROWS;
        for (int64_t i = 0; i < t->rows; i++) to[i] = clamp(s * from[i * t->ldx], limit);
    }
    memset(t->x + count * TILE_ROWS, 0, (size_t)((slice_padded(count) - count) * TILE_ROWS) * sizeof *t->x);
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
    memset(t->gx, 0, (size_t)(count * TILE_ROWS) * sizeof(double));
    memset(t->gz, 0, (size_t)(t->cols * TILE_SLICE) * sizeof(double));
}

void slice_unpack(const leaf *l, const tile *t, int64_t first, int64_t count, const double *factor, double sign_z,
                  const tile_gradient *g)
{
    const int64_t *dims = l->dims + first;
    for (int64_t i = 0; g->gX && i < t->rows; i++)
        for (int64_t d = 0; d < count; d++) g->gX[i * g->ldgx + dims[d]] += factor[d] * t->gx[d * TILE_ROWS + i];
    for (int64_t j = 0; g->gZ && j < t->cols; j++)
        for (int64_t d = 0; d < count; d++)
            g->gZ[j * g->ldgz + dims[d]] += sign_z * factor[d] * t->gz[j * TILE_SLICE + d];
}
