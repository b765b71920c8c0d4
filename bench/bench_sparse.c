/* The sparse priors over blocks in memory: a batch pass (objective) as a share of dgemm's rate, counting 2 n M^2 operations
   (triangular solve and product), where blocks of B rows are kept whole 2 n M B + n B^2 / 3 more, objective with gradient over objective alone, and both with rows in float over the same in double.
   The inducing inputs are learned where the model does so by default.
   The rate of a machine can change by a third within seconds: so dgemm runs before each pass, double and float take turns, and shares
   and ratios are medians of those of neighbours in time; seconds are the least.
   Usage: bench_sparse [n] [M] [threads] [turns]        default 30000 512, all, 5 */
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

enum { TURNS = 5, TURNS_MOST = 100, BLOCK = 1000, PART = 128 };

static row_blocks *cut(int64_t n, int64_t size, const double *X, const double *y)
{
    int64_t P = (n + size - 1) / size, *start = mem_alloc(P + 1, sizeof *start);
    row_blocks *b;
    for (int64_t i = 0; i <= P; i++) start[i] = i * size < n ? i * size : n;
    if (blocks_of_arrays(P, start, D, 1, X, y, NULL, &b, NULL)) exit(2);
    free(start);
    return b;
}

/* A model under way, and what its turns took. */
typedef struct run {
    const model_ops *model;
    problem p;
    hyper h;
    void *state;
    double objective[TURNS_MOST], both[TURNS_MOST];
} run;

static const basis no_mean = {0};

static void begin(run *r, const model_ops *model, const char *text, double keep, bool mixed, row_blocks *b, int64_t M,
                  const double *Z)
{
    anygp_error e;
    *r = (run){.model = model};
    if (hyper_init(&r->h, parse(text), 0.1, false, false, true, &e) ||
        hyper_set_inducing(&r->h, M, D, Z, model_learns_inducing(model), &e))
        exit(2);
    r->p = (problem){.mean = &no_mean, .blocks = b, .comm = comm_self(), .keep = keep, .mixed = mixed};
    if (model->open(model, &r->p, &r->h, &r->state, &e)) exit(2);
}

static void end(run *r)
{
    r->model->close(r->state);
    hyper_clear(&r->h);
}

static double seconds_of(run *r, double *gp)
{
    double jitter = 1e-6, value, began = bench_seconds();
    if (!r->model->evaluate(r->state, &r->h, false, &jitter, &value, gp)) exit(2);
    return bench_seconds() - began;
}

static void turn(run *r, int t, double *gp)
{
    r->objective[t] = seconds_of(r, NULL);
    r->both[t] = seconds_of(r, gp);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double least(int turns, const double *x)
{
    double low = x[0];
    for (int t = 1; t < turns; t++) low = fmin(low, x[t]);
    return low;
}

static double median_ratio(int turns, const double *x, const double *y)
{
    double ratio[TURNS_MOST];
    for (int t = 0; t < turns; t++) ratio[t] = x[t] / y[t];
    qsort(ratio, (size_t)turns, sizeof *ratio, ascending);
    return ratio[turns / 2];
}

/* Of the objective, less what is of order n M. */
static double operations(const model_ops *model, double n, double M)
{
    double rows = 2 * n * M * M;
    return model_over_parts(model) ? rows + 2 * n * M * PART + n * PART * PART / 3.0 : rows;
}

static void measure(const model_ops *model, const char *text, double keep, int turns, int64_t n, int64_t M,
                    const double *X, const double *y, const double *Z)
{
    run whole, narrow;
    double dgemm[TURNS_MOST] = {0}, *gp = mem_alloc(D + 2 + M * D, sizeof *gp),
           work = operations(model, (double)n, (double)M);
    row_blocks *b = cut(n, model_over_parts(model) ? PART : BLOCK, X, y);
    bool floats = model_can_float(model);
    begin(&whole, model, text, keep, false, b, M, Z);
    if (floats) begin(&narrow, model, text, keep, true, b, M, Z);
    for (int t = 0; t < turns; t++) {
        dgemm[t] = work / dgemm_rate(M, 10);
        turn(&whole, t, gp);
        if (floats) turn(&narrow, t, gp);
    }
    printf("%-5s %-9s %s  objective %.3f s, %3.0f %% of dgemm's %.0f GFLOP/s;  with gradient %.3f s, ratio %.2f",
           model->name, text, keep > 0 ? "products kept " : "nothing kept  ", least(turns, whole.objective),
           100 * median_ratio(turns, dgemm, whole.objective), work / least(turns, dgemm) / 1e9,
           least(turns, whole.both), median_ratio(turns, whole.both, whole.objective));
    if (floats)
        printf(";  mixed %.3f s, with gradient %.3f s: %.2f and %.2f times as fast", least(turns, narrow.objective),
               least(turns, narrow.both), median_ratio(turns, whole.objective, narrow.objective),
               median_ratio(turns, whole.both, narrow.both));
    printf("\n");
    fflush(stdout);
    end(&whole);
    if (floats) end(&narrow);
    blocks_free(b);
    free(gp);
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 30000, M = argc > 2 ? atoll(argv[2]) : 512;
    la_threads(argc > 3 ? atoi(argv[3]) : 0);
    double *X = normals(1, n * D), *y = normals(2, n), *Z = normals(3, M * D);
    int turns = argc > 4 ? atoi(argv[4]) : TURNS;
    if (turns < 1 || turns > TURNS_MOST) return 1;
    const model_ops *models[] = {&model_dtc, &model_fitc, &model_pitc, &model_vfe};
    printf("threads %d, n = %lld, M = %lld, d = %d, %s\n", threads_max(), (long long)n, (long long)M, D,
           simd_name(simd_chosen()));
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int keep = 1; keep >= 0; keep--) measure(models[i], "rbf", keep * 4e9, turns, n, M, X, y, Z);
    measure(&model_fitc, "matern52", 4e9, turns, n, M, X, y, Z);
    measure(&model_vfe, "matern52", 4e9, turns, n, M, X, y, Z);
    free(X);
    free(y);
    free(Z);
    return 0;
}
