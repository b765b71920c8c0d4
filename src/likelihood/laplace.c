/* y = f + noise with tails as exp(-|.|):  log p(y | f) = -log(2 s) - |y - f| / s,  s = scale.  All closed.  With r = y - mu,
   v = var, d = r / sqrt(v):
       E|y - f| = r (2 Phi(d) - 1) + 2 sqrt(v) phi(d),   d/dmu = 1 - 2 Phi(d),   d/dv = phi(d) / sqrt(v)
       p(y)     = [T(r) + T(-r)] / (2 s),   T(r) = exp(v/(2 s^2) - r/s) Phi(r/sqrt(v) - sqrt(v)/s)
       P(y <= t) = Phi(d) - [T(r) - T(-r)] / 2,   r = t - mu,   d = r / sqrt(v)
   T is kept as its logarithm, and where Phi is in its tail as  -r^2/(2 v) + log Mills: the large terms then never cancel. */
#include "likelihood/parts.h"
#include "base/special.h"

static const likelihood_option options[] = {
    {.param = {.name = "scale", .start = 0.22, .lower = 1e-4, .prior_mean = -1.5, .prior_sd = 1.25, .power = 1}},
};

/* The derivative in var of a kink met exactly grows as 1/sd: below this share of scale^2, var counts as the share itself. */
static const double LEAST_VARIANCE = 1e-16;

static double floored(double var, double s) { return fmax(var, LEAST_VARIANCE * s * s); }

static double expect(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                     const double *var, int64_t ld, random_stream random, int64_t row, double *dmu, double *dvar,
                     double *dparam)
{
    (void)ld, (void)random, (void)row;
    double s = l->value[0], sum = 0, ds = 0;
    for (int64_t i = 0; i < n; i++) {
        double weight = weight_at(w, i), sd = sqrt(floored(var[i], s)), r = Y[i] - mu[i], d = r / sd;
        double peak = exp(-0.5 * (d * d + LOG_2PI)), side = erf(d * SQRT_HALF);
        double distance = r * side + 2 * sd * peak;
        sum -= weight * (log(2 * s) + distance / s);
        ds += weight * (distance / s - 1) / s;
        dmu[i] = weight * side / s;
        dvar[i] = -weight * peak / (sd * s);
    }
    dparam[0] += ds;
    return sum;
}

/* log T(r) */
static double log_side(double r, double var, double s)
{
    double sd = sqrt(var), x = sd / s - r / sd;
    if (x > 0) return -0.5 * r * (r / var) + log_mills(x);
    return 0.5 * var / (s * s) - r / s + log_normal_cdf(-x);
}

static void log_predictive(const likelihood *l, int64_t n, const double *Y, const double *mu, const double *var,
                           int64_t ld, double *out)
{
    (void)ld;
    double s = l->value[0];
    for (int64_t i = 0; i < n; i++) {
        double r = Y[i] - mu[i], v = floored(var[i], s);
        out[i] = log_add_exp(log_side(r, v, s), log_side(-r, v, s)) - log(2 * s);
    }
}

static void moments(const likelihood *l, int64_t n, const double *exposure, const double *mu, const double *var,
                    int64_t ld, double *mean, double *variance)
{
    (void)exposure, (void)ld;
    for (int64_t i = 0; i < n; i++) mean[i] = mu[i], variance[i] = var[i] + 2 * l->value[0] * l->value[0];
}

static void cdf(const likelihood *l, int64_t n, const double *y, const double *exposure, const double *mu,
                const double *var, int64_t ld, double *out)
{
    (void)exposure, (void)ld;
    double s = l->value[0];
    for (int64_t i = 0; i < n; i++) {
        double r = y[i] - mu[i], v = floored(var[i], s);
        out[i] = normal_cdf(r / sqrt(v)) - 0.5 * (exp(log_side(r, v, s)) - exp(log_side(-r, v, s)));
    }
}

static void draw(const likelihood *l, int64_t n, const double *exposure, const double *f, int64_t ld,
                 random_stream random, double *y)
{
    (void)exposure, (void)ld;
    for (int64_t i = 0; i < n; i++) {
        double u = random_uniform(random, (uint64_t)i);
        y[i] = f[i] + l->value[0] * (u < 0.5 ? log(2 * u) : -log(2 * (1 - u)));
    }
}

static double density(const likelihood *l, const double *y, const double *f)
{
    return -log(2 * l->value[0]) - fabs(y[0] - f[0]) / l->value[0];
}

const likelihood_ops likelihood_laplace = {
    .name = "laplace",
    .summary = "real numbers with some large errors",
    .target = TARGET_REAL,
    .standardize = true,
    .concave = true,
    .latents = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .expect = expect,
    .log_predictive = log_predictive,
    .moments = moments,
    .cdf = cdf,
    .draw = draw,
    .density = density,
};
