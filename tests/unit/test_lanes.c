/* Small systems side by side, in both widths of vectors, against plain sums for each; kernels side by side against their own matrices. */
#include "kernel_cases.h"

#include <stdlib.h>

#include "linalg/lanes.h"

/* The narrow loops of the same file under other names. */
#define ANYGP_NARROW_LANES
#define lanes_factor narrow_factor
#define lanes_solve narrow_solve
#define lanes_forward narrow_forward
#define lanes_symmetric narrow_symmetric
#define lanes_products narrow_products
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "linalg/lanes.c"
#undef lanes_factor
#undef lanes_solve
#undef lanes_forward
#undef lanes_symmetric
#undef lanes_products

enum { MOST = 23, MORE = 2, OWN = 5 };
static const int64_t sizes[] = {1, 2, 4, 7, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef struct routines {
    int (*factor)(int64_t, int64_t, double *, double *);
    void (*solve)(int64_t, int64_t, const int64_t *, const double *, const double *, double *);
    void (*products)(int64_t, int64_t, const int64_t *, const double *, const double *, double *);
    void (*forward)(int64_t, int64_t, const int64_t *, const double *, const double *, double *);
    void (*symmetric)(int64_t, int64_t, const int64_t *, const double *, const double *, double *);
} routines;
static const routines widths[] = {{lanes_factor, lanes_solve, lanes_products, lanes_forward, lanes_symmetric},
                                  {narrow_factor, narrow_solve, narrow_products, narrow_forward, narrow_symmetric}};

static double *aligned(int64_t n)
{
    double *x = aligned_alloc(64, (size_t)(n + LANES) / LANES * LANES * sizeof *x);
    assert_non_null(x);
    return x;
}

static double *element(double *A, int64_t i, int64_t j, int lane) { return A + lanes_row(i) + j * LANES + lane; }

/* Positive definite: a few random vectors' products and a diagonal. */
static void fill_matrix(int64_t n, double *A)
{
    double v[MOST * 3];
    for (int lane = 0; lane < LANES; lane++) {
        fill_normal((uint64_t)(10 + lane), n * 3, v);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++)
                *element(A, i, j, lane) = v[3 * i] * v[3 * j] + v[3 * i + 1] * v[3 * j + 1] +
                                          v[3 * i + 2] * v[3 * j + 2] + (i == j ? 0.5 + lane : 0);
    }
    fill_normal(20, MORE * n * LANES, A + lanes_row(n));
}

static void check_factor(const routines *r, int64_t n)
{
    int64_t size = lanes_row(n) + MORE * n * LANES;
    double *A = aligned(size), *L = aligned(size), *inverse = aligned(n * LANES);
    fill_matrix(n, A);
    memcpy(L, A, (size_t)size * sizeof *A);
    assert_int_equal(r->factor(n, MORE, L, inverse), -1);
    for (int lane = 0; lane < LANES; lane++)
        for (int64_t i = 0; i < n + MORE; i++) {
            double *row = i < n ? L + lanes_row(i) : L + lanes_row(n) + (i - n) * n * LANES;
            double *given = i < n ? A + lanes_row(i) : A + lanes_row(n) + (i - n) * n * LANES;
            for (int64_t j = 0; j < n && j <= i; j++) {
                double sum = 0; /* L L', and (B L^-T) L' */
                for (int64_t k = 0; k <= j; k++) sum += row[k * LANES + lane] * *element(L, j, k, lane);
                check_close(sum, given[j * LANES + lane], 1e-12);
            }
            if (i < n) check_close(inverse[i * LANES + lane] * *element(L, i, i, lane), 1, 1e-14);
        }
    *element(A, n - 1, n - 1, 3) = -1;
    assert_int_equal(r->factor(n, MORE, A, inverse), 3);
    free(A);
    free(L);
    free(inverse);
}

static void factors_times_their_transposes_are_the_matrices(void **unused)
{
    (void)unused;
    for (size_t w = 0; w < 2; w++)
        for (size_t s = 0; s < SIZES; s++) check_factor(&widths[w], sizes[s]);
}

/* Rows that are 0 after last[a]. */
static void fill_rows(uint64_t stream, int64_t n, const int64_t *last, double *R)
{
    fill_normal(stream, OWN * n * LANES, R);
    for (int64_t a = 0; a < OWN; a++)
        for (int64_t j = last[a] + 1; j < n; j++) memset(R + (a * n + j) * LANES, 0, LANES * sizeof *R);
}

