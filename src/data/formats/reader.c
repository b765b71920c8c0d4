/* The formats as one stream of rows: opening, seeking, what no format may let through. */
#include "data/formats/reader.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/formats/format.h"
#include "data/formats/live.h"
#include "data/text/number.h"

/* In the order of sniffing; the last one takes everything. */
static const format *const formats[] = {&format_npy, &format_npz,    &format_hdf5,
                                        &format_idx, &format_libsvm, &format_csv};
enum { NFORMATS = sizeof formats / sizeof *formats, SNIFF_BYTES = 4096, COLUMNS_MOST = 1 << 22 };

static bool ends_with(const char *name, size_t n, const char *ending)
{
    size_t k = strlen(ending);
    return n >= k && !strncasecmp(name + n - k, ending, k);
}

bool reader_ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name);
    return ends_with(name, ends_with(name, n, ".gz") ? n - 3 : n, ending);
}

static const format *format_by_name(const char *name)
{
    for (int i = 0; i < NFORMATS; i++)
        for (const char *const *ending = formats[i]->endings; *ending; ending++)
            if (reader_ends_with(name, *ending)) return formats[i];
    return NULL;
}

static anygp_status choose_format(reader *r, anygp_error *e)
{
    if (!r->format) r->format = format_by_name(input_name(r->in));
    if (r->format) return ANYGP_OK;
    const unsigned char *head;
    size_t n;
    TRY(input_peek_line(r->in, SNIFF_BYTES, &head, &n, e));
    for (int i = 0; !r->format; i++)
        if (i == NFORMATS - 1 || formats[i]->sniff(head, n)) r->format = formats[i];
    return ANYGP_OK;
}

/* A number that stands for a missing value; also as it is in a file that has floats. */
static void keep_number(reader *r, const char *begin, const char *end)
{
    double x;
    cell_kind kind = cell_classify(begin, end, &x);
    if (kind == CELL_INFINITE) x = memchr(begin, '-', (size_t)(end - begin)) ? -INFINITY : INFINITY;
    if (kind != CELL_NUMBER && kind != CELL_INFINITE) return;
    r->na_number[r->na_numbers++] = x;
    if (fabs(x) <= FLT_MAX && (float)x != x) r->na_number[r->na_numbers++] = (float)x;
}

/* Keeps what stands for a missing value: the options end before the reader does. */
static anygp_status keep_na(reader *r, const char *list, anygp_error *e)
{
    if (!list || !*list) return ANYGP_OK;
    size_t n = strlen(list);
    r->na = mem_strdup(list);
    r->na_number = mem_doubles((int64_t)n + 2, 1);
    if (!r->na || !r->na_number) return fail_memory(e, "a reader", 17.0 * (double)n);
    for (const char *p = r->na, *end; *p; p = end + (*end != 0)) {
        end = p + strcspn(p, ",\n");
        keep_number(r, p, end);
    }
    return ANYGP_OK;
}

/* Takes `in` over, also on failure. */
static anygp_status open_input(input *in, const read_options *o, reader **out, anygp_error *e)
{
    read_options mine = o ? *o : READ_DEFAULTS;
    bool csv = false;
    anygp_status status = ANYGP_OK;
    reader *r = calloc(1, sizeof *r);
    if (!r) {
        input_close(in);
        return fail_memory(e, "a reader", sizeof *r);
    }
    r->in = in;
    r->rows = r->target = -1;
    r->stop = mine.stop;
    TRY_DONE(keep_na(r, mine.na, e));
    mine.na = r->na;
    TRY_DONE(reader_unwrap(r, &csv, e));
    if (csv) r->format = &format_csv, mine.header = 1;
    TRY_DONE(choose_format(r, e));
    TRY_DONE(r->format->open(r, &mine, e));
    *out = r;
    return ANYGP_OK;
done:
    reader_close(r);
    return status;
}

anygp_status reader_open(const char *path, const read_options *o, reader **out, anygp_error *e)
{
    input *in;
    *out = NULL;
    TRY(input_open(path, o ? o->stop : (stop_poll){0}, &in, e));
    return open_input(in, o, out, e);
}

anygp_status reader_open_memory(const void *bytes, size_t size, const char *name, const read_options *o, reader **out,
                                anygp_error *e)
{
    input *in;
    *out = NULL;
    TRY(input_memory(bytes, size, name, &in, e));
    return open_input(in, o, out, e);
}

void reader_close(reader *r)
{
    if (!r) return;
    if (r->format) r->format->close(r);
    columns_free(r->columns, r->cols);
    input_close(r->in);
    input_close(r->archive);
    free(r->na);
    free(r->na_number);
    free(r);
}

