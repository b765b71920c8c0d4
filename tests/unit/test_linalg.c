#include "support.h"

#include <string.h>

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

extern char *openblas_get_corename(void) __attribute__((weak));

static void blas_kernels_are_not_older_than_the_processor(void **state)
{
    (void)state;
    __builtin_cpu_init();
    if (!openblas_get_corename || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) skip();
    assert_string_not_equal(openblas_get_corename(), "Prescott");
    assert_string_not_equal(openblas_get_corename(), "Nehalem");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cholesky_times_its_transpose_gives_the_matrix),
        cmocka_unit_test(singular_matrix_is_answered_with_recorded_jitter),
        cmocka_unit_test(not_finite_or_indefinite_is_refused),
        cmocka_unit_test(inverse_and_logdet_agree_with_eigenvalues),
        cmocka_unit_test(blas_kernels_are_not_older_than_the_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
