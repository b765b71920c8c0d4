/* `anygp predict` from file to file, mean and variance, against dtrsm on the same shapes in the same run; and the time
   to start the program.   Usage: bench_predict [ANYGP] [n] [test rows]      default 5000 and 50000 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anygp/anygp.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"

enum { D = 8, STARTS = 20, BLOCK = 2048 };

static void must(int status, const char *what)
{
    if (status) fprintf(stderr, "bench_predict: %s failed\n", what), exit(2);
}

static void run(const char *format, const char *program, int64_t rows)
{
    char command[4096];
    snprintf(command, sizeof command, format, program, (long long)rows);
    must(system(command), command);
}

/* B = L^-1 B in the blocks prediction uses; L and B are of the right shape, their values do not matter. */
static double dtrsm_seconds(int64_t n, int64_t rows)
{
    double *L = mem_zeroed(n * n, sizeof *L), *B = mem_alloc(n * BLOCK, sizeof *B);
    must(!L || !B, "memory");
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) L[i + j * n] = i == j ? 2 : 1.0 / (double)n;
    for (int64_t i = 0; i < n * BLOCK; i++) B[i] = 1;
    la_trsm(LA_LEFT, LA_N, n, BLOCK, 1, L, n, B, n);
    double began = clock_seconds();
    for (int64_t done = 0; done < rows; done += BLOCK)
        la_trsm(LA_LEFT, LA_N, n, rows - done < BLOCK ? rows - done : BLOCK, 1, L, n, B, n);
    double seconds = clock_seconds() - began;
    free(L);
    free(B);
    return seconds;
}

static double start_seconds(const char *program)
{
    double best = INFINITY;
    for (int i = 0; i < STARTS; i++) {
        double began = clock_seconds();
        run("%s --version > /dev/null", program, 0);
        best = fmin(best, clock_seconds() - began);
    }
    return best;
}

/* The program stands one folder above the benchmarks. */
static const char *program_beside(const char *self)
{
    static char path[4096];
    const char *slash = strrchr(self, '/');
    snprintf(path, sizeof path, "%.*s/../anygp", slash ? (int)(slash - self) : 1, slash ? self : ".");
    return path;
}

int main(int argc, char **argv)
{
    const char *program = argc > 1 ? argv[1] : program_beside(argv[0]);
    int64_t n = argc > 2 ? atoll(argv[2]) : 5000, rows = argc > 3 ? atoll(argv[3]) : 50000;
    la_threads(0);
    run("%s simulate --inputs 8 --rows %lld --seed 1 --kernel 'rbf(lengthscale=1)' -o bench_train.npy", program, n);
    run("%s simulate --inputs 8 --rows %lld --seed 2 --features 100 --kernel 'rbf(lengthscale=1)' -o bench_test.npy",
        program, rows);
    run("%s fit bench_train.npy --model exact --kernel 'rbf(lengthscale=1)' --noise 0.01 --fix all -q -o "
        "bench_model.agp > /dev/null",
        program, 0);
    double trsm = dtrsm_seconds(n, rows), began = clock_seconds();
    run("%s predict bench_model.agp bench_test.npy -o bench_out.npy", program, 0);
    double all = clock_seconds() - began, flops = (double)n * (double)n * (double)rows;
    trsm = fmin(trsm, dtrsm_seconds(n, rows));
    printf("predict n = %lld, %lld rows, files included: %.2f s; dtrsm alone %.2f s (%.1f GFLOP/s): %.0f %% of dtrsm's "
           "rate\n",
           (long long)n, (long long)rows, all, trsm, flops / trsm / 1e9, 100 * trsm / all);
    printf("anygp --version: %.1f ms\n", 1e3 * start_seconds(program));
    remove("bench_train.npy"), remove("bench_test.npy"), remove("bench_model.agp"), remove("bench_out.npy");
    return 0;
}
