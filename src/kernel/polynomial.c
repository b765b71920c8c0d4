/* k = v (offset + sum_d w_d x_d z_d)^degree.  Scaling offset and weights together is scaling v, so the offset stays
   at 1 unless the expression gives it. */
#include "kernel/dot.h"
#include "kernel/vector.h"

enum { VARIANCE, OFFSET, WEIGHT };

static double define(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    double s = leaf_value(l, OFFSET, 0) + dot_define(l, WEIGHT, x, z);
    return leaf_value(l, VARIANCE, 0) * pow(s, (double)l->integer);
}

/* s^p, held within bounds that keep its gradient, a product with two more inputs, finite. */
static double power(double s, int64_t p)
{
    double r = 1;
    for (int64_t i = 0; i < p; i++) r *= s;
    return at_least(at_most(r, LIMIT_POWER), -LIMIT_POWER);
}

static void evaluate(const leaf *l, const tile *t, double *K, int64_t ldk)
{
    double v = leaf_value(l, VARIANCE, 0);
    dot_tile(l, WEIGHT, t, leaf_value(l, OFFSET, 0), K, ldk);
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t i = 0; i < t->rows; i++) K[i + j * ldk] = v * power(K[i + j * ldk], l->integer);
}

static void reverse(const leaf *l, const tile *t, const double *G, int64_t ldg, tile_gradient *g)
{
    double v = leaf_value(l, VARIANCE, 0), gv = 0, go = 0, *H = t->work[0];
    dot_tile(l, WEIGHT, t, leaf_value(l, OFFSET, 0), H, t->rows);
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t i = 0; i < t->rows; i++) {
            double s = H[i + j * t->rows], a = G[i + j * ldg], below = power(s, l->integer - 1);
            gv += a * power(s, l->integer);
            go += H[i + j * t->rows] = a * v * (double)l->integer * below;
        }
    if (g->gp) g->gp[l->offset[VARIANCE]] += gv, g->gp[l->offset[OFFSET]] += go;
    dot_reverse(l, WEIGHT, t, H, g);
}

static void diag(const leaf *l, int64_t n, const double *X, int64_t ldx, double *out)
{
    dot_diag(l, WEIGHT, n, X, ldx, leaf_value(l, OFFSET, 0), out);
    for (int64_t i = 0; i < n; i++) out[i] = leaf_value(l, VARIANCE, 0) * power(out[i], l->integer);
}

static void diag_reverse(const leaf *l, int64_t n, const double *X, int64_t ldx, const double *g, double *gp,
                         double *gX, int64_t ldgx)
{
    for (int64_t i = 0; i < n; i++) {
        double s, h;
        dot_diag(l, WEIGHT, 1, X + i * ldx, ldx, leaf_value(l, OFFSET, 0), &s);
        h = g[i] * leaf_value(l, VARIANCE, 0) * (double)l->integer * power(s, l->integer - 1);
        if (gp) gp[l->offset[VARIANCE]] += g[i] * power(s, l->integer), gp[l->offset[OFFSET]] += h;
        dot_diag_reverse(l, WEIGHT, 1, X + i * ldx, ldx, &h, gp, gX ? gX + i * ldgx : NULL, ldgx);
    }
}

const kernel_kind kind_polynomial = {.name = "polynomial",
                                     .specs = {{"variance", ROLE_WEIGHT, PER_LEAF, 1, GROWS_NOT, false},
                                               {"offset", ROLE_WEIGHT, PER_LEAF, 1, GROWS_NOT, true},
                                               {"weight", ROLE_WEIGHT, PER_DIM, 1, GROWS_INVERSE, false}},
                                     .integer_name = "degree",
                                     .integer_least = 1,
                                     .integer_most = 10,
                                     .integer_default = 2,
                                     .of_dot = true,
                                     .nonstationary = true,
                                     .define = define,
                                     .tile = evaluate,
                                     .reverse = reverse,
                                     .diag = diag,
                                     .diag_reverse = diag_reverse};
