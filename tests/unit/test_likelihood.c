/* Every likelihood of the table against sums over fine grids of its density: expectations and their derivatives, predictions,
   draws; then what only some have. */
#include <string.h>

#include "likelihood/mixture.h"
#include "support.h"

enum { MOST_LATENTS = 3, MOST_PARAMS = 8 };

typedef struct like_case {
    const char *text;
    int64_t classes;
    bool exposure;
    int targets;
    double y[4];
} like_case;

static const like_case cases[] = {
    {"gaussian(noise=0.3)", 0, false, 2, {0.4, -2.5}},
    {"bernoulli", 2, false, 2, {0, 1}},
    {"bernoulli(probit)", 2, false, 2, {0, 1}},
    {"poisson(offset=0.3)", 0, false, 4, {0, 1, 3, 40}},
    {"poisson(offset=-0.2)", 0, true, 3, {0, 2, 9}},
    {"laplace(scale=0.4)", 0, false, 3, {0.4, -2.5, 9}},
    {"studentt(scale=0.3,df=6)", 0, false, 3, {0.4, -2.5, 9}},
    {"studentt(scale=0.6,df=40)", 0, false, 2, {0.4, -2.5}},
    {"negbin(dispersion=0.3,offset=0.3)", 0, false, 4, {0, 1, 3, 90}},
    {"negbin(dispersion=2,offset=-0.3)", 0, true, 3, {0, 1, 9}},
    {"ordinal(threshold=-0.8)", 2, false, 2, {0, 1}},
    {"ordinal(threshold=-0.8,increment1=0.7,increment2=1.5)", 4, false, 4, {0, 1, 2, 3}},
    {"softmax(samples=20)", 3, false, 3, {0, 1, 2}},
    {"robustmax", 3, false, 3, {0, 1, 2}},
    {"robustmax(epsilon=0.05)", 2, false, 2, {0, 1}},
    {"heteroscedastic(offset=-0.7)", 0, false, 3, {0.4, -2.5, 9}},
};
enum { CASES = sizeof cases / sizeof *cases };

/* One row's latents: mean and variance of the first, from which the others are made. */
static const struct {
    double mu, var;
} places[] = {{0.3, 0.5}, {-1.2, 2}, {0.7, 9}, {0.9, 1e-4}, {-0.5, 0.04}};
enum { LATENTS = sizeof places / sizeof *places };

typedef struct row_case {
    likelihood l;
    double y[2];
    double mu[MOST_LATENTS], var[MOST_LATENTS];
    bool sampled; /* expectations by Monte Carlo */
} row_case;

static void open_case(const like_case *c, likelihood *l)
{
    anygp_error e = {0};
    if (ANYGP_FAILED(likelihood_parse(c->text, l, &e)) || ANYGP_FAILED(likelihood_open(l, c->classes, c->exposure, &e)))
        print_error("%s: %s\n", c->text, e.text), _fail(__FILE__, __LINE__);
}

static void make_row(const like_case *c, int target, int latent, row_case *r)
{
    *r = (row_case){0};
    open_case(c, &r->l);
    assert_true(r->l.latents <= MOST_LATENTS && r->l.params <= MOST_PARAMS);
    r->y[0] = c->y[target], r->y[1] = 1.7;
    r->sampled = !strcmp(r->l.ops->name, "softmax");
    for (int64_t k = 0; k < r->l.latents; k++) {
        r->mu[k] = places[latent].mu - 0.4 * (double)k;
        r->var[k] = places[latent].var * (1 + 0.3 * (double)k);
    }
}

/* What is integrated over the latents. */
typedef double (*integrand)(const row_case *r, const double *f);

static double log_density(const row_case *r, const double *f) { return r->l.ops->density(&r->l, r->y, f); }
static double plain_density(const row_case *r, const double *f) { return exp(log_density(r, f)); }

/* A sum over a grid through `anchor`, at the row's own latents; the grid does not move when mu and var do. */
typedef struct grid {
    double anchor, step[MOST_LATENTS], reach;
} grid;

static grid make_grid(const row_case *r, bool fine)
{
    const double per_sd[] = {0, 400, fine ? 25 : 6, 3};
    int64_t C = r->l.latents;
    grid out = {.anchor = C == 1 ? r->y[0] : 0, .reach = C == 3 ? 6 : 11};
    for (int64_t k = 0; k < C; k++) out.step[k] = sqrt(r->var[k]) / per_sd[C];
    if (C == 1) out.step[0] = fmin(out.step[0], 0.02);
    return out;
}

static double grid_sum(const grid *q, const row_case *r, integrand g, int64_t k, double *f)
{
    if (k == r->l.latents || k == MOST_LATENTS) return g(r, f);
    double h = q->step[k], reach = q->reach * sqrt(r->var[k]), sum = 0;
    double from = ceil((r->mu[k] - reach - q->anchor) / h), to = floor((r->mu[k] + reach - q->anchor) / h);
    for (double i = from; i <= to; i++) {
        f[k] = q->anchor + h * i;
        double z = f[k] - r->mu[k];
        sum += exp(-0.5 * z * z / r->var[k]) * grid_sum(q, r, g, k + 1, f);
    }
    return sum * h / sqrt(2 * 3.14159265358979323846 * r->var[k]);
}

static double brute(const grid *q, const row_case *r, integrand g)
{
    double f[MOST_LATENTS] = {0};
    return grid_sum(q, r, g, 0, f);
}

