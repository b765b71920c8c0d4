/* Routers, and routing: the nearest root by matrix products, O(n top D), then down the splits row by row. */
#include "data/partition/partition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/partition/distance.h"
#include "data/partition/kmeans.h"
#include "data/partition/partition_tree.h"

enum { ROWS_WORTH_THREADS = 4096 };

/* -------------------------------------------------------------------------------------------- the forest */

/* Row 0 needs three. */
int64_t router_columns(router_kind kind, int64_t D)
{
    return kind == ROUTER_KDTREE ? KDTREE_COLUMNS : NODE_CELLS + (D > 0 ? D : 1);
}

int64_t router_rows(const router *r) { return 1 + r->top + 2 * r->splits; }

double *router_node(const router *r, int64_t row) { return r->values + row * r->cols; }

void router_gather_centres(router *r)
{
    for (int64_t i = 0; r->centres && i < r->top; i++)
        memcpy(r->centres + i * r->D, router_node(r, 1 + i) + NODE_CELLS, (size_t)r->D * sizeof(double));
}

static void clear_node(router *r, int64_t row, int64_t block)
{
    double *node = router_node(r, row);
    memset(node, 0, (size_t)r->cols * sizeof *node);
    node[NODE_BLOCK] = (double)block;
}

router *router_new(router_kind kind, int64_t D, int64_t top)
{
    router *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    *r = (router){.kind = kind, .D = D, .top = top, .cols = router_columns(kind, D), .capacity = 1 + top};
    r->values = mem_doubles(r->capacity, r->cols);
    r->centres = kind == ROUTER_KDTREE ? NULL : mem_doubles(top, D);
    if (!r->values || (kind != ROUTER_KDTREE && !r->centres)) {
        router_free(r);
        return NULL;
    }
    clear_node(r, 0, 0);
    r->values[HEAD_KIND] = (double)kind, r->values[HEAD_TOP] = (double)top, r->values[HEAD_INPUTS] = (double)D;
    for (int64_t i = 0; i < top; i++) clear_node(r, 1 + i, i);
    return r;
}

void router_free(router *r)
{
    if (!r) return;
    free(r->values);
    free(r->centres);
    free(r);
}

bool router_reserve(router *r, int64_t rows)
{
    if (rows <= r->capacity) return true;
    double *larger = mem_doubles(rows, r->cols);
    if (!larger) return false;
    memcpy(larger, r->values, (size_t)(r->capacity * r->cols) * sizeof *larger);
    free(r->values);
    r->values = larger, r->capacity = rows;
    return true;
}

int64_t router_add_split(router *r, int64_t row)
{
    int64_t left = router_rows(r);
    if (left + 2 > r->capacity && !router_reserve(r, 2 * (left + 2))) return 0;
    clear_node(r, left, (int64_t)router_node(r, row)[NODE_BLOCK]);
    clear_node(r, left + 1, r->top + r->splits);
    router_node(r, row)[NODE_PART] = (double)left;
    r->splits++;
    return left;
}

int64_t router_leaf(const router *r, int64_t block)
{
    int64_t row = block < r->top ? 1 + block : 1 + r->top + 2 * (block - r->top) + 1;
    for (int64_t left; (left = (int64_t)router_node(r, row)[NODE_PART]) > 0;) row = left;
    return row;
}

int64_t router_part(const router *r, int64_t row, const double *x)
{
    const double *node = router_node(r, row);
    int64_t left = (int64_t)node[NODE_PART];
    if (r->kind == ROUTER_KDTREE) return left + !(x[(int64_t)node[NODE_COLUMN]] <= node[NODE_VALUE]);
    const double *a = router_node(r, left) + NODE_CELLS, *b = a + r->cols;
    return left + !(row_distance(r->D, x, a) <= row_distance(r->D, x, b));
}

