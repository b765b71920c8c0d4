/* Small systems side by side: LANES of them, one to a lane of the vector registers, so that a matrix of 30 rows is factored as fast per
   operation as one of 3000.

   Element (i, j) of all systems is LANES consecutive doubles.  A lower triangle is stored by rows: row i begins at lanes_row(i) and has
   i + 1 elements; other matrices are m rows of n elements.  Systems smaller than n are filled up with rows of the identity.  Arrays begin
   at a multiple of 64 bytes (lanes_align). */
#ifndef LINALG_LANES_H
#define LINALG_LANES_H

#include <stdint.h>

enum { LANES = 8 };

static inline int64_t lanes_row(int64_t i) { return i * (i + 1) / 2 * LANES; }
/* The next place that is aligned: up to LANES - 1 doubles further on. */
static inline double *lanes_align(double *at) { return (double *)(((uintptr_t)at + 63) / 64 * 64); }

/* A = L L' in place, in n^3/6 multiplications for each lane, and with it the `more` rows of n elements that follow the triangle, B, become
   B L^-T.  inverse[n] gets 1 / L_ii.  Returns -1, or the first lane whose matrix is not positive definite or not finite. */
int lanes_factor(int64_t n, int64_t more, double *A, double *inverse);
/* R[m,n] becomes R L^-1; row a of R is 0 after column last[a], in all lanes. */
void lanes_solve(int64_t n, int64_t m, const int64_t *last, const double *L, const double *inverse, double *R);
/* R[m,n] becomes R L^-T in columns 0 .. last[a] of row a; later ones are left as they are, or lost. */
void lanes_forward(int64_t n, int64_t m, const int64_t *last, const double *L, const double *inverse, double *R);
/* T[m,n] = W S in columns 0 .. last[a] of row a, after which W is 0; of the symmetric S there is the lower triangle. */
void lanes_symmetric(int64_t n, int64_t m, const int64_t *last, const double *W, const double *S, double *T);
/* The lower triangle G = W'S + S'W of such W[m,n] and S[m,n]; fastest where last[] ascends. */
void lanes_products(int64_t n, int64_t m, const int64_t *last, const double *W, const double *S, double *G);

#endif
