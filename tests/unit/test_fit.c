/* The public interface from data to predictions: units, files, determinism, leaks. */
#include "fit_support.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kernel/kernel.h"

enum { N = 40, D = 2, NEW = 6 };

static void make_data(double *X, double *y)
{
    double noise[N];
    fill_normal(11, N * D, X);
    fill_normal(12, N, noise);
    for (int i = 0; i < N; i++) y[i] = sin(2 * X[i * D]) + 0.5 * X[i * D + 1] + 0.1 * noise[i];
}

/* An expression that uses the kind, for data of two number columns. */
static const char *expression_for(const char *kind)
{
    if (!strcmp(kind, "white")) return "rbf + white";
    if (!strcmp(kind, "constant")) return "rbf + constant";
    return kind;
}

static void affine_targets_give_affine_predictions_for_every_kernel(void **unused)
{
    (void)unused;
    const double a = -321.7, b = 5e4;
    double X[N * D], y[N], scaled[N], new[NEW * D], m1[NEW], v1[NEW], m2[NEW], v2[NEW];
    make_data(X, y);
    fill_normal(13, NEW * D, new);
    for (int i = 0; i < N; i++) scaled[i] = a * y[i] + b;
    for (int64_t k = 0; k < kernel_kinds(); k++) {
        const char *kind = kernel_kind_name(k);
        if (!strcmp(kind, "categorical")) continue; /* needs text columns: test_cli has it */
        const char *pairs[] = {"kernel", expression_for(kind), "iters", "8", "threads", "1", NULL};
        anygp_model *one = fit_arrays(N, D, X, y, NULL, pairs), *two = fit_arrays(N, D, X, scaled, NULL, pairs);
        predict(one, NEW, new, m1, v1);
        predict(two, NEW, new, m2, v2);
        for (int i = 0; i < NEW; i++) {
            check_close(m2[i] / a, (a * m1[i] + b) / a, 1e-6);
            check_close(sqrt(v2[i]) / fabs(a), sqrt(v1[i]), 1e-6);
        }
        anygp_model_free(one);
        anygp_model_free(two);
    }
}

static void shifted_and_scaled_inputs_change_nothing(void **unused)
{
    (void)unused;
    double X[N * D], Z[N * D], y[N], new[NEW * D], moved[NEW * D], m1[NEW], v1[NEW], m2[NEW], v2[NEW];
    make_data(X, y);
    fill_normal(13, NEW * D, new);
    for (int i = 0; i < N * D; i++) Z[i] = i % D ? 1e6 + 250 * X[i] : 0.01 * X[i];
    for (int i = 0; i < NEW * D; i++) moved[i] = i % D ? 1e6 + 250 * new[i] : 0.01 * new[i];
    const char *pairs[] = {"threads", "1", "mean", "linear", NULL};
    anygp_model *one = fit_arrays(N, D, X, y, NULL, pairs), *two = fit_arrays(N, D, Z, y, NULL, pairs);
    predict(one, NEW, new, m1, v1);
    predict(two, NEW, moved, m2, v2);
    for (int i = 0; i < NEW; i++) {
        check_close(m1[i], m2[i], 1e-6);
        check_close(v1[i], v2[i], 1e-6);
    }
    anygp_model_free(one);
    anygp_model_free(two);
}

/* The value of a key in the first level of the info's JSON, as text. */
static char *info_value(const anygp_model *m, const char *key)
{
    char *text, pattern[64], *value = calloc(1, 4096);
    anygp_error e;
    assert_int_equal(anygp_info(m, 1, &text, &e), ANYGP_OK);
    snprintf(pattern, sizeof pattern, "\n  \"%s\": ", key);
    char *at = strstr(text, pattern);
    assert_non_null(at);
    at += strlen(pattern);
    at += *at == '"';
    size_t n = strcspn(at, "\"\n");
    if (at[n] == '\n' && at[n - 1] == ',') n--;
    memcpy(value, at, n);
    anygp_text_free(text);
    return value;
}

