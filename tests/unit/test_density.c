/* anygp_predict_density and anygp_eval: densities integrate to what the cdf says and agree with mean, variance, quantiles and
   probabilities; scores of arrays are the means that predict/scores.h defines, computed here from these. */
#define _GNU_SOURCE /* mkstemps */
#include "fit_support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N = 60, NEW = 400 };

static const char *const EXACT[] = {"model", "exact", "kernel", "rbf(lengthscale=1)", "noise", "0.1",
                                    "fix",   "all",   NULL};
static const char *const COUNTS[] = {
    "likelihood", "poisson", "kernel", "rbf(lengthscale=1)", "model", "svgp", "inducing", "8", "iters", "20", NULL};

static void make_rows(double *x, double *y, double *new_x, double *new_y)
{
    double noise[N + NEW];
    fill_normal(21, N, x);
    fill_normal(22, NEW, new_x);
    fill_normal(23, N + NEW, noise);
    for (int i = 0; i < N; i++) y[i] = 3 + sin(2 * x[i]) + 0.3 * noise[i];
    for (int i = 0; i < NEW; i++) new_y[i] = 3 + sin(2 * new_x[i]) + 0.3 * noise[N + i];
}

static void density(const anygp_model *m, int64_t n, const double *X, const double *exposure, const double *y,
                    double *log_density, double *cdf)
{
    anygp_error e;
    if (anygp_predict_density(m, 0, n, X, anygp_model_inputs(m), exposure, y, log_density, cdf, &e))
        fail_msg("%s", e.text);
}

static void numbers_have_the_density_of_their_normal(void **unused)
{
    (void)unused;
    static double x[N], y[N], new_x[NEW], new_y[NEW], mean[NEW], variance[NEW], logp[NEW], cdf[NEW], few[5];
    make_rows(x, y, new_x, new_y);
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, EXACT);
    predict(m, NEW, new_x, mean, variance);
    density(m, NEW, new_x, NULL, new_y, logp, cdf);
    for (int i = 0; i < NEW; i++) {
        double z = (new_y[i] - mean[i]) / sqrt(variance[i]);
        check_close(logp[i], -0.5 * (log(2 * acos(-1) * variance[i]) + z * z), 1e-11);
        check_close(cdf[i], 0.5 * erfc(-z / sqrt(2)), 1e-12);
    }
    density(m, 5, new_x, NULL, new_y, few, NULL); /* few rows go another way */
    for (int i = 0; i < 5; i++) check_close(few[i], logp[i], 1e-10);
    anygp_model_free(m);
}

/* Where there is no closed form: the density is the slope of the cdf, which inverts the quantiles. */
static void check_slopes(anygp_model *m, const double *X)
{
    enum { ROWS = 20, LEVELS = 5 };
    static const double level[LEVELS] = {0.01, 0.2, 0.5, 0.7, 0.975};
    anygp_error e;
    double q[ROWS * LEVELS], up[ROWS], low[ROWS], high[ROWS], below[ROWS], above[ROWS], logp[ROWS];
    assert_int_equal(anygp_predict_quantiles(m, 0, ROWS, X, 1, NULL, 0, LEVELS, level, q, &e), ANYGP_OK);
    for (int k = 0; k < LEVELS; k++) {
        const double *y = q + k * ROWS;
        density(m, ROWS, X, NULL, y, logp, up);
        for (int i = 0; i < ROWS; i++) {
            double h = 1e-4 * (q[i + (LEVELS - 1) * ROWS] - q[i]);
            low[i] = y[i] - h, high[i] = y[i] + h;
        }
        density(m, ROWS, X, NULL, low, NULL, below);
        density(m, ROWS, X, NULL, high, NULL, above);
        for (int i = 0; i < ROWS; i++) {
            check_close(up[i], level[k], 1e-6);
            check_close(log((above[i] - below[i]) / (high[i] - low[i])), logp[i], 1e-5);
        }
    }
    anygp_model_free(m);
}

static void densities_are_slopes_of_the_cdf(void **unused)
{
    (void)unused;
    static double x[N], y[N], new_x[NEW], new_y[NEW];
    make_rows(x, y, new_x, new_y);
    const char *const transformed[] = {"model", "exact", "transform", "log", "iters", "5", NULL};
    const char *const heavy[] = {"model", "svgp", "likelihood", "studentt", "inducing", "8", "iters", "20", NULL};
    const char *const mixture[] = {"model", "moe", "blocks", "2", "iters", "5", NULL};
    check_slopes(fit_arrays(N, 1, x, y, NULL, transformed), new_x);
    check_slopes(fit_arrays(N, 1, x, y, NULL, heavy), new_x);
    check_slopes(fit_arrays(N, 1, x, y, NULL, mixture), new_x);
}

