/* The public interface where no program of ours goes: names of arrays, models in memory, forks. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "anygp/anygp.h"
#include "support.h"

enum { N = 40, D = 2 };

static void make_rows(double *X, double *y)
{
    for (int i = 0; i < N; i++) {
        X[i * D] = sin(3.0 * i);
        X[i * D + 1] = i % 3;
        y[i] = X[i * D] + (i % 3 == 1) + 0.01 * cos(7.0 * i);
    }
}

static anygp_data *make_data(const double *weights)
{
    double X[N * D], y[N];
    anygp_data *data = NULL;
    make_rows(X, y);
    assert_int_equal(anygp_data_new(N, D, X, D, y, weights, &data, NULL), ANYGP_OK);
    return data;
}

static anygp_model *fit_rows(anygp_data *data, const char *threads)
{
    anygp_model *m = NULL;
    anygp_error e = {0};
    anygp_settings *s = anygp_settings_new();
    assert_int_equal(anygp_set(s, "iters", "5", &e), ANYGP_OK);
    assert_int_equal(anygp_set(s, "threads", threads, &e), ANYGP_OK);
    if (ANYGP_FAILED(anygp_fit(s, data, &m, &e))) fail_msg("%s", e.text);
    anygp_settings_free(s);
    return m;
}

static void assert_same_predictions(const anygp_model *a, const anygp_model *b)
{
    double X[N * D], y[N], mean[2][N], variance[2][N];
    make_rows(X, y);
    assert_int_equal(anygp_predict(a, N, X, D, 0, mean[0], variance[0], NULL), ANYGP_OK);
    assert_int_equal(anygp_predict(b, N, X, D, 0, mean[1], variance[1], NULL), ANYGP_OK);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(variance[0], variance[1], sizeof variance[0]);
}

static void a_model_in_memory_predicts_the_same_bits(void **state)
{
    (void)state;
    anygp_data *data = make_data(NULL);
    anygp_model *m = fit_rows(data, "1"), *copy = NULL;
    void *bytes = NULL;
    size_t size = 0;
    assert_int_equal(anygp_save_bytes(m, &bytes, &size, NULL), ANYGP_OK);
    assert_int_equal(anygp_load_bytes(bytes, size, &copy, NULL), ANYGP_OK);
    assert_same_predictions(m, copy);
    anygp_bytes_free(bytes);
    anygp_model_free(copy);
    anygp_model_free(m);
    anygp_data_free(data);
}

static void every_cut_of_the_bytes_is_refused(void **state)
{
    (void)state;
    anygp_data *data = make_data(NULL);
    anygp_model *m = fit_rows(data, "1"), *copy = NULL;
    void *bytes = NULL;
    size_t size = 0;
    assert_int_equal(anygp_save_bytes(m, &bytes, &size, NULL), ANYGP_OK);
    for (size_t cut = 0; cut < size; cut += 1 + cut / 16) {
        anygp_error e = {0};
        assert_true(ANYGP_FAILED(anygp_load_bytes(bytes, cut, &copy, &e)));
        assert_true(strlen(e.text) > 20);
    }
    anygp_bytes_free(bytes);
    anygp_model_free(m);
    anygp_data_free(data);
}

static void names_and_categories_reach_the_model(void **state)
{
    (void)state;
    const char *const kinds[] = {"oak", "elm", "\xe9rable"}; /* Latin-1 */
    char *text = NULL;
    double weights[N];
    for (int i = 0; i < N; i++) weights[i] = 1 + i % 2;
    anygp_data *data = make_data(weights);
    assert_int_equal(anygp_data_name(data, 0, "height", NULL), ANYGP_OK);
    assert_int_equal(anygp_data_name(data, 1, "wood", NULL), ANYGP_OK);
    assert_int_equal(anygp_data_name(data, 1, "tree", NULL), ANYGP_OK);
    assert_int_equal(anygp_data_name(data, 2, "price", NULL), ANYGP_OK);
    assert_int_equal(anygp_data_categories(data, 1, 3, kinds, NULL), ANYGP_OK);
    anygp_model *m = fit_rows(data, "1");
    assert_string_equal(anygp_model_target_name(m, 0), "price");
    assert_int_equal(anygp_info(m, 1, &text, NULL), ANYGP_OK);
    assert_non_null(strstr(text, "\"height\""));
    assert_non_null(strstr(text, "\"tree\""));
    assert_null(strstr(text, "\"wood\""));
    assert_non_null(strstr(text, "\"elm\""));
    assert_non_null(strstr(text, "\"\xc3\xa9rable\"")); /* UTF-8 */
    assert_non_null(strstr(text, "categorical"));
    anygp_text_free(text);
    anygp_model_free(m);
    anygp_data_free(data);
}

