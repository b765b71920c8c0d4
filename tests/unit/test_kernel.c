/* The fast kernels against their definitions, for every kind in the table and for compositions. */
#include "kernel_cases.h"

#include "linalg/linalg.h"

enum { MOST = 260, LDX = CASE_D + 2 };

static double X[MOST * LDX], Z[MOST * LDX], K[MOST * MOST], T[MOST * MOST];

static void check_gram(const char *name, const kernel *k, int64_t n, int64_t m)
{
    int64_t ldk = n + 3;
    assert_true(kernel_gram(k, n, X, LDX, m, Z, LDX, K, ldk));
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < n; i++)
            check_close_at(K[i + j * ldk], kernel_reference(k, X + i * LDX, Z + j * LDX, false), 1e-12, name, __FILE__,
                           __LINE__);
}

static void equals_definition(const char *name, kernel *k, int64_t D, bool text)
{
    static const int64_t sizes[][2] = {{1, 1}, {1, 33}, {7, 32}, {255, 3}, {256, 31}, {257, 33}};
    case_inputs(1, MOST, D, LDX, text, X);
    case_inputs(2, MOST, D, LDX, text, Z);
    memcpy(Z, X, (size_t)D * sizeof *X);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) check_gram(name, k, sizes[s][0], sizes[s][1]);
}

static void gram_equals_the_definition_at_all_tile_edges(void **state)
{
    (void)state;
    for_each_case(1, equals_definition);
    for_each_case(3, equals_definition);
}

static void sym_equals_definition(const char *name, kernel *k, int64_t D, bool text)
{
    static const int64_t sizes[] = {1, 2, 32, 33, 255, 257};
    case_inputs(1, MOST, D, LDX, text, X);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t n = sizes[s];
        assert_true(kernel_gram_sym(k, n, X, LDX, K, MOST));
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = j; i < n; i += 1 + (i > j + 3) * 7)
                check_close_at(K[i + j * MOST], kernel_reference(k, X + i * LDX, X + j * LDX, i == j), 1e-12, name,
                               __FILE__, __LINE__);
    }
}

static void symmetric_gram_equals_the_definition_with_white_on_the_diagonal(void **state)
{
    (void)state;
    for_each_case(2, sym_equals_definition);
}

static void transposes(const char *name, kernel *k, int64_t D, bool text)
{
    enum { N = 70, M = 131 };
    case_inputs(1, N, D, LDX, text, X);
    case_inputs(2, M, D, LDX, text, Z);
    kernel_gram(k, N, X, LDX, M, Z, LDX, K, N);
    kernel_gram(k, M, Z, LDX, N, X, LDX, T, M);
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = 0; i < N; i++) check_close_at(K[i + j * N], T[j + i * M], 1e-14, name, __FILE__, __LINE__);
}

static void swapping_the_inputs_transposes_the_gram_matrix(void **state)
{
    (void)state;
    for_each_case(4, transposes);
}

static void diag_matches(const char *name, kernel *k, int64_t D, bool text)
{
    enum { N = 67 };
    double d[N];
    case_inputs(1, N, D, LDX, text, X);
    kernel_diag(k, N, X, LDX, d);
    kernel_gram_sym(k, N, X, LDX, K, N);
    for (int64_t i = 0; i < N; i++)
        check_close_at(K[i + i * N], d[i] + kernel_white(k), 1e-13, name, __FILE__, __LINE__);
}

static void diag_and_white_make_the_diagonal_of_the_gram_matrix(void **state)
{
    (void)state;
    for_each_case(3, diag_matches);
}

static void definite(const char *name, kernel *k, int64_t D, bool text)
{
    enum { N = 60 };
    double trace = 0;
    case_inputs(1, N, D, LDX, text, X);
    kernel_gram_sym(k, N, X, LDX, K, N);
    for (int64_t i = 0; i < N; i++) trace += K[i + i * N];
    for (int64_t i = 0; i < N; i++) K[i + i * N] += 1e-8 * trace / N;
    if (la_potrf(N, K, N) != 0) fail_msg("%s in %d dims is not positive definite", name, (int)D);
}

static void gram_matrix_is_positive_definite(void **state)
{
    (void)state;
    for_each_case(1, definite);
    for_each_case(2, definite);
    for_each_case(5, definite);
}

