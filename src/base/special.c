/* Special functions with the accuracy that densities need. */
#include "base/special.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* ---------------------------------------------------------------------------------------------- normal */

static const double ASYMPTOTIC = 25; /* from here on the series below is exact in double precision */

double normal_cdf(double x) { return 0.5 * erfc(-x * SQRT_HALF); }

/* Mills' ratio, (1 - 1/x^2 + 3/x^4 - 15/x^6 + 105/x^8) / (x sqrt(2 pi)) far out. */
double log_mills(double x)
{
    if (x < ASYMPTOTIC) return log(0.5 * erfc(x * SQRT_HALF)) + 0.5 * x * x;
    double q = 1 / (x * x);
    return log1p(-q * (1 - q * (3 - q * (15 - 105 * q)))) - log(x) - 0.5 * LOG_2PI;
}

double log_normal_cdf(double x) { return x > 0 ? log1p(-0.5 * erfc(x * SQRT_HALF)) : log_mills(-x) - 0.5 * x * x; }

double normal_hazard(double x)
{
    if (x < 0) return exp(-0.5 * LOG_2PI - log_mills(-x));
    return exp(-0.5 * (LOG_2PI + x * x)) / normal_cdf(x);
}

double log_normal_density(double x, double variance) { return -0.5 * (LOG_2PI + log(variance) + x * (x / variance)); }

/* Tail of the quantile: sqrt(-2 log p), then a correction by the asymptotic series; good for a start only. */
static double quantile_start(double p)
{
    double t = sqrt(-2 * log(p));
    return -(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
}

/* Newton's steps on log Phi, which is concave, from a start good to 5e-4 (Abramowitz and Stegun 26.2.23). */
double normal_quantile(double p)
{
    if (p > 0.5) return -normal_quantile(1 - p);
    double x = quantile_start(p);
    for (int i = 0; i < 3; i++) x -= (log_normal_cdf(x) - log(p)) / normal_hazard(x);
    return x;
}

/* ----------------------------------------------------------------------------------------- logarithms */

double log_add_exp(double a, double b)
{
    double most = fmax(a, b), least = fmin(a, b);
    return isinf(most) ? most : most + log1p(exp(least - most));
}

double log_sum_exp(int64_t n, const double *x)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, x[i]);
    if (isinf(most)) return most;
    for (int64_t i = 0; i < n; i++) sum += exp(x[i] - most);
    return most + log(sum);
}

/* ---------------------------------------------------------------------------------- incomplete gamma, beta */

enum { MOST_TERMS = 20000 };
static const double GAMMA_LARGE = 1e4, BETA_LARGE = 1e5, TINY = 1e-300;

static const double STIRLING = 10, HALF_LARGE = 30; /* from where on a series is exact in double precision */

/* log G(x) - ((x - 1/2) log x - x + log(2 pi)/2), x >= STIRLING */
static double stirling(double x)
{
    double q = 1 / (x * x);
    return (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q * (1.0 / 1680 - q * (1.0 / 1188 - q / 528))))) / x;
}

/* Stirling's series from 10 on, below it by the recurrence; the C library's own writes a global. */
double log_gamma(double x)
{
    double product = 1;
    for (; x < STIRLING; x++) product *= x;
    return (x - 0.5) * log(x) - x + 0.5 * LOG_2PI + stirling(x) - log(product);
}

double log_gamma_peak(double x)
{
    return x < STIRLING ? x * log(x) - x - log_gamma(x) : 0.5 * (log(x) - LOG_2PI) - stirling(x);
}

/* -1/(8 x) + 1/(192 x^3) - 1/(640 x^5) + 17/(14336 x^7) */
double log_gamma_half(double x)
{
    if (x < HALF_LARGE) return log_gamma(x + 0.5) - log_gamma(x) - 0.5 * log(x);
    double q = 1 / (x * x);
    return -(1.0 / 8 - q * (1.0 / 192 - q * (1.0 / 640 - q * 17 / 14336))) / x;
}

double log_gamma_half_slope(double x)
{
    if (x < HALF_LARGE) return digamma(x + 0.5) - digamma(x) - 0.5 / x;
    double q = 1 / (x * x);
    return q * (1.0 / 8 - q * (1.0 / 64 - q * (1.0 / 128 - q * 17 / 2048)));
}

/* The derivative of log G, in the same way. */
double digamma(double x)
{
    double sum = 0;
    for (; x < 10; x++) sum += 1 / x;
    double q = 1 / (x * x);
    double series =
        q * (1.0 / 12 - q * (1.0 / 120 - q * (1.0 / 252 - q * (1.0 / 240 - q * (1.0 / 132 - q * 691 / 32760)))));
    return log(x) - 0.5 / x - series - sum;
}

/* Temme's uniform expansion for large a, its first term: eta^2/2 = m - log(1+m), m = x/a - 1; the rest is O(a^-3/2). */
static double gamma_upper_large(double a, double x)
{
    double m = x / a - 1, half = m - log1p(m);
    double eta = copysign(sqrt(2 * fmax(half, 0)), m);
    double c = fabs(eta) < 1e-3 ? -1.0 / 3 + eta / 12 : 1 / m - 1 / eta;
    return 0.5 * erfc(eta * sqrt(0.5 * a)) + exp(-a * half - 0.5 * (LOG_2PI + log(a))) * c;
}

