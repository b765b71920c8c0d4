/* A few rows under a model conditioned on neighbours, and what its definition says with dense matrices. */
#ifndef TEST_VECCHIA_SUPPORT_H
#define TEST_VECCHIA_SUPPORT_H

#include "dense_prior.h"
#include "support.h"

#include "data/neighbours/neighbours.h"
#include "data/neighbours/order.h"
#include "model/local/vecchia.h"

enum { N = 24, D = 2, NEW = 6, FEW = 4 };

/* A model conditioned on neighbours, or lists of its own making, over a few rows. */
typedef struct fixture {
    const model_ops *model;
    basis mean;
    hyper h;
    merged rows;
    dataset data;
    problem p;
    void *state;
    double X[N * D], y[N], c[N], new[NEW * D];
    int64_t group[N];
} fixture;

/* The first n of its rows, in their order or merged where they are equal. */
static inline void open_rows(fixture *f, int n)
{
    anygp_error e;
    f->data.n = n, f->rows.n = n, f->rows.total = 0;
    for (int i = 0; i < n; i++) f->rows.total += f->c[i];
    assert_int_equal(f->model->open(f->model, &f->p, &f->h, &f->state, &e), ANYGP_OK);
}

static inline void setup(fixture *f, const char *expression, mean_kind mean, bool weights, nearness near)
{
    input_spec columns[D] = {{.number = 0, .position = 0, .scale = 1}, {.number = 1, .position = 1, .scale = 1}};
    schema s = {.inputs = D, .D = D, .input = columns, .y_scale = 1};
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    *f = (fixture){.model = &model_vecchia};
    fill_normal(1, N * D, f->X);
    fill_normal(2, N, f->y);
    fill_normal(3, NEW * D, f->new);
    for (int i = 0; i < N; i++) f->c[i] = weights ? 1 + i % 3 : 1;
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(expression, in, D, D, &k, &e), ANYGP_OK);
    assert_int_equal(hyper_init(&f->h, k, 0.07, false, false, true, &e), ANYGP_OK);
    assert_int_equal(basis_init(&f->mean, mean, &s, 2.5, &e), ANYGP_OK);
    f->rows.D = D, f->rows.X = f->X, f->rows.y = f->y, f->rows.c = f->c;
    f->rows.SS = weights ? 1.7 : 0;
    f->data = (dataset){.n = N, .D = D, .X = f->X, .y = f->y, .w = f->c};
    f->rows.data = &f->data, f->rows.group = f->group;
    for (int i = 0; i < N; i++) f->group[i] = i;
    f->p = (problem){.rows = &f->rows, .mean = &f->mean, .comm = comm_self(), .near = near};
    open_rows(f, N);
}

static inline void teardown(fixture *f)
{
    f->model->close(f->state);
    basis_clear(&f->mean);
    hyper_clear(&f->h);
}

/* --------------------------------------------------------------------------------- the other road */

static inline real prior(const fixture *f, const double *x, const double *z, bool same)
{
    return dense_prior(f->h.kernel, &f->mean, D, x, z, same);
}

/* Of y at the rows of the list. */
static inline real covariance(const fixture *f, int a, int b)
{
    return prior(f, f->X + a * D, f->X + b * D, a == b) + (a == b ? f->h.like[0] / f->c[a] : 0);
}

static inline real log_normal(const fixture *f, int n, const int *row)
{
    real K[N * N], y[N];
    for (int i = 0; i < n; i++) {
        y[i] = f->y[row[i]];
        for (int j = 0; j < n; j++) K[i * n + j] = covariance(f, row[i], row[j]);
    }
    return n ? dense_log_normal(n, K, dense_invert(n, K), y) : 0;
}

/* What weights and merged rows add. */
static inline real rest(const fixture *f)
{
    real sum = -f->rows.SS / (2 * f->h.like[0]);
    for (int i = 0; i < N; i++)
        sum -= 0.5L * ((f->c[i] - 1) * logl(6.283185307179586476925L * f->h.like[0]) + logl(f->c[i]));
    return sum;
}

/* Rows in maximin order by the definition, distances over length-scales. */
static inline void order_of(const fixture *f, double *Z, int64_t *order)
{
    double weight[D];
    anygp_error e;
    kernel_closeness(f->h.kernel, kernel_values(f->h.kernel), weight);
    for (int i = 0; i < N * D; i++) Z[i] = weight[i % D] * f->X[i];
    assert_int_equal(order_maximin(N, D, Z, NULL, NULL, order, &e), ANYGP_OK);
}

/* The k nearest to x of the first n rows in the order, over places Z[N,D]; returns how many. */
static inline int nearest_of(int n, const int64_t *order, const double *Z, const double *x, int k, int *near)
{
    int count = 0;
    for (int j = 0; j < n; j++) {
        int at = count < k ? count++ : k;
        near[at] = (int)order[j];
        real own = 0;
        for (int d = 0; d < D; d++) own += powl(Z[near[at] * D + d] - x[d], 2);
        for (; at > 0; at--) {
            real other = 0;
            for (int d = 0; d < D; d++) other += powl(Z[near[at - 1] * D + d] - x[d], 2);
            if (other <= own) break;
            int swap = near[at];
            near[at] = near[at - 1], near[at - 1] = swap;
        }
    }
    return count;
}

static inline real exact_evidence(const fixture *f)
{
    int row[N];
    for (int i = 0; i < N; i++) row[i] = i;
    return log_normal(f, N, row) + rest(f);
}

/* ------------------------------------------------------------------------- rows given others, and inducing inputs */

enum { PLACES = 4 };
static const double places[PLACES * D] = {-1.1, -0.4, 0.9, -0.8, 0.1, 1.2, -0.2, 0.1};

