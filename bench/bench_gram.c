/* Gram matrices and their reverses against exp over as many numbers, array to array, on the same threads: the vector library's, and that of
   our kernels, which takes half its time on AVX2; and the plain reference for information.  Usage: bench_gram [threads] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/simd.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "kernel/vector.h"
#include "linalg/linalg.h"

enum { N = 4096, D = 8, NS = 4000 };

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
__attribute__((simd("notinbranch"))) double exp(double); /* libmvec's, as vector.h declares the others */
#endif

VECTORISED static void vector_exp(int64_t n, const double *x, double *y)
{
    SIMD for (int64_t i = 0; i < n; i++) y[i] = exp(x[i]);
}

VECTORISED static void own_exp(int64_t n, const double *x, double *y)
{
    SIMD for (int64_t i = 0; i < n; i++) y[i] = exp_minus(fabs(x[i]));
}

static double *normals(uint64_t stream, int64_t n)
{
    double *x = mem_alloc(n, sizeof *x);
    for (int64_t i = 0; x && i < n; i++)
        x[i] = random_normal((random_stream){.seed = 1, .use = RANDOM_TEST, .sub = stream}, (uint64_t)i);
    if (!x) exit(2);
    return x;
}

static kernel *parse(const char *text, int64_t d)
{
    kernel_input in[1024];
    kernel *k;
    anygp_error e;
    for (int64_t i = 0; i < d; i++) in[i] = (kernel_input){NULL, i, INPUT_NUMBER, i};
    if (kernel_parse(text, in, d, d, &k, &e) != ANYGP_OK) fprintf(stderr, "%s\n", e.text), exit(1);
    return k;
}

typedef struct work {
    kernel *k;
    int64_t n, d;
    double *X, *Z, *K, *G, *gp, *gX;
} work;

static void run_exp(work *w)
{
#pragma omp parallel for schedule(static)
    for (int64_t j = 0; j < w->n; j++) vector_exp(w->n, w->gX + j * w->n, w->K + j * w->n);
}
static void run_own(work *w)
{
#pragma omp parallel for schedule(static)
    for (int64_t j = 0; j < w->n; j++) own_exp(w->n, w->gX + j * w->n, w->K + j * w->n);
}
static void run_gram(work *w) { kernel_gram(w->k, w->n, w->X, w->d, w->n, w->Z, w->d, w->K, w->n); }
static void run_sym(work *w) { kernel_gram_sym(w->k, w->n, w->X, w->d, w->K, w->n); }
static void run_reverse(work *w) { kernel_gram_sym_reverse(w->k, w->n, w->X, w->d, w->K, w->n, w->gp, NULL, 0); }
static void run_inputs(work *w) { kernel_gram_sym_reverse(w->k, w->n, w->X, w->d, w->K, w->n, w->gp, w->gX, w->d); }
static void run_reference(work *w)
{
#pragma omp parallel for
    for (int64_t j = 0; j < w->n / 16; j++)
        for (int64_t i = 0; i < w->n; i++)
            w->K[i + j * w->n] = kernel_reference(w->k, w->X + i * w->d, w->Z + j * w->d, false);
}

/* With one thread the seconds of the processor. */
static double seconds(void) { return threads_max() > 1 ? clock_seconds() : clock_thread_seconds(); }

static double once(void (*run)(work *), work *w)
{
    double start = seconds();
    run(w);
    return seconds() - start;
}

static double best(int repeats, void (*run)(work *), work *w)
{
    double least = INFINITY;
    for (int i = 0; i < repeats; i++) least = fmin(least, once(run, w));
    return least;
}

/* The gate: both in turn, so that a busy machine slows both. */
static void against_exp(const char *text, work w)
{
    double gram = INFINITY, vector = INFINITY, own = INFINITY, reverse = INFINITY;
    w.k = parse(text, w.d);
    w.gp = normals(5, kernel_count(w.k));
    for (int i = 0; i < 25; i++) {
        gram = fmin(gram, once(run_gram, &w));
        vector = fmin(vector, once(run_exp, &w));
        own = fmin(own, once(run_own, &w));
        if (i < 9) reverse = fmin(reverse, once(run_reverse, &w));
    }
    printf(
        "gram %-9s 4096 x 4096 x 8 %8.2f ms; exp array to array, libmvec's %.2f ms and ours %.2f; ratios %.2f and %.2f "
        "(at most 1.6)\n",
        text, 1e3 * gram, 1e3 * vector, 1e3 * own, gram / vector, gram / own);
    printf("     symmetric, reverse in parameters %8.2f ms, over exp of half as many numbers %.2f and %.2f (at most "
           "2.5)\n",
           1e3 * reverse, 2 * reverse / vector, 2 * reverse / own);
    free(w.gp);
    printf("     plain reference %.0f times slower\n", 16 * best(1, run_reference, &w) / gram);
    kernel_free(w.k);
}

