/* Linear algebra in float, and the plain loops that take BLAS's place, against the same in double. */
#include "support.h"

#include <string.h>

#include "base/memory.h"
#include "linalg/linalg_f32.h"

/* Their prototypes, and then they themselves, under names of their own. */
void own_gemm_f32(la_op, la_op, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t, float,
                  float *, int64_t);
void own_syrk_f32(la_op, int64_t, int64_t, float, const float *, int64_t, float, float *, int64_t);
#define la_gemm_f32 own_gemm_f32
#define la_syrk_f32 own_syrk_f32
#define blas_trsm_f32 own_trsm_f32
#include "linalg/blas_own_f32.c"
#undef la_gemm_f32
#undef la_syrk_f32
#undef blas_trsm_f32

enum { N = 100, M = 70, LD = 103 };

static double A[LD * LD], B[LD * LD], C[LD * LD], L[LD * LD];
static float a[LD * LD], b[LD * LD], c[LD * LD], l[LD * LD];

/* The same numbers in both. */
static void fill(uint64_t stream, double *x, float *y)
{
    fill_normal(stream, LD * LD, x);
    la_round(LD * LD, x, y);
    for (int i = 0; i < LD * LD; i++) x[i] = y[i];
}

static void check_same(int64_t rows, int64_t cols, bool lower, double tolerance)
{
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = lower ? j : 0; i < rows; i++) check_close(c[i + j * LD], C[i + j * LD], tolerance);
}

typedef void gemm(la_op, la_op, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t, float,
                  float *, int64_t);
typedef void syrk(la_op, int64_t, int64_t, float, const float *, int64_t, float, float *, int64_t);
typedef void trsm(la_side, la_op, int64_t, int64_t, float, const float *, int64_t, float *, int64_t);

static void products_are_those_of_double(void **state)
{
    gemm *const gemms[] = {la_gemm_f32, own_gemm_f32};
    syrk *const syrks[] = {la_syrk_f32, own_syrk_f32};
    (void)state;
    for (int which = 0; which < 8; which++) {
        la_op opa = which & 1 ? LA_T : LA_N, opb = which & 2 ? LA_T : LA_N;
        fill(1, A, a), fill(2, B, b), fill(3, C, c);
        gemms[which / 4](opa, opb, N, M, M, 0.5f, a, LD, b, LD, 2, c, LD);
        la_gemm(opa, opb, N, M, M, 0.5, A, LD, B, LD, 2, C, LD);
        check_same(N, M, false, 1e-5);
        fill(3, C, c);
        syrks[which / 4](opa, N, M, -0.5f, a, LD, 1, c, LD);
        la_syrk(opa, N, M, -0.5, A, LD, 1, C, LD);
        check_same(N, N, true, 1e-5);
    }
}

static void lower_products_are_those_of_double(void **state)
{
    (void)state;
    fill(1, A, a), fill(2, B, b), fill(3, C, c);
    double above = c[0 + 1 * LD];
    la_gemm_lower_f32(LA_N, LA_T, N, M, 1, a, LD, b, LD, 1, c, LD);
    la_gemm_lower(LA_N, LA_T, N, M, 1, A, LD, B, LD, 1, C, LD);
    check_same(N, N, true, 1e-5);
    assert_true(c[0 + 1 * LD] == above);
}

/* A triangle that is far from singular. */
static void make_triangle(void)
{
    fill(4, L, l);
    for (int i = 0; i < N; i++) L[i + i * LD] = l[i + i * LD] = 30;
}

static void solves_are_those_of_double(void **state)
{
    static double T[1 << 15];
    static float t[1 << 15];
    (void)state;
    make_triangle();
    assert_true(la_trsm_size(N) <= (int64_t)(sizeof T / sizeof *T));
    la_trsm_prepare(N, L, LD, T);
    la_round(la_trsm_size(N), T, t);
    for (int which = 0; which < 4; which++) {
        la_side side = which & 1 ? LA_RIGHT : LA_LEFT;
        la_op op = which & 2 ? LA_T : LA_N;
        int64_t rows = side == LA_LEFT ? N : M, cols = side == LA_LEFT ? M : N;
        for (int own = 0; own < 2; own++) {
            fill(3, C, c);
            if (own)
                own_trsm_f32(side, op, rows, cols, 1, l, LD, c, LD);
            else
                la_trsm_prepared_f32(side, op, rows, cols, l, LD, t, c, LD);
            la_trsm(side, op, rows, cols, 1, L, LD, C, LD);
            check_same(rows, cols, false, 1e-5);
        }
    }
}

static void mirror_copies_the_lower_triangle(void **state)
{
    (void)state;
    for (int n = 1; n <= N; n++) {
        fill(1, A, a);
        la_mirror(n, A, LD);
        la_mirror_f32(n, a, LD);
        fill(1, B, b);
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                bool above = i < j && j < n;
                assert_true(A[i + j * LD] == (above ? B[j + i * LD] : B[i + j * LD]));
                assert_true(a[i + j * LD] == (above ? b[j + i * LD] : b[i + j * LD]));
            }
    }
}

