/* The sums of patchwork.h over its cells, as a block model, and the head that sees them. */
#ifndef MODEL_LOCAL_PATCHWORK_CELLS_H
#define MODEL_LOCAL_PATCHWORK_CELLS_H

#include "model/local/patchwork.h"

/* What all cells share. */
typedef struct patches {
    committee c;
    patch_borders b;
    /* The head's adjoints, q x q (both triangles), q, q x q. */
    double *Sbar, *tbar, *Cbar;
} patches;

/* value, t, S, C (lower triangles). */
static inline int64_t patches_places(const patches *p) { return p->b.at.count; }
static inline double *patches_t(const patches *p, double *stat) { return (void)p, stat + 1; }
static inline double *patches_S(const patches *p, double *stat) { return stat + 1 + patches_places(p); }
static inline double *patches_C(const patches *p, double *stat)
{
    return patches_S(p, stat) + patches_places(p) * patches_places(p);
}

extern const block_model patches_model;

/* The borders' share of the evidence, from the sums, which it overwrites, and with `gradient` the adjoints.  False: no factor. */
bool patches_head(patches *p, double *sums, bool gradient, double *value);

#endif
