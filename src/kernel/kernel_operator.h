/* k(X, X) + diag(added) as an operator (linalg/operators/operator.h), tile by tile: tiles are made when they are needed, or kept as far
   as there is memory for them.  Only the lower half is made: a tile below the diagonal serves twice in a product.

   Parameters: those of the kernel, and behind them, at [kernel_count(k)], the noise s2, with
       added_i = s2 / c_i + jitter mean_j (k_jj + white + s2 / c_j)
   as in the exact model (docs/numerics.md).
   Over several ranks each makes its share of the tiles, and a product ends with one sum over the ranks.
   Cost: n^2/2 kernel entries, or as many numbers read, and 2 n^2 operations per vector. */
#ifndef KERNEL_KERNEL_OPERATOR_H
#define KERNEL_KERNEL_OPERATOR_H

#include "comm/comm.h"
#include "kernel/kernel.h"
#include "linalg/operators/operator.h"

typedef struct kernel_rows {
    int64_t n, D;
    const double *X; /* n x D, row-major */
    const double *c; /* counts */
} kernel_rows;

typedef struct kernel_operator_options {
    double keep;      /* bytes for tiles */
    const comm *comm; /* NULL: this process alone */
} kernel_operator_options;

/* The rows outlive it.  Before the first product: kernel_operator_set. */
anygp_status kernel_operator_new(const kernel_rows *rows, const kernel_operator_options *o, la_operator **out,
                                 anygp_error *e);
/* At these values, which are not copied: the kernel outlives the next product.  Kept tiles are made again.  packed: the elements of
   tiles are rounded to integers of 32 bits, so that twice as many can be kept and a product reads half as much; an element off the
   diagonal is then off by PACKED_ERROR times the largest element of the kernel's diagonal at most, those on the diagonal not at all. */
#define PACKED_ERROR 0x1p-32
void kernel_operator_set(la_operator *base, const kernel *k, double noise, double jitter, bool packed);
/* In one walk: the gradient of square sum_ij Q_ij A_ij + scale sum_k u_k'A v_k, with the lower triangle of a symmetric Q[n,n], and U[n,t] and
   V[n,t] without gaps. */
anygp_status kernel_operator_reverse_square(const la_operator *base, const float *Q, double square, int64_t t,
                                            const double *U, const double *V, double scale, double *gp, anygp_error *e);
double kernel_operator_largest(const la_operator *base); /* element of the kernel's diagonal */
double kernel_operator_mean(const la_operator *base);    /* of the diagonal, with what is added */
bool kernel_operator_packed(const la_operator *base);
const double *kernel_operator_added(const la_operator *base); /* added[n] */
double kernel_operator_kept(const la_operator *base);         /* the share of the tiles that is kept */

#endif
