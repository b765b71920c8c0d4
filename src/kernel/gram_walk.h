/* Evaluating an expression on one tile; shared by gram.c and reverse.c. */
#ifndef KERNEL_GRAM_WALK_H
#define KERNEL_GRAM_WALK_H

#include "kernel/tile.h"

/* The matrix k(X, Z), or k(X, X) if symmetric, cut into tiles. */
typedef struct gram_walk {
    const kernel *k;
    int64_t n, m, ldx, ldz;
    const double *X, *Z;
    bool symmetric;
    int64_t tile_cols;
    bool in_turn; /* one thread makes all tiles, in their order */
} gram_walk;

gram_walk gram_walk_cross(const kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m, const double *Z,
                          int64_t ldz);
gram_walk gram_walk_symmetric(const kernel *k, int64_t n, const double *X, int64_t ldx);

static inline int64_t gram_walk_rows(const gram_walk *w) { return w->n < TILE_ROWS ? w->n : TILE_ROWS; }
static inline int64_t gram_walk_cols(const gram_walk *w) { return w->m < w->tile_cols ? w->m : w->tile_cols; }
static inline int64_t gram_walk_tiles(const gram_walk *w)
{
    return (w->n + TILE_ROWS - 1) / TILE_ROWS * ((w->m + w->tile_cols - 1) / w->tile_cols);
}
/* Points t at tile number `index` and gives its corner; false: wholly above the diagonal of a symmetric matrix. */
bool gram_walk_tile(const gram_walk *w, int64_t index, tile *t, int64_t *i0, int64_t *j0);

/* A[rows,cols] = B + C and B .* C; A may be B. */
void tile_add(const tile *t, const real *B, int64_t ldb, const real *C, int64_t ldc, real *A, int64_t lda);
void tile_multiply(const tile *t, const real *B, int64_t ldb, const real *C, int64_t ldc, real *A, int64_t lda);

#endif
