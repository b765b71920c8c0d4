/* Vector mathematics through the compiler: exp, log, sin and cos in a loop as base/simd.h has them become calls of glibc's
   libmvec (at most 4 units in the last place off). */
#ifndef KERNEL_VECTOR_H
#define KERNEL_VECTOR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/constants.h"
#include "base/simd.h"

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
/* glibc declares its vector variants only under -ffast-math, which we do not want. */
__attribute__((simd("notinbranch"))) double exp(double);
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
#define exp exp_f32
#define log logf
#define sqrt sqrtf
#endif

static inline real at_most(real a, real b) { return a < b ? a : b; }
static inline real at_least(real a, real b) { return a > b ? a : b; }

#ifdef REAL_FLOAT
/* exp(x) for -87 <= x <= 0: 2^n exp(r) with n = x/log 2 rounded, |r| <= log(2)/2, and a polynomial that is off by less than 1e-10.
   libmvec's float exp for AVX2 is biased by 0.15 units in the last place, the same way for all rows, which sums over rows do not
   average away; this one is not, and takes half the time.  Adding 1.5 2^23 rounds to an integer and leaves it in the lowest bits. */
static inline float exp_f32(float x)
{
    const float log_2_high = 0.693359375f, log_2_low = -2.12194440e-4f, round = 12582912;
    float s = x * 1.44269504f + round, n = s - round, r = x - n * log_2_high - n * log_2_low;
    float q = 0.0416662917f + r * (0.00833349861f + r * (0.00139448687f + r * 0.000197901347f));
    float e = 1 + (r + r * r * (0.5f + r * (0.166666657f + r * q)));
    uint32_t bits, power;
    memcpy(&bits, &e, sizeof bits);
    memcpy(&power, &s, sizeof power);
    bits += power << 23;
    memcpy(&e, &bits, sizeof e);
    return e;
}
#endif

/* exp(-a) for a >= 0, and 0 from a = 700 on (87 in float).  The vector exp leaves its fast path where the result underflows, so that
   is avoided; the subtraction makes the tail an exact zero and is lost in rounding everywhere else. */
static inline real exp_minus(real a)
{
    real e = exp(-at_most(a, REAL_UNDERFLOW)) - (real)REAL_TAIL;
    return at_least(e, 0);
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