static void counts_have_probabilities(void **unused)
{
    (void)unused;
    enum { ROWS = 10, MOST = 400 };
    static double x[N], y[N], new_x[NEW], new_y[NEW], mean[ROWS], variance[ROWS];
    double sum[ROWS] = {0}, first[ROWS] = {0}, ten[ROWS], k[ROWS], logp[ROWS], cdf[ROWS];
    anygp_error e;
    make_rows(x, y, new_x, new_y);
    for (int i = 0; i < N; i++) y[i] = floor(fabs(y[i]));
    for (int i = 0; i < ROWS; i++) ten[i] = 1 + i;
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, COUNTS);
    assert_int_equal(anygp_predict_exposed(m, 0, ROWS, new_x, 1, ten, 0, mean, variance, &e), ANYGP_OK);
    for (int c = 0; c < MOST; c++) {
        for (int i = 0; i < ROWS; i++) k[i] = c;
        density(m, ROWS, new_x, ten, k, logp, cdf);
        for (int i = 0; i < ROWS; i++) {
            sum[i] += exp(logp[i]), first[i] += c * exp(logp[i]);
            check_close(cdf[i], sum[i], 1e-6);
        }
    }
    for (int i = 0; i < ROWS; i++) {
        check_close(sum[i], 1, 1e-8);
        check_close(first[i], mean[i], 1e-5);
    }
    anygp_model_free(m);
}

static void classes_have_their_probabilities(void **unused)
{
    (void)unused;
    static double x[N], y[N], new_x[NEW], new_y[NEW], P[3 * NEW], logp[NEW];
    anygp_error e = {.text = ""};
    make_rows(x, y, new_x, new_y);
    for (int i = 0; i < N; i++) y[i] = 10 * (1 + (x[i] > -0.4) + (x[i] > 0.4)); /* labels 10, 20, 30 */
    for (int i = 0; i < NEW; i++) new_y[i] = 10 * (1 + i % 3);
    const char *const pairs[] = {"likelihood", "softmax", "model", "svgp", "inducing", "8", "iters", "20", NULL};
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs);
    assert_int_equal(anygp_predict_proba(m, 0, NEW, new_x, 1, P, &e), ANYGP_OK);
    density(m, NEW, new_x, NULL, new_y, logp, NULL);
    for (int i = 0; i < NEW; i++) check_close(logp[i], log(P[i + (i % 3) * NEW]), 1e-12);
    double cdf, other = 40;
    assert_int_equal(anygp_predict_density(m, 0, 1, x, 1, NULL, y, NULL, &cdf, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "no distribution function"));
    assert_int_equal(anygp_predict_density(m, 0, 1, x, 1, NULL, &other, logp, NULL, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "does not know the label '40'"));
    anygp_model_free(m);
}

/* ----------------------------------------------------------------------------------------- scores */

static double score_of(const anygp_scores *s, int64_t target, const char *name)
{
    for (int64_t i = 0; i < anygp_scores_count(s, target); i++)
        if (!strcmp(anygp_scores_name(s, target, i), name)) return anygp_scores_value(s, target, i);
    fail_msg("there is no score %s", name);
    return NAN;
}

/* The integral of (P(y' <= t) - [y <= t])^2, which crps is, by the midpoint rule. */
static double crps_of(const anygp_model *m, const double *x, double y, double sd)
{
    enum { POINTS = 4000 };
    static double t[POINTS], X[POINTS], cdf[POINTS];
    double width = 24 * sd / POINTS, sum = 0;
    for (int k = 0; k < POINTS; k++) t[k] = y + (k + 0.5 - POINTS / 2) * width, X[k] = *x;
    density(m, POINTS, X, NULL, t, NULL, cdf);
    for (int k = 0; k < POINTS; k++) sum += (cdf[k] - (t[k] >= y)) * (cdf[k] - (t[k] >= y)) * width;
    return sum;
}

