/* New rows for a sparse posterior, without the old ones.  Statistics add (sparse.h), and those of the old rows can be
   recovered from what the posterior holds:
       I + S = B B' (J J' where V has a form),   b = (I + S) m,   l, q and the number of rows in `sums`.
   So the statistics of the new rows are added, and the head is run again: O(n M^2 + M^3) for n new rows, whatever came
   before.  Which of the new rows form a block:
       sor, dtc, fitc, fic, vfe, pep   it does not matter
       pitc   those of one id; without ids a chunk of rows is cut by a kd-tree into parts of at most blocks_part_rows
       pic    those of one id, or of one place of the router, together with the rows the block has: the statistics of the
              old block are taken off and those of the enlarged one are added.  The matrix can only grow by that:
              a block knows more about v with more rows, A G^-1 A' of the enlarged block >= that of the old one
       lma    the same, and blocks that are given a block with new rows are exchanged too; a new block is the last of the chain
   For an anytime posterior the same arithmetic takes q(v) as the posterior of the old rows, and hence as the new prior. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/rows/rows.h"
#include "data/table/id_table.h"
#include "linalg/linalg.h"
#include "model/sparse/sparse_posterior.h"

/* Rows that wait until all have come, each with its block. */
typedef struct waiting_rows {
    int64_t n, room;
    double *X, *y, *w;
    int64_t *block;
} waiting_rows;

typedef struct sparse_update {
    const sparse_kind *kind;
    const sparse_posterior *from;
    double noise;
    hyper h; /* a view of the posterior's: nothing in it is owned */
    sparse s;
    double *stat, *part; /* the sums so far; workspace of the same size */
    waiting_rows waiting;
    id_table ids; /* of the blocks; pic: its own blocks come first */
    update_report report;
} sparse_update;

static bool is_pic(const sparse_update *u) { return u->kind->test == TEST_BLOCK; } /* or lma */

static const block_model *runs(const sparse_update *u)
{
    if (u->kind->order > 0) return &sparse_given;
    return u->kind->kept == KEPT_BLOCK ? &sparse_whole : &sparse_rows;
}

/* ---------------------------------------------------------------------------------- open, close */

static void update_close(void *state)
{
    sparse_update *u = state;
    if (!u) return;
    sparse_clear(&u->s);
    id_table_clear(&u->ids);
    void *const owned[] = {u->stat, u->part, u->waiting.X, u->waiting.y, u->waiting.w, u->waiting.block};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(u);
}

/* The sums behind the posterior: S = B B' - I, b = B (B'm). */
static void old_statistics(sparse_update *u)
{
    const sparse_posterior *p = u->from;
    int64_t Mt = p->Mt;
    double *S = stat_S(&u->s, u->stat);
    const double *B = p->J ? p->J : p->B;
    la_syrk(LA_N, Mt, Mt, 1, B, Mt, 0, S, Mt);
    for (int64_t i = 0; i < Mt; i++) S[i + i * Mt] -= 1;
    la_gemv(LA_T, Mt, Mt, 1, B, Mt, p->m, 0, u->s.diag);
    la_gemv(LA_N, Mt, Mt, 1, B, Mt, u->s.diag, 0, stat_b(&u->s, u->stat));
    *stat_l(&u->s, u->stat) = p->sums[SUM_L];
    *stat_q(&u->s, u->stat) = p->sums[SUM_Q];
}

static anygp_status head(sparse_update *u, double *value, anygp_error *e)
{
    if (sparse_evidence(&u->s, u->stat, false, value)) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_NUMERIC, "the log evidence of old and new rows is not a number; fit them together");
}

/* The names of pic's blocks, so that index i is block i. */
static anygp_status name_blocks(sparse_update *u, anygp_error *e)
{
    const double *ids;
    int64_t blocks = pic_blocks(u->from->rows, &ids), name, index;
    for (int64_t i = 0; i < blocks; i++) {
        bool whole = block_name_of(ids[i], &name);
        if (whole) TRY(id_table_index(&u->ids, name, &index, e));
        if (!whole || index != i)
            return fail_with(e, ANYGP_ERR_FILE, "the names of the model's blocks are not valid; its file is damaged");
    }
    return ANYGP_OK;
}

