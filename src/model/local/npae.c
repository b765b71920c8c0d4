/* Nested pointwise aggregation of experts (Rulliere, Durrande, Bachoc and Chevalier 2018, nested kriging; 003, section IV-C [27]): the
   best linear predictor of f(x) given the experts' means, which are random variables with known covariances.  With K_i = K_ii + noise
       u_i = K_i^-1 k_i*,   M_i = u_i'y_i,   k_A(i) = cov(M_i, f) = k_i*'u_i,   K_A(i,j) = cov(M_i, M_j) = u_i'K_ij u_j
       lambda = K_A^-1 k_A,   mean lambda'M,   variance k - 2 lambda'k_A + lambda'K_A lambda
   where K_ij is without noise and K_A(i,i) = k_A(i), with it.  Experts of one row each make the exact process, whatever the rows.

   Leave-one-out: without row i of its expert, C = K_i^-1, c its column i, u_i becomes u_i - c u_i(i) / (C(i,i) + 1/d), with M_i and k_A(i), and
   so does row i of K_A; d is what the noise of the row grows by, infinite unless the row counts more than once.

   With two levels the experts are put together in about sqrt(M) groups first, each by its own block of K_A, and these groups then by
   their covariances; that takes M^2 operations instead of M^3/3.

   Many rows are predicted at once: a tile K_ij, made once, meets all u_j in a matrix product.  Cost: n^2 operations per row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "data/partition/distance.h"
#include "linalg/linalg.h"
#include "model/local/npae.h"
#include "model/local/vecchia.h"

/* ---------------------------------------------------------------------------------------- workspace */

static int64_t experts_asked(const experts_posterior *p)
{
    int64_t near = (int64_t)p->asked[EXPERTS_NEAR];
    return near > 0 && near < p->count ? near : p->count;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* From one row's u to the next. */
static int64_t stride_of(const experts_posterior *p)
{
    int64_t Q = experts_asked(p);
    return Q == p->count ? p->base.n : Q * p->largest;
}

static int64_t scratch(int64_t Q) { return Q * (Q + 8) + 32; }

int64_t npae_work(const posterior *base, int64_t n)
{
    const experts_posterior *p = (const experts_posterior *)base;
    int64_t Q = experts_asked(p), J = p->largest;
    int64_t row = stride_of(p) + Q * (Q + 4) + 2 * J + NPAE_STRIP + base->D + 4;
    return n * row + J * (NPAE_STRIP + 2 * base->mean.p) + larger(query_doubles(p, n), scratch(Q));
}

static double *take(double **at, int64_t count)
{
    double *here = *at;
    *at += count;
    return here;
}

static nesting place(const experts_posterior *p, int64_t n, double *at)
{
    int64_t Q = experts_asked(p), J = p->largest;
    nesting g = {.n = n, .Q = Q};
    g.near = (int64_t *)take(&at, Q * n);
    g.row = (int64_t *)take(&at, n), g.at = (int64_t *)take(&at, n), g.other = (int64_t *)take(&at, n);
    g.u = take(&at, stride_of(p) * n);
    g.mean = take(&at, Q * n), g.k_A = take(&at, Q * n), g.lambda = take(&at, Q * n), g.K_A = take(&at, Q * Q * n);
    g.v0 = take(&at, n), g.X = take(&at, p->base.D * n);
    g.tile = take(&at, NPAE_STRIP * J), g.H = take(&at, 2 * J * p->base.mean.p);
    g.V = take(&at, J * n), g.U = take(&at, J * n), g.W = take(&at, NPAE_STRIP * n), g.room = at;
    return g;
}

double *npae_u(const experts_posterior *p, const nesting *g, int64_t slot, int64_t row)
{
    int64_t in = g->Q == p->count ? (int64_t)p->start[slot] : slot * p->largest;
    return g->u + row * stride_of(p) + in;
}

/* ------------------------------------------------------------------------------------------ who is asked */

typedef struct ranked {
    double distance;
    int64_t expert;
} ranked;

static void ask_all(const experts_posterior *p, nesting *g)
{
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t i = 0; i < p->count; i++) g->near[i + j * g->Q] = i;
}

