#include "support.h"

#include <string.h>

#include "linalg/blas.h"
#include "linalg/linalg.h"

enum { N = 37, LD = 41 };

static void make_spd(double *A, double ridge)
{
    double B[N * N];
    fill_normal(1, N * N, B);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            double s = i == j ? ridge : 0;
            for (int k = 0; k < N; k++) s += B[i + k * N] * B[j + k * N];
            A[i + j * LD] = s;
        }
}

static void cholesky_times_its_transpose_gives_the_matrix(void **state)
{
    (void)state;
    double A[LD * N], L[LD * N], d[N], jitter;
    make_spd(A, 1);
    memcpy(L, A, sizeof A);
    assert_true(la_cholesky(N, L, LD, 0, d, &jitter));
    assert_true(jitter == 0);
    for (int j = 0; j < N; j++)
        for (int i = j; i < N; i++) {
            double s = 0;
            for (int k = 0; k <= j; k++) s += L[i + k * LD] * L[j + k * LD];
            check_close(s, A[i + j * LD], 1e-12);
        }
}

static void singular_matrix_is_answered_with_recorded_jitter(void **state)
{
    (void)state;
    double A[LD * N], d[N], jitter;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) A[i + j * LD] = 1; /* rank one */
    assert_true(la_cholesky(N, A, LD, 0, d, &jitter));
    assert_true(jitter > 0 && jitter <= 1e-2);
    double trace = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k <= i; k++) trace += A[i + k * LD] * A[i + k * LD];
    check_close(trace, N * (1 + jitter), 1e-10);
}

static void not_finite_or_indefinite_is_refused(void **state)
{
    (void)state;
    double A[LD * N], d[N], jitter;
    make_spd(A, 1);
    A[3 + 2 * LD] = NAN;
    assert_false(la_cholesky(N, A, LD, 0, d, &jitter));
    make_spd(A, 1);
    A[5 + 5 * LD] = -1;
    assert_false(la_cholesky(N, A, LD, 0, d, &jitter));
}

static void inverse_and_logdet_agree_with_eigenvalues(void **state)
{
    (void)state;
    double A[LD * N], L[LD * N], d[N], jitter, w[N], V[LD * N];
    double *work = malloc((size_t)la_eigh_work(N) * sizeof *work);
    make_spd(A, 1);
    memcpy(L, A, sizeof A);
    memcpy(V, A, sizeof A);
    la_cholesky(N, L, LD, 0, d, &jitter);
    assert_int_equal(la_eigh(N, V, LD, w, work), 0);
    double logdet = 0;
    for (int i = 0; i < N; i++) logdet += log(w[i]);
    check_close(la_logdet(N, L, LD), logdet, 1e-11);
    assert_int_equal(la_potri(N, L, LD), 0);
    for (int j = 0; j < N; j++)
        for (int i = j; i < N; i++) {
            double s = 0;
            for (int k = 0; k < N; k++) s += V[i + k * LD] * V[j + k * LD] / w[k];
            check_close(L[i + j * LD], s, 1e-9);
        }
    free(work);
}

/* L X = B and its relatives, checked by multiplying back; sizes around the block edges. */
static void triangular_solves_multiply_back_to_the_right_hand_side(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 63, 64, 65, 130, 257}, sides[] = {1, 24, 25, 70};
    enum { MOST = 257, WIDE = 70, PAD = 3 };
    double *L = malloc(sizeof(double) * (MOST + PAD) * MOST), *B = malloc(sizeof(double) * (MOST + PAD) * MOST),
           *X = malloc(sizeof(double) * (MOST + PAD) * MOST);
    for (size_t a = 0; a < 6; a++)
        for (size_t b = 0; b < 4; b++)
            for (int kind = 0; kind < 4; kind++) {
                la_side side = kind & 1 ? LA_RIGHT : LA_LEFT;
                la_op op = kind & 2 ? LA_T : LA_N;
                int64_t n = sizes[a], rows = kind & 1 ? sides[b] : n, cols = kind & 1 ? n : sides[b], ld = rows + PAD,
                        ldl = n + PAD;
                fill_normal(5, ldl * n, L);
                for (int64_t i = 0; i < ldl * n; i++) L[i] /= sqrt((double)n);
                for (int64_t i = 0; i < n; i++) L[i + i * ldl] = 1.5 + fabs(L[i + i * ldl]);
                fill_normal(6, ld * cols, B);
                memcpy(X, B, sizeof(double) * (size_t)(ld * cols));
                la_trsm(side, op, rows, cols, 2.0, L, ldl, X, ld);
                la_trmm(side, op, rows, cols, 0.5, L, ldl, X, ld);
                for (int64_t j = 0; j < cols; j++)
                    for (int64_t i = 0; i < ld; i++) check_close(X[i + j * ld], B[i + j * ld], 1e-10);
            }
    free(L);
    free(B);
    free(X);
}

