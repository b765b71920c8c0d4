/* What every model of the table says of its objective, by differences (model_scene.h): gradients of models that learn by evaluate
   and of anytime bounds in all natural parameters; which way the steps of the others lead.  And train() with tables
   that lack their optional entries.

   What is not looked at here: the size of the gradients that steps take, which step_ops does not show, and the parameters of
   q.  test_svgp.c and test_svdgp.c, test_svdgp_steps.c have these, all against differences.  A combination
   (no_learning) is never asked for a gradient: test_combine.c has its objective. */
#include "model_scene.h"

typedef void scene_check(const model_ops *m, const scene_kind *kind);

static void check_kinds(const model_ops *m, void *ctx)
{
    scene_check *const *check = ctx;
    for (int k = 0; k < SCENE_KINDS; k++) (*check)(m, &scene_kinds[k]);
}

static void for_each_scene(scene_check *check) { for_each_model(check_kinds, &check); }

/* ------------------------------------------------------------------------------------------- gradients */

static double objective(scene *s) { return scene_objective(s, NULL); }

static void check_gradient(scene *s, const double *gradient, double (*value)(scene *s), const char *what)
{
    for (int64_t i = 0; i < hyper_size(&s->h); i++) {
        char name[96];
        snprintf(name, sizeof name, "%s, %s, natural parameter %d of %d", s->model->name, what, (int)i,
                 (int)hyper_size(&s->h));
        check_close_at(gradient[i], scene_slope(s, i, value), 1e-6, name, __FILE__, __LINE__);
    }
}

static void objective_has_its_gradient(const model_ops *m, const scene_kind *kind)
{
    scene s;
    double gradient[SIZE_MOST];
    assert_true(by_steps(m) || m->evaluate); /* every model learns in one of the ways */
    if (by_steps(m)) return;
    scene_open(&s, m, kind);
    double value = objective(&s);
    assert_true(isfinite(value));
    if (learns(m)) {
        check_close(scene_objective(&s, gradient), value, 1e-12);
        check_gradient(&s, gradient, objective, "objective");
    }
    scene_close(&s);
}

static void gradients_of_objectives_equal_central_differences(void **unused)
{
    (void)unused;
    for_each_scene(objective_has_its_gradient);
}

/* The search for a start climbs by the exact model with the hyperparameters of any other, whose inducing inputs may be given, and
   learned: those have a gradient too, of nothing. */
static void has_no_slope_in_places(const model_ops *m, const scene_kind *kind)
{
    scene s;
    double gradient[SIZE_MOST];
    anygp_error e;
    if (has_inducing(m) || by_steps(m)) return;
    scene_open(&s, m, kind);
    assert_int_equal(hyper_set_inducing(&s.h, M, D, s.Z, true, &e), ANYGP_OK);
    for (int i = 0; i < SIZE_MOST; i++) gradient[i] = NAN;
    scene_objective(&s, gradient);
    check_gradient(&s, gradient, objective, "objective of rows alone");
    scene_close(&s);
}

static void models_without_inducing_inputs_have_no_slope_in_them(void **unused)
{
    (void)unused;
    for_each_scene(has_no_slope_in_places);
}

static fixed_q q; /* of the scene at hand */

static double bound_at_q(scene *s) { return scene_bound_at(s, &q, NULL); }

static void anytime_bound_has_its_gradient(const model_ops *m, const scene_kind *kind)
{
    scene s;
    double gradient[SIZE_MOST];
    if (!m->anytime) return;
    scene_open(&s, m, kind);
    q = some_q(&s);
    double value = bound_at_q(&s);
    assert_true(isfinite(value));
    if (learns(m)) {
        check_close(scene_bound_at(&s, &q, gradient), value, 1e-12);
        check_gradient(&s, gradient, bound_at_q, "anytime bound");
    }
    scene_close(&s);
}

static void gradients_of_anytime_bounds_at_a_fixed_q_equal_central_differences(void **unused)
{
    (void)unused;
    for_each_scene(anytime_bound_has_its_gradient);
}

/* ----------------------------------------------------------------------------------------------- steps */

/* At free parameters u and the q of the shelf. */
static void slopes_of_the_bound(scene *s, const shelf *k, const double *u, double *slope)
{
    double moved[SIZE_MOST];
    for (int64_t i = 0; i < s->h.free; i++) {
        memcpy(moved, u, (size_t)s->h.free * sizeof *moved);
        moved[i] = u[i] + 1e-5;
        double up = scene_bound(s, k, moved);
        moved[i] = u[i] - 1e-5;
        slope[i] = (up - scene_bound(s, k, moved)) / 2e-5;
    }
}

/* Adam's first step has the sign of the gradient and its rate as size, whatever the gradient's: it has to lead to where bound
   and prior rise, in each free parameter in which they do so to speak of.  q hardly moves with it. */
static void first_step_leads_uphill(const model_ops *m, const scene_kind *kind)
{
    enum { SETTLED = 40 };
    static const double rate = 1e-7, rho = 1e-7;
    scene s;
    double before[SIZE_MOST], after[SIZE_MOST], slope[SIZE_MOST], largest = 0;
    if (!by_steps(m) || m->needs.kept) return;
    scene_open(&s, m, kind);
    scene_begin(&s);
    for (int64_t t = 0; t < SETTLED; t++) scene_step(&s, t, 0.5, 1e-2, false);
    shelf k = scene_save(&s);
    hyper_pack(&s.h, before);
    slopes_of_the_bound(&s, &k, before, slope);
    for (int64_t i = 0; i < s.h.free; i++) largest = fmax(largest, fabs(slope[i]));
    scene_restore(&s, &k);
    scene_step(&s, m->steps->sampled ? 0 : SETTLED, rho, rate, true); /* with the draws of the bound */
    hyper_pack(&s.h, after);
    for (int64_t i = 0; i < s.h.free; i++)
        if (fabs(slope[i]) > 1e-3 * largest && !((after[i] - before[i]) * slope[i] > 0))
            fail_msg("%s: free parameter %d moves by %g where bound and prior have the slope %g", m->name, (int)i,
                     after[i] - before[i], slope[i]);
    shelf_clear(&k);
    scene_close(&s);
}

