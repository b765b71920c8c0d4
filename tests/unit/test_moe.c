/* Mixtures of experts: one expert is svgp; the bound from its definition; EM never lets it fall; gates and responsibilities are
   probabilities; predictions are those of the mixture; regimes are found again; files that are damaged. */
#include "gp/gp.h"
#include "model/made.h"
#include "model/mixture/moe.h"
#include "model_scene.h"

#include "anygp/anygp.h"
#include "base/special.h"

static const char *const mixtures[] = {"moe(gate=linear)",      "moe(gate=square)",          "moe(gate=generative)",
                                       "moe(gate=linear,hard)", "moe(gate=generative,hard)", "moe(gate=gp,hard)",
                                       "moe(gate=gp)"};
enum { MIXTURES = sizeof mixtures / sizeof *mixtures, EXPERTS = 3 };

static void open_scene(scene *s, const model_ops *m, const scene_kind *kind, int64_t K)
{
    anygp_error e = {.text = ""};
    scene_open(s, m, kind);
    s->model->close(s->state);
    s->p.experts.count = K;
    if (model_open(m, &s->p, &s->h, &s->state, &e)) fail_msg("%s", e.text);
    scene_begin(s);
}

static moe_state *state_of(const scene *s) { return s->state; }

static double bound_of(scene *s)
{
    double value;
    anygp_error e;
    assert_int_equal(s->model->steps->bound(s->state, &s->h, &value, &e), ANYGP_OK);
    return value;
}

static posterior *posterior_of(scene *s)
{
    posterior *p = NULL;
    double jitter = 0;
    anygp_error e;
    assert_int_equal(s->model->steps->posteriors(s->state, &s->h, &jitter, &p, &e), ANYGP_OK);
    return p;
}

/* ------------------------------------------------------------------------------------------- one expert */

static void one_expert_is_svgp_bit_for_bit(void **unused)
{
    (void)unused;
    for (int kind = 0; kind < SCENE_KINDS; kind++) {
        scene a, b;
        double X[NEW * D], of_a[2 * NEW], of_b[2 * NEW];
        anygp_error e;
        open_scene(&a, &model_moe, &scene_kinds[kind], 1);
        open_scene(&b, &model_svgp, &scene_kinds[kind], 0);
        for (int t = 0; t < 5; t++)
            assert_true(scene_step(&a, t, 0.7, 0.05, t > 1) == scene_step(&b, t, 0.7, 0.05, t > 1));
        assert_true(bound_of(&a) == bound_of(&b));
        posterior *p = posterior_of(&a), *q = posterior_of(&b);
        fill_normal(9, NEW * D, X);
        double *work = calloc((size_t)p->ops->work_doubles(p, NEW), sizeof *work);
        assert_int_equal(p->ops->marginal(p, NEW, X, D, work, of_a, of_a + NEW, &e), ANYGP_OK);
        assert_int_equal(q->ops->marginal(q, NEW, X, D, work, of_b, of_b + NEW, &e), ANYGP_OK);
        assert_memory_equal(of_a, of_b, sizeof of_a);
        assert_true(p->noise == q->noise && !p->noises);
        free(work);
        posteriors_free(1, &p), posteriors_free(1, &q);
        scene_close(&a), scene_close(&b);
    }
}

/* New rows; the posterior of old and new ones. */
static posterior *updated(const model_ops *m, const posterior *p, int64_t n, const double *X, const double *y)
{
    double w[ROWS];
    void *u = NULL;
    posterior *out = NULL;
    update_report r;
    likelihood l;
    anygp_error e;
    for (int64_t i = 0; i < n; i++) w[i] = 1 + (double)(i % 2);
    assert_int_equal(likelihood_with_noise(p->noise, &l, &e), ANYGP_OK);
    assert_int_equal(m->update->open(m, p, &l, &u, &e), ANYGP_OK);
    assert_int_equal(m->update->add(u, n / 2, X, y, w, NULL, &e), ANYGP_OK);
    assert_int_equal(m->update->add(u, n - n / 2, X + n / 2 * p->D, y + n / 2, w + n / 2, NULL, &e), ANYGP_OK);
    assert_int_equal(m->update->finish(u, &out, &r, &e), ANYGP_OK);
    m->update->close(u);
    return out;
}

