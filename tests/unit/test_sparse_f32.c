/* The sparse models with rows in float against the same in double, and what they say of the difference. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/model.h"
#include "model/sparse/sparse.h"

enum { ROWS = 700, D = 3, BLOCKS = 4, M = 40, MOST = 2 + M * D + 20 };

static double X[ROWS * D], Y[2 * ROWS], w[ROWS], Z[M * D];
static int64_t start[BLOCKS + 1];

typedef struct scene {
    const char *kernel;
    double noise, jitter;
    bool weights, mean, keep;
    int64_t targets;
    double offset;   /* of all inputs */
    bool eigenvalue; /* the smallest one of K_uu is the jitter */
} scene;

typedef struct fixture {
    const model_ops *model;
    basis mean;
    hyper h;
    problem p;
    row_blocks *b;
    void *state;
    double jitter;
} fixture;

static void fill(const scene *c)
{
    fill_normal(1, ROWS * D, X);
    fill_normal(2, 2 * ROWS, Y);
    fill_normal(3, M * D, Z);
    for (int i = 0; i < ROWS; i++) {
        w[i] = c->weights ? 1 + i % 3 : 1;
        for (int64_t t = 0; t < c->targets; t++)
            Y[i * c->targets + t] = sin(X[i * D] + (double)t) + 0.3 * Y[i * c->targets + t];
    }
    for (int i = 0; i < ROWS * D; i++) X[i] += c->offset;
    for (int i = 0; i < M * D; i++) Z[i] += c->offset;
    for (int i = 0; i <= BLOCKS; i++) start[i] = ROWS * i / BLOCKS;
}

static void setup(fixture *f, const model_ops *model, const scene *c, bool mixed)
{
    input_spec columns[D];
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    for (int j = 0; j < D; j++) {
        columns[j] = (input_spec){.number = j, .position = j, .scale = 1};
        in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    }
    schema s = {.inputs = D, .D = D, .input = columns, .y_scale = 1};
    *f = (fixture){.model = model, .jitter = c->jitter};
    fill(c);
    assert_int_equal(kernel_parse(c->kernel, in, D, D, &k, &e), ANYGP_OK);
    assert_int_equal(hyper_init(&f->h, k, c->noise, false, false, true, &e), ANYGP_OK);
    if (c->targets > 1) {
        likelihood l;
        assert_int_equal(likelihood_parse("gaussian", &l, &e), ANYGP_OK);
        assert_int_equal(hyper_set_likelihood(&f->h, &l, c->targets, false, &e), ANYGP_OK);
        for (int64_t t = 0; t < c->targets; t++) f->h.like[t] = c->noise * (double)(1 + t);
    }
    assert_int_equal(hyper_set_inducing(&f->h, M, D, Z, true, &e), ANYGP_OK);
    assert_int_equal(basis_init(&f->mean, c->mean ? MEAN_LINEAR : MEAN_ZERO, &s, 2.5, &e), ANYGP_OK);
    assert_int_equal(blocks_of_arrays(BLOCKS, start, D, c->targets, X, Y, w, &f->b, &e), ANYGP_OK);
    f->p = (problem){.mean = &f->mean,
                     .blocks = f->b,
                     .comm = comm_self(),
                     .keep = c->keep ? 1e8 : 0,
                     .targets = c->targets,
                     .mixed = mixed};
    assert_int_equal(model->open(model, &f->p, &f->h, &f->state, &e), ANYGP_OK);
}

static void teardown(fixture *f)
{
    f->model->close(f->state);
    blocks_free(f->b);
    basis_clear(&f->mean);
    hyper_clear(&f->h);
}

static bool evaluate(fixture *f, double *value, double *gp)
{
    assert_true(hyper_size(&f->h) <= MOST);
    return f->model->evaluate(f->state, &f->h, false, &f->jitter, value, gp);
}

