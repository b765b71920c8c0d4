/* Products with a matrix packed in strips (strips.c), in both widths of vectors, against plain sums. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"
#include "linalg/linalg_f32.h"

/* The narrow loops of the same file under other names. */
#define ANYGP_NARROW_STRIPS
#define la_strips_size narrow_size
#define la_strips_prepare narrow_prepare
#define la_strips_work narrow_work
#define la_strips_product narrow_product
#define la_strips_norms narrow_norms
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "linalg/strips.c"
#undef la_strips_size
#undef la_strips_prepare
#undef la_strips_work
#undef la_strips_product
#undef la_strips_norms

enum { LDR = 305, COLUMNS = 150, GUARD = 7 };
static const double UNTOUCHED = 12345;

typedef struct routines {
    int64_t (*size)(bool, int64_t), (*work)(int64_t);
    void (*prepare)(bool, int64_t, const double *, int64_t, double *);
    void (*product)(bool, int64_t, const double *, int64_t, const double *, int64_t, double *, double *, int64_t);
    void (*norms)(bool, int64_t, const double *, int64_t, const double *, int64_t, double *, double *);
} routines;
static const routines widths[] = {
    {la_strips_size, la_strips_work, la_strips_prepare, la_strips_product, la_strips_norms},
    {narrow_size, narrow_work, narrow_prepare, narrow_product, narrow_norms}};

static double *guarded(int64_t n)
{
    double *x = malloc((size_t)(n + GUARD) * sizeof *x);
    assert_true(x != NULL);
    for (int64_t i = n; i < n + GUARD; i++) x[i] = UNTOUCHED;
    return x;
}

static void release(double *x, int64_t n)
{
    for (int64_t i = n; i < n + GUARD; i++) assert_true(x[i] == UNTOUCHED);
    free(x);
}

/* To the bit; but the checks of the sanitizers stand between some products and their sums, which are rounded apart there. */
static void check_same(double a, double b)
{
#ifdef __SANITIZE_ADDRESS__
    check_close(a, b, 1e-13);
#else
    assert_true(a == b);
#endif
}

/* Above its diagonal a lower R has what must not be read; K and C have rows beyond the n-th, those of C to be left alone. */
static void check(const routines *use, bool lower, int64_t n, int64_t m)
{
    int64_t ld = n + 2, size = use->size(lower, n), room = use->work(n);
    double *R = guarded(LDR * n), *K = guarded(ld * m), *C = guarded(ld * m);
    double *P = guarded(size), *work = guarded(room), *norm = guarded(m), alone;
    fill_normal(1, LDR * n, R);
    fill_normal(2, ld * m, K);
    fill_normal(3, ld * m, C);
    for (int64_t j = 0; lower && j < n; j++)
        for (int64_t i = 0; i < j; i++) R[i + j * LDR] = NAN;
    double beyond = C[n];
    use->prepare(lower, n, R, LDR, P);
    use->product(lower, n, P, m, K, ld, work, C, ld);
    use->norms(lower, n, P, m, K, ld, work, norm);
    assert_true(C[n] == beyond);
    for (int64_t c = 0; c < m; c++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            double v = 0;
            for (int64_t j = 0; j < (lower ? i + 1 : n); j++) v += R[i + j * LDR] * K[j + c * ld];
            assert_true(fabs(C[i + c * ld] - v) < 1e-12 * (double)n);
            sum += v * v;
        }
        check_close(norm[c], sum, 1e-12);
        if (c % 37) continue; /* the columns beside it leave no trace */
        use->norms(lower, n, P, 1, K + c * ld, ld, work, &alone);
        check_same(alone, norm[c]);
    }
    release(R, LDR * n), release(K, ld * m), release(C, ld * m), release(P, size), release(work, room),
        release(norm, m);
}

static void products_and_norms_are_plain_sums(void **state)
{
    static const int64_t sizes[] = {1, 2, 11, 12, 13, 24, 25, 48, 130, 300}, counts[] = {1, 4, 7, 8, 64, 65, COLUMNS};
    (void)state;
    for (size_t w = 0; w < 4; w++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
                check(&widths[w / 2], w % 2, sizes[i], counts[k]);
}

/* Where a column fills a good part of the cache. */
static void large_matrices_take_fewer_columns(void **state)
{
    enum { LARGE = 9000 };
    (void)state;
    for (size_t w = 0; w < 2; w++) assert_true(widths[w].work(LARGE) < 10 * LARGE && widths[w].work(2000) > 8 * 2000);
}

/* To the roundings of float. */
static void products_in_float_are_those_of_double(void **state)
{
    enum { N = 100, M = 20 };
    static float r[N * N], k[N * M], c[N * M], norm[M];
    static double R[N * N], K[N * M], C[N * M];
    (void)state;
    fill_normal(1, N * N, R), fill_normal(2, N * M, K);
    la_round(N * N, R, r), la_round(N * M, K, k);
    for (int lower = 0; lower < 2; lower++) {
        float *p = malloc(sizeof(float) * (size_t)la_strips_size_f32(lower, N)),
              *w = malloc(sizeof(float) * (size_t)la_strips_work_f32(N));
        assert_true(p && w);
        la_strips_prepare_f32(lower, N, r, N, p);
        la_strips_product_f32(lower, N, p, M, k, N, w, c, N);
        la_strips_norms_f32(lower, N, p, M, k, N, w, norm);
        if (lower) la_zero_upper(N, R, N);
        la_gemm(LA_N, LA_N, N, M, N, 1, R, N, K, N, 0, C, N);
        for (int i = 0; i < N * M; i++) assert_true(fabs(c[i] - C[i]) < 1e-5 * N);
        for (int j = 0; j < M; j++) check_close(norm[j], la_dot(N, C + j * N, C + j * N), 1e-5);
        free(p), free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_and_norms_are_plain_sums),
        cmocka_unit_test(large_matrices_take_fewer_columns),
        cmocka_unit_test(products_in_float_are_those_of_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
