/* Time limits by a clock that the tests turn themselves: nothing here depends on the machine. */
#include <string.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "data/partition/kmeans.h"
#include "fit_support.h"
#include "inducing/greedy.h"
#include "model/block_model.h"

static double now, tick;
static int64_t questions;

/* Every look at it takes `tick` seconds. */
static double own_clock(void)
{
    questions++;
    return now += tick;
}

static void clock_from(double seconds, double a_look)
{
    now = seconds, tick = a_look, questions = 0;
    clock_replace(own_clock);
}

static int wall_again(void **unused)
{
    (void)unused;
    clock_replace(NULL);
    return 0;
}

static void parts_of_the_time_add_up(void **unused)
{
    (void)unused;
    clock_from(104, 0);
    deadline d = {100, 10, NULL}, half = deadline_part(&d, 0.5), never = {0, INFINITY, NULL};
    check_close(deadline_left(&d), 6, 1e-12);
    check_close(deadline_left(&half), 3, 1e-12);
    assert_true(deadline_fits(&d, 6) && !deadline_fits(&d, 6.1) && !deadline_passed(&d));
    assert_true(isinf(deadline_left(&never)) && isinf(deadline_left(NULL)) && !deadline_passed(NULL));
    half = deadline_part(&never, 0.5);
    assert_true(isinf(deadline_left(&half)));
    now = 111;
    half = deadline_part(&d, 0.5);
    assert_true(deadline_passed(&d) && deadline_passed(&half));
}

enum { ROWS = 400, COLUMNS = 2, CENTRES = 20 };

static void kmeans_ends_with_its_time_and_has_all_centres(void **unused)
{
    (void)unused;
    static double X[ROWS * COLUMNS], centres[CENTRES * COLUMNS];
    int64_t found;
    deadline until = {0, 2.5, NULL};
    fill_normal(1, ROWS * COLUMNS, X);
    clock_from(0, 1);
    kmeans_options o = {.seed = 1, .until = &until};
    assert_int_equal(kmeans(ROWS, COLUMNS, X, COLUMNS, CENTRES, &o, centres, &found, NULL, NULL), ANYGP_OK);
    assert_int_equal(found, CENTRES);
    assert_int_equal(questions, 3); /* two iterations, and the third is not begun */
}

static void unit_diag(void *ctx, double *diag)
{
    (void)ctx;
    for (int i = 0; i < ROWS; i++) diag[i] = 1 + i % 7;
}

static void unit_columns(void *ctx, int64_t count, const int64_t *row, double *out)
{
    (void)ctx;
    memset(out, 0, (size_t)(count * ROWS) * sizeof *out);
    for (int64_t j = 0; j < count; j++) out[row[j] + j * ROWS] = 1 + (double)(row[j] % 7);
}

static void greedy_choice_out_of_time_has_different_rows(void **unused)
{
    (void)unused;
    int64_t chosen[CENTRES], count;
    deadline until = {0, 5, NULL};
    bool seen[ROWS] = {false};
    clock_from(0, 1);
    assert_int_equal(greedy_select(ROWS, CENTRES, unit_diag, unit_columns, NULL, 0, &until, chosen, &count, NULL), 0);
    assert_int_equal(count, CENTRES);
    for (int i = 0; i < CENTRES; i++) {
        assert_false(seen[chosen[i]]);
        seen[chosen[i]] = true;
    }
}

/* ------------------------------------------------------------------------------- a pass over blocks */

enum { BLOCKS = 20, ROWS_EACH = 3 };

static int64_t one(const void *shared) { return (void)shared, 1; }
static int64_t none_of(const void *shared, int64_t rows) { return (void)shared, (void)rows, 0; }
static double rows_of(const void *shared, int64_t rows) { return (void)shared, (double)rows; }

/* The sum of y; a block takes a second. */
static anygp_status sum_y(const void *shared, const row_block *b, double *work, double *keep, double *stat,
                          anygp_error *e)
{
    (void)shared, (void)work, (void)keep, (void)e;
    for (int64_t i = 0; i < b->n; i++) *stat += b->y[i];
    now += 1;
    return ANYGP_OK;
}

static const block_model sums = {
    .stat_size = one, .work_doubles = none_of, .keep_doubles = none_of, .work = rows_of, .stat = sum_y};

