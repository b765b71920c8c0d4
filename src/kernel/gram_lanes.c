/* Gram matrices of several small sets of rows side by side (linalg/lanes.h), for expressions of kernels that are functions of a distance,
   and constants.  A row of the triangles at a time, so that what lies between the inputs and K stays in the first-level cache.

   For a row, the reverse is that of radial.c: with W = G .* v k'(q) and u = s (x_i - x_j) / l,
       dF/dv = sum G k,   dF/dl_d = -2/l_d sum W u_d^2,   with one l for all inputs -2/l sum W q. */
#include <string.h>

#include "kernel/gram_walk.h"
#include "kernel/radial.h"
#include "kernel/vector.h"
#include "linalg/lanes.h"

static bool is_constant(const leaf *l) { return l->kind == &kind_constant || l->kind == &kind_scale; }

bool kernel_has_lanes(const kernel *k)
{
    for (int64_t i = 0; i < k->n_leaves; i++)
        if (!k->leaves[i].kind->profile && !is_constant(&k->leaves[i])) return false;
    return true;
}

/* Places in the workspace: the inputs of each leaf over its length-scales, as x[n_dims][n][LANES]; for each node a row of values and one
   of adjoints; squared, stretched distances. */
typedef struct lanes_room {
    double *x[MAX_LEAVES], *values, *adjoints, *q;
    int64_t row; /* doubles of a row */
} lanes_room;

int64_t kernel_lanes_work(const kernel *k, int64_t n)
{
    int64_t dims = 0;
    for (int64_t i = 0; i < k->n_leaves; i++) dims += k->leaves[i].n_dims;
    return LANES * n * (dims + 2 * k->n_nodes + 1);
}

static void lanes_place(const kernel *k, int64_t n, double *work, lanes_room *r)
{
    r->row = LANES * n;
    for (int64_t i = 0; i < k->n_leaves; i++) r->x[i] = work, work += k->leaves[i].n_dims * r->row;
    r->values = work, r->adjoints = work + k->n_nodes * r->row, r->q = r->adjoints + k->n_nodes * r->row;
}

VECTORISED static void scale_input(int64_t n, double by, const double *x, double *out)
{
    SIMD for (int64_t i = 0; i < n; i++) out[i] = at_least(at_most(by * x[i], LIMIT_DISTANCE), -LIMIT_DISTANCE);
}

static void scale_inputs(const kernel *k, int64_t n, const double *X, const lanes_room *r)
{
    for (int64_t i = 0; i < k->n_leaves; i++) {
        const leaf *l = &k->leaves[i];
        for (int64_t d = 0; l->kind->profile && d < l->n_dims; d++)
            scale_input(r->row, radial_scale(l, d), X + l->dims[d] * n * LANES, r->x[i] + d * r->row);
    }
}

/* q[count][LANES] += (x_j - z)^2 of one input; z: LANES numbers. */
VECTORISED static void add_squares(int64_t count, const double *x, const double *z, bool first, double *q)
{
    for (int64_t j = 0; j < count; j++) SIMD for (int64_t l = 0; l < LANES; l++)
        {
            double u = x[j * LANES + l] - z[l];
            q[j * LANES + l] = u * u + (first ? 0 : q[j * LANES + l]);
        }
}

static void distances(const leaf *l, const double *x, int64_t row, int64_t i, double *q)
{
    if (l->n_dims == 0) memset(q, 0, (size_t)((i + 1) * LANES) * sizeof *q);
    for (int64_t d = 0; d < l->n_dims; d++) add_squares(i + 1, x + d * row, x + d * row + i * LANES, d == 0, q);
}

static void leaf_row(const kernel *k, int64_t which, const lanes_room *r, int64_t i, double *out)
{
    const leaf *l = &k->leaves[which];
    double c[RADIAL_CONSTANTS], v = leaf_value(l, 0, 0);
    int64_t count = (i + 1) * LANES;
    if (is_constant(l)) {
        for (int64_t j = 0; j < count; j++) out[j] = v;
        return;
    }
    if (l->kind->constants) l->kind->constants(l, c);
    distances(l, r->x[which], r->row, i, out);
    l->kind->profile->value(c, v, count, out);
}

/* The values of row i of all nodes, or of those below products alone; the root's go to K. */
static void node_rows(const kernel *k, const lanes_room *r, int64_t i, bool products_only, double *K)
{
    tile t = {.rows = (i + 1) * LANES, .cols = 1};
    for (int64_t m = 0; m < k->n_nodes; m++) {
        const kernel_node *node = &k->nodes[m];
        double *out = m == k->n_nodes - 1 && K ? K : r->values + m * r->row;
        if (products_only && !node->in_product) continue;
        if (node->op == NODE_LEAF)
            leaf_row(k, node->leaf, r, i, out);
        else
            (node->op == NODE_SUM ? tile_add : tile_multiply)(&t, r->values + node->left * r->row, t.rows,
                                                              r->values + node->right * r->row, t.rows, out, t.rows);
    }
}

