/* The kernels in float against their definitions and against the gradients in double, for every kind in the table and for
   compositions. */
#include "kernel_cases.h"

enum { MOST = 260, COLS = 70, LDX = CASE_D + 2, LDK = MOST + 3, MOST_PARAMS = 128 };

static double X[MOST * LDX], Z[MOST * LDX];
static float K[LDK * MOST], G[LDK * MOST];

/* Every value within some units of the last place of float, of the variance where there is cancellation. */
static void check_gram(const char *name, const kernel *k, int64_t n, int64_t m, double tolerance)
{
    assert_true(kernel_gram_f32(k, n, X, LDX, m, Z, LDX, K, LDK));
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < n; i++)
            check_close_at(K[i + j * LDK], kernel_reference(k, X + i * LDX, Z + j * LDX, false), tolerance, name,
                           __FILE__, __LINE__);
}

static void equals_definition(const char *name, kernel *k, int64_t D, bool text)
{
    static const int64_t sizes[][2] = {{1, 1}, {1, 33}, {7, 32}, {255, 3}, {256, 31}, {257, 33}};
    case_inputs(1, MOST, D, LDX, text, X);
    case_inputs(2, MOST, D, LDX, text, Z);
    memcpy(Z, X, (size_t)D * sizeof *X);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) check_gram(name, k, sizes[s][0], sizes[s][1], 3e-6);
}

static void gram_in_float_is_the_definition_rounded(void **state)
{
    (void)state;
    for_each_case(1, equals_definition);
    for_each_case(3, equals_definition);
}

/* Years: float has three decimals left of them, but the distances are as good as ever. */
static void far_away(const char *name, kernel *k, int64_t D, bool text)
{
    if (text || !kernel_falls(k)) return;
    case_inputs(1, MOST, D, LDX, text, X);
    case_inputs(2, MOST, D, LDX, text, Z);
    for (int i = 0; i < MOST * LDX; i++) X[i] += 20000, Z[i] += 20000;
    check_gram(name, k, 257, 33, 3e-6);
}

static void inputs_far_from_zero_lose_nothing(void **state)
{
    (void)state;
    for_each_case(3, far_away);
}

static void sym_equals_definition(const char *name, kernel *k, int64_t D, bool text)
{
    case_inputs(1, MOST, D, LDX, text, X);
    assert_true(kernel_gram_sym_f32(k, MOST, X, LDX, K, LDK));
    for (int64_t j = 0; j < MOST; j++)
        for (int64_t i = j; i < MOST; i += 1 + (i > j + 3) * 7)
            check_close_at(K[i + j * LDK], kernel_reference(k, X + i * LDX, X + j * LDX, i == j), 3e-6, name, __FILE__,
                           __LINE__);
}

static void symmetric_gram_in_float_is_the_definition_rounded(void **state)
{
    (void)state;
    for_each_case(3, sym_equals_definition);
}

static void repeated(const char *name, kernel *k, int64_t D, bool text)
{
    (void)name;
    if (!kernel_stationary(k)) return;
    double variance;
    case_inputs(1, MOST, D, LDX, text, X);
    kernel_diag(k, 1, X, LDX, &variance);
    assert_true(kernel_gram_f32(k, 4, X, LDX, 4, X, LDX, K, LDK));
    check_close_at(K[1 + 3 * LDK], variance, 5e-7, name, __FILE__, __LINE__);
    assert_true(K[1 + 3 * LDK] == K[1 + LDK]);
}

static void repeated_rows_are_equal_in_float(void **state)
{
    (void)state;
    for_each_case(3, repeated);
}

/* Relative to the size of the whole gradient, whose parts cancel. */
static void check_gradient(const char *name, int64_t n, const double *a, const double *b)
{
    double size = 1, off = 0;
    for (int64_t i = 0; i < n; i++) size = fmax(size, fabs(b[i])), off = fmax(off, fabs(a[i] - b[i]));
    if (off <= 2e-5 * size) return;
    print_error("%s: a gradient is off by %.3g of %.3g\n", name, off, size);
    fail();
}