/* R: the covariance of what the inducing inputs leave of y, as the conditionals make it; C: of y; c[j] and own[j]: of new row j with y, and
   its variance.  Rows by their numbers. */
typedef struct dense {
    real Kuu[PLACES * PLACES]; /* inverse */
    real C[N * N], R[N * N];
    real c[NEW][N], own[NEW];
} dense;

static inline real through_inducing(const fixture *f, const dense *g, const double *x, const double *z)
{
    real a[PLACES], b[PLACES];
    for (int m = 0; m < PLACES; m++)
        a[m] = kernel_reference(f->h.kernel, places + m * D, x, false),
        b[m] = kernel_reference(f->h.kernel, places + m * D, z, false);
    return dense_quadratic(PLACES, g->Kuu, a, b);
}

static inline real residual(const fixture *f, const dense *g, const double *x, const double *z, bool same)
{
    return kernel_reference(f->h.kernel, x, z, same) - through_inducing(f, g, x, z);
}

/* Q and the prior mean's covariance. */
static inline real common(const fixture *f, const dense *g, const double *x, const double *z)
{
    return through_inducing(f, g, x, z) + prior(f, x, z, false) - kernel_reference(f->h.kernel, x, z, false);
}

/* b and d of x given the rows in the list; `noise` at x. */
static inline real condition(const fixture *f, const dense *g, const double *x, real noise, int n, const int *near,
                             real *b)
{
    real G[N * N], k[N], d = residual(f, g, x, x, false) + noise;
    for (int i = 0; i < n; i++) {
        const double *z = f->X + near[i] * D;
        k[i] = residual(f, g, x, z, false), b[i] = 0;
        for (int j = 0; j < n; j++)
            G[i * n + j] = residual(f, g, z, f->X + near[j] * D, i == j) + (i == j ? f->h.like[0] / f->c[near[i]] : 0);
    }
    dense_invert(n, G);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) b[i] += G[i * n + j] * k[j], d -= k[i] * G[i * n + j] * k[j];
    return d;
}

/* The covariances of b r_near with all rows, and its variance. */
static inline real combine(const dense *g, int n, const int *near, const real *b, real *row)
{
    real variance = 0;
    for (int j = 0; j < N; j++) {
        row[j] = 0;
        for (int i = 0; i < n; i++) row[j] += b[i] * g->R[near[i] * N + j];
    }
    for (int i = 0; i < n; i++) variance += b[i] * row[near[i]];
    return variance;
}

static inline void dense_begin(const fixture *f, dense *g)
{
    memset(g, 0, sizeof *g);
    for (int i = 0; i < PLACES * PLACES; i++)
        g->Kuu[i] = kernel_reference(f->h.kernel, places + i / PLACES * D, places + i % PLACES * D, false);
    dense_invert(PLACES, g->Kuu);
}

/* Row `own` comes after those that came before, and is given some of them. */
static inline void dense_add(const fixture *f, dense *g, int own, int n, const int *near)
{
    real b[N], row[N];
    const double *x = f->X + own * D;
    real white = kernel_reference(f->h.kernel, x, x, true) - kernel_reference(f->h.kernel, x, x, false);
    real d = condition(f, g, x, f->h.like[0] / f->c[own] + white, n, near, b) + combine(g, n, near, b, row);
    for (int j = 0; j < N; j++) g->R[own * N + j] = g->R[j * N + own] = row[j]; /* 0 of those that did not come yet */
    g->R[own * N + own] = d;
}

static inline void dense_finish(const fixture *f, dense *g)
{
    for (int i = 0; i < N * N; i++) g->C[i] = g->R[i] + common(f, g, f->X + i / N * D, f->X + i % N * D);
}

/* New row j, given these. */
static inline void dense_new(const fixture *f, dense *g, int j, int n, const int *near)
{
    const double *x = f->new + j *D;
    real b[N], row[N], d = condition(f, g, x, 0, n, near, b);
    g->own[j] = d + combine(g, n, near, b, row) + common(f, g, x, x);
    for (int i = 0; i < N; i++) g->c[j][i] = row[i] + common(f, g, x, f->X + i * D);
}

static inline real dense_evidence(const fixture *f, const dense *g)
{
    real C[N * N], y[N];
    memcpy(C, g->C, sizeof C);
    for (int i = 0; i < N; i++) y[i] = f->y[i];
    real logdet = dense_invert(N, C);
    return dense_log_normal(N, C, logdet, y) + rest(f);
}

/* Mean and variance of new rows against those of the dense covariance, which is used up. */
static inline void check_new_rows(const fixture *f, const posterior *p, dense *g)
{
    anygp_error e;
    real y[N];
    double mean[NEW], variance[NEW], *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
    assert_int_equal(p->ops->marginal(p, NEW, f->new, D, work, mean, variance, &e), ANYGP_OK);
    for (int i = 0; i < N; i++) y[i] = f->y[i];
    dense_invert(N, g->C);
    for (int j = 0; j < NEW; j++) {
        check_close(mean[j], (double)dense_quadratic(N, g->C, g->c[j], y), 1e-9);
        check_close(variance[j], (double)(g->own[j] - dense_quadratic(N, g->C, g->c[j], g->c[j])), 1e-9);
    }
    free(work);
}

/* Kernels, prior means and weights that everything is tried with. */
static const struct variant {
    const char *kernel;
    mean_kind mean;
    bool weights;
} variants[] = {{"rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, false},
                {"matern32(lengthscale=0.9) + linear(variance=[0.3,0.2])", MEAN_CONSTANT, true},
                {"matern52(lengthscale=1.2) + white(variance=0.2)", MEAN_LINEAR, false}};
#define FOR_EACH_VARIANT(v)                                                                                            \
    for (const struct variant *v = variants; v < variants + sizeof variants / sizeof *variants; v++)

#endif
