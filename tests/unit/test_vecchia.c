/* Vecchia's approximation against its definition with dense matrices; conditioned on all rows it is the exact model. */
#include "vecchia_support.h"

#include "linalg/lanes.h"
#include "model/local/vecchia_state.h"

/* sum_i log p(y_i | y_N(i)), with the neighbours of the definition: each row after all. */
static real by_definition(const fixture *f, int k)
{
    double Z[N * D];
    int64_t order[N];
    real sum = rest(f);
    order_of(f, Z, order);
    for (int i = 0; i < N; i++) {
        int near[N], n = nearest_of(i, order, Z, Z + order[i] * D, k, near);
        sum -= log_normal(f, n, near);
        near[n++] = (int)order[i];
        sum += log_normal(f, n, near);
    }
    return sum;
}

/* ------------------------------------------------------------------------------------------ theorems */

static double value_of(fixture *f)
{
    double value, jitter = 0;
    assert_true(model_vecchia.evaluate(f->state, &f->h, false, &jitter, &value, NULL));
    return value;
}

static void objective_is_the_sum_of_conditionals(void **unused)
{
    (void)unused;
    fixture f;
    double value, jitter = 0;
    setup(&f, variants[0].kernel, MEAN_ZERO, true, (nearness){.learn = FEW, .apart = true});
    assert_true(model_vecchia.evaluate(f.state, &f.h, false, &jitter, &value, NULL));
    check_close(value, (double)by_definition(&f, FEW), 1e-10);
    teardown(&f);
}

/* The same density from its sparse precision: with b_i and d_i of each row given its neighbours, U has the column 1 at i and -b_i at N(i), and
   y is N(0, (U D^-1 U')^-1). */
static void objective_is_the_normal_of_the_sparse_precision(void **unused)
{
    (void)unused;
    fixture f;
    double Z[N * D];
    int64_t order[N];
    real U[N * N] = {0}, d[N], P[N * N] = {0}, y[N], sum = 0;
    setup(&f, variants[0].kernel, MEAN_ZERO, true, (nearness){.learn = FEW, .apart = true});
    order_of(&f, Z, order);
    for (int i = 0; i < N; i++) {
        int near[N], self = (int)order[i], n = nearest_of(i, order, Z, Z + self * D, FEW, near);
        real G[N * N];
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++) G[a * n + b] = covariance(&f, near[a], near[b]);
        if (n) dense_invert(n, G);
        d[self] = covariance(&f, self, self), U[self * N + self] = 1;
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++) {
                real part = G[a * n + b] * covariance(&f, near[b], self);
                U[near[a] * N + self] -= part, d[self] -= covariance(&f, self, near[a]) * part;
            }
    }
    for (int i = 0; i < N; i++) {
        y[i] = f.y[i];
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++) P[i * N + j] += U[i * N + k] * U[j * N + k] / d[k];
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) sum += y[i] * P[i * N + j] * y[j];
    real logdet = dense_invert(N, P); /* of P */
    check_close(value_of(&f), (double)(rest(&f) - 0.5L * (sum - logdet + N * logl(6.283185307179586476925L))), 1e-10);
    teardown(&f);
}

static void given_all_rows_it_is_exact(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    for (int apart = 0; apart < 2; apart++) {
        fixture f;
        double value, jitter = 0;
        setup(&f, v->kernel, v->mean, v->weights, (nearness){.learn = N - 1, .apart = apart});
        assert_true(model_vecchia.evaluate(f.state, &f.h, false, &jitter, &value, NULL));
        check_close(value, (double)exact_evidence(&f), 1e-10);
        teardown(&f);
    }
}

