/* Inducing inputs that join a run of svgp or ivsgpr: the process stays what it is at that moment, and a run goes on from a checkpoint. */
#include "chain_stage.h"
#include "shelf.h"

#include "model/variational/svgp_state.h"

enum { LATENTS = 3, ALL = M + 5 };

typedef struct trial {
    const char *expression, *likelihood;
    int64_t classes;
    mean_kind mean;
} trial;

static const trial trials[] = {{"matern32", "gaussian", 0, MEAN_LINEAR},
                               {SCALED "rbf(ard)", "gaussian", 0, MEAN_ZERO},
                               {"rbf", "softmax", 3, MEAN_CONSTANT},
                               {SCALED "rbf", "poisson", 0, MEAN_CONSTANT}};

typedef struct stage {
    fixture f;
    likelihood like;
    double y[ROWS];
    const model_ops *model;
    void *state;
} stage;

static void set_stage(stage *g, const model_ops *model, const trial *v)
{
    *g = (stage){.model = model};
    stage_rows(&g->f, &g->like, g->y, v->expression, v->likelihood, v->classes, v->mean, true);
    g->f.p.subset = ALL;
}

static void open_stage(stage *g)
{
    anygp_error e;
    assert_int_equal(g->model->open(g->model, &g->f.p, &g->f.h, &g->state, &e), ANYGP_OK);
    assert_int_equal(g->model->steps->begin(g->state, &g->f.h, 1e-8, &e), ANYGP_OK);
}

static void clear_stage(stage *g)
{
    g->model->close(g->state);
    teardown(&g->f, &model_dtc);
}

static void take_steps(stage *g, int64_t from, int64_t to)
{
    anygp_error e;
    double value;
    for (int64_t t = from; t < to; t++) {
        int64_t which[] = {t % BLOCKS, (t + 1) % BLOCKS};
        step_context c = {
            .seed = 3, .t = t, .count = 2, .which = which, .scale = 2, .rho = 0.4, .rate = 0.02, .learn = true};
        assert_int_equal(g->model->steps->step(g->state, &g->f.h, &c, &value, &e), ANYGP_OK);
        assert_true(isfinite(value));
    }
}

typedef struct answer {
    double mean[NEW * LATENTS], variance[NEW * LATENTS], bound;
    int64_t latents;
} answer;

static answer ask(stage *g)
{
    answer a;
    anygp_error e;
    posterior *p = NULL;
    double jitter;
    assert_int_equal(g->model->steps->bound(g->state, &g->f.h, &a.bound, &e), ANYGP_OK);
    assert_int_equal(g->model->steps->posteriors(g->state, &g->f.h, &jitter, &p, &e), ANYGP_OK);
    assert_true(jitter == 1e-8 && p->n == g->f.h.M);
    double *work = calloc((size_t)p->ops->work_doubles(p, NEW), sizeof *work);
    assert_int_equal(p->ops->marginal(p, NEW, g->f.new, D, work, a.mean, a.variance, &e), ANYGP_OK);
    a.latents = p->latents > 0 ? p->latents : 1;
    free(work);
    p->ops->free(p);
    return a;
}

static void predictions_stay_when_inducing_inputs_join(const model_ops *model, const trial *v)
{
    stage g;
    anygp_error e;
    set_stage(&g, model, v);
    open_stage(&g);
    take_steps(&g, 0, 5);
    answer before = ask(&g);
    g.f.p.grow = ALL;
    assert_int_equal(svgp_grow(g.state, &g.f.h, &(step_context){.seed = 3, .t = 5, .scale = 1}, &e), ANYGP_OK);
    assert_int_equal(g.f.h.M, ALL);
    answer after = ask(&g);
    for (int64_t i = 0; i < NEW * before.latents; i++) {
        check_close(after.mean[i], before.mean[i], 1e-9);
        check_close(after.variance[i], before.variance[i], 1e-9);
    }
    check_close(after.bound, before.bound, 1e-9 * fmax(1, fabs(before.bound)));
    take_steps(&g, 5, 8); /* and then they move */
    answer later = ask(&g);
    assert_true(isfinite(later.bound) && fabs(later.mean[0] - after.mean[0]) > 1e-6);
    clear_stage(&g);
}

static void the_process_stays_when_inducing_inputs_join(void **unused)
{
    (void)unused;
    const model_ops *const models[] = {&model_svgp, &model_ivsgpr};
    for (int m = 0; m < 2; m++)
        for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
            predictions_stay_when_inducing_inputs_join(models[m], &trials[i]);
}

/* Four more with each step: 8 after the second, 11 after the third. */
static void a_growing_run_goes_on_from_a_checkpoint_with_the_same_bits(void **unused)
{
    (void)unused;
    stage whole, resumed;
    anygp_error e;
    set_stage(&whole, &model_ivsgpr, &trials[1]), set_stage(&resumed, &model_ivsgpr, &trials[1]);
    whole.f.p.grow = resumed.f.p.grow = 4;
    open_stage(&whole);
    take_steps(&whole, 0, 2);
    assert_int_equal(whole.f.h.M, 8);
    shelf k = shelf_of(whole.model, whole.state);
    assert_int_equal(hyper_set_inducing(&resumed.f.h, 8, D, whole.f.h.Z, true, &e), ANYGP_OK);
    open_stage(&resumed);
    assert_true(resumed.model->steps->restore(resumed.state, &resumed.f.h, k.c));
    take_steps(&whole, 2, 6), take_steps(&resumed, 2, 6);
    assert_true(whole.f.h.M == ALL && resumed.f.h.M == ALL);
    shelf x = shelf_of(whole.model, whole.state), y = shelf_of(resumed.model, resumed.state);
    shelf_check_same(&x, &y);
    shelf_clear(&k), shelf_clear(&x), shelf_clear(&y);
    clear_stage(&whole), clear_stage(&resumed);
}

/* A step that is tried again adds no more than its share, and no place twice. */
static void a_step_adds_its_share_once_and_no_place_twice(void **unused)
{
    (void)unused;
    stage g;
    anygp_error e;
    set_stage(&g, &model_svgp, &trials[0]);
    g.f.p.grow = 4, g.f.p.subset = 100;
    open_stage(&g);
    for (int attempt = 0; attempt < 3; attempt++)
        assert_int_equal(svgp_grow(g.state, &g.f.h, &(step_context){.seed = 3, .t = 2, .scale = 1}, &e), ANYGP_OK);
    assert_int_equal(g.f.h.M, 12);
    assert_int_equal(svgp_grow(g.state, &g.f.h, &(step_context){.seed = 3, .t = 50, .scale = 1}, &e), ANYGP_OK);
    assert_int_equal(g.f.h.M, M + ROWS);
    clear_stage(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_process_stays_when_inducing_inputs_join),
        cmocka_unit_test(a_growing_run_goes_on_from_a_checkpoint_with_the_same_bits),
        cmocka_unit_test(a_step_adds_its_share_once_and_no_place_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
