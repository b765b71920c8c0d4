/* Partitions that the evidence asks for: a change of regime is found where it is, and nothing is cut where there is none. */
#include <string.h>

#include "data/table/dataset.h"
#include "fit_support.h"
#include "run/treed.h"

enum { N = 160, D = 2 };

typedef struct scene {
    double X[N * D], y[N], w[N];
    input_spec columns[D];
    dataset data;
    merged rows;
    basis mean;
    hyper h;
    problem p;
} scene;

/* A function of the second input: slow with little noise, and from 0.3 on, if it changes, fast with much. */
static void scene_open(scene *s, bool two_regimes)
{
    const kernel_input in[D] = {{NULL, 0, INPUT_NUMBER, 0}, {NULL, 1, INPUT_NUMBER, 1}};
    const double sd_x[D] = {0.6, 0.6};
    double noise[N];
    kernel *k;
    anygp_error e;
    *s = (scene){.mean = {.kind = MEAN_ZERO}};
    random_stream r = {.seed = 42, .use = RANDOM_TEST, .sub = 70};
    fill_normal(71, N, noise);
    for (int i = 0; i < N; i++) {
        double *x = s->X + i * D;
        x[0] = 2 * random_uniform(r, (uint64_t)(2 * i)) - 1, x[1] = 2 * random_uniform(r, (uint64_t)(2 * i + 1)) - 1;
        bool fast = two_regimes && x[1] > 0.3;
        s->y[i] = fast ? sin(40 * x[1]) + 0.5 * noise[i] : sin(3 * x[1]) + 0.02 * noise[i];
        s->w[i] = 1;
    }
    for (int j = 0; j < D; j++) s->columns[j] = (input_spec){.number = j, .position = j, .scale = 1};
    s->data = (dataset){.schema = {.inputs = D, .D = D, .input = s->columns, .y_scale = 1},
                        .n = N,
                        .D = D,
                        .X = s->X,
                        .y = s->y,
                        .w = s->w,
                        .Q = 1,
                        .targets = 1};
    assert_int_equal(dataset_merge(&s->data, true, &s->rows, &e), ANYGP_OK);
    assert_int_equal(kernel_parse("rbf", in, D, D, &k, &e), ANYGP_OK);
    assert_int_equal(hyper_init(&s->h, k, NAN, false, false, true, &e), ANYGP_OK);
    hyper_defaults(&s->h, sd_x, 1);
    s->p = (problem){.rows = &s->rows, .mean = &s->mean, .comm = comm_self()};
}

static void scene_close(scene *s)
{
    merged_clear(&s->rows);
    hyper_clear(&s->h);
}

static router *cut(const scene *s, int64_t cap, double most, treed_report *report)
{
    router *r;
    anygp_error e;
    const treed_options o = {.cap = cap, .most = most};
    if (treed_cuts(&s->p, &s->h, &o, &r, report, &e)) fail_msg("%s", e.text);
    return r;
}

/* By a fit of its own. */
static double evidence_of(const scene *s, const int64_t *block, int64_t which)
{
    static double X[N * D], y[N];
    int64_t n = 0;
    char *text;
    anygp_error e;
    for (int i = 0; i < N; i++) {
        if (which >= 0 && block[i] != which) continue;
        memcpy(X + n * D, s->X + i * D, D * sizeof *X);
        y[n++] = s->y[i];
    }
    const char *pairs[] = {"model", "exact", "kernel", "rbf", "standardize", "none", "prior", "none", NULL};
    anygp_model *m = fit_arrays(n, D, X, y, NULL, pairs);
    assert_int_equal(anygp_info(m, 1, &text, &e), ANYGP_OK);
    double value = strtod(strstr(text, "\"value\": ") + strlen("\"value\": "), NULL);
    anygp_text_free(text);
    anygp_model_free(m);
    return value;
}

static void a_change_of_regime_is_found_where_it_is(void **unused)
{
    (void)unused;
    scene s;
    treed_report report;
    int64_t block[N], wrong = 0;
    scene_open(&s, true);
    router *r = cut(&s, N, INFINITY, &report), *again = cut(&s, N, INFINITY, &report);
    assert_int_equal(router_blocks(r), 2);
    assert_int_equal(report.made, 1);
    assert_false(report.ended);
    assert_int_equal(router_route(r, N, s.X, D, block, NULL), ANYGP_OK);
    for (int i = 0; i < N; i++) wrong += block[i] != (s.X[i * D + 1] > 0.3);
    assert_true(wrong <= 4);
    assert_true(evidence_of(&s, block, 0) + evidence_of(&s, block, 1) > evidence_of(&s, block, -1) + 20);
    int64_t rows, cols;
    const double *a = router_values(r, &rows, &cols);
    assert_memory_equal(a, router_values(again, &rows, &cols), (size_t)(rows * cols) * sizeof *a);
    router_free(again);
    router_free(r);
    scene_close(&s);
}

static void one_regime_is_not_cut(void **unused)
{
    (void)unused;
    scene s;
    treed_report report;
    scene_open(&s, false);
    router *r = cut(&s, N, INFINITY, &report);
    assert_int_equal(router_blocks(r), 1);
    assert_true(report.judged == 1 && report.made == 0);
    router_free(r);
    scene_close(&s);
}

/* Parts that are too large are cut in any case; without time they are left to whoever makes the blocks. */
static void no_part_is_larger_than_the_cap(void **unused)
{
    (void)unused;
    enum { CAP = 60 };
    scene s;
    treed_report report;
    int64_t block[N], size[N] = {0};
    scene_open(&s, false);
    router *r = cut(&s, CAP, INFINITY, &report);
    assert_true(router_blocks(r) >= 3);
    assert_int_equal(router_route(r, N, s.X, D, block, NULL), ANYGP_OK);
    for (int i = 0; i < N; i++) size[block[i]]++;
    for (int i = 0; i < N; i++) assert_true(size[i] <= CAP);
    router_free(r);
    r = cut(&s, CAP, 0, &report);
    assert_true(router_blocks(r) == 1 && report.ended);
    router_free(r);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_change_of_regime_is_found_where_it_is),
                                       cmocka_unit_test(one_regime_is_not_cut),
                                       cmocka_unit_test(no_part_is_larger_than_the_cap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
