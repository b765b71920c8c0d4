#include "support.h"

#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "data/partition/distance.h"
#include "data/partition/kmeans.h"

enum { LD = 5, D = 3 };

/* n rows around `clusters` far corners, offset by `origin`; column D.. of the stride is poison. */
static double *make_rows(int64_t n, int clusters, double origin)
{
    double *X = mem_alloc(n * LD, sizeof *X);
    fill_normal(9, n * LD, X);
    for (int64_t i = 0; i < n; i++) {
        for (int j = 0; j < D; j++) X[i * LD + j] += origin + 40 * (double)((i % clusters) >> j & 1);
        for (int j = D; j < LD; j++) X[i * LD + j] = NAN;
    }
    return X;
}

static int64_t nearest_by_hand(const double *x, int64_t k, const double *centres)
{
    int64_t best = 0;
    for (int64_t c = 1; c < k; c++)
        if (row_distance(D, x, centres + c * D) < row_distance(D, x, centres + best * D)) best = c;
    return best;
}

static void distances_by_products_equal_those_by_hand(void **state)
{
    (void)state;
    for (int far = 0; far < 2; far++) {
        enum { N = 700, K = 9 };
        double *X = make_rows(N, 8, far ? 1e7 : 0), centres[K * D], distance[N];
        int64_t nearest[N], row[K];
        for (int c = 0; c < K; c++) memcpy(centres + c * D, X + (c * 77 + 1) * LD, D * sizeof *X);
        row_set s = {N, D, X, LD, NULL};
        assert_true(nearest_centres(&s, K, centres, nearest, distance));
        for (int i = 0; i < N; i++) {
            int64_t c = nearest_by_hand(X + i * LD, K, centres);
            assert_int_equal(nearest[i], c);
            check_close(distance[i], row_distance(D, X + i * LD, centres + c * D), 1e-14);
        }
        assert_true(nearest_rows(&s, K, centres, row));
        for (int c = 0; c < K; c++) assert_int_equal(row[c], c * 77 + 1);
        free(X);
    }
}

static void separated_clusters_are_found_and_centres_are_their_means(void **state)
{
    (void)state;
    enum { N = 4000, K = 8 };
    double *X = make_rows(N, K, 100), centres[K * D];
    int64_t *nearest = mem_alloc(N, sizeof *nearest), found;
    for (uint64_t seed = 0; seed < 5; seed++) {
        anygp_status status = kmeans(N, D, X, LD, K, &(kmeans_options){.seed = seed}, centres, &found, nearest, NULL);
        assert_int_equal(status, ANYGP_OK);
        assert_int_equal(found, K);
        for (int i = 0; i < N; i++) assert_int_equal(nearest[i], nearest[i % K]);
        for (int c = 0; c < K; c++) {
            double mean[D] = {0};
            for (int i = c; i < N; i += K)
                for (int j = 0; j < D; j++) mean[j] += X[i * LD + j] * K / N;
            for (int j = 0; j < D; j++) check_close(centres[nearest[c] * D + j], mean[j], 1e-12);
        }
    }
    free(nearest);
    free(X);
}

static void batches_come_close_to_all_rows(void **state)
{
    (void)state;
    enum { N = 60000, K = 8 };
    double *X = make_rows(N, K, 0), centres[K * D];
    int64_t found, seen = 0;
    kmeans_options o = {.seed = 3, .iterations = 20};
    assert_int_equal(kmeans(N, D, X, LD, K, &o, centres, &found, NULL, NULL), ANYGP_OK);
    assert_int_equal(found, K);
    for (int c = 0; c < K; c++) {
        int corner = 0;
        for (int j = 0; j < D; j++) {
            corner |= (centres[c * D + j] > 20) << j;
            check_close(remainder(centres[c * D + j], 40) / 10, 0, 0.02);
        }
        seen |= 1 << corner;
    }
    assert_int_equal(seen, 255);
    free(X);
}

/* On one blob the sum of squares must fall with Lloyd's steps and every centre must be the mean of its rows. */
static double sum_of_squares(int64_t n, const double *X, int64_t k, const double *centres)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += row_distance(D, X + i * LD, centres + nearest_by_hand(X + i * LD, k, centres) * D);
    return sum;
}

static void more_iterations_never_cost(void **state)
{
    (void)state;
    enum { N = 600, K = 20 };
    double *X = make_rows(N, 1, 0), centres[K * D], former = INFINITY;
    int64_t found;
    for (int64_t iterations = 1; iterations <= 16; iterations *= 2) {
        kmeans(N, D, X, LD, K, &(kmeans_options){.iterations = iterations}, centres, &found, NULL, NULL);
        double sum = sum_of_squares(N, X, K, centres);
        assert_true(sum <= former * (1 + 1e-12));
        former = sum;
    }
    assert_true(former < 0.8 * N);
    free(X);
}

static void fewer_different_rows_than_centres_give_each_of_them_once(void **state)
{
    (void)state;
    double X[30 * D], centres[10 * D];
    int64_t found, nearest[30];
    for (int i = 0; i < 30; i++)
        for (int j = 0; j < D; j++) X[i * D + j] = i % 4 + j;
    anygp_status s = kmeans(30, D, X, D, 10, &(kmeans_options){.seed = 1}, centres, &found, nearest, NULL);
    assert_int_equal(s, ANYGP_OK);
    assert_int_equal(found, 4);
    for (int i = 0; i < 30; i++) check_close(row_distance(D, X + i * D, centres + nearest[i] * D), 0, 0);
    kmeans(3, D, X, D, 10, &(kmeans_options){.seed = 1}, centres, &found, nearest, NULL);
    assert_int_equal(found, 3);
    kmeans(0, D, X, D, 10, &(kmeans_options){.seed = 1}, centres, &found, nearest, NULL);
    assert_int_equal(found, 0);
}

static void same_seed_same_bits_for_one_and_two_threads(void **state)
{
    (void)state;
    enum { N = 3000, K = 30 };
    double *X = make_rows(N, 5, 0), one[K * D], two[K * D];
    int64_t found;
    int former = threads_enter(1);
    kmeans(N, D, X, LD, K, &(kmeans_options){.seed = 7}, one, &found, NULL, NULL);
    threads_enter(2);
    kmeans(N, D, X, LD, K, &(kmeans_options){.seed = 7}, two, &found, NULL, NULL);
    assert_memory_equal(one, two, sizeof one);
    kmeans(N, D, X, LD, K, &(kmeans_options){.seed = 8}, two, &found, NULL, NULL);
    assert_memory_not_equal(one, two, sizeof one);
    threads_enter(former);
    free(X);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_by_products_equal_those_by_hand),
        cmocka_unit_test(separated_clusters_are_found_and_centres_are_their_means),
        cmocka_unit_test(batches_come_close_to_all_rows),
        cmocka_unit_test(more_iterations_never_cost),
        cmocka_unit_test(fewer_different_rows_than_centres_give_each_of_them_once),
        cmocka_unit_test(same_seed_same_bits_for_one_and_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
