/* Labelled rows of the caller's arrays as raw rows, which are converted as those of a file are: inputs, target, weight and exposure side
   by side. */
#ifndef GP_LABELLED_ARRAYS_H
#define GP_LABELLED_ARRAYS_H

#include "gp/gp.h"

typedef struct labelled_arrays {
    /* The caller's. */
    const gp_set *m;
    int64_t n, ld;                    /* of rows, which have the model's inputs in their order */
    const double *rows, *y;           /* y[n] of the target that is open; NaN: missing */
    const double *weights, *exposure; /* NULL: 1 */
    int64_t inputs, wide, room;       /* columns of the raw rows, and how many rows at a time */
    double *cells;                    /* room x wide */
    column *columns;                  /* wide */
    row_units units;                  /* for the target that is open */
} labelled_arrays;

anygp_status labelled_arrays_open(labelled_arrays *a, int64_t room, anygp_error *e);
/* Opens a target.  scored: y stays in the units of the data.  Classes that are texts are given by their indices, others by their numbers. */
anygp_status labelled_arrays_target(labelled_arrays *a, int64_t target, const double *y, bool scored, anygp_error *e);
/* Rows first .. first + count - 1 into cells, at most `room`. */
void labelled_arrays_take(labelled_arrays *a, int64_t first, int64_t count);
void labelled_arrays_close(labelled_arrays *a);

/* Of every row of the open target, in data units: log p(y) (for counts and classes the logarithm of a probability) and P(y' <= y); either
   may be NULL, and the latter has to be for classes.  A row without a target is refused.  p has room for a->room rows at a time.
   [density.c] */
anygp_status predictor_density(predictor *p, const gp *g, labelled_arrays *a, double *log_density, double *cdf,
                               anygp_error *e);

#endif
