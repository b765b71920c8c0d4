/* Triangular solves by matrix products.

   OpenBLAS's dtrsm runs at a quarter of dgemm's rate for a few hundred unknowns and at three quarters for thousands.  Here
       [ L11     ] [X1]   [B1]        X1 = L11^-1 B1
       [ L21 L22 ] [X2] = [B2]        X2 = L22^-1 (B2 - L21 X1)
   is split until L is BASE wide; the diagonal blocks are inverted once, so that all the work is in dgemm (Du Croz and Higham
   1992: as stable as substitution as long as the blocks are well conditioned, and blocks of a Cholesky factor are).
   Right-hand sides are independent, so each thread takes its share of them and runs alone; nobody waits in between.
   Workspace: BASE (n + m) doubles; without them, or for few right-hand sides, dtrsm does it. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/blas.h"
#include "linalg/linalg.h"

enum { BASE = TRIANGLE_BASE, FEW = 24 };

typedef struct solve {
    bool left, transposed;
    const double *L;
    int64_t ldl;
    const double *inverse; /* BASE x BASE each: inverses of the diagonal blocks */
} solve;

void triangle_invert(int64_t n, const double *L, int64_t ldl, double *T)
{
    memset(T, 0, BASE * BASE * sizeof *T);
    for (int64_t j = 0; j < n; j++) {
        T[j + j * BASE] = 1 / L[j + j * ldl];
        for (int64_t k = j; k < n - 1; k++) { /* column by column: x_i -= L_ik x_k */
            double x = T[k + j * BASE];
            for (int64_t i = k + 1; i < n; i++) T[i + j * BASE] -= L[i + k * ldl] * x;
            T[k + 1 + j * BASE] /= L[k + 1 + (k + 1) * ldl];
        }
    }
}

/* The block of unknowns first .. first+n-1 of B: n x m (left) or m x n (right). */
static double *part(const solve *s, double *B, int64_t ldb, int64_t first)
{
    return B + (s->left ? first : first * ldb);
}

static void solve_base(const solve *s, int64_t first, int64_t n, int64_t m, double *B, int64_t ldb, double *work)
{
    const double *T = s->inverse + first * BASE;
    double *X = part(s, B, ldb, first);
    la_op op = s->transposed ? LA_T : LA_N;
    int64_t rows = s->left ? n : m, cols = s->left ? m : n;
    for (int64_t j = 0; j < cols; j++) memcpy(work + j * rows, X + j * ldb, (size_t)rows * sizeof *work);
    if (s->left)
        la_gemm(op, LA_N, n, m, n, 1, T, BASE, work, rows, 0, X, ldb);
    else
        la_gemm(LA_N, op, m, n, n, 1, work, rows, T, BASE, 0, X, ldb);
}

/* B2 -= L21 X1 and its three relatives: `to` and `from` are the halves updated and known. */
static void update(const solve *s, int64_t first, int64_t n1, int64_t n2, int64_t m, double *B, int64_t ldb)
{
    const double *L21 = s->L + first + n1 + first * s->ldl;
    double *B1 = part(s, B, ldb, first), *B2 = part(s, B, ldb, first + n1);
    if (s->left && !s->transposed)
        la_gemm(LA_N, LA_N, n2, m, n1, -1, L21, s->ldl, B1, ldb, 1, B2, ldb);
    else if (s->left)
        la_gemm(LA_T, LA_N, n1, m, n2, -1, L21, s->ldl, B2, ldb, 1, B1, ldb);
    else if (s->transposed)
        la_gemm(LA_N, LA_T, m, n2, n1, -1, B1, ldb, L21, s->ldl, 1, B2, ldb);
    else
        la_gemm(LA_N, LA_N, m, n1, n2, -1, B2, ldb, L21, s->ldl, 1, B1, ldb);
}

static void solve_range(const solve *s, int64_t first, int64_t n, int64_t m, double *B, int64_t ldb, double *work)
{
    if (n <= BASE) {
        solve_base(s, first, n, m, B, ldb, work);
        return;
    }
    int64_t n1 = (n / 2 + BASE - 1) / BASE * BASE, n2 = n - n1;
    bool forward = s->left != s->transposed; /* the first unknowns are known first */
    int64_t head = forward ? first : first + n1, tail = forward ? first + n1 : first;
    solve_range(s, head, forward ? n1 : n2, m, B, ldb, work);
    update(s, first, n1, n2, m, B, ldb);
    solve_range(s, tail, forward ? n2 : n1, m, B, ldb, work);
}

/* m right-hand sides shared out to the threads. */
static void solve_shared(const solve *s, int64_t n, int64_t m, double *B, int64_t ldb, double *work, int threads)
{
    int former = threads == 1 ? la_threads(1) : 0; /* small products gain nothing from more */
    la_serial_begin(threads);
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        int64_t from = m * t / threads, to = m * (t + 1) / threads;
        if (to > from) solve_range(s, 0, n, to - from, B + (s->left ? from * ldb : from), ldb, work + from * BASE);
    }
    la_serial_end(threads);
    if (former) la_threads(former);
}

int64_t la_trsm_size(int64_t n) { return (n + BASE - 1) / BASE * BASE * BASE; }

void la_trsm_prepare(int64_t n, const double *L, int64_t ldl, double *T)
{
    int threads = threads_for((double)n * BASE * BASE);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t first = 0; first < n; first += BASE)
        triangle_invert(n - first < BASE ? n - first : BASE, L + first + first * ldl, ldl, T + first * BASE);
}

void la_trsm_prepared(la_side side, la_op op, int64_t rows, int64_t cols, const double *L, int64_t ldl, const double *T,
                      double *B, int64_t ldb)
{
    int64_t n = side == LA_LEFT ? rows : cols, m = side == LA_LEFT ? cols : rows;
    double *work = m < FEW ? NULL : mem_alloc(BASE * m, sizeof *work);
    solve s = {side == LA_LEFT, op == LA_T, L, ldl, T};
    if (work)
        solve_shared(&s, n, m, B, ldb, work, threads_for((double)n * (double)n * (double)m));
    else
        blas_trsm(side, op, rows, cols, 1, L, ldl, B, ldb);
    free(work);
}

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
