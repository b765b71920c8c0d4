/* Kernel matrices on the tape: a bound written forward only, its gradient against central differences. */
#include "support.h"

#include <string.h>

#include "kernel/tape_gram.h"

enum { D = 2, N = 7, M = 4, P_MOST = 12 };

typedef struct fixture {
    tape *t;
    kernel *k;
    int64_t P;
    double x[P_MOST + (N + M) * D]; /* parameters, X, Z */
    double y[N];
} fixture;

/* log N-like scalar of all three operations: sum log diag chol(Kuu + I) + |L^-1 Kuf y|^2 + sum diag^2, white in Kuu. */
static node *bound(fixture *f, const double *x, node **variables)
{
    tape *t = f->t;
    memcpy(kernel_values(f->k), x, (size_t)f->P * sizeof(double));
    node *p = variables[0] = tape_variable(t, f->P, 1, x);
    node *X = variables[1] = tape_variable(t, D, N, x + f->P);
    node *Z = variables[2] = tape_variable(t, D, M, x + f->P + N * D);
    node *L = tape_cholesky(t, tape_add_diagonal(t, tape_gram_sym(t, f->k, p, Z), tape_white(t, f->k, p)));
    node *a = tape_solve_lower(t, L, tape_mul_tv(t, tape_gram(t, f->k, p, X, Z), tape_constant(t, N, 1, f->y)));
    node *d = tape_gram_diag(t, f->k, p, X);
    return tape_add(t, tape_add(t, tape_logdet(t, L), tape_dot(t, a, a)), tape_dot(t, d, d));
}

static double value_at(void *ctx, const double *x)
{
    fixture *f = ctx;
    node *variables[3];
    tape_reset(f->t);
    return tape_value(bound(f, x, variables));
}

static void gradients_of_all_three_matrices_equal_differences(void **state)
{
    (void)state;
    fixture f = {.t = tape_new()};
    anygp_error e;
    kernel_input in[D] = {{NULL, 0, INPUT_NUMBER, 0}, {NULL, 1, INPUT_NUMBER, 1}};
    assert_int_equal(kernel_parse("matern52 + 0.5*rbf(iso)*linear + white(variance=0.2)", in, D, D, &f.k, &e),
                     ANYGP_OK);
    f.P = kernel_count(f.k);
    assert_true(f.P <= P_MOST);
    memcpy(f.x, kernel_values(f.k), (size_t)f.P * sizeof(double));
    fill_normal(1, (N + M) * D, f.x + f.P);
    fill_normal(2, N, f.y);
    node *variables[3];
    double gradient[P_MOST + (N + M) * D];
    node *b = bound(&f, f.x, variables);
    assert_int_equal(tape_backward(f.t, b, &e), ANYGP_OK);
    memcpy(gradient, tape_adjoint(variables[0]), (size_t)f.P * sizeof(double));
    memcpy(gradient + f.P, tape_adjoint(variables[1]), N * D * sizeof(double));
    memcpy(gradient + f.P + N * D, tape_adjoint(variables[2]), M * D * sizeof(double));
    for (int64_t i = 0; i < f.P + (N + M) * D; i++)
        check_close(gradient[i], central_difference(value_at, &f, f.x, i, 1e-5), 1e-6);
    kernel_free(f.k);
    tape_free(f.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_of_all_three_matrices_equal_differences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
