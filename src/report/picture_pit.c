/* The histogram of the probability integral transform, P(y' <= y): flat if the predictive distributions are right.  A count has the
   interval from P(y' < y) to P(y' <= y), over which its mass is spread evenly (Czado, Gneiting and Held 2009). */
#include <math.h>

#include "report/picture.h"

enum { BINS = 20 };

/* How much of the interval from `from` to `to` lies below x; for a point 0 or 1. */
static double share_below(double from, double to, double x)
{
    if (to - from < 1e-12) return to < x || x >= 1;
    return fmin(fmax((x - from) / (to - from), 0), 1);
}

void pit_shares(const scene *c, int64_t bins, double *share)
{
    for (int64_t b = 0; b < bins; b++) share[b] = 0;
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t b = 0; b < bins; b++) {
            double up = share_below(c->below[i], c->up_to[i], (double)(b + 1) / (double)bins);
            double down = b ? share_below(c->below[i], c->up_to[i], (double)b / (double)bins) : 0;
            share[b] += (up - down) / (double)c->n;
        }
}

static anygp_status draw(scene *c, figures *f, anygp_error *e)
{
    double share[BINS];
    int64_t bins = c->n < 200 ? BINS / 2 : BINS;
    double even = 100.0 / (double)bins, chance = 2 * sqrt(even * (100 - even) / (double)c->n);
    (void)e;
    pit_shares(c, bins, share);
    axis across = {.low = 0, .high = 1, .label = "probability that the model gives to smaller values"};
    axis up = {.low = 0, .high = even + chance, .label = "rows, %"};
    for (int64_t b = 0; b < bins; b++) axis_include(&up, 100 * share[b]);
    up.high *= 1.05;
    panel p = panel_begin(figures_add(f, FIGURE_WIDTH, FIGURE_HEIGHT, "Probability integral transform"), across, up, 0,
                          NULL, NULL);
    const double ends[] = {0, 1}, low[] = {fmax(even - chance, 0), fmax(even - chance, 0)},
                 high[] = {even + chance, even + chance};
    for (int64_t b = 0; b < bins; b++)
        panel_bar(&p, COLOUR_BLUE, ((double)b + 0.04) / (double)bins, ((double)b + 0.96) / (double)bins, 0,
                  100 * share[b]);
    panel_band(&p, COLOUR_GREEN, 2, ends, low, high);
    panel_guide(&p, 0, even, 1, even);
    return ANYGP_OK;
}

const picture picture_pit = {
    .name = "pit",
    .title = "Probability integral transform",
    .help = "histogram of where the targets lie in their predictive distributions",
    .reading = "Flat within the green band is right. High ends: intervals are too narrow. High in the middle: too "
               "wide. A slope: "
               "predictions are too high or too low.",
    .needs = "rows with a target that is a number or a count",
    .applies = picture_has_numbers,
    .draw = draw,
};
