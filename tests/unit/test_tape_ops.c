/* Every operation of the tape against central differences, in every input and every variant.  An operation without a
   case here fails the suite. */
#include "support.h"

#include <string.h>

#include "dense.h"
#include "tape/tape.h"

enum { MAX_INPUTS = 3, MAX_SIZE = 64 };

typedef struct op_case {
    const char *op, *variant;
    node *(*build)(tape *t, node **in);
    int n_inputs;
    int64_t shape[MAX_INPUTS][2];
    double shift; /* inputs are |normal| + shift if positive, else normal */
} op_case;

static node *add(tape *t, node **in) { return tape_add(t, in[0], in[1]); }
static node *sub(tape *t, node **in) { return tape_sub(t, in[0], in[1]); }
static node *mul(tape *t, node **in) { return tape_mul(t, in[0], in[1]); }
static node *mul_self(tape *t, node **in) { return tape_mul(t, in[0], in[0]); }
static node *scale(tape *t, node **in) { return tape_scale(t, in[0], -1.7); }
static node *logarithm(tape *t, node **in) { return tape_log(t, in[0]); }
static node *root(tape *t, node **in) { return tape_sqrt(t, in[0]); }
static node *reciprocal(tape *t, node **in) { return tape_reciprocal(t, in[0]); }

static node *fill(tape *t, node **in) { return tape_fill(t, in[0], 3, 4); }
static node *scale_columns(tape *t, node **in) { return tape_scale_columns(t, in[0], in[1]); }
static node *transpose(tape *t, node **in) { return tape_transpose(t, in[0]); }
static node *stack(tape *t, node **in) { return tape_stack(t, in[0], in[1]); }
static node *gemm_nn(tape *t, node **in) { return tape_gemm(t, LA_N, in[0], LA_N, in[1]); }
static node *gemm_nt(tape *t, node **in) { return tape_gemm(t, LA_N, in[0], LA_T, in[1]); }
static node *gemm_tn(tape *t, node **in) { return tape_gemm(t, LA_T, in[0], LA_N, in[1]); }
static node *gemm_tt(tape *t, node **in) { return tape_gemm(t, LA_T, in[0], LA_T, in[1]); }
static node *gemm_self(tape *t, node **in) { return tape_gemm(t, LA_N, in[0], LA_T, in[0]); }
static node *mul_tv(tape *t, node **in) { return tape_mul_tv(t, in[0], in[1]); }
static node *syrk_n(tape *t, node **in) { return tape_syrk(t, LA_N, in[0]); }
static node *syrk_t(tape *t, node **in) { return tape_syrk(t, LA_T, in[0]); }
static node *mul_lower_t(tape *t, node **in) { return tape_mul_lower_t(t, in[0], in[1]); }
static node *mul_lower_t_self(tape *t, node **in) { return tape_mul_lower_t(t, in[0], in[0]); }

/* A factor reads one triangle of a symmetric matrix, so the inputs are made symmetric first. */
static node *symmetric(tape *t, node *A)
{
    static const double ridge = 12;
    return tape_add_diagonal(t, tape_add(t, A, tape_transpose(t, A)), tape_constant(t, 1, 1, &ridge));
}

static node *cholesky(tape *t, node **in) { return tape_cholesky(t, symmetric(t, in[0])); }
static node *solve(tape *t, node **in) { return tape_solve_lower(t, in[0], in[1]); }
static node *logdet(tape *t, node **in) { return tape_logdet(t, in[0]); }
static node *add_diagonal(tape *t, node **in) { return tape_add_diagonal(t, in[0], in[1]); }

static node *cholesky_with_jitter(tape *t, node **in)
{
    tape_set_jitter(t, 1e-2, true);
    node *L = cholesky(t, in);
    tape_set_jitter(t, 0, true);
    return L;
}

static node *sum(tape *t, node **in) { return tape_sum(t, in[0]); }
static node *dot(tape *t, node **in) { return tape_dot(t, in[0], in[1]); }
static node *dot_self(tape *t, node **in) { return tape_dot(t, in[0], in[0]); }
static node *marginal(tape *t, node **in) { return tape_marginal(t, in[0], in[1], in[2]); }
static node *marginal_prior(tape *t, node **in) { return tape_marginal(t, in[0], in[1], NULL); }
static node *kl_white(tape *t, node **in) { return tape_kl_white(t, in[0], in[1]); }
static node *concat(tape *t, node **in) { return tape_concat(t, 3, in); }
static node *slice(tape *t, node **in) { return tape_slice(t, in[0], 3, 2, 3); }

