/* Kernels of many inputs, which go by matrix products, against their definitions: whole tiles and edges, one slice of inputs
   and several, near and equal rows, inputs far from 0. */
#include "kernel_cases.h"

enum { N = 261, M = 270, MOST_D = 300 };

static const char *const texts[] = {
    "rbf",       "rbf(iso)", "matern12",   "matern32",  "matern52(iso)",      "rq",
    "wendland2", "linear",   "polynomial", "arccosine", "arccosine(order=0)", "rbf*matern32 + 0.5*linear(iso) + white",
};
enum { TEXTS = sizeof texts / sizeof *texts };

static kernel *parse(const char *text, int64_t D)
{
    kernel_input in[MOST_D];
    kernel *k = NULL;
    for (int64_t i = 0; i < D; i++) in[i] = (kernel_input){NULL, i, INPUT_NUMBER, i};
    assert_int_equal(kernel_parse(text, in, D, D, &k, NULL), ANYGP_OK);
    case_scatter(k);
    return k;
}

/* A kernel on every second of 2 D columns. */
static kernel *parse_scattered(int64_t D)
{
    char text[8 * MOST_D] = "matern52(dims=[0";
    for (int64_t d = 1; d < D; d++) sprintf(text + strlen(text), ",%d", (int)(2 * d));
    return parse(strcat(text, "])"), 2 * D);
}

/* On all columns, two of them the other way round. */
static kernel *parse_swapped(int64_t D)
{
    char text[8 * MOST_D] = "rbf(dims=[0,2,1";
    for (int64_t d = 3; d < D; d++) sprintf(text + strlen(text), ",%d", (int)d);
    return parse(strcat(text, "])"), D);
}

typedef struct rows {
    int64_t n, D, ld;
    double *X;
} rows;

static rows make_rows(uint64_t stream, int64_t n, int64_t D)
{
    rows r = {n, D, D + 1, malloc(sizeof(double) * (size_t)(n * (D + 1)))};
    assert_non_null(r.X);
    fill_normal(stream, n * r.ld, r.X);
    return r;
}

/* Row i of Z becomes row i of X plus `step` times itself, for every third row. */
static void bring_near(rows *Z, const rows *X, double step)
{
    for (int64_t i = 0; i < Z->n && i < X->n; i += 3)
        for (int64_t d = 0; d < X->D; d++) Z->X[i * Z->ld + d] = X->X[i * X->ld + d] + step * Z->X[i * Z->ld + d];
}

static void shift(rows *X, double by)
{
    for (int64_t i = 0; i < X->n * X->ld; i++) X->X[i] += by;
}

/* The largest k(x, x), which errors are relative to. */
static double size_of(const kernel *k, const rows *X)
{
    double most = 0;
    for (int64_t i = 0; i < X->n; i++) {
        double d;
        kernel_diag(k, 1, X->X + i * X->ld, X->ld, &d);
        most = fmax(most, d);
    }
    return most;
}

static void check_gram(const char *name, const kernel *k, const rows *X, const rows *Z)
{
    int64_t ldk = X->n + 3;
    double *K = malloc(sizeof(double) * (size_t)(ldk * Z->n)), size = size_of(k, X);
    assert_true(kernel_gram(k, X->n, X->X, X->ld, Z->n, Z->X, Z->ld, K, ldk));
    for (int64_t j = 0; j < Z->n; j++)
        for (int64_t i = 0; i < X->n; i += 1 + (i > 8 && i < 250) * 5) {
            double truth = kernel_reference(k, X->X + i * X->ld, Z->X + j * Z->ld, false);
            check_close_at(K[i + j * ldk] / size, truth / size, 1e-12, name, __FILE__, __LINE__);
        }
    free(K);
}

static void check_near_and_far(const char *name, kernel *k, int64_t D)
{
    static const double steps[] = {0, 1e-9, 1e-3, 3e-2, 0.3};
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        rows X = make_rows(1, s ? 20 : N, D), Z = make_rows(2, s ? 17 : M, D);
        bring_near(&Z, &X, steps[s]);
        check_gram(name, k, &X, &Z);
        free(X.X), free(Z.X);
    }
    kernel_free(k);
}

static void gram_of_many_inputs_equals_the_definition(void **state)
{
    (void)state;
    for (int c = 0; c < TEXTS; c++) {
        check_near_and_far(texts[c], parse(texts[c], 40), 40);
        check_near_and_far(texts[c], parse(texts[c], MOST_D), MOST_D);
    }
    check_near_and_far("every second column", parse_scattered(50), 100);
    check_near_and_far("columns out of order", parse_swapped(40), 40);
}

