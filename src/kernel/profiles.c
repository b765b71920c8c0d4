/* The functions of distance and their slopes, in double and in float (real.h); formulas are in the file of each kernel. */
#include "kernel/radial.h"
#include "kernel/vector.h"

#define HALF ((real)0.5)
#define THIRD ((real)(1.0 / 3))
#define ROOT3 ((real)1.7320508075688772935)
#define ROOT5 ((real)2.2360679774997896964)

/* --------------------------------------------------------------------------------------------- rbf */

VECTORISED static void value_rbf(const double *c, real v, int64_t n, real *r2)
{
    (void)c;
    SIMD for (int64_t i = 0; i < n; i++) r2[i] = v * exp_minus(HALF * r2[i]);
}

VECTORISED static void slope_rbf(const double *c, real v, int64_t n, const real *g, real *r2, double *sum)
{
    (void)c;
    real gk = 0;
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        real k = g[i] * exp_minus(HALF * r2[i]);
        gk += k;
        r2[i] = -HALF * v * k;
    }
    sum[0] += gk;
}

/* ------------------------------------------------------------------------------------------ matern */

VECTORISED static void value_matern12(const double *c, real v, int64_t n, real *r2)
{
    (void)c;
    SIMD for (int64_t i = 0; i < n; i++) r2[i] = v * exp_minus(sqrt(r2[i]));
}

VECTORISED static void value_matern32(const double *c, real v, int64_t n, real *r2)
{
    (void)c;
    SIMD for (int64_t i = 0; i < n; i++)
    {
        real a = ROOT3 * sqrt(r2[i]);
        r2[i] = v * (1 + a) * exp_minus(a);
    }
}

VECTORISED static void value_matern52(const double *c, real v, int64_t n, real *r2)
{
    (void)c;
    SIMD for (int64_t i = 0; i < n; i++)
    {
        real a = ROOT5 * sqrt(r2[i]);
        r2[i] = v * (1 + a + a * a * THIRD) * exp_minus(a);
    }
}

VECTORISED static void slope_matern12(const double *c, real v, int64_t n, const real *g, real *r2, double *sum)
{
    (void)c;
    real gk = 0;
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        real r = sqrt(r2[i]), k = g[i] * exp_minus(r), safe = r > 0 ? r : 1;
        real w = -HALF * v * k / safe;
        gk += k;
        r2[i] = r > 0 ? w : 0;
    }
    sum[0] += gk;
}

VECTORISED static void slope_matern32(const double *c, real v, int64_t n, const real *g, real *r2, double *sum)
{
    (void)c;
    real gk = 0;
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        real a = ROOT3 * sqrt(r2[i]), e = g[i] * exp_minus(a);
        gk += (1 + a) * e;
        r2[i] = -3 * HALF * v * e;
    }
    sum[0] += gk;
}

VECTORISED static void slope_matern52(const double *c, real v, int64_t n, const real *g, real *r2, double *sum)
{
    (void)c;
    real gk = 0;
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        real a = ROOT5 * sqrt(r2[i]), e = g[i] * exp_minus(a);
        gk += (1 + a + a * a * THIRD) * e;
        r2[i] = -(real)(5.0 / 6) * v * (1 + a) * e;
    }
    sum[0] += gk;
}

/* ---------------------------------------------------------------------------------------------- rq */

VECTORISED static void value_rq(const double *c, real v, int64_t n, real *r2)
{
    real alpha = (real)c[0], half = HALF / alpha;
    SIMD for (int64_t i = 0; i < n; i++) r2[i] = v * exp_minus(alpha * log_one_plus(half * r2[i]));
}

VECTORISED static void slope_rq(const double *c, real v, int64_t n, const real *g, real *r2, double *sum)
{
    real alpha = (real)c[0], half = HALF / alpha, gk = 0, ga = 0;
    SIMD_SUM(gk, ga) for (int64_t i = 0; i < n; i++)
    {
        real u = half * r2[i], log_s = log_one_plus(u), k = g[i] * exp_minus(alpha * log_s);
        gk += k;
        ga += v * k * (u / (1 + u) - log_s);
        r2[i] = -HALF * v * k / (1 + u);
    }
    sum[0] += gk;
    sum[1] += ga;
}

/* ---------------------------------------------------------------------------------------- wendland */

/* (1-r)^e for r < 1, else 0. */
static inline real power_inside(real r, real e)
{
    real t = 1 - r;
    return t > 0 ? exp_minus(-e * log(at_least(t, REAL_TINY))) : 0;
}

VECTORISED static void value_wendland(const double *c, real v, int64_t n, real *r2)
{
    real e = (real)c[WENDLAND_E], p1 = (real)c[WENDLAND_P + 1], p2 = (real)c[WENDLAND_P + 2],
         p3 = (real)c[WENDLAND_P + 3];
    SIMD for (int64_t i = 0; i < n; i++)
    {
        real r = at_most(sqrt(r2[i]), 1);
        r2[i] = v * power_inside(r, e) * (1 + r * (p1 + r * (p2 + r * p3)));
    }
}

VECTORISED static void slope_wendland(const double *c, real v, int64_t n, const real *g, real *r2, double *sum)
{
    real e = (real)c[WENDLAND_E], p1 = (real)c[WENDLAND_P + 1], p2 = (real)c[WENDLAND_P + 2],
         p3 = (real)c[WENDLAND_P + 3], gk = 0;
    real q0 = (real)c[WENDLAND_Q], q1 = (real)c[WENDLAND_Q + 1], q2 = (real)c[WENDLAND_Q + 2];
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        real r = at_most(sqrt(r2[i]), 1), below = g[i] * power_inside(r, e - 1);
        gk += below * (1 - r) * (1 + r * (p1 + r * (p2 + r * p3)));
        r2[i] = HALF * v * below * (q0 + r * (q1 + r * q2));
    }
    sum[0] += gk;
}

/* q = 0: e = 1 in one dim, where (1-r)^0 is the support itself. */
VECTORISED static void slope_wendland0(const double *c, real v, int64_t n, const real *g, real *r2, double *sum)
{
    real e = (real)c[WENDLAND_E], gk = 0;
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        real r = at_most(sqrt(r2[i]), 1), safe = r > 0 ? r : 1, below = g[i] * power_inside(r, e - 1);
        real w = -HALF * v * e * below / safe;
        gk += below * (1 - r);
        r2[i] = r > 0 ? w : 0;
    }
    sum[0] += gk;
}

/* ------------------------------------------------------------------------------------------- tables */

const radial_profile profile_rbf = {value_rbf, slope_rbf};
const radial_profile profile_matern12 = {value_matern12, slope_matern12};
const radial_profile profile_matern32 = {value_matern32, slope_matern32};
const radial_profile profile_matern52 = {value_matern52, slope_matern52};
const radial_profile profile_rq = {value_rq, slope_rq};
const radial_profile profile_wendland0 = {value_wendland, slope_wendland0};
const radial_profile profile_wendland = {value_wendland, slope_wendland};
