/* Classes in an order:  P(y = k | f) = Phi(b_k - f) - Phi(b_{k-1} - f),  b_{-1} = -inf, b_{K-1} = inf.  Parameters: b_0 =
   threshold and the increments b_k - b_{k-1} > 0, which keep the order.  With a, b the ends, D the difference, ra = phi(a)/D and
   rb = phi(b)/D:
       l = log D,   l' = ra - rb,   l'' = a ra - b rb - (rb - ra)^2,   dl/db = rb,   dl/da = -ra
   expectations by quadrature; the predictive probability is closed: the same with a, b = (b_k - mu) / sqrt(1 + var). */
#include "likelihood/parts.h"
#include "likelihood/quadrature.h"
#include "base/special.h"

static const likelihood_option options[] = {
    {.param = {.name = "threshold", .prior_sd = 5, .real = true}},
    {.kind = OPTION_SERIES,
     .param = {.name = "increment", .start = 1, .lower = 1e-4, .prior_mean = -0.5, .prior_sd = 1.5}},
};

/* b_{k-1} and b_k */
static void ends(const likelihood *l, int64_t k, double *a, double *b)
{
    double sum = 0;
    *a = -INFINITY, *b = INFINITY;
    for (int64_t i = 0; i <= k && i < l->params; i++) {
        sum += l->value[i];
        *(i == k ? b : a) = sum;
    }
}

/* Thresholds at which a function of variance 1 would give the classes' frequencies. */
static void start(likelihood *l, int64_t n, const double *Y, const double *w)
{
    double count[LIKELIHOOD_PARAMS + 1], total = 0, below = 0, former = 0;
    for (int64_t k = 0; k < l->classes; k++) count[k] = 0.5;
    for (int64_t i = 0; i < n; i++) count[(int64_t)Y[i]] += weight_at(w, i);
    for (int64_t k = 0; k < l->classes; k++) total += count[k];
    for (int64_t k = 0; k < l->params; k++) {
        below += count[k];
        double threshold = sqrt(2) * normal_quantile(below / total);
        if (!l->param[k].given) l->value[k] = k ? fmax(threshold - former, 0.01) : threshold;
        former = threshold;
    }
}

typedef struct interval {
    double log_mass, ra, rb;
} interval;

/* b is nearer to 0 than a, or both are on its two sides: Phi(b) is the larger.  log Phi(a) - log Phi(b) is taken without the
   squares, which cancel far out. */
static interval lower_interval(double a, double b)
{
    double half = 0.5 * (b - a) * (b + a); /* log phi(a) - log phi(b) */
    double ratio = b < 0 ? half + log_mills(-a) - log_mills(-b) : log_normal_cdf(a) - log_normal_cdf(b);
    double rest = fmax(-expm1(ratio), 1e-300), rb = normal_hazard(b) / rest;
    return (interval){log_normal_cdf(b) + log(rest), rb * exp(half), rb};
}

/* Mass of a standard normal in (a, b), either end possibly infinite. */
static interval normal_interval(double a, double b)
{
    if (isinf(a)) return (interval){log_normal_cdf(b), 0, normal_hazard(b)};
    if (isinf(b)) return (interval){log_normal_cdf(-a), normal_hazard(-a), 0};
    if (a + b <= 0) return lower_interval(a, b);
    interval m = lower_interval(-b, -a);
    return (interval){m.log_mass, m.rb, m.ra};
}

/* The variance of a normal cut to (a, b), less 1. */
static double cut_variance(interval m, double a, double b)
{
    double end_a = isinf(a) ? 0 : a * m.ra, end_b = isinf(b) ? 0 : b * m.rb, difference = m.rb - m.ra;
    return fmax(-1, fmin(end_a - end_b - difference * difference, 0));
}

static void row(const likelihood *l, const double *y, latent_row *r)
{
    double a, b;
    ends(l, (int64_t)y[0], &a, &b);
    double centre = isinf(a) ? b : isinf(b) ? a : 0.5 * (a + b);
    double width = isinf(a) || isinf(b) ? 2 : fmax(2, 0.5 * (b - a));
    *r = (latent_row){.y = y, .centre = centre, .width = width, .constant = {a, b}};
}

static void at(const likelihood *l, const latent_row *r, int64_t n, const double *f, double (*out)[QUADRATURE_MOST])
{
    (void)l;
    for (int64_t k = 0; k < n; k++) {
        double a = r->constant[0] - f[k], b = r->constant[1] - f[k];
        interval m = normal_interval(a, b);
        out[0][k] = m.log_mass;
        out[1][k] = m.ra - m.rb;
        out[2][k] = cut_variance(m, a, b);
        out[3][k] = m.rb;
        out[4][k] = -m.ra;
    }
}

/* b_k is the sum of the parameters 0 .. k. */
static void params(const likelihood *l, const latent_row *r, const double *e, double w, double *dparam)
{
    int64_t k = (int64_t)r->y[0];
    for (int64_t i = 0; i <= k && i < l->params; i++) dparam[i] += w * (k < l->params ? e[3] : 0);
    for (int64_t i = 0; i < k; i++) dparam[i] += w * e[4];
}

static const latent_ops latent = {.row = row, .at = at, .params = params};

static double expect(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                     const double *var, int64_t ld, random_stream random, int64_t first, double *dmu, double *dvar,
                     double *dparam)
{
    (void)ld, (void)random, (void)first;
    return latent_expect(&latent, l, n, Y, w, mu, var, dmu, dvar, dparam);
}

static double log_probability(const likelihood *l, int64_t k, double mu, double var)
{
    double a, b, sd = sqrt(1 + var);
    ends(l, k, &a, &b);
    return normal_interval((a - mu) / sd, (b - mu) / sd).log_mass;
}

static void log_predictive(const likelihood *l, int64_t n, const double *Y, const double *mu, const double *var,
                           int64_t ld, double *out)
{
    (void)ld;
    for (int64_t i = 0; i < n; i++) out[i] = log_probability(l, (int64_t)Y[i], mu[i], var[i]);
}

static void probabilities(const likelihood *l, int64_t n, const double *mu, const double *var, int64_t ld, double *P,
                          int64_t ldp)
{
    (void)ld;
    for (int64_t k = 0; k < l->classes; k++)
        for (int64_t i = 0; i < n; i++) P[i + k * ldp] = exp(log_probability(l, k, mu[i], var[i]));
}

static void draw(const likelihood *l, int64_t n, const double *exposure, const double *f, int64_t ld,
                 random_stream random, double *y)
{
    (void)exposure, (void)ld;
    for (int64_t i = 0; i < n; i++) {
        double noisy = f[i] + random_normal(random, (uint64_t)i), b = 0;
        int64_t k = 0;
        for (; k < l->params && noisy > (b += l->value[k]); k++) continue;
        y[i] = (double)k;
    }
}

static double density(const likelihood *l, const double *y, const double *f)
{
    double a, b;
    ends(l, (int64_t)y[0], &a, &b);
    double upper = b - f[0], lower = a - f[0];
    bool flip = lower > 0; /* the tail that does not round to 1 */
    return log(flip ? normal_cdf(-lower) - normal_cdf(-upper) : normal_cdf(upper) - normal_cdf(lower));
}

const likelihood_ops likelihood_ordinal = {
    .name = "ordinal",
    .summary = "classes in an order",
    .target = TARGET_CLASS,
    .concave = true,
    .latents = 1,
    .most_classes = LIKELIHOOD_PARAMS + 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .start = start,
    .expect = expect,
    .log_predictive = log_predictive,
    .probabilities = probabilities,
    .draw = draw,
    .density = density,
};
