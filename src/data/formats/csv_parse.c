/* Parsing a piece: the hot loop of reading text.  A number cell that is written plainly costs number_scan() and two
   looks into the class table; everything else (blanks inside, quotes, signs for missing values) goes the slow way. */
#include "data/formats/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/number.h"
#include "data/text/utf8.h"

enum { LEVELS_MOST = 1000000 };

static const char *fault(csv_piece *w, csv_fault_kind kind, const char *begin, const char *end, int64_t col)
{
    w->fault = (csv_fault){.kind = kind, .begin = begin, .end = end, .row = w->rows, .col = col};
    return NULL;
}

static const char *wrong_quotes(csv_piece *w, const char *p, int64_t col)
{
    return fault(w, FAULT_QUOTE, p, w->end - p > 40 ? p + 40 : w->end, col);
}

/* A number cell that is not written plainly. */
static const char *awkward_number(const csv_layout *l, csv_piece *w, const char *p, int64_t col, double *x)
{
    csv_cell c;
    const char *stop = csv_cell_at(&l->dialect, p, w->end, &c);
    if (!stop) return wrong_quotes(w, p, col);
    cell_kind kind = cell_classify(c.begin, c.end, x);
    if (kind == CELL_NUMBER || kind == CELL_MISSING) return stop;
    *x = NAN;
    if (csv_is_missing(&l->dialect, &c)) return stop;
    return fault(w, kind == CELL_TEXT ? FAULT_NOT_NUMBER : FAULT_INFINITE, c.begin, c.end, col);
}

static const char *number_cell(const csv_layout *l, csv_piece *w, const char *p, int64_t col, double *x)
{
    const unsigned char *class_of = l->dialect.class_of;
    while (class_of[(unsigned char)*p] & CLASS_BLANK) p++;
    const char *q = number_scan(p, w->end, x);
    if (!q) return awkward_number(l, w, p, col, x);
    while (class_of[(unsigned char)*q] & CLASS_BLANK) q++;
    bool plain = (class_of[(unsigned char)*q] & (CLASS_DELIMITER | CLASS_END)) && isfinite(*x);
    return plain ? q : awkward_number(l, w, p, col, x);
}

static bool note_unknown(csv_piece *w, const csv_cell *c, int64_t col, double *out)
{
    if (w->unknowns == w->room) {
        int64_t room = w->room ? 2 * w->room : 64;
        csv_unknown *grown = realloc(w->unknown, (size_t)room * sizeof *grown);
        if (!grown) return false;
        w->unknown = grown;
        w->room = room;
    }
    w->unknown[w->unknowns++] = (csv_unknown){.cell = *c, .col = col, .out = out};
    return true;
}

static const char *text_cell(const csv_layout *l, csv_piece *w, const char *p, int64_t col, double *x)
{
    csv_cell c;
    const char *stop = csv_cell_at(&l->dialect, p, w->end, &c);
    if (!stop) return wrong_quotes(w, p, col);
    *x = NAN;
    if (csv_is_missing(&l->dialect, &c)) return stop;
    int64_t k = c.escaped ? -1 : name_find(&l->categories[col], c.begin, (size_t)(c.end - c.begin));
    if (k >= 0)
        *x = (double)k;
    else if (!note_unknown(w, &c, col, x))
        return fault(w, FAULT_MEMORY, c.begin, c.end, col);
    return stop;
}

/* A number of a column that has a notation, or nothing at all. */
static const char *noted_cell(const csv_layout *l, csv_piece *w, const char *p, int64_t col, double *x)
{
    csv_cell c;
    const char *stop = csv_cell_at(&l->dialect, p, w->end, &c);
    if (!stop) return wrong_quotes(w, p, col);
    *x = NAN;
    const column *in = &l->columns[col];
    bool known = in->kind == COLUMN_UNREAD || csv_is_missing(&l->dialect, &c) ||
                 notation_read(in->notation, *in->unit ? in->unit : NULL, c.begin, c.end, x);
    return known ? stop : fault(w, FAULT_NOT_NUMBER, c.begin, c.end, col);
}

static const char *other_cell(const csv_layout *l, csv_piece *w, const char *p, int64_t col, double *x)
{
    return l->columns[col].kind == COLUMN_TEXT ? text_cell(l, w, p, col, x) : noted_cell(l, w, p, col, x);
}

