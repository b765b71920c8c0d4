/* Full-scale Vecchia against its definition with dense matrices: Q of the inducing inputs, and neighbours under what it leaves. */
#include "vecchia_support.h"

#include "model/local/vecchia_posterior.h"
#include "model/sparse/sparse.h"

enum { M = PLACES };

static void setup_full(fixture *f, const struct variant *v, nearness near)
{
    anygp_error e;
    setup(f, v->kernel, v->mean, v->weights, near);
    f->model->close(f->state);
    f->model = model_vecchia.with_inducing;
    assert_int_equal(hyper_set_inducing(&f->h, M, D, places, true, &e), ANYGP_OK);
    open_rows(f, N);
}

/* Rows in their order, each given its k nearest. */
static void make_dense(const fixture *f, int k, dense *g)
{
    double Z[N * D];
    int64_t order[N];
    order_of(f, Z, order);
    dense_begin(f, g);
    for (int i = 0; i < N; i++) {
        int near[N], n = nearest_of(i, order, Z, Z + order[i] * D, k, near);
        dense_add(f, g, (int)order[i], n, near);
    }
    dense_finish(f, g);
}

/* New rows, each given its k nearest rows. */
static void make_new(const fixture *f, int k, dense *g)
{
    double weight[D], x[D], Z[N * D];
    int64_t order[N];
    order_of(f, Z, order);
    kernel_closeness(f->h.kernel, kernel_values(f->h.kernel), weight);
    for (int j = 0; j < NEW; j++) {
        int near[N];
        for (int d = 0; d < D; d++) x[d] = weight[d] * f->new[j * D + d];
        int n = nearest_of(N, order, Z, x, k, near);
        dense_new(f, g, j, n, near);
    }
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
        setup_full(&f, v, (nearness){.learn = FEW, .predict = SEEN, .apart = true});
        make_dense(&f, FEW, &g);
        make_new(&f, SEEN, &g);
        posterior *p = posterior_of(&f);
        assert_int_equal(p->places, M);
        check_new_rows(&f, p, &g);
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
/* At the best q the bound is the evidence, and so is its gradient; groups that are sampled one by one add up to both. */
static void sums_of_sampled_bounds_over_all_groups_are_the_evidence(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        anygp_error e;
        double jitter = 0, evidence, wanted[32], gradient[32], total[32] = {0}, V[(M + 4) * (M + 4)], m[M + 4];
        setup_full(&f, v, (nearness){.learn = FEW, .apart = true});
        const anytime_ops *a = f.model->anytime;
        assert_true(f.model->evaluate(f.state, &f.h, false, &jitter, &evidence, wanted));
        const sparse *s = f.state; /* which the state begins with; of the evidence it has V, m */
        int64_t Mt = s->Mt, P = hyper_size(&f.h), groups = a->blocks(f.state);
        real kl = 0, K[(M + 4) * (M + 4)];
        memcpy(V, s->V, (size_t)(Mt * Mt) * sizeof *V);
        memcpy(m, s->m, (size_t)Mt * sizeof *m);
        for (int64_t i = 0; i < Mt * Mt; i++) K[i] = V[i];
        kl = dense_invert((int)Mt, K); /* log det V */
        kl = (-kl - Mt) / 2;
        for (int64_t i = 0; i < Mt; i++) kl += ((real)V[i + i * Mt] + (real)m[i] * m[i]) / 2;
        assert_int_equal(groups, N);
        assert_true(a->prepare(f.state, &f.h, false, &jitter));
        double value, sum = 0, rest = 0;
        for (int64_t g = 0; g <= groups; g++) { /* the last time none: what is not a sum */
            const double *S, *b;
            int64_t which = g < groups ? g : 0;
            double scale = g < groups ? 1 : 0;
            assert_int_equal(a->stat(f.state, 1, &which, scale, &S, &b, &e), ANYGP_OK);
            assert_int_equal(a->bound(f.state, m, V, (double)kl, 1, &which, scale, 1, &value, gradient, &e), ANYGP_OK);
            if (g < groups) sum += value;
            for (int64_t i = 0; i < P; i++) total[i] += g < groups ? gradient[i] : (double)(1 - groups) * gradient[i];
            rest = value;
        }
        check_close(sum - (double)(groups - 1) * rest, evidence, 1e-9);
        for (int64_t i = 0; i < P; i++) check_close(total[i], wanted[i], 1e-7);
        teardown(&f);
    }
}

/* Rows whose features were made. */
static int64_t featured;

static bool counted_features(const inducing_set *u, int64_t n, const double *X, int64_t ldx, double *A, int64_t lda)
{
    featured += n;
    return inducing_points.features(u, n, X, ldx, A, lda);
}

/* However many rows to predict have it as a neighbour, and in however many calls. */
static void features_of_a_training_row_are_made_once(void **unused)
{
    (void)unused;
    fixture f;
    anygp_error e;
    posterior *p;
    double jitter = 0, cell[4][NEW];
    inducing_ops counting = inducing_points;
    setup_full(&f, &variants[0], (nearness){.learn = FEW, .predict = 10});
    assert_int_equal(f.model->posterior(f.state, &f.h, &jitter, &p, &e), ANYGP_OK);
    ((vecchia_posterior *)p)->u.ops = &counting;
    counting.features = counted_features, featured = 0;
    double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
    for (int i = 0; i < 2; i++)
        assert_int_equal(p->ops->marginal(p, NEW, f.new, D, work, cell[2 * i], cell[2 * i + 1], &e), ANYGP_OK);
    assert_true(featured <= N + 2 * NEW);
    assert_memory_equal(cell[0], cell[2], sizeof cell[0]);
    assert_memory_equal(cell[1], cell[3], sizeof cell[1]);
    free(work);
    ((vecchia_posterior *)p)->u.ops = &inducing_points;
    p->ops->free(p);
    teardown(&f);
}

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
                                       cmocka_unit_test(without_given_rows_it_is_fitc),
                                       cmocka_unit_test(sums_of_sampled_bounds_over_all_groups_are_the_evidence),
                                       cmocka_unit_test(features_of_a_training_row_are_made_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
