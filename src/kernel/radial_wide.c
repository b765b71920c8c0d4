/* Squared distances in many dims, and their gradients, by matrix products.  With rows packed as u = s (x - o)/l,
   w = s (z - o)/l about an origin o among the rows of the tile, with s and q as in radial.c:

       q_ij = |u_i|^2 + |w_j|^2 - 2 u_i'w_j

   whose rounding error is about eps (|u_i|^2 + |w_j|^2).  Where that is no longer small beside q itself, that is for pairs
   with q < NEAR (|u_i|^2 + |w_j|^2), differences are taken instead: equal rows have distance exactly 0, and elsewhere the
   relative error of q is below 10 eps / NEAR.  For W = G .* v k'(q), with row sums a_i and column sums c_j,

       dF/dx_id = 2 s/l_d (a_i u_id - (W w)_id)                  dF/dz_jd = 2 s/l_d (c_j w_jd - (W'u)_jd)
       dF/dl_d  = -2/l_d (sum_i a_i u_id^2 + sum_j c_j w_jd^2 - 2 sum_j w_jd (W'u)_jd)

   where the near pairs are left out of W and pushed one by one.  Cost: 2 flops per dim and element forward; reverse as many for each of q, gz and gx. */
#include <string.h>

#include "kernel/radial.h"
#include "kernel/vector.h"
#include "kernel/wide.h"

#define NEAR 1e-3

enum { SAMPLE = 16 }; /* rows of either side whose mean is the origin: any point among them would do */

/* ------------------------------------------------------------------------------------------- forward */

static void add_rows(const leaf *l, int64_t n, const double *X, int64_t ldx, double *origin)
{
    int64_t step = n < SAMPLE ? 1 : n / SAMPLE;
    double share = 0.5 / (double)((n + step - 1) / step); /* before adding: sums of the largest numbers stay finite */
    for (int64_t i = 0; i < n; i += step)
        for (int64_t d = 0; d < l->n_dims; d++) origin[d] += share * X[i * ldx + l->dims[d]];
}

static void choose_frame(const leaf *l, const tile *t)
{
    const wide *w = &t->wide;
    memset(w->origin, 0, (size_t)l->n_dims * sizeof *w->origin);
    add_rows(l, t->rows, t->X, t->ldx, w->origin);
    add_rows(l, t->cols, t->Z, t->ldz, w->origin);
    for (int64_t d = 0; d < l->n_dims; d++) w->scale[d] = radial_scale(l, d);
}

/* r[n] = xx + zz + r, and near[n]: too little is left of it; returns how many are. */
VECTORISED static int64_t finish(int64_t n, const double *xx, double zz, double *r, unsigned char *near)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        double whole = xx[i] + zz, left = whole + r[i];
        r[i] = left;
        near[i] = !(left > NEAR * whole);
        count += near[i];
    }
    return count;
}

/* By differences. */
VECTORISED static double pair_distance2(int64_t n, const int64_t *dims, const double *scale, const double *x,
                                        const double *z)
{
    double sum = 0;
    SIMD_SUM(sum) for (int64_t d = 0; d < n; d++)
    {
        double u = scale[d] * (x[dims[d]] - z[dims[d]]);
        u = at_least(at_most(u, LIMIT_DISTANCE), -LIMIT_DISTANCE);
        sum += u * u;
    }
    return sum;
}

void radial_wide_distances(const leaf *l, const tile *t, double *R, int64_t ldr, column_use *use, const void *context)
{
    const wide *w = &t->wide;
    choose_frame(l, t);
    memset(w->xx, 0, (size_t)t->rows * sizeof *w->xx);
    memset(w->zz, 0, (size_t)t->cols * sizeof *w->zz);
    for (int64_t first = 0; first < l->n_dims; first += WIDE_SLICE) {
        int64_t count = wide_length(l->n_dims, first);
        wide_pack(l, t, first, count, LIMIT_DISTANCE);
        wide_product(t, count, -2, first > 0, R, ldr);
    }
    for (int64_t j = 0; j < t->cols; j++) {
        double *r = R + j * ldr;
        unsigned char *near = w->near + j * t->rows;
        int64_t left = finish(t->rows, w->xx, w->zz[j], r, near);
        for (int64_t i = 0; left > 0; i++)
            if (near[i])
                r[i] = pair_distance2(l->n_dims, l->dims, w->scale, t->X + i * t->ldx, t->Z + j * t->ldz), left--;
        use(context, j, r);
    }
}

