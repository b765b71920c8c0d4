/* Rows near each other by correlation, for kernels without length-scales: lists and orders against the definition, which takes quadratic
   time, and Vecchia's evidence with them. */
#include "vecchia_support.h"

#include <math.h>

enum { ROWS = 90, K = 7, QUERIES = 5 };
static const double TIE = 1e-10; /* distances closer than that are a tie */
static const char *const kernels[] = {"linear", "polynomial(degree=3,offset=0.4)", "arccosine", "periodic(period=1.3)",
                                      "0.3*cosine(period=2) + linear(dims=[0])"};
#define FOR_EACH_KERNEL(i) for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)

static kernel *parsed(const char *text)
{
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(text, in, D, D, &k, &e), ANYGP_OK);
    return k;
}

/* With rows that come again, and one at the origin, where a linear kernel has no variance. */
static void fill_rows(double *X)
{
    fill_normal(5, ROWS * D, X);
    for (int i = 7; i < ROWS; i += 7)
        for (int d = 0; d < D; d++) X[i * D + d] = X[(i - 1) * D + d];
    for (int d = 0; d < D; d++) X[22 * D + d] = 0;
}

static real apart(const kernel *k, const double *x, const double *z)
{
    real a = kernel_reference(k, x, x, false), b = kernel_reference(k, z, z, false);
    return a > 0 && b > 0 ? 1 - fabsl((real)kernel_reference(k, x, z, false)) / sqrtl(a * b) : 1;
}

/* No row that is left out is nearer than one of the list, and the list goes from the nearest to the farthest; of equal rows the first
   is taken. */
static void check_list(const kernel *k, const double *X, const double *x, int before, int but, int count,
                       const int32_t *row)
{
    bool taken[ROWS] = {false};
    int others = before - (but >= 0 && but < before);
    assert_int_equal(count, K < others ? K : others);
    for (int i = 0; i < count; i++) {
        assert_true(row[i] >= 0 && row[i] < before && row[i] != but && !taken[row[i]]);
        taken[row[i]] = true;
        if (i) assert_true(apart(k, x, X + row[i - 1] * D) <= apart(k, x, X + row[i] * D) + TIE);
    }
    for (int j = 0; j < before && count; j++) {
        if (taken[j] || j == but) continue;
        assert_true(apart(k, x, X + j * D) >= apart(k, x, X + row[count - 1] * D) - TIE);
        bool again = j + 1 < before && j % 7 == 6; /* row j + 1 is the same */
        assert_false(again && taken[j + 1] && j + 1 != but);
    }
}

static void lists_are_those_of_the_highest_correlation(void **unused)
{
    (void)unused;
    double X[ROWS * D];
    fill_rows(X);
    FOR_EACH_KERNEL(i)
    {
        kernel *k = parsed(kernels[i]);
        near_metric by = vecchia_metric(k, ROWS);
        near_rows earlier, other = {0};
        anygp_error e;
        assert_false(near_metric_is_euclidean(&by));
        assert_int_equal(neighbours_earlier(ROWS, D, X, &by, K, &earlier, &e), ANYGP_OK);
        assert_int_equal(neighbours_other(ROWS, D, X, &by, ROWS, NULL, K, comm_self(), &other, &e), ANYGP_OK);
        for (int r = 0; r < ROWS; r++) {
            check_list(k, X, X + r * D, r, -1, earlier.count[r], earlier.row + r * K);
            check_list(k, X, X + r * D, ROWS, r, other.count[r], other.row + r * K);
        }
        near_rows_clear(&earlier);
        near_rows_clear(&other);
        kernel_free(k);
    }
}

static void maximin_is_always_the_row_of_least_correlation(void **unused)
{
    (void)unused;
    double X[ROWS * D];
    int64_t order[ROWS];
    fill_rows(X);
    FOR_EACH_KERNEL(i)
    {
        kernel *k = parsed(kernels[i]);
        near_metric by = vecchia_metric(k, ROWS);
        real from[ROWS];
        anygp_error e;
        assert_int_equal(order_maximin(ROWS, D, X, &by, NULL, order, &e), ANYGP_OK);
        for (int r = 0; r < ROWS; r++) from[r] = INFINITY;
        for (int place = 0; place < ROWS; place++) {
            int64_t row = order[place];
            assert_true(from[row] >= 0); /* not yet */
            for (int r = 0; place && r < ROWS; r++) assert_true(from[r] <= from[row] + TIE);
            for (int r = 0; r < ROWS; r++)
                if (from[r] >= 0) from[r] = fminl(from[r], apart(k, X + r * D, X + row * D));
            from[row] = -1;
        }
        kernel_free(k);
    }
}

