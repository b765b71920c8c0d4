/* Where inducing inputs start: from a sample of the rows.
       random   rows at random
       kmeans   centres of k-means (k-means++ start); rows nearest to them where there are text columns
       greedy   rows of the largest conditional variance under the kernel, one after the other */
#ifndef INDUCING_CHOOSE_H
#define INDUCING_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/error.h"
#include "kernel/kernel.h"

enum {
    CHOOSE_GREEDY_ROWS = 10000
}; /* greedy looks at this many of the rows, at random: time rows M^2, memory rows M */

/* Bytes needed to choose M of n rows. */
static inline double choose_bytes(double n, double M)
{
    return 8 * (n < CHOOSE_GREEDY_ROWS ? n : CHOOSE_GREEDY_ROWS) * (M + 50);
}

/* X[n,D] row-major.  Z: room for M rows of D; *count <= M different ones come out, fewer where X has fewer different
   rows.  rows_only: never a point between rows.  After `until` (NULL: none) the
   rest is chosen with less care. */
anygp_status choose_inducing(const char *how, int64_t n, int64_t D, const double *X, bool rows_only, const kernel *k,
                             int64_t M, uint64_t seed, const deadline *until, double *Z, int64_t *count,
                             anygp_error *e);

/* M0 places Z[M0,D] that are there, and `more` rows of X (few of them looked at) with the largest conditional variance given
   those: after them in Z, which has room for M0 + more.  *count <= M0 + more comes out. */
anygp_status choose_more(int64_t n, int64_t D, const double *X, const kernel *k, int64_t M0, int64_t more,
                         uint64_t seed, double *Z, int64_t *count, anygp_error *e);

/* K_ii and K_ij of rows of X for greedy_select; see inducing/greedy.h. */
typedef struct greedy_rows {
    int64_t n, D;
    const double *X;
    const kernel *kernel;
    bool failed; /* a column could not be made for want of memory */
} greedy_rows;

void greedy_rows_diag(void *ctx, double *diag);
void greedy_rows_columns(void *ctx, int64_t count, const int64_t *row, double *out);

#endif
