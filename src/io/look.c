/* The columns of a table as a page and as JSON (look.h).  One pass over the rows. */
#include "io/look.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/memory.h"
#include "data/table/classes.h"
#include "gp/columns.h"

enum { DISTINCT_MOST = 100000, NAME_MOST = 24, CELL = 32 };
enum { CODES_LEAST = 3, CODES_MOST = 10, CODES_ROWS = 10 }; /* values of a column that may be codes; rows of each */

typedef struct column_facts {
    int64_t missing, present;
    double low, high;
    long double sum;
    bool fractions; /* not all are whole numbers */
    class_set seen; /* up to DISTINCT_MOST */
} column_facts;

typedef struct look {
    const table *t;
    row_source *file;
    const char *name;
    const settings *s;
    fit_columns c;
    column_facts *facts; /* columns */
    oddity *odd;         /* columns */
    FILE *notes;         /* one per line, each after its prefix */
    json_t *list;        /* or here */
} look;

/* -------------------------------------------------------------------------------------------- facts */

static anygp_status see_row(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    look *l = ctx;
    (void)number;
    for (int64_t j = 0; j < l->t->cols; j++) {
        column_facts *f = &l->facts[j];
        double x = row[j];
        if (isnan(x)) {
            f->missing++;
            continue;
        }
        if (f->present++ == 0) f->low = f->high = x;
        f->low = fmin(f->low, x), f->high = fmax(f->high, x);
        f->sum += x, f->fractions |= x != floor(x);
        if (f->seen.seen.count <= DISTINCT_MOST) TRY(class_set_note(&f->seen, x, e));
    }
    return ANYGP_OK;
}

static const char *role_of(const look *l, int64_t j)
{
    for (int64_t k = 0; k < l->c.targets; k++)
        if (l->c.target[k] == j) return "target";
    if (j == l->c.weights) return "weights";
    if (j == l->c.exposure) return "exposure";
    return l->t->columns[j].left_out ? "left out" : "input";
}

static const char *kind_of(const column *c)
{
    if (c->kind == COLUMN_UNREAD) return "";
    if (c->kind == COLUMN_TEXT) return c->left_out ? "text" : "category";
    return notation_is_date(c->notation) ? "date" : "number";
}

/* With few digits, and no exponent where none is needed. */
static const char *short_number(double x, char *to)
{
    double size = fabs(x);
    bool plain = size == 0 || (size >= 1e-3 && size < 1e7);
    snprintf(to, CELL, plain && size >= 1e4 ? "%.7g" : plain ? "%.4g" : "%.2e", x);
    return to;
}

/* What becomes of the cells, by an example; or why the column does not count; after two blanks. */
static void treatment(const look *l, int64_t j, char *to, size_t size)
{
    const column *c = &l->t->columns[j];
    const column_facts *f = &l->facts[j];
    char value[CELL];
    double shown;
    bool input = !strcmp(role_of(l, j), "input");
    *to = 0;
    if (c->left_out == COLUMN_DROPPED)
        snprintf(to, size, "  %s", settings_given(l->s, SET_INPUTS) ? "not among --inputs" : "--drop");
    else if (c->left_out == COLUMN_ROW_NUMBERS)
        snprintf(to, size, "  numbers the rows");
    else if (c->left_out == COLUMN_ROW_LABELS)
        snprintf(to, size, "  names the rows");
    else if (c->left_out == COLUMN_EMPTY)
        snprintf(to, size, "  no values");
    else if (c->left_out == COLUMN_ALL_NEW)
        snprintf(to, size, "  nearly all texts differ");
    else if (input && f->present > 0 && f->low == f->high && (c->kind == COLUMN_NUMBER || f->missing == 0))
        snprintf(to, size, "  constant, so it has no effect");
    else if (c->shown && notation_read(c->notation, NULL, c->shown, c->shown + strlen(c->shown), &shown))
        snprintf(to, size, "  '%.16s' is %s%s", c->shown, notation_is_date(c->notation) ? "day " : "",
                 short_number(shown, value));
}

/* --------------------------------------------------------------------------------------------- page */

