/* Blocks whose rows are stored together: each is one piece of a list of records.  A record is what is kept of a row: for a table
   its number, for a file that stays on disk the row in model units (x, y, w), in a scratch file. */
#ifndef DATA_ROWS_ROWS_GROUPS_H
#define DATA_ROWS_ROWS_GROUPS_H

#include "data/rows/rows_inside.h"
#include "data/rows/scratch.h"

typedef struct group_set {
    row_blocks base;
    row_source *r;
    row_units u;
    int64_t width;         /* of a record, bytes */
    int64_t *start, *size; /* of each block, in records */
    int64_t room;          /* blocks they have room for */
    scratch *records;
} group_set;

/* Without blocks yet; takes u over, also on failure.  Freed by blocks_free. */
anygp_status group_set_new(row_source *r, row_units *u, group_set **out, anygp_error *e);
/* Room for this many blocks; new ones are empty. */
anygp_status group_set_reserve(group_set *s, int64_t count, anygp_error *e);
/* Splits the blocks of more than `cap` rows; the router learns the new ones. */
anygp_status group_set_split(group_set *s, router *route, int64_t cap, anygp_error *e);

/* A row in model units as numbers: x, y, w. */
static inline int64_t group_row_width(const group_set *s) { return s->u.D + s->u.Q + 1; }
static inline void group_row(const group_set *s, const double *raw, double *row)
{
    row_units_convert(&s->u, raw, row, row + s->u.D, row + s->u.D + s->u.Q);
}

#endif
