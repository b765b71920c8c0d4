/* Groups of rows with those that they are conditioned on.  Group g lists, in the order of the rows, its own rows and those given to
   them; every row is some group's own once.  An own row is conditioned on all rows before it in its group's list: those that it has as
   neighbours, and maybe more. */
#ifndef DATA_NEIGHBOURS_GROUPS_H
#define DATA_NEIGHBOURS_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "data/blocks/blocks.h"
#include "data/neighbours/neighbours.h"

typedef struct row_groups {
    int64_t count, largest; /* groups; rows of the longest list */
    int64_t *start;         /* count + 1 */
    int32_t *row;
    bool *own;
    bool on_disk; /* where `row` and `own` are (base/mapped.h): made so where the lists of neighbours are */
} row_groups;

/* One group per list: its rows, then the row that it is the list of, own[near->n] (NULL: list i is that of row i). */
anygp_status groups_single(const near_rows *near, const int64_t *own, row_groups *out, anygp_error *e);
/* Rows that share neighbours together, where that makes the sum of squared lengths of the lists smaller (Guinness 2018) and no list longer
   than six of one row's; the same on any number of threads [groups_join.c]. */
anygp_status groups_joined(const near_rows *near, row_groups *out, anygp_error *e);
/* For whoever makes groups: room for g->count of them, of this many rows together. */
anygp_status row_groups_allocate(row_groups *g, int64_t total, anygp_error *e);
void row_groups_clear(row_groups *g);

/* Blocks of these groups over arrays in the order of the rows, all of which outlive them: X[n,D], y and w [n]. */
anygp_status blocks_of_groups(const row_groups *g, int64_t n, int64_t D, const double *X, const double *y,
                              const double *w, row_blocks **out, anygp_error *e);

#endif
