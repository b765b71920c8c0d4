/* Joint predictions of variational nearest-neighbour GPs.  As in vecchia_joint.c the rows to predict come after the training rows, in maximin
   order; here the training rows are inducing variables u ~ N(m, diag s), the same ones for all rows to predict:
       f_i = b_u u + b_f f + e_i,   e_i ~ N(0, d_i)
   So R_i = b_u + b_f R over the u that some row is given, for each latent the means are R m and the covariance is C + R diag(s) R'. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/local/vecchia_joint.h"
#include "model/local/vnngp_posterior.h"

/* The training rows that are in some list. */
typedef struct given_rows {
    int64_t count;
    int32_t *column; /* of each training row; -1: it is in none */
    int32_t *row;    /* of each column */
    double *t;       /* of one row to predict */
} given_rows;

static void given_rows_clear(given_rows *u)
{
    free(u->column);
    free(u->row);
    free(u->t);
}

static anygp_status given_rows_find(int64_t rows, const companions *g, given_rows *u, anygp_error *e)
{
    *u = (given_rows){.column = mem_alloc(rows, sizeof *u->column), .row = mem_alloc(rows, sizeof *u->row)};
    if (!u->column || !u->row) return fail_memory(e, "a joint prediction", 8.0 * (double)rows);
    for (int64_t i = 0; i < rows; i++) u->column[i] = -1;
    for (int64_t i = 0; i < g->n; i++)
        for (int64_t j = 0; j < g->count[i]; j++) {
            int32_t row = g->rows[i * g->k + j];
            if (u->column[row] < 0) u->row[u->column[row] = (int32_t)u->count++] = row;
        }
    u->t = mem_alloc(u->count, sizeof *u->t);
    return u->t ? ANYGP_OK : fail_memory(e, "a joint prediction", 8.0 * (double)u->count);
}

static anygp_status add_row(const vnngp_posterior *p, companions *g, const given_rows *u, int64_t i, const double *X,
                            int64_t ldx, anygp_error *e)
{
    int64_t at = g->order[i], count = g->count[at];
    const int32_t *rows = g->rows + at * g->k;
    conditional c = conditional_place(&p->near, 2 * g->k, g->room);
    vnngp_conditional_begin(p, count, rows, &c);
    companions_add(&p->near, g, i, X, ldx, &c);
    TRY(conditional_find(&p->near, X + at * ldx, &c, e));
    la_trsv(LA_T, c.n, c.G, c.n + 1, c.row); /* b */
    memset(u->t, 0, (size_t)u->count * sizeof *u->t);
    for (int64_t j = 0; j < count; j++) u->t[u->column[rows[j]]] = c.row[j];
    companions_follow(g, i, c.row + count, 0, u->t, c.variance);
    return ANYGP_OK;
}

/* Latent l, in the caller's order; S[n,q] is room. */
static void write_latent(const vnngp_posterior *p, const companions *g, const given_rows *u, int64_t l, double *S,
                         double *mean, double *covariance, int64_t ldc)
{
    int64_t n = g->n, q = u->count, all = p->near.base.n;
    const double *m = p->m + l * all, *s = p->s + l * all;
    for (int64_t i = 0; i < n; i++) {
        double *sum = mean + l * n + g->order[i];
        *sum = 0;
        for (int64_t a = 0; a < q; a++) {
            *sum += g->R[i * q + a] * m[u->row[a]];
            S[i * q + a] = g->R[i * q + a] * sqrt(s[u->row[a]]);
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            int64_t a = g->order[i], b = g->order[j];
            covariance[l * n * ldc + (a > b ? a : b) + (a > b ? b : a) * ldc] =
                g->C[i * n + j] + la_dot(q, S + i * q, S + j * q);
        }
}

anygp_status vnngp_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                         double *covariance, int64_t ldc, anygp_error *e)
{
    const vnngp_posterior *p = (const vnngp_posterior *)base;
    companions g;
    given_rows u = {0};
    double *S = NULL;
    anygp_status status = ANYGP_OK;
    (void)work;
    TRY_DONE(companions_find(&p->near, n, X, ldx, vecchia_near(&p->near), &g, e));
    TRY_DONE(given_rows_find(base->n, &g, &u, e));
    TRY_DONE(companions_reserve(&g, u.count, e));
    if (!(S = mem_doubles(n, u.count))) {
        status = fail_memory(e, "a joint prediction", 8.0 * (double)n * (double)u.count);
        goto done;
    }
    for (int64_t i = 0; i < n; i++) TRY_DONE(add_row(p, &g, &u, i, X, ldx, e));
    for (int64_t l = 0; l < base->latents; l++) write_latent(p, &g, &u, l, S, mean, covariance, ldc);
done:
    companions_clear(&g);
    given_rows_clear(&u);
    free(S);
    return status;
}
