/* The reverse of gram.c: from G = dF/dK to the gradients of parameters and inputs.

   For a tile, the values below products are computed again, then the adjoint goes down the expression:
       sum      both children get the adjoint
       product  left gets adjoint .* right, right gets adjoint .* left
       leaf     its kind turns the adjoint into gradients.
   Symmetric: K_ij and K_ji are the same entry, so the strict lower triangle counts twice and the upper not at all: what is summed
   is half of that, and doubled at the end.
   Each thread takes every T-th tile and has its own gradients, summed in the order of the threads: same thread
   count, same bits.  Cost: about twice gram.c; workspace per thread: two tiles per node, and (n + m) D.
   In double and in float (real.h), the gradients in double. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "kernel/vector.h"
#include "kernel/gram_walk.h"
#include "linalg/linalg.h"

typedef struct gradients {
    double *gp, *gX, *gZ;
    int64_t ldgx, ldgz;
} gradients;

typedef struct adjoint {
    const real *G;
    int64_t ld;
} adjoint;

static void forward_values(const kernel *k, const tile *t, real *values)
{
    int64_t size = t->rows * t->cols, ld = t->rows;
    for (int64_t i = 0; i < k->n_nodes; i++) {
        const kernel_node *n = &k->nodes[i];
        if (!n->in_product) continue;
        real *out = values + i * size;
        if (n->op == NODE_LEAF)
            leaf_tile(&k->leaves[n->leaf], t, out, ld);
        else
            (n->op == NODE_SUM ? tile_add : tile_multiply)(t, values + n->left * size, ld, values + n->right * size, ld,
                                                           out, ld);
    }
}

static void push_down(const kernel *k, const tile *t, adjoint root, real *values, real *adjoints, const gradients *g)
{
    adjoint a[MAX_NODES];
    int64_t size = t->rows * t->cols, ld = t->rows;
    a[k->n_nodes - 1] = root;
    for (int64_t i = k->n_nodes - 1; i >= 0; i--) {
        const kernel_node *n = &k->nodes[i];
        if (n->op == NODE_LEAF) {
            const leaf *l = &k->leaves[n->leaf];
            tile_gradient own = {g->gp ? g->gp + l->first : NULL, g->gX, g->gZ, g->ldgx, g->ldgz};
            leaf_reverse(l, t, a[i].G, a[i].ld, &own);
        } else if (n->op == NODE_SUM) {
            a[n->left] = a[n->right] = a[i];
        } else {
            real *left = adjoints + n->left * size, *right = adjoints + n->right * size;
            tile_multiply(t, a[i].G, a[i].ld, values + n->right * size, ld, left, ld);
            tile_multiply(t, a[i].G, a[i].ld, values + n->left * size, ld, right, ld);
            a[n->left] = (adjoint){left, ld};
            a[n->right] = (adjoint){right, ld};
        }
    }
}

/* Half the adjoint of a tile that meets the diagonal: halved there, as it is below and 0 above. */
static adjoint fold(const tile *t, const real *G, int64_t ldg, real *out)
{
    for (int64_t j = 0; j < t->cols; j++) {
        const real *g = G + j * ldg;
        real *o = out + j * t->rows;
        int64_t on = j - t->diagonal, i = 0; /* the row on the diagonal, which may lie outside the tile */
        for (; i < on && i < t->rows; i++) o[i] = 0;
        if (i == on && i < t->rows) o[i] = g[i] / 2, i++;
        if (i < t->rows) memcpy(o + i, g + i, (size_t)(t->rows - i) * sizeof *o);
    }
    return (adjoint){out, t->rows};
}

static gradients shifted(const gradients *g, int64_t i0, int64_t j0)
{
    gradients s = *g;
    if (s.gX) s.gX += i0 * s.ldgx;
    if (s.gZ) s.gZ += j0 * s.ldgz;
    return s;
}

