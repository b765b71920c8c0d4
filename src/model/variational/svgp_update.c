/* New rows for a variational posterior, without the old ones, at the same hyperparameters: what q was is the prior of what comes.
       maximise  sum over new rows E[log p(y | f)] - KL(q || q_old)
   With the statistics of layer.h at q, Lambda = Lambda_old + S(q), theta = theta_old + b(q) + S(q) m is a fixed point of natural steps
   of any size rho; for Gaussian noise the first one of size 1 arrives.  Others are taken back and tried smaller where they lead far and
   down, so that q is never worse than before, whatever the rows.  Rows are absorbed as they come, so memory is flat: for
   other likelihoods the result depends, a little, on how they were grouped.  odvgp's a stays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/variational/svgp_posterior.h"

enum { ROUNDS_MOST = 100, PIECE_ROWS = 2048 };
static const double CLOSE = 1e-9, RHO = 0.5, RHO_LEAST = 1e-12;

typedef struct svgp_update {
    const svgp_posterior *from;
    likelihood like;
    hyper h; /* a view of the posterior's, but for the inducing variables and like */
    inducing_set all;
    double *values;
    problem problem;
    chain s;
    double *stat, *Lambda, *theta; /* of all q before the rows that are being added, one after the other */
    double *m_old;                 /* Mt x C: their means */
    double *kept;                  /* q before a step */
    double *V;                     /* a square of the largest set */
    update_report report;
} svgp_update;

static void update_close(void *state)
{
    svgp_update *u = state;
    if (!u) return;
    chain_clear(&u->s);
    inducing_clear(&u->all);
    double *const owned[] = {u->values, u->stat, u->Lambda, u->theta, u->m_old, u->kept, u->V};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(u);
}

/* ---------------------------------------------------------------------------------------- open */

/* The inducing variables and, behind them, odvgp's second set. */
static anygp_status view_hyper(svgp_update *u, anygp_error *e)
{
    const svgp_posterior *p = u->from;
    const posterior *b = &p->base;
    TRY(inducing_join(&p->u, p->O ? &p->o : NULL, b->kernel, &u->all, e));
    u->values = mem_alloc(u->like.params, sizeof(double));
    if (!u->values) return fail_memory(e, "the update", 8.0 * (double)u->like.params);
    memcpy(u->values, u->like.value, (size_t)u->like.params * sizeof(double));
    u->h = (hyper){.kernel = b->kernel,
                   .like = u->values,
                   .likes = u->like.params,
                   .count = kernel_count(b->kernel) + u->like.params,
                   .M = u->all.M,
                   .D = b->D,
                   .Z = (double *)u->all.set.Z,
                   .C = (double *)u->all.set.C,
                   .kind = p->u.ops};
    return ANYGP_OK;
}

/* q from its factors: Lambda = F F', theta = Lambda m. */
static bool take_q(svgp_update *u)
{
    const svgp_posterior *p = u->from;
    for (int64_t i = 0; i < u->s.f->C * u->s.f->K; i++) {
        gauss *q = &u->s.f->q[i];
        int64_t c = i / u->s.f->K, k = i % u->s.f->K, M = q->M;
        const double *F = p->F[k] + c * M * M, *m = p->m + c * p->Mt + p->set[k];
        double *Lambda = u->Lambda, *theta = u->theta;
        la_syrk(LA_N, M, M, 1, F, M, 0, Lambda, M);
        memset(theta, 0, (size_t)M * sizeof *theta);
        la_symm(LA_LEFT, M, 1, 1, Lambda, M, m, M, 0, theta, M);
        if (!layer_q_set(u->s.f, q, Lambda, theta)) return false;
    }
    return true;
}

static void take_sets(svgp_update *u, int64_t sets[MODEL_SETS_MOST])
{
    const svgp_posterior *p = u->from;
    for (int64_t k = 0; k < p->K; k++) sets[k] = p->set[k + 1] - p->set[k] - (k == 0 ? p->base.mean.p : 0);
    if (p->O) sets[0] = p->base.n, sets[1] = p->O;
    u->problem = (problem){
        .mean = &p->base.mean, .likelihood = &u->like, .sets = sets, .set_count = p->O ? 2 : p->K, .comm = comm_self()};
}

