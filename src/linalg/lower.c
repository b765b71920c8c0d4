/* The lower triangle of a product that is known to be symmetric, in half the operations of dgemm:
       [ C11     ]        C11, C22 by halves again,   C21 = alpha op(A)2 op(B)1 + beta C21
       [ C21 C22 ]
   down to BASE columns, whose square is computed in a buffer from which the triangle is taken.  Nothing above the diagonal is read
   or written.  With threads, C is cut into tiles that each thread takes alone, the large ones below the diagonal first:
   the bits of a tile do not depend on which thread computes it.
   In double and in float (linalg_f32.h). */
#include "base/threads.h"
#include "linalg/blas.h"
#include "linalg/linalg.h"

#ifdef REAL_FLOAT
#include "linalg/linalg_f32.h"
typedef float real;
#define la_gemm la_gemm_f32
#define la_gemm_lower la_gemm_lower_f32
#else
typedef double real;
#endif

enum {
    BASE = 32,
    TILE_LEAST = 128, /* of a thread */
    SMALL = 1000000   /* products: up to here OpenBLAS has kernels that need no packing */
};

typedef struct product {
    la_op opa, opb;
    int64_t k;
    real alpha, beta;
    const real *A, *B;
    int64_t lda, ldb;
    real *C;
    int64_t ldc;
} product;

/* rows x cols of the product from (i, j) on, to C[rows,cols]; small blocks in runs of k that stay SMALL. */
static void block(const product *p, int64_t i, int64_t j, int64_t rows, int64_t cols, real beta, real *C, int64_t ldc)
{
    const real *A = p->A + (p->opa == LA_T ? i * p->lda : i), *B = p->B + (p->opb == LA_T ? j : j * p->ldb);
    int64_t stepa = p->opa == LA_T ? 1 : p->lda, stepb = p->opb == LA_T ? p->ldb : 1;
    int64_t depth = rows <= 2 * BASE ? SMALL / (4 * BASE * BASE) : p->k;
    la_gemm(p->opa, p->opb, rows, cols, p->k < depth ? p->k : depth, p->alpha, A, p->lda, B, p->ldb, beta, C, ldc);
    for (int64_t l = depth; l < p->k; l += depth)
        la_gemm(p->opa, p->opb, rows, cols, p->k - l < depth ? p->k - l : depth, p->alpha, A + l * stepa, p->lda,
                B + l * stepb, p->ldb, 1, C, ldc);
}

static void square(const product *p, int64_t i, int64_t j, int64_t rows, int64_t cols)
{
    block(p, i, j, rows, cols, p->beta, p->C + i + j * p->ldc, p->ldc);
}

static void base_triangle(const product *p, int64_t first, int64_t n)
{
    real full[BASE * BASE], *C = p->C + first + first * p->ldc;
    block(p, first, first, n, n, 0, full, BASE);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            real *c = C + i + j * p->ldc;
            *c = full[i + j * BASE] + (p->beta == 0 ? 0 : p->beta * *c); /* 0: C may hold anything, as in BLAS */
        }
}

static void triangle(const product *p, int64_t first, int64_t n)
{
    if (n <= BASE) {
        base_triangle(p, first, n);
        return;
    }
    int64_t n1 = (n / 2 + BASE - 1) / BASE * BASE, n2 = n - n1;
    triangle(p, first, n1);
    square(p, first + n1, first, n2, n1);
    triangle(p, first + n1, n2);
}

/* Tile number `index` of the strips of `size`: first those below the diagonal, column by column, then those on it. */
static void tile(const product *p, int64_t n, int64_t size, int64_t strips, int64_t index)
{
    int64_t col = 0;
    for (int64_t below = strips - 1; below > 0 && index >= below; below--) index -= below, col++;
    bool diagonal = col == strips - 1;
    int64_t i = (diagonal ? index : col + 1 + index) * size, j = col * size, rows = n - i < size ? n - i : size;
    if (diagonal)
        triangle(p, i, rows);
    else
        square(p, i, j, rows, size);
}

static void shared(const product *p, int64_t n, int threads)
{
    int64_t even = (n + 2 * threads - 1) / (2 * threads), size = even < TILE_LEAST ? TILE_LEAST : (even + 7) / 8 * 8,
            strips = (n + size - 1) / size;
    la_serial_begin(threads);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t index = 0; index < strips * (strips + 1) / 2; index++) tile(p, n, size, strips, index);
    la_serial_end(threads);
}

void la_gemm_lower(la_op opa, la_op opb, int64_t n, int64_t k, real alpha, const real *A, int64_t lda, const real *B,
                   int64_t ldb, real beta, real *C, int64_t ldc)
{
    product p = {opa, opb, k, alpha, beta, A, B, lda, ldb, C, ldc};
    int threads = threads_for((double)n * (double)n * (double)k);
    if (threads > 1) {
        shared(&p, n, threads);
        return;
    }
    int former = blas_alone_begin();
    triangle(&p, 0, n);
    blas_alone_end(former);
}
