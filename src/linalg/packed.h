/* Products with matrices of integers of 32 bits, which stand for numbers in a unit that is common to all of them. */
#ifndef LINALG_PACKED_H
#define LINALG_PACKED_H

#include <stdint.h>

void la_unpack(int64_t n, const int32_t *from, double *to); /* in the same unit */
/* W += T V and U += T'X with T[m,n] and t columns of each, which are ldv (of V and X) and ldw (of W and U) apart; sums in double.
   W and U may overlap. */
void la_both_products_packed(int64_t m, int64_t n, const int32_t *T, int64_t ldt, int64_t t, const double *V,
                             const double *X, int64_t ldv, double *W, double *U, int64_t ldw);

#endif
