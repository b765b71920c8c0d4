/* Rows of a step's sample in memory, for models that make bases of them (001, algorithm 1, line 4). */
#ifndef MODEL_GATHER_H
#define MODEL_GATHER_H

#include "model/model.h"

typedef struct gathered {
    int64_t n;
    double *X;      /* n x D */
    int64_t *id;    /* gathered_id of each */
    int64_t *order; /* a random permutation of them, a function of the step */
} gathered;

/* Row i of block b as one number. */
static inline int64_t gathered_id(int64_t block, int64_t i) { return block << 32 | i; }

int64_t gather_most(const row_blocks *b, const step_context *c); /* rows that the sample has at most */
/* The first `most` of them; to be cleared, on failure too. */
anygp_status gather_rows(row_blocks *b, const step_context *c, int64_t most, gathered *g, anygp_error *e);
void gathered_clear(gathered *g);

#endif