/* Groups and a mean, whose gradient comes from a second pass. */
static void gradient_equals_central_differences(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    for (int apart = 0; apart < 2; apart++) {
        fixture f;
        double value, up, down, jitter = 1e-6, gradient[16];
        setup(&f, v->kernel, v->mean, v->weights, (nearness){.learn = FEW, .apart = apart});
        assert_true(model_vecchia.evaluate(f.state, &f.h, false, &jitter, &value, gradient));
        for (int64_t i = 0; i < f.h.count; i++) {
            double x = hyper_get(&f.h, i), step = 1e-5 * x;
            hyper_set(&f.h, i, x + step);
            assert_true(model_vecchia.evaluate(f.state, &f.h, false, &jitter, &up, NULL));
            hyper_set(&f.h, i, x - step);
            assert_true(model_vecchia.evaluate(f.state, &f.h, false, &jitter, &down, NULL));
            hyper_set(&f.h, i, x);
            check_close(gradient[i], (up - down) / (2 * step), 1e-6);
        }
        teardown(&f);
    }
}

/* dK / dp of the covariance of y, by central differences. */
static void derivative(fixture *f, int64_t p, real *K)
{
    double x = hyper_get(&f->h, p), step = 1e-4 * x;
    for (int side = 1; side >= -1; side -= 2) {
        hyper_set(&f->h, p, x + side * step);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                K[i * N + j] = (side > 0 ? 0 : K[i * N + j]) + side * covariance(f, i, j) / (2 * (real)step);
    }
    hyper_set(&f->h, p, x);
}

/* Given all rows: 1/2 tr(K^-1 K_p K^-1 K_q), and for the noise what weights add. */
static void information_given_all_rows_is_exact(void **unused)
{
    (void)unused;
    enum { P = 8 };
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        double F[P * P];
        static real inverse[N * N], T[P][N * N], K[N * N];
        setup(&f, v->kernel, MEAN_ZERO, v->weights, (nearness){.learn = N - 1});
        int64_t count = f.h.count;
        value_of(&f);
        assert_true(model_vecchia.information(f.state, &f.h, F));
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) inverse[i * N + j] = covariance(&f, i, j);
        dense_invert(N, inverse);
        for (int64_t p = 0; p < count; p++) {
            derivative(&f, p, K);
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    T[p][i * N + j] = 0;
                    for (int k = 0; k < N; k++) T[p][i * N + j] += inverse[i * N + k] * K[k * N + j];
                }
        }
        for (int64_t p = 0; p < count; p++)
            for (int64_t q = 0; q <= p; q++) {
                real sum = 0;
                for (int i = 0; i < N; i++)
                    for (int j = 0; j < N; j++) sum += T[p][i * N + j] * T[q][j * N + i] / 2;
                for (int i = 0; q == count - 1 && i < N; i++) sum += (f.c[i] - 1) / (2 * powl(f.h.like[0], 2));
                check_close(F[p + q * count], (double)sum, 1e-6);
            }
        teardown(&f);
    }
}

/* The sums over some of the groups, by this block model. */
static void sum_information(fixture *f, const block_model *m, int64_t some, double *sums)
{
    vecchia_state *q = f->state;
    sparse_information information;
    anygp_error e;
    driver *d;
    int64_t which[N];
    for (int64_t i = 0; i < some; i++) which[i] = q->a.blocks->count - 1 - i;
    assert_int_equal(vecchia_prepare(q, &f->h, 1e-6, &e), ANYGP_OK);
    assert_int_equal(sparse_information_open(&q->s, &information, &e), ANYGP_OK);
    assert_int_equal(driver_open(m, q->a.blocks, comm_self(), 0, &d, &e), ANYGP_OK);
    assert_int_equal(driver_stat(d, &information, some, which, 1, sums, &e), ANYGP_OK);
    driver_close(d);
    sparse_information_clear(&information);
}

