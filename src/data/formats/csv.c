/* CSV and its relatives.

   The text is read in chunks of a few megabytes.  A chunk is cut at line ends into pieces, which the threads take one after
   the other: the thread that takes a piece counts its lines, so that the next piece knows where among the caller's rows it
   begins, and then parses it straight into place.  Blank lines leave gaps, which are closed afterwards.  If quotes occur,
   records are found by a serial scan first, since a line end may be inside a cell.
   Memory: the chunk, a sixteenth of the file and at most 16 MB, unless a line is longer. */
#include "data/formats/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "data/formats/format.h"
#include "data/formats/live.h"
#include "data/text/text_buffer.h"
#include "data/text/utf8.h"

enum { PIECES_MOST = 64, PIECES_PER_THREAD = 4, PIECE_LEAST = 1 << 15 };

typedef struct csv_state {
    text_buffer text;
    csv_layout layout;
    double bytes_per_row;
    csv_piece pieces[PIECES_MOST];
    int npieces, claimed; /* pieces of the current chunk, and how many of them threads have taken */
    int64_t lines;        /* in the pieces taken */
    bool quotes;          /* in the current pieces: records may then hold several lines */
    int64_t forgiven;     /* damaged records, */
    anygp_error first;    /* and what is wrong with the first */
} csv_state;

/* Where the rows of a call go. */
typedef struct csv_target {
    double *rows;
    int64_t max_rows, cols;
} csv_target;

/* The message for a fault in a record after `row` rows of this call. */
static anygp_status explain(const reader *r, const csv_fault *f, int64_t row, anygp_error *e)
{
    const text_buffer *b = &((const csv_state *)r->state)->text;
    csv_place place = {.file = input_name(r->in),
                       .line = b->line + 1 + text_count(b->bytes + b->begin, f->begin, b->eol),
                       .row = r->delivered + row + 1};
    return csv_explain(f, place, r->columns, r->cols, e);
}

static anygp_status unclosed(const reader *r, anygp_error *e)
{
    const text_buffer *b = &((const csv_state *)r->state)->text;
    return fail_with(e, ANYGP_ERR_DATA, "%s, line %lld: a quote opened in this record is never closed",
                     input_name(r->in), (long long)b->line + 1);
}

/* -------------------------------------------------------------------------------------------- pieces */

static void add_piece(csv_state *c, const char *begin, const char *end, int64_t lines)
{
    csv_piece *w = &c->pieces[c->npieces++];
    w->begin = begin;
    w->end = end;
    w->lines = lines;
    w->rows = w->unknowns = w->forgiven = 0;
    w->fault.kind = FAULT_NONE;
}

static size_t piece_size(size_t bytes)
{
    int n = threads_max() * PIECES_PER_THREAD;
    if (n > PIECES_MOST - 1) n = PIECES_MOST - 1;
    size_t size = bytes / (size_t)n + 1;
    return threads_max() == 1 ? bytes + 1 : size > PIECE_LEAST ? size : PIECE_LEAST;
}

/* Bytes that hold about max_rows rows, and not much more: the rest of a chunk is not needed. */
static size_t budget(const csv_state *c, int64_t max_rows)
{
    double bytes = (double)max_rows * c->bytes_per_row * 1.1 + 4096;
    size_t held = c->text.end - c->text.begin;
    return bytes < (double)held ? (size_t)bytes : held;
}

/* Whole lines of a region without quotes, cut into pieces; none if no line ends in it. */
static void cut_plain(csv_state *c, const char *begin, const char *end)
{
    size_t size = piece_size((size_t)(end - begin));
    for (const char *p = begin, *cut; p < end; p = cut) {
        cut = (size_t)(end - p) > size ? p + size : end - 1;
        cut = (char *)memchr(cut, c->text.eol, (size_t)(end - cut)) + 1; /* the region ends with a line */
        add_piece(c, p, cut, 0);
    }
}

