/* The page of a comparison: what was compared, the table, the pictures, how to go on. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/quantity.h"
#include "report/compare_figures.h"
#include "report/output.h"
#include "report/picture.h"
#include "report/report.h"

/* A sentence of compare_words.c, escaped; begins: with a capital. */
static anygp_status say(FILE *f, void (*sentence)(FILE *, const gp_compare *), const gp_compare *c, bool begins,
                        anygp_error *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) return fail_memory(e, "the page", 0);
    sentence(to, c);
    bool ok = !fclose(to);
    if (ok && begins) *text = (char)toupper((unsigned char)*text);
    if (ok) text_escaped(f, text);
    free(text);
    return ok ? ANYGP_OK : fail_memory(e, "the page", 0);
}

/* ---------------------------------------------------------------------------------------- table */

static void number_cell(FILE *f, double x, double sd, bool spread)
{
    char mean[40], around[40];
    if (!isfinite(x)) {
        fputs("<td></td>", f);
        return;
    }
    number_text(x, 4, mean, sizeof mean), number_text(sd, 2, around, sizeof around);
    fprintf(f, spread ? "<td>%s &#177; %s</td>" : "<td>%s</td>", mean, around);
}

static void share_cell(FILE *f, double x)
{
    if (isfinite(x))
        fprintf(f, "<td>%.1f %%</td>", 100 * x);
    else
        fputs("<td></td>", f);
}

static void name_cell(FILE *f, const gp_compare *c, const compare_line *l)
{
    bool marked = c->kernels ? l->taken : l->frontier;
    fputs(marked ? "<td><b>" : "<td>", f);
    text_escaped(f, l->name);
    if (marked) fprintf(f, "</b> <small>%s</small>", c->kernels ? "taken" : "not beaten");
    if (l->stopped || l->limited) fprintf(f, " <small>%s</small>", l->stopped ? "stopped" : "time limit");
    fputs("</td>", f);
}

static void table_row(FILE *f, const gp_compare *c, const compare_line *l)
{
    char seconds[40], bytes[40];
    fputs("<tr>", f);
    name_cell(f, c, l);
    if (l->parts == 0) {
        fprintf(f, "<td class=\"text\" colspan=\"%d\">failed: ", (c->classes ? 4 : 5) + c->kernels);
        text_escaped(f, l->reason);
        fputs("</td></tr>\n", f);
        return;
    }
    quantity_seconds(l->seconds, seconds, sizeof seconds), quantity_bytes(l->bytes, bytes, sizeof bytes);
    if (!(l->bytes > 0)) snprintf(bytes, sizeof bytes, "-"); /* the linear model is no file */
    number_cell(f, l->mnlp, l->mnlp_sd, c->folds > 0);
    if (c->classes)
        share_cell(f, l->accuracy);
    else
        number_cell(f, l->rmse, l->rmse_sd, c->folds > 0), share_cell(f, l->coverage95);
    if (c->kernels) number_cell(f, l->evidence, 0, false);
    fprintf(f, "<td>%s</td><td>%s</td></tr>\n", seconds, bytes);
}

static void table_section(FILE *f, const gp_compare *c)
{
    int64_t step = 0;
    fprintf(f,
            "<section id=\"table\"><h2>Scores</h2><p class=\"reading\">Smaller is better%s. The mean and the linear "
            "model show what the others have to beat.</p>\n<div class=\"wide\"><table><thead><tr><th>%s</th>"
            "<th>mnlp</th>%s%s<th>time</th><th>file</th></tr></thead><tbody>\n",
            c->classes ? ", except for accuracy" : ", except for the share in 95 % intervals, which should be 95",
            c->kernels ? "kernel" : "model", c->classes ? "<th>accuracy</th>" : "<th>rmse</th><th>in 95 %</th>",
            c->kernels ? "<th>evidence</th>" : "");
    for (int64_t i = 0; i < c->count; i++) {
        if (c->line[i].step != step)
            fprintf(f, "<tr><th colspan=\"%d\">step %lld</th></tr>\n", (c->classes ? 5 : 6) + c->kernels,
                    (long long)(step = c->line[i].step));
        table_row(f, c, &c->line[i]);
    }
    fputs("</tbody></table></div></section>\n", f);
}