/* Groups of unequal sizes, which do not fill the last lanes. */
static void information_side_by_side_is_that_of_each_group(void **unused)
{
    (void)unused;
    enum { P = 12, SOME = LANES + 3 };
    static const struct variant cases[] = {
        {"rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, true},
        {"matern32(variance=0.7,lengthscale=[0.9,1.2])*rq(lengthscale=1.5,alpha=0.8) + rbf(variance=0.3,lengthscale=2)",
         MEAN_LINEAR, true}};
    for (int i = 0; i < 4; i++) {
        fixture f;
        double alone[P * P + 1], together[P * P + 1];
        const struct variant *v = &cases[i / 2];
        setup(&f, v->kernel, v->mean, v->weights, (nearness){.learn = FEW, .apart = i % 2});
        int64_t count = f.h.count, all = ((vecchia_state *)f.state)->a.blocks->count, some = all < SOME ? all : SOME;
        assert_true(kernel_has_lanes(f.h.kernel) && count <= P);
        sum_information(&f, &sparse_given_information, some, alone);
        sum_information(&f, &sparse_lanes_information, some, together);
        for (int64_t p = 0; p < count; p++)
            for (int64_t r = p; r < count; r++) check_close(together[r + p * count], alone[r + p * count], 1e-8);
        check_close(together[count * count], alone[count * count], 0);
        teardown(&f);
    }
}

static void predictions_given_all_rows_are_exact(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        anygp_error e;
        posterior *p;
        double jitter = 0, mean[NEW], variance[NEW], joint[NEW], cov[NEW * NEW];
        real K[N * N], y[N], k[NEW][N];
        setup(&f, v->kernel, v->mean, v->weights, (nearness){.learn = N - 1}); /* for the mean's coefficients */
        assert_int_equal(model_vecchia.posterior(f.state, &f.h, &jitter, &p, &e), ANYGP_OK);
        double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
        assert_int_equal(p->ops->marginal(p, NEW, f.new, D, work, mean, variance, &e), ANYGP_OK);
        assert_int_equal(p->ops->joint(p, NEW, f.new, D, work, joint, cov, NEW, &e), ANYGP_OK);
        for (int i = 0; i < N; i++) {
            y[i] = f.y[i];
            for (int j = 0; j < N; j++) K[i * N + j] = covariance(&f, i, j);
            for (int j = 0; j < NEW; j++) k[j][i] = prior(&f, f.new + j *D, f.X + i * D, false);
        }
        dense_invert(N, K);
        for (int i = 0; i < NEW; i++) {
            check_close(mean[i], (double)dense_quadratic(N, K, k[i], y), 1e-9);
            check_close(joint[i], mean[i], 1e-8);
            for (int j = 0; j <= i; j++) {
                real c = prior(&f, f.new + i *D, f.new + j *D, false) - dense_quadratic(N, K, k[i], k[j]);
                check_close(cov[i + j * NEW], (double)c, 1e-8);
            }
            check_close(cov[i + i * NEW], variance[i], 1e-8);
        }
        free(work);
        p->ops->free(p);
        teardown(&f);
    }
}

/* Row `out` with one less of its weight, and then without a weight left not at all. */
static void leave_out_densely(const fixture *f, int out, real *mean, real *variance)
{
    real K[N * N], y[N], k[N];
    int n = 0;
    for (int i = 0; i < N; i++) {
        if (i == out && f->c[i] == 1) continue;
        for (int j = 0, at = 0; j < N; j++) {
            if (j == out && f->c[j] == 1) continue;
            K[n * N + at++] = covariance(f, i, j);
        }
        if (i == out) K[n * N + n] += f->h.like[0] / (f->c[i] - 1) - f->h.like[0] / f->c[i];
        k[n] = prior(f, f->X + i * D, f->X + out * D, false), y[n++] = f->y[i];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) K[i * n + j] = K[i * N + j];
    dense_invert(n, K);
    *mean = dense_quadratic(n, K, k, y);
    *variance = prior(f, f->X + out * D, f->X + out * D, true) + f->h.like[0] - dense_quadratic(n, K, k, k);
}

