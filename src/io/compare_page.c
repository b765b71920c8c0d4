#include "io/compare_page.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/quantity.h"

enum { CELL = 32, NAME_LEAST = 10, NAME_MOST = 48 };

/* --------------------------------------------------------------------------------------------- page */

static void cell(double x, double sd, int64_t folds, char *to)
{
    if (isnan(x))
        *to = 0;
    else if (folds > 0)
        snprintf(to, CELL, "%.4g +- %.2g", x, sd);
    else
        snprintf(to, CELL, "%.4g", x);
}

static void percent(double share, char *to)
{
    *to = 0;
    if (!isnan(share)) snprintf(to, CELL, "%.1f %%", 100 * share);
}

static int name_width(const gp_compare *c)
{
    int width = NAME_LEAST;
    for (int64_t i = 0; i < c->count; i++) {
        int n = (int)strlen(c->line[i].name);
        if (n > width) width = n < NAME_MOST ? n : NAME_MOST;
    }
    return width;
}

static void print_columns(FILE *f, const gp_compare *c, int width, const compare_line *l)
{
    char mnlp[CELL], rmse[CELL], covered[CELL], seconds[CELL], bytes[CELL];
    int wide = c->folds > 0 ? 18 : 9;
    cell(l->mnlp, l->mnlp_sd, c->folds, mnlp);
    if (c->classes)
        percent(l->accuracy, rmse), *covered = 0;
    else
        cell(l->rmse, l->rmse_sd, c->folds, rmse), percent(l->coverage95, covered);
    quantity_seconds(l->seconds, seconds, sizeof seconds), quantity_bytes(l->bytes, bytes, sizeof bytes);
    if (!(l->bytes > 0)) snprintf(bytes, sizeof bytes, "-"); /* the linear model is no file */
    fprintf(f, "%-*s %*s %*s", width, l->name, wide, mnlp, wide, rmse);
    if (!c->classes) fprintf(f, " %9s", covered);
    if (c->kernels && !isnan(l->evidence)) fprintf(f, " %9.4g", l->evidence);
    if (c->kernels && isnan(l->evidence)) fprintf(f, " %9s", "");
    fprintf(f, " %9s %9s%s\n", seconds, bytes, l->stopped ? "  stopped" : l->limited ? "  time limit" : "");
}

static void print_line(FILE *f, const gp_compare *c, int width, const compare_line *l)
{
    fprintf(f, "%c ", c->kernels ? (l->taken ? '>' : ' ') : l->frontier ? '*' : ' ');
    if (l->parts > 0)
        print_columns(f, c, width, l);
    else
        fprintf(f, "%-*s failed: %s\n", width, l->name, l->reason);
}

static void print_head(FILE *f, const gp_compare *c, int width)
{
    int wide = c->folds > 0 ? 18 : 9;
    compare_say_rows(f, c);
    fputc('\n', f);
    fprintf(f, "  %-*s %*s %*s", width, c->kernels ? "kernel" : "model", wide, "mnlp", wide,
            c->classes ? "accuracy" : "rmse");
    if (!c->classes) fprintf(f, " %9s", "in 95 %");
    if (c->kernels) fprintf(f, " %9s", "evidence");
    fprintf(f, " %9s %9s\n", "time", "file");
}

static void print_lines(FILE *f, const gp_compare *c)
{
    int width = name_width(c);
    int64_t step = 0;
    print_head(f, c, width);
    for (int64_t i = 0; i < c->count; i++) {
        if (c->line[i].step != step) fprintf(f, "step %lld\n", (long long)(step = c->line[i].step));
        print_line(f, c, width, &c->line[i]);
    }
}

static char *page_as_text(const gp_compare *c)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    c_locale locale = c_locale_enter();
    print_lines(f, c);
    if (c->kernels) {
        fprintf(f, "path: ");
        compare_say_path(f, c);
        fputc('\n', f);
    } else
        fprintf(f, "*: no other is better in both mnlp and time\n");
    if ((c->kernels ? compare_last_taken(c) : c->best_line) >= 0) {
        compare_say_advice(f, c);
        fputc('\n', f);
    }
    if (c->stopped) fprintf(f, "stopped: the rest was not fitted\n");
    c_locale_leave(locale);
    fclose(f);
    return text;
}

/* --------------------------------------------------------------------------------------------- JSON */

static json_t *number(bool there, double x) { return there && isfinite(x) ? json_real(x) : json_null(); }

static json_t *line_json(const gp_compare *c, const compare_line *l)
{
    bool ok = l->parts > 0, spread = c->folds > 0;
    json_t *o =
        json_pack("{s:s, s:s, s:o, s:b, s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                  l->name, "model", l->model, "kernel", *l->kernel ? json_string(l->kernel) : json_null(), "baseline",
                  l->baseline, "frontier", l->frontier, "stopped", l->stopped, "time_limit", l->limited, "mnlp",
                  number(ok, l->mnlp), "mnlp_sd", number(ok && spread, l->mnlp_sd), "rmse", number(ok, l->rmse),
                  "rmse_sd", number(ok && spread, l->rmse_sd), "accuracy", number(ok, l->accuracy), "coverage95",
                  number(ok, l->coverage95), "rows", number(ok, l->rows), "seconds", number(ok, l->seconds), "bytes",
                  number(ok && l->bytes > 0, l->bytes), "reason", ok ? json_null() : json_string(l->reason));
    if (l->inducing > 0) json_object_set_new(o, "inducing", json_integer((json_int_t)l->inducing));
    if (c->kernels) {
        json_object_set_new(o, "step", json_integer((json_int_t)l->step));
        json_object_set_new(o, "taken", json_boolean(l->taken));
        json_object_set_new(o, "evidence", number(ok, l->evidence));
    }
    return o;
}

static char *page_as_json(const gp_compare *c)
{
    json_t *lines = json_array();
    int64_t best = c->kernels ? compare_last_taken(c) : c->best_line;
    for (int64_t i = 0; i < c->count; i++) json_array_append_new(lines, line_json(c, &c->line[i]));
    json_t *o =
        json_pack("{s:I, s:I, s:I, s:f, s:b, s:o, s:o}", "rows_fitted", (json_int_t)c->fitted, "rows_held_out",
                  (json_int_t)c->held, "folds", (json_int_t)c->folds, "time", c->limit, "stopped", c->stopped, "best",
                  best < 0 ? json_null() : json_string(c->line[best].name), c->kernels ? "kernels" : "models", lines);
    char *text = o ? json_dumps(o, JSON_INDENT(2)) : NULL;
    json_decref(o);
    return text;
}

anygp_status compare_page(const gp_compare *c, bool json, char **text, anygp_error *e)
{
    *text = json ? page_as_json(c) : page_as_text(c);
    return *text ? ANYGP_OK : fail_memory(e, "the text", 0);
}
