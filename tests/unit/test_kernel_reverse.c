/* Gradients of F = sum G .* K in parameters and inputs against central differences, for every kind and compositions,
   with repeated rows among the inputs. */
#include "kernel_cases.h"

enum { N = 9, M = 7, LDX = CASE_D + 1, LDG = N + 2, MOST_PARAMS = 128 };

typedef struct problem {
    kernel *k;
    double X[N * LDX], Z[M * LDX], G[LDG * N];
    enum { CROSS, SYMMETRIC, DIAGONAL } what;
} problem;

/* F by the definition: nothing of the code under test. */
static double objective(const problem *p)
{
    double F = 0;
    for (int64_t i = 0; i < N; i++) {
        if (p->what == DIAGONAL) F += p->G[i] * kernel_reference(p->k, p->X + i * LDX, p->X + i * LDX, false);
        for (int64_t j = 0; p->what == CROSS && j < M; j++)
            F += p->G[i + j * LDG] * kernel_reference(p->k, p->X + i * LDX, p->Z + j * LDX, false);
        for (int64_t j = 0; p->what == SYMMETRIC && j < N; j++)
            F += p->G[(i > j ? i : j) + (i > j ? j : i) * LDG] *
                 kernel_reference(p->k, p->X + i * LDX, p->X + j * LDX, i == j);
    }
    return F;
}

static double central(problem *p, double *x, double h)
{
    double x0 = *x;
    *x = x0 + h;
    double up = objective(p);
    *x = x0 - h;
    double down = objective(p);
    *x = x0;
    return (up - down) / (2 * h);
}

/* Extrapolated: where a kernel has a kink at distance zero, the central difference is off by a term linear in h. */
static double difference(problem *p, double *x)
{
    double h = 2e-6 * fmax(1, fabs(*x));
    return 2 * central(p, x, h / 2) - central(p, x, h);
}

static problem make(kernel *k, int64_t D, bool text, int what)
{
    problem p = {.k = k, .what = what};
    case_inputs(1, N, D, LDX, text, p.X);
    case_inputs(2, M, D, LDX, text, p.Z);
    memcpy(p.Z + 2 * LDX, p.X, (size_t)D * sizeof *p.X); /* distance zero between the sets too */
    fill_normal(4, LDG * N, p.G);
    return p;
}

static void check_inputs(const char *name, problem *p, int64_t n, int64_t D, double *X, const double *g)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < D; d++)
            check_close_at(g[i * LDX + d] - 1, difference(p, &X[i * LDX + d]), 2e-7, name, __FILE__, __LINE__);
}

/* Gradients start at 1 to see that they accumulate. */
static void check(const char *name, kernel *k, int64_t D, bool text, int what)
{
    problem p = make(k, D, text, what);
    double gp[MOST_PARAMS], gX[N * LDX], gZ[M * LDX];
    assert_true(kernel_count(k) <= MOST_PARAMS);
    for (int i = 0; i < MOST_PARAMS; i++) gp[i] = 1;
    for (int i = 0; i < N * LDX; i++) gX[i] = 1;
    for (int i = 0; i < M * LDX; i++) gZ[i] = 1;
    if (what == CROSS) kernel_gram_reverse(k, N, p.X, LDX, M, p.Z, LDX, p.G, LDG, gp, gX, LDX, gZ, LDX);
    if (what == SYMMETRIC) kernel_gram_sym_reverse(k, N, p.X, LDX, p.G, LDG, gp, gX, LDX);
    if (what == DIAGONAL) kernel_diag_reverse(k, N, p.X, LDX, p.G, gp, gX, LDX);
    for (int64_t i = 0; i < kernel_count(k); i++)
        check_close_at(gp[i] - 1, difference(&p, &kernel_values(k)[i]), 2e-7, name, __FILE__, __LINE__);
    if (text) return;
    check_inputs(name, &p, N, D, p.X, gX);
    if (what == CROSS) check_inputs(name, &p, M, D, p.Z, gZ);
}