static void repeated(const char *name, kernel *k, int64_t D, bool text)
{
    enum { N = 10 };
    double d[N];
    if (!kernel_stationary(k)) return;
    case_inputs(1, N, D, LDX, text, X);
    kernel_diag(k, N, X, LDX, d);
    kernel_gram(k, N, X, LDX, N, X, LDX, K, N);
    if (K[3 + N] != K[1 + N] || K[3 + 3 * N] != d[3]) fail_msg("%s: equal rows have different values", name);
}

static void repeated_rows_have_exactly_the_variance(void **state)
{
    (void)state;
    for_each_case(3, repeated);
}

static void no_infinity(const char *name, kernel *k, int64_t D, bool text)
{
    static const double extremes[] = {0, 1e-320, 1e-308, 1e10, 1e100, 1e154, 1e200, 1e300, 1.7e308};
    enum { N = 2 * sizeof extremes / sizeof *extremes };
    double d[N], G[N * N], gp[64] = {0}, gX[N * CASE_D] = {0}, gZ[N * CASE_D] = {0};
    (void)text;
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < D; j++) X[i * LDX + j] = (i + j) % 2 ? extremes[i / 2] : -extremes[i / 2];
    for (int64_t i = 0; i < N * N; i++) G[i] = 1;
    kernel_gram(k, N, X, LDX, N, X, LDX, K, N);
    kernel_diag(k, N, X, LDX, d);
    kernel_gram_reverse(k, N, X, LDX, N, X, LDX, G, N, gp, gX, D, gZ, D);
    for (int64_t i = 0; i < N * N; i++)
        if (!isfinite(K[i])) fail_msg("%s: entry %d is %g", name, (int)i, K[i]);
    for (int64_t i = 0; i < N; i++)
        if (!isfinite(d[i])) fail_msg("%s: diagonal %d is %g", name, (int)i, d[i]);
    for (int64_t i = 0; i < kernel_count(k); i++)
        if (isnan(gp[i])) fail_msg("%s: gradient %d is NaN", name, (int)i);
}

static void the_largest_inputs_give_finite_numbers(void **state)
{
    (void)state;
    for_each_case(1, no_infinity);
    for_each_case(3, no_infinity);
}

/* ----------------------------------------------------------------------------------- many, or no inputs */

static kernel *parse_wide(const char *text, int64_t D)
{
    kernel_input *in = malloc((size_t)D * sizeof *in);
    kernel *k = NULL;
    for (int64_t i = 0; i < D; i++) in[i] = (kernel_input){NULL, i, INPUT_NUMBER, i};
    kernel_parse(text, in, D, D, &k, NULL);
    free(in);
    assert_non_null(k);
    return k;
}

static void many_inputs_with_repeated_and_close_rows_match_the_definition(void **state)
{
    (void)state;
    static const char *const texts[] = {"rbf",
                                        "matern12",
                                        "matern52(iso)",
                                        "wendland1",
                                        "rq",
                                        "periodic",
                                        "cosine",
                                        "sm",
                                        "linear",
                                        "polynomial",
                                        "arccosine",
                                        "categorical(dims=[0,500])",
                                        "matern32(dims=[3,700,5])"};
    enum { N = 150, M = 70, D = 701 };
    double *A = malloc(N * D * sizeof *A), *B = malloc(M * D * sizeof *B);
    fill_normal(5, N * D, A);
    fill_normal(6, M * D, B);
    for (int64_t j = 0; j < 40; j++) /* equal, or nearly */
        for (int64_t d = 0; d < D; d++) B[j * D + d] = A[j * D + d] * (1 + (double)(j % 2) * 1e-7);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        kernel *k = parse_wide(texts[t], D);
        assert_true(kernel_gram(k, N, A, D, M, B, D, K, N));
        for (int64_t j = 0; j < M; j++)
            for (int64_t i = 0; i < N; i++)
                check_close_at(K[i + j * N], kernel_reference(k, A + i * D, B + j * D, false), 1e-12, texts[t],
                               __FILE__, __LINE__);
        if (kernel_stationary(k)) assert_true(K[0] == kernel_values(k)[0] * (strcmp(texts[t], "sm") ? 1 : 2));
        kernel_free(k);
    }
    free(A);
    free(B);
}

