/* Counts that vary more than Poisson's: at rate m = e exp(f + offset), e the exposure, the variance is m + a m^2,
   a = dispersion.
       l   = S(a) - log y! + y log m - (y + 1/a) log(1 + a m),   S(a) = sum_{j < y} log(1 + a j)
       l'  = y - (1 + a y) m / (1 + a m),   l'' = -(1 + a y) m / (1 + a m)^2
       dl/da = S'(a) + m^2 g(a m) - y m / (1 + a m),   g(x) = [log(1 + x) - x/(1 + x)] / x^2
   in this form nothing cancels as a -> 0, where it is Poisson's.  Expectations and predictions by quadrature;
   P(y <= k | m) = I_{1/(1 + a m)}(1/a, k + 1).  log m is held in bounds. */
#include "likelihood/counts.h"
#include "likelihood/quadrature.h"
#include "base/special.h"

enum { DISPERSION, OFFSET };

static const likelihood_option options[] = {
    {.param = {.name = "dispersion", .start = 0.5, .lower = 1e-6, .prior_mean = -1, .prior_sd = 2}},
    {.param = {.name = "offset", .prior_sd = 10, .real = true}},
};

static void start(likelihood *l, int64_t n, const double *Y, const double *w)
{
    if (!l->param[OFFSET].given) l->value[OFFSET] = counts_offset(l, n, Y, w);
}

/* ------------------------------------------------------------------------------------------- S and S' */

enum { SUMMED = 64 }; /* terms added one by one; the rest by Euler and Maclaurin, to 1e-12 */

/* Antiderivative, value, first and third derivative at j of log(1 + a j) and of its derivative in a, j / (1 + a j). */
static void antiderivatives(double a, double j, double *of_log, double *of_share)
{
    double x = a * j, u = 1 + x, l = log1p(x), d = a / u, s = 1 / (u * u);
    *of_log = (u * l - x) / a - 0.5 * l + d / 12 - d * d * d / 360;
    *of_share = (x - l) / (a * a) - 0.5 * j / u + s / 12 - d * d * s / 120;
}

/* S(a) and its derivative. */
static double spread_sum(double a, double y, double *slope)
{
    double sum = 0, first, last, first_slope, last_slope;
    *slope = 0;
    for (double j = 0; j < fmin(y, SUMMED); j++) sum += log1p(a * j), *slope += j / (1 + a * j);
    if (y <= SUMMED) return sum;
    antiderivatives(a, SUMMED, &first, &first_slope);
    antiderivatives(a, y, &last, &last_slope);
    *slope += last_slope - first_slope;
    return sum + last - first;
}

/* m^2 g(a m) */
static double excess(double a, double m)
{
    double x = a * m;
    if (x < 1e-3) return m * m * (0.5 - x * (2.0 / 3 - x * (0.75 - x * 0.8)));
    return (log1p(x) - x / (1 + x)) / (a * a);
}

/* ------------------------------------------------------------------------------------- expectations */

static void row(const likelihood *l, const double *y, latent_row *r)
{
    double a = l->value[DISPERSION], unit = bounded_log(exposure_in(l, y)) + l->value[OFFSET], slope;
    double constant = spread_sum(a, y[0], &slope) - log_gamma(y[0] + 1);
    *r = (latent_row){.y = y, .centre = -log(a) - unit, .width = 1.5, .constant = {unit, constant, slope}};
}

static void at(const likelihood *l, const latent_row *r, int64_t n, const double *f, double (*out)[QUADRATURE_MOST])
{
    double a = l->value[DISPERSION], y = r->y[0];
    for (int64_t k = 0; k < n; k++) {
        double log_m = f[k] + r->constant[0], m = bounded_exp(log_m), ratio = m / (1 + a * m);
        out[0][k] = r->constant[1] + y * log_m - (y + 1 / a) * log1p(a * m);
        out[1][k] = y - (1 + a * y) * ratio;
        out[2][k] = -(1 + a * y) * ratio / (1 + a * m);
        out[3][k] = r->constant[2] + excess(a, m) - y * ratio;
        out[4][k] = 0;
    }
}

