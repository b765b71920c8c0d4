/* k-means: its start, Lloyd's steps, minibatches (kmeans.h). */
#include "data/partition/kmeans.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/partition/distance.h"

enum { ALL_ROWS = 50000, MIN_BATCH = 4096, START_ROWS = 20000 };
enum { START_SUBSET, START_DRAWS, BATCHES }; /* streams of random numbers */

typedef struct work {
    row_set all;
    int64_t k, batch;
    const kmeans_options *o;
    double *centres;
    int64_t *sample;  /* max(batch, start): rows of a batch or of the start */
    int64_t *nearest; /* the same, or n without batches */
    double *distance; /* as many */
    double *counts;   /* k: rows a centre has */
} work;

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static random_stream stream(const work *w, int64_t use)
{
    return (random_stream){w->o->seed, RANDOM_KMEANS, (uint64_t)use};
}

/* ------------------------------------------------------------------------------------------- the start

   k-means++: the next centre is a row drawn with probability proportional to its squared distance from the centres so
   far; over at most max(20 000, 10 k) random rows.  O(rows k d). */

static void set_centre(work *w, int64_t c, const double *x)
{
    memcpy(w->centres + c * w->all.d, x, (size_t)w->all.d * sizeof *x);
}

/* Distances shrink to those from a new centre; returns their sum. */
static double shrink_distances(const row_set *s, const double *centre, double *distance)
{
#pragma omp parallel for schedule(static) if (s->n > 4096)
    for (int64_t i = 0; i < s->n; i++) {
        double r = row_distance(s->d, row_at(s, i), centre);
        if (r < distance[i]) distance[i] = r;
    }
    double sum = 0;
    for (int64_t i = 0; i < s->n; i++) sum += distance[i];
    return sum;
}

/* The row at which the running sum of distances passes `target`; one of positive distance. */
static int64_t row_at_sum(int64_t n, const double *distance, double target)
{
    int64_t last = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(distance[i] > 0)) continue;
        last = i;
        if ((target -= distance[i]) < 0) break;
    }
    return last;
}

/* Returns the number of centres: fewer than k once every row lies on one. */
static int64_t choose_start(work *w)
{
    row_set s = w->all;
    s.n = smaller(s.n, larger(START_ROWS, 10 * w->k));
    if (s.n < w->all.n) {
        random_subset(stream(w, START_SUBSET), w->all.n, s.n, w->sample);
        s.rows = w->sample;
    }
    for (int64_t i = 0; i < s.n; i++) w->distance[i] = 1; /* any row may be first */
    double sum = (double)s.n;
    int64_t c = 0;
    for (; c < w->k && sum > 0; c++) {
        double u = random_uniform(stream(w, START_DRAWS), (uint64_t)c);
        set_centre(w, c, row_at(&s, row_at_sum(s.n, w->distance, u * sum)));
        if (c == 0)
            for (int64_t i = 0; i < s.n; i++) w->distance[i] = DBL_MAX;
        sum = shrink_distances(&s, w->centres + c * w->all.d, w->distance);
    }
    return c;
}

/* ----------------------------------------------------------------------------------------------- Lloyd */

/* Running means: after row x the centre is the mean of the `count` rows it has had. */
static void pull_centre(work *w, int64_t c, const double *x)
{
    double *m = w->centres + c * w->all.d, share = 1 / ++w->counts[c];
    for (int64_t j = 0; j < w->all.d; j++) m[j] += (x[j] - m[j]) * share;
}

/* A centre without rows moves to the row farthest from its centre; each row is used once. */
static void refill_empty(work *w)
{
    for (int64_t c = 0; c < w->k; c++) {
        if (w->counts[c] > 0) continue;
        int64_t far = 0;
        for (int64_t i = 1; i < w->all.n; i++)
            if (w->distance[i] > w->distance[far]) far = i;
        if (!(w->distance[far] > 0)) return;
        set_centre(w, c, row_at(&w->all, far));
        w->distance[far] = 0;
    }
}