static void steps_of_hyperparameters_lead_to_where_bound_and_prior_rise(void **unused)
{
    (void)unused;
    for_each_scene(first_step_leads_uphill);
}

/* ----------------------------------------------------------------------------------- optional entries */

static void check_same_run(const model_ops *m, const char *without, const double *a, const double *b)
{
    if (memcmp(a, b, 2 * NEW * sizeof *a)) fail_msg("%s without %s predicts otherwise", m->name, without);
}

static void runs_without_its_optional_entries(const model_ops *m, const scene_kind *kind)
{
    scene s;
    double whole[2 * NEW], part[2 * NEW];
    train_result r, full;
    model_ops less = *m;
    scene_open(&s, m, kind);
    scene_train(&s, m, false, whole, &full);
    assert_int_equal(full.loo.n > 0, model_has_loo(m));
    assert_true(m->bounds || isnan(full.bounds[0].upper));
    scene_train(&s, m, false, part, &r);
    check_same_run(m, "another clock", whole, part);
    train_result_clear(&r);
    less.loo = NULL, less.loo_after = NULL, less.bounds = NULL, less.failure = NULL, less.seen = NULL,
    less.anytime = NULL, less.update = NULL;
    scene_train(&s, &less, false, part, &r);
    check_same_run(m, "loo, bounds, failure, seen, anytime and update", whole, part);
    assert_int_equal(r.loo.n, 0);
    assert_true(isnan(r.bounds[0].upper) && isnan(r.bounds[0].tighter));
    train_result_clear(&r);
    if (m->start) { /* another start is another run */
        less.start = NULL;
        scene_train(&s, &less, false, part, &r);
        for (int i = 0; i < 2 * NEW; i++) assert_true(isfinite(part[i]));
        train_result_clear(&r);
    }
    train_result_clear(&full);
    scene_close(&s);
}

static void training_does_without_entries_that_a_model_may_lack(void **unused)
{
    (void)unused;
    for_each_scene(runs_without_its_optional_entries);
}

/* In an anytime table absorb, absorbed, sums and start are all there or none. */
static void runs_anytime_without_absorbing(const model_ops *m, const scene_kind *kind)
{
    scene s;
    double out[2 * NEW];
    train_result r;
    if (!m->anytime) return;
    anytime_ops fewer = *m->anytime;
    model_ops less = *m;
    fewer.absorb = NULL, fewer.absorbed = NULL, fewer.sums = NULL, fewer.start = NULL;
    less.anytime = &fewer;
    scene_open(&s, m, kind);
    scene_train(&s, &less, true, out, &r);
    for (int i = 0; i < 2 * NEW; i++) assert_true(isfinite(out[i]));
    train_result_clear(&r);
    scene_close(&s);
}

static void anytime_runs_do_without_absorbing(void **unused)
{
    (void)unused;
    for_each_scene(runs_anytime_without_absorbing);
}

/* The mean over all samples of one block is the objective, and so is its gradient, to rounding. */
static void samples_of_a_sum_have_no_bias(const model_ops *m, const scene_kind *kind)
{
    scene s;
    double value, gradient[SIZE_MOST], mean = 0, slope[SIZE_MOST] = {0};
    anygp_error e = {.text = ""};
    if (!m->sum || (kind->mean != MEAN_ZERO && !m->sum->mean)) return;
    scene_open(&s, m, kind);
    int64_t P = m->sum->blocks(s.state), size = hyper_size(&s.h);
    assert_true(P > 1);
    for (int64_t i = 0; i < P; i++) {
        anygp_status status = m->sum->estimate(s.state, &s.h, scene_jitter, 1, &i, (double)P, &value, gradient, &e);
        if (status != ANYGP_OK) fail_msg("%s: %s", m->name, e.text);
        mean += value / (double)P;
        for (int64_t j = 0; j < size; j++) slope[j] += gradient[j] / (double)P;
    }
    double jitter = scene_jitter;
    assert_true(m->evaluate(s.state, &s.h, false, &jitter, &value, gradient));
    check_close(mean, value, 1e-10 * (1 + fabs(value)));
    for (int64_t j = 0; j < size; j++) check_close(slope[j], gradient[j], 1e-9 * (1 + fabs(gradient[j])));
    scene_close(&s);
}

static void estimates_of_sums_over_every_block_average_to_the_objective(void **unused)
{
    (void)unused;
    for_each_scene(samples_of_a_sum_have_no_bias);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_objectives_equal_central_differences),
        cmocka_unit_test(models_without_inducing_inputs_have_no_slope_in_them),
        cmocka_unit_test(gradients_of_anytime_bounds_at_a_fixed_q_equal_central_differences),
        cmocka_unit_test(steps_of_hyperparameters_lead_to_where_bound_and_prior_rise),
        cmocka_unit_test(training_does_without_entries_that_a_model_may_lack),
        cmocka_unit_test(anytime_runs_do_without_absorbing),
        cmocka_unit_test(estimates_of_sums_over_every_block_average_to_the_objective),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
