/* Joint draws at the rows of a file: all rows together, so that memory limits how many there can be. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/stream.h"

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
        sheet_place_kept(t, f, 1, a->rows + i * a->wide, row);
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

anygp_status stream_draws(const gp_set *m, const settings *s, const char *in, const char *out, anygp_error *e)
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
    TRY_DONE(read_all(&f, m->gp[0], stream_memory(s), &a, e));
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
