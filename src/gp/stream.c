/* A file of rows to a file of predictions, a block at a time: memory does not grow with the rows.  Over several processes each
   reads all rows and predicts its share of every block; rank 0 writes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/name_list.h"
#include "gp/ranks.h"
#include "gp/stream.h"

double gp_block_budget(const settings *s) { return fmin(stream_memory(s), 256e6); }

static bool wants_parts(const settings *s) { return settings_number(s, SET_PARTS) == 1; }

/* ------------------------------------------------------------------------------------- marginals */

typedef struct stream {
    feed feed;
    block_file *blocks;
    const settings *s;
    const comm *comm;
    const char *out;
    writer *writer; /* opened when there is something to write: a file that fails at once leaves nothing behind */
    predictor **predictor; /* targets */
    sheet sheet;
    int64_t block;
    double *exposure;
    double *columns; /* block x widest, column-major: one target's */
    double *table;   /* block x width */
    bool skip;       /* --bad skip: rows that cannot be predicted are nan */
    bool answers;    /* standard input: the rows before one that cannot be predicted are answered first */
    int64_t *number; /* of the rows of a block that can: numbers in the file, */
    double *good;    /* and cells */
    int64_t bad;     /* rows that cannot, so far */
    anygp_error why; /* of the first */
} stream;

static void stream_close(stream *st, int64_t targets)
{
    for (int64_t k = 0; st->predictor && k < targets; k++) predictor_free(st->predictor[k]);
    free(st->predictor);
    free(st->exposure);
    free(st->columns);
    free(st->table);
    free(st->number);
    free(st->good);
    sheet_clear(&st->sheet);
    feed_close(&st->feed);
    block_file_close(st->blocks);
    writer_abort(st->writer);
}

static anygp_status stream_open(stream *st, const gp_set *m, const settings *s, const char *in, anygp_error *e)
{
    int64_t T = m->targets;
    TRY(feed_open(&st->feed, m, s, in, e));
    TRY(block_file_open(m, s, settings_text(s, SET_BLOCKS_FROM), in, &st->blocks, e));
    TRY(sheet_make(&st->sheet, &st->feed, s, e));
    st->skip = st->feed.binding && settings_is(s, SET_BAD, "skip");
    st->answers = st->feed.binding && !st->skip && !strcmp(in, "-");
    if (st->answers) binding_forgive(st->feed.binding);
    if (!(st->predictor = mem_zeroed(T, sizeof *st->predictor))) return fail_memory(e, "prediction", 0);
    for (int64_t k = 0; k < T; k++) {
        TRY(predictor_new(m->gp[k], gp_block_budget(s) / (double)T, &st->predictor[k], e));
        int64_t block = predictor_block(st->predictor[k]);
        st->block = k == 0 || block < st->block ? block : st->block;
    }
    TRY(ranks_least(st->comm, &st->block, e));
    st->exposure = mem_alloc(st->block, sizeof(double));
    st->columns = mem_doubles(st->block, st->sheet.widest);
    st->table = mem_doubles(st->block, st->sheet.width);
    if (st->skip) {
        st->number = mem_alloc(st->block, sizeof *st->number);
        st->good = mem_doubles(st->block, st->feed.columns);
    }
    if (st->exposure && st->columns && st->table && (!st->skip || (st->number && st->good))) return ANYGP_OK;
    return fail_memory(e, "a block of rows", 8.0 * (double)st->block * (double)(1 + 2 * st->sheet.width));
}

/* One target's columns to their place in n rows of the table. */
static void place_columns(const stream *st, int64_t n, int64_t width, int64_t at, double *to)
{
    int64_t wide = st->sheet.width;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < width; c++) to[i * wide + at + c] = st->columns[i + c * n];
}

/* Rows from .. from+n-1 of a block into the table.  number: of each in the file; NULL: from first_row on. */
static anygp_status predict_rows(stream *st, const gp_set *m, int64_t from, int64_t n, int64_t first_row,
                                 const int64_t *number, const double *cells, anygp_error *e)
{
    const double *rows = cells + from * st->feed.columns;
    double *to = st->table + from * st->sheet.width;
    feed_exposure(&st->feed, n, rows, st->exposure);
    for (int64_t k = 0, at = st->sheet.kept; k < m->targets; at += sheet_width_of(&st->sheet, k++)) {
        const gp *g = m->gp[k];
        const int64_t *block = block_file_of(st->blocks, k);
        row_batch b = {.n = n,
                       .rows = rows,
                       .ld = st->feed.columns,
                       .units = feed_units(&st->feed, k),
                       .number = {first_row + from, number ? number + from : NULL},
                       .block = block ? block + from : NULL,
                       .exposure = g->schema.exposed ? st->exposure : NULL};
        TRY(output_block(st->predictor[k], g, &b, st->sheet.latent, st->columns, e));
        if (st->sheet.parts)
            TRY(predictor_opinions(st->predictor[k], &b, st->sheet.latent,
                                   st->columns + n * sheet_own_width(&st->sheet, k), e));
        place_columns(st, n, sheet_width_of(&st->sheet, k), at, to);
    }
    return ANYGP_OK;
}

