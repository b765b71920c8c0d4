/* A step of the variational models: objective, gradient in everything and the update of q, kernel, noise and inducing inputs, over
   a batch of 1024 rows of 8 inputs; as a share of dgemm's rate, counting 6 M^2 B + M^3 operations for svgp.  Same threads, same run.
   The rate of a machine can change by a third within seconds: so dgemm runs before each step, models take turns, and what is
   shown of shares and ratios is the median of those of neighbours in time.
   Usage: bench_svgp [likelihood] [threads] [M | sets]     default gaussian, all, all of them; sets: solve and odvgp */
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

enum { BATCH = 1024, BLOCK = 256, TOTAL = 36000, WARM = 2, TIMED = 40 };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A model under way. */
typedef struct run {
    const model_ops *model;
    basis mean;
    hyper h;
    problem p;
    row_blocks *b;
    void *state;
    double took[TIMED];
} run;

static double median(const double *x)
{
    double sorted[TIMED];
    memcpy(sorted, x, sizeof sorted);
    qsort(sorted, TIMED, sizeof *sorted, ascending);
    return sorted[TIMED / 2];
}

static double best(const double *x)
{
    double least = INFINITY;
    for (int t = 0; t < TIMED; t++) least = fmin(least, x[t]);
    return least;
}

/* Over the turns. */
static double median_ratio(const double *x, const double *y)
{
    double ratio[TIMED];
    for (int t = 0; t < TIMED; t++) ratio[t] = x[t] / y[t];
    return median(ratio);
}

/* X, y and l stay the caller's. */
static void begin(run *r, const model_ops *model, const likelihood *l, bool mixed, int64_t sets, const int64_t *set,
                  const double *X, const double *y, const double *Z)
{
    anygp_error e;
    int64_t start[BATCH / BLOCK + 1], M = 0;
    for (int64_t k = 0; k < sets; k++) M += set[k];
    for (int64_t i = 0; i <= BATCH / BLOCK; i++) start[i] = i * BLOCK;
    *r = (run){.model = model};
    if (blocks_of_arrays(BATCH / BLOCK, start, D, 1, X, y, NULL, &r->b, &e) ||
        hyper_init(&r->h, parse("rbf"), 0.1, false, false, true, &e) || hyper_set_likelihood(&r->h, l, 1, false, &e) ||
        hyper_set_inducing(&r->h, M, D, Z, true, &e))
        exit(2);
    r->p = (problem){.mean = &r->mean,
                     .likelihood = l,
                     .targets = 1,
                     .sets = set,
                     .set_count = sets,
                     .blocks = r->b,
                     .mixed = mixed,
                     .comm = comm_self()};
    if (model->open(model, &r->p, &r->h, &r->state, &e) || model->steps->begin(r->state, &r->h, 1e-6, &e)) exit(2);
}

static void step(run *r, int t)
{
    int64_t which[BATCH / BLOCK];
    double value;
    anygp_error e;
    for (int64_t i = 0; i < BATCH / BLOCK; i++) which[i] = i;
    step_context c = {.t = t,
                      .count = BATCH / BLOCK,
                      .which = which,
                      .scale = (double)TOTAL / BATCH,
                      .rho = 0.1,
                      .rate = 1e-4,
                      .learn = true};
    double began = bench_seconds();
    if (r->model->steps->step(r->state, &r->h, &c, &value, &e)) fprintf(stderr, "%s\n", e.text), exit(2);
    if (t >= WARM) r->took[t - WARM] = bench_seconds() - began;
}

static void end(run *r)
{
    r->model->close(r->state);
    blocks_free(r->b);
    hyper_clear(&r->h);
}

static void steps_in_turns(int count, run *r)
{
    for (int t = 0; t < WARM + TIMED; t++)
        for (int k = 0; k < count; k++) step(&r[k], t);
}

static void show(const char *name, const run *r)
{
    printf("%-18s %8.4f s a step, median %.4f s", name, best(r->took), median(r->took));
}

static void one_set(const likelihood *l, int64_t M, const double *X, const double *y, const double *Z)
{
    run r, mixed;
    char name[32];
    double gemm[TIMED], m = (double)M, work = 6 * m * m * BATCH + m * m * m;
    begin(&r, &model_svgp, l, false, 1, &M, X, y, Z);
    begin(&mixed, &model_svgp, l, true, 1, &M, X, y, Z);
    for (int t = 0; t < WARM + TIMED; t++) {
        double rate = dgemm_rate(1024, 2);
        if (t >= WARM) gemm[t - WARM] = work / rate;
        step(&r, t);
        step(&mixed, t);
    }
    snprintf(name, sizeof name, "svgp %lld", (long long)M);
    show(name, &r);
    printf(", %3.0f %% of dgemm's %.0f GFLOP/s\n", 100 * median_ratio(gemm, r.took), work / median(gemm) / 1e9);
    show("  in mixed", &mixed);
    printf(", %.2f times as fast; error of the bound %.1g nats per row\n", median_ratio(r.took, mixed.took),
           model_svgp.steps->rounding(mixed.state).error);
    end(&r);
    end(&mixed);
}

static void sets_of_two(const likelihood *l, const double *X, const double *y, const double *Z)
{
    static const int64_t both[] = {1024, 1024}, one[] = {1024}, two[] = {2048};
    run r[4];
    begin(&r[0], &model_svgp, l, false, 1, one, X, y, Z);
    begin(&r[1], &model_svgp, l, false, 1, two, X, y, Z);
    begin(&r[2], &model_solve, l, false, 2, both, X, y, Z);
    begin(&r[3], &model_odvgp, l, false, 2, both, X, y, Z);
    steps_in_turns(4, r);
    show("solve 1024+1024", &r[2]);
    printf("\n%-18s %8.2f times svgp 1024, %.2f times svgp 2048\n", "", median_ratio(r[2].took, r[0].took),
           median_ratio(r[2].took, r[1].took));
    show("odvgp 1024+1024", &r[3]);
    printf("\n%-18s %8.2f times svgp 1024\n", "", median_ratio(r[3].took, r[0].took));
    for (int k = 0; k < 4; k++) end(&r[k]);
}

int main(int argc, char **argv)
{
    static const int64_t sizes[] = {256, 512, 1024, 2048};
    likelihood l;
    anygp_error e;
    la_threads(argc > 2 ? atoi(argv[2]) : 0);
    if (likelihood_parse(argc > 1 ? argv[1] : "gaussian", &l, &e) ||
        likelihood_open(&l, 2 * (l.ops->target == TARGET_CLASS), false, &e))
        return fprintf(stderr, "%s\n", e.text), 1;
    double *X = normals(1, BATCH * D), *y = normals(2, BATCH), *Z = normals(3, 4096 * D);
    for (int i = 0; i < BATCH && l.ops->target != TARGET_REAL; i++) y[i] = y[i] > 0;
    printf("threads %d, batch %d, d = %d, %s, %s\n", threads_max(), BATCH, D, l.ops->name, simd_name(simd_chosen()));
    const char *only = argc > 3 ? argv[3] : NULL;
    for (int i = 0; i < 4; i++)
        if (!only || atoll(only) == sizes[i]) one_set(&l, sizes[i], X, y, Z);
    if (!only || !strcmp(only, "sets")) sets_of_two(&l, X, y, Z);
    free(X);
    free(y);
    free(Z);
    return 0;
}
