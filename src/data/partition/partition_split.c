/* Cutting in two, and again.  A part of n rows that shall become p parts is cut so that p/2 of p rows go left:

       kdtree          at that place of its widest column
       kmeans, means   between the two means of its rows, where that leaves no more than p parts to make; otherwise the
                       bisecting plane is moved along its normal to the right place.  Where rounding or equal rows
                       leave one side empty: between the first row and the one farthest from it

   Equal rows (for centres also those whose squared distance vanishes) are cut by their place in the list, by a split
   that sends everything left.
   Cost: O(n D) per level (two-means: times its iterations), about log2 p levels; the smaller part is done by recursion
   and the larger in the loop, so that the stack stays short for any data. */
#include "data/partition/partition.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/partition/distance.h"
#include "data/partition/kmeans.h"
#include "data/partition/partition_tree.h"

enum { TWO_MEANS_ITERATIONS = 6 }; /* the direction is soon found, and the cap decides where the cut is */

typedef struct work {
    router *r;
    row_set all;
    int64_t cap;    /* maximum rows in a part; 0: as many parts as requested, and equal rows stay together */
    int64_t *order; /* n: the rows, those of a part next to each other */
    int64_t *right; /* n: those that go right, on their way */
    double *along;  /* n: the rows of a part along the direction of its cut */
    double *rows;   /* [n, D]: the rows of a part, together; NULL for a kdtree */
    double *pair;   /* [2, D]: two centres; for a kdtree the least and the largest of each column */
    int64_t *block; /* n: the result, or NULL */
} work;

/* The rows order[first .. first+n-1], at a leaf, to become so many parts. */
typedef struct part {
    int64_t leaf, first, n, parts;
} part;

static const double *part_row(const work *w, const part *p, int64_t i)
{
    return row_at(&w->all, w->order[p->first + i]);
}

static int64_t parts_needed(int64_t n, int64_t cap) { return (n - 1) / cap + 1; }

/* How many rows go left when p/2 of p parts do. */
static int64_t place_of_cut(const part *p)
{
    int64_t left = p->parts / 2;
    return p->n / p->parts * left + p->n % p->parts * left / p->parts;
}

/* ----------------------------------------------------------------------------------------------- kdtree */

static int64_t widest_column(const work *w, const part *p)
{
    int64_t D = w->all.d, widest = 0;
    double *low = w->pair, *high = low + D;
    for (int64_t j = 0; j < D; j++) low[j] = high[j] = part_row(w, p, 0)[j];
    for (int64_t i = 1; i < p->n; i++) {
        const double *x = part_row(w, p, i);
        for (int64_t j = 0; j < D; j++) {
            low[j] = x[j] < low[j] ? x[j] : low[j];
            high[j] = x[j] > high[j] ? x[j] : high[j];
        }
    }
    for (int64_t j = 1; j < D; j++)
        if (high[j] - low[j] > high[widest] - low[widest]) widest = j;
    return widest;
}

/* False: the rows are equal, and all go left. */
static bool cut_column(const work *w, const part *p)
{
    int64_t j = widest_column(w, p);
    double *node = router_node(w->r, p->leaf);
    bool different = w->pair[j] < w->pair[w->all.d + j];
    for (int64_t i = 0; i < p->n; i++) w->along[i] = part_row(w, p, i)[j];
    node[NODE_COLUMN] = (double)j;
    node[NODE_VALUE] = different ? cut_between(p->n, w->along, place_of_cut(p)) : DBL_MAX;
    return different;
}

/* ---------------------------------------------------------------------------------------------- centres */

static int64_t count_left(const work *w, const part *p)
{
    int64_t left = (int64_t)router_node(w->r, p->leaf)[NODE_PART], count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count) if (p->n > 4096)
    for (int64_t i = 0; i < p->n; i++) count += router_part(w->r, p->leaf, part_row(w, p, i)) == left;
    return count;
}

/* The pair becomes the two parts' centres; returns the rows that go left. */
static int64_t try_pair(const work *w, const part *p)
{
    int64_t left = (int64_t)router_node(w->r, p->leaf)[NODE_PART];
    size_t bytes = (size_t)w->all.d * sizeof(double);
    memcpy(router_node(w->r, left) + NODE_CELLS, w->pair, bytes);
    memcpy(router_node(w->r, left + 1) + NODE_CELLS, w->pair + w->all.d, bytes);
    return count_left(w, p);
}

