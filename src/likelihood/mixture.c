/* Predictions from mixtures of Gaussian latents (mixture.h): averages over components, and quantiles of the result. */
#include "likelihood/mixture.h"

#include <math.h>

#include "likelihood/counts.h"
#include "base/special.h"

enum { PIECE = 16 }; /* rows at a time, whose numbers for one component are on the stack */

latents latents_rows(const latents *f, int64_t i, int64_t n)
{
    latents part = *f;
    part.n = n, part.mean += i, part.variance += i;
    if (f->weight) part.weight += i;
    return part;
}

latents latents_one(const latents *f, int64_t c)
{
    latents one = *f;
    one.mean += c * f->ld, one.variance += c * f->ld;
    return one;
}

static latents piece_at(const latents *f, int64_t i) { return latents_rows(f, i, f->n - i < PIECE ? f->n - i : PIECE); }

static latents component_of(const latents *f, int64_t s)
{
    latents one = *f;
    one.mean += s * f->stride, one.variance += s * f->stride, one.components = 1;
    return one;
}

static const double *exposure_from(const double *exposure, int64_t i) { return exposure ? exposure + i : NULL; }

/* Weight of component s at row i, up to a factor that rows have in common. */
static double weight_of(const latents *f, int64_t i, int64_t s) { return f->weight ? f->weight[i + s * f->stride] : 1; }

/* What the weights add up to. */
static double weight_of_all(const latents *f) { return f->weight ? 1 : (double)f->components; }

/* How many times as heavy as component s the components 0 .. s are together. */
static double times_heavier(const latents *f, int64_t i, int64_t s)
{
    double w = weight_of(f, i, s), sum = 0;
    if (!f->weight) return (double)(s + 1);
    for (int64_t t = 0; t <= s; t++) sum += weight_of(f, i, t);
    return w > 0 ? sum / w : INFINITY;
}

/* mean[n] over components 0 .. s-1 to that over 0 .. s; row i is the first one's. */
static void take_into_mean(const latents *f, int64_t i, int64_t n, int64_t s, const double *x, double *mean)
{
    for (int64_t k = 0; k < n; k++) mean[k] += (x[k] - mean[k]) / times_heavier(f, i + k, s);
}

/* ---------------------------------------------------------------------------------------- moments */

static void moments_of_one(const likelihood *l, const latents *f, const double *exposure, double *mean,
                           double *variance)
{
    l->ops->moments(l, f->n, exposure, f->mean, f->variance, f->ld, mean, variance);
}

/* At most PIECE rows: the mean, the mean variance, and the variance of the means. */
static void moments_of_piece(const likelihood *l, const latents *f, const double *exposure, double *mean,
                             double *within, double *between)
{
    double m[PIECE], v[PIECE];
    latents one = component_of(f, 0);
    moments_of_one(l, &one, exposure, mean, within);
    for (int64_t i = 0; i < f->n; i++) between[i] = 0;
    for (int64_t s = 1; s < f->components; s++) {
        one = component_of(f, s);
        moments_of_one(l, &one, exposure, m, v);
        for (int64_t i = 0; i < f->n; i++) {
            double d = m[i] - mean[i];
            mean[i] += d / times_heavier(f, i, s);
            between[i] += weight_of(f, i, s) * d * (m[i] - mean[i]);
        }
        take_into_mean(f, 0, f->n, s, v, within);
    }
    for (int64_t i = 0; i < f->n; i++) between[i] /= weight_of_all(f);
}

void mixture_moments(const likelihood *l, const latents *f, const double *exposure, double *mean, double *variance)
{
    if (f->components == 1) {
        moments_of_one(l, f, exposure, mean, variance);
        return;
    }
    for (int64_t i = 0; i < f->n; i += PIECE) {
        double between[PIECE];
        latents part = piece_at(f, i);
        moments_of_piece(l, &part, exposure_from(exposure, i), mean + i, variance + i, between);
        for (int64_t k = 0; k < part.n; k++) variance[i + k] += between[k];
    }
}

/* ------------------------------------------------------------------- densities and expectations */

static void density_of_one(const likelihood *l, const latents *f, const double *Y, double *out)
{
    l->ops->log_predictive(l, f->n, Y, f->mean, f->variance, f->ld, out);
}

/* out = log sum exp of what was added so far = out + log(sum); x is one more. */
static void add_log(double x, double *out, double *sum)
{
    if (x > *out)
        *sum = *sum * exp(*out - x) + 1, *out = x;
    else if (x > -INFINITY)
        *sum += exp(x - *out);
}

