/* r2_ij = sum_d (x_id/l_d - z_jd/l_d)^2 over the active dims, slice by slice. */
#include "kernel/radial.h"
#include "kernel/vector.h"

/* Eight dims at a time where there are as many, so that r is not reread for each. */
VECTORISED void slice_add_sqdist(const tile *t, int64_t count, int64_t j, double *r)
{
    const int64_t n = t->rows;
    int64_t d = 0;
    for (; d + 4 < count; d += 8) {
        const double *x = t->x + d * TILE_ROWS, *y = x + 4 * TILE_ROWS, *z = t->z + j * TILE_SLICE + d;
        double z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3], z4 = z[4], z5 = z[5], z6 = z[6], z7 = z[7];
        SIMD for (int64_t i = 0; i < n; i++)
        {
            double a = x[i] - z0, b = x[i + TILE_ROWS] - z1;
            double c = x[i + 2 * TILE_ROWS] - z2, e = x[i + 3 * TILE_ROWS] - z3;
            double f = y[i] - z4, g = y[i + TILE_ROWS] - z5;
            double h = y[i + 2 * TILE_ROWS] - z6, k = y[i + 3 * TILE_ROWS] - z7;
            r[i] += ((a * a + b * b) + (c * c + e * e)) + ((f * f + g * g) + (h * h + k * k));
        }
    }
    if (d >= count) return;
    const double *x = t->x + d * TILE_ROWS, *z = t->z + j * TILE_SLICE + d;
    double z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3];
    SIMD for (int64_t i = 0; i < n; i++)
    {
        double a = x[i] - z0, b = x[i + TILE_ROWS] - z1;
        double c = x[i + 2 * TILE_ROWS] - z2, e = x[i + 3 * TILE_ROWS] - z3;
        r[i] += (a * a + b * b) + (c * c + e * e);
    }
}
