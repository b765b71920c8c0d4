/* Shared by the counts: rate = exposure exp(f + offset). */
#ifndef LIKELIHOOD_COUNTS_H
#define LIKELIHOOD_COUNTS_H

#include "likelihood/parts.h"

/* log(sum y / sum exposure), weighted: the offset at which the latent function may start from 0. */
double counts_offset(const likelihood *l, int64_t n, const double *Y, const double *w);

/* The smallest whole number k >= 0 with reached(k, ctx), which must be false up to some k and true from then on;
   looks near `guess` first. */
double first_whole(double guess, bool (*reached)(double k, const void *ctx), const void *ctx);

/* P(y <= k) and the draw of y at a given rate; `shape` is the distribution's other parameter. */
typedef double (*count_cdf)(double k, double rate, double shape);
double count_draw(count_cdf cdf, double rate, double shape, double u);
/* P(y <= k) under f ~ N(mu, var): the cdf bends where the rate is k + 1, over `width`. */
double count_predictive_cdf(count_cdf cdf, double shape, double k, double log_unit, double mu, double var,
                            double width);

static inline double exposure_at(const double *exposure, int64_t i) { return exposure ? exposure[i] : 1; }
static inline double bounded_log(double x) { return x > 0 ? fmax(log(x), -EXPONENT_MOST) : -EXPONENT_MOST; }

#endif
