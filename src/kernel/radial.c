/* u_ijd = s (x_id - z_jd)/l_d,  q_ij = sum_d u_ijd^2 = s^2 r2_ij,  K = v k(q),  W = G .* v k'(q), with s the stretch of the profile:

       dF/dv   = sum_ij G_ij k_ij
       dF/dl_d = -2/l_d sum_ij W_ij u_ijd^2
       dF/dx_i = 2 s/l_d sum_j W_ij u_ijd,           dF/dz_j = -2 s/l_d sum_i W_ij u_ijd

   and, for one length-scale shared by all dims, dF/dl = -2/l sum_ij W_ij q_ij, which needs no second pass over the dims.

   All of it from differences, which are exact for repeated rows; radial_distance.c finds q.  Many dims are handled by radial_wide.c.
   In float (real.h) they are never wide: leaf.c sees to that.
   Cost: 3 flops per dim forward, 6 reverse, and one profile per element. */
#include "kernel/radial.h"

#include <string.h>

#include "kernel/draws.h"
#include "kernel/vector.h"

static void pack_scaled(const leaf *l, const tile *t, int64_t first, int64_t count)
{
    double scale[TILE_SLICE];
    for (int64_t d = 0; d < count; d++) scale[d] = radial_scale(l, first + d);
    slice_pack(l, t, first, count, scale, LIMIT_DISTANCE);
}

/* R[rows,cols] = q, each column passed on as soon as it is complete and still in the first-level cache. */
static void distances(const leaf *l, const tile *t, real *R, int64_t ldr, column_use *use, const void *context)
{
    int64_t first = 0, last;
#ifndef REAL_FLOAT
    if (leaf_is_wide(l)) {
        radial_wide_distances(l, t, R, ldr, use, context);
        return;
    }
#endif
    do {
        last = first + slice_length(l->n_dims, first);
        pack_scaled(l, t, first, last - first);
        for (int64_t j = 0; j < t->cols; j++) {
            if (first == 0 && j + 1 < t->cols) tile_fetch(t, R + (j + 1) * ldr);
            slice_sqdist(t, last - first, j, first > 0, R + j * ldr);
            if (last == l->n_dims) use(context, j, R + j * ldr);
        }
        first = last;
    } while (last < l->n_dims);
}

