/* Which inputs matter: 1 over the length-scale of each, where the inputs are brought to a standard deviation of 1. */
#include <stdlib.h>

#include "base/memory.h"
#include "report/picture.h"

enum { SHOWN = 20 };

static bool applies(const scene *c) { return c->scaled && c->D > 1; }

static anygp_status draw(scene *c, figures *f, anygp_error *e)
{
    char label[SHOWN][SCENE_LABEL], title[96];
    const char *names[SHOWN];
    int64_t D = c->D, rows = 0;
    (void)e;
    for (int64_t k = 0; k < D && rows < SHOWN; k++) {
        if (!(c->relevance[c->ranked[k]] > 0)) continue;
        names[rows] = scene_short_input(c, c->ranked[k], label[rows]);
        rows++;
    }
    if (rows < D)
        snprintf(title, sizeof title, "Relevance of the inputs, %lld of %lld", (long long)rows, (long long)D);
    else
        snprintf(title, sizeof title, "Relevance of the inputs");
    axis across = {.low = 0, .high = 1.05 * c->relevance[c->ranked[0]], .label = "1 / length-scale (inputs of sd 1)"};
    axis up = {.low = 0, .high = 1, .names = rows, .name = names};
    panel p = panel_begin(figures_add(f, FIGURE_WIDTH, 90 + 20.0 * (double)rows, title), across, up, 0, NULL, NULL);
    for (int64_t k = 0, row = 0; row < rows; k++) {
        double r = c->relevance[c->ranked[k]], half = 0.35 * panel_row_height(&p);
        if (!(r > 0)) continue;
        canvas_rect(p.c, "bar f0", p.left, panel_row(&p, row) - half, panel_x(&p, r), panel_row(&p, row) + half);
        row++;
    }
    return ANYGP_OK;
}

const picture picture_relevance = {
    .name = "relevance",
    .title = "Relevance of the inputs",
    .help = "1 / length-scale of each input: how fast the function changes along it",
    .reading = "Along an input with a long bar the function changes quickly; one with a bar near zero hardly matters.",
    .needs = "a kernel with a length-scale for each of several inputs",
    .applies = applies,
    .draw = draw,
};
