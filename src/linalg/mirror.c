/* upper(i,j) = lower(j,i), in double and in float (linalg_f32.h).

   Block by block: a block's rows fill one cache line, both where they are read and where they are written, so that each line is touched once.
   Lines lie a leading dimension apart, where the processor's own prefetching does not find them: those of blocks that come AHEAD are asked for. */
#include "linalg/linalg.h"

#ifdef REAL_FLOAT
#include "linalg/linalg_f32.h"
typedef float real;
#define la_mirror la_mirror_f32
#else
typedef double real;
#endif

enum { BLOCK = 64 / (int)sizeof(real), AHEAD = 2 * BLOCK };

/* The lines of the block at (i, j), below the diagonal, and of its image. */
static void fetch(int64_t i, int64_t j, int64_t n, const real *A, int64_t lda)
{
    if (i + BLOCK > n) return;
    for (int64_t k = 0; k < BLOCK; k++) {
        __builtin_prefetch(A + i + (j + k) * lda);
        __builtin_prefetch(A + j + (i + k) * lda, 1);
    }
}

static void whole_block(int64_t i, int64_t j, real *A, int64_t lda)
{
    real to[BLOCK][BLOCK];
    for (int k = 0; k < BLOCK; k++)
        for (int l = 0; l < BLOCK; l++) to[l][k] = A[i + l + (j + k) * lda];
    for (int l = 0; l < BLOCK; l++)
        for (int k = 0; k < BLOCK; k++) A[j + k + (i + l) * lda] = to[l][k];
}

/* Columns j .. j+BLOCK-1, of which n has so many. */
static void strip(int64_t j, int64_t n, real *A, int64_t lda)
{
    int64_t end = n - j < BLOCK ? n : j + BLOCK, i = end;
    for (int64_t l = j; l < end; l++)
        for (int64_t k = l + 1; k < end; k++) A[l + k * lda] = A[k + l * lda];
    for (; i + BLOCK <= n; i += BLOCK) {
        fetch(i + AHEAD, j, n, A, lda);
        whole_block(i, j, A, lda);
    }
    for (; i < n; i++)
        for (int64_t l = j; l < end; l++) A[l + i * lda] = A[i + l * lda];
}

void la_mirror(int64_t n, real *A, int64_t lda)
{
#pragma omp parallel for schedule(dynamic) if (n > 512)
    for (int64_t j = 0; j < n; j += BLOCK) strip(j, n, A, lda);
}
