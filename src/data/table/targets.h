/* Which cells of a row are its y.  A row has T >= 1 targets of one kind and, if they are counts, what they were exposed to, one
   cell for all of them; a row of y is Q numbers,
       y_1 ... y_T              Q = T        without exposure
       y_1 v y_2 v ... y_T v    Q = 2 T      with exposure v,
   so that a likelihood of `target_width` columns finds those of target t side by side.  A class is its index from 0. */
#ifndef DATA_TABLE_TARGETS_H
#define DATA_TABLE_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/warp.h"

/* What is wrong with a target that is a number, or NULL: nothing. */
typedef const char *(*target_objection)(const void *ctx, double y);

typedef struct target_columns {
    int64_t targets;            /* T */
    const int64_t *target;      /* their columns */
    int64_t weights;            /* -1: none */
    int64_t exposure;           /* -1: none */
    bool exposed;               /* they have one all the same: 1 */
    bool scored;                /* for scores: y stays in data units, and may be of any size */
    bool classes;               /* the targets are labels, texts or numbers; else numbers, */
    target_objection objection; /* all of which this has nothing against; NULL: any will do */
    const void *objection_ctx;
    const warp *warp;                                /* targets: how each is transformed; NULL: none is */
    double (*factor)(const void *ctx, double label); /* of a row's weight, by the label of its (one) target; NULL: 1 */
    const void *factor_ctx;
} target_columns;

static inline int64_t target_width(const target_columns *c) { return c->exposed || c->exposure >= 0 ? 2 : 1; }
static inline warp target_warp(const target_columns *c, int64_t t) { return c->warp ? c->warp[t] : (warp){0}; }
static inline int64_t target_numbers(const target_columns *c) { return c->targets * target_width(c); } /* Q */

#endif
