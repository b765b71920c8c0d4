/* A window on a text input: whole chunks of bytes, [begin, end), and the means to move it on.
   Lines end with `eol`: a newline, or a carriage return in files that know no newline.  A last line without its end
   is given one; a byte order mark at the start is passed over. */
#ifndef DATA_TEXT_TEXT_BUFFER_H
#define DATA_TEXT_TEXT_BUFFER_H

#include "data/formats/input.h"

typedef struct text_buffer {
    input *in; /* not owned */
    char *bytes;
    size_t room, begin, end;
    int64_t line; /* lines before `begin` */
    char eol;
    bool started, finished; /* finished: nothing is left to read behind `end` */
} text_buffer;

/* Drops what lies before `begin` and reads on until the buffer is full, from a pipe until nothing more has come; a buffer that
   was full already is doubled.
   A line longer than 1 GiB is an error. */
anygp_status text_fill(text_buffer *b, anygp_error *e);

/* Takes everything before p, in which `lines` lines end. */
void text_advance(text_buffer *b, const char *p, int64_t lines);

/* Back to the start; the input must be rewindable. */
anygp_status text_rewind(text_buffer *b, anygp_error *e);
void text_free(text_buffer *b);

int64_t text_count(const char *p, const char *end, char c); /* how often c occurs */

#endif
