#include "support.h"

#include <string.h>

#include "run/lbfgs.h"

enum { MAX_N = 50 };

/* An objective with its count of calls; `stop_at` asks to stop at that call. */
typedef struct objective {
    int64_t n, calls, stop_at, iterations, line_searches;
    double (*f)(int64_t n, const double *x, double *g);
} objective;

static int evaluate(void *ctx, const double *x, double *f, double *g)
{
    objective *o = ctx;
    if (++o->calls == o->stop_at) return 1;
    *f = o->f(o->n, x, g);
    return 0;
}

static void count_line_search(void *ctx, const double *x)
{
    (void)x;
    ((objective *)ctx)->line_searches++;
}

static int count_iteration(void *ctx, int64_t iteration, int64_t evaluations, double f, double gnorm)
{
    objective *o = ctx;
    o->iterations++;
    assert_int_equal(iteration, o->iterations);
    assert_true(evaluations <= o->calls && isfinite(f) && gnorm >= 0);
    return 0;
}

static lbfgs_problem problem_of(objective *o)
{
    return (lbfgs_problem){.n = o->n,
                           .evaluate = evaluate,
                           .begin_line_search = count_line_search,
                           .iteration = count_iteration,
                           .ctx = o};
}

static const lbfgs_options TIGHT = {.max_iterations = 2000, .gradient_tolerance = 1e-9};

static lbfgs_result minimize(objective *o, const lbfgs_options *options, double *x, double *f)
{
    lbfgs *s = lbfgs_new(o->n, options);
    assert_non_null(s);
    lbfgs_problem p = problem_of(o);
    lbfgs_result r = lbfgs_minimize(s, &p, x, f);
    lbfgs_free(s);
    return r;
}

/* sum_i (i+1) (x_i - i)^2 / 2 */
static double quadratic(int64_t n, const double *x, double *g)
{
    double f = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = x[i] - (double)i, h = (double)(i + 1);
        g[i] = h * d;
        f += 0.5 * h * d * d;
    }
    return f;
}

/* Chained Rosenbrock; its minimum is 0 at ones. */
static double rosenbrock(int64_t n, const double *x, double *g)
{
    double f = 0;
    memset(g, 0, (size_t)n * sizeof *g);
    for (int64_t i = 0; i + 1 < n; i++) {
        double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
        f += 100 * a * a + b * b;
        g[i] -= 400 * a * x[i] + 2 * b;
        g[i + 1] += 200 * a;
    }
    return f;
}

/* sum exp(x_i) - x_i + (sum x)^2 / 10, wide range of curvature */
static double exponentials(int64_t n, const double *x, double *g)
{
    double f = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    for (int64_t i = 0; i < n; i++) {
        double w = pow(10, (double)(i % 5) - 2);
        f += w * (exp(x[i]) - x[i]);
        g[i] = w * (exp(x[i]) - 1) + sum / 5;
    }
    return f + sum * sum / 10;
}

/* x - log x: NaN for x < 0, infinite at 0; minimum 1 at 1 */
static double barrier(int64_t n, const double *x, double *g)
{
    double f = 0;
    for (int64_t i = 0; i < n; i++) {
        f += x[i] - log(x[i]);
        g[i] = 1 - 1 / x[i];
    }
    return f;
}

/* The same with a gradient that lies outside (0, 1.5): f finite, g not */
static double barrier_in_gradient(int64_t n, const double *x, double *g)
{
    double f = barrier(n, x, g);
    for (int64_t i = 0; i < n; i++)
        if (x[i] > 1.5) g[i] = INFINITY;
    return f;
}

/* A quadratic with a step of height 10 between the start (3) and the minimum (0). */
static double cliff(int64_t n, const double *x, double *g)
{
    double f = quadratic(n, x, g);
    return x[0] < 1 ? f + 10 : f;
}

/* A valley that falls forever, then ends in -inf. */
static double abyss(int64_t n, const double *x, double *g)
{
    (void)n;
    g[0] = -1;
    return x[0] > 12 ? -INFINITY : -x[0];
}