static double log_weight(const latents *f, int64_t i, int64_t s) { return f->weight ? log(weight_of(f, i, s)) : 0; }

void mixture_log_predictive(const likelihood *l, const latents *f, const double *Y, double *out)
{
    if (f->components == 1) {
        density_of_one(l, f, Y, out);
        return;
    }
    for (int64_t i = 0; i < f->n; i += PIECE) {
        double x[PIECE], sum[PIECE];
        latents part = piece_at(f, i);
        for (int64_t k = 0; k < part.n; k++) out[i + k] = -INFINITY, sum[k] = 0;
        for (int64_t s = 0; s < f->components; s++) {
            latents one = component_of(&part, s);
            density_of_one(l, &one, Y + i * l->columns, x);
            for (int64_t k = 0; k < part.n; k++) add_log(x[k] + log_weight(&part, k, s), &out[i + k], &sum[k]);
        }
        for (int64_t k = 0; k < part.n; k++) out[i + k] += log(sum[k] / weight_of_all(f));
    }
}

/* A mean over rows: components of equal weight only. */
double mixture_expect(const likelihood *l, const latents *f, const double *Y, const double *w, random_stream random,
                      int64_t row, double *work)
{
    double *dmu = work, *dvar = work + l->latents * f->ld, mean = 0;
    for (int64_t s = 0; s < f->components; s++) {
        double unused[LIKELIHOOD_PARAMS] = {0};
        latents one = component_of(f, s);
        double sum = l->ops->expect(l, f->n, Y, w, one.mean, one.variance, f->ld, random, row, dmu, dvar, unused);
        if (s == 0)
            mean = sum;
        else
            take_into_mean(f, 0, 1, s, &sum, &mean);
    }
    return mean;
}

/* ---------------------------------------------------------------------------------------- classes */

/* As many rows at a time as there is room for on the stack. */
void mixture_probabilities(const likelihood *l, const latents *f, double *P, int64_t ldp)
{
    double p[LIKELIHOOD_LATENTS];
    int64_t K = l->classes, most = LIKELIHOOD_LATENTS / K, n;
    l->ops->probabilities(l, f->n, f->mean, f->variance, f->ld, P, ldp);
    for (int64_t i = 0; f->components > 1 && i < f->n; i += n) {
        n = f->n - i < most ? f->n - i : most;
        for (int64_t s = 1; s < f->components; s++) {
            latents part = latents_rows(f, i, n), one = component_of(&part, s);
            l->ops->probabilities(l, n, one.mean, one.variance, f->ld, p, n);
            for (int64_t c = 0; c < K; c++) take_into_mean(f, i, n, s, p + c * n, P + i + c * ldp);
        }
    }
}

/* -------------------------------------------------------------------------------------------- cdf */

/* Where a likelihood has no cdf of its own: normal with its moments. */
static void cdf_of_normal(const likelihood *l, const latents *f, const double *y, const double *exposure, double *out)
{
    for (int64_t i = 0; i < f->n; i += PIECE) {
        double mean[PIECE], variance[PIECE];
        latents part = piece_at(f, i);
        moments_of_one(l, &part, exposure_from(exposure, i), mean, variance);
        for (int64_t k = 0; k < part.n; k++) {
            double sd = sqrt(variance[k]), d = y[i + k] - mean[k];
            out[i + k] = sd > 0 ? normal_cdf(d / sd) : d >= 0;
        }
    }
}

static void cdf_of_one(const likelihood *l, const latents *f, const double *y, const double *exposure, double *out)
{
    if (l->ops->cdf)
        l->ops->cdf(l, f->n, y, exposure, f->mean, f->variance, f->ld, out);
    else
        cdf_of_normal(l, f, y, exposure, out);
}

void mixture_cdf(const likelihood *l, const latents *f, const double *y, const double *exposure, double *out)
{
    latents one = component_of(f, 0);
    cdf_of_one(l, &one, y, exposure, out);
    for (int64_t i = 0; f->components > 1 && i < f->n; i += PIECE) {
        double P[PIECE];
        latents part = piece_at(f, i);
        for (int64_t s = 1; s < f->components; s++) {
            one = component_of(&part, s);
            cdf_of_one(l, &one, y + i, exposure_from(exposure, i), P);
            take_into_mean(&part, 0, part.n, s, P, out + i);
        }
    }
}

/* -------------------------------------------------------------------------------------- quantiles */

