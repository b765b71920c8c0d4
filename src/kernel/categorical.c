/* k = v exp(-sum_d [x_d != z_d] / l_d) over categories: each column in which two rows differ costs a factor
   exp(-1/l_d).  l has no unit.  There is nothing to differentiate in the inputs. */
#include <string.h>

#include "kernel/tile.h"
#include "kernel/vector.h"

enum { VARIANCE, LENGTH };

static double define(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    double sum = 0;
    for (int64_t d = 0; d < l->n_dims; d++)
        if (x[l->dims[d]] != z[l->dims[d]]) sum += 1 / leaf_value(l, LENGTH, d);
    return leaf_value(l, VARIANCE, 0) * exp(-sum);
}

VECTORISED static void add_dim(int64_t n, const double *x, double z, double cost, double *E)
{
    SIMD for (int64_t i = 0; i < n; i++) E[i] += x[i] != z ? cost : 0;
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
        slice_pack(l, t, first, count, NULL, INFINITY);
        for (int64_t j = 0; j < t->cols; j++)
            for (int64_t d = 0; d < count; d++)
                add_dim(t->rows, t->x + d * PACK_ROWS, t->z[j * TILE_SLICE + d], 1 / leaf_value(l, LENGTH, first + d),
                        K + j * ldk);
    }
    for (int64_t j = 0; j < t->cols; j++) finish(t->rows, leaf_value(l, VARIANCE, 0), K + j * ldk);
}

VECTORISED static double differing(int64_t n, const double *B, const double *x, double z)
{
    double sum = 0;
    SIMD_SUM(sum) for (int64_t i = 0; i < n; i++) sum += x[i] != z ? B[i] : 0;
    return sum;
}

/* dF/dl_d = sum over differing pairs of G K / l_d^2 */
static void reverse(const leaf *l, const tile *t, const double *G, int64_t ldg, tile_gradient *g)
{
    double *B = t->work[0], total = 0;
    if (!g->gp) return;
    evaluate(l, t, B, t->rows);
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t i = 0; i < t->rows; i++) total += B[i + j * t->rows] *= G[i + j * ldg];
    g->gp[l->offset[VARIANCE]] += total / leaf_value(l, VARIANCE, 0);
    for (int64_t first = 0; first < l->n_dims; first += TILE_SLICE) {
        int64_t count = slice_length(l->n_dims, first);
        slice_pack(l, t, first, count, NULL, INFINITY);
        for (int64_t d = 0; d < count; d++) {
            double sum = 0, length = leaf_value(l, LENGTH, first + d);
            for (int64_t j = 0; j < t->cols; j++)
                sum += differing(t->rows, B + j * t->rows, t->x + d * PACK_ROWS, t->z[j * TILE_SLICE + d]);
            g->gp[l->offset[LENGTH] + (first + d) * l->stride[LENGTH]] += sum / (length * length);
        }
    }
}

const kernel_kind kind_categorical = {.name = "categorical",
                                      .specs = {{"variance", ROLE_VARIANCE, PER_LEAF, 1, GROWS_NOT, false},
                                                {"lengthscale", ROLE_SHAPE, PER_DIM, 1, GROWS_LINEAR, false}},
                                      .on_text = true,
                                      .define = define,
                                      .tile = evaluate,
                                      .reverse = reverse};