/* n |x|, not smooth at its minimum */
static double absolute(int64_t n, const double *x, double *g)
{
    double f = 0;
    for (int64_t i = 0; i < n; i++) {
        f += fabs(x[i]);
        g[i] = x[i] < 0 ? -1 : 1;
    }
    return f;
}

static double steep(int64_t n, const double *x, double *g)
{
    double f = quadratic(n, x, g);
    for (int64_t i = 0; i < n; i++) g[i] *= 1e150;
    return 1e150 * f;
}

static double not_a_number(int64_t n, const double *x, double *g)
{
    (void)x;
    for (int64_t i = 0; i < n; i++) g[i] = 0;
    return NAN;
}

static void quadratic_is_solved_in_about_n_iterations(void **state)
{
    (void)state;
    double x[12] = {0}, f;
    objective o = {.n = 12, .f = quadratic};
    assert_int_equal(minimize(&o, &TIGHT, x, &f), LBFGS_CONVERGED);
    assert_true(o.iterations <= 30);
    for (int i = 0; i < 12; i++) check_close(x[i], i, 1e-8);
    assert_true(f < 1e-14);
    assert_int_equal(o.line_searches, o.iterations + 1);
}

static void one_variable_is_enough(void **state)
{
    (void)state;
    double x[1] = {-37}, f;
    objective o = {.n = 1, .f = exponentials};
    assert_int_equal(minimize(&o, &TIGHT, x, &f), LBFGS_CONVERGED);
    double g[1];
    exponentials(1, x, g);
    check_close(g[0], 0, 1e-9);
}

static void rosenbrock_reaches_ones(void **state)
{
    (void)state;
    for (int64_t n = 2; n <= MAX_N; n += 48) {
        double x[MAX_N], f;
        for (int i = 0; i < n; i++) x[i] = i % 2 ? 1 : -1.2;
        objective o = {.n = n, .f = rosenbrock};
        assert_int_equal(minimize(&o, &TIGHT, x, &f), LBFGS_CONVERGED);
        for (int i = 0; i < n; i++) check_close(x[i], 1, 1e-7);
        assert_true(o.calls <= (n == 2 ? 60 : 500));
    }
}

static void regions_that_are_not_finite_are_avoided(void **state)
{
    (void)state;
    double starts[] = {0.01, 1.4, 0.3};
    for (int k = 0; k < 3; k++) {
        double x[3] = {starts[k], starts[(k + 1) % 3], starts[(k + 2) % 3]}, f;
        objective o = {.n = 3, .f = barrier}, strict = {.n = 3, .f = barrier_in_gradient};
        double z[3] = {x[0], x[1], x[2]};
        assert_int_equal(minimize(&o, &TIGHT, x, &f), LBFGS_CONVERGED);
        check_close(f, 3, 1e-12);
        assert_int_equal(minimize(&strict, &TIGHT, z, &f), LBFGS_CONVERGED);
        for (int i = 0; i < 3; i++) check_close(x[i], 1, 1e-8), check_close(z[i], 1, 1e-8);
    }
}

static void the_best_point_seen_is_returned_whatever_f_does(void **state)
{
    (void)state;
    struct {
        double (*f)(int64_t, const double *, double *);
        double start, at_most;
    } cases[] = {{cliff, 3, 0.51}, {abyss, 0, -11.9}, {absolute, 3, 1e-3}, {steep, 300, 1e140}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double x[1] = {cases[k].start}, f, g[1];
        objective o = {.n = 1, .f = cases[k].f};
        lbfgs_result r = minimize(&o, &TIGHT, x, &f);
        assert_true(r == LBFGS_NO_PROGRESS || r == LBFGS_CONVERGED);
        assert_true(f == cases[k].f(1, x, g)); /* x and f belong together */
        assert_true(f <= cases[k].at_most);
        assert_true(o.calls < 1000);
    }
}

