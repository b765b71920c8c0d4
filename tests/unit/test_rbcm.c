/* The committee of experts against its definition with dense matrices over the original rows, each as often as its weight says. */
#include "dense_prior.h"
#include "support.h"

#include "data/blocks/blocks.h"
#include "model/model.h"

enum { ROWS = 15, D = 2, BLOCKS = 4, NEW = 6, MOST = 3 * ROWS };
static const int64_t start[BLOCKS + 1] = {0, 6, 6, 11, ROWS}; /* one of them is empty */

typedef struct fixture {
    basis mean;
    hyper h;
    problem p;
    row_blocks *blocks;
    void *state;
    double X[ROWS * D], y[ROWS], w[ROWS], new[NEW * D];
} fixture;

static void setup(fixture *f, const char *expression, mean_kind mean, bool weights)
{
    input_spec columns[D] = {{.number = 0, .position = 0, .scale = 1}, {.number = 1, .position = 1, .scale = 1}};
    schema s = {.inputs = D, .D = D, .input = columns, .y_scale = 1};
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    *f = (fixture){0};
    fill_normal(1, ROWS * D, f->X);
    fill_normal(2, ROWS, f->y);
    fill_normal(3, NEW * D, f->new);
    for (int j = 0; j < D; j++) f->new[j] = 1e3; /* far from all rows */
    for (int i = 0; i < ROWS; i++) f->w[i] = weights ? 1 + i % 3 : 1;
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(expression, in, D, D, &k, &e), ANYGP_OK);
    assert_int_equal(hyper_init(&f->h, k, 0.07, false, false, true, &e), ANYGP_OK);
    assert_int_equal(basis_init(&f->mean, mean, &s, 2.5, &e), ANYGP_OK);
    assert_int_equal(blocks_of_arrays(BLOCKS, start, D, 1, f->X, f->y, f->w, &f->blocks, &e), ANYGP_OK);
    f->p = (problem){.mean = &f->mean, .blocks = f->blocks, .comm = comm_self()};
    assert_int_equal(model_rbcm.open(&model_rbcm, &f->p, &f->h, &f->state, &e), ANYGP_OK);
}

static void teardown(fixture *f)
{
    model_rbcm.close(f->state);
    blocks_free(f->blocks);
    basis_clear(&f->mean);
    hyper_clear(&f->h);
}

/* --------------------------------------------------------------------------------- the other road */

static real prior(const fixture *f, const double *x, const double *z, bool same)
{
    return dense_prior(f->h.kernel, &f->mean, D, x, z, same);
}

/* The observations of expert b: rows by weight. */
static int observations(const fixture *f, int b, int *row)
{
    int n = 0;
    for (int i = (int)start[b]; i < start[b + 1]; i++)
        for (int k = 0; k < (int)f->w[i]; k++) row[n++] = i;
    return n;
}

/* Its inverse covariance and targets; a row of several observations has one white noise. */
static real expert(const fixture *f, int b, int *n, int *row, real *K, real *y)
{
    *n = observations(f, b, row);
    for (int i = 0; i < *n; i++) {
        y[i] = f->y[row[i]];
        for (int j = 0; j < *n; j++)
            K[i * *n + j] =
                prior(f, f->X + row[i] * D, f->X + row[j] * D, row[i] == row[j]) + (i == j ? f->h.like[0] : 0);
    }
    return dense_invert(*n, K);
}

static real evidence(const fixture *f)
{
    real K[MOST * MOST], y[MOST], sum = 0;
    int row[MOST], n;
    for (int b = 0; b < BLOCKS; b++) {
        real logdet = expert(f, b, &n, row, K, y);
        if (n) sum += dense_log_normal(n, K, logdet, y);
    }
    return sum;
}

static void committee(const fixture *f, const double *x, real *mean, real *variance)
{
    real K[MOST * MOST], y[MOST], k[MOST], v0 = prior(f, x, x, false), precision = 1 / v0, sum = 0;
    int row[MOST], n;
    for (int b = 0; b < BLOCKS; b++) {
        expert(f, b, &n, row, K, y);
        for (int i = 0; i < n; i++) k[i] = prior(f, x, f->X + row[i] * D, false);
        real m = dense_quadratic(n, K, k, y), v = v0 - dense_quadratic(n, K, k, k), say = 0.5L * (logl(v0) - logl(v));
        precision += say * (1 / v - 1 / v0);
        sum += say * m / v;
    }
    *mean = sum / precision, *variance = 1 / precision;
}

/* ------------------------------------------------------------------------------------------ theorems */

static const struct variant {
    const char *kernel;
    mean_kind mean;
    bool weights;
} variants[] = {{"rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, false},
                {"matern32(lengthscale=0.9) + linear(variance=[0.3,0.2])", MEAN_CONSTANT, true},
                {"rbf(lengthscale=1.2) + white(variance=0.2)", MEAN_LINEAR, true}};
#define FOR_EACH_VARIANT(v)                                                                                            \
    for (const struct variant *v = variants; v < variants + sizeof variants / sizeof *variants; v++)

static void objective_is_the_sum_of_the_experts_evidences(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        double value, jitter = 0;
        setup(&f, v->kernel, v->mean, v->weights);
        assert_true(model_rbcm.evaluate(f.state, &f.h, false, &jitter, &value, NULL));
        check_close(value, (double)evidence(&f), 1e-11);
        teardown(&f);
    }
}

static void predictions_are_the_robust_committees(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        anygp_error e;
        posterior *p;
        double jitter = 0, mean[NEW], variance[NEW];
        real m, var;
        setup(&f, v->kernel, v->mean, v->weights);
        assert_int_equal(model_rbcm.posterior(f.state, &f.h, &jitter, &p, &e), ANYGP_OK);
        double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
        assert_int_equal(p->ops->marginal(p, NEW, f.new, D, work, mean, variance, &e), ANYGP_OK);
        for (int i = 0; i < NEW; i++) {
            committee(&f, f.new + i *D, &m, &var);
            check_close(mean[i], (double)m, 1e-9);
            check_close(variance[i], (double)var, 1e-9);
            assert_true(variance[i] <= (double)prior(&f, f.new + i *D, f.new + i *D, false) * (1 + 1e-12));
        }
        free(work);
        p->ops->free(p);
        teardown(&f);
    }
}

static void far_from_all_rows_is_the_prior(void **unused)
{
    (void)unused;
    fixture f;
    anygp_error e;
    posterior *p;
    double jitter = 0, mean, variance, *work;
    setup(&f, variants[0].kernel, MEAN_ZERO, false);
    assert_int_equal(model_rbcm.posterior(f.state, &f.h, &jitter, &p, &e), ANYGP_OK);
    work = malloc((size_t)p->ops->work_doubles(p, 1) * sizeof *work);
    assert_int_equal(p->ops->marginal(p, 1, f.new, D, work, &mean, &variance, &e), ANYGP_OK);
    check_close(mean, 0, 1e-12);
    check_close(variance, 1.3, 1e-12);
    free(work);
    p->ops->free(p);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(objective_is_the_sum_of_the_experts_evidences),
                                       cmocka_unit_test(predictions_are_the_robust_committees),
                                       cmocka_unit_test(far_from_all_rows_is_the_prior)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
