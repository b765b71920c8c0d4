/* What becomes of the columns and rows of a table before a model sees them: which columns are inputs, which rows are used,
   and what is said of those that cannot be.  dataset_build does so for a table at once, rows_scan row by row. */
#ifndef DATA_INTAKE_H
#define DATA_INTAKE_H

#include <math.h>

#include "base/error.h"
#include "data/reader.h"
#include "data/schema.h"
#include "data/targets.h"

/* Targets outside this range cannot be squared safely: their variances would overflow or vanish. */
#define TARGET_LARGEST 1e140
#define TARGET_SMALLEST 1e-140

typedef enum row_use {
    ROW_USED,
    ROW_NO_WEIGHT,
    ROW_NO_TARGET, /* one of them is missing */
    ROW_BAD_WEIGHT,
    ROW_LARGE_TARGET,
    ROW_BAD_EXPOSURE
} row_use;

/* Rates are exponentials of what is learned: a unit beyond these leaves them no room. */
#define EXPOSURE_LEAST 1e-100
#define EXPOSURE_LARGEST 1e100

/* What is wrong with an exposure, to be said behind its name; NULL: nothing. */
const char *intake_exposure(double x);

static inline double intake_weight(const double *row, int64_t weights) { return weights < 0 ? 1 : row[weights]; }
row_use intake_row(const double *row, const target_columns *y);
/* An error for rows that are neither used nor left out, and for targets that are objected to; `number` from 0. */
anygp_status intake_check(row_use use, const double *row, const target_columns *y, const column *columns,
                          int64_t number, anygp_error *e);
anygp_status intake_nothing_left(int64_t rows, int64_t no_target, int64_t no_weight, anygp_error *e);

/* All that the file says of its columns: every one that is not a target, the weights, the exposure or skipped is an input.  The
   target is the first one; intake_target describes any. */
anygp_status intake_columns(const column *columns, int64_t cols, const target_columns *y, const bool *skip_column,
                            schema *s, anygp_error *e);
anygp_status intake_target(const column *columns, int64_t cols, const target_columns *y, int64_t t, schema *s,
                           anygp_error *e);

/* What the rows say of input j: the mean of its present cells, whether they differ, whether some are missing.  Sets the
   fill and, if it is not constant, the next position. */
anygp_status intake_input(schema *s, int64_t j, double mean, bool differs, bool missing, anygp_error *e);
anygp_status intake_missing(const input_spec *c, int64_t number, anygp_error *e);

/* A row as one number, by its place and the bits of all its cells; a missing cell is a missing cell, whatever its bits.  The
   sum over rows is the same in any order, and so on any number of ranks. */
uint64_t intake_digest(const double *row, int64_t cols, int64_t number);

/* -0 becomes 0: rows merge by their bits. */
static inline double intake_cell(double x, double fill) { return isnan(x) ? fill : x + 0.0; }

#endif
