/* For qsort and bsearch: doubles, or structs whose first member is one, in ascending order. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

static inline int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