/* A column whose name is the number of the weights is still an input. */
static void weights_are_not_mistaken_for_a_column_of_that_name(void **state)
{
    (void)state;
    double weights[N], mean[2][N], X[N * D], y[N];
    char number[8];
    make_rows(X, y);
    snprintf(number, sizeof number, "%d", D + 1);
    for (int i = 0; i < N; i++) weights[i] = 1 + i % 2;
    for (int named = 0; named < 2; named++) {
        anygp_data *data = make_data(weights);
        if (named) assert_int_equal(anygp_data_name(data, 0, number, NULL), ANYGP_OK);
        anygp_model *m = fit_rows(data, "1");
        assert_int_equal(anygp_predict(m, N, X, D, 0, mean[named], NULL, NULL), ANYGP_OK);
        anygp_model_free(m);
        anygp_data_free(data);
    }
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
}

static void wrong_columns_and_cells_are_refused(void **state)
{
    (void)state;
    const char *const kinds[] = {"oak", "elm", "ash"}, *const hole[] = {"oak", NULL, "ash"};
    double weights[N];
    for (int i = 0; i < N; i++) weights[i] = 1;
    anygp_data *data = make_data(weights);
    assert_int_equal(anygp_data_name(data, -1, "a", NULL), ANYGP_ERR_ARGUMENT);
    assert_int_equal(anygp_data_name(data, D + 1, "the weights", NULL), ANYGP_ERR_ARGUMENT);
    assert_int_equal(anygp_data_name(data, 0, NULL, NULL), ANYGP_ERR_ARGUMENT);
    assert_int_equal(anygp_data_categories(data, 0, 3, kinds, NULL), ANYGP_ERR_DATA); /* fractions */
    assert_int_equal(anygp_data_categories(data, 1, 2, kinds, NULL), ANYGP_ERR_DATA); /* a third one */
    assert_int_equal(anygp_data_categories(data, 1, 3, hole, NULL), ANYGP_ERR_ARGUMENT);
    assert_int_equal(anygp_data_categories(data, D, 3, kinds, NULL), ANYGP_ERR_DATA); /* nor is the target of them */
    assert_int_equal(anygp_data_categories(data, 1, 3, kinds, NULL), ANYGP_OK);
    assert_int_equal(anygp_data_categories(data, 1, 3, kinds, NULL), ANYGP_ERR_ARGUMENT); /* a second time */
    anygp_data_free(data);
}

/* The parent's pool is awake; a child that started a region of two threads would wait forever. */
static void a_forked_child_fits_and_predicts(void **state)
{
    (void)state;
    enum { ROWS = 700 };
    static double X[ROWS], y[ROWS], mean[ROWS];
    int status = -1;
    anygp_data *data = NULL;
    for (int i = 0; i < ROWS; i++) X[i] = 0.01 * i + 0.3 * sin(i), y[i] = cos(X[i]);
    assert_int_equal(anygp_data_new(ROWS, 1, X, 1, y, NULL, &data, NULL), ANYGP_OK);
    anygp_model *m = fit_rows(data, "2");
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        anygp_model_free(fit_rows(data, "2"));
        _exit(anygp_predict(m, ROWS, X, 1, 0, mean, NULL, NULL) == ANYGP_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    anygp_model_free(m);
    anygp_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_in_memory_predicts_the_same_bits),
        cmocka_unit_test(every_cut_of_the_bytes_is_refused),
        cmocka_unit_test(names_and_categories_reach_the_model),
        cmocka_unit_test(weights_are_not_mistaken_for_a_column_of_that_name),
        cmocka_unit_test(wrong_columns_and_cells_are_refused),
        cmocka_unit_test(a_forked_child_fits_and_predicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
