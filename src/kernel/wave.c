/* Products of cosines and their derivatives (wave.h). */
#include "kernel/wave.h"

#include "kernel/kind.h"
#include "kernel/vector.h"

static inline double not_zero(double c) { return c == 0 ? 1e-300 : c; }

VECTORISED void wave_multiply(int64_t n, const double *x, double z, double f, double *C)
{
    SIMD for (int64_t i = 0; i < n; i++) C[i] *= not_zero(cos(2 * PI * phase((x[i] - z) * f)));
}

/* Sine and cosine of one argument in one loop would become a call that has no vector form. */
VECTORISED static void tangents(int64_t n, const double *x, double z, double f, double *tangent)
{
    SIMD for (int64_t i = 0; i < n; i++) tangent[i] = sin(2 * PI * phase((x[i] - z) * f));
    SIMD for (int64_t i = 0; i < n; i++) tangent[i] /= not_zero(cos(2 * PI * phase((x[i] - z) * f)));
}

VECTORISED void wave_pull(int64_t n, const double *B, const double *x, double z, double f, double *gx, wave_sums *s)
{
    double moment = 0, slope = 0, tangent[TILE_ROWS];
    tangents(n, x, z, f, tangent);
    SIMD_SUM(moment, slope) for (int64_t i = 0; i < n; i++)
    {
        double b = -2 * PI * B[i] * tangent[i];
        moment += b * (x[i] - z);
        slope += b;
        gx[i] += f * b;
    }
    s->moment += moment, s->slope += slope;
}
