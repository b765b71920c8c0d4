/* Counts at rate r = e exp(f + offset), e the exposure:  log p(y | f) = y log r - r - log y!.
       E = y (log e + offset + mu) - e exp(offset + mu + var/2) - log y!
       mean of y: m = e exp(offset + mu + var/2),  variance: m + m^2 (exp(var) - 1)
   closed; the predictive probability and cdf, P(y <= k | r) = Q(k + 1, r), by quadrature.  log r is held in bounds. */
#include "likelihood/counts.h"
#include "likelihood/quadrature.h"
#include "base/special.h"

static const likelihood_option options[] = {
    {.param = {.name = "offset", .prior_sd = 10, .real = true}},
};

static void start(likelihood *l, int64_t n, const double *Y, const double *w)
{
    if (!l->param[0].given) l->value[0] = counts_offset(l, n, Y, w);
}

static double expect(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                     const double *var, int64_t ld, random_stream random, int64_t first, double *dmu, double *dvar,
                     double *dparam)
{
    (void)ld, (void)random, (void)first;
    double sum = 0, doffset = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *y = row_of(l, Y, i);
        double weight = weight_at(w, i), log_rate = bounded_log(exposure_in(l, y)) + l->value[0] + mu[i];
        double rate = bounded_exp(log_rate + 0.5 * var[i]);
        sum += weight * (y[0] * log_rate - rate - log_gamma(y[0] + 1));
        doffset += dmu[i] = weight * (y[0] - rate);
        dvar[i] = -0.5 * weight * rate;
    }
    dparam[0] += doffset;
    return sum;
}

/* The peak of p(y | f) is at rate y; that of y = 0 is nowhere, its bend where the rate is about 1. */
static void row(const likelihood *l, const double *y, latent_row *r)
{
    double unit = bounded_log(exposure_in(l, y)) + l->value[0];
    *r = (latent_row){.y = y,
                      .centre = log(fmax(y[0], 0.5)) - unit,
                      .width = 1 / sqrt(y[0] + 1),
                      .constant = {unit, log_gamma(y[0] + 1)}};
}

static void at(const likelihood *l, const latent_row *r, int64_t n, const double *f, double (*out)[QUADRATURE_MOST])
{
    (void)l;
    for (int64_t k = 0; k < n; k++) {
        double log_rate = f[k] + r->constant[0], rate = bounded_exp(log_rate);
        out[0][k] = r->y[0] * log_rate - rate - r->constant[1];
        out[1][k] = r->y[0] - rate;
        out[2][k] = -rate;
    }
}

static const latent_ops latent = {.row = row, .at = at};

static void log_predictive(const likelihood *l, int64_t n, const double *Y, const double *mu, const double *var,
                           int64_t ld, double *out)
{
    (void)ld;
    latent_log_predictive(&latent, l, n, Y, mu, var, out);
}

static void moments(const likelihood *l, int64_t n, const double *exposure, const double *mu, const double *var,
                    int64_t ld, double *mean, double *variance)
{
    (void)ld;
    for (int64_t i = 0; i < n; i++) {
        double log_mean =
            bounded(bounded_log(exposure_at(exposure, i)) + l->value[0] + mu[i] + 0.5 * var[i], EXPONENT_MOST);
        double log_spread = var[i] > 1 ? var[i] + log1p(-exp(-var[i])) : log(expm1(var[i]));
        mean[i] = exp(log_mean);
        variance[i] = mean[i] + exp(fmin(2 * log_mean + log_spread, 2 * EXPONENT_MOST));
    }
}

static double cdf_given_rate(double k, double rate, double shape)
{
    (void)shape;
    return gamma_upper(k + 1, rate);
}

static void cdf(const likelihood *l, int64_t n, const double *y, const double *exposure, const double *mu,
                const double *var, int64_t ld, double *out)
{
    (void)ld;
    for (int64_t i = 0; i < n; i++)
        out[i] = count_predictive_cdf(cdf_given_rate, 0, y[i], bounded_log(exposure_at(exposure, i)) + l->value[0],
                                      mu[i], var[i], 1 / sqrt(fmax(y[i], 0) + 1));
}

static void draw(const likelihood *l, int64_t n, const double *exposure, const double *f, int64_t ld,
                 random_stream random, double *y)
{
    (void)ld;
    for (int64_t i = 0; i < n; i++) {
        double rate = bounded_exp(bounded_log(exposure_at(exposure, i)) + l->value[0] + f[i]);
        y[i] = count_draw(cdf_given_rate, rate, 0, random_uniform(random, (uint64_t)i));
    }
}

static double density(const likelihood *l, const double *y, const double *f)
{
    double log_rate = log(exposure_in(l, y)) + f[0] + l->value[0];
    return y[0] * log_rate - exp(log_rate) - log_gamma(y[0] + 1);
}

const likelihood_ops likelihood_poisson = {
    .name = "poisson",
    .summary = "counts, whose rate is the exponential of the function",
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
