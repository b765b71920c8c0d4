/* A kd-tree over rows in an order (kd_tree.h): cut at the median of the widest input, down to leaves of a few rows. */
#include "data/neighbours/kd_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/threads.h"
#include "data/neighbours/near_list.h"
#include "data/partition/distance.h"

enum { MANY_ROWS = 20000 };               /* a subtree of more is worth a task of its own */
static const double ROUNDING = 1 + 1e-12; /* a box may hold a row that is as far away as the box, but for rounding */

void kd_tree_clear(kd_tree *t)
{
    free(t->start);
    free(t->X);
    free(t->row);
    free(t->box);
    free(t->lowest);
    *t = (kd_tree){0};
}

/* --------------------------------------------------------------------------------------- making it */

/* While it is made: the rows as the caller has them, and their numbers in the order of the leaves. */
typedef struct plan {
    kd_tree *t;
    const double *X;
    int64_t *row;
} plan;

static double cell(const plan *p, int64_t at, int64_t d) { return p->X[p->row[at] * p->t->D + d]; }

static void box_of(const plan *p, int64_t node, int64_t first, int64_t end)
{
    int64_t D = p->t->D;
    double *low = p->t->box + 2 * D * node, *high = low + D;
    for (int64_t d = 0; d < D; d++) low[d] = INFINITY, high[d] = -INFINITY;
    for (int64_t i = first; i < end; i++)
        for (int64_t d = 0; d < D; d++) {
            double x = cell(p, i, d);
            if (x < low[d]) low[d] = x;
            if (x > high[d]) high[d] = x;
        }
}

static int64_t widest_of(const kd_tree *t, int64_t node)
{
    const double *low = t->box + 2 * t->D * node, *high = low + t->D;
    int64_t widest = 0;
    for (int64_t d = 1; d < t->D; d++)
        if (high[d] - low[d] > high[widest] - low[widest]) widest = d;
    return widest;
}

/* Whether the row at place i comes before (x, number) along input d; equal ones by their number. */
static bool is_before(const plan *p, int64_t i, int64_t d, double x, int64_t number)
{
    double own = cell(p, i, d);
    return own < x || (own == x && p->row[i] < number);
}

/* Places first .. end - 1 so that those before `middle` are lower along d than it, and those after it higher. */
static void cut_at(const plan *p, int64_t first, int64_t end, int64_t middle, int64_t d)
{
    while (end - first > 1) {
        int64_t pivot = p->row[first + (end - first - 1) / 2], i = first - 1, j = end;
        double x = p->X[pivot * p->t->D + d];
        for (;;) {
            do i++;
            while (is_before(p, i, d, x, pivot));
            do j--;
            while (!is_before(p, j, d, x, pivot) && p->row[j] != pivot);
            if (i >= j) break;
            int64_t swap = p->row[i];
            p->row[i] = p->row[j], p->row[j] = swap;
        }
        if (middle <= j)
            end = j + 1;
        else
            first = j + 1;
    }
}

/* Subtrees of many rows are made side by side: the rows of one are no other's. */
static void make_node(const plan *p, int64_t node, int64_t first, int64_t end)
{
    kd_tree *t = p->t;
    box_of(p, node, first, end);
    if (node >= t->leaves) {
        qsort(p->row + first, (size_t)(end - first), sizeof *p->row, by_integer);
        t->start[node - t->leaves] = first;
        t->lowest[node] = first < end ? p->row[first] : t->n;
        return;
    }
    int64_t middle = first + (end - first) / 2;
    if (t->D > 0) cut_at(p, first, end, middle, widest_of(t, node));
#pragma omp task if (end - first > MANY_ROWS)
    make_node(p, 2 * node, first, middle);
    make_node(p, 2 * node + 1, middle, end);
#pragma omp taskwait
    int64_t left = t->lowest[2 * node], right = t->lowest[2 * node + 1];
    t->lowest[node] = left < right ? left : right;
}