/* Those whose rows' mean is nearest, in the kernel's measure. */
static anygp_status ask_near(const experts_posterior *p, const double *X, nesting *g, anygp_error *e)
{
    int64_t d, D = p->base.D, M = p->count, there = 0;
    double *rows = vecchia_places(p->base.kernel, p->base.n, D, p->X, &d);
    double *places = vecchia_places(p->base.kernel, g->n, D, X, &d), *centre = mem_zeroed(M * d, sizeof *centre);
    ranked *list = mem_alloc(M, sizeof *list);
    bool ok = rows && places && centre && list;
    for (int64_t i = 0; ok && i < M; i++) {
        expert x = expert_at(p, i);
        for (int64_t r = x.first; r < x.first + x.n; r++)
            for (int64_t c = 0; c < d; c++) centre[i * d + c] += rows[r * d + c] / (double)x.n;
    }
    for (int64_t j = 0; ok && j < g->n; j++) {
        there = 0;
        for (int64_t i = 0; i < M; i++)
            if (expert_at(p, i).n > 0) list[there++] = (ranked){row_distance(d, places + j * d, centre + i * d), i};
        qsort(list, (size_t)there, sizeof *list, by_double);
        for (int64_t s = 0; s < g->Q; s++) g->near[s + j * g->Q] = s < there ? list[s].expert : -1;
        qsort(g->near + j * g->Q, (size_t)g->Q, sizeof *g->near, by_integer);
    }
    free(rows);
    free(places);
    free(centre);
    free(list);
    return ok ? ANYGP_OK : fail_memory(e, "the nearest experts", 8.0 * (double)(p->base.n * d));
}

/* The slot of expert i in row j; -1: it is not asked. */
static int64_t slot_of(const experts_posterior *p, const nesting *g, int64_t i, int64_t j)
{
    const int64_t *near = g->near + j * g->Q, *found;
    if (g->Q == p->count) return i;
    found = bsearch(&i, near, (size_t)g->Q, sizeof i, by_integer);
    return found ? found - near : -1;
}

/* Rows that ask expert i, and their slots; how many. */
static int64_t who_asks(const experts_posterior *p, const nesting *g, int64_t i)
{
    int64_t c = 0;
    for (int64_t j = 0; j < g->n; j++)
        if ((g->at[c] = slot_of(p, g, i, j)) >= 0) g->row[c++] = j;
    return c;
}

/* Of the c rows that ask expert i, those that ask expert k too come first. */
static int64_t who_asks_both(const experts_posterior *p, const nesting *g, int64_t c, int64_t k)
{
    int64_t both = 0;
    for (int64_t j = 0; j < c; j++) {
        int64_t slot = slot_of(p, g, k, g->row[j]), row = g->row[j], at = g->at[j];
        if (slot < 0) continue;
        g->row[j] = g->row[both], g->at[j] = g->at[both];
        g->row[both] = row, g->at[both] = at, g->other[both++] = slot;
    }
    return both;
}

/* ------------------------------------------------------------------------------------ the experts' means */

/* u, the mean and its variance without one observation of row i of expert x; unit: x->n of room. */
static void leave_row_out(const expert *x, int64_t i, double *unit, double *u, double *mean, double *k_A)
{
    double w = x->w[i], rest = w - fmin(1, w), before = u[i];
    double share = rest > 0 ? 1 / (x->noise / rest - x->noise / w) : 0;
    memset(unit, 0, (size_t)x->n * sizeof *unit);
    unit[i] = 1;
    la_trsv(LA_N, x->n, x->L, x->n, unit);
    la_trsv(LA_T, x->n, x->L, x->n, unit);
    double times = before / (unit[i] + share);
    la_axpy(x->n, -times, unit, u);
    *mean -= times * x->alpha[i];
    *k_A = fmax(*k_A - times * before, 0);
}