static bool no_part_too_many(const work *w, const part *p, int64_t left)
{
    return parts_needed(left, w->cap) + parts_needed(p->n - left, w->cap) <= p->parts;
}

static anygp_status two_means(const work *w, const part *p, int64_t *found, anygp_error *e)
{
    int64_t D = w->all.d;
    for (int64_t i = 0; i < p->n; i++) memcpy(w->rows + i * D, part_row(w, p, i), (size_t)D * sizeof(double));
    return kmeans(p->n, D, w->rows, D, 2, &(kmeans_options){.iterations = TWO_MEANS_ITERATIONS}, w->pair, found, NULL,
                  e);
}

/* With u = b - a, x is left where u'(x - (a + b)/2) <= 0: both centres move by v u / u'u, v the place of the cut. */
static void move_bisector(const work *w, const part *p)
{
    int64_t D = w->all.d;
    double *a = w->pair, *b = a + D;
    for (int64_t i = 0; i < p->n; i++) {
        const double *x = w->rows + i * D;
        w->along[i] = 0;
        for (int64_t j = 0; j < D; j++) w->along[i] += (b[j] - a[j]) * (x[j] - (a[j] / 2 + b[j] / 2));
    }
    double step = cut_between(p->n, w->along, place_of_cut(p)) / row_distance(D, a, b);
    for (int64_t j = 0; j < D; j++) {
        double move = step * (b[j] - a[j]);
        a[j] += move, b[j] += move;
    }
}

static void pair_far_apart(const work *w, const part *p)
{
    int64_t D = w->all.d, far = 0;
    double farthest = 0;
    const double *first = part_row(w, p, 0);
    for (int64_t i = 1; i < p->n; i++) {
        double distance = row_distance(D, first, part_row(w, p, i));
        if (distance > farthest) farthest = distance, far = i;
    }
    memcpy(w->pair, first, (size_t)D * sizeof(double));
    memcpy(w->pair + D, part_row(w, p, far), (size_t)D * sizeof(double));
}

