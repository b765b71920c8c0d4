/* Rows as text.  A block of rows is shared out to the threads, each formats into a buffer of its own, and the buffers
   are written in order; .gz goes through packer.h. */
#include "data/formats/writer_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "data/formats/packer.h"
#include "data/text/number.h"

enum { SHARE_VALUES = 1 << 14, CELL_MOST = CALENDAR_TEXT_MOST };
_Static_assert((int)CELL_MOST >= (int)NUMBER_TEXT_MOST, "a number is a cell");

typedef struct csv_writer {
    char delimiter;
    packer *gzip; /* NULL: plain */
    int nshares;  /* threads */
    char **share;
    size_t *room, *used; /* bytes of each */
    int64_t share_rows;  /* maximum rows that a thread formats at once */
} csv_writer;

/* ---------------------------------------------------------------------------------------------- bytes */

static anygp_status put_text(writer *w, const char *text, size_t n, anygp_error *e)
{
    const csv_writer *c = w->state;
    return c->gzip ? packer_put(c->gzip, w, text, n, e) : writer_put(w, text, n, e);
}

/* --------------------------------------------------------------------------------------------- header */

/* The text as a cell: quoted where it must be.  `to` has room for 2 n + 2. */
static size_t quote(const char *name, char delimiter, char *to)
{
    const char special[] = {delimiter, '"', '\r', '\n', ' ', '\t', 0};
    size_t n = strlen(name), used = 0;
    if (!strpbrk(name, special)) return memcpy(to, name, n), n;
    to[used++] = '"';
    for (const char *p = name; *p; p++) {
        if (*p == '"') to[used++] = '"';
        to[used++] = *p;
    }
    to[used++] = '"';
    return used;
}

static anygp_status put_names(writer *w, const char *const *names, anygp_error *e)
{
    const csv_writer *c = w->state;
    size_t size = 0, n = 0;
    for (int64_t j = 0; j < w->cols; j++) size += 2 * strlen(names[j]) + 3;
    char *line = malloc(size + 1);
    if (!line) return fail_memory(e, "column names", (double)size);
    for (int64_t j = 0; j < w->cols; j++) {
        n += quote(names[j], c->delimiter, line + n);
        line[n++] = j == w->cols - 1 ? '\n' : c->delimiter;
    }
    anygp_status status = put_text(w, line, n, e);
    free(line);
    return status;
}

static anygp_status make_shares(writer *w, anygp_error *e)
{
    csv_writer *c = w->state;
    c->nshares = threads_max();
    c->share_rows = SHARE_VALUES / (w->cols > 0 ? w->cols : 1) + 1;
    c->share = mem_zeroed(c->nshares, sizeof *c->share);
    c->used = mem_zeroed(c->nshares, sizeof *c->used);
    c->room = mem_zeroed(c->nshares, sizeof *c->room);
    size_t cells, bytes = 0;
    bool fits = c->share && c->used && c->room && size_mul(c->share_rows, w->cols, &cells) &&
                size_mul((int64_t)cells, CELL_MOST + 1, &bytes);
    for (int k = 0; fits && k < c->nshares; k++) {
        fits = (c->share[k] = malloc(bytes + 1)) != NULL;
        c->room[k] = bytes;
    }
    return fits ? ANYGP_OK : fail_memory(e, "a writer's buffers", (double)c->share_rows * (double)w->cols);
}

static anygp_status csv_begin(writer *w, const char *const *names, anygp_error *e)
{
    csv_writer *c = w->state = calloc(1, sizeof *c);
    if (!c) return fail_memory(e, "a writer", sizeof *c);
    c->delimiter = writer_path_ends(w, ".tsv") || writer_path_ends(w, ".tsv.gz") ? '\t' : ',';
    TRY(make_shares(w, e));
    if (writer_path_ends(w, ".gz")) TRY(packer_begin(w, &c->gzip, e));
    return names ? put_names(w, names, e) : ANYGP_OK;
}

/* ----------------------------------------------------------------------------------------------- rows */

/* Texts may be longer than numbers: room for n rows of them in share k. */
static bool reserve_texts(const writer *w, int k, int64_t n, const double *rows)
{
    const csv_writer *c = w->state;
    size_t need = (size_t)(n * w->cols) * (CELL_MOST + 1);
    for (int64_t i = 0; i < n * w->cols; i++) {
        const char *text = writer_text(w, i % w->cols, rows[i]);
        if (text) need += 2 * strlen(text) + 2;
    }
    if (need <= c->room[k]) return true;
    char *grown = realloc(c->share[k], need);
    if (!grown) return false;
    c->share[k] = grown;
    c->room[k] = need;
    return true;
}

static size_t put_cell(const writer *w, int64_t j, double cell, char *to)
{
    const csv_writer *c = w->state;
    const char *text = writer_text(w, j, cell);
    const column *of = w->columns ? &w->columns[j] : NULL;
    if (text) return quote(text, c->delimiter, to);
    size_t n = of && of->kind == COLUMN_NUMBER ? notation_calendar_text(of->notation, cell, to) : 0;
    return n ? n : number_print(of && of->kind == COLUMN_TEXT ? NAN : cell, to);
}

static size_t format_rows(const writer *w, int64_t n, const double *rows, char *to)
{
    const csv_writer *c = w->state;
    char *t = to;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < w->cols; j++) {
            t += put_cell(w, j, rows[i * w->cols + j], t);
            *t++ = j == w->cols - 1 ? '\n' : c->delimiter;
        }
    return (size_t)(t - to);
}

static anygp_status csv_rows(writer *w, int64_t n, const double *rows, anygp_error *e)
{
    csv_writer *c = w->state;
    for (int64_t done = 0; done < n;) {
        int64_t block = n - done < c->nshares * c->share_rows ? n - done : c->nshares * c->share_rows;
        int64_t each = (block + c->nshares - 1) / c->nshares;
        bool fits = true;
#pragma omp parallel for if (block * w->cols > SHARE_VALUES / 8) reduction(&& : fits)
        for (int k = 0; k < c->nshares; k++) {
            int64_t first = k * each < block ? k * each : block, mine = block - first < each ? block - first : each;
            const double *from = rows + (done + first) * w->cols;
            if (w->columns) fits = fits && reserve_texts(w, k, mine, from);
            if (fits) c->used[k] = format_rows(w, mine, from, c->share[k]);
        }
        if (!fits) return fail_memory(e, "a writer's buffers", (double)block * (double)w->cols);
        for (int k = 0; k < c->nshares; k++) TRY(put_text(w, c->share[k], c->used[k], e));
        done += block;
    }
    return ANYGP_OK;
}

static anygp_status csv_end(writer *w, anygp_error *e)
{
    const csv_writer *c = w->state;
    return c->gzip ? packer_end(c->gzip, w, e) : ANYGP_OK;
}

static void csv_close(writer *w)
{
    csv_writer *c = w->state;
    if (!c) return;
    packer_free(c->gzip);
    for (int k = 0; c->share && k < c->nshares; k++) free(c->share[k]);
    free(c->share);
    free(c->used);
    free(c->room);
    free(c);
}

static const char *const endings[] = {".csv", ".tsv", ".csv.gz", ".tsv.gz", NULL};
const writer_format writer_csv = {endings, csv_begin, csv_rows, csv_end, csv_close, true};
