/* For qsort and bsearch: doubles, or structs whose first member is one, in ascending order; and 64-bit integers. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stdint.h>

static inline int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline int by_integer(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

#endif
