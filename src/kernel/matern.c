/* Matern kernels of half-integer order, a = sqrt(2 nu) r:

       nu = 1/2   k = v exp(-a)                        dk/dr2 = -v exp(-a) / (2 r)
       nu = 3/2   k = v (1 + a) exp(-a)                dk/dr2 = -(3/2) v exp(-a)
       nu = 5/2   k = v (1 + a + a^2/3) exp(-a)        dk/dr2 = -(5/6) v (1 + a) exp(-a)

   At r = 0 the first has a kink in x but none in l: its slope is taken as 0 there, which gives 0 for both.
   Spectral density: Student t with 2 nu degrees of freedom, scale 1/l. */
#include "base/special.h"
#include "kernel/draws.h"
#include "kernel/radial.h"
#include "kernel/vector.h"

static double define12(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    return leaf_value(l, RADIAL_VARIANCE, 0) * exp(-sqrt(radial_distance2(l, x, z)));
}

static double define32(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    double a = sqrt(3 * radial_distance2(l, x, z));
    return leaf_value(l, RADIAL_VARIANCE, 0) * (1 + a) * exp(-a);
}

static double define52(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    double a = sqrt(5 * radial_distance2(l, x, z));
    return leaf_value(l, RADIAL_VARIANCE, 0) * (1 + a + a * a / 3) * exp(-a);
}

/* A normal over the root of an independent chi-square over its degrees of freedom. */
static void frequency(const leaf *l, draws *r, int freedom, double *w)
{
    double chi2 = 0;
    for (int i = 0; i < freedom; i++) {
        double z = draw_normal(r);
        chi2 += z * z;
    }
    radial_normal_frequency(l, r, sqrt(freedom / chi2), w);
}

static void frequency12(const leaf *l, draws *r, double *w) { frequency(l, r, 1, w); }
static void frequency32(const leaf *l, draws *r, double *w) { frequency(l, r, 3, w); }
static void frequency52(const leaf *l, draws *r, double *w) { frequency(l, r, 5, w); }

static double precision(int freedom, double u, double *slope)
{
    *slope = 0;
    return 0.5 * freedom / gamma_quantile(0.5 * freedom, u, NULL);
}

static double precision12(const leaf *l, double u, double *slope) { return (void)l, precision(1, u, slope); }
static double precision32(const leaf *l, double u, double *slope) { return (void)l, precision(3, u, slope); }
static double precision52(const leaf *l, double u, double *slope) { return (void)l, precision(5, u, slope); }

const kernel_kind kind_matern12 = {.name = "matern12",
                                   .specs = {RADIAL_SPECS},
                                   .define = define12,
                                   .tile = radial_tile,
                                   .reverse = radial_reverse,
                                   .frequency = frequency12,
                                   .precision = precision12,
                                   .profile = &profile_matern12,
                                   .profile_f32 = &profile_matern12_f32};

const kernel_kind kind_matern32 = {.name = "matern32",
                                   .specs = {RADIAL_SPECS},
                                   .define = define32,
                                   .tile = radial_tile,
                                   .reverse = radial_reverse,
                                   .frequency = frequency32,
                                   .precision = precision32,
                                   .profile = &profile_matern32,
                                   .profile_f32 = &profile_matern32_f32};

const kernel_kind kind_matern52 = {.name = "matern52",
                                   .specs = {RADIAL_SPECS},
                                   .define = define52,
                                   .tile = radial_tile,
                                   .reverse = radial_reverse,
                                   .frequency = frequency52,
                                   .precision = precision52,
                                   .profile = &profile_matern52,
                                   .profile_f32 = &profile_matern52_f32};
