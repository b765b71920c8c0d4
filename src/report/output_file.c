/* Where pages and pictures go. */
#include <stdlib.h>
#include <string.h>

#include "report/output.h"

anygp_status output_open(const char *path, output_file *o, anygp_error *e)
{
    *o = (output_file){0};
    if (path && strcmp(path, "-")) {
        TRY(atomic_open(path, &o->file, e));
        o->stream = atomic_stream(o->file);
        return ANYGP_OK;
    }
    o->stream = open_memstream(&o->text, &o->size);
    return o->stream ? ANYGP_OK : fail_memory(e, "the page", 0);
}

static anygp_status write_out(const output_file *o, anygp_error *e)
{
    if (fwrite(o->text, 1, o->size, stdout) == o->size && !fflush(stdout)) return ANYGP_OK;
    return fail_write("standard output", e);
}

anygp_status output_close(output_file *o, anygp_status status, anygp_error *e)
{
    if (o->file) {
        if (!ANYGP_FAILED(status)) return atomic_commit(o->file, e);
        atomic_abort(o->file);
        return status;
    }
    bool ok = !fclose(o->stream);
    if (!ANYGP_FAILED(status)) status = ok ? write_out(o, e) : fail_memory(e, "the page", 0);
    free(o->text);
    return status;
}