static void scores_of_arrays_are_the_means_of_what_is_predicted(void **unused)
{
    (void)unused;
    static double x[N], y[N], new_x[NEW], new_y[NEW], w[NEW], mean[NEW], variance[NEW], logp[NEW], cdf[NEW];
    double sum = 0, square = 0, size = 0, nlp = 0, inside = 0, crps = 0;
    anygp_scores *s;
    anygp_error e = {.text = ""};
    make_rows(x, y, new_x, new_y);
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, EXACT);
    predict(m, NEW, new_x, mean, variance);
    density(m, NEW, new_x, NULL, new_y, logp, cdf);
    for (int i = 0; i < NEW; i++) {
        w[i] = i % 5;
        sum += w[i], square += w[i] * pow(new_y[i] - mean[i], 2), size += w[i] * fabs(new_y[i] - mean[i]);
        nlp -= w[i] * logp[i], inside += w[i] * (cdf[i] >= 0.05 && cdf[i] <= 0.95);
        if (w[i] > 0) crps += w[i] * crps_of(m, &new_x[i], new_y[i], sqrt(variance[i]));
        if (i % 5 == 0) new_y[i] = i % 2 ? NAN : 1e6; /* rows that do not count: no weight; */
    }
    for (int i = 0; i < NEW; i += 10) w[i + 5 < NEW ? i + 5 : i] = 3; /* nor has a target */
    for (int i = 0; i < NEW; i++)
        if (i % 10 == 5) assert_true(isnan(new_y[i]));
    if (anygp_eval(m, NULL, NEW, new_x, 1, new_y, w, NULL, &s, &e)) fail_msg("%s", e.text);
    check_close(score_of(s, 0, "rmse"), sqrt(square / sum), 1e-11);
    check_close(score_of(s, 0, "mae"), size / sum, 1e-11);
    check_close(score_of(s, 0, "mnlp"), nlp / sum, 1e-11);
    check_close(score_of(s, 0, "coverage90"), inside / sum, 1e-11);
    check_close(score_of(s, 0, "crps"), crps / sum, 1e-5);
    check_close(score_of(s, 0, "n"), sum, 0);
    anygp_scores_free(s);
    anygp_model_free(m);
}

/* A file goes by another reader into the same scores, for several targets, one of which has holes. */
static void scores_of_arrays_are_those_of_a_file(void **unused)
{
    (void)unused;
    static double X[2 * N], Y[2 * NEW], new_x[NEW], wide[2 * N], x[N];
    char path[] = "/tmp/anygp_density_XXXXXX.csv";
    anygp_error e = {.text = ""};
    make_rows(x, X, new_x, Y);
    for (int i = 0; i < N; i++) wide[2 * i] = x[i], wide[2 * i + 1] = cos(x[i]);
    const char *const pairs[] = {"model", "vfe", "inducing", "8", "iters", "5", "target", "1", "target", "2", NULL};
    anygp_model *m = fit_arrays(N, 2, wide, X, NULL, pairs);
    assert_int_equal(anygp_model_targets(m), 2);
    FILE *f = fdopen(mkstemps(path, 4), "w");
    fputs("x0,x1,x2\n", f);
    for (int i = 0; i < NEW; i++) {
        Y[NEW + i] = Y[i], Y[i] = i % 7 ? cos(new_x[i]) : NAN;
        if (i % 7)
            fprintf(f, "%.17g,%.17g,%.17g\n", new_x[i], Y[i], Y[NEW + i]);
        else
            fprintf(f, "%.17g,,%.17g\n", new_x[i], Y[NEW + i]);
    }
    fclose(f);
    anygp_scores *a, *b;
    if (anygp_eval(m, NULL, NEW, new_x, 1, Y, NULL, NULL, &a, &e)) fail_msg("%s", e.text);
    anygp_status status = anygp_eval_file(m, NULL, path, &b, &e);
    unlink(path);
    if (status) fail_msg("%s", e.text);
    for (int t = 0; t < 2; t++) {
        assert_int_equal(anygp_scores_count(a, t), anygp_scores_count(b, t));
        assert_true(anygp_scores_count(a, t) > 10);
        for (int64_t i = 0; i < anygp_scores_count(a, t); i++) {
            assert_string_equal(anygp_scores_name(a, t, i), anygp_scores_name(b, t, i));
            check_close(anygp_scores_value(a, t, i), anygp_scores_value(b, t, i), 1e-13);
        }
    }
    assert_true(score_of(a, 0, "n") == NEW - (NEW + 6) / 7 && score_of(a, 1, "n") == NEW);
    anygp_scores_free(a);
    anygp_scores_free(b);
    anygp_model_free(m);
}

