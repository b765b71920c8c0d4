/* Groups of rows (groups.h). */
#include "data/neighbours/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/mapped.h"
#include "base/memory.h"

void row_groups_clear(row_groups *g)
{
    free(g->start);
    if (g->on_disk)
        mapped_free(g->row), mapped_free(g->own);
    else
        free(g->row), free(g->own);
    *g = (row_groups){0};
}

static anygp_status on_disk(row_groups *g, int64_t total, anygp_error *e)
{
    TRY(mapped_alloc(true, total, sizeof *g->row, "the groups of rows", (void **)&g->row, e));
    return mapped_alloc(true, total, sizeof *g->own, "the groups of rows", (void **)&g->own, e);
}

anygp_status row_groups_allocate(row_groups *g, int64_t total, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    g->start = mem_alloc(g->count + 1, sizeof *g->start);
    if (g->on_disk)
        status = on_disk(g, total, e);
    else
        g->row = mem_alloc(total, sizeof *g->row), g->own = mem_alloc(total, sizeof *g->own);
    if (!ANYGP_FAILED(status) && (!g->start || !g->row || !g->own))
        status = fail_memory(e, "the groups of rows", 5.0 * (double)total);
    if (ANYGP_FAILED(status)) row_groups_clear(g);
    return status;
}

static int by_row(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

anygp_status groups_single(const near_rows *near, const int64_t *own, row_groups *out, anygp_error *e)
{
    int64_t n = near->n, total = n, at = 0;
    for (int64_t i = 0; i < n; i++) total += near->count[i];
    *out = (row_groups){.count = n, .on_disk = near->on_disk};
    TRY(row_groups_allocate(out, total, e));
    for (int64_t i = 0; i < n; i++) {
        int64_t k = near->count[i];
        int32_t *row = out->row + at;
        out->start[i] = at;
        if (k) memcpy(row, near->row + i * near->k, (size_t)k * sizeof *row);
        qsort(row, (size_t)k, sizeof *row, by_row);
        row[k] = (int32_t)(own ? own[i] : i);
        for (int64_t j = 0; j <= k; j++) out->own[at + j] = j == k;
        if (k + 1 > out->largest) out->largest = k + 1;
        at += k + 1;
    }
    out->start[n] = total;
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------------- blocks */

typedef struct group_blocks {
    row_blocks base;
    row_groups g; /* whose arrays are the caller's */
    const double *X, *y, *w;
} group_blocks;

static anygp_status group_get(row_blocks *base, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e)
{
    const group_blocks *b = (const group_blocks *)base;
    int64_t first = b->g.start[i], n = b->g.start[i + 1] - first, D = base->D;
    double *X, *y, *w;
    TRY(block_buffer_reserve(buffer, n, D, 1, &X, &y, &w, e));
    for (int64_t j = 0; j < n; j++) {
        int64_t row = b->g.row[first + j];
        memcpy(X + j * D, b->X + row * D, (size_t)D * sizeof *X);
        y[j] = b->y[row], w[j] = b->w[row];
    }
    *out = (row_block){.index = i, .n = n, .X = X, .y = y, .w = w, .own = b->g.own + first};
    return ANYGP_OK;
}

static void group_free(row_blocks *base) { free(base); }

anygp_status blocks_of_groups(const row_groups *g, int64_t n, int64_t D, const double *X, const double *y,
                              const double *w, row_blocks **out, anygp_error *e)
{
    static const blocks_ops ops = {.get = group_get, .free = group_free};
    group_blocks *b = calloc(1, sizeof *b);
    if (!b) return fail_memory(e, "the blocks", sizeof *b);
    *b = (group_blocks){.base = {.ops = &ops, .count = g->count, .D = D, .Q = 1, .largest = g->largest},
                        .g = *g,
                        .X = X,
                        .y = y,
                        .w = w};
    for (int64_t i = 0; i < n; i++) b->base.total += w[i];
    *out = &b->base;
    return ANYGP_OK;
}
