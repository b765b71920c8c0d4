/* The exponential of kernel/vector.h against the C library's in long double.  test_exp_f32.c is the same in float. */
#include "support.h"

#include <float.h>
#include <math.h>

#include "base/simd.h"
#include "kernel/vector.h"

#ifdef REAL_FLOAT
#define EPSILON FLT_EPSILON
#else
#define EPSILON DBL_EPSILON
#endif

enum { MANY = 400000 };
static real at[MANY], values[MANY];

VECTORISED static void all(int64_t n, const real *a, real *e)
{
    SIMD for (int64_t i = 0; i < n; i++) e[i] = exp_minus(a[i]);
}

/* Half of them near 0, where most values of kernels are. */
static void within_one_and_a_half_units_everywhere(void **state)
{
    (void)state;
    for (int64_t i = 0; i < MANY; i++) {
        double share = (double)(i / 2) / (MANY / 2);
        at[i] = (real)(share * (i % 2 ? 3 : 0.999 * REAL_UNDERFLOW));
    }
    all(MANY, at, values);
    for (int64_t i = 0; i < MANY; i++) {
        long double exact = expl(-(long double)at[i]);
        int power;
        frexpl(exact, &power);
        long double unit = ldexpl(EPSILON, power - 1); /* of the last place */
        if (!(fabsl(values[i] - exact) <= 1.5L * unit))
            fail_msg("exp(-%.17g): %.17g", (double)at[i], (double)values[i]);
    }
}

static void exactly_one_at_zero_and_zero_far_away(void **state)
{
    static const double far[] = {REAL_UNDERFLOW, 1.5 * REAL_UNDERFLOW, 1e6, 1e15, 1e30, INFINITY};
    enum { FAR = sizeof far / sizeof *far };
    (void)state;
    at[0] = 0;
    for (int i = 0; i < FAR; i++) at[1 + i] = (real)far[i];
    all(1 + FAR, at, values);
    assert_true(values[0] == 1);
    for (int i = 0; i < FAR; i++) assert_true(values[1 + i] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_one_and_a_half_units_everywhere),
                                       cmocka_unit_test(exactly_one_at_zero_and_zero_far_away)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