/* Sizes that are split several times: against LAPACK's own factor, and the inverse by multiplying back. */
static void factor_and_inverse_by_halves_agree_with_lapack(void **state)
{
    (void)state;
    static const int64_t sizes[] = {513, 769, 1100};
    enum { MOST = 1100, PAD = 5, COLUMNS = 3 };
    size_t bytes = sizeof(double) * (MOST + PAD) * MOST;
    double *A = malloc(bytes), *ours = malloc(bytes), *theirs = malloc(bytes);
    for (size_t k = 0; k < 3; k++) {
        int64_t n = sizes[k], ld = n + PAD;
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < n; i++) A[i + j * ld] = exp(-fabs((double)(i - j)) / 20) + (i == j ? 0.1 : 0);
        memcpy(ours, A, bytes);
        memcpy(theirs, A, bytes);
        assert_int_equal(la_potrf(n, ours, ld), 0);
        assert_int_equal(blas_potrf(n, theirs, ld), 0);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = j; i < n; i++) check_close(ours[i + j * ld], theirs[i + j * ld], 1e-11);
        assert_int_equal(la_potri(n, ours, ld), 0);
        for (int64_t c = 0; c < COLUMNS; c++) { /* column c n/3 of A^-1 A */
            int64_t j = c * (n / 3);
            for (int64_t i = 0; i < n; i++) {
                double s = 0;
                for (int64_t l = 0; l < n; l++) s += (i >= l ? ours[i + l * ld] : ours[l + i * ld]) * A[l + j * ld];
                check_close(s, i == j, 1e-10);
            }
        }
        memcpy(ours, A, bytes);
        ours[n - 2 + (n - 2) * ld] = -1; /* the failing minor is counted from the top */
        assert_int_equal(la_potrf(n, ours, ld), n - 1);
    }
    free(A);
    free(ours);
    free(theirs);
}

/* ------------------------------------------------------------------- lower triangles, by plain loops */

enum { ABOVE = 12345 }; /* what stands above the diagonal and must stay */

static double *doubles(int64_t count)
{
    double *a = malloc(sizeof(double) * (size_t)count);
    assert_non_null(a);
    return a;
}

/* A well-conditioned lower factor; above it numbers that must not be read. */
static double *make_factor(int64_t n, int64_t ld)
{
    double *L = doubles(ld * n);
    fill_normal(7, ld * n, L);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < ld; i++) L[i + j * ld] = i < j ? NAN : L[i + j * ld] / sqrt((double)n);
        L[j + j * ld] = 1.5 + fabs(L[j + j * ld]);
    }
    return L;
}

static double *make_lower(uint64_t seed, int64_t n, int64_t ld)
{
    double *E = doubles(ld * n);
    fill_normal(seed, ld * n, E);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < j; i++) E[i + j * ld] = ABOVE;
    return E;
}

static void check_above(int64_t n, const double *A, int64_t ld)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < j; i++) assert_true(A[i + j * ld] == ABOVE);
}

/* L^-1 by substitution, column after column. */
static double *plain_inverse(int64_t n, const double *L, int64_t ldl)
{
    double *R = calloc((size_t)(n * n), sizeof *R);
    assert_non_null(R);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double s = i == j;
            for (int64_t k = j; k < i; k++) s -= L[i + k * ldl] * R[k + j * n];
            R[i + j * n] = s / L[i + i * ldl];
        }
    return R;
}

static double element(la_op op, const double *A, int64_t ld, int64_t i, int64_t j)
{
    return op == LA_T ? A[j + i * ld] : A[i + j * ld];
}

static void check_lower_product(la_op opa, la_op opb, int64_t n, int64_t k, double beta)
{
    int64_t lda = (opa == LA_T ? k : n) + 2, ldb = (opb == LA_T ? n : k) + 1, ldc = n + 3;
    int64_t size = (n + k + 3) * (n + k + 3);
    double *A = doubles(size), *B = doubles(size), *C = make_lower(4, n, ldc), *old = make_lower(4, n, ldc);
    fill_normal(2, size, A);
    fill_normal(3, size, B);
    for (int64_t i = 0; beta == 0 && i < n; i++) C[i + i * ldc] = NAN; /* not to be read */
    la_gemm_lower(opa, opb, n, k, -0.7, A, lda, B, ldb, beta, C, ldc);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double s = 0;
            for (int64_t l = 0; l < k; l++) s += element(opa, A, lda, i, l) * element(opb, B, ldb, l, j);
            check_close(C[i + j * ldc], -0.7 * s + (beta == 0 ? 0 : beta * old[i + j * ldc]), 1e-12);
        }
    check_above(n, C, ldc);
    free(A), free(B), free(C), free(old);
}

