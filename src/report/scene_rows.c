/* The rows of a table for a report.  A table is read once from its start to its end, whatever its size; of more rows than
   SCENE_ROWS_MOST, or than memory has room for, a sample is kept (a reservoir: every row is equally likely to be in it). */
#include "report/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/seen.h"

enum { CHUNK = 256 };
static const double BYTES_MOST = 200e6; /* of the rows kept */

static int64_t rows_most(const scene *c)
{
    const schema *s = &c->g->schema;
    double fits = fmin(BYTES_MOST, settings_memory(c->s) / 8) / (8.0 * (double)(s->D + s->classes + 16));
    return fits < 16 ? 16 : fits > SCENE_ROWS_MOST ? SCENE_ROWS_MOST : (int64_t)fits;
}

/* Where the next row goes: behind the others, or in place of one of them; -1: nowhere. */
static int64_t place_of_next(scene *c, int64_t most)
{
    int64_t seen = c->usable++;
    if (seen < most) return c->n++;
    int64_t at = random_below((random_stream){.use = RANDOM_REPORT}, (uint64_t)seen, seen + 1);
    return at < most ? at : -1;
}

static void keep(scene *c, int64_t most, int64_t number, const double *x, const double *y)
{
    int64_t at = place_of_next(c, most);
    if (at < 0) return;
    scene_from_model(c, x, c->X + at * c->D);
    c->y[at] = y[0], c->exposure[at] = y[1], c->number[at] = number;
}

/* One row of the table. */
static anygp_status take(scene *c, const row_units *u, int64_t most, int64_t number, const double *row, double exposure,
                         double *x, anygp_error *e)
{
    const schema *s = &c->g->schema;
    double y[2] = {0, exposure}, w = 1;
    if (c->held > 0 && !rows_held((uint64_t)settings_integer(c->s, SET_SEED), number, c->held)) return ANYGP_OK;
    c->file_rows++;
    row_use use = row_units_use(u, number, row);
    if (use == ROW_BAD_INPUT) return c->incomplete++, ANYGP_OK;
    if (row_refused(use)) return row_units_refuse(u, s, use, number, row, e);
    if (use == ROW_NO_TARGET) return c->unlabelled++, ANYGP_OK;
    if (use != ROW_USED) return ANYGP_OK;
    if (c->labelled)
        row_units_convert(u, row, x, y, &w);
    else
        row_units_inputs(u, row, x);
    keep(c, most, number, x, y);
    return ANYGP_OK;
}

/* digest: of all rows [seen.h]. */
static anygp_status read_all(scene *c, const gp_set *m, binding *b, int64_t most, uint64_t *digest, anygp_error *e)
{
    double exposure[CHUNK], *x = mem_alloc(c->g->schema.D, sizeof *x);
    anygp_status status = x ? ANYGP_OK : fail_memory(e, "a row", 8.0 * (double)c->g->schema.D);
    int64_t got = 1, wide = binding_columns(b);
    while (!ANYGP_FAILED(status) && got > 0) {
        const double *cells;
        int64_t first = binding_row_number(b);
        TRY_DONE(settings_check_stop(c->s, e));
        TRY_DONE(binding_next(b, CHUNK, &cells, &got, e));
        *digest += seen_rows(m, b, got, cells);
        if (!c->labelled && got > 0) binding_exposure(b, got, cells, exposure);
        for (int64_t i = 0; i < got; i++)
            TRY_DONE(
                take(c, binding_units(b, 0), most, first + i, cells + i * wide, c->labelled ? 1 : exposure[i], x, e));
    }
done:
    free(x);
    return status;
}

static anygp_status room_for_rows(scene *c, int64_t most, anygp_error *e)
{
    c->X = mem_doubles(most, c->D);
    c->number = mem_alloc(most, sizeof *c->number);
    c->exposure = mem_alloc(most, sizeof *c->exposure);
    c->y = mem_alloc(most, sizeof *c->y);
    if (c->X && c->number && c->exposure && c->y) return ANYGP_OK;
    return fail_memory(e, "the rows of a report", 8.0 * (double)most * (double)(c->g->schema.D + 3));
}

static anygp_status read_table(scene *c, bool labelled, int64_t most, anygp_error *e)
{
    gp *list[1] = {(gp *)c->g};                                              /* not changed by what only reads */
    gp_set set = {.targets = 1, .gp = list, .settings = (settings *)c->fit}; /* how its tables are written */
    binding *b = NULL;
    anygp_error none;
    uint64_t digest = 0;
    TRY(binding_open(&set, c->path, c->s, &b, e));
    c->n = c->usable = c->file_rows = c->incomplete = c->unlabelled = 0;
    c->labelled = labelled && !ANYGP_FAILED(binding_labels(b, true, "to compare with", &none));
    anygp_status status = read_all(c, &set, b, most, &digest, e);
    c->fitted |= c->held == 0 && seen_has(&set, digest);
    binding_close(b);
    return status;
}

anygp_status scene_read(scene *c, anygp_error *e)
{
    int64_t most = rows_most(c);
    TRY(room_for_rows(c, most, e));
    TRY(read_table(c, true, most, e));
    /* a target that all rows leave empty is as good as none */
    if (c->n == 0 && c->unlabelled > 0 && strcmp(c->path, "-")) TRY(read_table(c, false, most, e));
    if (c->n > 0) return ANYGP_OK;
    if (c->incomplete == 0 && c->held > 0)
        return fail_with(e, ANYGP_ERR_DATA, "%.200s: no row was held out that a report could use", c->path);
    return fail_with(e, ANYGP_ERR_DATA, "%.200s has no row that a report can use: %lld lack inputs, %lld the target",
                     c->path, (long long)c->incomplete, (long long)c->unlabelled);
}
