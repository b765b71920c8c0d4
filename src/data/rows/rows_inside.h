/* The inside of rows: raw rows by number.  Shared by rows.c, rows_scan.c and the block plans. */
#ifndef DATA_ROWS_ROWS_INSIDE_H
#define DATA_ROWS_ROWS_INSIDE_H

#include <pthread.h>

#include "data/rows/rows.h"

struct row_source {
    const table *table; /* or NULL, and then: */
    reader *file;
    pthread_mutex_t lock; /* around the file */
    int64_t count, cols, target;
    const column *columns;
};

/* Rows of raw cells that are read at once: about half a megabyte. */
int64_t rows_chunk(const row_source *r);

/* Raw rows of a file: all of these runs, one after another. */
anygp_status rows_fetch_runs(row_source *r, int count, const row_run *runs, double *room, anygp_error *e);

/* About `wanted` of the usable rows at random (all, where there are not more), raw, in their order, and their numbers; the caller frees
   both. */
anygp_status rows_sample(row_source *r, const row_units *u, int64_t wanted, int64_t *n, double **cells,
                         int64_t **number, anygp_error *e);

/* --------------------------------------------------------------------------------------- blocks */

/* The plans, without keeping.  u is taken over, also on failure. */
anygp_status run_blocks(row_source *r, row_units *u, const block_plan *plan, row_blocks **out, anygp_error *e);
/* route: of KMEANS and KDTREE, and learns the blocks that were split; NULL for RANDOM and GIVEN. */
anygp_status grouped_blocks(row_source *r, row_units *u, const block_plan *plan, router *route, row_blocks **out,
                            anygp_error *e);

#endif
