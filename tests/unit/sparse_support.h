/* The sparse priors by their definitions with full matrices: the joint prior of the unifying view over all original rows
   and the rows to predict, conditioned by Gauss-Jordan in extended precision. */
#ifndef TEST_SPARSE_SUPPORT_H
#define TEST_SPARSE_SUPPORT_H

#include "dense.h"
#include "support.h"

#include "model/model.h"
#include "model/sparse/sparse.h"

enum { ROWS = 30, D = 2, BLOCKS = 4, M = 6, NEW = 7, OBSERVED = 2 * ROWS };

typedef struct fixture {
    basis mean;
    hyper h;
    void *state;
    problem p;
    row_blocks *blocks;
    router *route;
    double X[ROWS * D], y[ROWS], w[ROWS], Z[M * D], new[NEW * D];
    int64_t start[BLOCKS + 1], block[ROWS];
} fixture;

static const double centres[BLOCKS * D] = {-1, -1, -1, 1, 1, -1, 1, 1};

/* Rows sorted by the nearest of four centres. */
static inline void place_rows(fixture *f)
{
    double X[ROWS * D];
    int64_t id[ROWS], n = 0;
    anygp_error e;
    fill_normal(1, ROWS * D, X);
    fill_normal(2, ROWS, f->y);
    assert_int_equal(router_means(BLOCKS, D, centres, &f->route, &e), ANYGP_OK);
    assert_int_equal(router_route(f->route, ROWS, X, D, id, &e), ANYGP_OK);
    for (int64_t b = 0; b < BLOCKS; b++) {
        f->start[b] = n;
        for (int i = 0; i < ROWS; i++)
            if (id[i] == b) {
                memcpy(f->X + n * D, X + i * D, D * sizeof(double));
                f->block[n++] = b;
            }
    }
    f->start[BLOCKS] = n;
}

/* An expression after this word has scaled inducing variables, of widths that are not 1. */
#define SCALED "scaled "

static inline void scatter_widths(hyper *h)
{
    if (!h->C) return;
    fill_normal(5, h->M * h->D, h->C);
    for (int64_t i = 0; i < h->M * h->D; i++) h->C[i] *= 0.3;
}

static inline void setup(fixture *f, const model_ops *model, const char *expression, mean_kind mean, bool weights,
                         bool learn_Z)
{
    bool scaled = !strncmp(expression, SCALED, strlen(SCALED));
    input_spec columns[D] = {{.number = 0, .position = 0, .scale = 1}, {.number = 1, .position = 1, .scale = 1}};
    schema s = {.inputs = D, .D = D, .input = columns, .y_scale = 1};
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    *f = (fixture){0};
    place_rows(f);
    fill_normal(3, M * D, f->Z);
    fill_normal(4, NEW * D, f->new);
    for (int i = 0; i < ROWS; i++) f->w[i] = weights ? 1 + i % 2 : 1;
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(expression + (scaled ? strlen(SCALED) : 0), in, D, D, &k, &e), ANYGP_OK);
    assert_int_equal(hyper_init(&f->h, k, 0.07, false, false, true, &e), ANYGP_OK);
    if (scaled) assert_int_equal(hyper_set_kind(&f->h, &inducing_scaled, &e), ANYGP_OK);
    if (model->variables) assert_int_equal(hyper_set_kind(&f->h, model->variables, &e), ANYGP_OK);
    assert_int_equal(hyper_set_inducing(&f->h, M, D, f->Z, learn_Z, &e), ANYGP_OK);
    scatter_widths(&f->h);
    assert_int_equal(basis_init(&f->mean, mean, &s, 2.5, &e), ANYGP_OK);
    assert_int_equal(blocks_of_arrays(BLOCKS, f->start, D, 1, f->X, f->y, f->w, &f->blocks, &e), ANYGP_OK);
    f->p = (problem){.mean = &f->mean, .blocks = f->blocks, .route = f->route, .comm = comm_self(), .keep = 1e6};
    assert_int_equal(model->open(model, &f->p, &f->h, &f->state, &e), ANYGP_OK);
}

static inline void teardown(fixture *f, const model_ops *model)
{
    model->close(f->state);
    blocks_free(f->blocks);
    router_free(f->route);
    basis_clear(&f->mean);
    hyper_clear(&f->h);
}

