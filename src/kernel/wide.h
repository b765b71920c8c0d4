/* Leaves with many inputs (WIDE_LEAST dims and more): slices of WIDE_SLICE dims, packed so that what is done with them is matrix
   products.  All column-major with leading dimension WIDE_LD, one column per row of the inputs:
       x[count,rows], z[count,cols] = scale_d (input_d - origin_d)         xx[rows], zz[cols]: sums of their squares
       gx[count,rows] = z W',   gz[count,cols] = x W                       for W[rows,cols]
   Workspace does not grow with the number of dims, except for origin and scale. */
#ifndef KERNEL_WIDE_H
#define KERNEL_WIDE_H

#include "kernel/tile.h"

enum { WIDE_LD = WIDE_SLICE + 8 }; /* not a power of 2, which would share cache sets */

int64_t wide_dims(const kernel *k); /* of the widest leaf that is computed by products; 0: there is none */
int64_t wide_work(const kernel *k, int64_t rows, int64_t cols);
void wide_place(wide *w, const kernel *k, int64_t rows, int64_t cols, double *work);

static inline int64_t wide_length(int64_t n_dims, int64_t first)
{
    return n_dims - first < WIDE_SLICE ? n_dims - first : WIDE_SLICE;
}

/* Packs dims first .. first+count-1 by origin and scale, clamped to +-limit, and adds to xx and zz. */
void wide_pack(const leaf *l, const tile *t, int64_t first, int64_t count, double limit);
/* S[rows,cols] = alpha x'z + beta S */
void wide_product(const tile *t, int64_t count, double alpha, double beta, double *S, int64_t lds);
/* Those of gx and gz that are wanted, from W of leading dimension t->rows. */
void wide_pull(const tile *t, int64_t count, const double *W, bool gx, bool gz);
/* g[rows,] += factor_d (sum_i v_id - p_id), v and p as x and gx; sum NULL: g += factor_d p_id. */
void wide_unpack(const leaf *l, int64_t first, int64_t count, const double *factor, int64_t rows, const double *sum,
                 const double *v, const double *p, double *g, int64_t ldg);

#endif
