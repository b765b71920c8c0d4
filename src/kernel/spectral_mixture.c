/* Spectral mixture (Wilson and Adams 2013, eq. 12), with the standard deviation of a spectral peak written as a
   length-scale, 1/(2 pi l):

       k = sum_q w_q A_q,   A_q = prod_d exp(-u_d^2/(2 l_qd^2)) cos(2 pi f_qd u_d),   u = x - z

   With B = w_q G .* A_q:  dF/dw_q = sum G A_q,  dF/dl = sum B u^2/l^3,  dF/df = sum b u  (b in wave.h),
   dF/dx = sum f b - B u/l^2.  One component at a time; cost Q times that of rbf and cosine. */
#include <string.h>

#include "kernel/draws.h"
#include "kernel/tile.h"
#include "kernel/vector.h"
#include "kernel/wave.h"

enum { WEIGHT, FREQUENCY, LENGTH };

/* The position of the parameter of component q and dim d among those of the leaf. */
static int64_t place(const leaf *l, int spec, int64_t q, int64_t d)
{
    return l->offset[spec] + q * (l->count[spec] / l->integer) + d * l->stride[spec];
}

static double define(const leaf *l, const double *x, const double *z, bool same_row)
{
    (void)same_row;
    double k = 0;
    for (int64_t q = 0; q < l->integer; q++) {
        double a = l->p[l->offset[WEIGHT] + q];
        for (int64_t d = 0; d < l->n_dims; d++) {
            double u = x[l->dims[d]] - z[l->dims[d]];
            a *= exp(-pow(u / l->p[place(l, LENGTH, q, d)], 2) / 2);
            a *= cos(2 * PI * remainder(l->p[place(l, FREQUENCY, q, d)] * u, 1));
        }
        k += a;
    }
    return k;
}

VECTORISED static void add_square(int64_t n, const double *x, double z, double length, double *E)
{
    double per = 1 / length;
    SIMD for (int64_t i = 0; i < n; i++)
    {
        double u = (x[i] - z) * per;
        E[i] += 0.5 * u * u;
    }
}

VECTORISED static void damp(int64_t n, const double *E, double *C)
{
    SIMD for (int64_t i = 0; i < n; i++) C[i] *= exp_minus(E[i]);
}

/* A[rows,cols] = A_q, contiguous; E is workspace. */
static void component(const leaf *l, const tile *t, int64_t q, double *E, double *A)
{
    for (int64_t i = 0; i < t->rows * t->cols; i++) E[i] = 0, A[i] = 1;
    for (int64_t first = 0; first < l->n_dims; first += TILE_SLICE) {
        int64_t count = slice_length(l->n_dims, first);
        slice_pack(l, t, first, count, NULL, LIMIT_DISTANCE);
        for (int64_t j = 0; j < t->cols; j++)
            for (int64_t d = 0; d < count; d++) {
                const double *x = t->x + d * PACK_ROWS, z = t->z[j * TILE_SLICE + d];
                add_square(t->rows, x, z, l->p[place(l, LENGTH, q, first + d)], E + j * t->rows);
                wave_multiply(t->rows, x, z, l->p[place(l, FREQUENCY, q, first + d)], A + j * t->rows);
            }
    }
    damp(t->rows * t->cols, E, A);
}

static void evaluate(const leaf *l, const tile *t, double *K, int64_t ldk)
{
    for (int64_t j = 0; j < t->cols; j++) memset(K + j * ldk, 0, (size_t)t->rows * sizeof *K);
    for (int64_t q = 0; q < l->integer; q++) {
        component(l, t, q, t->work[0], t->work[1]);
        for (int64_t j = 0; j < t->cols; j++)
            for (int64_t i = 0; i < t->rows; i++)
                K[i + j * ldk] += l->p[l->offset[WEIGHT] + q] * t->work[1][i + j * t->rows];
    }
}

