/* The exact model: objective and gradient against dpotrf + dpotri on the same matrix and against --precision mixed, same threads, in turns.
   Usage: bench_exact [n] [threads] [noise]        default 4000, all, 0.1 */
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

/* Seconds of objective and gradient. */
static double evaluation_seconds(void *state, const hyper *h, double *value, double *gp)
{
    double jitter = 0, began = clock_seconds();
    if (!model_exact.evaluate(state, h, true, &jitter, value, gp)) exit(2);
    return clock_seconds() - began;
}

/* How far the factor in float is off: per row, of the value and of the slopes in logarithms, and what it says of these itself. */
static void print_errors(void *state, const hyper *h, double n, double off, const double *gp, const double *exact)
{
    anygp_error e;
    float_error said;
    double p[D + 2], slope = 0;
    hyper_natural(h, p);
    for (int64_t i = 0; i < h->count; i++) slope = fmax(slope, fabs(p[i] * (gp[i] - exact[i])) / n);
    if (model_exact.floats->measure(state, h, 0, &said, &e)) exit(2);
    printf("           off by %.2g nats per row, slopes by %.2g; it says %.2g, %.2g\n", fabs(off) / n, slope,
           said.value, said.slope);
}

static void compare(const char *text, double noise, int64_t n, double *X, double *y, double *w, double *K)
{
    dataset data = {.schema = {.D = D}, .n = n, .D = D, .X = X, .y = y, .w = w, .total = (double)n};
    merged rows;
    basis mean = {0};
    hyper h;
    void *state, *mixed;
    anygp_error e;
    double best = INFINITY, narrow = INFINITY, lapack = INFINITY, value, rounded, gp[D + 2], gr[D + 2];
    if (hyper_init(&h, parse(text), noise, false, false, true, &e) || dataset_merge(&data, true, &rows, &e)) exit(2);
    problem p = {.rows = &rows, .mean = &mean}, in_float = p;
    in_float.mixed = true;
    if (model_exact.open(&model_exact, &p, &h, &state, &e) || model_exact.open(&model_exact, &in_float, &h, &mixed, &e))
        exit(2);
    for (int r = 0; r < REPEATS; r++) {
        lapack = fmin(lapack, lapack_seconds(h.kernel, n, X, K));
        best = fmin(best, evaluation_seconds(state, &h, &value, gp));
        narrow = fmin(narrow, evaluation_seconds(mixed, &h, &rounded, gr));
    }
    double flops = pow((double)n, 3);
    printf(
        "%-10s n = %lld, d = %d, noise %g: objective and gradient %.3f s, dpotrf + dpotri %.3f s (%.1f GFLOP/s), ratio "
        "%.2f; mixed %.3f s, %.2f times faster\n",
        text, (long long)n, D, noise, best, lapack, flops / lapack / 1e9, best / lapack, narrow, best / narrow);
    print_errors(mixed, &h, (double)n, rounded - value, gr, gp);
    model_exact.close(state);
    model_exact.close(mixed);
    merged_clear(&rows);
    hyper_clear(&h);
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 4000;
    double noise = argc > 3 ? atof(argv[3]) : 0.1;
    la_threads(argc > 2 ? atoi(argv[2]) : 0);
    double *X = normals(1, n * D), *y = normals(2, n), *w = mem_alloc(n, sizeof *w), *K = mem_alloc(n * n, sizeof *K);
    for (int64_t i = 0; i < n; i++) w[i] = 1;
    printf("threads %d\n", threads_max());
    compare("rbf", noise, n, X, y, w, K);
    compare("matern52", noise, n, X, y, w, K);
    free(X);
    free(y);
    free(w);
    free(K);
    return 0;
}
