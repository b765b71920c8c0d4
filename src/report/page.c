/* The page of a report: what was fitted, warnings, scores, pictures, the rows that surprised most.  It needs nothing but itself: no
   scripts, no other files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "report/output.h"
#include "report/picture.h"
#include "report/report.h"

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !strcmp(path, "-") ? "standard input" : slash ? slash + 1 : path;
}

/* -------------------------------------------------------------------------------- the first lines */

static anygp_status fitted_sentence(const scene *c, FILE *f, anygp_error *e)
{
    const gp *g = c->g;
    char *text, label[SCENE_LABEL];
    TRY(gp_kernel_text(g, 3, &text, e));
    fprintf(f, "<p>A Gaussian process of the kind <b>");
    text_escaped(f, g->name);
    fputs("</b> with the kernel <code>", f);
    size_t length = strlen(text);
    if (length > 200) memcpy(text + 197, "...", 4); /* hundreds of length-scales are a picture, not a sentence */
    text_escaped(f, text);
    fprintf(f, "</code> and the likelihood %s was fitted to %.15g row%s of %lld input%s to predict <b>",
            g->likelihood->ops->name, g->rows, g->rows == 1 ? "" : "s", (long long)g->schema.inputs,
            g->schema.inputs == 1 ? "" : "s");
    text_escaped(f, scene_target(c, label));
    fputs("</b>", f);
    if (warp_is(&g->schema.warp)) {
        char how[40];
        warp_print(&g->schema.warp, how, sizeof how);
        fprintf(f, ", of which it models the transform %s", how);
    }
    fputs(". ", f);
    free(text);
    return ANYGP_OK;
}

static void rows_sentence(const scene *c, FILE *f)
{
    if (!c->path) {
        fputs("No rows were given, so this page shows what the model file itself holds.</p>\n", f);
        return;
    }
    if (c->n < c->usable)
        fprintf(f, "This page looks at %lld rows, chosen at random from the %lld %s ", (long long)c->n,
                (long long)c->usable, c->held > 0 ? "that the fit held out of" : "of");
    else
        fprintf(f, "This page looks at %s%lld row%s %s ", c->n == 1 ? "" : "the ", (long long)c->n,
                c->n == 1 ? "" : "s", c->held > 0 ? "that the fit held out of" : "of");
    text_escaped(f, file_name(c->path));
    if (!c->labelled) fputs(", which has no targets to compare with", f);
    fputs(".", f);
    if (c->incomplete) fprintf(f, " %lld more lack inputs and are left out.", (long long)c->incomplete);
    if (c->unlabelled && c->labelled)
        fprintf(f, " %lld more have no target and are left out.", (long long)c->unlabelled);
    fputs("</p>\n", f);
}

/* -------------------------------------------------------------------------------------- scores */

static void score_cell(FILE *f, const char *name, double x)
{
    char text[40];
    bool share = !strcmp(name, "coverage95") || !strcmp(name, "accuracy") || !strcmp(name, "smse");
    number_text(share ? 100 * x : x, 4, text, sizeof text);
    fprintf(f, "<td>%s%s</td>", text, share && isfinite(x) ? " %" : "");
}

static void scores_section(const scene *c, const standing *t, FILE *f)
{
    if (!t->rows_of) return;
    bool linear = isfinite(standing_value(t, scene_is_class(c) ? "logloss" : "rmse", STANDING_LINEAR));
    fprintf(f,
            "<section class=\"scores\"><h2>Scores</h2><p class=\"reading\">On %s. Smaller is better, except for "
            "%s.%s</p>\n",
            t->rows_of, scene_is_class(c) ? "accuracy and auc" : "the share in 95 % intervals, which should be 95",
            linear ? " The linear model is fitted to these rows, each fifth predicted from the others." : "");
    fprintf(f,
            "<div class=\"wide\"><table><thead><tr><th>score</th><th>this model</th><th>%s "
            "alone</th>%s</tr></thead><tbody>\n",
            scene_is_class(c) ? "shares of the classes" : "mean", linear ? "<th>linear model</th>" : "");
    for (int i = 0; i < t->rows; i++) {
        const standing_row *r = &t->row[i];
        if (!isfinite(r->value[STANDING_MODEL])) continue;
        fprintf(f, "<tr><td>%s <small>%s</small></td>", r->name, r->meaning);
        for (int k = 0; k < (linear ? STANDING_COLUMNS : STANDING_LINEAR); k++) score_cell(f, r->name, r->value[k]);
        fputs("</tr>\n", f);
    }
    fputs("</tbody></table></div></section>\n", f);
}

/* ------------------------------------------------------------------------------------ pictures */