static void one_expert_takes_new_rows_as_svgp(void **unused)
{
    (void)unused;
    scene a, b;
    double X[NEW * D], y[NEW], of_a[2 * NEW], of_b[2 * NEW], work[4 * NEW * (M + 4)];
    anygp_error e;
    open_scene(&a, &model_moe, &scene_kinds[1], 1);
    open_scene(&b, &model_svgp, &scene_kinds[1], 0);
    scene_step(&a, 0, 1, 0, false), scene_step(&b, 0, 1, 0, false);
    posterior *p = posterior_of(&a), *q = posterior_of(&b);
    fill_normal(9, NEW * D, X), fill_normal(10, NEW, y);
    posterior *p2 = updated(&model_moe, p, NEW, X, y), *q2 = updated(&model_svgp, q, NEW, X, y);
    assert_true(p2->ops->work_doubles(p2, NEW) <= (int64_t)(sizeof work / sizeof *work));
    assert_int_equal(p2->ops->marginal(p2, NEW, X, D, work, of_a, of_a + NEW, &e), ANYGP_OK);
    assert_int_equal(q2->ops->marginal(q2, NEW, X, D, work, of_b, of_b + NEW, &e), ANYGP_OK);
    assert_memory_equal(of_a, of_b, sizeof of_a);
    posteriors_free(1, &p), posteriors_free(1, &q), posteriors_free(1, &p2), posteriors_free(1, &q2);
    scene_close(&a), scene_close(&b);
}

/* -------------------------------------------------------------------------------------------- the bound */

/* sum_n w log sum_i g_i exp(E_i), or the largest term of each sum, from what the posterior says of the rows. */
static double of_rows(const scene *s, posterior *p, bool hard)
{
    static double mean[ROWS * EXPERTS], variance[ROWS * EXPERTS], weight[ROWS * EXPERTS];
    double sum = 0, *work = calloc((size_t)p->ops->work_doubles(p, ROWS), sizeof *work);
    anygp_error e;
    assert_int_equal(p->ops->experts(p), EXPERTS);
    assert_int_equal(p->ops->opinions(p, ROWS, s->X, D, work, mean, variance, weight, &e), ANYGP_OK);
    for (int i = 0; i < ROWS; i++) {
        double a[EXPERTS], all = 0, most = -INFINITY;
        for (int k = 0; k < EXPERTS; k++) {
            double noise = p->noises[k], r = s->y[i] - mean[i + k * ROWS], g = weight[i + k * ROWS];
            a[k] = log(g) - 0.5 * log(2 * acos(-1) * noise) - (r * r + variance[i + k * ROWS]) / (2 * noise);
            all += g, most = fmax(most, a[k]);
        }
        check_close(all, 1, 1e-14);
        sum += s->w[i] * (hard ? most : log_sum_exp(EXPERTS, a));
    }
    free(work);
    return sum;
}

static void the_bound_is_its_definition(void **unused)
{
    (void)unused;
    for (int i = 0; i < MIXTURES; i++) {
        const model_ops *m;
        scene s;
        anygp_error e;
        if (!strstr(mixtures[i], "linear") && !strstr(mixtures[i], "square"))
            continue; /* of which the weights are not all */
        assert_int_equal(model_make(mixtures[i], &m, &e), ANYGP_OK);
        open_scene(&s, m, &scene_kinds[i % SCENE_KINDS], EXPERTS);
        for (int t = 0; t < 3; t++) scene_step(&s, t, 0.8, 0.05, t > 0);
        double value = bound_of(&s), rest = gate_log_prior(&state_of(&s)->gate);
        for (int k = 0; k < EXPERTS; k++) rest -= chain_kl(&state_of(&s)->expert[k]->s);
        posterior *p = posterior_of(&s);
        check_close(value, of_rows(&s, p, strstr(mixtures[i], "hard")) + rest, 1e-10);
        posteriors_free(1, &p);
        scene_close(&s);
        model_free(m);
    }
}