/* The same where quotes occur: from record to record. */
static void cut_quoted(csv_state *c, const char *begin, const char *goal, const char *end, int64_t max_rows)
{
    size_t size = piece_size((size_t)(goal - begin));
    const char *p = begin, *stop, *start = begin;
    int64_t records = 0, before = 0;
    while (records < max_rows && p < goal && (stop = csv_record_end(&c->layout.dialect, p, end))) {
        p = stop + 1;
        records++;
        if ((size_t)(p - start) >= size) {
            add_piece(c, start, p, records - before);
            start = p;
            before = records;
        }
    }
    if (p > start) add_piece(c, start, p, records - before);
}

static void cut(csv_state *c, int64_t max_rows)
{
    const char *begin = c->text.bytes + c->text.begin, *end = c->text.bytes + c->text.end;
    const char *goal = begin + budget(c, max_rows);
    const char *line = goal < end ? memchr(goal, c->text.eol, (size_t)(end - goal)) : NULL;
    goal = line ? line + 1 : end;
    const char *last = goal;
    while (last > begin && last[-1] != c->text.eol) last--;
    c->npieces = 0;
    c->quotes = memchr(begin, '"', (size_t)(goal - begin)) != NULL;
    if (c->quotes)
        cut_quoted(c, begin, goal, end, max_rows);
    else
        cut_plain(c, begin, last);
}

/* Ends a piece after its first `lines` lines. */
static void shorten(const csv_state *c, csv_piece *w, int64_t lines)
{
    const char *p = w->begin;
    for (int64_t k = 0; k < lines; k++) p = (char *)memchr(p, c->text.eol, (size_t)(w->end - p)) + 1;
    w->end = p;
    w->lines = lines;
}

/* The next piece, with its position among the rows; NULL when none is left or the rows are full.  Counting the
   lines is a small part of parsing them, so the threads may wait for each other here. */
static csv_piece *claim(csv_state *c, const csv_target *t)
{
    if (c->claimed == c->npieces || c->lines == t->max_rows) return NULL;
    csv_piece *w = &c->pieces[c->claimed++];
    if (!c->quotes) w->lines = text_count(w->begin, w->end, c->text.eol);
    if (w->lines > t->max_rows - c->lines) shorten(c, w, t->max_rows - c->lines);
    w->out = t->rows + c->lines * t->cols;
    c->lines += w->lines;
    return w;
}

/* One parallel region per chunk: each additional one would mean waiting on a busy machine. */
static void parse_parallel(csv_state *c, const csv_target *t)
{
    c->claimed = 0;
    c->lines = 0;
#pragma omp parallel if (c->npieces > 1)
    for (csv_piece *w;;) {
#pragma omp critical(csv_claim)
        w = claim(c, t);
        if (!w) break;
        csv_parse(&c->layout, w);
    }
    c->npieces = c->claimed;
}

/* Moves the rows of each piece up to the end of those before; returns how many there are. */
static int64_t close_gaps(const csv_state *c, int64_t cols, double *rows)
{
    int64_t total = 0;
    for (int i = 0; i < c->npieces; i++) {
        const csv_piece *w = &c->pieces[i];
        double *to = rows + total * cols;
        if (to != w->out) memmove(to, w->out, (size_t)(w->rows * cols) * sizeof *to);
        total += w->rows;
    }
    return total;
}

static anygp_status parse_pieces(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e)
{
    csv_state *c = r->state;
    int64_t before = 0;
    parse_parallel(c, &(csv_target){.rows = rows, .max_rows = max_rows, .cols = r->cols});
    for (int i = 0; i < c->npieces; i++) {
        csv_piece *w = &c->pieces[i];
        if (w->fault.kind == FAULT_NONE) csv_settle(&c->layout, w);
        if (w->fault.kind != FAULT_NONE) return explain(r, &w->fault, before + w->fault.row, e);
        if (w->forgiven && !c->forgiven) explain(r, &w->forgiven1, before + w->forgiven1.row, &c->first);
        c->forgiven += w->forgiven;
        before += w->rows;
    }
    *got = close_gaps(c, r->cols, rows);
    return ANYGP_OK;
}

