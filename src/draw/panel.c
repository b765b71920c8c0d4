/* Axes, title and legend around a plot area.  Everything that is text gets its room before the area does, by its measured width:
       title, at the left
       legend, in as many lines as it takes
       ticks and label of y | area | colour bar with its ticks
                              ticks and label of x                                                                        */
#include <math.h>
#include <string.h>

#include "draw/draw.h"
#include "draw/panel_parts.h"

enum { EDGE = 6, TITLE_BASE = 17, AFTER_TITLE = 26, LEGEND_LINE = 16, LABEL_COLUMN = 20, BELOW = 42, MARK = 18 };
static const double RANGE_MOST = 1e300; /* differences of data must stay numbers */

/* ---------------------------------------------------------------------------------------- axes */

void axis_include(axis *a, double value)
{
    if (!isfinite(value) || (a->log && value <= 0)) return;
    value = fmin(fmax(value, -RANGE_MOST), RANGE_MOST);
    a->low = isnan(a->low) ? value : fmin(a->low, value);
    a->high = isnan(a->high) ? value : fmax(a->high, value);
}

void axis_widen(axis *a, double share)
{
    if (isnan(a->low)) a->low = 0, a->high = 1;
    double range = a->high - a->low, least = 1e-9 * fmax(fabs(a->low), fabs(a->high));
    if (range <= least) { /* one value */
        double room = a->low != 0 ? 0.1 * fabs(a->low) : 1;
        a->low -= room, a->high += room;
        return;
    }
    a->low -= share * range, a->high += share * range;
}

axis axis_over(const char *label, int64_t n, const double *values)
{
    axis a = {.low = NAN, .high = NAN, .label = label};
    for (int64_t i = 0; i < n; i++) axis_include(&a, values[i]);
    axis_widen(&a, 0.04);
    return a;
}

static void axis_ticks(const axis *a, int most, ticks *t)
{
    void (*make)(double, double, int, ticks *) = a->log ? ticks_log : a->dates ? ticks_dates : ticks_linear;
    make(a->low, a->high, most, t);
}

static double share_of(const axis *a, double x)
{
    if (a->log) return x > 0 ? log(x / a->low) / log(a->high / a->low) : NAN;
    return (x - a->low) / (a->high - a->low);
}

double panel_x(const panel *p, double x) { return p->left + share_of(&p->x, x) * (p->right - p->left); }
double panel_y(const panel *p, double y) { return p->bottom - share_of(&p->y, y) * (p->bottom - p->top); }

double panel_row_height(const panel *p) { return (p->bottom - p->top) / (double)(p->y.names ? p->y.names : 1); }
double panel_row(const panel *p, int64_t i) { return p->top + ((double)i + 0.5) * panel_row_height(p); }

/* -------------------------------------------------------------------------------------- legend */

static double entry_width(const legend_entry *l) { return MARK + 6 + text_width(l->text, TEXT_TICK) + 14; }

/* Draws the entries line by line where `drawn`; the number of lines. */
static int lay_legend(canvas *c, int entries, const legend_entry *legend, bool drawn)
{
    double x = EDGE + 2;
    int line = 0;
    for (int i = 0; i < entries; i++) {
        char cut[128];
        double most = canvas_width(c) - EDGE - 2;
        if (x > EDGE + 2 && x + entry_width(&legend[i]) > most) x = EDGE + 2, line++;
        if (drawn) {
            double y = AFTER_TITLE + LEGEND_LINE * line + 10;
            legend_mark(c, &legend[i], x, y - 4);
            canvas_text(c, x + MARK + 6, y, ANCHOR_START, TEXT_TICK, false,
                        text_fitted(legend[i].text, TEXT_TICK, most - x - MARK - 6, cut, sizeof cut));
        }
        x += entry_width(&legend[i]);
    }
    return entries ? line + 1 : 0;
}

/* ---------------------------------------------------------------------------------------- ticks */

static double widest_label(const ticks *t)
{
    double width = 0;
    for (int i = 0; i < t->count; i++) width = fmax(width, text_width(t->label[i], TEXT_TICK));
    return width;
}

/* As many as do not touch each other nor the edge of the canvas. */
static void ticks_that_fit(const panel *p, ticks *t)
{
    for (int most = 8; most >= 2; most--) {
        bool fits = true;
        double end = 0;
        axis_ticks(&p->x, most, t);
        for (int i = 0; i < t->count; i++) {
            double half = text_width(t->label[i], TEXT_TICK) / 2, x = panel_x(p, t->at[i]);
            fits = fits && x - half >= end && x + half <= canvas_width(p->c);
            end = x + half + 8;
        }
        if (fits) return;
    }
    if (t->count > 1) t->count = 1;
}