/* The derivative of the brute expectation in *x, a member of r. */
static double brute_slope(const grid *q, row_case *r, double *x, double h)
{
    double x0 = *x;
    *x = x0 + h;
    double up = brute(q, r, log_density);
    *x = x0 - h;
    double down = brute(q, r, log_density);
    *x = x0;
    return (up - down) / (2 * h);
}

/* Expectations of one row and their derivatives; means over many draws where they are sampled. */
typedef struct expectations {
    double value, dmu[MOST_LATENTS], dvar[MOST_LATENTS], dparam[MOST_PARAMS];
} expectations;

static void add_expectations(const row_case *r, int64_t row, double weight, expectations *e)
{
    double dmu[MOST_LATENTS], dvar[MOST_LATENTS];
    random_stream s = {.seed = 1, .use = RANDOM_TEST};
    e->value += r->l.ops->expect(&r->l, 1, r->y, &weight, r->mu, r->var, 1, s, row, dmu, dvar, e->dparam);
    for (int64_t k = 0; k < r->l.latents; k++) e->dmu[k] += dmu[k], e->dvar[k] += dvar[k];
}

static expectations expect_row(const row_case *r)
{
    expectations e = {0};
    int64_t times = r->sampled ? 2000 : 1;
    for (int64_t i = 0; i < times; i++) add_expectations(r, i, 1 / (double)times, &e);
    return e;
}

static void check_row_expectations(row_case *r, double tolerance)
{
    grid q = make_grid(r, false);
    expectations e = expect_row(r);
    check_close(e.value, brute(&q, r, log_density), tolerance);
    for (int64_t k = 0; k < r->l.latents; k++) {
        double sd = sqrt(r->var[k]);
        check_close(e.dmu[k] * sd, brute_slope(&q, r, &r->mu[k], 1e-3 * sd) * sd, 1e-5 + tolerance);
        check_close(e.dvar[k] * r->var[k], brute_slope(&q, r, &r->var[k], 1e-3 * r->var[k]) * r->var[k],
                    1e-5 + tolerance);
        if (r->l.ops->concave) assert_true(e.dvar[k] <= 0);
    }
    for (int64_t k = 0; k < r->l.params; k++)
        check_close(e.dparam[k], brute_slope(&q, r, &r->l.value[k], 1e-4 * fmax(0.1, fabs(r->l.value[k]))),
                    1e-5 + tolerance);
}

/* Runs `check` on every target of every case at every latent. */
static void for_all(void (*check)(row_case *r))
{
    for (int c = 0; c < CASES; c++)
        for (int t = 0; t < cases[c].targets; t++)
            for (int k = 0; k < LATENTS; k++) {
                row_case r;
                make_row(&cases[c], t, k, &r);
                check(&r);
            }
}

/* robustmax has a jump, where a grid in three dimensions is coarse: it has its own test below. */
static bool has_jump(const row_case *r) { return !strcmp(r->l.ops->name, "robustmax"); }

/* The grid's own error at a kink. */
static bool has_kink(const row_case *r) { return !strcmp(r->l.ops->name, "laplace"); }

static void check_expectations(row_case *r)
{
    if (!has_jump(r)) check_row_expectations(r, r->sampled ? 5e-3 : has_kink(r) ? 2e-5 : 2e-7);
}

static void expectations_and_derivatives_are_those_of_the_density(void **state)
{
    (void)state;
    for_all(check_expectations);
}

/* P(f_y is the largest of the latents): a sum over f_y alone, the others by their cdf. */
static double largest_share(const row_case *r)
{
    static const double h = 2e-3;
    int64_t y = (int64_t)r->y[0];
    double sum = 0;
    for (double z = -9; z < 9; z += h) {
        double f = r->mu[y] + sqrt(r->var[y]) * z, p = h * exp(-0.5 * z * z) / sqrt(2 * 3.14159265358979323846);
        for (int64_t c = 0; c < r->l.latents; c++)
            if (c != y) p *= 0.5 * erfc((r->mu[c] - f) / sqrt(2 * r->var[c]));
        sum += p;
    }
    return sum;
}

static double robustmax_value(void *ctx, const double *x)
{
    const row_case *given = ctx;
    row_case r = *given;
    memcpy(r.mu, x, sizeof r.mu);
    memcpy(r.var, x + MOST_LATENTS, sizeof r.var);
    double P = largest_share(&r), eps = r.l.value[0];
    return P * log(1 - eps) + (1 - P) * log(eps / (double)(r.l.classes - 1));
}

static void check_robustmax(row_case *r)
{
    if (!has_jump(r)) return;
    double x[2 * MOST_LATENTS], eps = r->l.value[0], P = largest_share(r), out;
    expectations e = expect_row(r);
    memcpy(x, r->mu, sizeof r->mu);
    memcpy(x + MOST_LATENTS, r->var, sizeof r->var);
    check_close(e.value, robustmax_value(r, x), 1e-7);
    check_close(e.dparam[0], (1 - P) / eps - P / (1 - eps), 1e-7);
    for (int64_t k = 0; k < r->l.latents; k++) {
        double sd = sqrt(r->var[k]);
        check_close(e.dmu[k] * sd, central_difference(robustmax_value, r, x, k, 1e-3 * sd) * sd, 1e-5);
        check_close(e.dvar[k] * sd * sd,
                    central_difference(robustmax_value, r, x, MOST_LATENTS + k, 1e-3 * sd * sd) * sd * sd, 1e-5);
    }
    r->l.ops->log_predictive(&r->l, 1, r->y, r->mu, r->var, 1, &out);
    check_close(exp(out), P * (1 - eps) + (1 - P) * eps / (double)(r->l.classes - 1), 1e-7);
}