/* Takes the parsed pieces out of the buffer. */
static void advance(csv_state *c)
{
    const char *begin = c->text.bytes + c->text.begin, *end = c->pieces[c->npieces - 1].end;
    int64_t lines = 0, records = 0;
    for (int i = 0; i < c->npieces; i++) {
        const csv_piece *w = &c->pieces[i];
        lines += c->quotes ? text_count(w->begin, w->end, c->text.eol) : w->lines;
        records += w->rows;
    }
    if (records > 0) c->bytes_per_row = (double)(end - begin) / (double)records;
    text_advance(&c->text, end, lines);
}

static anygp_status csv_next(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e)
{
    csv_state *c = r->state;
    *got = 0;
    while (*got == 0) {
        if (c->text.begin == c->text.end && c->text.finished) return ANYGP_OK;
        cut(c, max_rows);
        if (c->npieces > 0) {
            TRY(parse_pieces(r, max_rows, rows, got, e));
            advance(c);
        } else {
            if (c->text.finished) return unclosed(r, e);
            TRY(text_fill(&c->text, e));
        }
    }
    return ANYGP_OK;
}

void reader_forgive(reader *r)
{
    if (r->format == &format_csv) ((csv_state *)r->state)->layout.forgive = true;
}

int64_t reader_forgiven(const reader *r, const char **first)
{
    const csv_state *c = r->format == &format_csv ? r->state : NULL;
    *first = c ? c->first.text : "";
    return c ? c->forgiven : 0;
}

/* ------------------------------------------------------------------------------------------- opening */

static anygp_status refuse_binary(const reader *r, const text_buffer *b, anygp_error *e)
{
    const char *p = b->bytes + b->begin;
    size_t n = b->end - b->begin;
    if (n >= 2 && (!memcmp(p, "\xff\xfe", 2) || !memcmp(p, "\xfe\xff", 2)))
        return fail_with(e, ANYGP_ERR_DATA,
                         "%s is UTF-16 text; save it as UTF-8, or convert it: iconv -f UTF-16 -t UTF-8 FILE > data.csv",
                         input_name(r->in));
    if (n && memchr(p, 0, n))
        return fail_with(e, ANYGP_ERR_DATA,
                         "%s holds zero bytes, so it is not a text table; a binary file needs its proper ending (.npy "
                         ".npz .h5)",
                         input_name(r->in));
    return ANYGP_OK;
}

static anygp_status skip_lines(reader *r, int64_t lines, anygp_error *e)
{
    text_buffer *b = &((csv_state *)r->state)->text;
    TRY(text_fill(b, e));
    for (int64_t k = 0; k < lines;) {
        const char *begin = b->bytes + b->begin, *eol = memchr(begin, b->eol, b->end - b->begin);
        if (eol)
            text_advance(b, eol + 1, 1), k++;
        else if (b->finished)
            return fail_with(e, ANYGP_ERR_DATA, "%s has only %lld lines; --skip %lld leaves nothing", input_name(r->in),
                             (long long)k, (long long)lines);
        else
            TRY(text_fill(b, e));
    }
    return ANYGP_OK;
}

/* Looks at ever more of the text until two records are there, or all. */
static anygp_status look(reader *r, const read_options *o, csv_sample *s, anygp_error *e)
{
    csv_state *c = r->state;
    const text_buffer *b = &c->text;
    const char *name = input_name(r->in), *tsv = strstr(name, ".tsv");
    if (o->skip > 0) TRY(skip_lines(r, o->skip, e));
    do {
        free(s->columns);
        s->columns = NULL;
        TRY(text_fill(&c->text, e));
        TRY(refuse_binary(r, b, e));
        const char *begin = b->bytes + b->begin, *end = b->bytes + b->end;
        char delimiter = csv_dialect_guess(begin, end, b->eol, tsv ? '\t' : 0, o->comment);
        csv_dialect_set(&c->layout.dialect, delimiter, b->eol, o->comment);
        c->layout.dialect.na = o->na;
        TRY(csv_look(&c->layout.dialect, begin, end, o->header, s, e));
    } while (s->cols >= 0 && s->records < (o->header == 0 && input_is_live(r->in) ? 1 : 2) && !b->finished);
    if (s->cols < 0)
        return fail_with(e, ANYGP_ERR_DATA, "%s: a quote in the first record is not closed, or text follows it", name);
    if (s->records > 0) return ANYGP_OK;
    if (b->end > b->begin && memchr(b->bytes + b->begin, '"', b->end - b->begin)) return unclosed(r, e);
    return fail_with(e, ANYGP_ERR_DATA, "%s is empty; a table needs at least one row", name);
}

