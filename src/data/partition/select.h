/* Choosing a subset of rows.  `chosen` has room for k; min(n, k) different rows come out in increasing order. */
#ifndef DATA_PARTITION_SELECT_H
#define DATA_PARTITION_SELECT_H

#include <stdint.h>

#include "base/error.h"

/* Uniformly at random.  Returns how many. */
int64_t select_random(int64_t n, int64_t k, uint64_t seed, int64_t *chosen);

/* The row nearest to each of k k-means centres; where X has fewer than k different rows, repeated ones fill up.
   X[n,d] row-major with stride ldx. */
anygp_status select_kmeans(int64_t n, int64_t d, const double *X, int64_t ldx, int64_t k, uint64_t seed,
                           int64_t *chosen, int64_t *count, anygp_error *e);

#endif
