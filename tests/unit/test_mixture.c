/* Predictions, scores and draws from a posterior whose marginals are mixtures of Gaussians.  The truth is a sum over a fine grid of f
   and of y, with nothing but the density of y given f. */
#include "gp/fit_blocks.h"
#include "predict_support.h"

enum { S = 3, ROWS = 3, F_POINTS = 601, Y_POINTS = 1501, COUNTS_MOST = 400 };
static const double rows_x[ROWS] = {-0.8, 0.3, 1.9};

/* ------------------------------------------------------------------------------------- posterior */

typedef struct stub {
    posterior base;
    bool equal; /* all components are the first */
} stub;

static double stub_mean(const stub *p, int64_t s, int64_t c, double x)
{
    double k = p->equal ? 0 : (double)s;
    return 1.5 * (k - 1) + (1 + 0.3 * k) * sin(x + (double)c);
}

static double stub_variance(const stub *p, int64_t s, int64_t c)
{
    double k = p->equal ? 0 : (double)s;
    return (0.05 + 0.1 * k) * (1 + 0.5 * (double)c);
}

static int64_t no_work(const posterior *p, int64_t n)
{
    (void)p, (void)n;
    return 1;
}

static anygp_status stub_marginal(const posterior *p, int64_t n, const double *X, int64_t ldx, double *work,
                                  double *mean, double *variance, anygp_error *e)
{
    const stub *q = (const stub *)p;
    (void)work, (void)e;
    for (int64_t s = 0; s < p->components; s++)
        for (int64_t c = 0; c < p->latents; c++)
            for (int64_t i = 0; i < n; i++) {
                int64_t at = i + (s * p->latents + c) * n;
                mean[at] = stub_mean(q, s, c, X[i * ldx]);
                if (variance) variance[at] = stub_variance(q, s, c);
            }
    return ANYGP_OK;
}

static anygp_status stub_joint(const posterior *p, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                               double *covariance, int64_t ldc, anygp_error *e)
{
    TRY(stub_marginal(p, n, X, ldx, work, mean, NULL, e));
    for (int64_t s = 0; s < p->components; s++)
        for (int64_t c = 0; c < p->latents; c++)
            for (int64_t k = 0; k < n; k++)
                for (int64_t i = k; i < n; i++) {
                    double d = X[i * ldx] - X[k * ldx];
                    covariance[i + k * ldc + (s * p->latents + c) * n * ldc] =
                        stub_variance((const stub *)p, s, c) * exp(-0.5 * d * d);
                }
    return ANYGP_OK;
}

static const posterior_ops stub_ops = {.work_doubles = no_work, .marginal = stub_marginal, .joint = stub_joint};
static const posterior_ops stub_alone = {.work_doubles = no_work, .marginal = stub_marginal};

/* The model of `fitted` with that posterior and a likelihood in the place of its own. */
typedef struct mixed {
    anygp_model *m;
    gp *g;
    stub made;
    posterior *own;
} mixed;

static void mixed_open(mixed *t, const char *text, int64_t classes, int64_t components, bool equal)
{
    static const char *const names[] = {"0", "1", "2"};
    t->m = fitted(), t->g = t->m->gp[0];
    attach(t->g, text, classes, false);
    if (classes) name_classes(t->g, classes, names, false);
    t->g->schema.input[0].shift = 0, t->g->schema.input[0].scale = 1;
    t->own = t->g->posterior;
    t->made = (stub){.base = *t->own, .equal = equal};
    t->made.base.ops = &stub_ops, t->made.base.components = components;
    t->made.base.latents = t->g->likelihood->latents;
    t->g->posterior = &t->made.base;
}

static void mixed_close(mixed *t)
{
    t->g->posterior = t->own;
    anygp_model_free(t->m);
}

/* --------------------------------------------------------------------------------- truth by grids */

/* Mean over components of the integral of g(f) N(f; mean, variance), one latent. */
static double over_f(const mixed *t, double x, double (*g)(const likelihood *l, double y, double f), double y)
{
    double sum = 0, step = 18.0 / (F_POINTS - 1);
    for (int64_t s = 0; s < S; s++)
        for (int k = 0; k < F_POINTS; k++) {
            double z = -9 + step * k, f = stub_mean(&t->made, s, 0, x) + sqrt(stub_variance(&t->made, s, 0)) * z;
            sum += step * exp(-0.5 * z * z) / sqrt(2 * acos(-1)) * g(t->g->likelihood, y, f) / S;
        }
    return sum;
}

