/* Any numbers to 0, 1, 2, ... in the order of their first appearance. */
#ifndef DATA_TABLE_ID_TABLE_H
#define DATA_TABLE_ID_TABLE_H

#include <stdint.h>

#include "base/error.h"

typedef struct id_table {
    int64_t count, room;
    int64_t *id;   /* count: the numbers, in order */
    int64_t slots; /* a power of 2, at least twice count */
    int64_t *slot; /* index + 1, or 0 */
} id_table;        /* {0} to begin with */

anygp_status id_table_index(id_table *t, int64_t id, int64_t *index, anygp_error *e);
int64_t id_table_find(const id_table *t, int64_t id); /* its index, or -1: it is not there */
void id_table_clear(id_table *t);

#endif
