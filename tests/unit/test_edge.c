/* Data and settings at the edge of what is allowed: each either gives a sensible model or one sentence. */
#include "fit_support.h"

#include <string.h>
#include <unistd.h>

#include "io/model_file.h"

enum { N = 30 };

/* ------------------------------------------------------------------------------------- helpers */

static void make_data(double *x, double *y)
{
    double noise[N];
    fill_normal(31, N, x);
    fill_normal(32, N, noise);
    for (int i = 0; i < N; i++) y[i] = sin(2 * x[i]) + 0.1 * noise[i];
}

/* Remembers the last warning. */
static void keep_warning(void *ctx, anygp_log_level level, const char *text)
{
    if (level == ANYGP_WARNING) snprintf(ctx, 256, "%s", text);
}

static char *path_for(const char *name)
{
    enum { ALIVE = 8 }; /* paths a test uses at a time, at most */
    static char paths[ALIVE][64];
    static int next;
    char *path = paths[next++ % ALIVE];
    snprintf(path, 64, "test_edge_%ld_%s", (long)getpid(), name);
    return path;
}

static char *file_of(const char *name, const char *bytes)
{
    char *path = path_for(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(bytes, f);
    fclose(f);
    return path;
}

static anygp_model *fit_file(const char *path, const char *const *pairs, char *warning)
{
    anygp_settings *s = settings_with(pairs);
    anygp_data *data;
    anygp_model *m;
    anygp_error e;
    if (warning) anygp_on_log(s, keep_warning, warning);
    if (anygp_data_read(path, s, &data, &e) || ANYGP_FAILED(anygp_fit(s, data, &m, &e))) fail_msg("%s", e.text);
    anygp_data_free(data);
    anygp_settings_free(s);
    return m;
}

/* The sentence with which a fit of these arrays is refused; *out must be NULL then. */
static anygp_error refusal(const double *x, const double *y, const char *const *pairs)
{
    anygp_settings *s = settings_with(pairs);
    anygp_data *data;
    anygp_model *m = (anygp_model *)&s;
    anygp_error e;
    assert_int_equal(anygp_data_new(N, 1, x, 1, y, NULL, &data, &e), ANYGP_OK);
    assert_true(ANYGP_FAILED(anygp_fit(s, data, &m, &e)));
    assert_null(m);
    anygp_data_free(data);
    anygp_settings_free(s);
    return e;
}

/* The file of predictions, as text. */
static char *predictions(const anygp_model *m, const char *in, const char *const *pairs)
{
    char *out = path_for("out.csv"), *text = calloc(1, 4096);
    anygp_settings *s = settings_with(pairs);
    anygp_error e;
    if (anygp_predict_file(m, s, in, out, &e)) fail_msg("%s", e.text);
    FILE *f = fopen(out, "rb");
    assert_non_null(f);
    assert_true(fread(text, 1, 4095, f) > 0);
    fclose(f);
    unlink(out);
    anygp_settings_free(s);
    return text;
}

/* Cell `col` of line `row` of a table, from 0. */
static double cell(const char *text, int row, int col)
{
    for (; row > 0; row--) text = strchr(text, '\n') + 1;
    for (; col > 0; col--) text = strchr(text, ',') + 1;
    return atof(text);
}

static anygp_model *reloaded(anygp_model *m)
{
    char *path = path_for("model.agp");
    anygp_model *again;
    anygp_error e;
    if (anygp_save(m, path, &e) || anygp_load(path, &again, &e)) fail_msg("%s", e.text);
    unlink(path);
    anygp_model_free(m);
    return again;
}

static void read_info(const anygp_model *m, char **text)
{
    anygp_error e;
    assert_int_equal(anygp_info(m, 1, text, &e), ANYGP_OK);
}

static double number_in(const char *text, const char *key)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\"%s\": ", key);
    const char *at = strstr(text, pattern);
    assert_non_null(at);
    return atof(at + strlen(pattern));
}

/* -------------------------------------------------------------------------------------- settings */