static double density_of(const likelihood *l, double y, double f) { return exp(l->ops->density(l, &y, &f)); }
static double log_density_of(const likelihood *l, double y, double f) { return l->ops->density(l, &y, &f); }

/* What there is to know of y at one row, model units. */
typedef struct truth {
    double mean, variance, lo, hi, y, log_density, expected, rank, crps;
} truth;

/* Where P(y' <= y) = q, between points k-1 and k, by a parabola. */
static double quantile_in_cell(double q, double y, double step, const double *F, const double *p)
{
    double d = 0.5 * step;
    for (int i = 0; i < 20; i++) {
        double slope = p[0] + (p[1] - p[0]) * d / step;
        d -= (F[0] + d * 0.5 * (p[0] + slope) - q) / slope;
    }
    return y + d;
}

/* p on the points from + k step, 0 at both ends; y is point `at`.  Sums over cells by cubics. */
static void sum_up(truth *w, int n, double from, double step, const double *p, int at)
{
    double second = 0, F[Y_POINTS] = {0};
    w->mean = w->crps = 0, w->lo = w->hi = NAN;
    for (int k = 0; k < n; k++) w->mean += step * p[k] * (from + step * k);
    for (int k = 0; k < n; k++) second += step * p[k] * pow(from + step * k - w->mean, 2);
    for (int k = 2; k < n - 1; k++) {
        F[k] = F[k - 1] + step / 24 * (13 * (p[k] + p[k - 1]) - p[k - 2] - p[k + 1]);
        double y = from + step * (k - 1);
        if (F[k - 1] < 0.025 && F[k] >= 0.025) w->lo = quantile_in_cell(0.025, y, step, F + k - 1, p + k - 1);
        if (F[k - 1] < 0.975 && F[k] >= 0.975) w->hi = quantile_in_cell(0.975, y, step, F + k - 1, p + k - 1);
        double over = k < at ? F[k] * F[k] : k > at ? pow(1 - F[k], 2) : 0.5 * (F[k] * F[k] + pow(1 - F[k], 2));
        w->crps += step * over;
    }
    w->variance = second, w->rank = F[at], w->y = from + step * at, w->log_density = log(p[at]);
}

static truth truth_of_number(const mixed *t, double x, int at)
{
    double from = -9, step = 18.0 / (Y_POINTS - 1), p[Y_POINTS];
    truth w;
    for (int k = 0; k < Y_POINTS; k++) p[k] = over_f(t, x, density_of, from + step * k);
    sum_up(&w, Y_POINTS, from, step, p, at);
    w.expected = over_f(t, x, log_density_of, w.y);
    return w;
}

/* Of a count y; lo and hi: the smallest that reach their shares; rank: P(y' <= y). */
static truth truth_of_count(const mixed *t, double x, int y)
{
    truth w = {.lo = NAN, .hi = NAN, .y = y};
    double p[COUNTS_MOST], F = 0;
    for (int k = 0; k < COUNTS_MOST; k++) p[k] = over_f(t, x, density_of, k), w.mean += k * p[k];
    for (int k = 0; k < COUNTS_MOST; k++) {
        w.variance += p[k] * pow(k - w.mean, 2);
        if (F < 0.025 && F + p[k] >= 0.025) w.lo = k;
        if (F < 0.975 && F + p[k] >= 0.975) w.hi = k;
        F += p[k];
        if (k == y) w.rank = F;
    }
    w.log_density = log(p[y]), w.expected = over_f(t, x, log_density_of, y);
    return w;
}

static double share_inside(const truth *w, double level, bool count)
{
    double from = (1 - level) / 2, to = (1 + level) / 2;
    return w->rank >= from && (count ? w->rank - exp(w->log_density) < to : w->rank <= to);
}

