/* A router from the array of a model file.  What is accepted is a forest as partition_tree.h says: parts lie after
   what was split and inside the array, every pair of parts has one owner, and every block one leaf. */
#include "data/partition/partition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/partition/partition_tree.h"

static bool whole(double v, int64_t low, int64_t high)
{
    return v >= (double)low && v <= (double)high && v == floor(v);
}

static bool head_fits(int64_t rows, int64_t cols, const double *head, int64_t D)
{
    if (D < 0 || rows < 2 || cols <= HEAD_INPUTS || head[HEAD_INPUTS] != (double)D) return false;
    if (!whole(head[HEAD_KIND], ROUTER_KMEANS, ROUTER_MEANS) || !whole(head[HEAD_TOP], 1, rows - 1)) return false;
    router_kind kind = (router_kind)head[HEAD_KIND];
    int64_t top = (int64_t)head[HEAD_TOP];
    if (D == 0 && kind != ROUTER_MEANS) return false;
    return cols == router_columns(kind, D) && (kind != ROUTER_KDTREE || top == 1) && (rows - 1 - top) % 2 == 0;
}

static bool all_finite(int64_t rows, int64_t cols, const double *values)
{
    for (int64_t i = 0; i < rows * cols; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

/* A root or a right part begins a block; a left part has had its block checked with its owner. */
static bool begins_its_block(const router *r, int64_t row)
{
    int64_t s = row - 1 - r->top, block = s < 0 ? row - 1 : r->top + s / 2;
    return (s >= 0 && s % 2 == 0) || router_node(r, row)[NODE_BLOCK] == (double)block;
}

/* owned[splits]: the pairs of parts that an earlier node has. */
static bool split_fits(const router *r, int64_t row, unsigned char *owned)
{
    const double *node = router_node(r, row);
    if (node[NODE_PART] == 0) return true;
    if (!whole(node[NODE_PART], row + 1, router_rows(r) - 2)) return false;
    int64_t left = (int64_t)node[NODE_PART], place = left - 1 - r->top;
    if (place < 0 || place % 2 != 0 || owned[place / 2]) return false;
    owned[place / 2] = 1;
    if (r->kind == ROUTER_KDTREE && !whole(node[NODE_COLUMN], 0, r->D - 1)) return false;
    return router_node(r, left)[NODE_BLOCK] == node[NODE_BLOCK];
}

/* A part without an owner is refused where its turn comes: owners lie before it. */
static bool node_fits(const router *r, int64_t row, unsigned char *owned)
{
    int64_t s = row - 1 - r->top;
    return (s < 0 || owned[s / 2]) && begins_its_block(r, row) && split_fits(r, row, owned);
}

static anygp_status check_nodes(const router *r, anygp_error *e)
{
    unsigned char *owned = mem_zeroed(r->splits, 1);
    if (!owned) return fail_memory(e, "checking the partition", (double)r->splits);
    int64_t row = 1, rows = router_rows(r);
    while (row < rows && node_fits(r, row, owned)) row++;
    free(owned);
    if (row == rows) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_FILE, "row %lld of the model's partition is damaged; fit the model again",
                     (long long)row);
}

anygp_status router_from_values(int64_t rows, int64_t cols, const double *values, int64_t D, router **out,
                                anygp_error *e)
{
    size_t cells;
    *out = NULL;
    if (!size_mul(rows, cols, &cells) || !head_fits(rows, cols, values, D) || !all_finite(rows, cols, values))
        return fail_with(e, ANYGP_ERR_FILE, "the model's partition of %lld inputs is damaged; fit the model again",
                         (long long)D);
    int64_t top = (int64_t)values[HEAD_TOP];
    router *r = router_new((router_kind)values[HEAD_KIND], D, top);
    anygp_status status = ANYGP_OK;
    if (r && router_reserve(r, rows)) {
        memcpy(r->values, values, cells * sizeof *values);
        r->splits = (rows - 1 - top) / 2;
        router_gather_centres(r);
        status = check_nodes(r, e);
    } else {
        status = fail_memory(e, "the model's partition", 8.0 * (double)cells);
    }
    if (ANYGP_FAILED(status))
        router_free(r);
    else
        *out = r;
    return status;
}

anygp_status router_copy(const router *r, router **out, anygp_error *e)
{
    int64_t rows, cols;
    const double *values = router_values(r, &rows, &cols);
    return router_from_values(rows, cols, values, router_inputs(r), out, e);
}
