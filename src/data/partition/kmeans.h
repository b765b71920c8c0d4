/* k-means: k-means++ start (Arthur and Vassilvitskii 2007), then Lloyd, or minibatches where there are many rows
   (Sculley 2010).  Same data, k, seed and thread count: same bits. */
#ifndef DATA_PARTITION_KMEANS_H
#define DATA_PARTITION_KMEANS_H

#include <stdint.h>

#include "base/deadline.h"
#include "base/error.h"

typedef struct kmeans_options {
    uint64_t seed;
    int64_t iterations;    /* 0: 20 over all rows, 100 over batches */
    const deadline *until; /* after that no further iteration begins; NULL: any time */
    int64_t batch;         /* rows per iteration; 0: all up to 50 000 rows, otherwise 10 per centre and at least 4096 */
} kmeans_options;

/* X[n,d] row-major, ldx doubles from one row to the next.  centres: room for k rows of d.  *found <= k centres come out,
   fewer than k only where X has fewer different rows.  nearest[n] (or NULL): the centre of each row; with batches that
   is one more pass over X.  Cost: d k n (or batch) per iteration, memory k x 256 per thread + 2 n (or batch). */
anygp_status kmeans(int64_t n, int64_t d, const double *X, int64_t ldx, int64_t k, const kmeans_options *o,
                    double *centres, int64_t *found, int64_t *nearest, anygp_error *e);

#endif