static void robustmax_is_the_share_of_the_largest(void **state)
{
    (void)state;
    for_all(check_robustmax);
}

/* ------------------------------------------------------------------------- robustmax, any widths */

enum { WIDTH_CLASSES = 5, WIDTH_BREAKS = 9 };

/* Means and sds of C latents, of which the first is to win. */
typedef struct width_case {
    int64_t C;
    double x[2 * WIDTH_CLASSES]; /* means, then variances */
} width_case;

static double width_integrand(const width_case *r, double f)
{
    const double *mu = r->x, *var = r->x + WIDTH_CLASSES;
    double p = exp(-0.5 * (f - mu[0]) * (f - mu[0]) / var[0]) / sqrt(2 * 3.14159265358979323846 * var[0]);
    for (int64_t c = 1; c < r->C; c++) p *= 0.5 * erfc((mu[c] - f) / sqrt(2 * var[c]));
    return p;
}

/* Adaptive Simpson's rule, given the integrand at the ends and in the middle. */
static double adaptive(const width_case *r, double a, double b, const double at[3], double tolerance, int depth)
{
    double m = 0.5 * (a + b), whole = (b - a) / 6 * (at[0] + 4 * at[1] + at[2]);
    double left[3] = {at[0], width_integrand(r, 0.5 * (a + m)), at[1]};
    double right[3] = {at[1], width_integrand(r, 0.5 * (m + b)), at[2]};
    double halves = (b - a) / 12 * (left[0] + 4 * left[1] + 2 * at[1] + 4 * right[1] + right[2]);
    if (depth == 0 || fabs(halves - whole) < 15 * tolerance) return halves + (halves - whole) / 15;
    return adaptive(r, a, m, left, tolerance / 2, depth - 1) + adaptive(r, m, b, right, tolerance / 2, depth - 1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Over the pieces between -8 .. 8 sd of every latent. */
static double width_share(void *ctx, const double *x)
{
    width_case r = *(const width_case *)ctx;
    double breaks[WIDTH_CLASSES * WIDTH_BREAKS], sum = 0;
    int64_t n = r.C * WIDTH_BREAKS;
    memcpy(r.x, x, sizeof r.x);
    for (int64_t i = 0; i < n; i++) {
        int64_t c = i / WIDTH_BREAKS, k = i % WIDTH_BREAKS - WIDTH_BREAKS / 2;
        breaks[i] = x[c] + 2 * (double)k * sqrt(x[WIDTH_CLASSES + c]);
    }
    qsort(breaks, (size_t)n, sizeof *breaks, by_value);
    for (int64_t i = 0; i + 1 < n; i++) {
        double a = breaks[i], b = breaks[i + 1], m = 0.5 * (a + b);
        double at[3] = {width_integrand(&r, a), width_integrand(&r, m), width_integrand(&r, b)};
        sum += adaptive(&r, a, b, at, 1e-13, 30);
    }
    return sum;
}

static double width_slope(width_case *r, int64_t k, double h)
{
    double near = central_difference(width_share, r, r->x, k, h);
    return (4 * near - central_difference(width_share, r, r->x, k, 2 * h)) / 3;
}

static void check_widths(width_case *r, const likelihood *l)
{
    double y = 0, one = 1, dmu[WIDTH_CLASSES], dvar[WIDTH_CLASSES], dparam = 0, out, all[WIDTH_CLASSES];
    const double *mu = r->x, *var = r->x + WIDTH_CLASSES;
    double eps = l->value[0], odds = log((1 - eps) / (eps / (double)(r->C - 1))), P = width_share(r, r->x);
    random_stream none = {0};
    l->ops->expect(l, 1, &y, &one, mu, var, 1, none, 0, dmu, dvar, &dparam);
    check_close((1 / eps - dparam) * eps * (1 - eps), P, 1e-8); /* dparam = (1 - P)/eps - P/(1 - eps) */
    for (int64_t k = 0; k < r->C; k++) {
        double sd = sqrt(var[k]);
        check_close(dmu[k] / odds * sd, width_slope(r, k, 3e-3 * sd) * sd, 1e-6);
        check_close(dvar[k] / odds * var[k], width_slope(r, WIDTH_CLASSES + k, 3e-3 * var[k]) * var[k], 1e-6);
    }
    l->ops->log_predictive(l, 1, &y, mu, var, 1, &out);
    l->ops->probabilities(l, 1, mu, var, 1, all, 1);
    check_close(exp(out), P * (1 - eps) + (1 - P) * eps / (double)(r->C - 1), 1e-8);
    check_close(all[0], exp(out), 1e-8);
}

static void robustmax_resolves_rivals_of_any_width(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 60; i++) {
        random_stream s = {.seed = 7, .use = RANDOM_TEST, .sub = i};
        width_case r = {.C = 2 + (int64_t)(i % (WIDTH_CLASSES - 1))};
        like_case c = {.text = "robustmax(epsilon=0.01)", .classes = r.C};
        likelihood l;
        open_case(&c, &l);
        for (int64_t k = 0; k < r.C; k++) {
            r.x[k] = random_normal(s, (uint64_t)(2 * k)) * (i % 3 ? 1 : 0.05);
            r.x[WIDTH_CLASSES + k] = pow(10, -4 + 6 * random_uniform(s, (uint64_t)(2 * k + 1)));
        }
        check_widths(&r, &l);
    }
}

/* Many alike: none is likelier than another. */
static void robustmax_of_equals_is_one_over_their_number(void **state)
{
    enum { MANY = 500 };
    double mu[MANY], var[MANY], P[MANY], out, y = 3;
    like_case c = {.text = "robustmax(epsilon=0.01)", .classes = MANY};
    likelihood l;
    (void)state;
    open_case(&c, &l);
    for (int i = 0; i < MANY; i++) mu[i] = 0.2, var[i] = 0.49;
    l.ops->log_predictive(&l, 1, &y, mu, var, 1, &out);
    l.ops->probabilities(&l, 1, mu, var, 1, P, 1);
    check_close(exp(out) * MANY, 1, 1e-7);
    check_close(P[3] * MANY, 1, 1e-12);
}

static double log_predictive(const row_case *r, double y)
{
    double out, Y[2] = {y, r->y[1]};
    r->l.ops->log_predictive(&r->l, 1, Y, r->mu, r->var, 1, &out);
    return out;
}

static void check_log_predictive(row_case *r)
{
    if (has_jump(r) || (r->l.latents == 2 && r->var[1] > 1)) return; /* peaks too narrow for a grid in two dimensions */
    grid q = make_grid(r, true);
    double truth = brute(&q, r, plain_density), tolerance = r->sampled ? 8e-3 : has_kink(r) ? 2e-5 : 1e-7;
    check_close(exp(log_predictive(r, r->y[0])), truth, tolerance);
    if (truth > 1e-250 && !r->sampled) check_close(log_predictive(r, r->y[0]), log(truth), 10 * tolerance);
}

static void log_predictive_is_the_integral_of_the_density(void **state)
{
    (void)state;
    for_all(check_log_predictive);
}

static void check_probabilities(row_case *r)
{
    if (!r->l.ops->probabilities) return;
    double P[8], sum = 0;
    r->l.ops->probabilities(&r->l, 1, r->mu, r->var, 1, P, 1);
    for (int64_t k = 0; k < r->l.classes; k++) {
        sum += P[k];
        check_close(P[k], exp(log_predictive(r, (double)k)), 1e-8);
    }
    check_close(sum, 1, 1e-12);
}

static void probabilities_are_the_predictive_and_add_to_one(void **state)
{
    (void)state;
    for_all(check_probabilities);
}

/* ---------------------------------------------------------------------------------------------- moments */

/* Sums of y^k p(y) over counts, or over y = mean + sd sinh(t). */
typedef struct sums {
    double mass, mean, square;
} sums;

static void add_at(const row_case *r, double y, double length, double centre, sums *s)
{
    double p = exp(log_predictive(r, y)) * length, d = y - centre;
    s->mass += p, s->mean += p * d, s->square += p * d * d;
}

/* Up to y = most; real targets on a grid that is fine near mean, with its last node at most. */
static sums predictive_sums(const row_case *r, double most, double centre, double sd)
{
    static const double h = 0.01;
    sums s = {0};
    if (r->l.ops->target == TARGET_COUNT) {
        for (double y = 0; y <= most; y++) add_at(r, y, 1, centre, &s);
        return s;
    }
    double last = asinh((most - centre) / sd);
    for (int64_t k = 0; last - h * (double)k > -12; k++) {
        double t = last - h * (double)k;
        add_at(r, centre + sd * sinh(t), (k ? h : 0.5 * h) * sd * cosh(t), centre, &s);
    }
    return s;
}

static const double *exposure_of(const row_case *r) { return r->l.columns > 1 ? &r->y[1] : NULL; }

static void check_moments(row_case *r)
{
    double mean, variance;
    if (r->l.ops->target == TARGET_CLASS || r->y[0] > 10) return;
    if (r->l.ops->target == TARGET_COUNT && r->var[0] > 0.6) return; /* the sum would be too long */
    r->l.ops->moments(&r->l, 1, exposure_of(r), r->mu, r->var, 1, &mean, &variance);
    double sd = sqrt(variance);
    sums s = predictive_sums(r, r->l.ops->target == TARGET_COUNT ? 2500 : mean + 8e4 * sd, mean, sd);
    check_close(s.mass, 1, 1e-6);
    check_close(s.mean / sd, 0, 1e-5);
    check_close(s.square / variance, 1, 1e-4);
}

static void moments_are_sums_over_the_predictive(void **state)
{
    (void)state;
    for_all(check_moments);
}

static double cdf_at(const row_case *r, double y)
{
    double P;
    r->l.ops->cdf(&r->l, 1, &y, exposure_of(r), r->mu, r->var, 1, &P);
    return P;
}

static void check_cdf(row_case *r)
{
    double mean, variance;
    if (!r->l.ops->cdf) return;
    r->l.ops->moments(&r->l, 1, exposure_of(r), r->mu, r->var, 1, &mean, &variance);
    sums s = predictive_sums(r, r->y[0], fmin(mean, 10), fmin(sqrt(variance), 10));
    check_close(cdf_at(r, r->y[0]), s.mass, 4e-5); /* the trapezoidal rule's, at the end */
    if (r->l.ops->target == TARGET_COUNT) check_close(cdf_at(r, -1), 0, 0);
}

static void cdf_is_the_sum_of_the_predictive(void **state)
{
    (void)state;
    for_all(check_cdf);
}

static void check_quantiles(row_case *r)
{
    static const double ps[] = {0.025, 0.3, 0.975};
    for (int k = 0; k < 3 && r->l.ops->target != TARGET_CLASS; k++) {
        double y;
        mixture_quantiles(&r->l, &(latents){1, r->mu, r->var, 1, 1, 0, NULL}, ps[k], exposure_of(r), &y);
        if (r->l.ops->target == TARGET_COUNT) {
            assert_true(y >= 0 && y == floor(y) && cdf_at(r, y) >= ps[k]);
            assert_true(y == 0 || cdf_at(r, y - 1) < ps[k]);
        } else if (r->l.ops->cdf) {
            check_close(cdf_at(r, y), ps[k], 1e-8);
        } else {
            double sd = sqrt(r->var[0] + r->l.value[0]);
            check_close(0.5 * erfc((r->mu[0] - y) / sd * sqrt(0.5)), ps[k], 1e-12);
        }
    }
}

static void quantiles_invert_the_cdf(void **state)
{
    (void)state;
    for_all(check_quantiles);
}

/* ------------------------------------------------------------------------------------------------ draws */

enum { DRAWS = 20000 };

/* DRAWS of y: f from the latents, then y given f. */
static void draw_targets(const row_case *r, double *y)
{
    static double f[MOST_LATENTS * DRAWS], exposure[DRAWS];
    int64_t C = r->l.latents;
    for (int64_t k = 0; k < C; k++) {
        fill_normal((uint64_t)(100 + k), DRAWS, f + k * DRAWS);
        for (int64_t i = 0; i < DRAWS; i++) f[k * DRAWS + i] = r->mu[k] + sqrt(r->var[k]) * f[k * DRAWS + i];
    }
    for (int64_t i = 0; i < DRAWS; i++) exposure[i] = r->y[1];
    random_stream s = {.seed = 5, .use = RANDOM_TEST};
    r->l.ops->draw(&r->l, DRAWS, exposure_of(r) ? exposure : NULL, f, DRAWS, s, y);
}

static void check_frequencies(const row_case *r, const double *y)
{
    double P[8];
    r->l.ops->probabilities(&r->l, 1, r->mu, r->var, 1, P, 1);
    for (int64_t k = 0; k < r->l.classes; k++) {
        int64_t count = 0;
        for (int64_t i = 0; i < DRAWS; i++) count += y[i] == (double)k;
        double error = sqrt(P[k] * (1 - P[k]) / DRAWS) + (r->sampled ? 2e-3 : 0);
        assert_true(fabs((double)count / DRAWS - P[k]) <= 5 * error + 1e-12);
    }
}

/* The share below each of some y, against the cdf: moments of heavy tails would converge too slowly. */
static void check_shares(const row_case *r, const double *y)
{
    static const double ps[] = {0.1, 0.5, 0.9};
    for (int k = 0; k < 3; k++) {
        double at;
        mixture_quantiles(&r->l, &(latents){1, r->mu, r->var, 1, 1, 0, NULL}, ps[k], exposure_of(r), &at);
        double P = r->l.ops->cdf ? cdf_at(r, at) : ps[k];
        int64_t count = 0;
        for (int64_t i = 0; i < DRAWS; i++) count += y[i] <= at;
        assert_true(fabs((double)count / DRAWS - P) <= 5 * sqrt(P * (1 - P) / DRAWS) + 1e-12);
    }
}

static void draws_follow_the_predictive(void **state)
{
    static double y[DRAWS];
    (void)state;
    for (int c = 0; c < CASES; c++)
        for (int k = 0; k < 2; k++) {
            row_case r;
            make_row(&cases[c], 0, k, &r);
            draw_targets(&r, y);
            for (int64_t i = 0; i < DRAWS; i++) assert_null(likelihood_objection(&r.l, y[i]));
            (r.l.ops->probabilities ? check_frequencies : check_shares)(&r, y);
        }
}

/* --------------------------------------------------------------------------------------------- extremes */

static void check_finite(row_case *r)
{
    double out, out2, P[8] = {0}, dmu[MOST_LATENTS], dvar[MOST_LATENTS], dparam[MOST_PARAMS] = {0};
    random_stream s = {.seed = 1, .use = RANDOM_TEST};
    assert_true(isfinite(r->l.ops->expect(&r->l, 1, r->y, NULL, r->mu, r->var, 1, s, 0, dmu, dvar, dparam)));
    for (int64_t k = 0; k < r->l.latents; k++) {
        assert_true(isfinite(dmu[k]) && isfinite(dvar[k]));
        if (r->l.ops->concave) assert_true(dvar[k] <= 0);
    }
    for (int64_t k = 0; k < r->l.params; k++) assert_true(isfinite(dparam[k]));
    assert_true(isfinite(log_predictive(r, r->y[0])));
    if (r->l.ops->moments) {
        r->l.ops->moments(&r->l, 1, exposure_of(r), r->mu, r->var, 1, &out, &out2);
        assert_true(isfinite(out) && isfinite(out2) && out2 > 0);
        mixture_quantiles(&r->l, &(latents){1, r->mu, r->var, 1, 1, 0, NULL}, 0.975, exposure_of(r), &out);
        assert_true(isfinite(out));
    }
    if (r->l.ops->probabilities) r->l.ops->probabilities(&r->l, 1, r->mu, r->var, 1, P, 1);
    for (int64_t k = 0; k < r->l.classes; k++) assert_true(P[k] >= 0 && P[k] <= 1);
}

static void extreme_arguments_stay_finite(void **state)
{
    static const double mus[] = {0, -30, 1e3, -1e3, 1e8, -1e8}, vars[] = {0, 1e-30, 1e-3, 1e4, 1e10};
    (void)state;
    for (int c = 0; c < CASES; c++)
        for (int t = 0; t < cases[c].targets; t++)
            for (int k = 0; k < 30; k++)
                for (int which = 0; which < 2; which++) {
                    row_case r;
                    make_row(&cases[c], t, 0, &r);
                    for (int64_t i = 0; i < r.l.latents; i++) {
                        r.mu[i] = which && i ? 0 : mus[k / 5] * (i % 2 ? -1 : 1);
                        r.var[i] = vars[k % 5];
                    }
                    check_finite(&r);
                }
}

/* ---------------------------------------------------------------------------------------------- weights */

static void weights_are_repeated_rows(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        row_case r;
        double Y[8], mu[12], var[12], dmu[12], dvar[12], w[4] = {2, 0, 0.5, 1}, total = 0;
        make_row(&cases[c], 0, 0, &r);
        expectations sum = {0}, all = {0};
        for (int64_t i = 0; i < 4; i++) {
            row_case one;
            make_row(&cases[c], (int)i % cases[c].targets, (int)i, &one);
            expectations e = {0};
            add_expectations(&one, 7 + i, 1, &e);
            total += w[i] * e.value;
            memcpy(Y + i * r.l.columns, one.y, (size_t)r.l.columns * sizeof *Y);
            for (int64_t k = 0; k < r.l.latents; k++) mu[k * 4 + i] = one.mu[k], var[k * 4 + i] = one.var[k];
            for (int64_t k = 0; k < r.l.params; k++) sum.dparam[k] += w[i] * e.dparam[k];
        }
        random_stream s = {.seed = 1, .use = RANDOM_TEST};
        check_close(r.l.ops->expect(&r.l, 4, Y, w, mu, var, 4, s, 7, dmu, dvar, all.dparam), total, 1e-12);
        for (int64_t k = 0; k < r.l.params; k++) check_close(all.dparam[k], sum.dparam[k], 1e-12);
        for (int64_t k = 0; k < r.l.latents; k++) assert_true(dmu[k * 4 + 1] == 0 && dvar[k * 4 + 1] == 0);
    }
}

