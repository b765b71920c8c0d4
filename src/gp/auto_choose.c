/* What --model auto has to know before it decides (the rows, the kernel, how fast this machine is now), and what comes of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "gp/auto.h"
#include "linalg/linalg.h"

enum {
    SMALL = 500,       /* rows up to which measuring would take longer than the fit: common rates are assumed */
    SAMPLE = 20000,    /* rows in memory where all of them would be too many */
    PRODUCT = 320,     /* the size of a matrix product */
    TILE = 256,        /* and of one of kernel entries */
    TRIALS = 9,        /* of which the median counts */
    PROMISE_LEAST = 10 /* seconds: a shorter fit is not cut off, so that it does not depend on the clock */
};
static const double PRODUCTS_A_SECOND = 4e10, ENTRIES_A_SECOND = 4e8; /* of one core */
static const double PROMISE = 1.8;                                    /* times what was predicted, a run is ended */

/* ---------------------------------------------------------------------------------------- machine */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds that work(ctx) takes: the median of a few, since others may be at work on this machine too; the first, which
   wakes threads and caches, does not count. */
static double median_seconds(void (*work)(void *ctx), void *ctx)
{
    double seconds[TRIALS];
    work(ctx);
    for (int k = 0; k < TRIALS; k++) {
        double began = clock_seconds();
        work(ctx);
        seconds[k] = clock_seconds() - began;
    }
    qsort(seconds, TRIALS, sizeof *seconds, by_size);
    return fmax(seconds[TRIALS / 2], 1e-9);
}

static void multiply(void *ctx)
{
    double *A = ctx;
    int64_t n = PRODUCT;
    la_gemm(LA_N, LA_N, n, n, n, 1, A, n, A + n * n, n, 0, A + 2 * n * n, n);
}

/* Operations a second of a matrix product. */
static anygp_status measure_products(double *rate, anygp_error *e)
{
    int64_t n = PRODUCT;
    double *A = mem_doubles(n, 3 * n);
    if (!A) return fail_memory(e, "a matrix product", 24.0 * (double)(n * n));
    for (int64_t i = 0; i < 3 * n * n; i++) A[i] = 1e-3 * (double)(i % 97);
    *rate = 2.0 * (double)(n * n * n) / median_seconds(multiply, A);
    free(A);
    return ANYGP_OK;
}

typedef struct tile {
    const kernel *kernel;
    const dataset *rows;
    int64_t n;
    double *K;
    bool ok;
} tile;

static void fill_tile(void *ctx)
{
    tile *t = ctx;
    int64_t D = t->rows->D;
    t->ok = kernel_gram(t->kernel, t->n, t->rows->X, D, t->n, t->rows->X, D, t->K, t->n) && t->ok;
}

