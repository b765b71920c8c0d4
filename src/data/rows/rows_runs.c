/* Blocks of runs.  The n rows are cut into R runs of consecutive rows that differ in length by one at most, run k being
       rows  k n / R .. (k+1) n / R - 1,
   and a block is a few runs from all over the file, drawn by a random bijection: a block of a sorted file sees all parts of
   it, reading is nearly sequential, and nothing is stored.  Rows that are not used drop out when a block is read. */
#include <stdlib.h>

#include "base/random.h"
#include "data/rows/rows_inside.h"

enum { RUNS_A_BLOCK = 8 };

typedef struct run_set {
    row_blocks base;
    row_source *r;
    row_units u;
    int64_t runs, each; /* runs in all, and per block */
    int64_t longest;    /* rows of a run at most */
    uint64_t seed;
} run_set;

static row_run run_at(const run_set *s, int64_t k)
{
    int64_t first = (int64_t)((__int128)k * s->r->count / s->runs);
    return (row_run){first, (int64_t)((__int128)(k + 1) * s->r->count / s->runs) - first};
}

/* The used rows of one run, whose cells are at `at`, behind the out->n that are there. */
static void add_run(const run_set *s, row_run run, const double *at, double *X, double *y, double *w, row_block *out)
{
    for (int64_t i = 0; i < run.n; i++, at += s->r->cols)
        if (row_units_use(&s->u, run.first + i, at) == ROW_USED) {
            row_units_convert(&s->u, at, X + out->n * s->u.D, y + out->n * s->u.Q, w + out->n);
            out->n++;
        }
}

/* From a file, runs are read together, as many as `raw` rows of room hold: one at least. */
static int runs_together(const row_run *run, int count, int64_t raw)
{
    int k = 0;
    for (int64_t rows = 0; k < count && rows + run[k].n <= raw; k++) rows += run[k].n;
    return k;
}

static anygp_status add_from_file(const run_set *s, const row_run *run, int64_t raw, double *room, double *X, double *y,
                                  double *w, row_block *out, anygp_error *e)
{
    for (int k = 0, together; k < s->each; k += together) {
        const double *at = room;
        together = runs_together(run + k, (int)s->each - k, raw);
        TRY(rows_fetch_runs(s->r, together, run + k, room, e));
        for (int j = k; j < k + together; at += run[j++].n * s->r->cols) add_run(s, run[j], at, X, y, w, out);
    }
    return ANYGP_OK;
}

/* The raw rows lie in the same buffer, behind the block. */
static anygp_status run_get(row_blocks *b, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e)
{
    const run_set *s = (const run_set *)b;
    random_stream stream = {s->seed, RANDOM_BLOCKS, 0};
    const table *t = s->r->table;
    int64_t chunk = rows_chunk(s->r), raw = s->longest > chunk ? s->longest : chunk < b->largest ? chunk : b->largest;
    row_run run[RUNS_A_BLOCK];
    double *X, *y, *w;
    TRY(block_buffer_reserve(buffer, b->largest + (t ? 0 : raw * s->r->cols / (b->D + b->Q + 1) + 1), b->D, b->Q, &X,
                             &y, &w, e));
    y = X + b->largest * b->D, w = y + b->largest * b->Q;
    *out = (row_block){.index = i, .X = X, .y = y, .w = w};
    for (int64_t k = 0; k < s->each; k++) run[k] = run_at(s, random_shuffled(stream, s->runs, s->each * i + k));
    if (!t) return add_from_file(s, run, raw, w + b->largest, X, y, w, out, e);
    for (int64_t k = 0; k < s->each; k++) add_run(s, run[k], t->values + run[k].first * t->cols, X, y, w, out);
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
