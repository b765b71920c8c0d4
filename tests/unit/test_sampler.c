#include "support.h"

#include <string.h>

#include "run/sampler.h"

enum { P_MOST = 64 };

static void check_epoch(uint64_t seed, int64_t epoch, int64_t P, int64_t S)
{
    int64_t block[P_MOST], steps = P / S, visited = 0;
    bool seen[P_MOST] = {false};
    for (int64_t t = epoch * steps; t < (epoch + 1) * steps; t++) {
        sample_blocks(seed, t, P, S, false, block);
        for (int64_t i = 0; i < S; i++) {
            assert_true(block[i] >= 0 && block[i] < P);
            assert_false(seen[block[i]]);
            seen[block[i]] = true;
            visited++;
        }
    }
    assert_int_equal(visited, P - P % S);
}

static void epoch_visits_no_block_twice(void **state)
{
    (void)state;
    for (int64_t P = 1; P <= P_MOST; P += P < 8 ? 1 : 7)
        for (int64_t S = 1; S <= P; S++)
            for (int64_t epoch = 0; epoch < 3; epoch++) check_epoch(7, epoch, P, S);
}

/* Any step, asked for alone and in any order, is the same one. */
static void step_is_a_function_of_seed_and_step(void **state)
{
    (void)state;
    int64_t forward[20][3], again[3];
    for (int replace = 0; replace < 2; replace++) {
        for (int64_t t = 0; t < 20; t++) sample_blocks(3, t, 11, 3, replace, forward[t]);
        for (int64_t t = 19; t >= 0; t--) {
            sample_blocks(3, t, 11, 3, replace, again);
            assert_memory_equal(again, forward[t], sizeof again);
        }
    }
}

static void seeds_and_epochs_differ(void **state)
{
    (void)state;
    int64_t a[P_MOST], b[P_MOST], c[P_MOST];
    for (int replace = 0; replace < 2; replace++) {
        sample_blocks(1, 0, P_MOST, P_MOST, replace, a);
        sample_blocks(2, 0, P_MOST, P_MOST, replace, b);
        sample_blocks(1, 1, P_MOST, P_MOST, replace, c);
        assert_memory_not_equal(a, b, sizeof a);
        assert_memory_not_equal(a, c, sizeof a);
    }
}

/* How often each pair of blocks is a sample of two, over many seeds, against a binomial's five deviations. */
static void check_pairs(int64_t t, bool replace, double probability_same, double probability_different)
{
    enum { P = 5, SEEDS = 8000 };
    int64_t count[P][P] = {{0}}, block[2];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        sample_blocks(seed, t, P, 2, replace, block);
        count[block[0]][block[1]]++;
    }
    for (int i = 0; i < P; i++)
        for (int j = 0; j < P; j++) {
            double p = i == j ? probability_same : probability_different;
            double deviation = sqrt(SEEDS * p * (1 - p));
            assert_true(fabs((double)count[i][j] - SEEDS * p) <= 5 * deviation);
        }
}

static void every_ordered_pair_is_as_likely(void **state)
{
    (void)state;
    const int64_t steps[] = {0, 1, 2, 9};
    for (int k = 0; k < 4; k++) {
        check_pairs(steps[k], false, 0, 1.0 / 20);
        check_pairs(steps[k], true, 1.0 / 25, 1.0 / 25);
    }
}

static void late_steps_and_many_blocks_are_within_range(void **state)
{
    (void)state;
    int64_t P = INT64_C(3) << 33, block[4];
    for (int replace = 0; replace < 2; replace++)
        for (int64_t t = INT64_C(1) << 50; t < (INT64_C(1) << 50) + 100; t++) {
            sample_blocks(11, t, P, 4, replace, block);
            for (int i = 0; i < 4; i++) assert_true(block[i] >= 0 && block[i] < P);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epoch_visits_no_block_twice),
        cmocka_unit_test(step_is_a_function_of_seed_and_step),
        cmocka_unit_test(seeds_and_epochs_differ),
        cmocka_unit_test(every_ordered_pair_is_as_likely),
        cmocka_unit_test(late_steps_and_many_blocks_are_within_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