/* ------------------------------------------------------------------------------------------------- text */

static void every_likelihood_has_a_case(void **state)
{
    (void)state;
    for (int64_t i = 0; i < likelihood_count(); i++) {
        bool found = false;
        for (int c = 0; c < CASES; c++) {
            likelihood l;
            open_case(&cases[c], &l);
            found |= l.ops == likelihood_at(i);
        }
        assert_true(found);
    }
}

static void format_parses_back(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        likelihood l, back;
        anygp_error e;
        char *text;
        open_case(&cases[c], &l);
        for (int64_t k = 0; k < l.params; k++) l.value[k] *= 1 + 0x1p-52;
        assert_int_equal(likelihood_format(&l, l.value, 17, &text, &e), ANYGP_OK);
        like_case again = {.text = text, .classes = cases[c].classes, .exposure = cases[c].exposure};
        open_case(&again, &back);
        assert_ptr_equal(back.ops, l.ops);
        assert_int_equal(back.link, l.link);
        assert_int_equal(back.samples, l.samples);
        assert_int_equal(back.params, l.params);
        assert_memory_equal(back.value, l.value, (size_t)l.params * sizeof *l.value);
        free(text);
    }
}

static void bad_texts_are_refused_with_a_reason(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "expected the name"},
        {"gausian", "did you mean 'gaussian'"},
        {"gaussian(", "expected the name of an option"},
        {"gaussian(noise)", "expected = and a number"},
        {"gaussian(noise=x)", "expected a number at character 16"},
        {"gaussian(noise=1e999)", "expected a finite number"},
        {"gaussian(noise=-1)", "must be greater than"},
        {"gaussian(noise=1,noise=2)", "given twice"},
        {"gaussian(nois=1)", "did you mean 'noise'"},
        {"gaussian(noise=1", "expected , or ) at character 17"},
        {"gaussian(noise=1) x", "nothing more"},
        {"studentt(df=2)", "must be greater than 2"},
        {"softmax(samples=7)", "even number"},
        {"robustmax(epsilon=0.7)", "must be less than 0.5"},
        {"ordinal(increment0=1)", "no option"},
        {"bernoulli(probt)", "did you mean 'probit'"},
        {"poisson(offset=nan)", "expected a number at character 16"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        likelihood l;
        anygp_error e = {0};
        assert_int_equal(likelihood_parse(bad[i].text, &l, &e), ANYGP_ERR_ARGUMENT);
        if (!strstr(e.text, bad[i].says)) print_error("'%s': %s\n", bad[i].text, e.text), _fail(__FILE__, __LINE__);
    }
}

