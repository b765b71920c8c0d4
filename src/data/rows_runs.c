/* Blocks of runs.  The n rows are cut into R runs of consecutive rows that differ in length by one at most, run k being
       rows  k n / R .. (k+1) n / R - 1,
   and a block is a few runs from all over the file, drawn by a random bijection: a block of a sorted file sees all parts of
   it, reading is nearly sequential, and nothing is stored.  Rows that are not used drop out when a block is read. */
#include <stdlib.h>

#include "base/random.h"
#include "data/rows_inside.h"

enum { RUNS_A_BLOCK = 8 };

typedef struct run_set {
    row_blocks base;
    row_source *r;
    row_units u;
    int64_t runs, each; /* runs in all, and a block */
    int64_t longest;    /* rows of a run at most */
    uint64_t seed;
} run_set;

static int64_t run_start(const run_set *s, int64_t k) { return (int64_t)((__int128)k * s->r->count / s->runs); }

/* The used rows of one run, behind the out->n that are there. */
static anygp_status add_run(const run_set *s, int64_t run, double *room, double *X, double *y, double *w,
                            row_block *out, anygp_error *e)
{
    int64_t first = run_start(s, run), n = run_start(s, run + 1) - first;
    const double *at;
    TRY(rows_fetch(s->r, first, n, room, &at, e));
    for (int64_t i = 0; i < n; i++, at += s->r->cols)
        if (row_units_uses(&s->u, first + i, at)) {
            row_units_convert(&s->u, at, X + out->n * s->u.D, y + out->n * s->u.Q, w + out->n);
            out->n++;
        }
    return ANYGP_OK;
}

/* The raw rows of a run lie in the same buffer, behind the block. */
static anygp_status run_get(row_blocks *b, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e)
{
    const run_set *s = (const run_set *)b;
    random_stream stream = {s->seed, RANDOM_BLOCKS, 0};
    int64_t raw = s->r->table ? 0 : s->longest * s->r->cols / (b->D + b->Q + 1) + 1;
    double *X, *y, *w;
    TRY(block_buffer_reserve(buffer, b->largest + raw, b->D, b->Q, &X, &y, &w, e));
    y = X + b->largest * b->D, w = y + b->largest * b->Q;
    *out = (row_block){.index = i, .X = X, .y = y, .w = w};
    for (int64_t k = 0; k < s->each; k++)
        TRY(add_run(s, random_shuffled(stream, s->runs, s->each * i + k), w + b->largest, X, y, w, out, e));
    return ANYGP_OK;
}

static void run_free(row_blocks *b)
{
    run_set *s = (run_set *)b;
    row_units_clear(&s->u);
    free(s);
}

/* As many blocks as wanted, or more, so that none exceeds the cap. */
anygp_status run_blocks(row_source *r, row_units *u, const block_plan *plan, row_blocks **out, anygp_error *e)
{
    static const blocks_ops ops = {run_get, run_free};
    run_set *s = calloc(1, sizeof *s);
    if (!s) {
        row_units_clear(u);
        return fail_memory(e, "the blocks", sizeof *s);
    }
    int64_t P = plan->blocks > 1 ? plan->blocks : 1, cap = plan->cap > 0 ? plan->cap : r->count;
    s->r = r, s->u = *u, s->seed = plan->seed;
    s->each = cap < RUNS_A_BLOCK ? cap : RUNS_A_BLOCK;
    int64_t most = cap / s->each; /* rows of a run */
    if (r->count > P * s->each * most) P = (r->count - 1) / (s->each * most) + 1;
    s->runs = P * s->each;
    s->longest = (r->count - 1) / s->runs + 1;
    s->base = (row_blocks){.ops = &ops, .count = P, .D = u->D, .Q = u->Q, .largest = s->each * s->longest};
    *u = (row_units){0};
    *out = &s->base;
    return ANYGP_OK;
}
