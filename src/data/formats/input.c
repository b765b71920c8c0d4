/* Bytes of a file, of standard input or of memory; gzip is unpacked on the way. */
#include "data/formats/input.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/formats/input_source.h"

anygp_status input_new(const char *name, input **out, anygp_error *e)
{
    input *in = calloc(1, sizeof *in);
    if (!in || !(in->name = mem_strdup(name))) {
        free(in);
        return fail_memory(e, "a file's buffers", sizeof *in);
    }
    in->size = -1;
    *out = in;
    return ANYGP_OK;
}

void input_close(input *in)
{
    if (!in) return;
    if (in->source) in->source->close(in);
    free(in->head);
    free(in->name);
    free(in);
}

const char *input_name(const input *in) { return in->name; }
int64_t input_size(const input *in) { return in->size; }
const char *input_path(const input *in) { return in->source == &source_file ? file_path(in) : NULL; }

/* ------------------------------------------------------------------------------------------- opening */

static bool is_gzip(const unsigned char *head, size_t n)
{
    return n >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8;
}

/* Replaces *in by its unpacked view. */
static anygp_status unpack(input **in, bool gzip, anygp_error *e)
{
    input *packed = *in, *view = NULL;
    *in = NULL;
    anygp_status status = input_new(packed->name, &view, e);
    if (ANYGP_FAILED(status)) {
        input_close(packed);
        return status;
    }
    *in = view;
    return inflate_attach(view, packed, gzip, e);
}

static anygp_status unpack_if_gzip(input **in, anygp_error *e)
{
    const unsigned char *head;
    size_t have;
    TRY(input_peek(*in, 3, &head, &have, e));
    return is_gzip(head, have) ? unpack(in, true, e) : ANYGP_OK;
}

void input_stop(input *in, stop_poll stop) { in->stop = stop; }

anygp_status input_open(const char *path, stop_poll stop, input **out, anygp_error *e)
{
    input *in = NULL;
    anygp_status status;
    *out = NULL;
    TRY(input_new(strcmp(path, "-") ? path : "standard input", &in, e));
    in->stop = stop;
    TRY_DONE(file_attach(in, path, e));
    TRY_DONE(unpack_if_gzip(&in, e));
    *out = in;
    return ANYGP_OK;
done:
    input_close(in);
    return status;
}

anygp_status input_memory(const void *bytes, size_t size, const char *name, input **out, anygp_error *e)
{
    input *in = NULL;
    anygp_status status;
    *out = NULL;
    TRY(input_new(name, &in, e));
    TRY_DONE(memory_attach(in, bytes, size, NULL, e));
    TRY_DONE(unpack_if_gzip(&in, e));
    *out = in;
    return ANYGP_OK;
done:
    input_close(in);
    return status;
}

anygp_status input_slice(input *base, const char *name, int64_t offset, int64_t size, bool deflated, input **out,
                         anygp_error *e)
{
    input *in = NULL;
    anygp_status status;
    *out = NULL;
    TRY(input_new(name, &in, e));
    TRY_DONE(slice_attach(in, base, offset, size, e));
    if (deflated) TRY_DONE(unpack(&in, false, e));
    *out = in;
    return ANYGP_OK;
done:
    input_close(in);
    return status;
}

/* ------------------------------------------------------------------------------------------- reading */

static size_t take_head(input *in, void *to, size_t n)
{
    size_t left = in->held - in->taken;
    if (n > left) n = left;
    if (n) memcpy(to, in->head + in->taken, n);
    in->taken += n;
    return n;
}

anygp_status input_read(input *in, void *to, size_t n, size_t *got, anygp_error *e)
{
    size_t done = take_head(in, to, n), more = 1;
    while (done < n && more) {
        TRY(in->source->read(in, (char *)to + done, n - done, &more, e));
        done += more;
    }
    *got = done;
    return ANYGP_OK;
}

bool input_is_live(const input *in) { return in->source->ready != NULL; }

anygp_status input_read_some(input *in, void *to, size_t n, size_t *got, bool *ended, anygp_error *e)
{
    size_t done = take_head(in, to, n), more = 1;
    while (done < n && more && (done == 0 || !input_is_live(in) || in->source->ready(in))) {
        TRY(in->source->read(in, (char *)to + done, n - done, &more, e));
        done += more;
    }
    *got = done;
    *ended = more == 0;
    return ANYGP_OK;
}