static void draw_x_ticks(const panel *p)
{
    ticks t;
    ticks_that_fit(p, &t);
    for (int i = 0; i < t.count; i++) {
        double x = panel_x(p, t.at[i]);
        canvas_line(p->c, "grid", x, p->top, x, p->bottom);
        canvas_text(p->c, x, p->bottom + 18, ANCHOR_MIDDLE, TEXT_TICK, false, t.label[i]);
    }
}

static int y_ticks_most(double height)
{
    int most = (int)(height / 30);
    return most < 2 ? 2 : most > 8 ? 8 : most;
}

static void draw_y_ticks(const panel *p)
{
    ticks t;
    axis_ticks(&p->y, y_ticks_most(p->bottom - p->top), &t);
    for (int i = 0; i < t.count; i++) {
        double y = panel_y(p, t.at[i]);
        canvas_line(p->c, "grid", p->left, y, p->right, y);
        canvas_text(p->c, p->left - 6, y + 4, ANCHOR_END, TEXT_TICK, false, t.label[i]);
    }
}

static double names_width(const canvas *c, const axis *y)
{
    double width = 0;
    for (int64_t i = 0; i < y->names; i++) width = fmax(width, text_width(y->name[i], TEXT_TICK));
    return fmin(width, 0.4 * canvas_width(c));
}

static void draw_names(const panel *p)
{
    double width = names_width(p->c, &p->y);
    for (int64_t i = 0; i < p->y.names; i++) {
        char cut[256];
        canvas_text(p->c, p->left - 6, panel_row(p, i) + 4, ANCHOR_END, TEXT_TICK, false,
                    text_fitted(p->y.name[i], TEXT_TICK, width, cut, sizeof cut));
    }
}

static void draw_labels(const panel *p)
{
    char cut[256];
    double width = canvas_width(p->c), height = canvas_height(p->c);
    if (p->x.label)
        canvas_text(p->c, (p->left + p->right) / 2, height - 7, ANCHOR_MIDDLE, TEXT_LABEL, false,
                    text_fitted(p->x.label, TEXT_LABEL,
                                2 * fmin((p->left + p->right) / 2, width - (p->left + p->right) / 2) - 4, cut,
                                sizeof cut));
    if (p->y.label && !p->y.names)
        canvas_text(p->c, 14, (p->top + p->bottom) / 2, ANCHOR_MIDDLE, TEXT_LABEL, true,
                    text_fitted(p->y.label, TEXT_LABEL, p->bottom - p->top + 20, cut, sizeof cut));
}

/* ----------------------------------------------------------------------------------- colour bar */

static void draw_scale(const panel *p, const axis *scale, const ticks *t)
{
    enum { STEPS = 32 };
    panel bar = {.c = p->c, .left = p->right + 12, .right = p->right + 24, .top = p->top, .bottom = p->bottom};
    double value[STEPS];
    for (int i = 0; i < STEPS; i++) value[i] = scale->low + (i + 0.5) / STEPS * (scale->high - scale->low);
    panel_heat(&bar, 1, STEPS, value, scale);
    bar.y = *scale;
    for (int i = 0; i < t->count; i++)
        canvas_text(p->c, bar.right + 5, panel_y(&bar, t->at[i]) + 4, ANCHOR_START, TEXT_TICK, false, t->label[i]);
}

/* --------------------------------------------------------------------------------------- panel */

static double left_margin(canvas *c, const axis *y, double height)
{
    ticks t;
    if (y->names) return EDGE + names_width(c, y) + 8;
    axis_ticks(y, y_ticks_most(height), &t);
    return EDGE + (y->label ? LABEL_COLUMN : 0) + widest_label(&t) + 8;
}

panel panel_begin(canvas *c, axis x, axis y, int entries, const legend_entry *legend, const axis *scale)
{
    char cut[256];
    ticks at_scale = {0};
    panel p = {.c = c, .x = x, .y = y};
    canvas_text(c, EDGE, TITLE_BASE, ANCHOR_START, TEXT_TITLE, false,
                text_fitted(canvas_title(c), TEXT_TITLE, canvas_width(c) - 2 * EDGE, cut, sizeof cut));
    p.top = AFTER_TITLE + 6 + LEGEND_LINE * lay_legend(c, entries, legend, true);
    p.bottom = canvas_height(c) - (x.label ? BELOW : BELOW - 16);
    if (scale) axis_ticks(scale, y_ticks_most(p.bottom - p.top), &at_scale);
    p.left = left_margin(c, &p.y, p.bottom - p.top);
    p.right = canvas_width(c) - 14 - (scale ? 12 + 17 + widest_label(&at_scale) : 0);
    draw_x_ticks(&p);
    if (y.names)
        draw_names(&p);
    else
        draw_y_ticks(&p);
    draw_labels(&p);
    if (scale) draw_scale(&p, scale, &at_scale);
    canvas_line(c, "axis", p.left, p.bottom, p.right, p.bottom);
    canvas_line(c, "axis", p.left, p.top, p.left, p.bottom);
    return p;
}
