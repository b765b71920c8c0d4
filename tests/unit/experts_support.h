/* Committees of experts on a few rows, and what one expert knows by dense matrices over the original rows, each as often as its weight
   says: the other road of test_experts.c, test_npae.c and test_committee.c. */
#ifndef TEST_EXPERTS_SUPPORT_H
#define TEST_EXPERTS_SUPPORT_H

#include "dense_prior.h"
#include "support.h"

#include "data/blocks/blocks.h"
#include "model/local/experts.h"

enum { ROWS = 15, D = 2, BLOCKS = 4, NEW = 6, MOST = 3 * ROWS };
static const int64_t some_blocks[BLOCKS + 1] = {0, 6, 6, 11, ROWS}; /* one of them is empty */

typedef struct scene {
    const model_ops *model;
    basis mean;
    hyper h;
    problem p;
    row_blocks *blocks;
    void *state;
    posterior *q; /* NULL: not asked for yet */
    double X[ROWS * D], y[ROWS], w[ROWS], new[NEW * D];
} scene;

static inline const model_ops *model_by_name(const char *name)
{
    const model_ops *m = model_find(name);
    anygp_error e;
    if (!m && model_make(name, &m, &e)) fail_msg("%s: %s", name, e.text);
    return m;
}

/* Rows in the blocks that `start` has. */
static inline void scene_set(scene *f, const char *model, const char *expression, mean_kind mean, bool weights,
                             int64_t count, const int64_t *start, expert_choice experts)
{
    input_spec columns[D] = {{.number = 0, .position = 0, .scale = 1}, {.number = 1, .position = 1, .scale = 1}};
    schema s = {.inputs = D, .D = D, .input = columns, .y_scale = 1};
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    *f = (scene){.model = model_by_name(model)};
    fill_normal(1, ROWS * D, f->X);
    fill_normal(2, ROWS, f->y);
    fill_normal(3, NEW * D, f->new);
    for (int j = 0; j < D; j++) f->new[j] = 1e3; /* far from all rows */
    for (int i = 0; i < ROWS; i++) f->w[i] = weights ? 1 + i % 3 : 1;
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(expression, in, D, D, &k, &e), ANYGP_OK);
    assert_int_equal(hyper_init(&f->h, k, 0.07, false, false, true, &e), ANYGP_OK);
    assert_int_equal(basis_init(&f->mean, mean, &s, 2.5, &e), ANYGP_OK);
    assert_int_equal(blocks_of_arrays(count, start, D, 1, f->X, f->y, f->w, &f->blocks, &e), ANYGP_OK);
    f->p = (problem){.mean = &f->mean, .blocks = f->blocks, .comm = comm_self(), .experts = experts};
    assert_int_equal(model_open(f->model, &f->p, &f->h, &f->state, &e), ANYGP_OK);
}

static inline void scene_clear(scene *f)
{
    if (f->q) f->q->ops->free(f->q);
    f->model->close(f->state);
    blocks_free(f->blocks);
    basis_clear(&f->mean);
    hyper_clear(&f->h);
    model_free(f->model);
}

static inline const experts_posterior *scene_posterior(scene *f)
{
    anygp_error e;
    double jitter = 0;
    if (!f->q && f->model->posterior(f->state, &f->h, &jitter, &f->q, &e)) fail_msg("%s", e.text);
    return (const experts_posterior *)f->q;
}

static inline void scene_predict(scene *f, int64_t n, const double *X, double *mean, double *variance)
{
    anygp_error e;
    (void)scene_posterior(f);
    double *work = malloc((size_t)f->q->ops->work_doubles(f->q, n) * sizeof *work);
    if (f->q->ops->marginal(f->q, n, X, D, work, mean, variance, &e)) fail_msg("%s", e.text);
    free(work);
}

static inline void scene_joint(scene *f, int64_t n, const double *X, double *mean, double *covariance)
{
    anygp_error e;
    (void)scene_posterior(f);
    double *work = malloc((size_t)(n * f->q->ops->work_doubles(f->q, 1)) * sizeof *work);
    if (f->q->ops->joint(f->q, n, X, D, work, mean, covariance, n, &e)) fail_msg("%s", e.text);
    free(work);
}

