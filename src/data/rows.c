#include "data/rows.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/dataset_targets.h"
#include "data/intake.h"
#include "data/rows_inside.h"

enum { CHUNK_CELLS = 1 << 16 };

/* --------------------------------------------------------------------------------- opening */

static row_source *rows_new(void)
{
    row_source *r = calloc(1, sizeof *r);
    if (r && pthread_mutex_init(&r->lock, NULL)) {
        free(r);
        return NULL;
    }
    return r;
}

anygp_status rows_open_table(const table *t, row_source **out, anygp_error *e)
{
    row_source *r = *out = rows_new();
    if (!r) return fail_memory(e, "the row list", sizeof *r);
    r->table = t;
    r->count = t->rows, r->cols = t->cols, r->target = t->target;
    r->columns = t->columns;
    return ANYGP_OK;
}

static anygp_status attach_file(row_source *r, const char *path, const read_options *o, anygp_error *e)
{
    TRY(reader_open(path, o, &r->file, e));
    if (!reader_can_seek(r->file))
        return fail_with(e, ANYGP_ERR_DATA,
                         "the rows of %s cannot be reached by number; unpack it, or convert it to .h5",
                         reader_name(r->file));
    r->count = reader_rows(r->file), r->cols = reader_columns(r->file), r->target = reader_target(r->file);
    r->columns = reader_column(r->file, 0);
    if (r->count > 0) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA, "%s has no data rows; a table needs at least one", reader_name(r->file));
}

anygp_status rows_open_file(const char *path, const read_options *o, row_source **out, anygp_error *e)
{
    row_source *r = rows_new();
    *out = NULL;
    if (!r) return fail_memory(e, "the row list", sizeof *r);
    anygp_status status = attach_file(r, path, o, e);
    if (ANYGP_FAILED(status)) {
        rows_close(r);
        return status;
    }
    *out = r;
    return ANYGP_OK;
}

bool rows_can_stay(const char *path)
{
    static const char *const endings[] = {".npy", ".h5", ".hdf5"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t k = strlen(endings[i]);
        if (n >= k && !strcasecmp(path + n - k, endings[i])) return true;
    }
    return false;
}

void rows_close(row_source *r)
{
    if (!r) return;
    reader_close(r->file);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void rows_stop(row_source *r, stop_poll stop)
{
    if (r->file) reader_stop(r->file, stop);
}

int64_t rows_count(const row_source *r) { return r->count; }
int64_t rows_columns(const row_source *r) { return r->cols; }
const column *rows_column(const row_source *r, int64_t j) { return &r->columns[j]; }
int64_t rows_target(const row_source *r) { return r->target; }

bool rows_held(uint64_t seed, int64_t row, double share)
{
    return share > 0 && random_uniform((random_stream){seed, RANDOM_SPLIT, 0}, (uint64_t)row) < share;
}

/* --------------------------------------------------------------------------------- reading */

int64_t rows_chunk(const row_source *r) { return CHUNK_CELLS / r->cols + 1; }
double *rows_room(const row_source *r, int64_t n) { return r->table ? mem_doubles(0, 0) : mem_doubles(n, r->cols); }

anygp_status rows_fetch_runs(row_source *r, int count, const row_run *runs, double *room, anygp_error *e)
{
    pthread_mutex_lock(&r->lock);
    anygp_status status = reader_runs(r->file, count, runs, room, e);
    pthread_mutex_unlock(&r->lock);
    return status;
}

anygp_status rows_fetch(row_source *r, int64_t first, int64_t n, double *room, const double **at, anygp_error *e)
{
    *at = r->table ? r->table->values + first * r->cols : room;
    return r->table || n == 0 ? ANYGP_OK : rows_fetch_runs(r, 1, &(row_run){first, n}, room, e);
}

/* ----------------------------------------------------------------------------- model units */

static anygp_status take_inputs(const schema *s, row_units *u, anygp_error *e)
{
    if (!(u->x = mem_alloc(u->D, sizeof *u->x))) return fail_memory(e, "column scales", 32.0 * (double)u->D);
    for (int64_t j = 0; j < u->D; j++) {
        const input_spec *c = schema_at(s, j);
        u->x[j] = (cell_units){c->number, c->shift, c->scale, c->fill};
    }
    return ANYGP_OK;
}

static anygp_status take_targets(const row_source *r, const rows_part *part, const dataset *sample, row_units *u,
                                 anygp_error *e)
{
    int64_t T = part->y.targets;
    u->target = mem_alloc(T, sizeof *u->target);
    u->unit = mem_alloc(T, sizeof *u->unit);
    if (!u->target || !u->unit) return fail_memory(e, "the targets", 24.0 * (double)T);
    memcpy(u->target, part->y.target, (size_t)T * sizeof *u->target);
    u->y.target = u->target;
    for (int64_t t = 0; t < T; t++) {
        const schema *s = dataset_target(sample, t);
        u->unit[t] = (target_scale){s->y_shift, s->y_scale};
    }
    return target_codes_make(sample, r->columns, &u->y, &u->codes, e);
}

anygp_status row_units_make(const row_source *r, const rows_part *part, const dataset *sample, row_units *u,
                            anygp_error *e)
{
    *u = (row_units){
        .D = sample->D, .Q = target_numbers(&part->y), .y = part->y, .hold_out = part->hold_out, .seed = part->seed};
    anygp_status status = take_inputs(&sample->schema, u, e);
    if (!ANYGP_FAILED(status)) status = take_targets(r, part, sample, u, e);
    if (ANYGP_FAILED(status)) row_units_clear(u);
    return status;
}

void row_units_clear(row_units *u)
{
    target_codes_free(u->codes, u->y.targets);
    free(u->x);
    free(u->target);
    free(u->unit);
    *u = (row_units){0};
}

bool row_units_uses(const row_units *u, int64_t number, const double *row)
{
    return intake_row(row, &u->y) == ROW_USED && !rows_held(u->seed, number, u->hold_out);
}

void row_units_convert(const row_units *u, const double *row, double *x, double *y, double *w)
{
    for (int64_t j = 0; j < u->D; j++) {
        const cell_units *c = &u->x[j];
        x[j] = schema_scale(intake_cell(row[c->number], c->fill), c->shift, c->scale);
    }
    targets_take(&u->y, u->codes, row, y);
    for (int64_t t = 0, width = target_width(&u->y); t < u->y.targets; t++)
        y[t * width] = schema_scale(y[t * width], u->unit[t].shift, u->unit[t].scale);
    *w = intake_weight(row, u->y.weights);
}