/* The mean is 10^6 times the spread; differences of the inputs are still exact, and so must be the distances. */
static void inputs_far_from_zero_lose_no_digits(void **state)
{
    (void)state;
    for (int c = 0; c < 7; c++) { /* those of distance */
        kernel *k = parse(texts[c], 40);
        rows X = make_rows(1, 50, 40), Z = make_rows(2, 60, 40);
        shift(&X, 1e6), shift(&Z, 1e6);
        bring_near(&Z, &X, 0);
        check_gram(texts[c], k, &X, &Z);
        free(X.X), free(Z.X);
        kernel_free(k);
    }
}

static void equal_rows_have_exactly_the_variance(void **state)
{
    (void)state;
    for (int c = 0; c < 7; c++) {
        kernel *k = parse(texts[c], MOST_D);
        rows X = make_rows(1, 40, MOST_D);
        double K[40 * 40], d[40];
        for (int64_t i = 0; i < X.n * X.ld; i++) X.X[i] = 1e3 + 1e-3 * X.X[i];
        memcpy(X.X + 7 * X.ld, X.X + 3 * X.ld, sizeof(double) * MOST_D);
        kernel_diag(k, 40, X.X, X.ld, d);
        assert_true(kernel_gram_sym(k, 40, X.X, X.ld, K, 40));
        for (int i = 0; i < 40; i++) assert_true(K[i + 40 * i] == d[i]);
        assert_true(K[7 + 40 * 3] == d[3]);
        free(X.X);
        kernel_free(k);
    }
}

static void largest_inputs_give_finite_values(void **state)
{
    (void)state;
    static const double extremes[] = {0, 1e-320, 1e10, 1e154, 1e300, -1.7e308, 1.7e308};
    enum { E = sizeof extremes / sizeof *extremes, D = 40 };
    for (int c = 0; c < TEXTS; c++) {
        kernel *k = parse(texts[c], D);
        double X[E * D], K[E * E], G[E * E], gX[E * D] = {0}, gp[3 * D] = {0};
        for (int i = 0; i < E * D; i++) X[i] = extremes[i / D] * (i % 2 ? 1 : -1);
        for (int i = 0; i < E * E; i++) G[i] = 1;
        kernel_gram(k, E, X, D, E, X, D, K, E);
        kernel_gram_reverse(k, E, X, D, E, X, D, G, E, gp, gX, D, gX, D);
        for (int i = 0; i < E * E; i++)
            if (!isfinite(K[i])) fail_msg("%s: entry %d is %g", texts[c], i, K[i]);
        for (int i = 0; i < E * D; i++)
            if (!isfinite(gX[i])) fail_msg("%s: gradient %d is %g", texts[c], i, gX[i]);
        kernel_free(k);
    }
}

/* ------------------------------------------------------------------------------------------ gradients */

/* F = sum G .* K by the definition. */
static double objective(const kernel *k, const rows *X, const rows *Z, const double *G)
{
    double F = 0;
    for (int64_t j = 0; j < Z->n; j++)
        for (int64_t i = 0; i < X->n; i++)
            F += G[i + j * X->n] * kernel_reference(k, X->X + i * X->ld, Z->X + j * Z->ld, false);
    return F;
}

static double central(const kernel *k, const rows *X, const rows *Z, const double *G, double *x, double h)
{
    double x0 = *x;
    *x = x0 + h;
    double up = objective(k, X, Z, G);
    *x = x0 - h;
    double down = objective(k, X, Z, G);
    *x = x0;
    return (up - down) / (2 * h);
}

static double difference(const kernel *k, const rows *X, const rows *Z, const double *G, double *x)
{
    double h = 4e-6 * fmax(1, fabs(*x));
    return 2 * central(k, X, Z, G, x, h / 2) - central(k, X, Z, G, x, h);
}