/* Predictions and scores of a file with these rows against the truth; y in data units is shift + scale y. */
static void check_numbers(const mixed *t, const truth *w, bool count, double tolerance)
{
    static const char *const levels[] = {"coverage50", "coverage80", "coverage90", "coverage95", "coverage99"};
    static const double shares[] = {0.5, 0.8, 0.9, 0.95, 0.99};
    const target_scale u = gp_target_unit(t->g);
    char lines[512] = "x,y\n";
    gp_scores s = {0};
    anygp_error e;
    truth sum = {0};
    double square = 0, inside[5] = {0};
    for (int i = 0; i < ROWS; i++) {
        sprintf(lines + strlen(lines), "%.17g,%.17g\n", rows_x[i], u.shift + u.scale * w[i].y);
        sum.log_density += w[i].log_density / ROWS, sum.expected += w[i].expected / ROWS;
        sum.crps += w[i].crps / ROWS, sum.hi += (w[i].hi - w[i].lo) / ROWS;
        square += pow(w[i].y - w[i].mean, 2) / ROWS;
        for (int k = 0; k < 5; k++) inside[k] += share_inside(&w[i], shares[k], count) / ROWS;
    }
    char *text = predicted_file(t->m, lines, NULL, NULL);
    for (int i = 0; i < ROWS; i++) {
        check_close(cell_of(text, i, 0), u.shift + u.scale * w[i].mean, tolerance);
        check_close(cell_of(text, i, 1), u.scale * u.scale * w[i].variance, tolerance);
        check_close(cell_of(text, i, 2), u.shift + u.scale * w[i].lo, tolerance);
        check_close(cell_of(text, i, 3), u.shift + u.scale * w[i].hi, tolerance);
    }
    free(text);
    if (eval_text(t->m, lines, &s, &e)) fail_msg("%s", e.text);
    check_close(score_of(&s, "rmse"), u.scale * sqrt(square), tolerance);
    check_close(score_of(&s, "mnlp"), log(u.scale) - sum.log_density, tolerance);
    check_close(score_of(&s, "mell"), sum.expected - log(u.scale), tolerance);
    check_close(score_of(&s, "width95"), u.scale * sum.hi, tolerance);
    for (int k = 0; k < 5; k++) check_close(score_of(&s, levels[k]), inside[k], 1e-12);
    if (gp_is_gaussian(t->g))
        check_close(score_of(&s, "crps"), u.scale * sum.crps, tolerance);
    else
        assert_true(isnan(score_of(&s, "crps")));
}

/* ------------------------------------------------------------------------------------------ tests */

static void numbers_are_predicted_and_scored_by_their_mixture(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"gaussian(noise=0.05)", "laplace(scale=0.3)"};
    for (int k = 0; k < 2; k++) {
        mixed t;
        truth w[ROWS];
        mixed_open(&t, texts[k], 0, S, false);
        for (int i = 0; i < ROWS; i++) w[i] = truth_of_number(&t, rows_x[i], 600 + 130 * i);
        /* a normal with these moments would have other limits: the test can tell */
        assert_true(fabs(w[0].hi - (w[0].mean + 1.96 * sqrt(w[0].variance))) > 0.02);
        check_numbers(&t, w, false, 1e-4);
        mixed_close(&t);
    }
}

static void counts_are_predicted_and_scored_by_their_mixture(void **unused)
{
    (void)unused;
    static const int y[ROWS] = {0, 3, 12};
    mixed t;
    truth w[ROWS];
    mixed_open(&t, "poisson(offset=-0.5)", 0, S, false);
    for (int i = 0; i < ROWS; i++) w[i] = truth_of_count(&t, rows_x[i], y[i]);
    check_numbers(&t, w, true, 1e-6);
    mixed_close(&t);
}

static double class_one(const likelihood *l, double y, double f)
{
    (void)y;
    return exp(l->ops->density(l, &(double){1}, &f));
}

/* P of three classes at x, by a grid in three dimensions. */
static void softmax_truth(const mixed *t, double x, double *P)
{
    enum { POINTS = 41 };
    double step = 12.0 / (POINTS - 1);
    P[0] = P[1] = P[2] = 0;
    for (int64_t s = 0; s < S; s++)
        for (int k = 0; k < POINTS * POINTS * POINTS; k++) {
            const int at[3] = {k % POINTS, k / POINTS % POINTS, k / POINTS / POINTS};
            double w = pow(step / sqrt(2 * acos(-1)), 3) / S, sum = 0, f[3];
            for (int c = 0; c < 3; c++) {
                double z = -6 + step * at[c];
                w *= exp(-0.5 * z * z);
                f[c] = exp(stub_mean(&t->made, s, c, x) + sqrt(stub_variance(&t->made, s, c)) * z), sum += f[c];
            }
            for (int c = 0; c < 3; c++) P[c] += w * f[c] / sum;
        }
}