/* Characters of UTF-8. */
static int width_of(const char *s)
{
    int n = 0;
    for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void print_name(FILE *f, const char *name, int width)
{
    int n = 0;
    for (; *name && (n < NAME_MOST || ((unsigned char)*name & 0xc0) == 0x80); name++) {
        n += ((unsigned char)*name & 0xc0) != 0x80;
        fputc((unsigned char)*name < ' ' ? '?' : *name, f);
    }
    fprintf(f, "%*s", width - n, "");
}

static const char *cell_text(const column *c, double x, char *to)
{
    if (!notation_is_date(c->notation)) return short_number(x, to);
    to[notation_date_text(x, to)] = 0;
    to[strcspn(to, " ")] = 0; /* the day will do */
    return to;
}

static void print_column(const look *l, FILE *out, int64_t j, int width)
{
    const column *c = &l->t->columns[j];
    const column_facts *f = &l->facts[j];
    char what[80], low[CELL] = "", mean[CELL] = "", high[CELL] = "", distinct[CELL];
    bool number = c->kind == COLUMN_NUMBER && f->present > 0;
    int64_t count = f->seen.seen.count;
    snprintf(distinct, sizeof distinct, "%s%lld", count > DISTINCT_MOST ? ">" : "",
             (long long)(count > DISTINCT_MOST ? DISTINCT_MOST : count));
    if (number) {
        cell_text(c, f->low, low), cell_text(c, f->high, high);
        cell_text(c, (double)(f->sum / (long double)f->present), mean);
    }
    treatment(l, j, what, sizeof what);
    fprintf(out, "%4lld  ", (long long)j);
    print_name(out, c->name ? c->name : "", width);
    if (c->kind == COLUMN_UNREAD)
        fprintf(out, "  %-8s  %-8s %48s%s\n", role_of(l, j), "", "", what);
    else
        fprintf(out, "  %-8s  %-8s %7lld %8s %10s %10s %10s%s\n", role_of(l, j), kind_of(c), (long long)f->missing,
                distinct, low, mean, high, what);
}

static void print_page(const look *l, FILE *out)
{
    const table *t = l->t;
    int width = 6;
    for (int64_t j = 0; j < t->cols; j++) {
        int n = t->columns[j].name ? width_of(t->columns[j].name) : 0;
        if (n > width) width = n < NAME_MOST ? n : NAME_MOST;
    }
    fprintf(out, "%s: %lld rows, %lld columns\n", l->name, (long long)t->rows, (long long)t->cols);
    fprintf(out, "      ");
    print_name(out, "column", width);
    fprintf(out, "  %-8s  %-8s %7s %8s %10s %10s %10s\n", "role", "kind", "missing", "distinct", "min", "mean", "max");
    for (int64_t j = 0; j < t->cols; j++) print_column(l, out, j, width);
}

/* What was done is in the page; a sentence is for what may be wrong, and for what can be undone. */
static void print_note(void *ctx, int64_t j, bool doubtful, const char *sentence)
{
    const look *l = ctx;
    if (doubtful || l->t->columns[j].left_out) fprintf(l->notes, "note: %s\n", sentence);
}

/* --------------------------------------------------------------------------------------------- JSON */

static json_t *number_or_null(bool there, double x) { return there && isfinite(x) ? json_real(x) : json_null(); }

static json_t *column_json(const look *l, int64_t j)
{
    static const char *const reasons[] = {NULL,       "dropped", "row numbers", "row labels", "nearly all texts differ",
                                          "no values"};
    const column *c = &l->t->columns[j];
    const column_facts *f = &l->facts[j];
    const char *reason = reasons[c->left_out];
    bool number = c->kind == COLUMN_NUMBER && f->present > 0;
    return json_pack("{s:o, s:I, s:s, s:s, s:s, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "name",
                     c->name ? json_string(c->name) : json_null(), "number", (json_int_t)j, "role", role_of(l, j),
                     "kind", c->kind == COLUMN_UNREAD ? "unread" : kind_of(c), "notation", notation_name(c->notation),
                     "left_out", reason ? json_string(reason) : json_null(), "missing", (json_int_t)f->missing,
                     "distinct", (json_int_t)f->seen.seen.count, "min", number_or_null(number, f->low), "mean",
                     number_or_null(number, (double)(f->sum / (long double)f->present)), "max",
                     number_or_null(number, f->high), "first", c->shown ? json_string(c->shown) : json_null());
}

static void add_note(void *ctx, int64_t j, bool doubtful, const char *sentence)
{
    const look *l = ctx;
    json_array_append_new(
        l->list, json_pack("{s:I, s:b, s:s}", "column", (json_int_t)j, "doubtful", doubtful, "text", sentence));
}

/* Columns that are degrees by their names and ranges. */
static void tell_sphere(const look *l, void (*tell)(void *ctx, int64_t j, bool doubtful, const char *sentence))
{
    int64_t j[2];
    char sentence[480];
    if (settings_given(l->s, SET_SPHERE) || !fit_looks_like_sphere(l->t, l->c.skip, j)) return;
    const column_facts *lon = &l->facts[j[0]], *lat = &l->facts[j[1]];
    if (!sphere_longitude(lon->low) || !sphere_longitude(lon->high)) return;
    if (!sphere_latitude(lat->low) || !sphere_latitude(lat->high)) return;
    const char *a = l->t->columns[j[0]].name, *b = l->t->columns[j[1]].name;
    snprintf(sentence, sizeof sentence,
             "'%.80s' and '%.80s' look like longitude and latitude; with --sphere %.80s,%.80s distances are those on "
             "the earth",
             a, b, a, b);
    tell((void *)l, j[0], true, sentence);
}

/* A few whole numbers, each many times: amounts or codes, and only the user knows which. */
static bool may_be_code(const look *l, int64_t j)
{
    const column *c = &l->t->columns[j];
    const column_facts *f = &l->facts[j];
    int64_t distinct = f->seen.seen.count;
    if (strcmp(role_of(l, j), "input") || strcmp(kind_of(c), "number") || c->shown || f->fractions) return false;
    return distinct >= CODES_LEAST && distinct <= CODES_MOST && f->present >= CODES_ROWS * distinct;
}

/* One sentence for all of them. */
static void tell_codes(const look *l, void (*tell)(void *ctx, int64_t j, bool doubtful, const char *sentence))
{
    char list[300] = "", sentence[480];
    int64_t first = -1, count = 0;
    for (int64_t j = 0; j < l->t->cols; j++) {
        const char *name = l->t->columns[j].name;
        size_t used = strlen(list);
        if (!may_be_code(l, j)) continue;
        first = first < 0 ? j : first;
        count++;
        if (name && *name && used + strlen(name) + 2 < sizeof list)
            snprintf(list + used, sizeof list - used, "%s%s", used ? "," : "", name);
        else if (used + 24 < sizeof list)
            snprintf(list + used, sizeof list - used, "%s%lld", used ? "," : "", (long long)j);
    }
    if (first < 0) return;
    snprintf(sentence, sizeof sentence,
             "%s a few whole numbers, which a fit takes as amounts; if they are codes: --categories %s",
             count == 1 ? "one input has only" : "some inputs have only", list);
    tell((void *)l, first, true, sentence);
}

static char *page_as_json(look *l)
{
    json_t *columns = json_array();
    l->list = json_array();
    for (int64_t j = 0; j < l->t->cols; j++) json_array_append_new(columns, column_json(l, j));
    columns_tell(l->t, l->s, &l->c, l->odd, true, add_note, l);
    tell_sphere(l, add_note);
    tell_codes(l, add_note);
    json_t *o = json_pack("{s:s, s:I, s:o, s:o}", "file", l->name, "rows", (json_int_t)l->t->rows, "columns", columns,
                          "notes", l->list);
    char *text = o ? json_dumps(o, JSON_INDENT(2)) : NULL;
    json_decref(o);
    return text;
}

static char *page_as_text(look *l)
{
    char *text = NULL;
    size_t size;
    if (!(l->notes = open_memstream(&text, &size))) return NULL;
    c_locale locale = c_locale_enter();
    print_page(l, l->notes);
    columns_tell(l->t, l->s, &l->c, l->odd, true, print_note, l);
    tell_sphere(l, print_note);
    tell_codes(l, print_note);
    c_locale_leave(locale);
    fclose(l->notes);
    return text;
}

static void look_clear(look *l)
{
    for (int64_t j = 0; l->facts && j < l->t->cols; j++) class_set_clear(&l->facts[j].seen);
    free(l->facts);
    free(l->odd);
    fit_columns_clear(&l->c);
}

anygp_status look_text(table *t, row_source *file, const char *name, const settings *s, bool json, char **text,
                       anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    look l = {.t = t, .file = file, .name = name, .s = s};
    l.facts = mem_zeroed(t->cols, sizeof *l.facts);
    l.odd = mem_zeroed(t->cols, sizeof *l.odd);
    if (!l.facts || !l.odd) {
        status = fail_memory(e, "the columns", (double)t->cols * sizeof *l.facts);
        goto done;
    }
    TRY_DONE(fit_columns_find(t, s, &l.c, e));
    TRY_DONE(columns_settle(t, file, s, &l.c, e));
    TRY_DONE(fit_find_sphere(t, s, &l.c, e));
    TRY_DONE(columns_odd(t, file, &l.c, l.odd, e));
    TRY_DONE(gp_data_walk(&(gp_data){t, file}, see_row, &l, e));
    if (!(*text = json ? page_as_json(&l) : page_as_text(&l))) status = fail_memory(e, "the text", 0);
done:
    look_clear(&l);
    return status;
}
