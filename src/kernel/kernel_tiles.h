/* The tiles of the lower half of a kernel matrix of all rows: where each is, how it is made or kept, and the one walk over them.

   Tile (i, j), i >= j, has SIDE rows and columns, fewer at the end.  Ranks take every size-th tile in the order of columns, threads every
   threads-th tile of their rank; each thread has sums of its own, which are added in the order of the threads and then over the ranks:
   same thread count, same bits.

   A tile in double has, on the diagonal, all its elements with what is added to the matrix's diagonal.  A packed tile has integers of 32 bits
   in units of `unit`, and only elements strictly below the diagonal, with zeros elsewhere: the diagonal, on which rounding would not average
   out, stays apart in double.  No element of a kernel matrix is larger than the largest of its diagonal (Cauchy and Schwarz), so that
   integers are off by at most 2^-32 of that, a hundred times less than numbers in single precision. */
#ifndef KERNEL_KERNEL_TILES_H
#define KERNEL_KERNEL_TILES_H

#include "kernel/kernel_operator.h"

enum { TILE_SIDE = 256 }; /* half a megabyte in double, which stays in the second-level cache */

typedef struct kernel_tiles {
    kernel_rows rows;
    const comm *comm;
    const kernel *k;
    const double *added; /* to the diagonal */
    int64_t down;        /* tiles per side */
    int64_t mine, kept;  /* tiles of this rank, and how many of them, the first ones, are kept */
    double keep;         /* bytes */
    bool packed, made;   /* kept tiles are at k */
    double unit;         /* of packed ones */
    void *store;         /* the kept tiles, one after the other */
} kernel_tiles;

typedef struct tile_place {
    int64_t i0, j0, rows, cols;
} tile_place;

void kernel_tiles_open(kernel_tiles *t, const kernel_rows *rows, const kernel_operator_options *o);
void kernel_tiles_clear(kernel_tiles *t);
/* At this kernel, with these additions to the diagonal; largest: of its own diagonal.  Tiles are kept as far as there is room; that never
   fails, since they can be made again. */
void kernel_tiles_set(kernel_tiles *t, const kernel *k, const double *added, double largest, bool packed);

/* A tile with leading dimension TILE_SIDE, from where it is kept or made in room[2 TILE_SIDE^2].  NULL: no memory. */
const double *kernel_tile_double(const kernel_tiles *t, int64_t index, const tile_place *p, double *room);
const int32_t *kernel_tile_packed(const kernel_tiles *t, int64_t index, const tile_place *p, double *room);

/* What is done with tile `index`: adds to sums; room has 2 TILE_SIDE^2 doubles.  False: no memory. */
typedef bool tile_visit(void *ctx, int64_t index, const tile_place *p, double *room, double *sums);
/* Sums[count] over all tiles of all ranks, in memory that the caller frees. */
anygp_status kernel_tiles_walk(const kernel_tiles *t, tile_visit *visit, void *ctx, int64_t count, double **sums,
                               anygp_error *e);

#endif
