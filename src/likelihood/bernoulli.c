/* One of two classes:  P(y = 1 | f) = 1 / (1 + exp(-f)) (logit) or Phi(f) (probit).  With s = 2 y - 1:
       logit   l = -log(1 + exp(-s f)),   l' = s (1 - p),           l'' = -p (1 - p),    p = P(y | f)
       probit  l = log Phi(s f),          l' = s phi(f)/Phi(s f),   l'' = -h (h + s f),  h = phi(f)/Phi(s f)
   expectations by quadrature.  The predictive probability is Phi(mu / sqrt(1 + var)) for probit, by quadrature for logit. */
#include "likelihood/parts.h"
#include "likelihood/quadrature.h"
#include "base/special.h"

enum { LOGIT, PROBIT };

static const likelihood_option options[] = {
    {.kind = OPTION_LINK, .param = {.name = "logit"}, .link = LOGIT},
    {.kind = OPTION_LINK, .param = {.name = "probit"}, .link = PROBIT},
};

static void row(const likelihood *l, const double *y, latent_row *r)
{
    (void)l;
    *r = (latent_row){.y = y, .width = 2, .constant = {2 * y[0] - 1}};
}

static void at_logit(double x, double *l, double *slope, double *bend)
{
    double tail = exp(-fabs(x)), other = x > 0 ? tail / (1 + tail) : 1 / (1 + tail);
    *l = fmin(x, 0) - log1p(tail);
    *slope = other;
    *bend = -tail / ((1 + tail) * (1 + tail));
}

static void at_probit(double x, double *l, double *slope, double *bend)
{
    double h = normal_hazard(x);
    *l = log_normal_cdf(x);
    *slope = h;
    *bend = bounded(-h * (h + x), 1); /* cancels far out, where it is -1 */
    *bend = fmin(*bend, 0);
}

static void at(const likelihood *l, const latent_row *r, int64_t n, const double *f, double (*out)[QUADRATURE_MOST])
{
    double s = r->constant[0];
    for (int64_t k = 0; k < n; k++) {
        (l->link == LOGIT ? at_logit : at_probit)(s * f[k], &out[0][k], &out[1][k], &out[2][k]);
        out[1][k] *= s;
    }
}

static const latent_ops latent = {.row = row, .at = at};

static double expect(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                     const double *var, int64_t ld, random_stream random, int64_t first, double *dmu, double *dvar,
                     double *dparam)
{
    (void)ld, (void)random, (void)first;
    return latent_expect(&latent, l, n, Y, w, mu, var, dmu, dvar, dparam);
}

static void log_predictive(const likelihood *l, int64_t n, const double *Y, const double *mu, const double *var,
                           int64_t ld, double *out)
{
    (void)ld;
    if (l->link == LOGIT) latent_log_predictive(&latent, l, n, Y, mu, var, out);
    for (int64_t i = 0; i < n && l->link == PROBIT; i++)
        out[i] = log_normal_cdf((2 * Y[i] - 1) * mu[i] / sqrt(1 + var[i]));
}

/* The smaller of the two is computed, so that both are accurate. */
static void probabilities(const likelihood *l, int64_t n, const double *mu, const double *var, int64_t ld, double *P,
                          int64_t ldp)
{
    for (int64_t i = 0; i < n; i++) {
        double y = mu[i] < 0, less;
        log_predictive(l, 1, &y, mu + i, var + i, ld, &less);
        less = fmin(exp(less), 0.5);
        P[i] = y > 0 ? 1 - less : less;
        P[i + ldp] = y > 0 ? less : 1 - less;
    }
}

static double density(const likelihood *l, const double *y, const double *f)
{
    double x = (2 * y[0] - 1) * f[0];
    if (l->link == PROBIT) return log_normal_cdf(x);
    return x < -700 ? x : -log1p(exp(-x));
}

static void draw(const likelihood *l, int64_t n, const double *exposure, const double *f, int64_t ld,
                 random_stream random, double *y)
{
    static const double one = 1;
    (void)exposure, (void)ld;
    for (int64_t i = 0; i < n; i++) y[i] = random_uniform(random, (uint64_t)i) < exp(density(l, &one, f + i));
}

const likelihood_ops likelihood_bernoulli = {
    .name = "bernoulli",
    .summary = "one of two classes",
    .target = TARGET_CLASS,
    .concave = true,
    .latents = 1,
    .most_classes = 2,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .expect = expect,
    .log_predictive = log_predictive,
    .probabilities = probabilities,
    .draw = draw,
    .density = density,
};
