/* Text that grows. */
#include "data/text/text_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { CHUNKS = 16, ROOM_LEAST = 1 << 20, ROOM_UNKNOWN = 1 << 22, ROOM_MOST = 1 << 24 };
enum { SPARE = 1 }; /* a byte for the end of the last line */
static const size_t line_most = (size_t)1 << 30;

/* A file of known size comes in some sixteen chunks: few, since threads meet at the end of each, but small beside the
   array the file becomes.  A small file has room with a byte to spare, so that its end is seen by the first read. */
static size_t first_room(const input *in)
{
    int64_t size = input_size(in);
    if (size < 0) return ROOM_UNKNOWN;
    if (size < ROOM_LEAST) return (size_t)size + 1;
    size /= CHUNKS;
    return (size_t)(size < ROOM_LEAST ? ROOM_LEAST : size > ROOM_MOST ? ROOM_MOST : size);
}

static anygp_status make_room(text_buffer *b, anygp_error *e)
{
    if (b->begin) memmove(b->bytes, b->bytes + b->begin, b->end - b->begin);
    b->end -= b->begin;
    b->begin = 0;
    if (b->end < b->room) return ANYGP_OK;
    if (b->room >= line_most)
        return fail_with(e, ANYGP_ERR_DATA,
                         "%s, line %lld: the line does not end within 1 GiB; is this a text table, and is every quote "
                         "closed?",
                         input_name(b->in), (long long)b->line + 1);
    size_t room = b->room ? 2 * b->room : first_room(b->in);
    char *grown = realloc(b->bytes, room + SPARE);
    if (!grown) return fail_memory(e, "a chunk of text", (double)room);
    b->bytes = grown;
    b->room = room;
    return ANYGP_OK;
}

static void start(text_buffer *b)
{
    b->started = true;
    if (b->end >= 3 && !memcmp(b->bytes, "\xef\xbb\xbf", 3)) b->begin = 3;
    bool newline = memchr(b->bytes, '\n', b->end) != NULL;
    b->eol = !newline && memchr(b->bytes, '\r', b->end) ? '\r' : '\n';
}

anygp_status text_fill(text_buffer *b, anygp_error *e)
{
    size_t got;
    bool ended;
    TRY(make_room(b, e));
    do { /* the first line tells how lines end */
        TRY(input_read_some(b->in, b->bytes + b->end, b->room - b->end, &got, &ended, e));
        b->end += got;
    } while (!b->started && !ended && b->end < b->room && !memchr(b->bytes, '\n', b->end));
    b->finished = ended;
    if (!b->started) start(b);
    if (b->finished && b->end > b->begin && b->bytes[b->end - 1] != b->eol) b->bytes[b->end++] = b->eol;
    return ANYGP_OK;
}

void text_advance(text_buffer *b, const char *p, int64_t lines)
{
    b->begin = (size_t)(p - b->bytes);
    b->line += lines;
}

anygp_status text_rewind(text_buffer *b, anygp_error *e)
{
    b->begin = b->end = 0;
    b->line = 0;
    b->started = b->finished = false;
    return input_rewind(b->in, e);
}

void text_free(text_buffer *b)
{
    free(b->bytes);
    b->bytes = NULL;
}

/* In stretches that a byte can count, which compilers turn into vector instructions. */
int64_t text_count(const char *p, const char *end, char c)
{
    int64_t total = 0;
    while (p < end) {
        int stretch = end - p < 255 ? (int)(end - p) : 255;
        unsigned char n = 0;
        for (int i = 0; i < stretch; i++) n = (unsigned char)(n + (p[i] == c));
        total += n;
        p += stretch;
    }
    return total;
}