static const op_case CASES[] = {
    {"add", "", add, 2, {{3, 4}, {3, 4}}, 0},
    {"sub", "", sub, 2, {{3, 4}, {3, 4}}, 0},
    {"mul", "", mul, 2, {{3, 4}, {3, 4}}, 0},
    {"mul", "by itself", mul_self, 1, {{3, 4}}, 0},
    {"scale", "", scale, 1, {{3, 4}}, 0},
    {"log", "", logarithm, 1, {{3, 4}}, 0.5},
    {"sqrt", "", root, 1, {{3, 4}}, 0.5},
    {"reciprocal", "", reciprocal, 1, {{3, 4}}, 0.5},
    {"fill", "", fill, 1, {{1, 1}}, 0},
    {"scale_columns", "", scale_columns, 2, {{3, 4}, {4, 1}}, 0},
    {"transpose", "", transpose, 1, {{3, 5}}, 0},
    {"stack", "", stack, 2, {{2, 4}, {3, 4}}, 0},
    {"stack", "on nothing", stack, 2, {{0, 4}, {3, 4}}, 0},
    {"gemm", "AB", gemm_nn, 2, {{3, 5}, {5, 4}}, 0},
    {"gemm", "AB'", gemm_nt, 2, {{3, 5}, {4, 5}}, 0},
    {"gemm", "A'B", gemm_tn, 2, {{5, 3}, {5, 4}}, 0},
    {"gemm", "A'B'", gemm_tt, 2, {{5, 3}, {4, 5}}, 0},
    {"gemm", "AA'", gemm_self, 1, {{3, 5}}, 0},
    {"gemm", "A'v", mul_tv, 2, {{5, 3}, {5, 1}}, 0},
    {"syrk", "AA'", syrk_n, 1, {{3, 5}}, 0},
    {"syrk", "A'A", syrk_t, 1, {{3, 5}}, 0},
    {"mul_lower_t", "wide", mul_lower_t, 2, {{3, 3}, {3, 7}}, 0},
    {"mul_lower_t", "narrow", mul_lower_t, 2, {{5, 5}, {5, 2}}, 0},
    {"mul_lower_t", "L'L", mul_lower_t_self, 1, {{4, 4}}, 0},
    {"cholesky", "", cholesky, 1, {{5, 5}}, 0},
    {"cholesky", "with jitter", cholesky_with_jitter, 1, {{5, 5}}, 0},
    {"solve_lower", "L^-1 B", solve, 2, {{4, 4}, {4, 3}}, 0.5},
    {"solve_lower", "wide", solve, 2, {{4, 4}, {4, 6}}, 0.5},
    {"logdet", "", logdet, 1, {{4, 4}}, 0.5},
    {"add_diagonal", "vector", add_diagonal, 2, {{4, 4}, {4, 1}}, 0},
    {"add_diagonal", "scalar", add_diagonal, 2, {{4, 4}, {1, 1}}, 0},
    {"sum", "", sum, 1, {{3, 4}}, 0},
    {"dot", "", dot, 2, {{3, 4}, {3, 4}}, 0},
    {"dot", "with itself", dot_self, 1, {{3, 4}}, 0},
    {"marginal", "", marginal, 3, {{5, 1}, {3, 5}, {4, 5}}, 0},
    {"marginal", "of the prior", marginal_prior, 2, {{5, 1}, {3, 5}}, 0},
    {"kl_white", "", kl_white, 2, {{4, 1}, {4, 4}}, 0.3},
    {"concat", "", concat, 3, {{3, 1}, {2, 2}, {1, 1}}, 0},
    {"slice", "", slice, 1, {{4, 3}}, 0},
};
enum { N_CASES = sizeof CASES / sizeof *CASES };

/* One case: the inputs behind each other in x, and the weights that make a scalar of the output. */
typedef struct trial {
    const op_case *c;
    tape *t;
    double weights[MAX_SIZE];
} trial;

static int64_t input_size(const op_case *c, int i) { return c->shape[i][0] * c->shape[i][1]; }

static node *record(trial *r, const double *x, unsigned active, node **in)
{
    tape_reset(r->t);
    for (int i = 0; i < r->c->n_inputs; x += input_size(r->c, i++)) {
        node *(*leaf)(tape *, int64_t, int64_t, const double *) = active >> i & 1 ? tape_variable : tape_constant;
        in[i] = leaf(r->t, r->c->shape[i][0], r->c->shape[i][1], x);
    }
    return r->c->build(r->t, in);
}

static double weighted_output(void *ctx, const double *x)
{
    trial *r = ctx;
    node *in[MAX_INPUTS], *out = record(r, x, 0, in);
    double f = 0;
    for (int64_t i = 0; i < out->rows * out->cols; i++) f += r->weights[i] * out->value[i];
    return f;
}