/* Entries a second of this kernel between rows of these data. */
static anygp_status measure_entries(const kernel *k, const dataset *d, double *rate, anygp_error *e)
{
    int64_t n = d->n < TILE ? d->n : TILE;
    tile t = {k, d, n, mem_doubles(n, n), true};
    if (!t.K) return fail_memory(e, "a tile of the kernel", 8.0 * (double)(n * n));
    *rate = (double)(n * n) / median_seconds(fill_tile, &t);
    free(t.K);
    return t.ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

/* ------------------------------------------------------------------------------------------- data */

/* A kernel and its parameters over the rows, for their number and its speed. */
static anygp_status look_at_kernel(const fit_task *f, dataset *d, auto_facts *a, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    merged distinct = {0};
    hyper h = {0};
    basis mean = {0};
    kernel *k = NULL;
    TRY_DONE(fit_kernel(f, d, &k, e));
    kernel *mine = k;
    k = NULL; /* fit_hyper() takes it over */
    TRY_DONE(fit_hyper(f, d, mine, NULL, &h, &mean, e));
    a->params = h.free;
    if (d->used > SMALL) TRY_DONE(measure_entries(h.kernel, d, &a->entries, e));
    if (d->n < d->used) goto done;
    TRY_DONE(dataset_merge(d, !kernel_has_white(h.kernel), &distinct, e));
    a->distinct = fmax(a->distinct, (double)distinct.n);
done:
    merged_clear(&distinct);
    basis_clear(&mean);
    hyper_clear(&h);
    kernel_free(k);
    return status;
}

/* One target: all its rows where they fit beside the table, so that equal ones are seen. */
static anygp_status look_at_target(const fit_task *f, row_source *rows, int64_t target, auto_facts *a, anygp_error *e)
{
    rows_part part = {.y = fit_columns_some(f->columns, target, 1, &f->choice.like),
                      .skip_column = f->columns->skip,
                      .hold_out = f->hold_out,
                      .seed = (uint64_t)settings_integer(f->s, SET_SEED)};
    int64_t all = rows_count(rows);
    bool whole = a->in_memory && 16.0 * (double)all * (double)(f->data->table->cols + 2) < a->bytes / 4;
    dataset d = {0};
    likelihood like = f->choice.like;
    anygp_status status = ANYGP_OK;
    TRY_DONE(rows_scan(rows, &part, settings_is(f->s, SET_MISSING, "mean"), whole ? all : SAMPLE, comm_world(), &d, e));
    TRY_DONE(likelihood_open(&like, d.schema.classes, part.y.exposure >= 0, e));
    a->rows = fmax(a->rows, (double)d.used);
    a->inputs = d.D, a->latents = like.latents;
    double before = a->distinct;
    TRY_DONE(look_at_kernel(f, &d, a, e));
    if (a->distinct == before && d.n < d.used) a->distinct = fmax(before, (double)d.used);
done:
    dataset_clear(&d);
    return status;
}

static anygp_status look_at_rows(const fit_task *f, auto_facts *a, anygp_error *e)
{
    row_source *table_rows = NULL;
    anygp_status status = ANYGP_OK;
    if (!f->data->file) TRY(rows_open_table(f->data->table, &table_rows, e));
    row_source *rows = f->data->file ? f->data->file : table_rows;
    for (int64_t t = 0; t < f->columns->targets && !ANYGP_FAILED(status); t++)
        status = look_at_target(f, rows, t, a, e);
    rows_close(table_rows);
    return status;
}

/* All ranks go by what rank 0 found. */
static anygp_status agree(auto_facts *a, anygp_error *e)
{
    const comm *c = comm_world();
    return c->size == 1 ? ANYGP_OK : c->broadcast(c->ctx, 0, sizeof *a, a, e);
}

static auto_facts facts_of_settings(const fit_task *f)
{
    const settings *s = f->s;
    double limit = settings_number(s, SET_TIME);
    int64_t given = settings_integer(s, SET_ITERS);
    auto_facts a = {.targets = f->columns->targets,
                    .gaussian = likelihood_is_gaussian(&f->choice.like),
                    .in_memory = !f->data->file,
                    .places_given = settings_given(s, SET_INDUCING_FROM),
                    .sets = f->choice.set_count,
                    .iterations = settings_changed(s, SET_ITERS) ? given > 0 ? given : 1 : 0,
                    .batch = settings_integer(s, SET_BATCH),
                    .threads = threads_max(),
                    .seconds = isnan(limit) ? auto_seconds_default() : limit,
                    .bytes = choice_memory(s),
                    .products = PRODUCTS_A_SECOND,
                    .entries = ENTRIES_A_SECOND};
    for (int64_t k = 0; k < f->choice.set_count; k++) a.inducing += f->choice.sets[k];
    return a;
}

/* ----------------------------------------------------------------------------------------- answer */

static void say(fit_task *f, const auto_plan *p)
{
    bool grows = p->model->inducing && f->choice.grow; /* until that gains little: it takes what it takes */
    char size[64] = "";
    if (grows)
        snprintf(size, sizeof size, " with a growing number of inducing inputs");
    else if (p->model->inducing && p->set_count == 2)
        snprintf(size, sizeof size, " with %lld+%lld inducing inputs", (long long)p->sets[0], (long long)p->sets[1]);
    else if (p->model->inducing && p->set_count == 1)
        snprintf(size, sizeof size, " with %lld inducing inputs", (long long)p->sets[0]);
    if (!grows) f->promise = (gp_promise){.seconds = p->seconds, .bytes = p->bytes};
    snprintf(f->promise.reason, sizeof f->promise.reason, "%s%s, %s", p->model->name, size, p->reason);
    if (grows)
        settings_log(f->s, ANYGP_NOTE, "auto: %s", f->promise.reason);
    else
        settings_log(f->s, ANYGP_NOTE, "auto: %s; about %.*f s and %.2g GB", f->promise.reason, p->seconds < 10 ? 2 : 0,
                     p->seconds, p->bytes / 1e9);
}

static void apply(fit_task *f, const auto_plan *p)
{
    model_choice *c = &f->choice;
    c->model = p->model;
    if (c->grow && p->model->inducing) return; /* its size and time come of themselves */
    for (int64_t k = 0; k < p->set_count; k++) c->sets[k] = p->sets[k];
    if (p->set_count) c->set_count = p->set_count;
    if (!settings_changed(f->s, SET_ITERS)) f->iterations = p->iterations;
    if (p->seconds > PROMISE_LEAST) f->promised = PROMISE * p->seconds;
}

anygp_status auto_choose(fit_task *f, anygp_error *e)
{
    auto_facts a = facts_of_settings(f);
    auto_plan p;
    double began = clock_seconds();
    if (f->choice.model) return ANYGP_OK;
    TRY(look_at_rows(f, &a, e));
    if (a.rows > SMALL) TRY(measure_products(&a.products, e));
    a.seconds -= clock_seconds() - began;
    TRY(agree(&a, e));
    auto_decide(&a, &p);
    if (p.bytes > a.bytes)
        return fail_with(e, ANYGP_ERR_MEMORY,
                         "the smallest model, %s with %lld inducing inputs, needs about %.2g GB, and %.2g GB are "
                         "allowed; allow more by --memory, or give --model and --inducing",
                         p.model->name, (long long)p.sets[0], p.bytes / 1e9, a.bytes / 1e9);
    say(f, &p);
    apply(f, &p);
    return ANYGP_OK;
}