static void start_at_the_optimum_takes_one_evaluation(void **state)
{
    (void)state;
    double x[3] = {0, 1, 2}, f;
    objective o = {.n = 3, .f = quadratic};
    assert_int_equal(minimize(&o, &TIGHT, x, &f), LBFGS_CONVERGED);
    assert_int_equal(o.calls, 1);
    assert_true(f == 0 && x[0] == 0 && x[1] == 1 && x[2] == 2);
}

static void start_that_is_not_finite_is_named_and_left_alone(void **state)
{
    (void)state;
    double x[2] = {5, 6}, f;
    objective o = {.n = 2, .f = not_a_number};
    assert_int_equal(minimize(&o, &TIGHT, x, &f), LBFGS_BAD_START);
    assert_true(x[0] == 5 && x[1] == 6 && f == INFINITY && o.calls == 1);
}

static void no_coordinate_moves_more_than_five_an_iteration(void **state)
{
    (void)state;
    double x[1] = {-100}, f;
    objective o = {.n = 1, .f = quadratic};
    lbfgs_options few = {.max_iterations = 3};
    assert_int_equal(minimize(&o, &few, x, &f), LBFGS_ITERATIONS);
    assert_true(x[0] <= -85 + 1e-12 && x[0] > -100);
}

static void limits_end_with_the_best_point(void **state)
{
    (void)state;
    for (int64_t limit = 1; limit < 40; limit++) {
        double x[2] = {-1.2, 1}, f, g[2];
        objective o = {.n = 2, .f = rosenbrock};
        lbfgs_options options = {.max_iterations = -1, .max_evaluations = limit};
        assert_int_equal(minimize(&o, &options, x, &f), LBFGS_ITERATIONS);
        assert_int_equal(o.calls, limit);
        assert_true(f == rosenbrock(2, x, g) && f <= 24.2 + 1e-12);
    }
    double x[2] = {-1.2, 1}, f;
    objective o = {.n = 2, .f = rosenbrock};
    lbfgs_options none = {.max_iterations = 0};
    assert_int_equal(minimize(&o, &none, x, &f), LBFGS_ITERATIONS);
    assert_true(o.calls == 1 && x[0] == -1.2 && x[1] == 1);
}

static void value_tolerance_ends_a_flat_run(void **state)
{
    (void)state;
    double x[MAX_N] = {0}, f, exact[MAX_N] = {0}, f_exact;
    objective o = {.n = MAX_N, .f = exponentials}, tight = o;
    lbfgs_options loose = {.max_iterations = 500, .value_tolerance = 1e-6};
    for (int i = 0; i < MAX_N; i++) x[i] = exact[i] = i % 3;
    assert_int_equal(minimize(&o, &loose, x, &f), LBFGS_CONVERGED);
    minimize(&tight, &TIGHT, exact, &f_exact);
    assert_true(o.calls < tight.calls);
    assert_true(f - f_exact < 1e-3 * fabs(f_exact) && f >= f_exact - 1e-9);
}

/* f = 1e6 + small, with an error of 1e-13 of it that changes from point to point as rounding does. */
static double lifted(int64_t n, const double *x, double *g)
{
    double f = 1e6 + exponentials(n, x, g);
    for (int64_t i = 0; i < n; i++) f += 1e-7 * sin(1e12 * x[i]);
    return f;
}

static void gradients_lead_where_values_drown_in_rounding(void **state)
{
    (void)state;
    double x[5] = {1, -1, 2, 0.5, -2}, f, g[5];
    objective o = {.n = 5, .f = lifted};
    lbfgs_options options = {.max_iterations = 200, .gradient_tolerance = 1e-14};
    assert_int_equal(minimize(&o, &options, x, &f), LBFGS_CONVERGED);
    exponentials(5, x, g);
    for (int i = 0; i < 5; i++) check_close(g[i], 0, 1e-3);
}

/* Values and gradients with errors of 1e-3 that change from point to point, as with rows in float. */
static double rough(int64_t n, const double *x, double *g)
{
    double f = exponentials(n, x, g);
    for (int64_t i = 0; i < n; i++) f += 2e-4 * sin(1e9 * x[i]), g[i] += 1e-4 * cos(1e9 * x[i]);
    return f;
}

