/* Where learning begins: data of every scale are distinguished from noise, by every kind of model, without a hint from the user. */
#include <string.h>

#include "data/table/dataset.h"
#include "fit_support.h"
#include "kernel/kernel.h"
#include "run/start.h"

static const double PI = 3.14159265358979323846;

static void fill_uniform(uint64_t stream, int64_t n, double *x)
{
    random_stream s = {.seed = 42, .use = RANDOM_TEST, .sub = stream};
    for (int64_t i = 0; i < n; i++) x[i] = random_uniform(s, (uint64_t)i);
}

/* The mean squared error of m at n places as a share of the variance of what is there. */
static double share_unexplained(const anygp_model *m, int64_t n, const double *X, const double *f)
{
    double *mean = malloc((size_t)n * sizeof *mean), *variance = malloc((size_t)n * sizeof *variance);
    double error = 0, sum = 0, squares = 0;
    predict(m, n, X, mean, variance);
    for (int64_t i = 0; i < n; i++) {
        error += (mean[i] - f[i]) * (mean[i] - f[i]);
        sum += f[i], squares += f[i] * f[i];
    }
    free(mean);
    free(variance);
    return error / (squares - sum * sum / (double)n);
}

static void sine_of_twenty_cycles_is_not_a_flat_line(void **unused)
{
    (void)unused;
    enum { N = 300 };
    double x[N], y[N], between[N - 1], f[N - 1];
    for (int i = 0; i < N; i++) x[i] = i / (N - 1.0), y[i] = sin(40 * PI * x[i]);
    for (int i = 0; i < N - 1; i++) between[i] = (i + 0.5) / (N - 1.0), f[i] = sin(40 * PI * between[i]);
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, NULL);
    assert_true(share_unexplained(m, N - 1, between, f) < 0.01);
    anygp_model_free(m);
}

/* A signal of many cycles: rows at random are too far apart to show it. */
enum { LONG = 6000, HELD = 200 };

static double signal(double t) { return sin(2 * PI * t / 9.0) + 0.5 * cos(2 * PI * t / 14.0) + 0.3 * sin(t / 400); }

static void make_signal(int64_t n, double *x, double *y)
{
    double *noise = malloc((size_t)n * sizeof *noise);
    fill_normal(31, n, noise);
    for (int64_t i = 0; i < n; i++) x[i] = (double)i, y[i] = signal(x[i]) + 0.05 * noise[i];
    free(noise);
}

static void signals_of_many_cycles_are_found_by_models_over_blocks(void **unused)
{
    (void)unused;
    static double x[LONG], y[LONG], between[HELD], f[HELD];
    make_signal(LONG, x, y);
    for (int i = 0; i < HELD; i++) between[i] = i * (LONG / HELD) + 0.5, f[i] = signal(between[i]);
    const char *pairs[] = {"model", "pic", "inducing", "20", "blocks", "120", "iters", "3", NULL};
    anygp_model *m = fit_arrays(LONG, 1, x, y, NULL, pairs);
    assert_true(share_unexplained(m, HELD, between, f) < 0.05);
    anygp_model_free(m);
}

static void signals_of_many_cycles_are_found_above_the_warm_up(void **unused)
{
    (void)unused;
    enum { N = 1800 };
    static double x[N], y[N];
    double between[HELD], f[HELD];
    make_signal(N, x, y);
    for (int i = 0; i < HELD; i++) between[i] = 9 * i + 0.5, f[i] = signal(between[i]);
    const char *pairs[] = {"model", "exact", "iters", "2", NULL};
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs);
    assert_true(share_unexplained(m, HELD, between, f) < 0.05);
    anygp_model_free(m);
}

static double objective_of(const anygp_model *m)
{
    char *text;
    anygp_error e;
    assert_int_equal(anygp_info(m, 1, &text, &e), ANYGP_OK);
    const char *at = strstr(text, "\"value\": ");
    assert_non_null(at);
    double value = strtod(at + strlen("\"value\": "), NULL);
    anygp_text_free(text);
    return value;
}

/* A trend with seasons on top: a long length-scale with the seasons as noise is a maximum of the evidence, and not the best. */
enum { MONTHS = 340 };

static void make_seasons(double *x, double *y)
{
    double noise[MONTHS];
    fill_normal(32, MONTHS, noise);
    for (int i = 0; i < MONTHS; i++)
        x[i] = i / 12.0, y[i] = 0.9 * x[i] + 0.02 * x[i] * x[i] + 2.5 * sin(2 * PI * x[i]) + 0.2 * noise[i];
}

static void seasons_on_a_trend_are_found_at_once(void **unused)
{
    (void)unused;
    double x[MONTHS], y[MONTHS];
    make_seasons(x, y);
    const char *several[] = {"restarts", "12", NULL};
    anygp_model *one = fit_arrays(MONTHS, 1, x, y, NULL, NULL), *best = fit_arrays(MONTHS, 1, x, y, NULL, several);
    assert_true(objective_of(one) > objective_of(best) - 5);
    anygp_model_free(one);
    anygp_model_free(best);
}

