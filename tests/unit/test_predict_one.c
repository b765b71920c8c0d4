/* Predictions of few rows per call: the same numbers as those of many, without the work of a new predictor each time. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "anygp/anygp.h"
#include "base/random.h"
#include "data/rows/row_units.h"

enum { ROWS = 200, D = 2, NEW = 100 };

/* Counts conversions that are made; see CMakeLists.txt. */
static int made;
anygp_status __real_row_units_make(const dataset *d, const rows_part *part, const column *columns,
                                   const int64_t *column_of, row_units *u, anygp_error *e);
anygp_status __wrap_row_units_make(const dataset *d, const rows_part *part, const column *columns,
                                   const int64_t *column_of, row_units *u, anygp_error *e);
anygp_status __wrap_row_units_make(const dataset *d, const rows_part *part, const column *columns,
                                   const int64_t *column_of, row_units *u, anygp_error *e)
{
    made++;
    return __real_row_units_make(d, part, columns, column_of, u, e);
}

typedef struct scene {
    double X[ROWS * D], y[ROWS];
} scene;

static scene rows_of(uint64_t seed)
{
    scene s;
    random_stream r = {.seed = seed, .use = RANDOM_TEST};
    for (int64_t i = 0; i < ROWS * D; i++) s.X[i] = 4 * random_uniform(r, (uint64_t)i);
    for (int64_t i = 0; i < ROWS; i++) s.y[i] = sin(s.X[i * D]) + 0.3 * s.X[i * D + 1] + 5;
    return s;
}

static anygp_model *fitted(const scene *s, const char *model, const char *mean, const char *likelihood)
{
    const char *const set[][2] = {{"model", model},   {"mean", mean}, {"likelihood", likelihood},
                                  {"inducing", "16"}, {"iters", "4"}, {"kernel", "matern12"},
                                  {"threads", "1"}};
    anygp_error e;
    anygp_settings *settings = anygp_settings_new();
    anygp_data *data = NULL;
    anygp_model *m = NULL;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        assert_int_equal(anygp_set(settings, set[i][0], set[i][1], &e), 0);
    assert_int_equal(anygp_data_new(ROWS, D, s->X, D, s->y, NULL, &data, &e), 0);
    if (ANYGP_FAILED(anygp_fit(settings, data, &m, &e))) fail_msg("%s: %s", model, e.text);
    anygp_data_free(data);
    anygp_settings_free(settings);
    return m;
}

static void assert_alike(const char *what, double a, double b)
{
    if (fabs(a - b) > 1e-12 * (1 + fabs(b))) fail_msg("%s: %.17g is not %.17g", what, a, b);
}

/* Means alone, means with variances, and both after anygp_prepare, beside one call for all. */
static void check_model(const char *model, const char *mean, const char *likelihood)
{
    scene train = rows_of(1), new = rows_of(2);
    anygp_model *m = fitted(&train, model, mean, likelihood);
    double all[NEW], variances[NEW], one, with, variance;
    assert_int_equal(anygp_predict(m, NEW, new.X, D, 0, all, variances, NULL), 0);
    for (int prepared = 0; prepared < 2; prepared++) {
        for (int64_t i = 0; i < NEW; i += 7) {
            assert_int_equal(anygp_predict(m, 1, new.X + i *D, D, 0, &one, NULL, NULL), 0);
            assert_int_equal(anygp_predict(m, 1, new.X + i *D, D, 0, &with, &variance, NULL), 0);
            assert_alike(model, one, all[i]);
            assert_alike(model, with, all[i]);
            assert_alike(model, variance, variances[i]);
        }
        assert_int_equal(anygp_prepare(m, NULL), 0);
    }
    anygp_model_free(m);
}

static void one_row_equals_many(void **state)
{
    (void)state;
    static const char *const models[] = {"exact", "sor",  "ssgp",  "fitc",  "pic",
                                         "vfe",   "svgp", "solve", "odvgp", "vecchia"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) check_model(models[i], "zero", "gaussian");
    check_model("vfe", "linear", "gaussian");
    check_model("svgp", "linear", "gaussian");
    check_model("odvgp", "constant", "studentt");
}

static void later_calls_make_no_conversion(void **state)
{
    (void)state;
    scene s = rows_of(1);
    anygp_model *m = fitted(&s, "vfe", "zero", "gaussian");
    double mean, variance;
    assert_int_equal(anygp_predict(m, 1, s.X, D, 0, &mean, NULL, NULL), 0);
    made = 0;
    for (int64_t i = 0; i < 10; i++) {
        assert_int_equal(anygp_predict(m, 1, s.X + i * D, D, 0, &mean, NULL, NULL), 0);
        assert_int_equal(anygp_predict(m, 1, s.X + i * D, D, 0, &mean, &variance, NULL), 0);
    }
    assert_int_equal(made, 0);
    anygp_model_free(m);
}

/* What is kept between calls belongs to the posterior before. */
static void an_update_is_seen_by_the_next_call(void **state)
{
    (void)state;
    scene s = rows_of(1), more = rows_of(3);
    anygp_model *m = fitted(&s, "vfe", "zero", "gaussian");
    double before, after, all[NEW], high[NEW];
    for (int64_t i = 0; i < NEW; i++) high[i] = more.y[i] + 10;
    assert_int_equal(anygp_predict(m, 1, s.X, D, 0, &before, NULL, NULL), 0);
    assert_int_equal(anygp_update(m, NULL, NEW, more.X, D, high, NULL, NULL), 0);
    assert_int_equal(anygp_predict(m, 1, s.X, D, 0, &after, NULL, NULL), 0);
    assert_int_equal(anygp_predict(m, NEW, s.X, D, 0, all, NULL, NULL), 0);
    assert_true(fabs(after - before) > 0.1);
    assert_alike("after an update", after, all[0]);
    anygp_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_row_equals_many),
                                       cmocka_unit_test(later_calls_make_no_conversion),
                                       cmocka_unit_test(an_update_is_seen_by_the_next_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