/* One row of mixture_quantiles. */
typedef struct quantile {
    const likelihood *l;
    latents f;
    const double *exposure;
    double p, mean, sd;
    double close; /* a bracket of this width, small beside a component, is narrow enough */
} quantile;

static double quantile_cdf(const quantile *q, double y)
{
    double P;
    mixture_cdf(q->l, &q->f, &y, q->exposure, &P);
    return P;
}

static bool quantile_reached(double k, const void *ctx)
{
    const quantile *q = ctx;
    return quantile_cdf(q, k) >= q->p;
}

/* A log-normal with the counts' moments shows where to look. */
static double quantile_count(const quantile *q)
{
    double spread = log1p((q->sd / q->mean) * (q->sd / q->mean)), z = normal_quantile(q->p);
    return first_whole(q->mean * exp(z * sqrt(spread) - 0.5 * spread), quantile_reached, q);
}

/* The bracket is widened from the normal's quantile, then narrowed by the Illinois variant of regula falsi; every fourth step
   halves it, so that the plateaus between components do no harm. */
static double quantile_real(const quantile *q)
{
    double step = 0.1 * q->sd, z = q->mean + normal_quantile(q->p) * q->sd;
    double lo = z - step, hi = z + step, at_lo, at_hi;
    for (int k = 0; (at_lo = quantile_cdf(q, lo) - q->p) > 0 && k < 200; k++) hi = lo, lo -= step *= 2;
    for (int k = 0; (at_hi = quantile_cdf(q, hi) - q->p) < 0 && k < 200; k++) lo = hi, at_lo = at_hi, hi += step *= 2;
    for (int k = 0, side = 0; k < 200 && hi - lo > q->close + 1e-16 * fabs(lo); k++) {
        double y = at_hi > at_lo ? hi - at_hi * (hi - lo) / (at_hi - at_lo) : 0.5 * (lo + hi);
        if (k % 4 == 3 || !(y > lo && y < hi)) y = 0.5 * (lo + hi);
        double at = quantile_cdf(q, y) - q->p;
        if (at == 0) return y;
        if (at > 0) {
            hi = y, at_hi = at, at_lo *= side > 0 ? 0.5 : 1, side = 1;
        } else {
            lo = y, at_lo = at, at_hi *= side < 0 ? 0.5 : 1, side = -1;
        }
    }
    return 0.5 * (lo + hi);
}

void mixture_quantiles(const likelihood *l, const latents *f, double p, const double *exposure, double *out)
{
    bool normal = !l->ops->cdf && f->components == 1;
    for (int64_t i = 0; i < f->n; i++) {
        quantile q = {.l = l, .f = latents_rows(f, i, 1), .exposure = exposure_from(exposure, i), .p = p};
        double within, between;
        moments_of_piece(l, &q.f, q.exposure, &q.mean, &within, &between);
        q.sd = sqrt(within + between), q.close = (f->components == 1 ? 1e-10 : 1e-14) * sqrt(within);
        out[i] = normal                           ? q.mean + q.sd * normal_quantile(p)
                 : l->ops->target == TARGET_COUNT ? quantile_count(&q)
                                                  : quantile_real(&q);
    }
}

/* ------------------------------------------------------------------------------------------- crps */

/* E|N(d, v)| */
static double absolute_normal(double d, double v)
{
    static const double SQRT_2_OVER_PI = 0.79788456080286535588;
    double s = sqrt(v), z = d / s;
    return s > 0 ? d * erf(z * SQRT_HALF) + s * SQRT_2_OVER_PI * exp(-0.5 * z * z) : fabs(d);
}

static double crps_of_row(const likelihood *l, const latents *f, double y)
{
    const double *m = f->mean, *v = f->variance, S = weight_of_all(f), noise = l->value[0];
    double from_y = 0, apart = 0;
    for (int64_t s = 0; s < f->components; s++) {
        double ms = m[s * f->stride], vs = v[s * f->stride] + noise, g = weight_of(f, 0, s);
        from_y += g * absolute_normal(y - ms, vs);
        apart += g * g * absolute_normal(0, 2 * vs);
        for (int64_t t = 0; t < s; t++)
            apart += 2 * g * weight_of(f, 0, t) * absolute_normal(ms - m[t * f->stride], vs + v[t * f->stride] + noise);
    }
    return from_y / S - 0.5 * apart / (S * S);
}

void mixture_crps(const likelihood *l, const latents *f, const double *y, double *out)
{
    for (int64_t i = 0; i < f->n; i++) {
        latents row = latents_rows(f, i, 1);
        out[i] = crps_of_row(l, &row, y[i]);
    }
}