static anygp_status allocate(svgp_update *u, anygp_error *e)
{
    int64_t squares = 0, largest = 0;
    for (int64_t k = 0; k < u->s.f->K; k++) {
        int64_t M = u->s.f->set[k + 1] - u->s.f->set[k];
        squares += M * M, largest = M > largest ? M : largest;
    }
    u->stat = mem_alloc(chain_rows.stat_size(&u->s), sizeof(double));
    u->Lambda = mem_alloc(squares * u->s.f->C, sizeof(double));
    u->theta = mem_alloc(u->s.f->Mt * u->s.f->C, sizeof(double));
    u->m_old = mem_alloc(u->s.f->Mt * u->s.f->C, sizeof(double));
    u->kept = mem_alloc(layer_kept_size(u->s.f), sizeof(double));
    u->V = mem_doubles(largest, largest);
    if (u->stat && u->Lambda && u->theta && u->m_old && u->kept && u->V) return ANYGP_OK;
    return fail_memory(e, "the update", 32.0 * (double)(squares * u->s.f->C));
}

static anygp_status prepare(svgp_update *u, anygp_error *e)
{
    const svgp_posterior *p = u->from;
    int64_t sets[MODEL_SETS_MOST];
    row_blocks none = {.D = p->base.D, .Q = u->like.columns, .largest = PIECE_ROWS};
    take_sets(u, sets);
    u->problem.blocks = &none;
    TRY(chain_init(&u->s, &u->problem, &u->h, p->O > 0, e));
    u->s.f->beside = false; /* there is no gradient to be beside of */
    TRY(allocate(u, e));
    chain_take_factor(&u->s, &u->h, p->u.L);
    if (p->O) memcpy(u->s.f->a, p->a, (size_t)(p->O * u->s.f->C) * sizeof(double));
    return take_q(u) ? ANYGP_OK
                     : fail_with(e, ANYGP_ERR_FILE, "the model's factors are not valid; its file is damaged");
}

static anygp_status update_open(const model_ops *self, const posterior *p, const likelihood *l, void **state,
                                anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    svgp_update *u = calloc(1, sizeof *u);
    (void)self;
    if (!u) return fail_memory(e, "the update", sizeof *u);
    u->from = (const svgp_posterior *)p;
    u->report.upper = NAN;
    u->like = *l;
    TRY_DONE(view_hyper(u, e));
    TRY_DONE(prepare(u, e));
done:
    if (ANYGP_FAILED(status))
        update_close(u);
    else
        *state = u;
    return status;
}

/* ---------------------------------------------------------------------------------------- rows */

static void keep_prior(svgp_update *u)
{
    double *Lambda = u->Lambda, *theta = u->theta;
    memcpy(u->m_old, u->s.f->m, (size_t)(u->s.f->Mt * u->s.f->C) * sizeof(double));
    for (int64_t i = 0; i < u->s.f->C * u->s.f->K; i++) {
        const gauss *q = &u->s.f->q[i];
        memcpy(Lambda, q->Lambda, (size_t)(q->M * q->M) * sizeof(double));
        memcpy(theta, q->theta, (size_t)q->M * sizeof(double));
        Lambda += q->M * q->M, theta += q->M;
    }
}

/* 2 KL(q || q_old) of one q, but for what does not depend on it: tr(Lambda_old V) + |m - m_old|^2 in Lambda_old + log det Lambda. */
static double twice_kl(const gauss *q, const double *Lambda, const double *m_old, double *V, double *d)
{
    int64_t M = q->M;
    double sum = la_logdet(M, q->F, M);
    memcpy(V, q->F, (size_t)(M * M) * sizeof *V);
    if (la_potri(M, V, M)) return INFINITY;
    for (int64_t j = 0; j < M; j++)
        sum += Lambda[j + j * M] * V[j + j * M] + 2 * la_dot(M - j - 1, Lambda + j + 1 + j * M, V + j + 1 + j * M);
    for (int64_t i = 0; i < M; i++) d[i] = q->m[i] - m_old[i];
    la_symm(LA_LEFT, M, 1, 1, Lambda, M, d, M, 0, d + M, M);
    return sum + la_dot(M, d, d + M);
}

static double kl_to_old(svgp_update *u)
{
    const double *Lambda = u->Lambda;
    double sum = 0;
    for (int64_t i = 0; i < u->s.f->C * u->s.f->K; i++) {
        const gauss *q = &u->s.f->q[i];
        sum += 0.5 * twice_kl(q, Lambda, u->m_old + (q->m - u->s.f->m), u->V, u->s.f->work);
        Lambda += q->M * q->M;
    }
    return sum;
}

/* Statistics of the rows at q, or their expected log likelihood alone. */
static anygp_status pass(svgp_update *u, driver *d, bool value_only, double *sums, anygp_error *e)
{
    if (u->s.f->O) memcpy(u->s.f->mean_m, u->s.f->m, (size_t)(u->s.f->Mt * u->s.f->C) * sizeof(double));
    u->s.value_only = value_only;
    anygp_status status = driver_stat(d, &u->s, 0, NULL, 1, sums, e);
    u->s.value_only = false;
    return status;
}