/* Those with length-scales, and too many rows, are compared by their inputs. */
static void length_scales_and_many_rows_are_euclidean(void **unused)
{
    (void)unused;
    kernel *with = parsed("rbf + linear"), *without = parsed("linear");
    near_metric by[] = {vecchia_metric(with, ROWS), vecchia_metric(without, CORRELATION_ROWS + 1)};
    for (int i = 0; i < 2; i++) assert_true(near_metric_is_euclidean(&by[i]));
    assert_true(vecchia_ignores_correlation(without, CORRELATION_ROWS + 1));
    assert_false(vecchia_ignores_correlation(without, CORRELATION_ROWS));
    assert_false(vecchia_ignores_correlation(with, CORRELATION_ROWS + 1));
    kernel_free(with);
    kernel_free(without);
}

/* ------------------------------------------------------------------------------------------- vecchia */

/* sum_i log p(y_i | y_N(i)) with the lists of the metric, which were checked above. */
static real by_definition(const fixture *f, int k)
{
    near_metric by = vecchia_metric(f->h.kernel, N);
    int64_t order[N];
    near_rows near = {0};
    anygp_error e;
    real sum = rest(f);
    assert_int_equal(order_maximin(N, D, f->X, &by, NULL, order, &e), ANYGP_OK);
    assert_int_equal(neighbours_in_order(N, D, f->X, &by, order, k, comm_self(), &near, &e), ANYGP_OK);
    for (int i = 0; i < N; i++) {
        int list[N], n = near.count[i];
        for (int j = 0; j < n; j++) list[j] = (int)order[near.row[i * k + j]];
        sum -= log_normal(f, n, list);
        list[n++] = (int)order[i];
        sum += log_normal(f, n, list);
    }
    near_rows_clear(&near);
    return sum;
}

static void vecchia_takes_the_most_correlated_rows(void **unused)
{
    (void)unused;
    const int near[] = {FEW, N - 1};
    FOR_EACH_KERNEL(i)
    for (int m = 0; m < 2; m++) {
        fixture f;
        double value, jitter = 0;
        setup(&f, kernels[i], MEAN_ZERO, true, (nearness){.learn = near[m], .apart = true});
        assert_true(model_vecchia.evaluate(f.state, &f.h, false, &jitter, &value, NULL));
        check_close(value, (double)by_definition(&f, near[m]), 1e-10);
        teardown(&f);
    }
}

static void given_all_rows_it_is_exact(void **unused)
{
    (void)unused;
    FOR_EACH_KERNEL(i)
    {
        fixture f;
        double value, jitter = 0;
        setup(&f, kernels[i], MEAN_ZERO, false, (nearness){.learn = N - 1});
        assert_true(model_vecchia.evaluate(f.state, &f.h, false, &jitter, &value, NULL));
        int all[N];
        for (int j = 0; j < N; j++) all[j] = j;
        check_close(value, (double)(rest(&f) + log_normal(&f, N, all)), 1e-10);
        teardown(&f);
    }
}

/* A period that has moved makes other rows near; all weights of a linear kernel times two do not. */
static void another_correlation_renews_the_lists(void **unused)
{
    (void)unused;
    const struct {
        const char *kernel;
        double factor[2];
        bool renewed;
    } cases[] = {
        {"periodic(period=1.3)", {1, 1.2}, true}, {"linear(ard)", {2, 2}, false}, {"linear(ard)", {1, 2}, true}};
    for (int c = 0; c < 3; c++) {
        fixture f;
        bool renewed;
        anygp_error e;
        setup(&f, cases[c].kernel, MEAN_ZERO, false, (nearness){.learn = FEW});
        for (int i = 0; i < 2; i++) hyper_set(&f.h, i, cases[c].factor[i] * hyper_get(&f.h, i));
        assert_int_equal(model_vecchia.renew(f.state, &f.h, 0.1, &renewed, &e), ANYGP_OK);
        assert_int_equal(renewed, cases[c].renewed);
        teardown(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_are_those_of_the_highest_correlation),
                                       cmocka_unit_test(maximin_is_always_the_row_of_least_correlation),
                                       cmocka_unit_test(length_scales_and_many_rows_are_euclidean),
                                       cmocka_unit_test(vecchia_takes_the_most_correlated_rows),
                                       cmocka_unit_test(given_all_rows_it_is_exact),
                                       cmocka_unit_test(another_correlation_renews_the_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
