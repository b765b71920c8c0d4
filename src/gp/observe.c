/* From the latents of a row to its target.
       gaussian     y ~ N(f, noise): the sums stand in predict.c, with no likelihood to ask
       else         p(y) = integral of p(y | f) prod_c N(f_c; mu_c, v_c), as the likelihood's own functions give it
   Real targets may be standardised: what the likelihood says is in model units, and y = shift + scale * model's, so densities
   are divided by the scale.  Counts and classes are what they are in both. */
#include <math.h>
#include <string.h>

#include "base/constants.h"
#include "gp/gp.h"

enum {
    PIECE = 16
}; /* rows a thread takes at a time: integrals and draws of one row take microseconds to milliseconds */

bool gp_is_gaussian(const gp *g) { return likelihood_is_gaussian(g->likelihood); }

bool gp_is_class(const gp *g) { return g->likelihood->ops->target == TARGET_CLASS; }

int64_t gp_latents(const gp *g) { return g->posterior->latents > 1 ? g->posterior->latents : 1; }

double gp_observation_variance(const gp *g) { return g->likelihood->value[0] + kernel_white(g->posterior->kernel); }

void observe_moments(const gp *g, const latents *f, const double *exposure, double *mean, double *variance)
{
    const likelihood *l = g->likelihood;
    l->ops->moments(l, f->n, exposure, f->mean, f->variance, f->n, mean, variance);
    unit_means(gp_target_unit(g), f->n, mean, mean);
    unit_variances(gp_target_unit(g), f->n, variance, variance);
}

static int64_t piece_of(const latents *f, int64_t i) { return f->n - i < PIECE ? f->n - i : PIECE; }

void observe_quantile(const gp *g, const latents *f, const double *exposure, double p, double *out)
{
#pragma omp parallel for schedule(dynamic) if (f->n > PIECE)
    for (int64_t i = 0; i < f->n; i += PIECE)
        likelihood_quantiles(g->likelihood, piece_of(f, i), p, exposure ? exposure + i : NULL, f->mean + i,
                             f->variance + i, f->n, out + i);
    unit_means(gp_target_unit(g), f->n, out, out);
}

void observe_target(const gp *g, double y, double exposure, double *Y)
{
    target_scale u = gp_target_unit(g);
    Y[0] = schema_scale(y, u.shift, u.scale);
    if (g->likelihood->columns > 1) Y[1] = exposure;
}

void observe_density(const gp *g, const latents *f, const double *Y, double *out)
{
    const likelihood *l = g->likelihood;
#pragma omp parallel for schedule(dynamic) if (f->n > PIECE)
    for (int64_t i = 0; i < f->n; i += PIECE)
        l->ops->log_predictive(l, piece_of(f, i), Y + i * l->columns, f->mean + i, f->variance + i, f->n, out + i);
    for (int64_t i = 0; i < f->n; i++) out[i] = unit_log_density(gp_target_unit(g), out[i]);
}

/* Pieces each have their place in work, so that the sum does not depend on the threads. */
double observe_expected(const gp *g, const latents *f, const double *Y, const double *w, int64_t row, double *work)
{
    const likelihood *l = g->likelihood;
    int64_t n = f->n, cells = n * gp_latents(g);
    double *part = work + 2 * cells, sum = 0, weight = 0;
#pragma omp parallel for schedule(dynamic) if (n > PIECE)
    for (int64_t i = 0; i < n; i += PIECE) {
        double unused[LIKELIHOOD_PARAMS] = {0};
        part[i] = l->ops->expect(l, piece_of(f, i), Y + i * l->columns, w + i, f->mean + i, f->variance + i, n,
                                 (random_stream){0, RANDOM_STEP, 0}, row + i, work + i, work + cells + i, unused);
    }
    for (int64_t i = 0; i < n; i += PIECE) sum += part[i];
    for (int64_t i = 0; i < n; i++) weight += w[i];
    return sum + weight * unit_log_density(gp_target_unit(g), 0);
}

void observe_classes(const gp *g, const latents *f, double *P, int64_t ldp)
{
    const likelihood *l = g->likelihood;
#pragma omp parallel for schedule(dynamic) if (f->n > PIECE)
    for (int64_t i = 0; i < f->n; i += PIECE)
        l->ops->probabilities(l, piece_of(f, i), f->mean + i, f->variance + i, f->n, P + i, ldp);
}

/* Normal with the moments, in model units; work: 2 n. */
static void normal_cdf(const gp *g, const latents *f, const double *y, const double *exposure, double *out,
                       double *work)
{
    const likelihood *l = g->likelihood;
    double *mean = work, *variance = work + f->n;
    l->ops->moments(l, f->n, exposure, f->mean, f->variance, f->n, mean, variance);
    for (int64_t i = 0; i < f->n; i++) {
        double sd = sqrt(variance[i]), d = mean[i] - y[i];
        out[i] = sd > 0 ? 0.5 * erfc(SQRT_HALF * d / sd) : d <= 0;
    }
}

void observe_cdf(const gp *g, const latents *f, const double *y, const double *exposure, double *out, double *work)
{
    const likelihood *l = g->likelihood;
    if (l->ops->cdf)
        l->ops->cdf(l, f->n, y, exposure, f->mean, f->variance, f->n, out);
    else
        normal_cdf(g, f, y, exposure, out, work);
}