static void classes_and_exposure_are_checked(void **state)
{
    likelihood l;
    (void)state;
    assert_int_equal(likelihood_parse("bernoulli", &l, NULL), ANYGP_OK);
    assert_int_equal(likelihood_open(&l, 3, false, NULL), ANYGP_ERR_DATA);
    assert_int_equal(likelihood_open(&l, 1, false, NULL), ANYGP_ERR_DATA);
    assert_int_equal(likelihood_open(&l, 2, true, NULL), ANYGP_ERR_ARGUMENT);
    assert_int_equal(likelihood_open(&l, 2, false, NULL), ANYGP_OK);
    assert_null(likelihood_objection(&l, 1));
    assert_non_null(likelihood_objection(&l, 2));
    assert_int_equal(likelihood_parse("poisson", &l, NULL), ANYGP_OK);
    assert_null(likelihood_objection(&l, 1e6));
    assert_non_null(likelihood_objection(&l, 0.5));
    assert_non_null(likelihood_objection(&l, -1));
    assert_non_null(likelihood_objection(&l, INFINITY));
}

static void counts_start_at_the_mean_rate(void **state)
{
    static const double Y[] = {3, 2, 0, 1, 5, 4};
    static const double w[] = {1, 1, 2};
    likelihood l;
    (void)state;
    assert_int_equal(likelihood_parse("poisson", &l, NULL), ANYGP_OK);
    assert_int_equal(likelihood_open(&l, 0, true, NULL), ANYGP_OK);
    l.ops->start(&l, 3, Y, w);
    check_close(l.value[0], log(13.0 / 11), 1e-14);
    assert_int_equal(likelihood_parse("poisson(offset=2)", &l, NULL), ANYGP_OK);
    l.ops->start(&l, 3, Y, NULL);
    check_close(l.value[0], 2, 0);
}

