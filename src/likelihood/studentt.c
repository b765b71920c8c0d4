/* y = f + scale t, t of Student's distribution with df degrees of freedom.  With r = y - f, q = r^2 / (df s^2):
       l   = log G((df+1)/2) - log G(df/2) - log(pi df)/2 - log s - (df+1)/2 log(1 + q)
       l'  = (df+1) r / (df s^2 + r^2),   l'' = (df+1) (r^2 - df s^2) / (df s^2 + r^2)^2
   expectations by quadrature; not concave: an outlier pulls less the further out it is.
   For predictions t is a normal of random precision L ~ Gamma(df/2, df/2), so that
       p(y) = integral of N(y; mu, var + s^2 / L) Gamma(L) dL,
   in u = log L an analytic integrand for which the trapezoidal rule converges exponentially, wherever y lies. */
#include "likelihood/parts.h"
#include "likelihood/quadrature.h"
#include "base/special.h"

enum { SCALE, DF };

static const likelihood_option options[] = {
    {.param = {.name = "scale", .start = 0.25, .lower = 1e-4, .prior_mean = -1.5, .prior_sd = 1.25, .power = 1}},
    {.param = {.name = "df", .start = 5, .lower = 2, .prior_mean = 2, .prior_sd = 1}, .below = 1e100},
};

/* Tends to that of the normal, -log(2 pi)/2 - log s. */
static double log_constant(double s, double df) { return log_gamma_half(0.5 * df) - 0.5 * LOG_2PI - log(s); }

/* log p bends at y, with its branch points s sqrt(df) off the real line. */
static void row(const likelihood *l, const double *y, latent_row *r)
{
    double s = l->value[SCALE], df = l->value[DF];
    *r = (latent_row){.y = y,
                      .centre = y[0],
                      .width = 0.6 * s * sqrt(df),
                      .constant = {log_constant(s, df), log_gamma_half_slope(0.5 * df)}};
}

static void at(const likelihood *l, const latent_row *r, int64_t n, const double *f, double (*out)[QUADRATURE_MOST])
{
    double s = l->value[SCALE], df = l->value[DF], square = df * s * s;
    for (int64_t k = 0; k < n; k++) {
        double e = r->y[0] - f[k], q = e * e / square, share = q / (1 + q), fall = log1p(q);
        out[0][k] = r->constant[0] - 0.5 * (df + 1) * fall;
        out[1][k] = (df + 1) * e / square / (1 + q);
        out[2][k] = (df + 1) / square * (q - 1) / ((1 + q) * (1 + q));
        out[3][k] = ((df + 1) * share - 1) / s;
        out[4][k] = 0.5 * (r->constant[1] - fall + (df + 1) / df * share);
    }
}

static void params(const likelihood *l, const latent_row *r, const double *e, double w, double *dparam)
{
    (void)l, (void)r;
    dparam[SCALE] += w * e[3];
    dparam[DF] += w * e[4];
}

static const latent_ops latent = {.row = row, .at = at, .params = params};

static double expect(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                     const double *var, int64_t ld, random_stream random, int64_t first, double *dmu, double *dvar,
                     double *dparam)
{
    (void)ld, (void)random, (void)first;
    return latent_expect(&latent, l, n, Y, w, mu, var, dmu, dvar, dparam);
}

/* --------------------------------------------------------------------------------------- predictions */

enum { MIXTURE_MOST = 1024 };

typedef struct mixture {
    int64_t n;
    double variance[MIXTURE_MOST], log_weight[MIXTURE_MOST]; /* of the normals */
} mixture;

/* exp(u) - 1 - u, also where u is small */
static double exp_excess(double u)
{
    if (fabs(u) > 0.01) return expm1(u) - u;
    return u * u * (1.0 / 2 + u * (1.0 / 6 + u * (1.0 / 24 + u * (1.0 / 120 + u / 720))));
}

/* From where the density of u is exp(-40) on the right, to where it is so even beside the posterior of u given that y is
   `ratio` = (r/s)^2 away, at a step that is a share of the density's width sqrt(2/df). */
static void mixture_nodes(const likelihood *l, double var, double ratio, mixture *m)
{
    double s = l->value[SCALE], df = l->value[DF], tail = 80 / df + sqrt(160 / df);
    double lo = -log1p(ratio / df) - tail, hi = log1p(tail), step = fmin(0.35, 0.5 * sqrt(2 / df));
    double constant = log_gamma_peak(0.5 * df);
    m->n = (int64_t)fmin(ceil((hi - lo) / step) + 1, MIXTURE_MOST);
    double h = (hi - lo) / (double)(m->n - 1);
    for (int64_t k = 0; k < m->n; k++) {
        double u = lo + h * (double)k;
        m->variance[k] = var + s * s * exp(-u);
        m->log_weight[k] = log(h) + constant - 0.5 * df * exp_excess(u);
    }
}

static void log_predictive(const likelihood *l, int64_t n, const double *Y, const double *mu, const double *var,
                           int64_t ld, double *out)
{
    (void)ld;
    mixture m;
    for (int64_t i = 0; i < n; i++) {
        double r = Y[i] - mu[i], z = r / l->value[SCALE];
        mixture_nodes(l, var[i], z * z, &m);
        for (int64_t k = 0; k < m.n; k++) m.log_weight[k] += log_normal_density(r, m.variance[k]);
        out[i] = log_sum_exp(m.n, m.log_weight);
    }
}

static void cdf(const likelihood *l, int64_t n, const double *y, const double *exposure, const double *mu,
                const double *var, int64_t ld, double *out)
{
    (void)exposure, (void)ld;
    mixture m;
    for (int64_t i = 0; i < n; i++) {
        double below = 0, sum = 0;
        mixture_nodes(l, var[i], 0, &m);
        for (int64_t k = 0; k < m.n; k++) {
            double share = exp(m.log_weight[k]);
            sum += share, below += share * normal_cdf((y[i] - mu[i]) / sqrt(m.variance[k]));
        }
        out[i] = below / sum; /* so that it ends at 1 */
    }
}

static void moments(const likelihood *l, int64_t n, const double *exposure, const double *mu, const double *var,
                    int64_t ld, double *mean, double *variance)
{
    (void)exposure, (void)ld;
    double s = l->value[SCALE], df = l->value[DF], noise = s * s * df / fmax(df - 2, 1e-12);
    for (int64_t i = 0; i < n; i++) mean[i] = mu[i], variance[i] = var[i] + noise;
}

/* Box and Muller with another radius gives Student's distribution (Bailey 1994). */
static void draw(const likelihood *l, int64_t n, const double *exposure, const double *f, int64_t ld,
                 random_stream random, double *y)
{
    (void)exposure, (void)ld;
    double s = l->value[SCALE], df = l->value[DF];
    for (int64_t i = 0; i < n; i++) {
        double u = random_uniform(random, (uint64_t)(2 * i)), v = random_uniform(random, (uint64_t)(2 * i + 1));
        double radius = sqrt(df * expm1(-2 / df * log(u)));
        y[i] = f[i] + s * radius * cos(2 * PI * v);
    }
}

static double density(const likelihood *l, const double *y, const double *f)
{
    double s = l->value[SCALE], df = l->value[DF], z = (y[0] - f[0]) / s;
    return log_constant(s, df) - 0.5 * (df + 1) * log1p(z * z / df);
}

const likelihood_ops likelihood_studentt = {
    .name = "studentt",
    .summary = "real numbers with outliers",
    .target = TARGET_REAL,
    .standardize = true,
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
