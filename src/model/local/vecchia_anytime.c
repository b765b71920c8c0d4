/* Full-scale Vecchia run anytime (vecchia_full.c): given v, the log density of the rows is a sum over groups, so the bound at an explicit
   q(v) = N(m, V) is affine in the sums (sparse.h) and a sample of the groups tells it without bias.  Here is what the learner (run/walk.h)
   asks for. */
#include <math.h>
#include <string.h>

#include "linalg/jitter.h"
#include "model/local/vecchia_state.h"

static int64_t size(const void *state) { return ((const vecchia_state *)state)->s.Mt; }
static double prior(const void *state) { return ((const vecchia_state *)state)->s.prior; }

static bool prepare(void *state, const hyper *h, bool grow, double *jitter)
{
    vecchia_state *q = state;
    anygp_status status = vecchia_prepare(q, h, *jitter, NULL);
    while (ANYGP_FAILED(status) && grow && *jitter < JITTER_MOST)
        status = vecchia_prepare(q, h, *jitter = jitter_next(*jitter), NULL);
    return !ANYGP_FAILED(status);
}

static void sums_so_far(const void *state, const double **S, const double **b)
{
    const vecchia_state *q = state;
    *S = stat_S(&q->s, q->stat), *b = stat_b(&q->s, q->stat);
}

static anygp_status stat(void *state, int64_t count, const int64_t *which, double scale, const double **S,
                         const double **b, anygp_error *e)
{
    vecchia_state *q = state;
    TRY(driver_stat(q->a.driver, &q->s, count, which, scale, q->stat, e));
    sums_so_far(state, S, b);
    return ANYGP_OK;
}

static anygp_status bound(void *state, const double *m, const double *V, double kl, int64_t count, const int64_t *which,
                          double scale, double times, double *value, double *gp, anygp_error *e)
{
    vecchia_state *q = state;
    if (!sparse_bound(&q->s, q->stat, times, m, V, kl, gp != NULL, value))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not a number");
    *value -= 0.5 * vecchia_within(q);
    if (!gp) return ANYGP_OK;
    TRY(driver_reverse(q->a.driver, &q->s, count, which, scale, q->adjoint, e));
    return vecchia_finish(q, q->adjoint, gp, e);
}

static void root(const void *state, double *L) { sparse_root(&((const vecchia_state *)state)->s, L); }

static anygp_status to_posterior(void *state, const double *m, const double *factor, posterior **out, anygp_error *e)
{
    vecchia_state *q = state;
    return vecchia_posterior_at(q, &vecchia_form, q->s.h, q->jitter, m, factor, out, e);
}

static anygp_status absorb(void *state, int64_t count, const int64_t *which, bool first, anygp_error *e)
{
    vecchia_state *q = state;
    return (first ? driver_stat : driver_stat_more)(q->a.driver, &q->s, count, which, 1, q->stat, e);
}

static double *sums(void *state, int64_t *count)
{
    vecchia_state *q = state;
    *count = sparse_given.stat_size(&q->s);
    return q->stat;
}

const anytime_ops vecchia_anytime = {.blocks = vecchia_blocks,
                                     .size = size,
                                     .prior = prior,
                                     .prepare = prepare,
                                     .stat = stat,
                                     .bound = bound,
                                     .root = root,
                                     .posterior = to_posterior,
                                     .absorb = absorb,
                                     .absorbed = sums_so_far,
                                     .sums = sums};
