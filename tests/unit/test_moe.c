/* Mixtures of experts: one expert is svgp; the bound from its definition; EM never lets it fall; gates and responsibilities are
   probabilities; predictions are those of the mixture; regimes are found again; files that are damaged. */
#include "moe_support.h"

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

/* ---------------------------------------------------------------------------------------------- regimes */

enum { MANY = 160 };

/* Two curves over the same x, taken at random with probability 0.6 and 0.4, and one of them with more noise. */
static double upper(double x) { return 2 + sin(2 * x); }
static double lower(double x) { return -2 + 0.5 * x; }

static anygp_model *fit_regimes_with(const char *model, const char *blocks, const char *iters, const char *valid)
{
    static double X[MANY], y[MANY], z[3 * MANY];
    anygp_settings *set = anygp_settings_new();
    anygp_data *data;
    anygp_model *m = NULL;
    anygp_error e = {.text = ""};
    const char *const pairs[][2] = {{"model", model},   {strstr(model, "stick") ? "experts-most" : "blocks", blocks},
                                    {"inducing", "10"}, {"kernel", "rbf"},
                                    {"iters", iters},   {"batch", "0"},
                                    {"valid", valid},   {"threads", "1"}};
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
    assert_non_null(strstr(e.text, "moe takes gate, hard and exact"));
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
        cmocka_unit_test(overlapping_regimes_are_found_again),
        cmocka_unit_test(of_several_numbers_the_best_on_held_out_rows_is_kept),
        cmocka_unit_test(intervals_and_densities_are_the_mixtures),
        cmocka_unit_test(draws_are_the_mixtures),
        cmocka_unit_test(new_rows_go_to_their_expert),
        cmocka_unit_test(too_many_experts_and_other_likelihoods_are_refused),
        cmocka_unit_test(damaged_files_are_refused),
    };
    return cmocka_run_group_tests(tests, fit_once, free_fitted);
}
