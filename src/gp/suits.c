/* What the values of a target suggest where the user chose nothing: classes, counts, or a logarithm.  It is a hint and no more: 0 and 1
   may be measurements, and whole numbers the steps of a scale. */
#include <math.h>
#include <stdio.h>

#include "gp/fit.h"

enum { LEAST = 30, COUNTS_FROM = 1, COUNTS_MEAN = 100 }; /* counts that are larger on average look like a normal */
static const double SKEW = 1.5, LESS = 0.5; /* skewness of y; that of log y is less than this share of it */

typedef struct values {
    double n, least, most, sum;
    bool whole;
} values;

static values look(const table *t, int64_t j)
{
    values v = {.least = INFINITY, .most = -INFINITY, .whole = true};
    for (int64_t i = 0; i < t->rows; i++) {
        double y = t->values[i * t->cols + j];
        if (isnan(y)) continue;
        v.n++, v.sum += y;
        v.least = fmin(v.least, y), v.most = fmax(v.most, y);
        v.whole &= y == floor(y);
    }
    return v;
}

static double value_of(double y, bool logged) { return logged ? log(y) : y; }

/* Third standardised moment of y or log y. */
static double skewness(const table *t, int64_t j, double n, bool logged)
{
    double mean = 0, square = 0, cube = 0;
    for (int64_t i = 0; i < t->rows; i++) {
        double y = t->values[i * t->cols + j];
        if (!isnan(y)) mean += value_of(y, logged) / n;
    }
    for (int64_t i = 0; i < t->rows; i++) {
        double y = t->values[i * t->cols + j], d = value_of(y, logged) - mean;
        if (!isnan(y)) square += d * d / n, cube += d * d * d / n;
    }
    return cube / pow(square, 1.5);
}

static bool chosen(const settings *s)
{
    static const setting_id own[] = {SET_MODEL, SET_LIKELIHOOD, SET_TRANSFORM, SET_NOISE, SET_MEAN, SET_CALIBRATE};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (settings_changed(s, own[i])) return true;
    return false;
}

void fit_suits(const table *t, int64_t j, const settings *s, char *text, size_t size)
{
    *text = 0;
    if (chosen(s) || !settings_is(s, SET_LIKELIHOOD, "gaussian") || t->columns[j].kind == COLUMN_TEXT) return;
    values v = look(t, j);
    if (!(v.n >= LEAST) || !(v.most > v.least)) return;
    if (v.whole && v.least == 0 && v.most == 1) {
        snprintf(text, size, "--likelihood bernoulli, since the target is only ever 0 or 1: two classes");
    } else if (v.whole && v.least >= 0 && v.least <= COUNTS_FROM && v.sum / v.n <= COUNTS_MEAN) {
        snprintf(text, size,
                 "--likelihood poisson, since the target has only whole numbers from %.0f to %.0f (negbin if these "
                 "counts scatter more, softmax if they are classes)",
                 v.least, v.most);
    } else if (v.least > 0) {
        double skew = skewness(t, j, v.n, false);
        if (skew > SKEW && fabs(skewness(t, j, v.n, true)) < LESS * skew)
            snprintf(text, size, "--transform log, since the target is above 0 and skewed, and its logarithm is not");
    }
}
