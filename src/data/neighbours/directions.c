/* Neighbours on all sides (neighbours.h).  A row in a wide gap has all its nearest rows on one side, close together, and they tell it
   little more than a few of them would.  It is in a gap where its nearest row is not much nearer than its k-th, and the deeper in it the more
   rows it needs: see near_gaps.  Its list is made of the rows nearest in each of the 2^D orthants around it: first some of the nearest,
   then, from the nearest to the farthest, each that is farther from those taken than NEAR_WIDE times its distance, so that the farther
   they are the wider they lie; what room is left is for the nearest of the others.

   Sides and distances are not those of the row itself but of the middle of its cell: a cube of the grid, through 0, whose sides are the
   largest power of two below NEAR_CELL times the distance of its nearest row.  So rows of a cell, if their lists are of one length, have
   one list, which is made once, and whoever predicts them can factor one matrix for all; and a list depends on no other row to predict.

   Cost of a list of m: 2^D searches, and (2^D + 1) m^2 / 2 distances. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "data/neighbours/neighbours.h"
#include "data/partition/distance.h"

enum { NEAREST_SHARE = 4, LIST_LEAST = 12 }; /* a quarter of a list is the nearest rows in any case */

const double near_gaps[NEAR_GAPS][2] = {{0.5, NEAR_GAP}, {0.35, NEAR_GAP / 2}, {0.25, NEAR_GAP / 4}};

typedef struct candidate {
    double distance; /* squared, as below */
    int32_t row;
    bool taken;
} candidate;

