/* Whether what the model is 80 % sure of is right in 80 % of the cases. */
#include <math.h>

#include "report/report_classes.h"
#include "report/picture.h"

void classes_reliability(const scene *c, reliability_bin bin[RELIABILITY_BINS])
{
    for (int b = 0; b < RELIABILITY_BINS; b++) bin[b] = (reliability_bin){0};
    for (int64_t i = 0; i < c->n; i++) {
        int64_t top = classes_top(c, i);
        double p = c->P[i + top * c->n];
        int b = p >= 1 ? RELIABILITY_BINS - 1 : (int)(p * RELIABILITY_BINS);
        bin[b].rows++, bin[b].confidence += p, bin[b].accuracy += (double)(top == (int64_t)c->y[i]);
    }
    for (int b = 0; b < RELIABILITY_BINS; b++)
        if (bin[b].rows > 0) bin[b].confidence /= bin[b].rows, bin[b].accuracy /= bin[b].rows;
}

static anygp_status draw(scene *c, figures *f, anygp_error *e)
{
    static const legend_entry legend[] = {{MARK_LINE, COLOUR_BLUE, "this model"},
                                          {MARK_LINE, COLOUR_SKY, "what chance allows"}};
    reliability_bin bin[RELIABILITY_BINS];
    double x[RELIABILITY_BINS], y[RELIABILITY_BINS], low[RELIABILITY_BINS], high[RELIABILITY_BINS], least = 1;
    int64_t n = 0;
    (void)e;
    classes_reliability(c, bin);
    for (int b = 0; b < RELIABILITY_BINS; b++) {
        if (!(bin[b].rows > 0)) continue;
        double p = bin[b].confidence, chance = 2 * sqrt(p * (1 - p) / bin[b].rows);
        x[n] = 100 * p, y[n] = 100 * bin[b].accuracy;
        low[n] = fmax(y[n] - 100 * chance, 0), high[n] = fmin(y[n] + 100 * chance, 100);
        least = fmin(least, fmin(p, bin[b].accuracy));
        n++;
    }
    double from = 10 * floor(10 * least);
    axis across = {.low = from, .high = 101, .label = "probability of the predicted class, %"};
    axis up = {.low = from, .high = 101, .label = "predictions that are right, %"};
    panel p =
        panel_begin(figures_add(f, FIGURE_WIDTH, 340, "Reliability of the probabilities"), across, up, 2, legend, NULL);
    panel_guide(&p, from, from, 100, 100);
    panel_spans(&p, COLOUR_SKY, n, x, low, high);
    panel_line(&p, COLOUR_BLUE, false, n, x, y);
    panel_dots(&p, COLOUR_BLUE, 3, n, x, y);
    return ANYGP_OK;
}

const picture picture_reliability = {
    .name = "reliability",
    .title = "Reliability of the probabilities",
    .help = "how often the predicted class is right, against its probability",
    .reading = "On the dashed line the probabilities are right. Below it the model is too sure of itself, above it too "
               "cautious.",
    .needs = "rows with a target that is a class",
    .applies = picture_has_classes,
    .draw = draw,
};
