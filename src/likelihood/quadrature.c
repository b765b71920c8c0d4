/* Two rules.  Where sd(f) is small beside the width over which log p(y | f) bends: Gauss-Hermite with 32 points.  Else the
   trapezoidal rule in t,
       f = c + s sinh(t),   c = centre, s = width,
   over f within REACH standard deviations of mu: its nodes are a share of s apart near c and spread geometrically, so that
   a bend much narrower than the normal is resolved with a number of points that grows as log(sd/s).  For analytic integrands both
   converge exponentially; they agree to about 1e-9 where they meet.

   The log predictive density, log of the integral of exp h, h(f) = log p(y | f) + log N(f; mu, var), is taken around the
   maximum of h, which lies many standard deviations from mu when y is a surprise.  h falls at least as fast as the normal from
   there where log p is concave.  Sums are of logarithms, so that nothing underflows.

   Derivatives of E = E[log p]:  dE/dmu = E[l'],  dE/dvar = E[l'']/2  (Bonnet, Price). */
#include "likelihood/quadrature.h"

#include "likelihood/parts.h"
#include "base/special.h"

static const double REACH = 10; /* standard deviations; the normal beyond them is 1e-22 */
static const double STEP = 0.1; /* of t at most */
static const double FAR = 5;    /* the rule is centred within this many sd of mu, so that the normal stays resolved */
static const double HERMITE = 0.5; /* sd / width up to which Gauss-Hermite is used */
enum { LEAST_NODES = 40, HALF_HERMITE = 16 };

/* Positive nodes and their weights for the standard normal; the negative ones mirror them. */
static const struct {
    double x, w;
} hermite[HALF_HERMITE] = {{0.27554641923027579, 0.21170556988047931},   {0.82728490377976516, 0.15653899375759844},
                           {1.3809801992721442, 0.085344808272080755},   {1.9380049059257174, 0.034109847726092053},
                           {2.4998404151873954, 0.0099034617023205911},  {3.0681351690131211, 0.0020620510513078847},
                           {3.644781249880833, 0.00030255702581706247},  {4.2320211099954097, 3.0559803060896302e-05},
                           {4.8326046132444889, 2.0596221039534287e-06}, {5.4500332736234283, 8.8812907131058956e-08},
                           {6.0889643090769869, 2.3125184120742405e-09}, {6.7559308305407049, 3.3475012398012072e-11},
                           {7.4607557541215188, 2.3780648557778086e-13}, {8.2197287653822446, 6.7552902236701189e-16},
                           {9.0643992107024065, 5.2084495919608613e-19}, {10.077422674229465, 4.1246074890182694e-23}};

static void hermite_nodes(double mu, double sd, quadrature *q)
{
    q->n = 2 * HALF_HERMITE;
    for (int k = 0; k < HALF_HERMITE; k++) {
        q->f[k] = mu - sd * hermite[k].x;
        q->f[k + HALF_HERMITE] = mu + sd * hermite[k].x;
        q->w[k] = q->w[k + HALF_HERMITE] = hermite[k].w;
    }
}

/* Nodes between lo and hi, q->w the length each stands for. */
static void sinh_nodes(double centre, double width, double lo, double hi, quadrature *q)
{
    double from = asinh((lo - centre) / width), to = asinh((hi - centre) / width);
    double n = ceil((to - from) / STEP) + 1;
    q->n = (int64_t)fmin(fmax(n, LEAST_NODES), QUADRATURE_MOST);
    double h = (to - from) / (double)(q->n - 1);
    for (int64_t k = 0; k < q->n; k++) {
        double t = from + h * (double)k, e = exp(t);
        q->f[k] = centre + 0.5 * width * (e - 1 / e);
        q->w[k] = 0.5 * h * width * (e + 1 / e);
    }
}

void quadrature_nodes(double mu, double var, double centre, double width, quadrature *q)
{
    double sd = sqrt(var), sum = 0;
    if (sd <= HERMITE * width) {
        hermite_nodes(mu, sd, q);
        return;
    }
    centre = fmax(mu - FAR * sd, fmin(centre, mu + FAR * sd));
    sinh_nodes(centre, width, mu - REACH * sd, mu + REACH * sd, q);
    for (int64_t k = 0; k < q->n; k++) {
        double z = (q->f[k] - mu) / sd;
        sum += q->w[k] *= exp(-0.5 * z * z);
    }
    for (int64_t k = 0; k < q->n; k++) q->w[k] /= sum;
}

double quadrature_mean(double mu, double var, double centre, double width, double (*g)(double f, const void *ctx),
                       const void *ctx)
{
    quadrature q;
    double sum = 0;
    quadrature_nodes(mu, var, centre, width, &q);
    for (int64_t k = 0; k < q.n; k++) sum += q.w[k] * g(q.f[k], ctx);
    return sum;
}

/* ------------------------------------------------------------------------------------ expectations */

