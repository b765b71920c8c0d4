/* The inside of an input: where its bytes come from is a table of functions. */
#ifndef DATA_FORMATS_INPUT_SOURCE_H
#define DATA_FORMATS_INPUT_SOURCE_H

#include "data/formats/input.h"

typedef struct input_source {
    /* At most n bytes from the current place; *got = 0 only at the end. */
    anygp_status (*read)(input *in, void *to, size_t n, size_t *got, anygp_error *e);
    anygp_status (*rewind)(input *in, anygp_error *e); /* NULL: cannot go back */
    /* As read, from any place; NULL: no random access. */
    anygp_status (*read_at)(input *in, int64_t offset, void *to, size_t n, size_t *got, anygp_error *e);
    void (*close)(input *in);
    bool (*ready)(const input *in); /* whether read() would not wait; NULL: it never does for long */
} input_source;

struct input {
    const input_source *source;
    void *state; /* of the source */
    char *name;
    int64_t size; /* -1: unknown */
    stop_poll stop;
    unsigned char *head; /* bytes peeked at and not yet taken: head[taken .. held-1] */
    size_t held, taken, room;
};

/* An input without a source yet; the caller sets source and state. */
anygp_status input_new(const char *name, input **out, anygp_error *e);

extern const input_source source_file, source_memory, source_slice, source_inflate;

anygp_status file_attach(input *in, const char *path, anygp_error *e);
const char *file_path(const input *in);
anygp_status memory_attach(input *in, const void *bytes, size_t size, void *owned, anygp_error *e);
const void *memory_bytes(const input *in);
anygp_status slice_attach(input *in, input *base, int64_t offset, int64_t size, anygp_error *e);
anygp_status inflate_attach(input *in, input *packed, bool gzip, anygp_error *e); /* owns `packed`, even on failure */

#endif
