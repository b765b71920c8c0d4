/* From one file format to another, a piece of rows at a time. */
#include "data/formats/convert.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/formats/writer.h"

enum { BLOCK_CELLS = 1 << 18 };

/* The columns' names, "" where one has none; NULL where none has. */
static anygp_status list_names(const reader *r, const char ***names, anygp_error *e)
{
    int64_t cols = reader_columns(r), named = 0;
    *names = mem_alloc(cols, sizeof **names);
    if (!*names) return fail_memory(e, "column names", 8.0 * (double)cols);
    for (int64_t j = 0; j < cols; j++) {
        const char *name = reader_column(r, j)->name;
        (*names)[j] = name ? name : "";
        named += name != NULL;
    }
    if (named == 0) free(*names), *names = NULL;
    return ANYGP_OK;
}

static anygp_status copy_rows(reader *r, writer *w, const stop_poll *stop, anygp_error *e)
{
    int64_t cols = reader_columns(r), block = BLOCK_CELLS / cols + 1, got = 1;
    anygp_status status = ANYGP_OK;
    double *rows = mem_doubles(block, cols);
    if (!rows) return fail_memory(e, "a block of rows", 8.0 * (double)block * (double)cols);
    while (got > 0) {
        TRY_DONE(stop_check(stop, e));
        TRY_DONE(reader_next(r, block, rows, &got, e));
        TRY_DONE(writer_rows(w, got, rows, e));
    }
done:
    free(rows);
    return status;
}

anygp_status convert_file(const char *in, const read_options *o, const char *out, anygp_error *e)
{
    anygp_status status;
    reader *r = NULL;
    writer *w = NULL;
    const char **names = NULL;
    if (!writer_knows(out))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "%.200s: the ending is that of no format that can be written; use .h5, .npy, .csv, .tsv, "
                         ".csv.gz or .tsv.gz",
                         out);
    TRY_DONE(reader_open(in, o, &r, e));
    TRY_DONE(list_names(r, &names, e));
    TRY_DONE(writer_open(out, reader_columns(r), names, &w, e));
    TRY_DONE(writer_columns(w, reader_column(r, 0), e));
    TRY_DONE(copy_rows(r, w, o ? &o->stop : NULL, e));
    status = writer_close(w, e);
    w = NULL;
done:
    writer_abort(w);
    reader_close(r);
    free(names);
    return status;
}
