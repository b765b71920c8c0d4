/* Rational quadratic, s = 1 + r2/(2 alpha):
       k = v s^-alpha        dk/dr2 = -k/(2 s)        dk/dalpha = k ((s-1)/s - log s)
   It is a mixture of rbf kernels with Gamma(alpha, rate alpha) inverse squared length-scales; so is its density. */
#include "base/special.h"
#include "kernel/draws.h"
#include "kernel/radial.h"
#include "kernel/vector.h"

static double define(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    double alpha = leaf_value(l, RADIAL_SHAPE, 0), u = radial_distance2(l, x, z) / (2 * alpha);
    return leaf_value(l, RADIAL_VARIANCE, 0) * exp(-alpha * log1p(u));
}

static void prepare(const leaf *l, double *c) { c[0] = leaf_value(l, RADIAL_SHAPE, 0); }

static void frequency(const leaf *l, draws *r, double *w)
{
    double alpha = leaf_value(l, RADIAL_SHAPE, 0);
    double precision = draw_gamma(r, alpha) / alpha;
    radial_normal_frequency(l, r, sqrt(precision), w);
}

static double precision(const leaf *l, double u, double *slope)
{
    double alpha = leaf_value(l, RADIAL_SHAPE, 0), rise, x = gamma_quantile(alpha, u, &rise);
    *slope = (rise - x / alpha) / alpha;
    return x / alpha;
}

const kernel_kind kind_rq = {.name = "rq",
                             .specs = {RADIAL_SPECS, {"alpha", ROLE_SHAPE, PER_LEAF, 1, GROWS_NOT, false}},
                             .define = define,
                             .tile = radial_tile,
                             .reverse = radial_reverse,
                             .frequency = frequency,
                             .precision = precision,
                             .profile = &profile_rq,
                             .profile_f32 = &profile_rq_f32,
                             .constants = prepare};
