/* What poisson and negbin share: counts with an exposure. */
#include "likelihood/counts.h"

#include "likelihood/quadrature.h"

double counts_offset(const likelihood *l, int64_t n, const double *Y, const double *w)
{
    double counts = 0, exposure = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *y = row_of(l, Y, i);
        counts += weight_at(w, i) * y[0];
        exposure += weight_at(w, i) * exposure_in(l, y);
    }
    return exposure > 0 ? log(fmax(counts, 0.5) / exposure) : 0; /* half a count where none was seen */
}

/* A whole number between lo and hi, at their geometric mean while they differ in size; lo if there is none that
   matters. */
static double whole_between(double lo, double hi)
{
    if (hi - lo <= 1e-12 * hi) return lo;
    return hi > 4 * (lo + 2) ? floor(sqrt((lo + 2) * hi)) : floor(0.5 * (lo + hi));
}

/* Away from the guess by factors 2, 4, 16, ..., then bisection between lo (not reached) and hi (reached). */
double first_whole(double guess, bool (*reached)(double k, const void *ctx), const void *ctx)
{
    double lo = fmax(0, floor(guess)), hi = lo, middle;
    if (reached(lo, ctx)) {
        for (double by = 2; lo >= 0 && reached(lo, ctx); by *= by) hi = lo, lo = floor((lo + 1) / by) - 1;
    } else {
        for (double by = 2; hi < 1e300 && !reached(hi, ctx); by = fmin(by * by, 1e100)) lo = hi, hi = (hi + 1) * by;
    }
    while ((middle = whole_between(lo, hi)) > lo && middle < hi) *(reached(middle, ctx) ? &hi : &lo) = middle;
    return hi;
}

typedef struct count_at {
    count_cdf cdf;
    double k, log_unit, rate, shape, u;
} count_at;

static bool count_reached(double k, const void *ctx)
{
    const count_at *c = ctx;
    return c->cdf(k, c->rate, c->shape) >= c->u;
}

double count_draw(count_cdf cdf, double rate, double shape, double u)
{
    return first_whole(rate, count_reached, &(count_at){.cdf = cdf, .rate = rate, .shape = shape, .u = u});
}

static double cdf_at(double f, const void *ctx)
{
    const count_at *c = ctx;
    return c->cdf(c->k, bounded_exp(f + c->log_unit), c->shape);
}

double count_predictive_cdf(count_cdf cdf, double shape, double k, double log_unit, double mu, double var, double width)
{
    if (k < 0) return 0;
    count_at c = {.cdf = cdf, .k = floor(k), .log_unit = log_unit, .shape = shape};
    return fmax(0, fmin(quadrature_mean(mu, var, log(c.k + 1) - log_unit, width, cdf_at, &c), 1));
}
