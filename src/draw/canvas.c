/* Lines, shapes and texts in pixels, as SVG elements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw/canvas.h"

/* A canvas that could not be opened draws into nothing. */
static bool dead(const canvas *c) { return !c->f; }

static bool all_finite(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

double canvas_width(const canvas *c) { return c->width; }
double canvas_height(const canvas *c) { return c->height; }
const char *canvas_title(const canvas *c) { return c->title ? c->title : ""; }
FILE *canvas_stream(canvas *c) { return c->f; }

int64_t canvas_boxes(const canvas *c, const text_box **list)
{
    *list = c->box;
    return c->boxes;
}

void canvas_line(canvas *c, const char *style, double x1, double y1, double x2, double y2)
{
    const double x[] = {x1, y1, x2, y2};
    if (dead(c) || !all_finite(x, 4)) return;
    fprintf(c->f, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", style, x1, y1, x2, y2);
}

void canvas_rect(canvas *c, const char *style, double left, double top, double right, double bottom)
{
    const double x[] = {left, top, right, bottom};
    if (dead(c) || !all_finite(x, 4)) return;
    fprintf(c->f, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", style, left, top,
            fmax(right - left, 0), fmax(bottom - top, 0));
}

void canvas_dot(canvas *c, const char *style, double x, double y, double radius)
{
    const double at[] = {x, y};
    if (dead(c) || !all_finite(at, 2)) return;
    fprintf(c->f, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", style, x, y, radius);
}

/* --------------------------------------------------------------------------------------- texts */

#define ASCENT 0.93 /* of the size, above and below the base line */
#define DESCENT 0.24

static text_box box_of(double x, double y, text_anchor anchor, double size, bool up, double width)
{
    double start = anchor == ANCHOR_START ? 0 : anchor == ANCHOR_MIDDLE ? -width / 2 : -width, end = start + width;
    if (up) return (text_box){x - ASCENT * size, y - end, x + DESCENT * size, y - start};
    return (text_box){x + start, y - ASCENT * size, x + end, y + DESCENT * size};
}

static void remember(canvas *c, text_box b)
{
    if (c->boxes == c->room) {
        int64_t room = 2 * c->room + 16;
        text_box *grown = realloc(c->box, (size_t)room * sizeof *grown);
        if (!grown) {
            c->failed = true;
            return;
        }
        c->box = grown, c->room = room;
    }
    c->box[c->boxes++] = b;
}

void canvas_text(canvas *c, double x, double y, text_anchor anchor, double size, bool up, const char *text)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    const double at[] = {x, y};
    if (dead(c) || !*text || !all_finite(at, 2)) return;
    remember(c, box_of(x, y, anchor, size, up, text_width(text, size)));
    fprintf(c->f, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\"%s", x, y, size, anchors[anchor]);
    if (up) fprintf(c->f, " transform=\"rotate(-90 %.1f %.1f)\"", x, y);
    fputc('>', c->f);
    text_escaped(c->f, text);
    fputs("</text>\n", c->f);
}
