/* How training went: the objective, and scores on the way where there are some. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/picture.h"

static bool applies(const scene *c) { return c->g->steps > 1; }

static double rmse_of(const train_step *t) { return t->scores.rmse; }
static double mnlp_of(const train_step *t) { return t->scores.mnlp; }
static double objective_of(const train_step *t) { return t->objective; }

/* Steps without this number are left out. */
static void draw_one(const scene *c, figures *f, const char *title, const char *label, double (*of)(const train_step *),
                     double *x, double *y)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->g->steps; i++) {
        const train_step *t = &c->g->trace[i];
        if (!isfinite(of(t))) continue;
        x[n] = (double)t->iteration, y[n++] = of(t);
    }
    if (n < 2) return;
    panel p = panel_begin(figures_add(f, FIGURE_WIDTH, FIGURE_HEIGHT, title), axis_over("iteration", n, x),
                          axis_over(label, n, y), 0, NULL, NULL);
    panel_line(&p, COLOUR_BLUE, false, n, x, y);
    panel_dots(&p, COLOUR_BLUE, n > 60 ? 1.2 : 2.2, n, x, y);
}

static anygp_status draw(scene *c, figures *f, anygp_error *e)
{
    double *x = mem_doubles(c->g->steps, 2), *y = x + c->g->steps;
    if (!x) return fail_memory(e, "a picture", 16.0 * (double)c->g->steps);
    draw_one(c, f, "Objective of training", c->g->model->objective, objective_of, x, y);
    draw_one(c, f, "Error on rows not learned from", "rmse", rmse_of, x, y);
    draw_one(c, f, "Negative log density on rows not learned from", "mnlp", mnlp_of, x, y);
    free(x);
    return ANYGP_OK;
}

const picture picture_trace = {
    .name = "trace",
    .title = "Training",
    .help = "the objective, and scores on held-out rows, over the iterations",
    .reading = "A curve that still rises at its end shows that more time would help.",
    .needs = "a fit of more than one recorded step",
    .applies = applies,
    .draw = draw,
};