static void granted_noise_ends_a_search_that_can_gain_no_more(void **state)
{
    lbfgs_options options = {.max_iterations = 200, .gradient_tolerance = 1e-9, .value_tolerance = 1e-9};
    double f[2], g[5], least;
    int64_t calls[2];
    (void)state;
    for (int granted = 0; granted < 2; granted++) {
        double x[5] = {1, -1, 2, 0.5, -2};
        objective o = {.n = 5, .f = rough};
        lbfgs_problem p = {.n = 5, .evaluate = evaluate, .ctx = &o};
        lbfgs *s = lbfgs_new(5, &options);
        if (granted) lbfgs_grant(s, 1e-3);
        lbfgs_minimize(s, &p, x, &f[granted]);
        lbfgs_free(s);
        calls[granted] = o.calls;
    }
    least = exponentials(5, (double[5]){0}, g);
    assert_true(2 * calls[1] < calls[0] && calls[1] < 40);
    assert_true(f[1] - least < 5e-3);
}

static bool by_the_hessian(void *ctx, const double *x, double *d)
{
    (void)x;
    for (int64_t i = 0; i < ((objective *)ctx)->n; i++) d[i] /= (double)(i + 1);
    return true;
}

static void with_the_inverse_hessian_one_step_is_enough(void **state)
{
    (void)state;
    enum { n = 4 };
    objective o = {.n = n, .f = quadratic};
    lbfgs_options options = {.max_iterations = 20, .gain_tolerance = 1e-12};
    double x[n] = {0.5, 2, 1, 4}, f;
    lbfgs *s = lbfgs_new(n, &options);
    lbfgs_problem p = problem_of(&o);
    p.precondition = by_the_hessian;
    assert_int_equal(lbfgs_minimize(s, &p, x, &f), LBFGS_CONVERGED);
    assert_int_equal(o.calls, 2);
    for (int i = 0; i < n; i++) check_close(x[i], i, 1e-12);
    lbfgs_free(s);
}

/* Stops at call `k` of the evaluation, carries the state over to a new object, and finishes there. */
static void run_in_two_pieces(int64_t k, const double *start, int64_t n, double *x, double *f)
{
    lbfgs_options options = {.memory = 4, .max_iterations = 60};
    objective o = {.n = n, .f = rosenbrock, .stop_at = k};
    lbfgs *first = lbfgs_new(n, &options), *second = lbfgs_new(n, &options);
    lbfgs_problem p = problem_of(&o);
    memcpy(x, start, (size_t)n * sizeof *x);
    assert_int_equal(lbfgs_minimize(first, &p, x, f), LBFGS_STOPPED);
    double *saved = malloc((size_t)lbfgs_state_size(first) * sizeof *saved);
    lbfgs_state_save(first, saved);
    assert_true(lbfgs_state_load(second, saved, lbfgs_state_size(second)));
    for (int64_t i = 0; i < n; i++) x[i] = NAN; /* must not be read */
    lbfgs_minimize(second, &p, x, f);
    assert_int_equal(lbfgs_iterations(second), 60);
    free(saved);
    lbfgs_free(first);
    lbfgs_free(second);
}

static void a_saved_state_resumes_with_the_same_bits(void **state)
{
    (void)state;
    enum { n = 9 };
    double start[n], whole[n], x[n], f, f_whole;
    fill_normal(3, n, start);
    memcpy(whole, start, sizeof whole);
    objective o = {.n = n, .f = rosenbrock};
    lbfgs_options options = {.memory = 4, .max_iterations = 60};
    minimize(&o, &options, whole, &f_whole);
    for (int64_t k = 2; k < o.calls; k += 3) {
        run_in_two_pieces(k, start, n, x, &f);
        assert_memory_equal(x, whole, sizeof x);
        assert_true(f == f_whole);
    }
}

