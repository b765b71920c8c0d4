/* k = v prod_d cos(2 pi (x_d - z_d)/p_d): waves that never fade; one wave vector, with either sign in each dim.
   With f = 1/p:  dF/dp = -1/p^2 dF/df. */
#include "kernel/draws.h"
#include "kernel/tile.h"
#include "kernel/vector.h"
#include "kernel/wave.h"

enum { VARIANCE, PERIOD };

static double define(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    double k = leaf_value(l, VARIANCE, 0);
    for (int64_t d = 0; d < l->n_dims; d++)
        k *= cos(2 * PI * remainder((x[l->dims[d]] - z[l->dims[d]]) / leaf_value(l, PERIOD, d), 1));
    return k;
}

static void evaluate(const leaf *l, const tile *t, double *K, int64_t ldk)
{
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t i = 0; i < t->rows; i++) K[i + j * ldk] = leaf_value(l, VARIANCE, 0);
    for (int64_t first = 0; first < l->n_dims; first += TILE_SLICE) {
        int64_t count = slice_length(l->n_dims, first);
        slice_pack(l, t, first, count, NULL, LIMIT_DISTANCE);
        for (int64_t j = 0; j < t->cols; j++)
            for (int64_t d = 0; d < count; d++)
                wave_multiply(t->rows, t->x + d * PACK_ROWS, t->z[j * TILE_SLICE + d],
                              1 / leaf_value(l, PERIOD, first + d), K + j * ldk);
    }
}

static void pull_slice(const leaf *l, const tile *t, const double *B, int64_t first, int64_t count, tile_gradient *g)
{
    double unit[TILE_SLICE];
    slice_pack(l, t, first, count, NULL, LIMIT_DISTANCE);
    slice_clear(t, count);
    for (int64_t d = 0; d < count; d++) {
        double f = 1 / leaf_value(l, PERIOD, first + d), moment = 0;
        unit[d] = 1;
        for (int64_t j = 0; j < t->cols; j++) {
            wave_sums s = {0, 0};
            wave_pull(t->rows, B + j * t->rows, t->x + d * PACK_ROWS, t->z[j * TILE_SLICE + d], f,
                      t->gx + d * PACK_ROWS, &s);
            t->gz[j * TILE_SLICE + d] = f * s.slope;
            moment += s.moment;
        }
        if (g->gp) g->gp[l->offset[PERIOD] + (first + d) * l->stride[PERIOD]] -= f * f * moment;
    }
    slice_unpack(l, t, first, count, unit, -1, g);
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
    for (int64_t d = 0; d < l->n_dims; d++) w[l->dims[d]] += draw_sign(r) * 2 * PI / leaf_value(l, PERIOD, d);
}

const kernel_kind kind_cosine = {.name = "cosine",
                                 .specs = {{"variance", ROLE_VARIANCE, PER_LEAF, 1, GROWS_NOT, false},
                                           {"period", ROLE_PERIOD, PER_DIM, 1, GROWS_ROOT, false}},
                                 .define = define,
                                 .tile = evaluate,
                                 .reverse = reverse,
                                 .frequency = frequency};
