/* The columns of a file of predictions: their names, which of them are texts, and those that are copied from the rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/stream.h"

/* Of a target's predictions, without those of its experts. */
int64_t sheet_own_width(const sheet *t, int64_t target) { return output_width(t->m->gp[target], t->latent); }

int64_t sheet_width_of(const sheet *t, int64_t target)
{
    if (t->samples) return t->samples;
    return sheet_own_width(t, target) + (t->parts ? OPINION_COLUMNS * gp_experts(t->m->gp[target]) : 0);
}

void sheet_clear(sheet *t)
{
    for (int64_t i = 0; t->name && i < t->width; i++) free(t->name[i]);
    free(t->name);
    free(t->cells);
    free(t->keep);
}

static int suffix_of(const sheet *t, int64_t target, int64_t i, char *buffer, size_t size)
{
    static const char *const opinion[OPINION_COLUMNS] = {"mean", "sd", "weight"};
    int64_t more = i - sheet_own_width(t, target);
    if (t->samples) return snprintf(buffer, size, "sample%lld", (long long)i + 1);
    if (more < 0) return output_suffix(t->m->gp[target], t->latent, i, buffer, size);
    return snprintf(buffer, size, "%s_expert%lld", opinion[more % OPINION_COLUMNS],
                    (long long)more / OPINION_COLUMNS + 1);
}

static char *column_name(const sheet *t, int64_t target, int64_t i)
{
    size_t size = (size_t)suffix_of(t, target, i, NULL, 0) + 1;
    char *end = malloc(size), *name = NULL;
    if (end) suffix_of(t, target, i, end, size), name = output_named(t->m, target, end);
    free(end);
    return name;
}

/* Labels that are texts: the first column of a target's marginals, all of its draws. */
static bool is_label(const sheet *t, int64_t target, int64_t i)
{
    const gp *g = t->m->gp[target];
    return gp_is_class(g) && g->schema.class_text && !t->latent && (i == 0 || t->samples);
}

static column cells_of(const sheet *t, int64_t target, int64_t i)
{
    const schema *s = &t->m->gp[target]->schema;
    if (!is_label(t, target, i)) return (column){.kind = COLUMN_NUMBER};
    return (column){.kind = COLUMN_TEXT, .levels = s->classes, .level = s->class_name};
}

/* A column of the rows that is kept: its name or, where it has none, its number behind an x. */
static char *kept_name(const feed *f, int64_t j)
{
    char label[32];
    snprintf(label, sizeof label, "x%lld", (long long)feed_column_number(f, j));
    return mem_strdup(feed_columns(f)[j].name ? feed_columns(f)[j].name : label);
}

/* What the user would not find in the file that was read. */
static void tell_names(const sheet *t, const feed *f, const settings *s)
{
    int64_t unnamed = 0, first = -1;
    for (int64_t c = 0; c < t->kept; c++) {
        if (feed_columns(f)[t->keep[c]].name) continue;
        if (unnamed++ == 0) first = c;
    }
    if (unnamed == 1)
        settings_log(s, ANYGP_NOTE, "column %lld has no name; it is called %s beside the predictions",
                     (long long)feed_column_number(f, t->keep[first]), t->name[first]);
    if (unnamed > 1)
        settings_log(
            s, ANYGP_NOTE,
            "columns without a name are called by their numbers, from 0, beside the predictions: column %lld is "
            "%s",
            (long long)feed_column_number(f, t->keep[first]), t->name[first]);
}

static anygp_status keep_columns(sheet *t, const feed *f, const settings *s, anygp_error *e)
{
    bool *mark = mem_zeroed(f->columns, sizeof *mark);
    t->keep = mem_alloc(f->columns, sizeof *t->keep);
    anygp_status status = mark && t->keep ? feed_kept(f, s, mark, e) : fail_memory(e, "column names", 0);
    for (int64_t j = 0; j < f->columns && !ANYGP_FAILED(status); j++)
        if (mark[j]) t->keep[t->kept++] = j;
    free(mark);
    return status;
}

/* The texts that the kept columns have shown so far. */
static void follow_kept(const sheet *t, const feed *f)
{
    for (int64_t c = 0; c < t->kept; c++) t->cells[c] = feed_columns(f)[t->keep[c]];
}

void sheet_place_kept(const sheet *t, const feed *f, int64_t n, const double *cells, double *to)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < t->kept; c++) to[i * t->width + c] = cells[i * f->columns + t->keep[c]];
    follow_kept(t, f);
}

anygp_status sheet_make(sheet *t, const feed *f, const settings *s, anygp_error *e)
{
    TRY(keep_columns(t, f, s, e));
    t->width = t->kept;
    for (int64_t k = 0; k < t->m->targets; k++) {
        int64_t width = sheet_width_of(t, k);
        t->width += width;
        t->widest = width > t->widest ? width : t->widest;
    }
    t->name = mem_zeroed(t->width, sizeof *t->name);
    t->cells = mem_zeroed(t->width, sizeof *t->cells);
    if (!t->name || !t->cells) return fail_memory(e, "column names", 0);
    for (int64_t c = 0; c < t->kept; c++)
        if (!(t->name[c] = kept_name(f, t->keep[c]))) return fail_memory(e, "column names", 0);
    tell_names(t, f, s);
    follow_kept(t, f);
    for (int64_t k = 0, j = t->kept; k < t->m->targets; k++)
        for (int64_t i = 0; i < sheet_width_of(t, k); i++, j++) {
            t->cells[j] = cells_of(t, k, i);
            if (!(t->name[j] = column_name(t, k, i))) return fail_memory(e, "column names", 0);
        }
    return ANYGP_OK;
}

anygp_status sheet_open(const sheet *t, const settings *s, const char *out, writer **w, anygp_error *e)
{
    bool texts = false, dates = false;
    int64_t kept = -1;
    for (int64_t j = 0; j < t->width; j++) {
        texts = texts || t->cells[j].kind == COLUMN_TEXT;
        dates = dates || (t->cells[j].kind == COLUMN_NUMBER && notation_is_calendar(t->cells[j].notation));
    }
    for (int64_t j = t->kept - 1; j >= 0; j--) kept = t->cells[j].kind == COLUMN_TEXT ? j : kept;
    TRY(writer_open(out, t->width, (const char *const *)t->name, w, e));
    if (!texts && !dates) return ANYGP_OK;
    if (writer_has_texts(*w)) return writer_columns(*w, t->cells, e);
    if (dates)
        settings_log(s, ANYGP_NOTE,
                     "%.200s can hold numbers only: dates are days since 1970-01-01, times of day are hours", out);
    if (!texts) return ANYGP_OK;
    if (kept >= 0)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "keep: column %.80s is text, and %.200s can hold numbers only; write a .csv", t->name[kept],
                         out);
    settings_log(s, ANYGP_NOTE,
                 "%.200s can hold numbers only: labels are the numbers of their classes, from 0, in the "
                 "order that anygp info lists them",
                 out);
    return ANYGP_OK;
}
