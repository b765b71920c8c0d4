/* Transforms of the target: each quantity against an integral of the definition on a fine grid, and a model of log y against one that was
   given the logarithms. */
#include "fit_support.h"

#include <string.h>

#include "base/special.h"
#include "base/warp.h"
#include "gp/fit.h"
#include "gp/gp.h"

static const double LAMBDA[] = {0, 0.001, 0.1, 0.3, 0.5, 1, 1.4, 2};
static const double MEAN[] = {-1.5, 0, 0.8, 3}, SD[] = {1e-4, 0.1, 0.7, 2};
enum { LAMBDAS = 8, MEANS = 4, SDS = 4 };

static warp boxcox(double lambda)
{
    warp w;
    assert_true(warp_named("boxcox", lambda, &w));
    return w;
}

/* Simpson's rule for the k-th moment of y about c over t, cut into pieces that grow away from the floor: midpoints of squares, so that powers
   of t - floor are smooth. */
static double moment(const warp *w, double m, double s, double c, int k)
{
    enum { STEPS = 20000 };
    double low = fmax(warp_floor(w), m - 12 * s), high = m + (14 + 2 * k * s) * s, sum = 0;
    if (low >= high) high = low + 14 * s;
    double root = sqrt(high - low), h = root / STEPS;
    for (int i = 0; i <= STEPS; i++) {
        double x = i * h, t = low + x * x, z = (t - m) / s, y = warp_inverse(w, t), f = 1;
        for (int j = 0; j < k; j++) f *= y - c;
        sum += (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2) * f * exp(-0.5 * (z * z + LOG_2PI)) / s * 2 * x;
    }
    double below = 1;
    for (int j = 0; j < k; j++) below *= -c;
    return sum * h / 3 + (isinf(warp_floor(w)) ? 0 : below * normal_cdf((warp_floor(w) - m) / s));
}

static void moments_are_integrals_of_the_definition(void **unused)
{
    (void)unused;
    for (int a = 0; a < LAMBDAS; a++)
        for (int b = 0; b < MEANS; b++)
            for (int c = 0; c < SDS; c++) {
                warp w = boxcox(LAMBDA[a]);
                double mean, variance, m = MEAN[b], s = SD[c];
                warp_moments(&w, m, s * s, &mean, &variance);
                double truth = moment(&w, m, s, 0, 1), square = moment(&w, m, s, truth, 2);
                if (fabs(mean - truth) > 1e-8 * truth + 1e-300 || fabs(variance - square) > 1e-7 * square + 1e-300)
                    fail_msg("lambda %g, mean %g, sd %g: %.12g is not %.12g, or %.12g not %.12g", LAMBDA[a], m, s, mean,
                             truth, variance, square);
            }
}

static void density_and_what_is_at_zero_add_up_to_one(void **unused)
{
    (void)unused;
    for (int a = 0; a < LAMBDAS; a++)
        for (int b = 0; b < MEANS; b++)
            for (int c = 1; c < SDS; c++) {
                warp w = boxcox(LAMBDA[a]);
                double sum = 0, h = 1e-3, m = MEAN[b], s = SD[c]; /* over u = log y */
                for (double u = -60; u < 60; u += h) {
                    double y = exp(u), z = (warp_forward(&w, y) - m) / s;
                    sum += h * exp(-0.5 * (z * z + LOG_2PI) + warp_log_slope(&w, y) + u) / s;
                }
                check_close(sum + normal_cdf((warp_floor(&w) - m) / s), 1, 1e-6);
            }
}

static void inverse_and_slope_belong_to_the_transform(void **unused)
{
    (void)unused;
    for (int a = 0; a < LAMBDAS; a++) {
        warp w = boxcox(LAMBDA[a]);
        for (double y = 0.05; y < 1e4; y *= 7) {
            double h = 1e-5 * y, slope = (warp_forward(&w, y + h) - warp_forward(&w, y - h)) / (2 * h);
            assert_true(fabs(warp_inverse(&w, warp_forward(&w, y)) - y) <= 1e-11 * y);
            check_close(warp_log_slope(&w, y), log(slope), 1e-7);
        }
        if (LAMBDA[a] > 0) assert_true(warp_inverse(&w, warp_floor(&w) - 1) == 0);
    }
}

