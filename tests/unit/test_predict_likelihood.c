/* Predictions, scores, draws and model files of targets with a likelihood.  The posterior is that of an exact fit, whose
   likelihood is then replaced, or one made by hand that has three latent functions. */
#include "io/describe.h"
#include "io/model_file.h"
#include "predict_support.h"

/* ------------------------------------------------------------------------------ the normal, twice */

static void normal_cdf_of(const likelihood *l, int64_t n, const double *y, const double *exposure, const double *mu,
                          const double *var, int64_t ld, double *out)
{
    (void)exposure, (void)ld;
    for (int64_t i = 0; i < n; i++) out[i] = 0.5 * erfc((mu[i] - y[i]) / sqrt(2 * (var[i] + l->value[0])));
}

/* Two models of the same numbers: gaussian, which has closed forms, and one of another name that is asked as all others. */
static void normal_pair(anygp_model *m[2], likelihood_ops *other)
{
    *other = *likelihood_find("gaussian");
    other->name = "other";
    other->cdf = normal_cdf_of;
    for (int k = 0; k < 2; k++) {
        m[k] = fitted();
        attach(m[k]->gp[0], "gaussian(noise=0.3)", 0, false);
    }
    m[1]->gp[0]->likelihood->ops = other;
}

static void a_gaussian_likelihood_predicts_as_its_noise(void **unused)
{
    (void)unused;
    double mean[2][NEW], variance[2][NEW];
    anygp_model *m = fitted();
    predict(m, NEW, new_x, mean[0], variance[0]);
    attach(m->gp[0], "gaussian", 0, false);
    m->gp[0]->likelihood->value[0] = m->gp[0]->posterior->noise;
    predict(m, NEW, new_x, mean[1], variance[1]);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(variance[0], variance[1], sizeof variance[0]);
    anygp_model_free(m);
}

/* For any model, fitted or from its file: gaussian is a likelihood, with the noise of the posterior. */
static void gaussian_is_a_likelihood_of_every_model(void **unused)
{
    (void)unused;
    static const char *const models[] = {"exact", "fitc", "svgp"};
    double x[N], y[N];
    char path[] = "test_predict_likelihood_XXXXXX";
    anygp_error e;
    training_rows(x, y);
    write_file(path, "");
    for (int k = 0; k < 3; k++) {
        const char *const pairs[] = {"model", models[k], "inducing", "8", "iters", "3", NULL};
        anygp_model *m[2] = {fit_arrays(N, 1, x, y, NULL, pairs), NULL};
        assert_int_equal(anygp_save(m[0], path, &e), ANYGP_OK);
        assert_int_equal(anygp_load(path, &m[1], &e), ANYGP_OK);
        for (int i = 0; i < 2; i++) {
            const gp *g = m[i]->gp[0];
            assert_non_null(g->likelihood);
            assert_string_equal(g->likelihood->ops->name, "gaussian");
            assert_true(g->likelihood->value[0] > 0 && g->likelihood->value[0] == g->posterior->noise);
            anygp_model_free(m[i]);
        }
    }
    unlink(path);
}

static void noise_given_with_the_likelihood_is_that_of_every_model(void **unused)
{
    (void)unused;
    static const char *const models[] = {"exact", "fitc", "svgp"};
    double x[N], y[N], mean[2][NEW], variance[2][NEW];
    training_rows(x, y);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 2; i++) {
            const char *const pairs[] = {"model",
                                         models[k],
                                         "inducing",
                                         "8",
                                         "iters",
                                         "3",
                                         i ? "noise" : "likelihood",
                                         i ? "0.7" : "gaussian(noise=0.7)",
                                         "fix",
                                         "noise",
                                         NULL};
            anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs);
            check_close(gp_noise(m->gp[0]), 0.7, 1e-12);
            predict(m, NEW, new_x, mean[i], variance[i]);
            anygp_model_free(m);
        }
        assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
        assert_memory_equal(variance[0], variance[1], sizeof variance[0]);
    }
}

