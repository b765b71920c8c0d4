/* Products of waves prod_d cos(2 pi f_d (x_d - z_d)), for the cosine and spectral mixture kernels.  Without one factor
   the product is the whole divided by it, which is as accurate as the whole since a cosine is never exactly 0 here. */
#ifndef KERNEL_WAVE_H
#define KERNEL_WAVE_H

#include <stdint.h>

/* C[n] *= cos(2 pi f (x - z)) */
void wave_multiply(int64_t n, const double *x, double z, double f, double *C);

typedef struct wave_sums {
    double moment, slope; /* sum_i b u and sum_i b, where b = -2 pi B tan(2 pi f u), u = x - z */
} wave_sums;

/* gx[n] += f b, and adds to the sums; n <= TILE_ROWS. */
void wave_pull(int64_t n, const double *B, const double *x, double z, double f, double *gx, wave_sums *s);

#endif