static anygp_status take_posterior(sparse_update *u, anygp_error *e)
{
    const posterior *p = &u->from->base;
    u->noise = p->noise;
    const inducing_set *v = &u->from->u;
    u->h = (hyper){.kernel = p->kernel, .like = &u->noise, .likes = 1, .M = p->n, .D = p->D, .kind = v->ops};
    TRY(sparse_init(&u->s, u->kind->kept, &p->mean, &u->h, u->from->sums[SUM_ROWS], e));
    u->s.power = u->kind->power;
    TRY(sparse_divide(&u->s, u->kind->form, 0, NULL, e));
    for (int64_t i = 0; u->s.set && i < p->n; i++) u->s.set[i] = (int64_t)u->from->set[i];
    u->s.h = &u->h;
    u->s.noise = p->noise + kernel_white(p->kernel);
    inducing_set_factor(&u->s.u, p->kernel, v->set, v->L);
    int64_t size = runs(u)->stat_size(&u->s);
    u->stat = mem_zeroed(size, sizeof(double));
    u->part = mem_alloc(size, sizeof(double));
    if (!u->stat || !u->part) return fail_memory(e, "the sums", 16.0 * (double)size);
    old_statistics(u);
    return head(u, &u->report.before, e);
}

static anygp_status update_open(const model_ops *self, const posterior *p, const likelihood *l, void **state,
                                anygp_error *e)
{
    (void)l;
    anygp_status status;
    sparse_update *u = calloc(1, sizeof *u);
    if (!u) return fail_memory(e, "the update", sizeof *u);
    u->kind = self->family;
    u->from = (const sparse_posterior *)p;
    TRY_DONE(take_posterior(u, e));
    if (is_pic(u)) TRY_DONE(name_blocks(u, e));
done:
    if (ANYGP_FAILED(status))
        update_close(u);
    else
        *state = u;
    return status;
}

/* ------------------------------------------------------------------------------------ adding rows */

/* The statistics of the `count` blocks in `which` (NULL: of all), times sign. */
static anygp_status add_blocks(sparse_update *u, row_blocks *b, int64_t count, const int64_t *which, double sign,
                               anygp_error *e)
{
    driver *d = NULL;
    TRY(driver_open(runs(u), b, comm_self(), 0, &d, e));
    anygp_status status = driver_stat(d, &u->s, count, which, sign, u->part, e);
    if (!ANYGP_FAILED(status)) la_axpy(runs(u)->stat_size(&u->s), 1, u->part, u->stat);
    driver_close(d);
    return status;
}

static anygp_status add_and_free(sparse_update *u, row_blocks *b, anygp_error *e)
{
    u->report.blocks += b->count;
    anygp_status status = add_blocks(u, b, 0, NULL, 1, e);
    blocks_free(b);
    return status;
}

static anygp_status add_alone(sparse_update *u, int64_t n, const double *X, const double *y, const double *w,
                              anygp_error *e)
{
    row_blocks *b = NULL;
    TRY(blocks_of_arrays(1, (const int64_t[]){0, n}, u->s.D, 1, X, y, w, &b, e));
    return add_and_free(u, b, e);
}

/* block[n] and how many there are: a tree of one block, which is split until all of them are small enough. */
static anygp_status cut(const sparse_update *u, int64_t n, const double *X, int64_t *block, int64_t *count,
                        anygp_error *e)
{
    int64_t D = u->s.D, most = blocks_part_rows(u->s.M);
    router *tree = NULL;
    TRY(router_kdtree(n, D, X, D, 1, &tree, e));
    anygp_status status = router_split(tree, 0, most, n, X, D, block, e);
    *count = router_blocks(tree);
    router_free(tree);
    return status;
}

static anygp_status add_parts(sparse_update *u, int64_t n, const double *X, const double *y, const double *w,
                              anygp_error *e)
{
    row_blocks *b = NULL;
    int64_t *block = mem_alloc(n, sizeof *block), count = 0;
    anygp_status status = block ? ANYGP_OK : fail_memory(e, "the blocks of the rows", 8.0 * (double)n);
    if (!ANYGP_FAILED(status)) status = cut(u, n, X, block, &count, e);
    if (!ANYGP_FAILED(status)) status = blocks_join(NULL, count, u->s.D, 1, n, X, y, w, block, &b, e);
    if (!ANYGP_FAILED(status)) status = add_and_free(u, b, e);
    free(block);
    return status;
}

/* ---------------------------------------------------------------------------------- rows that wait */

static bool grow(void **array, int64_t rows, int64_t cols, size_t size)
{
    size_t cells;
    void *grown =
        size_mul(rows, cols > 0 ? cols : 1, &cells) && cells < SIZE_MAX / size ? realloc(*array, cells * size) : NULL;
    if (grown) *array = grown;
    return grown != NULL;
}

static anygp_status reserve(waiting_rows *r, int64_t more, int64_t D, anygp_error *e)
{
    if (r->n + more <= r->room) return ANYGP_OK;
    int64_t room = r->n + more > 2 * r->room ? r->n + more : 2 * r->room;
    if (!grow((void **)&r->X, room, D, sizeof *r->X) || !grow((void **)&r->y, room, 1, sizeof *r->y) ||
        !grow((void **)&r->w, room, 1, sizeof *r->w) || !grow((void **)&r->block, room, 1, sizeof *r->block))
        return fail_memory(e, "the new rows", 8.0 * (double)room * (double)(D + 3));
    r->room = room;
    return ANYGP_OK;
}

