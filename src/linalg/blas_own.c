/* Instead of blas.c in a library built without BLAS: the same functions as plain loops over columns.  Meant for predictions,
   whose matrices are small; a large fit wants a BLAS.  The recursions of triangular.c, factor.c and lower.c end in la_gemm, which
   is therefore the one that is blocked. */
#include <math.h>
#include <stddef.h>

#include "base/simd.h"
#include "base/threads.h"
#include "linalg/blas.h"

/* There are no threads of BLAS's own to be told. */
int la_threads(int count) { return threads_inside() ? threads_max() : threads_enter(count); }
int blas_alone_begin(void) { return 0; }
void blas_alone_end(int former) { (void)former; }
void la_serial_begin(int threads) { (void)threads; }
void la_serial_end(int threads) { (void)threads; }

/* -------------------------------------------------------------------------------------------- vectors */

VECTORISED double la_dot(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    SIMD_SUM(sum)
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* By the largest element, so that squares neither overflow nor vanish. */
double la_norm(int64_t n, const double *x)
{
    double most = 0, sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]);
    if (most == 0 || !isfinite(most)) return most;
    for (int64_t i = 0; i < n; i++) sum += x[i] / most * (x[i] / most);
    return most * sqrt(sum);
}

VECTORISED void la_axpy(int64_t n, double alpha, const double *x, double *y)
{
    SIMD for (int64_t i = 0; i < n; i++) y[i] += alpha * x[i];
}

VECTORISED void la_scale(int64_t n, double alpha, double *x) { SIMD for (int64_t i = 0; i < n; i++) x[i] *= alpha; }

/* beta = 0 sets: what was there before may be no number. */
static void scale_or_clear(int64_t n, double beta, double *x)
{
    if (beta == 1) return;
    if (beta != 0)
        la_scale(n, beta, x);
    else
        for (int64_t i = 0; i < n; i++) x[i] = 0;
}

/* ------------------------------------------------------------------------------------------- products */

void la_gemv(la_op op, int64_t m, int64_t n, double alpha, const double *A, int64_t lda, const double *x, double beta,
             double *y)
{
    if (m == 0 || n == 0) return; /* as BLAS does */
    scale_or_clear(op == LA_N ? m : n, beta, y);
    for (int64_t j = 0; j < n; j++)
        if (op == LA_N)
            la_axpy(m, alpha * x[j], A + j * lda, y);
        else
            y[j] += alpha * la_dot(m, A + j * lda, x);
}

/* C[m,n] += A B in tiles whose part of A stays in the cache: A is packed by tile, either way round, and four columns of C are
   summed at once. */
enum { TILE_ROWS = 64, TILE_DEPTH = 128, COLUMNS = 4 };

static void pack_tile(la_op op, int64_t m, int64_t k, double alpha, const double *A, int64_t lda, double *tile)
{
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = 0; i < m; i++)
            tile[i + p * TILE_ROWS] = alpha * (op == LA_N ? A[i + p * lda] : A[p + i * lda]);
}

VECTORISED static void add_four(int64_t m, int64_t k, const double *tile, const double *b, int64_t bp, int64_t bj,
                                double *C, int64_t ldc)
{
    double sum[COLUMNS][TILE_ROWS] = {{0}};
    for (int64_t p = 0; p < k; p++) {
        const double *a = tile + p * TILE_ROWS;
        double b0 = b[p * bp], b1 = b[p * bp + bj], b2 = b[p * bp + 2 * bj], b3 = b[p * bp + 3 * bj];
        SIMD for (int64_t i = 0; i < m; i++)
        {
            sum[0][i] += a[i] * b0, sum[1][i] += a[i] * b1;
            sum[2][i] += a[i] * b2, sum[3][i] += a[i] * b3;
        }
    }
    for (int j = 0; j < COLUMNS; j++)
        for (int64_t i = 0; i < m; i++) C[i + j * ldc] += sum[j][i];
}

static void add_one(int64_t m, int64_t k, const double *tile, const double *b, int64_t bp, double *c)
{
    for (int64_t p = 0; p < k; p++) la_axpy(m, b[p * bp], tile + p * TILE_ROWS, c);
}

