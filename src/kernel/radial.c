/* u_ijd = s (x_id - z_jd)/l_d,  q_ij = sum_d u_ijd^2 = s^2 r2_ij,  K = v k(q),  W = G .* v k'(q), with s the stretch of the profile:

       dF/dv   = sum_ij G_ij k_ij
       dF/dl_d = -2/l_d sum_ij W_ij u_ijd^2
       dF/dx_i = 2 s/l_d sum_j W_ij u_ijd,           dF/dz_j = -2 s/l_d sum_i W_ij u_ijd

   and, for one length-scale shared by all dims, dF/dl = -2/l sum_ij W_ij q_ij, which needs no second pass over the dims.

   All of it from differences, which are exact for repeated rows; radial_distance.c finds q.  Many dims are handled by radial_wide.c.
   In float (real.h) they are never wide: leaf.c sees to that.
   Cost: 3 flops per dim forward, 4 to 7 more in reverse, and one profile per element. */
#include "kernel/radial.h"

#include <string.h>

#include "kernel/draws.h"
#include "kernel/vector.h"

/* All dims of a leaf that is not wide are one slice. */
static void pack_scaled(const leaf *l, const tile *t)
{
    double scale[TILE_SLICE];
    for (int64_t d = 0; d < l->n_dims; d++) scale[d] = radial_scale(l, d);
    slice_pack(l, t, 0, l->n_dims, scale, LIMIT_DISTANCE);
}

typedef struct evaluation {
    const radial_profile *profile;
    double c[RADIAL_CONSTANTS];
    real v;
    int64_t rows, ldg;
    const real *G;
    double *sum;
} evaluation;

static evaluation prepare(const leaf *l, const tile *t)
{
    evaluation e = {.profile = l->kind->OWN_PROFILE, .v = (real)leaf_value(l, RADIAL_VARIANCE, 0), .rows = t->rows};
    if (l->kind->constants) l->kind->constants(l, e.c);
    return e;
}

static void use_value(const void *context, int64_t j, real *q)
{
    const evaluation *e = context;
    (void)j;
    e->profile->value(e->c, e->v, e->rows, q);
}

static void use_slope(const void *context, int64_t j, real *q)
{
    const evaluation *e = context;
    e->profile->slope(e->c, e->v, e->rows, e->G + j * e->ldg, q, e->sum);
}

/* A column is in the first-level cache between its distances and its values. */
void radial_tile(const leaf *l, const tile *t, real *K, int64_t ldk)
{
    evaluation e = prepare(l, t);
#ifndef REAL_FLOAT
    if (leaf_is_wide(l)) {
        radial_wide_distances(l, t, K, ldk, use_value, &e);
        return;
    }
#endif
    pack_scaled(l, t);
    for (int64_t j = 0; j < t->cols; j++) {
        tile_fetch(t, K, ldk, j);
        slice_sqdist(t, l->n_dims, j, false, K + j * ldk);
        use_value(&e, j, K + j * ldk);
    }
}

/* ------------------------------------------------------------------------------------------- reverse */

/* W of STRIP columns is made at a time, in the first-level cache, and pulled at once; its leading dimension is PACK_ROWS. */
enum { STRIP = 4 };

VECTORISED static double product_sum(int64_t n, const real *a, const real *b)
{
    real sum = 0;
    SIMD_SUM(sum) for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* For one dim, z of the columns of the strip: sum W u^2. */
VECTORISED static double pull_second(int64_t n, const real *W, const real *x, const real *z)
{
    real z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3], s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    SIMD_SUM(s0, s1, s2, s3) for (int64_t i = 0; i < n; i++)
    {
        real u0 = x[i] - z0, u1 = x[i] - z1, u2 = x[i] - z2, u3 = x[i] - z3;
        s0 += W[i] * (u0 * u0), s1 += W[i + PACK_ROWS] * (u1 * u1);
        s2 += W[i + 2 * PACK_ROWS] * (u2 * u2), s3 += W[i + 3 * PACK_ROWS] * (u3 * u3);
    }
    return (double)s0 + s1 + s2 + s3;
}

/* The same, and first[STRIP]: sum W u of each column. */
VECTORISED static double pull_first(int64_t n, const real *W, const real *x, const real *z, real *first)
{
    real z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3];
    real f0 = 0, f1 = 0, f2 = 0, f3 = 0, s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    SIMD_SUM(f0, f1, f2, f3, s0, s1, s2, s3) for (int64_t i = 0; i < n; i++)
    {
        real u0 = x[i] - z0, u1 = x[i] - z1, u2 = x[i] - z2, u3 = x[i] - z3;
        real w0 = W[i] * u0, w1 = W[i + PACK_ROWS] * u1, w2 = W[i + 2 * PACK_ROWS] * u2, w3 = W[i + 3 * PACK_ROWS] * u3;
        f0 += w0, f1 += w1, f2 += w2, f3 += w3;
        s0 += w0 * u0, s1 += w1 * u1, s2 += w2 * u2, s3 += w3 * u3;
    }
    first[0] = f0, first[1] = f1, first[2] = f2, first[3] = f3;
    return (double)s0 + s1 + s2 + s3;
}