anygp_status router_check_sample(int64_t n, int64_t D, int64_t ldx, int64_t P, anygp_error *e)
{
    if (n >= 1 && D >= 1 && ldx >= D && P >= 1) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "%lld rows of %lld inputs (%lld apart) cannot be cut into %lld blocks; each must be at least 1",
                     (long long)n, (long long)D, (long long)ldx, (long long)P);
}

router_kind router_kind_of(const router *r) { return r->kind; }
int64_t router_blocks(const router *r) { return r->top + r->splits; }
int64_t router_inputs(const router *r) { return r->D; }

const double *router_values(const router *r, int64_t *rows, int64_t *cols)
{
    *rows = router_rows(r), *cols = r->cols;
    return r->values;
}

/* ------------------------------------------------------------------------------------- from centres */

static anygp_status check_means(int64_t P, int64_t D, const double *means, anygp_error *e)
{
    if (D > 0 || P < 1) TRY(router_check_sample(P, D, D, P, e));
    for (int64_t i = 0; i < P; i++)
        for (int64_t j = 0; j < D; j++)
            if (!isfinite(means[i * D + j]))
                return fail_with(e, ANYGP_ERR_DATA,
                                 "the mean of block %lld is not finite in input %lld; scale the inputs", (long long)i,
                                 (long long)j);
    return ANYGP_OK;
}

static anygp_status from_centres(router_kind kind, int64_t P, int64_t D, const double *centres, router **out,
                                 anygp_error *e)
{
    *out = NULL;
    TRY(check_means(P, D, centres, e));
    router *r = router_new(kind, D, P);
    if (!r) return fail_memory(e, "the centres of the blocks", 16.0 * (double)P * (double)D);
    for (int64_t i = 0; i < P; i++)
        memcpy(router_node(r, 1 + i) + NODE_CELLS, centres + i * D, (size_t)D * sizeof *centres);
    router_gather_centres(r);
    *out = r;
    return ANYGP_OK;
}

anygp_status router_means(int64_t P, int64_t D, const double *means, router **out, anygp_error *e)
{
    return from_centres(ROUTER_MEANS, P, D, means, out, e);
}

anygp_status router_kmeans(int64_t n, int64_t D, const double *X, int64_t ldx, int64_t P, uint64_t seed,
                           const deadline *until, router **out, anygp_error *e)
{
    *out = NULL;
    TRY(router_check_sample(n, D, ldx, P, e));
    if (P > n) P = n;
    double *centres = mem_doubles(P, D);
    if (!centres) return fail_memory(e, "the centres of the blocks", 8.0 * (double)P * (double)D);
    anygp_status status;
    int64_t found;
    TRY_DONE(kmeans(n, D, X, ldx, P, &(kmeans_options){.seed = seed, .until = until}, centres, &found, NULL, e));
    TRY_DONE(from_centres(ROUTER_KMEANS, found, D, centres, out, e));
done:
    free(centres);
    return status;
}

/* -------------------------------------------------------------------------------------------- routing */

static int64_t block_below(const router *r, int64_t row, const double *x)
{
    while (router_node(r, row)[NODE_PART] > 0) row = router_part(r, row, x);
    return (int64_t)router_node(r, row)[NODE_BLOCK];
}

anygp_status router_route(const router *r, int64_t n, const double *X, int64_t ldx, int64_t *block, anygp_error *e)
{
    row_set s = {n, r->D, X, ldx, NULL};
    if (r->top == 1 || r->D == 0)
        memset(block, 0, (size_t)n * sizeof *block);
    else if (!nearest_centres(&s, r->top, r->centres, block, NULL))
        return fail_memory(e, "finding the blocks of rows", 8.0 * 256 * (double)r->top);
#pragma omp parallel for schedule(static) if (n > ROWS_WORTH_THREADS)
    for (int64_t i = 0; i < n; i++) block[i] = block_below(r, 1 + block[i], row_at(&s, i));
    return ANYGP_OK;
}
