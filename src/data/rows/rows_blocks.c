/* The training rows in blocks, by any plan. */
#include <stdlib.h>

#include "base/memory.h"
#include "data/rows/rows_inside.h"

/* mean[D] of the members of a block. */
static void mean_of(const row_block *b, int64_t D, double *mean)
{
    for (int64_t j = 0; j < D; j++) {
        long double sum = 0;
        for (int64_t k = 0; k < b->n; k++) sum += b->X[k * D + j];
        mean[j] = (double)(sum / (long double)b->n);
    }
}

anygp_status rows_block_means(row_blocks *b, double *means, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    block_buffer buffer = {0};
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < b->count; i++) {
        row_block one = {0};
        status = blocks_get(b, i, &buffer, &one, e);
        if (!ANYGP_FAILED(status)) mean_of(&one, b->D, means + i * b->D);
    }
    block_buffer_clear(&buffer);
    return status;
}

anygp_status rows_route_by_means(row_blocks *b, router **route, anygp_error *e)
{
    double *means = mem_doubles(b->count, b->D);
    if (!means) return fail_memory(e, "the means of the blocks", 8.0 * (double)b->count * (double)b->D);
    anygp_status status = rows_block_means(b, means, e);
    if (!ANYGP_FAILED(status)) status = router_means(b->count, b->D, means, route, e);
    free(means);
    return status;
}

static anygp_status route_by_sample(const dataset *d, const block_plan *plan, router **route, anygp_error *e)
{
    if (plan->kind == PLAN_KMEANS)
        return router_kmeans(d->n, d->D, d->X, d->D, plan->blocks, plan->seed, plan->until, route, e);
    if (plan->kind == PLAN_ROUTED) return router_copy(plan->routed, route, e);
    return plan->kind == PLAN_KDTREE ? router_kdtree(d->n, d->D, d->X, d->D, plan->blocks, route, e) : ANYGP_OK;
}

static anygp_status make(row_source *r, const rows_part *part, const dataset *sample, const block_plan *plan,
                         router *route, row_blocks **b, anygp_error *e)
{
    row_units u;
    TRY(row_units_make(sample, part, r->columns, NULL, &u, e));
    TRY(plan->kind == PLAN_RUNS ? run_blocks(r, &u, plan, b, e) : grouped_blocks(r, &u, plan, route, b, e));
    (*b)->total = sample->total;
    return plan->keep > 0 ? blocks_keep(*b, plan->keep, b, e) : ANYGP_OK;
}

anygp_status rows_blocks(row_source *r, const rows_part *part, const dataset *sample, const block_plan *plan,
                         row_blocks **out, router **route, anygp_error *e)
{
    anygp_status status;
    router *made = NULL;
    *out = NULL;
    TRY_DONE(route_by_sample(sample, plan, &made, e));
    TRY_DONE(make(r, part, sample, plan, made, out, e));
    if (route && !made && plan->kind != PLAN_RUNS) TRY_DONE(rows_route_by_means(*out, &made, e));
done:
    if (ANYGP_FAILED(status)) {
        blocks_free(*out);
        *out = NULL;
    }
    if (ANYGP_FAILED(status) || !route) {
        router_free(made);
        made = NULL;
    }
    if (route) *route = made;
    return status;
}
