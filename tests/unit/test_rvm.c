/* The relevance vector machine against dense matrices: the evidence, every step of the selection, its end, predictions. */
#include <string.h>

#include "dense.h"
#include "fit_support.h"
#include "gp/gp.h"
#include "model/weights/relevance.h"

enum { N = 30, NEW = 5 };

/* ----------------------------------------------------------------------------------- the selection */

typedef struct stage {
    double Phi[N * N], y[N];
    relevance r;
} stage;

static void open_stage(stage *t)
{
    double x[N], noise[N];
    anygp_error e;
    fill_normal(51, N, x);
    fill_normal(52, N, noise);
    for (int i = 0; i < N; i++) t->y[i] = sin(3 * x[i]) + 0.2 * noise[i];
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) t->Phi[i + j * N] = exp(-2 * (x[i] - x[j]) * (x[i] - x[j]));
    assert_int_equal(relevance_open(&t->r, N, &e), ANYGP_OK);
    relevance_begin(&t->r, t->Phi, t->y, 25);
}

/* log N(y; 0, I / beta + sum_i phi_i phi_i' / s_i). */
static double dense_evidence(const stage *t, const double *s)
{
    real C[N * N], y[N];
    for (int i = 0; i < N; i++) {
        y[i] = t->y[i];
        for (int j = 0; j < N; j++) {
            C[i * N + j] = i == j ? 1 / (real)t->r.beta : 0;
            for (int k = 0; k < N; k++)
                if (isfinite(s[k])) C[i * N + j] += (real)t->Phi[i + k * N] * (real)t->Phi[j + k * N] / (real)s[k];
        }
    }
    real logdet = dense_invert(N, C);
    return (double)dense_log_normal(N, C, logdet, y);
}

static void no_step_lowers_the_evidence_and_each_gains_what_it_says(void **unused)
{
    (void)unused;
    stage t;
    relevance_step step;
    int counts[4] = {0};
    open_stage(&t);
    double before = dense_evidence(&t, t.r.s);
    check_close(t.r.evidence, before, 1e-10);
    for (int k = 0; k < 400; k++) {
        assert_true(relevance_next(&t.r, true, 1e-9, &step));
        if (step.action == RELEVANCE_NONE) break;
        double now = dense_evidence(&t, t.r.s);
        assert_true(step.gain > 0 && now >= before - 1e-9);
        check_close(now - before, step.gain, 1e-7);
        check_close(t.r.evidence, now, 1e-8);
        before = now, counts[step.action]++;
    }
    assert_true(counts[RELEVANCE_ADD] > 2 && counts[RELEVANCE_MOVE] > 2 && counts[RELEVANCE_DROP] > 0);
    relevance_close(&t.r);
}

static double with_precision(const stage *t, int i, double s)
{
    double all[N];
    memcpy(all, t->r.s, sizeof all);
    all[i] = s;
    return dense_evidence(t, all);
}

static void at_the_end_kept_precisions_are_flat_and_nothing_outside_would_gain(void **unused)
{
    (void)unused;
    stage t;
    open_stage(&t);
    assert_true(relevance_climb(&t.r, true, 1e-11));
    double best = dense_evidence(&t, t.r.s);
    check_close(t.r.evidence, best, 1e-10);
    assert_true(t.r.M > 2 && t.r.M < N / 2);
    for (int i = 0; i < N; i++) {
        double h = 1e-4;
        if (isfinite(t.r.s[i]))
            check_close((with_precision(&t, i, t.r.s[i] * exp(h)) - with_precision(&t, i, t.r.s[i] * exp(-h))) /
                            (2 * h),
                        0, 1e-7);
        for (double s = 1e-4; s < 1e8; s *= 10) assert_true(with_precision(&t, i, s) <= best + 1e-9);
    }
    relevance_close(&t.r);
}