static void pass_ends_between_two_blocks(void **unused)
{
    (void)unused;
    static double X[BLOCKS * ROWS_EACH], y[BLOCKS * ROWS_EACH];
    int64_t start[BLOCKS + 1];
    row_blocks *blocks;
    driver *d;
    double sum, seen = 0;
    deadline until = {0, 4.5, NULL}, over = {-1, 0, NULL};
    for (int i = 0; i <= BLOCKS; i++) start[i] = i * ROWS_EACH;
    for (int i = 0; i < BLOCKS * ROWS_EACH; i++) y[i] = 1;
    assert_int_equal(blocks_of_arrays(BLOCKS, start, 1, 1, X, y, NULL, &blocks, NULL), ANYGP_OK);
    assert_int_equal(driver_open(&sums, blocks, comm_self(), 0, &d, NULL), ANYGP_OK);
    clock_from(0, 0);
    driver_until(d, &until, &seen);
    assert_int_equal(driver_stat(d, NULL, 0, NULL, 1, &sum, NULL), ANYGP_OK);
    check_close(seen, 5.0 / BLOCKS, 1e-12);
    check_close(sum, 5 * ROWS_EACH, 1e-12);
    driver_until(d, &over, &seen); /* one block there always is */
    assert_int_equal(driver_stat(d, NULL, 0, NULL, 1, &sum, NULL), ANYGP_OK);
    check_close(sum, ROWS_EACH, 1e-12);
    driver_until(d, NULL, NULL);
    assert_int_equal(driver_stat(d, NULL, 0, NULL, 1, &sum, NULL), ANYGP_OK);
    check_close(sum, BLOCKS * ROWS_EACH, 1e-12);
    driver_close(d);
    blocks_free(blocks);
}

/* ------------------------------------------------------------------------------------- whole fits */

static char said[4096];

static void remember(void *ctx, anygp_log_level level, const char *text)
{
    (void)ctx, (void)level;
    strncat(said, text, sizeof said - strlen(said) - 1);
}

enum { MANY = 1700, FEW = 900 };

static anygp_status fit_by_own_clock(int64_t n, const char *const *pairs, double a_look, anygp_model **m)
{
    static double X[MANY * COLUMNS], y[MANY];
    anygp_settings *s = settings_with(pairs);
    anygp_data *data;
    anygp_error e;
    fill_normal(2, n * COLUMNS, X);
    fill_normal(3, n, y);
    for (int64_t i = 0; i < n; i++) y[i] = sin(X[i * COLUMNS]) + 0.3 * y[i];
    said[0] = 0;
    anygp_on_log(s, remember, NULL);
    assert_int_equal(anygp_data_new(n, COLUMNS, X, COLUMNS, y, NULL, &data, &e), ANYGP_OK);
    clock_from(0, a_look);
    anygp_status status = anygp_fit(s, data, m, &e);
    anygp_data_free(data);
    anygp_settings_free(s);
    return status;
}

/* An evaluation of 1700 rows takes (1700/800)^3 of what one of 800 took, here a look at the clock or more. */
static void limit_that_cannot_be_kept_is_said_beforehand(void **unused)
{
    (void)unused;
    const char *const pairs[] = {"model", "exact", "time", "23", "threads", "1", "iters", "2", NULL};
    anygp_model *m = NULL;
    assert_int_equal(fit_by_own_clock(MANY, pairs, 1, &m), ANYGP_TIME_LIMIT);
    if (!strstr(said, "cannot be kept: one factorisation of 1700 rows takes about")) fail_msg("%s", said);
    assert_non_null(strstr(said, "longer than its limit of 23 s"));
    anygp_model_free(m);
}

/* However early the limit ends a run, its model is no worse than the mean. */
static void limits_leave_models_better_than_the_mean(void **unused)
{
    (void)unused;
    static const char *const models[] = {"sor", "fitc", "pitc", "pic", "vfe", "pep", "vfe+", "pic+", "svgp", "solve"};
    static const char *const limits[] = {"0.1", "1", "3"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
            const char *const pairs[] = {"model",   models[i], "time", limits[k], "inducing", "20",
                                         "threads", "1",       "seed", "1",       NULL};
            anygp_model *m = NULL;
            anygp_scores *scores;
            double smse = NAN;
            anygp_status status = fit_by_own_clock(FEW, pairs, 0.01, &m);
            if (status != ANYGP_TIME_LIMIT && status != ANYGP_OK) fail_msg("%s: status %d", models[i], status);
            assert_int_equal(anygp_model_scores(m, "valid", &scores, NULL), ANYGP_OK);
            for (int64_t j = 0; j < anygp_scores_count(scores, 0); j++)
                if (!strcmp(anygp_scores_name(scores, 0, j), "smse")) smse = anygp_scores_value(scores, 0, j);
            if (!(smse < 1)) fail_msg("%s in %s s: smse %g", models[i], limits[k], smse);
            anygp_scores_free(scores);
            anygp_model_free(m);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(parts_of_the_time_add_up, wall_again),
        cmocka_unit_test_teardown(kmeans_ends_with_its_time_and_has_all_centres, wall_again),
        cmocka_unit_test_teardown(greedy_choice_out_of_time_has_different_rows, wall_again),
        cmocka_unit_test_teardown(pass_ends_between_two_blocks, wall_again),
        cmocka_unit_test_teardown(limit_that_cannot_be_kept_is_said_beforehand, wall_again),
        cmocka_unit_test_teardown(limits_leave_models_better_than_the_mean, wall_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
