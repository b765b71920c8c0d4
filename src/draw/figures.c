/* A picture: its figures, their style, and the SVG file they make together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "draw/canvas.h"

enum { FIGURES_MOST = 64, COLUMNS_MOST = 3, GAP = 12 };

struct figures {
    int64_t count;
    canvas list[FIGURES_MOST];
    canvas none; /* draws into nothing, once there is no room */
    bool failed;
};

figures *figures_new(void) { return calloc(1, sizeof(figures)); }

void figures_free(figures *f)
{
    if (!f) return;
    for (int64_t i = 0; i < f->count; i++) {
        canvas *c = &f->list[i];
        if (c->f) fclose(c->f);
        free(c->text);
        free(c->title);
        free(c->box);
    }
    free(f);
}

canvas *figures_add(figures *f, double width, double height, const char *title)
{
    f->none.width = width, f->none.height = height;
    if (f->count == FIGURES_MOST) return f->failed = true, &f->none;
    canvas *c = &f->list[f->count++];
    *c = (canvas){.width = width, .height = height};
    c->title = mem_strdup(title);
    c->f = open_memstream(&c->text, &c->size);
    c->failed = !c->title || !c->f;
    return c;
}

int64_t figures_count(const figures *f) { return f->count; }
const canvas *figures_at(const figures *f, int64_t i) { return &f->list[i]; }

bool figures_failed(const figures *f)
{
    bool failed = f->failed;
    for (int64_t i = 0; i < f->count; i++) failed = failed || f->list[i].failed || ferror(f->list[i].f);
    return failed;
}

/* --------------------------------------------------------------------------------------- style */

/* Okabe and Ito's colours; on a dark ground the darker ones are lightened. */
static const char *const light[COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#a34d87",
                                           "#56b4e9", "#b02418", "#ffffff", "#000000"};
static const char *const night[COLOURS] = {"#4fa8e0", "#f08a3c", "#2fc79a", "#dd92bf",
                                           "#8fd0f7", "#ef7a6d", "#ffffff", "#000000"};

static void palette(FILE *to, const char *const *colours, const char *ink, const char *grid, const char *faint)
{
    fprintf(to, "svg.plot text{fill:%s}svg.plot .axis{stroke:%s}svg.plot .grid{stroke:%s}svg.plot .guide{stroke:%s}",
            ink, ink, grid, faint);
    for (int k = 0; k < COLOURS; k++)
        fprintf(to, "svg.plot .s%d{stroke:%s}svg.plot .f%d{fill:%s}", k, colours[k], k, colours[k]);
    fputc('\n', to);
}

void draw_style(FILE *to, bool dark)
{
    fputs("svg.plot text{font-family:Arial,Helvetica,'Liberation Sans','DejaVu Sans',sans-serif}\n"
          "svg.plot .axis{stroke-width:1}svg.plot .grid{stroke-width:0.6}\n"
          "svg.plot .line,svg.plot .guide,svg.plot .span,svg.plot .dot{fill:none}\n"
          "svg.plot .line{stroke-width:1.8;stroke-linejoin:round}svg.plot .dash{stroke-dasharray:6 4}\n"
          "svg.plot .guide{stroke-width:1.2;stroke-dasharray:5 4}svg.plot .span{stroke-width:1;stroke-opacity:0.4}\n"
          "svg.plot .dot{stroke-linecap:round;stroke-opacity:0.75}svg.plot .band{fill-opacity:0.22}\n"
          "svg.plot .bar{fill-opacity:0.8}svg.plot .cell{shape-rendering:crispEdges}\n",
          to);
    palette(to, light, "#222", "#ddd", "#777");
    if (!dark) return;
    fputs("@media (prefers-color-scheme:dark){\n", to);
    palette(to, night, "#ddd", "#3a3f45", "#999");
    fputs("}\n@media print{\n", to);
    palette(to, light, "#222", "#ddd", "#777");
    fputs("}\n", to);
}

/* --------------------------------------------------------------------------------------- files */

static void body(FILE *to, const canvas *c)
{
    if (!c->f) return;
    fflush(c->f);
    if (c->text) fwrite(c->text, 1, c->size, to);
}

void figure_inline(FILE *to, const canvas *c)
{
    fprintf(to, "<svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", c->width, c->height);
    text_escaped(to, canvas_title(c));
    fputs("\">\n", to);
    body(to, c);
    fputs("</svg>\n", to);
}

void figures_write(FILE *to, const figures *f, bool dark)
{
    int64_t columns = f->count < COLUMNS_MOST ? f->count : COLUMNS_MOST;
    double wide = 0, high = 0;
    if (f->count == 4) columns = 2;
    for (int64_t i = 0; i < f->count; i++) wide = fmax(wide, f->list[i].width), high = fmax(high, f->list[i].height);
    int64_t lines = columns ? (f->count + columns - 1) / columns : 0;
    double width = fmax((double)columns * (wide + GAP) - GAP, 1), height = fmax((double)lines * (high + GAP) - GAP, 1);
    fprintf(
        to,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
        "%.0f\" role=\"img\">\n<style>\n",
        width, height, width, height);
    draw_style(to, dark);
    fputs("svg.plot .ground{fill:#fff}", to);
    if (dark) fputs("@media (prefers-color-scheme:dark){svg.plot .ground{fill:#16191d}}", to);
    fputs("\n</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n", to);
    for (int64_t i = 0; i < f->count; i++) {
        fprintf(to, "<g transform=\"translate(%.0f %.0f)\">\n", (double)(i % columns) * (wide + GAP),
                (double)(i / columns) * (high + GAP));
        body(to, &f->list[i]);
        fputs("</g>\n", to);
    }
    fputs("</svg>\n", to);
}