/* ------------------------------------------------------------------------------------------- reverse */

/* Where the gradient of length-scale d goes. */
static double *length_gradient(const leaf *l, const tile_gradient *g, int64_t d)
{
    return &g->gp[l->offset[RADIAL_LENGTH] + d * l->stride[RADIAL_LENGTH]];
}

/* One near pair with weight W, by differences. */
static void pull_pair(const leaf *l, const tile *t, int64_t i, int64_t j, double W, tile_gradient *g)
{
    const double *x = t->X + i * t->ldx, *z = t->Z + j * t->ldz, *scale = t->wide.scale;
    for (int64_t d = 0; d < l->n_dims; d++) {
        int64_t at = l->dims[d];
        double u = scale[d] * (x[at] - z[at]), pull = 2 * scale[d] * W * u;
        if (g->gX) g->gX[i * g->ldgx + at] += pull;
        if (g->gZ) g->gZ[j * g->ldgz + at] -= pull;
        if (g->gp) *length_gradient(l, g, d) -= 2 * W * u * u / leaf_value(l, RADIAL_LENGTH, d);
    }
}

/* Pushes the near pairs and leaves them out of W. */
static void pull_near(const leaf *l, const tile *t, double *W, tile_gradient *g)
{
    for (int64_t at = 0; at < t->rows * t->cols; at++) {
        if (!t->wide.near[at]) continue;
        if (W[at] != 0) pull_pair(l, t, at % t->rows, at / t->rows, W[at], g);
        W[at] = 0;
    }
}

/* a[rows] and c[cols]: sums of W over columns and over rows. */
static void margins(const tile *t, const double *W, double *a, double *c)
{
    memset(a, 0, (size_t)t->rows * sizeof *a);
    for (int64_t j = 0; j < t->cols; j++) {
        c[j] = 0;
        for (int64_t i = 0; i < t->rows; i++) a[i] += W[i + j * t->rows], c[j] += W[i + j * t->rows];
    }
}

/* second[count] += sum_i a_i v_id^2 - 2 sum_i v_id p_id; p NULL: without. */
VECTORISED static void add_second(int64_t count, int64_t rows, const double *a, const double *v, const double *p,
                                  double *second)
{
    for (int64_t i = 0; i < rows; i++) {
        const double *vi = v + i * WIDE_LD, *pi = p ? p + i * WIDE_LD : vi;
        double twice = p ? 2 : 0;
        SIMD for (int64_t d = 0; d < count; d++) second[d] += vi[d] * (a[i] * vi[d] - twice * pi[d]);
    }
}

static void pull_slice(const leaf *l, const tile *t, int64_t first, int64_t count, const double *W, const double *a,
                       const double *c, tile_gradient *g)
{
    const wide *w = &t->wide;
    double factor[WIDE_SLICE], second[WIDE_SLICE] = {0};
    wide_pull(t, count, W, g->gX, g->gZ || g->gp);
    for (int64_t d = 0; d < count; d++) factor[d] = 2 * w->scale[first + d];
    if (g->gX) wide_unpack(l, first, count, factor, t->rows, a, w->x, w->gx, g->gX, g->ldgx);
    if (g->gZ) wide_unpack(l, first, count, factor, t->cols, c, w->z, w->gz, g->gZ, g->ldgz);
    if (!g->gp) return;
    add_second(count, t->rows, a, w->x, NULL, second);
    add_second(count, t->cols, c, w->z, w->gz, second);
    for (int64_t d = 0; d < count; d++)
        *length_gradient(l, g, first + d) -= 2 * second[d] / leaf_value(l, RADIAL_LENGTH, first + d);
}

void radial_wide_pull(const leaf *l, const tile *t, double *W, tile_gradient *g)
{
    double a[TILE_ROWS], c[WIDE_COLS];
    pull_near(l, t, W, g);
    margins(t, W, a, c);
    for (int64_t first = 0; first < l->n_dims; first += WIDE_SLICE) {
        int64_t count = wide_length(l->n_dims, first);
        if (l->n_dims > WIDE_SLICE) wide_pack(l, t, first, count, LIMIT_DISTANCE); /* else still packed */
        pull_slice(l, t, first, count, W, a, c, g);
    }
}
