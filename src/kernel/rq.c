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

VECTORISED static void value(const double *c, double v, int64_t n, double *r2)
{
    double alpha = c[0], half = 0.5 / alpha;
    SIMD for (int64_t i = 0; i < n; i++) r2[i] = v * exp_minus(alpha * log_one_plus(half * r2[i]));
}

VECTORISED static void slope(const double *c, double v, int64_t n, const double *g, double *r2, double *sum)
{
    double alpha = c[0], half = 0.5 / alpha, gk = 0, ga = 0;
    SIMD_SUM(gk, ga) for (int64_t i = 0; i < n; i++)
    {
        double u = half * r2[i], log_s = log_one_plus(u), k = g[i] * exp_minus(alpha * log_s);
        gk += k;
        ga += v * k * (u / (1 + u) - log_s);
        r2[i] = -0.5 * v * k / (1 + u);
    }
    sum[0] += gk;
    sum[1] += ga;
}

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

static const radial_profile profile = {.prepare = prepare, .value = value, .slope = slope};

const kernel_kind kind_rq = {.name = "rq",
                             .specs = {RADIAL_SPECS, {"alpha", ROLE_SHAPE, PER_LEAF, 1, GROWS_NOT, false}},
                             .define = define,
                             .tile = radial_tile,
                             .reverse = radial_reverse,
                             .frequency = frequency,
                             .precision = precision,
                             .profile = &profile};