static void left_out_given_all_rows_is_exact(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        anygp_error e;
        posterior *p;
        double jitter = 0, cell[4][N];
        leave_one_out l = {.y = cell[0], .mean = cell[1], .variance = cell[2], .weight = cell[3]};
        setup(&f, v->kernel, v->mean, v->weights, (nearness){.learn = N - 1});
        assert_int_equal(model_vecchia.posterior(f.state, &f.h, &jitter, &p, &e), ANYGP_OK);
        assert_int_equal(model_vecchia.loo_after(p, &f.p, &l, &e), ANYGP_OK);
        assert_int_equal(l.n, N);
        for (int i = 0; i < N; i++) {
            real mean, variance;
            int row = 0;
            while (f.y[row] != l.y[i]) row++; /* they come in random order */
            leave_out_densely(&f, row, &mean, &variance);
            check_close(l.mean[i], (double)mean, 1e-9);
            check_close(l.variance[i], (double)variance, 1e-9);
            check_close(l.weight[i], f.c[row], 0);
        }
        p->ops->free(p);
        teardown(&f);
    }
}

/* ------------------------------------------------------------------------------------------- updates */

static posterior *posterior_of(fixture *f)
{
    posterior *p;
    anygp_error e;
    double jitter = 0;
    assert_int_equal(model_vecchia.posterior(f->state, &f->h, &jitter, &p, &e), ANYGP_OK);
    return p;
}

/* With rows first .. end - 1, which come in two parts; returns what they add to the log evidence. */
static double update_with(posterior **p, const fixture *f, int first, int end)
{
    const update_ops *ops = model_vecchia.update;
    anygp_error e;
    void *state;
    posterior *out;
    update_report r;
    int middle = first + (end - first) / 3;
    assert_int_equal(ops->open(&model_vecchia, *p, f->p.likelihood, &state, &e), ANYGP_OK);
    for (int i = first; i < end; i = i < middle ? middle : end) {
        int n = (i < middle ? middle : end) - i;
        assert_int_equal(ops->add(state, n, f->X + i * D, f->y + i, f->c + i, NULL, &e), ANYGP_OK);
    }
    assert_int_equal(ops->finish(state, &out, &r, &e), ANYGP_OK);
    ops->close(state);
    (*p)->ops->free(*p);
    *p = out;
    return r.after;
}

static void check_same_predictions(const fixture *f, const posterior *p, const posterior *q)
{
    double cell[4][NEW], *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
    anygp_error e;
    assert_int_equal(p->ops->marginal(p, NEW, f->new, D, work, cell[0], cell[1], &e), ANYGP_OK);
    assert_int_equal(q->ops->marginal(q, NEW, f->new, D, work, cell[2], cell[3], &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) check_close(cell[0][i], cell[2][i], 1e-8), check_close(cell[1][i], cell[3][i], 1e-8);
    free(work);
}

static void updates_equal_a_batch_in_that_order(void **unused)
{
    (void)unused;
    enum { FIRST = 14, SECOND = 19 };
    int64_t order[N];
    for (int i = 0; i < N; i++) order[i] = i;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        setup(&f, v->kernel, v->mean, v->weights, (nearness){.learn = FEW, .apart = true, .given = order});
        double all = value_of(&f);
        posterior *batch = posterior_of(&f);
        model_vecchia.close(f.state);
        open_rows(&f, FIRST);
        double value = value_of(&f);
        posterior *online = posterior_of(&f);
        value += update_with(&online, &f, FIRST, SECOND);
        value += update_with(&online, &f, SECOND, N);
        check_close(value, all, 1e-8);
        check_same_predictions(&f, online, batch);
        batch->ops->free(batch);
        online->ops->free(online);
        teardown(&f);
    }
}

