/* Blocks over arrays in memory, and the buffer that a block is read into. */
#include "data/blocks/blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { PART_LEAST = 100, PART_MOST = 500 };

bool block_name_of(double value, int64_t *name)
{
    bool whole = fabs(value) < 9e15 && value == floor(value);
    if (whole) *name = (int64_t)value;
    return whole;
}

anygp_status block_names_of(int64_t n, const double *values, const char *source, int64_t first, int64_t *names,
                            anygp_error *e)
{
    for (int64_t i = 0; i < n; i++)
        if (!block_name_of(values[i], &names[i]))
            return fail_with(e, ANYGP_ERR_DATA, "%.200s, row %lld: %g is not a block; blocks are whole numbers", source,
                             (long long)(first + i) + 1, values[i]);
    return ANYGP_OK;
}

int64_t blocks_part_rows(int64_t inducing)
{
    if (inducing == 0) return PART_MOST;
    return inducing < PART_LEAST ? PART_LEAST : inducing > PART_MOST ? PART_MOST : inducing;
}

anygp_status blocks_get(row_blocks *b, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e)
{
    return b->ops->get(b, i, buffer, out, e);
}

void blocks_free(row_blocks *b)
{
    if (b) b->ops->free(b);
}

anygp_status block_buffer_reserve(block_buffer *buffer, int64_t n, int64_t D, int64_t Q, double **X, double **y,
                                  double **w, anygp_error *e)
{
    size_t cells;
    if (!size_mul(n, D + Q + 1, &cells))
        return fail_memory(e, "a block of rows", 8.0 * (double)n * (double)(D + Q + 1));
    if ((int64_t)cells > buffer->capacity) {
        block_buffer_clear(buffer);
        if (!(buffer->cells = mem_alloc((int64_t)cells, sizeof(double))))
            return fail_memory(e, "a block of rows", 8.0 * (double)cells);
        buffer->capacity = (int64_t)cells;
    }
    *X = buffer->cells, *y = *X + n * D, *w = *y + n * Q;
    return ANYGP_OK;
}

void block_buffer_clear(block_buffer *buffer)
{
    free(buffer->cells);
    *buffer = (block_buffer){0};
}

/* ---------------------------------------------------------------------------------- over arrays */

typedef struct array_blocks {
    row_blocks base;
    int64_t *start;
    const double *X, *y, *w;
    double *ones; /* weights where none are given: as many as the largest block has rows */
} array_blocks;

static anygp_status array_get(row_blocks *b, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e)
{
    const array_blocks *a = (const array_blocks *)b;
    int64_t at = a->start[i];
    (void)buffer, (void)e;
    *out = (row_block){.index = i,
                       .n = a->start[i + 1] - at,
                       .X = a->X + at * b->D,
                       .y = a->y + at * b->Q,
                       .w = a->w ? a->w + at : a->ones};
    return ANYGP_OK;
}

static void array_free(row_blocks *b)
{
    array_blocks *a = (array_blocks *)b;
    free(a->start);
    free(a->ones);
    free(a);
}

anygp_status blocks_of_arrays(int64_t count, const int64_t *start, int64_t D, int64_t Q, const double *X,
                              const double *y, const double *w, row_blocks **out, anygp_error *e)
{
    static const blocks_ops ops = {array_get, array_free};
    array_blocks *a = calloc(1, sizeof *a);
    if (!a) return fail_memory(e, "the blocks", sizeof *a);
    a->base = (row_blocks){.ops = &ops, .count = count, .D = D, .Q = Q};
    a->X = X, a->y = y, a->w = w;
    a->start = mem_alloc(count + 1, sizeof *a->start);
    for (int64_t i = 0; i < count; i++)
        if (start[i + 1] - start[i] > a->base.largest) a->base.largest = start[i + 1] - start[i];
    a->ones = w ? NULL : mem_alloc(a->base.largest, sizeof *a->ones);
    if (!a->start || (!w && !a->ones)) {
        array_free(&a->base);
        return fail_memory(e, "the blocks", 8.0 * (double)count);
    }
    memcpy(a->start, start, (size_t)(count + 1) * sizeof *start);
    for (int64_t i = 0; !w && i < a->base.largest; i++) a->ones[i] = 1;
    for (int64_t i = start[0]; i < start[count]; i++) a->base.total += w ? w[i] : 1;
    *out = &a->base;
    return ANYGP_OK;
}
