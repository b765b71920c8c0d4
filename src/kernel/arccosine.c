/* Arc-cosine kernels (Cho and Saul 2009): infinitely wide layers of neurons with step (order 0), ramp (1) or quadratic
   (2) activation.  With s = b + sum_d w_d x_d z_d, a = s(x,x), c = s(z,z), N = sqrt(a c), cos t = s/N:

       k = v/pi N^q J_q(t)
       J_0 = pi - t,  J_1 = sin t + (pi - t) cos t,  J_2 = 3 sin t cos t + (pi - t)(1 + 2 cos^2 t)
       dJ_0/dcos t = 1/sin t,   dJ_1/dcos t = pi - t,   dJ_2/dcos t = 4 J_1

   The arc cosine itself would lose half the digits for nearly equal rows, so the angle comes from the chords of the
   normalised vectors (Kahan): t = 2 atan(|x^ - z^|/|x^ + z^|).  Order 0 has a kink at t = 0; its slope is 0 there.
   Scaling bias and weights together is scaling v (or nothing, order 0), so the bias stays at 1 unless given. */
#include <string.h>

#include "kernel/dot.h"
#include "kernel/radial.h"
#include "kernel/vector.h"

enum { VARIANCE, BIAS, WEIGHT };

/* ---------------------------------------------------------------------------------------- definition */

static double chord(const leaf *l, const double *x, const double *z, double nx, double nz, double sign)
{
    double b = sqrt(leaf_value(l, BIAS, 0)), sum = pow(b / nx + sign * b / nz, 2);
    for (int64_t d = 0; d < l->n_dims; d++) {
        double w = sqrt(leaf_value(l, WEIGHT, d));
        sum += pow(w * x[l->dims[d]] / nx + sign * w * z[l->dims[d]] / nz, 2);
    }
    return sqrt(sum);
}

static double define(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    double nx = sqrt(leaf_value(l, BIAS, 0) + dot_define(l, WEIGHT, x, x));
    double nz = sqrt(leaf_value(l, BIAS, 0) + dot_define(l, WEIGHT, z, z));
    double t = 2 * atan2(chord(l, x, z, nx, nz, -1), chord(l, x, z, nx, nz, 1));
    double J[] = {PI - t, sin(t) + (PI - t) * cos(t), 3 * sin(t) * cos(t) + (PI - t) * (1 + 2 * cos(t) * cos(t))};
    return leaf_value(l, VARIANCE, 0) / PI * pow(nx * nz, (double)l->integer) * J[l->integer];
}

/* --------------------------------------------------------------------------------------------- tiles */

typedef struct norms {
    double x[TILE_ROWS], z[WIDE_COLS]; /* a and c of the tile */
} norms;

static void flip_columns(const tile *t, int64_t count)
{
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t d = 0; d < count; d++) t->z[j * TILE_SLICE + d] = -t->z[j * TILE_SLICE + d];
}

/* One slice of the normalised vectors. */
static void pack_normalised(const leaf *l, const tile *t, const norms *n, int64_t first, int64_t count)
{
    double root[TILE_SLICE];
    for (int64_t d = 0; d < count; d++) root[d] = sqrt(leaf_value(l, WEIGHT, first + d));
    slice_pack(l, t, first, count, root, LIMIT_DOT);
    for (int64_t d = 0; d < count; d++)
        for (int64_t i = 0; i < t->rows; i++) t->x[d * PACK_ROWS + i] /= sqrt(n->x[i]);
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t d = 0; d < count; d++) t->z[j * TILE_SLICE + d] /= sqrt(n->z[j]);
}

