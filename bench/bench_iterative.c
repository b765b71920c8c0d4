/* The exact model by iteration: objective and gradient at n rows of 8 inputs, from nothing, and how far the log evidence is off.
   Usage: bench_iterative N [TOLERANCE] [dense] [FILE]
     TOLERANCE  of the log evidence in nats, as --tolerance; 0, the default: as the program has it
     dense      also by Cholesky, which gives the error of the estimate (8 n^2 bytes)
     FILE       the rows go there too, N x 9 doubles with y last, for a peer: bench/peer_iterative.py reads them
   Without arguments: 2000 rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/exact/exact_iterative.h"
#include "model/model.h"
#include "support.h"

static const char KERNEL[] = "matern52(variance=1,lengthscale=3)";
static const double NOISE = 0.1;

/* y: smooth in the inputs, and noise of the variance that the model has. */
static void make_rows(int64_t n, double *X, double *y, double *w)
{
    for (int64_t i = 0; i < n; i++) {
        const double *x = X + i * D;
        y[i] = sin(x[0]) + 0.5 * cos(x[1] + x[2]) + 0.2 * x[3] + 0.1 * x[4] * x[5] + sqrt(NOISE) * y[i];
        w[i] = 1;
    }
}

static void save(const char *path, int64_t n, const double *X, const double *y)
{
    FILE *f = fopen(path, "wb");
    for (int64_t i = 0; f && i < n; i++) fwrite(X + i * D, sizeof *X, D, f), fwrite(y + i, sizeof *y, 1, f);
    if (!f || fclose(f)) fprintf(stderr, "cannot write %s\n", path), exit(1);
}

/* Seconds of objective and gradient by this model: seconds[0] of the first, with all that is made or chosen once, seconds[1] of the next. */
static void evaluate(const model_ops *m, const problem *p, const hyper *h, double *value, double *gp,
                     evidence_estimate *found, double *seconds)
{
    void *state;
    anygp_error e;
    double jitter = 0, began = clock_seconds();
    if (m->open(m, p, h, &state, &e)) fprintf(stderr, "%s\n", e.text), exit(1);
    for (int i = 0; i < 2; i++, began = clock_seconds()) {
        if (!m->evaluate(state, h, true, &jitter, value, gp)) fprintf(stderr, "no value\n"), exit(1);
        seconds[i] = clock_seconds() - began;
    }
    if (found) *found = ((const exact_iterative *)state)->estimate;
    m->close(state);
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 2000;
    double *X = normals(1, n * D), *y = normals(2, n), *w = mem_alloc(n, sizeof *w), value, exact, gp[3], slope[3],
           seconds[2];
    dataset data = {.schema = {.D = 0}, .n = n, .used = n, .D = D, .X = X, .y = y, .w = w, .total = (double)n};
    merged rows;
    basis mean = {0};
    hyper h;
    anygp_error e;
    evidence_estimate found;
    bool dense = false;
    la_threads(0);
    make_rows(n, X, y, w);
    if (hyper_init(&h, parse(KERNEL), NOISE, false, false, true, &e) || dataset_merge(&data, true, &rows, &e)) exit(2);
    problem p = {.rows = &rows, .mean = &mean, .comm = comm_self(), .keep = 0.4 * (double)memory_available()};
    for (int i = 2; i < argc; i++) {
        char *end;
        double number = strtod(argv[i], &end);
        if (!strcmp(argv[i], "dense"))
            dense = true;
        else if (!*end)
            p.solver.tolerance = number;
        else
            save(argv[i], n, X, y);
    }
    evaluate(&model_exact_iterative, &p, &h, &value, gp, &found, seconds);
    printf("n = %lld, threads %d: objective and gradient %.2f s, the first time %.2f s, %.0f iterations, %.0f probes, "
           "preconditioner %s\n"
           "  log evidence %.2f, standard error %.2g, between %.2f and %.2f\n",
           (long long)n, threads_max(), seconds[1], seconds[0], found.iterations, found.probes,
           precond_at((int64_t)found.precond)->name, value, found.error, found.lower, found.upper);
    if (dense) {
        double worst = 0;
        evaluate(&model_exact, &p, &h, &exact, slope, NULL, seconds);
        for (int i = 0; i < 3; i++) worst = fmax(worst, fabs(gp[i] / slope[i] - 1));
        printf("  by Cholesky %.2f s, log evidence %.4f: the estimate is off by %.3f nats, %.2g per row; the gradient "
               "by %.2g of itself at most\n",
               seconds[1], exact, value - exact, fabs(value - exact) / (double)n, worst);
    }
    merged_clear(&rows);
    hyper_clear(&h);
    free(X), free(y), free(w);
    return 0;
}
