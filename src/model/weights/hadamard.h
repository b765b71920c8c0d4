/* Fast products with random frequencies: structured orthogonal features (Yu and others 2016, after Le and others 2013).

   P waves at once, P a power of two, at least D and 64.  With H the Hadamard matrix and diagonals of random signs,
       u = P^-3/2 H D_1 H D_2 H D_3 x,   x with zeros behind it to length P
   is a rotation of x that is all but uniform, and wave k has the frequency z_k = r_k (row k of that matrix), r_k^2 ~ chi2(P): standard normal
   but for corrections of order 1/P, and orthogonal within the P.  A product costs 3 log2 P additions instead of D multiplications, and no
   frequency is ever written down.  Signs and lengths are functions of (seed, number of the transform, number of the wave). */
#ifndef MODEL_WEIGHTS_HADAMARD_H
#define MODEL_WEIGHTS_HADAMARD_H

#include <stdint.h>

int64_t hadamard_size(int64_t D); /* P */

/* r_k P^-3/2 of wave k of a transform. */
double hadamard_length(uint64_t seed, int64_t P, int64_t transform, int64_t k);

/* T[n,waves] column-major = x'z of the first `waves` waves of a transform, without their scales: those of wave k are scale[k], and
   X[n,D] (row-major) is taken times over[D].  room: hadamard_doubles(P). */
int64_t hadamard_doubles(int64_t P);
void hadamard_products(uint64_t seed, int64_t P, int64_t transform, int64_t n, int64_t D, const double *X,
                       const double *over, int64_t waves, const double *scale, double *T, int64_t ldt, double *room);

#endif
