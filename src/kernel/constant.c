/* Kernels that do not look at the inputs: constant, white (identity of rows) and the number literal. */
#include "kernel/draws.h"
#include "kernel/tile.h"

static double define(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)x, (void)z, (void)same_row;
    return leaf_value(l, 0, 0);
}

static void fill(const leaf *l, const tile *t, double *K, int64_t ldk)
{
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t i = 0; i < t->rows; i++) K[i + j * ldk] = leaf_value(l, 0, 0);
}

static void fill_reverse(const leaf *l, const tile *t, const double *G, int64_t ldg, tile_gradient *g)
{
    (void)l;
    for (int64_t j = 0; g->gp && j < t->cols; j++)
        for (int64_t i = 0; i < t->rows; i++) g->gp[0] += G[i + j * ldg];
}

/* A constant is a wave of frequency 0. */
static void frequency(const leaf *l, draws *r, double *w) { (void)l, (void)r, (void)w; }

/* Of an rbf that looks at no input. */
static double precision(const leaf *l, double u, double *slope)
{
    (void)l, (void)u;
    return *slope = 0, 1;
}

static double define_white(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)x, (void)z;
    return same_row ? leaf_value(l, 0, 0) : 0;
}

/* First row of the tile that is the same row as column j; may lie outside. */
static int64_t same(const tile *t, int64_t j) { return t->symmetric ? j - t->diagonal : -1; }

static void white(const leaf *l, const tile *t, double *K, int64_t ldk)
{
    for (int64_t j = 0; j < t->cols; j++) {
        for (int64_t i = 0; i < t->rows; i++) K[i + j * ldk] = 0;
        int64_t i = same(t, j);
        if (i >= 0 && i < t->rows) K[i + j * ldk] = leaf_value(l, 0, 0);
    }
}

static void white_reverse(const leaf *l, const tile *t, const double *G, int64_t ldg, tile_gradient *g)
{
    (void)l;
    for (int64_t j = 0; g->gp && j < t->cols; j++) {
        int64_t i = same(t, j);
        if (i >= 0 && i < t->rows) g->gp[0] += G[i + j * ldg];
    }
}

/* k(x, x) without the identity of rows. */
static void white_diag(const leaf *l, int64_t n, const double *X, int64_t ldx, double *out)
{
    (void)l, (void)X, (void)ldx;
    for (int64_t i = 0; i < n; i++) out[i] = 0;
}

static void white_diag_reverse(const leaf *l, int64_t n, const double *X, int64_t ldx, const double *g, double *gp,
                               double *gX, int64_t ldgx)
{
    (void)l, (void)n, (void)X, (void)ldx, (void)g, (void)gp, (void)gX, (void)ldgx;
}

#define VARIANCE_SPEC                                                                                                  \
    {                                                                                                                  \
        "variance", ROLE_VARIANCE, PER_LEAF, 1, GROWS_NOT, false                                                       \
    }

const kernel_kind kind_constant = {.name = "constant",
                                   .specs = {VARIANCE_SPEC},
                                   .no_dims = true,
                                   .define = define,
                                   .tile = fill,
                                   .reverse = fill_reverse,
                                   .frequency = frequency,
                                   .precision = precision};

const kernel_kind kind_scale = {.name = "",
                                .specs = {{"scale", ROLE_VARIANCE, PER_LEAF, 1, GROWS_NOT, false}},
                                .no_dims = true,
                                .define = define,
                                .tile = fill,
                                .reverse = fill_reverse,
                                .frequency = frequency,
                                .precision = precision};

const kernel_kind kind_white = {.name = "white",
                                .specs = {VARIANCE_SPEC},
                                .no_dims = true,
                                .define = define_white,
                                .tile = white,
                                .reverse = white_reverse,
                                .diag = white_diag,
                                .diag_reverse = white_diag_reverse};