/* What info reports in data units, given back with everything fixed and nothing standardised, is the same model. */
static void reported_hyperparameters_reproduce_the_model_without_standardising(void **unused)
{
    (void)unused;
    static const char *const kernels[] = {"matern52",
                                          "rbf(iso)",
                                          "rq + periodic(period=3)*rbf",
                                          "2*matern32(iso) + wendland2",
                                          "sm(components=2)",
                                          "cosine*rbf + constant"};
    double X[N * D], y[N], new[NEW * D], m1[NEW], v1[NEW], m2[NEW], v2[NEW], mean = 0;
    make_data(X, y);
    fill_normal(13, NEW * D, new);
    for (int i = 0; i < N * D; i++) X[i] *= i % D ? 30 : 0.2;
    for (int i = 0; i < NEW * D; i++) new[i] *= i % D ? 30 : 0.2;
    for (int i = 0; i < N; i++) y[i] *= 7, mean += y[i] / N;
    for (int i = 0; i < N; i++) y[i] -= mean;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        const char *first[] = {"kernel", kernels[k], "threads", "1", "iters", "15", NULL};
        anygp_model *one = fit_arrays(N, D, X, y, NULL, first);
        char *text = info_value(one, "kernel"), *noise = info_value(one, "noise");
        const char *second[] = {"kernel",      text,   "noise",   noise, "fix", "all",
                                "standardize", "none", "threads", "1",   NULL};
        anygp_model *two = fit_arrays(N, D, X, y, NULL, second);
        predict(one, NEW, new, m1, v1);
        predict(two, NEW, new, m2, v2);
        for (int i = 0; i < NEW; i++) {
            check_close(m1[i], m2[i], 1e-6);
            check_close(v1[i], v2[i], 1e-6);
        }
        free(text);
        free(noise);
        anygp_model_free(one);
        anygp_model_free(two);
    }
}

static void saved_and_loaded_model_predicts_the_same_bits(void **unused)
{
    (void)unused;
    static const char *const means[] = {"zero", "constant", "linear"};
    double X[N * D], y[N], w[N], new[NEW * D], m1[NEW], v1[NEW], m2[NEW], v2[NEW];
    char path[] = "test_fit_XXXXXX";
    anygp_error e;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    make_data(X, y);
    fill_normal(13, NEW * D, new);
    for (int i = 0; i < N; i++) w[i] = 1 + i % 2;
    for (int k = 0; k < 3; k++) {
        const char *pairs[] = {"mean", means[k], "iters", "5", NULL};
        anygp_model *one = fit_arrays(N, D, X, y, w, pairs), *two;
        assert_int_equal(anygp_save(one, path, &e), ANYGP_OK);
        if (anygp_load(path, &two, &e)) fail_msg("%s", e.text);
        predict(one, NEW, new, m1, v1);
        predict(two, NEW, new, m2, v2);
        assert_memory_equal(m1, m2, sizeof m1);
        assert_memory_equal(v1, v2, sizeof v1);
        predict(two, NEW, new, m2, NULL); /* without variances: the same means */
        assert_memory_equal(m1, m2, sizeof m1);
        char *i1, *i2;
        assert_int_equal(anygp_info(one, 1, &i1, &e) + anygp_info(two, 1, &i2, &e), 0);
        assert_string_equal(i1, i2);
        anygp_text_free(i1);
        anygp_text_free(i2);
        anygp_model_free(one);
        anygp_model_free(two);
    }
    unlink(path);
}