static void all_in_a_list_of_what_is_fixed_fixes_all(void **unused)
{
    (void)unused;
    double x[N], y[N];
    make_data(x, y);
    const char *alone[] = {"fix", "all", NULL}, *listed[] = {"fix", "noise,all", NULL};
    anygp_model *one = fit_arrays(N, 1, x, y, NULL, alone), *two = fit_arrays(N, 1, x, y, NULL, listed);
    char *a, *b;
    read_info(one, &a);
    read_info(two, &b);
    assert_true(number_in(a, "value") == number_in(b, "value"));
    assert_true(number_in(b, "log_prior") == 0);
    anygp_text_free(a);
    anygp_text_free(b);
    anygp_model_free(one);
    anygp_model_free(two);
}

static void fixed_noise_of_zero_is_refused_for_repeated_rows_alone(void **unused)
{
    (void)unused;
    double x[N], y[N];
    make_data(x, y);
    const char *pairs[] = {"noise", "0", "fix", "noise", "kernel", "matern12", NULL};
    anygp_model_free(fit_arrays(N, 1, x, y, NULL, pairs));
    x[1] = x[0];
    anygp_error e = refusal(x, y, pairs);
    assert_int_equal(e.status, ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "--noise"));
}

static void a_linear_mean_of_very_many_columns_is_refused_before_it_allocates(void **unused)
{
    (void)unused;
    enum { WIDE = 3000, FEW = 4 };
    double *X = malloc(sizeof(double) * WIDE * FEW), y[FEW] = {1, 2, 0, 1};
    fill_normal(33, WIDE * FEW, X);
    const char *pairs[] = {"mean", "linear", "memory", "50M", "iters", "1", NULL};
    anygp_settings *s = settings_with(pairs);
    anygp_data *data;
    anygp_model *m;
    anygp_error e;
    assert_int_equal(anygp_data_new(FEW, WIDE, X, WIDE, y, NULL, &data, &e), ANYGP_OK);
    assert_int_equal(anygp_fit(s, data, &m, &e), ANYGP_ERR_MEMORY);
    assert_non_null(strstr(e.text, "--memory allows"));
    anygp_data_free(data);
    anygp_settings_free(s);
    free(X);
}

static int stop_once(void *ctx, const anygp_progress *p)
{
    (void)p;
    return ++*(int *)ctx == 1;
}

static void stopping_one_target_stops_those_behind_it(void **unused)
{
    (void)unused;
    char *path = file_of("targets.csv", "x,a,b\n0,1,2\n1,2,0\n2,0,1\n3,1,1\n4,3,1\n");
    const char *pairs[] = {"target", "a", "target", "b", NULL};
    anygp_settings *s = settings_with(pairs);
    anygp_data *data;
    anygp_model *m;
    anygp_error e;
    int calls = 0;
    anygp_on_progress(s, stop_once, &calls);
    assert_int_equal(anygp_data_read(path, s, &data, &e), ANYGP_OK);
    assert_int_equal(anygp_fit(s, data, &m, &e), ANYGP_INTERRUPTED);
    assert_int_equal(calls, 1);
    assert_int_equal(anygp_model_targets(m), 2);
    anygp_model_free(m);
    anygp_data_free(data);
    anygp_settings_free(s);
    unlink(path);
}

/* ----------------------------------------------------------------------------------------- range */

static void inputs_too_large_to_be_squared_must_be_standardised(void **unused)
{
    (void)unused;
    double x[N], y[N], mean[N], variance[N];
    make_data(x, y);
    for (int i = 0; i < N; i++) x[i] *= 1e200;
    const char *none[] = {"standardize", "none", NULL}, *both[] = {"threads", "1", NULL};
    assert_int_equal(refusal(x, y, none).status, ANYGP_ERR_DATA);
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, both);
    predict(m, N, x, mean, variance);
    for (int i = 0; i < N; i++) assert_true(fabs(mean[i] - y[i]) < 0.5);
    anygp_model_free(m);
}

static void targets_too_small_to_be_squared_are_refused(void **unused)
{
    (void)unused;
    double x[N], y[N];
    make_data(x, y);
    for (int i = 0; i < N; i++) y[i] *= 1e-200;
    const char *none[] = {"standardize", "none", NULL};
    assert_int_equal(refusal(x, y, none).status, ANYGP_ERR_DATA);
    assert_int_equal(refusal(x, y, NULL).status, ANYGP_ERR_DATA);
}

