/* s_ij = sum_d w_d x_id z_jd,  H = dF/dS:
       dF/dw_d = sum_ij H_ij x_id z_jd     dF/dx_id = w_d sum_j H_ij z_jd     dF/dz_jd = w_d sum_i H_ij x_id */
#include "kernel/dot.h"

#include <string.h>

#include "kernel/vector.h"
#include "kernel/wide.h"

static double clamp(double v) { return at_least(at_most(v, LIMIT_DOT), -LIMIT_DOT); }

double dot_define(const leaf *l, int spec, const double *x, const double *z)
{
    double s = 0;
    for (int64_t d = 0; d < l->n_dims; d++) s += leaf_value(l, spec, d) * x[l->dims[d]] * z[l->dims[d]];
    return s;
}

VECTORISED static void add_dim(int64_t n, const double *x, double wz, double *s)
{
    SIMD for (int64_t i = 0; i < n; i++) s[i] += x[i] * wz;
}

/* ---------------------------------------------------------------------------------------- many inputs */

/* As they are: origin 0, scale 1. */
static void wide_frame(const leaf *l, const tile *t)
{
    memset(t->wide.origin, 0, (size_t)l->n_dims * sizeof(double));
    for (int64_t d = 0; d < l->n_dims; d++) t->wide.scale[d] = 1;
}

static void wide_tile(const leaf *l, int spec, const tile *t, double *S, int64_t lds)
{
    wide_frame(l, t);
    for (int64_t first = 0; first < l->n_dims; first += WIDE_SLICE) {
        int64_t count = wide_length(l->n_dims, first);
        wide_pack(l, t, first, count, LIMIT_DOT);
        for (int64_t j = 0; j < t->cols; j++)
            for (int64_t d = 0; d < count; d++) t->wide.z[d + j * WIDE_LD] *= leaf_value(l, spec, first + d);
        wide_product(t, count, 1, 1, S, lds);
    }
}

static void wide_reverse(const leaf *l, int spec, const tile *t, const double *H, tile_gradient *g)
{
    const wide *w = &t->wide;
    double weight[WIDE_SLICE];
    wide_frame(l, t);
    for (int64_t first = 0; first < l->n_dims; first += WIDE_SLICE) {
        int64_t count = wide_length(l->n_dims, first);
        wide_pack(l, t, first, count, LIMIT_DOT);
        wide_pull(t, count, H, g->gX, g->gZ || g->gp);
        for (int64_t d = 0; d < count; d++) weight[d] = leaf_value(l, spec, first + d);
        if (g->gX) wide_unpack(l, first, count, weight, t->rows, NULL, w->x, w->gx, g->gX, g->ldgx);
        if (g->gZ) wide_unpack(l, first, count, weight, t->cols, NULL, w->z, w->gz, g->gZ, g->ldgz);
        for (int64_t j = 0; g->gp && j < t->cols; j++)
            for (int64_t d = 0; d < count; d++)
                g->gp[l->offset[spec] + (first + d) * l->stride[spec]] +=
                    w->z[d + j * WIDE_LD] * w->gz[d + j * WIDE_LD];
    }
}

/* ----------------------------------------------------------------------------------------- few inputs */

void dot_tile(const leaf *l, int spec, const tile *t, double start, double *S, int64_t lds)
{
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t i = 0; i < t->rows; i++) S[i + j * lds] = start;
    if (leaf_is_wide(l)) {
        wide_tile(l, spec, t, S, lds);
        return;
    }
    for (int64_t first = 0; first < l->n_dims; first += TILE_SLICE) {
        int64_t count = slice_length(l->n_dims, first);
        slice_pack(l, t, first, count, NULL, LIMIT_DOT);
        for (int64_t j = 0; j < t->cols; j++)
            for (int64_t d = 0; d < count; d++)
                add_dim(t->rows, t->x + d * PACK_ROWS, leaf_value(l, spec, first + d) * t->z[j * TILE_SLICE + d],
                        S + j * lds);
    }
}

/* gx[n] += h z; returns sum h x. */
VECTORISED static double pull(int64_t n, const double *h, const double *x, double z, double *gx)
{
    double hx = 0;
    SIMD_SUM(hx) for (int64_t i = 0; i < n; i++)
    {
        hx += h[i] * x[i];
        gx[i] += h[i] * z;
    }
    return hx;
}

void dot_reverse(const leaf *l, int spec, const tile *t, const double *H, tile_gradient *g)
{
    double weight[TILE_SLICE];
    if (leaf_is_wide(l)) {
        wide_reverse(l, spec, t, H, g);
        return;
    }
    for (int64_t first = 0; first < l->n_dims; first += TILE_SLICE) {
        int64_t count = slice_length(l->n_dims, first);
        slice_pack(l, t, first, count, NULL, LIMIT_DOT);
        slice_clear(t, count);
        for (int64_t d = 0; d < count; d++) {
            double gw = 0;
            weight[d] = leaf_value(l, spec, first + d);
            for (int64_t j = 0; j < t->cols; j++) {
                double z = t->z[j * TILE_SLICE + d], *gz = &t->gz[j * TILE_SLICE + d];
                *gz = pull(t->rows, H + j * t->rows, t->x + d * PACK_ROWS, z, t->gx + d * PACK_ROWS);
                gw += *gz * z;
            }
            if (g->gp) g->gp[l->offset[spec] + (first + d) * l->stride[spec]] += gw;
        }
        slice_unpack(l, t, first, count, weight, 1, g);
    }
}

void dot_diag(const leaf *l, int spec, int64_t n, const double *X, int64_t ldx, double start, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = start;
        for (int64_t d = 0; d < l->n_dims; d++) {
            double x = clamp(X[i * ldx + l->dims[d]]);
            out[i] += leaf_value(l, spec, d) * x * x;
        }
    }
}

void dot_diag_reverse(const leaf *l, int spec, int64_t n, const double *X, int64_t ldx, const double *h, double *gp,
                      double *gX, int64_t ldgx)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < l->n_dims; d++) {
            double x = clamp(X[i * ldx + l->dims[d]]);
            if (gp) gp[l->offset[spec] + d * l->stride[spec]] += h[i] * x * x;
            if (gX) gX[i * ldgx + l->dims[d]] += 2 * h[i] * leaf_value(l, spec, d) * x;
        }
}
