/* The functions of distance and their slopes, in double and in float (real.h); formulas are in the file of each kernel. */
#include "kernel/radial.h"
#include "kernel/vector.h"

#define HALF ((real)0.5)
#define LOG2_E 1.4426950408889634074 /* 1/log 2: exp(-a) = 2^(-a LOG2_E) */
#define LN2 ((real)0.69314718055994530942)
#define LN2_SQUARE ((real)0.48045301391820142467)

/* --------------------------------------------------------------------------------------------- rbf */

#define STRETCH_RBF 0.84932180028801904272 /* sqrt(LOG2_E/2): exp(-r2/2) = 2^-q */

VECTORISED static void value_rbf(const double *c, real v, int64_t n, real *q)
{
    (void)c;
    SIMD for (int64_t i = 0; i < n; i++) q[i] = v * pow2_minus(q[i]);
}

VECTORISED static void slope_rbf(const double *c, real v, int64_t n, const real *g, real *q, double *sum)
{
    (void)c;
    real gk = 0, f = -LN2 * v;
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        real k = g[i] * pow2_minus(q[i]);
        gk += k;
        q[i] = f * k;
    }
    sum[0] += gk;
}

/* ------------------------------------------------------------------------------------------ matern */

/* sqrt(2 nu) LOG2_E: with s = sqrt(q) the exponential is 2^-s, and a = LN2 s. */
#define STRETCH_MATERN12 LOG2_E
#define STRETCH_MATERN32 (1.7320508075688772935 * LOG2_E)
#define STRETCH_MATERN52 (2.2360679774997896964 * LOG2_E)

VECTORISED static void value_matern12(const double *c, real v, int64_t n, real *q)
{
    (void)c;
    SIMD for (int64_t i = 0; i < n; i++) q[i] = v * pow2_minus(sqrt(q[i]));
}

VECTORISED static void value_matern32(const double *c, real v, int64_t n, real *q)
{
    (void)c;
    SIMD for (int64_t i = 0; i < n; i++)
    {
        real s = sqrt(q[i]);
        q[i] = v * (1 + LN2 * s) * pow2_minus(s);
    }
}

VECTORISED static void value_matern52(const double *c, real v, int64_t n, real *q)
{
    (void)c;
    SIMD for (int64_t i = 0; i < n; i++)
    {
        real s = sqrt(q[i]);
        q[i] = v * (1 + s * (LN2 + s * (LN2_SQUARE / 3))) * pow2_minus(s);
    }
}

VECTORISED static void slope_matern12(const double *c, real v, int64_t n, const real *g, real *q, double *sum)
{
    (void)c;
    real gk = 0, f = -HALF * LN2 * v;
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        real s = sqrt(q[i]), k = g[i] * pow2_minus(s), safe = s > 0 ? s : 1;
        real w = f * k / safe;
        gk += k;
        q[i] = s > 0 ? w : 0;
    }
    sum[0] += gk;
}

VECTORISED static void slope_matern32(const double *c, real v, int64_t n, const real *g, real *q, double *sum)
{
    (void)c;
    real gk = 0, f = -HALF * LN2_SQUARE * v;
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        real s = sqrt(q[i]), e = g[i] * pow2_minus(s);
        gk += (1 + LN2 * s) * e;
        q[i] = f * e;
    }
    sum[0] += gk;
}

VECTORISED static void slope_matern52(const double *c, real v, int64_t n, const real *g, real *q, double *sum)
{
    (void)c;
    real gk = 0, f = -LN2_SQUARE / 6 * v;
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        real s = sqrt(q[i]), e = g[i] * pow2_minus(s), first = e + LN2 * s * e;
        gk += first + s * s * (LN2_SQUARE / 3) * e;
        q[i] = f * first;
    }
    sum[0] += gk;
}

/* ---------------------------------------------------------------------------------------------- rq */

VECTORISED static void value_rq(const double *c, real v, int64_t n, real *q)
{
    real alpha = (real)c[0], half = HALF / alpha;
    SIMD for (int64_t i = 0; i < n; i++) q[i] = v * exp_minus(alpha * log_one_plus(half * q[i]));
}

VECTORISED static void slope_rq(const double *c, real v, int64_t n, const real *g, real *q, double *sum)
{
    real alpha = (real)c[0], half = HALF / alpha, gk = 0, ga = 0;
    SIMD_SUM(gk, ga) for (int64_t i = 0; i < n; i++)
    {
        real u = half * q[i], log_s = log_one_plus(u), k = g[i] * exp_minus(alpha * log_s);
        gk += k;
        ga += v * k * (u / (1 + u) - log_s);
        q[i] = -HALF * v * k / (1 + u);
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

VECTORISED static void value_wendland(const double *c, real v, int64_t n, real *q)
{
    real e = (real)c[WENDLAND_E], p1 = (real)c[WENDLAND_P + 1], p2 = (real)c[WENDLAND_P + 2],
         p3 = (real)c[WENDLAND_P + 3];
    SIMD for (int64_t i = 0; i < n; i++)
    {
        real r = at_most(sqrt(q[i]), 1);
        q[i] = v * power_inside(r, e) * (1 + r * (p1 + r * (p2 + r * p3)));
    }
}

VECTORISED static void slope_wendland(const double *c, real v, int64_t n, const real *g, real *q, double *sum)
{
    real e = (real)c[WENDLAND_E], p1 = (real)c[WENDLAND_P + 1], p2 = (real)c[WENDLAND_P + 2],
         p3 = (real)c[WENDLAND_P + 3], gk = 0;
    real q0 = (real)c[WENDLAND_Q], q1 = (real)c[WENDLAND_Q + 1], q2 = (real)c[WENDLAND_Q + 2];
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        real r = at_most(sqrt(q[i]), 1), below = g[i] * power_inside(r, e - 1);
        gk += below * (1 - r) * (1 + r * (p1 + r * (p2 + r * p3)));
        q[i] = HALF * v * below * (q0 + r * (q1 + r * q2));
    }
    sum[0] += gk;
}

/* q = 0: e = 1 in one dim, where (1-r)^0 is the support itself. */
VECTORISED static void slope_wendland0(const double *c, real v, int64_t n, const real *g, real *q, double *sum)
{
    real e = (real)c[WENDLAND_E], gk = 0;
    SIMD_SUM(gk) for (int64_t i = 0; i < n; i++)
    {
        real r = at_most(sqrt(q[i]), 1), safe = r > 0 ? r : 1, below = g[i] * power_inside(r, e - 1);
        real w = -HALF * v * e * below / safe;
        gk += below * (1 - r);
        q[i] = r > 0 ? w : 0;
    }
    sum[0] += gk;
}

/* ------------------------------------------------------------------------------------------- tables */

const radial_profile profile_rbf = {STRETCH_RBF, value_rbf, slope_rbf};
const radial_profile profile_matern12 = {STRETCH_MATERN12, value_matern12, slope_matern12};
const radial_profile profile_matern32 = {STRETCH_MATERN32, value_matern32, slope_matern32};
const radial_profile profile_matern52 = {STRETCH_MATERN52, value_matern52, slope_matern52};
const radial_profile profile_rq = {1, value_rq, slope_rq};
const radial_profile profile_wendland0 = {1, value_wendland, slope_wendland0};
const radial_profile profile_wendland = {1, value_wendland, slope_wendland};