anygp_status kd_tree_open(int64_t n, int64_t D, const double *X, kd_tree *t, anygp_error *e)
{
    *t = (kd_tree){.n = n, .D = D, .leaves = 1};
    while (t->leaves * KD_LEAF < n) t->leaves *= 2;
    t->start = mem_alloc(t->leaves + 1, sizeof *t->start);
    t->X = mem_doubles(n, D);
    t->row = mem_alloc(n, sizeof *t->row);
    t->box = mem_doubles(4 * t->leaves, D);
    t->lowest = mem_alloc(2 * t->leaves, sizeof *t->lowest);
    if (!t->start || !t->X || !t->row || !t->box || !t->lowest) {
        kd_tree_clear(t);
        return fail_memory(e, "the tree of rows", 8.0 * (double)n * (double)(D + 1));
    }
    for (int64_t i = 0; i < n; i++) t->row[i] = i;
    plan made = {t, X, t->row};
    int threads = n > MANY_ROWS ? threads_max() : 1;
#pragma omp parallel num_threads(threads) if (threads > 1)
#pragma omp single
    make_node(&made, 1, 0, n);
    t->start[t->leaves] = n;
    for (int64_t i = 0; i < n; i++) memcpy(t->X + i * D, X + t->row[i] * D, (size_t)D * sizeof *X);
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------------- searching */

double kd_box_distance(const kd_tree *t, int64_t node, const double *x)
{
    const double *low = t->box + 2 * t->D * node, *high = low + t->D;
    double sum = 0;
    for (int64_t d = 0; d < t->D; d++) {
        double below = low[d] - x[d], above = x[d] - high[d];
        double out = below > 0 ? below : above > 0 ? above : 0;
        sum += out * out;
    }
    return sum;
}

typedef struct search {
    const kd_tree *t;
    const double *x;
    int64_t before;
    near_list *found;
} search;

static void search_leaf(const search *s, int64_t leaf)
{
    const kd_tree *t = s->t;
    for (int64_t i = t->start[leaf]; i < t->start[leaf + 1] && t->row[i] < s->before; i++)
        near_list_offer(s->found, (int32_t)t->row[i], row_distance(t->D, s->x, t->X + i * t->D));
}

/* distance: that of the node's box. */
static void search_node(const search *s, int64_t node, double distance)
{
    const kd_tree *t = s->t;
    if (t->lowest[node] >= s->before || distance > ROUNDING * near_list_worst(s->found)) return;
    if (node >= t->leaves) {
        search_leaf(s, node - t->leaves);
        return;
    }
    double left = kd_box_distance(t, 2 * node, s->x), right = kd_box_distance(t, 2 * node + 1, s->x);
    int64_t nearer = right < left;
    search_node(s, 2 * node + nearer, nearer ? right : left);
    search_node(s, 2 * node + !nearer, nearer ? left : right);
}

int64_t kd_tree_nearest(const kd_tree *t, const double *x, int64_t before, int64_t k, int32_t *rows, double *distance)
{
    near_list found = {.k = k, .row = rows, .distance = distance};
    if (k > 0) search_node(&(search){t, x, before, &found}, 1, 0);
    near_list_finish(&found);
    return found.count;
}

/* ----------------------------------------------------------------------------------------- one direction */

static bool lies_towards(const kd_tree *t, const double *x, unsigned way, const double *z)
{
    for (int64_t d = 0; d < t->D; d++)
        if ((z[d] >= x[d]) != ((way >> d & 1) != 0)) return false;
    return true;
}

/* Whether rows of the node may: its box reaches to that side of x in every input. */
static bool reaches(const kd_tree *t, int64_t node, const double *x, unsigned way)
{
    const double *low = t->box + 2 * t->D * node, *high = low + t->D;
    for (int64_t d = 0; d < t->D; d++)
        if (way >> d & 1 ? high[d] < x[d] : low[d] >= x[d]) return false;
    return true;
}

static void towards_node(const search *s, unsigned way, int64_t node, double distance)
{
    const kd_tree *t = s->t;
    if (distance > ROUNDING * near_list_worst(s->found) || !reaches(t, node, s->x, way)) return;
    if (node >= t->leaves) {
        for (int64_t i = t->start[node - t->leaves]; i < t->start[node - t->leaves + 1]; i++)
            if (lies_towards(t, s->x, way, t->X + i * t->D))
                near_list_offer(s->found, (int32_t)t->row[i], row_distance(t->D, s->x, t->X + i * t->D));
        return;
    }
    double left = kd_box_distance(t, 2 * node, s->x), right = kd_box_distance(t, 2 * node + 1, s->x);
    int64_t nearer = right < left;
    towards_node(s, way, 2 * node + nearer, nearer ? right : left);
    towards_node(s, way, 2 * node + !nearer, nearer ? left : right);
}

int64_t kd_tree_nearest_towards(const kd_tree *t, const double *x, unsigned way, int64_t k, int32_t *rows,
                                double *distance)
{
    near_list found = {.k = k, .row = rows, .distance = distance};
    if (k > 0) towards_node(&(search){t, x, t->n, &found}, way, 1, 0);
    near_list_finish(&found);
    return found.count;
}