static anygp_status cut_centres(const work *w, const part *p, anygp_error *e)
{
    int64_t found, left = 0;
    TRY(two_means(w, p, &found, e));
    if (found == 2) left = try_pair(w, p);
    if (left > 0 && left < p->n) {
        if (no_part_too_many(w, p, left)) return ANYGP_OK;
        move_bisector(w, p);
        left = try_pair(w, p);
    }
    if (left > 0 && left < p->n) return ANYGP_OK;
    pair_far_apart(w, p);
    try_pair(w, p);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------------- both */

/* Puts the rows that go left before the others, both in their order; returns how many. */
static int64_t send_rows(const work *w, const part *p)
{
    int64_t left = (int64_t)router_node(w->r, p->leaf)[NODE_PART], lefts = 0, rights = 0, *order = w->order + p->first;
    for (int64_t i = 0; i < p->n; i++) {
        if (router_part(w->r, p->leaf, row_at(&w->all, order[i])) == left)
            order[lefts++] = order[i];
        else
            w->right[rights++] = order[i];
    }
    memcpy(order + lefts, w->right, (size_t)rights * sizeof *order);
    return lefts;
}

/* What each side is to become: p/2 and the rest, or in proportion where equal rows moved the cut. */
static void share_parts(const work *w, const part *p, part *left, part *right)
{
    if (w->cap > 0) {
        left->parts = parts_needed(left->n, w->cap), right->parts = parts_needed(right->n, w->cap);
        return;
    }
    int64_t share = p->parts / 2;
    if (left->n != place_of_cut(p)) share = (int64_t)((double)p->parts * (double)left->n / (double)p->n + 0.5);
    left->parts = share < 1 ? 1 : share < p->parts ? share : p->parts - 1;
    right->parts = p->parts - left->parts;
}

/* Equal rows that stay together leave `right` without rows. */
static anygp_status cut_part(const work *w, const part *p, part *left, part *right, anygp_error *e)
{
    bool kdtree = w->r->kind == ROUTER_KDTREE;
    *right = (part){0};
    if (kdtree && !cut_column(w, p) && w->cap == 0) return ANYGP_OK;
    int64_t row = router_add_split(w->r, p->leaf);
    if (row == 0) return fail_memory(e, "one more block", 16.0 * (double)w->r->capacity * (double)w->r->cols);
    if (!kdtree) TRY(cut_centres(w, p, e));
    int64_t lefts = send_rows(w, p);
    if (lefts == p->n) lefts = place_of_cut(p);
    *left = (part){row, p->first, lefts, 0};
    *right = (part){row + 1, p->first + lefts, p->n - lefts, 0};
    share_parts(w, p, left, right);
    return ANYGP_OK;
}

static anygp_status cut_into_parts(const work *w, part p, anygp_error *e)
{
    while (p.parts > 1) {
        part left, right;
        TRY(cut_part(w, &p, &left, &right, e));
        if (right.n == 0) break;
        TRY(cut_into_parts(w, left.n < right.n ? left : right, e));
        p = left.n < right.n ? right : left;
    }
    int64_t block = (int64_t)router_node(w->r, p.leaf)[NODE_BLOCK];
    for (int64_t i = 0; w->block && i < p.n; i++) w->block[w->order[p.first + i]] = block;
    return ANYGP_OK;
}

static anygp_status work_make(work *w, anygp_error *e)
{
    int64_t n = w->all.n, D = w->all.d;
    bool centres = w->r->kind != ROUTER_KDTREE;
    w->order = mem_alloc(n, sizeof *w->order);
    w->right = mem_alloc(n, sizeof *w->right);
    w->along = mem_alloc(n, sizeof *w->along);
    w->rows = centres ? mem_doubles(n, D) : NULL;
    w->pair = mem_doubles(2, D);
    if (!w->order || !w->right || !w->along || (centres && !w->rows) || !w->pair)
        return fail_memory(e, "cutting a block", 8.0 * (double)n * (double)(3 + D));
    for (int64_t i = 0; i < n; i++) w->order[i] = i;
    return ANYGP_OK;
}

static void work_free(work *w)
{
    free(w->order);
    free(w->right);
    free(w->along);
    free(w->rows);
    free(w->pair);
}

anygp_status router_kdtree(int64_t n, int64_t D, const double *X, int64_t ldx, int64_t P, router **out, anygp_error *e)
{
    *out = NULL;
    TRY(router_check_sample(n, D, ldx, P, e));
    work w = {.r = router_new(ROUTER_KDTREE, D, 1), .all = {n, D, X, ldx, NULL}};
    if (!w.r) return fail_memory(e, "a tree of blocks", sizeof *w.r);
    anygp_status status;
    TRY_DONE(work_make(&w, e));
    TRY_DONE(cut_into_parts(&w, (part){1, 0, n, P < n ? P : n}, e));
    *out = w.r;
done:
    work_free(&w);
    if (!*out) router_free(w.r);
    return status;
}

anygp_status router_whole(int64_t D, router **out, anygp_error *e)
{
    *out = D > 0 ? router_new(ROUTER_KDTREE, D, 1) : NULL;
    if (*out) return ANYGP_OK;
    return D > 0 ? fail_memory(e, "a tree of blocks", 0)
                 : fail_with(e, ANYGP_ERR_ARGUMENT, "rows without inputs cannot be cut");
}

anygp_status router_cut(router *r, int64_t id, int64_t column, double value, anygp_error *e)
{
    if (r->kind != ROUTER_KDTREE || id < 0 || id >= router_blocks(r) || column < 0 || column >= r->D)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "there is no input %lld to cut block %lld by", (long long)column,
                         (long long)id);
    int64_t leaf = router_leaf(r, id);
    if (router_add_split(r, leaf) == 0) return fail_memory(e, "one more block", 0);
    router_node(r, leaf)[NODE_COLUMN] = (double)column, router_node(r, leaf)[NODE_VALUE] = value;
    return ANYGP_OK;
}

anygp_status router_split(router *r, int64_t id, int64_t cap, int64_t n, const double *X, int64_t ldx, int64_t *block,
                          anygp_error *e)
{
    TRY(router_check_sample(n, r->D, ldx, cap, e));
    if (id < 0 || id >= router_blocks(r))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "there is no block %lld to split; there are %lld", (long long)id,
                         (long long)router_blocks(r));
    work w = {.r = r, .all = {n, r->D, X, ldx, NULL}, .cap = cap, .block = block};
    anygp_status status;
    TRY_DONE(work_make(&w, e));
    TRY_DONE(cut_into_parts(&w, (part){router_leaf(r, id), 0, n, parts_needed(n, cap)}, e));
done:
    work_free(&w);
    return status;
}
