/* What `anygp look` shows of a table before a model is fitted to it: the columns, what becomes of them, and what may be wrong. */
#ifndef IO_LOOK_H
#define IO_LOOK_H

#include "gp/gp.h"

/* The table as anygp_data_read makes it, columns not yet settled; file: where the rows are if they stay on disk, else NULL.
   name: of the file.  *text is freed by free(). */
anygp_status look_text(table *t, row_source *file, const char *name, const settings *s, bool json, char **text,
                       anygp_error *e);

#endif
