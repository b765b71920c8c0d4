/* What the benchmarks of models share: numbers to work on, and a kernel over D inputs. */
#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "linalg/linalg.h"

enum { D = 8 };

/* With one thread the seconds of the processor, which other work on the machine does not change; else those of the clock. */
static inline double bench_seconds(void) { return threads_max() > 1 ? clock_seconds() : clock_thread_seconds(); }

static inline double *normals(uint64_t stream, int64_t n)
{
    double *x = mem_alloc(n, sizeof *x);
    for (int64_t i = 0; x && i < n; i++)
        x[i] = random_normal((random_stream){.seed = 1, .use = RANDOM_TEST, .sub = stream}, (uint64_t)i);
    if (!x) exit(2);
    return x;
}

/* Operations a second of la_gemm at n x n x n, the best of some; the matrices are made once. */
static inline double dgemm_rate(int64_t n, int times)
{
    static double *A, *B, *C;
    static int64_t size;
    double best = INFINITY;
    if (n > size) {
        free(A), free(B), free(C);
        A = normals(5, n * n), B = normals(6, n * n), C = normals(7, n * n), size = n;
    }
    for (int r = 0; r < times; r++) {
        double began = bench_seconds();
        la_gemm(LA_N, LA_N, n, n, n, 1, A, n, B, n, 0, C, n);
        best = fmin(best, bench_seconds() - began);
    }
    return 2 * pow((double)n, 3) / best;
}

static inline kernel *parse(const char *text)
{
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    for (int64_t i = 0; i < D; i++) in[i] = (kernel_input){NULL, i, INPUT_NUMBER, i};
    if (kernel_parse(text, in, D, D, &k, &e) != ANYGP_OK) fprintf(stderr, "%s\n", e.text), exit(1);
    return k;
}

#endif
