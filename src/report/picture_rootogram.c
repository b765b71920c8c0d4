/* Counts: how often each occurs and how often the model expects it, by square roots, so that rare ones can be seen (Kleiber and
   Zeileis 2016).  Expected: the sum over rows of P(y' = k). */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/picture.h"
#include "report/rootogram.h"

static bool applies(const scene *c) { return c->labelled && scene_is_count(c); }

anygp_status rootogram_make(scene *c, rootogram *r, anygp_error *e)
{
    enum { ROWS = 2000 };
    int64_t *rows = mem_alloc(ROWS, sizeof *rows);
    double *p = mem_alloc(ROWS, sizeof *p), largest = 0, before = 0;
    anygp_status status = rows && p ? ANYGP_OK : fail_memory(e, "a picture", 16.0 * ROWS);
    int64_t m = rows ? scene_some(c, ROWS, rows) : 0;
    for (int64_t i = 0; i < m; i++) largest = fmax(largest, c->y[rows[i]]);
    r->width = fmax(1, ceil((largest + 2) / ROOTOGRAM_BINS));
    r->bins = (int64_t)fmin(ROOTOGRAM_BINS, ceil((largest + 2) / r->width));
    r->rows = m;
    for (int64_t b = 0; b < r->bins; b++) r->observed[b] = r->expected[b] = 0;
    for (int64_t i = 0; i < m; i++) r->observed[(int64_t)(c->y[rows[i]] / r->width)]++;
    for (int64_t b = 0; b < r->bins && !ANYGP_FAILED(status); b++) {
        double up_to = 0;
        status = scene_ask_counts(c, m, rows, (double)(b + 1) * r->width - 1, p, e);
        for (int64_t i = 0; i < m && !ANYGP_FAILED(status); i++) up_to += p[i];
        r->expected[b] = fmax(up_to - before, 0), before = up_to;
    }
    free(rows);
    free(p);
    return status;
}

static anygp_status draw(scene *c, figures *f, anygp_error *e)
{
    static const legend_entry legend[] = {{MARK_BAR, COLOUR_BLUE, "rows that have it"},
                                          {MARK_LINE, COLOUR_ORANGE, "rows expected"}};
    rootogram r;
    char label[SCENE_LABEL + 64], name[SCENE_LABEL];
    double x[ROOTOGRAM_BINS], root[ROOTOGRAM_BINS];
    TRY(rootogram_make(c, &r, e));
    if (r.width > 1)
        snprintf(label, sizeof label, "%s, in steps of %.0f", scene_target(c, name), r.width);
    else
        scene_target(c, label);
    axis across = {.low = -r.width / 2, .high = ((double)r.bins - 0.5) * r.width, .label = label};
    axis up = {.low = 0, .high = 1, .label = "square root of the number of rows"};
    for (int64_t b = 0; b < r.bins; b++) {
        x[b] = (double)b * r.width, root[b] = sqrt(r.expected[b]);
        axis_include(&up, root[b]), axis_include(&up, sqrt(r.observed[b]));
    }
    up.high *= 1.05;
    panel p = panel_begin(figures_add(f, FIGURE_WIDTH, FIGURE_HEIGHT, "Rootogram"), across, up, 2, legend, NULL);
    for (int64_t b = 0; b < r.bins; b++)
        panel_bar(&p, COLOUR_BLUE, x[b] - 0.42 * r.width, x[b] + 0.42 * r.width, 0, sqrt(r.observed[b]));
    panel_line(&p, COLOUR_ORANGE, false, r.bins, x, root);
    panel_dots(&p, COLOUR_ORANGE, 2.2, r.bins, x, root);
    return ANYGP_OK;
}

const picture picture_rootogram = {
    .name = "rootogram",
    .title = "Rootogram",
    .help = "how often each count occurs and how often it is expected",
    .reading =
        "Bars and line should end at the same height. A first bar above the line: more zeros than the model expects.",
    .needs = "rows with a target that is a count",
    .applies = applies,
    .draw = draw,
};
