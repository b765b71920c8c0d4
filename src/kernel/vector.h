/* Vector mathematics through the compiler: log, sin and cos in a loop as base/simd.h has them become calls of glibc's libmvec (at most
   4 units in the last place off); exp of numbers below 0 is our own. */
#ifndef KERNEL_VECTOR_H
#define KERNEL_VECTOR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/constants.h"
#include "base/simd.h"

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
/* glibc declares its vector variants only under -ffast-math, which we do not want. */
__attribute__((simd("notinbranch"))) double log(double);
__attribute__((simd("notinbranch"))) double sin(double);
__attribute__((simd("notinbranch"))) double cos(double);
__attribute__((simd("notinbranch"))) float logf(float);
#if __GLIBC_PREREQ(2, 35)
__attribute__((simd("notinbranch"))) double atan(double);
#endif
#endif

#include "kernel/real.h"

#ifdef REAL_FLOAT /* after the declarations */
#define log logf
#define sqrt sqrtf
#endif

static inline real at_most(real a, real b) { return a < b ? a : b; }
static inline real at_least(real a, real b) { return a > b ? a : b; }

/* exp(x) for x from -REAL_UNDERFLOW to 0: 2^n exp(r) with n = x/log 2 rounded, |r| <= log(2)/2 and exp(r) = 1 + r + r^2 q(r), q the
   polynomial that minimises the largest relative error (3e-18; 5e-11 in float); at most 1.5 units in the last place off, half a unit on average.
   libmvec's exp is off by up to 4, and in float for AVX2 on average by 0.15 to one side, which sums over rows do not average away; this
   one is inlined and takes about half its time.  Adding 1.5 2^52 (2^23 in float) rounds to an integer and leaves it in the lowest bits; log 2 is in two
   parts, the first with so few bits that its product with n is exact. */
#ifdef REAL_FLOAT
static inline float exp_reduced(float x)
{
    const float round = 12582912;
    float s = x * 1.44269504f + round, n = s - round, r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float q = 0.0416662917f + r * (0.00833349861f + r * (0.00139448687f + r * 0.000197901347f));
    float e = 1 + (r + r * r * (0.5f + r * (0.166666657f + r * q)));
    uint32_t bits, power;
    memcpy(&bits, &e, sizeof bits);
    memcpy(&power, &s, sizeof power);
    bits += power << 23;
    memcpy(&e, &bits, sizeof e);
    return e;
}
#else
static inline double exp_reduced(double x)
{
    const double round = 6755399441055744;
    double s = x * 1.4426950408889634 + round, n = s - round;
    double r = x - n * 0.6931471803691238 - n * 1.9082149292705877e-10, r2 = r * r, r4 = r2 * r2;
    double low = 0.50000000000000111 + r * 0.1666666666666641 + r2 * (0.041666666666529725 + r * 0.0083333333334949505);
    double middle =
        0.0013888888943760728 + r * 0.00019841269505819435 + r2 * (2.480149294883219e-05 + r * 2.7557586774481294e-06);
    double e = 1 + (r + r2 * (low + r4 * (middle + r4 * (2.7630306524229548e-07 + r * 2.5000024457034368e-08))));
    uint64_t bits, power;
    memcpy(&bits, &e, sizeof bits);
    memcpy(&power, &s, sizeof power);
    bits += power << 52;
    memcpy(&e, &bits, sizeof e);
    return e;
}
#endif

/* 2^-a for a >= 0, and 0 from a = REAL_POW2_LEAST on: 2^n 2^-t with n the integer next to -a.  What is left, t, is exact, and a factor log2(e)
   is the caller's, who has it in what a is made of: so a multiplication and two operations fewer than exp_minus.  2^-t = 1 + t q(t), q the polynomial that
   minimises the largest relative error (5e-18; 3e-10 in float); at most 1.5 units in the last place off, as exp_minus. */
#ifdef REAL_FLOAT
static inline float pow2_minus(float a)
{
    const float round = 12582912;
    float s = round - a, t = a + (s - round), t2 = t * t;
    float odd = -0.69314718f + t2 * (-0.0555040501f + t2 * (-0.00133378268f + t2 * -1.43587867e-05f));
    float even = 0.240226507f + t2 * (0.00961808674f + t2 * 0.000154520982f);
    float e = 1 + t * (odd + t * even);
    uint32_t bits, power;
    memcpy(&bits, &e, sizeof bits);
    memcpy(&power, &s, sizeof power);
    bits += power << 23;
    memcpy(&e, &bits, sizeof e);
    return a < REAL_POW2_LEAST ? e : 0;
}
#else
static inline double pow2_minus(double a)
{
    const double round = 6755399441055744;
    double s = round - a, t = a + (s - round), t2 = t * t;
    double odd = -0.05550410866482172 +
                 t2 * (-0.0013333558146545585 +
                       t2 * (-1.5252733634603172e-05 + t2 * (-1.0178159807764778e-07 + t2 * -4.438895837404371e-10)));
    double even = 0.24022650695910108 +
                  t2 * (0.009618129107601597 +
                        t2 * (0.0001540353044904703 + t2 * (1.321543883030637e-06 + t2 * 7.073233983615063e-09)));
    double e = 1 + t * (-0.6931471805599453 + (t2 * odd + t * even));
    uint64_t bits, power;
    memcpy(&bits, &e, sizeof bits);
    memcpy(&power, &s, sizeof power);
    bits += power << 52;
    memcpy(&e, &bits, sizeof e);
    return a < REAL_POW2_LEAST ? e : 0;
}
#endif

/* exp(-a) for a >= 0, and 0 from a = 700 on (87 in float), where exp_reduced(-a) is no number to be used. */
static inline real exp_minus(real a)
{
    real e = exp_reduced(-a);
    return a < REAL_UNDERFLOW ? e : 0;
}

/* log(1+u) for u >= 0 to full relative accuracy from log alone (Kahan). */
static inline real log_one_plus(real u)
{
    real w = 1 + u, d = w - 1, safe = d > 0 ? d : 1;
    real exact = log(w) * (u / safe);
    return d > 0 ? exact : u;
}

#ifndef REAL_FLOAT
/* u minus its nearest integer, in [-1/2, 1/2]; 0 where u has no fraction left or is not finite. */
static inline double phase(double u)
{
    double f = u - rint(u);
    return f * f <= 0.25 ? f : 0;
}
#endif

#endif
