/* Transforms of the target: the model is one of t = g(y), and y = g^-1(t).
       log      g(y) = log y                            y > 0
       boxcox   g(y) = (y^lambda - 1) / lambda          y > 0, 0 <= lambda <= 2; log for lambda = 0
   (Box and Cox 1964, eq. 1).  g takes y > 0 to t > floor, which is -infinity for log and -1/lambda for boxcox.  Where t is normal it
   is below the floor with some probability; y is then 0: all that follows is of y = g^-1(max(t, floor)), which has a density
       p(y) = N(g(y); m, v) g'(y)    for y > 0,    and    P(y = 0) = Phi((floor - m) / sqrt(v)).
   A negative lambda is not offered: y would have no mean, since g^-1 has a pole at t = -1/lambda.
   Lambda has no unit: for c y in place of y, g(y) changes by a factor and a shift only. */
#ifndef BASE_WARP_H
#define BASE_WARP_H

#include <stdbool.h>

#include "base/error.h"

typedef struct warp_kind warp_kind;

typedef struct warp {
    const warp_kind *kind; /* NULL: none, t = y */
    double lambda;
} warp;

#define WARP_LAMBDA_MOST 2.0

static inline bool warp_is(const warp *w) { return w->kind; }

/* "none", "log", "boxcox(lambda=0.3)", with the same arguments as other expressions; lambda NaN: it was not given. */
anygp_status warp_parse(const char *text, warp *out, anygp_error *e);
/* By name and parameter, as a model file has them; false: there is no such transform. */
bool warp_named(const char *name, double lambda, warp *out);
const char *warp_name(const warp *w); /* "none" too */
bool warp_has_lambda(const warp *w);
int warp_print(const warp *w, char *to, size_t size); /* as warp_parse reads it, 4 digits */

/* What is wrong with a target, or NULL: nothing. */
const char *warp_objection(const warp *w, double y);
double warp_forward(const warp *w, double y);   /* g(y) */
double warp_inverse(const warp *w, double t);   /* y, 0 at and below the floor */
double warp_log_slope(const warp *w, double y); /* log g'(y) */
double warp_floor(const warp *w);

/* Of y for t ~ N(mean, variance). */
void warp_moments(const warp *w, double mean, double variance, double *y_mean, double *y_variance);
/* Hermite coefficients of y = g^-1(m + s z): out[k - 1] = E[y He_k(z)] / sqrt(k!) for k = 1 .. WARP_HERMITE, z ~ N(0, 1); boxcox with lambda > 0. */
enum { WARP_HERMITE = 24 };
void warp_hermite(const warp *w, double m, double s, double out[WARP_HERMITE]);
/* How far above its mean, in standard deviations, t matters for the k-th moment of y: the largest term of y^k N(t) is there. */
double warp_peak(const warp *w, double mean, double sd, double k);

/* The integral of f over [a, b], which may have infinite slopes at its ends: tanh-sinh. */
double warp_integral(double (*f)(double x, const void *ctx), const void *ctx, double a, double b);

#endif