/* 0.1 is not a sum of few powers of two, so that sums of many of it are rounded. */
static void very_many_equal_targets_have_no_variance(void **unused)
{
    (void)unused;
    enum { MANY = 100003 };
    double *x = malloc(sizeof(double) * MANY), *y = malloc(sizeof(double) * MANY), at = 0.5, mean, variance;
    for (int i = 0; i < MANY; i++) x[i] = (double)i / MANY, y[i] = 0.1;
    const char *pairs[] = {"model", "sod", "inducing", "20", "iters", "2", NULL};
    anygp_model *m = fit_arrays(MANY, 1, x, y, NULL, pairs);
    char *text;
    read_info(m, &text);
    assert_true(number_in(strstr(text, "\"target\""), "sd") == 1);
    predict(m, 1, &at, &mean, &variance);
    assert_true(mean == 0.1 && variance > 1e-9);
    anygp_text_free(text);
    anygp_model_free(m);
    free(x);
    free(y);
}

static void a_prediction_that_is_no_number_is_a_sentence(void **unused)
{
    (void)unused;
    double x[N], y[N], far[2] = {0.5, 1e300}, mean[2], variance[2];
    anygp_error e;
    make_data(x, y);
    for (int i = 0; i < N; i++) y[i] *= 1e100;
    const char *pairs[] = {"kernel", "linear", "iters", "3", NULL};
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs);
    assert_int_equal(anygp_predict(m, 2, far, 1, 0, mean, variance, &e), ANYGP_ERR_NUMERIC);
    assert_non_null(strstr(e.text, "row 2"));
    anygp_model_free(m);
}

/* ----------------------------------------------------------------------------------------- draws */

static void draws_at_noiseless_training_rows_are_the_data(void **unused)
{
    (void)unused;
    enum { S = 3 };
    double x[N], y[N], draws[N * S];
    anygp_error e;
    make_data(x, y);
    const char *pairs[] = {"noise", "0", "fix", "noise", "kernel", "matern32", NULL};
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs);
    if (anygp_sample(m, 0, N, x, 1, ANYGP_LATENT, 5, S, draws, &e)) fail_msg("%s", e.text);
    for (int i = 0; i < N * S; i++) check_close(draws[i], y[i % N], 1e-5);
    anygp_model_free(m);
}

/* --------------------------------------------------------------------------------------- weights */

/* With weights of mean 1 the counts less one sum to 0, but log c does not. */
static void weights_that_sum_to_the_rows_keep_their_share_of_the_evidence(void **unused)
{
    (void)unused;
    double x[2] = {-1, 1}, y[2] = {0.3, -0.2}, w[2] = {0.5, 1.5}, s2 = 0.25;
    const char *pairs[] = {
        "kernel", "rbf(variance=1,lengthscale=1)", "noise", "0.25", "fix", "all", "standardize", "none", "threads", "1",
        NULL};
    anygp_model *m = fit_arrays(2, 1, x, y, w, pairs);
    double a = 1 + s2 / w[0], d = 1 + s2 / w[1], b = exp(-2.0), det = a * d - b * b;
    double quadratic = (d * y[0] * y[0] - 2 * b * y[0] * y[1] + a * y[1] * y[1]) / det;
    double of_means = -0.5 * (quadratic + log(det)) - log(2 * acos(-1.0));
    char *text;
    read_info(m, &text);
    check_close(number_in(text, "value"), of_means - 0.5 * (log(w[0]) + log(w[1])), 1e-9);
    anygp_text_free(text);
    anygp_model_free(m);
}

/* ----------------------------------------------------------------------------------------- files */

static void a_category_constant_for_one_target_still_counts_for_the_others(void **unused)
{
    (void)unused;
    char *train = file_of("two.csv", "s,x,a,b\n"
                                     "u,1,1,0\nv,1,,5\nw,1,,10\nu,2,2,0\nv,2,,5\nw,2,,10\n"
                                     "u,3,1,0\nv,3,,5\nw,3,,10\nu,4,2,0\nv,4,,5\nw,4,,10\n");
    char *test = file_of("order.csv", "s,x\nw,2\nv,2\nu,2\n"), *without = file_of("without.csv", "x\n2\n");
    const char *pairs[] = {"target", "a", "target", "b", NULL};
    anygp_model *m = reloaded(fit_file(train, pairs, NULL));
    char *text = predictions(m, test, NULL);
    assert_true(fabs(cell(text, 1, 4) - 10) < 2 && fabs(cell(text, 2, 4) - 5) < 2 && fabs(cell(text, 3, 4)) < 2);
    anygp_error e;
    assert_int_equal(anygp_predict_file(m, NULL, without, "-", &e), ANYGP_ERR_DATA);
    free(text);
    anygp_model_free(m);
    unlink(train), unlink(test), unlink(without);
}

