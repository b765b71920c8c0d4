/* The driver over a model of one number: what a block says is what the caller hears, and threads go by the work a model states. */
#include "support.h"

#include <string.h>

#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/block_model.h"

enum { BLOCKS = 8, ROWS_EACH = 5 };

typedef struct told {
    double work;         /* multiplications of a row */
    anygp_status status; /* of the block `at`; other blocks are fine */
    int64_t at;
    bool *together; /* whether the block was looked at by one of several threads */
} told;

static int64_t one(const void *shared) { return (void)shared, 1; }
static int64_t none_of(const void *shared, int64_t rows) { return (void)shared, (void)rows, 0; }
static double stated(const void *shared, int64_t rows) { return ((const told *)shared)->work * (double)rows; }

static anygp_status count_rows(const void *shared, const row_block *b, double *work, double *keep, double *stat,
                               anygp_error *e)
{
    const told *t = shared;
    (void)work, (void)keep;
    t->together[b->index] = threads_inside();
    *stat += (double)b->n;
    if (b->index != t->at || t->status == ANYGP_OK) return ANYGP_OK;
    if (t->status == ANYGP_ERR_MEMORY) return fail_memory(e, "a block of this test", 8e9);
    return fail_with(e, t->status, "block %lld is not to our taste", (long long)b->index);
}

static const block_model counts = {
    .stat_size = one, .work_doubles = none_of, .keep_doubles = none_of, .work = stated, .stat = count_rows};

static anygp_status run(told t, bool together[BLOCKS], double *sum, anygp_error *e)
{
    static double X[BLOCKS * ROWS_EACH], y[BLOCKS * ROWS_EACH];
    int64_t start[BLOCKS + 1];
    row_blocks *blocks;
    driver *d;
    int former = la_threads(2);
    t.together = together;
    for (int i = 0; i <= BLOCKS; i++) start[i] = i * ROWS_EACH;
    assert_int_equal(blocks_of_arrays(BLOCKS, start, 1, 1, X, y, NULL, &blocks, NULL), ANYGP_OK);
    assert_int_equal(driver_open(&counts, blocks, comm_self(), 0, &d, NULL), ANYGP_OK);
    anygp_status status = driver_stat(d, &t, 0, NULL, 1, sum, e);
    driver_close(d);
    blocks_free(blocks);
    la_threads(former);
    return status;
}

static const double little = 1, much = 1e12;

static void block_without_memory_says_so(void **unused)
{
    (void)unused;
    const double work[] = {little, much};
    for (int i = 0; i < 2; i++) {
        bool together[BLOCKS];
        double sum;
        anygp_error e = {0};
        told t = {.work = work[i], .status = ANYGP_ERR_MEMORY, .at = 3};
        assert_int_equal(run(t, together, &sum, &e), ANYGP_ERR_MEMORY);
        assert_string_equal(e.text, "not enough memory for a block of this test (8 GB)");
    }
}

static void block_whose_numbers_break_down_is_heard_in_its_own_words(void **unused)
{
    (void)unused;
    const double work[] = {little, much};
    for (int i = 0; i < 2; i++) {
        bool together[BLOCKS];
        double sum;
        anygp_error e = {0};
        told t = {.work = work[i], .status = ANYGP_ERR_NUMERIC, .at = BLOCKS - 1};
        assert_int_equal(run(t, together, &sum, &e), ANYGP_ERR_NUMERIC);
        assert_string_equal(e.text, "block 7 is not to our taste");
    }
}

/* Both have statistics of one number. */
static void threads_go_by_the_work_a_model_states(void **unused)
{
    (void)unused;
    bool together[BLOCKS];
    double sum;
    assert_int_equal(run((told){.work = little}, together, &sum, NULL), ANYGP_OK);
    check_close(sum, BLOCKS * ROWS_EACH, 0);
    for (int i = 0; i < BLOCKS; i++) assert_false(together[i]);
    assert_int_equal(run((told){.work = much}, together, &sum, NULL), ANYGP_OK);
    check_close(sum, BLOCKS * ROWS_EACH, 0);
    for (int i = 0; i < BLOCKS; i++) assert_int_equal(together[i], threads_built());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_without_memory_says_so),
        cmocka_unit_test(block_whose_numbers_break_down_is_heard_in_its_own_words),
        cmocka_unit_test(threads_go_by_the_work_a_model_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
