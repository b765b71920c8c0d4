/* Triangular solves by matrix products.

   OpenBLAS's dtrsm runs at a quarter of dgemm's rate for a few hundred unknowns and at three quarters for thousands.  Here
       [ L11     ] [X1]   [B1]        X1 = L11^-1 B1
       [ L21 L22 ] [X2] = [B2]        X2 = L22^-1 (B2 - L21 X1)
   is split until L is BASE wide; the diagonal blocks are inverted once, so that all the work is in dgemm (Du Croz and Higham
   1992: as stable as substitution as long as the blocks are well conditioned, and blocks of a Cholesky factor are).
   Right-hand sides are independent, so each thread takes its share of them and runs without waiting.
   Products with a triangle go the same way, for factor.c.  Solves are in double and in float (linalg_f32.h).
   Workspace: BASE (2 n + m) doubles; without them, or for few right-hand sides, dtrsm is used. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/blas.h"
#include "linalg/linalg.h"

#ifdef REAL_FLOAT
#include "linalg/linalg_f32.h"
typedef float real;
#define la_gemm la_gemm_f32
#define blas_trsm blas_trsm_f32
#define la_trsm_prepare la_trsm_prepare_f32
#define la_trsm_prepared la_trsm_prepared_f32
#define triangle_invert triangle_invert_f32
#define triangle_multiply triangle_multiply_f32
#else
typedef double real;
#endif

enum { BASE = TRIANGLE_BASE, FEW = 24, PANEL = 256 };

/* op(L)^-1 B and B op(L)^-1, or with `multiply` the products with op(L) itself.  Either way each diagonal block acts by the
   full square kept in `diagonal`, and the other blocks by those of L, times -1 when solving. */
typedef struct action {
    bool left, transposed, multiply;
    real sign; /* of the product */
    const real *L;
    int64_t ldl;
    const real *diagonal; /* TRIANGLE_STRIDE doubles per unknown: each block's square, then its transpose */
} action;

/* The block of unknowns first .. first+n-1 of B: n x m (left) or m x n (right). */
static real *part(const action *s, real *B, int64_t ldb, int64_t first) { return B + (s->left ? first : first * ldb); }

static void act_base(const action *s, int64_t first, int64_t n, int64_t m, real *B, int64_t ldb, real *work)
{
    const real *T = s->diagonal + first * TRIANGLE_STRIDE + (s->transposed ? BASE * BASE : 0);
    real *X = part(s, B, ldb, first), alpha = s->multiply ? s->sign : 1;
    int64_t rows = s->left ? n : m, cols = s->left ? m : n;
    for (int64_t j = 0; j < cols; j++) memcpy(work + j * rows, X + j * ldb, (size_t)rows * sizeof *work);
    if (s->left)
        la_gemm(LA_N, LA_N, n, m, n, alpha, T, BASE, work, rows, 0, X, ldb);
    else
        la_gemm(LA_N, LA_N, m, n, n, alpha, work, rows, T, BASE, 0, X, ldb);
}

/* B2 -= L21 B1 and its three relatives. */
static void update(const action *s, int64_t first, int64_t n1, int64_t n2, int64_t m, real *B, int64_t ldb)
{
    const real *L21 = s->L + first + n1 + first * s->ldl;
    real *B1 = part(s, B, ldb, first), *B2 = part(s, B, ldb, first + n1), alpha = s->multiply ? s->sign : -1;
    if (s->left && !s->transposed)
        la_gemm(LA_N, LA_N, n2, m, n1, alpha, L21, s->ldl, B1, ldb, 1, B2, ldb);
    else if (s->left)
        la_gemm(LA_T, LA_N, n1, m, n2, alpha, L21, s->ldl, B2, ldb, 1, B1, ldb);
    else if (s->transposed)
        la_gemm(LA_N, LA_T, m, n2, n1, alpha, B1, ldb, L21, s->ldl, 1, B2, ldb);
    else
        la_gemm(LA_N, LA_N, m, n1, n2, alpha, B2, ldb, L21, s->ldl, 1, B1, ldb);
}

/* Solving, the half that is known first updates the other; multiplying, the other is multiplied and updated before. */
static void act_range(const action *s, int64_t first, int64_t n, int64_t m, real *B, int64_t ldb, real *work)
{
    if (n <= BASE) {
        act_base(s, first, n, m, B, ldb, work);
        return;
    }
    int64_t n1 = (n / 2 + BASE - 1) / BASE * BASE, n2 = n - n1;
    bool forward = (s->left != s->transposed) != s->multiply;
    int64_t head = forward ? first : first + n1, tail = forward ? first + n1 : first;
    act_range(s, head, forward ? n1 : n2, m, B, ldb, work);
    update(s, first, n1, n2, m, B, ldb);
    act_range(s, tail, forward ? n2 : n1, m, B, ldb, work);
}