static void a_normal_by_its_likelihood_predicts_as_gaussian(void **unused)
{
    (void)unused;
    likelihood_ops other;
    anygp_model *m[2];
    double mean[2][NEW], variance[2][NEW], joint[2][NEW * NEW];
    char lines[256] = "x\n", *text[2];
    normal_pair(m, &other);
    for (int i = 0; i < NEW; i++) sprintf(lines + strlen(lines), "%.17g\n", new_x[i]);
    for (int k = 0; k < 2; k++) {
        anygp_error e;
        predict(m[k], NEW, new_x, mean[k], variance[k]);
        text[k] = predicted_file(m[k], lines, NULL, NULL);
        assert_int_equal(anygp_predict_joint(m[k], 0, NEW, new_x, 1, 0, mean[k], joint[k], &e), ANYGP_OK);
    }
    assert_int_equal(strncmp(text[1], "mean,variance,lo95,hi95\n", 24), 0);
    for (int i = 0; i < NEW; i++) {
        check_close(mean[1][i], mean[0][i], 1e-14);
        check_close(variance[1][i], variance[0][i], 1e-14);
        for (int c = 0; c < 4; c++) check_close(cell_of(text[1], i, c), cell_of(text[0], i, c), 1e-8);
    }
    for (int i = 0; i < NEW * NEW; i++) check_close(joint[1][i], joint[0][i], 1e-14);
    for (int k = 0; k < 2; k++) free(text[k]), anygp_model_free(m[k]);
}

static void a_normal_by_its_likelihood_scores_as_gaussian(void **unused)
{
    (void)unused;
    likelihood_ops other;
    anygp_model *m[2];
    anygp_error e;
    gp_scores s[2] = {{0}};
    double x[N], y[N];
    char lines[4096] = "x,y\n";
    normal_pair(m, &other);
    training_rows(x, y);
    for (int i = 0; i < N; i++) sprintf(lines + strlen(lines), "%.17g,%.17g\n", x[i] + 0.2, y[i]);
    for (int k = 0; k < 2; k++) assert_int_equal(eval_text(m[k], lines, &s[k], &e), ANYGP_OK);
    assert_int_equal(s[1].count, REGRESSION_SCORES + 1); /* with mell and bound, without crps */
    assert_true(isnan(score_of(&s[1], "crps")));
    for (int i = 0; i < s[1].count; i++)
        check_close_at(s[1].list[i].value, score_of(&s[0], s[1].list[i].name), 1e-8, s[1].list[i].name, __FILE__,
                       __LINE__);
    assert_true(score_of(&s[0], "coverage50") > 0 && score_of(&s[0], "coverage50") < score_of(&s[0], "coverage99"));
    for (int k = 0; k < 2; k++) anygp_model_free(m[k]);
}

