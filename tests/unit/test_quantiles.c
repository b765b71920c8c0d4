/* anygp_predict_quantiles, and exposures of arrays: quantiles invert the distribution that mean and variance belong to, and counts
   are proportional to their exposure. */
#include "fit_support.h"

#include <string.h>

enum { N = 40, NEW = 3000, LEVELS = 3 };
static const double LEVEL[LEVELS] = {0.025, 0.5, 0.975};

static const char *const COUNTS[] = {
    "likelihood", "poisson", "kernel", "rbf(lengthscale=1)", "model", "svgp", "inducing", "8", "iters", "20", NULL};

static void make_rows(double *x, double *y, double *new_x)
{
    fill_normal(11, N, x);
    for (int i = 0; i < N; i++) y[i] = floor(exp(1 + sin(x[i])));
    fill_normal(12, NEW, new_x);
}

static void quantiles_of_numbers_are_those_of_a_normal(void **unused)
{
    (void)unused;
    static double x[N], y[N], new_x[NEW], mean[NEW], variance[NEW], q[NEW * LEVELS];
    anygp_error e = {.text = ""};
    make_rows(x, y, new_x);
    const char *const pairs[] = {"model", "exact", "kernel", "rbf(lengthscale=1)", "noise", "0.1", "fix", "all", NULL};
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs);
    for (unsigned flags = 0; flags <= ANYGP_LATENT; flags++) {
        assert_int_equal(anygp_predict(m, NEW, new_x, 1, flags, mean, variance, &e), ANYGP_OK);
        assert_int_equal(anygp_predict_quantiles(m, 0, NEW, new_x, 1, NULL, flags, LEVELS, LEVEL, q, &e), ANYGP_OK);
        for (int i = 0; i < NEW; i++) {
            double half = 1.959963984540054 * sqrt(variance[i]);
            check_close(q[i], mean[i] - half, 1e-12);
            check_close(q[i + NEW], mean[i], 1e-12);
            check_close(q[i + 2 * NEW], mean[i] + half, 1e-12);
        }
    }
    anygp_model_free(m);
}

static void counts_have_whole_quantiles_that_grow_with_exposure(void **unused)
{
    (void)unused;
    static double x[N], y[N], new_x[NEW], exposure[NEW], one[2 * NEW], many[2 * NEW], q[NEW * LEVELS];
    anygp_error e = {.text = ""};
    make_rows(x, y, new_x);
    for (int i = 0; i < NEW; i++) exposure[i] = 10;
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, COUNTS);
    assert_int_equal(anygp_predict(m, NEW, new_x, 1, 0, one, one + NEW, &e), ANYGP_OK);
    assert_int_equal(anygp_predict_exposed(m, 0, NEW, new_x, 1, exposure, 0, many, many + NEW, &e), ANYGP_OK);
    assert_int_equal(anygp_predict_quantiles(m, 0, NEW, new_x, 1, exposure, 0, LEVELS, LEVEL, q, &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) {
        check_close(many[i], 10 * one[i], 1e-10);
        check_close(many[NEW + i], 10 * one[i] + 100 * (one[NEW + i] - one[i]), 1e-8); /* E[rate], var(rate) */
        assert_true(q[i] <= q[i + NEW] && q[i + NEW] < q[i + 2 * NEW] && q[i] == floor(q[i]));
        assert_true(fabs(q[i + NEW] - many[i]) < 1 + sqrt(many[NEW + i]));
    }
    anygp_model_free(m);
}

static void update_takes_exposures(void **unused)
{
    (void)unused;
    static double x[N], y[N], new_x[NEW], ten[N], before, after, plain;
    anygp_error e = {.text = ""};
    make_rows(x, y, new_x);
    for (int i = 0; i < N; i++) ten[i] = 10;
    double at = 0;
    anygp_settings *s = anygp_settings_new();
    for (int k = 0; COUNTS[k]; k += 2) assert_int_equal(anygp_set(s, COUNTS[k], COUNTS[k + 1], &e), ANYGP_OK);
    assert_int_equal(anygp_set(s, "exposure", "1", &e), ANYGP_OK);
    double wide[N * 2];
    for (int i = 0; i < N; i++) wide[2 * i] = x[i], wide[2 * i + 1] = 1;
    anygp_data *d = NULL;
    anygp_model *m = NULL, *other = NULL;
    assert_int_equal(anygp_data_new(N, 2, wide, 2, y, NULL, &d, &e), ANYGP_OK);
    assert_int_equal(anygp_fit(s, d, &m, &e), ANYGP_OK);
    assert_int_equal(anygp_fit(s, d, &other, &e), ANYGP_OK);
    assert_int_equal(anygp_predict(m, 1, &at, 1, 0, &before, NULL, &e), ANYGP_OK);
    assert_int_equal(anygp_update_exposed(m, NULL, N, x, 1, y, NULL, ten, &e), ANYGP_OK);
    assert_int_equal(anygp_update(other, NULL, N, x, 1, y, NULL, &e), ANYGP_OK);
    assert_int_equal(anygp_predict(m, 1, &at, 1, 0, &after, NULL, &e), ANYGP_OK);
    assert_int_equal(anygp_predict(other, 1, &at, 1, 0, &plain, NULL, &e), ANYGP_OK);
    assert_true(after < 0.5 * before); /* the same counts, for ten times the exposure */
    assert_true(plain > 0.8 * before);
    anygp_model_free(m);
    anygp_model_free(other);
    anygp_data_free(d);
    anygp_settings_free(s);
}

