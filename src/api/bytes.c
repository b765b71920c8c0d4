/* Model files in memory. */
#include <stdio.h>
#include <stdlib.h>

#include "api/handles.h"
#include "io/model_file.h"

anygp_status anygp_save_bytes(const anygp_model *m, void **bytes, size_t *size, anygp_error *e)
{
    char *text = NULL;
    NEED(m);
    NEED(bytes);
    NEED(size);
    *bytes = NULL;
    FILE *f = open_memstream(&text, size);
    if (!f) return fail_memory(e, "the model's bytes", 0);
    anygp_status status = model_file_write_stream(m, f, e);
    bool whole = !ferror(f);
    if (fclose(f) != 0 || !whole) status = fail_memory(e, "the model's bytes", (double)*size);
    if (ANYGP_FAILED(status))
        free(text);
    else
        *bytes = text;
    return status;
}

anygp_status anygp_load_bytes(const void *bytes, size_t size, anygp_model **out, anygp_error *e)
{
    NEED(bytes);
    NEED(out);
    *out = NULL;
    /* Opened for reading, so the bytes are not written to; no bytes at all are not a stream. */
    FILE *f = size ? fmemopen((void *)bytes, size, "rb") : NULL;
    if (!f)
        return fail_with(e, ANYGP_ERR_FILE, "the bytes cannot be read as a model file; there are %zu of them", size);
    anygp_status status = model_file_read_stream(f, "the bytes in memory", 0, out, e);
    fclose(f);
    return status;
}

void anygp_bytes_free(void *bytes) { free(bytes); }
