/* The exact model against its definition with full matrices over the original, unmerged rows. */
#include "dense.h"
#include "support.h"

#include "model/model.h"

enum { ROWS = 34, D = 3, NEW = 5 };

typedef struct fixture {
    dataset data;
    merged rows;
    basis mean;
    hyper h;
    void *state;
    double X[ROWS * D], y[ROWS], w[ROWS];
} fixture;

static const input_spec inputs[D] = {{.number = 0, .position = 0, .scale = 1},
                                     {.number = 1, .position = 1, .scale = 1},
                                     {.number = 2, .position = 2, .scale = 1}};

/* Random rows, some of them repeated, some with weights. */
static void setup(fixture *f, const char *expression, mean_kind mean, bool repeats, bool weights)
{
    static input_spec columns[D];
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    memcpy(columns, inputs, sizeof inputs);
    *f = (fixture){.data = {.schema = {.inputs = D, .D = D, .input = columns, .y_scale = 1}, .n = ROWS, .D = D}};
    fill_normal(1, ROWS * D, f->X);
    fill_normal(2, ROWS, f->y);
    for (int i = 0; i < ROWS; i++) {
        f->w[i] = weights ? 1 + i % 3 : 1;
        if (repeats && i % 4 == 3) memcpy(f->X + i * D, f->X + (i / 8) * D, D * sizeof(double));
        f->data.total += f->w[i];
    }
    f->data.X = f->X, f->data.y = f->y, f->data.w = f->w;
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(expression, in, D, D, &k, &e), ANYGP_OK);
    assert_int_equal(hyper_init(&f->h, k, 0.07, false, false, true, &e), ANYGP_OK);
    assert_int_equal(dataset_merge(&f->data, !kernel_has_white(k), &f->rows, &e), ANYGP_OK);
    assert_int_equal(basis_init(&f->mean, mean, &f->data.schema, 2.5, &e), ANYGP_OK);
    problem p = {.rows = &f->rows, .mean = &f->mean};
    assert_int_equal(model_exact.open(&model_exact, &p, &f->h, &f->state, &e), ANYGP_OK);
}

static void teardown(fixture *f)
{
    model_exact.close(f->state);
    merged_clear(&f->rows);
    basis_clear(&f->mean);
    hyper_clear(&f->h);
}

/* --------------------------------------------------------------------------- the other road */

typedef struct dense_gp {
    int n;
    int row[3 * ROWS]; /* original row of each observation */
    real inverse[9 * ROWS * ROWS], y[3 * ROWS], logdet;
} dense_gp;

static real basis_product(const basis *b, const double *x, const double *z)
{
    real s = 0;
    for (int64_t k = 0; k < b->p; k++) s += b->column[k] < 0 ? 1 : (real)x[b->column[k]] * z[b->column[k]];
    return b->B * s;
}

/* Prior covariance of f, with the mean's coefficients integrated out. */
static real prior(const fixture *f, const double *x, const double *z, bool same)
{
    return kernel_reference(f->h.kernel, x, z, same) + basis_product(&f->mean, x, z);
}

/* Every weight is that many equal rows; `without` (an observation) is left out. */
static dense_gp *dense_new(const fixture *f, int without, double jitter)
{
    dense_gp *g = calloc(1, sizeof *g);
    int id = 0;
    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < f->w[i]; c++)
            if (id++ != without) g->row[g->n++] = i;
    for (int i = 0; i < g->n; i++) {
        g->y[i] = f->y[g->row[i]];
        for (int j = 0; j < g->n; j++)
            g->inverse[i * g->n + j] = prior(f, f->X + g->row[i] * D, f->X + g->row[j] * D, i == j) +
                                       (i == j ? (real)f->h.like[0] + jitter : 0);
    }
    g->logdet = dense_invert(g->n, g->inverse);
    return g;
}

static void dense_predict(const fixture *f, const dense_gp *g, const double *x, const double *z, real *mean, real *cov)
{
    real kx[3 * ROWS], kz[3 * ROWS];
    for (int i = 0; i < g->n; i++) {
        kx[i] = prior(f, x, f->X + g->row[i] * D, false);
        kz[i] = prior(f, z, f->X + g->row[i] * D, false);
    }
    *mean = dense_quadratic(g->n, g->inverse, kx, g->y);
    *cov = prior(f, x, z, false) - dense_quadratic(g->n, g->inverse, kx, kz);
}

/* ----------------------------------------------------------------------------------- tests */

typedef struct variant {
    const char *kernel;
    mean_kind mean;
    bool repeats, weights;
} variant;