static void classes_have_the_mean_probabilities_of_the_components(void **unused)
{
    (void)unused;
    for (int64_t K = 2; K <= 3; K++) {
        mixed t;
        anygp_error e;
        gp_scores s = {0};
        double P[3 * ROWS], want[3], loss = 0;
        char lines[256] = "x,y\n";
        mixed_open(&t, K == 2 ? "bernoulli" : "softmax", K, S, false);
        assert_int_equal(anygp_predict_proba(t.m, 0, ROWS, rows_x, 1, P, &e), ANYGP_OK);
        for (int i = 0; i < ROWS; i++) {
            double one = K == 2 ? over_f(&t, rows_x[i], class_one, 0) : 0;
            if (K == 3)
                softmax_truth(&t, rows_x[i], want);
            else
                want[0] = 1 - one, want[1] = one;
            for (int c = 0; c < K; c++) check_close(P[i + c * ROWS], want[c], K == 2 ? 1e-6 : 2e-3);
            loss -= log(want[i % K]) / ROWS;
            sprintf(lines + strlen(lines), "%.17g,%d\n", rows_x[i], i % (int)K);
        }
        if (eval_text(t.m, lines, &s, &e)) fail_msg("%s", e.text);
        check_close(score_of(&s, "logloss"), loss, K == 2 ? 1e-6 : 5e-3);
        mixed_close(&t);
    }
}

/* Of f: gaussian and count targets have one, softmax has three. */
static void latent_columns_are_moments_and_quantiles_of_the_mixture(void **unused)
{
    (void)unused;
    static const char *const latent[] = {"latent", "yes", NULL};
    const char *const texts[] = {"gaussian(noise=0.05)", "poisson", "softmax"};
    for (int k = 0; k < 3; k++) {
        mixed t;
        int64_t C = k == 2 ? 3 : 1;
        mixed_open(&t, texts[k], k == 2 ? 3 : 0, S, false);
        char *text = predicted_file(t.m, "x\n0.3\n", latent, NULL);
        for (int64_t c = 0; c < C; c++) {
            const target_scale u = gp_latent_unit(t.g, c);
            double mean = 0, second = 0, F[2] = {0};
            for (int64_t s = 0; s < S; s++) {
                double m = stub_mean(&t.made, s, c, 0.3), v = stub_variance(&t.made, s, c);
                mean += m / S, second += (v + m * m) / S;
                for (int i = 0; i < 2 && C == 1; i++)
                    F[i] += 0.5 / S * erfc((m - (cell_of(text, 0, 2 + i) - u.shift) / u.scale) / sqrt(2 * v));
            }
            check_close(cell_of(text, 0, 2 * (int)c), u.shift + u.scale * mean, 1e-12);
            check_close(cell_of(text, 0, 2 * (int)c + 1), u.scale * u.scale * (second - mean * mean), 1e-12);
            if (C == 1) check_close(F[0], 0.025, 1e-12), check_close(F[1], 0.975, 1e-12);
        }
        free(text);
        mixed_close(&t);
    }
}

/* Every cell and every score; quantiles of laplace are found to 1e-10 of the sd by one component. */
static void equal_components_say_what_one_says(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int64_t classes, columns, latents;
        double tolerance;
    } cases[] = {{"gaussian(noise=0.05)", 0, 4, 4, 1e-12},
                 {"laplace(scale=0.3)", 0, 4, 4, 1e-9},
                 {"poisson(offset=0.8)", 0, 4, 4, 1e-12},
                 {"bernoulli", 2, 3, 4, 1e-12},
                 {"softmax", 3, 4, 6, 1e-12}};
    static const char *const latent[] = {"latent", "yes", NULL}, *const lines = "x,y\n-0.8,1\n0.3,0\n1.9,1\n";
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *text[2][2];
        gp_scores s[2] = {0}, of_f[2] = {0};
        anygp_error e;
        for (int many = 0; many < 2; many++) {
            mixed t;
            mixed_open(&t, cases[k].text, cases[k].classes, many ? S : 1, true);
            text[many][0] = predicted_file(t.m, lines, NULL, NULL);
            text[many][1] = predicted_file(t.m, lines, latent, NULL);
            if (eval_text(t.m, lines, &s[many], &e)) fail_msg("%s", e.text);
            anygp_status status = eval_with(t.m, lines, latent, &of_f[many], &e);
            assert_int_equal(status, gp_is_gaussian(t.g) ? ANYGP_OK : ANYGP_ERR_ARGUMENT);
            mixed_close(&t);
        }
        for (int f = 0; f < 2; f++)
            for (int i = 0; i < ROWS; i++)
                for (int c = 0; c < (f ? cases[k].latents : cases[k].columns); c++)
                    check_close(cell_of(text[1][f], i, c), cell_of(text[0][f], i, c), cases[k].tolerance);
        assert_true(s[0].count > 5 && s[0].count == s[1].count && of_f[0].count == of_f[1].count);
        for (int i = 0; i < s[0].count; i++) check_close(s[1].list[i].value, s[0].list[i].value, cases[k].tolerance);
        for (int i = 0; i < of_f[0].count; i++) check_close(of_f[1].list[i].value, of_f[0].list[i].value, 1e-12);
        for (int i = 0; i < 4; i++) free(text[i / 2][i % 2]);
    }
}

