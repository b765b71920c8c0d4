/* Blocks whose rows are stored together, as pieces of a list of records (rows_groups.h). */
#include "data/rows/rows_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { PIECE_ROWS = 1024 };

/* ------------------------------------------------------------------------------------- blocks */

static void group_free(row_blocks *b)
{
    group_set *s = (group_set *)b;
    row_units_clear(&s->u);
    scratch_free(s->records);
    free(s->start);
    free(s->size);
    free(s);
}

static void get_from_table(const group_set *s, int64_t i, int64_t n, double *X, double *y, double *w)
{
    enum { AHEAD = 16 };
    const int64_t *number = scratch_view(s->records, s->start[i]), cols = s->r->cols;
    const double *values = s->r->table->values;
    for (int64_t k = 0; k < n; k++) { /* rows from all over the table: fetched while others are converted */
        if (k + AHEAD < n) __builtin_prefetch(values + number[k + AHEAD] * cols);
        row_units_convert(&s->u, values + number[k] * cols, X + k * s->u.D, y + k * s->u.Q, w + k);
    }
}

/* Through a piece of records that lies in the buffer behind the block. */
static anygp_status get_from_scratch(const group_set *s, int64_t i, int64_t n, double *X, double *y, double *w,
                                     anygp_error *e)
{
    int64_t D = s->u.D, Q = s->u.Q, width = group_row_width(s);
    double *piece = w + n;
    for (int64_t done = 0; done < n; done += PIECE_ROWS) {
        int64_t m = n - done < PIECE_ROWS ? n - done : PIECE_ROWS;
        TRY(scratch_read(s->records, s->start[i] + done, m, piece, e));
        for (int64_t k = 0; k < m; k++) {
            const double *row = piece + k * width;
            memcpy(X + (done + k) * D, row, (size_t)D * sizeof *X);
            memcpy(y + (done + k) * Q, row + D, (size_t)Q * sizeof *y);
            w[done + k] = row[D + Q];
        }
    }
    return ANYGP_OK;
}

static anygp_status group_get(row_blocks *b, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e)
{
    const group_set *s = (const group_set *)b;
    int64_t n = s->size[i];
    double *X, *y, *w;
    TRY(block_buffer_reserve(buffer, b->largest + (s->r->table ? 0 : PIECE_ROWS), b->D, b->Q, &X, &y, &w, e));
    y = X + n * b->D, w = y + n * b->Q;
    *out = (row_block){.index = i, .n = n, .X = X, .y = y, .w = w};
    if (!s->r->table) return get_from_scratch(s, i, n, X, y, w, e);
    get_from_table(s, i, n, X, y, w);
    return ANYGP_OK;
}

anygp_status group_set_new(row_source *r, row_units *u, group_set **out, anygp_error *e)
{
    static const blocks_ops ops = {group_get, group_free};
    group_set *s = *out = calloc(1, sizeof *s);
    if (!s) {
        row_units_clear(u);
        return fail_memory(e, "the blocks", sizeof *s);
    }
    s->base = (row_blocks){.ops = &ops, .D = u->D, .Q = u->Q};
    s->r = r, s->u = *u;
    s->width = r->table ? (int64_t)sizeof(int64_t) : group_row_width(s) * (int64_t)sizeof(double);
    *u = (row_units){0};
    return ANYGP_OK;
}

anygp_status group_set_reserve(group_set *s, int64_t count, anygp_error *e)
{
    if (count <= s->room) return ANYGP_OK;
    int64_t more = count > 2 * s->room ? count : 2 * s->room;
    int64_t *size = realloc(s->size, (size_t)more * sizeof *size);
    if (size) s->size = size;
    int64_t *start = size ? realloc(s->start, (size_t)more * sizeof *start) : NULL;
    if (!start) return fail_memory(e, "the list of blocks", 16.0 * (double)more);
    s->start = start;
    memset(s->size + s->room, 0, (size_t)(more - s->room) * sizeof *size);
    s->room = more;
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------- splitting */

/* One block that is too large, in memory. */
typedef struct large_block {
    int64_t n, *id;
    double *row;             /* n x (D + Q + 1) */
    char *records, *ordered; /* as they are, and by part */
} large_block;

static void large_clear(large_block *l)
{
    free(l->id);
    free(l->row);
    free(l->records);
    free(l->ordered);
}

static anygp_status large_read(const group_set *s, int64_t b, large_block *l, anygp_error *e)
{
    *l = (large_block){.n = s->size[b]};
    l->id = mem_alloc(l->n, sizeof *l->id);
    l->records = mem_alloc(l->n, (size_t)s->width);
    l->ordered = mem_alloc(l->n, (size_t)s->width);
    l->row = s->r->table ? mem_doubles(l->n, group_row_width(s)) : NULL;
    if (!l->id || !l->records || !l->ordered || (s->r->table && !l->row))
        return fail_memory(e, "a block that is too large", (double)l->n * (double)(3 * s->width));
    TRY(scratch_read(s->records, s->start[b], l->n, l->records, e));
    const int64_t *number = (const int64_t *)(const void *)l->records;
    for (int64_t k = 0; s->r->table && k < l->n; k++)
        group_row(s, s->r->table->values + number[k] * s->r->cols, l->row + k * group_row_width(s));
    return ANYGP_OK;
}

/* The parts one after the other in the block's place: itself, then `first` .. end-1.  start runs ahead while they are filled. */
static anygp_status large_write(group_set *s, int64_t b, int64_t first, int64_t end, const large_block *l,
                                anygp_error *e)
{
    int64_t origin = s->start[b], at = origin;
    s->size[b] = 0;
    for (int64_t k = 0; k < l->n; k++) s->size[l->id[k]]++;
    at += s->size[b];
    for (int64_t p = first; p < end; p++) s->start[p] = at, at += s->size[p];
    for (int64_t k = 0; k < l->n; k++) {
        int64_t to = s->start[l->id[k]]++ - origin;
        memcpy(l->ordered + to * s->width, l->records + k * s->width, (size_t)s->width);
    }
    s->start[b] = origin;
    for (int64_t p = first; p < end; p++) s->start[p] -= s->size[p];
    return scratch_write(s->records, origin, l->n, l->ordered, e);
}

static anygp_status split_block(group_set *s, router *route, int64_t b, int64_t cap, anygp_error *e)
{
    large_block l;
    int64_t before = router_blocks(route);
    anygp_status status;
    TRY_DONE(large_read(s, b, &l, e));
    const double *X = s->r->table ? l.row : (const double *)(const void *)l.records;
    TRY_DONE(router_split(route, b, cap, l.n, X, group_row_width(s), l.id, e));
    TRY_DONE(group_set_reserve(s, router_blocks(route), e));
    TRY_DONE(large_write(s, b, before, router_blocks(route), &l, e));
    s->base.count = router_blocks(route);
done:
    large_clear(&l);
    return status;
}

anygp_status group_set_split(group_set *s, router *route, int64_t cap, anygp_error *e)
{
    int64_t P = s->base.count;
    for (int64_t b = 0; b < P; b++)
        if (s->size[b] > cap) TRY(split_block(s, route, b, cap, e));
    return ANYGP_OK;
}
