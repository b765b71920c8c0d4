/* What becomes of the columns of a table before a model sees them: which of them are inputs, and what the rows say about them.
   row_units.h has what becomes of the rows. */
#ifndef DATA_TABLE_INTAKE_H
#define DATA_TABLE_INTAKE_H

#include <math.h>

#include "base/error.h"
#include "data/formats/reader.h"
#include "data/table/schema.h"
#include "data/table/targets.h"

/* Targets outside this range cannot be squared safely: their variances would overflow or vanish. */
#define TARGET_LARGEST 1e140
#define TARGET_SMALLEST 1e-140

/* Rates are exponentials of what is learned: a unit beyond these leaves them no room. */
#define EXPOSURE_LEAST 1e-100
#define EXPOSURE_LARGEST 1e100

/* What is wrong with an exposure, to follow its name in a message; NULL: nothing. */
const char *intake_exposure(double x);

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

/* A row as one number, by its place and the bits of all its cells; all missing cells are equal, whatever their bits.  The
   sum over rows is the same in any order, and so on any number of ranks. */
uint64_t intake_digest(const double *row, int64_t cols, int64_t number);
/* The same cell by cell. */
uint64_t intake_digest_begin(int64_t number);
uint64_t intake_digest_cell(uint64_t h, double cell);
uint64_t intake_digest_end(uint64_t h);

/* -0 becomes 0: rows merge by their bits. */
static inline double intake_cell(double x, double fill) { return isnan(x) ? fill : x + 0.0; }

#endif