/* --------------------------------------------------------------------------- the other road */

typedef enum kept { NOTHING, DIAGONAL, BLOCK } kept;

/* What each model keeps of K - Q between training rows, between a new row and training rows, and between new rows. */
typedef struct definition {
    const model_ops *model;
    kept train, cross;
    bool variance_of_new, between_new, within_block_of_new;
    real power; /* share of a kept diagonal */
} definition;

static const definition definitions[] = {
    {&model_sor, NOTHING, NOTHING, false, false, false, 1}, {&model_dtc, NOTHING, NOTHING, true, true, false, 1},
    {&model_fitc, DIAGONAL, NOTHING, true, true, false, 1}, {&model_fic, DIAGONAL, NOTHING, true, false, false, 1},
    {&model_vfe, DIAGONAL, NOTHING, true, true, false, 0},  {&model_pep, DIAGONAL, NOTHING, true, true, false, 0.5L},
    {&model_pitc, BLOCK, NOTHING, true, true, false, 1},    {&model_pic, BLOCK, BLOCK, true, false, true, 1},
};
enum { DEFINITIONS = sizeof definitions / sizeof *definitions };

typedef struct dense_gp {
    int n;
    int row[OBSERVED];
    real Kuu_inverse[M * M], inverse[OBSERVED * OBSERVED], y[OBSERVED], logdet;
} dense_gp;

static inline real basis_product(const basis *b, const double *x, const double *z)
{
    real s = 0;
    for (int64_t k = 0; k < b->p; k++) s += b->column[k] < 0 ? 1 : (real)x[b->column[k]] * (real)z[b->column[k]];
    return (real)b->B * s;
}

/* Logarithms of the widths of what is at x: of an inducing variable its own, of a row 0. */
static inline const double *widths_at(const hyper *h, const double *x)
{
    static const double none[D];
    uintptr_t first = (uintptr_t)h->Z, at = (uintptr_t)x;
    return h->C && at >= first && at < first + (size_t)(h->M * D) * sizeof *x ? h->C + (x - h->Z) : none;
}

/* Generalised SE functions by 001, eq. 15, times the variance. */
static inline real scaled_of(const hyper *h, const double *x, const double *z)
{
    int64_t length[D];
    const double *log_a = widths_at(h, x), *log_b = widths_at(h, z), *value = kernel_values(h->kernel);
    assert_true(kernel_as_rbf(h->kernel, length));
    real k = value[0];
    for (int d = 0; d < D; d++) {
        real s = value[length[d]], a = s * expl(log_a[d]), b = s * expl(log_b[d]), square = a * a + b * b;
        k *= sqrtl(2 * a * b / square) * expl(-((real)x[d] - z[d]) * ((real)x[d] - z[d]) / square);
    }
    return k;
}

/* The covariance of f at rows, or of inducing variables where x or z is a place of one. */
static inline real k_of(const fixture *f, const double *x, const double *z)
{
    return f->h.C ? scaled_of(&f->h, x, z) : kernel_reference(f->h.kernel, x, z, false);
}

static inline real q_of(const fixture *f, const dense_gp *g, const double *x, const double *z)
{
    real s = 0, a[M], b[M];
    for (int i = 0; i < M; i++) a[i] = k_of(f, x, f->h.Z + i * D), b[i] = k_of(f, f->h.Z + i * D, z);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) s += a[i] * g->Kuu_inverse[i * M + j] * b[j];
    return s;
}

static inline void invert_Kuu(const fixture *f, double jitter, dense_gp *g)
{
    real mean = 0;
    for (int i = 0; i < M; i++) mean += k_of(f, f->h.Z + i * D, f->h.Z + i * D) / M;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++)
            g->Kuu_inverse[i * M + j] = k_of(f, f->h.Z + i * D, f->h.Z + j * D) + (i == j ? jitter * mean : 0);
    dense_invert(M, g->Kuu_inverse);
}