/* The names so far, and for each the number that was last appended to it. */
typedef struct header_names {
    name_table names;
    int64_t *tried;
} header_names;

/* "x" again becomes "x_2", "x_3" ... */
static anygp_status distinct_name(header_names *h, const char *text, size_t n, char **out, anygp_error *e)
{
    char *name = malloc(n + 24);
    if (!name) return fail_memory(e, "column names", (double)n);
    memcpy(name, text, n);
    name[n] = 0;
    int64_t same = name_find(&h->names, name, n);
    while (name_find(&h->names, name, strlen(name)) >= 0) snprintf(name + n, 24, "_%lld", (long long)++h->tried[same]);
    *out = name;
    int64_t k = name_add(&h->names, name, strlen(name));
    if (k < 0) return fail_memory(e, "column names", (double)n);
    h->tried[k] = 1;
    return ANYGP_OK;
}

/* first: the column of the first name. */
static anygp_status name_columns(reader *r, const csv_dialect *d, int64_t first, const char *p, const char *end,
                                 anygp_error *e)
{
    header_names h = {.tried = mem_alloc(r->cols, sizeof *h.tried)};
    const char *stop = csv_record_end(d, p, end);
    char *text = malloc(2 * (size_t)(stop - p) + 1);
    csv_cell c;
    anygp_status status = text && h.tried ? ANYGP_OK : fail_memory(e, "column names", (double)(stop - p));
    p = csv_line_start(d, p);
    for (int64_t j = first; p && j < r->cols && !ANYGP_FAILED(status); j++) {
        if (!(p = csv_cell_at(d, p, end, &c))) {
            status = fail_with(e, ANYGP_ERR_DATA, "%s: a quote in the line of names is not closed, or text follows it",
                               input_name(r->in));
            break;
        }
        size_t n = utf8_from_any(text, csv_cell_text(&c, text));
        if (n > 0) status = distinct_name(&h, text, n, &r->columns[j].name, e);
        p = csv_next_cell(d, p);
    }
    name_table_free(&h.names);
    free(h.tried);
    free(text);
    return status;
}

/* Takes blank lines and the line of names out of the text. */
static anygp_status take_header(reader *r, int64_t first, anygp_error *e)
{
    csv_state *c = r->state;
    const csv_dialect *d = &c->layout.dialect;
    const char *begin = c->text.bytes + c->text.begin, *end = c->text.bytes + c->text.end, *p = begin;
    while (csv_no_record(d, p)) p = csv_line_end(d, p) + 1;
    TRY(name_columns(r, d, first, p, end, e));
    p = csv_record_end(d, p, end) + 1;
    text_advance(&c->text, p, text_count(begin, p, d->eol));
    return ANYGP_OK;
}

static anygp_status set_kinds(reader *r, const csv_sample *s, anygp_error *e)
{
    csv_state *c = r->state;
    for (int64_t j = 0; j < r->cols; j++) r->columns[j].kind = s->columns[j].kind;
    c->layout.cols = r->cols;
    c->layout.columns = r->columns;
    c->layout.categories = mem_zeroed(r->cols, sizeof *c->layout.categories);
    return c->layout.categories ? ANYGP_OK : fail_memory(e, "the columns of a file", (double)r->cols);
}

/* The first cell that shows the column's notation, as it may be quoted in a sentence. */
static anygp_status keep_shown(column *c, const csv_guess *g, anygp_error *e)
{
    size_t n = (size_t)(g->first.end - g->first.begin);
    char *text = malloc(2 * n + 1);
    if (!text) return fail_memory(e, "a cell", (double)n);
    memcpy(text, g->first.begin, n);
    text[utf8_from_any(text, n)] = 0;
    c->shown = text;
    c->shown_row = g->first_row;
    return ANYGP_OK;
}