/* Only where blocks are found by the means of their members can a new one be found at all. */
static anygp_status check_new_block(const sparse_update *u, int64_t block, anygp_error *e)
{
    const double *names;
    if (!is_pic(u)) return ANYGP_OK;
    if (block < pic_blocks(u->from->rows, &names) || router_kind_of(pic_rows_router(u->from->rows)) == ROUTER_MEANS)
        return ANYGP_OK;
    return fail_with(
        e, ANYGP_ERR_DATA,
        "there is no block %lld in the model, and its partition of the input space has no room for a new one; "
        "leave --blocks-from out, or fit with it",
        (long long)u->ids.id[block]);
}

static anygp_status find_blocks(sparse_update *u, int64_t n, const double *X, const int64_t *ids, int64_t *block,
                                anygp_error *e)
{
    if (!ids) return router_route(pic_rows_router(u->from->rows), n, X, u->s.D, block, e);
    for (int64_t i = 0; i < n; i++) {
        TRY(id_table_index(&u->ids, ids[i], &block[i], e));
        TRY(check_new_block(u, block[i], e));
    }
    return ANYGP_OK;
}

static anygp_status add_waiting(sparse_update *u, int64_t n, const double *X, const double *y, const double *w,
                                const int64_t *ids, anygp_error *e)
{
    waiting_rows *r = &u->waiting;
    int64_t D = u->s.D;
    TRY(reserve(r, n, D, e));
    TRY(find_blocks(u, n, X, ids, r->block + r->n, e));
    memcpy(r->X + r->n * D, X, (size_t)(n * D) * sizeof *X);
    memcpy(r->y + r->n, y, (size_t)n * sizeof *y);
    memcpy(r->w + r->n, w, (size_t)n * sizeof *w);
    r->n += n;
    return ANYGP_OK;
}

static double update_held(const void *state)
{
    const sparse_update *u = state;
    return 8.0 * (double)u->waiting.room * (double)(u->s.D + 3);
}

static anygp_status update_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                               const int64_t *ids, anygp_error *e)
{
    sparse_update *u = state;
    if (n == 0) return ANYGP_OK;
    for (int64_t i = 0; i < n; i++) u->report.rows += w[i];
    if (u->kind->kept != KEPT_BLOCK) return add_alone(u, n, X, y, w, e);
    return ids || is_pic(u) ? add_waiting(u, n, X, y, w, ids, e) : add_parts(u, n, X, y, w, e);
}

/* ----------------------------------------------------------------------------------------- finish */

/* From here on blocks are known by their places in the chain; chain[blocks]: the block at each. */
static void place_rows(sparse_update *u, int64_t *chain)
{
    const pic_rows *rows = u->from->rows;
    for (int64_t b = 0; b < u->ids.count; b++) chain[pic_rows_place(rows, b)] = b;
    for (int64_t k = 0; k < u->waiting.n; k++) u->waiting.block[k] = pic_rows_place(rows, u->waiting.block[k]);
}

/* The blocks that got new rows, and those that are given them, in which[blocks]; how many. */
static int64_t touched(const waiting_rows *r, int64_t order, int64_t blocks, int64_t *which)
{
    int64_t count = 0;
    memset(which, 0, (size_t)blocks * sizeof *which);
    for (int64_t k = 0; k < r->n; k++)
        for (int64_t i = r->block[k]; i < blocks && i <= r->block[k] + order; i++) which[i] = 1;
    for (int64_t i = 0; i < blocks; i++)
        if (which[i]) which[count++] = i;
    return count;
}

static anygp_status exchange(sparse_update *u, row_blocks *old, row_blocks *grown, anygp_error *e)
{
    int64_t *which = mem_alloc(grown->count, sizeof *which), before = 0;
    if (!which) return fail_memory(e, "the blocks", 8.0 * (double)grown->count);
    int64_t count = touched(&u->waiting, u->kind->order, grown->count, which);
    while (before < count && which[before] < old->count) before++;
    anygp_status status = add_blocks(u, old, before, which, -1, e);
    if (!ANYGP_FAILED(status)) status = add_blocks(u, grown, count, which, 1, e);
    free(which);
    return status;
}

/* Along the chain, where there is one. */
static anygp_status exchange_chain(sparse_update *u, row_blocks *old, row_blocks *grown, anygp_error *e)
{
    row_blocks *before = NULL, *after = NULL;
    int64_t order = u->kind->order;
    if (order == 0) return exchange(u, old, grown, e);
    anygp_status status = blocks_chain(old, NULL, order, &before, e);
    if (!ANYGP_FAILED(status)) status = blocks_chain(grown, NULL, order, &after, e);
    if (!ANYGP_FAILED(status)) status = exchange(u, before, after, e);
    blocks_free(before);
    blocks_free(after);
    return status;
}

