#include "io/plan_page.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/c_locale.h"
#include "base/quantity.h"

enum { CELL = 24, SIZE = 48 };

/* --------------------------------------------------------------------------------------------- page */

/* "256 inducing, blocks of 1000" */
static void size_text(const plan_line *l, char to[SIZE])
{
    int n = l->inducing > 0 ? snprintf(to, SIZE, "m = %lld", (long long)l->inducing) : 0;
    to[n] = 0;
    if (l->rows_of_block > 0)
        snprintf(to + n, SIZE - (size_t)n, "%sblocks of %lld", n ? ", " : "", (long long)l->rows_of_block);
}

static void print_line(FILE *f, const gp_plan *p, const plan_line *l)
{
    char size[SIZE], seconds[CELL] = "", memory[CELL] = "", runs[CELL] = "";
    size_text(l, size);
    if (l->costed) {
        quantity_seconds(l->seconds, seconds, sizeof seconds), quantity_bytes(l->bytes, memory, sizeof memory);
        snprintf(runs, sizeof runs, "%lld %s", (long long)l->iterations, l->steps ? "steps" : "passes");
    }
    char mark = l->chosen ? '*' : l->raced ? '?' : *l->reason ? '-' : ' ';
    const char *note = *l->reason ? l->reason : l->chosen ? p->why : "";
    fprintf(f, "%c %-15s %-24s %12s %10s %9s%s%s\n", mark, l->name, size, runs, seconds, memory, *note ? "  " : "",
            note);
}

static void print_head(FILE *f, const gp_plan *p)
{
    const auto_facts *a = &p->facts;
    char time[CELL], memory[CELL];
    quantity_seconds(a->seconds, time, sizeof time), quantity_bytes(a->bytes, memory, sizeof memory);
    fprintf(f, "%.0f rows (%.0f distinct), %lld input%s, %s", a->rows, a->distinct, (long long)a->inputs,
            a->inputs == 1 ? "" : "s", p->likelihood);
    if (a->targets > 1) fprintf(f, ", %lld targets", (long long)a->targets);
    fprintf(f, "; time %s, memory %s\n", time, memory);
    fprintf(f, "%d thread%s, together %.2g operations and %.2g kernel entries per second\n", a->threads,
            a->threads == 1 ? "" : "s", a->products, a->entries);
    fprintf(f, "  %-15s %-24s %12s %10s %9s\n", "model", "size", "", "time", "memory");
}

/* What the marks mean, of those that occur. */
static void print_foot(FILE *f, const gp_plan *p)
{
    char time[CELL];
    bool chosen = false, considered = false, out = false;
    for (int64_t i = 0; i < p->count; i++) {
        const plan_line *l = &p->line[i];
        chosen |= l->chosen, considered |= l->raced && !l->chosen, out |= !l->raced && *l->reason;
    }
    quantity_seconds(p->race_seconds, time, sizeof time);
    if (chosen) fprintf(f, "*: what --model auto would choose\n");
    if (p->race_seconds > 0)
        fprintf(f, "?: --model auto would decide between these by short fits, which take about %s in all\n", time);
    else if (considered)
        fprintf(f, "?: what it considers besides\n");
    if (p->wanted && !chosen && p->race_seconds == 0) fprintf(f, "--model auto would fail: %s\n", p->why);
    if (out) fprintf(f, "-: ruled out\n");
}

static char *page_as_text(const gp_plan *p)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    c_locale locale = c_locale_enter();
    print_head(f, p);
    for (int64_t i = 0; i < p->count; i++) print_line(f, p, &p->line[i]);
    print_foot(f, p);
    c_locale_leave(locale);
    fclose(f);
    return text;
}

/* --------------------------------------------------------------------------------------------- JSON */

static json_t *number_or_null(bool there, double x) { return there && isfinite(x) ? json_real(x) : json_null(); }
static json_t *count_or_null(int64_t n) { return n > 0 ? json_integer((json_int_t)n) : json_null(); }

static json_t *line_json(const plan_line *l)
{
    return json_pack("{s:s, s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "model", l->name, "possible",
                     !*l->reason, "chosen", l->chosen, "considered", l->raced, "inducing", count_or_null(l->inducing),
                     "block_rows", count_or_null(l->rows_of_block), "iterations",
                     l->costed ? count_or_null(l->iterations) : json_null(), "seconds",
                     number_or_null(l->costed, l->seconds), "bytes", number_or_null(l->costed, l->bytes), "learning",
                     l->steps ? "steps" : "passes", "reason", *l->reason ? json_string(l->reason) : json_null());
}

static char *page_as_json(const gp_plan *p)
{
    const auto_facts *a = &p->facts;
    json_t *models = json_array(), *choice = json_null();
    for (int64_t i = 0; i < p->count; i++) {
        json_array_append_new(models, line_json(&p->line[i]));
        if (p->line[i].chosen) choice = json_string(p->line[i].name);
    }
    json_t *o = json_pack("{s:f, s:f, s:I, s:I, s:s, s:f, s:f, s:i, s:f, s:f, s:o, s:o, s:o, s:o}", "rows", a->rows,
                          "distinct", a->distinct, "inputs", (json_int_t)a->inputs, "targets", (json_int_t)a->targets,
                          "likelihood", p->likelihood, "time", a->seconds, "memory", a->bytes, "threads", a->threads,
                          "operations_per_second", a->products, "kernel_entries_per_second", a->entries, "choice",
                          choice, "reason", *p->why ? json_string(p->why) : json_null(), "race_seconds",
                          number_or_null(p->race_seconds > 0, p->race_seconds), "models", models);
    char *text = o ? json_dumps(o, JSON_INDENT(2)) : NULL;
    json_decref(o);
    return text;
}

anygp_status plan_page(const gp_plan *p, bool json, char **text, anygp_error *e)
{
    *text = json ? page_as_json(p) : page_as_text(p);
    return *text ? ANYGP_OK : fail_memory(e, "the text", 0);
}