/* U = |x^ - z^|^2 and P = |x^ + z^|^2, leading dimension t->rows; U + P = 4. */
static void chords(const leaf *l, const tile *t, norms *n, double *U, double *P)
{
    double bias = leaf_value(l, BIAS, 0);
    dot_diag(l, WEIGHT, t->rows, t->X, t->ldx, bias, n->x);
    dot_diag(l, WEIGHT, t->cols, t->Z, t->ldz, bias, n->z);
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t i = 0; i < t->rows; i++) {
            double bx = sqrt(bias / n->x[i]), bz = sqrt(bias / n->z[j]);
            U[i + j * t->rows] = (bx - bz) * (bx - bz);
            P[i + j * t->rows] = (bx + bz) * (bx + bz);
        }
    for (int64_t first = 0; first < l->n_dims; first += TILE_SLICE) {
        int64_t count = slice_length(l->n_dims, first);
        pack_normalised(l, t, n, first, count);
        for (int64_t j = 0; j < t->cols; j++) slice_sqdist(t, count, j, true, U + j * t->rows);
        flip_columns(t, count);
        for (int64_t j = 0; j < t->cols; j++) slice_sqdist(t, count, j, true, P + j * t->rows);
    }
}

typedef struct angle {
    double t, sine, cosine;
} angle;

static inline angle angle_of(double U, double P)
{
    return (angle){2 * atan(sqrt(U / at_least(P, 1e-300))), 0.5 * sqrt(U * P), 0.25 * (P - U)};
}

static inline double J1(angle a) { return a.sine + (PI - a.t) * a.cosine; }
static inline double J2(angle a) { return 3 * a.sine * a.cosine + (PI - a.t) * (1 + 2 * a.cosine * a.cosine); }

/* k[n] of one column for unit variance, N = sqrt(x c). */
VECTORISED static void column(int64_t order, int64_t n, const double *x, double c, const double *U, const double *P,
                              double *k)
{
    if (order == 0)
        SIMD for (int64_t i = 0; i < n; i++) k[i] = (PI - angle_of(U[i], P[i]).t) / PI;
    else if (order == 1)
        SIMD for (int64_t i = 0; i < n; i++) k[i] = sqrt(x[i] * c) * J1(angle_of(U[i], P[i])) / PI;
    else
        SIMD for (int64_t i = 0; i < n; i++) k[i] = x[i] * c * J2(angle_of(U[i], P[i])) / PI;
}

static void evaluate(const leaf *l, const tile *t, double *K, int64_t ldk)
{
    double *U = t->work[0], *P = t->work[1], v = leaf_value(l, VARIANCE, 0);
    norms n;
    chords(l, t, &n, U, P);
    for (int64_t j = 0; j < t->cols; j++) {
        column(l->integer, t->rows, n.x, n.z[j], U + j * t->rows, P + j * t->rows, K + j * ldk);
        for (int64_t i = 0; i < t->rows; i++) K[i + j * ldk] *= v;
    }
}

/* ------------------------------------------------------------------------------------------- reverse */

/* dk/ds and N dk/dN at unit variance. */
typedef struct slopes {
    double s, n;
} slopes;

static slopes slopes_of(int64_t order, angle a, double N)
{
    if (order == 1) return (slopes){(PI - a.t) / PI, N * a.sine / PI};
    if (order == 2) return (slopes){4 * N * J1(a) / PI, N * N * (2 * J2(a) - 4 * a.cosine * J1(a)) / PI};
    if (a.sine <= 0) return (slopes){0, 0};
    return (slopes){1 / (PI * a.sine * N), -a.cosine / (PI * a.sine)};
}

/* U becomes H = v G .* dk/ds; ga and gc get the part that goes through the norms, da N dk/dN / (2 a). */
static void push_column(const leaf *l, const tile *t, int64_t j, const norms *n, const double *g, double *U,
                        const double *P, double *ga, double *gc)
{
    double v = leaf_value(l, VARIANCE, 0);
    for (int64_t i = 0; i < t->rows; i++) {
        slopes k = slopes_of(l->integer, angle_of(U[i], P[i]), sqrt(n->x[i] * n->z[j]));
        U[i] = v * g[i] * k.s;
        ga[i] += 0.5 * v * g[i] * k.n / n->x[i];
        gc[j] += 0.5 * v * g[i] * k.n / n->z[j];
    }
}

