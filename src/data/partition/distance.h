/* Squared distances between rows of data and a few centres, block by block, by matrix products. */
#ifndef DATA_PARTITION_DISTANCE_H
#define DATA_PARTITION_DISTANCE_H

#include <stdbool.h>
#include <stdint.h>

/* Rows of X[n,d] (row-major, stride ldx), or those listed in `rows` if it is not NULL. */
typedef struct row_set {
    int64_t n, d;
    const double *X;
    int64_t ldx;
    const int64_t *rows;
} row_set;

const double *row_at(const row_set *s, int64_t i);
double row_distance(int64_t d, const double *a, const double *b); /* |a - b|^2, elementwise */

/* For each row its nearest centre (the lowest on ties) and the squared distance (may be NULL).  centres[k,d] row-major,
   k >= 1.  False: out of memory. */
bool nearest_centres(const row_set *s, int64_t k, const double *centres, int64_t *nearest, double *distance);

/* For each centre its nearest row (the lowest on ties). */
bool nearest_rows(const row_set *s, int64_t k, const double *centres, int64_t *row);

#endif