static int nearer(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* A thread's room: candidates of all directions, and lists of one. */
typedef struct direction_room {
    candidate *all;
    int32_t *row;
    double *distance;
} direction_room;

static double apart(const near_search *s, const double *x, int32_t row)
{
    return row_distance(s->D, x, s->X + row * s->D);
}

/* Of each direction half as many as the list is to have: two directions at least have rows, or there are few. */
static int64_t find_candidates(const near_search *s, const double *x, int64_t most, const direction_room *r)
{
    int64_t n = 0, each = most / 2;
    for (unsigned way = 0; way < 1u << s->D; way++) {
        int64_t some = kd_tree_nearest_towards(&s->tree, x, way, each, r->row, r->distance);
        for (int64_t j = 0; j < some; j++) r->all[n++] = (candidate){r->distance[j], r->row[j], false};
    }
    qsort(r->all, (size_t)n, sizeof *r->all, nearer);
    return n;
}

static bool lies_wide(const near_search *s, const candidate *c, int64_t count, const int32_t *rows)
{
    const double *z = s->X + c->row * s->D;
    for (int64_t j = count - 1; j >= 0; j--)
        if (apart(s, z, rows[j]) <= NEAR_WIDE * NEAR_WIDE * c->distance) return false;
    return true;
}

/* Rows of the list at x, at most `most`; k: it is in no gap. */
static int64_t list_length(const near_search *s, const double *x, int64_t k, int64_t most, const int32_t *rows)
{
    double nearest = apart(s, x, rows[0]), last = apart(s, x, rows[k - 1]);
    for (int i = 0; i < NEAR_GAPS; i++) {
        int64_t length = (int64_t)near_gaps[i][1] * k;
        if (nearest > near_gaps[i][0] * near_gaps[i][0] * last) return length < most ? length : most;
    }
    return k;
}

/* The list of all rows of a cell, of one length. */
typedef struct gap {
    int64_t length;
    double side, cell[NEAR_SIDED];
    int64_t row; /* to predict */
} gap;

static int by_cell(const void *a, const void *b)
{
    const gap *x = a, *y = b;
    if (x->length != y->length) return (x->length > y->length) - (x->length < y->length);
    if (x->side != y->side) return x->side < y->side ? -1 : 1;
    for (int d = 0; d < NEAR_SIDED; d++)
        if (x->cell[d] != y->cell[d]) return x->cell[d] < y->cell[d] ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool same_list(const gap *x, const gap *y)
{
    bool same = x->length == y->length && x->side == y->side;
    for (int d = 0; d < NEAR_SIDED; d++) same = same && x->cell[d] == y->cell[d];
    return same;
}

static gap gap_of(const near_search *s, const double *x, int64_t length, int32_t nearest, int64_t row)
{
    gap g = {.length = length, .row = row};
    int exponent;
    frexp(NEAR_CELL * sqrt(apart(s, x, nearest)), &exponent);
    g.side = ldexp(1, exponent - 1);
    for (int64_t d = 0; d < s->D; d++) g.cell[d] = floor(x[d] / g.side);
    return g;
}

/* Returns how many rows the list has. */
static int32_t spread(const near_search *s, const gap *g, int32_t *rows, const direction_room *r)
{
    double x[NEAR_SIDED];
    int64_t most = g->length;
    for (int64_t d = 0; d < s->D; d++) x[d] = (g->cell[d] + 0.5) * g->side;
    int64_t n = find_candidates(s, x, most, r);
    int32_t count = 0;
    for (int64_t j = 0; j < n && count < most; j++)
        if (count < most / NEAREST_SHARE || lies_wide(s, &r->all[j], count, rows))
            rows[count++] = r->all[j].row, r->all[j].taken = true;
    for (int64_t j = 0; j < n && count < most; j++)
        if (!r->all[j].taken) rows[count++] = r->all[j].row;
    return count;
}

bool near_search_spreads(const near_search *s, int64_t k)
{
    return near_metric_is_euclidean(&s->by) && s->D >= 1 && s->D <= NEAR_SIDED && k >= LIST_LEAST && k < s->n;
}

/* Those of the rows that are in gaps, by their cells; returns how many. */
static int64_t find_gaps(const near_search *s, int64_t m, const double *x, int64_t k, int64_t most, const int32_t *rows,
                         const int32_t *count, gap *gaps)
{
    int64_t n = 0;
    for (int64_t i = 0; i < m; i++) {
        const double *at = x + i * s->D;
        int64_t length = count[i] == k ? list_length(s, at, k, most, rows + i * most) : k;
        if (length > k) gaps[n++] = gap_of(s, at, length, rows[i * most], i);
    }
    qsort(gaps, (size_t)n, sizeof *gaps, by_cell);
    return n;
}

/* The lists of the rows whose gaps are these, in the order of their cells: the first of a cell makes it, the others take it. */
static bool fill_gaps(const near_search *s, int64_t n, const gap *gaps, int64_t most, int32_t *rows, int32_t *count)
{
    int threads = threads_max();
    bool ok = true;
#pragma omp parallel num_threads(threads) if (threads > 1 && n > 1) reduction(&& : ok)
    {
        direction_room r = {mem_alloc(most << s->D, sizeof *r.all), mem_alloc(most, sizeof *r.row),
                            mem_alloc(most, sizeof *r.distance)};
        ok = r.all && r.row && r.distance;
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < n; i++)
            if (ok && (i == 0 || !same_list(&gaps[i - 1], &gaps[i])))
                count[gaps[i].row] = spread(s, &gaps[i], rows + gaps[i].row * most, &r);
        free(r.all);
        free(r.row);
        free(r.distance);
    }
    return ok;
}

anygp_status near_search_spread(const near_search *s, int64_t m, const double *x, int64_t k, int64_t most,
                                int32_t *rows, int32_t *count, int32_t *leader, anygp_error *e)
{
    for (int64_t i = m - 1; most > k && i > 0; i--) memmove(rows + i * most, rows + i * k, (size_t)k * sizeof *rows);
    for (int64_t i = 0; leader && i < m; i++) leader[i] = -1;
    if (!near_search_spreads(s, k)) return ANYGP_OK;
    gap *gaps = mem_alloc(m, sizeof *gaps);
    int64_t n = gaps ? find_gaps(s, m, x, k, most, rows, count, gaps) : 0;
    bool ok = gaps && fill_gaps(s, n, gaps, most, rows, count);
    for (int64_t i = 0, first = 0; ok && i < n; i++) {
        if (!same_list(&gaps[first], &gaps[i])) first = i;
        int64_t from = gaps[first].row, to = gaps[i].row;
        if (leader) leader[to] = (int32_t)from;
        if (from == to) continue;
        count[to] = count[from];
        if (!leader) memcpy(rows + to * most, rows + from * most, (size_t)count[from] * sizeof *rows);
    }
    free(gaps);
    return ok ? ANYGP_OK : fail_memory(e, "the nearest rows", 0);
}
