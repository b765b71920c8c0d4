/* Residuals against the prediction and against the inputs that matter most. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/sort.h"
#include "report/picture.h"

enum { SHOWN = 600, BINS = 12 };

typedef struct residual {
    double x, r;
} residual;

/* Means of the residuals over groups of rows that follow each other in x. */
static void draw_means(const panel *p, int64_t m, residual *list)
{
    double x[BINS], y[BINS];
    int64_t bins = m / 15 < BINS ? m / 15 : BINS;
    if (bins < 3) return;
    qsort(list, (size_t)m, sizeof *list, by_double);
    for (int64_t b = 0; b < bins; b++) {
        int64_t first = b * m / bins, end = (b + 1) * m / bins;
        x[b] = y[b] = 0;
        for (int64_t i = first; i < end; i++)
            x[b] += list[i].x / (double)(end - first), y[b] += list[i].r / (double)(end - first);
    }
    panel_line(p, COLOUR_ORANGE, false, bins, x, y);
}

static void draw_against(figures *f, const char *title, const char *label, bool dates, int64_t m, residual *list,
                         double *x, double *r)
{
    static const legend_entry legend[] = {{MARK_DOT, COLOUR_BLUE, "row"},
                                          {MARK_LINE, COLOUR_ORANGE, "mean of neighbours"}};
    for (int64_t i = 0; i < m; i++) x[i] = list[i].x, r[i] = list[i].r;
    axis across = axis_over(label, m, x);
    across.dates = dates;
    panel p = panel_begin(figures_add(f, FIGURE_WIDTH, FIGURE_HEIGHT, title), across,
                          axis_over("observed \xe2\x88\x92 predicted", m, r), 2, legend, NULL);
    panel_dots(&p, COLOUR_BLUE, 1.8, m, x, r);
    panel_guide(&p, p.x.low, 0, p.x.high, 0);
    draw_means(&p, m, list);
}

static anygp_status draw(scene *c, figures *f, anygp_error *e)
{
    int64_t D = c->D, *rows = mem_alloc(SHOWN, sizeof *rows);
    residual *list = mem_alloc(SHOWN, sizeof *list);
    double *x = mem_doubles(SHOWN, 2), *r = x + SHOWN;
    bool ok = rows && list && x;
    int64_t m = ok ? scene_some(c, SHOWN, rows) : 0;
    for (int64_t i = 0; i < m; i++) list[i] = (residual){c->mean[rows[i]], c->y[rows[i]] - c->mean[rows[i]]};
    if (ok) draw_against(f, "Residuals against the prediction", "predicted", false, m, list, x, r);
    for (int64_t k = 0, shown = 0; ok && k < D && shown < RESIDUALS_MOST; k++) {
        char name[SCENE_LABEL], title[SCENE_LABEL + 32];
        int64_t j = c->ranked[k];
        if (scene_is_text(c, j)) continue;
        for (int64_t i = 0; i < m; i++)
            list[i] = (residual){scene_value(c, j, c->X[rows[i] * D + j]), c->y[rows[i]] - c->mean[rows[i]]};
        snprintf(title, sizeof title, "Residuals against %s", scene_short_input(c, j, name));
        draw_against(f, title, scene_axis(c, j, name), scene_is_date(c, j), m, list, x, r);
        shown++;
    }
    free(rows);
    free(list);
    free(x);
    return ok ? ANYGP_OK : fail_memory(e, "a picture", 0);
}

const picture picture_residuals = {
    .name = "residuals",
    .title = "Residuals",
    .help = "residuals against the prediction and the most relevant inputs",
    .reading = "The orange line should stay near zero; a shape in it is something that the model has missed.",
    .needs = "rows with a target that is a number or a count",
    .applies = picture_has_numbers,
    .draw = draw,
};
