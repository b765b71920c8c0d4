/* Values that are probably no measurements: the smallest or largest of a column, if it is far from the rest.  Repeated, it is
   a sign for a missing value (-9999); alone, and very far, a mistake (1e12).  They are reported, never changed. */
#ifndef DATA_TABLE_ODDITIES_H
#define DATA_TABLE_ODDITIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct oddity {
    double value;
    int64_t times; /* that it occurs; 0: the column has none */
    int64_t row;   /* where first, from 0 */
    double sds;    /* standard deviations of the rest between it and their mean */
} oddity;

/* For each column of values[rows, cols] with look[j]; O(rows cols).  Only columns of which at least half the cells lie between
   the two extremes are judged: otherwise one extreme is the usual value, and the rest says nothing. */
anygp_status oddities_find(int64_t rows, int64_t cols, const double *values, const bool *look, oddity *out,
                           anygp_error *e);

#endif
