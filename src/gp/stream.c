/* A file of rows to a file of predictions, a block at a time: memory does not grow with the rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/name_list.h"
#include "data/formats/writer.h"
#include "gp/feed.h"

/* The share of the memory that may be used. */
static double half_of_memory(const settings *s) { return settings_memory(s) / 2; }

double gp_block_budget(const settings *s) { return fmin(half_of_memory(s), 256e6); }

/* --------------------------------------------------------------------------- columns of the file */

static bool wants_parts(const settings *s) { return settings_number(s, SET_PARTS) == 1; }

/* What the file shows for every target: marginals, or S draws. */
typedef struct sheet {
    const gp_set *m;
    bool latent;
    bool parts;            /* the experts' predictions too */
    int64_t samples;       /* S; 0: marginals */
    int64_t kept, *keep;   /* columns of the rows that come first: how many, and which */
    int64_t width, widest; /* the latter: of the targets' */
    char **name;           /* width */
    column *cells;         /* width: those with labels are text */
} sheet;

/* Of a target's predictions, without those of its experts. */
static int64_t own_width(const sheet *t, int64_t target) { return output_width(t->m->gp[target], t->latent); }

static int64_t width_of(const sheet *t, int64_t target)
{
    if (t->samples) return t->samples;
    return own_width(t, target) + (t->parts ? OPINION_COLUMNS * gp_experts(t->m->gp[target]) : 0);
}

static void sheet_clear(sheet *t)
{
    for (int64_t i = 0; t->name && i < t->width; i++) free(t->name[i]);
    free(t->name);
    free(t->cells);
    free(t->keep);
}

static int suffix_of(const sheet *t, int64_t target, int64_t i, char *buffer, size_t size)
{
    static const char *const opinion[OPINION_COLUMNS] = {"mean", "sd", "weight"};
    int64_t more = i - own_width(t, target);
    if (t->samples) return snprintf(buffer, size, "sample%lld", (long long)i + 1);
    if (more < 0) return output_suffix(t->m->gp[target], t->latent, i, buffer, size);
    return snprintf(buffer, size, "%s_expert%lld", opinion[more % OPINION_COLUMNS],
                    (long long)more / OPINION_COLUMNS + 1);
}

static char *column_name(const sheet *t, int64_t target, int64_t i)
{
    size_t size = (size_t)suffix_of(t, target, i, NULL, 0) + 1;
    char *end = malloc(size), *name = NULL;
    if (end) suffix_of(t, target, i, end, size), name = output_named(t->m, target, end);
    free(end);
    return name;
}

/* Labels that are texts: the first column of a target's marginals, all of its draws. */
static bool is_label(const sheet *t, int64_t target, int64_t i)
{
    const gp *g = t->m->gp[target];
    return gp_is_class(g) && g->schema.class_text && !t->latent && (i == 0 || t->samples);
}

static column cells_of(const sheet *t, int64_t target, int64_t i)
{
    const schema *s = &t->m->gp[target]->schema;
    if (!is_label(t, target, i)) return (column){.kind = COLUMN_NUMBER};
    return (column){.kind = COLUMN_TEXT, .levels = s->classes, .level = s->class_name};
}

/* A column of the rows that is kept: its name or, where it has none, its number. */
static char *kept_name(const column *c, int64_t number)
{
    char label[32];
    snprintf(label, sizeof label, "x%lld", (long long)number);
    return mem_strdup(c->name ? c->name : label);
}

static anygp_status keep_columns(sheet *t, const feed *f, const settings *s, anygp_error *e)
{
    bool *mark = mem_zeroed(f->columns, sizeof *mark);
    t->keep = mem_alloc(f->columns, sizeof *t->keep);
    anygp_status status = mark && t->keep ? feed_kept(f, s, mark, e) : fail_memory(e, "column names", 0);
    for (int64_t j = 0; j < f->columns && !ANYGP_FAILED(status); j++)
        if (mark[j]) t->keep[t->kept++] = j;
    free(mark);
    return status;
}

/* The texts that the kept columns have shown so far. */
static void follow_kept(const sheet *t, const feed *f)
{
    for (int64_t c = 0; c < t->kept; c++) t->cells[c] = feed_columns(f)[t->keep[c]];
}