static double gamma_lower_series(double a, double x)
{
    double term = 1 / a, sum = term;
    for (int k = 1; k < MOST_TERMS && term > sum * DBL_EPSILON; k++) sum += term *= x / (a + k);
    return sum;
}

/* One step of Lentz's algorithm for a continued fraction with partial numerators a and denominators b. */
static double lentz(double a, double b, double *c, double *d)
{
    *d = b + a * *d;
    *c = b + a / *c;
    if (fabs(*d) < TINY) *d = TINY;
    if (fabs(*c) < TINY) *c = TINY;
    *d = 1 / *d;
    return *c * *d;
}

static double gamma_upper_fraction(double a, double x)
{
    double c = 1 / TINY, d = 1 / (x + 1 - a), h = d;
    for (int k = 1; k < MOST_TERMS; k++) {
        double step = lentz(-k * (k - a), x + 2 * k + 1 - a, &c, &d);
        h *= step;
        if (fabs(step - 1) < DBL_EPSILON) break;
    }
    return h;
}

double gamma_upper(double a, double x)
{
    if (x <= 0) return 1;
    if (a > GAMMA_LARGE) return gamma_upper_large(a, x);
    double front = exp(a * log(x) - x - log_gamma(a));
    return x < a + 1 ? 1 - front * gamma_lower_series(a, x) : front * gamma_upper_fraction(a, x);
}

/* log of x times the density of Gamma(a) at x = e^t: the derivative of P(a, e^t) in t. */
static double log_gamma_rise(double a, double t) { return a * t - exp(t) - log_gamma(a); }

/* log x to begin with: the first term of the series of P where that is small, else Wilson and Hilferty's cube of a normal. */
static double gamma_quantile_start(double a, double p)
{
    double first = (log(p) + log_gamma(a + 1)) / a, cube = 1 - 1 / (9 * a) + normal_quantile(p) / (3 * sqrt(a));
    return a < 1 || cube < 0.1 ? fmin(first, log(a + 1)) : log(a) + 3 * log(cube);
}

/* Newton's steps in t = log x, no longer than 1, between bounds that close in. */
static double log_gamma_quantile(double a, double p)
{
    double low = -INFINITY, high = INFINITY, t = gamma_quantile_start(a, p);
    for (int i = 0; i < 100; i++) {
        double over = (1 - p) - gamma_upper(a, exp(t)), step = over / exp(log_gamma_rise(a, t));
        if (over == 0 || fabs(step) <= 4 * DBL_EPSILON * fmax(1, fabs(t))) return t - step;
        if (over > 0)
            high = t;
        else
            low = t;
        t -= fmin(fmax(step, -1), 1);
        if (!(t > low && t < high)) t = 0.5 * (low + high);
    }
    return t;
}

/* dP/da by differences of order four, and dx/da = -(dP/da) / (dP/dx). */
static double gamma_quantile_slope(double a, double t)
{
    double h = 3e-3 * a / sqrt(fmax(a, 1)), x = exp(t);
    double near = gamma_upper(a + h, x) - gamma_upper(a - h, x),
           far = gamma_upper(a + 2 * h, x) - gamma_upper(a - 2 * h, x);
    return (8 * near - far) / (12 * h) * exp(t - log_gamma_rise(a, t));
}

double gamma_quantile(double a, double p, double *slope)
{
    if (a > GAMMA_LARGE) { /* a (1 + z / sqrt a): the deviation from a grows with the root of a */
        double at = gamma_quantile(GAMMA_LARGE, p, NULL), away = (at - GAMMA_LARGE) * sqrt(a / GAMMA_LARGE);
        if (slope) *slope = 1 + 0.5 * away / a;
        return a + away;
    }
    double t = log_gamma_quantile(a, p), x = exp(t);
    if (slope) *slope = x > 0 ? gamma_quantile_slope(a, t) : 0;
    return x;
}

static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), h = d;
    for (int k = 1; k < MOST_TERMS; k++) {
        double even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
        double odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
        h *= lentz(even, 1, &c, &d);
        double step = lentz(odd, 1, &c, &d);
        h *= step;
        if (fabs(step - 1) < DBL_EPSILON) break;
    }
    return h;
}

/* Large b: a gamma distribution while a is not large itself, to O(1/b^2) (Molenaar); else the normal of Wilson and Hilferty. */
static double beta_lower_large(double a, double b, double x)
{
    if (a > b) return 1 - beta_lower_large(b, a, 1 - x);
    if (a < 100) return 1 - gamma_upper(a, -(b + 0.5 * (a - 1)) * log1p(-x));
    double u = cbrt(b * x), v = cbrt(a * (1 - x));
    return normal_cdf(3 * (u * (1 - 1 / (9 * b)) - v * (1 - 1 / (9 * a))) / sqrt(u * u / b + v * v / a));
}

double beta_lower(double a, double b, double x)
{
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    if (fmax(a, b) > BETA_LARGE) return beta_lower_large(a, b, x);
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    bool left = x < (a + 1) / (a + b + 2);
    return left ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}
