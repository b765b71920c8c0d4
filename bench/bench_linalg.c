/* Our triangular routines beside BLAS's own and dgemm, in one run.  Usage: bench_linalg [threads] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "linalg/blas.h"
#include "linalg/linalg.h"

enum { REPEATS = 5, WIDE = 2048 };

typedef struct shape {
    int64_t n, m;
    double *L, *B, *C;
} shape;

static void run_gemm(shape *s) { la_gemm(LA_N, LA_N, s->n, s->m, s->n, 1, s->L, s->n, s->B, s->n, 0, s->C, s->n); }
static void run_blas_trsm(shape *s) { blas_trsm(LA_LEFT, LA_N, s->n, s->m, 1, s->L, s->n, s->B, s->n); }
static void run_trsm(shape *s) { la_trsm(LA_LEFT, LA_N, s->n, s->m, 1, s->L, s->n, s->B, s->n); }

/* GFLOP/s, the best of a few. */
static double rate(void (*run)(shape *), shape *s, double flops)
{
    double best = INFINITY;
    for (int r = 0; r < REPEATS; r++) {
        for (int64_t i = 0; i < s->n * s->m; i++) s->B[i] = 1 + (double)(i % 5);
        double began = clock_seconds();
        run(s);
        best = fmin(best, clock_seconds() - began);
    }
    return flops / best / 1e9;
}

/* Factor and inverse of a diagonally dominant matrix: theirs, ours; n^3/3 and 2n^3/3 operations. */
static void compare_factors(int64_t n)
{
    int64_t (*const potrf[])(int64_t, double *, int64_t) = {blas_potrf, la_potrf};
    int64_t (*const potri[])(int64_t, double *, int64_t) = {blas_potri, la_potri};
    double *A = mem_alloc(n * n, sizeof *A), best[2][2] = {{INFINITY, INFINITY}, {INFINITY, INFINITY}},
           cube = pow((double)n, 3) / 3e9;
    if (!A) exit(2);
    for (int r = 0; r < REPEATS; r++)
        for (int who = 0; who < 2; who++) {
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i < n; i++) A[i + j * n] = i == j ? 10 : 1.0 / (double)(1 + llabs(i - j));
            double t0 = clock_seconds();
            potrf[who](n, A, n);
            double t1 = clock_seconds();
            potri[who](n, A, n);
            best[who][0] = fmin(best[who][0], t1 - t0);
            best[who][1] = fmin(best[who][1], clock_seconds() - t1);
        }
    printf("%6lld %7.1f %8.1f %6.2f %9.1f %8.1f %6.2f\n", (long long)n, cube / best[0][0], cube / best[1][0],
           best[0][0] / best[1][0], 2 * cube / best[0][1], 2 * cube / best[1][1], best[0][1] / best[1][1]);
    free(A);
}

int main(int argc, char **argv)
{
    static const int64_t sizes[] = {128, 300, 512, 1000, 2000, 5000};
    la_threads(argc > 1 ? atoi(argv[1]) : 0);
    printf("threads %d; GFLOP/s, %d right-hand sides\n     n   dgemm   dtrsm  la_trsm  la_trsm / dtrsm\n",
           threads_max(), WIDE);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        shape s = {.n = sizes[k], .m = WIDE};
        s.L = mem_zeroed(s.n * s.n, sizeof(double));
        s.B = mem_alloc(s.n * s.m, sizeof(double));
        s.C = mem_alloc(s.n * s.m, sizeof(double));
        if (!s.L || !s.B || !s.C) return 2;
        for (int64_t j = 0; j < s.n; j++)
            for (int64_t i = j; i < s.n; i++) s.L[i + j * s.n] = i == j ? 2 : 1.0 / (double)s.n;
        double work = (double)s.n * (double)s.n * (double)s.m;
        double gemm = rate(run_gemm, &s, 2 * work), theirs = rate(run_blas_trsm, &s, work),
               ours = rate(run_trsm, &s, work);
        printf("%6lld %7.1f %7.1f %8.1f %8.2f\n", (long long)s.n, gemm, theirs, ours, ours / theirs);
        free(s.L);
        free(s.B);
        free(s.C);
    }
    printf("\n     n  dpotrf la_potrf  ratio   dpotri la_potri  ratio\n");
    for (size_t k = 1; k < sizeof sizes / sizeof *sizes; k++) compare_factors(sizes[k]);
    return 0;
}
