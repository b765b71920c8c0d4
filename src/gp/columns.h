/* The columns of a table that is to be fitted: how they are read, what becomes of them, and what the user is told. */
#ifndef GP_COLUMNS_H
#define GP_COLUMNS_H

#include "data/table/oddities.h"
#include "gp/fit.h"

/* After the table is read, or its file opened: texts that are numbers become numbers, and columns that are no inputs by their
   looks are marked.  c: the columns found before; it follows. */
anygp_status columns_settle(table *t, row_source *file, const settings *s, fit_columns *c, anygp_error *e);

/* One sentence on column j; doubtful: it says that something may be wrong, not only what was done. */
typedef void (*column_teller)(void *ctx, int64_t j, bool doubtful, const char *sentence);
/* All there is to say of the columns, in their order.  odd[cols]; targets: of targets that are texts too, which a fit refuses in
   words of its own */
void columns_tell(const table *t, const settings *s, const fit_columns *c, const oddity *odd, bool targets,
                  column_teller tell, void *ctx);
/* The values far from all others, of the inputs and targets that are numbers.  For a file that stays on disk, and for very
   large tables, of the first rows. */
anygp_status columns_odd(const table *t, row_source *file, const fit_columns *c, oddity *odd, anygp_error *e);

cell_notation columns_dates(const settings *s); /* --dates, or NOTATION_PLAIN */

#endif