static void labels_of_text_classes_are_indices_in_updates(void **unused)
{
    (void)unused;
    static double x[N], y[N], P[2], more[2];
    anygp_error e = {.text = ""};
    fill_normal(11, N, x);
    for (int i = 0; i < N; i++) y[i] = x[i] > 0;
    anygp_settings *s = anygp_settings_new();
    const char *const names[] = {"low", "high"}; /* in another order than the classes: high, low */
    const char *const pairs[] = {"likelihood", "bernoulli", "model", "svgp", "inducing", "8", "iters", "20"};
    for (int k = 0; k < 8; k += 2) assert_int_equal(anygp_set(s, pairs[k], pairs[k + 1], &e), ANYGP_OK);
    anygp_data *d = NULL;
    anygp_model *m = NULL;
    assert_int_equal(anygp_data_new(N, 1, x, 1, y, NULL, &d, &e), ANYGP_OK);
    assert_int_equal(anygp_data_categories(d, 1, 2, names, &e), ANYGP_OK);
    assert_int_equal(anygp_fit(s, d, &m, &e), ANYGP_OK);
    double at = 0.1, label = 1, wrong = 2;
    assert_string_equal(anygp_class_name(m, 0, 1), "low");
    assert_int_equal(anygp_predict_proba(m, 0, 1, &at, 1, P, &e), ANYGP_OK);
    for (int k = 0; k < 5; k++) assert_int_equal(anygp_update(m, NULL, 1, &at, 1, &label, NULL, &e), ANYGP_OK);
    assert_int_equal(anygp_predict_proba(m, 0, 1, &at, 1, more, &e), ANYGP_OK);
    assert_true(more[1] > P[1]);
    assert_int_equal(anygp_update(m, NULL, 1, &at, 1, &wrong, NULL, &e), ANYGP_ERR_DATA);
    anygp_model_free(m);
    anygp_data_free(d);
    anygp_settings_free(s);
}

static void what_has_no_quantile_or_exposure_is_refused(void **unused)
{
    (void)unused;
    static double x[N], y[N], new_x[NEW], q[LEVELS], two[2] = {1, -1}, zero = 0;
    anygp_error e = {.text = ""};
    make_rows(x, y, new_x);
    const char *const pairs[] = {"model", "exact", "fix", "all", NULL};
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs), *counts = fit_arrays(N, 1, x, y, NULL, COUNTS);
    assert_int_equal(anygp_predict_quantiles(m, 0, 1, x, 1, NULL, 0, 1, &zero, q, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "not between 0 and 1"));
    assert_int_equal(anygp_predict_quantiles(m, 0, 1, x, 1, two, 0, LEVELS, LEVEL, q, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "the exposure is for counts"));
    assert_int_equal(anygp_predict_exposed(counts, 0, 2, x, 1, two, 0, q, NULL, &e), ANYGP_ERR_DATA);
    assert_string_equal(e.text, "exposure[1] is not above 0");
    assert_int_equal(anygp_update_exposed(counts, NULL, 1, x, 1, y, NULL, two, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "fitted without exposures"));
    anygp_model_free(m);
    anygp_model_free(counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_of_numbers_are_those_of_a_normal),
        cmocka_unit_test(counts_have_whole_quantiles_that_grow_with_exposure),
        cmocka_unit_test(update_takes_exposures),
        cmocka_unit_test(labels_of_text_classes_are_indices_in_updates),
        cmocka_unit_test(what_has_no_quantile_or_exposure_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
