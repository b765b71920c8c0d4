/* Gram matrices against the vector library's exp over as many numbers, array to array, on the same threads; and the
   reverse, and the plain reference for information.  Usage: bench_gram [threads] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "kernel/vector.h"

enum { N = 4096, D = 8, NS = 4000, REPEATS = 9 };

VECTORISED static void vector_exp(int64_t n, const double *x, double *y)
{
    SIMD for (int64_t i = 0; i < n; i++) y[i] = exp(x[i]);
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
    kernel_input in[256];
    kernel *k;
    anygp_error e;
    for (int64_t i = 0; i < d; i++) in[i] = (kernel_input){NULL, i, INPUT_NUMBER, i};
    if (kernel_parse(text, in, d, d, &k, &e) != ANYGP_OK) fprintf(stderr, "%s\n", e.text), exit(1);
    return k;
}

typedef struct work {
    kernel *k;
    int64_t n, d;
    double *X, *Z, *K, *gp, *gX;
} work;

static void run_exp(work *w)
{
#pragma omp parallel for schedule(static)
    for (int64_t j = 0; j < w->n; j++) vector_exp(w->n, w->gX + j * w->n, w->K + j * w->n);
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

static double best(void (*run)(work *), work *w)
{
    double least = INFINITY;
    for (int i = 0; i < REPEATS; i++) {
        double start = clock_seconds();
        run(w);
        double s = clock_seconds() - start;
        if (s < least) least = s;
    }
    return least;
}

int main(int argc, char **argv)
{
    static const char *const texts[] = {"rbf",
                                        "matern52",
                                        "matern12",
                                        "matern32",
                                        "rq",
                                        "wendland2",
                                        "periodic",
                                        "linear",
                                        "arccosine",
                                        "sm",
                                        "rbf*periodic + matern32 + white"};
    threads_enter(argc > 1 ? atoi(argv[1]) : 2);
    double *K = normals(1, (int64_t)N * N), *E = normals(4, (int64_t)N * N), *X = normals(2, N * 256),
           *Z = normals(3, N * 256);
    work w = {.n = N, .d = D, .X = X, .Z = Z, .K = K, .gX = E};
    double exp_time = best(run_exp, &w);
    printf("threads %d\n%-44s %8.2f ms\n", threads_max(), "vector exp, 4096 x 4096, array to array", 1e3 * exp_time);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        w = (work){.k = parse(texts[t], D), .n = N, .d = D, .X = X, .Z = Z, .K = K};
        double gram = best(run_gram, &w);
        printf("gram         %-31s %8.2f ms  %5.2f of exp", texts[t], 1e3 * gram, gram / exp_time);
        if (t < 2) printf(", reference %.0f times slower", 16 * best(run_reference, &w) / gram);
        printf("\n");
        w = (work){.k = w.k, .n = NS, .d = D, .X = X, .K = K, .gp = normals(5, kernel_count(w.k)), .gX = E};
        double sym = best(run_sym, &w), reverse = best(run_reverse, &w), inputs = best(run_inputs, &w);
        printf("  symmetric, n = 4000: %7.2f ms; reverse of parameters %7.2f ms (%.2f of symmetric), and inputs %7.2f "
               "ms\n",
               1e3 * sym, 1e3 * reverse, reverse / sym, 1e3 * inputs);
        free(w.gp);
        kernel_free(w.k);
    }
    for (int64_t d = 16; d <= 256; d *= 2) {
        w = (work){.k = parse("rbf", d), .n = N, .d = d, .X = X, .Z = Z, .K = K};
        double gram = best(run_gram, &w);
        printf("gram rbf, %3d dims: %8.2f ms, %5.1f Gflop/s at 3 flops a dim\n", (int)d, 1e3 * gram,
               3e-9 * (double)d * N * N / gram);
        kernel_free(w.k);
    }
    free(K), free(E), free(X), free(Z);
    return 0;
}
