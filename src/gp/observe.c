/* From the latents of a row to its target.
       normal       y ~ N(f, noise), f ~ N(mu, v): the sums are in predict.c, without the likelihood
       own noises   the same by each component of a mixture: what is observed is f with that noise among its variances
       else         p(y) = integral of p(y | f) prod_c N(f_c; mu_c, v_c), as the likelihood's own functions give it, and the mean of
                    that where the latents are mixtures [likelihood/mixture.h]
   Real targets may be standardised: what the likelihood gives is in model units, and y = shift + scale * model's, so densities
   are divided by the scale.  Counts and classes are what they are in both.  Where the target was transformed by g, these are the units
   of g(y), and the rest is in observe_warp.c. */
#include "gp/observe_warp.h"

enum {
    PIECE = 16
}; /* rows that a thread takes at a time: integrals and draws of one row take microseconds to milliseconds */

bool gp_is_gaussian(const gp *g) { return likelihood_is_gaussian(g->likelihood); }

bool gp_is_class(const gp *g) { return g->likelihood->ops->target == TARGET_CLASS; }

bool gp_is_normal(const gp *g) { return gp_is_gaussian(g) && gp_components(g) == 1 && !warp_is(&g->schema.warp); }

int64_t gp_components(const gp *g) { return g->posterior->components > 1 ? g->posterior->components : 1; }

int64_t gp_latents(const gp *g) { return g->posterior->latents > 1 ? g->posterior->latents : 1; }

double gp_noise_by(const gp *g, int64_t s)
{
    const double *own = g->posterior->noises;
    return own ? own[s] : gp_observation_variance(g);
}

double gp_observation_variance(const gp *g) { return g->likelihood->value[0] + kernel_white(g->posterior->kernel); }

observer gp_latent_observer(const gp *g, int64_t c) { return (observer){&likelihood_of_f, gp_latent_unit(g, c), {0}}; }

observer gp_observer(const gp *g, bool latent)
{
    if (latent) return gp_latent_observer(g, 0);
    bool noise_in_f = g->posterior->noises || g->posterior->ops->marginal_noise; /* as predictor_latents has it */
    return (observer){noise_in_f ? &likelihood_of_f : g->likelihood, gp_target_unit(g), g->schema.warp};
}

void observe_moments(const observer *o, const latents *f, const double *exposure, double *mean, double *variance)
{
    if (warp_is(&o->warp)) {
        observe_warped_moments(o, f, mean, variance);
        return;
    }
    mixture_moments(o->like, f, exposure, mean, variance);
    unit_means(o->unit, f->n, mean, mean);
    unit_variances(o->unit, f->n, variance, variance);
}

static latents piece_of(const latents *f, int64_t i) { return latents_rows(f, i, f->n - i < PIECE ? f->n - i : PIECE); }

void observe_quantile(const observer *o, const latents *f, const double *exposure, double p, double *out)
{
#pragma omp parallel for schedule(dynamic) if (f->n > PIECE)
    for (int64_t i = 0; i < f->n; i += PIECE) {
        latents part = piece_of(f, i);
        mixture_quantiles(o->like, &part, p, exposure ? exposure + i : NULL, out + i);
    }
    unit_means(o->unit, f->n, out, out);
    for (int64_t i = 0; i < f->n && warp_is(&o->warp); i++) out[i] = warp_inverse(&o->warp, out[i]);
}

double observe_log_slope(const observer *o, double y) { return unit_log_density(o->unit, warp_log_slope(&o->warp, y)); }

/* The same for y in model units. */
static double log_slope_at(const observer *o, double model)
{
    double y = warp_is(&o->warp) ? warp_inverse(&o->warp, o->unit.shift + o->unit.scale * model) : 0;
    return observe_log_slope(o, y);
}

void observe_target(const observer *o, double y, double exposure, double *Y)
{
    Y[0] = schema_scale(warp_forward(&o->warp, y), o->unit.shift, o->unit.scale);
    if (o->like->columns > 1) Y[1] = exposure;
}

void observe_density(const observer *o, const latents *f, const double *Y, double *out)
{
#pragma omp parallel for schedule(dynamic) if (f->n > PIECE)
    for (int64_t i = 0; i < f->n; i += PIECE) {
        latents part = piece_of(f, i);
        mixture_log_predictive(o->like, &part, Y + i * o->like->columns, out + i);
    }
    for (int64_t i = 0; i < f->n; i++) out[i] += log_slope_at(o, Y[i * o->like->columns]);
}

/* Pieces each have their place in work, so that the sum does not depend on the threads. */
double observe_expected(const observer *o, const latents *f, const double *Y, const double *w, int64_t row,
                        double *work)
{
    const likelihood *l = o->like;
    double *sums = work + 2 * f->n * l->latents, sum = 0;
#pragma omp parallel for schedule(dynamic) if (f->n > PIECE)
    for (int64_t i = 0; i < f->n; i += PIECE) {
        latents part = piece_of(f, i);
        sums[i] =
            mixture_expect(l, &part, Y + i * l->columns, w + i, (random_stream){0, RANDOM_STEP, 0}, row + i, work + i);
    }
    for (int64_t i = 0; i < f->n; i += PIECE) sum += sums[i];
    for (int64_t i = 0; i < f->n; i++) sum += w[i] * log_slope_at(o, Y[i * l->columns]);
    return sum;
}

void observe_classes(const observer *o, const latents *f, double *P, int64_t ldp)
{
#pragma omp parallel for schedule(dynamic) if (f->n > PIECE)
    for (int64_t i = 0; i < f->n; i += PIECE) {
        latents part = piece_of(f, i);
        mixture_probabilities(o->like, &part, P + i, ldp);
    }
}

void observe_cdf(const observer *o, const latents *f, const double *y, const double *exposure, double *out)
{
#pragma omp parallel for schedule(dynamic) if (f->n > PIECE)
    for (int64_t i = 0; i < f->n; i += PIECE) {
        latents part = piece_of(f, i);
        mixture_cdf(o->like, &part, y + i, exposure ? exposure + i : NULL, out + i);
    }
}

void observe_crps(const observer *o, const latents *f, const double *y, double *out)
{
    if (warp_is(&o->warp)) {
        observe_warped_crps(o, f, y, out);
        return;
    }
#pragma omp parallel for schedule(dynamic) if (f->n > PIECE)
    for (int64_t i = 0; i < f->n; i += PIECE) {
        latents part = piece_of(f, i);
        mixture_crps(o->like, &part, y + i, out + i);
    }
    for (int64_t i = 0; i < f->n; i++) out[i] *= o->unit.scale;
}
