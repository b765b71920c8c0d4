/* Both kinds of inducing variables: whitened features against their definition in extended precision, reverses against central
   differences. */
#include "sparse_support.h"

#include "base/memory.h"
#include "inducing/inducing.h"
#include "linalg/linalg.h"

enum { N = NEW, SECOND = 3, FIRST = M - SECOND, KERNEL_MOST = 8, ALL = KERNEL_MOST + 2 * M * D + N * D };
static const double JITTER = 1e-6, WHITE = 0.37; /* WHITE: adjoint of the white terms */

static const char *const expressions[] = {
    "rbf(lengthscale=[0.7,1.3]) + white(variance=0.2)", "matern52(variance=1.7) + linear",
    SCALED "rbf(variance=1.7,lengthscale=[0.7,1.3])", SCALED "rbf(lengthscale=0.9)"};
#define FOR_EACH_EXPRESSION(x)                                                                                         \
    for (const char *const *x = expressions; x < expressions + sizeof expressions / sizeof *expressions; x++)

/* The first variables have a factor, the second ones none. */
typedef struct world {
    fixture f;
    inducing_set v, o;
    double X[N * D], W[M * N], w[N], G[M * M];
} world;

static void open_world(world *a, const char *expression, int64_t first)
{
    anygp_error e;
    *a = (world){0};
    setup(&a->f, &model_dtc, expression, MEAN_ZERO, false, true);
    fill_normal(11, N * D, a->X);
    fill_normal(12, M * N, a->W);
    fill_normal(13, N, a->w);
    fill_normal(14, M * M, a->G);
    assert_int_equal(inducing_open(&a->v, a->f.h.kind, first, D, &e), ANYGP_OK);
}

static void close_world(world *a)
{
    inducing_clear(&a->v);
    teardown(&a->f, &model_dtc);
}

static void prepare(world *a)
{
    double jitter = JITTER;
    function_set all = hyper_set_of(&a->f.h);
    assert_true(inducing_prepare(&a->v, a->f.h.kernel, functions_part(all, D, 0, a->v.M), false, &jitter));
    a->o = inducing_part(&a->v, all, a->v.M, M - a->v.M);
}

static void features_and_residuals_equal_their_definition(void **unused)
{
    (void)unused;
    FOR_EACH_EXPRESSION(x)
    {
        world a;
        dense_gp g;
        double A[M * N], d[N];
        open_world(&a, *x, M);
        prepare(&a);
        invert_Kuu(&a.f, JITTER, &g);
        assert_true(a.v.ops->features(&a.v, N, a.X, D, A, M));
        inducing_residual(&a.v, N, a.X, D, A, M, d);
        for (int i = 0; i < N; i++) {
            const double *row = a.X + i * D;
            for (int m = 0; m < M; m++) { /* L A = K_uf */
                double sum = 0;
                for (int k = 0; k <= m; k++) sum += a.v.L[m + k * M] * A[k + i * M];
                check_close(sum, (double)k_of(&a.f, a.f.h.Z + m * D, row), 1e-12);
            }
            for (int j = 0; j < N; j++) /* A'A = K_fu K_uu^-1 K_uf */
                check_close(la_dot(M, A + i * M, A + j * M), (double)q_of(&a.f, &g, row, a.X + j * D), 1e-9);
            check_close(d[i], (double)(k_of(&a.f, row, row) - q_of(&a.f, &g, row, row)), 1e-9);
        }
        close_world(&a);
    }
}

/* ------------------------------------------------------------------------------------- reverses */

/* Kernel values, places, logarithms of widths, rows. */
static int64_t put(const world *a, double *x)
{
    int64_t P = kernel_count(a->f.h.kernel), size = M * D;
    assert_true(P <= KERNEL_MOST);
    memcpy(x, kernel_values(a->f.h.kernel), (size_t)P * sizeof *x);
    memcpy(x + P, a->f.h.Z, (size_t)size * sizeof *x);
    if (a->f.h.C) memcpy(x + P + size, a->f.h.C, (size_t)size * sizeof *x);
    memcpy(x + P + 2 * size, a->X, sizeof a->X);
    return P + 2 * size + N * D;
}

static void take(world *a, const double *x)
{
    int64_t P = kernel_count(a->f.h.kernel), size = M * D;
    memcpy(kernel_values(a->f.h.kernel), x, (size_t)P * sizeof *x);
    memcpy(a->f.h.Z, x + P, (size_t)size * sizeof *x);
    if (a->f.h.C) memcpy(a->f.h.C, x + P + size, (size_t)size * sizeof *x);
    memcpy(a->X, x + P + 2 * size, sizeof a->X);
    prepare(a);
}

static inducing_grad places_in(const world *a, double *g)
{
    int64_t P = kernel_count(a->f.h.kernel);
    return (inducing_grad){g, g + P, a->f.h.C ? g + P + M * D : NULL, g + P + 2 * M * D};
}