void reader_stop(reader *r, stop_poll stop)
{
    r->stop = stop;
    input_stop(r->in, stop);
}

int64_t reader_columns(const reader *r) { return r->cols; }
const column *reader_column(const reader *r, int64_t j) { return &r->columns[j]; }
int64_t reader_rows(const reader *r) { return r->rows; }
int64_t reader_target(const reader *r) { return r->target; }
int64_t reader_row_number(const reader *r) { return r->delivered; }
const char *reader_name(const reader *r) { return input_name(r->in); }

anygp_status reader_make_columns(reader *r, int64_t n, anygp_error *e)
{
    if (n < 1 || n > COLUMNS_MOST)
        return fail_with(e, ANYGP_ERR_DATA, "%s has %lld columns; a table has between 1 and %d", input_name(r->in),
                         (long long)n, COLUMNS_MOST);
    r->columns = mem_zeroed(n, sizeof *r->columns);
    if (!r->columns) return fail_memory(e, "the columns of a file", (double)n * sizeof *r->columns);
    r->cols = n;
    return ANYGP_OK;
}

bool reader_can_seek(const reader *r) { return r->format->can_seek && r->format->can_seek(r); }

anygp_status reader_seek(reader *r, int64_t row, anygp_error *e)
{
    if (!reader_can_seek(r))
        return fail_with(e, ANYGP_ERR_INTERNAL, "the rows of %s cannot be accessed by number", input_name(r->in));
    if (row < 0 || row > r->rows)
        return fail_with(e, ANYGP_ERR_INTERNAL, "%s has no row %lld", input_name(r->in), (long long)row);
    r->format->seek(r, row);
    r->delivered = row;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------- reading */

static anygp_status refuse_infinite(const reader *r, const double *rows, int64_t n, anygp_error *e)
{
    int64_t i = 0, count = n * r->cols;
    while (i < count && !isinf(rows[i])) i++;
    if (i == count) return ANYGP_OK;
    const char *name = r->columns[i % r->cols].name;
    return fail_with(e, ANYGP_ERR_DATA,
                     "%.200s, row %lld, column %lld%s%.60s: an infinite number; correct or remove it",
                     input_name(r->in), (long long)(r->delivered + i / r->cols + 1), (long long)(i % r->cols),
                     name ? " " : "", name ? name : "");
}

/* Texts that stand for a missing value are the format's business; a date has its own count of days. */
static void take_out_na(const reader *r, double *rows, int64_t n)
{
    for (int64_t j = 0; r->na_numbers > 0 && j < r->cols; j++) {
        const column *c = &r->columns[j];
        if (c->kind != COLUMN_NUMBER || notation_is_date(c->notation)) continue;
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < r->na_numbers; k++)
                if (rows[i * r->cols + j] == r->na_number[k]) rows[i * r->cols + j] = NAN;
    }
}

bool reader_is_live(const reader *r) { return input_is_live(r->in); }

/* some: not all that was asked for, if there is a row already. */
static anygp_status read_next(reader *r, int64_t max_rows, bool some, double *rows, int64_t *got, anygp_error *e)
{
    *got = 0;
    while (*got < max_rows && !(some && *got > 0)) {
        int64_t more;
        double *to = rows + *got * r->cols;
        TRY(r->format->next(r, max_rows - *got, to, &more, e));
        if (more == 0) break;
        take_out_na(r, to, more);
        if (r->format->may_be_infinite) TRY(refuse_infinite(r, to, more, e));
        *got += more;
        r->delivered += more;
    }
    if (r->delivered == 0 && max_rows > 0)
        return fail_with(e, ANYGP_ERR_DATA, "%s has no data rows; a table needs at least one", input_name(r->in));
    return ANYGP_OK;
}

anygp_status reader_next(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e)
{
    return read_next(r, max_rows, false, rows, got, e);
}

anygp_status reader_available(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e)
{
    return read_next(r, max_rows, reader_is_live(r), rows, got, e);
}

static anygp_status read_run(reader *r, row_run run, double *rows, anygp_error *e)
{
    int64_t got;
    TRY(reader_seek(r, run.first, e));
    TRY(reader_next(r, run.n, rows, &got, e));
    if (got == run.n) return ANYGP_OK;
    return input_cut_short(r->in, e);
}

anygp_status reader_runs(reader *r, int count, const row_run *runs, double *rows, anygp_error *e)
{
    int prepared = r->format->expect ? 0 : count;
    for (int k = 0; k < count; k++) {
        if (prepared == k) {
            int more = 1;
            TRY(r->format->expect(r, count - k, runs + k, &more, e));
            prepared += more;
        }
        TRY(read_run(r, runs[k], rows, e));
        rows += runs[k].n * r->cols;
    }
    return ANYGP_OK;
}
