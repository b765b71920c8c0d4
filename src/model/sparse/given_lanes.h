/* What statistics and Fisher's information of blocks side by side share (given_lanes.c, information_lanes.c). */
#ifndef MODEL_SPARSE_GIVEN_LANES_H
#define MODEL_SPARSE_GIVEN_LANES_H

#include "linalg/lanes.h"
#include "model/sparse/sparse_parts.h"

/* n: rows of the longest block; o: own rows of the one with the most.  All but `own` are arrays of LANES lanes. */
typedef struct lanes_parts {
    int64_t n, o;
    double *X;               /* D x n */
    double *G, *Z;           /* triangle, and behind it the rows of y and of A */
    double *inverse, *share; /* n: 1 / (L_G)_ii; 1 / w */
    double *own;             /* o: the numbers of the own rows; -1: no more of them */
    double *xbar;            /* (1 + Mt) x o */
    double *W, *T, *Gbar;    /* o x n, o x n, triangle */
    double *kernel, *alone;  /* the kernel's workspace; (1 + Mt) x n for one lane */
    int64_t *last;           /* 2 o: the last own row of any lane, for W and for T */
} lanes_parts;

static inline bool block_is_own(const row_block *b, int64_t j) { return !b->own || b->own[j]; }

/* The workspace of blocks of n rows, o of them their own. */
int64_t lanes_parts_doubles(const sparse *s, int64_t n, int64_t o);
/* Its places for these blocks, LANES of them at most. */
lanes_parts lanes_parts_of(const sparse *s, int64_t count, const row_block *b, double *work);
/* The blocks in their lanes: L_G, L_G^-1 of y and A, 1 / diag L_G, weights and numbers of the own rows. */
anygp_status lanes_given(const sparse *s, int64_t count, const row_block *b, const lanes_parts *p, anygp_error *e);

#endif
