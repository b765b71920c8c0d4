/* What a CSV file looks like, from its first records. */
#include "data/formats/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/text/number.h"

enum { GUESS_RECORDS = 100, LOOK_RECORDS = 1000, LOOK_LEAST = 2, LOOK_BYTES = 1 << 20 };

void csv_dialect_set(csv_dialect *d, char delimiter, char eol)
{
    *d = (csv_dialect){.eol = eol, .delimiter = delimiter, .merge = delimiter == ' '};
    d->class_of[' '] = d->class_of['\t'] = d->merge ? CLASS_DELIMITER : CLASS_BLANK;
    d->class_of['\r'] = CLASS_BLANK;
    d->class_of[(unsigned char)delimiter] = CLASS_DELIMITER;
    d->class_of[(unsigned char)eol] = CLASS_END;
}

static bool is_blank_line(const csv_dialect *d, const char *p) { return *csv_line_start(d, p) == d->eol; }

/* How many of the first records have as many cells as the first, if that is more than one. */
static int64_t agreement(char delimiter, const char *p, const char *end, char eol)
{
    csv_dialect d;
    csv_dialect_set(&d, delimiter, eol);
    int64_t first = 0, score = 0;
    const char *stop;
    for (int i = 0; i < GUESS_RECORDS && p < end && (stop = csv_record_end(&d, p, end)); p = stop + 1) {
        if (is_blank_line(&d, p)) continue;
        int64_t cells = csv_count_cells(&d, p, end);
        if (i++ == 0) first = cells;
        score += cells == first;
    }
    return first > 1 ? score : 0;
}

char csv_dialect_guess(const char *p, const char *end, char eol, char wanted)
{
    static const char candidates[] = {
        '\t', ';', ',', ' '}; /* the first of several that fit equally well: "1, 2" is split at the comma */
    if (wanted && agreement(wanted, p, end, eol) > 0) return wanted;
    char best = ',';
    int64_t most = 0;
    for (size_t i = 0; i < sizeof candidates; i++) {
        int64_t score = agreement(candidates[i], p, end, eol);
        if (score > most) most = score, best = candidates[i];
    }
    return best;
}

/* --------------------------------------------------------------------------------- header and kinds */

typedef struct tally {
    int64_t numbers, texts; /* cells of the column, the first record apart */
    cell_kind first;
} tally;

static void tally_record(const csv_dialect *d, const char *p, const char *end, bool first, tally *t, int64_t cols)
{
    csv_cell c;
    double x;
    p = csv_line_start(d, p);
    for (int64_t j = 0; p && j < cols; j++) {
        if (!(p = csv_cell_at(d, p, end, &c))) return;
        cell_kind kind = cell_classify(c.begin, c.end, &x);
        if (first)
            t[j].first = kind;
        else if (kind == CELL_TEXT)
            t[j].texts++;
        else if (kind != CELL_MISSING)
            t[j].numbers++;
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

/* A text above numbers is a name.  If there are only texts below, a line of distinct texts is also taken for
   names. */
static bool looks_like_names(const csv_dialect *d, const char *p, const char *end, const tally *t, int64_t cols)
{
    int64_t texts = 0;
    for (int64_t j = 0; j < cols; j++) {
        if (t[j].first == CELL_TEXT && t[j].numbers > t[j].texts) return true;
        texts += t[j].first == CELL_TEXT;
    }
    return texts == cols && all_different(d, p, end);
}

static void settle_kinds(csv_sample *s, const tally *t)
{
    for (int64_t j = 0; j < s->cols; j++) {
        int64_t texts = t[j].texts + (!s->header && t[j].first == CELL_TEXT);
        int64_t numbers = t[j].numbers + (!s->header && (t[j].first == CELL_NUMBER || t[j].first == CELL_INFINITE));
        s->kinds[j] = texts > numbers ? COLUMN_TEXT : COLUMN_NUMBER;
    }
}

static anygp_status make_sample(csv_sample *s, tally **t, anygp_error *e)
{
    *t = mem_zeroed(s->cols, sizeof **t);
    s->kinds = mem_alloc(s->cols, sizeof *s->kinds);
    return *t && s->kinds ? ANYGP_OK : fail_memory(e, "the columns of a file", (double)s->cols * sizeof **t);
}

/* Skips blank lines, complete ones only. */
static const char *first_record(const csv_dialect *d, const char *p, const char *end)
{
    while (p < end && memchr(p, d->eol, (size_t)(end - p)) && is_blank_line(d, p)) p = csv_line_start(d, p) + 1;
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
    anygp_status status = make_sample(s, &t, e);
    while (!ANYGP_FAILED(status) && !enough(s, next - first) && next < end && (stop = csv_record_end(d, next, end))) {
        if (!is_blank_line(d, next)) tally_record(d, next, end, s->records++ == 0, t, s->cols);
        next = stop + 1;
    }
    if (!ANYGP_FAILED(status)) {
        s->header = header >= 0 ? header > 0 : looks_like_names(d, first, end, t, s->cols);
        s->bytes_per_row = (double)(next - first) / (double)s->records;
        settle_kinds(s, t);
    }
    free(t);
    return status;
}
