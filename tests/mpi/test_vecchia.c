/* Vecchia's approximation over the ranks of this run against the same on each rank alone. */
#include "support.h"

#include "model/model.h"

enum { N = 400, D = 2, FREE_MOST = 16 };

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

static double evaluate(fixture *f, const comm *c, double *gradient)
{
    problem p = {.rows = &f->rows, .mean = &f->mean, .comm = c, .near = {.learn = 6}};
    void *state;
    anygp_error e;
    double value, jitter = 0;
    assert_int_equal(model_vecchia.open(&model_vecchia, &p, &f->h, &state, &e), ANYGP_OK);
    assert_true(model_vecchia.evaluate(state, &f->h, false, &jitter, &value, gradient));
    model_vecchia.close(state);
    return value;
}

static void evidence_over_ranks_is_that_of_one(void **unused)
{
    (void)unused;
    for (mean_kind mean = MEAN_ZERO; mean <= MEAN_LINEAR; mean++) {
        fixture f;
        double one[FREE_MOST], all[FREE_MOST];
        setup(&f, mean);
        double alone = evaluate(&f, comm_self(), one);
        check_close(evaluate(&f, comm_world(), all), alone, 1e-10);
        for (int64_t i = 0; i < f.h.count; i++) check_close(all[i], one[i], 1e-10);
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
