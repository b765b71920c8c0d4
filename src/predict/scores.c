/* Regression scores.  Sums are kept in units of the training sd, so that targets near 1e300 or 1e-300 neither
   overflow nor vanish when squared, and are compensated, so that 1e8 rows lose nothing. */
#include "predict/scores.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/constants.h"

static const double LEVELS[COVERAGE_LEVELS] = {/* Phi^-1((1 + P)/2), P = 0.50, 0.80, 0.90, 0.95, 0.99 */
                                               0.67448975019608171, 1.2815515655446004, 1.6448536269514722,
                                               1.9599639845400542, 2.5758293035489004};
static const double SHARES[COVERAGE_LEVELS] = {0.50, 0.80, 0.90, 0.95, 0.99};
static const double INV_SQRT_PI = 0.56418958354775628695, INV_SQRT_2PI = 0.39894228040143267794;
static const double SMALLEST_SD = 1e-12; /* in units of the training sd */
static const double LARGEST_Z = 1e140;   /* whose square still sums over any number of rows */

void exact_add(exact_sum *s, double x)
{
    double t = s->sum + x;
    s->error += fabs(s->sum) >= fabs(x) ? (s->sum - t) + x : (x - t) + s->sum;
    s->sum = t;
}

double exact_value(exact_sum s) { return s.sum + s.error; }

static double bounded(double x, double limit) { return x > limit ? limit : x < -limit ? -limit : x; }

/* (a - b) / unit without overflow in the difference */
static double difference(double a, double b, double unit)
{
    double d = a - b;
    return bounded(isfinite(d) ? d / unit : a / unit - b / unit, LARGEST_Z);
}

void regression_scores_begin(regression_scores *s, double train_mean, double train_sd)
{
    *s = (regression_scores){.train_mean = train_mean, .train_sd = train_sd > 0 && isfinite(train_sd) ? train_sd : 1};
}

/* Weighted Welford: the mean moves by d w / N and the squares gain w d (t - new mean). */
static void add_target(regression_scores *s, double t, double w)
{
    double d = t - s->y_mean;
    s->y_mean += d * (w / exact_value(s->weight));
    s->y_square += w * d * (t - s->y_mean);
    exact_add(&s->from_train, w * t * t);
}

/* e = y - m and sd in units of the training sd */
static void add_density(regression_scores *s, double e, double sd, double w)
{
    double z = bounded(e / sd, LARGEST_Z);
    exact_add(&s->nlp, w * (0.5 * LOG_2PI + log(sd) + 0.5 * z * z));
    exact_add(&s->crps, w * (e * erf(z * SQRT_HALF) + sd * (2 * INV_SQRT_2PI * exp(-0.5 * z * z) - INV_SQRT_PI)));
    exact_add(&s->sd, w * sd);
    for (int l = 0; l < COVERAGE_LEVELS; l++) exact_add(&s->covered[l], fabs(z) <= LEVELS[l] ? w : 0);
}

static double usable_sd(double variance, double unit)
{
    double sd = sqrt(variance) / unit;
    if (!(sd > SMALLEST_SD)) return SMALLEST_SD;
    return bounded(sd, LARGEST_Z);
}

double score_sd(double variance, double train_sd)
{
    double unit = train_sd > 0 ? train_sd : 1;
    return unit * usable_sd(variance, unit);
}

/* All that the mean m is enough for; returns y - m in units of the training sd. */
static double add_error(regression_scores *s, double y, double m, double w)
{
    double e = difference(y, m, s->train_sd);
    exact_add(&s->weight, w);
    exact_add(&s->square, w * e * e);
    exact_add(&s->absolute, w * fabs(e));
    add_target(s, difference(y, s->train_mean, s->train_sd), w);
    return e;
}

static bool counts(const double *weight, const double *y, int64_t i, double *w)
{
    *w = weight ? weight[i] : 1;
    return *w > 0 && isfinite(*w) && isfinite(y[i]);
}