/* The same, and gx[n] += W u over the columns. */
VECTORISED static double pull_rows(int64_t n, const real *W, const real *x, const real *z, real *first, real *gx)
{
    real z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3], f0 = 0, f1 = 0, f2 = 0, f3 = 0, s0 = 0, s1 = 0;
    SIMD_SUM(f0, f1, f2, f3, s0, s1) for (int64_t i = 0; i < n; i++)
    {
        real u0 = x[i] - z0, u1 = x[i] - z1, u2 = x[i] - z2, u3 = x[i] - z3;
        real w0 = W[i] * u0, w1 = W[i + PACK_ROWS] * u1, w2 = W[i + 2 * PACK_ROWS] * u2, w3 = W[i + 3 * PACK_ROWS] * u3;
        f0 += w0, f1 += w1, f2 += w2, f3 += w3;
        s0 += w0 * u0 + w2 * u2, s1 += w1 * u1 + w3 * u3;
        gx[i] += (w0 + w1) + (w2 + w3);
    }
    first[0] = f0, first[1] = f1, first[2] = f2, first[3] = f3;
    return (double)s0 + s1;
}

/* Columns j .. j+n-1; those of W that are missing are zero. */
static void pull_strip(const tile *t, int64_t dims, int64_t j, int64_t n, const real *W, const tile_gradient *g,
                       double *second)
{
    for (int64_t d = 0; d < dims; d++) {
        const real *x = t->x + d * PACK_ROWS;
        real z[STRIP], first[STRIP];
        for (int64_t c = 0; c < STRIP; c++) z[c] = t->z[(c < n ? j + c : j) * TILE_SLICE + d];
        if (g->gX)
            second[d] += pull_rows(t->rows, W, x, z, first, t->gx + d * PACK_ROWS);
        else
            second[d] += g->gZ ? pull_first(t->rows, W, x, z, first) : pull_second(t->rows, W, x, z);
        for (int64_t c = 0; (g->gX || g->gZ) && c < n; c++) t->gz[(j + c) * TILE_SLICE + d] = first[c];
    }
}

/* To the length-scales from second[dims], and to the inputs from the packed gradients. */
static void unpack(const leaf *l, const tile *t, const double *second, tile_gradient *g)
{
    double factor[TILE_SLICE];
    for (int64_t d = 0; d < l->n_dims; d++) factor[d] = 2 * radial_scale(l, d);
    for (int64_t d = 0; g->gp && d < l->n_dims; d++)
        g->gp[l->offset[RADIAL_LENGTH] + d * l->stride[RADIAL_LENGTH]] -=
            2 * second[d] / leaf_value(l, RADIAL_LENGTH, d);
    slice_unpack(l, t, 0, l->n_dims, factor, -1, g);
}

static void reverse_by_strips(const leaf *l, const tile *t, const evaluation *e, tile_gradient *g)
{
    real W[STRIP * PACK_ROWS], kept[PACK_ROWS];
    double second[TILE_SLICE] = {0}, moment = 0;
    bool only_shared = !g->gX && !g->gZ && l->stride[RADIAL_LENGTH] == 0;
    pack_scaled(l, t);
    slice_clear(t, l->n_dims);
    for (int64_t j = 0; j < t->cols; j += STRIP) {
        int64_t n = t->cols - j < STRIP ? t->cols - j : STRIP;
        if (n < STRIP) memset(W, 0, sizeof W);
        for (int64_t c = 0; c < n; c++) {
            real *q = W + c * PACK_ROWS;
            tile_fetch(t, e->G, e->ldg, j + c);
            slice_sqdist(t, l->n_dims, j + c, false, q);
            if (only_shared) memcpy(kept, q, (size_t)t->rows * sizeof *q);
            use_slope(e, j + c, q);
            if (only_shared) moment += product_sum(t->rows, kept, q);
        }
        if (!only_shared) pull_strip(t, l->n_dims, j, n, W, g, second);
    }
    if (!only_shared)
        unpack(l, t, second, g);
    else if (g->gp)
        g->gp[l->offset[RADIAL_LENGTH]] -= 2 * moment / leaf_value(l, RADIAL_LENGTH, 0);
}

void radial_reverse(const leaf *l, const tile *t, const real *G, int64_t ldg, tile_gradient *g)
{
    double sum[2] = {0, 0};
    evaluation e = prepare(l, t);
    e.G = G, e.ldg = ldg, e.sum = sum;
#ifndef REAL_FLOAT
    if (leaf_is_wide(l)) {
        radial_wide_distances(l, t, t->work[0], t->rows, use_slope, &e);
        radial_wide_pull(l, t, t->work[0], g);
    } else
#endif
        reverse_by_strips(l, t, &e, g);
    if (g->gp) g->gp[l->offset[RADIAL_VARIANCE]] += sum[0];
    if (g->gp && l->kind->specs[RADIAL_SHAPE].name) g->gp[l->offset[RADIAL_SHAPE]] += sum[1];
}

#ifndef REAL_FLOAT
double radial_distance2(const leaf *l, const double *x, const double *z)
{
    double r2 = 0;
    for (int64_t d = 0; d < l->n_dims; d++) {
        double u = (x[l->dims[d]] - z[l->dims[d]]) / leaf_value(l, RADIAL_LENGTH, d);
        r2 += u * u;
    }
    return r2;
}

void radial_normal_frequency(const leaf *l, draws *r, double scale, double *w)
{
    for (int64_t d = 0; d < l->n_dims; d++) w[l->dims[d]] += scale * draw_normal(r) / leaf_value(l, RADIAL_LENGTH, d);
}
#endif
