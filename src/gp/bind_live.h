/* Rows of a file that is bound to a model, as they come [bind.c]. */
#ifndef GP_BIND_LIVE_H
#define GP_BIND_LIVE_H

#include "gp/gp.h"

/* As binding_next but, through a pipe, as soon as there is a row. */
anygp_status binding_available(binding *b, int64_t max_rows, const double **cells, int64_t *got, anygp_error *e);
bool binding_is_live(const binding *b);
const column *binding_columns_list(const binding *b); /* of the file */
void binding_forgive(binding *b);                     /* from now on a damaged record is a row of missing cells */
int64_t binding_forgiven(const binding *b, const char **first); /* reader_forgiven */

#endif
