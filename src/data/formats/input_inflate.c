/* A view of another input, unpacked: gzip (RFC 1952, members joined) or the bare deflate of a zip entry. */
#include "data/formats/input_source.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/error.h"

enum { PACKED_BYTES = 1 << 17, GZIP_WINDOW = 15 + 16, BARE_WINDOW = -15 };

typedef struct inflate_state {
    input *packed;
    z_stream z;
    bool gzip, ready, finished;
    unsigned char bytes[PACKED_BYTES];
} inflate_state;

static anygp_status damaged(const input *in, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_DATA, "the compressed data of %s is damaged; create or copy the file again",
                     in->name);
}

static anygp_status refill(inflate_state *s, anygp_error *e)
{
    size_t got;
    if (s->z.avail_in) return ANYGP_OK;
    TRY(input_read(s->packed, s->bytes, PACKED_BYTES, &got, e));
    s->z.next_in = s->bytes;
    s->z.avail_in = (uInt)got;
    return ANYGP_OK;
}

/* At the end of a member: on to the next, if another gzip head follows; other trailing bytes are padding. */
static anygp_status next_member(input *in, inflate_state *s, anygp_error *e)
{
    s->finished = true;
    if (!s->gzip) return ANYGP_OK;
    TRY(refill(s, e));
    if (!s->z.avail_in || s->z.next_in[0] != 0x1f) return ANYGP_OK;
    s->finished = false;
    return inflateReset(&s->z) == Z_OK ? ANYGP_OK : damaged(in, e);
}

static anygp_status inflate_read(input *in, void *to, size_t n, size_t *got, anygp_error *e)
{
    inflate_state *s = in->state;
    uInt want = n < PACKED_BYTES * 64 ? (uInt)n : PACKED_BYTES * 64;
    s->z.next_out = to;
    s->z.avail_out = want;
    while (!s->finished && s->z.avail_out == want) {
        TRY(refill(s, e));
        if (!s->z.avail_in)
            return fail_with(e, ANYGP_ERR_DATA, "the compressed file %s is cut short; create or copy it again",
                             in->name);
        int code = inflate(&s->z, Z_NO_FLUSH);
        if (code == Z_STREAM_END)
            TRY(next_member(in, s, e));
        else if (code != Z_OK)
            return damaged(in, e);
    }
    *got = want - s->z.avail_out;
    return ANYGP_OK;
}

static anygp_status inflate_rewind(input *in, anygp_error *e)
{
    inflate_state *s = in->state;
    TRY(input_rewind(s->packed, e));
    s->finished = false;
    s->z.avail_in = 0;
    return inflateReset(&s->z) == Z_OK ? ANYGP_OK : damaged(in, e);
}

static void inflate_close(input *in)
{
    inflate_state *s = in->state;
    if (!s) return;
    if (s->ready) inflateEnd(&s->z);
    input_close(s->packed);
    free(s);
    in->state = NULL;
}

const input_source source_inflate = {inflate_read, inflate_rewind, NULL, inflate_close, NULL};

/* Over a pipe the packed bytes cannot be read again, so neither can the view. */
static const input_source source_inflate_once = {inflate_read, NULL, NULL, inflate_close, NULL};

anygp_status inflate_attach(input *in, input *packed, bool gzip, anygp_error *e)
{
    in->source = packed->source->rewind ? &source_inflate : &source_inflate_once;
    inflate_state *s = in->state = calloc(1, sizeof *s);
    if (!s) {
        input_close(packed);
        return fail_memory(e, "unpacking a file", sizeof *s);
    }
    s->packed = packed;
    s->gzip = gzip;
    s->ready = inflateInit2(&s->z, gzip ? GZIP_WINDOW : BARE_WINDOW) == Z_OK;
    return s->ready ? ANYGP_OK : fail_memory(e, "unpacking a file", sizeof *s);
}
