/* Orders of rows (order.h). */
#include "data/neighbours/order.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/sort.h"
#include "data/neighbours/kd_tree.h"
#include "data/partition/distance.h"

/* ---------------------------------------------------------------------------------------- maximin */

/* The rows that have not come yet, and how far each is from those that have: a tournament in the nodes of the tree. */
typedef struct race {
    kd_tree t;
    double *distance; /* n, by place in the tree: from the nearest that has come; below 0: it has come itself */
    double *most;     /* for each node: the largest of them */
    int64_t *place;   /* and where it is; of equal ones the row with the lowest number */
} race;

static bool wins(const race *r, double distance, int64_t place, double other, int64_t than)
{
    return distance > other || (distance == other && than >= 0 && r->t.row[place] < r->t.row[than]);
}

static void crown_leaf(race *r, int64_t node)
{
    int64_t leaf = node - r->t.leaves;
    r->most[node] = -1, r->place[node] = -1;
    for (int64_t i = r->t.start[leaf]; i < r->t.start[leaf + 1]; i++)
        if (r->distance[i] >= 0 && wins(r, r->distance[i], i, r->most[node], r->place[node]))
            r->most[node] = r->distance[i], r->place[node] = i;
}

static void crown(race *r, int64_t node)
{
    int64_t a = 2 * node, b = a + 1;
    int64_t best =
        r->place[a] < 0 || (r->place[b] >= 0 && wins(r, r->most[b], r->place[b], r->most[a], r->place[a])) ? b : a;
    r->most[node] = r->most[best], r->place[node] = r->place[best];
}

/* The row at x has come: distances under this node, but where none can be shorter. */
static void come(race *r, int64_t node, const double *x)
{
    const kd_tree *t = &r->t;
    if (r->place[node] < 0 || (r->most[node] > 0 && kd_box_distance(t, node, x) >= r->most[node])) return;
    if (r->most[node] == 0) return;
    if (node < t->leaves) {
        come(r, 2 * node, x);
        come(r, 2 * node + 1, x);
        crown(r, node);
        return;
    }
    int64_t leaf = node - t->leaves;
    for (int64_t i = t->start[leaf]; i < t->start[leaf + 1]; i++)
        if (r->distance[i] > 0) r->distance[i] = fmin(r->distance[i], row_distance(t->D, x, t->X + i * t->D));
    crown_leaf(r, node);
}

/* The row at this place has come: it is out of the race. */
static void leave(race *r, int64_t place)
{
    int64_t low = 0, high = r->t.leaves;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(r->t.start[middle] <= place ? &low : &high) = middle;
    }
    r->distance[place] = -1;
    crown_leaf(r, r->t.leaves + low);
    for (int64_t node = (r->t.leaves + low) / 2; node >= 1; node /= 2) crown(r, node);
}

static anygp_status race_open(int64_t n, int64_t D, const double *X, race *r, anygp_error *e)
{
    TRY(kd_tree_open(n, D, X, &r->t, e));
    r->distance = mem_alloc(n, sizeof *r->distance);
    r->most = mem_alloc(2 * r->t.leaves, sizeof *r->most);
    r->place = mem_alloc(2 * r->t.leaves, sizeof *r->place);
    if (!r->distance || !r->most || !r->place) return fail_memory(e, "the order of the rows", 24.0 * (double)n);
    for (int64_t i = 0; i < n; i++) r->distance[i] = INFINITY;
    for (int64_t node = 2 * r->t.leaves - 1; node >= 1; node--)
        node >= r->t.leaves ? crown_leaf(r, node) : crown(r, node);
    return ANYGP_OK;
}

static void race_clear(race *r)
{
    kd_tree_clear(&r->t);
    free(r->distance);
    free(r->most);
    free(r->place);
}

/* The place of the row nearest to the mean of all, in Euclidean distance; of equal ones that of the lowest number[n] (NULL: its place). */
static anygp_status central(int64_t n, int64_t D, const double *X, const int64_t *number, int64_t *place,
                            anygp_error *e)
{
    int64_t best = -1;
    double least = INFINITY, *mean = mem_zeroed(D, sizeof *mean);
    if (!mean) return fail_memory(e, "the order of the rows", 8.0 * (double)D);
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < D; d++) mean[d] += X[i * D + d] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double from = row_distance(D, mean, X + i * D);
        if (best < 0 || from < least || (from == least && number && number[i] < number[best])) best = i, least = from;
    }
    free(mean);
    *place = best;
    return ANYGP_OK;
}

/* Asked after every 1024 rows. */
static bool ended(int64_t i, stop_watch *stop) { return i % 1024 == 1023 && stop_heard(stop); }

static anygp_status maximin_by_tree(int64_t n, int64_t D, const double *X, stop_watch *stop, int64_t *order,
                                    anygp_error *e)
{
    race r = {0};
    int64_t place = -1;
    anygp_status status = race_open(n, D, X, &r, e);
    if (!ANYGP_FAILED(status) && n > 0) status = central(n, D, r.t.X, r.t.row, &place, e);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < n; i++) {
        order[i] = r.t.row[place];
        leave(&r, place);
        come(&r, 1, r.t.X + place * D);
        place = r.place[1];
        if (ended(i, stop)) status = fail_stopped(e);
    }
    race_clear(&r);
    return status;
}

