/* A mean that overshot.  Adam's first steps have one length in every a, so that many bases together can carry the mean far beyond
   the targets.  A run comes back from there, but it may be stopped at any moment, and what it then leaves must not be worse than no
   mean at all.  So before a model is put out, the bound of a sample of rows is looked at with and without its mean; if it is
   higher without, the best of its quarters is taken,
       m <- 4^-k m,   k = 1, 2, ...
   The bound is concave along that line for a log-concave likelihood and falls at its end, so the quarters rise to one maximum. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/decoupled/svdgp_state.h"

enum { COLUMNS = 1024, QUARTERS_MOST = 20 };

typedef struct look {
    svdgp_state *q;
    const hyper *h;
    const double *a, *trend;  /* as the run has them */
    int64_t blocks, *block;   /* the sample */
    int64_t columns, *column; /* of K_alpha */
} look;

static void set_mean(const look *k, double factor)
{
    param_segment *a = &k->q->s.a, *trend = &k->q->s.trend;
    for (int64_t i = 0; i < param_segment_size(a); i++) a->values[i] = factor * k->a[i];
    for (int64_t i = 0; i < param_segment_size(trend); i++) trend->values[i] = factor * k->trend[i];
}

/* The sample's bound, up to what does not depend on the mean. */
static anygp_status bound_with(const look *k, double factor, double *value, anygp_error *e)
{
    svdgp_state *q = k->q;
    svdgp *s = &q->s;
    double kl, scale = (double)q->problem->blocks->count / (double)k->blocks;
    set_mean(k, factor);
    s->gradient = s->learn = s->places = false;
    TRY(svdgp_prepare(s, k->h->kernel, k->h->likes, k->h->like, e));
    TRY(svdgp_room(&q->stat, &q->stat_room, svdgp_layout_of(s).size, e));
    TRY(driver_stat(q->driver, s, k->blocks, k->block, scale, q->stat, e));
    if (!svdgp_kl_mean(s, k->columns, k->column, (double)svdgp_Ma(s) / (double)k->columns, &kl, NULL, NULL))
        return fail_memory(e, "kernel tiles", 0);
    *value = q->stat[svdgp_layout_of(s).value] - kl -
             0.5 * la_dot(param_segment_size(&s->trend), s->trend.values, s->trend.values);
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

static void take_samples(look *k)
{
    const problem *p = k->q->problem;
    random_subset((random_stream){p->seed, RANDOM_BASES, 0}, p->blocks->count, k->blocks, k->block);
    random_subset((random_stream){p->seed, RANDOM_COLUMNS, 0}, svdgp_Ma(&k->q->s), k->columns, k->column);
}

anygp_status svdgp_shorten(svdgp_state *q, const hyper *h, double **kept, anygp_error *e)
{
    int64_t Ma = svdgp_Ma(&q->s), size = param_segment_size(&q->s.a), trends = param_segment_size(&q->s.trend);
    look k = {.q = q, .h = h, .columns = Ma < COLUMNS ? Ma : COLUMNS};
    double factor = 1;
    anygp_status status = ANYGP_OK;
    *kept = NULL;
    if (Ma == 0) return ANYGP_OK;
    k.blocks = svdgp_sample_blocks(q->problem->blocks);
    double *mean = mem_alloc(size + trends, sizeof *mean);
    k.block = mem_alloc(k.blocks, sizeof *k.block), k.column = mem_alloc(k.columns, sizeof *k.column);
    if (!mean || !k.block || !k.column) {
        status = fail_memory(e, "the mean", 8.0 * (double)size);
        goto done;
    }
    memcpy(mean, q->s.a.values, (size_t)size * sizeof *mean);
    if (trends) memcpy(mean + size, q->s.trend.values, (size_t)trends * sizeof *mean);
    k.a = mean, k.trend = mean + size;
    take_samples(&k);
    status = find_factor(&k, &factor, e);
    set_mean(&k, ANYGP_FAILED(status) ? 1 : factor);
    if (!ANYGP_FAILED(status) && factor < 1) *kept = mean, mean = NULL;
done:
    free(mean);
    free(k.block);
    free(k.column);
    return status;
}

void svdgp_lengthen(svdgp_state *q, double *kept)
{
    if (kept) set_mean(&(look){.q = q, .a = kept, .trend = kept + param_segment_size(&q->s.a)}, 1);
    free(kept);
}
