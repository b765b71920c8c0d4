/* Merges of a mixture that finds how many experts it needs (moe.h): gates by stick breaking start from more experts than that, each with
   a part of the rows, and two of them that are parts of one regime are better as one.  They need not explain each other's rows, which lie
   elsewhere, so pairs are tried in the order of
       log p(rows of both) - log p(rows of one) - log p(rows of the other),
   the exact evidence of some rows of each at the kernel and noise of the larger.  For a trial, the spare expert gets inducing inputs
   among the rows of both and learns them in one step, as an expert's natural step with Gaussian noise is exact; then the same steps
   decide that decide on splits (moe_reform.c).  A merge may lose what an expert's hyperparameters cost, and a split has to gain it.
   Between merges and splits the bound does not fall. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/mixture/moe_trials.h"

enum { FAILURES = 6 };               /* in a row, after which there is no pair left to try */
static const double ALIVE = 1;       /* rows */
static const double HOPELESS = -100; /* nats that the evidence of some rows falls by: two regimes */

typedef struct pair {
    int64_t from, into;
    double gain;
} pair;

static bool lives(const reform *r, int64_t k) { return r->N[k] >= ALIVE; }

static int by_gain(const void *a, const void *b)
{
    const pair *p = a, *q = b;
    if (p->gain != q->gain) return p->gain < q->gain ? 1 : -1;
    return p->from != q->from ? (p->from > q->from ? 1 : -1) : p->into > q->into ? 1 : -1;
}

/* Pairs of living experts, the most promising first; the smaller one of each is to become part of the larger. */
static anygp_status find_pairs(const reform *r, const int64_t *of, pair *pairs, int64_t *count, anygp_error *e)
{
    const moe_state *s = r->s;
    double alone[MOE_EXPERTS_MOST];
    *count = 0;
    for (int64_t k = 0; k < s->K; k++)
        if (lives(r, k)) TRY(moe_evidence(s, k, k, of, reform_hyper(r, k), &alone[k], e));
    for (int64_t i = 0; i < s->K; i++)
        for (int64_t j = 0; j < i && lives(r, i); j++) {
            double both;
            if (!lives(r, j)) continue;
            pair p = r->N[i] > r->N[j] ? (pair){j, i, 0} : (pair){i, j, 0};
            TRY(moe_evidence(s, i, j, of, reform_hyper(r, p.into), &both, e));
            p.gain = both - alone[i] - alone[j];
            if (p.gain > HOPELESS) pairs[(*count)++] = p;
        }
    qsort(pairs, (size_t)*count, sizeof *pairs, by_gain);
    return ANYGP_OK;
}

/* The rows in memory, each of its most probable expert. */
static anygp_status assign(const reform *r, int64_t **out, anygp_error *e)
{
    const dataset *d = r->s->problem->rows->data;
    int64_t *of = mem_alloc(d->n, sizeof *of);
    double *residual = mem_alloc(d->n, sizeof *residual);
    anygp_status status = of && residual ? ANYGP_OK : fail_memory(e, "the rows of experts", 16.0 * (double)d->n);
    if (!ANYGP_FAILED(status)) status = moe_assign(r->s, d, 0, of, residual, e);
    free(residual);
    if (ANYGP_FAILED(status))
        free(of);
    else
        *out = of;
    return status;
}

/* What rank 0 knows. */
static anygp_status plan(const reform *r, pair *pairs, int64_t *count, int64_t **of, anygp_error *e)
{
    TRY(assign(r, of, e));
    return find_pairs(r, *of, pairs, count, e);
}

/* Kernel and noise of the larger, and places among the rows of both. */
static anygp_status prepare_spare(reform *r, const pair *p, const int64_t *of, anygp_error *e)
{
    moe_state *s = r->s;
    const problem *q = s->problem;
    const hyper *like = reform_hyper(r, p->into);
    hyper *h = &s->spare_h;
    anygp_status status = ANYGP_OK;
    int64_t n = q->rows->data->n, count = h->M, *both = NULL;
    double *Z = mem_doubles(q->subset > h->M ? q->subset : h->M, s->D > 0 ? s->D : 1);
    if (!Z) return fail_memory(e, "the inducing inputs", 8.0 * (double)(q->subset * s->D));
    memcpy(Z, like->Z, (size_t)(h->M * s->D) * sizeof *Z);
    if (q->comm->rank == 0 && !q->places_given) {
        if ((both = mem_alloc(n, sizeof *both))) {
            for (int64_t i = 0; i < n; i++) both[i] = of[i] == p->from ? p->into : of[i];
            status = moe_fill_places(s, p->into, both, Z, &count, e);
        } else
            status = fail_memory(e, "the clusters", 8.0 * (double)n);
    }
    TRY_DONE(moe_agree(q->comm, status, e));
    TRY_DONE(moe_share(q->comm, h->M * s->D, Z, e));
    for (int64_t i = 0; i < h->count; i++) hyper_set(h, i, hyper_get(like, i));
    memcpy(h->Z, Z, (size_t)(h->M * s->D) * sizeof *Z);
    status = svgp_begin(s->spare, h, s->expert[p->into]->jitter, e);
done:
    free(both);
    free(Z);
    return status;
}

static anygp_status try_pair(reform *r, const pair *p, const int64_t *of, bool *stays, anygp_error *e)
{
    *stays = false;
    if (r->s->spare_h.M != reform_hyper(r, p->into)->M) return ANYGP_OK;
    TRY(reform_keep(r, p->into, e));
    TRY(prepare_spare(r, p, of, e));
    r->s->change = (moe_change){.kind = MOE_JOIN, .from = p->from, .to = p->into};
    return reform_judge(r, p->into, -r->price, stays, e);
}

/* Over several processes the clock is looked at between steps. */
static bool is_late(const reform *r) { return r->s->problem->comm->size == 1 && deadline_passed(r->s->problem->pass); }

/* One merge, the first that is worth it. */
static anygp_status join_one(reform *r, pair *pairs, bool *joined, anygp_error *e)
{
    const comm *world = r->s->problem->comm;
    int64_t count = 0, *of = NULL, failures = 0;
    anygp_status status = world->rank == 0 ? plan(r, pairs, &count, &of, e) : ANYGP_OK;
    *joined = false;
    TRY_DONE(moe_agree(world, status, e));
    TRY_DONE(moe_share(world, 1, &count, e));
    TRY_DONE(moe_share(world, 3 * count, pairs, e));
    for (int64_t i = 0; i < count && !*joined && failures < FAILURES && !is_late(r); i++, failures++)
        TRY_DONE(try_pair(r, &pairs[i], of, joined, e));
done:
    free(of);
    return status;
}

anygp_status moe_join(reform *r, anygp_error *e)
{
    int64_t K = r->s->K;
    anygp_status status = ANYGP_OK;
    pair *pairs = mem_alloc(K * K, sizeof *pairs);
    if (!pairs) return fail_memory(e, "the experts", (double)(K * K) * sizeof *pairs);
    for (bool joined = true; joined && !ANYGP_FAILED(status);) status = join_one(r, pairs, &joined, e);
    free(pairs);
    return status;
}
