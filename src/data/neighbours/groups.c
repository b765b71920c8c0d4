/* Groups of rows (groups.h). */
#include "data/neighbours/groups.h"

#include <math.h>
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

/* ----------------------------------------------------------------------------------- making them */

/* Ascending row numbers. */
typedef struct list {
    int32_t *row;
    int64_t n;
} list;

/* Groups that join: each is named by one of its own rows. */
typedef struct union_find {
    int64_t n;
    int32_t *parent; /* n */
    list *lists;     /* n: of the names; empty for other rows */
    int32_t
        *first; /* where the lists begin as the neighbours are on disk: n x each; NULL: each has memory of its own */
    int64_t each;
} union_find;

static int32_t name_of(union_find *u, int32_t row)
{
    while (u->parent[row] != row) row = u->parent[row] = u->parent[u->parent[row]];
    return row;
}

static void list_free(const union_find *u, int32_t *row)
{
    bool on_disk = u->first && row >= u->first && row < u->first + u->n * u->each;
    if (!on_disk) free(row);
}

static void union_clear(union_find *u)
{
    for (int64_t i = 0; u->lists && i < u->n; i++) list_free(u, u->lists[i].row);
    mapped_free(u->first);
    free(u->lists);
    free(u->parent);
}

static int by_row(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static anygp_status union_open(const near_rows *near, union_find *u, anygp_error *e)
{
    *u = (union_find){.n = near->n, .each = near->k + 1};
    u->parent = mem_alloc(u->n, sizeof *u->parent), u->lists = mem_zeroed(u->n, sizeof *u->lists);
    if (!u->parent || !u->lists) return fail_memory(e, "the groups of rows", 20.0 * (double)u->n);
    if (near->on_disk)
        TRY(mapped_alloc(true, u->n, (size_t)u->each * sizeof *u->first, "the groups of rows", (void **)&u->first, e));
    for (int64_t i = 0; i < u->n; i++) {
        int64_t k = near->count[i];
        int32_t *row = u->first ? u->first + i * u->each : malloc((size_t)(k + 1) * sizeof *row);
        if (!row) return fail_memory(e, "the groups of rows", 4.0 * (double)(k + 1));
        if (k) memcpy(row, near->row + i * near->k, (size_t)k * sizeof *row);
        qsort(row, (size_t)k, sizeof *row, by_row);
        row[k] = (int32_t)i; /* the others come before it */
        u->lists[i] = (list){row, k + 1}, u->parent[i] = (int32_t)i;
    }
    return ANYGP_OK;
}

/* The number of rows of both lists together, or INT64_MAX as soon as it cannot be `most` or less. */
static int64_t union_size(const list *a, const list *b, int64_t most)
{
    int64_t i = 0, j = 0, common = 0, both = a->n + b->n;
    while (i < a->n && j < b->n) {
        int32_t x = a->row[i], y = b->row[j];
        i += x <= y, j += y <= x, common += x == y;
        int64_t left = a->n - i < b->n - j ? a->n - i : b->n - j;
        if (both - common - left > most) return INT64_MAX;
    }
    return both - common;
}

static bool join(union_find *u, int32_t to, int32_t from, int64_t size)
{
    list *a = &u->lists[to], *b = &u->lists[from];
    int32_t *row = malloc((size_t)size * sizeof *row);
    if (!row) return false;
    int64_t i = 0, j = 0;
    for (int64_t k = 0; k < size; k++) {
        int32_t x = i < a->n ? a->row[i] : INT32_MAX, y = j < b->n ? b->row[j] : INT32_MAX;
        row[k] = x < y ? x : y, i += x <= y, j += y <= x;
    }
    list_free(u, a->row);
    list_free(u, b->row);
    *a = (list){row, size}, *b = (list){0};
    u->parent[from] = to;
    return true;
}

/* Two groups become one where that saves work; false: no memory. */
static bool consider(union_find *u, int32_t one, int32_t other)
{
    int32_t a = name_of(u, one), b = name_of(u, other);
    if (a == b) return true;
    double na = (double)u->lists[a].n, nb = (double)u->lists[b].n, apart = na * na + nb * nb;
    int64_t most = (int64_t)ceil(sqrt(apart)) - 1; /* whose square is less */
    int64_t size = union_size(&u->lists[a], &u->lists[b], most);
    return size > most || join(u, a, b, size);
}

static anygp_status on_disk(row_groups *g, int64_t total, anygp_error *e)
{
    TRY(mapped_alloc(true, total, sizeof *g->row, "the groups of rows", (void **)&g->row, e));
    return mapped_alloc(true, total, sizeof *g->own, "the groups of rows", (void **)&g->own, e);
}

/* Room for g->count groups of this many rows together. */
static anygp_status allocate(row_groups *g, int64_t total, anygp_error *e)
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

/* A group by its lengths. */
typedef struct measured {
    int32_t rows, own, name;
} measured;

static int by_length(const void *a, const void *b)
{
    const measured *x = a, *y = b;
    if (x->rows != y->rows) return (x->rows > y->rows) - (x->rows < y->rows);
    if (x->own != y->own) return (x->own > y->own) - (x->own < y->own);
    return (x->name > y->name) - (x->name < y->name);
}

/* Groups of equal lengths one after the other: their matrices are processed side by side. */
static measured *in_order(union_find *u, int64_t count)
{
    measured *m = mem_alloc(count, sizeof *m);
    int32_t *own = mem_zeroed(u->n, sizeof *own);
    for (int64_t i = 0; own && i < u->n; i++) own[name_of(u, (int32_t)i)]++;
    for (int64_t i = 0, k = 0; m && own && i < u->n; i++)
        if (u->lists[i].n > 0) m[k++] = (measured){(int32_t)u->lists[i].n, own[i], (int32_t)i};
    if (m && own) qsort(m, (size_t)count, sizeof *m, by_length);
    if (!own) free(m), m = NULL;
    free(own);
    return m;
}

static anygp_status write_groups(union_find *u, row_groups *g, anygp_error *e)
{
    int64_t total = 0, at = 0;
    *g = (row_groups){.on_disk = u->first != NULL};
    for (int64_t i = 0; i < u->n; i++) g->count += u->lists[i].n > 0, total += u->lists[i].n;
    TRY(allocate(g, total, e));
    measured *m = in_order(u, g->count);
    if (!m) {
        row_groups_clear(g);
        return fail_memory(e, "the groups of rows", 16.0 * (double)u->n);
    }
    for (int64_t k = 0; k < g->count; k++) {
        const list *l = &u->lists[m[k].name];
        g->start[k] = at;
        if (l->n > g->largest) g->largest = l->n;
        for (int64_t j = 0; j < l->n; j++, at++)
            g->row[at] = l->row[j], g->own[at] = name_of(u, l->row[j]) == m[k].name;
    }
    g->start[g->count] = total;
    free(m);
    return ANYGP_OK;
}

anygp_status groups_joined(const near_rows *near, row_groups *out, anygp_error *e)
{
    union_find u;
    anygp_status status = union_open(near, &u, e);
    for (int64_t j = 0; j < near->k && !ANYGP_FAILED(status); j++)
        for (int64_t i = 0; i < near->n && !ANYGP_FAILED(status); i++)
            if (j < near->count[i] && !consider(&u, (int32_t)i, near->row[i * near->k + j]))
                status = fail_memory(e, "the groups of rows", 0);
    if (!ANYGP_FAILED(status)) status = write_groups(&u, out, e);
    union_clear(&u);
    return status;
}

anygp_status groups_single(const near_rows *near, const int64_t *own, row_groups *out, anygp_error *e)
{
    int64_t n = near->n, total = n, at = 0;
    for (int64_t i = 0; i < n; i++) total += near->count[i];
    *out = (row_groups){.count = n, .on_disk = near->on_disk};
    TRY(allocate(out, total, e));
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
