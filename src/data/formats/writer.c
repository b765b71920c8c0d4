/* Tables written row by row, in the format of the name's ending. */
#include "data/formats/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/formats/writer_format.h"

static const writer_format *const formats[] = {&writer_npy, &writer_hdf5,
                                               &writer_csv}; /* the last one is the default */
enum { NFORMATS = sizeof formats / sizeof *formats };

static bool path_ends(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);
    return n >= k && !strcasecmp(path + n - k, ending);
}

bool writer_path_ends(const writer *w, const char *ending) { return path_ends(w->path, ending); }

static const writer_format *format_of(const char *path)
{
    for (int i = 0; i < NFORMATS; i++)
        for (const char *const *ending = formats[i]->endings; *ending; ending++)
            if (path_ends(path, *ending)) return formats[i];
    return NULL;
}

static bool is_standard(const char *path) { return !path || !strcmp(path, "-"); }
bool writer_knows(const char *path) { return is_standard(path) || format_of(path); }

anygp_status writer_failed(const writer *w, anygp_error *e) { return fail_write(w->path, e); }

anygp_status writer_put(writer *w, const void *bytes, size_t n, anygp_error *e)
{
    return fwrite(bytes, 1, n, w->stream) == n ? ANYGP_OK : writer_failed(w, e);
}

anygp_status writer_open(const char *path, int64_t cols, const char *const *names, writer **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    bool standard = is_standard(path);
    *out = NULL;
    writer *w = calloc(1, sizeof *w);
    if (!w || !(w->path = mem_strdup(standard ? "standard output" : path))) {
        free(w);
        return fail_memory(e, "a writer", sizeof *w);
    }
    w->cols = cols;
    w->stream = stdout;
    if (!standard) {
        TRY_DONE(atomic_open(path, &w->file, e));
        w->stream = atomic_stream(w->file);
    }
    w->format = format_of(w->path);
    if (!w->format) w->format = formats[NFORMATS - 1];
    TRY_DONE(w->format->begin(w, names, e));
    *out = w;
    return ANYGP_OK;
done:
    writer_abort(w);
    return status;
}

anygp_status writer_columns(writer *w, const column *columns, anygp_error *e)
{
    for (int64_t j = 0; j < w->cols && !w->format->texts; j++)
        if (columns[j].kind == COLUMN_TEXT)
            return fail_with(e, ANYGP_ERR_DATA,
                             "column %lld%s%.80s is text, and %.200s can hold numbers only; write a .csv", (long long)j,
                             columns[j].name ? " " : "", columns[j].name ? columns[j].name : "", w->path);
    w->columns = columns;
    return ANYGP_OK;
}

bool writer_has_texts(const writer *w) { return w->format->texts; }

const char *writer_text(const writer *w, int64_t j, double cell)
{
    if (!w->columns || w->columns[j].kind != COLUMN_TEXT || !(cell >= 0 && cell < (double)w->columns[j].levels))
        return NULL;
    return w->columns[j].level[(int64_t)cell];
}

anygp_status writer_rows(writer *w, int64_t n, const double *rows, anygp_error *e)
{
    TRY(w->format->rows(w, n, rows, e));
    w->rows += n;
    return ANYGP_OK;
}

anygp_status writer_flush(writer *w, anygp_error *e)
{
    return !w->file && fflush(w->stream) ? writer_failed(w, e) : ANYGP_OK;
}

void writer_abort(writer *w)
{
    if (!w) return;
    if (w->format) w->format->close(w);
    atomic_abort(w->file);
    free(w->path);
    free(w);
}

anygp_status writer_close(writer *w, anygp_error *e)
{
    anygp_status status = w->format->end(w, e);
    if (!ANYGP_FAILED(status)) {
        if (!w->file && fflush(w->stream)) status = writer_failed(w, e);
        if (w->file) status = atomic_commit(w->file, e);
        w->file = NULL;
    }
    writer_abort(w);
    return status;
}