/* sum W A + sum w d + WHITE times the variance of white terms. */
static double whitened_value(void *ctx, const double *x)
{
    world *a = ctx;
    double A[M * N], d[N];
    take(a, x);
    assert_true(a->v.ops->features(&a->v, N, a->X, D, A, M));
    inducing_residual(&a->v, N, a->X, D, A, M, d);
    return la_dot(M * N, a->W, A) + la_dot(N, a->w, d) + WHITE * kernel_white(a->f.h.kernel);
}

static void reverse_and_finish_equal_central_differences(void **unused)
{
    (void)unused;
    FOR_EACH_EXPRESSION(e)
    {
        world a;
        double x[ALL], g[ALL] = {0}, A[M * N], Abar[M * N], E[M * M];
        open_world(&a, *e, M);
        int64_t size = put(&a, x);
        take(&a, x);
        assert_true(a.v.ops->features(&a.v, N, a.X, D, A, M));
        for (int k = 0; k < M * N; k++) Abar[k] = a.W[k] - 2 * a.w[k / M] * A[k];
        la_gemm(LA_N, LA_T, M, M, N, 1, Abar, M, A, M, 0, E, M);
        assert_true(a.v.ops->reverse(&a.v, N, a.X, D, Abar, M, a.w, places_in(&a, g)));
        assert_true(a.v.ops->finish(&a.v, E, WHITE, places_in(&a, g)));
        for (int64_t i = 0; i < size; i++) check_close(g[i], central_difference(whitened_value, &a, x, i, 1e-5), 1e-6);
        close_world(&a);
    }
}

/* Covariances of the second variables with rows, and of the first with the second. */
static double plain_value(void *ctx, const double *x)
{
    world *a = ctx;
    double K[SECOND * N], T[FIRST * SECOND];
    take(a, x);
    assert_true(a->o.ops->cross(&a->o, N, a->X, D, K, SECOND));
    assert_true(a->v.ops->pair(&a->v, a->o.set, T, FIRST));
    for (int i = 0; i < FIRST; i++)
        for (int j = 0; j < SECOND; j++)
            check_close(T[i + j * FIRST], (double)k_of(&a->f, a->f.h.Z + i * D, a->f.h.Z + (FIRST + j) * D), 1e-12);
    return la_dot(SECOND * N, a->W, K) + la_dot(FIRST * SECOND, a->G, T);
}

static void reverses_of_covariances_equal_central_differences(void **unused)
{
    (void)unused;
    FOR_EACH_EXPRESSION(e)
    {
        world a;
        double x[ALL], g[ALL] = {0}, K[SECOND * N], T[FIRST * SECOND];
        open_world(&a, *e, FIRST);
        int64_t size = put(&a, x);
        take(&a, x);
        inducing_grad first = places_in(&a, g), second = inducing_grad_part(first, D, FIRST);
        second.X = first.X;
        memcpy(K, a.W, sizeof K);
        memcpy(T, a.G, sizeof T);
        assert_true(a.o.ops->cross_reverse(&a.o, N, a.X, D, K, SECOND, second));
        assert_true(a.v.ops->pair_reverse(&a.v, a.o.set, T, FIRST, first, second));
        for (int64_t i = 0; i < size; i++) check_close(g[i], central_difference(plain_value, &a, x, i, 1e-5), 1e-7);
        close_world(&a);
    }
}

/* --------------------------------------------------------------------------------------- limits */

static posterior *posterior_of(fixture *f, const model_ops *model)
{
    posterior *p = NULL;
    anygp_error e;
    double jitter = 1e-8, value;
    assert_true(model->evaluate(f->state, &f->h, true, &jitter, &value, NULL));
    assert_int_equal(model->posterior(f->state, &f->h, &jitter, &p, &e), ANYGP_OK);
    return p;
}

static void predict(const posterior *p, const fixture *f, double *mean, double *variance)
{
    double *work = calloc((size_t)p->ops->work_doubles(p, NEW), sizeof *work);
    assert_int_equal(p->ops->marginal(p, NEW, f->new, D, work, mean, variance, NULL), ANYGP_OK);
    free(work);
}

static void scaled_variables_of_width_one_predict_as_points(void **unused)
{
    (void)unused;
    static const char *const pair[] = {"rbf(variance=1.3,lengthscale=[0.8,1.4])",
                                       SCALED "rbf(variance=1.3,lengthscale=[0.8,1.4])"};
    for (const definition *d = definitions; d < definitions + DEFINITIONS; d++) {
        double value[2], mean[2][NEW], variance[2][NEW];
        for (int k = 0; k < 2; k++) {
            fixture f;
            double jitter = 1e-8;
            setup(&f, d->model, pair[k], MEAN_LINEAR, true, false);
            if (f.h.C) memset(f.h.C, 0, M * D * sizeof *f.h.C);
            assert_true(d->model->evaluate(f.state, &f.h, true, &jitter, &value[k], NULL));
            posterior *p = posterior_of(&f, d->model);
            predict(p, &f, mean[k], variance[k]);
            p->ops->free(p);
            teardown(&f, d->model);
        }
        check_close(value[0], value[1], 1e-9);
        for (int i = 0; i < NEW; i++) {
            check_close(mean[0][i], mean[1][i], 1e-8);
            check_close(variance[0][i], variance[1][i], 1e-8);
        }
    }
}