/* Draws of f and of the noise: their means and variances over many draws. */
static void draws_of_a_likelihood_have_its_moments(void **unused)
{
    (void)unused;
    enum { S = 20000 };
    likelihood_ops other;
    anygp_model *m[2];
    anygp_error e;
    double mean[NEW], variance[NEW], *draws = calloc(NEW * S, sizeof *draws);
    normal_pair(m, &other);
    predict(m[1], NEW, new_x, mean, variance);
    assert_int_equal(anygp_sample(m[1], 0, NEW, new_x, 1, 0, 5, S, draws, &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) {
        double sum = 0, square = 0;
        for (int k = 0; k < S; k++) sum += draws[i + k * NEW] / S;
        for (int k = 0; k < S; k++) square += pow(draws[i + k * NEW] - sum, 2) / S;
        assert_true(fabs(sum - mean[i]) < 5 * sqrt(variance[i] / S));
        check_close(square / variance[i], 1, 5 * sqrt(2.0 / S));
    }
    free(draws);
    for (int k = 0; k < 2; k++) anygp_model_free(m[k]);
}

/* --------------------------------------------------------------------------------------- counts */

/* P(y <= k) for the rate e exp(f + offset) under f ~ N(mu, var), by a sum over a fine grid. */
static double poisson_cdf(double k, double e, double offset, double mu, double var)
{
    enum { GRID = 4001 };
    double P = 0, total = 0;
    for (int i = 0; i < GRID; i++) {
        double z = -8 + 16.0 * i / (GRID - 1), w = exp(-0.5 * z * z), rate = e * exp(offset + mu + sqrt(var) * z);
        double term = exp(-rate), sum = 0;
        for (int j = 0; j <= k; term *= rate / ++j) sum += term;
        P += w * sum, total += w;
    }
    return P / total;
}

static double poisson_quantile(double p, double e, double offset, double mu, double var)
{
    double k = 0;
    while (poisson_cdf(k, e, offset, mu, var) < p) k++;
    return k;
}

static anygp_model *counting(void)
{
    anygp_model *m = fitted();
    schema *s = &m->gp[0]->schema;
    attach(m->gp[0], "poisson(offset=1.2)", 0, true);
    s->exposed = true, s->exposure = 1, s->exposure_name = mem_strdup("time");
    s->y_shift = 0, s->y_scale = 1;
    return m;
}

static const double times[NEW] = {1, 0.5, 2, 1, 3, 1, 0.1};

static void latent_of(const anygp_model *m, double *mean, double *variance)
{
    anygp_error e;
    assert_int_equal(anygp_predict(m, NEW, new_x, 1, ANYGP_LATENT, mean, variance, &e), ANYGP_OK);
}

static void counts_are_predicted_for_their_exposure(void **unused)
{
    (void)unused;
    anygp_model *m = counting();
    double mu[NEW], var[NEW];
    char lines[1024] = "time,x\n";
    latent_of(m, mu, var);
    for (int i = 0; i < NEW; i++) sprintf(lines + strlen(lines), "%.17g,%.17g\n", times[i], new_x[i]);
    char *text = predicted_file(m, lines, NULL, NULL);
    for (int i = 0; i < NEW; i++) {
        double mean = times[i] * exp(1.2 + mu[i] + 0.5 * var[i]);
        check_close(cell_of(text, i, 0), mean, 1e-10);
        check_close(cell_of(text, i, 1), mean + mean * mean * expm1(var[i]), 1e-10);
        check_close(cell_of(text, i, 2), poisson_quantile(0.025, times[i], 1.2, mu[i], var[i]), 0);
        check_close(cell_of(text, i, 3), poisson_quantile(0.975, times[i], 1.2, mu[i], var[i]), 0);
    }
    free(text);
    anygp_model_free(m);
}

static void a_file_without_exposure_counts_as_one_with_a_note(void **unused)
{
    (void)unused;
    anygp_model *m = counting();
    notes said = {0};
    double mu[NEW], var[NEW];
    char lines[1024] = "x\n";
    latent_of(m, mu, var);
    for (int i = 0; i < NEW; i++) sprintf(lines + strlen(lines), "%.17g\n", new_x[i]);
    char *text = predicted_file(m, lines, NULL, &said);
    for (int i = 0; i < NEW; i++) check_close(cell_of(text, i, 0), exp(1.2 + mu[i] + 0.5 * var[i]), 1e-10);
    assert_int_equal(said.count, 1);
    assert_non_null(strstr(said.last, "'time'"));
    free(text);
    anygp_model_free(m);
}

static void counts_are_scored_by_their_probabilities(void **unused)
{
    (void)unused;
    static const double y[NEW] = {2, 1, 14, 5, 30, 0, 0}, shares[] = {0.5, 0.8, 0.9, 0.95, 0.99};
    static const char *const names[] = {"coverage50", "coverage80", "coverage90", "coverage95", "coverage99"};
    anygp_model *m = counting();
    anygp_error e;
    gp_scores s = {0};
    double mu[NEW], var[NEW], nlp = 0, se = 0, width = 0, inside[5] = {0};
    char lines[1024] = "time,x,y\n";
    latent_of(m, mu, var);
    for (int i = 0; i < NEW; i++) {
        double t = times[i], up = poisson_cdf(y[i], t, 1.2, mu[i], var[i]);
        double below = y[i] > 0 ? poisson_cdf(y[i] - 1, t, 1.2, mu[i], var[i]) : 0;
        sprintf(lines + strlen(lines), "%.17g,%.17g,%g\n", t, new_x[i], y[i]);
        nlp -= log(up - below) / NEW;
        se += pow(y[i] - t * exp(1.2 + mu[i] + 0.5 * var[i]), 2) / NEW;
        double q[2] = {poisson_quantile(0.025, t, 1.2, mu[i], var[i]), poisson_quantile(0.975, t, 1.2, mu[i], var[i])};
        width += (q[1] - q[0]) / NEW;
        for (int l = 0; l < 5; l++)
            inside[l] += (y[i] >= poisson_quantile((1 - shares[l]) / 2, t, 1.2, mu[i], var[i]) &&
                          y[i] <= poisson_quantile((1 + shares[l]) / 2, t, 1.2, mu[i], var[i])) /
                         (double)NEW;
    }
    if (eval_text(m, lines, &s, &e)) fail_msg("%s", e.text);
    check_close(score_of(&s, "mnlp"), nlp, 1e-7);
    check_close(score_of(&s, "rmse"), sqrt(se), 1e-9);
    check_close(score_of(&s, "width95"), width, 1e-12);
    for (int l = 0; l < 5; l++) check_close(score_of(&s, names[l]), inside[l], 1e-12);
    assert_int_equal(eval_text(m, "time,x,y\n1,0,2\n1,0,2.5\n", &s, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "row 2"));
    assert_int_equal(eval_text(m, "time,x,y\n1,0,2\n-1,0,2\n", &s, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "row 2"));
    anygp_model_free(m);
}

static void the_joint_covariance_of_counts_is_refused(void **unused)
{
    (void)unused;
    anygp_model *m = counting();
    anygp_error e;
    double mean[NEW], covariance[NEW * NEW];
    assert_int_equal(anygp_predict_joint(m, 0, NEW, new_x, 1, 0, mean, covariance, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(anygp_predict_joint(m, 0, NEW, new_x, 1, ANYGP_LATENT, mean, covariance, &e), ANYGP_OK);
    anygp_model_free(m);
}

/* -------------------------------------------------------------------------------------- classes */

static const char *const answers[] = {"no", "yes"}, *const numbers[] = {"-1", "2.5"};

static anygp_model *classifying(const char *const *names, bool text)
{
    anygp_model *m = fitted();
    gp *g = m->gp[0];
    attach(g, "bernoulli(probit)", 2, false);
    name_classes(g, 2, names, text);
    g->schema.y_shift = 0, g->schema.y_scale = 1;
    return m;
}

static double phi(double x) { return 0.5 * erfc(-x / sqrt(2)); }

static void two_classes_have_labels_and_probabilities(void **unused)
{
    (void)unused;
    anygp_model *m = classifying(answers, true);
    anygp_error e;
    double mu[NEW], var[NEW], P[2 * NEW], mean[NEW];
    char lines[1024] = "x\n";
    latent_of(m, mu, var);
    for (int i = 0; i < NEW; i++) sprintf(lines + strlen(lines), "%.17g\n", new_x[i]);
    char *text = predicted_file(m, lines, NULL, NULL), *line = text;
    assert_int_equal(strncmp(text, "label,p_no,p_yes\n", 17), 0);
    assert_int_equal(anygp_predict_proba(m, 0, NEW, new_x, 1, P, &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) {
        double p = phi(mu[i] / sqrt(1 + var[i]));
        const char *label = p > 0.5 ? "yes," : "no,";
        line = strchr(line, '\n') + 1;
        assert_int_equal(strncmp(line, label, strlen(label)), 0);
        check_close(cell_of(text, i, 1), 1 - p, 1e-12);
        check_close(cell_of(text, i, 2), p, 1e-12);
        check_close(P[i], 1 - p, 1e-12);
        check_close(P[i + NEW], p, 1e-12);
    }
    assert_int_equal(anygp_classes(m, 0), 2);
    assert_string_equal(anygp_class_name(m, 0, 1), "yes");
    assert_null(anygp_class_name(m, 0, 2));
    assert_int_equal(anygp_predict(m, NEW, new_x, 1, 0, mean, NULL, &e), ANYGP_ERR_ARGUMENT);
    free(text);
    anygp_model_free(m);
}

static void classes_that_are_numbers_are_written_as_numbers(void **unused)
{
    (void)unused;
    anygp_model *m = classifying(numbers, false);
    const char *const draws[] = {"samples", "40", NULL};
    double mu[NEW], var[NEW];
    latent_of(m, mu, var);
    char *text = predicted_file(m, "x\n-0.4\n", NULL, NULL), *drawn = predicted_file(m, "x\n-0.4\n", draws, NULL);
    assert_true(cell_of(text, 0, 0) == (mu[1] > 0 ? 2.5 : -1));
    for (int k = 0; k < 40; k++) assert_true(cell_of(drawn, 0, k) == -1 || cell_of(drawn, 0, k) == 2.5);
    free(text);
    free(drawn);
    anygp_model_free(m);
}

/* A .npy file holds numbers only. */
static void a_table_of_numbers_has_the_indices_of_labels(void **unused)
{
    (void)unused;
    anygp_model *m = classifying(answers, true);
    notes said = {0};
    anygp_error e;
    double mu[NEW], var[NEW], rows[2][3];
    char in[] = "test_predict_likelihood_XXXXXX", out[64];
    anygp_settings *s = anygp_settings_new();
    latent_of(m, mu, var);
    write_file(in, "x\n-1.5\n0.3\n");
    snprintf(out, sizeof out, "%s.npy", in);
    anygp_on_log(s, take_note, &said);
    if (anygp_predict_file(m, s, in, out, &e)) fail_msg("%s", e.text);
    assert_int_equal(said.count, 1);
    reader *r;
    int64_t got;
    assert_int_equal(reader_open(out, NULL, &r, &e), ANYGP_OK);
    assert_int_equal(reader_next(r, 2, rows[0], &got, &e), ANYGP_OK);
    assert_true(got == 2 && reader_columns(r) == 3);
    assert_true(rows[0][0] == (mu[0] > 0) && rows[1][0] == (mu[3] > 0));
    reader_close(r);
    unlink(in);
    unlink(out);
    anygp_settings_free(s);
    anygp_model_free(m);
}

static void classes_are_scored_by_name_and_unknown_ones_named(void **unused)
{
    (void)unused;
    static const int label[NEW] = {0, 1, 1, 0, 1, 0, 0};
    anygp_model *m = classifying(answers, true);
    anygp_error e;
    gp_scores s = {0};
    double mu[NEW], var[NEW], logloss = 0, right = 0;
    char lines[1024] = "y,x\n";
    latent_of(m, mu, var);
    for (int i = 0; i < NEW; i++) {
        double p = phi(mu[i] / sqrt(1 + var[i]));
        sprintf(lines + strlen(lines), "%s,%.17g\n", answers[label[i]], new_x[i]);
        logloss -= log(label[i] ? p : 1 - p) / NEW;
        right += (p > 0.5) == label[i];
    }
    strcat(lines, ",0\n"); /* no label: does not count */
    if (eval_text(m, lines, &s, &e)) fail_msg("%s", e.text);
    check_close(score_of(&s, "accuracy"), right / NEW, 1e-14);
    check_close(score_of(&s, "logloss"), logloss, 1e-10);
    check_close(score_of(&s, "mnlp"), logloss, 1e-10);
    check_close(score_of(&s, "n"), NEW, 0);
    assert_true(isnan(score_of(&s, "rmse")));
    assert_int_equal(eval_text(m, "x,y\n1,yes\n2,perhaps\n", &s, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "row 2"));
    assert_non_null(strstr(e.text, "'perhaps'"));
    anygp_model_free(m);
    m = classifying(numbers, false);
    if (eval_text(m, "x,y\n1,2.5\n2,-1.0\n", &s, &e)) fail_msg("%s", e.text);
    assert_int_equal(eval_text(m, "x,y\n1,2.5\n2,3\n", &s, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "'3'"));
    anygp_model_free(m);
}

/* ------------------------------------------------------------------- three latents, made by hand */

/* Latent c at x: mean x (c - 1), variance (c + 1)/10. */
static int64_t no_work(const posterior *p, int64_t n) { return (void)p, (void)n, 0; }

static anygp_status made_marginal(const posterior *p, int64_t n, const double *X, int64_t ldx, double *work,
                                  double *mean, double *variance, anygp_error *e)
{
    (void)work, (void)e;
    for (int64_t c = 0; c < p->latents; c++)
        for (int64_t i = 0; i < n; i++) {
            mean[i + c * n] = X[i * ldx] * (double)(c - 1);
            if (variance) variance[i + c * n] = (double)(c + 1) / 10;
        }
    return ANYGP_OK;
}

static anygp_status made_joint(const posterior *p, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                               double *covariance, int64_t ldc, anygp_error *e)
{
    TRY(made_marginal(p, n, X, ldx, work, mean, NULL, e));
    memset(covariance, 0, (size_t)(p->latents * n * ldc) * sizeof *covariance);
    for (int64_t c = 0; c < p->latents; c++)
        for (int64_t i = 0; i < n; i++) covariance[i + i * ldc + c * n * ldc] = (double)(c + 1) / 10;
    return ANYGP_OK;
}

static const posterior_ops made_ops = {.work_doubles = no_work, .marginal = made_marginal, .joint = made_joint};

/* P_c proportional to exp(mean_c): enough to see which latent went where. */
static void made_probabilities(const likelihood *l, int64_t n, const double *mu, const double *var, int64_t ld,
                               double *P, int64_t ldp)
{
    (void)var;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t c = 0; c < l->classes; c++) sum += exp(mu[i + c * ld]);
        for (int64_t c = 0; c < l->classes; c++) P[i + c * ldp] = exp(mu[i + c * ld]) / sum;
    }
}

static void made_draw(const likelihood *l, int64_t n, const double *exposure, const double *f, int64_t ld,
                      random_stream random, double *y)
{
    (void)exposure, (void)random;
    for (int64_t i = 0; i < n; i++) {
        y[i] = 0;
        for (int64_t c = 1; c < l->classes; c++)
            if (f[i + c * ld] > f[i + (int64_t)y[i] * ld]) y[i] = (double)c;
    }
}

static const likelihood_ops made_likelihood = {
    .name = "made", .target = TARGET_CLASS, .probabilities = made_probabilities, .draw = made_draw};

/* The model of `fitted` with that posterior in the place of its own. */
typedef struct three {
    anygp_model *m;
    posterior made, *own;
} three;

static void three_open(three *t)
{
    static const char *const names[] = {"a", "b,c", "d"};
    t->m = fitted();
    gp *g = t->m->gp[0];
    *g->likelihood = (likelihood){.ops = &made_likelihood, .classes = 3, .latents = 3, .columns = 1};
    name_classes(g, 3, names, true);
    g->schema.input[0].shift = 0, g->schema.input[0].scale = 1;
    t->own = g->posterior;
    t->made = *t->own;
    t->made.ops = &made_ops, t->made.latents = 3;
    g->posterior = &t->made;
}

static void three_close(three *t)
{
    t->m->gp[0]->posterior = t->own;
    anygp_model_free(t->m);
}

static void latents_come_to_their_classes_and_columns(void **unused)
{
    (void)unused;
    enum { ROWS = 5000 }; /* several blocks of the predictor */
    three t;
    three_open(&t);
    const anygp_model *m = t.m;
    anygp_error e;
    double *x = calloc(ROWS, sizeof *x), *P = calloc(3 * ROWS, sizeof *P);
    const char *const latent[] = {"latent", "yes", NULL};
    fill_normal(9, ROWS, x);
    assert_int_equal(anygp_predict_proba(m, 0, ROWS, x, 1, P, &e), ANYGP_OK);
    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < 3; c++)
            check_close(P[i + c * ROWS], exp(x[i] * (c - 1)) / (exp(-x[i]) + 1 + exp(x[i])), 1e-13);
    char *text = predicted_file(m, "x\n-2\n0.5\n", NULL, NULL), *f = predicted_file(m, "x\n-2\n0.5\n", latent, NULL);
    assert_int_equal(strncmp(text, "label,p_a,\"p_b,c\",p_d\na,", 24), 0);
    assert_non_null(strstr(text, "\nd,"));
    assert_int_equal(strncmp(f, "mean_1,variance_1,mean_2,variance_2,mean_3,variance_3\n", 54), 0);
    for (int c = 0; c < 3; c++) {
        check_close(cell_of(f, 1, 2 * c), 0.5 * (c - 1), 1e-15);
        check_close(cell_of(f, 1, 2 * c + 1), (c + 1) / 10.0, 1e-15);
    }
    assert_int_equal(anygp_predict(m, 1, x, 1, ANYGP_LATENT, P, NULL, &e), ANYGP_ERR_ARGUMENT);
    free(text);
    free(f);
    free(x);
    free(P);
    three_close(&t);
}

/* argmax of three independent normals at x = 0: P(first) by a sum over a grid. */
static void draws_of_classes_follow_their_latents(void **unused)
{
    (void)unused;
    enum { S = 20000, GRID = 4001 };
    three t;
    three_open(&t);
    const anygp_model *m = t.m;
    anygp_error e;
    double x[2] = {0, 8}, *draws = calloc(2 * S, sizeof *draws), first = 0, P = 0, total = 0;
    assert_int_equal(anygp_sample(m, 0, 2, x, 1, 0, 3, S, draws, &e), ANYGP_OK);
    for (int k = 0; k < S; k++) {
        first += draws[2 * k] == 0;
        assert_true(draws[2 * k + 1] == 2); /* means -8, 0, 8 */
    }
    for (int i = 0; i < GRID; i++) {
        double z = -8 + 16.0 * i / (GRID - 1), w = exp(-0.5 * z * z), f = sqrt(0.1) * z;
        P += w * phi(f / sqrt(0.2)) * phi(f / sqrt(0.3)), total += w;
    }
    P /= total;
    assert_true(fabs(first / S - P) < 5 * sqrt(P * (1 - P) / S));
    assert_int_equal(anygp_sample(m, 0, 2, x, 1, ANYGP_LATENT, 3, 1, draws, &e), ANYGP_ERR_ARGUMENT);
    const char *const pairs[] = {"samples", "2", NULL};
    char *text = predicted_file(m, "x\n9\n-9\n", pairs, NULL);
    assert_string_equal(text, "sample1,sample2\nd,d\na,a\n");
    free(text);
    free(draws);
    three_close(&t);
}

/* ----------------------------------------------------------------------------------- model files */

static anygp_model *stored(const anygp_model *m)
{
    void *bytes;
    size_t size;
    anygp_model *again;
    anygp_error e;
    assert_int_equal(anygp_save_bytes(m, &bytes, &size, &e), ANYGP_OK);
    if (anygp_load_bytes(bytes, size, &again, &e)) fail_msg("%s", e.text);
    anygp_bytes_free(bytes);
    return again;
}

static void a_stored_model_predicts_the_same_bits(void **unused)
{
    (void)unused;
    anygp_model *m[2] = {counting()}, *c[2] = {classifying(answers, true)};
    double mean[2][NEW], variance[2][NEW], P[2][2 * NEW];
    anygp_error e;
    m[1] = stored(m[0]);
    c[1] = stored(c[0]);
    for (int k = 0; k < 2; k++) {
        predict(m[k], NEW, new_x, mean[k], variance[k]);
        assert_int_equal(anygp_predict_proba(c[k], 0, NEW, new_x, 1, P[k], &e), ANYGP_OK);
    }
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(variance[0], variance[1], sizeof variance[0]);
    assert_memory_equal(P[0], P[1], sizeof P[0]);
    const schema *s = &m[1]->gp[0]->schema, *t = &c[1]->gp[0]->schema;
    assert_true(s->exposed && s->exposure == 1 && !strcmp(s->exposure_name, "time"));
    assert_true(t->classes == 2 && t->class_text && !strcmp(t->class_name[0], "no"));
    for (int k = 0; k < 2; k++) anygp_model_free(m[k]), anygp_model_free(c[k]);
}

static void info_shows_likelihood_classes_and_exposure(void **unused)
{
    (void)unused;
    anygp_model *m = counting(), *c = classifying(answers, true);
    anygp_error e;
    char *text;
    assert_int_equal(anygp_info(m, 0, &text, &e), ANYGP_OK);
    assert_non_null(strstr(text, "poisson(offset=1.2)"));
    assert_non_null(strstr(text, "'time'"));
    anygp_text_free(text);
    assert_int_equal(anygp_info(c, 0, &text, &e), ANYGP_OK);
    assert_non_null(strstr(text, "2: no, yes"));
    anygp_text_free(text);
    assert_int_equal(anygp_info(c, 1, &text, &e), ANYGP_OK);
    json_t *j = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(json_object_get(j, "likelihood"), "name")), "bernoulli");
    json_decref(j);
    anygp_text_free(text);
    anygp_model_free(m);
    anygp_model_free(c);
}