static void ordinal_starts_at_the_frequencies(void **state)
{
    static const double Y[] = {0, 0, 0, 0, 1, 1, 2, 2, 2, 3};
    double mu = 0, var = 1, P[4];
    likelihood l;
    (void)state;
    assert_int_equal(likelihood_parse("ordinal", &l, NULL), ANYGP_OK);
    assert_int_equal(likelihood_open(&l, 4, false, NULL), ANYGP_OK);
    l.ops->start(&l, 10, Y, NULL);
    l.ops->probabilities(&l, 1, &mu, &var, 1, P, 1);
    check_close(P[0], 4.5 / 12, 1e-12); /* half a row more in each class */
    check_close(P[1], 2.5 / 12, 1e-12);
    check_close(P[3], 1.5 / 12, 1e-12);
}

static void ordinal_takes_as_many_increments_as_classes_allow(void **state)
{
    likelihood l;
    (void)state;
    assert_int_equal(likelihood_parse("ordinal(increment3=1)", &l, NULL), ANYGP_OK);
    assert_int_equal(likelihood_open(&l, 4, false, NULL), ANYGP_ERR_ARGUMENT);
    assert_int_equal(likelihood_parse("ordinal", &l, NULL), ANYGP_OK);
    assert_int_equal(likelihood_open(&l, LIKELIHOOD_PARAMS + 1, false, NULL), ANYGP_OK);
    assert_int_equal(l.params, LIKELIHOOD_PARAMS);
    assert_int_equal(likelihood_open(&l, LIKELIHOOD_PARAMS + 2, false, NULL), ANYGP_ERR_DATA);
}