static void cross(const char *name, kernel *k, int64_t D, bool text) { check(name, k, D, text, CROSS); }
static void symmetric(const char *name, kernel *k, int64_t D, bool text) { check(name, k, D, text, SYMMETRIC); }
static void diagonal(const char *name, kernel *k, int64_t D, bool text) { check(name, k, D, text, DIAGONAL); }

static void gradients_of_a_cross_matrix_match_differences(void **state)
{
    (void)state;
    for_each_case(1, cross);
    for_each_case(3, cross);
}

static void gradients_of_a_symmetric_matrix_match_differences(void **state)
{
    (void)state;
    for_each_case(1, symmetric);
    for_each_case(3, symmetric);
}

static void gradients_of_the_diagonal_match_differences(void **state)
{
    (void)state;
    for_each_case(1, diagonal);
    for_each_case(3, diagonal);
}

/* ------------------------------------------------------------------------------------ many rows, tiles */

enum { ROWS = 270, COLS = 70, PART = 90, D3 = 3 };

/* The gradients of a matrix of many tiles are the sums over groups of rows, each less than a tile. */
static void tiles_add_up(const char *name, kernel *k, int64_t D, bool text)
{
    static double X[ROWS * D3], Z[COLS * D3], G[ROWS * COLS];
    double whole[MOST_PARAMS] = {0}, parts[MOST_PARAMS] = {0};
    static double gX[ROWS * D3], gZ[COLS * D3], hX[ROWS * D3], hZ[COLS * D3];
    memset(gX, 0, sizeof gX), memset(hX, 0, sizeof hX), memset(gZ, 0, sizeof gZ), memset(hZ, 0, sizeof hZ);
    case_inputs(1, ROWS, D, D, text, X);
    case_inputs(2, COLS, D, D, text, Z);
    fill_normal(3, ROWS * COLS, G);
    kernel_gram_reverse(k, ROWS, X, D, COLS, Z, D, G, ROWS, whole, gX, D, gZ, D);
    for (int64_t i = 0; i < ROWS; i += PART)
        kernel_gram_reverse(k, PART, X + i * D, D, COLS, Z, D, G + i, ROWS, parts, hX + i * D, D, hZ, D);
    for (int64_t i = 0; i < kernel_count(k); i++) check_close_at(whole[i], parts[i], 1e-10, name, __FILE__, __LINE__);
    for (int64_t i = 0; i < ROWS * D; i++) check_close_at(gX[i], hX[i], 1e-10, name, __FILE__, __LINE__);
    for (int64_t i = 0; i < COLS * D; i++) check_close_at(gZ[i], hZ[i], 1e-10, name, __FILE__, __LINE__);
}

static void gradients_add_up_over_tiles(void **state)
{
    (void)state;
    for_each_case(D3, tiles_add_up);
}

/* With the symmetric G filled in, the cross matrix of X with itself has the same gradients (no white). */
static void symmetric_is_cross(const char *name, kernel *k, int64_t D, bool text)
{
    static double X[ROWS * D3], G[ROWS * ROWS], gX[ROWS * D3], hX[ROWS * D3];
    double gp[MOST_PARAMS] = {0}, hp[MOST_PARAMS] = {0};
    if (kernel_has_white(k)) return;
    memset(gX, 0, sizeof gX), memset(hX, 0, sizeof hX);
    case_inputs(1, ROWS, D, D, text, X);
    fill_normal(3, ROWS * ROWS, G);
    kernel_gram_sym_reverse(k, ROWS, X, D, G, ROWS, gp, gX, D);
    for (int64_t j = 0; j < ROWS; j++)
        for (int64_t i = 0; i < j; i++) G[i + j * ROWS] = G[j + i * ROWS];
    kernel_gram_reverse(k, ROWS, X, D, ROWS, X, D, G, ROWS, hp, hX, D, hX, D);
    for (int64_t i = 0; i < kernel_count(k); i++) check_close_at(gp[i], hp[i], 1e-9, name, __FILE__, __LINE__);
    for (int64_t i = 0; i < ROWS * D; i++) check_close_at(gX[i], hX[i], 1e-9, name, __FILE__, __LINE__);
}

