/* The linear model that reports and comparisons show beside a model: one closed form for both.

   z are the features of a row: 1, the number columns in model units, and an indicator for each category but the first.  Weighted
   sums over rows, in parts (folds),
       G = sum v z z',  b = sum v z t,  q = sum v t^2
   t: the standardised target, or the indicators of the classes; v: the weight.  A model is made of all parts, or of all but one.
       numbers   least squares: w = G^-1 b, noise s^2 = (q - b'w)/(n - F), and s^2 (1 + z'G^-1 z) for a new row
       counts    the same; with an exposure e, t is the standardised y/e with the weight v e, and a new count has the mean
                 e m and the variance e s^2 (1 + e z'G^-1 z); its probabilities are those of the normal rounded to whole numbers
       classes   linear discriminants with means m_k, common covariance W and shares p_k: log p_k + z'W^-1 m_k - m_k'W^-1 m_k / 2 */
#ifndef GP_LINEAR_H
#define GP_LINEAR_H

#include "data/table/schema.h"

typedef struct linear_model linear_model;

/* Rows in model units, columns as the schema has them; y in data units, of classes the index.  list: those that count, NULL: 0 .. n-1. */
typedef struct linear_rows {
    int64_t n;
    const int64_t *list;
    const double *X, *y;        /* n x D, n */
    const double *w, *exposure; /* NULL: 1 */
} linear_rows;

/* *out is NULL where there are too many features.  s must outlive it. */
anygp_status linear_new(const schema *s, int64_t parts, linear_model **out, anygp_error *e);
void linear_free(linear_model *l); /* accepts NULL */
void linear_add(linear_model *l, int64_t part, const linear_rows *r);
/* From all parts but `without` (-1: from all).  False: too few rows. */
bool linear_solve(linear_model *l, int64_t without);

/* After that, for rows r (their y is not read): where result i stands is that of its row, list or not. */
void linear_numbers(linear_model *l, const linear_rows *r, double *mean, double *variance);
void linear_classes(linear_model *l, const linear_rows *r, double *P, int64_t ldp); /* n x K, column-major */

/* Of counts y[n] under normals rounded to whole numbers, what is below 0 counted as 0: P(y' < y), P(y' <= y), log P(y' = y). */
void rounded_normal(int64_t n, const double *y, const double *mean, const double *variance, double *below,
                    double *up_to, double *log_density);

#endif
