/* A mean that overshot.  Adam's first steps have one length in every a, so that many bases together can carry the mean far beyond
   the targets.  A run comes back from there, but it may be stopped at any moment, and what it then leaves must not be worse than no
   mean at all.  So before a model is put out, the bound of a sample of rows is looked at with and without its mean; if it is
   higher without, the best of its quarters is taken,
       m <- 4^-k m,   k = 1, 2, ...
   The bound is concave along that line for a log-concave likelihood and falls at its end, so the quarters rise to one maximum. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/decoupled/svdgp_state.h"

enum { COLUMNS = 1024, QUARTERS_MOST = 20 };

typedef struct look {
    svdgp_state *q;
    double *mean, *shorter;   /* coefficients of the bases, then of the prior mean */
    int64_t blocks, *block;   /* the sample */
    int64_t columns, *column; /* of K_alpha */
} look;

/* The sample's bound, up to what does not depend on the mean. */
static anygp_status bound_with(const look *k, double factor, double *value, anygp_error *e)
{
    svdgp_state *q = k->q;
    int64_t size = svdgp_coefficients(q), trends = q->s.p * q->s.C;
    double kl, scale = (double)q->problem->blocks->count / (double)k->blocks, *trend = k->shorter + size - trends;
    for (int64_t i = 0; i < size; i++) k->shorter[i] = factor * k->mean[i];
    svdgp at = svdgp_at(q, k->shorter);
    at.gradient = false;
    TRY(svdgp_room(&q->stat, &q->stat_room, svdgp_layout_of(&at).size, e));
    TRY(driver_stat(q->driver, &at, k->blocks, k->block, scale, q->stat, e));
    if (!svdgp_kl_mean(&at, k->columns, k->column, (double)svdgp_Ma(&at) / (double)k->columns, &kl, NULL, NULL))
        return fail_memory(e, "kernel tiles", 0);
    *value = q->stat[svdgp_layout_of(&at).value] - kl - 0.5 * la_dot(trends, trend, trend);
    if (!isfinite(*value)) *value = -INFINITY;
    return ANYGP_OK;
}

static anygp_status find_factor(const look *k, double *factor, anygp_error *e)
{
    double none, best, value;
    TRY(bound_with(k, 0, &none, e));
    TRY(bound_with(k, 1, &best, e));
    *factor = 1;
    if (best >= none) return ANYGP_OK;
    for (int quarters = 1; quarters <= QUARTERS_MOST; quarters++) {
        TRY(bound_with(k, ldexp(1, -2 * quarters), &value, e));
        if (value > best)
            best = value, *factor = ldexp(1, -2 * quarters);
        else if (best > none)
            break;
    }
    if (!(best > none)) *factor = 0;
    return ANYGP_OK;
}

anygp_status svdgp_shorten(svdgp_state *q, double *factor, anygp_error *e)
{
    const problem *p = q->problem;
    int64_t Ma = svdgp_Ma(&q->s), size = svdgp_coefficients(q);
    look k = {.q = q, .blocks = svdgp_sample_blocks(p->blocks), .columns = Ma < COLUMNS ? Ma : COLUMNS};
    anygp_status status = ANYGP_OK;
    *factor = 1;
    if (Ma == 0) return ANYGP_OK;
    k.mean = mem_alloc(size, sizeof(double)), k.shorter = mem_alloc(size, sizeof(double));
    k.block = mem_alloc(k.blocks, sizeof *k.block), k.column = mem_alloc(k.columns, sizeof *k.column);
    if (!k.mean || !k.shorter || !k.block || !k.column) TRY_DONE(fail_memory(e, "the mean", 16.0 * (double)size));
    svdgp_read_coefficients(q, k.mean);
    random_subset((random_stream){p->seed, RANDOM_BASES, 0}, p->blocks->count, k.blocks, k.block);
    random_subset((random_stream){p->seed, RANDOM_COLUMNS, 0}, Ma, k.columns, k.column);
    status = find_factor(&k, factor, e);
done:
    free(k.mean);
    free(k.shorter);
    free(k.block);
    free(k.column);
    return status;
}