static float_error measured(fixture *f)
{
    float_error error;
    assert_int_equal(f->model->floats->measure(f->state, &f->h, f->jitter, &error, NULL), ANYGP_OK);
    return error;
}

static const model_ops *const models[] = {&model_sor, &model_dtc,  &model_fitc, &model_fic,
                                          &model_vfe, &model_pitc, &model_pic,  &model_pep};
enum { MODELS = sizeof models / sizeof *models };

static const scene plain[] = {{"rbf", 0.1, 1e-5, false, false, true, 1, 0, false},
                              {"rbf", 0.01, 1e-3, true, true, false, 1, 0, true},
                              {"matern52", 0.1, 1e-6, true, false, true, 1, 0, false},
                              {"matern12(iso)", 0.1, 1e-6, false, false, false, 1, 1e5, false},
                              {"rq + linear", 0.1, 1e-6, false, false, true, 1, 0, false},
                              {"wendland2*matern32 + white", 0.1, 1e-6, false, false, false, 1, 0, false},
                              {"periodic", 0.2, 1e-6, true, false, true, 1, 0, false}};
enum { PLAIN = sizeof plain / sizeof *plain };

/* Errors per row are inverse to the noise, and to the smallest eigenvalue of K_uu, which the jitter bounds for rbf: of the value, of slopes in the logarithms of parameters, and in places of inducing inputs, whose
   covariances are divided by the factor of K_uu once more. */
static void check_case(const model_ops *model, const scene *c)
{
    fixture whole, narrow;
    double value[2], gp[2][MOST], natural[MOST], unit = ROWS / c->noise;
    setup(&whole, model, c, false);
    setup(&narrow, model, c, true);
    assert_true(model->floats->on(narrow.state) && !model->floats->on(whole.state));
    assert_true(evaluate(&whole, &value[0], gp[0]) && evaluate(&narrow, &value[1], gp[1]));
    if (!(fabs(value[0] - value[1]) < 1e-6 * unit))
        fail_msg("%s %s: %.17g %.17g", model->name, c->kernel, value[0], value[1]);
    assert_true(value[0] != value[1]); /* it is in float */
    hyper_natural(&whole.h, natural);
    for (int64_t i = 0; i < hyper_size(&whole.h); i++) {
        double p = i < whole.h.count ? natural[i] : 0.1, error = fabs(p * (gp[0][i] - gp[1][i]));
        if (!(error < 1e-5 * unit))
            fail_msg("%s %s %d: %.17g %.17g", model->name, c->kernel, (int)i, gp[0][i], gp[1][i]);
    }
    /* The sample is all there is: its error is that of the whole, to first order.  Where roundings of both signs leave little of that, the
       second order shows: M features a row, off by 2^-24 over the root of K_uu's smallest eigenvalue, squared over the noise. */
    double second = c->eigenvalue ? 4 * M * pow(2, -48) / (c->jitter * c->noise) : 1e-8;
    float_error said = measured(&narrow);
    double error = (value[1] - value[0]) / whole.b->total;
    if (!(fabs(said.value - fabs(error)) < 0.01 * fabs(error) + second && said.slope < 1e-5 * unit / ROWS))
        fail_msg("%s %s: said %g and %g, is %g", model->name, c->kernel, said.value, said.slope, error);
    teardown(&whole);
    teardown(&narrow);
}

static void value_and_gradient_are_those_of_double(void **state)
{
    (void)state;
    for (int i = 0; i < MODELS; i++)
        for (int j = 0; j < PLAIN; j++) check_case(models[i], &plain[j]);
}

static void several_targets_too(void **state)
{
    static const scene two = {"rbf", 0.1, 1e-5, true, true, true, 2, 0, false};
    (void)state;
    check_case(&model_vfe, &two);
}