/* From the rows cells[n, columns] to the front of those of the table. */
static void place_kept(const sheet *t, const feed *f, int64_t n, const double *cells, double *to)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < t->kept; c++) to[i * t->width + c] = cells[i * f->columns + t->keep[c]];
    follow_kept(t, f);
}

static anygp_status sheet_make(sheet *t, const feed *f, const settings *s, anygp_error *e)
{
    TRY(keep_columns(t, f, s, e));
    t->width = t->kept;
    for (int64_t k = 0; k < t->m->targets; k++) {
        int64_t width = width_of(t, k);
        t->width += width;
        t->widest = width > t->widest ? width : t->widest;
    }
    t->name = mem_zeroed(t->width, sizeof *t->name);
    t->cells = mem_zeroed(t->width, sizeof *t->cells);
    if (!t->name || !t->cells) return fail_memory(e, "column names", 0);
    for (int64_t c = 0; c < t->kept; c++)
        if (!(t->name[c] = kept_name(&feed_columns(f)[t->keep[c]], t->keep[c])))
            return fail_memory(e, "column names", 0);
    follow_kept(t, f);
    for (int64_t k = 0, j = t->kept; k < t->m->targets; k++)
        for (int64_t i = 0; i < width_of(t, k); i++, j++) {
            t->cells[j] = cells_of(t, k, i);
            if (!(t->name[j] = column_name(t, k, i))) return fail_memory(e, "column names", 0);
        }
    return ANYGP_OK;
}

/* Labels are texts where the format has them; else the indices of the classes, as info lists them. */
static anygp_status sheet_open(const sheet *t, const settings *s, const char *out, writer **w, anygp_error *e)
{
    bool texts = false;
    int64_t kept = -1;
    for (int64_t j = 0; j < t->width; j++) texts = texts || t->cells[j].kind == COLUMN_TEXT;
    for (int64_t j = t->kept - 1; j >= 0; j--) kept = t->cells[j].kind == COLUMN_TEXT ? j : kept;
    TRY(writer_open(out, t->width, (const char *const *)t->name, w, e));
    if (!texts) return ANYGP_OK;
    if (writer_has_texts(*w)) return writer_columns(*w, t->cells, e);
    if (kept >= 0)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "keep: column %.80s is text, and %.200s can hold numbers only; write a .csv", t->name[kept],
                         out);
    settings_log(s, ANYGP_NOTE,
                 "%.200s can hold numbers only: labels are the numbers of their classes, from 0, in the "
                 "order that anygp info lists them",
                 out);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- marginals */

typedef struct stream {
    feed feed;
    block_file *blocks;
    const settings *s;
    const char *out;
    writer *writer; /* opened when there is something to write: a file that fails at once leaves nothing behind */
    predictor **predictor; /* targets */
    sheet sheet;
    int64_t block;
    double *exposure;
    double *columns; /* block x widest, column-major: one target's */
    double *table;   /* block x width */
    bool skip;       /* --bad skip: rows that cannot be predicted are nan */
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
    if (!(st->predictor = mem_zeroed(T, sizeof *st->predictor))) return fail_memory(e, "prediction", 0);
    for (int64_t k = 0; k < T; k++) {
        TRY(predictor_new(m->gp[k], gp_block_budget(s) / (double)T, &st->predictor[k], e));
        int64_t block = predictor_block(st->predictor[k]);
        st->block = k == 0 || block < st->block ? block : st->block;
    }
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

/* One target's columns to their place in the rows of the table. */
static void place_columns(const stream *st, int64_t n, int64_t width, int64_t at)
{
    int64_t wide = st->sheet.width;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < width; c++) st->table[i * wide + at + c] = st->columns[i + c * n];
}

