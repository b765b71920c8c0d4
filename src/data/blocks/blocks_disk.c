/* Blocks in a scratch file: X, y and w of a block stand together.  A row that is given has its weight with a minus sign, which no weight
   has: so the file says by itself whose likelihood a block is about. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/blocks/blocks.h"
#include "data/rows/scratch.h"

typedef struct disk_blocks {
    row_blocks base;
    scratch *file;  /* of numbers */
    int64_t *start; /* count + 1: rows before a block */
} disk_blocks;

static int64_t row_numbers(const row_blocks *b) { return b->D + b->Q + 1; }

/* The flags follow the numbers: the room is that of one more y. */
static anygp_status disk_get(row_blocks *base, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e)
{
    const disk_blocks *b = (const disk_blocks *)base;
    int64_t n = b->start[i + 1] - b->start[i], each = row_numbers(base);
    double *X, *room, *last;
    TRY(block_buffer_reserve(buffer, n, base->D, base->Q + 1, &X, &room, &last, e));
    TRY(scratch_read(b->file, b->start[i] * each, n * each, X, e));
    double *y = X + n * base->D, *w = y + n * base->Q;
    bool *own = (bool *)last;
    for (int64_t j = 0; j < n; j++) own[j] = w[j] > 0, w[j] = fabs(w[j]);
    *out = (row_block){.index = i, .n = n, .X = X, .y = y, .w = w, .own = own};
    return ANYGP_OK;
}

static void disk_free(row_blocks *base)
{
    disk_blocks *b = (disk_blocks *)base;
    scratch_free(b->file);
    free(b->start);
    free(b);
}

/* sign: room for the weights of the largest block. */
static anygp_status write_block(disk_blocks *b, int64_t i, const row_block *r, double *sign, anygp_error *e)
{
    int64_t at = b->start[i] * row_numbers(&b->base), D = b->base.D, Q = b->base.Q;
    for (int64_t j = 0; j < r->n; j++) sign[j] = r->own && !r->own[j] ? -r->w[j] : r->w[j];
    b->start[i + 1] = b->start[i] + r->n;
    TRY(scratch_write(b->file, at, r->n * D, r->X, e));
    TRY(scratch_write(b->file, at + r->n * D, r->n * Q, r->y, e));
    return scratch_write(b->file, at + r->n * (D + Q), r->n, sign, e);
}

anygp_status blocks_to_disk(row_blocks *from, row_blocks **out, anygp_error *e)
{
    static const blocks_ops ops = {.get = disk_get, .free = disk_free};
    block_buffer buffer = {0};
    disk_blocks *b = calloc(1, sizeof *b);
    if (!b) return fail_memory(e, "the blocks", sizeof *b);
    b->base = *from, b->base.ops = &ops;
    b->start = mem_zeroed(from->count + 1, sizeof *b->start);
    double *sign = mem_alloc(from->largest, sizeof *sign);
    anygp_status status = b->start && sign ? scratch_open(true, 0, sizeof(double), &b->file, e)
                                           : fail_memory(e, "the blocks", 8.0 * (double)from->count);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < from->count; i++) {
        row_block r = {0};
        status = blocks_get(from, i, &buffer, &r, e);
        if (!ANYGP_FAILED(status)) status = write_block(b, i, &r, sign, e);
    }
    block_buffer_clear(&buffer);
    free(sign);
    if (ANYGP_FAILED(status))
        disk_free(&b->base);
    else
        *out = &b->base;
    return status;
}