/* With factors in a scratch file. */
static void committee_loaded_with_little_memory_predicts_the_same_bits(void **unused)
{
    (void)unused;
    double X[N * D], y[N], w[N], new[NEW * D], m1[NEW], v1[NEW], m2[NEW], v2[NEW];
    char path[] = "test_fit_XXXXXX";
    const char *pairs[] = {"model", "poe", "blocks", "3", "iters", "2", "valid", "0", NULL};
    anygp_settings *little = anygp_settings_new();
    anygp_model *two;
    anygp_error e;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && little);
    close(fd);
    make_data(X, y);
    fill_normal(13, NEW * D, new);
    for (int i = 0; i < N; i++) w[i] = 1 + i % 2;
    anygp_model *one = fit_arrays(N, D, X, y, w, pairs);
    assert_int_equal(anygp_save(one, path, &e), ANYGP_OK);
    assert_int_equal(anygp_set(little, "memory", "8", &e), ANYGP_OK);
    if (anygp_load_with(path, little, &two, &e)) fail_msg("%s", e.text);
    predict(one, NEW, new, m1, v1);
    predict(two, NEW, new, m2, v2);
    assert_memory_equal(m1, m2, sizeof m1);
    assert_memory_equal(v1, v2, sizeof v1);
    anygp_model_free(one);
    anygp_model_free(two);
    anygp_settings_free(little);
    unlink(path);
}

static void weights_equal_repeated_rows(void **unused)
{
    (void)unused;
    double X[N * D], y[N], w[N], X3[3 * N * D], y3[3 * N], new[NEW * D], m1[NEW], v1[NEW], m2[NEW], v2[NEW];
    int n3 = 0;
    make_data(X, y);
    fill_normal(13, NEW * D, new);
    for (int i = 0; i < N; i++) {
        w[i] = i % 4; /* 0: absent */
        for (int c = 0; c < i % 4; c++, n3++) memcpy(X3 + n3 * D, X + i * D, D * sizeof(double)), y3[n3] = y[i];
    }
    const char *pairs[] = {"threads", "1", "iters", "20", NULL};
    anygp_model *one = fit_arrays(N, D, X, y, w, pairs), *two = fit_arrays(n3, D, X3, y3, NULL, pairs);
    predict(one, NEW, new, m1, v1);
    predict(two, NEW, new, m2, v2);
    for (int i = 0; i < NEW; i++) {
        check_close(m1[i], m2[i], 1e-7);
        check_close(v1[i], v2[i], 1e-7);
    }
    char *r1 = info_value(one, "rows"), *r2 = info_value(two, "rows");
    assert_string_equal(r1, r2);
    free(r1);
    free(r2);
    anygp_model_free(one);
    anygp_model_free(two);
}

static double objective_and_prior(const anygp_model *m)
{
    char *text;
    double value, log_prior;
    anygp_error e;
    anygp_info(m, 1, &text, &e);
    sscanf(strstr(text, "\"value\": "), "\"value\": %lf", &value);
    sscanf(strstr(text, "\"log_prior\": "), "\"log_prior\": %lf", &log_prior);
    anygp_text_free(text);
    return value + log_prior;
}

static void restarts_never_end_worse_than_one_run(void **unused)
{
    (void)unused;
    double X[N * D], y[N];
    make_data(X, y);
    for (int seed = 0; seed < 4; seed++) {
        char text[16];
        snprintf(text, sizeof text, "%d", seed);
        const char *single[] = {"seed", text, "kernel", "periodic + rbf", "iters", "15", NULL};
        const char *several[] = {"seed", text, "kernel", "periodic + rbf", "iters", "15", "restarts", "3", NULL};
        anygp_model *one = fit_arrays(N, D, X, y, NULL, single), *four = fit_arrays(N, D, X, y, NULL, several);
        assert_true(objective_and_prior(four) >= objective_and_prior(one));
        anygp_model_free(one);
        anygp_model_free(four);
    }
}

static int stop_at_once(void *ctx, const anygp_progress *p)
{
    (void)p;
    (*(int *)ctx)++;
    return 1;
}

