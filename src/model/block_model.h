/* A model written as a sum over blocks and a head (docs/running.md):
       prepare   parameters to what all blocks share, such as L = chol(K_uu)
       stat      adds a block's statistics to a flat vector                                   O(rows), touches data
       head      objective from the summed statistics, and what the reverse needs of it       M x M things only
       reverse   adds a block's share to a flat vector of adjoints
       finish    reverse of prepare: from the summed adjoints to the gradient
   `stat` and `reverse` only add over blocks, so driver.c runs them over threads, files and ranks, over all blocks or a
   sample of them, and no model knows which. */
#ifndef MODEL_BLOCK_MODEL_H
#define MODEL_BLOCK_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/error.h"
#include "comm/comm.h"
#include "data/blocks/blocks.h"

/* The part of a model that the driver runs.  `shared` is read-only while blocks are processed.  A block whose numbers broke down
   (its Cholesky, a value that is not finite) returns ANYGP_ERR_NUMERIC, one that found no memory ANYGP_ERR_MEMORY. */
typedef struct block_model {
    bool rows_alone; /* stat adds over rows, so that a block may be cut anywhere */
    int64_t (*stat_size)(const void *shared);
    int64_t (*adjoint_size)(const void *shared); /* NULL, like reverse, in a model that needs only one pass */
    int64_t (*work_doubles)(const void *shared, int64_t rows); /* workspace of one thread */
    int64_t (*keep_doubles)(const void *shared, int64_t rows); /* what stat may leave for reverse */
    double (*work)(const void *shared,
                   int64_t rows); /* multiplications of stat, about; those of reverse are no fewer */
    /* keep: NULL, or where stat leaves, and reverse finds, what need not be computed twice. */
    anygp_status (*stat)(const void *shared, const row_block *b, double *work, double *keep, double *stat,
                         anygp_error *e);
    anygp_status (*reverse)(const void *shared, const row_block *b, double *work, const double *keep, double *adjoint,
                            anygp_error *e);
    /* Several blocks at a time, where that is faster: LANES of them at most, which need not be of one size; `largest` is the rows of the
       longest.  Nothing is kept.  NULL: one at a time. */
    int64_t (*work_together)(const void *shared, int64_t largest);
    anygp_status (*stat_together)(const void *shared, int64_t count, const row_block *b, double *work, double *stat,
                                  anygp_error *e);
    anygp_status (*reverse_together)(const void *shared, int64_t count, const row_block *b, double *work,
                                     double *adjoint, anygp_error *e);
} block_model;

/* Runs a block_model over blocks; where rows stand alone, this many of them at a time: A stays in the second-level cache. */
enum { DRIVER_PIECE = 256 };
typedef struct driver driver;

/* keep: bytes that may be spent on what stat leaves for reverse; 0: everything is computed twice. */
anygp_status driver_open(const block_model *m, row_blocks *b, const comm *c, double keep, driver **out, anygp_error *e);
void driver_close(driver *d); /* accepts NULL */
/* Whether a reverse will follow the next driver_stat: only then is anything kept for it. */
void driver_expect_reverse(driver *d, bool expected);

/* From here on, a pass in a single process ends between two blocks once this has passed, each thread having done at least one:
   the sums are those of the blocks done, *seen of all of them.  NULL: every pass is whole. */
void driver_until(driver *d, const deadline *until, double *seen);

/* Over the `count` blocks in `which` (NULL: over all), summed over threads and ranks in a fixed order and multiplied by
   `scale`.  Where a block fails, every rank returns its status and its message; any other failure comes before numbers
   that broke down. */
anygp_status driver_stat(driver *d, const void *shared, int64_t count, const int64_t *which, double scale, double *stat,
                         anygp_error *e);
/* The same, added to what is in stat; a failure leaves it undefined. */
anygp_status driver_stat_more(driver *d, const void *shared, int64_t count, const int64_t *which, double scale,
                              double *stat, anygp_error *e);
/* The same for reverse, after driver_stat over the same blocks. */
anygp_status driver_reverse(driver *d, const void *shared, int64_t count, const int64_t *which, double scale,
                            double *adjoint, anygp_error *e);

#endif