void kernel_lanes_gram(const kernel *k, int64_t n, const double *X, double *K, double *work)
{
    lanes_room r;
    lanes_place(k, n, work, &r);
    scale_inputs(k, n, X, &r);
    for (int64_t i = 0; i < n; i++) node_rows(k, &r, i, false, K + lanes_row(i));
}

/* ------------------------------------------------------------------------------------- reverse */

VECTORISED static double weighted_squares(int64_t count, const double *W, const double *x, const double *z)
{
    double sum[LANES] = {0}, total = 0;
    for (int64_t j = 0; j < count; j++) SIMD for (int64_t l = 0; l < LANES; l++)
        {
            double u = x[j * LANES + l] - z[l];
            sum[l] += W[j * LANES + l] * u * u;
        }
    for (int64_t l = 0; l < LANES; l++) total += sum[l];
    return total;
}

VECTORISED static double product_sum(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    SIMD_SUM(sum) for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void constant_reverse(int64_t n, const double *G, double *gp)
{
    for (int64_t j = 0; j < n; j++) gp[0] += G[j];
}

static void leaf_row_reverse(const kernel *k, int64_t which, const lanes_room *r, int64_t i, const double *G,
                             double *gp)
{
    const leaf *l = &k->leaves[which];
    double c[RADIAL_CONSTANTS], sum[2] = {0, 0}, v = leaf_value(l, 0, 0), *W = r->q;
    const double *x = r->x[which];
    int64_t count = (i + 1) * LANES;
    bool shared = l->stride[RADIAL_LENGTH] == 0;
    gp += l->first;
    if (is_constant(l)) {
        constant_reverse(count, G, gp);
        return;
    }
    if (l->kind->constants) l->kind->constants(l, c);
    distances(l, x, r->row, i, W);
    double *kept = r->adjoints + (k->n_nodes - 1) * r->row; /* the root's, which the caller has in G's place */
    if (shared) memcpy(kept, W, (size_t)count * sizeof *W);
    l->kind->profile->slope(c, v, count, G, W, sum);
    gp[l->offset[RADIAL_VARIANCE]] += sum[0];
    if (l->kind->specs[RADIAL_SHAPE].name) gp[l->offset[RADIAL_SHAPE]] += sum[1];
    if (shared) gp[l->offset[RADIAL_LENGTH]] -= 2 * product_sum(count, kept, W) / leaf_value(l, RADIAL_LENGTH, 0);
    for (int64_t d = 0; !shared && d < l->n_dims; d++)
        gp[l->offset[RADIAL_LENGTH] + d] -= 2 * weighted_squares(i + 1, W, x + d * r->row, x + d * r->row + i * LANES) /
                                            leaf_value(l, RADIAL_LENGTH, d);
}

/* Row i of the adjoint, G, which counts twice but on the diagonal: down the expression as in reverse.c. */
static void push_row(const kernel *k, const lanes_room *r, int64_t i, double *G, double *gp)
{
    tile t = {.rows = (i + 1) * LANES, .cols = 1};
    const double *a[MAX_NODES];
    for (int64_t j = 0; j < i * LANES; j++) G[j] *= 2;
    node_rows(k, r, i, true, NULL);
    a[k->n_nodes - 1] = G;
    for (int64_t m = k->n_nodes - 1; m >= 0; m--) {
        const kernel_node *node = &k->nodes[m];
        if (node->op == NODE_LEAF) {
            leaf_row_reverse(k, node->leaf, r, i, a[m], gp);
        } else if (node->op == NODE_SUM) {
            a[node->left] = a[node->right] = a[m];
        } else {
            double *left = r->adjoints + node->left * r->row, *right = r->adjoints + node->right * r->row;
            tile_multiply(&t, a[m], t.rows, r->values + node->right * r->row, t.rows, left, t.rows);
            tile_multiply(&t, a[m], t.rows, r->values + node->left * r->row, t.rows, right, t.rows);
            a[node->left] = left, a[node->right] = right;
        }
    }
}

void kernel_lanes_reverse(const kernel *k, int64_t n, const double *X, double *G, double *gp, double *work)
{
    lanes_room r;
    lanes_place(k, n, work, &r);
    scale_inputs(k, n, X, &r);
    for (int64_t i = 0; i < n; i++) push_row(k, &r, i, G + lanes_row(i), gp);
}
