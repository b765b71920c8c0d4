/* Joint predictions of Vecchia's approximation.  The rows to predict come after the training rows, in maximin order, and each is
   conditioned on the training rows nearest to it and on the nearest rows to predict that came before it: with b = G_xN G_NN^-1 split into its
   parts for training rows (y) and rows to predict (f), and a = sqrt(B) h,
       f_i = b_y y + b_f f + t'v + e_i,   t = a_i - b A_N,   e_i ~ N(0, d_i)
   So, from the first to the last,  mean_i = b_y y + b_f mean + t'm,   R_i = t + b_f R,   C_ij = b_f C_j,   C_ii = d_i + b_f C_i
   and the covariance is C + R V R'. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/neighbours/order.h"
#include "linalg/linalg.h"
#include "model/local/vecchia_joint.h"

static const double APART =
    1e-11; /* of the variance: what a row to predict is given with, so that equal ones have a factor */

void companions_clear(companions *g)
{
    near_rows_clear(&g->near);
    free(g->order);
    free(g->rows);
    free(g->count);
    free(g->room);
    free(g->R);
    free(g->C);
    free(g->mean);
}

anygp_status companions_find(const vecchia_posterior *p, int64_t n, const double *X, int64_t ldx, int64_t most,
                             companions *g, anygp_error *e)
{
    int64_t k = vecchia_near(p);
    double *places;
    *g = (companions){.n = n, .k = k, .most = most};
    g->order = mem_alloc(n, sizeof *g->order);
    g->rows = mem_alloc(n, (size_t)most * sizeof *g->rows), g->count = mem_alloc(n, sizeof *g->count);
    g->room = mem_alloc(conditional_doubles(p, most + k), sizeof *g->room);
    if (!g->order || !g->rows || !g->count || !g->room)
        return fail_memory(e, "a joint prediction", 8.0 * (double)n * (double)k);
    TRY(vecchia_around(p, n, X, ldx, most, g->rows, g->count, NULL, &places, e));
    anygp_status status = order_maximin(n, p->d, places, &p->search.by, NULL, g->order, e);
    if (!ANYGP_FAILED(status))
        status = neighbours_in_order(n, p->d, places, &p->search.by, g->order, k, comm_self(), &g->near, e);
    free(places);
    return status;
}

anygp_status companions_reserve(companions *g, int64_t q, anygp_error *e)
{
    int64_t n = g->n;
    g->q = q;
    g->R = mem_doubles(n, q), g->C = mem_doubles(n, n), g->mean = mem_alloc(n, sizeof *g->mean);
    return g->R && g->C && g->mean ? ANYGP_OK : fail_memory(e, "a joint prediction", 8.0 * (double)n * (double)(n + q));
}

void companions_add(const vecchia_posterior *p, const companions *g, int64_t i, const double *X, int64_t ldx,
                    conditional *c)
{
    for (int64_t j = 0; j < g->near.count[i]; j++, c->n++) {
        const double *x = X + g->order[g->near.row[i * g->k + j]] * ldx;
        double variance;
        kernel_diag(p->base.kernel, 1, x, p->base.D, &variance);
        memcpy(c->X + c->n * p->base.D, x, (size_t)p->base.D * sizeof *x);
        c->y[c->n] = 0, c->noise[c->n] = APART * variance;
    }
}

void companions_follow(companions *g, int64_t i, const double *weight, double mean, const double *t, double variance)
{
    int64_t q = g->q, n = g->n;
    const int32_t *near = g->near.row + i * g->k;
    double *row = g->C + i * n;
    g->mean[i] = mean;
    memset(row, 0, (size_t)n * sizeof *row);
    for (int64_t a = 0; a < q; a++) g->R[i * q + a] = t[a];
    for (int64_t j = 0; j < g->near.count[i]; j++) {
        double b = weight[j];
        g->mean[i] += b * g->mean[near[j]];
        la_axpy(q, b, g->R + near[j] * q, g->R + i * q);
        la_axpy(i, b, g->C + near[j] * n, row);
    }
    row[i] = variance;
    for (int64_t j = 0; j < g->near.count[i]; j++) row[i] += weight[j] * row[near[j]];
    for (int64_t j = 0; j < i; j++) g->C[j * n + i] = row[j];
}

/* C + R V R' and mean + R m, in the caller's order. */
static void write_joint(const vecchia_posterior *p, const companions *g, double *mean, double *covariance, int64_t ldc)
{
    int64_t q = p->Mt, n = g->n;
    for (int64_t i = 0; i < n; i++) mean[g->order[i]] = g->mean[i] + la_dot(q, g->R + i * q, p->m);
    if (q) la_trsm(LA_LEFT, LA_N, q, n, 1, p->B, q, g->R, q);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            int64_t a = g->order[i], b = g->order[j];
            covariance[(a > b ? a : b) + (a > b ? b : a) * ldc] =
                g->C[i * n + j] + la_dot(q, g->R + i * q, g->R + j * q);
        }
}

anygp_status vecchia_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                           double *covariance, int64_t ldc, anygp_error *e)
{
    const vecchia_posterior *p = (const vecchia_posterior *)base;
    companions g;
    (void)work;
    anygp_status status = companions_find(p, n, X, ldx, vecchia_most(p), &g, e);
    if (!ANYGP_FAILED(status)) status = companions_reserve(&g, p->Mt, e);
    if (!ANYGP_FAILED(status)) status = vecchia_make_features(p, n, g.most, g.rows, g.count, e);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < n; i++) {
        int64_t at = g.order[i];
        conditional c = conditional_place(p, g.most + g.k, g.room);
        conditional_begin(p, g.count[at], g.rows + at * g.most, &c);
        companions_add(p, &g, i, X, ldx, &c);
        status = conditional_find(p, X + at * ldx, &c, e);
        if (ANYGP_FAILED(status)) break;
        la_trsv(LA_T, c.n, c.G, c.n + 1, c.row); /* b */
        companions_follow(&g, i, c.row + g.count[at], c.mean, c.t, c.variance);
    }
    if (!ANYGP_FAILED(status)) write_joint(p, &g, mean, covariance, ldc);
    companions_clear(&g);
    return status;
}