void la_gemm(la_op opa, la_op opb, int64_t m, int64_t n, int64_t k, double alpha, const double *A, int64_t lda,
             const double *B, int64_t ldb, double beta, double *C, int64_t ldc)
{
    double tile[TILE_ROWS * TILE_DEPTH];
    int64_t bp = opb == LA_N ? 1 : ldb, bj = opb == LA_N ? ldb : 1;
    for (int64_t j = 0; j < n; j++) scale_or_clear(m, beta, C + j * ldc);
    if (alpha == 0) return;
    for (int64_t p = 0; p < k; p += TILE_DEPTH)
        for (int64_t i = 0; i < m; i += TILE_ROWS) {
            int64_t depth = k - p < TILE_DEPTH ? k - p : TILE_DEPTH, rows = m - i < TILE_ROWS ? m - i : TILE_ROWS, j;
            pack_tile(opa, rows, depth, alpha, opa == LA_N ? A + i + p * lda : A + p + i * lda, lda, tile);
            for (j = 0; j + COLUMNS <= n; j += COLUMNS)
                add_four(rows, depth, tile, B + p * bp + j * bj, bp, bj, C + i + j * ldc, ldc);
            for (; j < n; j++) add_one(rows, depth, tile, B + p * bp + j * bj, bp, C + i + j * ldc);
        }
}

/* By strips of columns: the triangle on top column by column, the rest a product. */
enum { STRIP = 32 };

static void syrk_corner(la_op op, int64_t n, int64_t k, double alpha, const double *A, int64_t lda, double beta,
                        double *C, int64_t ldc)
{
    for (int64_t j = 0; j < n; j++) {
        const double *from = op == LA_N ? A + j : A + j * lda;
        la_gemm(op, op == LA_N ? LA_T : LA_N, n - j, 1, k, alpha, from, lda, from, lda, beta, C + j + j * ldc, ldc);
    }
}

void la_syrk(la_op op, int64_t n, int64_t k, double alpha, const double *A, int64_t lda, double beta, double *C,
             int64_t ldc)
{
    for (int64_t j = 0; j < n; j += STRIP) {
        int64_t w = n - j < STRIP ? n - j : STRIP, below = j + w;
        const double *here = op == LA_N ? A + j : A + j * lda, *rest = op == LA_N ? A + below : A + below * lda;
        syrk_corner(op, w, k, alpha, here, lda, beta, C + j + j * ldc, ldc);
        if (below < n)
            la_gemm(op, op == LA_N ? LA_T : LA_N, n - below, w, k, alpha, rest, lda, here, lda, beta,
                    C + below + j * ldc, ldc);
    }
}

/* A symmetric, lower: element (i, j) and (j, i) each once. */
void la_symm(la_side side, int64_t m, int64_t n, double alpha, const double *A, int64_t lda, const double *B,
             int64_t ldb, double beta, double *C, int64_t ldc)
{
    for (int64_t j = 0; j < n; j++) scale_or_clear(m, beta, C + j * ldc);
    if (side == LA_LEFT) {
        for (int64_t j = 0; j < n; j++)
            for (int64_t p = 0; p < m; p++) {
                const double *a = A + p * lda, *b = B + j * ldb;
                double *c = C + j * ldc;
                la_axpy(m - p, alpha * b[p], a + p, c + p);
                c[p] += alpha * la_dot(m - p - 1, a + p + 1, b + p + 1);
            }
        return;
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < n; p++)
            la_axpy(m, alpha * (p >= j ? A[p + j * lda] : A[j + p * lda]), B + p * ldb, C + j * ldc);
}

/* ------------------------------------------------------------------------------------------ triangles */

void la_trsv(la_op op, int64_t n, const double *L, int64_t ldl, double *x)
{
    if (op == LA_N)
        for (int64_t j = 0; j < n; j++) {
            x[j] /= L[j + j * ldl];
            la_axpy(n - j - 1, -x[j], L + j + 1 + j * ldl, x + j + 1);
        }
    else
        for (int64_t j = n - 1; j >= 0; j--)
            x[j] = (x[j] - la_dot(n - j - 1, L + j + 1 + j * ldl, x + j + 1)) / L[j + j * ldl];
}

