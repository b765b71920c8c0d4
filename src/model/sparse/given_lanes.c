/* Blocks with rows that are given (sparse_given.c has the algebra), LANES of them side by side (linalg/lanes.h): small matrices do not fill
   the vector registers, several of them do.  Without inducing inputs, for kernels that kernel_has_lanes().

   Of own row i = own(a) of a block, row a of T is  T_aj = -x bar_i z_j' for j <= i, its diagonal (T_ai - 1) / 2, 0 after it, and row a of
   W half the unit vector of i.  With W and T times L_G^-1 in their places, G bar = W'T + T'W.  A lane with fewer rows than the longest
   is filled up with rows of the identity, which neither give nor get anything. */
#include <math.h>
#include <string.h>

#include "base/simd.h"
#include "linalg/lanes.h"
#include "model/sparse/given_lanes.h"

static int64_t triangle(int64_t n) { return lanes_row(n); }

int64_t lanes_parts_doubles(const sparse *s, int64_t n, int64_t o)
{
    int64_t rows = s->D + 1 + s->Mt + 2 + 2 * o;
    return 2 * triangle(n) + LANES * (n * rows + o * (2 + s->Mt)) + kernel_lanes_work(s->h->kernel, n) +
           n * (1 + s->Mt) + 2 * o + 2 * LANES;
}

static lanes_parts parts_place(const sparse *s, int64_t n, int64_t o, double *work)
{
    lanes_parts p = {.n = n, .o = o, .X = lanes_align(work)};
    p.G = p.X + s->D * n * LANES;
    p.Z = p.G + triangle(n);
    p.inverse = p.Z + (1 + s->Mt) * n * LANES;
    p.share = p.inverse + n * LANES;
    p.own = p.share + n * LANES;
    p.xbar = p.own + o * LANES;
    p.W = p.xbar + (1 + s->Mt) * o * LANES;
    p.T = p.W + o * n * LANES;
    p.Gbar = p.T + o * n * LANES;
    p.kernel = p.Gbar + triangle(n);
    p.alone = p.kernel + kernel_lanes_work(s->h->kernel, n);
    p.last = (int64_t *)(p.alone + n * (1 + s->Mt));
    return p;
}

static int64_t work_together(const void *shared, int64_t n) { return lanes_parts_doubles(shared, n, n); }

static int64_t own_rows(const row_block *b)
{
    int64_t o = 0;
    for (int64_t j = 0; j < b->n; j++) o += block_is_own(b, j);
    return o;
}

lanes_parts lanes_parts_of(const sparse *s, int64_t count, const row_block *b, double *work)
{
    int64_t n = 0, o = 0;
    for (int64_t l = 0; l < count; l++) {
        int64_t own = own_rows(&b[l]);
        if (b[l].n > n) n = b[l].n;
        if (own > o) o = own;
    }
    return parts_place(s, n, o, work);
}

/* ------------------------------------------------------------------------------------- forward */

/* One block into its lane: inputs, y and A, weights, which rows are its own. */
static anygp_status fill_lane(const sparse *s, const row_block *b, int lane, const lanes_parts *p, anygp_error *e)
{
    int64_t n = p->n, D = s->D, Mt = s->Mt, a = 0;
    TRY(basis_features(&s->u, s->mean, b->n, b->X, D, p->alone, p->alone, e));
    for (int64_t j = 0; j < b->n; j++) {
        int64_t at = j * LANES + lane;
        for (int64_t d = 0; d < D; d++) p->X[d * n * LANES + at] = b->X[j * D + d];
        for (int64_t q = 0; q < Mt; q++) p->Z[(1 + q) * n * LANES + at] = p->alone[q + j * Mt];
        p->Z[at] = b->y[j], p->share[at] = 1 / b->w[j];
        if (block_is_own(b, j)) p->own[a++ * LANES + lane] = (double)j;
    }
    return ANYGP_OK;
}

/* Rows n .. of a lane: those of the identity. */
static void fill_up(int64_t n, int lane, const lanes_parts *p)
{
    for (int64_t i = n; i < p->n; i++) {
        double *row = p->G + lanes_row(i) + lane;
        for (int64_t j = 0; j < i; j++) row[j * LANES] = 0;
        row[i * LANES] = 1;
    }
}

