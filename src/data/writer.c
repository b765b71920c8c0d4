#include "data/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/writer_format.h"

static const writer_format *const formats[] = {&writer_npy, &writer_hdf5,
                                               &writer_csv}; /* the last one is the default */
enum { NFORMATS = sizeof formats / sizeof *formats };

bool writer_path_ends(const writer *w, const char *ending)
{
    size_t n = strlen(w->path), k = strlen(ending);
    return n >= k && !strcasecmp(w->path + n - k, ending);
}

static const writer_format *choose(const writer *w)
{
    for (int i = 0; i < NFORMATS; i++)
        for (const char *const *ending = formats[i]->endings; *ending; ending++)
            if (writer_path_ends(w, *ending)) return formats[i];
    return formats[NFORMATS - 1];
}

anygp_status writer_failed(const writer *w, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE, "%s cannot be written: %s", w->path, strerror(errno ? errno : EIO));
}

anygp_status writer_put(writer *w, const void *bytes, size_t n, anygp_error *e)
{
    return fwrite(bytes, 1, n, w->stream) == n ? ANYGP_OK : writer_failed(w, e);
}

anygp_status writer_open(const char *path, int64_t cols, const char *const *names, writer **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    bool standard = !path || !strcmp(path, "-");
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
    w->format = choose(w);
    TRY_DONE(w->format->begin(w, names, e));
    *out = w;
    return ANYGP_OK;
done:
    writer_abort(w);
    return status;
}

anygp_status writer_rows(writer *w, int64_t n, const double *rows, anygp_error *e)
{
    TRY(w->format->rows(w, n, rows, e));
    w->rows += n;
    return ANYGP_OK;
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
