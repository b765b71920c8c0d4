/* Mean and variance of y = g^-1(max(t, floor)), t ~ N(m, s^2) [warp.h].

   log, and boxcox with lambda = 0:  E y = exp(m + s^2/2),  Var y = (exp(s^2) - 1) (E y)^2.
   boxcox, with t = m + s z, a = 1 + lambda m, b = lambda s and q = 1 / lambda:
       E y   = integral of (a + b z)^q phi(z) over z > -a/b
       Var y = integral of (y - E y)^2 phi(z) over the same + (E y)^2 Phi(-a/b),
   the latter without the difference of two moments, which would cancel.  log[(a + b z)^k q phi(z)] is concave in z with a second derivative of
   at most -1, so the integrands are below exp(-(z - z*)^2 / 2) of their largest value, which is at
       z* = (sqrt(a^2 + 4 b^2 k q) - a) / (2 b),
   and nothing is lost outside of z* +- REACH.  Where the floor is farther away than that from where t is, the trapezium rule is exact to
   rounding (the integrand is a Gaussian times a function that is analytic there); else there is a power of z - floor at the lower end,
   which the tanh-sinh rule takes. */
#include <math.h>
#include <stdint.h>

#include "base/special.h"
#include "base/warp.h"

static const double REACH = 9, STEP = 0.375, FAR = 12;
enum { PARTS = 6 };

typedef struct integrand {
    const warp *w;
    double m, s, mean; /* mean: NAN: the first moment */
} integrand;

/* At z. */
static double value_at(double z, const void *ctx)
{
    const integrand *f = ctx;
    double y = warp_inverse(f->w, f->m + f->s * z), d = y - f->mean;
    return (isnan(f->mean) ? y : d * d) * exp(-0.5 * (z * z + LOG_2PI));
}

static double trapezium(const integrand *f, double low, double high)
{
    double sum = 0;
    int64_t n = (int64_t)ceil((high - low) / STEP);
    for (int64_t i = 0; i <= n; i++) sum += value_at(low + (high - low) * (double)i / (double)n, f);
    return sum * (high - low) / (double)n;
}

static void by_quadrature(const warp *w, double m, double s, double *mean, double *variance)
{
    integrand f = {w, m, s, NAN};
    double edge = (warp_floor(w) - m) / s, high = warp_peak(w, m, s, 2) + REACH;
    bool near = edge > -REACH;
    double low = near ? edge : -REACH;
    *mean = near ? warp_integral(value_at, &f, low, high) : trapezium(&f, low, high);
    f.mean = *mean;
    *variance = near ? warp_integral(value_at, &f, low, high) : trapezium(&f, low, high);
    *variance += *mean * *mean * normal_cdf(edge);
}

/* E[y He_k(z)] / sqrt(k!) by the same rules; He_k(z) phi(z) reaches farther than phi, and goes up and down.
   He_(k+1) = z He_k - k He_(k-1), here over sqrt(k!). */
typedef struct expansion {
    const warp *w;
    double m, s;
    int k;
} expansion;

static double hermite_at(double z, const void *ctx)
{
    const expansion *f = ctx;
    double before = 0, now = 1, y = warp_inverse(f->w, f->m + f->s * z);
    for (int k = 0; k < f->k; k++) {
        double next = (z * now - sqrt((double)k) * before) / sqrt((double)(k + 1));
        before = now, now = next;
    }
    return y * now * exp(-0.5 * (z * z + LOG_2PI));
}

/* In parts: one rule of tanh-sinh is too coarse for a function that changes its sign so often. */
static double from_floor(const expansion *f, double edge, double high)
{
    double sum = 0;
    for (int i = 0; i < PARTS; i++) {
        double from = edge + (high - edge) * i / PARTS, to = edge + (high - edge) * (i + 1) / PARTS;
        sum += warp_integral(hermite_at, f, from, to);
    }
    return sum;
}

static double over_all(const expansion *f, double high)
{
    double sum = 0;
    int64_t n = (int64_t)ceil((high + FAR) / STEP);
    for (int64_t i = 0; i <= n; i++) sum += hermite_at(-FAR + (high + FAR) * (double)i / (double)n, f);
    return sum * (high + FAR) / (double)n;
}

void warp_hermite(const warp *w, double m, double s, double out[WARP_HERMITE])
{
    expansion f = {w, m, s, 0};
    double edge = (warp_floor(w) - m) / s, high = warp_peak(w, m, s, 2) + FAR;
    for (int k = 1; k <= WARP_HERMITE; k++) {
        f.k = k;
        out[k - 1] = !(s > 0) ? 0 : edge > -REACH ? from_floor(&f, edge, high) : over_all(&f, high);
    }
}

double warp_peak(const warp *w, double mean, double sd, double k)
{
    double lambda = w->lambda, b = lambda * sd, a = 1 + lambda * mean;
    if (!w->kind) return 0;
    if (!(lambda > 0)) return k * sd;
    double root = sqrt(a * a + 4 * k * b * sd); /* b^2 q = b s */
    return a > 0 ? 2 * k * sd / (root + a) : (root - a) / (2 * b);
}

void warp_moments(const warp *w, double mean, double variance, double *y_mean, double *y_variance)
{
    double sd = sqrt(variance);
    if (!w->kind) {
        *y_mean = mean, *y_variance = variance;
    } else if (!(sd > 1e-12 * fabs(mean)) && !(sd > 1e-12)) { /* to the first order */
        *y_mean = warp_inverse(w, mean);
        double slope = *y_mean > 0 ? exp(-warp_log_slope(w, *y_mean)) : 0;
        *y_variance = variance * slope * slope;
    } else if (!(w->lambda > 0)) {
        *y_mean = exp(mean + 0.5 * variance);
        *y_variance = expm1(variance) * *y_mean * *y_mean;
    } else
        by_quadrature(w, mean, sd, y_mean, y_variance);
}

/* x = c + h tanh(pi/2 sinh u), dx = h pi/2 cosh(u) / cosh^2(pi/2 sinh u) du; the distance to the nearer end is computed without a difference,
   so that ends with infinite slopes do no harm. */
double warp_integral(double (*f)(double x, const void *ctx), const void *ctx, double a, double b)
{
    enum { SIDE = 70 };
    static const double MOST = 3.5;
    if (!(b > a)) return 0;
    double half = 0.5 * (b - a), du = MOST / SIDE, sum = 0.5 * PI * f(a + half, ctx);
    for (int i = 1; i <= SIDE; i++) {
        double u = i * du, p = 0.5 * PI * sinh(u), c = cosh(p);
        double weight = 0.5 * PI * cosh(u) / (c * c), gap = half * exp(-p) / c; /* half (1 - tanh p) */
        if (weight > 0 && gap > 0) sum += weight * (f(a + gap, ctx) + f(b - gap, ctx));
    }
    return half * du * sum;
}