static void names_and_categories_in_latin1_survive_the_model_file(void **unused)
{
    (void)unused;
    char *train = file_of("latin1.csv", "gr\xf6\xdf"
                                        "e,farbe,y\n1,wei\xdf,0\n2,gr\xfcn,5\n3,wei\xdf,0\n4,gr\xfcn,5\n"
                                        "5,wei\xdf,0\n6,gr\xfcn,5\n7,wei\xdf,0\n8,gr\xfcn,5\n");
    char *test = file_of("utf8.csv", "farbe,gr\xc3\xb6\xc3\x9f"
                                     "e\ngr\xc3\xbcn,3\nwei\xc3\x9f,3\n");
    anygp_model *m = reloaded(fit_file(train, NULL, NULL));
    char *text = predictions(m, test, NULL);
    assert_true(cell(text, 1, 0) > 3 && cell(text, 2, 0) < 2);
    free(text);
    anygp_model_free(m);
    unlink(train), unlink(test);
}

static void missing_inputs_are_filled_when_prediction_is_asked_to(void **unused)
{
    (void)unused;
    char *train = file_of("whole.csv", "x,s,y\n0,u,1\n1,v,2\n2,u,2\n3,v,4\n4,u,4\n5,v,7\n");
    char *gaps = file_of("gaps.csv", "x,s\n,u\n1,\n"), *full = file_of("mean.csv", "x,s\n2.5,u\n1,new\n");
    const char *fill[] = {"missing", "mean", NULL};
    anygp_model *m = fit_file(train, NULL, NULL);
    anygp_error e;
    assert_int_equal(anygp_predict_file(m, NULL, gaps, path_for("none.csv"), &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "--missing mean"));
    char *filled = predictions(m, gaps, fill), *same = predictions(m, full, NULL);
    assert_string_equal(filled, same);
    free(filled);
    free(same);
    anygp_model_free(m);
    unlink(train), unlink(gaps), unlink(full);
}

static void a_held_out_row_that_cannot_be_scored_costs_a_warning_not_the_model(void **unused)
{
    (void)unused;
    char *train = file_of("held.csv", "x,y\n0,1\n1,2\n2,\n3,3\n4,\n5,2\n,3\n7,4\n8,1\n9,2\n10,2\n11,5\n"), warning[256];
    int warned = 0;
    for (int seed = 0; seed < 12; seed++) { /* in some of them the row without an input is held out */
        char text[16];
        snprintf(text, sizeof text, "%d", seed);
        const char *pairs[] = {"valid", "0.4", "seed", text, "iters", "2", NULL};
        anygp_settings *s = settings_with(pairs);
        anygp_data *data;
        anygp_model *m;
        anygp_error e;
        *warning = 0;
        anygp_on_log(s, keep_warning, warning);
        assert_int_equal(anygp_data_read(train, s, &data, &e), ANYGP_OK);
        if (!ANYGP_FAILED(anygp_fit(s, data, &m, &e))) warned += strstr(warning, "no validation scores: row 7") != NULL;
        anygp_model_free(m);
        anygp_data_free(data);
        anygp_settings_free(s);
    }
    assert_true(warned > 0);
    unlink(train);
}

static void a_long_kernel_expression_survives_the_model_file(void **unused)
{
    (void)unused;
    double x[N], y[N];
    char text[2000] = "rbf";
    make_data(x, y);
    while (strlen(text) < 1000) strcat(text, " + 0.01*constant");
    const char *pairs[] = {"kernel", text, "iters", "1", "target", "1", NULL};
    anygp_model_free(reloaded(fit_arrays(N, 1, x, y, NULL, pairs)));
}

