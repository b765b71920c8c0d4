#include "support.h"

#include <stdbool.h>
#include <string.h>

enum { DRAWS = 100000 };

static random_stream stream(uint64_t seed, uint64_t use, uint64_t sub) { return (random_stream){seed, use, sub}; }

/* Random123's published answer for philox4x64, 10 rounds, counter 0 and key 0. */
static void bits_are_those_of_philox(void **state)
{
    (void)state;
    assert_true(random_bits(stream(0, 0, 0), 0) == UINT64_C(0x16554d9eca36314c));
}

static void a_number_depends_on_all_of_seed_use_sub_and_index(void **state)
{
    (void)state;
    uint64_t base = random_bits(stream(1, 2, 3), 4);
    assert_true(base == random_bits(stream(1, 2, 3), 4));
    assert_true(base != random_bits(stream(9, 2, 3), 4));
    assert_true(base != random_bits(stream(1, 9, 3), 4));
    assert_true(base != random_bits(stream(1, 2, 9), 4));
    assert_true(base != random_bits(stream(1, 2, 3), 9));
}

static void shuffled_is_a_bijection_for_every_small_size(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 70; n++) {
        bool seen[70] = {0};
        for (int64_t i = 0; i < n; i++) {
            int64_t j = random_shuffled(stream(7, RANDOM_TEST, (uint64_t)n), n, i);
            assert_true(j >= 0 && j < n && !seen[j]);
            seen[j] = true;
        }
    }
}

/* Of 1000 keys, each place of 5 gets each element about 200 times: chi^2 with 4 degrees of freedom below 25. */
static void shuffled_is_fair(void **state)
{
    (void)state;
    int count[5][5] = {{0}};
    for (uint64_t key = 0; key < 1000; key++)
        for (int64_t i = 0; i < 5; i++) count[i][random_shuffled(stream(3, RANDOM_TEST, key), 5, i)]++;
    for (int i = 0; i < 5; i++) {
        double chi = 0;
        for (int j = 0; j < 5; j++) chi += pow(count[i][j] - 200, 2) / 200;
        assert_true(chi < 25);
    }
}

/* Mean 1/2, variance 1/12, and no correlation between neighbours or between streams, to five standard errors. */
static void uniforms_have_their_moments(void **state)
{
    (void)state;
    random_stream s = stream(1, RANDOM_TEST, 0), other = stream(1, RANDOM_TEST, 1);
    double sum = 0, square = 0, lag = 0, cross = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        double u = random_uniform(s, i) - 0.5;
        assert_true(u > -0.5 && u < 0.5);
        sum += u, square += u * u;
        lag += u * (random_uniform(s, i + 1) - 0.5), cross += u * (random_uniform(other, i) - 0.5);
    }
    check_close(sum / DRAWS, 0, 5 * sqrt(1.0 / 12 / DRAWS));
    check_close(square / DRAWS, 1.0 / 12, 5 * sqrt(1.0 / 180 / DRAWS));
    check_close(lag / DRAWS, 0, 5.0 / 12 / sqrt(DRAWS));
    check_close(cross / DRAWS, 0, 5.0 / 12 / sqrt(DRAWS));
}

static void normals_have_their_moments_and_tails(void **state)
{
    (void)state;
    random_stream s = stream(2, RANDOM_TEST, 0);
    double m[5] = {0}, beyond = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        double x = random_normal(s, i), p = 1;
        assert_true(isfinite(x));
        for (int k = 1; k < 5; k++) m[k] += (p *= x) / DRAWS;
        beyond += fabs(x) > 1.959963984540054;
    }
    double error = 5 / sqrt(DRAWS);
    check_close(m[1], 0, error);
    check_close(m[2], 1, error * sqrt(2));
    check_close(m[3], 0, error * sqrt(15));
    check_close(m[4], 3, error * sqrt(96));
    check_close(beyond / DRAWS, 0.05, error * sqrt(0.05));
}

static void below_covers_its_range_evenly(void **state)
{
    (void)state;
    double counts[7] = {0}, chi = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        int64_t j = random_below(stream(3, RANDOM_TEST, 0), i, 7);
        assert_true(j >= 0 && j < 7);
        counts[j]++;
    }
    for (int j = 0; j < 7; j++) chi += pow(counts[j] - DRAWS / 7.0, 2) / (DRAWS / 7.0);
    assert_true(chi < 40);
    assert_int_equal(random_below(stream(3, RANDOM_TEST, 0), 5, 1), 0);
    int64_t huge = random_below(stream(3, RANDOM_TEST, 0), 5, INT64_MAX);
    assert_true(huge >= 0);
}

static void permutation_has_every_index_once_and_every_order(void **state)
{
    (void)state;
    int64_t order[50];
    int seen[50] = {0}, orders[6] = {0};
    random_permutation(stream(4, RANDOM_TEST, 0), 50, order);
    for (int i = 0; i < 50; i++) seen[order[i]]++;
    for (int i = 0; i < 50; i++) assert_int_equal(seen[i], 1);
    for (uint64_t s = 0; s < 6000; s++) {
        random_permutation(stream(4, RANDOM_TEST, s), 3, order);
        orders[2 * order[0] + (order[1] > order[2])]++;
    }
    for (int i = 0; i < 6; i++) assert_true(orders[i] > 850 && orders[i] < 1150);
}

static void subset_is_sorted_different_and_uniform(void **state)
{
    (void)state;
    enum { N = 12, K = 5, RUNS = 12000 };
    int counts[N] = {0};
    int64_t chosen[K], again[K];
    for (uint64_t s = 0; s < RUNS; s++) {
        random_subset(stream(5, RANDOM_TEST, s), N, K, chosen);
        for (int i = 0; i < K; i++) {
            assert_true(chosen[i] >= 0 && chosen[i] < N && (i == 0 || chosen[i] > chosen[i - 1]));
            counts[chosen[i]]++;
        }
    }
    for (int i = 0; i < N; i++) assert_true(abs(counts[i] - RUNS * K / N) < 300);
    random_subset(stream(5, RANDOM_TEST, 3), N, K, chosen);
    random_subset(stream(5, RANDOM_TEST, 3), N, K, again);
    assert_memory_equal(chosen, again, sizeof chosen);
    int64_t all[N];
    random_subset(stream(5, RANDOM_TEST, 0), N, N, all);
    for (int i = 0; i < N; i++) assert_int_equal(all[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_those_of_philox),
        cmocka_unit_test(a_number_depends_on_all_of_seed_use_sub_and_index),
        cmocka_unit_test(shuffled_is_a_bijection_for_every_small_size),
        cmocka_unit_test(shuffled_is_fair),
        cmocka_unit_test(uniforms_have_their_moments),
        cmocka_unit_test(normals_have_their_moments_and_tails),
        cmocka_unit_test(below_covers_its_range_evenly),
        cmocka_unit_test(permutation_has_every_index_once_and_every_order),
        cmocka_unit_test(subset_is_sorted_different_and_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
