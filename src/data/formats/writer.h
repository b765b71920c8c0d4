/* Writing tables row by row, streaming: predictions, simulated data, conversions.  The format follows from the ending
   of the name: .csv, .tsv (also .gz), .npy, .h5; anything else is CSV.  The file appears when writer_close succeeds,
   whole or not at all; standard output is written as it comes. */
#ifndef DATA_FORMATS_WRITER_H
#define DATA_FORMATS_WRITER_H

#include <stdint.h>

#include "anygp/anygp.h"
#include "data/formats/reader.h"

typedef struct writer writer;

/* path NULL or "-" is standard output.  names (cols of them) or NULL for a file without a header. */
anygp_status writer_open(const char *path, int64_t cols, const char *const *names, writer **out, anygp_error *e);

/* Whether the ending of the name is one of those above; "-" and NULL are. */
bool writer_knows(const char *path);

/* Before the first row: in text columns the cells are indices into the levels, which may still grow; dates, months and times
   of day are written as such in text tables.  `columns` outlives the writer.  In others a text column is an error. */
anygp_status writer_columns(writer *w, const column *columns, anygp_error *e);

bool writer_has_texts(const writer *w); /* the format can hold text columns */

/* n rows, row-major, n x cols.  Numbers are written in the shortest form that reads back to the same double. */
anygp_status writer_rows(writer *w, int64_t n, const double *rows, anygp_error *e);

/* On standard output, rows so far reach the reader. */
anygp_status writer_flush(writer *w, anygp_error *e);

anygp_status writer_close(writer *w, anygp_error *e); /* completes the file, or removes what was begun; frees w */
void writer_abort(writer *w);                         /* leaves no file; accepts NULL */

#endif