/* n rows into the table, those of all ranks. */
static anygp_status predict_block(stream *st, const gp_set *m, int64_t n, int64_t first_row, const int64_t *number,
                                  const double *cells, anygp_error *e)
{
    const comm *c = st->comm;
    if (c->size == 1) return predict_rows(st, m, 0, n, first_row, number, cells, e);
    int64_t from = ranks_from(c, n), end = ranks_end(c, n), wide = st->sheet.width;
    anygp_error said = {0};
    anygp_status status = ANYGP_OK;
    memset(st->table, 0, (size_t)(n * wide) * sizeof *st->table);
    if (from < end) status = predict_rows(st, m, from, end - from, first_row, number, cells, &said);
    TRY(ranks_agree(c, status, &said, e));
    return c->sum(c->ctx, n * wide, st->table, e);
}

static anygp_status write_block(stream *st, int64_t n, anygp_error *e)
{
    if (st->comm->rank > 0) return ANYGP_OK;
    if (!st->writer) TRY(sheet_open(&st->sheet, st->s, st->out, &st->writer, e));
    TRY(writer_rows(st->writer, n, st->table, e));
    return feed_is_live(&st->feed) || st->answers ? writer_flush(st->writer, e) : ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- bad rows */

/* A damaged record has become a row without a single cell. */
static bool is_empty(const double *row, int64_t wide)
{
    int64_t j = 0;
    while (j < wide && isnan(row[j])) j++;
    return j == wide;
}

static bool is_good(stream *st, const gp_set *m, int64_t number, const double *row)
{
    const char *damaged;
    if (is_empty(row, st->feed.columns)) {
        if (st->bad == 0 && binding_forgiven(st->feed.binding, &damaged) > 0)
            fail_with(&st->why, ANYGP_ERR_DATA, "%s", damaged);
        else if (st->bad == 0)
            fail_with(&st->why, ANYGP_ERR_DATA, "row %lld has no cells", (long long)number + 1);
        return false;
    }
    for (int64_t k = 0; k < m->targets; k++) {
        const row_units *u = feed_units(&st->feed, k);
        row_use use = row_units_use(u, number, row);
        if (use == ROW_USED) continue;
        if (st->bad == 0) row_units_refuse(u, &m->gp[k]->schema, use, number, row, &st->why);
        return false;
    }
    return true;
}

/* The rows that can be predicted, into st->good. */
static int64_t keep_good(stream *st, const gp_set *m, int64_t n, int64_t first, const double *cells)
{
    int64_t good = 0, wide = st->feed.columns;
    for (int64_t i = 0; i < n; i++) {
        if (!is_good(st, m, first + i, cells + i * wide)) {
            st->bad++;
            continue;
        }
        st->number[good] = first + i;
        memcpy(st->good + good * wide, cells + i * wide, (size_t)wide * sizeof *cells);
        good++;
    }
    return good;
}

/* Each of the good rows to its place, from the last one on, and nan between them. */
static void spread_rows(const stream *st, int64_t n, int64_t first, int64_t good)
{
    int64_t wide = st->sheet.width;
    for (int64_t i = n - 1, k = good - 1; i >= 0; i--) {
        double *to = st->table + i * wide;
        if (k >= 0 && st->number[k] == first + i) {
            memmove(to, st->table + k * wide, (size_t)wide * sizeof *to);
            k--;
        } else {
            for (int64_t c = 0; c < wide; c++) to[c] = NAN;
        }
    }
}

/* The row cannot be predicted, and why says so. */
static bool ends_here(const stream *st, const gp_set *m, int64_t number, const double *row, anygp_error *why)
{
    const char *damaged;
    if (is_empty(row, st->feed.columns) && binding_forgiven(st->feed.binding, &damaged) > 0)
        return fail_with(why, ANYGP_ERR_DATA, "%s", damaged), true;
    for (int64_t k = 0; k < m->targets; k++) {
        const row_units *u = feed_units(&st->feed, k);
        row_use use = row_units_use(u, number, row);
        if (use != ROW_USED) return row_units_refuse(u, &m->gp[k]->schema, use, number, row, why), true;
    }
    return false;
}

/* The rows before the first one that cannot be predicted. */
static int64_t rows_before_end(stream *st, const gp_set *m, int64_t n, int64_t first, const double *cells)
{
    int64_t i = 0;
    while (i < n && !ends_here(st, m, first + i, cells + i * st->feed.columns, &st->why)) i++;
    return i;
}

static anygp_status predict_some(stream *st, const gp_set *m, int64_t n, int64_t first, const double *cells,
                                 anygp_error *e)
{
    int64_t good = st->skip ? keep_good(st, m, n, first, cells) : n;
    if (!st->skip) TRY(predict_block(st, m, n, first, NULL, cells, e));
    if (st->skip && good > 0) TRY(predict_block(st, m, good, first, st->number, st->good, e));
    if (good < n) spread_rows(st, n, first, good);
    sheet_place_kept(&st->sheet, &st->feed, n, cells, st->table);
    return write_block(st, n, e);
}

static void warn_of_bad(const stream *st)
{
    if (st->bad > 0)
        settings_log(st->s, ANYGP_WARNING, "%lld row%s could not be predicted and %s nan; the first: %.400s",
                     (long long)st->bad, st->bad == 1 ? "" : "s", st->bad == 1 ? "is" : "are", st->why.text);
}

static anygp_status predict_marginals(const gp_set *m, const settings *s, const comm *c, const char *in,
                                      const char *out, anygp_error *e)
{
    stream st = {.sheet = {.m = m, .latent = settings_number(s, SET_LATENT) == 1, .parts = wants_parts(s)},
                 .s = s,
                 .comm = c,
                 .out = out};
    anygp_status status = ANYGP_OK;
    int64_t got = 0;
    TRY_DONE(stream_open(&st, m, s, in, e));
    for (;;) {
        const double *cells;
        int64_t first = feed_row_number(&st.feed);
        TRY_DONE(settings_check_stop(s, e));
        TRY_DONE(feed_next(&st.feed, st.block, true, &cells, &got, e));
        if (got == 0) break;
        TRY_DONE(block_file_next(st.blocks, got, e));
        int64_t n = st.answers ? rows_before_end(&st, m, got, first, cells) : got;
        if (n > 0) TRY_DONE(predict_some(&st, m, n, first, cells, e));
        if (n == got) continue;
        status = fail_with(e, st.why.status, "%s", st.why.text);
        goto done;
    }
    TRY_DONE(block_file_end(st.blocks, e));
    warn_of_bad(&st);
    writer *w = st.writer;
    st.writer = NULL;
    if (c->rank == 0) status = writer_close(w, e);
done:
    stream_close(&st, m->targets);
    return status;
}

/* Draws have no columns of experts, and other models no experts. */
static anygp_status check_parts(const gp_set *m, const settings *s, anygp_error *e)
{
    if (!wants_parts(s)) return ANYGP_OK;
    if (settings_integer(s, SET_SAMPLES) > 0)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "parts: draws are not made of parts; leave --parts or --samples out");
    for (int64_t t = 0; t < m->targets; t++) TRY(gp_check_experts(m->gp[t], e));
    return ANYGP_OK;
}

/* Draws are joint, and blocks are given row by row: neither can do without a row. */
static anygp_status check_bad(const settings *s, anygp_error *e)
{
    bool whole = settings_integer(s, SET_SAMPLES) > 0 || settings_given(s, SET_BLOCKS_FROM);
    if (!whole || !settings_is(s, SET_BAD, "skip")) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT, "bad: rows cannot be skipped with --samples or --blocks-from");
}

anygp_status gp_predict_file(const gp_set *m, const settings *s, const comm *c, const char *in, const char *out,
                             anygp_error *e)
{
    bool draws = settings_integer(s, SET_SAMPLES) > 0;
    TRY(check_parts(m, s, e));
    TRY(check_bad(s, e));
    if (!draws) return predict_marginals(m, s, c, in, out, e);
    return c->rank == 0 ? stream_draws(m, s, in, out, e) : ANYGP_OK; /* of one stream of numbers */
}
