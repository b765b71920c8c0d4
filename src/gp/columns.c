/* What becomes of the columns of a table, and what is said about it. */
#include "gp/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/table/recognise.h"

/* Cells that are looked at for odd values: of a table in memory, and of a file that may be far larger than the memory. */
enum { ODD_CELLS = 20000000, ODD_CELLS_IN_FILE = 100000, NOTES_MOST = 12 };
static const double LABELS_IN_FILE = 1 << 30; /* 128 MB of bits */

static const char *label_of(const table *t, int64_t j, char *buffer)
{
    return schema_label(&(input_spec){.name = t->columns[j].name, .number = j}, buffer);
}

cell_notation columns_dates(const settings *s)
{
    return settings_is(s, SET_DATES, "dmy")   ? NOTATION_DATE_DMY
           : settings_is(s, SET_DATES, "mdy") ? NOTATION_DATE_MDY
                                              : NOTATION_PLAIN;
}

/* --------------------------------------------------------------------------------------- row numbers */

/* What the first cells of the rows are: 0, 1, 2 ... or 1, 2, 3 ..., which numbers them; whole numbers that rise, which is what is
   left of such numbers where rows were taken out; whole numbers. */
typedef struct row_counter {
    double first, before, most;
    bool counts, rises, whole;
} row_counter;

