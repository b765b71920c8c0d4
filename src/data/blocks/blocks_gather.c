/* All rows of the blocks in memory, block after block, for models that keep them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/blocks/blocks.h"

void gathered_rows_clear(gathered_rows *g)
{
    double *const owned[] = {g->X, g->y, g->w, g->start};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    *g = (gathered_rows){0};
}

static anygp_status count_rows(row_blocks *b, block_buffer *buffer, gathered_rows *g, anygp_error *e)
{
    row_block one;
    g->start[0] = 0;
    for (int64_t i = 0; i < b->count; i++) {
        TRY(blocks_get(b, i, buffer, &one, e));
        g->start[i + 1] = g->start[i] + (double)one.n;
    }
    g->n = (int64_t)g->start[b->count];
    return ANYGP_OK;
}

static anygp_status copy_rows(row_blocks *b, block_buffer *buffer, const gathered_rows *g, anygp_error *e)
{
    row_block one;
    for (int64_t i = 0; i < b->count; i++) {
        int64_t at = (int64_t)g->start[i];
        TRY(blocks_get(b, i, buffer, &one, e));
        memcpy(g->X + at * b->D, one.X, (size_t)(one.n * b->D) * sizeof(double));
        memcpy(g->y + at, one.y, (size_t)one.n * sizeof(double));
        memcpy(g->w + at, one.w, (size_t)one.n * sizeof(double));
    }
    return ANYGP_OK;
}

anygp_status blocks_gather(row_blocks *b, const char *what, gathered_rows *g, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    block_buffer buffer = {0};
    *g = (gathered_rows){.start = mem_alloc(b->count + 1, sizeof *g->start)};
    if (!g->start) return fail_memory(e, "the blocks", 8.0 * (double)b->count);
    TRY_DONE(count_rows(b, &buffer, g, e));
    g->X = mem_doubles(g->n, b->D);
    g->y = mem_alloc(g->n, sizeof(double));
    g->w = mem_alloc(g->n, sizeof(double));
    if (!g->X || !g->y || !g->w)
        status = fail_memory(e, what, 8.0 * (double)g->n * (double)(b->D + 2));
    else
        status = copy_rows(b, &buffer, g, e);
done:
    block_buffer_clear(&buffer);
    if (ANYGP_FAILED(status)) gathered_rows_clear(g);
    return status;
}

bool blocks_make_sense(int64_t count, const double *start, int64_t n, const double *w)
{
    double last = 0;
    for (int64_t b = 0; b <= count; b++) {
        if (start[b] != floor(start[b]) || start[b] < last || (b == 0 && start[b] != 0)) return false;
        last = start[b];
    }
    for (int64_t i = 0; i < n; i++)
        if (!(w[i] > 0)) return false;
    return last == (double)n;
}
