#include "support.h"

#include <string.h>

#include "params/adam.h"

enum { N = 4, STEPS = 300 };

/* The gradient of -sum_i (i+1) (x_i - i)^2 / 2, with a little noise that depends on the step alone. */
static void gradient_at(int64_t step, const double *x, double *g)
{
    fill_normal((uint64_t)step, N, g);
    for (int64_t i = 0; i < N; i++) g[i] = 0.01 * g[i] - (double)(i + 1) * (x[i] - (double)i);
}

static void run(adam *a, int64_t from, int64_t to, double *x)
{
    double g[N];
    for (int64_t step = from; step < to; step++) {
        gradient_at(step, x, g);
        adam_step(a, 0.05, g, x);
    }
}

/* The running means as the weighted sums over all past gradients that they stand for. */
static void steps_are_those_of_the_weighted_sums(void **state)
{
    (void)state;
    anygp_error e;
    adam a;
    enum { T = 25 };
    double g[T], x = 0.3, expected = 0.3;
    assert_int_equal(adam_init(&a, 1, &e), ANYGP_OK);
    fill_normal(1, T, g);
    for (int t = 0; t < T; t++) {
        long double first = 0, first_weight = 0, second = 0, second_weight = 0;
        for (int s = 0; s <= t; s++) {
            long double w = powl(0.9L, t - s), v = powl(0.999L, t - s);
            first += w * g[s], first_weight += w;
            second += v * g[s] * g[s], second_weight += v;
        }
        expected += (double)(0.1L * (first / first_weight) / (sqrtl(second / second_weight) + 1e-8L));
        adam_step(&a, 0.1, &g[t], &x);
        check_close(x, expected, 1e-12);
    }
    adam_clear(&a);
}

static void first_step_is_the_rate_towards_the_gradient(void **state)
{
    (void)state;
    anygp_error e;
    adam a;
    double g[N] = {1e-3, -4, 1e6, 0}, x[N] = {0};
    assert_int_equal(adam_init(&a, N, &e), ANYGP_OK);
    adam_step(&a, 0.01, g, x);
    check_close(x[0], 0.01 / (1 + 1e-5), 1e-12);
    check_close(x[1], -0.01, 1e-10);
    check_close(x[2], 0.01, 1e-10);
    assert_true(x[3] == 0);
    adam_clear(&a);
}

static void ascends_a_concave_function(void **state)
{
    (void)state;
    anygp_error e;
    adam a;
    double x[N] = {1, 1, 1, 1};
    assert_int_equal(adam_init(&a, N, &e), ANYGP_OK);
    run(&a, 0, STEPS, x);
    for (int i = 0; i < N; i++) check_close(x[i], i, 0.02);
    adam_clear(&a);
}

static void restored_run_has_the_same_bits(void **state)
{
    (void)state;
    anygp_error e;
    adam whole, first, second;
    double x[N] = {1, 1, 1, 1}, z[N] = {1, 1, 1, 1};
    assert_int_equal(adam_init(&whole, N, &e), ANYGP_OK);
    assert_int_equal(adam_init(&first, N, &e), ANYGP_OK);
    assert_int_equal(adam_init(&second, N, &e), ANYGP_OK);
    run(&whole, 0, STEPS, x);
    run(&first, 0, 77, z);
    second.age[0] = first.age[0];
    memcpy(second.first, first.first, sizeof z);
    memcpy(second.second, first.second, sizeof z);
    run(&second, 77, STEPS, z);
    assert_memory_equal(x, z, sizeof x);
    adam_clear(&whole);
    adam_clear(&first);
    adam_clear(&second);
}

static void coordinate_without_a_finite_gradient_rests(void **state)
{
    (void)state;
    anygp_error e;
    adam a, b;
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e200};
    double x[2] = {1, 1}, alone = 1;
    assert_int_equal(adam_init(&a, 2, &e), ANYGP_OK);
    assert_int_equal(adam_init(&b, 1, &e), ANYGP_OK);
    for (int k = 0; k < 4; k++) {
        double g[2] = {bad[k], 2.0 - k};
        adam_step(&a, 0.1, g, x);
        adam_step(&b, 0.1, &g[1], &alone);
        assert_true(x[0] == 1 && x[1] == alone);
    }
    adam_step(&a, 0.1, (double[]){1, 0}, x); /* and moves again */
    assert_true(x[0] > 1 && isfinite(x[0]));
    adam_clear(&a);
    adam_clear(&b);
    adam_clear(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_those_of_the_weighted_sums),
        cmocka_unit_test(first_step_is_the_rate_towards_the_gradient),
        cmocka_unit_test(ascends_a_concave_function),
        cmocka_unit_test(restored_run_has_the_same_bits),
        cmocka_unit_test(coordinate_without_a_finite_gradient_rests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
