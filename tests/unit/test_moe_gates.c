/* Mixtures of experts: splits and merges find regimes again, gates are what they say, exact experts are exact. */
#include "moe_support.h"

/* ------------------------------------------------------------------------------------ splits and merges */

/* Two functions over the same inputs, 3 above and below: rows take turns. */
static void open_two_regimes(scene *s, const model_ops *m, int64_t K)
{
    anygp_error e = {.text = ""};
    scene_open(s, m, &scene_kinds[0]);
    s->model->close(s->state);
    for (int i = 0; i < ROWS; i++) s->y[i] += i % 2 ? 3 : -3;
    s->p.experts.count = s->p.experts.most = K;
    if (model_open(m, &s->p, &s->h, &s->state, &e)) fail_msg("%s", e.text);
    scene_begin(s);
}

/* Each row's most probable expert is the other one for rows of the other regime. */
static void check_found(scene *s, int64_t K)
{
    int64_t of[ROWS];
    double residual[ROWS];
    anygp_error e;
    bound_of(s);
    assert_int_equal(moe_assign(state_of(s), &s->data, 0, of, residual, &e), ANYGP_OK);
    for (int i = 2; i < ROWS && K == 2; i++) assert_int_equal(of[i], of[i % 2]);
    assert_true(of[0] != of[1]);
}

/* q as its prior. */
static void forget(layer *l)
{
    gauss *q = l->q;
    memset(q->theta, 0, (size_t)q->M * sizeof(double));
    memset(q->Lambda, 0, (size_t)(q->M * q->M) * sizeof(double));
    for (int64_t j = 0; j < q->M; j++) q->Lambda[j + j * q->M] = 1;
    layer_q_set(l, q, q->Lambda, q->theta);
}

/* All rows are those of the first expert, and the second has none: then it begins anew with half of them.  Mixtures that find how many
   experts they need first merge those that are there [test_moe_stick.c]. */
static void a_dead_expert_finds_its_regime_again(void **unused)
{
    (void)unused;
    for (int i = 0; i < MIXTURES; i++) {
        if (strstr(mixtures[i], "stick")) continue;
        const model_ops *m;
        scene s;
        anygp_error e;
        int64_t of[ROWS];
        double residual[ROWS], former = -INFINITY;
        assert_int_equal(model_make(mixtures[i], &m, &e), ANYGP_OK);
        open_two_regimes(&s, m, 2);
        moe_state *q = state_of(&s);
        scene_step(&s, 0, 1, 0, false);
        gate_merge(&q->gate, 1, 0, q->rows[1], q->rows[0], ROWS);
        for (int64_t k = 0; k < 2; k++) forget(q->expert[k]->s.f);
        for (int t = 1; t < 20; t++) scene_step(&s, t, 1e-12, 0, false);
        bound_of(&s);
        assert_int_equal(moe_assign(q, &s.data, 0, of, residual, &e), ANYGP_OK);
        for (int j = 0; j < ROWS; j++) assert_int_equal(of[j], 0);
        for (int t = 20; t < 26; t++) {
            double value = scene_step(&s, t, 1, 0, false);
            assert_true(value >= former - 1e-9 * fabs(former));
            former = value;
        }
        check_found(&s, 2);
        scene_close(&s);
        model_free(m);
    }
}

/* A copy of an expert is merged with it, which saves its KL. */
static void experts_that_say_the_same_are_merged(void **unused)
{
    (void)unused;
    for (int i = 0; i < 3; i += 2) {
        const model_ops *m;
        scene s;
        anygp_error e;
        assert_int_equal(model_make(mixtures[i], &m, &e), ANYGP_OK);
        open_two_regimes(&s, m, 3);
        moe_state *q = state_of(&s);
        for (int t = 0; t < 10; t++) scene_step(&s, t, 1, 0, false);
        checkpoint *copy = checkpoint_new();
        assert_int_equal(svgp_save(q->expert[1], copy, &e), ANYGP_OK);
        memcpy(q->h[2].Z, q->h[1].Z, sizeof(double) * (size_t)(q->h[1].M * D));
        assert_true(svgp_restore(q->expert[2], &q->h[2], copy));
        checkpoint_free(copy);
        gate_split(&q->gate, 1, 2);
        bool changed = false;
        double before = bound_of(&s), kl = chain_kl(&q->expert[2]->s);
        step_context c = {.seed = 5, .t = 20, .count = BLOCKS, .scale = 1, .rho = 1};
        assert_true(moe_looks(q, &c));
        assert_int_equal(moe_reform(q, &s.h, &c, &changed, &e), ANYGP_OK);
        assert_true(changed);
        assert_true(bound_of(&s) > before + 0.5 * kl);
        check_found(&s, 3);
        scene_close(&s);
        model_free(m);
    }
}

/* ----------------------------------------------------------------------------------------------- gates */