static void the_bound_never_falls_and_responsibilities_add_up_to_the_rows(void **unused)
{
    (void)unused;
    for (int i = 0; i < MIXTURES; i++) {
        const model_ops *m;
        scene s;
        anygp_error e;
        assert_int_equal(model_make(mixtures[i], &m, &e), ANYGP_OK);
        open_scene(&s, m, &scene_kinds[1], EXPERTS);
        double former = -INFINITY;
        for (int t = 0; t < 42; t++) { /* splits and merges are before 20 and 40 */
            double value = scene_step(&s, t, 1, 0, false), rows = 0;
            if (!(value >= former - 1e-9 * fabs(former)))
                fail_msg("%s: step %d leads from %.12g to %.12g", mixtures[i], t, former, value);
            former = value;
            for (int k = 0; k < EXPERTS; k++) rows += state_of(&s)->rows[k];
            check_close(rows, s.data.total, 1e-12);
        }
        assert_true(bound_of(&s) >= former - 1e-9 * fabs(former));
        scene_close(&s);
        model_free(m);
    }
}

/* One whose rows have gone is no part of the model, and the others predict what they did with it. */
static void an_expert_without_rows_is_left_out(void **unused)
{
    (void)unused;
    for (int i = 0; i < 3; i += 2) {
        const model_ops *m;
        scene s;
        anygp_error e;
        double X[NEW * D], before[3][NEW * EXPERTS], after[3][NEW * EXPERTS];
        assert_int_equal(model_make(mixtures[i], &m, &e), ANYGP_OK);
        open_scene(&s, m, &scene_kinds[0], EXPERTS);
        scene_step(&s, 0, 1, 0, false);
        fill_normal(9, NEW * D, X);
        posterior *p = posterior_of(&s);
        double *work = calloc((size_t)p->ops->work_doubles(p, NEW), sizeof *work);
        assert_int_equal(p->ops->opinions(p, NEW, X, D, work, before[0], before[1], before[2], &e), ANYGP_OK);
        assert_null(m->steps->remark(s.state));
        posteriors_free(1, &p);
        state_of(&s)->usual[1] = 0.5;
        p = posterior_of(&s);
        assert_int_equal(p->ops->experts(p), EXPERTS - 1);
        assert_int_equal(p->ops->opinions(p, NEW, X, D, work, after[0], after[1], after[2], &e), ANYGP_OK);
        for (int j = 0; j < NEW; j++)
            for (int k = 0; k < 2; k++) {
                int at = j + 2 * k * NEW;
                double others = before[2][j] + before[2][j + 2 * NEW];
                assert_true(after[0][j + k * NEW] == before[0][at] && after[1][j + k * NEW] == before[1][at]);
                check_close(after[2][j + k * NEW], before[2][at] / others, 1e-12);
            }
        assert_non_null(strstr(m->steps->remark(s.state), "1 of the 3 experts"));
        posteriors_free(1, &p);
        free(work);
        scene_close(&s);
        model_free(m);
    }
}

/* ------------------------------------------------------------------------------------ splits and merges */

