/* Inside the folder: the tables and what several likelihoods share. */
#ifndef LIKELIHOOD_PARTS_H
#define LIKELIHOOD_PARTS_H

#include <math.h>

#include "likelihood/likelihood.h"

extern const likelihood_ops likelihood_gaussian, likelihood_laplace, likelihood_studentt, likelihood_bernoulli,
    likelihood_poisson, likelihood_negbin, likelihood_softmax, likelihood_robustmax, likelihood_ordinal,
    likelihood_heteroscedastic;

/* Logarithms of rates and variances stay within this: their squares, and sums of many, are still numbers. */
#define EXPONENT_MOST 300.0

static inline double bounded(double x, double most) { return fmax(-most, fmin(x, most)); }
static inline double bounded_exp(double x) { return exp(bounded(x, EXPONENT_MOST)); }
static inline double weight_at(const double *w, int64_t i) { return w ? w[i] : 1; }

/* Row i of Y; with exposure its second number, else 1. */
static inline const double *row_of(const likelihood *l, const double *Y, int64_t i) { return Y + i * l->columns; }
static inline double exposure_in(const likelihood *l, const double *y) { return l->columns > 1 ? y[1] : 1; }

#endif
