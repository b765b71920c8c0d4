/* Cells and records of a CSV text.  A quote opens a quoted cell only where a cell begins; elsewhere it is a character
   like any other. */
#include "data/formats/csv.h"

#include <string.h>

#include "data/text/number.h"

static unsigned class_at(const csv_dialect *d, const char *p) { return d->class_of[(unsigned char)*p]; }

static const char *skip(const csv_dialect *d, const char *p, unsigned classes)
{
    while (class_at(d, p) & classes) p++;
    return p;
}

bool csv_is_missing(const csv_dialect *d, const csv_cell *c)
{
    return cell_is_missing(c->begin, c->end) || (d->na && cell_in_list(d->na, c->begin, c->end));
}

const char *csv_line_start(const csv_dialect *d, const char *p)
{
    return skip(d, p, d->merge ? CLASS_BLANK | CLASS_DELIMITER : CLASS_BLANK);
}

const char *csv_line_end(const csv_dialect *d, const char *p)
{
    while (*p != d->eol) p++;
    return p;
}

bool csv_no_record(const csv_dialect *d, const char *p)
{
    p = csv_line_start(d, p);
    return *p == d->eol || (d->comment && *p == d->comment);
}

/* The quote that closes the cell begun by the quote at p; NULL if none does. */
static const char *closing_quote(const char *p, const char *end, bool *escaped)
{
    *escaped = false;
    while ((p = memchr(p + 1, '"', (size_t)(end - p - 1)))) {
        if (p + 1 == end || p[1] != '"') return p;
        *escaped = true;
        if (++p + 1 == end) return NULL;
    }
    return NULL;
}

static const char *quoted_cell(const csv_dialect *d, const char *p, const char *end, csv_cell *c)
{
    const char *close = closing_quote(p, end, &c->escaped);
    if (!close || close + 1 == end) return NULL;
    c->begin = p + 1;
    c->end = close;
    c->quoted = true;
    p = skip(d, close + 1, CLASS_BLANK);
    return class_at(d, p) & (CLASS_DELIMITER | CLASS_END) ? p : NULL;
}

const char *csv_cell_at(const csv_dialect *d, const char *p, const char *end, csv_cell *c)
{
    p = skip(d, p, CLASS_BLANK);
    if (*p == '"') return quoted_cell(d, p, end, c);
    const char *last = p;
    c->begin = p;
    for (; !(class_at(d, p) & (CLASS_DELIMITER | CLASS_END)); p++)
        if (!(class_at(d, p) & CLASS_BLANK)) last = p + 1;
    c->end = last;
    c->quoted = c->escaped = false;
    return p;
}

const char *csv_next_cell(const csv_dialect *d, const char *p)
{
    if (class_at(d, p) & CLASS_END) return NULL;
    if (!d->merge) return p + 1;
    p = skip(d, p, CLASS_BLANK | CLASS_DELIMITER);
    return class_at(d, p) & CLASS_END ? NULL : p;
}

const char *csv_record_end(const csv_dialect *d, const char *p, const char *end)
{
    bool start = true, escaped;
    if (d->comment && p < end && memchr(p, d->eol, (size_t)(end - p)) && csv_no_record(d, p)) return csv_line_end(d, p);
    for (; p < end; p++) {
        unsigned c = class_at(d, p);
        if (c & CLASS_END) return p;
        if (start && *p == '"' && !(p = closing_quote(p, end, &escaped))) return NULL;
        start = (c & CLASS_DELIMITER) || (start && (c & CLASS_BLANK));
    }
    return NULL;
}

int64_t csv_count_cells(const csv_dialect *d, const char *p, const char *end)
{
    csv_cell c;
    int64_t n = 0;
    for (p = csv_line_start(d, p); p; p = csv_next_cell(d, p), n++)
        if (!(p = csv_cell_at(d, p, end, &c))) return -1;
    return n;
}

size_t csv_cell_text(const csv_cell *c, char *to)
{
    size_t n = 0;
    for (const char *p = c->begin; p < c->end; p++) {
        to[n++] = *p;
        if (c->escaped && *p == '"') p++;
    }
    return n;
}