/* ----------------------------------------------------------------------------------------- files */

/* The arrays of a posterior as a reader of a file has them. */
static named_array *copy_arrays(posterior *p, int64_t *count)
{
    array_list list = {0};
    p->ops->arrays(p, &list);
    named_array *copy = calloc((size_t)list.count, sizeof *copy);
    for (int64_t i = 0; i < list.count; i++) {
        copy[i] = list.at[i];
        copy[i].values = mem_copied(copy[i].rows, copy[i].cols, list.at[i].values);
    }
    *count = list.count;
    array_list_clear(&list);
    return copy;
}

static void free_arrays(named_array *list, int64_t count)
{
    for (int64_t i = 0; i < count; i++) free(list[i].values);
    free(list);
}

static void widths_come_back_from_a_file(void **unused)
{
    (void)unused;
    fixture f;
    basis none = {0};
    int64_t count;
    double before[2][NEW], after[2][NEW];
    posterior *loaded = NULL;
    setup(&f, &model_vfe, SCALED "rbf(lengthscale=[0.8,1.4])", MEAN_ZERO, false, true);
    posterior *p = posterior_of(&f, &model_vfe);
    named_array *list = copy_arrays(p, &count);
    assert_int_equal(
        model_vfe.load(&model_vfe, kernel_copy(f.h.kernel), p->noise, &none, D, list, count, &loaded, NULL), ANYGP_OK);
    predict(p, &f, before[0], before[1]);
    predict(loaded, &f, after[0], after[1]);
    assert_memory_equal(before, after, sizeof before);
    free_arrays(list, count);
    loaded->ops->free(loaded);
    p->ops->free(p);
    teardown(&f, &model_vfe);
}

static void widths_that_cannot_be_are_refused_in_a_file(void **unused)
{
    (void)unused;
    fixture f, other;
    basis none = {0};
    setup(&f, &model_vfe, SCALED "rbf", MEAN_ZERO, false, true);
    setup(&other, &model_vfe, "matern52", MEAN_ZERO, false, true);
    posterior *p = posterior_of(&f, &model_vfe), *loaded = NULL;
    for (int k = 0; k < 3; k++) {
        int64_t count;
        anygp_error e;
        named_array *list = copy_arrays(p, &count), *widths = (named_array *)named_array_find(list, count, "widths");
        assert_non_null(widths);
        if (k == 0) widths->values[1] = 1e5;
        if (k == 1) widths->cols--;
        assert_int_equal(model_vfe.load(&model_vfe, k == 2 ? other.h.kernel : f.h.kernel, p->noise, &none, D, list,
                                        count, &loaded, &e),
                         ANYGP_ERR_FILE);
        assert_non_null(strstr(e.text, "widths"));
        assert_null(loaded);
        free_arrays(list, count);
    }
    p->ops->free(p);
    teardown(&f, &model_vfe);
    teardown(&other, &model_vfe);
}

static void scaled_variables_of_another_kernel_are_refused(void **unused)
{
    (void)unused;
    static const char *const others[] = {"matern52", "rbf + linear", "rbf + white", "rbf * periodic"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        fixture f;
        anygp_error e;
        setup(&f, &model_dtc, others[i], MEAN_ZERO, false, true);
        assert_int_equal(hyper_set_kind(&f.h, &inducing_scaled, &e), ANYGP_ERR_ARGUMENT);
        assert_non_null(strstr(e.text, "single rbf"));
        assert_ptr_equal(f.h.kind, &inducing_points);
        teardown(&f, &model_dtc);
    }
}

static void kinds_are_found_by_name(void **unused)
{
    (void)unused;
    assert_ptr_equal(inducing_find("points"), &inducing_points);
    assert_ptr_equal(inducing_find("scaled"), &inducing_scaled);
    assert_ptr_equal(inducing_find("fourier"), &inducing_fourier);
    assert_null(inducing_find("wavelets"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_and_residuals_equal_their_definition),
        cmocka_unit_test(reverse_and_finish_equal_central_differences),
        cmocka_unit_test(reverses_of_covariances_equal_central_differences),
        cmocka_unit_test(scaled_variables_of_width_one_predict_as_points),
        cmocka_unit_test(scaled_variables_of_another_kernel_are_refused),
        cmocka_unit_test(kinds_are_found_by_name),
        cmocka_unit_test(widths_come_back_from_a_file),
        cmocka_unit_test(widths_that_cannot_be_are_refused_in_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
