/* The arrays a model is trained on.
       rows_scan            [rows.h] choose columns, drop rows without a target or weight, drop constant columns
       dataset_standardize  to mean 0 and sd 1, remembering how
       dataset_merge        repeated rows of inputs become one row with a count

   Repeated rows (Gaussian noise s2): c observations of one f with mean ybar and within-group sum of squares SS
   carry the same information as ybar ~ N(f, s2/c), and
       log p(all y) = log p(ybar) + sum over groups [ -(c-1)/2 log(2 pi s2) - log(c)/2 - SS/(2 s2) ].
   Counts are sums of weights, so a weight of 3 is three equal rows. */
#ifndef DATA_TABLE_DATASET_H
#define DATA_TABLE_DATASET_H

#include "base/error.h"
#include "data/formats/reader.h"
#include "data/table/schema.h"
#include "data/table/targets.h"

/* Over all rows, with their weights, in data units; missing cells are filled.  Text columns and classes: 0 and 1. */
typedef struct column_moments {
    double mean;
    long double variance; /* population; squares of 1e308 fit */
    double largest;       /* the value with the largest absolute value */
} column_moments;

/* What is known of a target after the first: a schema without inputs, and its moments. */
typedef struct further_target {
    schema schema;
    column_moments moments; /* transformed */
} further_target;

/* The rows a model learns from, or a sample of them; the schema, the moments and the counts are those of all. */
typedef struct dataset {
    schema schema; /* inputs and the first target */
    int64_t n, D;
    int64_t targets;           /* T */
    int64_t Q;                 /* numbers of y per row (targets.h); in a dataset made by hand 0 means 1 */
    further_target *further;   /* T - 1 */
    int64_t used;              /* the rows there are; over n: X, y and w are a sample */
    column_moments *x_moments; /* D */
    column_moments y_moments;  /* the first target, transformed but before it is standardised */
    double *X;                 /* n x D, row-major */
    double *y;                 /* n x Q, row-major */
    double *w;                 /* n, all > 0 */
    int64_t *number;           /* n: of a sample's rows in their source; NULL: not known */
    double total;              /* sum of the weights of all rows */
    uint64_t digest;           /* of all cells of the rows that are used: sum of intake_digest */
    int64_t no_target;         /* rows dropped because a target is missing */
    int64_t no_weight;         /* rows dropped because their weight is 0 */
} dataset;

/* group[D], ids below D: number columns of one group are divided by one common sd (kernels that share a length-scale).
   target: each target to its own mean and sd, but for classes; counts are left to the caller, who should not ask for it. */
anygp_status dataset_standardize(dataset *d, const int64_t *group, bool inputs, bool target, anygp_error *e);
void dataset_clear(dataset *d);

static inline int64_t dataset_numbers(const dataset *d) { return d->Q > 1 ? d->Q : 1; } /* Q */
/* Target t: its part of the schema (of t > 0 without inputs), its moments. */
const schema *dataset_target(const dataset *d, int64_t t);
column_moments dataset_target_moments(const dataset *d, int64_t t);
/* Remembers them, here and in the schema. */
void dataset_take_target(dataset *d, int64_t t, column_moments y);
/* After that, where it is transformed: the moments of g(y), and the mean of log g'(y). */
void dataset_take_transformed(dataset *d, int64_t t, column_moments g, double log_slope);
/* A schema of its own for target t: a deep copy, inputs included. */
anygp_status dataset_schema(const dataset *d, int64_t t, schema *out, anygp_error *e);

/* The size of things in model units: sd of each column of X (1 for text), root mean square of the first target (1 for
   classes); never 0. */
void dataset_spread(const dataset *d, double *sd_x, double *rms_y);

typedef struct merged {
    int64_t n, D;        /* distinct rows */
    const double *X;     /* n x D, row-major: its own, or data->X if no rows are merged */
    double *own;         /* the former, or NULL */
    double *y;           /* group means of the first target */
    double *c;           /* counts (sums of weights) */
    double total;        /* sum of c */
    double extra;        /* sum of c - 1 */
    double log_c;        /* sum of log c */
    double SS;           /* sum of the within-group sums of squares */
    bool plain;          /* every count is 1: the three sums before are 0 */
    const dataset *data; /* the original rows; must outlive this */
    int64_t *group;      /* data->n: the group of each row, or -1: not in this subset */
} merged;

/* merge = false keeps all rows separate.  So do several numbers of y, and classes, in any case: the algebra above is that
   of one number with Gaussian noise.  The sums are then those of the first target only, which is used to find a start. */
anygp_status dataset_merge(const dataset *d, bool merge, merged *out, anygp_error *e);

/* Only the k chosen groups (subset of data). */
anygp_status merged_select(const merged *m, int64_t k, const int64_t *chosen, merged *out, anygp_error *e);
void merged_clear(merged *m);

#endif