static void add_noise(const sparse *s, const lanes_parts *p)
{
    for (int64_t i = 0; i < p->n; i++) {
        double *diagonal = p->G + lanes_row(i) + i * LANES;
        for (int l = 0; l < LANES; l++) diagonal[l] += s->noise * p->share[i * LANES + l];
    }
}

anygp_status lanes_given(const sparse *s, int64_t count, const row_block *b, const lanes_parts *p, anygp_error *e)
{
    int64_t n = p->n;
    memset(p->X, 0, (size_t)(s->D * n * LANES) * sizeof *p->X);
    memset(p->Z, 0, (size_t)((1 + s->Mt) * n * LANES) * sizeof *p->Z);
    memset(p->share, 0, (size_t)(n * LANES) * sizeof *p->share);
    for (int64_t i = 0; i < p->o * LANES; i++) p->own[i] = -1;
    for (int64_t l = 0; l < count; l++) TRY(fill_lane(s, &b[l], (int)l, p, e));
    kernel_lanes_gram(s->h->kernel, n, p->X, p->G, p->kernel);
    add_noise(s, p);
    for (int l = 0; l < LANES; l++) fill_up(l < count ? b[l].n : 0, l, p);
    int failed = lanes_factor(n, 1 + s->Mt, p->G, p->inverse);
    if (failed < 0) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of block %lld of the rows is not positive definite",
                     (long long)b[failed].index);
}

/* Element q of row j of Z in a lane: 0 is y. */
static double z_at(const lanes_parts *p, int64_t q, int64_t j, int lane) { return p->Z[(q * p->n + j) * LANES + lane]; }

static void sum_own(const sparse *s, const row_block *b, int lane, const lanes_parts *p, double *stat)
{
    int64_t Mt = s->Mt;
    double *S = stat_S(s, stat), *u = stat_b(s, stat), l = 0, c = 0;
    for (int64_t j = 0; j < b->n; j++) {
        if (!block_is_own(b, j)) continue;
        double z = z_at(p, 0, j, lane);
        l -= 2 * log(p->inverse[j * LANES + lane]);
        if (b->w[j] != 1) l += (b->w[j] - 1) * log(s->noise) + log(b->w[j]);
        c += z * z;
        for (int64_t q = 0; q < Mt; q++) {
            double a = z_at(p, 1 + q, j, lane);
            u[q] += z * a;
            for (int64_t r = q; r < Mt; r++) S[r + q * Mt] += a * z_at(p, 1 + r, j, lane);
        }
    }
    *stat_l(s, stat) += l, *stat_q(s, stat) += c;
}