static void params(const likelihood *l, const latent_row *r, const double *e, double w, double *dparam)
{
    (void)l, (void)r;
    dparam[DISPERSION] += w * e[3];
    dparam[OFFSET] += w * e[1];
}

static const latent_ops latent = {.row = row, .at = at, .params = params};

static double expect(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                     const double *var, int64_t ld, random_stream random, int64_t first, double *dmu, double *dvar,
                     double *dparam)
{
    (void)ld, (void)random, (void)first;
    return latent_expect(&latent, l, n, Y, w, mu, var, dmu, dvar, dparam);
}

/* -------------------------------------------------------------------------------------- predictions */

static void log_predictive(const likelihood *l, int64_t n, const double *Y, const double *mu, const double *var,
                           int64_t ld, double *out)
{
    (void)ld;
    latent_log_predictive(&latent, l, n, Y, mu, var, out);
}

/* E[m] = M = exp(log unit + mu + var/2);  var y = M + M^2 ((1 + a) exp(var) - 1) */
static void moments(const likelihood *l, int64_t n, const double *exposure, const double *mu, const double *var,
                    int64_t ld, double *mean, double *variance)
{
    (void)ld;
    for (int64_t i = 0; i < n; i++) {
        double unit = bounded_log(exposure_at(exposure, i)) + l->value[OFFSET];
        double log_mean = bounded(unit + mu[i] + 0.5 * var[i], EXPONENT_MOST);
        double grown = var[i] + log1p(l->value[DISPERSION]);
        double log_spread = grown > 1 ? grown + log1p(-exp(-grown)) : log(expm1(grown));
        mean[i] = exp(log_mean);
        variance[i] = mean[i] + exp(fmin(2 * log_mean + log_spread, 2 * EXPONENT_MOST));
    }
}

static double cdf_given_rate(double k, double rate, double a) { return beta_lower(1 / a, k + 1, 1 / (1 + a * rate)); }

static void cdf(const likelihood *l, int64_t n, const double *y, const double *exposure, const double *mu,
                const double *var, int64_t ld, double *out)
{
    (void)ld;
    double a = l->value[DISPERSION];
    for (int64_t i = 0; i < n; i++) {
        double width = fmin(1, sqrt(a + 1 / (fmax(y[i], 0) + 1)));
        out[i] = count_predictive_cdf(cdf_given_rate, a, y[i], bounded_log(exposure_at(exposure, i)) + l->value[OFFSET],
                                      mu[i], var[i], width);
    }
}

static void draw(const likelihood *l, int64_t n, const double *exposure, const double *f, int64_t ld,
                 random_stream random, double *y)
{
    (void)ld;
    for (int64_t i = 0; i < n; i++) {
        double rate = bounded_exp(bounded_log(exposure_at(exposure, i)) + l->value[OFFSET] + f[i]);
        y[i] = count_draw(cdf_given_rate, rate, l->value[DISPERSION], random_uniform(random, (uint64_t)i));
    }
}

static double density(const likelihood *l, const double *y, const double *f)
{
    double r = 1 / l->value[DISPERSION], m = exposure_in(l, y) * exp(f[0] + l->value[OFFSET]);
    return log_gamma(y[0] + r) - log_gamma(r) - log_gamma(y[0] + 1) + r * log(r / (r + m)) + y[0] * log(m / (r + m));
}

const likelihood_ops likelihood_negbin = {
    .name = "negbin",
    .summary = "counts that vary more than Poisson's",
    .target = TARGET_COUNT,
    .concave = true,
    .exposure = true,
    .latents = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .start = start,
    .expect = expect,
    .log_predictive = log_predictive,
    .moments = moments,
    .cdf = cdf,
    .draw = draw,
    .density = density,
};
