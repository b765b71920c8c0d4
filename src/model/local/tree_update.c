/* New rows for tree: new blocks of their parts' groups, as pitc has them, and messages again (tree.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/local/tree_posterior.h"

typedef struct tree_update {
    const tree_posterior *from;
    tree_groups t;
    hyper h;
    double *stat, *more; /* the sums so far, and those of some rows */
    update_report report;
} tree_update;

static void update_close(void *state)
{
    tree_update *u = state;
    if (!u) return;
    tree_clear(&u->t);
    free(u->stat);
    free(u->more);
    free(u);
}

static anygp_status evidence(tree_update *u, double *value, anygp_error *e)
{
    if (!tree_messages(&u->t, u->stat, false, value))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the log evidence is not a number");
    *value -= 0.5 * (u->from->sums.all[SUM_ROWS] + u->report.rows) * LOG_2PI;
    return ANYGP_OK;
}

static anygp_status update_open(const model_ops *self, const posterior *p, const likelihood *l, void **state,
                                anygp_error *e)
{
    anygp_status status;
    tree_update *u = calloc(1, sizeof *u);
    (void)self, (void)l;
    if (!u) return fail_memory(e, "the update", sizeof *u);
    u->from = (const tree_posterior *)p;
    u->report.upper = NAN;
    TRY_DONE(tree_restore(u->from, &u->h, &u->t, &u->stat, e));
    if (!(u->more = mem_alloc(u->t.stat, sizeof *u->more)))
        status = fail_memory(e, "the sums", 8.0 * (double)u->t.stat);
    else
        status = evidence(u, &u->report.before, e);
done:
    if (ANYGP_FAILED(status))
        update_close(u);
    else
        *state = u;
    return status;
}

/* ---------------------------------------------------------------------------------------------- blocks */

/* Blocks of new rows: the block of each, and the group of each block. */
typedef struct new_blocks {
    int64_t count, *block, *of; /* n, at most n */
    int64_t *part, *list;       /* n: the part of each row; rows of one part */
    double *X;                  /* n x D: of these */
} new_blocks;

static void new_blocks_clear(new_blocks *b)
{
    void *const owned[] = {b->block, b->of, b->part, b->list, b->X};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

/* The m listed rows: one block, or halves of halves of them until none is larger than a part should be. */
static anygp_status cut_part(new_blocks *b, int64_t m, int64_t D, int64_t group, anygp_error *e)
{
    int64_t most = blocks_part_rows(0), parts = 1, *id = mem_zeroed(m, sizeof *id);
    router *tree = NULL;
    anygp_status status = id ? ANYGP_OK : fail_memory(e, "the blocks", 8.0 * (double)m);
    if (!ANYGP_FAILED(status) && m > most) {
        status = router_kdtree(m, D, b->X, D, 1, &tree, e);
        if (!ANYGP_FAILED(status)) status = router_split(tree, 0, most, m, b->X, D, id, e);
        if (!ANYGP_FAILED(status)) parts = router_blocks(tree);
    }
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < m; i++) b->block[b->list[i]] = b->count + id[i];
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < parts; i++) b->of[b->count++] = group;
    router_free(tree);
    free(id);
    return status;
}

static anygp_status cut_rows(const tree_update *u, int64_t n, const double *X, new_blocks *b, anygp_error *e)
{
    int64_t D = u->from->base.D;
    b->block = mem_alloc(n, sizeof *b->block), b->of = mem_alloc(n, sizeof *b->of);
    b->part = mem_alloc(n, sizeof *b->part), b->list = mem_alloc(n, sizeof *b->list), b->X = mem_doubles(n, D);
    if (!b->block || !b->of || !b->part || !b->list || !b->X)
        return fail_memory(e, "the blocks of the rows", 8.0 * (double)n * (double)(D + 4));
    TRY(router_route(u->from->route, n, X, D, b->part, e));
    for (int64_t k = 0; k < u->t.parts; k++) {
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++) {
            if (b->part[i] != k) continue;
            memcpy(b->X + m * D, X + i * D, (size_t)D * sizeof *X);
            b->list[m++] = i;
        }
        if (m > 0) TRY(cut_part(b, m, D, u->t.of[k], e));
    }
    return ANYGP_OK;
}

/* Their statistics, to those so far. */
static anygp_status add_blocks(tree_update *u, row_blocks *b, int64_t *of, anygp_error *e)
{
    int64_t *parts = u->t.of;
    driver *d = NULL;
    TRY(driver_open(&tree_parts, b, comm_self(), 0, &d, e));
    u->t.of = of;
    anygp_status status = driver_stat(d, &u->t, 0, NULL, 1, u->more, e);
    u->t.of = parts;
    if (!ANYGP_FAILED(status)) la_axpy(u->t.stat, 1, u->more, u->stat);
    driver_close(d);
    return status;
}

static anygp_status update_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                               const int64_t *ids, anygp_error *e)
{
    tree_update *u = state;
    row_blocks *rows = NULL;
    new_blocks b = {0};
    if (ids)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "blocks-from: tree finds the part of a new row by its inputs; leave it out");
    if (n == 0) return ANYGP_OK;
    anygp_status status = cut_rows(u, n, X, &b, e);
    if (!ANYGP_FAILED(status)) status = blocks_join(NULL, b.count, u->from->base.D, 1, n, X, y, w, b.block, &rows, e);
    if (!ANYGP_FAILED(status)) status = add_blocks(u, rows, b.of, e);
    for (int64_t i = 0; i < n; i++) u->report.rows += w[i];
    u->report.blocks += b.count;
    blocks_free(rows);
    new_blocks_clear(&b);
    return status;
}

static double update_held(const void *state)
{
    (void)state;
    return 0;
}

static anygp_status update_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    tree_update *u = state;
    TRY(evidence(u, &u->report.after, e));
    *r = u->report;
    return tree_to_posterior(&u->t, u->stat, u->from->sums.all[SUM_ROWS] + r->rows, u->from->route, out, e);
}

const update_ops tree_update_ops = {
    .open = update_open, .add = update_add, .held = update_held, .finish = update_finish, .close = update_close};
