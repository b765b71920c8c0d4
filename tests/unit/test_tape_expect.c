/* The expected log likelihood on the tape: a multiple of it, against central differences in all that it depends on. */
#include "support.h"

#include <string.h>

#include "likelihood/tape_expect.h"

enum { ROWS = 5, LATENTS_MOST = 2, PARAMS_MOST = 4, SIZE = PARAMS_MOST + 2 * ROWS * LATENTS_MOST };

typedef struct trial {
    tape *t;
    likelihood l;
    double Y[ROWS], w[ROWS];
} trial;

static node *record(trial *r, const double *x, node *in[3])
{
    int64_t C = r->l.latents;
    tape_reset(r->t);
    in[0] = tape_variable(r->t, r->l.params, 1, x);
    in[1] = tape_variable(r->t, ROWS, C, x + PARAMS_MOST);
    in[2] = tape_variable(r->t, ROWS, C, x + PARAMS_MOST + ROWS * C);
    return tape_scale(
        r->t, tape_expect(r->t, &r->l, in[0], &(expect_rows){.n = ROWS, .Y = r->Y, .w = r->w}, in[1], in[2]), -2.5);
}

static double value_at(void *ctx, const double *x)
{
    node *in[3];
    return tape_value(record(ctx, x, in));
}

static void check_gradient(trial *r)
{
    double x[SIZE], g[SIZE] = {0};
    int64_t C = r->l.latents, all = PARAMS_MOST + 2 * ROWS * C;
    node *in[3];
    anygp_error e;
    fill_normal(1, SIZE, x);
    memcpy(x, r->l.value, (size_t)r->l.params * sizeof *x);
    for (int64_t i = all - ROWS * C; i < all; i++) x[i] = 0.2 + fabs(x[i]);
    for (int64_t i = 0; i < r->l.params; i++) r->l.value[i] = NAN; /* those of the node count */
    node *f = record(r, x, in);
    assert_int_equal(tape_backward(r->t, f, &e), ANYGP_OK);
    memcpy(g, tape_adjoint(in[0]), (size_t)r->l.params * sizeof *g);
    memcpy(g + PARAMS_MOST, tape_adjoint(in[1]), (size_t)(ROWS * C) * sizeof *g);
    memcpy(g + PARAMS_MOST + ROWS * C, tape_adjoint(in[2]), (size_t)(ROWS * C) * sizeof *g);
    for (int64_t i = 0; i < all; i++)
        if (i < r->l.params || i >= PARAMS_MOST) check_close(g[i], central_difference(value_at, r, x, i, 1e-5), 1e-6);
}

static void expectations_have_the_gradient_of_their_value(void **state)
{
    (void)state;
    const char *names[] = {"gaussian", "studentt", "poisson", "heteroscedastic"};
    trial r = {.t = tape_new()};
    anygp_error e;
    for (int i = 0; i < ROWS; i++) r.Y[i] = i % 3, r.w[i] = 1 + 0.5 * i;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(likelihood_parse(names[i], &r.l, &e), ANYGP_OK);
        assert_int_equal(likelihood_open(&r.l, 0, false, &e), ANYGP_OK);
        assert_true(r.l.params <= PARAMS_MOST && r.l.latents <= LATENTS_MOST);
        check_gradient(&r);
    }
    tape_free(r.t);
}

static void shapes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    trial r = {.t = tape_new()};
    double x[ROWS] = {1, 1, 1, 1, 1};
    anygp_error e;
    assert_int_equal(likelihood_with_noise(1, &r.l, &e), ANYGP_OK);
    node *p = tape_constant(r.t, 1, 1, x), *mu = tape_variable(r.t, ROWS, 1, x), *var = tape_constant(r.t, 2, 1, x);
    tape_expect(r.t, &r.l, p, &(expect_rows){.n = ROWS, .Y = r.Y, .w = r.w}, mu, var);
    assert_int_equal(tape_status(r.t, &e), ANYGP_ERR_INTERNAL);
    assert_string_equal(e.text, "the operands of expect do not fit: 2 x 1 instead of 5 numbers");
    tape_free(r.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expectations_have_the_gradient_of_their_value),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
