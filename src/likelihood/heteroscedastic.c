/* Normal noise whose variance is a function too:  y ~ N(f, exp(g + offset)), f and g the two latents.  With r = y - mu_f and
   R = exp(-offset - mu_g + var_g/2):
       E = -[log(2 pi) + offset + mu_g + R (r^2 + var_f)] / 2
       mean of y: mu_f,  variance: var_f + exp(offset + mu_g + var_g/2)
   closed; density and cdf, in which f is integrated out in closed form, by quadrature over g.  Exponents are held in bounds.
   E is concave in the moments of each latent: dE/dvar <= 0. */
#include "likelihood/parts.h"
#include "likelihood/quadrature.h"
#include "base/special.h"

static const likelihood_option options[] = {
    {.param = {.name = "offset", .start = -2.3, .prior_sd = 10, .real = true}},
};

/* A tenth of the variance is noise at first, as for gaussian. */
static void start(likelihood *l, int64_t n, const double *Y, const double *w)
{
    double total = 0, mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) total += weight_at(w, i), mean += weight_at(w, i) * Y[i];
    for (int64_t i = 0; i < n; i++) square += weight_at(w, i) * (Y[i] - mean / total) * (Y[i] - mean / total);
    if (!l->param[0].given && square > 0) l->value[0] = log(0.1 * square / total);
}

static double expect(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                     const double *var, int64_t ld, random_stream random, int64_t first, double *dmu, double *dvar,
                     double *dparam)
{
    (void)random, (void)first;
    double sum = 0, doffset = 0;
    for (int64_t i = 0; i < n; i++) {
        double weight = weight_at(w, i), r = Y[i] - mu[i], log_noise = l->value[0] + mu[i + ld];
        double R = bounded_exp(0.5 * var[i + ld] - log_noise), square = R * (r * r + var[i]);
        sum -= weight * 0.5 * (LOG_2PI + log_noise + square);
        dmu[i] = weight * R * r;
        dvar[i] = -weight * 0.5 * R;
        doffset += dmu[i + ld] = weight * 0.5 * (square - 1);
        dvar[i + ld] = -weight * 0.25 * square;
    }
    dparam[0] += doffset;
    return sum;
}

/* -------------------------------------------------------------------------------------- predictions */

/* For a row: constant = {r, var_f}.  With v = var_f + exp(g + offset), q = r^2/v, s = exp(g + offset)/v, in g:
   l = -[log(2 pi v) + q] / 2,  l' = s (q - 1) / 2,  l'' = [s (1 - s) (q - 1) - s^2 q] / 2. */
static latent_row row_given(const likelihood *l, double r, double var)
{
    double square = fmax(fmax(r * r, var), 1e-300);
    return (latent_row){.centre = log(square) - l->value[0], .width = 1.5, .constant = {r, var}};
}

static void at(const likelihood *l, const latent_row *row, int64_t n, const double *f, double (*out)[QUADRATURE_MOST])
{
    double r = row->constant[0];
    for (int64_t k = 0; k < n; k++) {
        double noise = bounded_exp(f[k] + l->value[0]), v = row->constant[1] + noise;
        double q = r * (r / v), s = noise / v;
        out[0][k] = -0.5 * (LOG_2PI + log(v) + q);
        out[1][k] = 0.5 * s * (q - 1);
        out[2][k] = 0.5 * (s * (1 - s) * (q - 1) - s * s * q);
    }
}

static const latent_ops latent = {.at = at};

static void log_predictive(const likelihood *l, int64_t n, const double *Y, const double *mu, const double *var,
                           int64_t ld, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        latent_row r = row_given(l, Y[i] - mu[i], var[i]);
        out[i] = latent_log_integral(&latent, l, &r, mu[i + ld], var[i + ld]);
    }
}

static void moments(const likelihood *l, int64_t n, const double *exposure, const double *mu, const double *var,
                    int64_t ld, double *mean, double *variance)
{
    (void)exposure;
    for (int64_t i = 0; i < n; i++) {
        mean[i] = mu[i];
        variance[i] = var[i] + bounded_exp(l->value[0] + mu[i + ld] + 0.5 * var[i + ld]);
    }
}

typedef struct below {
    double r, var, offset;
} below;

static double cdf_given_noise(double g, const void *ctx)
{
    const below *b = ctx;
    return normal_cdf(b->r / sqrt(b->var + bounded_exp(g + b->offset)));
}

static void cdf(const likelihood *l, int64_t n, const double *y, const double *exposure, const double *mu,
                const double *var, int64_t ld, double *out)
{
    (void)exposure;
    for (int64_t i = 0; i < n; i++) {
        latent_row r = row_given(l, y[i] - mu[i], var[i]);
        below b = {.r = y[i] - mu[i], .var = var[i], .offset = l->value[0]};
        out[i] = quadrature_mean(mu[i + ld], var[i + ld], r.centre, r.width, cdf_given_noise, &b);
    }
}

static void draw(const likelihood *l, int64_t n, const double *exposure, const double *f, int64_t ld,
                 random_stream random, double *y)
{
    (void)exposure;
    for (int64_t i = 0; i < n; i++)
        y[i] = f[i] + sqrt(bounded_exp(f[i + ld] + l->value[0])) * random_normal(random, (uint64_t)i);
}

static double density(const likelihood *l, const double *y, const double *f)
{
    return log_normal_density(y[0] - f[0], exp(f[1] + l->value[0]));
}

const likelihood_ops likelihood_heteroscedastic = {
    .name = "heteroscedastic",
    .summary = "real numbers with normal noise of a variance that varies",
    .target = TARGET_REAL,
    .standardize = true,
    .concave = true,
    .latents = 2,
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
