/* Decoupled Gaussian processes.
       bench_svdgp steps [svdgp | svdgp-sga] [fixed]     a step's time and memory at M_alpha = 2^12 .. 2^17, M_beta = 128,
                                                      1024 rows, with the fitted exponents; fixed: nothing but q is learned
       bench_svdgp run TRAIN TEST [model] [Ma] [Mb] [steps] [learn] [kernel] [noise]
                                                      rmse, mnlp and the bound a row on the way; units of the data */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "data/formats/reader.h"
#include "linalg/linalg.h"
#include "model/decoupled/svdgp_posterior.h"
#include "model/decoupled/svdgp_state.h"
#include "support.h"

enum { BLOCK = 256, BATCH = 4, TIMED = 5 };

static void check(anygp_status status, const anygp_error *e)
{
    if (ANYGP_FAILED(status)) fprintf(stderr, "bench_svdgp: %s\n", e->text), exit(1);
}

static row_blocks *cut(int64_t n, int64_t columns, const double *X, const double *y)
{
    int64_t P = (n + BLOCK - 1) / BLOCK, *start = mem_alloc(P + 1, sizeof *start);
    row_blocks *b;
    anygp_error e;
    for (int64_t i = 0; i <= P; i++) start[i] = i * BLOCK < n ? i * BLOCK : n;
    check(blocks_of_arrays(P, start, columns, 1, X, y, NULL, &b, &e), &e);
    free(start);
    return b;
}

static const model_ops *find(const char *name) { return strcmp(name, "svdgp") ? &model_svdgp_sga : &model_svdgp; }

/* BATCH blocks of step t, without replacement within an epoch. */
static step_context sample(const row_blocks *b, int64_t t, int64_t *which, bool learn, double rate, double rho)
{
    int64_t steps = b->count / BATCH;
    random_stream s = {1, RANDOM_STEP, (uint64_t)(t / steps)};
    for (int64_t i = 0; i < BATCH; i++) which[i] = random_shuffled(s, b->count, t % steps * BATCH + i);
    return (step_context){.seed = 1,
                          .t = t,
                          .count = BATCH,
                          .which = which,
                          .learn = learn,
                          .rate = rate,
                          .rho = rho,
                          .scale = (double)b->count / BATCH};
}

/* ------------------------------------------------------------------------------------------ steps */

static double resident(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return 1024.0 * (double)use.ru_maxrss;
}

static double processor_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* All bases at once, as many of each of the P blocks as of the others. */
static void fill_bases(svdgp_state *q, const double *X, int64_t P)
{
    anygp_error e;
    for (int64_t m = 0; m < q->Ma; m++) {
        int64_t block = m % P, i = m / P;
        const double *x = X + (block * BLOCK + i) * D;
        check(q->s.newton ? svdgp_add_row(&q->s, gathered_id(block, i), x, &e) : svdgp_add_alpha(&q->s, 1, x, &e), &e);
    }
    for (int64_t i = 0; i < q->Ma; i++) q->s.a.values[i] = 1e-3 * X[i];
    check(svdgp_add_beta(&q->s, q->Mb, X, 0.1, &e), &e);
}

/* Seconds of the clock, and of processors. */
static void time_steps(const model_ops *model, int64_t Ma, bool learn, const double *X, const double *y, int64_t n,
                       double seconds[2])
{
    basis mean = {0};
    likelihood like;
    hyper h;
    void *state;
    anygp_error e;
    double value;
    int64_t which[BATCH], sets[2] = {Ma, 128};
    row_blocks *b = cut(n, D, X, y);
    check(hyper_init(&h, parse("rbf(ard)"), 0.1, false, false, true, &e), &e);
    check(likelihood_with_noise(0.1, &like, &e), &e);
    problem p = {.mean = &mean,
                 .likelihood = &like,
                 .blocks = b,
                 .comm = comm_self(),
                 .learn_inducing = true,
                 .sets = sets,
                 .set_count = 2};
    check(model->open(model, &p, &h, &state, &e), &e);
    check(model->steps->begin(state, &h, 0, &e), &e);
    fill_bases(state, X, b->count);
    seconds[0] = seconds[1] = INFINITY;
    for (int64_t t = 0; t < TIMED; t++) {
        step_context c = sample(b, t, which, learn, 1e-3, 0.5);
        double began = clock_seconds(), used = processor_seconds();
        check(model->steps->step(state, &h, &c, &value, &e), &e);
        seconds[0] = fmin(seconds[0], clock_seconds() - began);
        seconds[1] = fmin(seconds[1], processor_seconds() - used);
    }
    model->close(state);
    blocks_free(b);
    hyper_clear(&h);
}

/* The slope of log y over log x. */
static double exponent(int n, const double *x, const double *y)
{
    double mx = 0, my = 0, xx = 0, xy = 0;
    for (int i = 0; i < n; i++) mx += log(x[i]) / n, my += log(y[i]) / n;
    for (int i = 0; i < n; i++) xx += pow(log(x[i]) - mx, 2), xy += (log(x[i]) - mx) * (log(y[i]) - my);
    return xy / xx;
}

static void steps(const model_ops *model, bool learn)
{
    enum { SIZES = 6 };
    int64_t n = 1 << 17;
    double *X = normals(1, n * D), *y = normals(2, n), size[SIZES], clock[SIZES], used[SIZES], seconds[2];
    for (int i = 0; i < SIZES; i++) {
        size[i] = (double)(1 << (12 + i));
        time_steps(model, 1 << (12 + i), learn, X, y, n, seconds);
        clock[i] = seconds[0], used[i] = seconds[1];
        printf("%-9s M_alpha 2^%d  a step takes %.3f s, %.3f s of processors; peak of memory %.0f MB\n", model->name,
               12 + i, clock[i], used[i], resident() / 1e6);
    }
    printf("exponent of the time %.2f, of processors' %.2f\n", exponent(SIZES, size, clock),
           exponent(SIZES, size, used));
    free(X);
    free(y);
}

