/* From a table to the arrays a model is trained on.
       dataset_build        choose columns, drop rows without a target or weight, drop constant columns
       dataset_standardize  to mean 0 and sd 1, remembering how
       dataset_merge        repeated rows of inputs become one row with a count

   Repeated rows (Gaussian noise s2): c observations of one f with mean ybar and within-group sum of squares SS
   carry the same information as ybar ~ N(f, s2/c), and
       log p(all y) = log p(ybar) + sum over groups [ -(c-1)/2 log(2 pi s2) - log(c)/2 - SS/(2 s2) ].
   Counts are sums of weights, so a weight of 3 is three equal rows. */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include "base/error.h"
#include "data/reader.h"
#include "data/schema.h"

/* Of all rows, by their weights, in data units; missing cells are filled.  Text columns: 0 and 1. */
typedef struct column_moments {
    double mean;
    long double variance; /* population; squares of 1e308 fit */
    double largest;       /* the value of the largest size */
} column_moments;

/* The rows a model learns from, or a sample of them; the schema, the moments and the counts are those of all. */
typedef struct dataset {
    schema schema;
    int64_t n, D;
    int64_t used;              /* the rows there are; over n: X, y and w are a sample */
    column_moments *x_moments; /* D */
    column_moments y_moments;  /* the target, before it is standardised */
    double *X;                 /* n x D, row-major */
    double *y;                 /* n */
    double *w;                 /* n, all > 0 */
    double total;              /* sum of the weights of all rows */
    int64_t no_target;         /* rows dropped because the target is missing */
    int64_t no_weight;         /* rows dropped because their weight is 0 */
} dataset;

/* Which part of a table: columns (weights -1: none), further columns that are not inputs, rows held out; NULL: none. */
typedef struct table_part {
    int64_t target, weights;
    const bool *skip_column;
    const bool *skip_row;
} table_part;

anygp_status dataset_build(const table *t, const table_part *part, bool fill_missing, dataset *out, anygp_error *e);

/* group[D], ids below D: number columns of one group are divided by one common sd (kernels that share a length-scale). */
anygp_status dataset_standardize(dataset *d, const int64_t *group, bool inputs, bool target, anygp_error *e);
void dataset_clear(dataset *d);
/* Remembers them, here and in the schema. */
void dataset_take_target(dataset *d, column_moments y);

/* The size of things in model units: sd of each column of X (1 for text), root mean square of y; never 0. */
void dataset_spread(const dataset *d, double *sd_x, double *rms_y);

typedef struct merged {
    int64_t n, D;        /* distinct rows */
    double *X;           /* n x D, row-major */
    double *y;           /* group means */
    double *c;           /* counts (sums of weights) */
    double total;        /* sum of c */
    double extra;        /* sum of c - 1 */
    double log_c;        /* sum of log c */
    double SS;           /* sum of the within-group sums of squares */
    bool plain;          /* every count is 1: the three sums before are 0 */
    const dataset *data; /* the rows behind it; must outlive this */
    int64_t *group;      /* data->n: the group of each row, or -1: not in this subset */
} merged;

/* merge = false keeps every row by itself. */
anygp_status dataset_merge(const dataset *d, bool merge, merged *out, anygp_error *e);

/* The k chosen groups alone (subset of data). */
anygp_status merged_select(const merged *m, int64_t k, const int64_t *chosen, merged *out, anygp_error *e);
void merged_clear(merged *m);

#endif