/* The same committee without one observation of row i. */
static inline posterior *committee_without(const experts_posterior *p, int64_t i)
{
    anygp_error e;
    posterior *out;
    bool last = p->w[i] == 1;
    int64_t n = p->base.n - last;
    experts_source s = {.rule = &p->rule, .kernel = p->base.kernel, .mean = &p->base.mean, .noise = p->base.noise};
    s.D = D, s.count = p->count, s.asked[EXPERTS_OBSERVED] = p->asked[EXPERTS_OBSERVED];
    s.rows = (gathered_rows){n, malloc(ROWS * D * sizeof(double)), malloc(ROWS * sizeof(double)),
                             malloc(ROWS * sizeof(double)), malloc((size_t)(p->count + 1) * sizeof(double))};
    for (int64_t from = 0, to = 0; from < p->base.n; from++) {
        if (from == i && last) continue;
        for (int d = 0; d < D; d++) s.rows.X[to * D + d] = p->X[from * D + d];
        s.rows.y[to] = p->y[from], s.rows.w[to++] = p->w[from] - (from == i);
    }
    for (int64_t k = 0; k <= p->count; k++) s.rows.start[k] = p->start[k] - (last && p->start[k] > (double)i);
    if (experts_new(&s, &out, &e)) fail_msg("%s", e.text);
    return out;
}

/* From copies of these arrays, with as many bytes for factors in memory. */
static inline anygp_status scene_load(scene *f, array_list *list, double memory, posterior **out)
{
    anygp_error e;
    basis mean;
    kernel *k = kernel_copy(f->q->kernel);
    assert_int_equal(basis_copy(&f->q->mean, &mean, &e), ANYGP_OK);
    array_list copies = {0};
    for (int64_t i = 0; i < list->count; i++) {
        named_array a = list->at[i];
        size_t bytes = (size_t)(a.rows * a.cols) * sizeof(double);
        a.values = memcpy(malloc(bytes), a.values, bytes);
        array_list_add(&copies, a);
    }
    anygp_status status =
        f->model->load_within(f->model, memory, k, f->q->noise, &mean, D, copies.at, copies.count, out, &e);
    for (int64_t i = 0; i < copies.count; i++) free(copies.at[i].values);
    array_list_clear(&copies);
    if (status) kernel_free(k), basis_clear(&mean);
    return status;
}

static const struct variant {
    const char *kernel;
    mean_kind mean;
    bool weights;
} variants[] = {{"rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, false},
                {"matern32(lengthscale=0.9) + linear(variance=[0.3,0.2])", MEAN_CONSTANT, true},
                {"rbf(lengthscale=1.2) + white(variance=0.2)", MEAN_LINEAR, true}};
#define FOR_EACH_VARIANT(v)                                                                                            \
    for (const struct variant *v = variants; v < variants + sizeof variants / sizeof *variants; v++)

/* ------------------------------------------------------------------------------------ by dense matrices */

static inline real scene_prior(const scene *f, const double *x, const double *z, bool same)
{
    return dense_prior(f->h.kernel, &f->mean, D, x, z, same);
}

/* Observations, rows of an expert of p by weight, and the inverse of their covariance. */
typedef struct dense_rows {
    int n;
    const double *x[MOST];
    real y[MOST], K[MOST * MOST], logdet;
} dense_rows;

static inline void add_rows_of(const experts_posterior *p, int64_t k, dense_rows *r)
{
    expert x = expert_at(p, k);
    for (int64_t i = 0; i < x.n; i++)
        for (int c = 0; c < (int)x.w[i]; c++, r->n++) r->x[r->n] = x.X + i * D, r->y[r->n] = x.y[i];
}

/* A row of several observations has one white noise. */
static inline void invert_rows(const scene *f, dense_rows *r)
{
    int n = r->n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            r->K[i * n + j] = scene_prior(f, r->x[i], r->x[j], r->x[i] == r->x[j]) + (i == j ? f->h.like[0] : 0);
    r->logdet = dense_invert(n, r->K);
}

static inline dense_rows rows_of_expert(scene *f, int64_t k)
{
    dense_rows r = {.n = 0};
    add_rows_of(scene_posterior(f), k, &r);
    invert_rows(f, &r);
    return r;
}

static inline dense_rows all_rows_of(scene *f)
{
    dense_rows r = {.n = 0};
    for (int64_t k = 0; k < scene_posterior(f)->count; k++) add_rows_of(scene_posterior(f), k, &r);
    invert_rows(f, &r);
    return r;
}

static inline void covariances_with(const scene *f, const dense_rows *r, const double *x, real *k)
{
    for (int i = 0; i < r->n; i++) k[i] = scene_prior(f, x, r->x[i], false);
}

/* Mean of f(x), and covariance of f(x) and f(z), given the rows. */
static inline real mean_given(const scene *f, const dense_rows *r, const double *x)
{
    real k[MOST];
    covariances_with(f, r, x, k);
    return dense_quadratic(r->n, r->K, k, r->y);
}

static inline real covariance_given(const scene *f, const dense_rows *r, const double *x, const double *z)
{
    real k[MOST], l[MOST];
    covariances_with(f, r, x, k);
    covariances_with(f, r, z, l);
    return scene_prior(f, x, z, false) - dense_quadratic(r->n, r->K, k, l);
}

#endif