/* -------------------------------------------------------------------------------------------- run */

typedef struct rows {
    int64_t n, D;
    double *X, *y;
} rows;

static rows read_rows(const char *path)
{
    table *t;
    anygp_error e;
    read_options o = READ_DEFAULTS;
    check(table_read(path, &o, &t, &e), &e);
    rows r = {t->rows, t->cols - 1, mem_alloc(t->rows * (t->cols - 1), sizeof(double)),
              mem_alloc(t->rows, sizeof(double))};
    for (int64_t i = 0; i < r.n; i++) {
        memcpy(r.X + i * r.D, t->values + i * t->cols, (size_t)r.D * sizeof(double));
        r.y[i] = t->values[i * t->cols + r.D];
    }
    table_free(t);
    return r;
}

static kernel *parse_over(int64_t columns, const char *text)
{
    kernel_input *in = mem_zeroed(columns, sizeof *in);
    kernel *k;
    anygp_error e;
    for (int64_t j = 0; j < columns; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    check(kernel_parse(text, in, columns, columns, &k, &e), &e);
    free(in);
    return k;
}

static void report(const model_ops *model, void *state, const hyper *h, const rows *test, int64_t t, double seconds,
                   double value, double n)
{
    posterior *p;
    anygp_error e;
    double jitter = 0, square = 0, density = 0, score;
    check(model->steps->posteriors(state, h, &jitter, &p, &e), &e);
    double *mean = mem_alloc(2 * test->n, sizeof *mean), *variance = mean + test->n;
    double *work = mem_alloc(p->ops->work_doubles(p, test->n), sizeof *work);
    check(p->ops->marginal(p, test->n, test->X, test->D, work, mean, variance, &e), &e);
    for (int64_t i = 0; i < test->n; i++) {
        double r = test->y[i] - mean[i], v = variance[i] + p->noise;
        square += r * r / (double)test->n;
        density += 0.5 * (log(6.283185307179586 * v) + r * r / v) / (double)test->n;
    }
    check(svdgp_held_out(p, NULL, test->n, test->X, test->D, test->y, NULL, &score, &e), &e);
    printf("step %5lld  %7.1f s  rmse %.4f  mnlp %7.4f  E log p %7.4f  bound a row %8.4f  noise %.5f  M_alpha %lld\n",
           (long long)t, seconds, sqrt(square), density, score, value / n, p->noise, (long long)p->n);
    fflush(stdout);
    free(mean);
    free(work);
    p->ops->free(p);
}

typedef struct choice {
    const model_ops *model;
    int64_t sets[2], steps;
    bool learn;
    const char *kernel;
    double noise;
} choice;

static void run(const rows *train, const rows *test, const choice *o)
{
    basis mean = {0};
    likelihood like;
    hyper h;
    void *state;
    anygp_error e;
    double value = 0, seconds = 0;
    int64_t which[BATCH];
    row_blocks *b = cut(train->n, train->D, train->X, train->y);
    check(hyper_init(&h, parse_over(train->D, o->kernel), o->noise, false, false, true, &e), &e);
    check(likelihood_with_noise(o->noise, &like, &e), &e);
    problem p = {.mean = &mean,
                 .likelihood = &like,
                 .blocks = b,
                 .comm = comm_self(),
                 .learn_inducing = true,
                 .sets = o->sets,
                 .set_count = 2,
                 .seed = 1};
    check(o->model->open(o->model, &p, &h, &state, &e), &e);
    check(o->model->steps->begin(state, &h, 0, &e), &e);
    for (int64_t t = 0; t < o->steps; t++) {
        bool sga = o->model == &model_svdgp_sga;
        step_context c =
            sample(b, t, which, o->learn, sga ? 0 : 0.01 / (1 + 0.1 * sqrt((double)t)), 1 / (1 + 0.1 * (double)t));
        double began = clock_seconds();
        check(o->model->steps->step(state, &h, &c, &value, &e), &e);
        seconds += clock_seconds() - began;
        if ((t + 1) % (o->steps / 10) == 0) report(o->model, state, &h, test, t + 1, seconds, value, b->total);
    }
    char *text;
    check(kernel_format(h.kernel, kernel_values(h.kernel), 4, &text, &e), &e);
    check(o->model->steps->bound(state, &h, &value, &e), &e);
    printf("%s\nbound over all rows %.1f, %.4f a row; %.1f MB\n", text, value, value / b->total, resident() / 1e6);
    free(text);
    o->model->close(state);
    blocks_free(b);
    hyper_clear(&h);
}

int main(int argc, char **argv)
{
    if (argc > 3 && !strcmp(argv[1], "run")) {
        rows train = read_rows(argv[2]), test = read_rows(argv[3]);
        choice o = {find(argc > 4 ? argv[4] : "svdgp"), {16384, 128}, 2000, true, "rbf(ard)", 0.1};
        if (argc > 5) o.sets[0] = atoll(argv[5]);
        if (argc > 6) o.sets[1] = atoll(argv[6]);
        if (argc > 7) o.steps = atoll(argv[7]);
        if (argc > 8) o.learn = atoi(argv[8]) != 0;
        if (argc > 9) o.kernel = argv[9];
        if (argc > 10) o.noise = atof(argv[10]);
        run(&train, &test, &o);
        free(train.X), free(train.y), free(test.X), free(test.y);
        return 0;
    }
    steps(find(argc > 2 ? argv[2] : "svdgp"), argc <= 3);
    return 0;
}
