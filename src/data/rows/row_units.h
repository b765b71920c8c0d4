/* The one way of a raw row into a model.  A raw row is a list of cells, as a reader, a table or the caller's array has them;
   fitting, updating, predicting and scoring all use these steps, each once:
       row_units_use      whether it is used, left out or refused
       row_units_refuse   the message for the latter
       row_units_convert  x[D], y[Q] and w in model units: inputs scaled, texts and labels coded, missing cells filled
   row_units_take is the three of them. */
#ifndef DATA_ROWS_ROW_UNITS_H
#define DATA_ROWS_ROW_UNITS_H

#include "base/error.h"
#include "data/table/classes.h"
#include "data/table/dataset.h"
#include "data/table/targets.h"

/* Which rows, and which of their cells.  Row i has a number in (0, 1), a function of (seed, i); the part are the rows with
       hold_out <= number < below:
   to learn from, those not held out (below 0: no limit); to score on, those held out. */
typedef struct rows_part {
    target_columns y;
    const bool *skip_column; /* further columns that are not inputs; NULL: none */
    const int64_t *sphere;   /* two columns: longitude and latitude of a place on the sphere; NULL: none */
    double hold_out, below;
    uint64_t seed;
} rows_part;

/* Row i is among this share of the rows, which is held out. */
bool rows_held(uint64_t seed, int64_t row, double share);

typedef enum row_use {
    ROW_USED,
    ROW_HELD_OUT, /* not in the part */
    ROW_NO_WEIGHT,
    ROW_NO_TARGET,  /* one of them is missing */
    ROW_BAD_WEIGHT, /* from here on it is refused */
    ROW_BAD_EXPOSURE,
    ROW_LARGE_TARGET,
    ROW_BAD_TARGET,    /* there is an objection to it */
    ROW_UNKNOWN_CLASS, /* no training row had it */
    ROW_BAD_INPUT      /* missing, and not to be filled; or infinite */
} row_use;

static inline bool row_refused(row_use use) { return use >= ROW_BAD_WEIGHT; }

typedef struct cell_units {
    int64_t number; /* column of the raw row */
    int64_t input;  /* of the schema */
    double shift, scale, fill;
    const double *level; /* of texts: from the levels of the column to the model's; NULL: they are the same */
} cell_units;

typedef struct target_scale {
    double shift, scale;
} target_scale;

typedef struct row_units {
    int64_t D, Q;
    sphere_spec sphere;    /* its columns are made of the cells x[sphere.at] and the next */
    cell_units *x;         /* D */
    double most;           /* inputs beyond this size are clamped to it; INFINITY from the start */
    bool fill_missing;     /* else a row with a missing input is refused */
    rows_part part;        /* part.y.targets 0: rows to predict, inputs and perhaps an exposure */
    int64_t *target;       /* T: the list of part.y */
    target_scale *unit;    /* T */
    class_codes *codes;    /* T, or NULL: numbers */
    const column *columns; /* of the raw rows, for labels and messages; may be NULL if there are neither */
} row_units;

/* For the rows of the part, by the schemas of d, whose transforms are those of the part.  column[inputs]: where the rows have the inputs; NULL: where the training file
   has them.  The columns and the part's transforms must outlive it, d need not. */
anygp_status row_units_make(const dataset *d, const rows_part *part, const column *columns, const int64_t *column_of,
                            row_units *u, anygp_error *e);
/* The same when only the names of the columns are known: all of them count as inputs, labels are not coded. */
anygp_status row_units_make_raw(const schema *s, const rows_part *part, const column *columns, row_units *u,
                                anygp_error *e);
/* Learns the labels that a column of texts has shown since; s: of the (one) target. */
anygp_status row_units_follow(row_units *u, const schema *s, anygp_error *e);
void row_units_clear(row_units *u);

row_use row_units_use(const row_units *u, int64_t number, const double *row);
/* s: that of the inputs and of the (first) target. */
anygp_status row_units_refuse(const row_units *u, const schema *s, row_use use, int64_t number, const double *row,
                              anygp_error *e);
double row_units_weight(const row_units *u, const double *row);
void row_units_inputs(const row_units *u, const double *row, double *x);
/* x may lie over the row itself, before or at its place, where columns are in the order of the inputs. */
void row_units_convert(const row_units *u, const double *row, double *x, double *y, double *w);
anygp_status row_units_take(const row_units *u, const schema *s, int64_t number, const double *row, double *x,
                            double *y, double *w, row_use *use, anygp_error *e);

#endif
