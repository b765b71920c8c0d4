/* What a CSV file looks like, from its first records. */
#include "data/formats/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/text/number.h"

enum { GUESS_RECORDS = 100, LOOK_RECORDS = 1000, LOOK_LEAST = 2, LOOK_BYTES = 1 << 20 };

void csv_dialect_set(csv_dialect *d, char delimiter, char eol, char comment)
{
    *d = (csv_dialect){.eol = eol, .delimiter = delimiter, .comment = comment, .merge = delimiter == ' '};
    d->class_of[' '] = d->class_of['\t'] = d->merge ? CLASS_DELIMITER : CLASS_BLANK;
    d->class_of['\r'] = CLASS_BLANK;
    d->class_of[(unsigned char)delimiter] = CLASS_DELIMITER;
    d->class_of[(unsigned char)eol] = CLASS_END;
}

/* How many of the first records have as many cells as the first, if that is more than one. */
static int64_t agreement(char delimiter, const char *p, const char *end, char eol, char comment)
{
    csv_dialect d;
    csv_dialect_set(&d, delimiter, eol, comment);
    int64_t first = 0, score = 0;
    const char *stop;
    for (int i = 0; i < GUESS_RECORDS && p < end && (stop = csv_record_end(&d, p, end)); p = stop + 1) {
        if (csv_no_record(&d, p)) continue;
        int64_t cells = csv_count_cells(&d, p, end);
        if (i++ == 0) first = cells;
        score += cells == first;
    }
    return first > 1 ? score : 0;
}

char csv_dialect_guess(const char *p, const char *end, char eol, char wanted, char comment)
{
    static const char candidates[] = {
        '\t', ';', '|', ',', ' '}; /* the first of several that fit equally well: "1, 2" is split at the comma */
    if (wanted && agreement(wanted, p, end, eol, comment) > 0) return wanted;
    char best = ',';
    int64_t most = 0;
    for (size_t i = 0; i < sizeof candidates; i++) {
        int64_t score = agreement(candidates[i], p, end, eol, comment);
        if (score > most) most = score, best = candidates[i];
    }
    return best;
}

/* --------------------------------------------------------------------------------- header and kinds */

/* The notations that are recognised by the cells alone, one by one. */
static const unsigned RECOGNISED = NOTATION_BIT(NOTATION_DATE) | NOTATION_BIT(NOTATION_MONTH) |
                                   NOTATION_BIT(NOTATION_TIME) | NOTATIONS_POINT | NOTATIONS_COMMA | NOTATIONS_UNIT;

/* What is known of a column. */
typedef struct tally {
    csv_guess rest;  /* of the records after the first */
    cell_kind first; /* in the first */
    csv_cell cell;
} tally;

static bool has(const csv_cell *c, char mark) { return memchr(c->begin, mark, (size_t)(c->end - c->begin)) != NULL; }

/* Of the notations with a unit, only those with the column's, which is that of its first such cell. */
static unsigned with_unit(csv_guess *g, unsigned fits, const csv_cell *c)
{
    char unit[UNIT_ROOM];
    if (!(fits & NOTATIONS_UNIT) || !notation_unit(c->begin, c->end, unit)) return fits & ~NOTATIONS_UNIT;
    if (!*g->unit) memcpy(g->unit, unit, sizeof unit);
    return strcmp(g->unit, unit) ? fits & ~NOTATIONS_UNIT : fits;
}

/* What is read as a negative number is the cell to show. */
static bool shows_more(const csv_guess *g, const csv_cell *c, int64_t row)
{
    bool has = c->begin<c->end && * c->begin == '(', had = g->texts> 0 && *g->first.begin == '(';
    return g->texts == 0 || (has == had ? row < g->first_row : has);
}

static void add_text(csv_guess *g, const csv_cell *c, int64_t row)
{
    if (shows_more(g, c, row)) g->first = *c, g->first_row = row;
    g->texts++;
    unsigned fits = with_unit(g, notations_of(RECOGNISED, c->begin, c->end), c);
    for (int n = 0; n < NOTATIONS; n++) g->fits[n] += (fits & NOTATION_BIT(n)) != 0;
    g->commas = g->commas || has(c, ',');
}

static void add_cell(csv_guess *g, const csv_cell *c, cell_kind kind, int64_t row)
{
    if (kind == CELL_TEXT)
        add_text(g, c, row);
    else if (kind != CELL_MISSING)
        g->numbers++, g->points = g->points || has(c, '.');
}