/* ------------------------------------------------------------------------------------- pictures */

static void picture_section(FILE *f, const char *id, const char *title, const char *reading, const figures *list)
{
    fprintf(f, "<section class=\"picture\" id=\"%s\"><h2>%s</h2><p class=\"reading\">%s</p>\n", id, title, reading);
    page_figures(f, list);
    fputs("</section>\n", f);
}

typedef anygp_status draw_fn(const gp_compare *c, figures *list, anygp_error *e);

static anygp_status frontier(const gp_compare *c, figures *list, anygp_error *e)
{
    int64_t unnamed; /* the table has their names */
    return compare_frontier(c, list, &unnamed, e);
}

static anygp_status draw_section(FILE *f, const gp_compare *c, draw_fn *draw, const char *id, const char *title,
                                 const char *reading, anygp_error *e)
{
    figures *list = figures_new();
    if (!list) return fail_memory(e, "a picture", 0);
    anygp_status status = draw(c, list, e);
    if (!ANYGP_FAILED(status) && figures_failed(list)) status = fail_memory(e, "a picture", 0);
    if (!ANYGP_FAILED(status)) picture_section(f, id, title, reading, list);
    figures_free(list);
    return status;
}

static anygp_status pictures(FILE *f, const gp_compare *c, anygp_error *e)
{
    fputs("<div class=\"pictures\">\n", f);
    TRY(draw_section(f, c, frontier, "frontier", "Score against time",
                     "Only those on the line are worth choosing from: for every other one, some point on the line "
                     "is at least as good and as quick. Much worse ones stand at the upper edge, and a name without "
                     "room is left to the table.",
                     e));
    if (c->folds > 0)
        TRY(draw_section(f, c, compare_spread, "spread", "Spread over the folds",
                         "Where the dots of two rows overlap much, these rows do not tell which is the better one.",
                         e));
    if (c->kernels)
        TRY(draw_section(f, c, compare_path, "path", "Path of the search",
                         "Each step tries sums and products of the kernel before it; the search ends where none "
                         "gains.",
                         e));
    fputs("</div>\n", f);
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------------- page */

static anygp_status write_page(FILE *f, const gp_compare *c, anygp_error *e)
{
    char title[256];
    snprintf(title, sizeof title, "%s - comparison", *c->target ? c->target : "target");
    page_begin(f, title);
    fprintf(f, "<article><h1>Comparison of %s: ", c->kernels ? "kernels" : "models");
    text_escaped(f, *c->target ? c->target : "target");
    fputs("</h1>\n<p>", f);
    TRY(say(f, compare_say_rows, c, true, e));
    fputs(".</p>\n", f);
    if (c->stopped) fputs("<section class=\"warnings\">Stopped: the rest was not fitted.</section>\n", f);
    table_section(f, c);
    if (c->kernels) {
        fputs("<p>Path: ", f);
        TRY(say(f, compare_say_path, c, false, e));
        fputs("</p>\n", f);
    }
    fputs("<p>", f);
    TRY(say(f, compare_say_advice, c, true, e));
    fputs("</p>\n", f);
    TRY(pictures(f, c, e));
    fputs("</article>\n", f);
    page_end(f);
    return ANYGP_OK;
}

anygp_status compare_report_write(const gp_compare *c, const char *out, anygp_error *e)
{
    output_file to;
    TRY(output_open(out, &to, e));
    c_locale l = c_locale_enter();
    anygp_status status = write_page(to.stream, c, e);
    c_locale_leave(l);
    return output_close(&to, status, e);
}
