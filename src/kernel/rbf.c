/* k = v exp(-r2/2).  Spectral density: N(0, 1/l^2). */
#include "kernel/draws.h"
#include "kernel/radial.h"
#include "kernel/vector.h"

static double define(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    return leaf_value(l, RADIAL_VARIANCE, 0) * exp(-radial_distance2(l, x, z) / 2);
}

static void frequency(const leaf *l, draws *r, double *w) { radial_normal_frequency(l, r, 1, w); }

static double precision(const leaf *l, double u, double *slope)
{
    (void)l, (void)u;
    return *slope = 0, 1;
}

const kernel_kind kind_rbf = {.name = "rbf",
                              .specs = {RADIAL_SPECS},
                              .define = define,
                              .tile = radial_tile,
                              .reverse = radial_reverse,
                              .frequency = frequency,
                              .precision = precision,
                              .profile = &profile_rbf,
                              .profile_f32 = &profile_rbf_f32};
