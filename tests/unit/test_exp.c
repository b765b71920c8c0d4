/* The exponentials of kernel/vector.h against the C library's in long double.  test_exp_f32.c is the same in float. */
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

VECTORISED static void all_powers(int64_t n, const real *a, real *e)
{
    SIMD for (int64_t i = 0; i < n; i++) e[i] = pow2_minus(a[i]);
}

/* Half of them near 0, where most values of kernels are. */
static void spread(double least)
{
    for (int64_t i = 0; i < MANY; i++) {
        double share = (double)(i / 2) / (MANY / 2);
        at[i] = (real)(share * (i % 2 ? 3 : 0.999 * least));
    }
}

static void check_units(long double (*exact_of)(long double))
{
    for (int64_t i = 0; i < MANY; i++) {
        long double exact = exact_of(-(long double)at[i]);
        int power;
        frexpl(exact, &power);
        long double unit = ldexpl(EPSILON, power - 1); /* of the last place */
        if (!(fabsl(values[i] - exact) <= 1.5L * unit)) fail_msg("at -%.17g: %.17g", (double)at[i], (double)values[i]);
    }
}

static void within_one_and_a_half_units_everywhere(void **state)
{
    (void)state;
    spread(REAL_UNDERFLOW);
    all(MANY, at, values);
    check_units(expl);
}

static void powers_of_two_within_one_and_a_half_units_everywhere(void **state)
{
    (void)state;
    spread(REAL_POW2_LEAST);
    all_powers(MANY, at, values);
    check_units(exp2l);
}

static void exactly_one_at_zero_and_zero_far_away(void **state)
{
    static const double far[] = {1, 1.5, 1e6, 1e15, 1e30, INFINITY};
    enum { FAR = sizeof far / sizeof *far };
    void (*const both[])(int64_t, const real *, real *) = {all, all_powers};
    const double from[] = {REAL_UNDERFLOW, REAL_POW2_LEAST};
    (void)state;
    for (int f = 0; f < 2; f++) {
        at[0] = 0;
        for (int i = 0; i < FAR; i++) at[1 + i] = (real)(far[i] < 2 ? far[i] * from[f] : far[i]);
        both[f](1 + FAR, at, values);
        assert_true(values[0] == 1);
        for (int i = 0; i < FAR; i++) assert_true(values[1 + i] == 0);
    }
}

static void powers_of_two_are_exact_at_whole_numbers(void **state)
{
    (void)state;
    for (int i = 0; i < REAL_POW2_LEAST; i++) at[i] = (real)i;
    all_powers(REAL_POW2_LEAST, at, values);
    for (int i = 0; i < REAL_POW2_LEAST; i++) assert_true(values[i] == ldexp(1, -i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_one_and_a_half_units_everywhere),
                                       cmocka_unit_test(powers_of_two_within_one_and_a_half_units_everywhere),
                                       cmocka_unit_test(powers_of_two_are_exact_at_whole_numbers),
                                       cmocka_unit_test(exactly_one_at_zero_and_zero_far_away)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