/* In the predictions that expert x has just made for c rows, its own rows are left out. */
static void leave_own_out(const expert *x, int64_t c, nesting *g)
{
    for (int64_t j = 0; g->own && j < c; j++) {
        int64_t i = g->own[g->row[j]] - x->first, to = g->at[j] + g->row[j] * g->Q;
        if (i >= 0 && i < x->n) leave_row_out(x, i, g->U, g->V + j * x->n, g->mean + to, g->k_A + to);
    }
}

static anygp_status hear(const experts_posterior *p, int64_t i, const double *X, int64_t ldx, nesting *g,
                         anygp_error *e)
{
    int64_t D = p->base.D, c = who_asks(p, g, i);
    expert x = expert_at(p, i);
    expert_query q;
    for (int64_t j = 0; j < c; j++) memcpy(g->X + j * D, X + g->row[j] * ldx, (size_t)D * sizeof *X);
    if (c == 0 || x.n == 0) return ANYGP_OK;
    TRY(query_prepare(p, c, g->X, D, g->H, g->room, &q, e));
    TRY(expert_covariances(p, &x, &q, g->H, g->V, e));
    la_gemv(LA_T, x.n, c, 1, g->V, x.n, x.alpha, 0, g->W);
    la_trsm(LA_LEFT, LA_N, x.n, c, 1, x.L, x.n, g->V, x.n);
    for (int64_t j = 0; j < c; j++) {
        int64_t to = g->at[j] + g->row[j] * g->Q;
        g->mean[to] = g->W[j], g->k_A[to] = la_dot(x.n, g->V + j * x.n, g->V + j * x.n);
        g->v0[g->row[j]] = q.variance[j];
    }
    la_trsm(LA_LEFT, LA_T, x.n, c, 1, x.L, x.n, g->V, x.n);
    leave_own_out(&x, c, g);
    for (int64_t j = 0; j < c; j++)
        memcpy(npae_u(p, g, g->at[j], g->row[j]), g->V + j * x.n, (size_t)x.n * sizeof *g->V);
    return ANYGP_OK;
}

static double *covariance_at(const nesting *g, int64_t row, int64_t a, int64_t b)
{
    return g->K_A + row * g->Q * g->Q + b + a * g->Q;
}

/* K_A(i, k) for all rows that ask both, of the c that ask expert i. */
static anygp_status hear_both(const experts_posterior *p, int64_t i, int64_t k, int64_t c, nesting *g, anygp_error *e)
{
    expert x = expert_at(p, i), z = expert_at(p, k);
    int64_t both = x.n > 0 && z.n > 0 ? who_asks_both(p, g, c, k) : 0;
    for (int64_t j = 0; j < both; j++) {
        memcpy(g->V + j * x.n, npae_u(p, g, g->at[j], g->row[j]), (size_t)x.n * sizeof *g->V);
        memcpy(g->U + j * z.n, npae_u(p, g, g->other[j], g->row[j]), (size_t)z.n * sizeof *g->U);
    }
    for (int64_t r = 0; both && r < x.n; r += NPAE_STRIP) {
        int64_t rows = x.n - r < NPAE_STRIP ? x.n - r : NPAE_STRIP;
        TRY(experts_between(p, rows, x.X + r * p->base.D, z.n, z.X, g->H, g->tile, e));
        la_gemm(LA_N, LA_N, rows, both, z.n, 1, g->tile, rows, g->U, z.n, 0, g->W, rows);
        for (int64_t j = 0; j < both; j++)
            *covariance_at(g, g->row[j], g->at[j], g->other[j]) += la_dot(rows, g->W + j * rows, g->V + j * x.n + r);
    }
    return ANYGP_OK;
}

