/* From one table file to another, row by row. */
#ifndef DATA_FORMATS_CONVERT_H
#define DATA_FORMATS_CONVERT_H

#include "data/formats/reader.h"

/* in "-" and out NULL or "-" are standard input and output.  Memory does not grow with the rows. */
anygp_status convert_file(const char *in, const read_options *o, const char *out, anygp_error *e);

#endif
