/* The graph itself: composites, repeated use, failure, reset. */
#include "support.h"

#include <string.h>

#include "tape/tape.h"

/* log det A + y' A^-1 y, whose gradient is A^-1 - A^-1 y y' A^-1; several blocks of columns, the last one short */
enum { N = 150 };

static void make_data(double *A, double *y)
{
    static double Q[N * N];
    fill_normal(5, N * N, Q);
    fill_normal(6, N, y);
    la_gemm(LA_N, LA_T, N, N, N, 1.0 / N, Q, N, Q, N, 0, A, N);
    for (int i = 0; i < N; i++) A[i * (N + 1)] += 1;
}

static node *evidence(tape *t, node *K, const double *y)
{
    node *L = tape_cholesky(t, K), *a = tape_solve_lower(t, L, tape_constant(t, N, 1, y));
    return tape_add(t, tape_logdet(t, L), tape_dot(t, a, a));
}

static void evidence_gradient_equals_the_inverse(void **state)
{
    (void)state;
    static double A[N * N], W[N * N];
    double y[N], alpha[N], diag[N], jitter;
    make_data(A, y);
    tape *t = tape_new();
    node *K = tape_variable(t, N, N, A);
    assert_int_equal(tape_backward(t, evidence(t, K, y), NULL), ANYGP_OK);
    memcpy(W, A, sizeof W);
    assert_true(la_cholesky(N, W, N, 0, diag, &jitter));
    la_potri(N, W, N);
    la_mirror(N, W, N);
    la_gemv(LA_N, N, N, 1, W, N, y, 0, alpha);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) check_close(tape_adjoint(K)[i + j * N], W[i + j * N] - alpha[i] * alpha[j], 1e-11);
    tape_free(t);
}

static void repeated_use_of_a_node_accumulates(void **state)
{
    (void)state;
    double x = 1.5;
    tape *t = tape_new();
    node *u = tape_variable(t, 1, 1, &x), *f = u;
    for (int i = 0; i < 4; i++) f = tape_mul(t, f, u); /* u^5 */
    f = tape_add(t, f, tape_add(t, u, u));
    assert_int_equal(tape_backward(t, f, NULL), ANYGP_OK);
    check_close(tape_value(f), pow(x, 5) + 2 * x, 1e-14);
    check_close(*tape_adjoint(u), 5 * pow(x, 4) + 2, 1e-14);
    tape_free(t);
}

static void reset_gives_the_same_memory_and_the_same_bits(void **state)
{
    (void)state;
    static double A[N * N], gradient[N * N];
    double y[N], value = 0;
    make_data(A, y);
    tape *t = tape_new();
    node *first = NULL;
    const double *adjoint = NULL;
    for (int run = 0; run < 3; run++) {
        tape_reset(t);
        node *u = tape_variable(t, N, N, A), *f = evidence(t, u, y);
        assert_int_equal(tape_backward(t, f, NULL), ANYGP_OK);
        if (run == 0) {
            first = f, adjoint = tape_adjoint(u), value = tape_value(f);
            memcpy(gradient, tape_adjoint(u), sizeof gradient);
        }
        assert_ptr_equal(f, first);
        assert_ptr_equal(tape_adjoint(u), adjoint);
        assert_true(tape_value(f) == value);
        assert_memory_equal(tape_adjoint(u), gradient, sizeof gradient);
    }
    tape_free(t);
}

static void what_no_variable_feeds_gets_no_adjoint(void **state)
{
    (void)state;
    double x[4] = {1, 2, 3, 4};
    tape *t = tape_new();
    node *c = tape_constant(t, 2, 2, x), *k = tape_log(t, c), *u = tape_variable(t, 2, 2, x);
    node *unused = tape_sqrt(t, u);
    assert_int_equal(tape_backward(t, tape_dot(t, k, u), NULL), ANYGP_OK);
    assert_null(tape_adjoint(c));
    assert_null(tape_adjoint(k));
    assert_null(tape_adjoint(unused));
    for (int i = 0; i < 4; i++) check_close(tape_adjoint(u)[i], log(x[i]), 1e-15);
    tape_free(t);
}

static void check_failure(tape *t, node *n, anygp_status status)
{
    anygp_error e;
    assert_true(tape_failed(t));
    node *later = tape_sum(t, tape_cholesky(t, tape_syrk(t, LA_T, tape_add(t, n, n))));
    assert_true(isnan(tape_value(later)));
    assert_int_equal(tape_backward(t, later, &e), status);
    assert_int_equal(e.status, status);
    assert_true(strlen(e.text) > 10);
    assert_null(tape_adjoint(later));
    tape_reset(t);
    assert_false(tape_failed(t));
    assert_int_equal(tape_status(t, &e), ANYGP_OK);
}