/* n rows into the table.  number: of each in the file; NULL: from first_row on. */
static anygp_status predict_block(stream *st, const gp_set *m, int64_t n, int64_t first_row, const int64_t *number,
                                  const double *cells, anygp_error *e)
{
    feed_exposure(&st->feed, n, cells, st->exposure);
    for (int64_t k = 0, at = st->sheet.kept; k < m->targets; at += width_of(&st->sheet, k++)) {
        const gp *g = m->gp[k];
        row_batch b = {.n = n,
                       .rows = cells,
                       .ld = st->feed.columns,
                       .units = feed_units(&st->feed, k),
                       .number = {first_row, number},
                       .block = block_file_of(st->blocks, k),
                       .exposure = g->schema.exposed ? st->exposure : NULL};
        TRY(output_block(st->predictor[k], g, &b, st->sheet.latent, st->columns, e));
        if (st->sheet.parts)
            TRY(predictor_opinions(st->predictor[k], &b, st->sheet.latent, st->columns + n * own_width(&st->sheet, k),
                                   e));
        place_columns(st, n, width_of(&st->sheet, k), at);
    }
    return ANYGP_OK;
}

static anygp_status write_block(stream *st, int64_t n, anygp_error *e)
{
    if (!st->writer) TRY(sheet_open(&st->sheet, st->s, st->out, &st->writer, e));
    TRY(writer_rows(st->writer, n, st->table, e));
    return feed_is_live(&st->feed) ? writer_flush(st->writer, e) : ANYGP_OK;
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

static anygp_status predict_some(stream *st, const gp_set *m, int64_t n, int64_t first, const double *cells,
                                 anygp_error *e)
{
    int64_t good = st->skip ? keep_good(st, m, n, first, cells) : n;
    if (!st->skip) TRY(predict_block(st, m, n, first, NULL, cells, e));
    if (st->skip && good > 0) TRY(predict_block(st, m, good, first, st->number, st->good, e));
    if (good < n) spread_rows(st, n, first, good);
    place_kept(&st->sheet, &st->feed, n, cells, st->table);
    return write_block(st, n, e);
}

static void warn_of_bad(const stream *st)
{
    if (st->bad > 0)
        settings_log(st->s, ANYGP_WARNING, "%lld row%s could not be predicted and %s nan; the first: %.400s",
                     (long long)st->bad, st->bad == 1 ? "" : "s", st->bad == 1 ? "is" : "are", st->why.text);
}

static anygp_status predict_marginals(const gp_set *m, const settings *s, const char *in, const char *out,
                                      anygp_error *e)
{
    stream st = {
        .sheet = {.m = m, .latent = settings_number(s, SET_LATENT) == 1, .parts = wants_parts(s)}, .s = s, .out = out};
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
        TRY_DONE(predict_some(&st, m, got, first, cells, e));
    }
    TRY_DONE(block_file_end(st.blocks, e));
    warn_of_bad(&st);
    writer *w = st.writer;
    st.writer = NULL;
    status = writer_close(w, e);
done:
    stream_close(&st, m->targets);
    return status;
}

/* ----------------------------------------------------------------------------------------- draws */

/* All rows of the file, raw: joint draws need them together. */
typedef struct all_rows {
    int64_t n, capacity, wide;
    double *rows, *exposure;
} all_rows;

static anygp_status reserve_rows(all_rows *a, int64_t more, anygp_error *e)
{
    size_t cells = 0;
    if (a->n + more <= a->capacity) return ANYGP_OK;
    int64_t capacity = 2 * a->capacity + 4 * more;
    bool fits = size_mul(capacity, (a->wide + 1) * (int64_t)sizeof(double), &cells);
    double *rows = fits ? realloc(a->rows, cells) : NULL;
    if (rows) a->rows = rows;
    double *exposure = rows ? realloc(a->exposure, (size_t)capacity * sizeof *exposure) : NULL;
    if (!exposure) return fail_memory(e, "the rows", 8.0 * (double)capacity * (double)(a->wide + 1));
    a->exposure = exposure, a->capacity = capacity;
    return ANYGP_OK;
}

