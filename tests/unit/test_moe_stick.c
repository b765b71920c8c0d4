/* Mixtures that find how many experts they need: gates by stick breaking, and the merges of experts that are parts of one regime. */
#include "moe_support.h"

/* ------------------------------------------------------------------------------------------------ gates */

enum { N = 40, INPUTS = 2, K = 3 };

static void open_gate(gate *g, double *X, int64_t *cluster)
{
    const double frame[2 * INPUTS] = {0.1, 1.3, -0.2, 0.7};
    anygp_error e;
    fill_normal(71, N * INPUTS, X);
    for (int i = 0; i < N; i++) cluster[i] = X[2 * i] > 0.6 ? 2 : X[2 * i + 1] > 0;
    assert_int_equal(gate_init(g, GATE_STICK, K, INPUTS, frame, 0, &e), ANYGP_OK);
    assert_int_equal(gate_start(g, N, X, cluster, N, &e), ANYGP_OK);
}

/* phi'mu and phi'Q^-1 phi of stick k by plain Gaussian elimination. */
static void stick_moments(const gate *g, int k, const double *x, double *t, double *v)
{
    enum { P = 1 + INPUTS };
    const double *mu = g->value + k * P, *L = g->value + K * P + k * P * P;
    double phi[P] = {1}, Q[P][P], z[P];
    for (int j = 0; j < INPUTS; j++) phi[1 + j] = (x[j] - g->frame[2 * j]) / g->frame[2 * j + 1];
    for (int i = 0; i < P; i++)
        for (int j = 0; j < P; j++) {
            Q[i][j] = 0;
            for (int l = 0; l <= (i < j ? i : j); l++) Q[i][j] += L[i + l * P] * L[j + l * P];
        }
    *t = *v = 0;
    for (int i = 0; i < P; i++) z[i] = phi[i], *t += mu[i] * phi[i];
    for (int i = 0; i < P; i++)
        for (int j = i + 1; j < P; j++) {
            double f = Q[j][i] / Q[i][i];
            for (int l = i; l < P; l++) Q[j][l] -= f * Q[i][l];
            z[j] -= f * z[i];
        }
    for (int i = P - 1; i >= 0; i--) {
        for (int l = i + 1; l < P; l++) z[i] -= Q[i][l] * z[l];
        z[i] /= Q[i][i];
    }
    for (int i = 0; i < P; i++) *v += phi[i] * z[i];
}

/* E log v, E log(1 - v) and E v by the trapezoidal rule. */
static void stick_expectations(double t, double v, double *out)
{
    double sum[4] = {0, 0, 0, 0};
    for (double z = -9; z <= 9; z += 0.01) {
        double p = exp(-0.5 * z * z), h = t + sqrt(v) * z, log_v = h > 0 ? -log1p(exp(-h)) : h - log1p(exp(h));
        sum[0] += p, sum[1] += p * log_v, sum[2] += p * (log_v - h), sum[3] += p * exp(log_v);
    }
    for (int i = 0; i < 3; i++) out[i] = sum[1 + i] / sum[0];
}

/* What rows see is below the expected log of each product, and not far; what predictions take is about its expectation. */
static void a_stick_is_a_bound_on_its_expected_log(void **unused)
{
    (void)unused;
    static double X[N * INPUTS], logs[N * K], weights[N * K];
    int64_t cluster[N];
    gate g;
    open_gate(&g, X, cluster);
    const double *order = g.value + K * (1 + INPUTS) * (2 + INPUTS);
    double *work = calloc((size_t)gate_work(&g, N), sizeof *work);
    gate_logs(&g, N, X, INPUTS, work, logs);
    gate_weights(&g, N, X, INPUTS, work, weights);
    for (int i = 0; i < N; i++) {
        double left = 0, rest = 1, shares[K], sum = 0;
        for (int at = 0; at < K; at++) {
            int k = (int)order[at];
            double t, v, of[3];
            stick_moments(&g, k, X + INPUTS * i, &t, &v);
            stick_expectations(t, v, of);
            assert_true(logs[i + k * N] <= left + of[0] + 1e-6);
            assert_true(logs[i + k * N] >= left + of[0] - 0.4 * (at + 1));
            left += of[1], shares[k] = rest * of[2], sum += shares[k], rest *= 1 - of[2];
        }
        for (int k = 0; k < K; k++) assert_true(fabs(weights[i + k * N] - shares[k] / sum) < 0.05);
        if (fabs(X[2 * i] - 0.6) > 0.4 && fabs(X[2 * i + 1]) > 0.4)
            for (int k = 0; k < K; k++) assert_true(weights[i + k * N] <= weights[i + cluster[i] * N]);
    }
    free(work);
    gate_clear(&g);
}

