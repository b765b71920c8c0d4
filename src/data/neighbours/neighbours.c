/* Nearest rows (neighbours.h). */
#include "data/neighbours/neighbours.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped.h"
#include "base/memory.h"
#include "base/threads.h"
#include "data/neighbours/near_list.h"
#include "data/partition/distance.h"
#include "linalg/linalg.h"

enum { TREE_INPUTS = 10, QUERIES = 64, ROWS = 512 }; /* a tile of distances stays in the second-level cache */
static const double SLACK =
    1e-9; /* of |x|^2 + |z|^2: a distance from a product is within that of the one from differences */

static bool has_tree(const near_search *s) { return near_metric_is_euclidean(&s->by) && s->D <= TREE_INPUTS; }

anygp_status near_search_open(int64_t n, int64_t D, const double *X, const near_metric *by, near_search *s,
                              anygp_error *e)
{
    *s = (near_search){.n = n, .D = D, .X = X};
    if (by) s->by = *by;
    return has_tree(s) ? kd_tree_open(n, D, X, &s->tree, e) : ANYGP_OK;
}

void near_search_clear(near_search *s)
{
    kd_tree_clear(&s->tree);
    *s = (near_search){0};
}

/* ------------------------------------------------------------------------------------------ tiles */

/* A thread's room: distances of a tile, squares of its rows and queries, lists. */
typedef struct tile_room {
    double tile[ROWS * QUERIES], square[ROWS], own[QUERIES];
} tile_room;

static int64_t limit_of(const near_search *s, const int64_t *before, int64_t i)
{
    return before && before[i] < s->n ? before[i] : s->n;
}

/* Queries i .. i + m - 1 against rows first .. first + n - 1, by a metric of the caller's.  False: no memory. */
static bool offer_by_metric(const near_search *s, int64_t i, int64_t m, const double *x, const int64_t *before,
                            int64_t first, int64_t n, near_list *found, tile_room *r)
{
    const double *Z = s->X + first * s->D;
    if (!s->by.tile(s->by.ctx, n, Z, m, x, r->tile, ROWS)) return false;
    for (int64_t q = 0; q < m; q++) {
        int64_t end = limit_of(s, before, i + q) - first;
        for (int64_t j = 0; j < n && j < end; j++) {
            if (r->tile[j + q * ROWS] - s->by.slack > near_list_worst(&found[q])) continue;
            near_list_offer(&found[q], (int32_t)(first + j), s->by.distance(s->by.ctx, Z + j * s->D, x + q * s->D));
        }
    }
    return true;
}

/* The same in Euclidean distance: products choose, differences decide. */
static bool offer_by_products(const near_search *s, int64_t i, int64_t m, const double *x, const int64_t *before,
                              int64_t first, int64_t n, near_list *found, tile_room *r)
{
    const double *Z = s->X + first * s->D;
    la_gemm(LA_T, LA_N, n, m, s->D, -2, Z, s->D, x, s->D, 0, r->tile, ROWS);
    for (int64_t j = 0; j < n; j++) r->square[j] = la_dot(s->D, Z + j * s->D, Z + j * s->D);
    for (int64_t q = 0; q < m; q++) {
        int64_t end = limit_of(s, before, i + q) - first;
        for (int64_t j = 0; j < n && j < end; j++) {
            double size = r->square[j] + r->own[q];
            if (r->tile[j + q * ROWS] + size * (1 - SLACK) > near_list_worst(&found[q])) continue;
            near_list_offer(&found[q], (int32_t)(first + j), row_distance(s->D, x + q * s->D, Z + j * s->D));
        }
    }
    return true;
}

/* Lists of the queries i .. i + m - 1.  False: no memory. */
static bool find_some(const near_search *s, int64_t i, int64_t m, const double *x, const int64_t *before, int64_t k,
                      int32_t *rows, double *distance, int32_t *count, tile_room *r)
{
    near_list found[QUERIES];
    int64_t end = 0;
    bool ok = true, euclidean = near_metric_is_euclidean(&s->by);
    for (int64_t q = 0; q < m; q++) {
        const double *at = x + q * s->D;
        found[q] = (near_list){.k = k, .row = rows + q * k, .distance = distance + q * k};
        r->own[q] = la_dot(s->D, at, at);
        if (limit_of(s, before, i + q) > end) end = limit_of(s, before, i + q);
    }
    for (int64_t first = 0; ok && first < end; first += ROWS)
        ok = (euclidean ? offer_by_products : offer_by_metric)(s, i, m, x, before, first,
                                                               end - first < ROWS ? end - first : ROWS, found, r);
    for (int64_t q = 0; q < m; q++) near_list_finish(&found[q]), count[q] = (int32_t)found[q].count;
    return ok;
}

