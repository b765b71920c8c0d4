/* A step of the variational models: objective, gradient in everything and the update of q, kernel, noise and inducing inputs, over
   a batch of 1024 rows of 8 inputs; as a share of dgemm's rate, counting 6 M^2 B + M^3 operations for svgp.  Same threads, same run.
   Usage: bench_svgp [likelihood] [threads] [M]        default gaussian, all, all of them */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/model.h"
#include "support.h"

enum { BATCH = 1024, BLOCK = 256, TOTAL = 36000, WARM = 2, TIMED = 40 };

typedef struct pace {
    double best, median;
    double rate; /* dgemm's, between the steps: clocks of machines that others share change within seconds */
} pace;

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds a step takes, of TIMED steps. */
static pace step_seconds(const model_ops *model, const likelihood *l, int64_t sets, const int64_t *set, const double *X,
                         const double *y, const double *Z)
{
    basis mean = {0};
    hyper h;
    void *state;
    anygp_error e;
    row_blocks *b;
    int64_t start[BATCH / BLOCK + 1], M = 0, which[BATCH / BLOCK];
    double took[TIMED], rate = 0, value;
    for (int64_t k = 0; k < sets; k++) M += set[k];
    for (int64_t i = 0; i <= BATCH / BLOCK; i++) start[i] = i * BLOCK;
    for (int64_t i = 0; i < BATCH / BLOCK; i++) which[i] = i;
    if (blocks_of_arrays(BATCH / BLOCK, start, D, 1, X, y, NULL, &b, &e) ||
        hyper_init(&h, parse("rbf"), 0.1, false, false, true, &e) || hyper_set_likelihood(&h, l, 1, false, &e) ||
        hyper_set_inducing(&h, M, D, Z, true, &e))
        exit(2);
    problem p = {
        .mean = &mean, .likelihood = l, .targets = 1, .sets = set, .set_count = sets, .blocks = b, .comm = comm_self()};
    if (model->open(model, &p, &h, &state, &e) || model->steps->begin(state, &h, 1e-6, &e)) exit(2);
    for (int t = 0; t < WARM + TIMED; t++) {
        step_context c = {.t = t,
                          .count = BATCH / BLOCK,
                          .which = which,
                          .scale = (double)TOTAL / BATCH,
                          .rho = 0.1,
                          .rate = 1e-4,
                          .learn = true};
        double began = clock_seconds();
        if (model->steps->step(state, &h, &c, &value, &e)) fprintf(stderr, "%s\n", e.text), exit(2);
        if (t >= WARM) took[t - WARM] = clock_seconds() - began;
        if (t % 4 == 0) rate = fmax(rate, dgemm_rate(1024, 4));
    }
    model->close(state);
    blocks_free(b);
    hyper_clear(&h);
    qsort(took, TIMED, sizeof *took, ascending);
    return (pace){took[0], took[TIMED / 2], rate};
}

static void show(const char *name, pace p, double work)
{
    printf("%-18s %8.4f s a step, median %.4f s", name, p.best, p.median);
    if (work > 0) printf(", %3.0f %% of dgemm's %.0f GFLOP/s", 100 * work / p.best / p.rate, p.rate / 1e9);
    printf("\n");
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
    pace svgp[4];
    for (int i = 0; i < BATCH && l.ops->target != TARGET_REAL; i++) y[i] = y[i] > 0;
    printf("threads %d, batch %d, d = %d, %s\n", threads_max(), BATCH, D, l.ops->name);
    int64_t only = argc > 3 ? atoll(argv[3]) : 0;
    for (int i = 0; i < 4; i++) {
        if (only && only != sizes[i]) continue;
        char name[32];
        double M = (double)sizes[i];
        snprintf(name, sizeof name, "svgp %lld", (long long)sizes[i]);
        svgp[i] = step_seconds(&model_svgp, &l, 1, &sizes[i], X, y, Z);
        show(name, svgp[i], 6 * M * M * BATCH + M * M * M);
    }
    if (only) return 0;
    const int64_t both[] = {1024, 1024};
    pace solve = step_seconds(&model_solve, &l, 2, both, X, y, Z),
         odvgp = step_seconds(&model_odvgp, &l, 2, both, X, y, Z);
    show("solve 1024+1024", solve, 0);
    printf("%-18s %8.2f times svgp 1024, %.2f times svgp 2048\n", "", solve.best / svgp[2].best,
           solve.best / svgp[3].best);
    show("odvgp 1024+1024", odvgp, 0);
    printf("%-18s %8.2f times svgp 1024\n", "", odvgp.best / svgp[2].best);
    free(X);
    free(y);
    free(Z);
    return 0;
}