static anygp_status stat_together(const void *shared, int64_t count, const row_block *b, double *work, double *stat,
                                  anygp_error *e)
{
    const sparse *s = shared;
    lanes_parts p = lanes_parts_of(s, count, b, work);
    TRY(lanes_given(s, count, b, &p, e));
    for (int64_t l = 0; l < count; l++) sum_own(s, &b[l], (int)l, &p, stat);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- reverse */

/* X bar of own row a of a lane, at N(m, V). */
static void adjoint_of(const sparse *s, const lanes_parts *p, int64_t a, int lane)
{
    int64_t Mt = s->Mt, j = (int64_t)p->own[a * LANES + lane];
    double *x = p->xbar + a * LANES + lane, zbar = -z_at(p, 0, j, lane);
    int64_t step = p->o * LANES;
    for (int64_t q = 0; q < Mt; q++) zbar += s->m[q] * z_at(p, 1 + q, j, lane);
    x[0] = zbar;
    for (int64_t q = 0; q < Mt; q++) {
        double sum = -zbar * s->m[q];
        for (int64_t r = 0; r < Mt; r++) sum -= s->V[q + r * Mt] * z_at(p, 1 + r, j, lane);
        x[(1 + q) * step] = sum;
    }
}

/* Row of T: -x z for j up to its own[LANES], 0 after it; added where it is not the first. */
VECTORISED static void fill_T(int64_t n, const double *own, const double *x, const double *z, bool first, double *T)
{
    for (int64_t j = 0; j < n; j++) {
        double at = (double)j;
        SIMD for (int64_t l = 0; l < LANES; l++)
        {
            double t = at <= own[l] ? -x[l] * z[j * LANES + l] : 0;
            T[j * LANES + l] = t + (first ? 0 : T[j * LANES + l]);
        }
    }
}

static void fill_rows(const sparse *s, const lanes_parts *p)
{
    int64_t n = p->n, o = p->o;
    memset(p->W, 0, (size_t)(o * n * LANES) * sizeof *p->W);
    memset(p->xbar, 0, (size_t)((1 + s->Mt) * o * LANES) * sizeof *p->xbar);
    for (int64_t a = 0; a < o; a++) {
        double *T = p->T + a * n * LANES, *W = p->W + a * n * LANES;
        const double *own = p->own + a * LANES;
        for (int l = 0; l < LANES; l++)
            if (own[l] >= 0) adjoint_of(s, p, a, l);
        for (int64_t q = 0; q <= s->Mt; q++)
            fill_T(n, own, p->xbar + (q * o + a) * LANES, p->Z + q * n * LANES, q == 0, T);
        p->last[a] = 0;
        for (int l = 0; l < LANES; l++) {
            int64_t j = (int64_t)own[l], at = j * LANES + l;
            if (j > p->last[a]) p->last[a] = j;
            if (j >= 0) T[at] = 0.5 * (T[at] - 1), W[at] = 0.5;
        }
        p->last[o + a] = p->last[a];
    }
}

/* G bar, of which the noise has the diagonal. */
static void noise_of(const sparse *s, int64_t count, const row_block *b, const lanes_parts *p, const adjoint_parts *a)
{
    for (int64_t l = 0; l < count; l++)
        for (int64_t j = 0; j < b[l].n; j++) {
            double g = p->Gbar[lanes_row(j) + j * LANES + l];
            *a->noise += g / b[l].w[j];
            if (block_is_own(&b[l], j) && b[l].w[j] != 1) *a->noise -= 0.5 * (b[l].w[j] - 1) / s->noise;
            *a->white -= g;
        }
}

static void reverse(const sparse *s, int64_t count, const row_block *b, const lanes_parts *p, double *adjoint)
{
    adjoint_parts a = adjoint_place(s, adjoint);
    fill_rows(s, p);
    lanes_solve(p->n, 2 * p->o, p->last, p->G, p->inverse, p->W); /* T stands behind W */
    lanes_products(p->n, p->o, p->last, p->W, p->T, p->Gbar);
    noise_of(s, count, b, p, &a);
    kernel_lanes_reverse(s->h->kernel, p->n, p->X, p->Gbar, a.gp, p->kernel);
}

static anygp_status reverse_together(const void *shared, int64_t count, const row_block *b, double *work,
                                     double *adjoint, anygp_error *e)
{
    const sparse *s = shared;
    lanes_parts p = lanes_parts_of(s, count, b, work);
    TRY(lanes_given(s, count, b, &p, e));
    reverse(s, count, b, &p, adjoint);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------ the tables */

/* Less than sparse_given's by what vectors save. */
static double multiplications(const void *shared, int64_t rows) { return 0.2 * sparse_given.work(shared, rows); }

const block_model sparse_lanes = {.stat_size = sparse_stat_size,
                                  .adjoint_size = sparse_adjoint_size,
                                  .work = multiplications,
                                  .work_together = work_together,
                                  .stat_together = stat_together,
                                  .reverse_together = reverse_together};

static anygp_status both_together(const void *shared, int64_t count, const row_block *b, double *work, double *out,
                                  anygp_error *e)
{
    const sparse *s = shared;
    lanes_parts p = lanes_parts_of(s, count, b, work);
    TRY(lanes_given(s, count, b, &p, e));
    for (int64_t l = 0; l < count; l++) sum_own(s, &b[l], (int)l, &p, out);
    reverse(s, count, b, &p, out + sparse_stat_size(s));
    return ANYGP_OK;
}

static int64_t both_size(const void *shared) { return sparse_stat_size(shared) + sparse_adjoint_size(shared); }

const block_model sparse_lanes_at_once = {
    .stat_size = both_size, .work = multiplications, .work_together = work_together, .stat_together = both_together};