static void heteroscedastic_starts_with_a_tenth_of_the_variance(void **state)
{
    static const double Y[] = {1, 3, 8};
    likelihood l;
    (void)state;
    assert_int_equal(likelihood_parse("heteroscedastic", &l, NULL), ANYGP_OK);
    l.ops->start(&l, 3, Y, NULL);
    check_close(l.value[0], log(0.1 * 26.0 / 3), 1e-14);
}

/* At degrees of freedom where differences of the gamma function cancel. */
static void studentt_tends_to_the_gaussian(void **state)
{
    static const double df[] = {1e9, 1e12, 1e15, 1e18, 1e60};
    static const double y[] = {0.4, -2.5, 3};
    (void)state;
    for (size_t i = 0; i < sizeof df / sizeof *df; i++)
        for (size_t k = 0; k < sizeof y / sizeof *y; k++) {
            row_case t, g;
            make_row(&(like_case){"studentt(scale=0.5)", 0, false, 1, {y[k]}}, 0, 0, &t);
            make_row(&(like_case){"gaussian(noise=0.25)", 0, false, 1, {y[k]}}, 0, 0, &g);
            t.l.value[1] = df[i];
            expectations a = expect_row(&t), b = expect_row(&g);
            check_close(a.value, b.value, 1e-7);
            check_close(a.dmu[0], b.dmu[0], 1e-7);
            check_close(a.dvar[0], b.dvar[0], 1e-7);
            check_close(a.dparam[0], b.dparam[0] * 2 * 0.5, 1e-6); /* noise = scale^2 */
            check_close(log_predictive(&t, y[k]), log_predictive(&g, y[k]), 1e-7);
            for (double p = 0.025; p < 1; p += 0.475) {
                double q, r;
                mixture_quantiles(&t.l, &(latents){1, t.mu, t.var, 1, 1, 0, NULL}, p, NULL, &q);
                mixture_quantiles(&g.l, &(latents){1, g.mu, g.var, 1, 1, 0, NULL}, p, NULL, &r);
                check_close(q, r, 1e-7);
            }
        }
}

/* Either side of the place where a series takes over from the difference. */
static void studentt_is_smooth_in_its_degrees_of_freedom(void **state)
{
    (void)state;
    for (double df = 59.9; df < 60.2; df += 0.2) {
        row_case r;
        make_row(&(like_case){"studentt(scale=0.5)", 0, false, 1, {0.9}}, 0, 0, &r);
        r.l.value[1] = df;
        double truth = lgamma(0.5 * (df + 1)) - lgamma(0.5 * df) - 0.5 * log(3.14159265358979323846 * df) - log(0.5);
        check_close(r.l.ops->density(&r.l, &(double){0}, &(double){0}), truth, 1e-13);
        expectations e = expect_row(&r);
        double h = 1e-3;
        r.l.value[1] = df + h;
        double up = expect_row(&r).value;
        r.l.value[1] = df - h;
        check_close(e.dparam[1], (up - expect_row(&r).value) / (2 * h), 1e-10);
    }
}

