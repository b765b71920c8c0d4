/* How far apart two rows are, where that is not the Euclidean distance.  A search by such a metric compares every query with every row,
   tile by tile: tiles choose, distance() decides, so that the answer does not depend on the tiles. */
#ifndef DATA_NEIGHBOURS_NEAR_METRIC_H
#define DATA_NEIGHBOURS_NEAR_METRIC_H

#include <stdbool.h>
#include <stdint.h>

typedef struct near_metric {
    const void *ctx;
    double (*distance)(const void *ctx, const double *z, const double *x); /* NULL: Euclidean, and there is no tile */
    /* D[n,m], column-major: of each row of Z[n,] and each of x[m,], within `slack` of distance().  False: no memory. */
    bool (*tile)(const void *ctx, int64_t n, const double *Z, int64_t m, const double *x, double *D, int64_t ld);
    double slack;
} near_metric;

static inline bool near_metric_is_euclidean(const near_metric *by) { return !by || !by->distance; }

#endif