static void sums_of_floats_are_double(void **state)
{
    (void)state;
    fill(1, A, a), fill(2, B, b);
    check_close(la_dot_f32(N, a, b), la_dot(N, A, B), 1e-13);
    check_close(la_dot_mixed(N, a, B), la_dot(N, A, B), 1e-13);
    la_axpy_mixed(N, 0.3, a, B);
    for (int i = 0; i < N; i++) check_close(B[i], b[i] + 0.3 * A[i], 1e-13);
    double large[] = {1e300, -1e300, INFINITY, 1e-300};
    la_round(4, large, a);
    assert_true(isfinite(a[0]) && isfinite(a[1]) && a[0] > 1e38f && a[1] < -1e38f && a[3] == 0);
}

/* Factor and inverse, of sizes with one block and many, on one thread's way and on that of several. */
static void factors_are_those_of_double(void **state)
{
    enum { MOST = 600 };
    static const int sizes[] = {1, 31, 32, 33, 40, 100, MOST};
    double *F = mem_doubles(MOST, MOST), *G = mem_doubles(MOST, MOST);
    float *f = malloc(MOST * MOST * sizeof *f);
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int n = sizes[s];
        fill_normal(5, n * n, G);
        for (int j = 0; j < n; j++) G[j + j * n] += 2 * n;
        la_syrk(LA_N, n, n, 1.0 / n, G, n, 0, F, n);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) f[i + j * n] = i >= j ? (float)F[i + j * n] : 7;
        assert_true(la_factor(n, F, n) && la_factor_f32(n, f, n));
        for (int j = 0; j < n; j++)
            for (int i = j; i < n; i++) check_close(f[i + j * n], F[i + j * n], 1e-5);
        assert_true(la_potri(n, F, n) == 0 && la_potri_f32(n, f, n));
        for (int j = 0; j < n; j++)
            for (int i = j; i < n; i++) check_close(f[i + j * n], F[i + j * n], 1e-5);
        for (int j = 1; j < n; j++) assert_true(f[0 + j * n] == 7); /* nothing is written above the diagonal */
    }
    for (int i = 0; i < MOST * MOST; i++) f[i] = i % (MOST + 1) == 0 ? i < MOST * MOST / 2 ? 1 : -1 : 0;
    assert_false(la_factor_f32(MOST, f, MOST));
    f[0] = NAN;
    assert_false(la_factor_f32(3, f, MOST));
    f[0] = 0;
    assert_false(la_potri_f32(3, f, MOST));
    free(F), free(G), free(f);
}

/* Triangles in float with vectors in double: the same numbers in double, to its rounding, over one tile and several. */
static void mixed_products_are_in_double(void **state)
{
    enum { MOST = 600, T = 3 };
    static const int sizes[] = {1, 5, 256, 257, MOST};
    double *F = mem_doubles(MOST, MOST), V[MOST * T], W[MOST * T], X[MOST * T];
    float *f = malloc(MOST * MOST * sizeof *f);
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int n = sizes[s];
        fill_normal(6, n * n, F);
        fill_normal(7, n * T, V);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                double v = (i == j ? 2 : 0.5 / n) * F[i + j * n] + (i == j ? 5 : 0);
                f[i + j * n] = i >= j ? (float)v : NAN;
                F[i + j * n] = i >= j ? f[i + j * n] : 0;
            }
        for (int op = 0; op < 2; op++) {
            memcpy(W, V, sizeof V), memcpy(X, V, sizeof V);
            la_trsm(LA_LEFT, op ? LA_T : LA_N, n, T, 1, F, n, W, n);
            assert_true(la_trsm_mixed(op ? LA_T : LA_N, n, T, f, n, X, n));
            for (int i = 0; i < n * T; i++) check_close(X[i], W[i], 1e-12);
        }
        memcpy(W, V, sizeof V);
        la_trmm(LA_LEFT, LA_N, n, T, 1, F, n, W, n);
        assert_true(la_trmm_mixed(n, T, f, n, V, n, X, n));
        for (int i = 0; i < n * T; i++) check_close(X[i], W[i], 1e-12);
        la_symm(LA_LEFT, n, T, 1, F, n, V, n, 0, W, n);
        assert_true(la_symm_mixed(n, T, f, n, V, n, X, n));
        for (int i = 0; i < n * T; i++) check_close(X[i], W[i], 1e-12);
    }
    free(F), free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_double),     cmocka_unit_test(lower_products_are_those_of_double),
        cmocka_unit_test(solves_are_those_of_double),       cmocka_unit_test(sums_of_floats_are_double),
        cmocka_unit_test(factors_are_those_of_double),      cmocka_unit_test(mixed_products_are_in_double),
        cmocka_unit_test(mirror_copies_the_lower_triangle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
