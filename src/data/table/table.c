/* A whole table in memory.  The array starts at the size the file suggests and grows by doubling: untouched pages
   are not resident and large blocks move by remapping, so memory follows what has been read; in the end it is
   cut to size. */
#include "data/formats/reader.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/formats/format.h"

enum { FIRST_VALUES = 1 << 16 };

/* Bytes that more rows may take: of the limit if there is one, never more than the machine has left. */
static double bytes_left(const table *t, double limit)
{
    double held = (double)t->rows * (double)t->cols * sizeof(double), left = (double)memory_available();
    return limit > 0 && limit - held < left ? limit - held : left;
}

static anygp_status too_large(const reader *r, const table *t, double bytes, double limit, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_MEMORY,
                     "%s needs %s%.3g GB as a table of %lld columns, but only %.3g GB of memory may be used; use fewer "
                     "rows or columns",
                     reader_name(r), r->rows < 0 ? "over " : "", bytes / 1e9, (long long)r->cols,
                     (limit > 0 ? limit : bytes_left(t, limit)) / 1e9);
}

/* Room for `rows` rows; the rows read so far stay. */
static anygp_status resize(const reader *r, table *t, int64_t rows, double limit, anygp_error *e)
{
    size_t count, bytes;
    if (!size_mul(rows, t->cols, &count) || !size_mul((int64_t)count, sizeof(double), &bytes))
        return too_large(r, t, (double)rows * (double)t->cols * sizeof(double), limit, e);
    double *values = realloc(t->values, bytes ? bytes : 1);
    if (!values) return too_large(r, t, (double)bytes, limit, e);
    t->values = values;
    return ANYGP_OK;
}

/* Rows that exist for certain must fit; a guess is cut to what fits. */
static anygp_status first_room(const reader *r, const table *t, double limit, int64_t *room, anygp_error *e)
{
    double row_bytes = (double)r->cols * sizeof(double), left = bytes_left(t, limit);
    if (r->rows > 0 && r->likely_rows >= r->rows && (double)r->rows * row_bytes > left)
        return too_large(r, t, (double)r->rows * row_bytes, limit, e);
    *room = r->likely_rows;
    if (*room < FIRST_VALUES / r->cols + 1) *room = FIRST_VALUES / r->cols + 1;
    if (r->rows >= 0 && *room > r->rows) *room = r->rows > 0 ? r->rows : 1;
    if ((double)*room * row_bytes > left) *room = (int64_t)(left / row_bytes) + 1;
    return ANYGP_OK;
}

/* Twice the room, or what is left of it. */
static anygp_status grow(const reader *r, table *t, int64_t *room, double limit, anygp_error *e)
{
    double row_bytes = (double)t->cols * sizeof(double), more = bytes_left(t, limit) / row_bytes;
    if (more < 1) return too_large(r, t, (double)*room * row_bytes, limit, e);
    *room += more < (double)*room ? (int64_t)more : *room;
    return resize(r, t, *room, limit, e);
}

static anygp_status read_rows(reader *r, table *t, double limit, anygp_error *e)
{
    int64_t room = 0, got;
    TRY(first_room(r, t, limit, &room, e));
    TRY(resize(r, t, room, limit, e));
    for (;;) {
        TRY(reader_next(r, room - t->rows, t->values + t->rows * t->cols, &got, e));
        t->rows += got;
        if (t->rows < room || t->rows == r->rows) break;
        TRY(grow(r, t, &room, limit, e));
    }
    return t->rows < room ? resize(r, t, t->rows, limit, e) : ANYGP_OK;
}

anygp_status table_read(const char *path, const read_options *o, table **out, anygp_error *e)
{
    reader *r = NULL;
    anygp_status status;
    table *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t) return fail_memory(e, "a table", sizeof *t);
    TRY_DONE(reader_open(path, o, &r, e));
    t->cols = r->cols;
    TRY_DONE(read_rows(r, t, o ? o->memory : 0, e));
    t->target = r->target;
    t->columns = r->columns;
    r->columns = NULL;
    *out = t;
    t = NULL;
done:
    reader_close(r);
    table_free(t);
    return status;
}

void table_free(table *t)
{
    if (!t) return;
    columns_free(t->columns, t->cols);
    free(t->values);
    free(t);
}
