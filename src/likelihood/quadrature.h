/* Integrals over one latent f ~ N(mu, var), for likelihoods without a closed form.  For each row a likelihood says
   where log p(y | f) bends (`centre`) and over what distance (`width`); nodes are then chosen so that both that bend and the normal
   density are resolved, whichever is the narrower (quadrature.c). */
#ifndef LIKELIHOOD_QUADRATURE_H
#define LIKELIHOOD_QUADRATURE_H

#include "likelihood/likelihood.h"

enum { QUADRATURE_MOST = 384, LATENT_VALUES = 5 };

typedef struct quadrature {
    int64_t n;
    double f[QUADRATURE_MOST], w[QUADRATURE_MOST]; /* E[g(f)] = sum w g(f), sum w = 1 */
} quadrature;

void quadrature_nodes(double mu, double var, double centre, double width, quadrature *q);
/* E[g(f)] */
double quadrature_mean(double mu, double var, double centre, double width, double (*g)(double f, const void *ctx),
                       const void *ctx);

/* One row: its numbers and what can be computed from them before f is known. */
typedef struct latent_row {
    const double *y;
    double centre, width;
    double constant[6];
} latent_row;

/* A likelihood of one latent.  At each f of n: out[0] = log p(y | f), out[1], out[2] its first and second derivatives in f,
   out[3], out[4] derivatives in up to two quantities that `params` turns into dparam, given their expectations e. */
typedef struct latent_ops {
    void (*row)(const likelihood *l, const double *y, latent_row *r);
    void (*at)(const likelihood *l, const latent_row *r, int64_t n, const double *f, double (*out)[QUADRATURE_MOST]);
    void (*params)(const likelihood *l, const latent_row *r, const double *e, double w, double *dparam); /* or NULL */
} latent_ops;

/* likelihood_ops.expect and .log_predictive by quadrature. */
double latent_expect(const latent_ops *o, const likelihood *l, int64_t n, const double *Y, const double *w,
                     const double *mu, const double *var, double *dmu, double *dvar, double *dparam);
void latent_log_predictive(const latent_ops *o, const likelihood *l, int64_t n, const double *Y, const double *mu,
                           const double *var, double *out);

/* The same for one row: log of the integral of exp(out[0]) N(f; mu, var). */
double latent_log_integral(const latent_ops *o, const likelihood *l, const latent_row *r, double mu, double var);

#endif
