/* How fast this machine is.  Wall time depends on what else is running, and a choice that rests on it would differ every
   time.  So the time is the threads' own, all of them at work at once as in a fit, the best of a few counts, and
   what comes of it is a class: eight times faster than the next.  A processor that is twice as fast as it was measured, or half, is
   in the same class nearly always; the time limit does the rest. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "gp/auto.h"
#include "linalg/linalg.h"

enum {
    PRODUCT = 256, /* the size of a matrix product */
    TILE = 256,    /* and of one of kernel entries */
    TRIALS = 24    /* of which the best counts; the first wakes caches */
};
static const double PRODUCTS_A_SECOND = 3e10, ENTRIES_A_SECOND = 2e8, /* of one core: the middle of a class */
    CLASS = 8;

double auto_rate_class(double measured, double usual)
{
    return usual * pow(CLASS, round(log(measured / usual) / log(CLASS)));
}

void auto_rates_usual(auto_facts *a)
{
    a->products = a->threads * PRODUCTS_A_SECOND;
    a->entries = a->threads * ENTRIES_A_SECOND;
}

/* Seconds of its own that a thread takes for work(ctx, thread). */
static double best_seconds(void (*work)(void *ctx, int thread), void *ctx)
{
    double best = INFINITY;
    int threads = threads_max();
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(min : best)
    for (int k = 0; k <= TRIALS; k++) {
        double began = clock_thread_seconds();
        work(ctx, threads_id());
        if (k > 0) best = fmin(best, clock_thread_seconds() - began);
    }
    return fmax(best, 1e-9);
}

/* Two factors, and a product of each thread's own. */
static void multiply(void *ctx, int thread)
{
    double *A = ctx;
    int64_t n = PRODUCT;
    la_gemm(LA_N, LA_N, n, n, n, 1, A, n, A + n * n, n, 0, A + (2 + thread) * n * n, n);
}

static anygp_status measure_products(double *rate, anygp_error *e)
{
    int64_t n = PRODUCT, columns = (2 + threads_max()) * n;
    double *A = mem_doubles(n, columns);
    if (!A) return fail_memory(e, "a matrix product", 8.0 * (double)(n * columns));
    for (int64_t i = 0; i < columns * n; i++) A[i] = 1e-3 * (double)(i % 97);
    *rate = 2.0 * (double)(n * n * n) / best_seconds(multiply, A);
    free(A);
    return ANYGP_OK;
}

typedef struct tiles {
    const kernel *kernel;
    const dataset *rows;
    int64_t n;
    double *K; /* one per thread */
} tiles;

static void fill_tile(void *ctx, int thread)
{
    const tiles *t = ctx;
    int64_t D = t->rows->D;
    (void)kernel_gram(t->kernel, t->n, t->rows->X, D, t->n, t->rows->X, D, t->K + thread * t->n * t->n, t->n);
}

/* Entries of this kernel between rows of these data. */
static anygp_status measure_entries(const kernel *k, const dataset *d, double *rate, anygp_error *e)
{
    int64_t n = d->n < TILE ? d->n : TILE;
    tiles t = {k, d, n, mem_doubles(n, n * threads_max())};
    if (!t.K) return fail_memory(e, "a tile of the kernel", 8.0 * (double)(n * n));
    *rate = (double)(n * n) / best_seconds(fill_tile, &t);
    free(t.K);
    return ANYGP_OK;
}

anygp_status auto_rates(const kernel *k, const dataset *d, auto_facts *a, anygp_error *e)
{
    TRY(measure_products(&a->products_measured, e));
    TRY(measure_entries(k, d, &a->entries_measured, e));
    a->products_measured *= a->threads;
    a->entries_measured *= a->threads;
    return ANYGP_OK;
}

void auto_rates_classes(auto_facts *a)
{
    a->products = a->threads * auto_rate_class(a->products_measured / a->threads, PRODUCTS_A_SECOND);
    a->entries = a->threads * auto_rate_class(a->entries_measured / a->threads, ENTRIES_A_SECOND);
}
