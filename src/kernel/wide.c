/* Leaves with many inputs, by products of matrices (wide.h). */
#include "kernel/wide.h"

#include "kernel/vector.h"
#include "linalg/linalg.h"

int64_t wide_dims(const kernel *k)
{
    int64_t most = 0;
    for (int64_t i = 0; i < k->n_leaves; i++)
        if (leaf_is_wide(&k->leaves[i]) && k->leaves[i].n_dims > most) most = k->leaves[i].n_dims;
    return most;
}

int64_t tile_columns(const kernel *k) { return wide_dims(k) ? WIDE_COLS : TILE_COLS; }

static int64_t mask_size(int64_t rows, int64_t cols)
{
    return (rows * cols + (int64_t)sizeof(double) - 1) / (int64_t)sizeof(double);
}

int64_t wide_work(const kernel *k, int64_t rows, int64_t cols)
{
    int64_t dims = wide_dims(k);
    return dims ? (2 * WIDE_LD + 1) * (rows + cols) + 2 * dims + mask_size(rows, cols) : 0;
}

void wide_place(wide *w, const kernel *k, int64_t rows, int64_t cols, double *work)
{
    int64_t dims = wide_dims(k);
    *w = (wide){0};
    if (!dims) return;
    w->x = work, w->gx = w->x + WIDE_LD * rows;
    w->z = w->gx + WIDE_LD * rows, w->gz = w->z + WIDE_LD * cols;
    w->xx = w->gz + WIDE_LD * cols, w->zz = w->xx + rows;
    w->origin = w->zz + cols, w->scale = w->origin + dims;
    w->near = (unsigned char *)(w->scale + dims);
}

static bool in_sequence(int64_t count, const int64_t *dims)
{
    for (int64_t d = 1; d < count; d++)
        if (dims[d] != dims[0] + d) return false;
    return true;
}

/* to[count] from from[count], which may be the same; returns the sum of squares. */
VECTORISED static double map_row(int64_t count, const double *origin, const double *scale, double limit,
                                 const double *from, double *to)
{
    double sum = 0;
    SIMD_SUM(sum) for (int64_t d = 0; d < count; d++)
    {
        double v = at_least(at_most(scale[d] * (from[d] - origin[d]), limit), -limit);
        to[d] = v;
        sum += v * v;
    }
    return sum;
}

/* n rows of X to p[count,n], and their squares to sums[n]. */
static void pack_rows(const leaf *l, const wide *w, int64_t first, int64_t count, double limit, int64_t n,
                      const double *X, int64_t ldx, double *p, double *sums)
{
    const int64_t *dims = l->dims + first;
    bool sequence = in_sequence(count, dims);
    for (int64_t i = 0; i < n; i++) {
        const double *from = X + i * ldx;
        double *to = p + i * WIDE_LD;
        for (int64_t d = 0; !sequence && d < count; d++) to[d] = from[dims[d]];
        sums[i] += map_row(count, w->origin + first, w->scale + first, limit, sequence ? from + dims[0] : to, to);
    }
}

void wide_pack(const leaf *l, const tile *t, int64_t first, int64_t count, double limit)
{
    const wide *w = &t->wide;
    pack_rows(l, w, first, count, limit, t->rows, t->X, t->ldx, w->x, w->xx);
    pack_rows(l, w, first, count, limit, t->cols, t->Z, t->ldz, w->z, w->zz);
}

void wide_product(const tile *t, int64_t count, double alpha, double beta, double *S, int64_t lds)
{
    la_gemm(LA_T, LA_N, t->rows, t->cols, count, alpha, t->wide.x, WIDE_LD, t->wide.z, WIDE_LD, beta, S, lds);
}

void wide_pull(const tile *t, int64_t count, const double *W, bool gx, bool gz)
{
    const wide *w = &t->wide;
    if (gz) la_gemm(LA_N, LA_N, count, t->cols, t->rows, 1, w->x, WIDE_LD, W, t->rows, 0, w->gz, WIDE_LD);
    if (gx) la_gemm(LA_N, LA_T, count, t->rows, t->cols, 1, w->z, WIDE_LD, W, t->rows, 0, w->gx, WIDE_LD);
}

VECTORISED static void add_row(int64_t count, const double *factor, double sum, const double *v, double sign,
                               const double *p, double *g)
{
    SIMD for (int64_t d = 0; d < count; d++) g[d] += factor[d] * (sum * v[d] + sign * p[d]);
}

void wide_unpack(const leaf *l, int64_t first, int64_t count, const double *factor, int64_t rows, const double *sum,
                 const double *v, const double *p, double *g, int64_t ldg)
{
    const int64_t *dims = l->dims + first;
    bool sequence = in_sequence(count, dims);
    for (int64_t i = 0; i < rows; i++) {
        double part[WIDE_SLICE] = {0}, *to = sequence ? g + i * ldg + dims[0] : part;
        add_row(count, factor, sum ? sum[i] : 0, v + i * WIDE_LD, sum ? -1 : 1, p + i * WIDE_LD, to);
        for (int64_t d = 0; !sequence && d < count; d++) g[i * ldg + dims[d]] += part[d];
    }
}