static anygp_status report_sizes(sparse_update *u, const row_blocks *old, row_blocks *grown, const int64_t *chain,
                                 anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    block_buffer buffer = {0};
    u->report.blocks = grown->count - old->count;
    u->report.largest = old->largest;
    for (int64_t i = 0; i < grown->count && !ANYGP_FAILED(status); i++) {
        row_block b = {0};
        status = blocks_get(grown, i, &buffer, &b, e);
        if (b.n > u->report.biggest) u->report.biggest = b.n, u->report.biggest_id = u->ids.id[chain[i]];
    }
    block_buffer_clear(&buffer);
    return status;
}

/* To the means of their members: block after block, not place after place. */
static anygp_status route_again(const sparse_update *u, row_blocks *grown, router **out, anygp_error *e)
{
    row_blocks *named = NULL;
    int64_t *place = mem_alloc(grown->count, sizeof *place);
    if (!place) return fail_memory(e, "the blocks", 8.0 * (double)grown->count);
    for (int64_t b = 0; b < grown->count; b++) place[b] = pic_rows_place(u->from->rows, b);
    anygp_status status = blocks_chain(grown, place, 0, &named, e);
    if (!ANYGP_FAILED(status)) status = rows_route_by_means(named, out, e);
    blocks_free(named);
    free(place);
    return status;
}

/* The enlarged blocks and the router to them: the same one, or one to the new means of their members. */
static anygp_status keep_rows(const sparse_update *u, row_blocks *grown, const int64_t *chain, pic_rows **out,
                              anygp_error *e)
{
    const router *route = pic_rows_router(u->from->rows);
    router *moved = NULL;
    if (router_kind_of(route) == ROUTER_MEANS) TRY(route_again(u, grown, &moved, e));
    anygp_status status = pic_rows_new(grown, moved ? moved : route, u->ids.id, out, e);
    if (!ANYGP_FAILED(status) && u->kind->order > 0) status = pic_rows_chain(*out, u->kind->order, chain, e);
    router_free(moved);
    return status;
}

static anygp_status finish_pic(sparse_update *u, pic_rows **rows, anygp_error *e)
{
    const waiting_rows *r = &u->waiting;
    row_blocks *old = NULL, *grown = NULL;
    int64_t *chain = mem_alloc(u->ids.count, sizeof *chain);
    anygp_status status;
    if (!chain) return fail_memory(e, "the blocks", 8.0 * (double)u->ids.count);
    place_rows(u, chain);
    TRY_DONE(pic_rows_blocks(u->from->rows, &old, e));
    TRY_DONE(blocks_join(old, u->ids.count, u->s.D, 1, r->n, r->X, r->y, r->w, r->block, &grown, e));
    TRY_DONE(exchange_chain(u, old, grown, e));
    TRY_DONE(report_sizes(u, old, grown, chain, e));
    TRY_DONE(keep_rows(u, grown, chain, rows, e));
done:
    blocks_free(grown);
    blocks_free(old);
    free(chain);
    return status;
}

static anygp_status finish_waiting(sparse_update *u, pic_rows **rows, anygp_error *e)
{
    const waiting_rows *r = &u->waiting;
    row_blocks *b = NULL;
    if (is_pic(u)) return finish_pic(u, rows, e);
    if (r->n == 0) return ANYGP_OK;
    TRY(blocks_join(NULL, u->ids.count, u->s.D, 1, r->n, r->X, r->y, r->w, r->block, &b, e));
    return add_and_free(u, b, e);
}

static anygp_status update_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    sparse_update *u = state;
    pic_rows *rows = NULL;
    anygp_status status;
    TRY_DONE(finish_waiting(u, &rows, e));
    u->s.total += u->report.rows;
    TRY_DONE(head(u, &u->report.after, e));
    if (!is_trace(&u->s) || !sparse_upper(&u->s, u->stat, &u->report.upper)) u->report.upper = NAN;
    const double sums[3] = {*stat_l(&u->s, u->stat), *stat_q(&u->s, u->stat), u->s.total};
    TRY_DONE(sparse_posterior_new(u->kind, &u->s, u->s.m, u->s.B, sums, out, e));
    ((sparse_posterior *)*out)->rows = rows;
    rows = NULL;
    *r = u->report;
done:
    pic_rows_free(rows);
    return status;
}

const update_ops sparse_updates = {
    .open = update_open, .add = update_add, .held = update_held, .finish = update_finish, .close = update_close};