/* In at most `most` bytes. */
static anygp_status read_all(feed *f, const gp *g, double most, all_rows *a, anygp_error *e)
{
    enum { CHUNK = 256 };
    int64_t got;
    a->wide = f->columns;
    do {
        const double *cells;
        if (gp_joint_bytes(g, a->n) > most)
            return fail_with(e, ANYGP_ERR_MEMORY, "joint draws at %lld rows or more need over %.3g GB; use fewer rows",
                             (long long)a->n, most / 1e9);
        TRY(reserve_rows(a, CHUNK, e));
        TRY(feed_next(f, CHUNK, false, &cells, &got, e));
        memcpy(a->rows + a->n * a->wide, cells, (size_t)(got * a->wide) * sizeof *cells);
        feed_exposure(f, got, cells, a->exposure + a->n);
        a->n += got;
    } while (got > 0);
    return ANYGP_OK;
}

/* Classes are drawn by their indices. */
static double draw_cell(const gp *g, bool latent, double y)
{
    return gp_is_class(g) && !latent ? label_cell(&g->schema, (int64_t)y) : y;
}

static anygp_status write_draws(const sheet *t, const feed *f, writer *w, const all_rows *a, const double *draws,
                                anygp_error *e)
{
    int64_t n = a->n;
    double *row = mem_alloc(t->width, sizeof *row);
    anygp_status status = row ? ANYGP_OK : fail_memory(e, "a row", 8.0 * (double)t->width);
    for (int64_t i = 0; i < n && !ANYGP_FAILED(status); i++) {
        place_kept(t, f, 1, a->rows + i * a->wide, row);
        for (int64_t c = 0; c < t->width - t->kept; c++)
            row[t->kept + c] = draw_cell(t->m->gp[c / t->samples], t->latent, draws[i + c * n]);
        status = writer_rows(w, 1, row, e);
    }
    free(row);
    return status;
}

static anygp_status draw_targets(const sheet *t, const settings *s, const all_rows *a, const feed *in,
                                 const block_file *blocks, double *draws, anygp_error *e)
{
    for (int64_t k = 0; k < t->m->targets; k++) {
        const gp *g = t->m->gp[k];
        row_batch b = {.n = a->n,
                       .rows = a->rows,
                       .ld = a->wide,
                       .units = feed_units(in, k),
                       .block = block_file_of(blocks, k),
                       .exposure = g->schema.exposed ? a->exposure : NULL};
        TRY(gp_sample(g, &b, t->latent, (uint64_t)(settings_integer(s, SET_SEED) + k), t->samples,
                      draws + k * t->samples * a->n, e));
    }
    return ANYGP_OK;
}

static anygp_status predict_draws(const gp_set *m, const settings *s, const char *in, const char *out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    sheet t = {.m = m, .latent = settings_number(s, SET_LATENT) == 1, .samples = settings_integer(s, SET_SAMPLES)};
    all_rows a = {0};
    double *draws = NULL;
    feed f = {0};
    block_file *blocks = NULL;
    writer *w = NULL;
    TRY_DONE(feed_open(&f, m, s, in, e));
    TRY_DONE(sheet_make(&t, &f, s, e));
    TRY_DONE(block_file_open(m, s, settings_text(s, SET_BLOCKS_FROM), in, &blocks, e));
    TRY_DONE(read_all(&f, m->gp[0], half_of_memory(s), &a, e));
    TRY_DONE(block_file_next(blocks, a.n, e));
    TRY_DONE(block_file_end(blocks, e));
    if (!(draws = mem_doubles(a.n, t.width))) {
        status = fail_memory(e, "the draws", 8.0 * (double)a.n * (double)t.width);
        goto done;
    }
    TRY_DONE(draw_targets(&t, s, &a, &f, blocks, draws, e));
    TRY_DONE(sheet_open(&t, s, out, &w, e));
    TRY_DONE(write_draws(&t, &f, w, &a, draws, e));
    status = writer_close(w, e);
    w = NULL;
done:
    writer_abort(w);
    feed_close(&f);
    block_file_close(blocks);
    sheet_clear(&t);
    free(a.rows);
    free(a.exposure);
    free(draws);
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

anygp_status gp_predict_file(const gp_set *m, const settings *s, const char *in, const char *out, anygp_error *e)
{
    TRY(check_parts(m, s, e));
    TRY(check_bad(s, e));
    return settings_integer(s, SET_SAMPLES) > 0 ? predict_draws(m, s, in, out, e) : predict_marginals(m, s, in, out, e);
}