static void vectors_above_their_limit_are_taken_out(void **unused)
{
    (void)unused;
    stage t;
    double limit[N], least = INFINITY, most = 0;
    open_stage(&t);
    assert_true(relevance_climb(&t.r, true, 1e-11));
    int64_t before = t.r.M;
    for (int i = 0; i < N; i++)
        if (isfinite(t.r.s[i])) least = fmin(least, t.r.s[i]), most = fmax(most, t.r.s[i]);
    for (int i = 0; i < N; i++) limit[i] = 0.5 * (least + most);
    int64_t gone = relevance_prune(&t.r, limit, 1e-11);
    assert_true(gone > 0 && gone == before - t.r.M);
    for (int i = 0; i < N; i++) assert_true(!isfinite(t.r.s[i]) || t.r.s[i] <= limit[i]);
    check_close(t.r.evidence, dense_evidence(&t, t.r.s), 1e-9);
    relevance_close(&t.r);
}

/* ---------------------------------------------------------------------------------------- the model */

static const char *const given[] = {
    "model", "rvm", "kernel", "rbf(variance=1.5,lengthscale=0.7)", "fix", "all", "noise", "0.05", "standardize", "none",
    "valid", "0",   NULL};

static void model_rows(double *x, double *y)
{
    fill_normal(53, N, x);
    fill_normal(54, N, y);
    for (int i = 0; i < N; i++) y[i] = cos(2 * x[i]) + 0.2 * y[i];
    for (int i = 0; i < 6; i++) x[i + 6] = x[i]; /* rows that are merged */
}

/* Bayesian linear regression of y on the kernels at the kept rows: mean and covariance of the weights, log evidence. */
typedef struct regression {
    int M;
    real S[N * N], m[N], evidence;
} regression;

static real kernel_at(const posterior *p, const double *x, int64_t k)
{
    const double *X, *s, *m;
    p->ops->vectors(p, &X, &s, &m);
    return (real)kernel_reference(p->kernel, x, X + k * p->D, false);
}

static regression regress(const posterior *p, int n, const double *x, const double *y)
{
    const double *X, *s, *m;
    regression r = {.M = (int)p->ops->vectors(p, &X, &s, &m)};
    static real C[N * N], Phi[N][N], target[N];
    assert_true(r.M > 0 && r.M < n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < r.M; k++) Phi[i][k] = kernel_at(p, x + i, k);
    for (int k = 0; k < r.M; k++)
        for (int l = 0; l < r.M; l++) {
            r.S[k * r.M + l] = k == l ? (real)s[k] : 0;
            for (int i = 0; i < n; i++) r.S[k * r.M + l] += Phi[i][k] * Phi[i][l] / (real)p->noise;
        }
    dense_invert(r.M, r.S);
    for (int k = 0; k < r.M; k++)
        for (int l = 0; l < r.M; l++)
            for (int i = 0; i < n; i++) r.m[k] += r.S[k * r.M + l] * Phi[i][l] * (real)y[i] / (real)p->noise;
    for (int i = 0; i < n; i++) {
        target[i] = y[i];
        for (int j = 0; j < n; j++) {
            C[i * n + j] = i == j ? (real)p->noise : 0;
            for (int k = 0; k < r.M; k++) C[i * n + j] += Phi[i][k] * Phi[j][k] / (real)s[k];
        }
    }
    real logdet = dense_invert(n, C);
    r.evidence = dense_log_normal(n, C, logdet, target);
    return r;
}

static void evidence_and_predictions_are_those_of_regression_on_the_kept_kernels(void **unused)
{
    (void)unused;
    double x[N], y[N], mean[NEW], variance[NEW];
    static const double new_x[NEW] = {-2, -0.5, 0.2, 1.1, 4};
    model_rows(x, y);
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, given);
    const gp *g = m->gp[0];
    const posterior *p = g->posterior;
    regression r = regress(p, N, x, y);
    check_close(g->objective, (double)r.evidence, 1e-9);
    predict(m, NEW, new_x, mean, variance);
    for (int i = 0; i < NEW; i++) {
        real f = 0, v = (real)p->noise;
        for (int k = 0; k < r.M; k++) {
            f += kernel_at(p, new_x + i, k) * r.m[k];
            for (int l = 0; l < r.M; l++)
                v += kernel_at(p, new_x + i, k) * r.S[k * r.M + l] * kernel_at(p, new_x + i, l);
        }
        check_close(mean[i], (double)f, 1e-9);
        check_close(variance[i], (double)v, 1e-9);
    }
    anygp_model_free(m);
}

