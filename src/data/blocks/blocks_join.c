/* Blocks that have grown: those of an older set, each followed by the new rows that belong to it.  Nothing is copied until
   a block is requested; the new rows are put in the order of their blocks once, by counting.  O(n + blocks). */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/blocks/blocks.h"

typedef struct joined_blocks {
    row_blocks base;
    row_blocks *older; /* or NULL */
    const double *X, *y, *w;
    int64_t *start; /* count + 1: where a block's new rows begin in: */
    int64_t *order; /* their places in X, y and w */
} joined_blocks;

static anygp_status older_block(const joined_blocks *j, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e)
{
    *out = (row_block){.index = i};
    return j->older && i < j->older->count ? blocks_get(j->older, i, buffer, out, e) : ANYGP_OK;
}

static anygp_status joined_get(row_blocks *b, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e)
{
    const joined_blocks *j = (const joined_blocks *)b;
    int64_t D = b->D, Q = b->Q, at = j->start[i], added = j->start[i + 1] - at;
    block_buffer below = {0};
    row_block old;
    double *X, *y, *w;
    anygp_status status;
    TRY_DONE(older_block(j, i, &below, &old, e));
    TRY_DONE(block_buffer_reserve(buffer, old.n + added, D, Q, &X, &y, &w, e));
    if (old.n) {
        memcpy(X, old.X, (size_t)(old.n * D) * sizeof *X);
        memcpy(y, old.y, (size_t)(old.n * Q) * sizeof *y);
        memcpy(w, old.w, (size_t)old.n * sizeof *w);
    }
    for (int64_t k = 0; k < added; k++) {
        int64_t from = j->order[at + k], to = old.n + k;
        memcpy(X + to * D, j->X + from * D, (size_t)D * sizeof *X);
        memcpy(y + to * Q, j->y + from * Q, (size_t)Q * sizeof *y);
        w[to] = j->w[from];
    }
    *out = (row_block){.index = i, .n = old.n + added, .X = X, .y = y, .w = w};
done:
    block_buffer_clear(&below);
    return status;
}

static void joined_free(row_blocks *b)
{
    joined_blocks *j = (joined_blocks *)b;
    free(j->start);
    free(j->order);
    free(j);
}

static void sort_rows(joined_blocks *j, int64_t n, const int64_t *block)
{
    int64_t count = j->base.count, *start = j->start;
    for (int64_t k = 0; k < n; k++) start[block[k] + 1]++;
    for (int64_t i = 0; i < count; i++) start[i + 1] += start[i];
    for (int64_t k = 0; k < n; k++) j->order[start[block[k]]++] = k;
    for (int64_t i = count; i > 0; i--) start[i] = start[i - 1];
    start[0] = 0;
}

static anygp_status measure(joined_blocks *j, int64_t n, anygp_error *e)
{
    block_buffer buffer = {0};
    anygp_status status = ANYGP_OK;
    for (int64_t i = 0; i < j->base.count && !ANYGP_FAILED(status); i++) {
        row_block old;
        status = older_block(j, i, &buffer, &old, e);
        int64_t rows = old.n + j->start[i + 1] - j->start[i];
        if (rows > j->base.largest) j->base.largest = rows;
    }
    block_buffer_clear(&buffer);
    j->base.total = j->older ? j->older->total : 0;
    for (int64_t k = 0; k < n; k++) j->base.total += j->w[k];
    return status;
}

anygp_status blocks_join(row_blocks *older, int64_t count, int64_t D, int64_t Q, int64_t n, const double *X,
                         const double *y, const double *w, const int64_t *block, row_blocks **out, anygp_error *e)
{
    static const blocks_ops ops = {joined_get, joined_free};
    joined_blocks *j = calloc(1, sizeof *j);
    if (!j) return fail_memory(e, "the blocks", sizeof *j);
    *j = (joined_blocks){.base = {.ops = &ops, .count = count, .D = D, .Q = Q}, .older = older, .X = X, .y = y, .w = w};
    j->start = mem_zeroed(count + 1, sizeof *j->start);
    j->order = mem_alloc(n, sizeof *j->order);
    anygp_status status = j->start && j->order ? ANYGP_OK : fail_memory(e, "the blocks", 8.0 * (double)(count + n));
    if (!ANYGP_FAILED(status)) {
        sort_rows(j, n, block);
        status = measure(j, n, e);
    }
    if (ANYGP_FAILED(status))
        joined_free(&j->base);
    else
        *out = &j->base;
    return status;
}