/* ----------------------------------------------------------------------------------------- all */

anygp_status near_search_find_along(const near_search *s, int64_t m, const double *x, const int64_t *before, int64_t k,
                                    const int32_t *walk, stop_watch *stop, int32_t *rows, int32_t *count,
                                    anygp_error *e)
{
    int threads = threads_max();
    bool ok = true, tree = has_tree(s), ended = false;
    la_serial_begin(threads);
#pragma omp parallel num_threads(threads) if (threads > 1 && m > 1) reduction(&& : ok) reduction(|| : ended)
    {
        double *distance = mem_doubles(QUERIES, k);
        tile_room *room = tree ? NULL : malloc(sizeof *room);
        ok = distance && (tree || room);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < m; i += QUERIES) {
            int64_t some = m - i < QUERIES ? m - i : QUERIES;
            ended = ended || stop_heard(stop);
            if (!ok || ended) continue;
            if (!tree) ok = find_some(s, i, some, x + i * s->D, before, k, rows + i * k, distance, count + i, room);
            for (int64_t j = i; tree && j < i + some; j++) {
                int64_t q = walk ? walk[j] : j;
                count[q] =
                    (int32_t)kd_tree_nearest(&s->tree, x + q * s->D, limit_of(s, before, q), k, rows + q * k, distance);
            }
        }
        free(distance);
        free(room);
    }
    la_serial_end(threads);
    if (ended) return fail_stopped(e);
    return ok ? ANYGP_OK : fail_memory(e, "the nearest rows", 0);
}

anygp_status near_search_find(const near_search *s, int64_t m, const double *x, const int64_t *before, int64_t k,
                              int32_t *rows, int32_t *count, anygp_error *e)
{
    return near_search_find_along(s, m, x, before, k, NULL, NULL, rows, count, e);
}

void near_rows_clear(near_rows *l)
{
    mapped_free(l->row);
    free(l->count);
    free(l->walk);
    *l = (near_rows){0};
}

/* Room for n lists of k rows. */
static anygp_status lists_open(int64_t n, int64_t k, near_rows *out, anygp_error *e)
{
    *out = (near_rows){.n = n, .k = k, .on_disk = out->on_disk, .stop = out->stop};
    TRY(mapped_alloc(out->on_disk, n, (size_t)k * sizeof *out->row, "the nearest rows", (void **)&out->row, e));
    if ((out->count = mem_alloc(n, sizeof *out->count))) return ANYGP_OK;
    return fail_memory(e, "the nearest rows", 4.0 * (double)n);
}

/* The rows leaf after leaf, where there is a tree. */
static anygp_status take_walk(const near_search *s, near_rows *out, anygp_error *e)
{
    if (!has_tree(s)) return ANYGP_OK;
    if (!(out->walk = mem_alloc(s->n, sizeof *out->walk)))
        return fail_memory(e, "the nearest rows", 4.0 * (double)s->n);
    for (int64_t i = 0; i < s->n; i++) out->walk[i] = (int32_t)s->tree.row[i];
    return ANYGP_OK;
}

/* Of a walk through all rows the steps to first .. end - 1, numbered from there; NULL: no walk, or no memory. */
static int32_t *part_of_walk(const near_rows *l, int64_t first, int64_t end)
{
    int32_t *part = l->walk ? mem_alloc(end - first, sizeof *part) : NULL;
    for (int64_t i = 0, at = 0; part && i < l->n; i++)
        if (l->walk[i] >= first && l->walk[i] < end) part[at++] = l->walk[i] - (int32_t)first;
    return part;
}

/* Lists of the rows that are this rank's share. */
static anygp_status find_share(int64_t n, int64_t D, const double *X, const near_metric *by, int64_t k, const comm *c,
                               near_rows *out, anygp_error *e)
{
    near_search s = {0};
    int64_t *before = mem_alloc(n, sizeof *before), first = n * c->rank / c->size, end = n * (c->rank + 1) / c->size;
    int32_t *walk = NULL;
    anygp_status status = lists_open(n, k, out, e);
    if (!ANYGP_FAILED(status) && !before) status = fail_memory(e, "the nearest rows", 8.0 * (double)n);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < n; i++) before[i] = i;
    if (!ANYGP_FAILED(status)) status = near_search_open(n, D, X, by, &s, e);
    if (!ANYGP_FAILED(status)) status = take_walk(&s, out, e);
    if (!ANYGP_FAILED(status)) {
        walk = part_of_walk(out, first, end);
        status = near_search_find_along(&s, end - first, X + first * D, before + first, k, walk, out->stop,
                                        out->row + first * k, out->count + first, e);
    }
    near_search_clear(&s);
    free(walk);
    free(before);
    return status;
}