static void symmetric_gradients_are_those_of_the_full_matrix(void **state)
{
    (void)state;
    for_each_case(D3, symmetric_is_cross);
}

/* Each gradient alone, and those of parameters and Z, are what they are when all are asked for: kinds take shorter ways then. */
static void alone_as_together(const char *name, kernel *k, int64_t D, bool text)
{
    static double X[ROWS * D3], Z[COLS * D3], G[ROWS * COLS], gX[ROWS * D3], gZ[COLS * D3], hX[ROWS * D3],
        hZ[COLS * D3], hZ2[COLS * D3];
    double gp[MOST_PARAMS] = {0}, hp[MOST_PARAMS] = {0}, hp2[MOST_PARAMS] = {0};
    memset(gX, 0, sizeof gX), memset(hX, 0, sizeof hX);
    memset(gZ, 0, sizeof gZ), memset(hZ, 0, sizeof hZ), memset(hZ2, 0, sizeof hZ2);
    case_inputs(1, ROWS, D, D, text, X);
    case_inputs(2, COLS, D, D, text, Z);
    fill_normal(3, ROWS * COLS, G);
    kernel_gram_reverse(k, ROWS, X, D, COLS, Z, D, G, ROWS, gp, gX, D, gZ, D);
    kernel_gram_reverse(k, ROWS, X, D, COLS, Z, D, G, ROWS, hp, NULL, 0, NULL, 0);
    kernel_gram_reverse(k, ROWS, X, D, COLS, Z, D, G, ROWS, hp2, NULL, 0, hZ2, D);
    kernel_gram_reverse(k, ROWS, X, D, COLS, Z, D, G, ROWS, NULL, hX, D, NULL, 0);
    kernel_gram_reverse(k, ROWS, X, D, COLS, Z, D, G, ROWS, NULL, NULL, 0, hZ, D);
    for (int64_t i = 0; i < kernel_count(k); i++) {
        check_close_at(hp[i], gp[i], 1e-10, name, __FILE__, __LINE__);
        check_close_at(hp2[i], gp[i], 1e-10, name, __FILE__, __LINE__);
    }
    for (int64_t i = 0; i < ROWS * D; i++) check_close_at(hX[i], gX[i], 1e-10, name, __FILE__, __LINE__);
    for (int64_t i = 0; i < COLS * D; i++) {
        check_close_at(hZ[i], gZ[i], 1e-10, name, __FILE__, __LINE__);
        check_close_at(hZ2[i], gZ[i], 1e-10, name, __FILE__, __LINE__);
    }
}

static void gradients_alone_are_those_of_all_together(void **state)
{
    (void)state;
    for_each_case(1, alone_as_together);
    for_each_case(D3, alone_as_together);
}

static void null_gradients_are_skipped_and_the_same_bits_come_twice(void **state)
{
    (void)state;
    static double X[ROWS * D3], G[ROWS * ROWS];
    double a[MOST_PARAMS] = {0}, b[MOST_PARAMS] = {0};
    kernel *k = case_parse("rbf*periodic + sm", D3, INPUT_NUMBER);
    case_inputs(1, ROWS, D3, D3, false, X);
    fill_normal(3, ROWS * ROWS, G);
    kernel_gram_sym_reverse(k, ROWS, X, D3, G, ROWS, a, NULL, 0);
    kernel_gram_sym_reverse(k, ROWS, X, D3, G, ROWS, b, NULL, 0);
    assert_memory_equal(a, b, sizeof a);
    assert_true(kernel_gram_sym_reverse(k, ROWS, X, D3, G, ROWS, NULL, NULL, 0));
    kernel_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_a_cross_matrix_match_differences),
        cmocka_unit_test(gradients_of_a_symmetric_matrix_match_differences),
        cmocka_unit_test(gradients_of_the_diagonal_match_differences),
        cmocka_unit_test(gradients_add_up_over_tiles),
        cmocka_unit_test(symmetric_gradients_are_those_of_the_full_matrix),
        cmocka_unit_test(gradients_alone_are_those_of_all_together),
        cmocka_unit_test(null_gradients_are_skipped_and_the_same_bits_come_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