/* Rows that come again, one of them twice, given all others: the exact model of all rows. */
static void equal_rows_of_an_update_are_merged(void **unused)
{
    (void)unused;
    enum { FIRST = 18 };
    fixture f, g;
    anygp_error e;
    setup(&f, variants[1].kernel, MEAN_CONSTANT, true, (nearness){.learn = N - 1});
    memcpy(f.X + 18 * D, f.X + 3 * D, D * sizeof *f.X);
    memcpy(f.X + 20 * D, f.X + 3 * D, D * sizeof *f.X);
    memcpy(f.X + 22 * D, f.X + 19 * D, D * sizeof *f.X);
    g = f;
    g.data.X = g.X, g.data.y = g.y, g.data.w = g.c;
    assert_int_equal(dataset_merge(&g.data, true, &g.rows, &e), ANYGP_OK);
    assert_int_equal(g.rows.n, N - 3);
    g.p.near.learn = N - 4, g.p.rows = &g.rows;
    assert_int_equal(model_vecchia.open(&model_vecchia, &g.p, &g.h, &g.state, &e), ANYGP_OK);
    model_vecchia.close(f.state);
    f.rows.SS = 0, f.p.near.learn = 0; /* 30: more than there are */
    open_rows(&f, FIRST);
    double value = value_of(&f);
    posterior *online = posterior_of(&f), *batch = posterior_of(&g);
    value += update_with(&online, &f, FIRST, N);
    check_close(value, value_of(&g), 1e-8);
    assert_int_equal(online->n, N - 3);
    check_same_predictions(&f, online, batch);
    batch->ops->free(batch);
    online->ops->free(online);
    model_vecchia.close(g.state);
    merged_clear(&g.rows);
    teardown(&f);
}

static void neighbours_are_renewed_where_lengths_have_moved(void **unused)
{
    (void)unused;
    fixture f, g;
    anygp_error e;
    bool renewed;
    double value, again, jitter = 0;
    setup(&f, variants[0].kernel, MEAN_ZERO, false, (nearness){.learn = FEW});
    hyper_set(&f.h, 1, 1.05 * hyper_get(&f.h, 1));
    assert_int_equal(model_vecchia.renew(f.state, &f.h, 0.1, &renewed, &e), ANYGP_OK);
    assert_false(renewed);
    for (int i = 1; i <= D; i++) hyper_set(&f.h, i, 5 * hyper_get(&f.h, i)); /* the same rows are near */
    assert_int_equal(model_vecchia.renew(f.state, &f.h, 0.1, &renewed, &e), ANYGP_OK);
    assert_false(renewed);
    for (int i = 1; i <= D; i++) hyper_set(&f.h, i, hyper_get(&f.h, i) / 5);
    hyper_set(&f.h, 1, 3 * hyper_get(&f.h, 1));
    assert_int_equal(model_vecchia.renew(f.state, &f.h, 0.1, &renewed, &e), ANYGP_OK);
    assert_true(renewed);
    assert_true(model_vecchia.evaluate(f.state, &f.h, false, &jitter, &value, NULL));
    setup(&g, "rbf(variance=1.3,lengthscale=[2.52,1.4])", MEAN_ZERO, false, (nearness){.learn = FEW});
    assert_true(model_vecchia.evaluate(g.state, &g.h, false, &jitter, &again, NULL));
    check_close(value, again, 1e-12);
    teardown(&f);
    teardown(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(objective_is_the_sum_of_conditionals),
                                       cmocka_unit_test(objective_is_the_normal_of_the_sparse_precision),
                                       cmocka_unit_test(given_all_rows_it_is_exact),
                                       cmocka_unit_test(gradient_equals_central_differences),
                                       cmocka_unit_test(information_given_all_rows_is_exact),
                                       cmocka_unit_test(information_side_by_side_is_that_of_each_group),
                                       cmocka_unit_test(predictions_given_all_rows_are_exact),
                                       cmocka_unit_test(left_out_given_all_rows_is_exact),
                                       cmocka_unit_test(updates_equal_a_batch_in_that_order),
                                       cmocka_unit_test(equal_rows_of_an_update_are_merged),
                                       cmocka_unit_test(neighbours_are_renewed_where_lengths_have_moved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