/* The row has come: how far the others are from all that have; below 0: they have come themselves.  Returns the next one, or -1 where there
   is no memory. */
static int64_t come_by_metric(int64_t n, int64_t D, const double *X, const near_metric *by, int64_t row, double *from)
{
    enum { ROWS = 1024 };
    double tile[ROWS];
    int64_t next = 0;
    from[row] = -1;
    for (int64_t first = 0; first < n; first += ROWS) {
        int64_t some = n - first < ROWS ? n - first : ROWS;
        if (!by->tile(by->ctx, some, X + first * D, 1, X + row * D, tile, ROWS)) return -1;
        for (int64_t j = 0; j < some; j++) {
            double *at = from + first + j;
            *at = fmin(*at, tile[j]);
            if (*at > from[next]) next = first + j;
        }
    }
    return next;
}

static anygp_status maximin_by_metric(int64_t n, int64_t D, const double *X, const near_metric *by, stop_watch *stop,
                                      int64_t *order, anygp_error *e)
{
    int64_t row = 0;
    double *from = mem_alloc(n, sizeof *from);
    anygp_status status = from ? ANYGP_OK : fail_memory(e, "the order of the rows", 8.0 * (double)n);
    if (!ANYGP_FAILED(status)) status = central(n, D, X, NULL, &row, e);
    for (int64_t i = 0; from && i < n; i++) from[i] = INFINITY;
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < n; i++) {
        order[i] = row;
        row = come_by_metric(n, D, X, by, row, from);
        if (row < 0) status = fail_memory(e, "kernel tiles", 0);
        if (ended(i, stop)) status = fail_stopped(e);
    }
    free(from);
    return status;
}

anygp_status order_maximin(int64_t n, int64_t D, const double *X, const near_metric *by, stop_watch *stop,
                           int64_t *order, anygp_error *e)
{
    return near_metric_is_euclidean(by) ? maximin_by_tree(n, D, X, stop, order, e)
                                        : maximin_by_metric(n, D, X, by, stop, order, e);
}

/* ---------------------------------------------------------------------------------------- others */

void order_random(int64_t n, uint64_t seed, int64_t *order)
{
    random_permutation((random_stream){seed, RANDOM_ORDER, 0}, n, order);
}

typedef struct keyed_row {
    double key;
    int64_t row;
} keyed_row;

static int by_key(const void *a, const void *b)
{
    int way = by_double(a, b);
    int64_t x = ((const keyed_row *)a)->row, y = ((const keyed_row *)b)->row;
    return way ? way : (x > y) - (x < y);
}

anygp_status order_coordinate(int64_t n, int64_t D, const double *X, int64_t *order, anygp_error *e)
{
    keyed_row *rows = mem_alloc(n, sizeof *rows);
    if (!rows) return fail_memory(e, "the order of the rows", 16.0 * (double)n);
    for (int64_t i = 0; i < n; i++) {
        rows[i] = (keyed_row){0, i};
        for (int64_t d = 0; d < D; d++) rows[i].key += X[i * D + d];
    }
    qsort(rows, (size_t)n, sizeof *rows, by_key);
    for (int64_t i = 0; i < n; i++) order[i] = rows[i].row;
    free(rows);
    return ANYGP_OK;
}

static bool is_number(int64_t D, const double *x)
{
    bool number = true;
    for (int64_t d = 0; d < D; d++) number = number && isfinite(x[d]);
    return number;
}

/* Of those that are left, place i and after it: the one nearest to x, or farthest from it, comes to place i. */
static void draw_next(int64_t n, int64_t D, const double *X, const double *x, bool farthest, int64_t i, int64_t *order)
{
    int64_t best = -1;
    double least = INFINITY;
    for (int64_t k = i; k < n; k++) {
        const double *z = X + order[k] * D;
        double from = is_number(D, z) ? row_distance(D, x, z) : INFINITY;
        if (farthest && isfinite(from)) from = -from;
        if (best < 0 || from < least || (from == least && order[k] < order[best])) best = k, least = from;
    }
    int64_t row = order[best];
    order[best] = order[i], order[i] = row;
}

anygp_status order_path(int64_t n, int64_t D, const double *X, int64_t *order, anygp_error *e)
{
    int64_t numbers = 0;
    double *centre = mem_zeroed(D, sizeof *centre);
    if (!centre) return fail_memory(e, "the order of the rows", 8.0 * (double)D);
    for (int64_t i = 0; i < n; i++) order[i] = i, numbers += is_number(D, X + i * D);
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; is_number(D, X + i * D) && d < D; d++) centre[d] += X[i * D + d] / (double)numbers;
    for (int64_t i = 0; i < n; i++) draw_next(n, D, X, i ? X + order[i - 1] * D : centre, i == 0, i, order);
    free(centre);
    return ANYGP_OK;
}