/* Two functions over the same inputs, 3 above and below: rows take turns. */
static void open_two_regimes(scene *s, const model_ops *m, int64_t K)
{
    anygp_error e = {.text = ""};
    scene_open(s, m, &scene_kinds[0]);
    s->model->close(s->state);
    for (int i = 0; i < ROWS; i++) s->y[i] += i % 2 ? 3 : -3;
    s->p.experts.count = K;
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

/* All rows are those of the first expert, and the second has none: then it begins anew with half of them. */
static void a_dead_expert_finds_its_regime_again(void **unused)
{
    (void)unused;
    for (int i = 0; i < MIXTURES; i++) {
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

/* ---------------------------------------------------------------------------------------------- regimes */

enum { MANY = 160 };

/* Two curves over the same x, taken at random with probability 0.6 and 0.4, and one of them with more noise. */
static double upper(double x) { return 2 + sin(2 * x); }
static double lower(double x) { return -2 + 0.5 * x; }

static void set_all(anygp_settings *set, size_t count, const char *const pairs[][2])
{
    anygp_error e;
    for (size_t i = 0; i < count; i++) assert_int_equal(anygp_set(set, pairs[i][0], pairs[i][1], &e), ANYGP_OK);
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

static anygp_model *fit_regimes_with(const char *model, const char *blocks, const char *iters, const char *valid)
{
    static double X[MANY], y[MANY], z[3 * MANY];
    anygp_settings *set = anygp_settings_new();
    anygp_data *data;
    anygp_model *m = NULL;
    anygp_error e = {.text = ""};
    const char *const pairs[][2] = {{"model", model}, {"blocks", blocks}, {"inducing", "10"}, {"kernel", "rbf"},
                                    {"iters", iters}, {"batch", "0"},     {"valid", valid},   {"threads", "1"}};
    fill_normal(41, 3 * MANY, z);
    for (int i = 0; i < MANY; i++) {
        X[i] = 3 * (2 * normal_cdf(z[i]) - 1);
        y[i] =
            normal_cdf(z[i + MANY]) < 0.6 ? upper(X[i]) + 0.1 * z[i + 2 * MANY] : lower(X[i]) + 0.3 * z[i + 2 * MANY];
    }
    assert_int_equal(anygp_data_new(MANY, 1, X, 1, y, NULL, &data, &e), ANYGP_OK);
    set_all(set, sizeof pairs / sizeof *pairs, pairs);
    if (anygp_fit(set, data, &m, &e)) fail_msg("%s: %s", model, e.text);
    anygp_data_free(data);
    anygp_settings_free(set);
    return m;
}

static anygp_model *fit_regimes(const char *model) { return fit_regimes_with(model, "2", "40", "0"); }

/* Two regimes: one expert is worse on rows held out; the scores of all are in the file. */
static void of_several_numbers_the_best_on_held_out_rows_is_kept(void **unused)
{
    (void)unused;
    void *bytes;
    size_t size;
    anygp_error e;
    anygp_model *m = fit_regimes_with("moe", "1,2", "12", "0.2"), *alone = fit_regimes_with("moe", "2", "12", "0.2"),
                *back;
    assert_int_equal(anygp_save_bytes(m, &bytes, &size, &e), ANYGP_OK);
    assert_int_equal(anygp_load_bytes(bytes, size, &back, &e), ANYGP_OK);
    const gp_tries *t = &back->gp[0]->tries;
    assert_int_equal(t->count, 2);
    assert_int_equal(t->blocks[0], 1), assert_int_equal(t->blocks[1], 2);
    assert_true(t->mnlp[1] < t->mnlp[0]);
    check_close(t->mnlp[1], gp_score_named(&alone->gp[0]->valid, "mnlp"), 1e-12);
    assert_true(m->gp[0]->objective == alone->gp[0]->objective);
    assert_int_equal(back->gp[0]->posterior->ops->experts(back->gp[0]->posterior), 2);
    anygp_bytes_free(bytes);
    anygp_model_free(m), anygp_model_free(alone), anygp_model_free(back);
}

enum { PLACES = 9 };

/* Mean, standard deviation and weight of both experts at PLACES from -2 to 2, and mean, variance, lo95 and hi95 of the mixture. */
static void look(const gp *g, double *x, double *parts, double *whole)
{
    predictor *p;
    anygp_error e;
    for (int i = 0; i < PLACES; i++) x[i] = -2 + 0.5 * i;
    row_batch b = {.n = PLACES, .rows = x, .ld = 1};
    assert_int_equal(predictor_new(g, 1e6, &p, &e), ANYGP_OK);
    assert_int_equal(predictor_opinions(p, &b, false, parts, &e), ANYGP_OK);
    assert_int_equal(output_block(p, g, &b, false, whole, &e), ANYGP_OK);
    predictor_free(p);
}

static double cdf_by_parts(const double *parts, int i, double y)
{
    double sum = 0;
    for (int k = 0; k < 2; k++) {
        const double *mean = parts + 3 * k * PLACES, *sd = mean + PLACES, *weight = sd + PLACES;
        sum += weight[i] * normal_cdf((y - mean[i]) / sd[i]);
    }
    return sum;
}

/* log p(y | x) as scores have it. */
static double density_at(const gp *g, double x, double y)
{
    predictor *p;
    latents f;
    anygp_error e;
    observer o = gp_observer(g, false);
    row_batch b = {.n = 1, .rows = &x, .ld = 1};
    double Y[2], out;
    assert_int_equal(predictor_new(g, 1e6, &p, &e), ANYGP_OK);
    assert_int_equal(predictor_latents(p, &b, true, &f, &e), ANYGP_OK);
    observe_target(&o, y, 1, Y);
    observe_density(&o, &f, Y, &out);
    predictor_free(p);
    return out;
}

static void overlapping_regimes_are_found_again(void **unused)
{
    (void)unused;
    for (int i = 0; i < MIXTURES; i += 2) {
        double x[PLACES], parts[6 * PLACES], whole[4 * PLACES];
        anygp_model *m = fit_regimes(mixtures[i]);
        look(m->gp[0], x, parts, whole);
        const double *first = parts, *second = parts + 3 * PLACES;
        if (first[0] < second[0]) first = second, second = parts;
        for (int j = 0; j < PLACES; j++) {
            assert_true(fabs(first[j] - upper(x[j])) < 0.15 && fabs(second[j] - lower(x[j])) < 0.3);
            assert_true(first[j + PLACES] < 0.15 && second[j + PLACES] > 0.25 && second[j + PLACES] < 0.4);
            assert_true(fabs(first[j + 2 * PLACES] - 0.6) < 0.15);
        }
        anygp_model_free(m);
    }
}

static void intervals_and_densities_are_the_mixtures(void **fitted)
{
    const anygp_model *m = *fitted;
    double x[PLACES], parts[6 * PLACES], whole[4 * PLACES], all = 0;
    look(m->gp[0], x, parts, whole);
    for (int i = 0; i < PLACES; i++) {
        double mean = 0, square = 0;
        for (int k = 0; k < 2; k++) {
            const double *mu = parts + 3 * k * PLACES, *sd = mu + PLACES, *weight = sd + PLACES;
            mean += weight[i] * mu[i], square += weight[i] * (mu[i] * mu[i] + sd[i] * sd[i]);
        }
        check_close(whole[i], mean, 1e-10);
        check_close(whole[i + PLACES], square - mean * mean, 1e-9);
        check_close(cdf_by_parts(parts, i, whole[i + 2 * PLACES]), 0.025, 1e-9);
        check_close(cdf_by_parts(parts, i, whole[i + 3 * PLACES]), 0.975, 1e-9);
    }
    for (double y = -8; y < 8; y += 0.05) all += 0.05 * exp(density_at(m->gp[0], x[3], y));
    check_close(all, 1, 1e-6);
}

/* Draws of y at one place have the mixture's distribution, and those of two rows choose their experts independently. */
static void draws_are_the_mixtures(void **fitted)
{
    const anygp_model *m = *fitted;
    enum { DRAWS = 4000 };
    static double out[2 * DRAWS];
    double x[PLACES], parts[6 * PLACES], whole[4 * PLACES], at[2], above[2] = {0, 0}, both = 0, mean[2], covariance[4];
    anygp_error e;
    look(m->gp[0], x, parts, whole);
    at[0] = x[2], at[1] = x[3];
    row_batch b = {.n = 2, .rows = at, .ld = 1};
    assert_int_equal(gp_sample(m->gp[0], &b, false, 3, DRAWS, out, &e), ANYGP_OK);
    for (int k = 0; k < DRAWS; k++) {
        above[0] += out[2 * k] > 0, above[1] += out[2 * k + 1] > 0;
        both += out[2 * k] > 0 && out[2 * k + 1] > 0;
    }
    for (int i = 0; i < 2; i++) assert_true(fabs(above[i] / DRAWS - (1 - cdf_by_parts(parts, 2 + i, 0))) < 0.03);
    assert_true(fabs(both / DRAWS - above[0] / DRAWS * above[1] / DRAWS) < 0.03);
    assert_int_equal(gp_joint(m->gp[0], &b, false, mean, covariance, &e), ANYGP_OK);
    for (int i = 0; i < 2; i++) {
        check_close(mean[i], whole[2 + i], 1e-9);
        check_close(covariance[3 * i], whole[2 + i + PLACES], 1e-6);
    }
}

/* Rows on the upper curve make its expert more certain there, and the other expert does not see them. */
static void new_rows_go_to_their_expert(void **fitted)
{
    enum { COUNT = 20 };
    const gp *g = ((const anygp_model *)*fitted)->gp[0];
    double x[PLACES], X[COUNT], y[COUNT], before[6 * PLACES], after[6 * PLACES], whole[4 * PLACES];
    look(g, x, before, whole);
    for (int i = 0; i < COUNT; i++) {
        double at = 1.4 + 0.01 * i;
        row_batch b = {.n = 1, .rows = &at, .ld = 1};
        anygp_error e;
        assert_int_equal(gp_take_inputs(g, &b, &X[i], &e), ANYGP_OK);
        y[i] = (upper(at) - g->schema.y_shift) / g->schema.y_scale;
    }
    gp more = *g;
    more.posterior = updated(&model_moe, g->posterior, COUNT, X, y);
    look(&more, x, after, whole);
    int high = before[0] < before[3 * PLACES], at = 7, first = 3 * PLACES * high + at, other = 3 * PLACES * !high + at;
    assert_true(after[first + PLACES] < before[first + PLACES]);
    assert_true(fabs(after[first] - upper(x[at])) < 0.05);
    check_close(after[other], before[other], 1e-9);
    check_close(after[other + PLACES], before[other + PLACES], 1e-9);
    more.posterior->ops->free(more.posterior);
}

static int fit_once(void **fitted)
{
    *fitted = fit_regimes("moe");
    return 0;
}

static int free_fitted(void **fitted)
{
    anygp_model_free(*fitted);
    return 0;
}

/* ------------------------------------------------------------------------------------------- bad input */

/* What a fit says that is refused. */
static void check_refused(const char *model, const char *blocks, const char *like, const char *said)
{
    double X[3] = {1, 2, 3}, y[3] = {1, 3, 2};
    anygp_settings *set = anygp_settings_new();
    anygp_data *data;
    anygp_model *m = NULL;
    anygp_error e = {.text = ""};
    assert_int_equal(anygp_data_new(3, 1, X, 1, y, NULL, &data, &e), ANYGP_OK);
    anygp_set(set, "model", model, &e), anygp_set(set, "blocks", blocks, &e);
    anygp_set(set, "likelihood", like, &e), anygp_set(set, "valid", "0", &e);
    assert_int_equal(anygp_fit(set, data, &m, &e), ANYGP_ERR_ARGUMENT);
    if (!strstr(e.text, said)) fail_msg("'%s' does not say '%s'", e.text, said);
    anygp_data_free(data);
    anygp_settings_free(set);
}

static void too_many_experts_and_other_likelihoods_are_refused(void **unused)
{
    (void)unused;
    check_refused("moe", "4", "gaussian", "4 experts need at least as many different rows, and there are 3");
    check_refused("moe", "65", "gaussian", "at most 64 experts");
    check_refused("moe", "2", "poisson", "moe is for gaussian targets only");
    check_refused("moe", "70,65", "gaussian", "at most 64 experts, and 70 are asked for");
    check_refused("svgp", "2,3", "gaussian", "give one number instead of 2,3");
    check_refused("auto", "2,3", "gaussian", "name a --model");
    const model_ops *m;
    anygp_error e;
    assert_int_equal(model_make("moe(gate=probit)", &m, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "expected linear, square"));
    assert_int_equal(model_make("moe(soft)", &m, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "moe takes gate and hard"));
}

/* Loads copies of the arrays, one of which is spoiled; the kernel, mean and arrays that are not taken are freed. */
static anygp_status load_spoiled(const scene *s, const posterior *p, const array_list *from, int64_t which, int how)
{
    named_array list[32];
    basis mean = {0};
    posterior *back = NULL;
    anygp_error e;
    kernel *k = kernel_copy(p->kernel);
    assert_int_equal(basis_copy(&p->mean, &mean, &e), ANYGP_OK);
    assert_true(from->count <= 32);
    for (int64_t a = 0; a < from->count; a++) {
        int64_t size = from->at[a].rows * from->at[a].cols;
        list[a] = from->at[a];
        list[a].values = malloc((size_t)size * sizeof(double));
        memcpy(list[a].values, from->at[a].values, (size_t)size * sizeof(double));
    }
    if (how == 0 && which >= 0) list[which].rows--;
    if (how == 1 && which >= 0) list[which].cols++;
    if (how == 2 && which >= 0) list[which].name = "other";
    anygp_status status = s->model->load(s->model, k, p->noise, &mean, D, list, from->count, &back, &e);
    if (ANYGP_FAILED(status)) kernel_free(k);
    if (back) back->ops->free(back);
    for (int64_t a = 0; a < from->count; a++) free(list[a].values);
    basis_clear(&mean);
    return status;
}

static void damaged_files_are_refused(void **unused)
{
    (void)unused;
    for (int i = 0; i < MIXTURES; i += 2) {
        const model_ops *m;
        scene s;
        anygp_error e;
        array_list list = {0};
        assert_int_equal(model_make(mixtures[i], &m, &e), ANYGP_OK);
        open_scene(&s, m, &scene_kinds[1], EXPERTS);
        scene_step(&s, 0, 1, 0, false);
        posterior *p = posterior_of(&s);
        p->ops->arrays(p, &list);
        assert_false(list.failed);
        assert_int_equal(load_spoiled(&s, p, &list, -1, 0), ANYGP_OK);
        for (int64_t a = 0; a < list.count; a++)
            for (int how = 0; how < 3; how++)
                if (load_spoiled(&s, p, &list, a, how) != ANYGP_ERR_FILE)
                    fail_msg("%s: %s is accepted although damaged", mixtures[i], list.at[a].name);
        array_list_clear(&list);
        posteriors_free(1, &p);
        scene_close(&s);
        model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_expert_is_svgp_bit_for_bit),
        cmocka_unit_test(one_expert_takes_new_rows_as_svgp),
        cmocka_unit_test(the_bound_is_its_definition),
        cmocka_unit_test(the_bound_never_falls_and_responsibilities_add_up_to_the_rows),
        cmocka_unit_test(an_expert_without_rows_is_left_out),
        cmocka_unit_test(a_dead_expert_finds_its_regime_again),
        cmocka_unit_test(experts_that_say_the_same_are_merged),
        cmocka_unit_test(a_gates_sums_are_its_gradient),
        cmocka_unit_test(overlapping_regimes_are_found_again),
        cmocka_unit_test(a_gp_gate_is_a_bound_on_its_expected_log),
        cmocka_unit_test(a_gp_gate_learns_a_ring),
        cmocka_unit_test(of_several_numbers_the_best_on_held_out_rows_is_kept),
        cmocka_unit_test(intervals_and_densities_are_the_mixtures),
        cmocka_unit_test(draws_are_the_mixtures),
        cmocka_unit_test(new_rows_go_to_their_expert),
        cmocka_unit_test(too_many_experts_and_other_likelihoods_are_refused),
        cmocka_unit_test(damaged_files_are_refused),
    };
    return cmocka_run_group_tests(tests, fit_once, free_fitted);
}
