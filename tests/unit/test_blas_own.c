/* The loops that stand in for BLAS in a library built without one, against those of this build: the same file under other names. */
#include "support.h"

#include <string.h>

#include "linalg/blas.h"
#include "linalg/linalg.h"

#define la_threads own_threads
#define blas_alone_begin own_alone_begin
#define blas_alone_end own_alone_end
#define la_serial_begin own_serial_begin
#define la_serial_end own_serial_end
#define la_dot own_dot
#define la_norm own_norm
#define la_axpy own_axpy
#define la_scale own_scale
#define la_gemv own_gemv
#define la_gemm own_gemm
#define la_syrk own_syrk
#define la_symm own_symm
#define la_trsv own_trsv
#define la_trmm own_trmm
#define blas_trsm own_trsm
#define blas_potrf own_potrf
#define blas_potri own_potri
#define blas_trtri own_trtri
#define blas_lauum own_lauum
#define la_eigh_work own_eigh_work
#define la_eigh own_eigh
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "linalg/blas_own.c"
#include "linalg/eigh_own.c"
#undef la_threads
#undef blas_alone_begin
#undef blas_alone_end
#undef la_serial_begin
#undef la_serial_end
#undef la_dot
#undef la_norm
#undef la_axpy
#undef la_scale
#undef la_gemv
#undef la_gemm
#undef la_syrk
#undef la_symm
#undef la_trsv
#undef la_trmm
#undef blas_trsm
#undef blas_potrf
#undef blas_potri
#undef blas_trtri
#undef blas_lauum
#undef la_eigh_work
#undef la_eigh

