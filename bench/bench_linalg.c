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

/* ------------------------------------------------------------ inside a region, a problem for each thread */

typedef struct problem {
    int64_t n, m;
    double *L, *T, *B, *C; /* [n,n], [n,m], [max(n,m)^2] */
} problem;

static void on_gemm(problem *p) { la_gemm(LA_N, LA_N, p->n, p->m, p->n, 1, p->L, p->n, p->B, p->n, 0, p->C, p->n); }
static void on_left(problem *p) { la_trsm_prepared(LA_LEFT, LA_N, p->n, p->m, p->L, p->n, p->T, p->B, p->n); }
static void on_left_t(problem *p) { la_trsm_prepared(LA_LEFT, LA_T, p->n, p->m, p->L, p->n, p->T, p->B, p->n); }
static void on_right(problem *p) { la_trsm_prepared(LA_RIGHT, LA_N, p->m, p->n, p->L, p->n, p->T, p->B, p->m); }
static void on_trmm(problem *p) { la_trmm(LA_LEFT, LA_N, p->n, p->m, 1, p->L, p->n, p->B, p->n); }
static void on_symm(problem *p) { la_symm(LA_LEFT, p->n, p->m, 1, p->L, p->n, p->B, p->n, 0, p->C, p->n); }
static void on_syrk(problem *p) { la_syrk(LA_N, p->n, p->m, 1, p->B, p->n, 0, p->C, p->n); }
static void on_lower(problem *p) { la_gemm_lower(LA_N, LA_T, p->n, p->m, 1, p->B, p->n, p->B, p->n, 0, p->C, p->n); }
static void on_potrf(problem *p) { la_potrf(p->n, p->C, p->n); }
static void on_trtri(problem *p) { la_trtri(p->n, p->C, p->n); }
static void on_potri(problem *p) { la_potri(p->n, p->C, p->n); }
static void on_congruence(problem *p) { la_congruence(p->n, p->L, p->n, p->T, p->C, p->n); }

typedef struct routine {
    const char *name;
    void (*run)(problem *);
    double squares, cubes; /* operations: squares n^2 m + cubes n^3 */
} routine;

static const routine routines[] = {
    {"gemm", on_gemm, 2, 0},         {"trsm LN", on_left, 1, 0},      {"trsm LT", on_left_t, 1, 0},
    {"trsm RN", on_right, 1, 0},     {"trmm", on_trmm, 1, 0},         {"symm", on_symm, 2, 0},
    {"syrk", on_syrk, 1, 0},         {"lower", on_lower, 1, 0},       {"potrf", on_potrf, 0, 1.0 / 3},
    {"trtri", on_trtri, 0, 1.0 / 3}, {"potri", on_potri, 0, 2.0 / 3}, {"congruence", on_congruence, 0, 1},
};

static void refresh(problem *p)
{
    for (int64_t i = 0; i < p->n * p->m; i++) p->B[i] = 1 + (double)(i % 5);
    memcpy(p->C, p->L, (size_t)(p->n * p->n) * sizeof *p->C);
}

static problem make_problem(int64_t n, int64_t m)
{
    problem p = {.n = n, .m = m};
    p.L = mem_zeroed(n * n, sizeof(double));
    p.T = mem_alloc(la_trsm_size(n), sizeof(double));
    p.B = mem_alloc(n * m, sizeof(double));
    p.C = mem_alloc(n * (n > m ? n : m), sizeof(double));
    if (!p.L || !p.T || !p.B || !p.C) exit(2);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) p.L[i + j * n] = i == j ? 2 : 1.0 / (double)n;
    la_trsm_prepare(n, p.L, n, p.T);
    return p;
}

/* GFLOP/s of one thread while all do the same: the best of a few rounds of the slowest thread. */
static double share_rate(const routine *r, problem *p, int threads)
{
    double best = INFINITY, work = (double)p->n * (double)p->n * (r->squares * (double)p->m + r->cubes * (double)p->n);
    for (int round = 0; round < REPEATS; round++) {
        double slowest = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(max : slowest)
        for (int t = 0; t < threads; t++) {
            refresh(&p[t]);
            double began = clock_seconds();
            r->run(&p[t]);
            slowest = clock_seconds() - began;
        }
        best = fmin(best, slowest);
    }
    return work / best / 1e9;
}

static void inside_region(int threads)
{
    enum { KINDS = sizeof routines / sizeof *routines, MOST = 64 };
    problem p[MOST];
    threads = threads < MOST ? threads : MOST;
    printf("\n%d thread(s) with a problem each: GFLOP/s of dgemm, then shares of it in %%\n     n     m ", threads);
    for (size_t k = 0; k < KINDS; k++) printf("%11s", routines[k].name);
    for (int64_t n = 256; n <= 2048; n *= 2)
        for (int64_t m = 256; m <= 1024; m *= 2) {
            for (int t = 0; t < threads; t++) p[t] = make_problem(n, m);
            double gemm = share_rate(&routines[0], p, threads);
            printf("\n%6lld%6lld %11.1f", (long long)n, (long long)m, gemm);
            for (size_t k = 1; k < KINDS; k++) printf("%11.0f", 100 * share_rate(&routines[k], p, threads) / gemm);
            for (int t = 0; t < threads; t++) free(p[t].L), free(p[t].T), free(p[t].B), free(p[t].C);
        }
    printf("\n");
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
    inside_region(threads_max());
    return 0;
}
