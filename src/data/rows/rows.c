/* Raw rows by number, from a table or a file, and their way into model units. */
#include "data/rows/rows.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "data/rows/rows_inside.h"

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
                         "the rows of %s cannot be accessed by number; unpack it, or convert it to .h5",
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

void rows_share(const row_source *r, const comm *c, int64_t *first, int64_t *end)
{
    int64_t each = r->count / c->size;
    *first = each * c->rank;
    *end = c->rank == c->size - 1 ? r->count : *first + each;
}

static anygp_status walk(row_source *r, int64_t first, int64_t end, double *room, rows_visitor see, void *ctx,
                         anygp_error *e)
{
    for (int64_t i = first, n; i < end; i += n) {
        const double *at;
        n = end - i < rows_chunk(r) ? end - i : rows_chunk(r);
        TRY(rows_fetch(r, i, n, room, &at, e));
        for (int64_t k = 0; k < n; k++) TRY(see(ctx, i + k, at + k * r->cols, e));
    }
    return ANYGP_OK;
}

anygp_status rows_walk(row_source *r, int64_t first, int64_t end, rows_visitor see, void *ctx, anygp_error *e)
{
    double *room = rows_room(r, rows_chunk(r));
    if (!room) return fail_memory(e, "rows of a file", 8.0 * (double)rows_chunk(r) * (double)r->cols);
    anygp_status status = walk(r, first, end, room, see, ctx, e);
    free(room);
    return status;
}
