/* A leaf on a tile in float. */
#define REAL_FLOAT
#include "kernel/leaf_f32.h"
#include "kernel/radial.h"

static tile_place_of place(const tile *t)
{
    return (tile_place_of){t->k, t->rows, t->cols, t->X, t->Z, t->ldx, t->ldz, t->diagonal, t->symmetric};
}

void leaf_tile(const leaf *l, const tile *t, float *K, int64_t ldk)
{
    tile_place_of p = place(t);
    if (leaf_has_float(l))
        radial_tile(l, t, K, ldk);
    else
        leaf_tile_rounded(l, &p, t->beside, K, ldk);
}

void leaf_reverse(const leaf *l, const tile *t, const float *G, int64_t ldg, tile_gradient *g)
{
    tile_place_of p = place(t);
    if (leaf_has_float(l))
        radial_reverse(l, t, G, ldg, g);
    else
        leaf_reverse_widened(l, &p, t->beside, G, ldg, g);
}
