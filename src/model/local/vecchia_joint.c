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
#include "model/local/vecchia_posterior.h"

static const double APART =
    1e-11; /* of the variance: what a row to predict is given with, so that equal ones have a factor */

typedef struct companions {
    int64_t n, k, *order; /* k: neighbours of each kind */
    int32_t *rows, *count;
    near_rows near; /* among the rows to predict, in their order */
    double *room, *R, *C;
} companions;

static void companions_clear(companions *g)
{
    near_rows_clear(&g->near);
    free(g->order);
    free(g->rows);
    free(g->count);
    free(g->room);
    free(g->R);
    free(g->C);
}

static anygp_status companions_find(const vecchia_posterior *p, int64_t n, const double *X, int64_t ldx, companions *g,
                                    anygp_error *e)
{
    int64_t k = vecchia_near(p);
    double *places;
    *g = (companions){.n = n, .k = k};
    g->order = mem_alloc(n, sizeof *g->order);
    g->rows = mem_alloc(n, (size_t)k * sizeof *g->rows), g->count = mem_alloc(n, sizeof *g->count);
    g->room = mem_alloc(conditional_doubles(p, 2 * k), sizeof *g->room);
    g->R = mem_doubles(n, p->Mt), g->C = mem_doubles(n, n);
    if (!g->order || !g->rows || !g->count || !g->room || !g->R || !g->C)
        return fail_memory(e, "a joint prediction", 8.0 * (double)n * (double)n);
    TRY(vecchia_nearest(p, n, X, ldx, k, g->rows, g->count, &places, e));
    anygp_status status = order_maximin(n, p->d, places, g->order, e);
    if (!ANYGP_FAILED(status)) status = neighbours_in_order(n, p->d, places, g->order, k, comm_self(), &g->near, e);
    free(places);
    return status;
}

/* Behind the training rows in c the rows to predict that row i is given: they have no value of their own. */
static void add_companions(const vecchia_posterior *p, const companions *g, int64_t i, const double *X, int64_t ldx,
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

/* Row i of C and R and its mean, from the rows before it; mean[i] in the order. */
static void add_row(const vecchia_posterior *p, companions *g, int64_t i, conditional *c, double *mean)
{
    int64_t q = p->Mt, n = g->n, first = c->n - g->near.count[i];
    const int32_t *near = g->near.row + i * g->k;
    double *row = g->C + i * n;
    la_trsv(LA_T, c->n, c->G, c->n + 1, c->row); /* b */
    mean[i] = c->mean;
    memset(row, 0, (size_t)n * sizeof *row);
    for (int64_t a = 0; a < q; a++) g->R[i * q + a] = c->t[a];
    for (int64_t j = 0; j < g->near.count[i]; j++) {
        double b = c->row[first + j];
        mean[i] += b * mean[near[j]];
        la_axpy(q, b, g->R + near[j] * q, g->R + i * q);
        la_axpy(i, b, g->C + near[j] * n, row);
    }
    row[i] = c->variance;
    for (int64_t j = 0; j < g->near.count[i]; j++) row[i] += c->row[first + j] * row[near[j]];
    for (int64_t j = 0; j < i; j++) g->C[j * n + i] = row[j];
}

/* C + R V R' and mean + R m, in the caller's order. */
static void write_joint(const vecchia_posterior *p, const companions *g, const double *found, double *mean,
                        double *covariance, int64_t ldc)
{
    int64_t q = p->Mt, n = g->n;
    for (int64_t i = 0; i < n; i++) mean[g->order[i]] = found[i] + la_dot(q, g->R + i * q, p->m);
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
    double *found = mem_alloc(n, sizeof *found);
    anygp_status status = companions_find(p, n, X, ldx, &g, e);
    if (!ANYGP_FAILED(status) && !found) status = fail_memory(e, "a joint prediction", 8.0 * (double)n);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < n; i++) {
        int64_t at = g.order[i];
        conditional c = conditional_place(p, 2 * g.k, g.room);
        conditional_begin(p, g.count[at], g.rows + at * g.k, &c);
        add_companions(p, &g, i, X, ldx, &c);
        status = conditional_find(p, X + at * ldx, &c, e);
        if (!ANYGP_FAILED(status)) add_row(p, &g, i, &c, found);
    }
    if (!ANYGP_FAILED(status)) write_joint(p, &g, found, mean, covariance, ldc);
    companions_clear(&g);
    free(found);
    return status;
}