static void row_expectations(const latent_ops *o, const likelihood *l, const latent_row *r, double mu, double var,
                             double *e)
{
    quadrature q;
    double out[LATENT_VALUES][QUADRATURE_MOST];
    quadrature_nodes(mu, var, r->centre, r->width, &q);
    o->at(l, r, q.n, q.f, out);
    for (int v = 0; v < (o->params ? LATENT_VALUES : 3); v++) {
        e[v] = 0;
        for (int64_t k = 0; k < q.n; k++) e[v] += q.w[k] * out[v][k];
    }
}

double latent_expect(const latent_ops *o, const likelihood *l, int64_t n, const double *Y, const double *w,
                     const double *mu, const double *var, double *dmu, double *dvar, double *dparam)
{
    double sum = 0, e[LATENT_VALUES];
    for (int64_t i = 0; i < n; i++) {
        latent_row r;
        double weight = weight_at(w, i);
        o->row(l, row_of(l, Y, i), &r);
        row_expectations(o, l, &r, mu[i], var[i], e);
        sum += weight * e[0];
        dmu[i] = weight * e[1];
        dvar[i] = weight * 0.5 * e[2];
        if (o->params) o->params(l, &r, e, weight, dparam);
    }
    return sum;
}

/* ----------------------------------------------------------------------------------- log predictive */

/* h'(f) and -h''(f), h = log p(y | f) - (f - mu)^2 / (2 var) */
typedef struct peak {
    const latent_ops *o;
    const likelihood *l;
    const latent_row *r;
    double mu, var;
} peak;

static double peak_slope(const peak *p, double f, double *bend)
{
    double out[LATENT_VALUES][QUADRATURE_MOST];
    p->o->at(p->l, p->r, 1, &f, out);
    if (bend) *bend = 1 / p->var - out[2][0];
    return out[1][0] - (f - p->mu) / p->var;
}

/* An interval with h' >= 0 at its left and <= 0 at its right end, from that between mu and the centre. */
static void peak_bracket(const peak *p, double *lo, double *hi)
{
    double step = sqrt(p->var);
    *lo = fmin(p->mu, p->r->centre), *hi = fmax(p->mu, p->r->centre);
    for (int k = 0; k < 200 && peak_slope(p, *hi, NULL) > 0; k++, step *= 2) *hi += step;
    step = sqrt(p->var);
    for (int k = 0; k < 200 && peak_slope(p, *lo, NULL) < 0; k++, step *= 2) *lo -= step;
}

/* Newton's method kept inside the bracket, a bisection whenever it leaves it or does not halve it. */
static double peak_find(const peak *p, double *bend)
{
    double lo, hi, f;
    peak_bracket(p, &lo, &hi);
    f = fmax(lo, fmin(p->mu, hi));
    for (int k = 0; k < 200 && hi - lo > 1e-9 * (sqrt(p->var) + fabs(lo) * 1e-6); k++) {
        double slope = peak_slope(p, f, bend), newton = f + slope / *bend;
        *(slope > 0 ? &lo : &hi) = f;
        bool bisect = k % 2 || !(newton > lo && newton < hi);
        if (!bisect && fabs(newton - f) < 1e-9 * sqrt(p->var)) break;
        f = bisect ? 0.5 * (lo + hi) : newton;
    }
    peak_slope(p, f, bend);
    return f;
}

/* Nodes around the maximum m of h: fine there if the peak is narrower than the normal, else where log p bends. */
static void peak_nodes(const peak *p, double m, double bend, quadrature *q)
{
    double sd = sqrt(p->var), narrow = bend > 0 ? 1 / sqrt(bend) : sd;
    bool near = fabs(m - p->mu) <= REACH * sd;
    double lo = (near ? fmin(m, p->mu) : m) - REACH * sd, hi = (near ? fmax(m, p->mu) : m) + REACH * sd;
    bool sharp = narrow < 0.5 * sd;
    double centre = sharp ? m : fmax(m - FAR * sd, fmin(p->r->centre, m + FAR * sd));
    sinh_nodes(centre, sharp ? narrow : p->r->width, lo, hi, q);
}

static double peak_integral(const peak *p)
{
    quadrature q;
    double out[LATENT_VALUES][QUADRATURE_MOST], bend = 0, sd = sqrt(p->var);
    double m = peak_find(p, &bend);
    peak_nodes(p, m, bend, &q);
    p->o->at(p->l, p->r, q.n, q.f, out);
    for (int64_t k = 0; k < q.n; k++) {
        double z = (q.f[k] - p->mu) / sd;
        out[0][k] += log(q.w[k] / sd) - 0.5 * (z * z + LOG_2PI);
    }
    return log_sum_exp(q.n, out[0]);
}

double latent_log_integral(const latent_ops *o, const likelihood *l, const latent_row *r, double mu, double var)
{
    static const double least = 1e-12; /* below it the normal is a point compared with every likelihood */
    return peak_integral(&(peak){.o = o, .l = l, .r = r, .mu = mu, .var = fmax(var, least * r->width * r->width)});
}

void latent_log_predictive(const latent_ops *o, const likelihood *l, int64_t n, const double *Y, const double *mu,
                           const double *var, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        latent_row r;
        o->row(l, row_of(l, Y, i), &r);
        out[i] = latent_log_integral(o, l, &r, mu[i], var[i]);
    }
}
