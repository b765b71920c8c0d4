/* The pictures of a comparison: score against time, the spread over folds, the path of a search for kernels. */
#include "report/compare_figures.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/sort.h"
#include "report/picture.h"

enum {
    SPREAD_MOST = 40,
    ALONG = 24
}; /* rows of a figure; points along a piece of a line, which names keep away from */
static const double LEAST_SECONDS = 1e-3, ROOM_ABOVE = 0.5;

/* Points of one kind, in an order of their own. */
typedef struct points {
    int64_t n;
    double *x, *y;
    const char **name;
} points;

static bool points_new(points *p, int64_t room)
{
    *p = (points){.x = mem_doubles(room + 1, 1), .y = mem_doubles(room + 1, 1)};
    p->name = mem_alloc(room + 1, sizeof *p->name);
    return p->x && p->y && p->name;
}

static void points_clear(points *p)
{
    free(p->x);
    free(p->y);
    free(p->name);
}

static void points_add(points *p, double x, double y, const char *name)
{
    p->x[p->n] = x, p->y[p->n] = y, p->name[p->n++] = name;
}

/* ------------------------------------------------------------------------------------- the axis */

/* The worst of those that matter, the mean and the frontier, and half of their range above it. */
double compare_axis_top(const gp_compare *c)
{
    double low = INFINITY, high = -INFINITY, worst = -INFINITY;
    for (int64_t i = 0; i < c->count; i++) {
        const compare_line *l = &c->line[i];
        if (l->parts == 0) continue;
        worst = fmax(worst, l->mnlp), low = fmin(low, l->mnlp);
        if (l->baseline || l->frontier || l->taken) high = fmax(high, l->mnlp);
    }
    return fmin(worst, high + ROOM_ABOVE * fmax(high - low, 1e-3));
}

static axis axis_of_scores(const gp_compare *c, double top)
{
    axis a = {.low = NAN, .high = NAN, .label = "mnlp (lower is better)"};
    for (int64_t i = 0; i < c->count; i++)
        if (c->line[i].parts > 0) axis_include(&a, fmin(c->line[i].mnlp, top));
    axis_widen(&a, 0.08);
    return a;
}

static axis axis_of_seconds(const gp_compare *c)
{
    axis a = {.low = NAN, .high = NAN, .log = true, .label = "seconds of the fit"};
    for (int64_t i = 0; i < c->count; i++)
        if (c->line[i].parts > 0) axis_include(&a, fmax(c->line[i].seconds, LEAST_SECONDS));
    if (isnan(a.low)) a.low = 1, a.high = 10;
    double room = fmax(0.1 * log(a.high / a.low), log(1.5));
    a.low *= exp(-room), a.high *= exp(room);
    return a;
}

/* ------------------------------------------------------------------------------------- frontier */

/* Insertion by time. */
static void add_in_time(points *p, double x, double y, const char *name)
{
    int64_t k = p->n++;
    for (; k > 0 && p->x[k - 1] > x; k--) p->x[k] = p->x[k - 1], p->y[k] = p->y[k - 1], p->name[k] = p->name[k - 1];
    p->x[k] = x, p->y[k] = y, p->name[k] = name;
}

/* The steps as points without a name. */
static void add_steps(points *p, const points *best, double bottom)
{
    for (int64_t i = 0; i + 1 < best->n; i++)
        for (int k = 1; k <= ALONG; k++) {
            double share = (double)k / ALONG;
            points_add(p, best->x[i] * pow(best->x[i + 1] / best->x[i], share), best->y[i], NULL);
            points_add(p, best->x[i + 1], fmax(best->y[i] + share * (best->y[i + 1] - best->y[i]), bottom), NULL);
        }
}

static void draw_frontier(const gp_compare *c, figures *f, points *best, points *rest, points *all, int64_t *unnamed)
{
    double top = compare_axis_top(c);
    const legend_entry legend[] = {{MARK_LINE, COLOUR_ORANGE, "no other is better in both"},
                                   {MARK_DOT, COLOUR_BLUE, "others"}};
    for (int64_t i = 0; i < c->count; i++) {
        const compare_line *l = &c->line[i];
        double seconds = fmax(l->seconds, LEAST_SECONDS);
        if (l->parts == 0) continue;
        if (l->frontier)
            add_in_time(best, seconds, fmin(l->mnlp, top), l->name);
        else
            points_add(rest, seconds, fmin(l->mnlp, top), l->name);
    }
    for (int64_t i = 0; i < best->n; i++) points_add(all, best->x[i], best->y[i], best->name[i]);
    for (int64_t i = 0; i < rest->n; i++) points_add(all, rest->x[i], rest->y[i], rest->name[i]);
    panel p = panel_begin(figures_add(f, 1.25 * FIGURE_WIDTH, 1.2 * FIGURE_HEIGHT, "Score against time"),
                          axis_of_seconds(c), axis_of_scores(c, top), 2, legend, NULL);
    panel_steps(&p, COLOUR_ORANGE, best->n, best->x, best->y);
    panel_dots(&p, COLOUR_BLUE, 4, rest->n, rest->x, rest->y);
    panel_dots(&p, COLOUR_ORANGE, 4.5, best->n, best->x, best->y);
    add_steps(all, best, p.y.low);
    *unnamed = panel_names(&p, all->n, all->x, all->y, all->name);
}

anygp_status compare_frontier(const gp_compare *c, figures *f, int64_t *unnamed, anygp_error *e)
{
    points best = {0}, rest = {0}, all = {0};
    bool ok =
        points_new(&best, c->count) && points_new(&rest, c->count) && points_new(&all, (1 + 2 * ALONG) * c->count);
    if (ok) draw_frontier(c, f, &best, &rest, &all, unnamed);
    points_clear(&best), points_clear(&rest), points_clear(&all);
    return ok ? ANYGP_OK : fail_memory(e, "a picture", 0);
}

