/* Squared distances r2_ij = sum_d (x_id - z_jd)^2 of packed, scaled inputs, by differences: exact for repeated rows.
   From WIDE_LEAST dims on, radial_wide.c has |x|^2 + |z|^2 - 2 x'z through dgemm, which needs larger tiles and is slower for
   fewer. */
#include "kernel/radial.h"
#include "kernel/vector.h"

static const real zeros[TILE_ROWS];

/* r[n] = from[n] + four squares, x of leading dimension PACK_ROWS; from is r, or zeros. */
VECTORISED static void add_four(int64_t n, const real *x, const real *z, const real *from, real *r)
{
    real z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3];
    SIMD for (int64_t i = 0; i < n; i++)
    {
        real a = x[i] - z0, b = x[i + PACK_ROWS] - z1;
        real c = x[i + 2 * PACK_ROWS] - z2, d = x[i + 3 * PACK_ROWS] - z3;
        r[i] = (from[i] + a * a + b * b) + (c * c + d * d);
    }
}

/* The same with eight: r is read and written half as often. */
VECTORISED static void add_eight(int64_t n, const real *x, const real *z, const real *from, real *r)
{
    const real *y = x + 4 * PACK_ROWS;
    real z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3], z4 = z[4], z5 = z[5], z6 = z[6], z7 = z[7];
    SIMD for (int64_t i = 0; i < n; i++)
    {
        real a = x[i] - z0, b = x[i + PACK_ROWS] - z1;
        real c = x[i + 2 * PACK_ROWS] - z2, d = x[i + 3 * PACK_ROWS] - z3;
        real e = y[i] - z4, f = y[i + PACK_ROWS] - z5;
        real g = y[i + 2 * PACK_ROWS] - z6, h = y[i + 3 * PACK_ROWS] - z7;
        r[i] = (from[i] + a * a + b * b + c * c + d * d) + (e * e + f * f + g * g + h * h);
    }
}

void slice_sqdist(const tile *t, int64_t count, int64_t j, bool keep, real *r)
{
    const real *z = t->z + j * TILE_SLICE, *from = keep ? r : zeros;
    int64_t d = 0;
    for (; d + 4 < count; d += 8, from = r) add_eight(t->rows, t->x + d * PACK_ROWS, z + d, from, r);
    if (d < count || count == 0) add_four(t->rows, t->x + d * PACK_ROWS, z + d, from, r);
}
