/* New rows for a mixture of experts: each expert takes them as svgp does (variational/svgp_update.c), with weights w r, where
   r_ni prop. to g_i(x_n) exp(E_i,n) is by the posterior before them all, so that it does not matter how they are grouped.  The gate and
   the hyperparameters stay. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/special.h"
#include "model/mixture/moe_posterior.h"
#include "model/variational/svgp_posterior.h"

typedef struct moe_update {
    const moe_posterior *from; /* gone once it has been replaced */
    int64_t K;
    bool hard;
    likelihood like[MOE_EXPERTS_MOST]; /* which the experts' states refer to */
    void *expert[MOE_EXPERTS_MOST];
    double rows, added; /* weight of the rows, and what they add to the bound at the q before */
} moe_update;

static void update_close(void *state)
{
    moe_update *u = state;
    for (int64_t k = 0; u && k < u->K; k++) svgp_updates.close(u->expert[k]);
    free(u);
}

static anygp_status update_open(const model_ops *self, const posterior *p, const likelihood *l, void **state,
                                anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    moe_update *u = calloc(1, sizeof *u);
    (void)l;
    if (!u) return fail_memory(e, "the update", sizeof *u);
    u->from = (const moe_posterior *)p, u->K = u->from->K, u->hard = ((const moe_kind *)self->family)->hard;
    for (int64_t k = 0; k < u->from->K; k++) {
        TRY_DONE(likelihood_with_noise(u->from->noise[k], &u->like[k], e));
        TRY_DONE(svgp_updates.open(&model_svgp, u->from->at[k], &u->like[k], &u->expert[k], e));
    }
done:
    if (ANYGP_FAILED(status))
        update_close(u);
    else
        *state = u;
    return status;
}

/* Room for n rows. */
typedef struct pieces {
    double *mean, *variance, *r; /* n x K; r: gates, then w r */
    double *X, *y, *w;           /* rows of an expert */
    double *work;
} pieces;

static void clear(pieces *p)
{
    double *const owned[] = {p->mean, p->variance, p->r, p->X, p->y, p->w, p->work};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static bool allocate(const moe_posterior *from, int64_t n, pieces *p)
{
    int64_t K = from->K, D = from->base.D;
    *p = (pieces){.mean = mem_doubles(n, K),
                  .variance = mem_doubles(n, K),
                  .r = mem_doubles(n, K),
                  .X = mem_doubles(n, D > 0 ? D : 1),
                  .y = mem_doubles(n, 1),
                  .w = mem_doubles(n, 1),
                  .work = mem_alloc(from->base.ops->work_doubles(&from->base, n), sizeof(double))};
    return p->mean && p->variance && p->r && p->X && p->y && p->w && p->work;
}

/* From the gates of row i to its w r; what the row adds to the bound. */
static double share_out(const moe_update *u, int64_t n, int64_t i, double y, double w, const pieces *p)
{
    int64_t K = u->from->K, best = 0;
    double a[MOE_EXPERTS_MOST];
    for (int64_t k = 0; k < K; k++) {
        double noise = u->from->observed[k], from = y - p->mean[i + k * n];
        a[k] = log(p->r[i + k * n]) - 0.5 * (LOG_2PI + log(noise) + (from * from + p->variance[i + k * n]) / noise);
        if (a[k] > a[best]) best = k;
    }
    double all = u->hard ? a[best] : log_sum_exp(K, a);
    for (int64_t k = 0; k < K; k++) p->r[i + k * n] = K == 1 ? w : u->hard ? w * (k == best) : w * exp(a[k] - all);
    return w * all;
}

/* Those rows that expert k has a share of. */
static anygp_status give(moe_update *u, int64_t k, int64_t n, const double *X, const double *y, const pieces *p,
                         anygp_error *e)
{
    int64_t D = u->from->base.D, count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(p->r[i + k * n] > 0)) continue;
        memcpy(p->X + count * D, X + i * D, (size_t)D * sizeof *X);
        p->y[count] = y[i], p->w[count++] = p->r[i + k * n];
    }
    return count > 0 ? svgp_updates.add(u->expert[k], count, p->X, p->y, p->w, NULL, e) : ANYGP_OK;
}

static anygp_status update_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                               const int64_t *ids, anygp_error *e)
{
    moe_update *u = state;
    const posterior *p = &u->from->base;
    anygp_status status = ANYGP_OK;
    pieces room;
    (void)ids;
    if (!allocate(u->from, n, &room)) {
        status = fail_memory(e, "the update", 24.0 * (double)n * (double)u->from->K);
        goto done;
    }
    TRY_DONE(p->ops->opinions(p, n, X, p->D, room.work, room.mean, room.variance, room.r, e));
    for (int64_t i = 0; i < n; i++) u->added += share_out(u, n, i, y[i], w[i], &room), u->rows += w[i];
    for (int64_t k = 0; k < u->from->K; k++) TRY_DONE(give(u, k, n, X, y, &room, e));
done:
    clear(&room);
    return status;
}

static double update_held(const void *state) { return (void)state, 0; }

static anygp_status update_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    moe_update *u = state;
    int64_t K = u->from->K, all[MOE_EXPERTS_MOST];
    posterior *at[MOE_EXPERTS_MOST] = {NULL};
    anygp_status status = ANYGP_OK;
    for (int64_t k = 0; k < K; k++) {
        update_report own;
        all[k] = k;
        TRY_DONE(svgp_updates.finish(u->expert[k], &at[k], &own, e));
        if (k == 0) *r = own; /* what does not depend on rows */
    }
    r->rows = u->rows, r->before = NAN, r->after = u->added;
    TRY_DONE(moe_posterior_new(K, all, at, &u->from->gate, out, e));
done:
    posteriors_free(K, at);
    return status;
}

const update_ops moe_updates = {
    .open = update_open, .add = update_add, .held = update_held, .finish = update_finish, .close = update_close};