/* sum w r log g by differences: what a softmax gate sums up is its gradient. */
static void a_gates_sums_are_its_gradient(void **unused)
{
    (void)unused;
    enum { N = 30, K = 3, INPUTS = 2 };
    static double X[N * INPUTS], w[N], wr[N * K], logs[N * K], raw[N * K];
    const double frame[2 * INPUTS] = {0.3, 1.7, -0.2, 0.6};
    fill_normal(31, N * INPUTS, X), fill_normal(32, N * K, raw);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        w[i] = 1 + i % 3;
        for (int k = 0; k < K; k++) sum += exp(raw[i + k * N]);
        for (int k = 0; k < K; k++) wr[i + k * N] = w[i] * exp(raw[i + k * N]) / sum;
    }
    for (gate_kind kind = GATE_LINEAR; kind <= GATE_SQUARE; kind++) {
        gate g;
        anygp_error e;
        assert_int_equal(gate_init(&g, kind, K, INPUTS, frame, 0, &e), ANYGP_OK);
        int64_t p = gate_features(&g);
        fill_normal(33, p * K, g.value);
        double *work = calloc((size_t)gate_work(&g, N), sizeof *work), *stat = calloc((size_t)gate_stat_size(&g), 8);
        gate_logs(&g, N, X, INPUTS, work, logs);
        gate_add(&g, N, w, wr, logs, work, stat);
        for (int64_t j = 0; j < p * K; j++) {
            double at[2] = {0, 0}, step = 1e-5, value = g.value[j];
            for (int side = 0; side < 2; side++) {
                g.value[j] = value + (side ? step : -step);
                gate_logs(&g, N, X, INPUTS, work, logs);
                for (int i = 0; i < N * K; i++) at[side] += wr[i] * logs[i];
            }
            g.value[j] = value;
            check_close(stat[p * p + j], (at[1] - at[0]) / (2 * step), 1e-7);
        }
        free(work), free(stat);
        gate_clear(&g);
    }
}

/* 2 above inside the unit circle and 2 below outside: how sure the gate is of one expert in the middle, and of the other one around. */
static double ring_found(const char *model)
{
    enum { COUNT = 200, AROUND = 8 };
    static double X[2 * COUNT], y[COUNT], noise[COUNT];
    const char *const pairs[][2] = {{"model", model}, {"blocks", "2"}, {"inducing", "10"}, {"iters", "25"},
                                    {"batch", "0"},   {"valid", "0"},  {"threads", "1"}};
    double at[2 * (AROUND + 1)] = {0, 0}, parts[6 * (AROUND + 1)], least;
    anygp_settings *set = anygp_settings_new();
    anygp_data *data;
    anygp_model *m = NULL;
    predictor *p;
    anygp_error e = {.text = ""};
    fill_normal(51, 2 * COUNT, X), fill_normal(52, COUNT, noise);
    for (int i = 0; i < COUNT; i++) y[i] = (hypot(X[2 * i], X[2 * i + 1]) < 1 ? 2 : -2) + 0.1 * noise[i];
    assert_int_equal(anygp_data_new(COUNT, 2, X, 2, y, NULL, &data, &e), ANYGP_OK);
    set_all(set, sizeof pairs / sizeof *pairs, pairs);
    if (anygp_fit(set, data, &m, &e)) fail_msg("%s: %s", model, e.text);
    for (int i = 1; i <= AROUND; i++) at[2 * i] = 1.8 * cos(0.8 * i), at[2 * i + 1] = 1.8 * sin(0.8 * i);
    row_batch b = {.n = AROUND + 1, .rows = at, .ld = 2};
    assert_int_equal(predictor_new(m->gp[0], 1e6, &p, &e), ANYGP_OK);
    assert_int_equal(predictor_opinions(p, &b, false, parts, &e), ANYGP_OK);
    const double *high = parts[0] > parts[3 * b.n] ? parts : parts + 3 * b.n;
    least = high[2 * b.n];
    for (int i = 1; i <= AROUND; i++) least = fmin(least, 1 - high[2 * b.n + i]);
    predictor_free(p);
    anygp_model_free(m), anygp_data_free(data), anygp_settings_free(set);
    return least;
}

/* With two experts the gates are the logistic function of h_1 - h_2 ~ N(m, 2 v): what rows see is below its expected log, by less the
   less v is, and both m and v can be told from it. */
