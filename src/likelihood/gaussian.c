/* y = f + noise:  log p(y | f) = -[log(2 pi s) + (y - f)^2 / s] / 2,  s = noise (a variance).  All closed:
       E = -[log(2 pi s) + ((y - mu)^2 + var) / s] / 2,   y ~ N(mu, var + s). */
#include "likelihood/parts.h"
#include "base/special.h"

static const likelihood_option options[] = {
    {.param = {.name = "noise", .start = 0.1, .lower = 1e-8, .prior_mean = -3, .prior_sd = 2.5, .power = 2}},
};

static double expect(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                     const double *var, int64_t ld, random_stream random, int64_t row, double *dmu, double *dvar,
                     double *dparam)
{
    (void)ld, (void)random, (void)row;
    double s = l->value[0], sum = 0, ds = 0;
    for (int64_t i = 0; i < n; i++) {
        double weight = weight_at(w, i), r = Y[i] - mu[i], square = (r * r + var[i]) / s;
        sum -= weight * 0.5 * (LOG_2PI + log(s) + square);
        ds += weight * 0.5 * (square - 1) / s;
        dmu[i] = weight * r / s;
        dvar[i] = -weight * 0.5 / s;
    }
    dparam[0] += ds;
    return sum;
}

static void log_predictive(const likelihood *l, int64_t n, const double *Y, const double *mu, const double *var,
                           int64_t ld, double *out)
{
    (void)ld;
    for (int64_t i = 0; i < n; i++) out[i] = log_normal_density(Y[i] - mu[i], var[i] + l->value[0]);
}

static void moments(const likelihood *l, int64_t n, const double *exposure, const double *mu, const double *var,
                    int64_t ld, double *mean, double *variance)
{
    (void)exposure, (void)ld;
    for (int64_t i = 0; i < n; i++) mean[i] = mu[i], variance[i] = var[i] + l->value[0];
}

static void draw(const likelihood *l, int64_t n, const double *exposure, const double *f, int64_t ld,
                 random_stream random, double *y)
{
    (void)exposure, (void)ld;
    for (int64_t i = 0; i < n; i++) y[i] = f[i] + sqrt(l->value[0]) * random_normal(random, (uint64_t)i);
}

static double density(const likelihood *l, const double *y, const double *f)
{
    return log_normal_density(y[0] - f[0], l->value[0]);
}

const likelihood_ops likelihood_gaussian = {
    .name = "gaussian",
    .summary = "real numbers with normal noise",
    .target = TARGET_REAL,
    .standardize = true,
    .concave = true,
    .latents = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .expect = expect,
    .log_predictive = log_predictive,
    .moments = moments,
    .draw = draw,
    .density = density,
};

const likelihood likelihood_of_f = {.ops = &likelihood_gaussian, .latents = 1, .columns = 1, .params = 1};
