/* Vecchia's approximation over the ranks of this run against the same on each rank alone. */
#include "support.h"

#include "model/model.h"

enum { N = 400, D = 2, PLACES = 5, FREE_MOST = 32 };

typedef struct fixture {
    basis mean;
    hyper h;
    merged rows;
    double X[N * D], y[N], c[N];
} fixture;

static void setup(fixture *f, mean_kind mean)
{
    input_spec columns[D] = {{.number = 0, .position = 0, .scale = 1}, {.number = 1, .position = 1, .scale = 1}};
    schema s = {.inputs = D, .D = D, .input = columns, .y_scale = 1};
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    *f = (fixture){0};
    fill_normal(1, N * D, f->X);
    fill_normal(2, N, f->y);
    for (int i = 0; i < N; i++) f->c[i] = 1 + i % 2, f->rows.total += f->c[i];
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse("matern32(lengthscale=[0.7,1.3])", in, D, D, &k, &e), ANYGP_OK);
    assert_int_equal(hyper_init(&f->h, k, 0.07, false, false, true, &e), ANYGP_OK);
    assert_int_equal(basis_init(&f->mean, mean, &s, 2.5, &e), ANYGP_OK);
    f->rows.n = N, f->rows.D = D, f->rows.X = f->X, f->rows.y = f->y, f->rows.c = f->c, f->rows.SS = 1.7;
}

static double evaluate(const model_ops *m, fixture *f, const comm *c, double *gradient)
{
    problem p = {.rows = &f->rows, .mean = &f->mean, .comm = c, .near = {.learn = 6}};
    void *state;
    anygp_error e;
    double value, jitter = 0;
    assert_int_equal(m->open(m, &p, &f->h, &state, &e), ANYGP_OK);
    assert_true(m->evaluate(state, &f->h, false, &jitter, &value, gradient));
    m->close(state);
    return value;
}

static void check_ranks(const model_ops *m, fixture *f)
{
    double one[FREE_MOST], all[FREE_MOST], alone = evaluate(m, f, comm_self(), one);
    int64_t size = model_has_inducing(m) ? hyper_size(&f->h) : f->h.count;
    check_close(evaluate(m, f, comm_world(), all), alone, 1e-10);
    for (int64_t i = 0; i < size; i++) check_close(all[i], one[i], 1e-10);
}

/* Without inducing inputs and with. */
static void evidence_over_ranks_is_that_of_one(void **unused)
{
    (void)unused;
    for (mean_kind mean = MEAN_ZERO; mean <= MEAN_LINEAR; mean++) {
        fixture f;
        anygp_error e;
        setup(&f, mean);
        check_ranks(&model_vecchia, &f);
        assert_int_equal(hyper_set_inducing(&f.h, PLACES, D, f.X, true, &e), ANYGP_OK);
        check_ranks(model_vecchia.with_inducing, &f);
        basis_clear(&f.mean);
        hyper_clear(&f.h);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(evidence_over_ranks_is_that_of_one)};
    anygp_error e = {0};
    if (ANYGP_FAILED(comm_world_begin(&argc, &argv, &e))) return fprintf(stderr, "%s\n", e.text), 1;
    if (comm_world()->rank > 0 && !freopen("/dev/null", "w", stdout)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    comm_world_end();
    return failed;
}
