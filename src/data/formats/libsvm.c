/* LIBSVM (svmlight): lines of   label index:value index:value ...   with ascending indices from 1, entries not named
   being zero; '#' begins a comment and qid:... is skipped.  Rows come out dense, inputs first, label last.
   The width is known only after a first pass over the file, which also counts the rows and finds every mistake. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/formats/format.h"
#include "data/text/number.h"
#include "data/text/text_buffer.h"

enum { WIDTH_MOST = 1 << 20, EXCERPT = 40 };

typedef struct libsvm_state {
    text_buffer text;
    int64_t width; /* inputs; found by the first pass */
} libsvm_state;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_blank(*p)) p++;
    return p;
}

static const char *token_end(const char *p, const char *end)
{
    while (p < end && !is_blank(*p)) p++;
    return p;
}

/* ------------------------------------------------------------------------------------------- one line */

typedef struct libsvm_line {
    const char *wrong, *wrong_end; /* the token at fault, NULL if none */
    const char *why;
    bool blank;
    int64_t last; /* the highest index */
    double label;
} libsvm_line;

static void refuse(libsvm_line *l, const char *p, const char *end, const char *why)
{
    l->wrong = p;
    l->wrong_end = end;
    l->why = why;
}

static bool scan_value(libsvm_line *l, const char *p, const char *end, double *x)
{
    const char *stop = number_scan(p, end, x);
    if (stop == end && isfinite(*x)) return true;
    cell_kind kind = cell_classify(p, end, x);
    if (kind == CELL_MISSING && p < end) return true;
    refuse(l, p, end, kind == CELL_INFINITE ? "is not a finite number" : "is not a number");
    return false;
}

static const char *scan_index(const char *p, const char *end, int64_t *index)
{
    *index = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        if (*index <= WIDTH_MOST) *index = *index * 10 + (*p - '0');
    return p;
}

static void scan_entry(libsvm_line *l, const char *p, const char *end, double *row)
{
    int64_t index;
    double x;
    if (end - p > 4 && !memcmp(p, "qid:", 4)) return;
    const char *colon = scan_index(p, end, &index);
    if (colon == p || colon == end || *colon != ':')
        refuse(l, p, end, "is not of the form index:value");
    else if (index < 1)
        refuse(l, p, end, "has the index 0, but indices begin at 1");
    else if (index > WIDTH_MOST)
        refuse(l, p, end, "has an index above 1048576, too many for dense inputs");
    else if (index <= l->last)
        refuse(l, p, end, "has an index that is not above the one before it");
    else if (scan_value(l, colon + 1, end, &x)) {
        l->last = index;
        if (row) row[index - 1] = x;
    }
}

/* The line p .. end-1; entries go to `row` (zero before) if it is not NULL. */
static libsvm_line scan_line(const char *p, const char *end, double *row)
{
    libsvm_line l = {0};
    const char *comment = memchr(p, '#', (size_t)(end - p)), *stop;
    if (comment) end = comment;
    p = skip_blanks(p, end);
    l.blank = p == end;
    if (l.blank) return l;
    stop = token_end(p, end);
    if (!scan_value(&l, p, stop, &l.label)) return l;
    for (p = skip_blanks(stop, end); p < end && !l.wrong; p = skip_blanks(stop, end)) {
        stop = token_end(p, end);
        scan_entry(&l, p, stop, row);
    }
    return l;
}

/* ------------------------------------------------------------------------------------------ the lines */

/* The next line, its end in *end; NULL at the end of the file. */
static anygp_status next_line(text_buffer *b, const char **p, const char **end, anygp_error *e)
{
    for (;;) {
        *p = b->end > b->begin ? b->bytes + b->begin : NULL;
        *end = *p ? memchr(*p, b->eol, b->end - b->begin) : NULL;
        if (*end) {
            text_advance(b, *end + 1, 1);
            return ANYGP_OK;
        }
        if (b->finished) return ANYGP_OK;
        TRY(text_fill(b, e));
    }
}

static anygp_status explain(const reader *r, const libsvm_line *l, anygp_error *e)
{
    const libsvm_state *s = r->state;
    int n = l->wrong_end - l->wrong < EXCERPT ? (int)(l->wrong_end - l->wrong) : EXCERPT;
    char shown[EXCERPT + 1] = "";
    for (int i = 0; i < n; i++) shown[i] = l->wrong[i] >= ' ' && l->wrong[i] < 127 ? l->wrong[i] : '?';
    return fail_with(e, ANYGP_ERR_DATA, "%.200s, line %lld: '%s' %s; LIBSVM lines are: label index:value ...",
                     input_name(r->in), (long long)s->text.line, shown, l->why);
}

static anygp_status first_pass(reader *r, anygp_error *e)
{
    libsvm_state *s = r->state;
    const char *p, *end;
    r->rows = 0;
    for (;;) {
        TRY(next_line(&s->text, &p, &end, e));
        if (!p) return text_rewind(&s->text, e);
        libsvm_line l = scan_line(p, end, NULL);
        if (l.wrong) return explain(r, &l, e);
        if (l.last > s->width) s->width = l.last;
        r->rows += !l.blank;
    }
}

static anygp_status libsvm_open(reader *r, const read_options *o, anygp_error *e)
{
    libsvm_state *s = r->state = calloc(1, sizeof *s);
    if (!s) return fail_memory(e, "a reader", sizeof *s);
    if (o->width > WIDTH_MOST)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "%lld inputs are too many for a LIBSVM file, which can have at most %d",
                         (long long)o->width, WIDTH_MOST);
    TRY(input_make_rewindable(r->in, e));
    s->text.in = r->in;
    s->width = o->width;
    TRY(first_pass(r, e));
    TRY(reader_make_columns(r, s->width + 1, e));
    r->target = s->width;
    r->likely_rows = r->rows;
    return ANYGP_OK;
}

static anygp_status libsvm_next(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e)
{
    libsvm_state *s = r->state;
    const char *p, *end;
    for (*got = 0; *got < max_rows;) {
        double *row = rows + *got * r->cols;
        TRY(next_line(&s->text, &p, &end, e));
        if (!p) break;
        memset(row, 0, (size_t)r->cols * sizeof *row);
        libsvm_line l = scan_line(p, end, row);
        if (l.wrong) return explain(r, &l, e);
        row[s->width] = l.label;
        *got += !l.blank;
    }
    return ANYGP_OK;
}

static void libsvm_close(reader *r)
{
    libsvm_state *s = r->state;
    if (!s) return;
    text_free(&s->text);
    free(s);
}

/* The first line with any entries decides: every word after the label must be one. */
static bool libsvm_sniff(const unsigned char *head, size_t n)
{
    const char *p = (const char *)head, *all = p + n, *end;
    for (; (end = memchr(p, '\n', (size_t)(all - p))); p = end + 1) {
        libsvm_line l = scan_line(p, end, NULL);
        if (l.wrong) return false;
        if (l.last > 0) return true;
    }
    return p < all && scan_line(p, all, NULL).last > 0;
}

static const char *const endings[] = {".libsvm", ".svm", ".svmlight", NULL};
const format format_libsvm = {"libsvm",     endings, libsvm_sniff, libsvm_open, libsvm_next,
                              libsvm_close, false,   NULL,         NULL,        NULL};
