/* Grouping rows by block.  Two passes: the first assigns a block to each used row and counts, the second puts the rows where
   they belong (for a table only their numbers, without reading the rows); blocks that are too large are split.  In a block rows keep their order.  Memory: buffers of a fixed size
   in all, and the largest block that has to be split. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/rows/rows_groups.h"
#include "data/table/id_table.h"

enum { BUFFERED_BYTES = 1 << 25, BUFFERED_ROWS = 1024, RANDOM_PLAN_STREAM = 1 };

typedef struct grouping {
    group_set *s;
    const block_plan *plan;
    int64_t P;     /* RANDOM: blocks */
    router *route; /* KMEANS and KDTREE; for the others: */
    id_table names;
    int64_t used; /* rows */
    scratch *ids; /* of all rows; -1: not used */
    double *room; /* a chunk of raw rows, and its ids; */
    int64_t *all;
    int64_t n, *number, *id; /* what was made of the used ones: */
    double *row;             /* n x (D + Q + 1): x, y, w */
} grouping;

static void grouping_clear(grouping *g)
{
    id_table_clear(&g->names);
    scratch_free(g->ids);
    free(g->room);
    free(g->all);
    free(g->number);
    free(g->id);
    free(g->row);
}

/* -------------------------------------------------------------------------------- first pass */

static anygp_status make_room(grouping *g, anygp_error *e)
{
    const group_set *s = g->s;
    int64_t chunk = rows_chunk(s->r);
    g->room = rows_room(s->r, chunk);
    g->all = mem_alloc(chunk, sizeof *g->all);
    g->number = mem_alloc(chunk, sizeof *g->number);
    g->id = mem_alloc(chunk, sizeof *g->id);
    g->row = mem_doubles(chunk, group_row_width(s));
    if (g->room && g->all && g->number && g->id && g->row)
        return scratch_open(!s->r->table, s->r->count, sizeof *g->id, &g->ids, e);
    return fail_memory(e, "a block of rows", 8.0 * (double)chunk * (double)(s->r->cols + group_row_width(s)));
}

static int64_t chunk_at(const grouping *g, int64_t first)
{
    int64_t left = g->s->r->count - first, m = rows_chunk(g->s->r);
    return m < left ? m : left;
}

/* The used ones of the chunk that begins at row `first`: their numbers and, to be routed, what they are in model units. */
static anygp_status read_chunk(grouping *g, int64_t first, anygp_error *e)
{
    const group_set *s = g->s;
    int64_t m = chunk_at(g, first);
    const double *at;
    g->n = 0;
    TRY(rows_fetch(s->r, first, m, g->room, &at, e));
    for (int64_t k = 0; k < m; k++, at += s->r->cols)
        if (row_units_use(&s->u, first + k, at) == ROW_USED) {
            if (g->route) group_row(s, at, g->row + g->n * group_row_width(s));
            g->number[g->n++] = first + k;
        }
    return ANYGP_OK;
}

/* A random place among all rows, hence one of P blocks of nearly equal size. */
static int64_t block_by_chance(const grouping *g, int64_t number)
{
    random_stream s = {g->plan->seed, RANDOM_BLOCKS, RANDOM_PLAN_STREAM};
    int64_t count = g->s->r->count;
    return (int64_t)((__int128)random_shuffled(s, count, number) * g->P / count);
}

static anygp_status assign_chunk(grouping *g, anygp_error *e)
{
    if (g->route) return router_route(g->route, g->n, g->row, group_row_width(g->s), g->id, e);
    for (int64_t k = 0; k < g->n; k++) {
        int64_t i = g->number[k], name = g->plan->kind == PLAN_GIVEN ? g->plan->given[i] : block_by_chance(g, i);
        TRY(id_table_index(&g->names, name, &g->id[k], e));
    }
    return ANYGP_OK;
}

static int64_t blocks_now(const grouping *g) { return g->route ? router_blocks(g->route) : g->names.count; }

