/* Rows to predict in gaps of a map, many of which have one list of training rows: each as if it were predicted by itself, to the last bit,
   on any number of threads. */
#include "support.h"

#include <math.h>
#include <stdlib.h>

#include "base/threads.h"
#include "model/local/vecchia_posterior.h"

enum { SIDE = 80, D = 2, NEAR = 16, ASKED = 600 };

/* A grid with a round hole in its middle. */
static int64_t grid_rows(double *X, double *y, double *w)
{
    int64_t n = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        double a = (double)(i % SIDE) / SIDE, b = (double)i / SIDE / SIDE;
        if (hypot(a - 0.5, b - 0.5) < 0.2) continue;
        X[n * D] = a, X[n * D + 1] = b, w[n] = 1 + (double)(n % 2), y[n++] = sin(5 * a) + cos(7 * b);
    }
    return n;
}

static posterior *posterior_of(const char *expression, const basis *mean)
{
    static double X[SIDE * SIDE * D], y[SIDE * SIDE], w[SIDE * SIDE];
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    posterior *p;
    double m[3] = {0.3, -0.2, 0.1}, B[9] = {2, 0.1, 0.2, 0, 3, 0.3, 0, 0, 4};
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(expression, in, D, D, &k, &e), ANYGP_OK);
    vecchia_rows rows = {.n = grid_rows(X, y, w), .D = D, .X = X, .y = y, .w = w, .near = NEAR, .learned = NEAR};
    assert_true(rows.n >= VECCHIA_GAP_ROWS);
    assert_int_equal(vecchia_posterior_new(&vecchia_form, k, 0.01, mean, &rows, m, B, &p, &e), ANYGP_OK);
    kernel_free(k);
    return p;
}

static void predict(const posterior *p, int64_t n, const double *X, double *mean, double *variance)
{
    double *work = malloc((size_t)p->ops->work_doubles(p, n) * sizeof *work);
    anygp_error e;
    assert_int_equal(p->ops->marginal(p, n, X, D, work, mean, variance, &e), ANYGP_OK);
    free(work);
}

/* Most of them in a small part of the middle of the hole, some in the rest of it, some outside. */
static void places(double *X)
{
    fill_normal(7, ASKED * D, X);
    for (int i = 0; i < ASKED; i++)
        for (int d = 0; d < D; d++) X[i * D + d] = 0.5 + (i % 6 == 0 ? 0.1 : i % 3 == 0 ? 0.04 : 0.002) * X[i * D + d];
}

/* How many rows the longest list is for. */
static int most_led(const posterior *p, const double *X)
{
    const vecchia_posterior *v = (const vecchia_posterior *)p;
    int64_t k = vecchia_most(v);
    int32_t *rows = malloc((size_t)(ASKED * k) * sizeof *rows), count[ASKED], leader[ASKED];
    int led[ASKED] = {0}, most = 0;
    anygp_error e;
    assert_int_equal(vecchia_around(v, ASKED, X, D, k, rows, count, leader, NULL, &e), ANYGP_OK);
    for (int i = 0; i < ASKED; i++)
        if (leader[i] >= 0 && ++led[leader[i]] > most) most = led[leader[i]];
    free(rows);
    return most;
}

static void rows_with_one_list_are_predicted_as_each_by_itself(void **unused)
{
    (void)unused;
    static double X[ASKED * D], alone[2][ASKED];
    input_spec columns[D] = {{.number = 0, .position = 0, .scale = 1}, {.number = 1, .position = 1, .scale = 1}};
    schema s = {.inputs = D, .D = D, .input = columns, .y_scale = 1};
    for (int linear = 0; linear < 2; linear++) {
        basis mean;
        anygp_error e;
        assert_int_equal(basis_init(&mean, linear ? MEAN_LINEAR : MEAN_ZERO, &s, 2.5, &e), ANYGP_OK);
        posterior *p = posterior_of("matern32(variance=0.9,lengthscale=[0.3,0.2])", &mean);
        places(X);
        assert_true(most_led(p, X) > ASKED / 3); /* shared between threads */
        for (int i = 0; i < ASKED; i++) predict(p, 1, X + i * D, &alone[0][i], &alone[1][i]);
        for (int threads = 1; threads <= 4; threads++) {
            double cell[2][ASKED] = {{0}};
            int former = threads_enter(threads);
            predict(p, ASKED, X, cell[0], cell[1]);
            threads_enter(former);
            assert_memory_equal(cell, alone, sizeof cell);
        }
        p->ops->free(p);
        basis_clear(&mean);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_with_one_list_are_predicted_as_each_by_itself)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
