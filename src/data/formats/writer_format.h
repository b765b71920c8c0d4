/* What an output format is to the writer: begin() after the stream is open, rows(), end() before it is committed;
   close() accepts a half-built state. */
#ifndef DATA_FORMATS_WRITER_FORMAT_H
#define DATA_FORMATS_WRITER_FORMAT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/atomic_file.h"
#include "data/formats/writer.h"

typedef struct writer_format {
    const char *const *endings; /* NULL-terminated */
    anygp_status (*begin)(writer *w, const char *const *names, anygp_error *e);
    anygp_status (*rows)(writer *w, int64_t n, const double *rows, anygp_error *e);
    anygp_status (*end)(writer *w, anygp_error *e);
    void (*close)(writer *w);
    bool texts; /* cells may be text */
} writer_format;

struct writer {
    const writer_format *format;
    char *path;        /* for sentences and endings */
    atomic_file *file; /* NULL for standard output */
    FILE *stream;
    int64_t cols, rows;    /* rows so far */
    const column *columns; /* NULL: all are numbers */
    void *state;
};

extern const writer_format writer_csv, writer_npy, writer_hdf5;

/* The text of a cell of column j; NULL for a number and for a missing cell. */
const char *writer_text(const writer *w, int64_t j, double cell);
bool writer_path_ends(const writer *w, const char *ending);
anygp_status writer_failed(const writer *w, anygp_error *e); /* the sentence for errno */
anygp_status writer_put(writer *w, const void *bytes, size_t n, anygp_error *e);

#endif