static void check_gradients(const char *name, kernel *k, int64_t D, int64_t every)
{
    rows X = make_rows(1, 5, D), Z = make_rows(2, 4, D);
    double G[20], gp[4 * MOST_D], gX[5 * MOST_D], gZ[4 * MOST_D];
    bring_near(&Z, &X, 0.01);
    memcpy(Z.X, X.X, sizeof(double) * (size_t)D); /* equal rows too */
    fill_normal(3, 20, G);
    for (int i = 0; i < 4 * MOST_D; i++) gp[i] = gZ[i] = 1; /* to see that they accumulate */
    for (int i = 0; i < 5 * MOST_D; i++) gX[i] = 1;
    assert_true(kernel_gram_reverse(k, X.n, X.X, X.ld, Z.n, Z.X, Z.ld, G, X.n, gp, gX, D, gZ, D));
    for (int64_t i = 0; i < kernel_count(k); i += every)
        check_close_at(gp[i] - 1, difference(k, &X, &Z, G, &kernel_values(k)[i]), 1e-6, name, __FILE__, __LINE__);
    for (int64_t i = 0; i < X.n * D; i += every)
        check_close_at(gX[i] - 1, difference(k, &X, &Z, G, &X.X[i / D * X.ld + i % D]), 1e-6, name, __FILE__, __LINE__);
    for (int64_t i = 0; i < Z.n * D; i += every)
        check_close_at(gZ[i] - 1, difference(k, &X, &Z, G, &Z.X[i / D * Z.ld + i % D]), 1e-6, name, __FILE__, __LINE__);
    free(X.X), free(Z.X);
    kernel_free(k);
}

static void gradients_of_many_inputs_match_differences(void **state)
{
    (void)state;
    for (int c = 0; c < TEXTS; c++) {
        check_gradients(texts[c], parse(texts[c], 40), 40, 3);
        check_gradients(texts[c], parse(texts[c], MOST_D), MOST_D, 37);
    }
    check_gradients("every second column", parse_scattered(50), 100, 7);
    check_gradients("columns out of order", parse_swapped(40), 40, 1);
}

/* For rbf by plain loops over differences, on whole tiles, near rows and inputs far from 0: digits, not only signs. */
static void check_plain(int64_t D, double by, bool iso)
{
    kernel *k = parse(iso ? "rbf(iso)" : "rbf", D);
    rows X = make_rows(1, N, D), Z = make_rows(2, M, D);
    const double *p = kernel_values(k);
    double *G = malloc(sizeof(double) * N * M), *gX = calloc((size_t)(N * D), sizeof *gX),
           *hX = calloc((size_t)(N * D), sizeof *hX);
    double *gZ = calloc((size_t)(M * D), sizeof *gZ), *hZ = calloc((size_t)(M * D), sizeof *hZ);
    double gp[1 + MOST_D] = {0}, hp[1 + MOST_D] = {0}, alone[1 + MOST_D] = {0};
    shift(&X, by), shift(&Z, by);
    bring_near(&Z, &X, 1e-4);
    fill_normal(3, N * M, G);
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = 0; i < N; i++) {
            double gk = G[i + j * N] * kernel_reference(k, X.X + i * X.ld, Z.X + j * Z.ld, false);
            hp[0] += gk / p[0];
            for (int64_t d = 0; d < D; d++) {
                double l = p[iso ? 1 : 1 + d], u = (X.X[i * X.ld + d] - Z.X[j * Z.ld + d]) / l;
                hX[i * D + d] -= gk * u / l, hZ[j * D + d] += gk * u / l, hp[iso ? 1 : 1 + d] += gk * u * u / l;
            }
        }
    assert_true(kernel_gram_reverse(k, N, X.X, X.ld, M, Z.X, Z.ld, G, N, gp, gX, D, gZ, D));
    assert_true(kernel_gram_reverse(k, N, X.X, X.ld, M, Z.X, Z.ld, G, N, alone, NULL, 0, NULL, 0));
    for (int64_t i = 0; i < kernel_count(k); i++) check_close(gp[i], hp[i], 1e-11);
    for (int64_t i = 0; i < kernel_count(k); i++) check_close(alone[i], hp[i], 1e-11);
    for (int64_t i = 0; i < N * D; i++) check_close(gX[i], hX[i], 1e-12);
    for (int64_t i = 0; i < M * D; i++) check_close(gZ[i], hZ[i], 1e-12);
    free(G), free(gX), free(hX), free(gZ), free(hZ), free(X.X), free(Z.X);
    kernel_free(k);
}

static void gradients_by_products_are_those_by_differences(void **state)
{
    (void)state;
    check_plain(40, 0, false);
    check_plain(40, 1e6, true);
    check_plain(MOST_D, 100, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gram_of_many_inputs_equals_the_definition),
        cmocka_unit_test(inputs_far_from_zero_lose_no_digits),
        cmocka_unit_test(equal_rows_have_exactly_the_variance),
        cmocka_unit_test(largest_inputs_give_finite_values),
        cmocka_unit_test(gradients_of_many_inputs_match_differences),
        cmocka_unit_test(gradients_by_products_are_those_by_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
