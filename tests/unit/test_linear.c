/* The linear model of reports and comparisons, against solutions by elimination and against sums over all counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/linear_model.h"
#include "support.h"

enum {
    N = 60,
    D = 3,
    F = 5,
    LEVELS = 3
}; /* two numbers and a text of three categories: 1, x1, x2, and two indicators */

typedef struct scene {
    input_spec input[D];
    int64_t at[D];
    schema s;
    double X[N * D], y[N], w[N], exposure[N];
} scene;

static void set_up(scene *t, int64_t classes)
{
    *t = (scene){.s = {.inputs = D, .D = D, .y_mean = 2, .y_sd = 3, .classes = classes}};
    for (int64_t j = 0; j < D; j++) t->at[j] = j;
    t->input[2] = (input_spec){.text = true, .levels = LEVELS};
    t->s.input = t->input, t->s.at = t->at;
    for (int64_t i = 0; i < N; i++) {
        double a = sin(1.7 * (double)i), b = cos(2.9 * (double)i), c = (double)(i * 7 % LEVELS);
        t->X[i * D] = a, t->X[i * D + 1] = b, t->X[i * D + 2] = c;
        t->y[i] = classes
                      ? (double)((a + b + 0.3 * c + 0.4 * sin(9.1 * (double)i) > 0.3) + (classes > 2 && i % 11 == 3))
                      : 1 + 2 * a - b + (c == 1) - 3 * (c == 2) + 0.5 * sin(5.3 * (double)i);
        t->w[i] = (double)(1 + i % 3), t->exposure[i] = 0.5 + (double)(i % 4);
    }
}

static void features(const scene *t, int64_t i, double z[F])
{
    double c = t->X[i * D + 2];
    const double list[F] = {1, t->X[i * D], t->X[i * D + 1], c == 1, c == 2};
    memcpy(z, list, sizeof list);
}

/* A x = b by elimination, in place. */
static void eliminate(int64_t n, double *A, double *b)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t p = k;
        for (int64_t i = k; i < n; i++)
            if (fabs(A[i * n + k]) > fabs(A[p * n + k])) p = i;
        for (int64_t j = 0; j < n; j++) {
            double swap = A[k * n + j];
            A[k * n + j] = A[p * n + j], A[p * n + j] = swap;
        }
        double swap = b[k];
        b[k] = b[p], b[p] = swap;
        for (int64_t i = 0; i < n; i++) {
            double m = i == k ? 0 : A[i * n + k] / A[k * n + k];
            for (int64_t j = k; j < n; j++) A[i * n + j] -= m * A[k * n + j];
            b[i] -= m * b[k];
        }
    }
    for (int64_t k = 0; k < n; k++) b[k] /= A[k * n + k];
}

/* Weighted least squares of y/e with the weights w e, from the rows from `first` on: the mean and the variance of row i. */
static void by_hand(const scene *t, int64_t first, bool weighted, int64_t i, double *mean, double *variance)
{
    double A[F * F] = {0}, B[F * F], b[F] = {0}, u[F], z[F], rows = 0, square = 0;
    for (int64_t k = first; k < N; k++) {
        double e = weighted ? t->exposure[k] : 1, w = weighted ? t->w[k] : 1, v = w * e;
        features(t, k, z);
        for (int a = 0; a < F; a++) b[a] += v * z[a] * t->y[k] / e;
        for (int a = 0; a < F * F; a++) A[a] += v * z[a / F] * z[a % F];
        rows += w;
    }
    memcpy(B, A, sizeof B);
    eliminate(F, B, b);
    for (int64_t k = first; k < N; k++) {
        double e = weighted ? t->exposure[k] : 1, d = t->y[k] / e;
        features(t, k, z);
        for (int a = 0; a < F; a++) d -= z[a] * b[a];
        square += (weighted ? t->w[k] : 1) * e * d * d;
    }
    double e = weighted ? t->exposure[i] : 1, leverage = 0;
    features(t, i, z);
    memcpy(u, z, sizeof u);
    eliminate(F, A, u);
    *mean = 0;
    for (int a = 0; a < F; a++) *mean += e * z[a] * b[a], leverage += z[a] * u[a];
    *variance = square / (rows - F) * e * (1 + e * leverage);
}

static linear_rows rows_of(const scene *t, int64_t first, int64_t count, bool weighted)
{
    return (linear_rows){.n = count,
                         .X = t->X + first * D,
                         .y = t->y + first,
                         .w = weighted ? t->w + first : NULL,
                         .exposure = weighted ? t->exposure + first : NULL};
}

static void must(anygp_status status, const anygp_error *e)
{
    if (ANYGP_FAILED(status)) fail_msg("%s", e->text);
}

static linear_model *model_of(const scene *t, int64_t cut, bool weighted)
{
    linear_model *l;
    anygp_error e;
    must(linear_new(&t->s, 2, &l, &e), &e);
    linear_rows a = rows_of(t, 0, cut, weighted), b = rows_of(t, cut, N - cut, weighted);
    linear_add(l, 0, &a);
    linear_add(l, 1, &b);
    return l;
}