static void texts_are_read_and_printed(void **unused)
{
    (void)unused;
    anygp_error e;
    warp w;
    char text[40];
    assert_int_equal(warp_parse("boxcox(lambda=0.25)", &w, &e), ANYGP_OK);
    warp_print(&w, text, sizeof text);
    assert_string_equal(text, "boxcox(lambda=0.25)");
    assert_int_equal(warp_parse("boxcox( 0.5 )", &w, &e), ANYGP_OK);
    assert_true(w.lambda == 0.5);
    assert_int_equal(warp_parse("boxcox", &w, &e), ANYGP_OK);
    assert_true(isnan(w.lambda));
    assert_int_equal(warp_parse("none", &w, &e), ANYGP_OK);
    assert_false(warp_is(&w));
    const char *const bad[] = {"",           "logg",     "log(2)", "boxcox(mu=1)", "boxcox(2.5)",
                               "boxcox(-1)", "boxcox(1", "none(1)"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_true(ANYGP_FAILED(warp_parse(bad[i], &w, &e)));
}

/* CRPS = E|Y - y| - E|Y - Y'| / 2 as a sum over quantiles of the mixture, against what the scores use. */
static void crps_is_that_of_quantiles(void **unused)
{
    (void)unused;
    enum { K = 40000 };
    static double q[K];
    const double mean[2] = {0.2, 1.1}, variance[2] = {0.3, 0.05};
    for (int a = 0; a < LAMBDAS; a += 2)
        for (int S = 1; S <= 2; S++)
            for (double y = 0.1; y < 30; y *= 4) {
                observer o = {&likelihood_of_f, {0.4, 0.9}, boxcox(LAMBDA[a])};
                latents f = {1, mean, variance, 1, S, 1, NULL};
                double Y, crps, near = 0, apart = 0;
                observe_target(&o, y, 1, &Y);
                observe_crps(&o, &f, &Y, &crps);
                for (int k = 0; k < K; k++) observe_quantile(&o, &f, NULL, (k + 0.5) / K, &q[k]);
                for (int k = 0; k < K; k++) near += fabs(q[k] - y) / K, apart += q[k] * (2 * (k + 0.5) / K - 1) / K;
                check_close(crps, near - apart, 2e-4);
            }
}

/* ------------------------------------------------------------------------------------ whole models */

enum { N = 60, NEW = 7 };

static void make_rows(double *x, double *y, double *logs, double *new_x)
{
    fill_normal(31, N, x);
    fill_normal(32, N, logs);
    for (int i = 0; i < N; i++) logs[i] = 2 + sin(2 * x[i]) + 0.3 * logs[i], y[i] = exp(logs[i]);
    fill_normal(33, NEW, new_x);
}

#define FIXED "model", model, "kernel", "rbf(lengthscale=1)", "noise", "0.1", "fix", "all", "valid", "0"

static void log_model_is_that_of_the_logarithms(const char *model)
{
    double x[N], y[N], logs[N], new_x[NEW], m[NEW], v[NEW], mean[NEW], variance[NEW], low[NEW], f[NEW], u[NEW];
    static const double LEVEL[1] = {0.025};
    anygp_error e = {.text = ""};
    make_rows(x, y, logs, new_x);
    const char *const plain[] = {FIXED, NULL}, *const asked[] = {FIXED, "transform", "log", NULL};
    anygp_model *a = fit_arrays(N, 1, x, logs, NULL, plain), *b = fit_arrays(N, 1, x, y, NULL, asked);
    assert_int_equal(anygp_predict(a, NEW, new_x, 1, 0, m, v, &e), ANYGP_OK);
    assert_int_equal(anygp_predict(b, NEW, new_x, 1, 0, mean, variance, &e), ANYGP_OK);
    assert_int_equal(anygp_predict(b, NEW, new_x, 1, ANYGP_LATENT, f, u, &e), ANYGP_OK);
    assert_int_equal(anygp_predict_quantiles(b, 0, NEW, new_x, 1, NULL, 0, 1, LEVEL, low, &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) {
        check_close(mean[i], exp(m[i] + v[i] / 2), 1e-9);
        check_close(variance[i], expm1(v[i]) * mean[i] * mean[i], 1e-8);
        check_close(low[i], exp(m[i] - 1.959963984540054 * sqrt(v[i])), 1e-9);
        check_close(f[i], m[i], 1e-9);
        assert_true(u[i] < v[i]);
    }
    anygp_model_free(a);
    anygp_model_free(b);
}

static void every_family_takes_a_transform(void **unused)
{
    (void)unused;
    const char *const models[] = {"exact", "fitc", "vfe", "vecchia", "grbcm", "svgp", "nle"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) log_model_is_that_of_the_logarithms(models[i]);
}

/* Moments of a mixture of experts, from its quantiles. */
static void mixtures_take_a_transform(void **unused)
{
    (void)unused;
    enum { K = 999 };
    static double level[K], q[NEW * K];
    double x[N], y[N], logs[N], new_x[NEW], mean[NEW], variance[NEW];
    anygp_error e = {.text = ""};
    make_rows(x, y, logs, new_x);
    for (int k = 0; k < K; k++) level[k] = (k + 1.0) / (K + 1);
    const char *const asked[] = {"model", "moe", "blocks", "2", "iters", "20", "transform", "log", "valid", "0", NULL};
    anygp_model *a = fit_arrays(N, 1, x, y, NULL, asked);
    assert_int_equal(anygp_predict(a, NEW, new_x, 1, 0, mean, variance, &e), ANYGP_OK);
    assert_int_equal(anygp_predict_quantiles(a, 0, NEW, new_x, 1, NULL, 0, K, level, q, &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++) sum += q[i + k * NEW] / K;
        assert_true(fabs(sum - mean[i]) < 0.02 * sqrt(variance[i]));
    }
    anygp_model_free(a);
}

/* E h(m1 + s1 z1) h(m2 + s2 z2) = integral of h(m1 + s1 z) phi(z) E[h(t2) | z1 = z], t2 | z ~ N(m2 + s2 rho z, s2^2 (1 - rho^2)). */
typedef struct pair {
    const warp *w;
    const double *m, *s;
    double rho;
} pair;

static double conditional(double z, const void *ctx)
{
    const pair *p = ctx;
    double mean, variance;
    warp_moments(p->w, p->m[1] + p->s[1] * p->rho * z, p->s[1] * p->s[1] * (1 - p->rho * p->rho), &mean, &variance);
    return mean * warp_inverse(p->w, p->m[0] + p->s[0] * z) * exp(-0.5 * z * z) / sqrt(2 * acos(-1));
}

static double product_by_integral(const pair *p)
{
    double low = fmax((warp_floor(p->w) - p->m[0]) / p->s[0], -10), high = 14, sum = 0;
    for (int i = 0; i < 40; i++)
        sum += warp_integral(conditional, p, low + (high - low) * i / 40, low + (high - low) * (i + 1) / 40);
    return sum;
}

/* Far from the floor and at it: there h has a kink, and the expansion converges slowly. */
static void boxcox_covariance_is_that_of_the_definition(void **unused)
{
    (void)unused;
    static const double lambdas[] = {0.2, 0.5, 0.8, 2}, rhos[] = {-0.9, 0.3, 0.99}, lows[] = {4, -0.3};
    anygp_error e;
    for (int l = 0; l < 4; l++)
        for (int r = 0; r < 3; r++)
            for (int near = 0; near < 2; near++) {
                warp w;
                double m[2] = {lows[near], 3}, s[2] = {near ? 0.9 : 0.4, 0.7}, mean[2] = {m[0], m[1]};
                double C[4] = {s[0] * s[0], rhos[r] * s[0] * s[1], rhos[r] * s[0] * s[1], s[1] * s[1]}, v[2], y[2];
                assert_true(warp_named("boxcox", lambdas[l], &w));
                for (int i = 0; i < 2; i++) warp_moments(&w, m[i], s[i] * s[i], &y[i], &v[i]);
                assert_int_equal(gp_joint_warp(&w, 2, mean, C, &e), ANYGP_OK);
                check_close(mean[0], y[0], 1e-12);
                check_close(C[3], v[1], 1e-12);
                double expected = product_by_integral(&(pair){&w, m, s, rhos[r]}) - y[0] * y[1];
                assert_true(fabs(C[1] - expected) < (near ? 1e-4 : 1e-10) * sqrt(v[0] * v[1]));
                assert_true(C[1] == C[2]);
            }
}

/* What was done before the fit counts in its time. */
static void short_fits_count_in_the_time(void **unused)
{
    (void)unused;
    anygp_error e;
    settings *s = settings_new(), *charged;
    assert_int_equal(fit_charge(s, 2, &charged, &e), ANYGP_OK);
    assert_null(charged); /* no limit */
    assert_int_equal(settings_set(s, "time", "10s", &e), ANYGP_OK);
    assert_int_equal(settings_set(s, "spent", "1", &e), ANYGP_OK);
    assert_int_equal(fit_charge(s, 2.5, &charged, &e), ANYGP_OK);
    check_close(settings_number(charged, SET_SPENT), 3.5, 1e-12);
    settings_free(charged);
    settings_free(s);
}

static void joint_moments_and_draws_are_lognormal(void **unused)
{
    (void)unused;
    enum { S = 4000 };
    static double draws[NEW * S];
    double x[N], y[N], logs[N], new_x[NEW], mean[NEW], C[NEW * NEW], sum[NEW] = {0};
    anygp_error e = {.text = ""};
    make_rows(x, y, logs, new_x);
    const char *const asked[] = {"model", "exact", "kernel", "rbf", "transform", "log", NULL};
    const char *const other[] = {"model", "exact", "kernel", "rbf", "transform", "boxcox(0.5)", NULL};
    anygp_model *a = fit_arrays(N, 1, x, y, NULL, asked), *b = fit_arrays(N, 1, x, y, NULL, other);
    assert_int_equal(anygp_predict_joint(a, 0, NEW, new_x, 1, 0, mean, C, &e), ANYGP_OK);
    assert_int_equal(anygp_sample(a, 0, NEW, new_x, 1, 0, 5, S, draws, &e), ANYGP_OK);
    for (int k = 0; k < S; k++)
        for (int i = 0; i < NEW; i++) sum[i] += draws[i + k * NEW] / S;
    for (int i = 0; i < NEW; i++) assert_true(fabs(sum[i] - mean[i]) < 5 * sqrt(C[i + i * NEW] / S));
    for (int i = 0; i < NEW; i++)
        for (int j = 0; j < i; j++) {
            double product = 0;
            for (int k = 0; k < S; k++) product += (draws[i + k * NEW] - mean[i]) * (draws[j + k * NEW] - mean[j]) / S;
            assert_true(fabs(product - C[i + j * NEW]) < 0.15 * sqrt(C[i + i * NEW] * C[j + j * NEW]));
        }
    double marginal[NEW], variance[NEW];
    assert_int_equal(anygp_predict_joint(b, 0, NEW, new_x, 1, 0, mean, C, &e), ANYGP_OK);
    assert_int_equal(anygp_predict(b, NEW, new_x, 1, 0, marginal, variance, &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++)
        check_close(mean[i], marginal[i], 1e-9), check_close(C[i + i * NEW], variance[i], 1e-9);
    assert_int_equal(anygp_sample(b, 0, NEW, new_x, 1, 0, 5, S, draws, &e), ANYGP_OK);
    for (int i = 0; i < S * NEW; i++) assert_true(draws[i] >= 0);
    for (int i = 0; i < NEW; i++)
        for (int j = 0; j < i; j++) {
            double product = 0;
            for (int k = 0; k < S; k++) product += (draws[i + k * NEW] - mean[i]) * (draws[j + k * NEW] - mean[j]) / S;
            assert_true(fabs(product - C[i + j * NEW]) < 0.15 * sqrt(C[i + i * NEW] * C[j + j * NEW]));
        }
    anygp_model_free(a);
    anygp_model_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_integrals_of_the_definition),
        cmocka_unit_test(density_and_what_is_at_zero_add_up_to_one),
        cmocka_unit_test(inverse_and_slope_belong_to_the_transform),
        cmocka_unit_test(texts_are_read_and_printed),
        cmocka_unit_test(crps_is_that_of_quantiles),
        cmocka_unit_test(every_family_takes_a_transform),
        cmocka_unit_test(mixtures_take_a_transform),
        cmocka_unit_test(boxcox_covariance_is_that_of_the_definition),
        cmocka_unit_test(short_fits_count_in_the_time),
        cmocka_unit_test(joint_moments_and_draws_are_lognormal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