/* What is maximised, at q; -inf where it is no number. */
static anygp_status bound_now(svgp_update *u, driver *d, double *bound, anygp_error *e)
{
    double sums[1 + LIKELIHOOD_PARAMS];
    anygp_status status = pass(u, d, true, sums, e);
    *bound = ANYGP_FAILED(status) ? -INFINITY : *sums - kl_to_old(u);
    return status == ANYGP_ERR_NUMERIC ? ANYGP_OK : status;
}

/* A step of size *rho, a quarter of it as long as it leads far and down; *rho is 0 where there is none. */
static anygp_status move(svgp_update *u, driver *d, double before, double *rho, anygp_error *e)
{
    chain_stat stat;
    chain_stat_place(&u->s, u->stat, &stat);
    for (; *rho > RHO_LEAST; *rho *= 0.25) {
        double after;
        layer_keep(u->s.f, u->kept);
        bool moved = layer_move(u->s.f, stat.f, *rho, u->Lambda, u->theta);
        if (moved && !layer_far_moved(u->s.f, u->kept)) return ANYGP_OK;
        if (moved) TRY(bound_now(u, d, &after, e));
        if (moved && after >= before) return ANYGP_OK;
        layer_take_back(u->s.f, u->kept);
        if (!moved) break;
    }
    *rho = 0;
    return ANYGP_OK;
}

/* How far the means have moved in the last step, relative to their size. */
static double moved(const svgp_update *u)
{
    const double *before = u->kept + layer_kept_size(u->s.f) - u->s.f->Mt * u->s.f->C;
    double change = 0, size = 1e-300;
    for (int64_t i = 0; i < u->s.f->Mt * u->s.f->C; i++) {
        change = fmax(change, fabs(u->s.f->m[i] - before[i]));
        size = fmax(size, fabs(u->s.f->m[i]));
    }
    return change / size;
}

static anygp_status not_definite(anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_NUMERIC, "the new rows lead to a precision that is not positive definite");
}

/* For Gaussian noise and one set the first step arrives. */
static anygp_status absorb_exactly(svgp_update *u, driver *d, anygp_error *e)
{
    TRY(pass(u, d, false, u->stat, e));
    chain_stat stat;
    chain_stat_place(&u->s, u->stat, &stat);
    u->report.after += *stat.value;
    return layer_move(u->s.f, stat.f, 1, u->Lambda, u->theta) ? ANYGP_OK : not_definite(e);
}

/* Rounds until q stands still; the draws of Monte Carlo are the same in each, or it never would. */
static anygp_status absorb(svgp_update *u, driver *d, anygp_error *e)
{
    double rho = RHO;
    u->s.random = (random_stream){0, RANDOM_LIKELIHOOD, 0};
    keep_prior(u);
    if (u->s.gaussian && u->s.f->K == 1) return absorb_exactly(u, d, e);
    for (int k = 0; k < ROUNDS_MOST; k++) {
        TRY(pass(u, d, false, u->stat, e));
        if (k == 0) u->report.after += *u->stat;
        TRY(move(u, d, *u->stat - kl_to_old(u), &rho, e));
        if (k == 0 && rho == 0) return not_definite(e);
        if (moved(u) < CLOSE * rho / RHO || rho == 0) break;
        rho = fmin(RHO, 4 * rho);
    }
    return ANYGP_OK;
}

static anygp_status update_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                               const int64_t *ids, anygp_error *e)
{
    enum { PIECES = 8 };
    svgp_update *u = state;
    int64_t start[PIECES + 1];
    row_blocks *b = NULL;
    driver *d = NULL;
    anygp_status status = ANYGP_OK;
    (void)ids;
    for (int64_t i = 0; i <= PIECES; i++) start[i] = n * i / PIECES;
    TRY_DONE(blocks_of_arrays(PIECES, start, u->s.f->D, u->like.columns, X, y, w, &b, e));
    TRY_DONE(driver_open(&chain_rows, b, comm_self(), 0, &d, e));
    TRY_DONE(absorb(u, d, e));
    u->report.rows += b->total;
done:
    driver_close(d);
    blocks_free(b);
    return status;
}

static double update_held(const void *state) { return (void)state, 0; }

/* before and after: what the new rows add to the bound at the q that had not seen them. */
static anygp_status update_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    svgp_update *u = state;
    if (u->s.f->O) memcpy(u->s.f->mean_m, u->s.f->m, (size_t)(u->s.f->Mt * u->s.f->C) * sizeof(double));
    TRY(svgp_posterior_new(&u->s, 0, out, e));
    *r = u->report;
    return ANYGP_OK;
}

const update_ops svgp_updates = {
    .open = update_open, .add = update_add, .held = update_held, .finish = update_finish, .close = update_close};