static double total(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

static double variance_gradient(const leaf *l, const tile *t, const norms *n, const double *G, int64_t ldg)
{
    double k[TILE_ROWS], sum = 0;
    for (int64_t j = 0; j < t->cols; j++) {
        column(l->integer, t->rows, n->x, n->z[j], t->work[0] + j * t->rows, t->work[1] + j * t->rows, k);
        for (int64_t i = 0; i < t->rows; i++) sum += G[i + j * ldg] * k[i];
    }
    return sum;
}

static void reverse(const leaf *l, const tile *t, const double *G, int64_t ldg, tile_gradient *g)
{
    double ga[TILE_ROWS] = {0}, gc[WIDE_COLS] = {0}, *H = t->work[0], *P = t->work[1];
    norms n;
    chords(l, t, &n, H, P);
    if (g->gp) g->gp[l->offset[VARIANCE]] += variance_gradient(l, t, &n, G, ldg);
    for (int64_t j = 0; j < t->cols; j++)
        push_column(l, t, j, &n, G + j * ldg, H + j * t->rows, P + j * t->rows, ga, gc);
    if (g->gp) g->gp[l->offset[BIAS]] += total(t->rows * t->cols, H) + total(t->rows, ga) + total(t->cols, gc);
    dot_reverse(l, WEIGHT, t, H, g);
    dot_diag_reverse(l, WEIGHT, t->rows, t->X, t->ldx, ga, g->gp, g->gX, g->ldgx);
    dot_diag_reverse(l, WEIGHT, t->cols, t->Z, t->ldz, gc, g->gp, g->gZ, g->ldgz);
}

/* ---------------------------------------------------------------------------------------------- diag */

/* k(x, x) = v, v a, 3 v a^2 */
static void diag(const leaf *l, int64_t n, const double *X, int64_t ldx, double *out)
{
    double v = leaf_value(l, VARIANCE, 0);
    dot_diag(l, WEIGHT, n, X, ldx, leaf_value(l, BIAS, 0), out);
    for (int64_t i = 0; i < n; i++) {
        double a = out[i], k[] = {1, a, 3 * a * a};
        out[i] = v * k[l->integer];
    }
}

static void diag_reverse(const leaf *l, int64_t n, const double *X, int64_t ldx, const double *g, double *gp,
                         double *gX, int64_t ldgx)
{
    double v = leaf_value(l, VARIANCE, 0), a;
    for (int64_t i = 0; i < n; i++) {
        dot_diag(l, WEIGHT, 1, X + i * ldx, ldx, leaf_value(l, BIAS, 0), &a);
        double k[] = {1, a, 3 * a * a}, slope[] = {0, 1, 6 * a}, h = g[i] * v * slope[l->integer];
        if (gp) gp[l->offset[VARIANCE]] += g[i] * k[l->integer], gp[l->offset[BIAS]] += h;
        dot_diag_reverse(l, WEIGHT, 1, X + i * ldx, ldx, &h, gp, gX ? gX + i * ldgx : NULL, ldgx);
    }
}

const kernel_kind kind_arccosine = {.name = "arccosine",
                                    .specs = {{"variance", ROLE_WEIGHT, PER_LEAF, 1, GROWS_NOT, false},
                                              {"bias", ROLE_WEIGHT, PER_LEAF, 1, GROWS_NOT, true},
                                              {"weight", ROLE_WEIGHT, PER_DIM, 1, GROWS_INVERSE, false}},
                                    .integer_name = "order",
                                    .integer_least = 0,
                                    .integer_most = 2,
                                    .integer_default = 1,
                                    .of_dot = true,
                                    .nonstationary = true,
                                    .define = define,
                                    .tile = evaluate,
                                    .reverse = reverse,
                                    .diag = diag,
                                    .diag_reverse = diag_reverse};