/* One iteration over all rows; *moved says whether any row changed its centre. */
static bool lloyd_step(work *w, int64_t *former, bool *moved)
{
    size_t bytes = (size_t)w->all.n * sizeof *former;
    if (!nearest_centres(&w->all, w->k, w->centres, w->nearest, w->distance)) return false;
    *moved = memcmp(former, w->nearest, bytes) != 0;
    memcpy(former, w->nearest, bytes);
    memset(w->counts, 0, (size_t)w->k * sizeof *w->counts);
    for (int64_t i = 0; i < w->all.n; i++) pull_centre(w, w->nearest[i], row_at(&w->all, i));
    refill_empty(w);
    return true;
}

static bool lloyd(work *w)
{
    int64_t iterations = w->o->iterations > 0 ? w->o->iterations : 20, *former = w->sample;
    memset(former, 0xff, (size_t)w->all.n * sizeof *former);
    bool moved = true, ok = true;
    for (int64_t t = 0; ok && moved && t < iterations && !deadline_passed(w->o->until); t++)
        ok = lloyd_step(w, former, &moved);
    return ok;
}

/* --------------------------------------------------------------------------------------------- batches */

/* Iteration t pulls centres towards random rows, each by one over the rows it has had so far. */
static bool batch_step(work *w, int64_t t)
{
    row_set s = w->all;
    s.n = w->batch;
    s.rows = w->sample;
    for (int64_t i = 0; i < s.n; i++)
        w->sample[i] = random_below(stream(w, BATCHES), (uint64_t)(t * w->batch + i), w->all.n);
    if (!nearest_centres(&s, w->k, w->centres, w->nearest, NULL)) return false;
    for (int64_t i = 0; i < s.n; i++) pull_centre(w, w->nearest[i], row_at(&s, i));
    return true;
}

/* Until every row was drawn four times on average, within 10 and 100 batches: with thousands of centres a batch is a good
   part of the rows, and costs rows k d. */
static int64_t batch_count(const work *w)
{
    if (w->o->iterations > 0) return w->o->iterations;
    return larger(10, smaller(4 * w->all.n / w->batch, 100));
}

static bool batches(work *w)
{
    int64_t iterations = batch_count(w);
    for (int64_t c = 0; c < w->k; c++) w->counts[c] = 1; /* the row it started from */
    bool ok = true;
    for (int64_t t = 0; ok && t < iterations && !deadline_passed(w->o->until); t++) ok = batch_step(w, t);
    return ok;
}

/* ------------------------------------------------------------------------------------------------ all */

static int64_t batch_size(int64_t n, int64_t k, int64_t asked)
{
    if (asked > 0) return smaller(asked, n);
    return n <= ALL_ROWS ? n : smaller(n, larger(MIN_BATCH, 10 * k));
}

static bool work_make(work *w)
{
    int64_t rows = larger(w->batch, smaller(w->all.n, larger(START_ROWS, 10 * w->k)));
    w->sample = mem_alloc(rows, sizeof *w->sample);
    w->nearest = mem_alloc(rows, sizeof *w->nearest);
    w->distance = mem_alloc(rows, sizeof *w->distance);
    w->counts = mem_alloc(w->k, sizeof *w->counts);
    return w->sample && w->nearest && w->distance && w->counts;
}

static void work_free(work *w)
{
    free(w->sample);
    free(w->nearest);
    free(w->distance);
    free(w->counts);
}

anygp_status kmeans(int64_t n, int64_t d, const double *X, int64_t ldx, int64_t k, const kmeans_options *o,
                    double *centres, int64_t *found, int64_t *nearest, anygp_error *e)
{
    *found = 0;
    if (n < 1 || k < 1) return ANYGP_OK;
    work w = {.all = {n, d, X, ldx, NULL}, .k = smaller(k, n), .batch = batch_size(n, k, o->batch), .o = o};
    w.centres = centres;
    bool ok = work_make(&w);
    if (ok) {
        w.k = choose_start(&w);
        ok = w.batch < n ? batches(&w) : lloyd(&w);
    }
    if (ok && nearest) ok = nearest_centres(&w.all, w.k, centres, nearest, NULL);
    *found = ok ? w.k : 0;
    work_free(&w);
    return ok ? ANYGP_OK : fail_memory(e, "k-means", 8.0 * (double)(3 * w.batch + 256 * k + d * k));
}