static void many_rows_come_to_their_places(void **unused)
{
    (void)unused;
    enum { MANY = 5000 }; /* several blocks of the predictor */
    mixed t;
    anygp_error e;
    double *x = calloc(MANY, sizeof *x), *mean = calloc(2 * MANY, sizeof *x), *variance = mean + MANY;
    mixed_open(&t, "gaussian(noise=0.05)", 0, S, false);
    fill_normal(9, MANY, x);
    assert_int_equal(anygp_predict(t.m, MANY, x, 1, ANYGP_LATENT, mean, variance, &e), ANYGP_OK);
    const target_scale u = gp_target_unit(t.g);
    for (int i = 0; i < MANY; i++) {
        double m = 0, second = 0;
        for (int64_t s = 0; s < S; s++)
            m += stub_mean(&t.made, s, 0, x[i]) / S,
                second += (stub_variance(&t.made, s, 0) + pow(stub_mean(&t.made, s, 0, x[i]), 2)) / S;
        check_close(mean[i], u.shift + u.scale * m, 1e-12);
        check_close(variance[i], u.scale * u.scale * (second - m * m), 1e-12);
    }
    assert_int_equal(anygp_predict(t.m, MANY, x, 1, 0, variance, NULL, &e), ANYGP_OK);
    for (int i = 0; i < MANY; i++) check_close(variance[i], mean[i], 1e-12);
    free(x);
    free(mean);
    mixed_close(&t);
}

/* ------------------------------------------------------------------------------- joints and draws */

/* Covariance of y by its definition: the mean of the components' plus that of their means. */
static double covariance_by_hand(const mixed *t, int i, int k, double noise)
{
    double mean[2] = {0}, sum = 0;
    for (int64_t s = 0; s < S; s++) {
        double a = stub_mean(&t->made, s, 0, rows_x[i]), b = stub_mean(&t->made, s, 0, rows_x[k]);
        mean[0] += a / S, mean[1] += b / S;
        sum += (a * b + stub_variance(&t->made, s, 0) * exp(-0.5 * pow(rows_x[i] - rows_x[k], 2))) / S;
    }
    return sum - mean[0] * mean[1] + (i == k ? noise : 0);
}

/* P(y of row i lies below the mean + z sd), noise 0.05. */
static double share_below(const mixed *t, int i, double z)
{
    double mean = 0, share = 0, sd = sqrt(covariance_by_hand(t, i, i, 0.05));
    for (int64_t s = 0; s < S; s++) mean += stub_mean(&t->made, s, 0, rows_x[i]) / S;
    for (int64_t s = 0; s < S; s++)
        share += 0.5 / S *
                 erfc((stub_mean(&t->made, s, 0, rows_x[i]) - mean - z * sd) /
                      sqrt(2 * (stub_variance(&t->made, s, 0) + 0.05)));
    return share;
}