/* --------------------------------------------------------------------------------------- spread */

/* One row: every part, the mean, and a standard deviation on either side. */
static void draw_row(const panel *p, const compare_line *l, int64_t row, double top)
{
    double y = panel_row(p, row), low = fmax(l->mnlp - l->mnlp_sd, p->x.low), high = l->mnlp + l->mnlp_sd;
    for (int64_t k = 0; k < l->parts; k++)
        if (l->part_mnlp[k] <= p->x.high) canvas_dot(p->c, "f4", panel_x(p, l->part_mnlp[k]), y, 2.6);
    if (l->mnlp > top) return;
    canvas_line(p->c, "line s0", panel_x(p, low), y, panel_x(p, fmin(high, p->x.high)), y);
    canvas_dot(p->c, l->frontier ? "f1" : "f0", panel_x(p, l->mnlp), y, 4.5);
}

anygp_status compare_spread(const gp_compare *c, figures *f, anygp_error *e)
{
    const char *name[SPREAD_MOST];
    const compare_line *line[SPREAD_MOST];
    int64_t rows = 0;
    (void)e;
    for (int64_t i = 0; i < c->count && rows < SPREAD_MOST; i++)
        if (c->line[i].parts > 0) name[rows] = c->line[i].name, line[rows++] = &c->line[i];
    double top = compare_axis_top(c);
    axis across = {.low = NAN, .high = NAN, .label = "mnlp (lower is better)"};
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < line[i]->parts; k++)
            if (line[i]->mnlp <= top) axis_include(&across, line[i]->part_mnlp[k]);
    axis_widen(&across, 0.05);
    const legend_entry legend[] = {{MARK_DOT, COLOUR_SKY, "a fold"},
                                   {MARK_DOT, COLOUR_BLUE, "mean"},
                                   {MARK_DOT, COLOUR_ORANGE, "mean, not beaten"},
                                   {MARK_LINE, COLOUR_BLUE, "standard deviation"}};
    panel p = panel_begin(figures_add(f, 1.25 * FIGURE_WIDTH, 120 + 22.0 * (double)rows, "Spread over the folds"),
                          across, (axis){.low = 0, .high = 1, .names = rows, .name = name}, 4, legend, NULL);
    for (int64_t i = 0; i < rows; i++) draw_row(&p, line[i], i, top);
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------------- path */

/* Whether every kernel that was taken has an evidence; else the search went by the score. */
static bool by_evidence(const gp_compare *c)
{
    for (int64_t i = 0; i < c->count; i++)
        if (c->line[i].taken && isnan(c->line[i].evidence)) return false;
    return true;
}

/* The lowest evidence on the axis: twice as far below the best as the median; what is lower is drawn there. */
static double lowest_shown(const gp_compare *c, double *room)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->count; i++)
        if (c->line[i].step > 0 && c->line[i].parts > 0 && isfinite(c->line[i].evidence))
            room[n++] = c->line[i].evidence;
    if (n == 0) return -INFINITY;
    qsort(room, (size_t)n, sizeof *room, by_double);
    double best = room[n - 1], median = room[n / 2];
    return median < best ? best - 2 * (best - median) : room[0];
}

static void draw_path(const gp_compare *c, figures *f, points *all, points *taken)
{
    bool evidence = by_evidence(c);
    double top = compare_axis_top(c), bottom = lowest_shown(c, all->y);
    for (int64_t i = 0; i < c->count; i++)
        if (c->line[i].taken) bottom = fmin(bottom, c->line[i].evidence);
    for (int64_t i = 0; i < c->count; i++) {
        const compare_line *l = &c->line[i];
        double y = !evidence ? fmin(l->mnlp, top) : isfinite(l->evidence) ? fmax(l->evidence, bottom) : NAN;
        if (l->step == 0 || l->parts == 0 || !isfinite(y)) continue;
        points_add(l->taken ? taken : all, (double)l->step, y, l->taken ? l->name : NULL);
    }
    axis up = axis_over(evidence ? "log evidence per row, less the penalty" : "mnlp (lower is better)", all->n, all->y);
    for (int64_t i = 0; i < taken->n; i++) axis_include(&up, taken->y[i]);
    axis_widen(&up, 0.04);
    axis across = {.low = 0.5, .high = (double)(c->count ? c->line[c->count - 1].step : 1) + 0.9, .label = "step"};
    const legend_entry legend[] = {{MARK_LINE, COLOUR_ORANGE, "taken"}, {MARK_DOT, COLOUR_BLUE, "tried"}};
    panel p = panel_begin(figures_add(f, 1.25 * FIGURE_WIDTH, 1.2 * FIGURE_HEIGHT, "Path of the search"), across, up, 2,
                          legend, NULL);
    panel_dots(&p, COLOUR_BLUE, 3, all->n, all->x, all->y);
    panel_line(&p, COLOUR_ORANGE, false, taken->n, taken->x, taken->y);
    panel_dots(&p, COLOUR_ORANGE, 4.5, taken->n, taken->x, taken->y);
    panel_names(&p, taken->n, taken->x, taken->y, taken->name);
}

anygp_status compare_path(const gp_compare *c, figures *f, anygp_error *e)
{
    points all = {0}, taken = {0};
    bool ok = points_new(&all, c->count) && points_new(&taken, c->count);
    if (ok) draw_path(c, f, &all, &taken);
    points_clear(&all), points_clear(&taken);
    return ok ? ANYGP_OK : fail_memory(e, "a picture", 0);
}
