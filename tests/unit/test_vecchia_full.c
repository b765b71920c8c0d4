/* Full-scale Vecchia against its definition with dense matrices: Q of the inducing inputs, and neighbours under what it leaves. */
#include "vecchia_support.h"

#include "model/sparse/sparse.h"

enum { M = 4 };

static const double places[M * D] = {-1.1, -0.4, 0.9, -0.8, 0.1, 1.2, -0.2, 0.1};

static const struct variant {
    const char *kernel;
    mean_kind mean;
    bool weights;
} variants[] = {{"rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, false},
                {"matern32(lengthscale=0.9) + linear(variance=[0.3,0.2])", MEAN_CONSTANT, true},
                {"matern52(lengthscale=1.2) + white(variance=0.2)", MEAN_LINEAR, false}};
#define FOR_EACH_VARIANT(v)                                                                                            \
    for (const struct variant *v = variants; v < variants + sizeof variants / sizeof *variants; v++)

static void setup_full(fixture *f, const struct variant *v, nearness near)
{
    anygp_error e;
    setup(f, v->kernel, v->mean, v->weights, near);
    f->model->close(f->state);
    f->model = model_vecchia.with_inducing;
    assert_int_equal(hyper_set_inducing(&f->h, M, D, places, true, &e), ANYGP_OK);
    open_rows(f, N);
}

/* ------------------------------------------------------------------------------- the other road */

/* All in the order of the rows: C, the covariance of y, and for new row j c[j][i] with y_i and own[j], its variance. */
typedef struct dense {
    double Z[N * D];
    int64_t order[N];
    real Kuu[M * M]; /* inverse */
    real C[N * N], R[N * N];
    real c[NEW][N], own[NEW];
} dense;

static real through_inducing(const fixture *f, const dense *g, const double *x, const double *z)
{
    real a[M], b[M];
    for (int m = 0; m < M; m++)
        a[m] = kernel_reference(f->h.kernel, f->h.Z + m * D, x, false),
        b[m] = kernel_reference(f->h.kernel, f->h.Z + m * D, z, false);
    return dense_quadratic(M, g->Kuu, a, b);
}

static real residual(const fixture *f, const dense *g, const double *x, const double *z, bool same)
{
    return kernel_reference(f->h.kernel, x, z, same) - through_inducing(f, g, x, z);
}

/* Q and the prior mean's covariance. */
static real common(const fixture *f, const dense *g, const double *x, const double *z)
{
    return through_inducing(f, g, x, z) + prior(f, x, z, false) - kernel_reference(f->h.kernel, x, z, false);
}

/* b and d of x given the rows in the list; `noise` at x. */
static real condition(const fixture *f, const dense *g, const double *x, real noise, int n, const int *near, real *b)
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

/* Row (or column) of the residual's covariance with all rows: from those of the rows in the list, by number of the row. */
static void combine(const dense *g, int n, const int *near, const real *b, real *row)
{
    for (int j = 0; j < N; j++) {
        row[j] = 0;
        for (int i = 0; i < n; i++) row[j] += b[i] * g->R[near[i] * N + j];
    }
}

/* R: of y's residuals as the conditionals make it, one row of the order after the other; numbers are the rows' own. */
static void make_dense(const fixture *f, int k, dense *g)
{
    real b[N], row[N];
    int near[N];
    memset(g, 0, sizeof *g);
    order_of(f, g->Z, g->order);
    for (int i = 0; i < M * M; i++)
        g->Kuu[i] = kernel_reference(f->h.kernel, f->h.Z + i / M * D, f->h.Z + i % M * D, false);
    dense_invert(M, g->Kuu);
    for (int i = 0; i < N; i++) {
        int own = (int)g->order[i], n = nearest_of(i, g->order, g->Z, g->Z + own * D, k, near);
        const double *x = f->X + own * D;
        real white = kernel_reference(f->h.kernel, x, x, true) - kernel_reference(f->h.kernel, x, x, false);
        real d = condition(f, g, x, f->h.like[0] / f->c[own] + white, n, near, b);
        combine(g, n, near, b, row);
        for (int j = 0; j < i; j++) g->R[own * N + g->order[j]] = g->R[g->order[j] * N + own] = row[g->order[j]];
        for (int j = 0; j < n; j++) d += b[j] * row[near[j]];
        g->R[own * N + own] = d;
    }
    for (int i = 0; i < N * N; i++) g->C[i] = g->R[i] + common(f, g, f->X + i / N * D, f->X + i % N * D);
}

/* New rows, each given its k nearest rows. */
static void make_new(const fixture *f, int k, dense *g)
{
    double weight[D], x[D];
    kernel_closeness(f->h.kernel, kernel_values(f->h.kernel), weight);
    for (int j = 0; j < NEW; j++) {
        const double *new = f->new + j *D;
        real b[N], row[N];
        int near[N];
        for (int d = 0; d < D; d++) x[d] = weight[d] * new[d];
        int n = nearest_of(N, g->order, g->Z, x, k, near);
        g->own[j] = condition(f, g, new, 0, n, near, b) + common(f, g, new, new);
        combine(g, n, near, b, row);
        for (int i = 0; i < n; i++) g->own[j] += b[i] * row[near[i]];
        for (int i = 0; i < N; i++) g->c[j][i] = row[i] + common(f, g, new, f->X + i * D);
    }
}

static real dense_evidence(const fixture *f, const dense *g)
{
    real C[N * N], y[N];
    memcpy(C, g->C, sizeof C);
    for (int i = 0; i < N; i++) y[i] = f->y[i];
    real logdet = dense_invert(N, C);
    return dense_log_normal(N, C, logdet, y) + rest(f);
}

/* -------------------------------------------------------------------------------------- theorems */

static double value_of(fixture *f)
{
    double value, jitter = 0;
    assert_true(f->model->evaluate(f->state, &f->h, false, &jitter, &value, NULL));
    return value;
}

static void evidence_is_that_of_the_dense_covariance(void **unused)
{
    (void)unused;
    static dense g;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        setup_full(&f, v, (nearness){.learn = FEW, .apart = true});
        make_dense(&f, FEW, &g);
        check_close(value_of(&f), (double)dense_evidence(&f, &g), 1e-9);
        teardown(&f);
    }
}