/* Steps of size 1 never lower sum w r log g - KL, and a stick at its prior has no KL. */
static void a_sticks_step_never_lowers_its_bound(void **unused)
{
    (void)unused;
    static double X[N * INPUTS], w[N], wr[N * K], raw[N * K], logs[N * K];
    int64_t cluster[N];
    gate g;
    double former = -INFINITY;
    open_gate(&g, X, cluster);
    fill_normal(72, N * K, raw);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        w[i] = 1 + i % 2;
        for (int k = 0; k < K; k++) sum += exp(2 * raw[i + k * N]);
        for (int k = 0; k < K; k++) wr[i + k * N] = w[i] * exp(2 * raw[i + k * N]) / sum;
    }
    double *work = calloc((size_t)gate_work(&g, N), sizeof *work), *stat = calloc((size_t)gate_stat_size(&g), 8);
    for (int t = 0; t < 30; t++) {
        double value = gate_log_prior(&g);
        memset(stat, 0, (size_t)gate_stat_size(&g) * sizeof *stat);
        gate_logs(&g, N, X, INPUTS, work, logs);
        for (int i = 0; i < N * K; i++) value += wr[i] * logs[i];
        assert_true(value >= former - 1e-10 * fabs(former));
        former = value;
        gate_add(&g, N, w, wr, logs, work, stat);
        gate_move(&g, stat, 1);
    }
    double before = gate_log_prior(&g);
    assert_true(before < 0);
    for (int k = 0; k < K; k++) gate_merge(&g, k, 0, 1, 1, N);
    check_close(gate_log_prior(&g), 0, 1e-12);
    free(work), free(stat);
    gate_clear(&g);
}

/* Experts that change their numbers are the same mixture, and learn what they would have learned. */
static void experts_may_change_places(void **unused)
{
    (void)unused;
    const model_ops *m;
    double value[2];
    anygp_error e;
    assert_int_equal(model_make("moe(gate=stick)", &m, &e), ANYGP_OK);
    for (int change = 0; change < 2; change++) {
        scene s;
        open_scene(&s, m, &scene_kinds[0], EXPERTS);
        for (int t = 0; t < 5; t++) scene_step(&s, t, 1, 0.05, t > 1);
        double before = bound_of(&s), noise = s.h.like[0];
        if (change) {
            moe_put_first(state_of(&s), &s.h, 2);
            assert_true(s.h.like[0] != noise);
            check_close(state_of(&s)->h[2].like[0], noise, 0);
            check_close(bound_of(&s), before, 1e-12);
        }
        for (int t = 5; t < 9; t++) scene_step(&s, t, 1, 0.05, true);
        value[change] = bound_of(&s);
        assert_true(value[change] != before);
        scene_close(&s);
    }
    check_close(value[1], value[0], 1e-9);
    model_free(m);
}

/* --------------------------------------------------------------------------------------- how many there are */

enum { ROWS_FOUND = 240, MOST = 8, GRID = 5 };

