/* Which tables a model has learned from: by a number each that their cells make, kept in the model's setting `seen`.  A row's is made of its
   inputs and the first target, a table's is the sum over its rows, so that their order does not matter. */
#ifndef GP_SEEN_H
#define GP_SEEN_H

#include "gp/gp.h"

/* n rows of a file that is bound to m, from their cells: to be summed. */
uint64_t seen_rows(const gp_set *m, const binding *b, int64_t n, const double *cells);
bool seen_has(const gp_set *m, uint64_t digest);
/* From now on m has seen it; the first SEEN_MOST tables are kept, so that a model that is updated for ever does not grow. */
anygp_status seen_add(gp_set *m, uint64_t digest, anygp_error *e);
/* The table that m was fitted to, for each of its targets: a report has only one of them. */
anygp_status seen_add_table(gp_set *m, const table *t, anygp_error *e);
/* Says so where the rows of the file `in` have been learned from. */
void seen_note(const gp_set *m, const settings *s, uint64_t digest, const char *in);

#endif
