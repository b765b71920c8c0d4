/* Instead of input_inflate.c and packer.c in a library built without zlib: compressed files are refused by name. */
#include "base/error.h"
#include "data/formats/input_source.h"
#include "data/formats/packer.h"

/* Gives nothing, so that an input that could not be opened can be closed like any other. */
static anygp_status nothing(input *in, void *to, size_t n, size_t *got, anygp_error *e)
{
    (void)in, (void)to, (void)n, (void)e;
    *got = 0;
    return ANYGP_OK;
}
static void close_nothing(input *in) { in->state = NULL; }

const input_source source_inflate = {nothing, NULL, NULL, close_nothing, NULL};

anygp_status inflate_attach(input *in, input *packed, bool gzip, anygp_error *e)
{
    in->source = &source_inflate;
    input_close(packed);
    return fail_with(e, ANYGP_ERR_DATA,
                     "%.200s is compressed (%s), and this anygp was built without zlib; unpack it first, or build with "
                     "-DANYGP_ZLIB=ON",
                     in->name, gzip ? "gzip" : "a member of a .zip or .npz");
}

anygp_status packer_begin(const writer *w, packer **out, anygp_error *e)
{
    *out = NULL;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "%.200s cannot be written: this anygp was built without zlib; leave out .gz, or build with "
                     "-DANYGP_ZLIB=ON",
                     w->path);
}

anygp_status packer_put(packer *p, writer *w, const void *bytes, size_t n, anygp_error *e)
{
    (void)p;
    return writer_put(w, bytes, n, e);
}

anygp_status packer_end(packer *p, writer *w, anygp_error *e)
{
    (void)p, (void)w, (void)e;
    return ANYGP_OK;
}

void packer_free(packer *p) { (void)p; }