static void lower_product_is_the_triangle_of_the_product(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 63, 64, 65, 150, 300};
    for (size_t a = 0; a < sizeof sizes / sizeof *sizes; a++)
        for (int kind = 0; kind < 4; kind++)
            check_lower_product(kind & 1 ? LA_T : LA_N, kind & 2 ? LA_T : LA_N, sizes[a], 17 + kind, kind ? 1.5 : 0);
    check_lower_product(LA_T, LA_N, 530, 190, 1); /* enough for several threads */
    check_lower_product(LA_N, LA_N, 0, 3, 1);
    check_lower_product(LA_N, LA_N, 70, 0, 0.5);
}

/* R' E R with R = L^-1 by substitution, two plain products. */
static void check_congruence(int64_t n, bool prepared)
{
    int64_t ldl = n + 2, lde = n + 1;
    double *L = make_factor(n, ldl), *E = make_lower(8, n, lde), *R = plain_inverse(n, L, ldl);
    double *H = doubles(n * n), *T = doubles(la_trsm_size(n));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double s = 0;
            for (int64_t k = j; k < n; k++) s += (i >= k ? E[i + k * lde] : E[k + i * lde]) * R[k + j * n];
            H[i + j * n] = s;
        }
    la_trsm_prepare(n, L, ldl, T);
    la_congruence(n, L, ldl, prepared ? T : NULL, E, lde);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double s = 0;
            for (int64_t k = i; k < n; k++) s += R[k + i * n] * H[k + j * n];
            check_close(E[i + j * lde], s, 1e-11);
        }
    check_above(n, E, lde);
    free(L), free(E), free(R), free(H), free(T);
}

static void congruence_is_two_products_with_the_inverse(void **state)
{
    (void)state;
    static const int64_t sizes[] = {257, 400};
    for (int64_t n = 1; n <= 140; n++) check_congruence(n, n % 2); /* every way in which halves can be uneven */
    for (size_t a = 0; a < sizeof sizes / sizeof *sizes; a++)
        for (int prepared = 0; prepared < 2; prepared++) check_congruence(sizes[a], prepared);
}

static void inverse_of_a_factor_and_its_squares_are_those_by_substitution(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 31, 32, 33, 100, 256, 257, 600};
    for (size_t a = 0; a < sizeof sizes / sizeof *sizes; a++) {
        int64_t n = sizes[a], ldl = n + 2;
        double *L = make_factor(n, ldl), *R = plain_inverse(n, L, ldl), *work = doubles(n * n), sum = 0;
        for (int64_t i = 0; i < n * n; i++) sum += R[i] * R[i];
        check_close(la_inverse_norm2(n, L, ldl, work), sum, 1e-12);
        assert_int_equal(la_trtri(n, L, ldl), 0);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = j; i < n; i++) check_close(L[i + j * ldl], R[i + j * n], 1e-12);
        work[n * n - 1] = 0; /* L^-1, singular from here on */
        assert_int_equal(la_trtri(n, work, n), n);
        free(L), free(R), free(work);
    }
}

extern char *openblas_get_corename(void) __attribute__((weak));

static void blas_kernels_are_not_older_than_the_processor(void **state)
{
    (void)state;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!openblas_get_corename || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        getenv("ANYGP_SIMD"))
        skip();
    assert_string_not_equal(openblas_get_corename(), "Prescott");
    assert_string_not_equal(openblas_get_corename(), "Nehalem");
#else /* names of other processors are not chosen by us */
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cholesky_times_its_transpose_gives_the_matrix),
        cmocka_unit_test(singular_matrix_is_answered_with_recorded_jitter),
        cmocka_unit_test(not_finite_or_indefinite_is_refused),
        cmocka_unit_test(inverse_and_logdet_agree_with_eigenvalues),
        cmocka_unit_test(triangular_solves_multiply_back_to_the_right_hand_side),
        cmocka_unit_test(factor_and_inverse_by_halves_agree_with_lapack),
        cmocka_unit_test(lower_product_is_the_triangle_of_the_product),
        cmocka_unit_test(congruence_is_two_products_with_the_inverse),
        cmocka_unit_test(inverse_of_a_factor_and_its_squares_are_those_by_substitution),
        cmocka_unit_test(blas_kernels_are_not_older_than_the_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
