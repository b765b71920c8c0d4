/* k = v exp(-2 sum_d sin^2(pi u_d / p_d) / l_d^2),  u = x - z;  l has no unit.  With s, c the sine and cosine of
   pi u_d/p_d and B = G .* K:
       dF/dl_d = sum B 4 s^2/l_d^3      dF/dp_d = sum B 4 pi s c u_d/(p_d l_d)^2      dF/dx_d = -sum B 4 pi s c/(p_d l_d^2)
   Spectrum: in each dim exp((cos a - 1)/l^2) is the characteristic function of the difference of two independent
   Poisson numbers of mean 1/(2 l^2), in units of 2 pi/p. */
#include <string.h>

#include "kernel/draws.h"
#include "kernel/tile.h"
#include "kernel/vector.h"

enum { VARIANCE, PERIOD, LENGTH };

static double define(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    double sum = 0;
    for (int64_t d = 0; d < l->n_dims; d++) {
        double u = x[l->dims[d]] - z[l->dims[d]];
        sum += pow(sin(PI * remainder(u / leaf_value(l, PERIOD, d), 1)) / leaf_value(l, LENGTH, d), 2);
    }
    return leaf_value(l, VARIANCE, 0) * exp(-2 * sum);
}

/* E[n] += 2 (sin(pi u/p)/l)^2 */
VECTORISED static void add_dim(int64_t n, const double *x, double z, double p, double l, double *E)
{
    double per = 1 / p, weight = 2 / (l * l);
    SIMD for (int64_t i = 0; i < n; i++)
    {
        double s = sin(PI * phase((x[i] - z) * per));
        E[i] += weight * s * s;
    }
}

VECTORISED static void finish(int64_t n, double v, double *E)
{
    SIMD for (int64_t i = 0; i < n; i++) E[i] = v * exp_minus(E[i]);
}

static void evaluate(const leaf *l, const tile *t, double *K, int64_t ldk)
{
    for (int64_t j = 0; j < t->cols; j++) memset(K + j * ldk, 0, (size_t)t->rows * sizeof *K);
    for (int64_t first = 0; first < l->n_dims; first += TILE_SLICE) {
        int64_t count = slice_length(l->n_dims, first);
        slice_pack(l, t, first, count, NULL, LIMIT_DISTANCE);
        for (int64_t j = 0; j < t->cols; j++)
            for (int64_t d = 0; d < count; d++)
                add_dim(t->rows, t->x + d * PACK_ROWS, t->z[j * TILE_SLICE + d], leaf_value(l, PERIOD, first + d),
                        leaf_value(l, LENGTH, first + d), K + j * ldk);
    }
    for (int64_t j = 0; j < t->cols; j++) finish(t->rows, leaf_value(l, VARIANCE, 0), K + j * ldk);
}

typedef struct sums {
    double sine2, slope_u, slope; /* sum B s^2, sum B s c u, sum B s c */
} sums;

VECTORISED static void pull_dim(int64_t n, const double *B, const double *x, double z, double p, double *gx, sums *out)
{
    double per = 1 / p, sine2 = 0, slope_u = 0, slope = 0;
    SIMD_SUM(sine2, slope_u, slope) for (int64_t i = 0; i < n; i++)
    {
        double u = x[i] - z, f = PI * phase(u * per), s = sin(f), bsc = 0.5 * B[i] * sin(2 * f);
        sine2 += B[i] * s * s;
        slope_u += bsc * u;
        slope += bsc;
        gx[i] -= bsc;
    }
    out->sine2 += sine2, out->slope_u += slope_u, out->slope += slope;
}

static void pull_slice(const leaf *l, const tile *t, const double *B, int64_t first, int64_t count, tile_gradient *g)
{
    double factor[TILE_SLICE];
    slice_pack(l, t, first, count, NULL, LIMIT_DISTANCE);
    slice_clear(t, count);
    for (int64_t d = 0; d < count; d++) {
        double p = leaf_value(l, PERIOD, first + d), length = leaf_value(l, LENGTH, first + d);
        sums s = {0};
        factor[d] = 4 * PI / (p * length * length);
        for (int64_t j = 0; j < t->cols; j++) {
            double before = s.slope;
            pull_dim(t->rows, B + j * t->rows, t->x + d * PACK_ROWS, t->z[j * TILE_SLICE + d], p, t->gx + d * PACK_ROWS,
                     &s);
            t->gz[j * TILE_SLICE + d] = before - s.slope;
        }
        if (!g->gp) continue;
        g->gp[l->offset[LENGTH] + (first + d) * l->stride[LENGTH]] += 4 * s.sine2 / (length * length * length);
        g->gp[l->offset[PERIOD] + (first + d) * l->stride[PERIOD]] += factor[d] * s.slope_u / p;
    }
    slice_unpack(l, t, first, count, factor, -1, g);
}

static void reverse(const leaf *l, const tile *t, const double *G, int64_t ldg, tile_gradient *g)
{
    double *B = t->work[0], total = 0;
    evaluate(l, t, B, t->rows);
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t i = 0; i < t->rows; i++) total += B[i + j * t->rows] *= G[i + j * ldg];
    if (g->gp) g->gp[l->offset[VARIANCE]] += total / leaf_value(l, VARIANCE, 0);
    for (int64_t first = 0; first < l->n_dims; first += TILE_SLICE)
        pull_slice(l, t, B, first, slice_length(l->n_dims, first), g);
}

static void frequency(const leaf *l, draws *r, double *w)
{
    for (int64_t d = 0; d < l->n_dims; d++) {
        double length = leaf_value(l, LENGTH, d);
        w[l->dims[d]] += 2 * PI / leaf_value(l, PERIOD, d) * draw_poisson_difference(r, 0.5 / (length * length));
    }
}

const kernel_kind kind_periodic = {.name = "periodic",
                                   .specs = {{"variance", ROLE_VARIANCE, PER_LEAF, 1, GROWS_NOT, false},
                                             {"period", ROLE_PERIOD, PER_DIM, 1, GROWS_NOT, false},
                                             {"lengthscale", ROLE_SHAPE, PER_DIM, 1, GROWS_ROOT, false}},
                                   .define = define,
                                   .tile = evaluate,
                                   .reverse = reverse,
                                   .frequency = frequency};
