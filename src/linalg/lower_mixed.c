/* Triangles and symmetric matrices in float with vectors in double: tiles are made double, and all sums are.  Each block of a result is made
   by one thread, so that its bits do not depend on their number. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/simd.h"
#include "base/threads.h"
#include "linalg/linalg_f32.h"

enum { SIDE = 256, SIZE = SIDE * SIDE };

typedef struct tiles {
    int64_t n, t;
    const float *A;
    int64_t lda;
    int threads;
    double *room; /* threads x SIZE */
} tiles;

static bool tiles_open(tiles *s, int64_t n, int64_t t, const float *A, int64_t lda)
{
    *s = (tiles){n, t, A, lda, threads_for((double)n * (double)n * (double)t), NULL};
    return (s->room = mem_doubles(s->threads, SIZE)) != NULL;
}

static int64_t side(const tiles *s, int64_t at) { return s->n - at < SIDE ? s->n - at : SIDE; }

VECTORISED static void widen(int64_t n, const float *from, double *to)
{
    SIMD for (int64_t i = 0; i < n; i++) to[i] = from[i];
}

/* Tile (i0, j0), of a diagonal one the lower triangle with zeros above it, or, symmetric, both. */
static const double *tile_at(const tiles *s, int64_t i0, int64_t j0, bool symmetric)
{
    double *T = s->room + (s->threads > 1 ? threads_id() : 0) * SIZE;
    int64_t rows = side(s, i0), cols = side(s, j0);
    for (int64_t j = 0; j < cols; j++) {
        int64_t above = i0 == j0 ? j : 0;
        for (int64_t i = 0; i < above; i++) T[i + j * SIDE] = symmetric ? T[j + i * SIDE] : 0;
        widen(rows - above, s->A + i0 + above + (j0 + j) * s->lda, T + above + j * SIDE);
    }
    return T;
}

/* Block `first` is solved, and what others owe to it is taken off them: those below, or transposed those above. */
static void eliminate(const tiles *s, la_op op, int64_t first, double *B, int64_t ldb)
{
    const double *T = tile_at(s, first, first, false);
    int64_t own = side(s, first), begin = op == LA_N ? first + SIDE : 0, end = op == LA_N ? s->n : first;
    la_trsm(LA_LEFT, op, own, s->t, 1, T, SIDE, B + first, ldb);
    la_serial_begin(s->threads);
#pragma omp parallel for schedule(static) num_threads(s->threads) if (s->threads > 1)
    for (int64_t at = begin; at < end; at += SIDE) {
        const double *O = op == LA_N ? tile_at(s, at, first, false) : tile_at(s, first, at, false);
        la_gemm(op, LA_N, side(s, at), s->t, own, -1, O, SIDE, B + first, ldb, 1, B + at, ldb);
    }
    la_serial_end(s->threads);
}

bool la_trsm_mixed(la_op op, int64_t n, int64_t t, const float *L, int64_t ldl, double *B, int64_t ldb)
{
    tiles s;
    if (!tiles_open(&s, n, t, L, ldl)) return false;
    int64_t blocks = (n + SIDE - 1) / SIDE;
    for (int64_t k = 0; k < blocks; k++) eliminate(&s, op, (op == LA_N ? k : blocks - 1 - k) * SIDE, B, ldb);
    free(s.room);
    return true;
}

/* W = A V, a block of rows at a time; of a triangle nothing is to the right of the diagonal. */
static bool multiply(bool symmetric, int64_t n, int64_t t, const float *A, int64_t lda, const double *V, int64_t ldv,
                     double *W, int64_t ldw)
{
    tiles s;
    if (!tiles_open(&s, n, t, A, lda)) return false;
    la_serial_begin(s.threads);
#pragma omp parallel for schedule(dynamic) num_threads(s.threads) if (s.threads > 1)
    for (int64_t i = 0; i < n; i += SIDE)
        for (int64_t j = 0; j < (symmetric ? n : i + 1); j += SIDE) {
            const double *T = j <= i ? tile_at(&s, i, j, symmetric) : tile_at(&s, j, i, symmetric);
            la_gemm(j <= i ? LA_N : LA_T, LA_N, side(&s, i), t, side(&s, j), 1, T, SIDE, V + j, ldv, j > 0, W + i, ldw);
        }
    la_serial_end(s.threads);
    free(s.room);
    return true;
}

bool la_trmm_mixed(int64_t n, int64_t t, const float *L, int64_t ldl, const double *Z, int64_t ldz, double *W,
                   int64_t ldw)
{
    return multiply(false, n, t, L, ldl, Z, ldz, W, ldw);
}

bool la_symm_mixed(int64_t n, int64_t t, const float *A, int64_t lda, const double *V, int64_t ldv, double *W,
                   int64_t ldw)
{
    return multiply(true, n, t, A, lda, V, ldv, W, ldw);
}
