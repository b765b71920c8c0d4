/* What is drawn in data units inside a panel.  Marks of many pieces are one path each, which keeps files small. */
#include <math.h>

#include "draw/draw.h"
#include "draw/panel_parts.h"

static double clamp(double x, double low, double high) { return fmin(fmax(x, low), high); }

static bool inside(const panel *p, double px, double py)
{
    return px >= p->left - 0.5 && px <= p->right + 0.5 && py >= p->top - 0.5 && py <= p->bottom + 0.5;
}

void panel_dots(const panel *p, colour k, double radius, int64_t n, const double *x, const double *y)
{
    FILE *f = canvas_stream(p->c);
    bool any = false;
    for (int64_t i = 0; f && i < n; i++) {
        double px = panel_x(p, x[i]), py = panel_y(p, y[i]);
        if (!isfinite(px) || !isfinite(py) || !inside(p, px, py)) continue;
        if (!any) fprintf(f, "<path class=\"dot s%d\" stroke-width=\"%.1f\" d=\"", k, 2 * radius);
        any = true;
        fprintf(f, "M%.1f %.1fh0", px, py);
    }
    if (any) fputs("\"/>\n", f);
}

/* Pieces of a line between points that cannot be drawn. */
static void path(const panel *p, const char *style, int64_t n, const double *x, const double *y, bool steps)
{
    FILE *f = canvas_stream(p->c);
    bool any = false, pen = false;
    for (int64_t i = 0; f && i < n; i++) {
        double px = panel_x(p, x[i]), py = panel_y(p, y[i]);
        if (!isfinite(px) || !isfinite(py)) {
            pen = false;
            continue;
        }
        if (!any) fprintf(f, "<path class=\"%s\" d=\"", style);
        any = true;
        px = clamp(px, p->left, p->right), py = clamp(py, p->top, p->bottom);
        if (pen && steps)
            fprintf(f, "H%.1fV%.1f", px, py);
        else
            fprintf(f, "%c%.1f %.1f", pen ? 'L' : 'M', px, py);
        pen = true;
    }
    if (any) fputs("\"/>\n", f);
}

void panel_line(const panel *p, colour k, bool dashes, int64_t n, const double *x, const double *y)
{
    char style[32];
    snprintf(style, sizeof style, "line%s s%d", dashes ? " dash" : "", k);
    path(p, style, n, x, y, false);
}

void panel_steps(const panel *p, colour k, int64_t n, const double *x, const double *y)
{
    char style[32];
    snprintf(style, sizeof style, "line s%d", k);
    path(p, style, n, x, y, true);
}

void panel_band(const panel *p, colour k, int64_t n, const double *x, const double *low, const double *high)
{
    FILE *f = canvas_stream(p->c);
    if (!f || n < 2) return;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(panel_x(p, x[i])) || !isfinite(panel_y(p, low[i])) || !isfinite(panel_y(p, high[i]))) return;
    fprintf(f, "<path class=\"band f%d\" d=\"", k);
    for (int64_t i = 0; i < n; i++)
        fprintf(f, "%c%.1f %.1f", i ? 'L' : 'M', clamp(panel_x(p, x[i]), p->left, p->right),
                clamp(panel_y(p, high[i]), p->top, p->bottom));
    for (int64_t i = n - 1; i >= 0; i--)
        fprintf(f, "L%.1f %.1f", clamp(panel_x(p, x[i]), p->left, p->right),
                clamp(panel_y(p, low[i]), p->top, p->bottom));
    fputs("z\"/>\n", f);
}

void panel_spans(const panel *p, colour k, int64_t n, const double *x, const double *low, const double *high)
{
    FILE *f = canvas_stream(p->c);
    bool any = false;
    for (int64_t i = 0; f && i < n; i++) {
        double px = panel_x(p, x[i]), from = panel_y(p, low[i]), to = panel_y(p, high[i]);
        if (!isfinite(px) || !isfinite(from) || !isfinite(to) || px < p->left || px > p->right) continue;
        if (!any) fprintf(f, "<path class=\"span s%d\" d=\"", k);
        any = true;
        fprintf(f, "M%.1f %.1fV%.1f", px, clamp(from, p->top, p->bottom), clamp(to, p->top, p->bottom));
    }
    if (any) fputs("\"/>\n", f);
}

void panel_bar(const panel *p, colour k, double left, double right, double low, double high)
{
    char style[16];
    snprintf(style, sizeof style, "bar f%d", k);
    canvas_rect(p->c, style, clamp(panel_x(p, left), p->left, p->right), clamp(panel_y(p, high), p->top, p->bottom),
                clamp(panel_x(p, right), p->left, p->right), clamp(panel_y(p, low), p->top, p->bottom));
}

void panel_guide(const panel *p, double x1, double y1, double x2, double y2)
{
    double x[2] = {x1, x2}, y[2] = {y1, y2};
    path(p, "guide", 2, x, y, false);
}

void legend_mark(canvas *c, const legend_entry *l, double x, double y)
{
    char style[32];
    switch (l->mark) {
    case MARK_DOT: snprintf(style, sizeof style, "f%d", l->colour), canvas_dot(c, style, x + 9, y, 3); break;
    case MARK_LINE:
    case MARK_DASHES:
        snprintf(style, sizeof style, "line%s s%d", l->mark == MARK_DASHES ? " dash" : "", l->colour);
        canvas_line(c, style, x, y, x + 18, y);
        break;
    case MARK_BAND:
    case MARK_BAR:
        snprintf(style, sizeof style, "%s f%d", l->mark == MARK_BAND ? "band" : "bar", l->colour);
        canvas_rect(c, style, x, y - 4, x + 18, y + 4);
        break;
    }
}
