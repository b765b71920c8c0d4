/* Whether a series has a season, which the default kernel cannot continue.  By least squares on 1, x, cos wx and sin wx over a grid of
   frequencies w (Lomb 1976, with the straight line fitted too): the share of what the straight line leaves of y that the wave explains.
   With r the residuals of the line, and c and s the wave without its own line,

       share(w) = [r'c r's] G^-1 [r'c r's]' / r'r        G = [c'c c's; c's s's] */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "gp/auto.h"

enum {
    ROWS_LEAST = 40, /* noise alone would reach 2 ln(2n) / n of its variance */
    ROWS_MOST = 2000,
    WAVES_LEAST = 4, /* a bend or two are no season */
    FINER = 4,       /* steps of the grid per wave over the range */
    CLOSER = 20      /* and of a second one between two of its steps */
};
static const double SHARE_LEAST = 0.5, TURN = 6.283185307179586;

typedef struct series {
    int64_t n;
    double from, to; /* of x */
    double *x, *line, *r;
    double left; /* r'r */
} series;

static bool take_rows(const fit_task *f, int64_t input, series *s)
{
    const table *t = f->data->table;
    int64_t target = f->columns->target[0];
    if (!(s->x = mem_doubles(t->rows, 1)) || !(s->line = mem_doubles(t->rows, 1)) || !(s->r = mem_doubles(t->rows, 1)))
        return false;
    s->from = HUGE_VAL, s->to = -HUGE_VAL;
    for (int64_t i = 0; i < t->rows; i++) {
        double x = t->values[i * t->cols + input], y = t->values[i * t->cols + target];
        if (!(isfinite(x) && isfinite(y))) continue;
        s->from = fmin(s->from, x), s->to = fmax(s->to, x);
        s->x[s->n] = x, s->r[s->n++] = y;
    }
    return s->n >= ROWS_LEAST && s->to > s->from;
}

/* r without its line; line: x without its mean, of norm 1. */
static bool take_line(series *s)
{
    double n = (double)s->n, mean_x = 0, mean_y = 0, norm = 0, slope = 0, before = 0;
    for (int64_t i = 0; i < s->n; i++) mean_x += s->x[i] / n, mean_y += s->r[i] / n;
    for (int64_t i = 0; i < s->n; i++) s->line[i] = s->x[i] - mean_x, norm += s->line[i] * s->line[i];
    for (int64_t i = 0; i < s->n; i++) s->line[i] /= sqrt(norm), s->r[i] -= mean_y;
    for (int64_t i = 0; i < s->n; i++) slope += s->line[i] * s->r[i], before += s->r[i] * s->r[i];
    for (int64_t i = 0; i < s->n; i++) s->r[i] -= slope * s->line[i], s->left += s->r[i] * s->r[i];
    return s->left > 1e-12 * before;
}

static double share_of_wave(const series *s, double w)
{
    double c1 = 0, s1 = 0, cl = 0, sl = 0, cc = 0, cs = 0, ss = 0, rc = 0, rs = 0, n = (double)s->n;
    for (int64_t i = 0; i < s->n; i++) {
        double c = cos(w * (s->x[i] - s->from)), v = sin(w * (s->x[i] - s->from));
        c1 += c, s1 += v, cl += s->line[i] * c, sl += s->line[i] * v;
        cc += c * c, cs += c * v, ss += v * v, rc += s->r[i] * c, rs += s->r[i] * v;
    }
    cc -= c1 * c1 / n + cl * cl, cs -= c1 * s1 / n + cl * sl, ss -= s1 * s1 / n + sl * sl;
    double det = cc * ss - cs * cs;
    if (!(det > 1e-8 * n * n)) return 0; /* at half the rate of the rows one of the two is next to nothing */
    return (rc * rc * ss - 2 * rc * rs * cs + rs * rs * cc) / det / s->left;
}

/* The period of the best wave, and its share. */
static double best_period(const series *s, double *share)
{
    double step = TURN / (FINER * (s->to - s->from)), best = 0;
    for (int64_t k = FINER * WAVES_LEAST; k <= FINER * s->n / 2; k++) {
        double now = share_of_wave(s, (double)k * step);
        if (now > *share) *share = now, best = (double)k * step;
    }
    double around = best;
    for (int k = -CLOSER; k <= CLOSER && best > 0; k++) {
        double w = around + k * step / CLOSER, now = share_of_wave(s, w);
        if (now > *share) *share = now, best = w;
    }
    return TURN / best;
}

void auto_tell_season(const fit_task *f, int64_t input)
{
    series s = {0};
    double share = 0;
    const table *t = f->data->table;
    if (!t->values || t->rows > ROWS_MOST) return;
    if (take_rows(f, input, &s) && take_line(&s)) {
        double period = best_period(&s, &share);
        if (share >= SHARE_LEAST)
            settings_log(f->s, ANYGP_NOTE,
                         "the series has a season: a wave of period %.3g explains %.0f %% of what a straight line "
                         "leaves; for forecasts try --kernel 'matern52 + periodic(period=%.3g)*rbf'%s",
                         period, 100 * share, period,
                         settings_is(f->set->settings, SET_MEAN, "linear") ? " --mean linear" : "");
    }
    free(s.x);
    free(s.line);
    free(s.r);
}
