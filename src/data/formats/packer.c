/* One gzip stream per file, by zlib. */
#include "data/formats/packer.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/error.h"

enum { PACKED_BYTES = 1 << 16, GZIP_WINDOW = 15 + 16, GZIP_LEVEL = 6, GZIP_MEMORY = 8 };

struct packer {
    z_stream z;
    unsigned char packed[PACKED_BYTES];
};

anygp_status packer_begin(const writer *w, packer **out, anygp_error *e)
{
    (void)w;
    packer *p = *out = calloc(1, sizeof *p);
    if (p && deflateInit2(&p->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK)
        return ANYGP_OK;
    free(p);
    *out = NULL;
    return fail_memory(e, "packing a file", PACKED_BYTES);
}

static anygp_status deflate_bytes(packer *p, writer *w, const void *bytes, size_t n, int flush, anygp_error *e)
{
    p->z.next_in = (Bytef *)(uintptr_t)bytes;
    p->z.avail_in = (uInt)n;
    do {
        p->z.next_out = p->packed;
        p->z.avail_out = PACKED_BYTES;
        deflate(&p->z, flush);
        TRY(writer_put(w, p->packed, PACKED_BYTES - p->z.avail_out, e));
    } while (p->z.avail_out == 0);
    return ANYGP_OK;
}

anygp_status packer_put(packer *p, writer *w, const void *bytes, size_t n, anygp_error *e)
{
    return deflate_bytes(p, w, bytes, n, Z_NO_FLUSH, e);
}

anygp_status packer_end(packer *p, writer *w, anygp_error *e) { return deflate_bytes(p, w, NULL, 0, Z_FINISH, e); }

void packer_free(packer *p)
{
    if (p) deflateEnd(&p->z);
    free(p);
}
