/* The exact model: objective and gradient against dpotrf + dpotri on the same matrix, same threads, same run.
   Usage: bench_exact [n] [threads]        default 4000, all */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "linalg/blas.h"
#include "linalg/linalg.h"
#include "model/model.h"
#include "support.h"

enum { REPEATS = 5 };

/* dpotrf and dpotri of K + 0.1 I. */
static double lapack_seconds(const kernel *k, int64_t n, const double *X, double *K)
{
    kernel_gram_sym(k, n, X, D, K, n);
    for (int64_t i = 0; i < n; i++) K[i + i * n] += 0.1;
    double began = clock_seconds();
    blas_potrf(n, K, n);
    blas_potri(n, K, n);
    return clock_seconds() - began;
}

static void compare(const char *text, int64_t n, double *X, double *y, double *w, double *K)
{
    dataset data = {.schema = {.D = D}, .n = n, .D = D, .X = X, .y = y, .w = w, .total = (double)n};
    merged rows;
    basis mean = {0};
    hyper h;
    void *state;
    anygp_error e;
    double best = INFINITY, lapack = INFINITY, jitter = 0, value, gp[D + 2];
    if (hyper_init(&h, parse(text), 0.1, false, false, true, &e) || dataset_merge(&data, true, &rows, &e)) exit(2);
    if (model_exact.open(&model_exact, &(problem){.rows = &rows, .mean = &mean}, &h, &state, &e)) exit(2);
    for (int r = 0; r < REPEATS; r++) {
        lapack = fmin(lapack, lapack_seconds(h.kernel, n, X, K));
        double began = clock_seconds();
        if (!model_exact.evaluate(state, &h, true, &jitter, &value, gp)) exit(2);
        best = fmin(best, clock_seconds() - began);
    }
    double flops = pow((double)n, 3);
    printf("%-10s n = %lld, d = %d: objective and gradient %.3f s, dpotrf + dpotri %.3f s (%.1f GFLOP/s), ratio %.2f\n",
           text, (long long)n, D, best, lapack, flops / lapack / 1e9, best / lapack);
    model_exact.close(state);
    merged_clear(&rows);
    hyper_clear(&h);
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 4000;
    la_threads(argc > 2 ? atoi(argv[2]) : 0);
    double *X = normals(1, n * D), *y = normals(2, n), *w = mem_alloc(n, sizeof *w), *K = mem_alloc(n * n, sizeof *K);
    for (int64_t i = 0; i < n; i++) w[i] = 1;
    printf("threads %d\n", threads_max());
    compare("rbf", n, X, y, w, K);
    compare("matern52", n, X, y, w, K);
    free(X);
    free(y);
    free(w);
    free(K);
    return 0;
}
