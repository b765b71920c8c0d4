/* The inside of rows: raw rows by number, and the way of one row into model units.  Shared by rows.c, rows_scan.c and the
   block plans. */
#ifndef DATA_ROWS_INSIDE_H
#define DATA_ROWS_INSIDE_H

#include <pthread.h>

#include "data/classes.h"
#include "data/rows.h"

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

/* About `wanted` of the usable rows at random (all, where there are not more), raw, in their order; the caller frees. */
anygp_status rows_sample(row_source *r, const rows_part *part, int64_t wanted, int64_t *n, double **cells,
                         anygp_error *e);

/* ---------------------------------------------------------------------------------- model units */

typedef struct cell_units {
    int64_t number; /* column of the file */
    double shift, scale, fill;
} cell_units;

typedef struct target_scale {
    double shift, scale;
} target_scale;

/* All that makes a row of the model from a raw one. */
typedef struct row_units {
    int64_t D, Q;
    cell_units *x;      /* D */
    target_columns y;   /* its list of columns is the next, a copy */
    int64_t *target;    /* T */
    target_scale *unit; /* T */
    class_codes *codes; /* T, or NULL: numbers */
    double hold_out;
    uint64_t seed;
} row_units;

anygp_status row_units_make(const row_source *r, const rows_part *part, const dataset *sample, row_units *u,
                            anygp_error *e);
void row_units_clear(row_units *u);

/* Whether raw row `number` is one that the model learns from. */
bool row_units_uses(const row_units *u, int64_t number, const double *row);
/* x[D], y[Q], *w */
void row_units_convert(const row_units *u, const double *row, double *x, double *y, double *w);

/* --------------------------------------------------------------------------------------- blocks */

/* The plans, without keeping.  u is taken over, also on failure. */
anygp_status run_blocks(row_source *r, row_units *u, const block_plan *plan, row_blocks **out, anygp_error *e);
/* route: of KMEANS and KDTREE, and learns the blocks that were split; NULL for RANDOM and GIVEN. */
anygp_status grouped_blocks(row_source *r, row_units *u, const block_plan *plan, router *route, row_blocks **out,
                            anygp_error *e);

#endif
