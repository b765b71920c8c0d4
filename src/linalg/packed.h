/* Products with matrices of integers of 32 bits, which stand for numbers in a unit that is common to all of them. */
#ifndef LINALG_PACKED_H
#define LINALG_PACKED_H

#include <stdint.h>

void la_unpack(int64_t n, const int32_t *from, double *to); /* in the same unit */
/* w += T v and u += T'x with T[m,n], which is read once; sums in double.  w and u may overlap. */
void la_both_products_packed(int64_t m, int64_t n, const int32_t *T, int64_t ldt, const double *v, double *w,
                             const double *x, double *u);

#endif