static void weights_are_as_many_rows(void **unused)
{
    (void)unused;
    double x[N], y[N], twice_x[2 * N], twice_y[2 * N], w[N];
    model_rows(x, y);
    for (int i = 0; i < N; i++) {
        int copies = 1 + i % 2;
        w[i] = copies;
        twice_x[i] = x[i], twice_y[i] = y[i];
    }
    int n = N;
    for (int i = 1; i < N; i += 2, n++) twice_x[n] = x[i], twice_y[n] = y[i];
    anygp_model *a = fit_arrays(N, 1, x, y, w, given), *b = fit_arrays(n, 1, twice_x, twice_y, NULL, given);
    check_close(a->gp[0]->objective, b->gp[0]->objective, 1e-9);
    anygp_model_free(a);
    anygp_model_free(b);
}

static void noisy_sinc_needs_few_vectors(void **unused)
{
    (void)unused;
    enum { ROWS = 500 };
    static double x[ROWS], y[ROWS], mean[ROWS], variance[ROWS];
    static const char *const pairs[] = {"model", "rvm", "kernel", "rbf", "valid", "0", NULL};
    double square = 0;
    fill_normal(55, ROWS, y);
    for (int i = 0; i < ROWS; i++) x[i] = -10 + 20.0 * (i + 0.5) / ROWS, y[i] = sin(x[i]) / x[i] + 0.1 * y[i];
    anygp_model *m = fit_arrays(ROWS, 1, x, y, NULL, pairs);
    assert_true(m->gp[0]->posterior->n > 3 && m->gp[0]->posterior->n < 25);
    predict(m, ROWS, x, mean, variance);
    for (int i = 0; i < ROWS; i++) square += pow(mean[i] - sin(x[i]) / x[i], 2) / ROWS;
    assert_true(sqrt(square) < 0.03);
    anygp_model_free(m);
}

/* Without any vector a model predicts 0, and comes back from its file. */
static void noise_alone_may_have_no_vector(void **unused)
{
    (void)unused;
    double x[N], y[N], mean[2], variance[2];
    static const double new_x[2] = {0, 1};
    static const char *const pairs[] = {"model",       "rvm",  "kernel", "rbf(variance=1,lengthscale=0.5)",
                                        "fix",         "all",  "noise",  "100",
                                        "standardize", "none", "valid",  "0",
                                        NULL};
    anygp_error e;
    anygp_model *again;
    fill_normal(56, N, x);
    fill_normal(57, N, y);
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs);
    assert_int_equal(m->gp[0]->posterior->n, 0);
    assert_int_equal(anygp_save(m, "no_vector.agp", &e), ANYGP_OK);
    if (anygp_load("no_vector.agp", &again, &e)) fail_msg("%s", e.text);
    remove("no_vector.agp");
    predict(again, 2, new_x, mean, variance);
    for (int i = 0; i < 2; i++) assert_true(mean[i] == 0 && variance[i] == 100);
    anygp_model_free(again);
    anygp_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_step_lowers_the_evidence_and_each_gains_what_it_says),
        cmocka_unit_test(at_the_end_kept_precisions_are_flat_and_nothing_outside_would_gain),
        cmocka_unit_test(vectors_above_their_limit_are_taken_out),
        cmocka_unit_test(evidence_and_predictions_are_those_of_regression_on_the_kept_kernels),
        cmocka_unit_test(weights_are_as_many_rows),
        cmocka_unit_test(noisy_sinc_needs_few_vectors),
        cmocka_unit_test(noise_alone_may_have_no_vector)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