static void a_gp_gate_is_a_bound_on_its_expected_log(void **unused)
{
    (void)unused;
    enum { N = 60, INPUTS = 2, LAST = N - 1 };
    static double X[N * INPUTS], logs[2 * N], weights[2 * N];
    int64_t cluster[N];
    const double frame[2 * INPUTS] = {0, 1, 0, 1};
    gate g;
    anygp_error e;
    fill_normal(61, N * INPUTS, X);
    for (int i = 0; i < N; i++) cluster[i] = X[2 * i] > 0;
    X[2 * LAST] = 100; /* where no row has been */
    assert_int_equal(gate_init(&g, GATE_GP, 2, INPUTS, frame, 12, &e), ANYGP_OK);
    assert_int_equal(gate_place(&g, LAST, X, 3, &e), ANYGP_OK);
    assert_int_equal(gate_start(&g, LAST, X, cluster, LAST, &e), ANYGP_OK);
    double *work = calloc((size_t)gate_work(&g, N), sizeof *work);
    gate_logs(&g, N, X, INPUTS, work, logs);
    gate_weights(&g, N, X, INPUTS, work, weights);
    for (int i = 0; i < N; i++) {
        double v = -4 * log(exp(logs[i]) + exp(logs[i + N])), m = logs[i] - logs[i + N], sum[3] = {0, 0, 0};
        assert_true(v > 0);
        for (double z = -8; z <= 8; z += 0.01) {
            double p = exp(-0.5 * z * z), h = m + sqrt(2 * v) * z, to = h > 0 ? log1p(exp(-h)) : log1p(exp(h)) - h;
            sum[0] += p, sum[1] -= p * to, sum[2] += p * exp(-to);
        }
        assert_true(logs[i] <= sum[1] / sum[0] + 1e-9);
        assert_true(logs[i] >= sum[1] / sum[0] - 0.25 * v);
        assert_true(fabs(weights[i] - sum[2] / sum[0]) < 0.05);
        if (i < LAST && fabs(X[2 * i]) > 0.5) assert_true((weights[i + N] > 0.5) == (cluster[i] == 1));
    }
    double far = -4 * log(exp(logs[LAST]) + exp(logs[LAST + N]));
    assert_true(far > 9 && fabs(weights[LAST] - 0.5) < 0.2);
    free(work);
    gate_clear(&g);
}

static void a_gp_gate_learns_a_ring(void **unused)
{
    (void)unused;
    double linear = ring_found("moe"), by_gp = ring_found("moe(gate=gp)");
    if (!(by_gp > 0.8 && linear < 0.5)) fail_msg("sure of the ring by at least %g; linear: %g", by_gp, linear);
}

/* --------------------------------------------------------------------------------------- exact experts */

/* The exact model of the rows that are expert k's says the same of new places. */
static void check_exact_expert(scene *s, const posterior *p, int64_t k, const int64_t *of)
{
    const moe_posterior *whole = (const moe_posterior *)p;
    const hyper *h = k == 0 ? &s->h : &state_of(s)->h[k];
    int64_t rows[ROWS], count = 0;
    double X[NEW * D], mine[2 * NEW], theirs[2 * NEW], jitter = 0;
    posterior *exact = NULL;
    void *state;
    merged few = {0};
    anygp_error e;
    for (int i = 0; i < ROWS; i++)
        if (of[i] == k) rows[count++] = s->rows.group[i];
    assert_int_equal(merged_select(&s->rows, count, rows, &few, &e), ANYGP_OK);
    problem alone = s->p;
    alone.rows = &few;
    assert_int_equal(model_exact.open(&model_exact, &alone, h, &state, &e), ANYGP_OK);
    assert_int_equal(model_exact.posterior(state, h, &jitter, &exact, &e), ANYGP_OK);
    assert_int_equal(whole->at[k]->n, count);
    fill_normal(9, NEW * D, X);
    double *work = calloc((size_t)(p->ops->work_doubles(p, NEW) + exact->ops->work_doubles(exact, NEW)), sizeof *work);
    assert_int_equal(whole->at[k]->ops->marginal(whole->at[k], NEW, X, D, work, mine, mine + NEW, &e), ANYGP_OK);
    assert_int_equal(exact->ops->marginal(exact, NEW, X, D, work, theirs, theirs + NEW, &e), ANYGP_OK);
    for (int i = 0; i < 2 * NEW; i++) check_close(mine[i], theirs[i], 1e-6);
    free(work);
    model_exact.close(state);
    posteriors_free(1, &exact);
    merged_clear(&few);
}

static void exact_experts_are_the_exact_model_of_their_rows(void **unused)
{
    (void)unused;
    for (int kind = 0; kind < SCENE_KINDS; kind++) {
        const model_ops *m;
        scene s;
        anygp_error e;
        int64_t of[ROWS];
        double residual[ROWS];
        assert_int_equal(model_make("moe(hard,exact)", &m, &e), ANYGP_OK);
        assert_string_equal(m->name, "moe(hard,exact)");
        open_scene(&s, m, &scene_kinds[kind], 2);
        for (int t = 0; t < 3; t++) scene_step(&s, t, 1, 0.05, t > 0);
        posterior *p = posterior_of(&s);
        assert_int_equal(moe_assign(state_of(&s), &s.data, 0, of, residual, &e), ANYGP_OK);
        assert_int_equal(p->ops->experts(p), 2);
        for (int64_t k = 0; k < 2; k++) check_exact_expert(&s, p, k, of);
        posteriors_free(1, &p);
        scene_close(&s);
        model_free(m);
    }
    const model_ops *m;
    anygp_error e;
    assert_int_equal(model_make("moe(exact)", &m, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "write moe(hard,exact)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_expert_finds_its_regime_again),
        cmocka_unit_test(experts_that_say_the_same_are_merged),
        cmocka_unit_test(a_gates_sums_are_its_gradient),
        cmocka_unit_test(exact_experts_are_the_exact_model_of_their_rows),
        cmocka_unit_test(a_gp_gate_is_a_bound_on_its_expected_log),
        cmocka_unit_test(a_gp_gate_learns_a_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