/* A row of weight 2 is two equal rows.  Equal rows of one block have the same f where the block is kept. */
static inline dense_gp *dense_new(const fixture *f, const definition *d, double jitter)
{
    dense_gp *g = calloc(1, sizeof *g);
    invert_Kuu(f, jitter, g);
    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < (int)f->w[i]; c++) g->y[g->n] = f->y[i], g->row[g->n++] = i;
    for (int a = 0; a < g->n; a++)
        for (int b = 0; b < g->n; b++) {
            const double *x = f->X + g->row[a] * D, *z = f->X + g->row[b] * D;
            real q = q_of(f, g, x, z), k = k_of(f, x, z);
            bool keep = d->train == BLOCK      ? f->block[g->row[a]] == f->block[g->row[b]]
                        : d->train == DIAGONAL ? a == b
                                               : false;
            g->inverse[a * g->n + b] = q + (keep ? d->power * (k - q) : 0) + basis_product(&f->mean, x, z);
            if (a == b) g->inverse[a * g->n + b] += f->h.like[0] + kernel_white(f->h.kernel);
        }
    g->logdet = dense_invert(g->n, g->inverse);
    return g;
}

/* The objective: the log density of all original rows and, where a share of the diagonal is left out, what stands for it
   (003, eq. 15 and 16). */
static inline real dense_objective(const fixture *f, const definition *d, const dense_gp *g)
{
    real value = dense_log_normal(g->n, g->inverse, g->logdet, g->y), noise = f->h.like[0] + kernel_white(f->h.kernel);
    for (int a = 0; a < g->n && d->power < 1; a++) {
        const double *x = f->X + g->row[a] * D;
        real left = (k_of(f, x, x) - q_of(f, g, x, x)) / noise;
        value -= d->power > 0 ? (1 - d->power) / (2 * d->power) * logl(1 + d->power * left) : left / 2;
    }
    return value;
}

/* The new rows s and t as rows of the blocks given. */
static inline void dense_predict_in(const fixture *f, const definition *d, const dense_gp *g, int s, int64_t block_s,
                                    int t, int64_t block_t, real *mean, real *cov)
{
    const double *x = f->new + s *D, *z = f->new + t *D;
    real cx[OBSERVED], cz[OBSERVED];
    for (int a = 0; a < g->n; a++) {
        const double *r = f->X + g->row[a] * D;
        int64_t b = f->block[g->row[a]];
        cx[a] = (d->cross == BLOCK && b == block_s ? k_of(f, x, r) : q_of(f, g, x, r)) + basis_product(&f->mean, x, r);
        cz[a] = (d->cross == BLOCK && b == block_t ? k_of(f, z, r) : q_of(f, g, z, r)) + basis_product(&f->mean, z, r);
    }
    bool exact = s == t ? d->variance_of_new : d->between_new || (d->within_block_of_new && block_s == block_t);
    *mean = dense_quadratic(g->n, g->inverse, cx, g->y);
    *cov = (exact ? k_of(f, x, z) : q_of(f, g, x, z)) + basis_product(&f->mean, x, z) -
           dense_quadratic(g->n, g->inverse, cx, cz);
}

static inline void dense_predict(const fixture *f, const definition *d, const dense_gp *g, int s, int t, real *mean,
                                 real *cov)
{
    int64_t block_s, block_t;
    router_route(f->route, 1, f->new + s *D, D, &block_s, NULL);
    router_route(f->route, 1, f->new + t *D, D, &block_t, NULL);
    dense_predict_in(f, d, g, s, block_s, t, block_t, mean, cov);
}

/* -------------------------------------------------------------------------------- kinds of data */

typedef struct variant {
    const char *expression;
    mean_kind mean;
    bool weights;
} variant;

static const variant variants[] = {
    {"rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, false},
    {"matern32(variance=0.7,lengthscale=1.1) + linear(variance=[0.3,0.2])", MEAN_LINEAR, true},
    {"rbf(lengthscale=1.2) + white(variance=0.2)", MEAN_CONSTANT, true},
    {SCALED "rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, false},
    {SCALED "rbf(variance=0.8,lengthscale=1.1)", MEAN_LINEAR, true}};
enum { VARIANTS = sizeof variants / sizeof *variants };

#define FOR_EACH_CASE(v, d)                                                                                            \
    for (const variant *v = variants; v < variants + VARIANTS; v++)                                                    \
        for (const definition *d = definitions; d < definitions + DEFINITIONS; d++)

#endif