static void check_solve_and_products(const routines *r, int64_t n)
{
    int64_t last[OWN], rows = OWN * n * LANES;
    for (int64_t a = 0; a < OWN; a++) last[a] = n * (a + 1) / OWN > 0 ? n * (a + 1) / OWN - 1 : 0;
    double *L = aligned(lanes_row(n) + MORE * n * LANES), *inverse = aligned(n * LANES);
    double *R = aligned(rows), *X = aligned(rows), *G = aligned(lanes_row(n));
    fill_matrix(n, L);
    assert_int_equal(r->factor(n, 0, L, inverse), -1);
    fill_rows(30, n, last, R);
    memcpy(X, R, (size_t)rows * sizeof *R);
    r->solve(n, OWN, last, L, inverse, X);
    r->products(n, OWN, last, R, X, G);
    for (int lane = 0; lane < LANES; lane++)
        for (int64_t i = 0; i < n; i++) {
            for (int64_t a = 0; a < OWN; a++) { /* X L = R */
                double sum = 0;
                for (int64_t k = i; k < n; k++) sum += X[(a * n + k) * LANES + lane] * *element(L, k, i, lane);
                check_close(sum, R[(a * n + i) * LANES + lane], 1e-12);
            }
            for (int64_t j = 0; j <= i; j++) {
                double sum = 0;
                for (int64_t a = 0; a < OWN; a++)
                    sum += R[(a * n + i) * LANES + lane] * X[(a * n + j) * LANES + lane] +
                           X[(a * n + i) * LANES + lane] * R[(a * n + j) * LANES + lane];
                check_close(*element(G, i, j, lane), sum, 1e-12);
            }
        }
    double *const owned[] = {L, inverse, R, X, G};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static void solutions_and_products_are_those_of_each_lane(void **unused)
{
    (void)unused;
    for (size_t w = 0; w < 2; w++)
        for (size_t s = 0; s < SIZES; s++) check_solve_and_products(&widths[w], sizes[s]);
}

/* Rows of unequal lengths, the last one the shortest: X L' = R and T = R S in the columns that count. */
static void check_forward_and_symmetric(const routines *r, int64_t n)
{
    int64_t last[OWN], rows = OWN * n * LANES;
    for (int64_t a = 0; a < OWN; a++) last[a] = (OWN - a) * (n - 1) / OWN;
    double *L = aligned(lanes_row(n) + MORE * n * LANES), *inverse = aligned(n * LANES), *S = aligned(lanes_row(n));
    double *R = aligned(rows), *X = aligned(rows), *T = aligned(rows);
    fill_matrix(n, L);
    assert_int_equal(r->factor(n, 0, L, inverse), -1);
    fill_normal(60, lanes_row(n), S);
    fill_rows(61, n, last, R);
    memcpy(X, R, (size_t)rows * sizeof *R);
    r->forward(n, OWN, last, L, inverse, X);
    r->symmetric(n, OWN, last, R, S, T);
    for (int lane = 0; lane < LANES; lane++)
        for (int64_t a = 0; a < OWN; a++)
            for (int64_t j = 0; j <= last[a]; j++) {
                double solved = 0, product = 0;
                for (int64_t k = 0; k <= j; k++) solved += X[(a * n + k) * LANES + lane] * *element(L, j, k, lane);
                for (int64_t k = 0; k < n; k++)
                    product +=
                        R[(a * n + k) * LANES + lane] * *(k > j ? element(S, k, j, lane) : element(S, j, k, lane));
                check_close(solved, R[(a * n + j) * LANES + lane], 1e-12);
                check_close(T[(a * n + j) * LANES + lane], product, 1e-12);
            }
    double *const owned[] = {L, inverse, S, R, X, T};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static void forward_solutions_and_symmetric_products_are_those_of_each_lane(void **unused)
{
    (void)unused;
    for (size_t w = 0; w < 2; w++)
        for (size_t s = 0; s < SIZES; s++) check_forward_and_symmetric(&widths[w], sizes[s]);
}

/* ---------------------------------------------------------------------------------------------- kernels */

enum { ROWS_EACH = 6, PARAMS_MOST = 64 };
static int seen_with_lanes;

static void check_kernel(const char *name, kernel *k, int64_t D, bool text)
{
    int64_t n = ROWS_EACH, P = kernel_count(k);
    double rows[ROWS_EACH * CASE_D], K[ROWS_EACH * ROWS_EACH], g[ROWS_EACH * ROWS_EACH];
    double one[PARAMS_MOST] = {0}, all[PARAMS_MOST] = {0};
    if (text || !kernel_has_lanes(k)) return;
    seen_with_lanes++;
    double *X = aligned(D * n * LANES), *matrix = aligned(lanes_row(n)), *G = aligned(lanes_row(n));
    double *work = aligned(kernel_lanes_work(k, n));
    fill_normal(50, lanes_row(n), G);
    for (int lane = 0; lane < LANES; lane++) {
        fill_normal((uint64_t)(40 + lane), n * D, rows);
        memcpy(rows + 2 * D, rows, (size_t)D * sizeof *rows); /* equal rows */
        for (int64_t i = 0; i < n * D; i++) X[((i % D) * n + i / D) * LANES + lane] = rows[i];
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) g[i + j * n] = *element(G, i, j, lane);
        assert_true(kernel_gram_sym_reverse(k, n, rows, D, g, n, one, NULL, 0));
    }
    kernel_lanes_gram(k, n, X, matrix, work);
    kernel_lanes_reverse(k, n, X, G, all, work);
    for (int64_t p = 0; p < P; p++) check_close_at(all[p] - 1, one[p] - 1, 1e-11, name, __FILE__, __LINE__);
    for (int lane = 0; lane < LANES; lane++) {
        for (int64_t i = 0; i < n * D; i++) rows[i] = X[((i % D) * n + i / D) * LANES + lane];
        assert_true(kernel_gram_sym(k, n, rows, D, K, n));
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++)
                check_close_at(*element(matrix, i, j, lane), K[i + j * n], 1e-13, name, __FILE__, __LINE__);
    }
    double *const owned[] = {X, matrix, G, work};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static void kernels_side_by_side_are_those_of_each_set(void **unused)
{
    static const char *const sums[] = {"2*rbf*matern32(iso) + 0.3*rq + constant",
                                       "(rbf + constant)*(matern12 + matern52(iso))"};
    (void)unused;
    for_each_case(3, check_kernel);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        case_run(sums[i], case_parse(sums[i], 3, INPUT_NUMBER), 3, false, check_kernel);
    assert_true(seen_with_lanes > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_times_their_transposes_are_the_matrices),
        cmocka_unit_test(solutions_and_products_are_those_of_each_lane),
        cmocka_unit_test(forward_solutions_and_symmetric_products_are_those_of_each_lane),
        cmocka_unit_test(kernels_side_by_side_are_those_of_each_set)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
