/* k = v exp(-r2/2).  Spectral density: N(0, 1/l^2). */
#include "kernel/draws.h"
#include "kernel/radial.h"
#include "kernel/vector.h"

static double define(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    return leaf_value(l, RADIAL_VARIANCE, 0) * exp(-radial_distance2(l, x, z) / 2);
}

VECTORISED static void value(const double *c, double v, int64_t n, double *r2)
{
    (void)c;
    SIMD for (int64_t i = 0; i < n; i++) r2[i] = v * exp_minus(0.5 * r2[i]);
}

VECTORISED static void slope(const double *c, double v, int64_t n, const double *g, double *r2, double *sum)
{
    (void)c;
    double gk = 0;
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        double k = g[i] * exp_minus(0.5 * r2[i]);
        gk += k;
        r2[i] = -0.5 * v * k;
    }
    sum[0] += gk;
}

static void frequency(const leaf *l, draws *r, double *w) { radial_normal_frequency(l, r, 1, w); }

static double precision(const leaf *l, double u, double *slope)
{
    (void)l, (void)u;
    return *slope = 0, 1;
}

static const radial_profile profile = {.value = value, .slope = slope};

const kernel_kind kind_rbf = {.name = "rbf",
                              .specs = {RADIAL_SPECS},
                              .define = define,
                              .tile = radial_tile,
                              .reverse = radial_reverse,
                              .frequency = frequency,
                              .precision = precision,
                              .profile = &profile};