/* Hardly any noise, length-scales beyond all inputs, no jitter to speak of: it says so, and in double it is double. */
static void where_float_is_not_enough_it_is_measured(void **state)
{
    static const scene bad = {"rbf(lengthscale=8)", 1e-8, 1e-12, false, false, true, 1, 0, false};
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        fixture whole, narrow;
        double value[2], gp[2][MOST];
        setup(&whole, models[i], &bad, false);
        setup(&narrow, models[i], &bad, true);
        if (evaluate(&narrow, &value[1], gp[1])) assert_true(isfinite(value[1]));
        assert_true(measured(&narrow).value > ROUNDING_MOST);
        narrow.model->floats->leave(narrow.state);
        assert_false(narrow.model->floats->on(narrow.state));
        assert_true(evaluate(&whole, &value[0], gp[0]) && evaluate(&narrow, &value[1], gp[1]));
        assert_true(value[0] == value[1] && narrow.model->floats->value(narrow.state) == value[1]);
        assert_memory_equal(gp[0], gp[1], (size_t)hyper_size(&whole.h) * sizeof(double));
        teardown(&whole);
        teardown(&narrow);
    }
}

/* The same point again has the same bits, whatever was measured between. */
static void measuring_changes_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        fixture f;
        double value[2], gp[2][MOST];
        setup(&f, models[i], &plain[0], true);
        assert_true(evaluate(&f, &value[0], gp[0]));
        measured(&f);
        assert_true(evaluate(&f, &value[1], gp[1]) && value[0] == value[1]);
        assert_memory_equal(gp[0], gp[1], (size_t)hyper_size(&f.h) * sizeof(double));
        teardown(&f);
    }
}

/* The bound of the rows is the derivative of the evidence in the statistics: central differences, all of them moved at once. */
static void bound_of_rows_is_the_evidence_to_first_order(void **state)
{
    double jitter = 1e-6;
    (void)state;
    for (int64_t T = 1; T <= 2; T++) {
        scene c = {"rbf", 0.1, 1e-6, true, true, false, T, 0, false};
        fixture f;
        sparse s;
        anygp_error e;
        setup(&f, &model_vfe, &c, false);
        assert_int_equal(sparse_init(&s, KEPT_DIAGONAL, &f.mean, &f.h, f.b->total, &e), ANYGP_OK);
        s.power = 0;
        if (T > 1) assert_int_equal(sparse_share(&s, T, &e), ANYGP_OK);
        s.h = &f.h;
        assert_true(sparse_prepare(&s, &f.h, false, &jitter));
        int64_t size = sparse_rows.stat_size(&s);
        double *stat = malloc((size_t)(4 * size) * sizeof *stat), *some = stat + size, *up = some + size,
               *down = up + size;
        const int64_t first[] = {0};
        driver *d;
        assert_int_equal(driver_open(&sparse_rows, f.b, comm_self(), 0, &d, &e), ANYGP_OK);
        assert_int_equal(driver_stat(d, &s, 0, NULL, 1, stat, &e), ANYGP_OK);
        assert_int_equal(driver_stat(d, &s, 1, first, 1, some, &e), ANYGP_OK);
        double value[2], h = 1e-5;
        for (int64_t i = 0; i < size; i++) up[i] = stat[i] + h * some[i], down[i] = stat[i] - h * some[i];
        assert_true(sparse_evidence_many(&s, up, false, &value[0]) && sparse_evidence_many(&s, down, false, &value[1]));
        assert_true(sparse_evidence_many(&s, stat, true, &(double){0}));
        check_close(sparse_rows_bound(&s, some, false), (value[0] - value[1]) / (2 * h), 1e-6);
        driver_close(d);
        free(stat);
        sparse_clear(&s);
        teardown(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_and_gradient_are_those_of_double),       cmocka_unit_test(several_targets_too),
        cmocka_unit_test(where_float_is_not_enough_it_is_measured),     cmocka_unit_test(measuring_changes_nothing),
        cmocka_unit_test(bound_of_rows_is_the_evidence_to_first_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