/* first: the column of the record's first cell. */
static void tally_record(const csv_dialect *d, const char *p, const char *end, int64_t record, int64_t first, tally *t,
                         int64_t cols)
{
    csv_cell c;
    double x;
    p = csv_line_start(d, p);
    for (int64_t j = first; p && j < cols; j++) {
        if (!(p = csv_cell_at(d, p, end, &c))) return;
        cell_kind kind = csv_is_missing(d, &c) ? CELL_MISSING : cell_classify(c.begin, c.end, &x);
        if (record == 0)
            t[j].first = kind, t[j].cell = c;
        else
            add_cell(&t[j].rest, &c, kind, record);
        p = csv_next_cell(d, p);
    }
}

/* All cells of the record at p are there and differ. */
static bool all_different(const csv_dialect *d, const char *p, const char *end)
{
    name_table seen = {0};
    csv_cell c;
    bool different = true;
    for (p = csv_line_start(d, p); p && different; p = csv_next_cell(d, p)) {
        if (!(p = csv_cell_at(d, p, end, &c))) break;
        size_t n = (size_t)(c.end - c.begin);
        different = n > 0 && name_find(&seen, c.begin, n) < 0 && name_add(&seen, c.begin, n) >= 0;
    }
    name_table_free(&seen);
    return different;
}

/* A date or an amount is not a name; 700 nm may be one. */
static bool is_name(const tally *t)
{
    return t->first == CELL_TEXT && !notations_of(RECOGNISED & ~NOTATIONS_UNIT, t->cell.begin, t->cell.end);
}

/* A text above numbers is a name.  If there are only texts below, a line of distinct texts is also taken for
   names. */
static bool looks_like_names(const csv_dialect *d, const char *p, const char *end, const tally *t, int64_t cols)
{
    int64_t texts = 0;
    for (int64_t j = 0; j < cols; j++) {
        if (t[j].first == CELL_TEXT && t[j].rest.numbers > t[j].rest.texts) return true;
        texts += is_name(&t[j]);
    }
    return texts == cols && all_different(d, p, end);
}

static void settle_kinds(csv_sample *s, const tally *t)
{
    for (int64_t j = 0; j < s->cols; j++) {
        csv_guess *g = &s->columns[j];
        *g = t[j].rest;
        if (s->header)
            g->first_row--;
        else
            add_cell(g, &t[j].cell, t[j].first, 0);
        g->kind = g->texts > g->numbers ? COLUMN_TEXT : COLUMN_NUMBER;
    }
}

/* More than half of the texts are of it. */
static bool mostly(const csv_guess *g, unsigned allowed, int n)
{
    if (notation_has_unit((cell_notation)n) && g->fits[n] <= g->numbers) return false; /* 3 in grams, and one 2 kg? */
    return (allowed & NOTATION_BIT(n)) && 2 * g->fits[n] > g->texts;
}

cell_notation csv_choose_notation(const csv_guess *g, unsigned allowed, char delimiter, char decimal, char doubtful)
{
    if (g->texts == 0) return NOTATION_PLAIN;
    if (decimal == '.' || (!decimal && g->points)) allowed &= ~NOTATIONS_COMMA;
    if (decimal == ',') allowed &= ~NOTATIONS_POINT;
    if (g->numbers == 0 && mostly(g, allowed, NOTATION_DATE)) return NOTATION_DATE;
    if (g->numbers == 0 && mostly(g, allowed, NOTATION_MONTH)) return NOTATION_MONTH;
    if (g->numbers == 0 && mostly(g, allowed, NOTATION_TIME)) return NOTATION_TIME;
    for (int n = NOTATION_GROUPED; n <= NOTATION_UNIT; n++) {
        int with_comma = notation_with_comma((cell_notation)n);
        bool point = mostly(g, allowed, n), comma = mostly(g, allowed, with_comma);
        /* 1,234 is either; where commas separate the cells, one inside a cell is hardly a decimal sign */
        bool either = point && comma && g->commas && g->fits[n] == g->fits[with_comma];
        if (either && !decimal && delimiter != ',') {
            if (doubtful == ',') return (cell_notation)with_comma;
            if (doubtful == 0) return NOTATION_PLAIN;
        }
        if (point && (!comma || g->fits[n] >= g->fits[with_comma])) return (cell_notation)n;
        if (comma) return (cell_notation)with_comma;
    }
    return NOTATION_PLAIN;
}

char csv_decimal_of(const csv_sample *s, char delimiter)
{
    bool comma = false, point = false;
    for (int64_t j = 0; j < s->cols; j++) {
        const csv_guess *g = &s->columns[j];
        cell_notation n = csv_choose_notation(g, NOTATIONS_POINT | NOTATIONS_COMMA | NOTATIONS_UNIT, delimiter, 0, 0);
        comma |= n >= NOTATION_COMMA;
        point |=
            g->points || (n >= NOTATION_GROUPED && n < NOTATION_COMMA && g->fits[n] > g->fits[notation_with_comma(n)]);
    }
    return comma == point ? 0 : comma ? ',' : '.';
}

