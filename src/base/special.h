/* Functions of probability that stay accurate in their tails. */
#ifndef BASE_SPECIAL_H
#define BASE_SPECIAL_H

#include <stdint.h>

#include "base/constants.h"

double normal_cdf(double x);
double log_normal_cdf(double x);
double log_mills(double x);       /* log(exp(x^2/2) (1 - Phi(x))), x >= 0 */
double normal_hazard(double x);   /* phi(x) / Phi(x) */
double normal_quantile(double p); /* 0 < p < 1 */
double log_normal_density(double x, double variance);

double log_gamma(double x); /* x > 0 */
double digamma(double x);
/* Differences that cancel when they are taken as written; x > 0. */
double log_gamma_half(double x);        /* log G(x + 1/2) - log G(x) - log(x)/2, which tends to 0 */
double log_gamma_half_slope(double x);  /* its derivative */
double log_gamma_peak(double x);        /* x log x - x - log G(x): log of the density of log L at 0, L ~ Gamma(x, x) */
double gamma_upper(double a, double x); /* Q(a, x), regularised; a > 0, x >= 0 */
/* x with P(a, x) = p, 0 < p < 1, and unless slope is NULL dx/da at this p.  0 where x is no positive double. */
double gamma_quantile(double a, double p, double *slope);
double beta_lower(double a, double b, double x); /* I_x(a, b), regularised; a, b > 0 */

double log_sum_exp(int64_t n, const double *x);
double log_add_exp(double a, double b);

#endif
