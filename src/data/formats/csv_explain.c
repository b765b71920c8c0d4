/* The messages for mistakes in a CSV file. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/formats/csv.h"

enum { EXCERPT = 40, NA_MOST = 20, TOP_LINES = 20 };

/* The cell as it may be shown: short, one line, printable. */
static const char *excerpt(const char *begin, const char *end, char *to)
{
    size_t n = 0;
    for (; begin < end && n < EXCERPT; begin++) to[n++] = (unsigned char)*begin < ' ' || *begin == 127 ? '?' : *begin;
    if (begin < end) {
        while (n > 0 && ((unsigned char)to[n - 1] & 0x80)) n--; /* never half a character */
        memcpy(to + n, "...", 3);
        n += 3;
    }
    to[n] = 0;
    return to;
}

static void describe_column(const column *columns, int64_t col, char *to, size_t size)
{
    if (columns[col].name)
        snprintf(to, size, "'%.60s'", columns[col].name);
    else
        snprintf(to, size, "%lld", (long long)col);
}

/* " (--na unknown does so)" where the cell can be named so, else "". */
static const char *na_option(const char *cell, char to[EXCERPT + 40])
{
    *to = 0;
    if (*cell && !strpbrk(cell, " ,'\"$`\\*?!&|;<>()[]{}#~") && strlen(cell) <= NA_MOST)
        snprintf(to, EXCERPT + 40, " (or use --na %s)", cell);
    return to;
}

static const char preamble[] = " (where lines of text precede the table, use --skip or --comment)";

/* Such a line was taken for the names of the columns, or for the first row: it looks like a comment, it names one column of
   several, or names are in the row below it. */
static bool names_are_preamble(csv_place at, const column *columns, int64_t cols, const char *cell)
{
    const char *first = columns[0].name;
    bool comment = first && (*first == '#' || *first == '%'), title = first && cols > 2;
    for (int64_t j = 1; j < cols; j++) title = title && !columns[j].name;
    bool early = at.row == 1 || (!first && at.row == 2) || (title && at.line <= TOP_LINES);
    return comment || (early && (isalpha((unsigned char)*cell) || *cell == '_'));
}

anygp_status csv_explain(const csv_fault *f, csv_place at, const column *columns, int64_t cols, anygp_error *e)
{
    char shown[EXCERPT + 8], name[80], place[300], na[EXCERPT + 40];
    describe_column(columns, f->col, name, sizeof name);
    excerpt(f->begin, f->end, shown);
    snprintf(place, sizeof place, "%.200s, line %lld (data row %lld)", at.file, (long long)at.line, (long long)at.row);
    switch (f->kind) {
    case FAULT_RAGGED:
        return fail_with(e, ANYGP_ERR_DATA,
                         "%s: %lld cells where %lld are expected; every row must have the same number%s", place,
                         (long long)f->found, (long long)cols, at.line <= TOP_LINES ? preamble : "");
    case FAULT_NOT_NUMBER: {
        const column *c = &columns[f->col];
        bool above = !c->notation && names_are_preamble(at, columns, cols, shown);
        return fail_with(e, ANYGP_ERR_DATA,
                         "%s, column %s: '%s' is not %s%s%s%s%s; correct it, or leave the cell empty if it is "
                         "missing%s%s",
                         place, name, shown, notation_noun(c->notation), *c->unit ? " (" : "", c->unit,
                         *c->unit ? ")" : "", above ? preamble : "", above ? "" : na_option(shown, na),
                         c->notation ? ", or read the column as text with --categories" : "");
    }
    case FAULT_INFINITE:
        return fail_with(e, ANYGP_ERR_DATA,
                         "%s, column %s: '%s' is not a finite number; correct it, or leave the cell empty%s", place,
                         name, shown, na_option(shown, na));
    case FAULT_QUOTE:
        return fail_with(e, ANYGP_ERR_DATA, "%s, column %s: the quote is not closed, or text follows it: %s", place,
                         name, shown);
    case FAULT_BINARY:
        return fail_with(e, ANYGP_ERR_DATA, "%s, column %s: a zero byte inside a text; the file is damaged or binary",
                         place, name);
    case FAULT_LEVELS:
        return fail_with(
            e, ANYGP_ERR_DATA,
            "%s, column %s: more than a million different texts; that is too many for categories, so leave "
            "the column out",
            place, name);
    case FAULT_MEMORY: return fail_memory(e, "the categories of a text column", 0);
    case FAULT_NONE: break;
    }
    return ANYGP_OK;
}