/* Regimes over each other, 3 apart, each a smooth function. */
static void fill_regimes(int regimes, double *X, double *y)
{
    static double noise[ROWS_FOUND];
    fill_normal(81, ROWS_FOUND, noise);
    for (int i = 0; i < ROWS_FOUND; i++) {
        X[i] = (double)((i * 37) % ROWS_FOUND) / ROWS_FOUND * 4;
        y[i] = 3 * (i % regimes) + sin(1.5 * X[i] + i % regimes) + 0.1 * noise[i];
    }
}

/* How many experts are found, and at some places how far their means are from the regimes, at most. */
static int64_t count_found(int regimes, double *farthest)
{
    static double X[ROWS_FOUND], y[ROWS_FOUND];
    const char *const pairs[][2] = {{"model", "moe(gate=stick)"},
                                    {"experts-most", "8"},
                                    {"inducing", "12"},
                                    {"iters", "60"},
                                    {"batch", "0"},
                                    {"valid", "0"},
                                    {"threads", "1"}};
    double at[GRID], parts[3 * MOST * GRID];
    anygp_settings *set = anygp_settings_new();
    anygp_data *data;
    anygp_model *m = NULL;
    predictor *p;
    anygp_error e = {.text = ""};
    fill_regimes(regimes, X, y);
    assert_int_equal(anygp_data_new(ROWS_FOUND, 1, X, 1, y, NULL, &data, &e), ANYGP_OK);
    set_all(set, sizeof pairs / sizeof *pairs, pairs);
    if (anygp_fit(set, data, &m, &e)) fail_msg("%s", e.text);
    for (int i = 0; i < GRID; i++) at[i] = 0.5 + 0.75 * i;
    row_batch b = {.n = GRID, .rows = at, .ld = 1};
    assert_int_equal(predictor_new(m->gp[0], 1e6, &p, &e), ANYGP_OK);
    int64_t count = gp_experts(m->gp[0]);
    assert_true(count >= 1 && count <= MOST);
    assert_int_equal(predictor_opinions(p, &b, false, parts, &e), ANYGP_OK);
    *farthest = 0;
    for (int r = 0; r < regimes; r++)
        for (int i = 0; i < GRID; i++) {
            double least = INFINITY;
            for (int64_t k = 0; k < count; k++)
                least = fmin(least, fabs(parts[3 * k * GRID + i] - 3 * r - sin(1.5 * at[i] + r)));
            *farthest = fmax(*farthest, least);
        }
    predictor_free(p);
    anygp_model_free(m), anygp_data_free(data), anygp_settings_free(set);
    return count;
}

static void as_many_experts_are_found_as_there_are_regimes(void **unused)
{
    (void)unused;
    for (int regimes = 1; regimes <= 3; regimes++) {
        double farthest;
        int64_t count = count_found(regimes, &farthest);
        if (count != regimes || !(farthest < 0.3))
            fail_msg("%d regimes: %lld experts, as far as %g from them", regimes, (long long)count, farthest);
    }
}

/* Without structural moves in between, which are before steps 20, 30 and 45, the bound over all rows never falls. */
static void the_bound_never_falls_between_merges(void **unused)
{
    (void)unused;
    const model_ops *m;
    scene s;
    anygp_error e;
    double former = -INFINITY;
    assert_int_equal(model_make("moe(gate=stick)", &m, &e), ANYGP_OK);
    open_scene(&s, m, &scene_kinds[0], 5);
    for (int t = 0; t < 44; t++) {
        double value = scene_step(&s, t, 1, 0, false);
        if (t > 1 && t != 20 && t != 30 && !(value >= former - 1e-9 * fabs(former)))
            fail_msg("step %d: %.12g after %.12g", t, value, former);
        former = value;
    }
    scene_close(&s);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stick_is_a_bound_on_its_expected_log),
        cmocka_unit_test(a_sticks_step_never_lowers_its_bound),
        cmocka_unit_test(experts_may_change_places),
        cmocka_unit_test(as_many_experts_are_found_as_there_are_regimes),
        cmocka_unit_test(the_bound_never_falls_between_merges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
