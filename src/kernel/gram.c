/* Gram matrices, tile by tile.  Threads take tiles; in a tile each leaf of the expression is evaluated into the stack
   of tiles (slot 0 is the place in K itself) and combined element by element, so everything between the inputs and
   K stays in cache.  Cost: n m times (3 flops per dim and one exponential per leaf); workspace: one stack per thread.
   In double and in float (real.h). */
#include <stdlib.h>

#include "base/memory.h"
#include "base/threads.h"
#include "kernel/vector.h"
#include "kernel/gram_walk.h"
#include "linalg/linalg.h"

gram_walk gram_walk_cross(const kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m, const double *Z,
                          int64_t ldz)
{
    gram_walk w = {.k = k, .n = n, .X = X, .ldx = ldx, .m = m, .Z = Z, .ldz = ldz};
    w.tile_cols = tile_columns(k);
    return w;
}

gram_walk gram_walk_symmetric(const kernel *k, int64_t n, const double *X, int64_t ldx)
{
    gram_walk w = gram_walk_cross(k, n, X, ldx, n, X, ldx);
    w.symmetric = true;
    return w;
}

bool gram_walk_tile(const gram_walk *w, int64_t index, tile *t, int64_t *i0, int64_t *j0)
{
    int64_t down = (w->n + TILE_ROWS - 1) / TILE_ROWS;
    *i0 = index % down * TILE_ROWS, *j0 = index / down * w->tile_cols;
    t->rows = w->n - *i0 < TILE_ROWS ? w->n - *i0 : TILE_ROWS;
    t->cols = w->m - *j0 < w->tile_cols ? w->m - *j0 : w->tile_cols;
    int64_t above = w->symmetric && *j0 > *i0 ? *j0 - *i0 : 0; /* rows that are wholly above the diagonal */
    if (above < t->rows) *i0 += above, t->rows -= above;
    t->X = w->X + *i0 * w->ldx, t->ldx = w->ldx;
    t->Z = w->Z + *j0 * w->ldz, t->ldz = w->ldz;
    t->symmetric = w->symmetric;
    t->diagonal = *i0 - *j0;
    t->below = w->in_turn ? w->n - *i0 - t->rows : 0;
    return !w->symmetric || *i0 + t->rows > *j0;
}

VECTORISED void tile_add(const tile *t, const real *B, int64_t ldb, const real *C, int64_t ldc, real *A, int64_t lda)
{
    for (int64_t j = 0; j < t->cols; j++) {
        const real *b = B + j * ldb, *c = C + j * ldc;
        real *a = A + j * lda;
        SIMD for (int64_t i = 0; i < t->rows; i++) a[i] = b[i] + c[i];
    }
}

/* Clamped, so that two factors that grow without bound do not give an infinity that a third turns into NaN. */
VECTORISED void tile_multiply(const tile *t, const real *B, int64_t ldb, const real *C, int64_t ldc, real *A,
                              int64_t lda)
{
    for (int64_t j = 0; j < t->cols; j++) {
        const real *b = B + j * ldb, *c = C + j * ldc;
        real *a = A + j * lda;
        SIMD for (int64_t i = 0; i < t->rows; i++) a[i] = at_least(at_most(b[i] * c[i], LIMIT_VALUE), -LIMIT_VALUE);
    }
}

typedef struct target {
    real *K;
    int64_t ld;
} target;

static target slot_of(const tile *t, const kernel_node *n, real *K, int64_t ldk, real *slots)
{
    if (n->slot == 0) return (target){K, ldk};
    return (target){slots + (n->slot - 1) * t->rows * t->cols, t->rows};
}

static void evaluate(const kernel *k, const tile *t, real *K, int64_t ldk, real *slots)
{
    for (int64_t i = 0; i < k->n_nodes; i++) {
        const kernel_node *n = &k->nodes[i];
        target out = slot_of(t, n, K, ldk, slots);
        if (n->op == NODE_LEAF) {
            leaf_tile(&k->leaves[n->leaf], t, out.K, out.ld);
            continue;
        }
        target right = slot_of(t, &k->nodes[n->right], K, ldk, slots);
        (n->op == NODE_SUM ? tile_add : tile_multiply)(t, out.K, out.ld, right.K, right.ld, out.K, out.ld);
    }
}

static void gram_tile(const gram_walk *w, int64_t index, tile *t, real *K, int64_t ldk, real *slots)
{
    int64_t i0, j0;
    if (gram_walk_tile(w, index, t, &i0, &j0)) evaluate(w->k, t, K + i0 + j0 * ldk, ldk, slots);
}

static bool gram(gram_walk *w, real *K, int64_t ldk)
{
    int64_t rows = gram_walk_rows(w), cols = gram_walk_cols(w), tiles = gram_walk_tiles(w);
    int64_t leaf_work = tile_work(w->k, rows, cols), work = leaf_work + even((w->k->n_slots - 1) * rows * cols);
    int threads = tiles < threads_max() ? (int)tiles : threads_max();
    real *scratch = mem_alloc(threads * work, sizeof *scratch);
    if (!scratch) return false;
    w->in_turn = threads == 1;
    if (threads ==
        1) { /* a region of one thread would cost two calls of the system, much for the few rows of a request */
        tile t;
        tile_place(&t, w->k, rows, cols, scratch);
        for (int64_t index = 0; index < tiles; index++) gram_tile(w, index, &t, K, ldk, scratch + leaf_work);
        free(scratch);
        return true;
    }
    la_serial_begin(threads);
#pragma omp parallel num_threads(threads)
    {
        real *mine = scratch + threads_id() * work;
        tile t;
        tile_place(&t, w->k, rows, cols, mine);
#pragma omp for schedule(dynamic, 1)
        for (int64_t index = 0; index < tiles; index++) gram_tile(w, index, &t, K, ldk, mine + leaf_work);
    }
    la_serial_end(threads);
    free(scratch);
    return true;
}

bool kernel_gram(const kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m, const double *Z, int64_t ldz,
                 real *K, int64_t ldk)
{
    if (n == 0 || m == 0) return true;
    gram_walk w = gram_walk_cross(k, n, X, ldx, m, Z, ldz);
    return gram(&w, K, ldk);
}

bool kernel_gram_sym(const kernel *k, int64_t n, const double *X, int64_t ldx, real *K, int64_t ldk)
{
    if (n == 0) return true;
    gram_walk w = gram_walk_symmetric(k, n, X, ldx);
    return gram(&w, K, ldk);
}
