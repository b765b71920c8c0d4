/* Predicted against observed, with 95 % intervals. */
#include <stdlib.h>

#include "base/memory.h"
#include "report/picture.h"

enum { SHOWN = 400, COLUMNS = 4 };

static anygp_status draw(scene *c, figures *f, anygp_error *e)
{
    static const legend_entry legend[] = {{MARK_DOT, COLOUR_BLUE, "row"}, {MARK_LINE, COLOUR_SKY, "95 % interval"}};
    char name[SCENE_LABEL], title[SCENE_LABEL + 64], across[SCENE_LABEL + 16], up[SCENE_LABEL + 16];
    int64_t *rows = mem_alloc(SHOWN, sizeof *rows);
    double *y = mem_doubles(SHOWN, COLUMNS), *mean = y + SHOWN, *low = mean + SHOWN, *high = low + SHOWN;
    if (rows && y) {
        int64_t m = scene_some(c, SHOWN, rows);
        for (int64_t i = 0; i < m; i++) {
            int64_t r = rows[i];
            y[i] = c->y[r], mean[i] = c->mean[r], low[i] = c->low[r], high[i] = c->high[r];
        }
        scene_target_axis(c, name);
        snprintf(title, sizeof title, "Predicted against observed%s", m < c->n ? ", a sample of the rows" : "");
        snprintf(across, sizeof across, "observed %s", name);
        snprintf(up, sizeof up, "predicted %s", name);
        axis x = axis_over(across, m, y), v = axis_over(up, m, mean);
        for (int64_t i = 0; i < m; i++) axis_include(&v, low[i]), axis_include(&v, high[i]);
        panel p = panel_begin(figures_add(f, FIGURE_WIDTH, 340, title), x, v, 2, legend, NULL);
        panel_spans(&p, COLOUR_SKY, m, y, low, high);
        double from = x.low > v.low ? x.low : v.low, to = x.high < v.high ? x.high : v.high;
        if (from < to) panel_guide(&p, from, from, to, to);
        panel_dots(&p, COLOUR_BLUE, 2, m, y, mean);
    }
    bool ok = rows && y;
    free(rows);
    free(y);
    return ok ? ANYGP_OK : fail_memory(e, "a picture", 0);
}

const picture picture_observed = {
    .name = "observed",
    .title = "Predicted against observed",
    .help = "predictions with 95 % intervals against the observed targets",
    .reading = "Good predictions lie near the dashed line, and about 95 of 100 intervals cross it.",
    .needs = "rows with a target that is a number or a count",
    .applies = picture_has_numbers,
    .draw = draw,
};