/* What loading says of the file of m after `from` became `to`, of the same length, where it stands last in the header. */
static anygp_status load_changed(const anygp_model *m, const char *from, const char *to, anygp_error *e)
{
    char *path = path_for("changed.agp"), digits[17], *last = NULL;
    static char bytes[1 << 18];
    anygp_model *again = NULL;
    int64_t at;
    assert_int_equal(anygp_save(m, path, e), ANYGP_OK);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes - 1, f);
    for (size_t i = 0; i + strlen(from) <= n; i++)
        if (!memcmp(bytes + i, from, strlen(from))) last = bytes + i;
    assert_non_null(last);
    memcpy(last, to, strlen(to));
    rewind(f);
    assert_true(fwrite(bytes, 1, n, f) == n && !fflush(f));
    assert_true(model_file_checksum(f, digits, &at));
    fseek(f, at, SEEK_SET);
    fwrite(digits, 1, 16, f);
    fclose(f);
    anygp_status status = anygp_load(path, &again, e);
    assert_true((again == NULL) == ANYGP_FAILED(status));
    anygp_model_free(again);
    unlink(path);
    return status;
}

static void settings_of_a_newer_version_do_not_stop_a_model_from_loading(void **unused)
{
    (void)unused;
    double x[N], y[N];
    anygp_error e;
    make_data(x, y);
    const char *pairs[] = {"select", "kmeans", "iters", "1", NULL};
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs);
    assert_int_equal(load_changed(m, "\\\"select\\\"", "\\\"zelect\\\"", &e), ANYGP_OK);
    assert_int_equal(load_changed(m, "kmeans", "kmeanz", &e), ANYGP_OK);
    assert_int_equal(load_changed(m, "\\\"status\\\"", "\\\"ztatus\\\"", &e), ANYGP_ERR_FILE);
    anygp_model_free(m);
}

static void damaged_name_of_a_combination_is_said_when_loading(void **unused)
{
    (void)unused;
    double x[N], y[N];
    anygp_error e;
    make_data(x, y);
    const char *pairs[] = {"model", "combine( dtc=1,fitc=2)", "inducing", "3", NULL};
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs);
    assert_int_equal(load_changed(m, "combine(dtc=1,fitc=2)", "combine(dtc=7,fitc=2)", &e), ANYGP_OK);
    assert_int_equal(load_changed(m, "combine(dtc=1,fitc=2)", "combine(dtc=1,dtc =2)", &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "a 'combine(dtc=1,dtc =2)' model, which this version does not know"));
    anygp_model_free(m);
}

static void targets_of_a_file_must_share_their_inputs(void **unused)
{
    (void)unused;
    char *path = file_of("shared.csv", "left,a,b\n0,1,2\n1,2,0\n2,0,1\n3,1,1\n4,3,1\n");
    const char *pairs[] = {"target", "a", "target", "b", "iters", "1", NULL};
    anygp_model *m = fit_file(path, pairs, NULL);
    anygp_error e;
    assert_int_equal(load_changed(m, "left", "left", &e), ANYGP_OK);
    assert_int_equal(load_changed(m, "left", "lift", &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "different inputs"));
    anygp_model_free(m);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_in_a_list_of_what_is_fixed_fixes_all),
        cmocka_unit_test(fixed_noise_of_zero_is_refused_for_repeated_rows_alone),
        cmocka_unit_test(a_linear_mean_of_very_many_columns_is_refused_before_it_allocates),
        cmocka_unit_test(stopping_one_target_stops_those_behind_it),
        cmocka_unit_test(inputs_too_large_to_be_squared_must_be_standardised),
        cmocka_unit_test(targets_too_small_to_be_squared_are_refused),
        cmocka_unit_test(very_many_equal_targets_have_no_variance),
        cmocka_unit_test(a_prediction_that_is_no_number_is_a_sentence),
        cmocka_unit_test(draws_at_noiseless_training_rows_are_the_data),
        cmocka_unit_test(weights_that_sum_to_the_rows_keep_their_share_of_the_evidence),
        cmocka_unit_test(a_category_constant_for_one_target_still_counts_for_the_others),
        cmocka_unit_test(names_and_categories_in_latin1_survive_the_model_file),
        cmocka_unit_test(missing_inputs_are_filled_when_prediction_is_asked_to),
        cmocka_unit_test(a_held_out_row_that_cannot_be_scored_costs_a_warning_not_the_model),
        cmocka_unit_test(a_long_kernel_expression_survives_the_model_file),
        cmocka_unit_test(settings_of_a_newer_version_do_not_stop_a_model_from_loading),
        cmocka_unit_test(damaged_name_of_a_combination_is_said_when_loading),
        cmocka_unit_test(targets_of_a_file_must_share_their_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
