/* Rows as they come: through a pipe, those that have arrived, without waiting for more. */
#ifndef DATA_FORMATS_LIVE_H
#define DATA_FORMATS_LIVE_H

#include "data/formats/reader.h"

bool reader_is_live(const reader *r); /* the rows come through a pipe */

/* As reader_next, but as soon as there is a row; for files the same as reader_next. */
anygp_status reader_available(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e);

/* From now on a damaged record of a text table is a row of missing cells, and no error. */
void reader_forgive(reader *r);
int64_t reader_forgiven(const reader *r, const char **first); /* how many there were; what is wrong with the first */

#endif