/* With only the inputs of `active` variable: their gradients are right, and no other node has one. */
static void check_gradient(trial *r, double *x, unsigned active)
{
    anygp_error e;
    node *in[MAX_INPUTS], *out = record(r, x, active, in);
    double gradient[MAX_INPUTS][MAX_SIZE];
    assert_string_equal(out->op->name, r->c->op);
    tape_seed(r->t, out, r->weights);
    assert_int_equal(tape_sweep(r->t, &e), ANYGP_OK);
    for (int i = 0; i < r->c->n_inputs; i++) {
        assert_true((tape_adjoint(in[i]) != NULL) == (active >> i & 1));
        if (tape_adjoint(in[i])) memcpy(gradient[i], in[i]->adjoint, (size_t)input_size(r->c, i) * sizeof(double));
    }
    for (int64_t i = 0, at = 0; i < r->c->n_inputs; i++)
        for (int64_t j = 0; j < input_size(r->c, (int)i); j++, at++)
            if (active >> i & 1) {
                double numeric = central_difference(weighted_output, r, x, at, 1e-5);
                if (fabs(gradient[i][j] - numeric) > 1e-7 * fmax(1, fabs(numeric)))
                    print_error("%s %s, input %d, element %d\n", r->c->op, r->c->variant, (int)i, (int)j);
                check_close(gradient[i][j], numeric, 1e-7);
            }
}

static void every_operation_has_the_gradient_of_its_value(void **state)
{
    (void)state;
    trial r = {.t = tape_new()};
    for (int k = 0; k < N_CASES; k++) {
        r.c = &CASES[k];
        double x[MAX_INPUTS * MAX_SIZE];
        fill_normal((uint64_t)k, MAX_INPUTS * MAX_SIZE, x);
        fill_normal((uint64_t)(1000 + k), MAX_SIZE, r.weights);
        for (int i = 0; r.c->shift > 0 && i < MAX_INPUTS * MAX_SIZE; i++) x[i] = fabs(x[i]) + r.c->shift;
        for (unsigned active = 1; active < 1u << r.c->n_inputs; active++) check_gradient(&r, x, active);
    }
    tape_free(r.t);
}

static void every_operation_of_the_table_has_a_case(void **state)
{
    (void)state;
    assert_true(tape_op_count() > 20);
    for (int i = 0; i < tape_op_count(); i++) {
        int found = 0;
        for (int k = 0; k < N_CASES; k++) found += !strcmp(CASES[k].op, tape_op_at(i)->name);
        if (!found) print_error("no case for %s\n", tape_op_at(i)->name);
        assert_true(found > 0);
    }
}

/* ---------------------------------------------------------------- values, by another road than the code's */

/* KL by its definition with dense S = R R': 1/2 (tr S + m'm - M - log det S) */
static void kl_white_equals_the_dense_formula(void **state)
{
    (void)state;
    enum { M = 4 };
    double m[M], R[M * M], trace_S = 0, mm = 0;
    real S[M * M] = {0};
    fill_normal(1, M, m);
    fill_normal(2, M * M, R);
    for (int j = 0; j < M; j++)
        for (int i = 0; i < M; i++)
            for (int k = 0; k <= (i < j ? i : j); k++) S[i + j * M] += (real)R[i + k * M] * R[j + k * M];
    for (int i = 0; i < M; i++) trace_S += (double)S[i * (M + 1)], mm += m[i] * m[i];
    double logdet_S = (double)dense_invert(M, S);
    tape *t = tape_new();
    node *in[] = {tape_constant(t, M, 1, m), tape_constant(t, M, M, R)};
    check_close(tape_value(kl_white(t, in)), 0.5 * (trace_S + mm - M - logdet_S), 1e-10);
    tape_free(t);
}

static void factor_solves_undo_products(void **state)
{
    (void)state;
    enum { M = 6, C = 3 };
    double A[M * M], B[M * C];
    fill_normal(1, M * M, A);
    fill_normal(2, M * C, B);
    tape *t = tape_new();
    node *L = tape_cholesky(t, symmetric(t, tape_constant(t, M, M, A))), *X = tape_constant(t, M, C, B);
    node *back = tape_solve_lower(t, L, tape_gemm(t, LA_N, L, LA_N, X));
    for (int i = 0; i < M * C; i++) check_close(back->value[i], B[i], 1e-12);
    for (int j = 1; j < M; j++) assert_true(L->value[(j - 1) + j * M] == 0);
    tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_of_the_table_has_a_case),
        cmocka_unit_test(every_operation_has_the_gradient_of_its_value),
        cmocka_unit_test(kl_white_equals_the_dense_formula),
        cmocka_unit_test(factor_solves_undo_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