static void given_all_rows_it_is_exact(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    for (int apart = 0; apart < 2; apart++) {
        fixture f;
        setup_full(&f, v, (nearness){.learn = N - 1, .apart = apart});
        check_close(value_of(&f), (double)exact_evidence(&f), 1e-9);
        teardown(&f);
    }
}

/* Kernel, noise and places, with jitter in K_uu and in the noise. */
static void gradient_equals_central_differences(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    for (int apart = 0; apart < 2; apart++) {
        fixture f;
        double value, side[2], jitter = 1e-6, gradient[16 + M * D];
        setup_full(&f, v, (nearness){.learn = FEW, .apart = apart});
        assert_true(f.model->evaluate(f.state, &f.h, false, &jitter, &value, gradient));
        for (int64_t i = 0; i < hyper_size(&f.h); i++) {
            bool place = i >= f.h.count;
            double x = place ? f.h.Z[i - f.h.count] : hyper_get(&f.h, i), step = place ? 1e-5 : 1e-5 * x;
            for (int s = 0; s < 2; s++) {
                double at = s ? x - step : x + step;
                if (place)
                    f.h.Z[i - f.h.count] = at;
                else
                    hyper_set(&f.h, i, at);
                assert_true(f.model->evaluate(f.state, &f.h, false, &jitter, &side[s], NULL));
            }
            if (place)
                f.h.Z[i - f.h.count] = x;
            else
                hyper_set(&f.h, i, x);
            check_close(gradient[i], (side[0] - side[1]) / (2 * step), 1e-6);
        }
        teardown(&f);
    }
}

static posterior *posterior_of(fixture *f)
{
    posterior *p;
    anygp_error e;
    double jitter = 0;
    assert_int_equal(f->model->posterior(f->state, &f->h, &jitter, &p, &e), ANYGP_OK);
    return p;
}

static void predictions_are_those_of_the_dense_covariance(void **unused)
{
    (void)unused;
    enum { SEEN = 6 };
    static dense g;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        anygp_error e;
        real y[N];
        double mean[NEW], variance[NEW];
        setup_full(&f, v, (nearness){.learn = FEW, .predict = SEEN, .apart = true});
        make_dense(&f, FEW, &g);
        make_new(&f, SEEN, &g);
        posterior *p = posterior_of(&f);
        assert_int_equal(p->places, M);
        double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
        assert_int_equal(p->ops->marginal(p, NEW, f.new, D, work, mean, variance, &e), ANYGP_OK);
        for (int i = 0; i < N; i++) y[i] = f.y[i];
        dense_invert(N, g.C);
        for (int j = 0; j < NEW; j++) {
            check_close(mean[j], (double)dense_quadratic(N, g.C, g.c[j], y), 1e-9);
            check_close(variance[j], (double)(g.own[j] - dense_quadratic(N, g.C, g.c[j], g.c[j])), 1e-9);
        }
        free(work);
        p->ops->free(p);
        teardown(&f);
    }
}

