/* Naive local experts (003, section IV-A): a row is predicted by the exact Gaussian process of its part of the input space, and by no other
   (experts.h).  Learning is that of the committees: the sum of the experts' log evidences, with one set of hyperparameters
   or one for each.

   This is the exact model of a prior in which the parts are independent.  So leave-one-out from the own part is that of its predictions,
   and a prediction costs J^2 for a part of J rows; at the borders of parts it jumps.  A part without rows predicts the prior. */
#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/local/experts.h"

/* ------------------------------------------------------------------------------------------ marginals */

/* Room for n rows: those of one part at a time. */
typedef struct asking {
    int64_t *block, *row; /* n: parts; rows of the part */
    double *X, *m, *v;    /* D x n, n, n */
    double *H, *k, *query;
} asking;

static int64_t nle_work(const posterior *base, int64_t n)
{
    const experts_posterior *p = (const experts_posterior *)base;
    return n * (4 + base->D + p->largest) + p->largest * base->mean.p + query_doubles(p, n);
}

static asking asking_place(const experts_posterior *p, int64_t n, double *room)
{
    asking a = {.block = (int64_t *)room, .row = (int64_t *)room + n, .m = room + 2 * n, .v = room + 3 * n};
    a.X = room + 4 * n, a.H = a.X + n * p->base.D, a.k = a.H + p->largest * p->base.mean.p;
    a.query = a.k + n * p->largest;
    return a;
}

int64_t rows_of_part(const int64_t *block, int64_t k, int64_t n, const double *X, int64_t ldx, int64_t D, double *taken,
                     int64_t *row)
{
    int64_t count = 0;
    for (int64_t j = 0; j < n; j++) {
        if (block[j] != k) continue;
        memcpy(taken + count * D, X + j * ldx, (size_t)D * sizeof *X);
        row[count++] = j;
    }
    return count;
}

static anygp_status ask_part(const experts_posterior *p, int64_t k, int64_t count, const asking *a, double *mean,
                             double *variance, double *noise, anygp_error *e)
{
    expert x = expert_at(p, k);
    expert_query q;
    TRY(query_prepare(p, count, a->X, p->base.D, a->H, a->query, &q, e));
    if (p->own) expert_prior(p, &x, &q, q.variance);
    for (int64_t j = 0; j < count; j++) a->m[j] = 0, a->v[j] = q.variance[j];
    if (x.n > 0) TRY(expert_ask(p, &x, &q, a->H, a->k, a->m, a->v, e));
    for (int64_t j = 0; j < count; j++) {
        mean[a->row[j]] = a->m[j];
        if (variance) variance[a->row[j]] = a->v[j];
        if (noise) noise[a->row[j]] = experts_noise_of(&p->base, k);
    }
    return ANYGP_OK;
}

static anygp_status nle_marginal_noise(const posterior *base, int64_t n, const double *X, int64_t ldx,
                                       const int64_t *block, double *room, double *mean, double *variance,
                                       double *noise, anygp_error *e)
{
    const experts_posterior *p = (const experts_posterior *)base;
    asking a = asking_place(p, n, room);
    if (block)
        memcpy(a.block, block, (size_t)n * sizeof *block);
    else
        TRY(experts_route(p, n, X, ldx, a.block, e));
    for (int64_t k = 0; k < p->count; k++) {
        int64_t count = rows_of_part(a.block, k, n, X, ldx, base->D, a.X, a.row);
        if (count > 0) TRY(ask_part(p, k, count, &a, mean, variance, noise, e));
    }
    return ANYGP_OK;
}

static anygp_status nle_marginal_in(const posterior *base, int64_t n, const double *X, int64_t ldx,
                                    const int64_t *block, double *room, double *mean, double *variance, anygp_error *e)
{
    return nle_marginal_noise(base, n, X, ldx, block, room, mean, variance, NULL, e);
}

static anygp_status nle_marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *room,
                                 double *mean, double *variance, anygp_error *e)
{
    return nle_marginal_noise(base, n, X, ldx, NULL, room, mean, variance, NULL, e);
}

static int64_t nle_blocks(const posterior *base, const double **names)
{
    const experts_posterior *p = (const experts_posterior *)base;
    *names = p->names;
    return p->count;
}

#define NLE                                                                                                            \
    .make = experts_make, .work_doubles = nle_work, .marginal = nle_marginal, .arrays = experts_arrays,                \
    .free = experts_free, .blocks = nle_blocks, .marginal_in = nle_marginal_in

const posterior_ops nle_ops = {NLE}, nle_own_ops = {NLE, .marginal_noise = nle_marginal_noise};

/* ---------------------------------------------------------------------------------------------- table */

static const aggregation alone = {.alone = true};

const model_ops model_nle = {
    .name = "nle",
    .summary = "exact model of a row's part alone",
    .objective = "log evidence of the experts",
    .family = &alone,
    .needs = {.rows = ROWS_PARTS, .local = true, .mean = true, .weights = true, .own = true},
    .order = "n j^2",
    .jitter = 1e-8,
    .cost = experts_cost,
    .size = experts_size,
    .define = experts_define,
    .open = experts_open,
    .evaluate = experts_evaluate,
    .failure = experts_failure,
    .loo = experts_loo,
    .posterior = experts_to_posterior,
    .rows = experts_rows,
    .close = experts_close,
    .load = experts_load,
    .load_within = experts_load_within,
    .update = &experts_update,
    .sum = &experts_sum,
};