/* Every threads-th tile, from number `id` on. */
static void reverse_share(const gram_walk *w, int id, int threads, const real *G, int64_t ldg, real *work,
                          const gradients *g)
{
    int64_t rows = gram_walk_rows(w), cols = gram_walk_cols(w), size = rows * cols, i0, j0, turn = 0;
    real *root = work + tile_work(w->k, rows, cols), *values = root + size, *adjoints = values + w->k->n_nodes * size;
    tile t;
    tile_place(&t, w->k, rows, cols, work);
    for (int64_t index = 0; index < gram_walk_tiles(w); index++) {
        if (!gram_walk_tile(w, index, &t, &i0, &j0) || turn++ % threads != id) continue;
        adjoint a = {G + i0 + j0 * ldg, ldg};
        if (w->symmetric && t.diagonal < t.cols) a = fold(&t, a.G, ldg, root);
        forward_values(w->k, &t, values);
        gradients own = shifted(g, i0, j0);
        push_down(w->k, &t, a, values, adjoints, &own);
    }
}

/* -------------------------------------------------------------------------- gradients of the threads */

static int64_t shares(const gram_walk *w, const gradients *g)
{
    int64_t D = w->k->D;
    return (g->gp ? w->k->n_params : 0) + (g->gX ? w->n * D : 0) + (g->gZ && !w->symmetric ? w->m * D : 0);
}

/* A thread's own gradients laid out in its share of the buffer. */
static gradients share_of(const gram_walk *w, const gradients *g, double *buffer)
{
    int64_t D = w->k->D;
    gradients s = {.ldgx = D, .ldgz = D};
    if (g->gp) s.gp = buffer, buffer += w->k->n_params;
    if (g->gX) s.gX = buffer, buffer += w->n * D;
    if (g->gZ) s.gZ = w->symmetric ? s.gX : buffer;
    return s;
}

static void add_rows(int64_t n, int64_t D, double times, const double *from, double *to, int64_t ld)
{
    for (int64_t i = 0; to && i < n; i++)
        for (int64_t d = 0; d < D; d++) to[i * ld + d] += times * from[i * D + d];
}

static void add_share(const gram_walk *w, const gradients *from, const gradients *to)
{
    double times = w->symmetric ? 2 : 1;
    add_rows(1, w->k->n_params, times, from->gp, to->gp, w->k->n_params);
    add_rows(w->n, w->k->D, times, from->gX, to->gX, to->ldgx);
    if (!w->symmetric) add_rows(w->m, w->k->D, times, from->gZ, to->gZ, to->ldgz);
}

static bool reverse(gram_walk *w, const real *G, int64_t ldg, const gradients *g)
{
    int64_t rows = gram_walk_rows(w), cols = gram_walk_cols(w), tiles = gram_walk_tiles(w);
    int64_t work = tile_work(w->k, rows, cols) + even((1 + 2 * w->k->n_nodes) * rows * cols), own = shares(w, g);
    int threads = tiles < threads_max() ? (int)tiles : threads_max();
    real *scratch = mem_alloc(threads * work, sizeof *scratch);
    w->in_turn = threads == 1;
    bool direct = threads == 1 && !w->symmetric;
    double *buffer = mem_zeroed(direct ? 0 : threads * own, sizeof *buffer);
    bool enough = scratch && buffer;
    if (enough && direct) reverse_share(w, 0, 1, G, ldg, scratch, g);
    if (enough && !direct) {
        la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
        for (int id = 0; id < threads; id++) {
            gradients mine = share_of(w, g, buffer + id * own);
            reverse_share(w, id, threads, G, ldg, scratch + id * work, &mine);
        }
        la_serial_end(threads);
        for (int id = 0; id < threads; id++) {
            gradients mine = share_of(w, g, buffer + id * own);
            add_share(w, &mine, g);
        }
    }
    free(scratch);
    free(buffer);
    return enough;
}

bool kernel_gram_reverse(const kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m, const double *Z,
                         int64_t ldz, const real *G, int64_t ldg, double *gp, double *gX, int64_t ldgx, double *gZ,
                         int64_t ldgz)
{
    if (n == 0 || m == 0 || (!gp && !gX && !gZ)) return true;
    gram_walk w = gram_walk_cross(k, n, X, ldx, m, Z, ldz);
    return reverse(&w, G, ldg, &(gradients){gp, gX, gZ, ldgx, ldgz});
}

bool kernel_gram_sym_reverse(const kernel *k, int64_t n, const double *X, int64_t ldx, const real *G, int64_t ldg,
                             double *gp, double *gX, int64_t ldgx)
{
    if (n == 0 || (!gp && !gX)) return true;
    gram_walk w = gram_walk_symmetric(k, n, X, ldx);
    return reverse(&w, G, ldg, &(gradients){gp, gX, gX, ldgx, ldgx});
}
