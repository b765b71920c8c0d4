/* r2_ij = sum_d (x_id - z_jd)^2 / l_d^2,  K = v k(r2),  W = G .* v k'(r2):

       dF/dv   = sum_ij G_ij k_ij
       dF/dl_d = -2/l_d sum_ij W_ij u_ijd^2,         u_ijd = (x_id - z_jd)/l_d
       dF/dx_i = 2 sum_j W_ij u_ijd / l_d,           dF/dz_j = -2 sum_i W_ij u_ijd / l_d

   and, for one length-scale shared by all dims, dF/dl = -2/l sum_ij W_ij r2_ij, which needs no second pass over the dims.

   All of it from differences, which are exact for repeated rows; distance.c finds r2.  Many dims go by radial_wide.c.
   Cost: 3 flops a dim forward, 6 reverse, and one profile an element. */
#include "kernel/radial.h"

#include <string.h>

#include "kernel/draws.h"
#include "kernel/vector.h"
#include "linalg/linalg.h"

static void pack_scaled(const leaf *l, const tile *t, int64_t first, int64_t count)
{
    double inverse[TILE_SLICE];
    for (int64_t d = 0; d < count; d++) inverse[d] = 1 / leaf_value(l, RADIAL_LENGTH, first + d);
    slice_pack(l, t, first, count, inverse, LIMIT_DISTANCE);
}

/* R[rows,cols] = r^2, each column handed on as soon as it is complete and still in the first cache. */
static void distances(const leaf *l, const tile *t, double *R, int64_t ldr, column_use *use, const void *context)
{
    int64_t first = 0, last;
    if (leaf_is_wide(l)) {
        radial_wide_distances(l, t, R, ldr, use, context);
        return;
    }
    do {
        last = first + slice_length(l->n_dims, first);
        pack_scaled(l, t, first, last - first);
        for (int64_t j = 0; j < t->cols; j++) {
            slice_sqdist(t, last - first, j, first > 0, R + j * ldr);
            if (last == l->n_dims) use(context, j, R + j * ldr);
        }
        first = last;
    } while (last < l->n_dims);
}

typedef struct evaluation {
    const radial_profile *profile;
    double c[RADIAL_CONSTANTS], v;
    int64_t rows, ldg;
    const double *G;
    double *sum;
    double *kept, *moment; /* kept[rows] not NULL: *moment += sum W .* r2 */
} evaluation;

static evaluation prepare(const leaf *l, const tile *t)
{
    evaluation e = {.profile = l->kind->profile, .v = leaf_value(l, RADIAL_VARIANCE, 0), .rows = t->rows};
    if (e.profile->prepare) e.profile->prepare(l, e.c);
    return e;
}

static void use_value(const void *context, int64_t j, double *r2)
{
    const evaluation *e = context;
    (void)j;
    e->profile->value(e->c, e->v, e->rows, r2);
}

static void use_slope(const void *context, int64_t j, double *r2)
{
    const evaluation *e = context;
    if (e->kept) memcpy(e->kept, r2, (size_t)e->rows * sizeof *r2);
    e->profile->slope(e->c, e->v, e->rows, e->G + j * e->ldg, r2, e->sum);
    if (e->kept) *e->moment += la_dot(e->rows, e->kept, r2);
}

void radial_tile(const leaf *l, const tile *t, double *K, int64_t ldk)
{
    evaluation e = prepare(l, t);
    distances(l, t, K, ldk, use_value, &e);
}

/* For one dim and one column: gx[n] += W u, *gz += sum W u (less its sign); returns sum W u^2. */
VECTORISED static double pull(int64_t n, const double *W, const double *x, double z, double *gx, double *gz)
{
    double second = 0, first = 0;
    SIMD_SUM(second, first) for (int64_t i = 0; i < n; i++)
    {
        double u = x[i] - z, w = W[i] * u;
        second += w * u;
        first += w;
        gx[i] += w;
    }
    *gz += first;
    return second;
}

/* The same when only the sum is wanted. */
VECTORISED static double pull_sum(int64_t n, const double *W, const double *x, double z)
{
    double second = 0;
    SIMD_SUM(second) for (int64_t i = 0; i < n; i++)
    {
        double u = x[i] - z;
        second += W[i] * u * u;
    }
    return second;
}

/* Pushes W to the inputs and length-scales of one slice. */
static void pull_slice(const leaf *l, const tile *t, const double *W, int64_t first, int64_t count, tile_gradient *g)
{
    double second[TILE_SLICE] = {0}, factor[TILE_SLICE];
    bool inputs = g->gX || g->gZ;
    pack_scaled(l, t, first, count);
    if (inputs) slice_clear(t, count);
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t d = 0; d < count; d++) {
            const double *w = W + j * t->rows, *x = t->x + d * PACK_ROWS, *z = t->z + j * TILE_SLICE + d;
            second[d] += inputs ? pull(t->rows, w, x, *z, t->gx + d * PACK_ROWS, t->gz + j * TILE_SLICE + d)
                                : pull_sum(t->rows, w, x, *z);
        }
    for (int64_t d = 0; d < count; d++) factor[d] = 2 / leaf_value(l, RADIAL_LENGTH, first + d);
    for (int64_t d = 0; g->gp && d < count; d++)
        g->gp[l->offset[RADIAL_LENGTH] + (first + d) * l->stride[RADIAL_LENGTH]] -= factor[d] * second[d];
    if (!inputs) return;
    slice_unpack(l, t, first, count, factor, -1, g);
}

static void pull_all(const leaf *l, const tile *t, double *W, tile_gradient *g)
{
    if (leaf_is_wide(l)) {
        radial_wide_pull(l, t, W, g);
        return;
    }
    for (int64_t first = 0; first < l->n_dims; first += TILE_SLICE)
        pull_slice(l, t, W, first, slice_length(l->n_dims, first), g);
}

void radial_reverse(const leaf *l, const tile *t, const double *G, int64_t ldg, tile_gradient *g)
{
    double sum[2] = {0, 0}, moment = 0, *W = t->work[0];
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