/* Those of the others. */
static anygp_status share_lists(const comm *c, near_rows *l, anygp_error *e)
{
    for (int r = 0; c->size > 1 && r < c->size; r++) {
        int64_t first = l->n * r / c->size, some = l->n * (r + 1) / c->size - first;
        TRY(c->broadcast(c->ctx, r, some * l->k * (int64_t)sizeof *l->row, l->row + first * l->k, e));
        TRY(c->broadcast(c->ctx, r, some * (int64_t)sizeof *l->count, l->count + first, e));
    }
    return ANYGP_OK;
}

static anygp_status find_earlier(int64_t n, int64_t D, const double *X, const near_metric *by, int64_t k, const comm *c,
                                 near_rows *out, anygp_error *e)
{
    anygp_status status = find_share(n, D, X, by, k, c, out, e);
    if (!ANYGP_FAILED(status)) status = share_lists(c, out, e);
    if (ANYGP_FAILED(status)) near_rows_clear(out);
    return status;
}

anygp_status neighbours_earlier(int64_t n, int64_t D, const double *X, const near_metric *by, int64_t k, near_rows *out,
                                anygp_error *e)
{
    *out = (near_rows){0};
    return find_earlier(n, D, X, by, k, comm_self(), out, e);
}

anygp_status neighbours_in_order(int64_t n, int64_t D, const double *X, const near_metric *by, const int64_t *order,
                                 int64_t k, const comm *c, near_rows *out, anygp_error *e)
{
    double *sorted = mem_doubles(n, D);
    if (!sorted) return fail_memory(e, "the order of the rows", 8.0 * (double)n * (double)D);
    for (int64_t i = 0; i < n; i++) memcpy(sorted + i * D, X + order[i] * D, (size_t)D * sizeof *sorted);
    anygp_status status = find_earlier(n, D, sorted, by, k, c, out, e);
    free(sorted);
    return status;
}

/* Of the k + 1 nearest, found[], those that are not row i itself, which may be among equal ones anywhere, or not at all. */
static int32_t without(int64_t i, int64_t k, const int32_t *found, int32_t count, int32_t *rows)
{
    int32_t kept = 0;
    for (int32_t j = 0; j < count && kept < k; j++)
        if (found[j] != i) rows[kept++] = found[j];
    return kept;
}

static double *copy_rows(int64_t D, const double *X, int64_t m, const int64_t *which)
{
    double *rows = mem_doubles(m, D);
    for (int64_t i = 0; rows && i < m; i++)
        memcpy(rows + i * D, X + (which ? which[i] : i) * D, (size_t)D * sizeof *rows);
    return rows;
}

/* Lists of the queries that are this rank's share; k + 1 numbers for each are room. */
static anygp_status find_others(const near_search *s, const double *rows, const int64_t *which, const comm *c,
                                int32_t *found, near_rows *out, anygp_error *e)
{
    int64_t first = out->n * c->rank / c->size, end = out->n * (c->rank + 1) / c->size, k = out->k;
    int32_t *walk = NULL;
    if (!which) {
        TRY(take_walk(s, out, e));
        walk = part_of_walk(out, first, end);
    }
    anygp_status status = near_search_find_along(s, end - first, rows + first * s->D, NULL, k + 1, walk, out->stop,
                                                 found + first * (k + 1), out->count + first, e);
    free(walk);
    if (ANYGP_FAILED(status)) return status;
    for (int64_t i = first; i < end; i++)
        out->count[i] = without(which ? which[i] : i, k, found + i * (k + 1), out->count[i], out->row + i * k);
    return share_lists(c, out, e);
}

anygp_status neighbours_other(int64_t n, int64_t D, const double *X, const near_metric *by, int64_t m,
                              const int64_t *which, int64_t k, const comm *c, near_rows *out, anygp_error *e)
{
    near_search s = {0};
    double *rows = copy_rows(D, X, m, which);
    void *found = NULL;
    anygp_status status = lists_open(m, k, out, e);
    if (!ANYGP_FAILED(status) && !rows) status = fail_memory(e, "the nearest rows", 8.0 * (double)m * (double)D);
    if (!ANYGP_FAILED(status))
        status = mapped_alloc(out->on_disk, m, (size_t)(k + 1) * sizeof *out->row, "the nearest rows", &found, e);
    if (!ANYGP_FAILED(status)) status = near_search_open(n, D, X, by, &s, e);
    if (!ANYGP_FAILED(status)) status = find_others(&s, rows, which, c, found, out, e);
    near_search_clear(&s);
    mapped_free(found);
    free(rows);
    if (ANYGP_FAILED(status)) near_rows_clear(out);
    return status;
}