/* Restarts look at other scales: from a length-scale that is given, and wrong by a factor of 100. */
static void restarts_leave_a_wrong_scale(void **unused)
{
    (void)unused;
    enum { N = 120 };
    double x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = i / (N - 1.0), y[i] = sin(24 * PI * x[i]);
    const char *wrong[] = {"kernel", "matern52(lengthscale=3)", "noise", "0.5", NULL};
    const char *again[] = {"kernel", "matern52(lengthscale=3)", "noise", "0.5", "restarts", "20", NULL};
    anygp_model *one = fit_arrays(N, 1, x, y, NULL, wrong), *several = fit_arrays(N, 1, x, y, NULL, again);
    assert_true(objective_of(several) > objective_of(one) + 100);
    anygp_model_free(one);
    anygp_model_free(several);
}

static void one_rough_input_among_smooth_ones_is_found(void **unused)
{
    (void)unused;
    enum { N = 400, D = 3, NEW = 100 };
    static double X[N * D], y[N], new[NEW * D], f[NEW];
    fill_uniform(33, N * D, X);
    fill_uniform(34, NEW * D, new);
    for (int i = 0; i < N; i++) y[i] = sin(24 * PI * X[i * D + 1]) + X[i * D] - X[i * D + 2];
    for (int i = 0; i < NEW; i++) f[i] = sin(24 * PI * new[i * D + 1]) + new[i * D] - new[i * D + 2];
    anygp_model *m = fit_arrays(N, D, X, y, NULL, NULL);
    assert_true(share_unexplained(m, NEW, new, f) < 0.05);
    anygp_model_free(m);
}

static kernel *parse_over_one_column(const char *text)
{
    kernel_input in = {.name = "x", .number = 1, .kind = INPUT_NUMBER, .position = 0};
    kernel *k;
    anygp_error e;
    assert_int_equal(kernel_parse(text, &in, 1, 1, &k, &e), ANYGP_OK);
    return k;
}

static void equal_terms_start_apart(void **unused)
{
    (void)unused;
    kernel *two = parse_over_one_column("matern52 + matern52 + rbf");
    const double *v = kernel_values(two);
    assert_true(v[1] > 2 * v[3] && v[1] == v[5]);
    kernel_free(two);
    kernel *given = parse_over_one_column("matern52(lengthscale=2) + matern52(lengthscale=2)");
    v = kernel_values(given);
    assert_true(v[1] == 2 && v[3] == 2);
    kernel_free(given);
}

static void equal_terms_learn_two_scales(void **unused)
{
    (void)unused;
    double x[MONTHS], y[MONTHS];
    make_seasons(x, y);
    const char *pairs[] = {"kernel", "matern52 + matern52", "mean", "zero", NULL}, *alone[] = {"mean", "zero", NULL};
    anygp_model *two = fit_arrays(MONTHS, 1, x, y, NULL, pairs), *one = fit_arrays(MONTHS, 1, x, y, NULL, alone);
    assert_true(objective_of(two) > objective_of(one) + 10);
    anygp_model_free(two);
    anygp_model_free(one);
}

/* A run that had no time to look at anything takes noise for noise. */
static void runs_without_time_are_no_worse_than_the_mean(void **unused)
{
    (void)unused;
    enum { N = 3000, D = 2, NEW = 300 };
    static double X[N * D], y[N], noise[N], new[NEW * D], f[NEW];
    static const char *const models[] = {"svgp", "solve", "ivsgpr", "svdgp", "fitc", "fitc+"};
    fill_uniform(35, N * D, X);
    fill_uniform(36, NEW * D, new);
    fill_normal(37, N, noise);
    for (int i = 0; i < N; i++) y[i] = 1.2 * sin(6 * X[i * D]) + 3 * noise[i];
    for (int i = 0; i < NEW; i++) f[i] = 1.2 * sin(6 * new[i * D]) + 3 * noise[i];
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        const char *pairs[] = {"model", models[k], "time", "0.000001", "inducing", "100", NULL};
        anygp_model *m = fit_arrays(N, D, X, y, NULL, pairs);
        assert_true(share_unexplained(m, NEW, new, f) < 1);
        anygp_model_free(m);
    }
}

/* ------------------------------------------------------------------------------------------- rows */

