/* What a file format is to the reader: a row of the table in reader.c.  A format's open() fills the public half of
   the reader (columns, cols, rows, target) and sets `state`; its next() may deliver fewer rows than asked for, and
   0 only at the end; its close() accepts a half-built state. */
#ifndef DATA_FORMATS_FORMAT_H
#define DATA_FORMATS_FORMAT_H

#include <stdbool.h>

#include "data/formats/input.h"
#include "data/formats/reader.h"

typedef struct format {
    const char *name;
    const char *const *endings;                         /* of file names, .gz taken off; NULL-terminated */
    bool (*sniff)(const unsigned char *head, size_t n); /* do the first bytes look like it? */
    anygp_status (*open)(reader *r, const read_options *o, anygp_error *e);
    anygp_status (*next)(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e);
    void (*close)(reader *r);
    bool may_be_infinite;              /* cells are not checked by next(): the reader looks for infinities */
    bool (*can_seek)(const reader *r); /* NULL: never */
    void (*seek)(reader *r, int64_t row);
    /* Announces that these runs of rows will be read next, in this order, each after a seek; returns for how many of them, at
       least one, it has prepared.  NULL: knowing them would not make it faster. */
    anygp_status (*expect)(reader *r, int count, const row_run *runs, int *prepared, anygp_error *e);
} format;

struct reader {
    const format *format;
    input *in;
    input *archive; /* the .zip that `in` is a member of, or NULL */
    int64_t cols, rows, target, delivered;
    int64_t lines_added; /* text lines of `in` that the file itself does not have */
    int64_t likely_rows; /* what a table may allocate at once: never much more than the file can hold */
    column *columns;
    char *na;           /* of the options: a copy, */
    int64_t na_numbers; /* and the numbers in it */
    double *na_number;
    stop_poll stop;
    void *state;
};

extern const format format_csv, format_npy, format_npz, format_hdf5, format_libsvm, format_idx;

/* Before the format is chosen: the one file of a .zip takes the place of the archive, JSON lines become CSV, and files that
   cannot be read are refused by their endings, with a way out.  *csv: the format is CSV with a header [wrapped.c]. */
anygp_status reader_unwrap(reader *r, bool *csv, anygp_error *e);

bool reader_ends_with(const char *name, const char *ending); /* .gz is looked through */

/* Replaces *in, which stays if that fails, by the CSV text of its JSON objects, one per line [jsonl.c]. */
anygp_status jsonl_as_csv(input **in, anygp_error *e);

/* Makes r->columns: n nameless number columns. */
anygp_status reader_make_columns(reader *r, int64_t n, anygp_error *e);

#endif