static void a_state_that_cannot_be_is_refused(void **state)
{
    (void)state;
    double x[3] = {3, 2, 1}, f;
    objective o = {.n = 3, .f = rosenbrock};
    lbfgs *s = lbfgs_new(3, &TIGHT), *other = lbfgs_new(4, &TIGHT);
    lbfgs_problem p = problem_of(&o);
    lbfgs_minimize(s, &p, x, &f);
    int64_t size = lbfgs_state_size(s);
    double *saved = malloc((size_t)size * sizeof *saved);
    lbfgs_state_save(s, saved);
    assert_true(lbfgs_state_load(s, saved, size));
    assert_false(lbfgs_state_load(s, saved, size - 1));
    assert_false(lbfgs_state_load(other, saved, lbfgs_state_size(other) < size ? lbfgs_state_size(other) : size));
    for (int i = 0; i < 7; i++) {
        double kept = saved[i];
        saved[i] = -7.5;
        assert_false(lbfgs_state_load(s, saved, size));
        saved[i] = kept;
    }
    saved[size - 1] = NAN;
    assert_false(lbfgs_state_load(s, saved, size));
    free(saved);
    lbfgs_free(s);
    lbfgs_free(other);
    lbfgs_free(NULL);
}

#ifdef HAVE_LIBLBFGS
/* In peer_lbfgs.c, as the two headers cannot be included together. */
void peer_minimize(int64_t n, double *x, double (*f)(void *, const double *, double *), void *ctx);

static double peer_evaluate(void *ctx, const double *x, double *g)
{
    objective *o = ctx;
    o->calls++;
    return o->f(o->n, x, g);
}

static void evaluations_are_within_half_again_of_liblbfgs(void **state)
{
    (void)state;
    struct {
        double (*f)(int64_t, const double *, double *);
        int64_t n;
    } cases[] = {{rosenbrock, 2}, {rosenbrock, 10}, {rosenbrock, 50}, {exponentials, 50}, {quadratic, 50}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        objective ours = {.n = cases[k].n, .f = cases[k].f}, peers = ours;
        for (uint64_t start = 0; start < 5; start++) {
            _Alignas(64) double x[MAX_N], y[MAX_N], f;
            fill_normal(start, MAX_N, x);
            memcpy(y, x, sizeof y);
            ours.iterations = 0;
            lbfgs_options options = {.max_iterations = 5000, .gradient_tolerance = 1e-6};
            assert_int_equal(minimize(&ours, &options, x, &f), LBFGS_CONVERGED);
            peer_minimize(cases[k].n, y, peer_evaluate, &peers);
        }
        print_message("case %zu: %d evaluations, liblbfgs %d\n", k, (int)ours.calls, (int)peers.calls);
        assert_true((double)ours.calls <= 1.5 * (double)peers.calls);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quadratic_is_solved_in_about_n_iterations),
        cmocka_unit_test(one_variable_is_enough),
        cmocka_unit_test(rosenbrock_reaches_ones),
        cmocka_unit_test(regions_that_are_not_finite_are_avoided),
        cmocka_unit_test(the_best_point_seen_is_returned_whatever_f_does),
        cmocka_unit_test(start_at_the_optimum_takes_one_evaluation),
        cmocka_unit_test(start_that_is_not_finite_is_named_and_left_alone),
        cmocka_unit_test(no_coordinate_moves_more_than_five_an_iteration),
        cmocka_unit_test(limits_end_with_the_best_point),
        cmocka_unit_test(value_tolerance_ends_a_flat_run),
        cmocka_unit_test(gradients_lead_where_values_drown_in_rounding),
        cmocka_unit_test(granted_noise_ends_a_search_that_can_gain_no_more),
        cmocka_unit_test(with_the_inverse_hessian_one_step_is_enough),
        cmocka_unit_test(a_saved_state_resumes_with_the_same_bits),
        cmocka_unit_test(a_state_that_cannot_be_is_refused),
#ifdef HAVE_LIBLBFGS
        cmocka_unit_test(evaluations_are_within_half_again_of_liblbfgs),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