anygp_status input_cut_short(const input *in, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_DATA, "%s ends before its contents do; it was cut short, so create or copy it again",
                     in->name);
}

anygp_status input_read_all(input *in, void *to, size_t n, anygp_error *e)
{
    size_t got;
    TRY(input_read(in, to, n, &got, e));
    return got == n ? ANYGP_OK : input_cut_short(in, e);
}

anygp_status input_read_at(input *in, int64_t offset, void *to, size_t n, anygp_error *e)
{
    size_t done = 0, more = 1;
    while (done < n && more) {
        TRY(in->source->read_at(in, offset + (int64_t)done, (char *)to + done, n - done, &more, e));
        done += more;
    }
    return done == n ? ANYGP_OK : input_cut_short(in, e);
}

static anygp_status head_reserve(input *in, size_t want, anygp_error *e)
{
    if (in->taken) {
        memmove(in->head, in->head + in->taken, in->held - in->taken);
        in->held -= in->taken;
        in->taken = 0;
    }
    if (want <= in->room) return ANYGP_OK;
    unsigned char *grown = realloc(in->head, want);
    if (!grown) return fail_memory(e, "the first bytes of a file", (double)want);
    in->head = grown;
    in->room = want;
    return ANYGP_OK;
}

anygp_status input_peek(input *in, size_t want, const unsigned char **head, size_t *have, anygp_error *e)
{
    TRY(head_reserve(in, want, e));
    for (size_t more = 1; in->held < want && more; in->held += more)
        TRY(in->source->read(in, in->head + in->held, want - in->held, &more, e));
    *head = in->head;
    *have = in->held;
    return ANYGP_OK;
}

/* The first byte of HDF5 is none of a text. */
static bool holds_line(const input *in)
{
    return in->held > 0 && in->head[0] != 0x89 && memchr(in->head, '\n', in->held) && !in->source->ready(in);
}

anygp_status input_peek_line(input *in, size_t want, const unsigned char **head, size_t *have, anygp_error *e)
{
    TRY(head_reserve(in, want, e));
    for (size_t more = 1; in->held < want && more && !(input_is_live(in) && holds_line(in)); in->held += more)
        TRY(in->source->read(in, in->head + in->held, want - in->held, &more, e));
    *head = in->head;
    *have = in->held;
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------------- going back */

anygp_status input_rewind(input *in, anygp_error *e)
{
    in->held = in->taken = 0;
    return in->source->rewind(in, e);
}

/* Reads all that is left into memory, and reads from there from now on. */
static anygp_status spool(input *in, anygp_error *e)
{
    size_t room = (size_t)1 << 16, held = 0, got = 1;
    char *bytes = malloc(room);
    anygp_status status = bytes ? ANYGP_OK : fail_memory(e, in->name, (double)room);
    while (!ANYGP_FAILED(status) && got) {
        if (held == room) {
            char *grown = (int64_t)room < memory_available() ? realloc(bytes, 2 * room) : NULL;
            if (!grown) {
                status = fail_memory(e, in->name, 2.0 * (double)room);
                break;
            }
            bytes = grown;
            room *= 2;
        }
        status = input_read(in, bytes + held, room - held, &got, e);
        if (!ANYGP_FAILED(status)) held += got;
    }
    if (ANYGP_FAILED(status)) {
        free(bytes);
        return status;
    }
    in->source->close(in);
    in->held = in->taken = 0;
    return memory_attach(in, bytes, held, bytes, e);
}

anygp_status input_make_rewindable(input *in, anygp_error *e) { return in->source->rewind ? ANYGP_OK : spool(in, e); }
bool input_is_random(const input *in) { return in->source->read_at != NULL; }
anygp_status input_make_random(input *in, anygp_error *e) { return in->source->read_at ? ANYGP_OK : spool(in, e); }

anygp_status input_bytes(input *in, const void **bytes, size_t *size, anygp_error *e)
{
    if (in->source != &source_memory) TRY(spool(in, e));
    *bytes = memory_bytes(in);
    *size = (size_t)in->size;
    return ANYGP_OK;
}
