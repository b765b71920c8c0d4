/* r2_ij = sum_d (x_id/l_d - z_jd/l_d)^2 over the active dims, slice by slice. */
#include <string.h>

#include "kernel/radial.h"
#include "kernel/vector.h"

/* R[rows,cols] += the part of one slice, four dims at a time so that R is not reread for each. */
VECTORISED void slice_add_sqdist(const tile *t, int64_t count, double *R, int64_t ldr)
{
    const int64_t n = t->rows;
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t d = 0; d < count; d += 4) {
            const double *x = t->x + d * TILE_ROWS, *z = t->z + j * TILE_SLICE + d;
            double z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3], *r = R + j * ldr;
            SIMD for (int64_t i = 0; i < n; i++)
            {
                double a = x[i] - z0, b = x[i + TILE_ROWS] - z1;
                double c = x[i + 2 * TILE_ROWS] - z2, e = x[i + 3 * TILE_ROWS] - z3;
                r[i] += (a * a + b * b) + (c * c + e * e);
            }
        }
}

void tile_sqdist(const leaf *l, const tile *t, double *R, int64_t ldr)
{
    double inverse[TILE_SLICE];
    for (int64_t j = 0; j < t->cols; j++) memset(R + j * ldr, 0, (size_t)t->rows * sizeof *R);
    for (int64_t first = 0; first < l->n_dims; first += TILE_SLICE) {
        int64_t count = slice_length(l->n_dims, first);
        for (int64_t d = 0; d < count; d++) inverse[d] = 1 / leaf_value(l, RADIAL_LENGTH, first + d);
        slice_pack(l, t, first, count, inverse, LIMIT_DISTANCE);
        slice_add_sqdist(t, count, R, ldr);
    }
}