static void symmetric(const char *text, work w)
{
    w.n = NS;
    w.k = parse(text, w.d);
    w.gp = normals(5, kernel_count(w.k));
    double sym = best(3, run_sym, &w), reverse = best(3, run_reverse, &w), inputs = best(3, run_inputs, &w);
    printf("%-32s symmetric, n = 4000 %7.2f ms; reverse in parameters %7.2f ms (%.2f), and inputs %7.2f ms\n", text,
           1e3 * sym, 1e3 * reverse, reverse / sym, 1e3 * inputs);
    free(w.gp);
    kernel_free(w.k);
}

/* ----------------------------------------------------------------------- blocks of rows against inducing inputs */

enum { BLOCK = 1024, INDUCING = 1000, WIDEST = 784 };

static void run_product(work *w)
{
    la_gemm(LA_T, LA_N, BLOCK, INDUCING, w->d, 1, w->X, w->d, w->Z, w->d, 0, w->K, BLOCK);
}
static void run_block(work *w) { kernel_gram(w->k, BLOCK, w->X, w->d, INDUCING, w->Z, w->d, w->K, BLOCK); }
static void run_block_z(work *w)
{
    kernel_gram_reverse(w->k, BLOCK, w->X, w->d, INDUCING, w->Z, w->d, w->G, BLOCK, w->gp, NULL, 0, w->gX, w->d);
}
static void run_block_xz(work *w)
{
    double *gZ = w->gX + BLOCK * w->d;
    kernel_gram_reverse(w->k, BLOCK, w->X, w->d, INDUCING, w->Z, w->d, w->G, BLOCK, w->gp, w->gX, w->d, gZ, w->d);
}

/* Beside the product X Z' alone: forward needs one such, the reverse in Z and ARD length-scales two, with X three. */
static void block(const char *text, int64_t d, work w)
{
    w.d = d;
    w.k = parse(text, d);
    w.gp = normals(5, kernel_count(w.k));
    double product = best(9, run_product, &w), gram = best(9, run_block, &w), z = best(9, run_block_z, &w),
           xz = best(9, run_block_xz, &w);
    printf("%-10s %4d dims: X Z' %6.2f ms (%5.1f GFLOP/s)  gram %6.2f (%3.0f %%)  in Z, l %6.2f (%3.0f %%, %.1f grams)"
           "  in X, Z, l %6.2f (%3.0f %%)\n",
           text, (int)d, 1e3 * product, 2e-9 * BLOCK * INDUCING * (double)d / product, 1e3 * gram, 100 * product / gram,
           1e3 * z, 200 * product / z, z / gram, 1e3 * xz, 300 * product / xz);
    free(w.gp);
    kernel_free(w.k);
}

static void blocks(work w)
{
    static const int64_t dims[] = {8, 16, 24, 32, 48, 64, 128, WIDEST};
    static const char *const texts[] = {"rbf", "matern52", "linear", "arccosine"};
    printf("%d x %d, shares of the rate of X Z'\n", BLOCK, INDUCING);
    w.X = normals(2, BLOCK * WIDEST), w.Z = normals(3, INDUCING * WIDEST), w.G = normals(4, BLOCK * INDUCING);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) block(texts[t], dims[i], w);
    free(w.X), free(w.Z), free(w.G);
}

int main(int argc, char **argv)
{
    la_threads(argc > 1 ? atoi(argv[1]) : 2);
    work w = {.n = N, .d = D};
    w.K = normals(1, (int64_t)N * N), w.gX = normals(4, (int64_t)N * N);
    w.X = normals(2, N * D), w.Z = normals(3, N * D);
    printf("threads %d, %s\n", threads_max(), simd_name(simd_chosen()));
    against_exp("rbf", w);
    against_exp("matern52", w);
    for (int64_t i = 0; i < kernel_kinds(); i++)
        if (strcmp(kernel_kind_name(i), "categorical")) symmetric(kernel_kind_name(i), w);
    symmetric("rbf*periodic + matern32 + white", w);
    blocks(w);
    free(w.K), free(w.gX), free(w.X), free(w.Z);
    return 0;
}
