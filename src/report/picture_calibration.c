/* How often intervals hold the target, against how often they should. */
#include <math.h>

#include "report/picture.h"

const double calibration_levels[CALIBRATION_LEVELS] = {0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99};

double calibration_covered(const scene *c, double level)
{
    int64_t inside = 0;
    for (int64_t i = 0; i < c->n; i++) inside += score_interval_holds(c->below[i], c->up_to[i], level);
    return c->n ? (double)inside / (double)c->n : 0;
}

static anygp_status draw(scene *c, figures *f, anygp_error *e)
{
    static const legend_entry legend[] = {{MARK_LINE, COLOUR_BLUE, "intervals of this model"},
                                          {MARK_BAND, COLOUR_GREEN, "what chance allows"}};
    double x[CALIBRATION_LEVELS], y[CALIBRATION_LEVELS], low[CALIBRATION_LEVELS], high[CALIBRATION_LEVELS];
    (void)e;
    axis across = {.low = 47, .high = 101, .label = "intervals that should hold the target, %"};
    axis up = {.low = 47, .high = 101, .label = "intervals that do, %"};
    for (int l = 0; l < CALIBRATION_LEVELS; l++) {
        double level = calibration_levels[l], chance = 2 * sqrt(level * (1 - level) / (double)c->n);
        x[l] = 100 * level, y[l] = 100 * calibration_covered(c, level);
        low[l] = 100 * (level - chance), high[l] = 100 * fmin(level + chance, 1);
        axis_include(&up, y[l] - 2);
    }
    panel p =
        panel_begin(figures_add(f, FIGURE_WIDTH, 340, "Calibration of the intervals"), across, up, 2, legend, NULL);
    panel_band(&p, COLOUR_GREEN, CALIBRATION_LEVELS, x, low, high);
    panel_guide(&p, 50, 50, 99, 99);
    panel_line(&p, COLOUR_BLUE, false, CALIBRATION_LEVELS, x, y);
    panel_dots(&p, COLOUR_BLUE, 3, CALIBRATION_LEVELS, x, y);
    return ANYGP_OK;
}

const picture picture_calibration = {
    .name = "calibration",
    .title = "Calibration",
    .help = "how often intervals of 50 to 99 % hold the target",
    .reading =
        "On the dashed line the intervals are right. Below it they are too narrow (overconfident), above it too wide.",
    .needs = "rows with a target that is a number or a count",
    .applies = picture_has_numbers,
    .draw = draw,
};