/* Kind and notation: as wished or, where that is left open, as the first records look. */
static anygp_status settle_column(column *c, const csv_guess *g, column_wish wish, char delimiter, char decimal,
                                  char doubtful, anygp_error *e)
{
    bool one = wish.notations && !(wish.notations & (wish.notations - 1));
    if (wish.kind >= 0) c->kind = (column_kind)wish.kind;
    if (wish.kind == COLUMN_NUMBER && one) {
        while (!(wish.notations & NOTATION_BIT(c->notation))) c->notation++;
        snprintf(c->unit, sizeof c->unit, "%s", wish.unit ? wish.unit : "");
    } else if (wish.kind < 0 || wish.kind == COLUMN_NUMBER) {
        c->notation = csv_choose_notation(g, wish.notations, delimiter, decimal, doubtful);
        if (notation_has_unit(c->notation)) memcpy(c->unit, g->unit, sizeof c->unit);
    }
    if (c->notation != NOTATION_PLAIN) c->kind = COLUMN_NUMBER;
    if (c->kind == COLUMN_NUMBER && c->notation == NOTATION_PLAIN && decimal == ',') c->notation = NOTATION_COMMA;
    return c->notation != NOTATION_PLAIN && g->texts > 0 ? keep_shown(c, g, e) : ANYGP_OK;
}

static anygp_status settle_columns(reader *r, const csv_sample *s, const read_options *o, anygp_error *e)
{
    char delimiter = ((csv_state *)r->state)->layout.dialect.delimiter, doubtful = csv_decimal_of(s, delimiter);
    column_wish *wish = mem_alloc(r->cols, sizeof *wish);
    anygp_status status = wish ? ANYGP_OK : fail_memory(e, "the columns of a file", (double)r->cols * sizeof *wish);
    for (int64_t j = 0; wish && j < r->cols; j++) wish[j] = (column_wish){.kind = -1};
    if (wish && o->wishes) status = o->wishes(o->wishes_ctx, r->columns, r->cols, wish, e);
    for (int64_t j = 0; j < r->cols && !ANYGP_FAILED(status); j++)
        status = settle_column(&r->columns[j], &s->columns[j], wish[j], delimiter, o->decimal, doubtful, e);
    free(wish);
    return status;
}

static anygp_status csv_open(reader *r, const read_options *o, anygp_error *e)
{
    csv_state *c = r->state = calloc(1, sizeof *c);
    csv_sample s = {0};
    anygp_status status;
    if (!c) return fail_memory(e, "a reader", sizeof *c);
    c->text.in = r->in;
    c->text.line = -r->lines_added;
    TRY_DONE(look(r, o, &s, e));
    TRY_DONE(reader_make_columns(r, s.cols, e));
    TRY_DONE(set_kinds(r, &s, e));
    if (s.header) TRY_DONE(take_header(r, s.unnamed, e));
    for (int64_t j = 0; j < r->cols; j++)
        r->columns[j].blank = s.header && !r->columns[j].name && !s.columns[j].numbers && !s.columns[j].texts;
    TRY_DONE(settle_columns(r, &s, o, e));
    r->target = r->cols - 1;
    c->bytes_per_row = s.bytes_per_row;
    if (input_size(r->in) > 0) r->likely_rows = (int64_t)((double)input_size(r->in) / s.bytes_per_row * 1.02) + 16;
done:
    free(s.columns);
    return status;
}

static void csv_close(reader *r)
{
    csv_state *c = r->state;
    if (!c) return;
    text_free(&c->text);
    for (int64_t j = 0; c->layout.categories && j < r->cols; j++) free(c->layout.categories[j].slots);
    free(c->layout.categories);
    for (int i = 0; i < PIECES_MOST; i++) free(c->pieces[i].unknown);
    free(c);
}

static bool csv_sniff(const unsigned char *head, size_t n)
{
    (void)head, (void)n;
    return true;
}

static const char *const csv_endings[] = {".csv", ".tsv", NULL};
const format format_csv = {"csv", csv_endings, csv_sniff, csv_open, csv_next, csv_close, false, NULL, NULL, NULL};