/* The right-hand sides from .. to-1.  Those on the left in panels that stay in the second cache. */
static void act_sides(const action *s, int64_t n, int64_t from, int64_t to, real *B, int64_t ldb, real *work)
{
    int64_t panel = s->left ? PANEL : to - from;
    for (int64_t j = from; j < to; j += panel) {
        int64_t m = to - j < panel ? to - j : panel;
        act_range(s, 0, n, m, B + (s->left ? j * ldb : j), ldb, work + from * BASE);
    }
}

/* m right-hand sides shared out to the threads. */
static void act_shared(const action *s, int64_t n, int64_t m, real *B, int64_t ldb, real *work, int threads)
{
    int former = threads == 1 ? blas_alone_begin() : 0;
    la_serial_begin(threads);
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) act_sides(s, n, m * t / threads, m * (t + 1) / threads, B, ldb, work);
    la_serial_end(threads);
    blas_alone_end(former);
}

#ifndef REAL_FLOAT
int64_t la_trsm_size(int64_t n) { return (n + BASE - 1) / BASE * BASE * TRIANGLE_STRIDE; }
#endif

void la_trsm_prepare(int64_t n, const real *L, int64_t ldl, real *T)
{
    int threads = threads_for((double)n * BASE * BASE);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t first = 0; first < n; first += BASE)
        triangle_invert(n - first < BASE ? n - first : BASE, L + first + first * ldl, ldl, T + first * TRIANGLE_STRIDE);
}

void la_trsm_prepared(la_side side, la_op op, int64_t rows, int64_t cols, const real *L, int64_t ldl, const real *T,
                      real *B, int64_t ldb)
{
    int64_t n = side == LA_LEFT ? rows : cols, m = side == LA_LEFT ? cols : rows;
    real *work = m < FEW ? NULL : mem_alloc(BASE * m, sizeof *work);
    action s = {.left = side == LA_LEFT, .transposed = op == LA_T, .L = L, .ldl = ldl, .diagonal = T};
    if (work)
        act_shared(&s, n, m, B, ldb, work, threads_for((double)n * (double)n * (double)m));
    else
        blas_trsm(side, op, rows, cols, 1, L, ldl, B, ldb);
    free(work);
}

/* Without room for all right-hand sides: a few at a time. */
static void act_few(const action *s, int64_t n, int64_t m, real *B, int64_t ldb)
{
    real work[BASE * FEW];
    for (int64_t j = 0; j < m; j += FEW)
        act_range(s, 0, n, m - j < FEW ? m - j : FEW, B + (s->left ? j * ldb : j), ldb, work);
}

void triangle_multiply(la_side side, la_op op, int64_t rows, int64_t cols, real sign, const real *R, int64_t ldr,
                       const real *T, real *B, int64_t ldb)
{
    int64_t n = side == LA_LEFT ? rows : cols, m = side == LA_LEFT ? cols : rows;
    real *work = m < FEW ? NULL : mem_alloc(BASE * m, sizeof *work);
    action s = {side == LA_LEFT, op == LA_T, true, sign, R, ldr, T};
    if (work)
        act_shared(&s, n, m, B, ldb, work, threads_for((double)n * (double)n * (double)m));
    else
        act_few(&s, n, m, B, ldb);
    free(work);
}

#ifndef REAL_FLOAT
void la_trsm(la_side side, la_op op, int64_t rows, int64_t cols, double alpha, const double *L, int64_t ldl, double *B,
             int64_t ldb)
{
    int64_t n = side == LA_LEFT ? rows : cols, m = side == LA_LEFT ? cols : rows;
    double *T = m < FEW ? NULL : mem_alloc(la_trsm_size(n), sizeof *T);
    if (!T) {
        blas_trsm(side, op, rows, cols, alpha, L, ldl, B, ldb);
        return;
    }
    for (int64_t j = 0; j < cols && alpha != 1; j++) la_scale(rows, alpha, B + j * ldb);
    la_trsm_prepare(n, L, ldl, T);
    la_trsm_prepared(side, op, rows, cols, L, ldl, T, B, ldb);
    free(T);
}
#endif
