/* The sparse priors over blocks in memory: a batch pass (objective) as a share of dgemm's rate, counting 2 n M^2 operations
   (triangular solve and product), and objective with gradient over objective alone; same threads, same run.  The inducing
   inputs are learned where the model does so by default.
   Usage: bench_sparse [n] [M] [threads]        default 30000 512, all */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/simd.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/model.h"
#include "support.h"

enum { REPEATS = 5, BLOCK = 1000, PART = 128 };

static row_blocks *cut(int64_t n, int64_t size, const double *X, const double *y)
{
    int64_t P = (n + size - 1) / size, *start = mem_alloc(P + 1, sizeof *start);
    row_blocks *b;
    for (int64_t i = 0; i <= P; i++) start[i] = i * size < n ? i * size : n;
    if (blocks_of_arrays(P, start, D, 1, X, y, NULL, &b, NULL)) exit(2);
    free(start);
    return b;
}

static void measure(const model_ops *model, const char *text, double keep, int64_t n, int64_t M, const double *X,
                    const double *y, const double *Z, double rate)
{
    basis mean = {0};
    hyper h;
    void *state;
    anygp_error e;
    double objective = INFINITY, both = INFINITY, jitter = 1e-8, value, *gp = mem_alloc(D + 2 + M * D, sizeof *gp);
    row_blocks *b = cut(n, model_over_parts(model) ? PART : BLOCK, X, y);
    if (hyper_init(&h, parse(text), 0.1, false, false, true, &e) ||
        hyper_set_inducing(&h, M, D, Z, model_learns_inducing(model), &e))
        exit(2);
    problem p = {.mean = &mean, .blocks = b, .comm = comm_self(), .keep = keep};
    if (model->open(model, &p, &h, &state, &e)) exit(2);
    for (int r = 0; r < REPEATS; r++) {
        double began = bench_seconds();
        if (!model->evaluate(state, &h, false, &jitter, &value, NULL)) exit(2);
        objective = fmin(objective, bench_seconds() - began);
        began = bench_seconds();
        if (!model->evaluate(state, &h, false, &jitter, &value, gp)) exit(2);
        both = fmin(both, bench_seconds() - began);
    }
    double work = 2 * (double)n * (double)M * (double)M;
    printf("%-5s %-9s %s  objective %.3f s, %3.0f %% of dgemm's %.0f GFLOP/s;  with gradient %.3f s, ratio %.2f\n",
           model->name, text, keep > 0 ? "products kept " : "nothing kept  ", objective, 100 * work / objective / rate,
           rate / 1e9, both, both / objective);
    model->close(state);
    blocks_free(b);
    hyper_clear(&h);
    free(gp);
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 30000, M = argc > 2 ? atoll(argv[2]) : 512;
    la_threads(argc > 3 ? atoi(argv[3]) : 0);
    double *X = normals(1, n * D), *y = normals(2, n), *Z = normals(3, M * D), rate = dgemm_rate(M, 40);
    const model_ops *models[] = {&model_dtc, &model_fitc, &model_pitc, &model_vfe};
    printf("threads %d, n = %lld, M = %lld, d = %d, %s\n", threads_max(), (long long)n, (long long)M, D,
           simd_name(simd_chosen()));
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int keep = 1; keep >= 0; keep--) measure(models[i], "rbf", keep * 4e9, n, M, X, y, Z, rate);
    measure(&model_fitc, "matern52", 4e9, n, M, X, y, Z, rate);
    measure(&model_vfe, "matern52", 4e9, n, M, X, y, Z, rate);
    free(X);
    free(y);
    free(Z);
    return 0;
}