/* X op(L) = B by columns: with op = N from the last column on, X_j = (B_j - sum_{p>j} X_p L_pj) / L_jj. */
static void solve_right(la_op op, int64_t m, int64_t n, const double *L, int64_t ldl, double *B, int64_t ldb)
{
    for (int64_t q = 0; q < n; q++) {
        int64_t j = op == LA_N ? n - 1 - q : q, first = op == LA_N ? j + 1 : 0, end = op == LA_N ? n : j;
        for (int64_t p = first; p < end; p++)
            la_axpy(m, -(op == LA_N ? L[p + j * ldl] : L[j + p * ldl]), B + p * ldb, B + j * ldb);
        for (int64_t i = 0; i < m; i++) B[i + j * ldb] /= L[j + j * ldl];
    }
}

void blas_trsm(la_side side, la_op op, int64_t m, int64_t n, double alpha, const double *L, int64_t ldl, double *B,
               int64_t ldb)
{
    for (int64_t j = 0; j < n; j++) scale_or_clear(m, alpha, B + j * ldb);
    if (side == LA_RIGHT)
        solve_right(op, m, n, L, ldl, B, ldb);
    else
        for (int64_t j = 0; j < n; j++) la_trsv(op, m, L, ldl, B + j * ldb);
}

static void multiply_column(la_op op, int64_t n, const double *L, int64_t ldl, double *x)
{
    if (op == LA_N)
        for (int64_t j = n - 1; j >= 0; j--) {
            la_axpy(n - j - 1, x[j], L + j + 1 + j * ldl, x + j + 1);
            x[j] *= L[j + j * ldl];
        }
    else
        for (int64_t j = 0; j < n; j++) x[j] = la_dot(n - j, L + j + j * ldl, x + j);
}

static void multiply_right(la_op op, int64_t m, int64_t n, const double *L, int64_t ldl, double *B, int64_t ldb)
{
    for (int64_t q = 0; q < n; q++) {
        int64_t j = op == LA_N ? q : n - 1 - q, first = op == LA_N ? j + 1 : 0, end = op == LA_N ? n : j;
        la_scale(m, L[j + j * ldl], B + j * ldb);
        for (int64_t p = first; p < end; p++)
            la_axpy(m, op == LA_N ? L[p + j * ldl] : L[j + p * ldl], B + p * ldb, B + j * ldb);
    }
}

void la_trmm(la_side side, la_op op, int64_t m, int64_t n, double alpha, const double *L, int64_t ldl, double *B,
             int64_t ldb)
{
    for (int64_t j = 0; j < n; j++) scale_or_clear(m, alpha, B + j * ldb);
    if (side == LA_RIGHT)
        multiply_right(op, m, n, L, ldl, B, ldb);
    else
        for (int64_t j = 0; j < n; j++) multiply_column(op, m, L, ldl, B + j * ldb);
}

/* ------------------------------------------------------------------------------------------- factors */

int64_t blas_potrf(int64_t n, double *A, int64_t lda)
{
    for (int64_t j = 0; j < n; j++) {
        double *a = A + j * lda;
        for (int64_t p = 0; p < j; p++) la_axpy(n - j, -A[j + p * lda], A + j + p * lda, a + j);
        if (!(a[j] > 0)) return j + 1;
        a[j] = sqrt(a[j]);
        for (int64_t i = j + 1; i < n; i++) a[i] /= a[j];
    }
    return 0;
}

/* Column j of L^-1 from the columns after it: X_jj = 1/L_jj, and below it -X L_j / L_jj. */
int64_t blas_trtri(int64_t n, double *L, int64_t ldl)
{
    for (int64_t j = 0; j < n; j++)
        if (L[j + j * ldl] == 0) return j + 1;
    for (int64_t j = n - 1; j >= 0; j--) {
        double *x = L + j * ldl, pivot = 1 / x[j];
        x[j] = pivot;
        multiply_column(LA_N, n - j - 1, L + (j + 1) * (ldl + 1), ldl, x + j + 1);
        la_scale(n - j - 1, -pivot, x + j + 1);
    }
    return 0;
}

/* (L'L)_ij = sum_{p >= i} L_pi L_pj for i >= j, in place: row by row, since row i needs only rows from i on. */
int64_t blas_lauum(int64_t n, double *L, int64_t ldl)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) L[i + j * ldl] = la_dot(n - i, L + i + i * ldl, L + i + j * ldl);
    return 0;
}

int64_t blas_potri(int64_t n, double *L, int64_t ldl)
{
    int64_t info = blas_trtri(n, L, ldl);
    return info ? info : blas_lauum(n, L, ldl);
}
