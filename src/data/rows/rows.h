/* Training rows that are accessed by number: of a table in memory, or of a file (.npy, .h5) that stays on disk.
       rows_open_table / rows_open_file
       rows_scan      one pass: columns, constants, moments of all rows; a sample of the rows in memory
       (the caller parses the kernel and calls dataset_standardize on the sample)
       rows_blocks    the rows in model units, block by block
   Memory does not grow with the number of rows of a file.  Table and file give the same numbers, on any number of ranks:
   the sample is a function of (seed, number of rows), and every sum runs in the order of the rows up to rounding. */
#ifndef DATA_ROWS_ROWS_H
#define DATA_ROWS_ROWS_H

#include "base/error.h"
#include "comm/comm.h"
#include "data/blocks/blocks.h"
#include "data/formats/reader.h"
#include "data/partition/partition.h"
#include "data/rows/row_units.h"
#include "data/table/dataset.h"

typedef struct row_source row_source;

/* The table must outlive it. */
anygp_status rows_open_table(const table *t, row_source **out, anygp_error *e);
/* Only for files whose rows can be accessed by number: rows_can_stay(path). */
anygp_status rows_open_file(const char *path, const read_options *o, row_source **out, anygp_error *e);
bool rows_can_stay(const char *path);
void rows_close(row_source *r);                /* accepts NULL */
void rows_stop(row_source *r, stop_poll stop); /* whom to ask from now on */

int64_t rows_count(const row_source *r);
int64_t rows_columns(const row_source *r);
const column *rows_column(const row_source *r, int64_t j); /* the first of an array of them */
int64_t rows_target(const row_source *r);                  /* as reader_target */

/* Rows first .. first+n-1, raw, row-major: *at points into the table, or to `room` (n x cols), which a file needs. */
anygp_status rows_fetch(row_source *r, int64_t first, int64_t n, double *room, const double **at, anygp_error *e);
double *rows_room(const row_source *r, int64_t n); /* for rows_fetch; NULL: no memory */

/* The rows that are the share of this rank. */
void rows_share(const row_source *r, const comm *c, int64_t *first, int64_t *end);

/* Shows rows first .. end-1, raw, one after another, until one call fails. */
typedef anygp_status (*rows_visitor)(void *ctx, int64_t number, const double *row, anygp_error *e);
anygp_status rows_walk(row_source *r, int64_t first, int64_t end, rows_visitor see, void *ctx, anygp_error *e);

/* The schema and moments of all usable rows, with `sample` of them at random (all, if there are not more) in their order.
   Each rank reads its share; the sample is read by rank 0 and sent to the others.  d->n is the size of the sample;
   d->total, d->no_target, d->no_weight count all rows, and classes are those of all used rows. */
anygp_status rows_scan(row_source *r, const rows_part *part, bool fill_missing, int64_t sample, const comm *c,
                       dataset *d, anygp_error *e);

typedef enum plan_kind { PLAN_RUNS, PLAN_RANDOM, PLAN_KMEANS, PLAN_KDTREE, PLAN_GIVEN, PLAN_ROUTED } plan_kind;

typedef struct block_plan {
    plan_kind
        kind; /* RUNS: a few runs of consecutive rows from all over the file: for models that do not depend on blocks */
    int64_t blocks;       /* P wanted */
    int64_t cap;          /* maximum rows in a block (not for GIVEN); 0: any number */
    const int64_t *given; /* GIVEN: rows_count ids, any numbers; blocks are numbered as the used rows first name them */
    const router *routed; /* ROUTED: the way to the blocks, copied */
    int64_t **ids;        /* GIVEN: NULL, or gets the id of each block; the caller frees it */
    uint64_t seed;
    double keep;           /* bytes of rows in model units that may be held in memory once they were read */
    const deadline *until; /* KMEANS: when it has to end; NULL: any time */
} block_plan;

/* The rows that rows_scan found usable, with their Q numbers of y (targets.h), in the units of the (standardised) sample.  route: NULL, or gets the router (the
   caller frees it; NULL for RUNS).  There may be more blocks than plan->blocks if some had to be split.  For a file that stays on
   disk, KMEANS, KDTREE, ROUTED, RANDOM and GIVEN write a scratch file in $TMPDIR, which is invisible to others and disappears with the
   blocks.  The rows must outlive the blocks, the sample need not. */
anygp_status rows_blocks(row_source *r, const rows_part *part, const dataset *sample, const block_plan *plan,
                         row_blocks **out, router **route, anygp_error *e);

/* means[count,D] of the members; of an empty block they are no numbers. */
anygp_status rows_block_means(row_blocks *b, double *means, anygp_error *e);
/* The way to random and to given blocks: each by the mean of its members.  None of them may be empty. */
anygp_status rows_route_by_means(row_blocks *b, router **route, anygp_error *e);

#endif