static anygp_status count_rows(grouping *g, anygp_error *e)
{
    for (int64_t i = 0; i < g->s->r->count; i += rows_chunk(g->s->r)) {
        TRY(read_chunk(g, i, e));
        TRY(assign_chunk(g, e));
        TRY(group_set_reserve(g->s, blocks_now(g), e));
        for (int64_t k = 0; k < chunk_at(g, i); k++) g->all[k] = -1;
        for (int64_t k = 0; k < g->n; k++) g->s->size[g->id[k]]++, g->all[g->number[k] - i] = g->id[k];
        TRY(scratch_write(g->ids, i, chunk_at(g, i), g->all, e));
        g->used += g->n;
    }
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------- second pass */

/* Records on their way, gathered by block so that they are written in larger pieces. */
typedef struct feeder {
    group_set *s;
    int64_t each;     /* records a block gathers */
    char *bytes;      /* blocks x each records */
    int64_t *waiting; /* of each block: gathered */
    int64_t *written; /* and gone */
} feeder;

static anygp_status feeder_open(feeder *f, group_set *s, anygp_error *e)
{
    int64_t P = s->base.count;
    f->s = s;
    f->each = s->r->table ? 1 : BUFFERED_BYTES / s->width / P; /* memory takes them one by one */
    f->each = f->each < 1 ? 1 : f->each < BUFFERED_ROWS ? f->each : BUFFERED_ROWS;
    f->bytes = mem_alloc(P * f->each, (size_t)s->width);
    f->waiting = mem_zeroed(P, sizeof *f->waiting);
    f->written = mem_zeroed(P, sizeof *f->written);
    if (f->bytes && f->waiting && f->written) return ANYGP_OK;
    return fail_memory(e, "the list of blocks", (double)P * (double)(f->each * s->width + 16));
}

static void feeder_close(feeder *f)
{
    free(f->bytes);
    free(f->waiting);
    free(f->written);
}

static anygp_status feeder_flush(feeder *f, int64_t b, anygp_error *e)
{
    const char *from = f->bytes + b * f->each * f->s->width;
    TRY(scratch_write(f->s->records, f->s->start[b] + f->written[b], f->waiting[b], from, e));
    f->written[b] += f->waiting[b];
    f->waiting[b] = 0;
    return ANYGP_OK;
}

static anygp_status feeder_put(feeder *f, int64_t b, const void *record, anygp_error *e)
{
    int64_t width = f->s->width;
    memcpy(f->bytes + (b * f->each + f->waiting[b]++) * width, record, (size_t)width);
    return f->waiting[b] == f->each ? feeder_flush(f, b, e) : ANYGP_OK;
}

/* The used rows of the chunk that begins at row `first`. */
static anygp_status place_chunk(grouping *g, feeder *f, int64_t first, anygp_error *e)
{
    const group_set *s = g->s;
    int64_t m = chunk_at(g, first);
    const double *at = NULL;
    TRY(scratch_read(g->ids, first, m, g->all, e));
    if (!s->r->table) TRY(rows_fetch(s->r, first, m, g->room, &at, e));
    for (int64_t k = 0; k < m; k++) {
        int64_t number = first + k;
        if (g->all[k] < 0) continue;
        if (at) group_row(s, at + k * s->r->cols, g->row);
        TRY(feeder_put(f, g->all[k], at ? (const void *)g->row : &number, e));
    }
    return ANYGP_OK;
}

static anygp_status place_rows(grouping *g, anygp_error *e)
{
    group_set *s = g->s;
    feeder f = {0};
    anygp_status status;
    TRY_DONE(feeder_open(&f, s, e));
    for (int64_t i = 0; i < s->r->count; i += rows_chunk(s->r)) TRY_DONE(place_chunk(g, &f, i, e));
    for (int64_t b = 0; b < s->base.count; b++) TRY_DONE(feeder_flush(&f, b, e));
done:
    feeder_close(&f);
    return status;
}

static void locate_blocks(group_set *s, int64_t count)
{
    int64_t at = 0;
    s->base.count = count;
    for (int64_t b = 0; b < count; b++) s->start[b] = at, at += s->size[b];
}

/* --------------------------------------------------------------------------------------- all */

static anygp_status group_all(grouping *g, anygp_error *e)
{
    group_set *s = g->s;
    TRY(make_room(g, e));
    TRY(count_rows(g, e));
    locate_blocks(s, blocks_now(g));
    TRY(scratch_open(!s->r->table, g->used, s->width, &s->records, e));
    TRY(place_rows(g, e));
    if (g->route && g->plan->cap > 0) TRY(group_set_split(s, g->route, g->plan->cap, e));
    for (int64_t b = 0; b < s->base.count; b++)
        if (s->size[b] > s->base.largest) s->base.largest = s->size[b];
    return ANYGP_OK;
}

/* The ids that were given, in the order of the blocks. */
static void hand_over_names(grouping *g)
{
    if (g->plan->kind != PLAN_GIVEN || !g->plan->ids) return;
    *g->plan->ids = g->names.id;
    g->names.id = NULL;
}

anygp_status grouped_blocks(row_source *r, row_units *u, const block_plan *plan, router *route, row_blocks **out,
                            anygp_error *e)
{
    grouping g = {.plan = plan, .route = route, .P = plan->blocks > 1 ? plan->blocks : 1};
    if (plan->cap > 0 && g.P < (r->count - 1) / plan->cap + 1) g.P = (r->count - 1) / plan->cap + 1;
    TRY(group_set_new(r, u, &g.s, e));
    anygp_status status = group_all(&g, e);
    if (ANYGP_FAILED(status))
        blocks_free(&g.s->base);
    else {
        *out = &g.s->base;
        hand_over_names(&g);
    }
    grouping_clear(&g);
    return status;
}
