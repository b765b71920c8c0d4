/* The training rows in P blocks, wherever they are: in memory or in a file.  A model's `stat` adds over rows, so a block is
   all it ever sees; which blocks, in which order, on which thread and rank is decided by the driver. */
#ifndef DATA_BLOCKS_BLOCKS_H
#define DATA_BLOCKS_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Valid until the next blocks_get with the same buffer. */
typedef struct row_block {
    int64_t index;
    int64_t n;       /* rows; may be 0 */
    const double *X; /* n x D, row-major, model units */
    const double *y; /* n x Q, row-major, model units: the targets, and what they were exposed to */
    const double *w; /* n: how many times the row counts; all > 0 */
    int64_t first;   /* of a piece of a block: where in it the piece begins */
    const bool
        *own; /* n: whose likelihood it is about; the others are given to those that come after them.  NULL: all */
} row_block;

/* Memory for one block, one for each thread; initialised with {0}. */
typedef struct block_buffer {
    double *cells;
    int64_t capacity;
} block_buffer;

typedef struct row_blocks row_blocks;

typedef struct blocks_ops {
    anygp_status (*get)(row_blocks *b, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e);
    void (*free)(row_blocks *b);
} blocks_ops;

struct row_blocks {
    const blocks_ops *ops;
    int64_t count;   /* P */
    int64_t D;       /* inputs of a row */
    int64_t Q;       /* numbers of y per row; 1 for most models */
    int64_t largest; /* maximum number of rows in a block */
    double total;    /* sum of the weights of all rows */
};

/* The name of a block as a number in a file or an array: whole, and exact as a double.  False: it is not one. */
bool block_name_of(double value, int64_t *name);
/* Those of n rows, the first of which is row `first` (from 0) of the file called `source`. */
anygp_status block_names_of(int64_t n, const double *values, const char *source, int64_t first, int64_t *names,
                            anygp_error *e);
/* Default number of rows in a part of the input space: as many as inducing inputs, within bounds; inducing 0: there are none,
   and a row is predicted from its part only. */
int64_t blocks_part_rows(int64_t inducing);

/* Block i.  Several threads may call it at once, each with its own buffer. */
anygp_status blocks_get(row_blocks *b, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e);
void blocks_free(row_blocks *b); /* accepts NULL */

/* Room for n rows of D inputs, Q targets and a weight; returns where X, y and w are in it. */
anygp_status block_buffer_reserve(block_buffer *buffer, int64_t n, int64_t D, int64_t Q, double **X, double **y,
                                  double **w, anygp_error *e);
void block_buffer_clear(block_buffer *buffer);

/* Over arrays that outlive it: block i is rows start[i] .. start[i+1]-1 of X[n,D], y[n,Q], w; w NULL: all weights 1.
   start is copied. */
anygp_status blocks_of_arrays(int64_t count, const int64_t *start, int64_t D, int64_t Q, const double *X,
                              const double *y, const double *w, row_blocks **out, anygp_error *e);

/* `count` blocks that have grown: block i is that of `older` (which may be NULL, or have fewer) and then those of the n rows
   whose block[] is i, in their order; y[n,Q], and `older` has as many.  The arrays and `older` must outlive it; block is no longer needed. */
anygp_status blocks_join(row_blocks *older, int64_t count, int64_t D, int64_t Q, int64_t n, const double *X,
                         const double *y, const double *w, const int64_t *block, row_blocks **out, anygp_error *e);

/* The same blocks along a chain: block i is that of `from` at place i of the order (NULL: as they are), and those at the `given` places
   before it come first, as rows that are given.  `from` must outlive it [blocks_chain.c]. */
anygp_status blocks_chain(row_blocks *from, const int64_t *order, int64_t given, row_blocks **out, anygp_error *e);

/* The same blocks, kept in memory once they were read: the first ones requested, up to this many bytes.  Takes ownership of
   `inner`, also on failure. */
anygp_status blocks_keep(row_blocks *inner, double bytes, row_blocks **out, anygp_error *e);

/* The same blocks in a scratch file (data/rows/scratch.h), each whole, with the rows that are given to it: a pass reads one block after
   the other, and `from` is no longer needed.  Of y there is one column or more, of X any number [blocks_disk.c]. */
anygp_status blocks_to_disk(row_blocks *from, row_blocks **out, anygp_error *e);

/* ------------------------------------------------------------------------- all rows [blocks_gather.c] */

/* Block after block, for blocks with one target: block i is rows start[i] .. start[i+1]-1. */
typedef struct gathered_rows {
    int64_t n;
    double *X, *y, *w; /* n x D row-major, n, n */
    double *start;     /* count + 1, as a file has them */
} gathered_rows;

/* what: for the message if there is no memory for them. */
anygp_status blocks_gather(row_blocks *b, const char *what, gathered_rows *g, anygp_error *e);
void gathered_rows_clear(gathered_rows *g);

/* Checks what a file says: the starts of `count` blocks go from 0 to n and never fall, and n weights are positive. */
bool blocks_make_sense(int64_t count, const double *start, int64_t n, const double *w);

#endif