/* Given all rows also jointly, and each row left out. */
static void joint_predictions_given_all_rows_are_exact(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        anygp_error e;
        real K[N * N], y[N], k[NEW][N];
        double mean[NEW], cov[NEW * NEW];
        setup_full(&f, v, (nearness){.learn = N - 1});
        posterior *p = posterior_of(&f);
        assert_int_equal(p->ops->joint(p, NEW, f.new, D, NULL, mean, cov, NEW, &e), ANYGP_OK);
        for (int i = 0; i < N; i++) {
            y[i] = f.y[i];
            for (int j = 0; j < N; j++) K[i * N + j] = covariance(&f, i, j);
            for (int j = 0; j < NEW; j++) k[j][i] = prior(&f, f.new + j *D, f.X + i * D, false);
        }
        dense_invert(N, K);
        for (int i = 0; i < NEW; i++) {
            check_close(mean[i], (double)dense_quadratic(N, K, k[i], y), 1e-8);
            for (int j = 0; j <= i; j++)
                check_close(cov[i + j * NEW],
                            (double)(prior(&f, f.new + i *D, f.new + j *D, false) - dense_quadratic(N, K, k[i], k[j])),
                            1e-8);
        }
        p->ops->free(p);
        teardown(&f);
    }
}

static void updates_equal_a_batch_in_that_order(void **unused)
{
    (void)unused;
    enum { FIRST = 15 };
    const update_ops *ops = model_vecchia.update; /* a file is read as vecchia */
    int64_t order[N];
    for (int i = 0; i < N; i++) order[i] = i;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        anygp_error e;
        void *state;
        posterior *online;
        update_report r;
        double cell[4][NEW];
        setup_full(&f, v, (nearness){.learn = FEW, .apart = true, .given = order});
        double all = value_of(&f);
        posterior *batch = posterior_of(&f);
        f.model->close(f.state);
        open_rows(&f, FIRST);
        double value = value_of(&f);
        posterior *first = posterior_of(&f);
        assert_int_equal(ops->open(&model_vecchia, first, NULL, &state, &e), ANYGP_OK);
        assert_int_equal(ops->add(state, N - FIRST, f.X + FIRST * D, f.y + FIRST, f.c + FIRST, NULL, &e), ANYGP_OK);
        assert_int_equal(ops->finish(state, &online, &r, &e), ANYGP_OK);
        ops->close(state);
        check_close(value + r.after, all, 1e-8);
        double *work = malloc((size_t)batch->ops->work_doubles(batch, NEW) * sizeof *work);
        assert_int_equal(batch->ops->marginal(batch, NEW, f.new, D, work, cell[0], cell[1], &e), ANYGP_OK);
        assert_int_equal(online->ops->marginal(online, NEW, f.new, D, work, cell[2], cell[3], &e), ANYGP_OK);
        for (int i = 0; i < NEW; i++)
            check_close(cell[0][i], cell[2][i], 1e-8), check_close(cell[1][i], cell[3][i], 1e-8);
        free(work);
        first->ops->free(first);
        batch->ops->free(batch);
        online->ops->free(online);
        teardown(&f);
    }
}

/* The statistics with nothing given, each row a block of its own, are fitc's. */
static void without_given_rows_it_is_fitc(void **unused)
{
    (void)unused;
    const block_model *models[] = {&sparse_given, &sparse_rows};
    double value[2], jitter = 0;
    int64_t start[N + 1];
    for (int i = 0; i <= N; i++) start[i] = i;
    for (int k = 0; k < 2; k++) {
        fixture f;
        sparse s;
        row_blocks *blocks;
        driver *d;
        anygp_error e;
        setup_full(&f, &variants[1], (nearness){.learn = FEW});
        for (int i = 0; i < N; i++) f.c[i] = 1; /* a row of weight w is w equal rows in fitc */
        assert_int_equal(sparse_init(&s, k ? KEPT_DIAGONAL : KEPT_BLOCK, &f.mean, &f.h, N, &e), ANYGP_OK);
        assert_true(sparse_prepare(&s, &f.h, false, &jitter));
        double *stat = malloc((size_t)models[k]->stat_size(&s) * sizeof *stat);
        assert_int_equal(blocks_of_arrays(N, start, D, 1, f.X, f.y, f.c, &blocks, &e), ANYGP_OK);
        assert_int_equal(driver_open(models[k], blocks, comm_self(), 0, &d, &e), ANYGP_OK);
        assert_int_equal(driver_stat(d, &s, 0, NULL, 1, stat, &e), ANYGP_OK);
        assert_true(sparse_evidence(&s, stat, false, &value[k]));
        driver_close(d);
        blocks_free(blocks);
        free(stat);
        sparse_clear(&s);
        teardown(&f);
    }
    check_close(value[0], value[1], 1e-11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(evidence_is_that_of_the_dense_covariance),
                                       cmocka_unit_test(given_all_rows_it_is_exact),
                                       cmocka_unit_test(gradient_equals_central_differences),
                                       cmocka_unit_test(predictions_are_those_of_the_dense_covariance),
                                       cmocka_unit_test(joint_predictions_given_all_rows_are_exact),
                                       cmocka_unit_test(updates_equal_a_batch_in_that_order),
                                       cmocka_unit_test(without_given_rows_it_is_fitc)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