/* At a dispersion near 0, both are counts at the same rate; large counts take the sums' other road. */
static void negbin_tends_to_poisson(void **state)
{
    static const double Y[] = {0, 3, 500};
    double mu[] = {0.2, 1, 6}, var[] = {0.3, 0.1, 0.02}, dmu[3], dvar[3], dparam[2] = {0};
    random_stream s = {.seed = 1, .use = RANDOM_TEST};
    likelihood few, plain;
    (void)state;
    assert_int_equal(likelihood_parse("negbin(dispersion=1.0001e-6,offset=0)", &few, NULL), ANYGP_OK);
    assert_int_equal(likelihood_parse("poisson(offset=0)", &plain, NULL), ANYGP_OK);
    for (int i = 0; i < 3; i++) {
        double a = few.ops->expect(&few, 1, Y + i, NULL, mu + i, var + i, 1, s, 0, dmu, dvar, dparam);
        double b = plain.ops->expect(&plain, 1, Y + i, NULL, mu + i, var + i, 1, s, 0, dmu, dvar, dparam);
        check_close(a, b, 1e-3);
    }
}

/* A surprise of hundreds of standard deviations: the tail of the logit is exp(f), of which the integral is known. */
static void logit_of_a_surprise_is_its_tail(void **state)
{
    double y = 1, mu = -800, var = 4, out;
    likelihood l;
    (void)state;
    assert_int_equal(likelihood_parse("bernoulli", &l, NULL), ANYGP_OK);
    assert_int_equal(likelihood_open(&l, 2, false, NULL), ANYGP_OK);
    l.ops->log_predictive(&l, 1, &y, &mu, &var, 1, &out);
    check_close(out, mu + 0.5 * var, 1e-12);
}

/* Many classes: rows of a tile, and draws, do not depend on how rows are cut into calls. */
static void softmax_does_not_depend_on_the_cut(void **state)
{
    enum { N = 150, C = 40 };
    static double Y[N], mu[N * C], var[N * C], dmu[N * C], dvar[N * C], dmu2[N * C], dvar2[N * C];
    random_stream s = {.seed = 3, .use = RANDOM_TEST};
    likelihood l;
    (void)state;
    assert_int_equal(likelihood_parse("softmax(samples=24)", &l, NULL), ANYGP_OK);
    assert_int_equal(likelihood_open(&l, C, false, NULL), ANYGP_OK);
    fill_normal(1, N * C, mu);
    for (int64_t i = 0; i < N * C; i++) var[i] = 0.5 + mu[i] * mu[i];
    for (int64_t i = 0; i < N; i++) Y[i] = (double)(i % C);
    double whole = l.ops->expect(&l, N, Y, NULL, mu, var, N, s, 10, dmu, dvar, NULL), parts = 0;
    for (int64_t i = 0; i < N; i += 37) {
        int64_t n = N - i < 37 ? N - i : 37;
        parts += l.ops->expect(&l, n, Y + i, NULL, mu + i, var + i, N, s, 10 + i, dmu2 + i, dvar2 + i, NULL);
    }
    check_close(whole, parts, 1e-12);
    for (int64_t i = 0; i < N * C; i++) {
        check_close(dmu[i], dmu2[i], 1e-13);
        check_close(dvar[i], dvar2[i], 1e-13);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_likelihood_has_a_case),
        cmocka_unit_test(expectations_and_derivatives_are_those_of_the_density),
        cmocka_unit_test(log_predictive_is_the_integral_of_the_density),
        cmocka_unit_test(robustmax_is_the_share_of_the_largest),
        cmocka_unit_test(robustmax_resolves_rivals_of_any_width),
        cmocka_unit_test(robustmax_of_equals_is_one_over_their_number),
        cmocka_unit_test(probabilities_are_the_predictive_and_add_to_one),
        cmocka_unit_test(moments_are_sums_over_the_predictive),
        cmocka_unit_test(cdf_is_the_sum_of_the_predictive),
        cmocka_unit_test(quantiles_invert_the_cdf),
        cmocka_unit_test(draws_follow_the_predictive),
        cmocka_unit_test(extreme_arguments_stay_finite),
        cmocka_unit_test(weights_are_repeated_rows),
        cmocka_unit_test(format_parses_back),
        cmocka_unit_test(bad_texts_are_refused_with_a_reason),
        cmocka_unit_test(classes_and_exposure_are_checked),
        cmocka_unit_test(counts_start_at_the_mean_rate),
        cmocka_unit_test(ordinal_starts_at_the_frequencies),
        cmocka_unit_test(ordinal_takes_as_many_increments_as_classes_allow),
        cmocka_unit_test(heteroscedastic_starts_with_a_tenth_of_the_variance),
        cmocka_unit_test(studentt_tends_to_the_gaussian),
        cmocka_unit_test(studentt_is_smooth_in_its_degrees_of_freedom),
        cmocka_unit_test(negbin_tends_to_poisson),
        cmocka_unit_test(logit_of_a_surprise_is_its_tail),
        cmocka_unit_test(softmax_does_not_depend_on_the_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
