/* Structured orthogonal frequencies: the transform against its definition by matrices, lengths, and rows in pieces. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/weights/hadamard.h"
#include "support.h"

/* Row k, column d of the matrix that products are made with: those with unit vectors. */
static double *matrix_of(int64_t P, uint64_t seed, int64_t transform, double scale)
{
    double *X = calloc((size_t)(P * P), sizeof *X), *Z = malloc((size_t)(P * P) * sizeof *Z),
           *over = malloc((size_t)P * sizeof *over), *all = malloc((size_t)P * sizeof *all),
           *room = malloc((size_t)hadamard_doubles(P) * sizeof *room);
    for (int64_t d = 0; d < P; d++) X[d + d * P] = 1, over[d] = 1, all[d] = scale;
    hadamard_products(seed, P, transform, P, P, X, over, P, all, Z, P, room); /* Z[d,k] */
    free(X);
    free(over);
    free(all);
    free(room);
    return Z;
}

static double hadamard_element(int64_t i, int64_t j)
{
    return __builtin_popcountll((unsigned long long)(i & j)) % 2 ? -1 : 1;
}

/* Rows are orthonormal, and with the first H undone, H H D_1 H D_2 H D_3 / P^3/2 = D_1 (H D_2 H / P) D_3: but for signs of rows and columns
   its elements depend on i xor j alone. */
static void a_transform_is_three_of_hadamards_matrices_and_signs(void **unused)
{
    (void)unused;
    for (int64_t P = 64; P <= 512; P *= 2) {
        size_t size = (size_t)(P * P) * sizeof(double);
        double *Z = matrix_of(P, 7, 3, 1 / ((double)P * sqrt((double)P))), *A = malloc(size), *H = malloc(size);
        for (int64_t i = 0; i < P; i++)
            for (int64_t j = 0; j < P; j++) H[i + j * P] = hadamard_element(i, j) / sqrt((double)P);
        la_gemm(LA_T, LA_N, P, P, P, 1, Z, P, Z, P, 0, A, P);
        for (int64_t i = 0; i < P * P; i++) assert_true(fabs(A[i] - (i % (P + 1) == 0)) < 1e-13);
        la_gemm(LA_N, LA_T, P, P, P, 1, H, P, Z, P, 0, A, P);
        int64_t different = 0;
        for (int64_t i = 0; i < P * P; i++) {
            int64_t row = i % P, column = i / P;
            assert_true(fabs(fabs(A[i]) - fabs(A[(row ^ column) * P])) < 1e-13);
            different += fabs(fabs(A[i]) - fabs(A[0])) > 1e-6;
        }
        assert_true(different > P * P / 2); /* D_2 is no multiple of the identity */
        free(Z);
        free(A);
        free(H);
    }
}

static void rows_may_come_in_any_pieces(void **unused)
{
    (void)unused;
    enum { N = 21, D = 70, P = 128, WAVES = 100 };
    double X[N * D], over[D], scale[WAVES], *room = malloc((size_t)hadamard_doubles(P) * sizeof *room);
    static double whole[N * WAVES], part[N * WAVES];
    assert_int_equal(hadamard_size(D), P);
    assert_int_equal(hadamard_size(1), 64);
    fill_normal(3, N * D, X);
    for (int d = 0; d < D; d++) over[d] = 1.0 / (1 + d);
    for (int k = 0; k < WAVES; k++) scale[k] = 0.01 * (1 + k);
    hadamard_products(9, P, 5, N, D, X, over, WAVES, scale, whole, N, room);
    for (int64_t at = 0, n = 1; at < N; at += n, n += 2) {
        if (n > N - at) n = N - at;
        hadamard_products(9, P, 5, n, D, X + at * D, over, WAVES, scale, part + at, N, room);
    }
    assert_memory_equal(whole, part, sizeof whole);
    free(room);
}

/* r^2 P^3 ~ chi2(P): mean P, variance 2 P. */
static void lengths_have_the_chi_distribution(void **unused)
{
    (void)unused;
    enum { P = 64, N = 20000 };
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < N; k++) {
        double r = hadamard_length(11, P, k / P, k % P), x = r * r * P * P * P;
        sum += x / N, squares += x * x / N;
    }
    assert_true(fabs(sum - P) < 5 * sqrt(2.0 * P / N));
    assert_true(fabs(squares - sum * sum - 2 * P) < 0.05 * 2 * P);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transform_is_three_of_hadamards_matrices_and_signs),
        cmocka_unit_test(rows_may_come_in_any_pieces),
        cmocka_unit_test(lengths_have_the_chi_distribution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