static void close_to(double x, double y, double error)
{
    if (!(fabs(x - y) <= error * (1 + fabs(y)))) fail_msg("%.17g instead of %.17g", x, y);
}

static void numbers_are_weighted_least_squares_of_all_parts_but_one(void **state)
{
    (void)state;
    scene t;
    double mean[N], variance[N], m, v;
    set_up(&t, 0);
    for (int weighted = 0; weighted < 2; weighted++)
        for (int64_t without = -1; without < 1; without++) {
            linear_model *l = model_of(&t, 13, weighted);
            linear_rows all = rows_of(&t, 0, N, weighted);
            assert_true(linear_solve(l, without));
            linear_numbers(l, &all, mean, variance);
            for (int64_t i = 0; i < N; i++) {
                by_hand(&t, without < 0 ? 0 : 13, weighted, i, &m, &v);
                close_to(mean[i], m, 1e-6);
                close_to(variance[i], v, 1e-6);
            }
            linear_free(l);
        }
}

/* The ratio of two classes is linear: its gradient, from differences of predictions, is the solution of W g = m_1 - m_0. */
static void two_classes_are_told_apart_by_fishers_direction(void **state)
{
    (void)state;
    scene t;
    set_up(&t, 2);
    double W[4] = {0}, m[2][2] = {{0}}, n[2] = {0}, g[2], P[3 * 2];
    for (int64_t i = 0; i < N; i++) t.X[i * D + 2] = 0; /* the third input says nothing */
    t.input[2].levels = 1;
    for (int64_t i = 0; i < N; i++) {
        int k = (int)t.y[i];
        n[k]++;
        for (int a = 0; a < 2; a++) m[k][a] += t.X[i * D + a];
    }
    for (int k = 0; k < 2; k++)
        for (int a = 0; a < 2; a++) m[k][a] /= n[k];
    for (int64_t i = 0; i < N; i++)
        for (int a = 0; a < 4; a++)
            W[a] +=
                (t.X[i * D + a / 2] - m[(int)t.y[i]][a / 2]) * (t.X[i * D + a % 2] - m[(int)t.y[i]][a % 2]) / (N - 2);
    for (int a = 0; a < 2; a++)
        g[a] = m[1][a] - m[0][a], W[3 * a] += 1e-4 * (W[0] + W[3]) / (2 + 1e-4 * a); /* its ridge */
    eliminate(2, W, g);
    linear_model *l = model_of(&t, 20, false);
    assert_true(linear_solve(l, -1));
    const double X[3 * D] = {0.2, -0.1, 0, 1.2, -0.1, 0, 0.2, 0.9, 0};
    linear_rows rows = {.n = 3, .X = X};
    linear_classes(l, &rows, P, 3);
    for (int i = 0; i < 3; i++) close_to(P[i] + P[i + 3], 1, 1e-12);
    for (int a = 0; a < 2; a++) {
        double slope = log(P[4 + a] / P[1 + a]) - log(P[3] / P[0]);
        close_to(slope, g[a], 1e-3);
    }
    linear_free(l);
}

static void rounded_normals_are_distributions_of_counts(void **state)
{
    (void)state;
    static const double means[] = {0.3, 4, -2, 40, 12.5}, variances[] = {0.2, 9, 4, 25, 1e-2};
    for (size_t k = 0; k < sizeof means / sizeof *means; k++) {
        double sum = 0, before = 0;
        for (double y = 0; y < 100; y++) {
            double below, up_to, density;
            rounded_normal(1, &y, &means[k], &variances[k], &below, &up_to, &density);
            close_to(below, before, 1e-13);
            close_to(up_to - below, exp(density), 1e-13);
            assert_true(isfinite(density));
            sum += exp(density), before = up_to;
        }
        close_to(sum, 1, 1e-12);
    }
    double y = 1000, mean = 0, variance = 1, below, up_to, density; /* far in a tail */
    rounded_normal(1, &y, &mean, &variance, &below, &up_to, &density);
    close_to(density, -0.5 * 999.5 * 999.5 - log(999.5) - 0.918938533204673, 1e-9);
}

static void few_rows_and_many_features_have_no_linear_model(void **state)
{
    (void)state;
    scene t;
    anygp_error e;
    set_up(&t, 0);
    linear_model *l;
    must(linear_new(&t.s, 1, &l, &e), &e);
    linear_rows few = rows_of(&t, 0, 15, false);
    linear_add(l, 0, &few);
    assert_false(linear_solve(l, -1));
    linear_free(l);
    enum { WIDE = 1200 };
    input_spec *input = calloc(WIDE, sizeof *input);
    int64_t *at = calloc(WIDE, sizeof *at);
    for (int64_t j = 0; j < WIDE; j++) at[j] = j;
    schema wide = {.inputs = WIDE, .D = WIDE, .input = input, .at = at, .y_sd = 1};
    must(linear_new(&wide, 1, &l, &e), &e);
    assert_null(l);
    free(input);
    free(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_weighted_least_squares_of_all_parts_but_one),
        cmocka_unit_test(two_classes_are_told_apart_by_fishers_direction),
        cmocka_unit_test(rounded_normals_are_distributions_of_counts),
        cmocka_unit_test(few_rows_and_many_features_have_no_linear_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
