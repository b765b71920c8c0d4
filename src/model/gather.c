/* Rows of a sample, and an order to take them in (gather.h). */
#include "model/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"

int64_t gather_most(const row_blocks *b, const step_context *c)
{
    return (c->which ? c->count : b->count) * b->largest;
}

void gathered_clear(gathered *g)
{
    free(g->X);
    free(g->id);
    free(g->order);
}

anygp_status gather_rows(row_blocks *b, const step_context *c, int64_t most, gathered *g, anygp_error *e)
{
    block_buffer buffer = {0};
    row_block one;
    anygp_status status = ANYGP_OK;
    *g = (gathered){
        .X = mem_doubles(most, b->D), .id = mem_alloc(most, sizeof *g->id), .order = mem_alloc(most, sizeof *g->order)};
    if (!g->X || !g->id || !g->order) return fail_memory(e, "new bases", 8.0 * (double)most * (double)b->D);
    for (int64_t k = 0; k < (c->which ? c->count : b->count) && g->n < most; k++) {
        TRY_DONE(blocks_get(b, c->which ? c->which[k] : k, &buffer, &one, e));
        for (int64_t i = 0; i < one.n && g->n < most; i++) {
            memcpy(g->X + g->n * b->D, one.X + i * b->D, (size_t)b->D * sizeof(double));
            g->id[g->n++] = gathered_id(one.index, i);
        }
    }
    random_permutation((random_stream){c->seed, RANDOM_BASES, (uint64_t)c->t << 20}, g->n, g->order);
done:
    block_buffer_clear(&buffer);
    return status;
}
