/* k = sum_d v_d x_d z_d: linear functions with independent N(0, v_d) slopes. */
#include <string.h>

#include "kernel/dot.h"

enum { WEIGHT };

static double define(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    return dot_define(l, WEIGHT, x, z);
}

static void evaluate(const leaf *l, const tile *t, double *K, int64_t ldk) { dot_tile(l, WEIGHT, t, 0, K, ldk); }

static void reverse(const leaf *l, const tile *t, const double *G, int64_t ldg, tile_gradient *g)
{
    double *H = t->work[0];
    for (int64_t j = 0; j < t->cols; j++) memcpy(H + j * t->rows, G + j * ldg, (size_t)t->rows * sizeof *H);
    dot_reverse(l, WEIGHT, t, H, g);
}

static void diag(const leaf *l, int64_t n, const double *X, int64_t ldx, double *out)
{
    dot_diag(l, WEIGHT, n, X, ldx, 0, out);
}

static void diag_reverse(const leaf *l, int64_t n, const double *X, int64_t ldx, const double *g, double *gp,
                         double *gX, int64_t ldgx)
{
    dot_diag_reverse(l, WEIGHT, n, X, ldx, g, gp, gX, ldgx);
}

const kernel_kind kind_linear = {.name = "linear",
                                 .specs = {{"variance", ROLE_WEIGHT, PER_DIM, 1, GROWS_INVERSE, false}},
                                 .of_dot = true,
                                 .nonstationary = true,
                                 .define = define,
                                 .tile = evaluate,
                                 .reverse = reverse,
                                 .diag = diag,
                                 .diag_reverse = diag_reverse};
