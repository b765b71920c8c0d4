/* Bytes from a plain file, a gzip file, a pipe, memory, or a slice of another input: one interface.
   Gzip is recognised by its first bytes, not by the name, and unpacked on the fly; members that follow each
   other are joined.  A plain file is read with large read() calls and never mapped: mapped pages count as resident. */
#ifndef DATA_FORMATS_INPUT_H
#define DATA_FORMATS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stop.h"

typedef struct input input;

/* path "-": standard input.  stop is asked now and then while reading, also while waiting for bytes. */
anygp_status input_open(const char *path, stop_poll stop, input **out, anygp_error *e);
void input_stop(input *in, stop_poll stop); /* for a plain file: whom to ask from now on */
anygp_status input_memory(const void *bytes, size_t size, const char *name, input **out, anygp_error *e);

/* Bytes offset .. offset+size-1 of `base` (random access, outlives the slice), unpacked if `deflated`. */
anygp_status input_slice(input *base, const char *name, int64_t offset, int64_t size, bool deflated, input **out,
                         anygp_error *e);

void input_close(input *in); /* accepts NULL */

const char *input_name(const input *in);                       /* for error messages */
anygp_status input_cut_short(const input *in, anygp_error *e); /* fails: the file ends too early */
const char *input_path(const input *in); /* what was opened, if it is a plain regular file, else NULL */
int64_t input_size(const input *in);     /* in bytes; -1 if only reading to the end would show it */

/* The next bytes without taking them: up to `want`, fewer only at the end. */
anygp_status input_peek(input *in, size_t want, const unsigned char **head, size_t *have, anygp_error *e);

/* The same, but from a pipe no more than has come, once a line end is among it. */
anygp_status input_peek_line(input *in, size_t want, const unsigned char **head, size_t *have, anygp_error *e);

bool input_is_live(const input *in); /* a pipe: bytes come when they come */
/* Takes up to n bytes: of a pipe at least one, and what else has come; else n.  *ended: there are no more. */
anygp_status input_read_some(input *in, void *to, size_t n, size_t *got, bool *ended, anygp_error *e);

/* Takes the next n bytes; *got < n only at the end.  input_read_all: fewer than n is an error. */
anygp_status input_read(input *in, void *to, size_t n, size_t *got, anygp_error *e);
anygp_status input_read_all(input *in, void *to, size_t n, anygp_error *e);

/* n bytes at an offset, after input_make_random(); the place of input_read does not move. */
anygp_status input_read_at(input *in, int64_t offset, void *to, size_t n, anygp_error *e);

/* A source that cannot go back (a pipe) is kept in memory from its current position on: call it before the first input_read. */
anygp_status input_make_rewindable(input *in, anygp_error *e);
bool input_is_random(const input *in);
anygp_status input_make_random(input *in, anygp_error *e); /* implies rewindable; unpacks gzip into memory */
anygp_status input_rewind(input *in, anygp_error *e);

/* All bytes of an input not yet read from, kept in memory until it is closed. */
anygp_status input_bytes(input *in, const void **bytes, size_t *size, anygp_error *e);

#endif
