/* Factors of the variances that vary over the inputs, against their definition by sorting all distances. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "gp/gp.h"

enum { N = 1500, D = 2, NEW = 7 };

static kernel *make_kernel(void)
{
    const kernel_input in[D] = {{"a", 0, INPUT_NUMBER, 0}, {"b", 1, INPUT_NUMBER, 1}};
    kernel *k;
    assert_int_equal(kernel_parse("matern32(lengthscale=[0.5,2])", in, D, D, &k, NULL), ANYGP_OK);
    return k;
}

static double *normals(uint64_t stream, int64_t n)
{
    double *x = malloc((size_t)n * sizeof *x);
    fill_normal(stream, n, x);
    return x;
}

/* Standardised residuals whose sd is `low` where the first input is below 0, and `high` elsewhere. */
static leave_one_out left_out(double low, double high)
{
    leave_one_out l = {
        .n = N, .D = D, .X = normals(1, N * D), .y = normals(2, N), .weight = malloc(N * sizeof(double))};
    l.mean = calloc(N, sizeof *l.mean), l.variance = malloc(N * sizeof *l.variance);
    for (int i = 0; i < N; i++) {
        l.y[i] *= 1.5 * (l.X[i * D] < 0 ? low : high);
        l.variance[i] = 2.25, l.weight[i] = 1 + i % 2;
    }
    return l;
}

static void clear(leave_one_out *l)
{
    double *const owned[] = {l->X, l->y, l->weight, l->mean, l->variance};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

typedef struct far_row {
    double distance;
    int row;
} far_row;

static int nearer(const void *a, const void *b)
{
    const far_row *x = a, *y = b;
    return x->distance != y->distance ? (x->distance > y->distance) - (x->distance < y->distance) : x->row - y->row;
}

/* By the definition; skip: a row that is passed over. */
static double factor_at(const local_scale *c, const double *x, int skip)
{
    static far_row far[N];
    int n = 0;
    for (int i = 0; i < N; i++) {
        double u = (x[0] - c->X[i * D]) / 0.5, v = (x[1] - c->X[i * D + 1]) / 2;
        if (i != skip) far[n++] = (far_row){u * u + v * v, i};
    }
    qsort(far, (size_t)n, sizeof *far, nearer);
    double above = c->shrink, below = c->shrink;
    for (int j = 0; j < c->near; j++) {
        above += c->weight[far[j].row] * c->r2[far[j].row];
        below += c->weight[far[j].row];
    }
    return above / below;
}

static void factors_are_shrunk_means_of_the_nearest_squares(void **unused)
{
    (void)unused;
    kernel *k = make_kernel();
    leave_one_out l = left_out(0.2, 2);
    local_scale *c = NULL;
    anygp_error e;
    double gain, x[NEW * D], scale[NEW], sum = 0, weight = 0;
    assert_int_equal(local_scale_learn(k, 1, &l, &c, &gain, &e), ANYGP_OK);
    assert_non_null(c);
    fill_normal(3, NEW * D, x);
    x[0] = 1e6; /* far from all */
    assert_int_equal(local_scale_at(c, k, NEW, x, scale, &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) check_close(scale[i], factor_at(c, x + i * D, -1), 1e-12);
    for (int i = 0; i < N; i++) {
        double r2 = l.y[i] * l.y[i] / 2.25, f = factor_at(c, l.X + i * D, i);
        check_close(c->r2[i], r2, 1e-14);
        check_close(l.variance[i], 2.25 * f, 1e-12);
        sum += l.weight[i] * 0.5 * (r2 - r2 / f - log(f)), weight += l.weight[i];
    }
    check_close(gain, sum / weight, 1e-10);
    assert_true(gain > 0.5);
    double low[D] = {-1, 0}, high[D] = {1, 0}, two[2];
    assert_int_equal(local_scale_at(c, k, 1, low, two, &e), ANYGP_OK);
    assert_int_equal(local_scale_at(c, k, 1, high, two + 1, &e), ANYGP_OK);
    assert_true(two[0] < 0.15 && two[1] > 2);
    local_scale_free(c);
    kernel_free(k);
    clear(&l);
}

static void equal_errors_have_no_factors(void **unused)
{
    (void)unused;
    kernel *k = make_kernel();
    leave_one_out l = left_out(1, 1);
    local_scale *c = NULL;
    double gain;
    assert_int_equal(local_scale_learn(k, 1, &l, &c, &gain, NULL), ANYGP_OK);
    if (c) assert_true(c->shrink >= 64 && fabs(gain) < 0.005); /* all but 1, if chance prefers it */
    for (int i = 0; !c && i < N; i++) assert_true(l.variance[i] == 2.25);
    local_scale_free(c);
    l.n = 50; /* too few to tell */
    assert_int_equal(local_scale_learn(k, 1, &l, &c, &gain, NULL), ANYGP_OK);
    assert_null(c);
    kernel_free(k);
    clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(factors_are_shrunk_means_of_the_nearest_squares),
                                       cmocka_unit_test(equal_errors_have_no_factors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