static void constant_inputs_only_leave_kernels_without_dims(void **state)
{
    (void)state;
    kernel_input in = {"one", 0, INPUT_CONSTANT, -1};
    double x = 0;
    for (int64_t i = 0; i < kernel_kinds(); i++) {
        kernel *k;
        assert_int_equal(kernel_parse(kernel_kind_name(i), &in, 1, 0, &k, NULL), ANYGP_OK);
        kernel_gram_sym(k, 1, &x, 0, K, 1);
        check_close(K[0], kernel_reference(k, &x, &x, true), 1e-14);
        kernel_free(k);
    }
}

static void a_copy_is_independent_and_equal(void **state)
{
    (void)state;
    kernel *k = case_parse("2*rbf(dims=[b]) + periodic*white(variance=3)", 3, INPUT_NUMBER);
    assert_null(k);
    k = case_parse("2*rbf(dims=[b]) + periodic + white(variance=3)", 3, INPUT_NUMBER);
    kernel *c = kernel_copy(k);
    case_inputs(1, 20, 3, LDX, false, X);
    kernel_gram_sym(k, 20, X, LDX, K, 20);
    for (int64_t i = 0; i < kernel_count(k); i++) kernel_values(k)[i] = 17;
    kernel_free(k);
    kernel_gram_sym(c, 20, X, LDX, T, 20);
    for (int64_t j = 0; j < 20; j++)
        for (int64_t i = j; i < 20; i++) assert_true(K[i + 20 * j] == T[i + 20 * j]);
    assert_true(kernel_white(c) == 3);
    kernel_free(c);
    kernel_free(NULL);
}

/* ------------------------------------------------------------------------------------------- spectrum */

static void waves_average_to(const char *name, kernel *k, int64_t D, bool text)
{
    enum { DRAWS = 8000, POINTS = 4 };
    random_stream s = {.seed = 11, .use = RANDOM_TEST, .sub = 3};
    double w[CASE_D], mean[POINTS] = {0}, zero[CASE_D] = {0};
    (void)text;
    if (!kernel_spectral(k, s, 0, w)) return;
    fill_normal(3, POINTS * CASE_D, X);
    for (uint64_t i = 0; i < DRAWS; i++) {
        assert_true(kernel_spectral(k, s, i, w));
        for (int p = 0; p < POINTS; p++) {
            double a = 0;
            for (int64_t d = 0; d < D; d++) a += w[d] * X[p * CASE_D + d];
            mean[p] += cos(a) / DRAWS;
        }
    }
    for (int p = 0; p < POINTS; p++)
        check_close_at(mean[p],
                       kernel_reference(k, X + p * CASE_D, zero, false) / kernel_reference(k, zero, zero, false), 0.03,
                       name, __FILE__, __LINE__);
}

static void random_waves_average_to_the_kernel(void **state)
{
    (void)state;
    double w[2];
    random_stream s = {.seed = 1, .use = RANDOM_TEST};
    kernel *k = case_parse("rbf + linear", 2, INPUT_NUMBER);
    assert_false(kernel_spectral(k, s, 0, w));
    kernel_free(k);
    for_each_case(2, waves_average_to);
    case_run("product", case_parse("2*rbf*(matern32 + cosine) + 0.5*sm + white", 2, INPUT_NUMBER), 2, false,
             waves_average_to);
    case_run("rough rq", case_parse("rq(alpha=0.3)", 2, INPUT_NUMBER), 2, false, waves_average_to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gram_equals_the_definition_at_all_tile_edges),
        cmocka_unit_test(symmetric_gram_equals_the_definition_with_white_on_the_diagonal),
        cmocka_unit_test(swapping_the_inputs_transposes_the_gram_matrix),
        cmocka_unit_test(diag_and_white_make_the_diagonal_of_the_gram_matrix),
        cmocka_unit_test(gram_matrix_is_positive_definite),
        cmocka_unit_test(repeated_rows_have_exactly_the_variance),
        cmocka_unit_test(the_largest_inputs_give_finite_numbers),
        cmocka_unit_test(many_inputs_with_repeated_and_close_rows_match_the_definition),
        cmocka_unit_test(constant_inputs_only_leave_kernels_without_dims),
        cmocka_unit_test(a_copy_is_independent_and_equal),
        cmocka_unit_test(random_waves_average_to_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