/* gx[n] -= B u/l^2; returns its sum; *second += sum B u^2/l^3. */
VECTORISED static double pull_square(int64_t n, const double *B, const double *x, double z, double length, double *gx,
                                     double *second)
{
    double per = 1 / length, two = 0, one = 0;
    SIMD_SUM(two, one) for (int64_t i = 0; i < n; i++)
    {
        double u = (x[i] - z) * per, b = B[i] * u * per;
        two += b * u;
        one -= b;
        gx[i] -= b;
    }
    *second += two;
    return one;
}

static void pull_slice(const leaf *l, const tile *t, int64_t q, const double *B, int64_t first, int64_t count,
                       tile_gradient *g)
{
    double unit[TILE_SLICE];
    slice_pack(l, t, first, count, NULL, LIMIT_DISTANCE);
    slice_clear(t, count);
    for (int64_t d = 0; d < count; d++) {
        int64_t at_f = place(l, FREQUENCY, q, first + d), at_l = place(l, LENGTH, q, first + d);
        double moment = 0, second = 0, *gx = t->gx + d * PACK_ROWS;
        unit[d] = 1;
        for (int64_t j = 0; j < t->cols; j++) {
            const double *b = B + j * t->rows, *x = t->x + d * PACK_ROWS, z = t->z[j * TILE_SLICE + d];
            wave_sums s = {0, 0};
            wave_pull(t->rows, b, x, z, l->p[at_f], gx, &s);
            t->gz[j * TILE_SLICE + d] = l->p[at_f] * s.slope + pull_square(t->rows, b, x, z, l->p[at_l], gx, &second);
            moment += s.moment;
        }
        if (g->gp) g->gp[at_f] += moment, g->gp[at_l] += second;
    }
    slice_unpack(l, t, first, count, unit, -1, g);
}

static void reverse(const leaf *l, const tile *t, const double *G, int64_t ldg, tile_gradient *g)
{
    double *B = t->work[1];
    for (int64_t q = 0; q < l->integer; q++) {
        double w = l->p[l->offset[WEIGHT] + q], total = 0;
        component(l, t, q, t->work[0], B);
        for (int64_t j = 0; j < t->cols; j++)
            for (int64_t i = 0; i < t->rows; i++) total += B[i + j * t->rows] *= G[i + j * ldg];
        for (int64_t i = 0; i < t->rows * t->cols; i++) B[i] *= w;
        if (g->gp) g->gp[l->offset[WEIGHT] + q] += total;
        for (int64_t first = 0; first < l->n_dims; first += TILE_SLICE)
            pull_slice(l, t, q, B, first, slice_length(l->n_dims, first), g);
    }
}

/* A component in proportion to its weight, then a normal about +-2 pi f in each dim. */
static void frequency(const leaf *l, draws *r, double *w)
{
    double total = 0, u = draw_uniform(r);
    for (int64_t q = 0; q < l->integer; q++) total += l->p[l->offset[WEIGHT] + q];
    int64_t q = 0;
    for (u *= total; q < l->integer - 1 && u >= l->p[l->offset[WEIGHT] + q]; q++) u -= l->p[l->offset[WEIGHT] + q];
    for (int64_t d = 0; d < l->n_dims; d++) {
        double sign = draw_sign(r);
        w[l->dims[d]] +=
            sign * 2 * PI * l->p[place(l, FREQUENCY, q, d)] + draw_normal(r) / l->p[place(l, LENGTH, q, d)];
    }
}

const kernel_kind kind_sm = {.name = "sm",
                             .specs = {{"weight", ROLE_VARIANCE, PER_COMPONENT, 1, GROWS_NOT, false},
                                       {"frequency", ROLE_FREQUENCY, PER_COMPONENT_DIM, 0.15, GROWS_NOT, false},
                                       {"lengthscale", ROLE_LENGTH, PER_COMPONENT_DIM, 1, GROWS_ROOT, false}},
                             .integer_name = "components",
                             .integer_least = 1,
                             .integer_most = 64,
                             .integer_default = 2,
                             .define = define,
                             .tile = evaluate,
                             .reverse = reverse,
                             .frequency = frequency};