static anygp_status count_row(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    row_counter *c = ctx;
    if (number == 0) c->first = row[0], c->before = -1;
    c->counts &= (c->first == 0 || c->first == 1) && row[0] == c->first + (double)number;
    c->rises &= row[0] > c->before;
    c->whole &= row[0] >= 0 && row[0] == floor(row[0]);
    c->before = row[0], c->most = fmax(c->most, row[0]);
    /* the walk ends here; it is no failure */
    return c->whole ? ANYGP_OK : fail_with(e, ANYGP_ERR_DATA, "the first column does not number the rows");
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The labels of rows that were shuffled. */
static anygp_status first_cells_differ(const table *t, bool *differ, anygp_error *e)
{
    double *cell = mem_doubles(t->rows, 1);
    if (!cell) return fail_memory(e, "the first column", 8.0 * (double)t->rows);
    for (int64_t i = 0; i < t->rows; i++) cell[i] = t->values[i * t->cols];
    qsort(cell, (size_t)t->rows, sizeof *cell, by_value);
    *differ = true;
    for (int64_t i = 1; i < t->rows && *differ; i++) *differ = cell[i] > cell[i - 1];
    free(cell);
    return ANYGP_OK;
}

typedef struct label_bits {
    uint64_t *seen;
    bool differ;
} label_bits;

static anygp_status see_label(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    label_bits *b = ctx;
    uint64_t label = (uint64_t)row[0], bit = (uint64_t)1 << (label % 64);
    (void)number;
    if (b->seen[label / 64] & bit) return b->differ = false, fail_with(e, ANYGP_ERR_DATA, "a label occurs twice");
    b->seen[label / 64] |= bit;
    return ANYGP_OK;
}

/* The same in a file that stays on disk, for labels up to `most`, in one pass with a bit for each. */
static anygp_status first_cells_differ_in_file(const table *t, row_source *file, double most, bool *differ,
                                               anygp_error *e)
{
    label_bits b = {.differ = true};
    *differ = false;
    if (most >= LABELS_IN_FILE || most + 1 < (double)t->rows) return ANYGP_OK;
    if (!(b.seen = mem_zeroed((int64_t)most / 64 + 1, sizeof *b.seen))) return fail_memory(e, "labels", most / 8);
    anygp_status status = gp_data_walk(&(gp_data){t, file}, see_label, &b, e);
    free(b.seen);
    *differ = b.differ;
    return b.differ ? status : ANYGP_OK;
}

static anygp_status mark_row_numbers(table *t, row_source *file, int64_t inputs, anygp_error *e)
{
    row_counter c = {.counts = true, .rises = true, .whole = true};
    bool named = false, differ;
    const char *name = t->columns[0].name;
    for (int64_t j = 1; j < t->cols; j++) named = named || t->columns[j].name;
    if (t->rows < 3 || t->columns[0].kind != COLUMN_NUMBER || t->columns[0].notation != NOTATION_PLAIN ||
        !recognise_row_name(name, named))
        return ANYGP_OK;
    anygp_status status = gp_data_walk(&(gp_data){t, file}, count_row, &c, e);
    if (ANYGP_FAILED(status) && c.whole) return status;
    if (c.counts) t->columns[0].left_out = COLUMN_ROW_NUMBERS;
    if (c.counts || !c.whole || inputs < 2 || !recognise_row_label(name)) return ANYGP_OK;
    differ = c.rises;
    if (!differ && !file) TRY(first_cells_differ(t, &differ, e));
    if (!differ && file) TRY(first_cells_differ_in_file(t, file, c.most, &differ, e));
    if (differ) t->columns[0].left_out = COLUMN_ROW_LABELS;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------ empty columns */

typedef struct value_seeker {
    int64_t cols, missing; /* columns without a value so far */
    bool *seen;
} value_seeker;

static anygp_status seek_values(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    value_seeker *v = ctx;
    (void)number;
    for (int64_t j = 0; j < v->cols; j++)
        if (!v->seen[j] && !isnan(row[j])) v->seen[j] = true, v->missing--;
    /* the walk ends here, mostly with the first row; it is no failure */
    return v->missing > 0 ? ANYGP_OK : fail_with(e, ANYGP_ERR_DATA, "every column has a value");
}

/* Inputs without a single value are left out. */
static anygp_status mark_empty(table *t, row_source *file, const fit_columns *c, anygp_error *e)
{
    value_seeker v = {.cols = t->cols, .missing = t->cols, .seen = mem_zeroed(t->cols, sizeof *v.seen)};
    if (!v.seen) return fail_memory(e, "the columns", (double)t->cols);
    for (int64_t j = 0; j < t->cols; j++)
        if (c->skip[j] || j == c->weights || t->columns[j].left_out) v.seen[j] = true, v.missing--;
    anygp_status status =
        v.missing > 0 && t->rows > 0 ? gp_data_walk(&(gp_data){t, file}, seek_values, &v, e) : ANYGP_OK;
    if (v.missing == 0) status = ANYGP_OK;
    for (int64_t j = 0; j < t->cols; j++)
        if (!v.seen[j] && !ANYGP_FAILED(status)) t->columns[j].left_out = COLUMN_EMPTY;
    free(v.seen);
    return status;
}

/* ------------------------------------------------------------------------------------------ settling */

static anygp_status check_categories(const table *t, const fit_columns *c, anygp_error *e)
{
    char label[96];
    for (int64_t j = 0; j < t->cols; j++)
        if (c->category[j] && t->columns[j].kind != COLUMN_TEXT)
            return fail_with(e, ANYGP_ERR_DATA,
                             "categories: column %s is a number, and only columns of a text table can be read as "
                             "categories",
                             label_of(t, j, label));
    return ANYGP_OK;
}

/* With --inputs the user has said which columns count, and none is left out by its looks. */
anygp_status columns_settle(table *t, row_source *file, const settings *s, fit_columns *c, anygp_error *e)
{
    bool chosen = settings_given(s, SET_INPUTS);
    TRY(check_categories(t, c, e));
    for (int64_t j = 0; j < t->cols; j++) {
        column *col = &t->columns[j];
        bool input = !c->skip[j] && j != c->weights;
        if (input && !file && col->kind == COLUMN_TEXT && !c->category[j])
            TRY(recognise_texts(t, j, columns_dates(s), e));
        if (chosen) col->left_out = COLUMN_TAKEN;
        if (c->dropped[j]) col->left_out = COLUMN_DROPPED;
    }
    if (!chosen) TRY(mark_empty(t, file, c, e));
    int64_t inputs = 0;
    for (int64_t j = 0; j < t->cols; j++) inputs += !c->skip[j] && j != c->weights && !t->columns[j].left_out;
    if (!chosen && !c->skip[0] && c->weights != 0) TRY(mark_row_numbers(t, file, inputs, e));
    for (int64_t j = 0; j < t->cols; j++) c->skip[j] = c->skip[j] || t->columns[j].left_out;
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------------- oddities */

static bool is_target(const fit_columns *c, int64_t j)
{
    for (int64_t t = 0; t < c->targets; t++)
        if (c->target[t] == j) return true;
    return false;
}

anygp_status columns_odd(const table *t, row_source *file, const fit_columns *c, oddity *odd, anygp_error *e)
{
    int64_t most = (file ? ODD_CELLS_IN_FILE : ODD_CELLS) / t->cols, rows = most < t->rows ? most : t->rows;
    bool *look = mem_zeroed(t->cols, sizeof *look);
    double *room = file ? rows_room(file, rows) : NULL;
    const double *values = t->values;
    anygp_status status = look && (room || !file) ? ANYGP_OK : fail_memory(e, "some rows", 8.0 * (double)rows);
    for (int64_t j = 0; look && j < t->cols; j++) {
        const column *col = &t->columns[j];
        look[j] = col->kind == COLUMN_NUMBER && !notation_is_date(col->notation) && (!c->skip[j] || is_target(c, j)) &&
                  j != c->weights; /* which may have any size */
    }
    if (!ANYGP_FAILED(status) && file) status = rows_fetch(file, 0, rows, room, &values, e);
    if (!ANYGP_FAILED(status)) status = oddities_find(rows, t->cols, values, look, odd, e);
    free(look);
    free(room);
    return status;
}

/* ----------------------------------------------------------------------------------------- sentences */

static int64_t texts_of(const table *t, int64_t j, int64_t *first)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->rows; i++)
        if (t->values[i * t->cols + j] == t->values[i * t->cols + j] && n++ == 0) *first = i;
    return n;
}

static void omission_sentence(const table *t, int64_t j, char *to, size_t size)
{
    const column *c = &t->columns[j];
    char label[96], number[24];
    int64_t first = 0;
    snprintf(number, sizeof number, "%lld", (long long)j);
    if (c->left_out == COLUMN_ROW_NUMBERS)
        snprintf(to, size, "column %s numbers the rows and is left out; to keep it, name all inputs with --inputs",
                 label_of(t, j, label));
    if (c->left_out == COLUMN_ROW_LABELS)
        snprintf(to, size,
                 "column %s is left out: it names the rows, each by another whole number; to keep it, name all inputs "
                 "with --inputs",
                 label_of(t, j, label));
    if (c->left_out == COLUMN_EMPTY)
        snprintf(to, size, "column %s is left out: all its cells are empty or missing", label_of(t, j, label));
    if (c->left_out != COLUMN_ALL_NEW) return;
    int64_t texts = texts_of(t, j, &first);
    snprintf(to, size,
             "column %s is left out: %lld of its %lld texts differ ('%.40s' in row %lld); to keep it, use --categories "
             "%.80s",
             label_of(t, j, label), (long long)c->levels, (long long)texts, c->level[0], (long long)first + 1,
             c->name ? c->name : number);
}

static void doubt_sentence(const table *t, int64_t j, column_doubt doubt, bool target, char *to, size_t size)
{
    const column *c = &t->columns[j];
    const char *fate = target ? "taken for text" : c->left_out ? "left out" : "read as categories";
    char label[96];
    if (doubt == DOUBT_DAY_OR_MONTH)
        snprintf(to, size,
                 "column %s looks like dates but is %s: '%.40s' does not say which is the day and which the month, and "
                 "no other cell does; write it as 2024-03-01, or use --dates dmy or --dates mdy",
                 label_of(t, j, label), fate, c->level[0]);
    if (doubt == DOUBT_COMMA)
        snprintf(to, size,
                 "column %s is %s: the comma of '%.40s' may be a decimal sign or a thousands separator; use --decimal "
                 ", or --decimal .",
                 label_of(t, j, label), fate, c->level[0]);
    if (doubt == DOUBT_UNITS)
        snprintf(to, size,
                 "column %s is %s: '%.40s' and '%.40s' have different units; write all its numbers in one unit, or "
                 "without",
                 label_of(t, j, label), fate, c->level[0], c->level[recognise_other_unit(c)]);
}

/* " is 14.5", for a cell of which this is not said by the meaning of its notation. */
static const char *what_it_is(const table *t, int64_t j, char *to, size_t size)
{
    const column *c = &t->columns[j];
    double x;
    *to = 0;
    bool plain = c->notation == NOTATION_TIME || c->notation == NOTATION_GROUPED || *c->shown == '(';
    if (plain && notation_read(c->notation, NULL, c->shown, c->shown + strlen(c->shown), &x))
        snprintf(to, size, " is %.10g", x);
    return to;
}

static void notation_sentence(const table *t, int64_t j, char *to, size_t size)
{
    const column *c = &t->columns[j];
    char label[96], is[40];
    const char *meaning = *c->shown == '(' ? "is read with parentheses as minus signs" : notation_meaning(c->notation);
    snprintf(to, size, "column %s %s ('%.40s' in row %lld%s)", label_of(t, j, label), meaning, c->shown,
             (long long)c->shown_row + 1, what_it_is(t, j, is, sizeof is));
}

static void oddity_sentence(const table *t, int64_t j, const oddity *o, char *to, size_t size)
{
    char label[96];
    if (o->times > 1)
        snprintf(to, size,
                 "column %s: %.10g occurs %lld times (first in row %lld) and lies %.4g standard deviations from the "
                 "rest; if it stands for a missing value, use --na %.10g",
                 label_of(t, j, label), o->value, (long long)o->times, (long long)o->row + 1, o->sds, o->value);
    else
        snprintf(to, size,
                 "column %s, row %lld: %.10g lies %.2g standard deviations from all other values; correct it, or drop "
                 "the row",
                 label_of(t, j, label), (long long)o->row + 1, o->value, o->sds);
}

void columns_tell(const table *t, const settings *s, const fit_columns *c, const oddity *odd, bool targets,
                  column_teller tell, void *ctx)
{
    char text[400];
    bool comma = settings_is(s, SET_DECIMAL, ",");
    for (int64_t j = 0; j < t->cols; j++) {
        const column *col = &t->columns[j];
        bool mine = !c->category[j] && !c->dropped[j], target = is_target(c, j);
        column_doubt doubt = mine && !target ? recognise_doubt(col, columns_dates(s)) : DOUBT_NONE;
        if (targets && target && recognise_doubt(col, columns_dates(s)) == DOUBT_COMMA) doubt = DOUBT_COMMA;
        text[0] = 0;
        if (doubt != DOUBT_NONE)
            doubt_sentence(t, j, doubt, target, text, sizeof text);
        else if (mine && col->left_out)
            omission_sentence(t, j, text, sizeof text);
        else if (mine && col->shown && !(comma && col->notation == NOTATION_COMMA))
            notation_sentence(t, j, text, sizeof text);
        if (*text) tell(ctx, j, doubt != DOUBT_NONE, text);
        if (odd[j].times == 0) continue;
        oddity_sentence(t, j, &odd[j], text, sizeof text);
        tell(ctx, j, true, text);
    }
}

/* --------------------------------------------------------------------------------------------- a fit */

/* What may be wrong comes first, so that a long list does not hide it. */
typedef struct column_log {
    const settings *s;
    bool doubtful;
    int told;
} column_log;

static void log_note(void *ctx, int64_t j, bool doubtful, const char *sentence)
{
    column_log *l = ctx;
    (void)j;
    if (doubtful == l->doubtful && l->told++ < NOTES_MOST) settings_log(l->s, ANYGP_NOTE, "%s", sentence);
}

anygp_status gp_settle_columns(table *t, row_source *file, const settings *s, anygp_error *e)
{
    fit_columns c = {0};
    column_log told = {.s = s, .doubtful = true};
    oddity *odd = mem_zeroed(t->cols, sizeof *odd);
    anygp_status status = odd ? ANYGP_OK : fail_memory(e, "the columns", (double)t->cols * sizeof *odd);
    if (!ANYGP_FAILED(status)) status = fit_columns_find(t, s, &c, e);
    if (!ANYGP_FAILED(status)) status = columns_settle(t, file, s, &c, e);
    if (!ANYGP_FAILED(status)) status = columns_odd(t, file, &c, odd, e);
    if (!ANYGP_FAILED(status)) columns_tell(t, s, &c, odd, false, log_note, &told);
    told.doubtful = false;
    if (!ANYGP_FAILED(status)) columns_tell(t, s, &c, odd, false, log_note, &told);
    if (told.told > NOTES_MOST)
        settings_log(s, ANYGP_NOTE, "%d more notes of this kind; anygp look shows them all", told.told - NOTES_MOST);
    fit_columns_clear(&c);
    free(odd);
    return status;
}
