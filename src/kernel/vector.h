/* Vector mathematics through the compiler.  A loop marked SIMD inside a function marked VECTORISED is compiled for
   AVX-512, AVX2 and the baseline, and the right one is chosen when the program is loaded; exp, log, sin and cos in it
   become calls of glibc's libmvec (at most 4 units in the last place off).  Elsewhere it is the same loop, scalar. */
#ifndef KERNEL_VECTOR_H
#define KERNEL_VECTOR_H

#include <math.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
/* glibc declares its vector variants only under -ffast-math, which we do not want. */
__attribute__((simd("notinbranch"))) double exp(double);
__attribute__((simd("notinbranch"))) double log(double);
__attribute__((simd("notinbranch"))) double sin(double);
__attribute__((simd("notinbranch"))) double cos(double);
#if __GLIBC_PREREQ(2, 35)
__attribute__((simd("notinbranch"))) double atan(double);
#endif
#if !defined(__SANITIZE_ADDRESS__) /* ifunc resolvers run before the sanitizer is ready */
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#endif

#ifndef VECTORISED
#define VECTORISED
#endif
#if defined(__clang__) /* warns of each loop it was asked to vectorise and did not */
#define SIMD
#define SIMD_SUM(...)
#else
#define SIMD _Pragma("omp simd")
#define SIMD_SUM(...) _Pragma(SIMD_TEXT(omp simd reduction(+ : __VA_ARGS__)))
#define SIMD_TEXT(...) #__VA_ARGS__
#endif

#define PI 3.14159265358979323846

static inline double at_most(double a, double b) { return a < b ? a : b; }
static inline double at_least(double a, double b) { return a > b ? a : b; }

/* exp(-a) for a >= 0, and 0 from a = 700 on.  The vector exp leaves its fast path where the result underflows, so it
   is never asked; the subtraction makes the tail an exact zero and is lost in rounding everywhere else. */
static inline double exp_minus(double a)
{
    double e = exp(-at_most(a, 700)) - 1e-304;
    return at_least(e, 0);
}

/* log(1+u) for u >= 0 to full relative accuracy from log alone (Kahan). */
static inline double log_one_plus(double u)
{
    double w = 1 + u, d = w - 1, safe = d > 0 ? d : 1;
    double exact = log(w) * (u / safe);
    return d > 0 ? exact : u;
}

/* u less its nearest integer, in [-1/2, 1/2]; 0 where u has no fraction left or is not finite. */
static inline double phase(double u)
{
    double f = u - rint(u);
    return f * f <= 0.25 ? f : 0;
}

#endif
