/* Rows chosen one after the other, each where the prior variance left by those before it is largest: the pivots of a
   pivoted partial Cholesky factorisation of the kernel matrix (Fine and Scheinberg 2001; Burt et al. 2020). */
#ifndef INDUCING_GREEDY_H
#define INDUCING_GREEDY_H

#include <stdint.h>

#include "base/deadline.h"
#include "base/error.h"

typedef void greedy_diag(void *ctx, double *diag); /* K_ii, n numbers */
/* Columns row[0] .. row[count-1] of K, n numbers each, one after the other. */
typedef void greedy_columns(void *ctx, int64_t count, const int64_t *row, double *out);

/* chosen: room for k; *count gets how many, in the order they were chosen.  Stops early when the largest variance left is below
   `tolerance` times the largest K_ii (or is lost in rounding).  Ties go to the lowest index.
   After `until` (NULL: none) the variances stay as they are, and the rest is chosen by them.
   Cost n k^2 and a few times k columns; memory n k. */
anygp_status greedy_select(int64_t n, int64_t k, greedy_diag *diag, greedy_columns *columns, void *ctx,
                           double tolerance, const deadline *until, int64_t *chosen, int64_t *count, anygp_error *e);

/* The same after m pivots that need not be among the rows: their columns of the factor, before[n,m]. */
anygp_status greedy_more(int64_t n, int64_t m, const double *before, int64_t k, greedy_diag *diag,
                         greedy_columns *columns, void *ctx, double tolerance, const deadline *until, int64_t *chosen,
                         int64_t *count, anygp_error *e);

#endif
