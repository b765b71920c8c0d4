/* Shared by the unit tests: cmocka, closeness, seeded numbers and central differences. */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"

/* |a - b| <= tolerance * max(1, |a|, |b|); prints both when they differ. */
static inline void check_close_at(double a, double b, double tolerance, const char *what, const char *file, int line)
{
    double scale = fmax(1, fmax(fabs(a), fabs(b)));
    if (fabs(a - b) <= tolerance * scale) return;
    print_error("%s:%d: %s: %.17g and %.17g differ by %.3g\n", file, line, what, a, b, fabs(a - b));
    _fail(file, line);
}
#define check_close(a, b, tolerance) check_close_at((a), (b), (tolerance), #a " == " #b, __FILE__, __LINE__)

/* Deterministic normals, one stream a test. */
static inline void fill_normal(uint64_t stream, int64_t n, double *x)
{
    random_stream s = {.seed = 42, .use = RANDOM_TEST, .sub = stream};
    for (int64_t i = 0; i < n; i++) x[i] = random_normal(s, (uint64_t)i);
}

/* Central difference of f along coordinate i of x; x is restored. */
static inline double central_difference(double (*f)(void *, const double *), void *ctx, double *x, int64_t i, double h)
{
    double x0 = x[i];
    x[i] = x0 + h;
    double up = f(ctx, x);
    x[i] = x0 - h;
    double down = f(ctx, x);
    x[i] = x0;
    return (up - down) / (2 * h);
}

#endif