static const char *ragged(const csv_layout *l, csv_piece *w, const char *start)
{
    int64_t found = csv_count_cells(&l->dialect, start, w->end);
    if (found < 0) return wrong_quotes(w, start, 0);
    fault(w, FAULT_RAGGED, start, start, 0);
    w->fault.found = found;
    return NULL;
}

/* One record into out[cols]; returns its line end, or NULL with w->fault set. */
static const char *parse_record(const csv_layout *l, csv_piece *w, const char *start, double *out)
{
    const char *p = start;
    for (int64_t j = 0;;) {
        p = l->columns[j].kind == COLUMN_NUMBER && l->columns[j].notation == NOTATION_PLAIN
                ? number_cell(l, w, p, j, out + j)
                : other_cell(l, w, p, j, out + j);
        if (!p) return NULL;
        const char *next = csv_next_cell(&l->dialect, p);
        if (++j == l->cols) return next ? ragged(l, w, start) : p;
        if (!next) return ragged(l, w, start);
        p = next;
    }
}

/* The damaged record at p as a row of missing cells; returns its line end.  Texts noted on the way are forgotten. */
static const char *forgive_record(const csv_layout *l, csv_piece *w, const char *p, int64_t unknowns)
{
    const char *stop = csv_record_end(&l->dialect, p, w->end);
    if (w->forgiven++ == 0) w->forgiven1 = w->fault;
    w->fault.kind = FAULT_NONE;
    w->unknowns = unknowns;
    for (int64_t j = 0; j < l->cols; j++) w->out[w->rows * l->cols + j] = NAN;
    return stop ? stop : csv_line_end(&l->dialect, p);
}

void csv_parse(const csv_layout *l, csv_piece *w)
{
    const csv_dialect *d = &l->dialect;
    const char *p = w->begin;
    while (p < w->end) {
        p = csv_line_start(d, p);
        if (d->comment && *p == d->comment) p = csv_line_end(d, p);
        if (*p != d->eol) {
            const char *start = p;
            int64_t unknowns = w->unknowns;
            p = parse_record(l, w, p, w->out + w->rows * l->cols);
            if (!p && (!l->forgive || w->fault.kind == FAULT_MEMORY)) return;
            p = csv_line_end(d, p ? p : forgive_record(l, w, start, unknowns));
            w->rows++;
        }
        p++;
    }
}

/* ---------------------------------------------------------------------------------------- categories */

/* The number of a text, which is added if it is new; -1 with w->fault set. */
static int64_t category(csv_layout *l, csv_piece *w, const csv_unknown *u, char *text)
{
    name_table *t = &l->categories[u->col];
    column *col = &l->columns[u->col];
    size_t n = utf8_from_any(text, csv_cell_text(&u->cell, text));
    int64_t k = name_find(t, text, n);
    if (k >= 0) return k;
    csv_fault_kind kind = FAULT_NONE;
    if (memchr(text, 0, n))
        kind = FAULT_BINARY;
    else if (t->count >= LEVELS_MOST)
        kind = FAULT_LEVELS;
    else if ((k = name_add(t, text, n)) < 0)
        kind = FAULT_MEMORY;
    if (kind != FAULT_NONE) {
        fault(w, kind, u->cell.begin, u->cell.end, u->col);
        w->fault.row = (u->out - w->out) / l->cols;
        return -1;
    }
    col->level = t->names;
    col->levels = t->count;
    return k;
}

void csv_settle(csv_layout *l, csv_piece *w)
{
    size_t longest = 1;
    for (int64_t i = 0; i < w->unknowns; i++) {
        size_t n = (size_t)(w->unknown[i].cell.end - w->unknown[i].cell.begin);
        if (n > longest) longest = n;
    }
    char *text = w->unknowns ? malloc(2 * longest) : NULL; /* UTF-8 of Latin-1 is up to twice as long */
    if (w->unknowns && !text) fault(w, FAULT_MEMORY, w->begin, w->begin, w->unknown[0].col);
    for (int64_t i = 0; text && i < w->unknowns; i++) {
        int64_t k = category(l, w, &w->unknown[i], text);
        if (k < 0) break;
        *w->unknown[i].out = (double)k;
    }
    free(text);
}
