/* Vecchia's approximation: the rows in their order, and the groups with the rows that each is given (vecchia.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "data/neighbours/groups.h"
#include "data/neighbours/order.h"
#include "data/partition/select.h"
#include "model/local/vecchia_state.h"

enum { LEARNED_LEAST = 8000 }; /* rows that are learned from, however little time there is */

void arrangement_clear(arrangement *a)
{
    driver_close(a->driver);
    blocks_free(a->blocks);
    row_groups_clear(&a->groups);
    free(a->X);
    free(a->y);
    free(a->w);
    *a = (arrangement){0};
}

/* Who may end an order and a search: the caller of the run, unless other processes would wait for it, or these rows are learned from in
   any case. */
static stop_watch *may_stop(const vecchia_state *q)
{
    const problem *p = q->problem;
    bool may = p->pass && p->comm->size == 1 && !p->near.given && q->learned->n > LEARNED_LEAST;
    return may ? p->pass->stop : NULL;
}

static anygp_status order_rows(const vecchia_state *q, int64_t n, int64_t d, const double *places,
                               const near_metric *by, int64_t *order, anygp_error *e)
{
    const int64_t *given = q->problem->near.given;
    if (q->ordered && !given) return vecchia_order(q->problem, n, d, places, by, may_stop(q), order, e);
    for (int64_t i = 0; i < n; i++) order[i] = q->ordered ? given[i] : i;
    return ANYGP_OK;
}

/* The rows that have an order, or all those that a list may have. */
static const merged *arranged_rows(const vecchia_state *q) { return q->ordered ? q->learned : q->problem->rows; }

/* In this order. */
static anygp_status take_rows(const merged *m, const int64_t *order, arrangement *a, anygp_error *e)
{
    a->X = mem_doubles(m->n, m->D), a->y = mem_alloc(m->n, sizeof *a->y), a->w = mem_alloc(m->n, sizeof *a->w);
    if (!a->X || !a->y || !a->w) return fail_memory(e, "the rows", 8.0 * (double)m->n * (double)(m->D + 2));
    for (int64_t i = 0; i < m->n; i++) {
        memcpy(a->X + i * m->D, m->X + order[i] * m->D, (size_t)m->D * sizeof(double));
        a->y[i] = m->y[order[i]], a->w[i] = m->c[order[i]];
    }
    return ANYGP_OK;
}

/* The rows of a group are near each other.  Stored along the walk of the tree they stand together in memory too, where their order would
   have scattered them: `order` becomes the rows as they are stored, and groups name their rows by these places. */
static anygp_status store_together(const int32_t *walk, int64_t n, int64_t *order, row_groups *groups, anygp_error *e)
{
    int32_t *place = mem_alloc(n, sizeof *place);
    int64_t *stored = mem_alloc(n, sizeof *stored);
    bool ok = place && stored;
    for (int64_t i = 0; ok && i < n; i++) place[walk[i]] = (int32_t)i, stored[i] = order[walk[i]];
    for (int64_t i = 0; ok && i < groups->start[groups->count]; i++) groups->row[i] = place[groups->row[i]];
    if (ok) memcpy(order, stored, (size_t)n * sizeof *order);
    free(place);
    free(stored);
    return ok ? ANYGP_OK : fail_memory(e, "the order of the rows", 12.0 * (double)n);
}

static anygp_status group_rows(const vecchia_state *q, int64_t d, const double *places, const near_metric *by,
                               int64_t *order, row_groups *groups, anygp_error *e)
{
    const problem *p = q->problem;
    int64_t n = arranged_rows(q)->n;
    near_rows near = {.on_disk = p->on_disk, .stop = may_stop(q)};
    TRY(q->ordered ? neighbours_in_order(n, d, places, by, order, q->near, p->comm, &near, e)
                   : neighbours_other(n, d, places, by, q->learned->n, q->chosen, q->near, p->comm, &near, e));
    bool apart = p->near.apart || !q->ordered;
    anygp_status status =
        apart ? groups_single(&near, q->ordered ? NULL : q->chosen, groups, e) : groups_joined(&near, groups, e);
    if (!ANYGP_FAILED(status) && q->ordered && near.walk) status = store_together(near.walk, n, order, groups, e);
    near_rows_clear(&near);
    return status;
}

/* Where memory is short: the blocks, each with the rows that are given to it, instead of rows and lists. */
static anygp_status leave_on_disk(arrangement *a, anygp_error *e)
{
    row_blocks *blocks = NULL;
    TRY(blocks_to_disk(a->blocks, &blocks, e));
    arrangement_clear(a);
    a->blocks = blocks;
    return ANYGP_OK;
}

static const block_model *block_model_of(const vecchia_state *q, const kernel *k)
{
    bool lanes = q->s.M == 0 && kernel_has_lanes(k), at_once = q->s.Mt == 0;
    if (lanes) return at_once ? &sparse_lanes_at_once : &sparse_lanes;
    return at_once ? &sparse_given_at_once : &sparse_given;
}