/* suffix: makes ids differ where there are several targets. */
static anygp_status picture_section(scene *c, const picture *p, const char *suffix, FILE *f, anygp_error *e)
{
    figures *list = figures_new();
    if (!list) return fail_memory(e, "a picture", 0);
    anygp_status status = p->draw(c, list, e);
    if (!ANYGP_FAILED(status) && figures_failed(list)) status = fail_memory(e, "a picture", 0);
    if (!ANYGP_FAILED(status)) {
        fprintf(f, "<section class=\"picture%s\" id=\"%s%s\"><h2>%s</h2><p class=\"reading\">%s</p>\n",
                figures_count(list) > 1 ? " several" : "", p->name, suffix, p->title, p->reading);
        int64_t D = c->D;
        if (p == &picture_effects && D > EFFECTS_MOST)
            fprintf(f, "<p class=\"reading\">The %d most relevant of %lld inputs are shown.</p>\n", EFFECTS_MOST,
                    (long long)D);
        page_figures(f, list);
        fputs("</section>\n", f);
    }
    figures_free(list);
    return status;
}

/* Those that another table, or another model, would have. */
static void absent_section(const scene *c, FILE *f)
{
    bool any = false;
    for (int64_t i = 0; i < picture_count(); i++) {
        const picture *p = picture_at(i);
        if (p->applies(c)) continue;
        if (!any) fputs("<section class=\"absent\"><h2>Not shown</h2><ul>\n", f);
        any = true;
        fprintf(f, "<li>%s: needs %s</li>\n", p->title, p->needs);
    }
    if (any) fputs("</ul></section>\n", f);
}

static anygp_status target_part(scene *c, const char *suffix, FILE *f, anygp_error *e)
{
    standing t;
    char *items = NULL;
    size_t size = 0;
    TRY(fitted_sentence(c, f, e));
    rows_sentence(c, f);
    TRY(standing_make(c, &t, e));
    FILE *list = open_memstream(&items, &size);
    if (!list) return fail_memory(e, "the page", 0);
    int count = warnings_write(c, &t, list);
    fclose(list);
    if (count) fprintf(f, "<section class=\"warnings\"><b>Please note</b><ul>\n%s</ul></section>\n", items);
    free(items);
    scores_section(c, &t, f);
    fputs("<div class=\"pictures\">\n", f);
    for (int64_t i = 0; i < picture_count(); i++)
        if (picture_at(i)->applies(c)) TRY(picture_section(c, picture_at(i), suffix, f, e));
    fputs("</div>\n", f);
    if (c->labelled) {
        fprintf(f, "<section id=\"surprises%s\">", suffix);
        fputs("<h2>Rows that surprised most</h2><p class=\"reading\">Rows are counted from "
              "1, without a header. "
              "Look at them first when you search for errors in the data.</p>\n",
              f);
        TRY(surprises_table(c, f, e));
        fputs("</section>\n", f);
    }
    absent_section(c, f);
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------------- page */

/* The names of the first targets, for the title. */
static void page_title(const gp_set *m, char *to, size_t room)
{
    size_t n = 0;
    for (int64_t t = 0; t < m->targets && t < 3 && n < room; t++) {
        const char *name = m->gp[t]->schema.target;
        n += (size_t)snprintf(to + n, room - n, "%s%.60s", t ? ", " : "", name && *name ? name : "target");
    }
    if (n < room) snprintf(to + n, room - n, " - report");
}

anygp_status report_target(const gp_set *m, int64_t target, const settings *s, const char *in, scene **out,
                           anygp_error *e)
{
    bool fit = settings_is(s, SET_REPORT_ROWS, "held");
    double held = fit ? m->gp[target]->held_out : 0;
    return scene_open(m, target, s, in, held, fit && held == 0, out, e);
}

static anygp_status write_page(const gp_set *m, const settings *s, const char *in, FILE *f, anygp_error *e)
{
    char title[256];
    page_title(m, title, sizeof title);
    page_begin(f, title);
    for (int64_t t = 0; t < m->targets; t++) {
        scene *c = NULL;
        char label[SCENE_LABEL], suffix[24];
        TRY(report_target(m, t, s, in, &c, e));
        fputs("<article><h1>Report: ", f), text_escaped(f, scene_target(c, label)), fputs("</h1>\n", f);
        snprintf(suffix, sizeof suffix, t ? "-%lld" : "", (long long)t + 1);
        anygp_status status = target_part(c, suffix, f, e);
        scene_close(c);
        TRY(status);
        fputs("</article>\n", f);
    }
    page_end(f);
    return ANYGP_OK;
}

/* The options are checked before an hour of predictions. */
static anygp_status check_request(const gp_set *m, const settings *s, const char *in, anygp_error *e)
{
    if (in && !strcmp(in, "-") && m->targets > 1)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "a report on several targets reads the table once for each; give a file, not standard input");
    bool found = !*settings_text(s, SET_MAP);
    for (int64_t t = 0; t < m->targets && !found; t++) {
        int64_t places[2];
        scene probe = {.g = m->gp[t], .s = s, .D = scene_columns(m->gp[t])};
        TRY(map_columns(&probe, places, &found, e));
    }
    return ANYGP_OK;
}

anygp_status report_write(const gp_set *m, const settings *s, const char *in, const char *out, anygp_error *e)
{
    output_file to;
    TRY(check_request(m, s, in, e));
    TRY(output_open(out, &to, e));
    c_locale l = c_locale_enter();
    anygp_status status = write_page(m, s, in, to.stream, e);
    c_locale_leave(l);
    return output_close(&to, status, e);
}
