/* Blocks that stay in memory once they were read: the first ones requested, as long as they fit. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/blocks/blocks.h"

typedef struct kept_block {
    int64_t n;
    double cells[]; /* X, y, w */
} kept_block;

typedef struct kept_blocks {
    row_blocks base;
    row_blocks *inner;
    pthread_mutex_t lock; /* around left */
    double left;          /* bytes */
    _Atomic(kept_block *) *kept;
} kept_blocks;

static void show(const kept_blocks *k, int64_t i, const kept_block *b, row_block *out)
{
    const double *y = b->cells + b->n * k->base.D;
    *out = (row_block){.index = i, .n = b->n, .X = b->cells, .y = y, .w = y + b->n * k->base.Q};
}

static bool reserve(kept_blocks *k, double bytes)
{
    pthread_mutex_lock(&k->lock);
    bool fits = bytes <= k->left;
    if (fits) k->left -= bytes;
    pthread_mutex_unlock(&k->lock);
    return fits;
}

static void give_back(kept_blocks *k, double bytes)
{
    pthread_mutex_lock(&k->lock);
    k->left += bytes;
    pthread_mutex_unlock(&k->lock);
}

/* If memory is short the block is simply not kept.  If two threads have the same block, the first one wins. */
static void keep(kept_blocks *k, int64_t i, row_block *b)
{
    size_t rows = (size_t)b->n, D = (size_t)k->base.D, Q = (size_t)k->base.Q,
           size = sizeof(kept_block) + rows * (D + Q + 1) * sizeof(double);
    kept_block *copy = reserve(k, (double)size) ? malloc(size) : NULL, *none = NULL;
    if (!copy) return;
    copy->n = b->n;
    memcpy(copy->cells, b->X, rows * D * sizeof(double));
    memcpy(copy->cells + rows * D, b->y, rows * Q * sizeof(double));
    memcpy(copy->cells + rows * (D + Q), b->w, rows * sizeof(double));
    if (atomic_compare_exchange_strong(&k->kept[i], &none, copy)) {
        show(k, i, copy, b);
        return;
    }
    free(copy);
    give_back(k, (double)size);
}

static anygp_status keep_get(row_blocks *b, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e)
{
    kept_blocks *k = (kept_blocks *)b;
    const kept_block *held = atomic_load(&k->kept[i]);
    if (held) {
        show(k, i, held, out);
        return ANYGP_OK;
    }
    TRY(blocks_get(k->inner, i, buffer, out, e));
    keep(k, i, out);
    return ANYGP_OK;
}

static void keep_free(row_blocks *b)
{
    kept_blocks *k = (kept_blocks *)b;
    for (int64_t i = 0; k->kept && i < b->count; i++) free(atomic_load(&k->kept[i]));
    free(k->kept);
    blocks_free(k->inner);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

anygp_status blocks_keep(row_blocks *inner, double bytes, row_blocks **out, anygp_error *e)
{
    static const blocks_ops ops = {keep_get, keep_free};
    kept_blocks *k = calloc(1, sizeof *k);
    *out = NULL;
    if (!k || pthread_mutex_init(&k->lock, NULL)) {
        free(k);
        blocks_free(inner);
        return fail_memory(e, "the blocks", sizeof *k);
    }
    k->base = *inner;
    k->base.ops = &ops;
    k->inner = inner;
    k->left = bytes;
    if (!(k->kept = mem_zeroed(inner->count, sizeof *k->kept))) {
        keep_free(&k->base);
        return fail_memory(e, "the blocks", 8.0 * (double)inner->count);
    }
    *out = &k->base;
    return ANYGP_OK;
}
