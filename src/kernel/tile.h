/* One tile of a Gram matrix: its inputs, its workspace, and the packing of inputs in slices.

   A slice holds up to TILE_SLICE of a leaf's active dims, transposed for X so that loops run along rows of X:
       x[d*PACK_ROWS + i] = scale_d X[i, dims[first+d]]       z[j*TILE_SLICE + d] = scale_d Z[j, dims[first+d]]
   In float, where there are distances only, X[0] is subtracted from both before they are rounded.
   so 10^5 inputs need no more workspace than 24.  Both are padded with zeros to a multiple of 4 dims, at least 4. */
#ifndef KERNEL_TILE_H
#define KERNEL_TILE_H

#include "kernel/kind.h"
#include "kernel/real.h"
#ifdef REAL_FLOAT
#include "kernel/f32_names.h"
#endif

/* Workspace of leaves with many inputs; NULLs where the kernel has none.  See wide.h. */
typedef struct wide {
    double *x, *z, *gx, *gz;
    double *xx, *zz;
    double *origin, *scale;
    unsigned char *near;
} wide;

#ifdef REAL_FLOAT
typedef struct tile tile;
#endif

struct tile {
    int64_t rows, cols;
    const double *X, *Z; /* first row of each */
    int64_t ldx, ldz;
    int64_t diagonal; /* row i of X is row i + diagonal of Z in the matrix of one set of rows */
    bool symmetric;   /* the matrix is of one set of rows: white acts */
    int64_t below;    /* rows of the matrix below the tile, if those are made next; else 0 */
    real *work[LEAF_TILES];
    real *x, *z, *gx, *gz; /* slices of the inputs and of their gradients */
#ifdef REAL_FLOAT
    const kernel *k;
    double *beside; /* workspace of leaves that are computed in double; NULL: there are none */
#else
    wide wide;
#endif
};

struct tile_gradient {
    double *gp;      /* of the leaf's own parameters; NULL: not wanted */
    double *gX, *gZ; /* first row of the tile; NULL: not wanted */
    int64_t ldgx, ldgz;
};

/* Parts of a workspace are even, so that doubles in one of floats are where they may be. */
static inline int64_t even(int64_t n) { return n + n % 2; }

int64_t tile_columns(const kernel *k); /* of a tile at most [wide.c] */
/* Numbers of workspace for tiles of at most rows x cols, and its division. */
int64_t tile_work(const kernel *k, int64_t rows, int64_t cols);
void tile_place(tile *t, const kernel *k, int64_t rows, int64_t cols, real *work);

/* One leaf on a tile [leaf.c]: K[rows,cols], and the gradients of sum G .* K. */
void leaf_tile(const leaf *l, const tile *t, real *K, int64_t ldk);
void leaf_reverse(const leaf *l, const tile *t, const real *G, int64_t ldg, tile_gradient *g);

/* Asks for the column FETCH_AHEAD after column j, of this tile or of the one below, so that its lines come from memory while those before
   it are worked on. */
enum { FETCH_AHEAD = 4 };
static inline void tile_fetch(const tile *t, const real *K, int64_t ldk, int64_t j)
{
    int64_t at = j + FETCH_AHEAD, rows = t->rows;
    if (at >= t->cols) {
        if (t->cols <= FETCH_AHEAD) return;
        at -= t->cols, K += t->rows;
        if (t->below < rows) rows = t->below;
    }
    for (int64_t i = 0; i < rows; i += 64 / (int64_t)sizeof *K) __builtin_prefetch(K + i + at * ldk);
}

static inline int64_t slice_length(int64_t n_dims, int64_t first)
{
    return n_dims - first < TILE_SLICE ? n_dims - first : TILE_SLICE;
}

static inline int64_t slice_padded(int64_t count) { return count ? (count + 3) / 4 * 4 : 4; }

/* Packs dims first .. first+count-1 scaled by scale[count] (NULL: 1), clamped to +-limit, so that squares and products
   of the largest inputs stay finite. */
void slice_pack(const leaf *l, const tile *t, int64_t first, int64_t count, const double *scale, real limit);
/* Zeroes the gradient slices; adds factor[d] times them to gX and, with this sign, to gZ. */
void slice_clear(const tile *t, int64_t count);
void slice_unpack(const leaf *l, const tile *t, int64_t first, int64_t count, const double *factor, double sign_z,
                  const tile_gradient *g);

#define LIMIT_DOT 1e70    /* so are fourth powers */
#define LIMIT_POWER 1e150 /* of a polynomial */

#endif