enum { MOST = 150, LD = MOST + 3 }; /* beyond a tile in both directions */
static const int64_t sizes[] = {0, 3, 33, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static double A[LD * MOST], B[LD * MOST], C[LD * MOST], D[LD * MOST], x[MOST], y[MOST], z[MOST];

/* The same numbers each time. */
static void fill_all(void)
{
    static double kept[3][LD * MOST];
    if (kept[0][0] == 0)
        for (int k = 0; k < 3; k++) fill_normal(1 + (uint64_t)k, LD * MOST, kept[k]);
    memcpy(A, kept[0], sizeof A);
    memcpy(B, kept[1], sizeof B);
    memcpy(C, kept[2], sizeof C);
    memcpy(D, C, sizeof C);
    memcpy(x, B, sizeof x);
    memcpy(y, C, sizeof y);
    memcpy(z, y, sizeof y);
}

static void fill_triangle(int64_t n)
{
    for (int64_t i = 0; i < n; i++) A[i + i * LD] = (i % 2 ? 1 : -1) * (sqrt((double)n) + 1 + fabs(A[i + i * LD]));
}

static void check_same(double tolerance)
{
    for (int i = 0; i < LD * MOST; i++) check_close(C[i], D[i], tolerance);
    for (int i = 0; i < MOST; i++) check_close(y[i], z[i], tolerance);
}

static void vectors_agree_with_blas(void **unused)
{
    (void)unused;
    for (int k = 0; k < SIZES; k++) {
        int64_t n = sizes[k];
        fill_all();
        check_close(own_dot(n, x, y), la_dot(n, x, y), 1e-12);
        check_close(own_norm(n, x), la_norm(n, x), 1e-13);
        own_axpy(n, 0.7, x, y), la_axpy(n, 0.7, x, z);
        own_scale(n, -1.5, y), la_scale(n, -1.5, z);
        check_same(1e-14);
    }
    double large[] = {3e200, -4e200}, none[] = {0, 0};
    check_close(own_norm(2, large), 5e200, 1e-14);
    assert_true(own_norm(2, none) == 0);
}

static void products_agree_with_blas(void **unused)
{
    (void)unused;
    for (int k = 0; k < SIZES * SIZES * 4; k++) {
        la_op opa = k & 1 ? LA_T : LA_N, opb = k & 2 ? LA_T : LA_N;
        int64_t m = sizes[k / 4 % SIZES], n = sizes[k / 4 / SIZES], depth = k % 3 ? MOST : 5;
        double beta = k % 5 ? 0.3 : 0;
        fill_all();
        if (beta == 0) C[0] = D[0] = NAN; /* is not read then */
        if (m == 0 || n == 0) C[0] = D[0] = 1;
        own_gemm(opa, opb, m, n, depth, 1.1, A, LD, B, LD, beta, C, LD);
        la_gemm(opa, opb, m, n, depth, 1.1, A, LD, B, LD, beta, D, LD);
        own_gemv(opa, m, n, -0.4, A, LD, x, 0.6, y);
        la_gemv(opa, m, n, -0.4, A, LD, x, 0.6, z);
        check_same(1e-11);
    }
}

static void symmetric_products_agree_with_blas(void **unused)
{
    (void)unused;
    for (int k = 0; k < SIZES * 2; k++) {
        int64_t n = sizes[k / 2];
        la_op op = k & 1 ? LA_T : LA_N;
        fill_all();
        own_syrk(op, n, 40, 1.3, A, LD, 0.5, C, LD);
        la_syrk(op, n, 40, 1.3, A, LD, 0.5, D, LD);
        check_same(1e-11);
        la_side side = k & 1 ? LA_RIGHT : LA_LEFT;
        own_symm(side, side == LA_LEFT ? n : 7, side == LA_LEFT ? 7 : n, 0.9, A, LD, B, LD, 0.2, C, LD);
        la_symm(side, side == LA_LEFT ? n : 7, side == LA_LEFT ? 7 : n, 0.9, A, LD, B, LD, 0.2, D, LD);
        check_same(1e-11);
    }
}

static void triangles_agree_with_blas(void **unused)
{
    (void)unused;
    for (int k = 0; k < SIZES * 4; k++) {
        int64_t n = sizes[k / 4];
        la_op op = k & 1 ? LA_T : LA_N;
        la_side side = k & 2 ? LA_RIGHT : LA_LEFT;
        int64_t rows = side == LA_LEFT ? n : 9, cols = side == LA_LEFT ? 9 : n;
        fill_all();
        fill_triangle(n);
        own_trmm(side, op, rows, cols, 1.2, A, LD, C, LD);
        la_trmm(side, op, rows, cols, 1.2, A, LD, D, LD);
        check_same(1e-11);
        own_trsm(side, op, rows, cols, -0.8, A, LD, C, LD);
        blas_trsm(side, op, rows, cols, -0.8, A, LD, D, LD);
        own_trsv(op, n, A, LD, y);
        la_trsv(op, n, A, LD, z);
        check_same(1e-10);
    }
}

static void factors_agree_with_lapack(void **unused)
{
    (void)unused;
    for (int k = 1; k < SIZES; k++) {
        int64_t n = sizes[k];
        fill_all();
        la_syrk(LA_N, n, MOST, 1, A, LD, 0, C, LD);
        for (int64_t i = 0; i < n; i++) C[i + i * LD] += 1;
        memcpy(D, C, sizeof C);
        assert_int_equal(own_potrf(n, C, LD), blas_potrf(n, D, LD));
        check_same(1e-10);
        assert_int_equal(own_potri(n, C, LD), blas_potri(n, D, LD));
        check_same(1e-9);
        C[n / 2 + n / 2 * LD] = D[n / 2 + n / 2 * LD] = -1;
        assert_int_equal(own_potrf(n, C, LD), blas_potrf(n, D, LD));
    }
}

/* A = V diag(w) V' with V'V = I and w ascending, also where A is singular. */
static void eigenvectors_give_the_matrix_back(void **unused)
{
    (void)unused;
    enum { SIZE = 24 };
    static double work[SIZE * SIZE], w[SIZE], V[LD * SIZE];
    fill_all();
    la_syrk(LA_N, SIZE, 10, 1, A, LD, 0, C, LD); /* of rank 10 */
    la_mirror(SIZE, C, LD);
    memcpy(V, C, sizeof V);
    assert_true(own_eigh_work(SIZE) <= SIZE * SIZE);
    assert_int_equal(own_eigh(SIZE, V, LD, w, work), 0);
    for (int i = 0; i < SIZE; i++) {
        assert_true(i == 0 || w[i] >= w[i - 1]);
        for (int j = 0; j < SIZE; j++) {
            double product = 0, one = 0;
            for (int k = 0; k < SIZE; k++)
                product += V[i + k * LD] * w[k] * V[j + k * LD], one += V[k + i * LD] * V[k + j * LD];
            check_close(product, C[i + j * LD], 1e-12);
            check_close(one, i == j, 1e-12);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors_agree_with_blas),
                                       cmocka_unit_test(products_agree_with_blas),
                                       cmocka_unit_test(symmetric_products_agree_with_blas),
                                       cmocka_unit_test(triangles_agree_with_blas),
                                       cmocka_unit_test(factors_agree_with_lapack),
                                       cmocka_unit_test(eigenvectors_give_the_matrix_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