/* n rows in random order, one column 0 .. n-1. */
static void make_rows(int64_t n, dataset *d, merged *m)
{
    static input_spec input;
    static int64_t at;
    int64_t *order = malloc((size_t)n * sizeof *order);
    *d = (dataset){.n = n, .D = 1, .Q = 1, .targets = 1};
    d->schema.input = &input, d->schema.at = &at, d->schema.inputs = 1;
    d->X = malloc((size_t)n * sizeof *d->X), d->y = calloc((size_t)n, sizeof *d->y);
    d->w = malloc((size_t)n * sizeof *d->w);
    random_permutation((random_stream){5, RANDOM_TEST, 0}, n, order);
    for (int64_t i = 0; i < n; i++) d->X[i] = (double)order[i], d->w[i] = 1;
    anygp_error e;
    assert_int_equal(dataset_merge(d, false, m, &e), ANYGP_OK);
    free(order);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Differences of neighbours cover every power of 4 from the spacing of all rows to that of rows at random. */
static void rows_to_start_from_show_every_scale(void **unused)
{
    (void)unused;
    enum { ROWS = 60000, FEW = 300 };
    dataset d;
    merged m, few;
    anygp_error e;
    make_rows(ROWS, &d, &m);
    problem p = {.rows = &m, .seed = 1};
    assert_int_equal(start_rows(&p, FEW, NULL, &few, &e), ANYGP_OK);
    assert_true(few.n > 0.9 * FEW && few.n <= FEW);
    qsort(few.own, (size_t)few.n, sizeof *few.own, by_value);
    assert_true(few.X[0] < 0.03 * ROWS && few.X[few.n - 1] > 0.97 * ROWS);
    int seen[6] = {0};
    for (int64_t i = 1; i < few.n; i++) {
        double gap = few.X[i] - few.X[i - 1];
        assert_true(gap > 0); /* no row twice */
        for (int s = 0; s < 5; s++) seen[s] += gap < pow(4, s + 0.5) && gap >= pow(4, s - 0.5);
    }
    for (int s = 0; s < 4; s++) assert_true(seen[s] >= 8);
    merged_clear(&few);
    merged_clear(&m);
    free(d.X);
    free(d.y);
    free(d.w);
}

static void few_rows_are_all_taken(void **unused)
{
    (void)unused;
    dataset d;
    merged m, few;
    anygp_error e;
    make_rows(300, &d, &m);
    problem p = {.rows = &m, .seed = 1};
    assert_int_equal(start_rows(&p, 300, NULL, &few, &e), ANYGP_OK);
    assert_int_equal(few.n, 300);
    merged_clear(&few);
    merged_clear(&m);
    free(d.X);
    free(d.y);
    free(d.w);
}

/* Most rows have a twin with the same y, as if there were no noise, but a few twins differ: a model that keeps the noise it starts with
   allows for them. */
static void twins_do_not_talk_noise_away(void **unused)
{
    (void)unused;
    enum { TWINS = 450, ALONE = 600, N = 2 * TWINS + ALONE };
    static double x[2 * N], y[N], noise[N], mean[N], variance[N];
    fill_uniform(51, 2 * N, x);
    fill_normal(52, N, noise);
    for (int i = 0; i < TWINS; i++)
        for (int k = 0; k < 2; k++) x[2 * i + k] = x[2 * (i + TWINS) + k] + 1e-5 * (i % 3 - 1);
    for (int neighbours = 0; neighbours < 2; neighbours++) {
        const char *const options[] = {
            "model", neighbours ? "vecchia" : "qsgp(basis=kernel)", "kernel", "rbf", "iters", neighbours ? "1" : "40",
            NULL};
        int apart = neighbours ? TWINS : 50; /* one of so many twins was measured twice */
        for (int i = 0; i < N; i++)
            y[i] = sin(6 * x[2 * i]) + x[2 * i + 1] + 0.4 * noise[i < TWINS && i % apart ? i + TWINS : i];
        anygp_model *m = fit_arrays(N, 2, x, y, NULL, options);
        predict(m, N, x, mean, variance);
        for (int i = 0; i < N; i++) assert_true(variance[i] > 1e-3);
        anygp_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sine_of_twenty_cycles_is_not_a_flat_line),
        cmocka_unit_test(signals_of_many_cycles_are_found_by_models_over_blocks),
        cmocka_unit_test(signals_of_many_cycles_are_found_above_the_warm_up),
        cmocka_unit_test(seasons_on_a_trend_are_found_at_once),
        cmocka_unit_test(restarts_leave_a_wrong_scale),
        cmocka_unit_test(one_rough_input_among_smooth_ones_is_found),
        cmocka_unit_test(equal_terms_start_apart),
        cmocka_unit_test(equal_terms_learn_two_scales),
        cmocka_unit_test(runs_without_time_are_no_worse_than_the_mean),
        cmocka_unit_test(rows_to_start_from_show_every_scale),
        cmocka_unit_test(few_rows_are_all_taken),
        cmocka_unit_test(twins_do_not_talk_noise_away),
    };
    return cmocka_run_group_tests_name("start", tests, NULL, NULL);
}
