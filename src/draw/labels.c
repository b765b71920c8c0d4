/* Names beside points, each at the first of some places where it meets no other text and no point. */
#include <math.h>

#include "draw/draw.h"

#define DISTANCE 7.0 /* from the point to its name, and from text to text */

static text_box box_at(double x, double base, double width)
{
    return (text_box){x, base - 0.93 * TEXT_TICK, x + width, base + 0.24 * TEXT_TICK};
}

static bool meets_text(const canvas *c, const text_box *b)
{
    const text_box *list;
    int64_t n = canvas_boxes(c, &list);
    for (int64_t i = 0; i < n; i++)
        if (b->left < list[i].right + 2 && list[i].left < b->right + 2 && b->top < list[i].bottom &&
            list[i].top < b->bottom)
            return true;
    return false;
}

static bool meets_point(const panel *p, const text_box *b, int64_t n, const double *x, const double *y)
{
    for (int64_t i = 0; i < n; i++) {
        double px = panel_x(p, x[i]), py = panel_y(p, y[i]);
        if (px > b->left - 4 && px < b->right + 4 && py > b->top - 3 && py < b->bottom + 3) return true;
    }
    return false;
}

static bool is_inside(const panel *p, const text_box *b)
{
    return b->left >= p->left + 2 && b->right <= p->right && b->top >= p->top && b->bottom <= p->bottom - 2;
}

/* Right, left, above, below, and the corners; then the same at twice the distance. */
static bool place(const panel *p, int64_t n, const double *x, const double *y, double px, double py, const char *text)
{
    static const double side[8][2] = {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {1, 1}, {-1, -1}, {-1, 1}};
    double width = text_width(text, TEXT_TICK);
    for (int k = 0; k < 24; k++) {
        double far = DISTANCE * (1 + k / 8 * 0.8), across = side[k % 8][0], down = side[k % 8][1];
        double left = px + (across > 0 ? far : across < 0 ? -far - width : -width / 2);
        text_box b = box_at(left, py + 4 + down * (far + 5), width);
        if (!is_inside(p, &b) || meets_text(p->c, &b) || meets_point(p, &b, n, x, y)) continue;
        canvas_text(p->c, left, py + 4 + down * (far + 5), ANCHOR_START, TEXT_TICK, false, text);
        return true;
    }
    return false;
}

int64_t panel_names(const panel *p, int64_t n, const double *x, const double *y, const char *const *name)
{
    int64_t out = 0;
    for (int64_t i = 0; i < n; i++) {
        char cut[128];
        double px = panel_x(p, x[i]), py = panel_y(p, y[i]);
        if (!isfinite(px) || !isfinite(py) || !name[i]) continue;
        out += !place(p, n, x, y, px, py, text_fitted(name[i], TEXT_TICK, 0.4 * (p->right - p->left), cut, sizeof cut));
    }
    return out;
}