static const variant variants[] = {
    {"rbf(variance=1.3,lengthscale=[0.7,1.5,2])", MEAN_ZERO, false, false},
    {"matern52(variance=0.8,lengthscale=1.1)", MEAN_CONSTANT, true, false},
    {"matern32 + linear", MEAN_LINEAR, true, true},
    {"rq * periodic(period=2.1)", MEAN_ZERO, true, true},
    {"rbf + white(variance=0.3)", MEAN_LINEAR, true, false},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static void begin(fixture *f, int v)
{
    setup(f, variants[v].kernel, variants[v].mean, variants[v].repeats, variants[v].weights);
}

static void evidence_equals_the_normal_density_of_all_original_rows(void **unused)
{
    (void)unused;
    for (int v = 0; v < VARIANTS; v++) {
        fixture f;
        double jitter = 0, value;
        begin(&f, v);
        assert_true(model_exact.evaluate(f.state, &f.h, true, &jitter, &value, NULL));
        dense_gp *g = dense_new(&f, -1, 0);
        check_close(value, (double)dense_log_normal(g->n, g->inverse, g->logdet, g->y), 1e-10);
        assert_true(model_exact.rows(f.state) == g->n);
        free(g);
        teardown(&f);
    }
}

typedef struct objective {
    fixture *f;
    double jitter;
} objective;

static double objective_at(void *ctx, const double *u)
{
    objective *o = ctx;
    double value, jitter = o->jitter;
    hyper_unpack(&o->f->h, u);
    assert_true(model_exact.evaluate(o->f->state, &o->f->h, false, &jitter, &value, NULL));
    return value + hyper_log_prior(&o->f->h, NULL);
}

static void gradient_equals_central_differences(void **unused)
{
    (void)unused;
    for (int v = 0; v < VARIANTS; v++)
        for (int with_jitter = 0; with_jitter < 2; with_jitter++) {
            fixture f;
            double u[32], gp[32], gu[32], value;
            begin(&f, v);
            objective o = {&f, with_jitter ? 1e-3 : 0};
            double jitter = o.jitter;
            hyper_pack(&f.h, u);
            assert_true(model_exact.evaluate(f.state, &f.h, false, &jitter, &value, gp));
            hyper_chain(&f.h, gp, gu);
            hyper_log_prior(&f.h, gu);
            for (int64_t i = 0; i < f.h.free; i++)
                check_close(gu[i], central_difference(objective_at, &o, u, i, 1e-5), 1e-6);
            teardown(&f);
        }
}

static void leave_one_out_equals_leaving_each_observation_out(void **unused)
{
    (void)unused;
    for (int v = 0; v < VARIANTS; v++) {
        fixture f;
        double jitter = 0, value, gp[32];
        begin(&f, v);
        assert_true(model_exact.evaluate(f.state, &f.h, true, &jitter, &value, gp));
        const leave_one_out *l = model_exact.loo(f.state, &f.h);
        assert_int_equal(l->n, ROWS);
        int id = 0;
        for (int i = 0; i < ROWS; i++) {
            real mean, variance;
            dense_gp *g = dense_new(&f, id, 0);
            dense_predict(&f, g, f.X + i * D, f.X + i * D, &mean, &variance);
            check_close(l->mean[i], (double)mean, 1e-9);
            check_close(l->variance[i], (double)(variance + f.h.like[0] + kernel_white(f.h.kernel)), 1e-9);
            assert_true(l->weight[i] == f.w[i] && l->y[i] == f.y[i]);
            id += (int)f.w[i];
            free(g);
        }
        teardown(&f);
    }
}

/* Observations of weight w have noise s2/w; a weight below 1 is left out whole. */
static void leave_one_out_of_a_weight_below_one_equals_leaving_the_row_out(void **unused)
{
    (void)unused;
    fixture f;
    double jitter = 0, value, gp[32];
    begin(&f, 1);
    for (int i = 0; i < ROWS; i++) f.w[i] = 0.2 + 0.25 * (i % 4);
    merged_clear(&f.rows);
    assert_int_equal(dataset_merge(&f.data, true, &f.rows, NULL), ANYGP_OK);
    assert_true(model_exact.evaluate(f.state, &f.h, true, &jitter, &value, gp));
    const leave_one_out *l = model_exact.loo(f.state, &f.h);
    for (int out = 0; out < ROWS; out++) {
        enum { M = ROWS - 1 };
        real A[M * M], k[M], y[M];
        const double *x = f.X + out * D;
        for (int i = 0; i < M; i++) {
            int p = i + (i >= out);
            y[i] = f.y[p], k[i] = prior(&f, x, f.X + p * D, false);
            for (int j = 0; j < M; j++)
                A[i * M + j] = prior(&f, f.X + p * D, f.X + (j + (j >= out)) * D, false) +
                               (i == j ? (real)f.h.like[0] / f.w[p] : 0);
        }
        dense_invert(M, A);
        check_close(l->mean[out], (double)dense_quadratic(M, A, k, y), 1e-9);
        check_close(l->variance[out], (double)(prior(&f, x, x, false) - dense_quadratic(M, A, k, k) + f.h.like[0]),
                    1e-9);
    }
    teardown(&f);
}

static void predictions_equal_the_conditional_of_the_full_joint(void **unused)
{
    (void)unused;
    for (int v = 0; v < VARIANTS; v++) {
        fixture f;
        anygp_error e;
        posterior *p;
        double jitter = 0, X[NEW * D], mean[NEW], variance[NEW], covariance[NEW * NEW], joint[NEW];
        begin(&f, v);
        fill_normal(3, NEW * D, X);
        memcpy(X, f.X, D * sizeof(double)); /* a training row */
        assert_int_equal(model_exact.posterior(f.state, &f.h, &jitter, &p, &e), ANYGP_OK);
        double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
        assert_int_equal(p->ops->marginal(p, NEW, X, D, work, mean, variance, &e), ANYGP_OK);
        assert_int_equal(p->ops->joint(p, NEW, X, D, work, joint, covariance, NEW, &e), ANYGP_OK);
        dense_gp *g = dense_new(&f, -1, 0);
        for (int i = 0; i < NEW; i++)
            for (int j = 0; j <= i; j++) {
                real m, c;
                dense_predict(&f, g, X + i * D, X + j * D, &m, &c);
                check_close(covariance[i + j * NEW], (double)c, 1e-9);
                check_close(mean[i], (double)m, 1e-9);
                check_close(joint[i], (double)m, 1e-9);
                if (i == j) check_close(variance[i], (double)c, 1e-9);
            }
        free(g);
        free(work);
        p->ops->free(p);
        teardown(&f);
    }
}

static void subset_of_all_rows_is_the_exact_model(void **unused)
{
    (void)unused;
    static const char *const how[] = {"random", "kmeans", "greedy"};
    for (int s = 0; s < 3; s++) {
        fixture f;
        anygp_error e;
        double jitter = 0, exact_value, value;
        void *state;
        begin(&f, 1);
        problem p = {.rows = &f.rows, .mean = &f.mean, .subset = 1000, .select = how[s]};
        assert_int_equal(model_sod.open(&model_sod, &p, &f.h, &state, &e), ANYGP_OK);
        assert_true(model_exact.evaluate(f.state, &f.h, true, &jitter, &exact_value, NULL));
        assert_true(model_sod.evaluate(state, &f.h, true, &jitter, &value, NULL));
        check_close(value, exact_value, 1e-12);
        model_sod.close(state);
        p.subset = 7;
        assert_int_equal(model_sod.open(&model_sod, &p, &f.h, &state, &e), ANYGP_OK);
        assert_true(model_sod.evaluate(state, &f.h, true, &jitter, &value, NULL));
        assert_true(model_sod.rows(state) >= 7 && model_sod.rows(state) < ROWS);
        model_sod.close(state);
        teardown(&f);
    }
}

/* A length that all columns share starts in the unit of them all, however small the first one is. */
static void shared_length_starts_in_the_unit_of_all_columns(void **unused)
{
    (void)unused;
    fixture f;
    double sd[D] = {1e-6, 30, 40}, before;
    setup(&f, "rbf(iso)", MEAN_ZERO, false, false);
    int64_t length = hyper_kernel_params(&f.h) - 1;
    assert_int_equal(kernel_param_at(f.h.kernel, length)->role, ROLE_LENGTH);
    before = hyper_get(&f.h, length);
    hyper_defaults(&f.h, sd, 1);
    check_close(hyper_get(&f.h, length), before * 50 / sqrt(3), 1e-12);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence_equals_the_normal_density_of_all_original_rows),
        cmocka_unit_test(gradient_equals_central_differences),
        cmocka_unit_test(leave_one_out_equals_leaving_each_observation_out),
        cmocka_unit_test(leave_one_out_of_a_weight_below_one_equals_leaving_the_row_out),
        cmocka_unit_test(predictions_equal_the_conditional_of_the_full_joint),
        cmocka_unit_test(subset_of_all_rows_is_the_exact_model),
        cmocka_unit_test(shared_length_starts_in_the_unit_of_all_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