static void scores_of_classes_are_those_of_their_probabilities(void **unused)
{
    (void)unused;
    static double x[N], y[N], new_x[NEW], new_y[NEW], P[2 * NEW], logp[NEW];
    double right = 0, found = 0, highs = 0, loss = 0;
    const char *const names[] = {"low", "high"}; /* the classes are in alphabetical order: high, low */
    anygp_error e = {.text = ""};
    anygp_scores *s;
    make_rows(x, y, new_x, new_y);
    for (int i = 0; i < N; i++) y[i] = x[i] > 0;
    for (int i = 0; i < NEW; i++) new_y[i] = new_x[i] > 0.2 ? 0 : 1; /* as anygp_update takes them */
    const char *const pairs[] = {"likelihood", "bernoulli", "model", "svgp", "inducing", "8", "iters", "20", NULL};
    anygp_settings *settings = settings_with(pairs);
    anygp_data *d;
    anygp_model *m;
    if (anygp_data_new(N, 1, x, 1, y, NULL, &d, &e) || anygp_data_categories(d, 1, 2, names, &e) ||
        anygp_fit(settings, d, &m, &e) || anygp_predict_proba(m, 0, NEW, new_x, 1, P, &e) ||
        anygp_eval(m, NULL, NEW, new_x, 1, new_y, NULL, NULL, &s, &e))
        fail_msg("%s", e.text);
    density(m, NEW, new_x, NULL, new_y, logp, NULL);
    for (int i = 0; i < NEW; i++) {
        int label = (int)new_y[i], taken = P[i + NEW] > P[i];
        right += taken == label, highs += label == 0, found += label == 0 && taken == 0, loss -= logp[i];
        check_close(logp[i], log(P[i + label * NEW]), 1e-12);
    }
    check_close(score_of(s, 0, "accuracy"), right / NEW, 1e-12);
    check_close(score_of(s, 0, "logloss"), loss / NEW, 1e-12);
    check_close(score_of(s, 0, "recall_high"), found / highs, 1e-12);
    anygp_scores_free(s);
    anygp_model_free(m);
    anygp_data_free(d);
    anygp_settings_free(settings);
}

static void what_cannot_be_scored_is_refused(void **unused)
{
    (void)unused;
    static double x[N], y[N], new_x[NEW], new_y[NEW], logp[NEW], one = 1, half = 2.5, hole = NAN;
    anygp_error e = {.text = ""};
    anygp_scores *s;
    make_rows(x, y, new_x, new_y);
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, EXACT);
    for (int i = 0; i < N; i++) y[i] = floor(fabs(y[i]));
    anygp_model *counts = fit_arrays(N, 1, x, y, NULL, COUNTS);
    new_y[3] = NAN;
    assert_int_equal(anygp_predict_density(m, 0, NEW, new_x, 1, NULL, new_y, logp, NULL, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "y[3] is nan"));
    assert_int_equal(anygp_predict_density(m, 0, 1, x, 1, NULL, y, NULL, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "nothing to compute"));
    assert_int_equal(anygp_predict_density(m, 1, 1, x, 1, NULL, y, logp, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(anygp_predict_density(m, 0, 1, x, 1, &one, y, logp, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "the exposure is for counts"));
    assert_int_equal(anygp_predict_density(counts, 0, 1, x, 1, NULL, &half, logp, NULL, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "2.5"));
    assert_int_equal(anygp_predict_density(m, 0, 0, NULL, 1, NULL, y, logp, NULL, &e), ANYGP_OK);
    assert_int_equal(anygp_eval(counts, NULL, 1, x, 1, y, NULL, &one, &s, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "fitted without exposures"));
    assert_null(s);
    assert_int_equal(anygp_eval(m, NULL, 1, x, 1, &hole, NULL, NULL, &s, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "no row with a target"));
    assert_int_equal(anygp_eval(m, NULL, 1, x, 1, NULL, NULL, NULL, &s, &e), ANYGP_ERR_ARGUMENT);
    anygp_model_free(m);
    anygp_model_free(counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_the_density_of_their_normal),
        cmocka_unit_test(densities_are_slopes_of_the_cdf),
        cmocka_unit_test(counts_have_probabilities),
        cmocka_unit_test(classes_have_their_probabilities),
        cmocka_unit_test(scores_of_arrays_are_the_means_of_what_is_predicted),
        cmocka_unit_test(scores_of_arrays_are_those_of_a_file),
        cmocka_unit_test(scores_of_classes_are_those_of_their_probabilities),
        cmocka_unit_test(what_cannot_be_scored_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