/* M, k_A and K_A of all rows. */
static anygp_status covariances(const experts_posterior *p, const double *X, int64_t ldx, nesting *g, anygp_error *e)
{
    for (int64_t i = 0; i < g->Q * g->n; i++) g->mean[i] = g->k_A[i] = 0;
    for (int64_t i = 0; i < g->Q * g->Q * g->n; i++) g->K_A[i] = 0;
    for (int64_t i = 0; i < p->count; i++) TRY(hear(p, i, X, ldx, g, e));
    for (int64_t i = 0; i < p->count; i++) {
        int64_t c = who_asks(p, g, i);
        for (int64_t j = 0; j < c; j++)
            *covariance_at(g, g->row[j], g->at[j], g->at[j]) = g->k_A[g->at[j] + g->row[j] * g->Q];
        for (int64_t k = i + 1; c > 0 && k < p->count; k++) TRY(hear_both(p, i, k, c, g, e));
    }
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------- the weights */

/* Relative to the unit diagonal of correlations: experts far away that say the same are nearly one.  A variance below FAINT of the
   prior's is none. */
static const double CORRELATION_JITTER = 1e-12, FAINT = 1e-200;
enum { ROUNDS = 2 };

/* Row i of K times x, from the lower triangle. */
static double row_times(int64_t m, const double *K, int64_t ld, int64_t i, const double *x)
{
    double sum = 0;
    for (int64_t j = 0; j < m; j++) sum += (i >= j ? K[i + j * ld] : K[j + i * ld]) * x[j];
    return sum;
}

/* lambda = K^-1 k, through correlations, refined once: that takes the jitter out again where it was not needed.  room: m (m + 3).  K's lower triangle, leading dimension ld. */
static anygp_status best_linear(int64_t m, const double *K, int64_t ld, const double *k, double v0, double *room,
                                double *lambda, anygp_error *e)
{
    double *C = room, *scale = C + m * m, *diag = scale + m, *z = diag + m, added;
    int64_t used = 0;
    for (int64_t i = 0; i < m; i++) {
        double v = K[i + i * ld];
        scale[i] = v > FAINT * v0 && v > 0 ? 1 / sqrt(v) : 0;
        used += scale[i] > 0;
        lambda[i] = 0;
    }
    if (used == 0) return ANYGP_OK; /* nobody knows anything */
    for (int64_t j = 0; j < m; j++) {
        for (int64_t i = j; i < m; i++) C[i + j * m] = scale[i] * scale[j] * K[i + j * ld];
        C[j + j * m] = 1;
        z[j] = scale[j] * k[j];
    }
    if (!la_cholesky(m, C, m, CORRELATION_JITTER, diag, &added))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of the experts' predictions has no Cholesky factor");
    for (int round = 0; round < ROUNDS; round++) {
        la_trsv(LA_N, m, C, m, z);
        la_trsv(LA_T, m, C, m, z);
        for (int64_t i = 0; i < m; i++) lambda[i] += scale[i] * z[i];
        for (int64_t i = 0; i < m; i++) z[i] = scale[i] * (k[i] - row_times(m, K, ld, i, lambda));
    }
    return ANYGP_OK;
}

/* a'K b, from the lower triangle, of blocks a[m] at i and b[n] at j. */
static double form(const double *K, int64_t ld, int64_t i, int64_t m, const double *a, int64_t j, int64_t n,
                   const double *b)
{
    double sum = 0;
    for (int64_t c = j; c < j + n; c++)
        for (int64_t r = i; r < i + m; r++) sum += a[r - i] * b[c - j] * (r >= c ? K[r + c * ld] : K[c + r * ld]);
    return sum;
}

/* Groups of `size` slots first, then the groups. */
static anygp_status two_levels(int64_t Q, const double *K, const double *k, double v0, double *room, double *lambda,
                               anygp_error *e)
{
    int64_t size = (int64_t)ceil(sqrt((double)Q)), G = (Q + size - 1) / size;
    double *K2 = room, *k2 = K2 + G * G, *top = k2 + G, *rest = top + G;
    for (int64_t g = 0; g < G; g++) {
        int64_t at = g * size, m = Q - at < size ? Q - at : size;
        TRY(best_linear(m, K + at + at * Q, Q, k + at, v0, rest, lambda + at, e));
        k2[g] = la_dot(m, lambda + at, k + at);
        for (int64_t h = 0; h <= g; h++) {
            int64_t from = h * size, n = Q - from < size ? Q - from : size;
            K2[g + h * G] = form(K, Q, at, m, lambda + at, from, n, lambda + from);
        }
    }
    TRY(best_linear(G, K2, G, k2, v0, rest, top, e));
    for (int64_t i = 0; i < Q; i++) lambda[i] *= top[i / size];
    return ANYGP_OK;
}

anygp_status npae_weigh(const experts_posterior *p, const int64_t *own, int64_t n, const double *X, int64_t ldx,
                        double *work, nesting *g, anygp_error *e)
{
    *g = place(p, n, work);
    g->own = own;
    int64_t Q = g->Q, D = p->base.D;
    for (int64_t j = 0; j < n; j++) memcpy(g->X + j * D, X + j * ldx, (size_t)D * sizeof *X);
    if (Q == p->count)
        ask_all(p, g);
    else
        TRY(ask_near(p, g->X, g, e));
    TRY(covariances(p, X, ldx, g, e));
    for (int64_t j = 0; j < n; j++) {
        const double *K = g->K_A + j * Q * Q, *k = g->k_A + j * Q;
        double *lambda = g->lambda + j * Q;
        TRY(p->rule.levels > 1 ? two_levels(Q, K, k, g->v0[j], g->room, lambda, e)
                               : best_linear(Q, K, Q, k, g->v0[j], g->room, lambda, e));
    }
    return ANYGP_OK;
}

/* -------------------------------------------------------------------------------------------- marginals */

anygp_status npae_predict(const experts_posterior *p, const int64_t *own, int64_t n, const double *X, int64_t ldx,
                          double *work, double *mean, double *variance, anygp_error *e)
{
    nesting g;
    TRY(npae_weigh(p, own, n, X, ldx, work, &g, e));
    for (int64_t j = 0; j < n; j++) {
        int64_t Q = g.Q, at = j * Q;
        const double *l = g.lambda + at;
        mean[j] = la_dot(Q, l, g.mean + at);
        if (!variance) continue;
        double spread = form(g.K_A + at * Q, Q, 0, Q, l, 0, Q, l);
        variance[j] = fmax(g.v0[j] - 2 * la_dot(Q, l, g.k_A + at) + spread, 0);
    }
    return ANYGP_OK;
}

static anygp_status marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, anygp_error *e)
{
    return npae_predict((const experts_posterior *)base, NULL, n, X, ldx, work, mean, variance, e);
}

/* Of all experts, also of those that a row does not ask: their weight is 0. */
static anygp_status opinions(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, double *weight, anygp_error *e)
{
    const experts_posterior *p = (const experts_posterior *)base;
    nesting g;
    expert_query q;
    TRY(npae_weigh(p, NULL, n, X, ldx, work, &g, e));
    TRY(query_prepare(p, n, X, ldx, g.H, g.room, &q, e));
    for (int64_t k = 0; k < p->count; k++) {
        expert x = expert_at(p, k);
        double *m = mean + k * n, *v = variance + k * n;
        for (int64_t j = 0; j < n; j++) {
            int64_t slot = slot_of(p, &g, k, j);
            weight[j + k * n] = slot < 0 ? 0 : g.lambda[slot + j * g.Q];
            m[j] = 0, v[j] = q.variance[j];
        }
        if (x.n > 0) TRY(expert_ask(p, &x, &q, g.H, g.V, m, v, e));
    }
    return ANYGP_OK;
}

const posterior_ops npae_ops = {.make = experts_make,
                                .work_doubles = npae_work,
                                .marginal = marginal,
                                .joint = npae_joint,
                                .arrays = experts_arrays,
                                .free = experts_free,
                                .experts = experts_count,
                                .opinions = opinions};