static void joint_covariances_and_draws_are_those_of_the_mixture(void **unused)
{
    (void)unused;
    enum { DRAWS = 20000 };
    mixed t;
    anygp_error e;
    double mean[ROWS], covariance[ROWS * ROWS], *draws = calloc(ROWS * DRAWS, sizeof *draws), between = 0;
    mixed_open(&t, "gaussian(noise=0.05)", 0, S, false);
    double square = pow(gp_target_unit(t.g).scale, 2);
    assert_int_equal(anygp_predict_joint(t.m, 0, ROWS, rows_x, 1, 0, mean, covariance, &e), ANYGP_OK);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < ROWS; k++)
            check_close(covariance[i + k * ROWS], square * covariance_by_hand(&t, i, k, 0.05), 1e-12);
    assert_int_equal(anygp_sample(t.m, 0, ROWS, rows_x, 1, 0, 3, DRAWS, draws, &e), ANYGP_OK);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0, sd = sqrt(covariance[i + i * ROWS]);
        for (int d = 0; d < DRAWS; d++) sum += draws[i + d * ROWS] / DRAWS;
        assert_true(fabs(sum - mean[i]) < 5 * sd / sqrt(DRAWS));
        for (int k = 0; k < ROWS; k++) {
            double product = 0, most = sd * sqrt(covariance[k + k * ROWS]);
            for (int d = 0; d < DRAWS; d++)
                product += (draws[i + d * ROWS] - mean[i]) * (draws[k + d * ROWS] - mean[k]) / DRAWS;
            assert_true(fabs(product - covariance[i + k * ROWS]) < 8 * most / sqrt(DRAWS));
        }
    }
    /* between two components: 0.09 of the draws, where a normal with these moments would have 0.13 */
    for (int d = 0; d < DRAWS; d++) {
        double z = (draws[1 + d * ROWS] - mean[1]) / sqrt(covariance[4]);
        between += z > 0.25 && z < 0.6;
    }
    double p = share_below(&t, 1, 0.6) - share_below(&t, 1, 0.25);
    assert_true(p < 0.1 && fabs(between / DRAWS - p) < 5 * sqrt(p / DRAWS));
    free(draws);
    mixed_close(&t);
}

static void counts_are_drawn_from_their_mixture(void **unused)
{
    (void)unused;
    enum { DRAWS = 20000 };
    mixed t;
    anygp_error e;
    double *draws = calloc(ROWS * DRAWS, sizeof *draws);
    mixed_open(&t, "poisson(offset=-0.5)", 0, S, false);
    assert_int_equal(anygp_sample(t.m, 0, ROWS, rows_x, 1, 0, 4, DRAWS, draws, &e), ANYGP_OK);
    for (int i = 0; i < ROWS; i++) {
        truth w = truth_of_count(&t, rows_x[i], 1);
        double sum = 0, ones = 0;
        for (int d = 0; d < DRAWS; d++) sum += draws[i + d * ROWS] / DRAWS, ones += draws[i + d * ROWS] == 1;
        double p = exp(w.log_density);
        assert_true(fabs(sum - w.mean) < 5 * sqrt(w.variance / DRAWS));
        assert_true(fabs(ones / DRAWS - p) < 5 * sqrt(p * (1 - p) / DRAWS));
    }
    free(draws);
    mixed_close(&t);
}

static void a_mixture_without_a_joint_refuses_draws(void **unused)
{
    (void)unused;
    mixed t;
    anygp_error e;
    double mean[ROWS], out[ROWS * ROWS];
    mixed_open(&t, "gaussian(noise=0.05)", 0, S, false);
    t.made.base.ops = &stub_alone;
    assert_int_equal(anygp_sample(t.m, 0, ROWS, rows_x, 1, 0, 3, ROWS, out, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "no joint distribution"));
    assert_int_equal(anygp_predict_joint(t.m, 0, ROWS, rows_x, 1, 0, mean, out, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "no joint distribution"));
    mixed_close(&t);
}

/* All components of all rows are asked for their rates. */
static void rates_out_of_bounds_are_told_of_mixtures(void **unused)
{
    (void)unused;
    const double offsets[] = {0, 400};
    for (int k = 0; k < 2; k++) {
        mixed t;
        notes said = {0};
        anygp_settings *s = anygp_settings_new();
        fit_task f = {.s = s};
        anygp_on_log(s, take_note, &said);
        mixed_open(&t, "poisson", 0, S, false);
        t.g->likelihood->value[0] = offsets[k];
        const dataset d = {.n = ROWS, .D = 1, .Q = 1, .targets = 1, .X = (double *)rows_x};
        fit_warn_of_rates(&f, &d, t.g, 0);
        assert_int_equal(said.count, k);
        mixed_close(&t);
        anygp_settings_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_predicted_and_scored_by_their_mixture),
        cmocka_unit_test(counts_are_predicted_and_scored_by_their_mixture),
        cmocka_unit_test(classes_have_the_mean_probabilities_of_the_components),
        cmocka_unit_test(latent_columns_are_moments_and_quantiles_of_the_mixture),
        cmocka_unit_test(equal_components_say_what_one_says),
        cmocka_unit_test(many_rows_come_to_their_places),
        cmocka_unit_test(joint_covariances_and_draws_are_those_of_the_mixture),
        cmocka_unit_test(counts_are_drawn_from_their_mixture),
        cmocka_unit_test(a_mixture_without_a_joint_refuses_draws),
        cmocka_unit_test(rates_out_of_bounds_are_told_of_mixtures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