/* ------------------------------------------------------------------------ rows with one cell more than names */

enum { LABELS_LEAST = 3 }; /* rows that show that their first cells are labels */

/* What the first and the last cells of the records below the names are. */
typedef struct outer_cells {
    int64_t records;
    bool all;                         /* as many cells as wanted in each, */
    bool empty_last, labels, numbers; /* the last all empty; the first all quoted or texts; the first 1, 2, 3 ... */
} outer_cells;

static void see_outer(const csv_dialect *d, const char *p, const char *end, int64_t wanted, outer_cells *o)
{
    csv_cell c = {0};
    double x;
    int64_t cells = 0;
    p = csv_line_start(d, p);
    o->records++;
    for (; p && (p = csv_cell_at(d, p, end, &c)); p = csv_next_cell(d, p)) {
        cell_kind kind = cell_classify(c.begin, c.end, &x);
        if (cells == 0) o->labels &= kind == CELL_TEXT || (c.quoted && kind != CELL_MISSING);
        if (cells == 0) o->numbers &= kind == CELL_NUMBER && x == (double)o->records;
        cells++;
    }
    o->all &= cells == wanted;
    o->empty_last &= c.begin == c.end && !c.quoted;
}

/* The first record consists of distinct names, and the others have one cell more: R's write.table has no name for the labels of
   the rows, and some programs end rows, but not names, with a delimiter. */
static bool has_cell_more(const csv_dialect *d, const char *first, const char *end, int64_t cols, bool *labels)
{
    outer_cells o = {.all = true, .empty_last = true, .labels = true, .numbers = true};
    const char *stop, *p = first;
    csv_cell c;
    double x;
    for (const char *q = csv_line_start(d, p); q; q = csv_next_cell(d, q))
        if (!(q = csv_cell_at(d, q, end, &c)) || cell_classify(c.begin, c.end, &x) != CELL_TEXT) return false;
    if (cols < 2 || !all_different(d, first, end)) return false;
    for (p = csv_record_end(d, first, end) + 1; o.records < GUESS_RECORDS && p < end; p = stop + 1) {
        if (!(stop = csv_record_end(d, p, end))) break;
        if (!csv_no_record(d, p)) see_outer(d, p, end, cols + 1, &o);
    }
    *labels = !o.empty_last;
    return o.all && o.records > 0 && (o.empty_last || (o.records >= LABELS_LEAST && (o.labels || o.numbers)));
}

static anygp_status make_sample(csv_sample *s, tally **t, anygp_error *e)
{
    *t = mem_zeroed(s->cols, sizeof **t);
    s->columns = mem_alloc(s->cols, sizeof *s->columns);
    return *t && s->columns ? ANYGP_OK : fail_memory(e, "the columns of a file", (double)s->cols * sizeof **t);
}

/* Skips blank lines, complete ones only. */
static const char *first_record(const csv_dialect *d, const char *p, const char *end)
{
    while (p < end && memchr(p, d->eol, (size_t)(end - p)) && csv_no_record(d, p)) p = csv_line_end(d, p) + 1;
    return p;
}

static bool enough(const csv_sample *s, int64_t bytes)
{
    return s->records == LOOK_RECORDS || (s->records >= LOOK_LEAST && bytes >= LOOK_BYTES);
}

anygp_status csv_look(const csv_dialect *d, const char *p, const char *end, int header, csv_sample *s, anygp_error *e)
{
    tally *t = NULL;
    const char *stop, *first = first_record(d, p, end), *next = first;
    *s = (csv_sample){0};
    if (first == end || !csv_record_end(d, first, end)) return ANYGP_OK;
    s->cols = csv_count_cells(d, first, end);
    s->records = s->cols < 0;
    if (s->cols < 0) return ANYGP_OK;
    bool labels = false, more = header != 0 && has_cell_more(d, first, end, s->cols, &labels);
    s->cols += more, s->unnamed = labels && more;
    anygp_status status = make_sample(s, &t, e);
    while (!ANYGP_FAILED(status) && !enough(s, next - first) && next < end && (stop = csv_record_end(d, next, end))) {
        if (!csv_no_record(d, next)) {
            tally_record(d, next, end, s->records, s->records == 0 ? s->unnamed : 0, t, s->cols);
            s->records++;
        }
        next = stop + 1;
    }
    if (!ANYGP_FAILED(status)) {
        s->header = header >= 0 ? header > 0 : more || looks_like_names(d, first, end, t, s->cols);
        s->bytes_per_row = (double)(next - first) / (double)s->records;
        settle_kinds(s, t);
    }
    free(t);
    return status;
}
