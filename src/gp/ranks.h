/* Rows of a block shared out over processes, for predictions and scores. */
#ifndef GP_RANKS_H
#define GP_RANKS_H

#include "comm/comm.h"

/* The rows of this rank among n. */
static inline int64_t ranks_from(const comm *c, int64_t n) { return n * c->rank / c->size; }
static inline int64_t ranks_end(const comm *c, int64_t n) { return n * (c->rank + 1) / c->size; }

/* The least of all ranks, which may have different memory. */
anygp_status ranks_least(const comm *c, int64_t *block, anygp_error *e);
/* What the first rank that failed says, on all: one that returned alone would leave the others waiting. */
anygp_status ranks_agree(const comm *c, anygp_status status, anygp_error *said, anygp_error *e);

#endif
