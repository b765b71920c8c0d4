/* Blocks along a chain, each with those before it as rows that are given. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/blocks/blocks.h"

typedef struct chain_blocks {
    row_blocks base;
    row_blocks *from;
    int64_t *order; /* the block at each place */
    int64_t given;
    bool *own; /* given * largest times false, then `largest` times true: a block's flags are a part of it */
} chain_blocks;

static int64_t first_of(const chain_blocks *c, int64_t i) { return i > c->given ? i - c->given : 0; }

static void put_rows(const row_block *b, int64_t D, int64_t Q, int64_t at, double *X, double *y, double *w)
{
    if (b->n == 0) return;
    memcpy(X + at * D, b->X, (size_t)(b->n * D) * sizeof *X);
    memcpy(y + at * Q, b->y, (size_t)(b->n * Q) * sizeof *y);
    memcpy(w + at, b->w, (size_t)b->n * sizeof *w);
}

static anygp_status chain_get(row_blocks *base, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e)
{
    const chain_blocks *c = (const chain_blocks *)base;
    int64_t n = 0, given = 0;
    double *X, *y, *w;
    block_buffer inner = {0};
    anygp_status status = block_buffer_reserve(buffer, base->largest, base->D, base->Q, &X, &y, &w, e);
    for (int64_t k = first_of(c, i); !ANYGP_FAILED(status) && k <= i; k++) {
        row_block b = {0};
        given = n;
        status = blocks_get(c->from, c->order[k], &inner, &b, e);
        if (ANYGP_FAILED(status)) break;
        put_rows(&b, base->D, base->Q, n, X, y, w);
        n += b.n;
    }
    block_buffer_clear(&inner);
    *out = (row_block){.index = i, .n = n, .X = X, .y = y, .w = w, .own = c->own + c->given * c->from->largest - given};
    return status;
}

static void chain_free(row_blocks *base)
{
    chain_blocks *c = (chain_blocks *)base;
    free(c->order);
    free(c->own);
    free(c);
}

anygp_status blocks_chain(row_blocks *from, const int64_t *order, int64_t given, row_blocks **out, anygp_error *e)
{
    static const blocks_ops ops = {.get = chain_get, .free = chain_free};
    chain_blocks *c = calloc(1, sizeof *c);
    if (!c) return fail_memory(e, "the blocks", sizeof *c);
    if (given >= from->count) given = from->count - 1;
    c->base = *from, c->base.ops = &ops, c->base.largest = (given + 1) * from->largest;
    c->from = from, c->given = given;
    c->order = mem_alloc(from->count, sizeof *c->order);
    c->own = mem_zeroed(c->base.largest, sizeof *c->own);
    if (!c->order || !c->own) {
        chain_free(&c->base);
        return fail_memory(e, "the blocks", 8.0 * (double)from->count);
    }
    for (int64_t i = 0; i < from->count; i++) c->order[i] = order ? order[i] : i;
    for (int64_t i = given * from->largest; i < c->base.largest; i++) c->own[i] = true;
    *out = &c->base;
    return ANYGP_OK;
}