/* Whether the description, with `value` (a JSON text, or NULL: nothing) in the place `path` names, is taken. */
static bool is_taken(const anygp_model *m, const char *path, const char *key, const char *value)
{
    described d = {0};
    anygp_error e;
    json_t *top = describe_gp(m->gp[0], m->settings), *o = top;
    for (char name[32]; *path; path += strlen(name) + (path[strlen(name)] == '/')) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(path, "/"), path);
        o = json_object_get(o, name);
    }
    assert_non_null(o);
    if (value)
        json_object_set_new(o, key, json_loads(value, JSON_DECODE_ANY, NULL));
    else
        json_object_del(o, key);
    bool taken = !ANYGP_FAILED(describe_parse(top, &d, &e));
    described_clear(&d);
    json_decref(top);
    return taken;
}

static void descriptions_that_do_not_fit_together_are_refused(void **unused)
{
    (void)unused;
    anygp_model *p = fitted(), *m = counting(), *c = classifying(answers, true);
    assert_true(is_taken(p, "internal", "likelihood", NULL)); /* as before there were any */
    assert_true(is_taken(p, "data", "exposure", NULL));
    assert_true(is_taken(m, "internal", "likelihood", "\"poisson\""));
    static const struct {
        int of;
        const char *path, *key, *value;
    } wrong[] = {{0, "data", "exposure", "{\"name\": null, \"number\": 0}"},
                 {0, "data/target", "classes", "[\"a\", \"b\"]"},
                 {0, "internal", "likelihood", "\"bernoulli\""},
                 {1, "internal", "likelihood", "null"},
                 {1, "internal", "likelihood", "3"},
                 {1, "internal", "likelihood", "\"poisson(\""},
                 {1, "internal", "likelihood", "\"no such\""},
                 {1, "internal", "likelihood", "\"gaussian\""},
                 {1, "data", "exposure", "{\"name\": null, \"number\": 99}"},
                 {1, "data", "exposure", "{\"name\": null, \"number\": -1}"},
                 {1, "data", "exposure", "{\"name\": 7, \"number\": 1}"},
                 {1, "data", "exposure", "\"time\""},
                 {2, "internal", "likelihood", NULL},
                 {2, "internal", "likelihood", "\"poisson\""},
                 {2, "data/target", "classes", NULL},
                 {2, "data/target", "classes", "[]"},
                 {2, "data/target", "classes", "[\"a\"]"},
                 {2, "data/target", "classes", "[\"a\", 3]"},
                 {2, "data/target", "classes", "[\"a\", \"b\", \"c\"]"},
                 {2, "data/target", "classes", "{\"a\": 1}"}};
    const anygp_model *const of[] = {p, m, c};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (is_taken(of[wrong[i].of], wrong[i].path, wrong[i].key, wrong[i].value))
            fail_msg("taken: %s/%s = %s", wrong[i].path, wrong[i].key, wrong[i].value ? wrong[i].value : "nothing");
    anygp_model_free(p);
    anygp_model_free(m);
    anygp_model_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gaussian_likelihood_predicts_as_its_noise),
        cmocka_unit_test(gaussian_is_a_likelihood_of_every_model),
        cmocka_unit_test(noise_given_with_the_likelihood_is_that_of_every_model),
        cmocka_unit_test(a_normal_by_its_likelihood_predicts_as_gaussian),
        cmocka_unit_test(a_normal_by_its_likelihood_scores_as_gaussian),
        cmocka_unit_test(draws_of_a_likelihood_have_its_moments),
        cmocka_unit_test(counts_are_predicted_for_their_exposure),
        cmocka_unit_test(a_file_without_exposure_counts_as_one_with_a_note),
        cmocka_unit_test(counts_are_scored_by_their_probabilities),
        cmocka_unit_test(the_joint_covariance_of_counts_is_refused),
        cmocka_unit_test(two_classes_have_labels_and_probabilities),
        cmocka_unit_test(classes_that_are_numbers_are_written_as_numbers),
        cmocka_unit_test(a_table_of_numbers_has_the_indices_of_labels),
        cmocka_unit_test(classes_are_scored_by_name_and_unknown_ones_named),
        cmocka_unit_test(latents_come_to_their_classes_and_columns),
        cmocka_unit_test(draws_of_classes_follow_their_latents),
        cmocka_unit_test(a_stored_model_predicts_the_same_bits),
        cmocka_unit_test(info_shows_likelihood_classes_and_exposure),
        cmocka_unit_test(descriptions_that_do_not_fit_together_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
