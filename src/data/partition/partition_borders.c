/* Places on the borders of the cells of a kd-tree (partition.h).  Cells are boxes; two of them have a border where they touch in one input
   and overlap in all others.  O(P^2 D) for P cells. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/partition/partition.h"
#include "data/partition/partition_tree.h"

enum { BORDER_INPUTS = 3 };

void border_points_clear(border_points *b)
{
    free(b->X);
    free(b->side);
    *b = (border_points){0};
}

/* Boxes of the cells below a node, low and high of each input, from its own box. */
static void find_boxes(const router *r, int64_t row, const double *box, double *boxes)
{
    const double *node = router_node(r, row);
    int64_t D = r->D, left = (int64_t)node[NODE_PART], j = (int64_t)node[NODE_COLUMN];
    double side[2 * BORDER_INPUTS];
    if (left == 0) {
        memcpy(boxes + (int64_t)node[NODE_BLOCK] * 2 * D, box, (size_t)(2 * D) * sizeof *box);
        return;
    }
    double v = fmin(fmax(node[NODE_VALUE], box[j]), box[D + j]);
    memcpy(side, box, (size_t)(2 * D) * sizeof *box);
    side[D + j] = v;
    find_boxes(r, left, side, boxes);
    memcpy(side, box, (size_t)(2 * D) * sizeof *box);
    side[j] = v;
    find_boxes(r, left + 1, side, boxes);
}

/* The input in which boxes a and b touch, where they overlap in the others: low and high of the border; -1: they have none. */
static int64_t touching(int64_t D, const double *a, const double *b, double *low, double *high)
{
    int64_t touch = -1;
    for (int64_t j = 0; j < D; j++) {
        low[j] = fmax(a[j], b[j]), high[j] = fmin(a[D + j], b[D + j]);
        if (low[j] > high[j]) return -1;
        if (low[j] < high[j]) continue;
        if (touch >= 0) return -1; /* an edge or a corner */
        touch = j;
    }
    return touch;
}

static bool reserve(border_points *b, int64_t D, int64_t count)
{
    if (count <= b->room) return true;
    int64_t room = 2 * count + 64;
    double *X = realloc(b->X, (size_t)(room * D) * sizeof *X);
    if (X) b->X = X;
    double *side = X ? realloc(b->side, (size_t)(2 * room) * sizeof *side) : NULL;
    if (!side) return false;
    b->side = side, b->room = room;
    return true;
}

/* `each` places along every input of the border but the one it lies across, in the middle of as many equal pieces. */
static bool add_border(border_points *b, int64_t D, int64_t each, int64_t touch, const double *low, const double *high,
                       const int64_t cell[2])
{
    int64_t count = 1, at;
    for (int64_t j = 1; j < D; j++) count *= each;
    if (!reserve(b, D, b->count + count)) return false;
    for (int64_t i = 0; i < count; i++, b->count++) {
        double *x = b->X + b->count * D;
        at = i;
        for (int64_t j = 0; j < D; j++) {
            x[j] = j == touch ? low[j] : low[j] + (high[j] - low[j]) * ((double)(at % each) + 0.5) / (double)each;
            if (j != touch) at /= each;
        }
        b->side[2 * b->count] = (double)cell[0], b->side[2 * b->count + 1] = (double)cell[1];
    }
    return true;
}

anygp_status router_borders(const router *r, const double *low, const double *high, int64_t each, border_points *out,
                            anygp_error *e)
{
    int64_t D = r->D, P = router_blocks(r);
    double box[2 * BORDER_INPUTS], a[BORDER_INPUTS], z[BORDER_INPUTS];
    *out = (border_points){0};
    if (r->kind != ROUTER_KDTREE || D > BORDER_INPUTS)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "only cells of a kd-tree over at most %d inputs have borders",
                         BORDER_INPUTS);
    double *boxes = mem_doubles(P, 2 * D);
    if (!boxes) return fail_memory(e, "the cells", 16.0 * (double)P * (double)D);
    memcpy(box, low, (size_t)D * sizeof *low);
    memcpy(box + D, high, (size_t)D * sizeof *high);
    find_boxes(r, 1, box, boxes);
    bool ok = reserve(out, D, 1);
    for (int64_t i = 0; ok && i < P; i++)
        for (int64_t j = i + 1; ok && j < P; j++) {
            int64_t touch = touching(D, boxes + i * 2 * D, boxes + j * 2 * D, a, z);
            if (touch >= 0) ok = add_border(out, D, each, touch, a, z, (int64_t[]){i, j});
        }
    free(boxes);
    if (ok) return ANYGP_OK;
    border_points_clear(out);
    return fail_memory(e, "the borders of the cells", 0);
}
