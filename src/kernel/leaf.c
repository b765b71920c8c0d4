/* A leaf on a tile, in double: what its kind says.  In float (leaf_f32.h): by float tiles of its kind, or in double and rounded. */
#include "kernel/leaf_f32.h"
#include "kernel/tile.h"

void leaf_tile(const leaf *l, const tile *t, double *K, int64_t ldk) { l->kind->tile(l, t, K, ldk); }

void leaf_reverse(const leaf *l, const tile *t, const double *G, int64_t ldg, tile_gradient *g)
{
    l->kind->reverse(l, t, G, ldg, g);
}

/* ------------------------------------------------------------------- beside float tiles: the others */

bool leaf_has_float(const leaf *l) { return l->kind->profile_f32 && !leaf_is_wide(l); }

int64_t leaf_beside_doubles(const kernel *k, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < k->n_leaves; i++)
        if (!leaf_has_float(&k->leaves[i])) return rows * cols + tile_work(k, rows, cols);
    return 0;
}

/* The tile in double, behind the values in the workspace. */
static tile beside(const tile_place_of *p, double *work)
{
    tile t = {.rows = p->rows, .cols = p->cols, .X = p->X, .Z = p->Z, .ldx = p->ldx, .ldz = p->ldz};
    t.diagonal = p->diagonal, t.symmetric = p->symmetric;
    tile_place(&t, p->k, p->rows, p->cols, work + p->rows * p->cols);
    return t;
}

static float narrow(double v) { return (float)(v > FLOAT_MOST ? FLOAT_MOST : v < -FLOAT_MOST ? -FLOAT_MOST : v); }

void leaf_tile_rounded(const leaf *l, const tile_place_of *p, double *work, float *K, int64_t ldk)
{
    tile t = beside(p, work);
    l->kind->tile(l, &t, work, p->rows);
    for (int64_t j = 0; j < p->cols; j++)
        for (int64_t i = 0; i < p->rows; i++) K[i + j * ldk] = narrow(work[i + j * p->rows]);
}

void leaf_reverse_widened(const leaf *l, const tile_place_of *p, double *work, const float *G, int64_t ldg,
                          tile_gradient *g)
{
    tile t = beside(p, work);
    for (int64_t j = 0; j < p->cols; j++)
        for (int64_t i = 0; i < p->rows; i++) work[i + j * p->rows] = G[i + j * ldg];
    l->kind->reverse(l, &t, work, p->rows, g);
}