static anygp_status arrange(const vecchia_state *q, const kernel *k, arrangement *a, anygp_error *e)
{
    const problem *p = q->problem;
    const merged *m = arranged_rows(q);
    int64_t d, *order = mem_alloc(m->n, sizeof *order);
    near_metric by = vecchia_metric(k, m->n);
    double *places = vecchia_places(k, m->n, m->D, m->X, &d);
    anygp_status status = order && places ? ANYGP_OK : fail_memory(e, "the order of the rows", 8.0 * (double)m->n);
    if (!ANYGP_FAILED(status)) status = order_rows(q, m->n, d, places, &by, order, e);
    if (!ANYGP_FAILED(status)) status = group_rows(q, d, places, &by, order, &a->groups, e);
    free(places);
    if (!ANYGP_FAILED(status)) status = take_rows(m, order, a, e);
    free(order);
    if (!ANYGP_FAILED(status)) status = blocks_of_groups(&a->groups, m->n, m->D, a->X, a->y, a->w, &a->blocks, e);
    if (!ANYGP_FAILED(status) && p->on_disk) status = leave_on_disk(a, e);
    if (!ANYGP_FAILED(status)) status = driver_open(block_model_of(q, k), a->blocks, p->comm, p->keep, &a->driver, e);
    if (ANYGP_FAILED(status)) arrangement_clear(a);
    return status;
}

/* ------------------------------------------------------------------------------------ which rows */

/* With a time limit, no more than can be arranged in a small share of it, since evaluations take longer: they learn, and predictions rest
   on all rows in any case. */
static anygp_status rows_in_time(vecchia_state *q, const kernel *k, int64_t *most, anygp_error *e)
{
    static const double SHARE = 0.06;
    int64_t rows, all = q->problem->rows->n;
    TRY(vecchia_rows_in_time(q->problem, q->problem->rows, k, q->near, SHARE, LEARNED_LEAST, &rows, e));
    if (rows < all && rows < *most)
        snprintf(q->remark, sizeof q->remark,
                 "there was time to learn from %lld of the %lld distinct rows only; predictions rest on all of them; "
                 "give it more --time to learn from more",
                 (long long)rows, (long long)all);
    if (rows < *most) *most = rows;
    return ANYGP_OK;
}

/* All rows, or this many of them at random. */
static anygp_status choose_rows(vecchia_state *q, int64_t most, anygp_error *e)
{
    const merged *m = q->problem->rows;
    q->learned = m;
    if (m->n <= most) return ANYGP_OK;
    if (!(q->chosen = mem_alloc(most, sizeof *q->chosen))) return fail_memory(e, "the rows", 8.0 * (double)most);
    TRY(merged_select(m, select_random(m->n, most, q->problem->seed, q->chosen), q->chosen, &q->some, e));
    q->learned = &q->some;
    return ANYGP_OK;
}

anygp_status vecchia_choose_rows(vecchia_state *q, const kernel *k, int64_t most, anygp_error *e)
{
    TRY(rows_in_time(q, k, &most, e));
    return choose_rows(q, most, e);
}

/* A caller who does not wait for all rows to be arranged gets the model that learns from a few of them. */
anygp_status vecchia_arrange(vecchia_state *q, const kernel *k, anygp_error *e)
{
    double began = clock_seconds();
    anygp_status status = arrange(q, k, &q->a, e);
    if (status == ANYGP_ERR_STOPPED) {
        free(q->chosen);
        merged_clear(&q->some);
        q->chosen = NULL;
        TRY(choose_rows(q, LEARNED_LEAST, e));
        q->s.total = q->learned->total;
        snprintf(q->remark, sizeof q->remark,
                 "stopped while rows were put in order; the model has learned from at most %d of the %lld distinct "
                 "rows, and predictions rest on all of them",
                 (int)LEARNED_LEAST, (long long)q->problem->rows->n);
        status = arrange(q, k, &q->a, e);
    }
    q->arranging = clock_seconds() - began;
    return status;
}

/* ----------------------------------------------------------------------------------------- again */

/* Whether there is time for another arrangement, and for an evaluation of it; rank 0 says so. */
static anygp_status has_time(const vecchia_state *q, bool *has, anygp_error *e)
{
    const comm *c = q->problem->comm;
    double says = deadline_fits(q->problem->pass, 3 * q->arranging);
    if (c->size > 1) TRY(c->broadcast(c->ctx, 0, sizeof says, &says, e));
    *has = says > 0;
    return ANYGP_OK;
}

/* Nearness again where it has changed: the objective is then another one. */
anygp_status vecchia_renew(void *state, const hyper *h, double moved, bool *renewed, anygp_error *e)
{
    vecchia_state *q = state;
    int64_t count = vecchia_mark_count(h->kernel);
    arrangement a = {0};
    bool has;
    *renewed = false;
    TRY(has_time(q, &has, e));
    if (!has) return ANYGP_OK;
    double *now = mem_alloc(count, sizeof *now);
    if (!now) return fail_memory(e, "the length-scales", 8.0 * (double)count);
    vecchia_marks(h->kernel, now);
    *renewed = vecchia_moved_apart(count, q->marks, now, moved);
    anygp_status status = *renewed ? arrange(q, h->kernel, &a, e) : ANYGP_OK;
    if (status == ANYGP_ERR_STOPPED) *renewed = false, status = ANYGP_OK; /* the run hears it itself */
    if (*renewed && !ANYGP_FAILED(status)) {
        arrangement_clear(&q->a);
        q->a = a;
        memcpy(q->marks, now, (size_t)count * sizeof *now);
    }
    free(now);
    return status;
}
