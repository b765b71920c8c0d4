/* Vector mathematics through the compiler: exp, log, sin and cos in a loop as base/simd.h has them become calls of glibc's
   libmvec (at most 4 units in the last place off). */
#ifndef KERNEL_VECTOR_H
#define KERNEL_VECTOR_H

#include <math.h>
#include <stdint.h>

#include "base/constants.h"
#include "base/simd.h"

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
/* glibc declares its vector variants only under -ffast-math, which we do not want. */
__attribute__((simd("notinbranch"))) double exp(double);
__attribute__((simd("notinbranch"))) double log(double);
__attribute__((simd("notinbranch"))) double sin(double);
__attribute__((simd("notinbranch"))) double cos(double);
__attribute__((simd("notinbranch"))) float expf(float);
__attribute__((simd("notinbranch"))) float logf(float);
#if __GLIBC_PREREQ(2, 35)
__attribute__((simd("notinbranch"))) double atan(double);
#endif
#endif

#include "kernel/real.h"

#ifdef REAL_FLOAT /* after the declarations */
#define exp expf
#define log logf
#define sqrt sqrtf
#endif

static inline real at_most(real a, real b) { return a < b ? a : b; }
static inline real at_least(real a, real b) { return a > b ? a : b; }

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