void regression_scores_add(regression_scores *s, int64_t n, const double *y, const double *mean, const double *variance,
                           const double *weight)
{
    double w;
    for (int64_t i = 0; i < n; i++)
        if (counts(weight, y, i, &w))
            add_density(s, add_error(s, y[i], mean[i], w), usable_sd(variance[i], s->train_sd), w);
}

/* Counts: y >= the quantile of p where P(y' <= y) >= p, and y <= it where P(y' < y) < p.  Real: both are one number. */
bool score_interval_holds(double below, double up_to, double level)
{
    double from = (1 - level) / 2, to = (1 + level) / 2;
    return up_to >= from && (below < up_to ? below < to : up_to <= to);
}

static void add_distribution(regression_scores *s, const predicted *p, int64_t i, double w)
{
    exact_add(&s->nlp, -w * (bounded(p->log_density[i], LARGEST_Z) + log(s->train_sd)));
    if (p->crps) exact_add(&s->crps, w * bounded(p->crps[i] / s->train_sd, LARGEST_Z));
    exact_add(&s->sd, w * bounded(p->width95[i] / s->train_sd, LARGEST_Z) / (2 * LEVELS[3]));
    for (int l = 0; l < COVERAGE_LEVELS; l++)
        exact_add(&s->covered[l], score_interval_holds(p->below[i], p->up_to[i], SHARES[l]) ? w : 0);
}

void regression_scores_add_predicted(regression_scores *s, int64_t n, const double *y, const predicted *p,
                                     const double *weight)
{
    double w;
    s->no_crps = s->no_crps || !p->crps;
    for (int64_t i = 0; i < n; i++) {
        if (!counts(weight, y, i, &w)) continue;
        add_error(s, y[i], p->mean[i], w);
        add_distribution(s, p, i, w);
    }
}

/* In units of the training variance, so 1 replaces a denominator that is zero to rounding. */
static double ratio(double numerator, double denominator)
{
    return numerator / (denominator > 1e-30 ? denominator : 1);
}

int regression_scores_list(const regression_scores *s, score *out)
{
    double N = exact_value(s->weight), unit = s->train_sd;
    if (!(N > 0)) return out[0] = (score){"n", 0}, 1;
    double mse = exact_value(s->square) / N, from_train = exact_value(s->from_train) / N;
    double nlp = exact_value(s->nlp) / N, trivial = 0.5 * LOG_2PI + 0.5 * from_train;
    double covered[COVERAGE_LEVELS];
    for (int l = 0; l < COVERAGE_LEVELS; l++) covered[l] = exact_value(s->covered[l]) / N;
    const score list[REGRESSION_SCORES] = {
        {"rmse", sqrt(mse) * unit},
        {"mae", exact_value(s->absolute) / N * unit},
        {"nmse", ratio(mse, from_train)},
        {"smse", ratio(mse, s->y_square / N)},
        {"mnlp", nlp + log(unit)},
        {"msll", nlp - trivial},
        {"crps", exact_value(s->crps) / N * unit},
        {"coverage50", covered[0]},
        {"coverage80", covered[1]},
        {"coverage90", covered[2]},
        {"coverage95", covered[3]},
        {"coverage99", covered[4]},
        {"width95", 2 * LEVELS[3] * exact_value(s->sd) / N * unit},
        {"n", N},
    };
    int count = 0;
    for (int i = 0; i < REGRESSION_SCORES; i++)
        if (!s->no_crps || strcmp(list[i].name, "crps") != 0)
            out[count++] = (score){list[i].name, bounded(list[i].value, DBL_MAX)};
    return count;
}

const char *score_name(int i)
{
    static const char *const names[] = {"rmse",       "mae",
                                        "nmse",       "smse",
                                        "mnlp",       "msll",
                                        "crps",       "coverage50",
                                        "coverage80", "coverage90",
                                        "coverage95", "coverage99",
                                        "width95",    "accuracy",
                                        "logloss",    "brier",
                                        "ece",        "auc",
                                        "mell",       "bound",
                                        "n",          "balanced_accuracy"};
    return i >= 0 && i < (int)(sizeof names / sizeof *names) ? names[i] : NULL;
}