static void reverse_equals(const char *name, kernel *k, int64_t D, bool text)
{
    static double wide[LDK * MOST], gp[2][MOST_PARAMS], gX[2][MOST * LDX], gZ[2][COLS * LDX];
    memset(gp, 0, sizeof gp), memset(gX, 0, sizeof gX), memset(gZ, 0, sizeof gZ);
    case_inputs(1, MOST, D, LDX, text, X);
    case_inputs(2, MOST, D, LDX, text, Z);
    fill_normal(4, LDK * MOST, wide);
    for (int i = 0; i < LDK * MOST; i++) wide[i] = G[i] = (float)wide[i];
    for (int both = 0; both < 2; both++) { /* with and without gX: two loops */
        double *x0 = both ? gX[0] : NULL, *x1 = both ? gX[1] : NULL;
        assert_true(kernel_gram_reverse_f32(k, MOST, X, LDX, COLS, Z, LDX, G, LDK, gp[0], x0, LDX, gZ[0], LDX));
        assert_true(kernel_gram_reverse(k, MOST, X, LDX, COLS, Z, LDX, wide, LDK, gp[1], x1, LDX, gZ[1], LDX));
    }
    assert_true(kernel_gram_reverse_f32(k, MOST, X, LDX, COLS, Z, LDX, G, LDK, gp[0], NULL, 0, NULL, 0));
    assert_true(kernel_gram_reverse(k, MOST, X, LDX, COLS, Z, LDX, wide, LDK, gp[1], NULL, 0, NULL, 0));
    assert_true(kernel_gram_sym_reverse_f32(k, MOST, X, LDX, G, LDK, gp[0], gX[0], LDX));
    assert_true(kernel_gram_sym_reverse(k, MOST, X, LDX, wide, LDK, gp[1], gX[1], LDX));
    check_gradient(name, kernel_count(k), gp[0], gp[1]);
    check_gradient(name, MOST * LDX, gX[0], gX[1]);
    check_gradient(name, COLS * LDX, gZ[0], gZ[1]);
}

static void gradients_in_float_are_those_in_double(void **state)
{
    (void)state;
    for_each_case(1, reverse_equals);
    for_each_case(3, reverse_equals);
}

/* Nothing overflows in float that is finite in double. */
static void no_infinity(const char *name, kernel *k, int64_t D, bool text)
{
    static const double sizes[] = {1e300, 1e20, 1e8};
    if (text) return;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        case_inputs(1, 20, D, LDX, text, X);
        for (int i = 0; i < 20 * LDX; i++) X[i] *= i % 3 ? sizes[s] : 1;
        assert_true(kernel_gram_sym_f32(k, 20, X, LDX, K, LDK));
        for (int64_t j = 0; j < 20; j++)
            for (int64_t i = j; i < 20; i++)
                if (!isfinite(K[i + j * LDK])) print_error("%s: %g\n", name, K[i + j * LDK]), fail();
    }
}

static void the_largest_inputs_give_finite_floats(void **state)
{
    (void)state;
    for_each_case(3, no_infinity);
}

/* From 24 inputs on distances are products of matrices, in double; the function of them is rounded. */
static void many_inputs_match_the_definition(void **state)
{
    enum { D = 30, N = 40 };
    static double W[N * D], narrow[2][N * D], g[2][64];
    kernel_input in[D];
    kernel *k;
    (void)state;
    for (int64_t i = 0; i < D; i++) in[i] = (kernel_input){NULL, i, INPUT_NUMBER, i};
    assert_int_equal(kernel_parse("matern52 + linear(dims=[0,1])*rbf(dims=[2,3])", in, D, D, &k, NULL), ANYGP_OK);
    fill_normal(1, N * D, W);
    for (int i = 0; i < LDK * N; i++) G[i] = (float)(i % 7 - 3);
    assert_true(kernel_gram_f32(k, N, W, D, N, W, D, K, LDK));
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 0; i < N; i++)
            check_close(K[i + j * LDK], kernel_reference(k, W + i * D, W + j * D, false), 2e-6);
    double *wide = test_malloc(sizeof *wide * LDK * N);
    for (int i = 0; i < LDK * N; i++) wide[i] = G[i];
    assert_true(kernel_gram_reverse_f32(k, N, W, D, N, W, D, G, LDK, g[0], narrow[0], D, NULL, 0));
    assert_true(kernel_gram_reverse(k, N, W, D, N, W, D, wide, LDK, g[1], narrow[1], D, NULL, 0));
    check_gradient("wide", kernel_count(k), g[0], g[1]);
    check_gradient("wide", N * D, narrow[0], narrow[1]);
    test_free(wide);
    kernel_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gram_in_float_is_the_definition_rounded),
        cmocka_unit_test(inputs_far_from_zero_lose_nothing),
        cmocka_unit_test(symmetric_gram_in_float_is_the_definition_rounded),
        cmocka_unit_test(repeated_rows_are_equal_in_float),
        cmocka_unit_test(gradients_in_float_are_those_in_double),
        cmocka_unit_test(the_largest_inputs_give_finite_floats),
        cmocka_unit_test(many_inputs_match_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
