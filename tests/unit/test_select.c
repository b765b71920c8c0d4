#include "support.h"

#include <string.h>

#include "data/partition/select.h"
#include "inducing/greedy.h"
#include "linalg/linalg.h"

enum { N = 40, D = 2 };

static void check_increasing(const int64_t *chosen, int64_t k, int64_t n)
{
    for (int64_t i = 0; i < k; i++) {
        assert_true(chosen[i] >= 0 && chosen[i] < n);
        assert_true(i == 0 || chosen[i] > chosen[i - 1]);
    }
}

static void random_choice_has_different_rows_in_order(void **state)
{
    (void)state;
    int64_t chosen[N], again[N];
    for (int64_t k = 0; k <= N + 5; k++) {
        int64_t count = select_random(N, k, 5, chosen);
        assert_int_equal(count, k < N ? k : N);
        check_increasing(chosen, count, N);
        select_random(N, k, 5, again);
        assert_memory_equal(chosen, again, (size_t)count * sizeof *chosen);
    }
}

static void kmeans_choice_takes_one_row_a_cluster(void **state)
{
    (void)state;
    double X[N * D];
    fill_normal(1, N * D, X);
    for (int i = 0; i < N; i++) X[i * D] += 100 * (i % 8);
    int64_t chosen[8], count, clusters = 0;
    assert_int_equal(select_kmeans(N, D, X, D, 8, 2, chosen, &count, NULL), ANYGP_OK);
    assert_int_equal(count, 8);
    check_increasing(chosen, 8, N);
    for (int i = 0; i < 8; i++) clusters |= 1 << (chosen[i] % 8);
    assert_int_equal(clusters, 255);
}

static void repeated_rows_still_give_k_different_ones(void **state)
{
    (void)state;
    double X[N * D];
    for (int i = 0; i < N * D; i++) X[i] = i / D % 3;
    for (int64_t k = 0; k <= N; k++) {
        int64_t chosen[N], count;
        assert_int_equal(select_kmeans(N, D, X, D, k, 2, chosen, &count, NULL), ANYGP_OK);
        assert_int_equal(count, k);
        check_increasing(chosen, k, N);
        int seen[3] = {0};
        for (int64_t i = 0; i < k; i++) seen[chosen[i] % 3] = 1;
        if (k >= 3) assert_int_equal(seen[0] + seen[1] + seen[2], 3);
    }
}

/* In many dimensions rows lie on a shell and means inside it, so a row at the origin is nearest to several centres. */
static void centres_that_share_their_nearest_row_find_another(void **state)
{
    (void)state;
    enum { ROWS = 200, MANY = 20 };
    double X[ROWS * MANY];
    fill_normal(6, ROWS * MANY, X);
    for (int j = 0; j < MANY; j++) X[17 * MANY + j] *= 0.1;
    int64_t chosen[5] = {-1, -1, -1, -1, -1}, count, shared = 0;
    assert_int_equal(select_kmeans(ROWS, MANY, X, MANY, 5, 1, chosen, &count, NULL), ANYGP_OK);
    check_increasing(chosen, 5, ROWS);
    for (int i = 0; i < 5; i++) shared += chosen[i] == 17;
    assert_int_equal(shared, 1);
}

/* ---------------------------------------------------------------------------------------------- greedy */

typedef struct dense {
    double K[N * N];
    int columns;
} dense;

static void dense_diag(void *ctx, double *diag)
{
    for (int i = 0; i < N; i++) diag[i] = ((dense *)ctx)->K[i * (N + 1)];
}

static void dense_columns(void *ctx, int64_t count, const int64_t *row, double *out)
{
    dense *d = ctx;
    for (int64_t j = 0; j < count; j++) memcpy(out + j * N, d->K + row[j] * N, N * sizeof *out);
    d->columns += (int)count;
}

static void make_kernel(dense *d, double lengthscale, double ridge)
{
    double x[N];
    fill_normal(4, N, x);
    d->columns = 0;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            d->K[i + j * N] = (1 + ridge * (i == j) * i) * exp(-0.5 * pow((x[i] - x[j]) / lengthscale, 2));
}

/* k_ii - k_i' (K_cc)^-1 k_i with the chosen rows c: from scratch by a dense solve */
static double variance_left(const dense *d, const int64_t *chosen, int64_t m, int64_t i)
{
    double A[N * N], b[N], diag[N], jitter, v = d->K[i * (N + 1)];
    for (int64_t p = 0; p < m; p++) {
        b[p] = d->K[i + chosen[p] * N];
        for (int64_t q = 0; q < m; q++) A[p + q * m] = d->K[chosen[p] + chosen[q] * N];
    }
    assert_true(la_cholesky(m, A, m, 0, diag, &jitter));
    if (m) la_trsv(LA_N, m, A, m, b);
    return v - la_dot(m, b, b);
}

static void greedy_takes_the_largest_conditional_variance(void **state)
{
    (void)state;
    dense d;
    make_kernel(&d, 0.2, 0.01);
    int64_t chosen[12], count;
    assert_int_equal(greedy_select(N, 12, dense_diag, dense_columns, &d, 0, NULL, chosen, &count, NULL), ANYGP_OK);
    assert_int_equal(count, 12);
    assert_int_equal(d.columns, 12);
    for (int m = 0; m < 12; m++) {
        double best = variance_left(&d, chosen, m, chosen[m]);
        for (int i = 0; i < N; i++) assert_true(variance_left(&d, chosen, m, i) <= best + 1e-9);
    }
}

static void greedy_stops_when_nothing_is_left(void **state)
{
    (void)state;
    dense d = {.columns = 0};
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) d.K[i + j * N] = i % 4 == j % 4; /* four different rows */
    int64_t chosen[N], count;
    greedy_select(N, N, dense_diag, dense_columns, &d, 0, NULL, chosen, &count, NULL);
    assert_int_equal(count, 4);
    for (int i = 0; i < 4; i++) assert_int_equal(chosen[i], i); /* ties go to the lowest index */
    make_kernel(&d, 1, 0);
    greedy_select(N, N, dense_diag, dense_columns, &d, 1e-4, NULL, chosen, &count, NULL);
    assert_true(count < N);
    for (int i = 0; i < N; i++) assert_true(variance_left(&d, chosen, count, i) <= 1.5e-4);
    assert_true(variance_left(&d, chosen, count - 1, chosen[count - 1]) > 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_choice_has_different_rows_in_order),
        cmocka_unit_test(kmeans_choice_takes_one_row_a_cluster),
        cmocka_unit_test(repeated_rows_still_give_k_different_ones),
        cmocka_unit_test(centres_that_share_their_nearest_row_find_another),
        cmocka_unit_test(greedy_takes_the_largest_conditional_variance),
        cmocka_unit_test(greedy_stops_when_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