static void stopping_at_the_first_report_leaves_a_valid_model(void **unused)
{
    (void)unused;
    double X[N * D], y[N], mean[NEW], variance[NEW], new[NEW * D];
    int calls = 0;
    anygp_error e;
    anygp_data *data;
    anygp_model *m;
    anygp_settings *s = anygp_settings_new();
    make_data(X, y);
    fill_normal(13, NEW * D, new);
    anygp_on_progress(s, stop_at_once, &calls);
    assert_int_equal(anygp_data_new(N, D, X, D, y, NULL, &data, &e), ANYGP_OK);
    assert_int_equal(anygp_fit(s, data, &m, &e), ANYGP_INTERRUPTED);
    assert_int_equal(calls, 1);
    predict(m, NEW, new, mean, variance);
    for (int i = 0; i < NEW; i++) assert_true(isfinite(mean[i]) && variance[i] > 0);
    anygp_model_free(m);
    anygp_data_free(data);
    anygp_settings_free(s);
}

static void joint_draws_have_the_joint_mean_and_covariance(void **unused)
{
    (void)unused;
    enum { S = 20000 };
    double X[N * D], y[N], new[NEW * D], mean[NEW], covariance[NEW * NEW], *draws = malloc(sizeof(double) * NEW * S);
    anygp_error e;
    make_data(X, y);
    fill_normal(13, NEW * D, new);
    const char *pairs[] = {"iters", "5", NULL};
    anygp_model *m = fit_arrays(N, D, X, y, NULL, pairs);
    assert_int_equal(anygp_predict_joint(m, 0, NEW, new, D, ANYGP_LATENT, mean, covariance, &e), ANYGP_OK);
    assert_int_equal(anygp_sample(m, 0, NEW, new, D, ANYGP_LATENT, 7, S, draws, &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++)
        for (int j = 0; j < NEW; j++) {
            double c = 0, a = 0, scale = sqrt(covariance[i + i * NEW] * covariance[j + j * NEW]);
            for (int s = 0; s < S; s++) {
                a += (draws[i + s * NEW] - mean[i]) / S;
                c += (draws[i + s * NEW] - mean[i]) * (draws[j + s * NEW] - mean[j]) / S;
            }
            assert_true(fabs(a) < 5 * sqrt(covariance[i + i * NEW] / S));
            assert_true(fabs(c - covariance[i + j * NEW]) < 5 * scale * sqrt(2.0 / S));
        }
    free(draws);
    anygp_model_free(m);
}

#ifdef __SANITIZE_ADDRESS__ /* holds freed memory back, and finds leaks itself when the program ends */
enum { RESIDENT_TELLS = 0 };
#else
enum { RESIDENT_TELLS = 1 };
#endif

static long resident_kb(void)
{
    long pages = 0, unused_pages;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &unused_pages, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void ten_thousand_fits_leak_nothing(void **unused)
{
    (void)unused;
    double X[8 * D], y[8], mean, variance;
    long before = 0;
    fill_normal(21, 8 * D, X);
    fill_normal(22, 8, y);
    const char *pairs[] = {"iters", "1", "threads", "1", "kernel", "rbf(iso)", NULL};
    for (int i = 0; i < 10000; i++) {
        anygp_model *m = fit_arrays(8, D, X, y, NULL, pairs);
        predict(m, 1, X, &mean, &variance);
        anygp_model_free(m);
        if (i == 1000) before = resident_kb();
    }
    assert_true(!RESIDENT_TELLS || resident_kb() - before < 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affine_targets_give_affine_predictions_for_every_kernel),
        cmocka_unit_test(shifted_and_scaled_inputs_change_nothing),
        cmocka_unit_test(reported_hyperparameters_reproduce_the_model_without_standardising),
        cmocka_unit_test(saved_and_loaded_model_predicts_the_same_bits),
        cmocka_unit_test(committee_loaded_with_little_memory_predicts_the_same_bits),
        cmocka_unit_test(weights_equal_repeated_rows),
        cmocka_unit_test(restarts_never_end_worse_than_one_run),
        cmocka_unit_test(stopping_at_the_first_report_leaves_a_valid_model),
        cmocka_unit_test(joint_draws_have_the_joint_mean_and_covariance),
        cmocka_unit_test(ten_thousand_fits_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
