#include "io/check_page.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/c_locale.h"

/* --------------------------------------------------------------------------------------------- page */

static const char *verdict_word(anygp_verdict v)
{
    return v == ANYGP_REFIT ? "refit" : v == ANYGP_WATCH ? "watch" : "fine";
}

static void print_target(FILE *f, const gp_check *c, const check_target *t)
{
    char label[96];
    bool classes = gp_is_class(t->g);
    if (c->targets > 1) fprintf(f, "target %s\n", schema_target_label(&t->g->schema, label));
    if (t->n > 0 && !classes) {
        fprintf(f, "%-20s mean %.3f, variance %.3f (should be 0 and 1)\n", "standardised errors", t->z_mean,
                t->z_square - t->z_mean * t->z_mean);
        fprintf(f, "%-20s", "intervals cover");
        for (int k = 0; k < CHECK_LEVELS; k++)
            fprintf(f, "%s %.0f %%: %.1f %%", k ? "," : "", 100 * check_levels[k], 100 * t->coverage[k]);
        fputc('\n', f);
    }
    if (t->n > 0 && classes)
        fprintf(f, "%-20s %.1f %%, where the model expects %.1f %%\n", "accuracy", 100 * t->accuracy,
                100 * t->confidence);
    if (t->n > 0) {
        fprintf(f, "%-20s %.4g", classes ? "log loss" : "mnlp", t->density);
        if (!isnan(t->density_at_fit)) fprintf(f, ", at the fit %.4g", t->density_at_fit);
        fputc('\n', f);
    }
    if (!isnan(t->as_prior)) fprintf(f, "%-20s %.1f %% of the rows\n", "no better than prior", 100 * t->as_prior);
}

static void print_input(FILE *f, const check_input *in)
{
    char label[96];
    fprintf(f, "input %-14s", schema_label(in->spec, label));
    if (in->spec->text)
        fprintf(f, " new categories in %.1f %% of the rows\n", 100 * in->unseen);
    else if (in->known)
        fprintf(f, " mean %+.2f, sd %.2f of training; far outside %.1f %%\n", in->mean, in->sd, 100 * in->far);
    else
        fprintf(f, " not known, since inputs were not standardised\n");
}

static void print_page(FILE *f, const gp_check *c)
{
    fprintf(f, "%s: ", verdict_word(c->verdict));
    if (c->findings == 0)
        fprintf(f, "nothing in %lld row%s speaks against the model%s\n", (long long)(c->rows - c->bad),
                c->rows - c->bad == 1 ? "" : "s", c->labelled ? "" : "; there are no targets to check");
    else
        fprintf(f, "%s\n", c->finding[0].text);
    for (int i = 1; i < c->findings; i++) fprintf(f, "also: %s\n", c->finding[i].text);
    fprintf(f, "%-20s %lld", "rows", (long long)c->rows);
    if (c->bad > 0) fprintf(f, ", of which %lld cannot be predicted", (long long)c->bad);
    if (!c->labelled) fprintf(f, "; inputs only: %s", c->unlabelled);
    fputc('\n', f);
    for (int64_t t = 0; t < c->targets; t++) print_target(f, c, &c->target[t]);
    for (int64_t j = 0; j < c->inputs; j++) print_input(f, &c->input[j]);
}

static char *page_as_text(const gp_check *c)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    c_locale locale = c_locale_enter();
    print_page(f, c);
    c_locale_leave(locale);
    fclose(f);
    return text;
}

/* --------------------------------------------------------------------------------------------- JSON */

static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }
static json_t *text_or_null(const char *s) { return s ? json_string(s) : json_null(); }

static json_t *target_json(const check_target *t)
{
    json_t *coverage = json_object();
    for (int k = 0; k < CHECK_LEVELS; k++) {
        char name[8];
        snprintf(name, sizeof name, "%.0f", 100 * check_levels[k]);
        json_object_set_new(coverage, name, number(t->coverage[k]));
    }
    bool scored = t->n > 0;
    return json_pack("{s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "name",
                     text_or_null(t->g->schema.target), "rows", t->n, "z_mean", number(t->z_mean), "z_variance",
                     number(t->z_square - t->z_mean * t->z_mean), "coverage", coverage, "accuracy", number(t->accuracy),
                     "confidence", number(t->confidence), "density", number(scored ? t->density : NAN),
                     "density_at_fit", number(t->density_at_fit), "drifted", t->drifted, "as_prior",
                     number(t->as_prior));
}

static json_t *input_json(const check_input *in)
{
    bool numbers = !in->spec->text && in->known;
    return json_pack("{s:o, s:I, s:o, s:o, s:o, s:o}", "name", text_or_null(in->spec->name), "number",
                     (json_int_t)in->spec->number, "mean", number(numbers ? in->mean : NAN), "sd",
                     number(numbers ? in->sd : NAN), "far", number(numbers ? in->far : NAN), "new_categories",
                     number(in->spec->text ? in->unseen : NAN));
}

static char *page_as_json(const gp_check *c)
{
    json_t *targets = json_array(), *inputs = json_array(), *findings = json_array();
    for (int64_t t = 0; t < c->targets; t++) json_array_append_new(targets, target_json(&c->target[t]));
    for (int64_t j = 0; j < c->inputs; j++) json_array_append_new(inputs, input_json(&c->input[j]));
    for (int i = 0; i < c->findings; i++)
        json_array_append_new(
            findings, json_pack("{s:s, s:s}", "level", verdict_word(c->finding[i].level), "text", c->finding[i].text));
    json_t *o =
        json_pack("{s:s, s:i, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "verdict", verdict_word(c->verdict), "status",
                  (int)c->verdict, "rows", (json_int_t)c->rows, "unusable", (json_int_t)c->bad, "labelled", c->labelled,
                  "far", number(c->far), "findings", findings, "targets", targets, "inputs", inputs);
    char *text = o ? json_dumps(o, JSON_INDENT(2)) : NULL;
    json_decref(o);
    return text;
}

anygp_status check_page(const gp_check *c, bool json, char **text, anygp_error *e)
{
    *text = json ? page_as_json(c) : page_as_text(c);
    return *text ? ANYGP_OK : fail_memory(e, "the text", 0);
}
