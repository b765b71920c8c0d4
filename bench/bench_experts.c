/* Committees of experts: a training pass (log evidence with gradient, m^3 operations per expert of m rows: factor and inverse) as a share of
   dpotrf's rate on matrices of that size, and predictions (m^2 operations per row and expert: mean and variance) as a share of dgemm's; one thread, the same
   run, processor seconds.
   Usage: bench_experts [rows] [experts] [rows to predict]        default 1000000 2000 200 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "linalg/blas.h"
#include "linalg/linalg.h"
#include "model/model.h"
#include "support.h"

enum { REPEATS = 2, FACTORS = 20 };

static row_blocks *cut(int64_t n, int64_t P, const double *X, const double *y)
{
    int64_t *start = mem_alloc(P + 1, sizeof *start);
    row_blocks *b;
    if (!start) exit(2);
    for (int64_t k = 0; k <= P; k++) start[k] = k * n / P;
    if (blocks_of_arrays(P, start, D, 1, X, y, NULL, &b, NULL)) exit(2);
    free(start);
    return b;
}

/* Operations a second of dpotrf at m x m, the best of some. */
static double potrf_rate(int64_t m)
{
    double *A = mem_alloc(m * m, sizeof *A), best = INFINITY;
    if (!A) exit(2);
    for (int r = 0; r < FACTORS; r++) {
        for (int64_t j = 0; j < m; j++)
            for (int64_t i = 0; i < m; i++) A[i + j * m] = i == j ? 10 : 1.0 / (double)(1 + llabs(i - j));
        double began = clock_thread_seconds();
        blas_potrf(m, A, m);
        best = fmin(best, clock_thread_seconds() - began);
    }
    free(A);
    return pow((double)m, 3) / 3 / best;
}

static void predictions(posterior *p, int64_t rows, double work)
{
    double *X = normals(9, rows * D), *mean = mem_alloc(rows, sizeof *mean),
           *variance = mem_alloc(rows, sizeof *variance),
           *room = mem_alloc(p->ops->work_doubles(p, rows), sizeof *room), best = INFINITY, rate = 0;
    anygp_error e;
    if (!mean || !variance || !room) exit(2);
    for (int r = 0; r < REPEATS; r++) {
        double began = clock_thread_seconds();
        if (p->ops->marginal(p, rows, X, rows, room, mean, variance, &e)) exit(2);
        best = fmin(best, clock_thread_seconds() - began);
        rate = fmax(rate, dgemm_rate(512, 20));
    }
    printf("predictions %.2f s for %lld rows, %.0f %% of dgemm's %.1f GFLOP/s\n", best, (long long)rows,
           100 * work / best / rate, rate / 1e9);
    free(X), free(mean), free(variance), free(room);
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 1000000, P = argc > 2 ? atoll(argv[2]) : 2000,
            rows = argc > 3 ? atoll(argv[3]) : 200, m = n / P;
    double *X = normals(1, n * D), *y = normals(2, n), jitter = 0, value, gp[D + 2], cube = pow((double)m, 3),
           alone = INFINITY, both = INFINITY, rate = 0;
    row_blocks *b = cut(n, P, X, y);
    basis mean = {0};
    posterior *p = NULL;
    hyper h;
    void *state;
    anygp_error e;
    la_threads(1);
    if (hyper_init(&h, parse("matern52"), 0.1, false, false, true, &e)) exit(2);
    problem q = {.mean = &mean, .blocks = b, .comm = comm_self()};
    if (model_rbcm.open(&model_rbcm, &q, &h, &state, &e)) fprintf(stderr, "%s\n", e.text), exit(2);
    for (int r = 0; r < REPEATS; r++) {
        rate = fmax(rate, potrf_rate(m));
        double began = clock_thread_seconds();
        if (!model_rbcm.evaluate(state, &h, false, &jitter, &value, NULL)) exit(2);
        alone = fmin(alone, clock_thread_seconds() - began);
        began = clock_thread_seconds();
        if (!model_rbcm.evaluate(state, &h, false, &jitter, &value, gp)) exit(2);
        both = fmin(both, clock_thread_seconds() - began);
    }
    printf("one thread, %lld rows, %lld experts, %d inputs, matern52; processor seconds; dpotrf %.1f GFLOP/s at n = "
           "%lld\n",
           (long long)n, (long long)P, D, rate / 1e9, (long long)m);
    printf("objective %.2f s, %.0f %% of that rate; with gradient %.2f s, %.0f %%\n", alone,
           100 * cube / 3 * (double)P / alone / rate, both, 100 * cube * (double)P / both / rate);
    if (model_rbcm.posterior(state, &h, &jitter, &p, &e)) fprintf(stderr, "%s\n", e.text), exit(2);
    predictions(p, rows, (double)rows * (double)P * (double)m * (double)m);
    posteriors_free(1, &p);
    model_rbcm.close(state);
    blocks_free(b);
    hyper_clear(&h);
    free(X), free(y);
    return 0;
}