static void failure_is_sticky_and_told_once(void **state)
{
    (void)state;
    double x[6] = {1, 2, 2, 1, 5, 6}, bad[4] = {1, NAN, NAN, 1};
    tape *t = tape_new();
    check_failure(t, tape_cholesky(t, tape_variable(t, 2, 2, x)), ANYGP_ERR_NUMERIC);
    check_failure(t, tape_cholesky(t, tape_variable(t, 2, 2, bad)), ANYGP_ERR_NUMERIC);
    node *A = tape_variable(t, 2, 3, x);
    check_failure(t, tape_gemm(t, LA_N, A, LA_N, A), ANYGP_ERR_INTERNAL);
    A = tape_variable(t, 2, 3, x);
    check_failure(t, tape_slice(t, A, 3, 2, 2), ANYGP_ERR_INTERNAL);
    A = tape_variable(t, 2, 3, x);
    check_failure(t, tape_logdet(t, A), ANYGP_ERR_INTERNAL);
    check_failure(t, tape_custom(t, INT64_MAX, 3, 1, &A, tape_op_at(0), NULL), ANYGP_ERR_MEMORY);
    A = tape_variable(t, 2, 3, x);
    assert_int_equal(tape_backward(t, A, NULL), ANYGP_ERR_INTERNAL);
    tape_free(t);
    tape_free(NULL);
}

static void jitter_is_recorded_until_the_reset(void **state)
{
    (void)state;
    double ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    tape *t = tape_new();
    node *L = tape_cholesky(t, tape_constant(t, 3, 3, ones));
    assert_false(tape_failed(t));
    assert_true(tape_jitter(t) > 0 && tape_jitter(t) < 1e-6);
    check_close(L->value[0], 1, 1e-6);
    tape_reset(t);
    assert_true(tape_jitter(t) == 0);
    tape_set_jitter(t, 1e-3, true);
    tape_cholesky(t, tape_constant(t, 3, 3, ones));
    check_close(tape_jitter(t), 1e-3, 1e-15);
    tape_reset(t);
    double threes[9] = {3, 3, 3, 3, 3, 3, 3, 3, 3};
    tape_set_jitter(t, 1e-3, false);
    L = tape_cholesky(t, tape_constant(t, 3, 3, threes));
    check_close(L->value[0] * L->value[0], 3.003, 1e-15);
    assert_true(tape_jitter(t) == 1e-3);
    tape_reset(t);
    tape_set_jitter(t, 0, false);
    tape_cholesky(t, tape_constant(t, 3, 3, ones));
    assert_int_equal(tape_status(t, NULL), ANYGP_ERR_NUMERIC);
    tape_free(t);
}

/* An operation from outside: the log-sum-exp of a vector. */
static void lse_forward(tape *t, node *n)
{
    (void)t;
    const node *a = n->inputs[0];
    double *calls = n->ctx, s = 0;
    for (int64_t i = 0; i < a->rows; i++) s += exp(a->value[i]);
    n->value[0] = log(s);
    *calls += 1;
}

static void lse_reverse(tape *t, node *n)
{
    node *a = n->inputs[0];
    double *da = tape_grad(t, a);
    for (int64_t i = 0; da && i < a->rows; i++) da[i] += n->adjoint[0] * exp(a->value[i] - n->value[0]);
}

static void operations_enter_from_outside(void **state)
{
    (void)state;
    static const tape_op lse = {"log_sum_exp", lse_forward, lse_reverse};
    double x[3] = {1, 2, 3}, sum = exp(1) + exp(2) + exp(3);
    tape *t = tape_new();
    node *u = tape_variable(t, 3, 1, x);
    double *calls = tape_doubles(t, 1, 1);
    *calls = 0;
    node *f = tape_scale(t, tape_custom(t, 1, 1, 1, &u, &lse, calls), 2);
    assert_int_equal(tape_backward(t, f, NULL), ANYGP_OK);
    check_close(tape_value(f), 2 * log(sum), 1e-14);
    for (int i = 0; i < 3; i++) check_close(tape_adjoint(u)[i], 2 * exp(x[i]) / sum, 1e-14);
    assert_true(*calls == 1);
    tape_free(t);
}

static void empty_matrices_pass_through(void **state)
{
    (void)state;
    double x[3] = {1, 2, 3};
    tape *t = tape_new();
    node *u = tape_variable(t, 3, 0, x), *v = tape_variable(t, 3, 1, x);
    node *f = tape_add(t, tape_sum(t, tape_gemm(t, LA_N, u, LA_T, u)), tape_sum(t, v));
    f = tape_add(t, f, tape_logdet(t, tape_cholesky(t, tape_gemm(t, LA_T, u, LA_N, u))));
    assert_int_equal(tape_backward(t, f, NULL), ANYGP_OK);
    check_close(tape_value(f), 6, 0);
    tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence_gradient_equals_the_inverse),
        cmocka_unit_test(repeated_use_of_a_node_accumulates),
        cmocka_unit_test(reset_gives_the_same_memory_and_the_same_bits),
        cmocka_unit_test(what_no_variable_feeds_gets_no_adjoint),
        cmocka_unit_test(failure_is_sticky_and_told_once),
        cmocka_unit_test(jitter_is_recorded_until_the_reset),
        cmocka_unit_test(operations_enter_from_outside),
        cmocka_unit_test(empty_matrices_pass_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