typedef struct evaluation {
    const radial_profile *profile;
    double c[RADIAL_CONSTANTS];
    real v;
    int64_t rows, ldg;
    const real *G;
    double *sum;
    real *kept;
    double *moment; /* kept[rows] not NULL: *moment += sum W .* q */
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

VECTORISED static double product_sum(int64_t n, const real *a, const real *b)
{
    real sum = 0;
    SIMD_SUM(sum) for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void use_slope(const void *context, int64_t j, real *q)
{
    const evaluation *e = context;
    if (e->kept) memcpy(e->kept, q, (size_t)e->rows * sizeof *q);
    e->profile->slope(e->c, e->v, e->rows, e->G + j * e->ldg, q, e->sum);
    if (e->kept) *e->moment += product_sum(e->rows, e->kept, q);
}

void radial_tile(const leaf *l, const tile *t, real *K, int64_t ldk)
{
    evaluation e = prepare(l, t);
    distances(l, t, K, ldk, use_value, &e);
}

/* For one dim and one column: gx[n] += W u, *gz += sum W u (less its sign); returns sum W u^2. */
VECTORISED static real pull(int64_t n, const real *W, const real *x, real z, real *gx, real *gz)
{
    real second = 0, first = 0;
    SIMD_SUM(second, first) for (int64_t i = 0; i < n; i++)
    {
        real u = x[i] - z, w = W[i] * u;
        second += w * u;
        first += w;
        gx[i] += w;
    }
    *gz += first;
    return second;
}

/* The two sums of four dims at once, for when gX is not wanted: first[4] and second[4] get theirs added. */
VECTORISED static void pull_sums(int64_t n, const real *W, const real *x, const real *z, real *first, double *second)
{
    real z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3];
    real f0 = 0, f1 = 0, f2 = 0, f3 = 0, s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    SIMD_SUM(f0, f1, f2, f3, s0, s1, s2, s3) for (int64_t i = 0; i < n; i++)
    {
        real u0 = x[i] - z0, u1 = x[i + PACK_ROWS] - z1, u2 = x[i + 2 * PACK_ROWS] - z2;
        real u3 = x[i + 3 * PACK_ROWS] - z3, w0 = W[i] * u0, w1 = W[i] * u1, w2 = W[i] * u2, w3 = W[i] * u3;
        f0 += w0, f1 += w1, f2 += w2, f3 += w3;
        s0 += w0 * u0, s1 += w1 * u1, s2 += w2 * u2, s3 += w3 * u3;
    }
    first[0] += f0, first[1] += f1, first[2] += f2, first[3] += f3;
    second[0] += s0, second[1] += s1, second[2] += s2, second[3] += s3;
}

/* Column j of W over the packed slice. */
static void pull_column(const tile *t, int64_t count, int64_t j, const real *W, bool rows_too, double *second)
{
    real *z = t->z + j * TILE_SLICE, *gz = t->gz + j * TILE_SLICE;
    for (int64_t d = 0; rows_too && d < count; d++)
        second[d] += pull(t->rows, W, t->x + d * PACK_ROWS, z[d], t->gx + d * PACK_ROWS, gz + d);
    for (int64_t d = 0; !rows_too && d < count; d += 4) /* slices are padded to that */
        pull_sums(t->rows, W, t->x + d * PACK_ROWS, z + d, gz + d, second + d);
}

/* Pushes W to the inputs and length-scales of one slice. */
static void pull_slice(const leaf *l, const tile *t, const real *W, int64_t first, int64_t count, tile_gradient *g)
{
    double second[TILE_SLICE] = {0}, factor[TILE_SLICE];
    pack_scaled(l, t, first, count);
    slice_clear(t, count);
    for (int64_t j = 0; j < t->cols; j++) pull_column(t, count, j, W + j * t->rows, g->gX, second);
    for (int64_t d = 0; d < count; d++) factor[d] = 2 * radial_scale(l, first + d);
    for (int64_t d = 0; g->gp && d < count; d++)
        g->gp[l->offset[RADIAL_LENGTH] + (first + d) * l->stride[RADIAL_LENGTH]] -=
            2 * second[d] / leaf_value(l, RADIAL_LENGTH, first + d);
    slice_unpack(l, t, first, count, factor, -1, g);
}

static void pull_all(const leaf *l, const tile *t, real *W, tile_gradient *g)
{
#ifndef REAL_FLOAT
    if (leaf_is_wide(l)) {
        radial_wide_pull(l, t, W, g);
        return;
    }
#endif
    for (int64_t first = 0; first < l->n_dims; first += TILE_SLICE)
        pull_slice(l, t, W, first, slice_length(l->n_dims, first), g);
}

void radial_reverse(const leaf *l, const tile *t, const real *G, int64_t ldg, tile_gradient *g)
{
    double sum[2] = {0, 0}, moment = 0;
    real *W = t->work[0];
    bool only_shared = !g->gX && !g->gZ && l->stride[RADIAL_LENGTH] == 0;
    evaluation e = prepare(l, t);
    e.G = G, e.ldg = ldg, e.sum = sum;
    if (only_shared) e.kept = t->work[1], e.moment = &moment;
    distances(l, t, W, t->rows, use_slope, &e);
    if (g->gp) g->gp[l->offset[RADIAL_VARIANCE]] += sum[0];
    if (g->gp && l->kind->specs[RADIAL_SHAPE].name) g->gp[l->offset[RADIAL_SHAPE]] += sum[1];
    if (only_shared && g->gp) g->gp[l->offset[RADIAL_LENGTH]] -= 2 * moment / leaf_value(l, RADIAL_LENGTH, 0);
    if (!only_shared) pull_all(l, t, W, g);
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
