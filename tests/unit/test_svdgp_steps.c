/* svdgp by steps: what they converge to, how they begin, that they can be taken up again. */
#include "shelf.h"
#include "svdgp_runs.h"

/* ------------------------------------------------------------------------------- what is converged to */

static void without_covariance_bases_the_mean_is_kernel_ridge_regression(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v)
    {
        run r;
        double x[D] = {0.3, -0.4}, mean, variance, truth, other;
        run_open(&r, &model_svdgp, v, ROWS, 0);
        for (int t = 0; t < 600; t++) run_step(&r, t, false, false, 0);
        posterior *second, *p = run_posterior(&r, &second);
        predict(p, 1, x, &mean, &variance);
        exact(&r.f, ROWS, r.f.X, r.f.y, v->targets, r.f.w, r.f.h.like[0], x, &truth, &other);
        check_close(mean, truth, 1e-6);
        if (second) {
            predict(second, 1, x, &mean, &variance);
            exact(&r.f, ROWS, r.f.X, r.f.y + 1, v->targets, r.f.w, r.f.h.like[1], x, &truth, &other);
            check_close(mean, truth, 1e-6);
            second->ops->free(second);
        }
        p->ops->free(p);
        run_close(&r);
    }
}

/* Fewer bases than rows, of which every row tells something: the mean of dtc over the bases, by samples and by all rows. */
static void few_bases_have_the_mean_of_dtc(void **unused)
{
    (void)unused;
    for (int all = 0; all < 2; all++) FOR_EACH_CASE(v)
        {
            run r;
            double x[D] = {0.3, -0.4}, mean, variance;
            run_open(&r, &model_svdgp, v, 6, 2);
            for (int t = 0; t < (all ? 4 : 40); t++) run_step(&r, t, all, false, 0);
            const svdgp *s = &r.state->s;
            assert_int_equal(svdgp_Ma(s), 6);
            posterior *second = NULL, *p = run_posterior(&r, &second);
            for (int t = 0; t < v->targets; t++) {
                predict(t ? second : p, 1, x, &mean, &variance);
                check_close(
                    mean,
                    dense_mean(&r.f, ROWS, r.f.X, r.f.y + t, v->targets, r.f.w, r.f.h.like[t], 6, s->alpha.values, x),
                    1e-8);
            }
            p->ops->free(p);
            if (second) second->ops->free(second);
            run_close(&r);
        }
}

/* The bound's full gradient in a and the prior mean's coefficients, at a's of its own: its largest element. */
static double gradient_in_a(run *r, double *in_L)
{
    svdgp at = r->state->s;
    anygp_error e;
    double kl, most = 0;
    at.newton = at.learn = at.places = false, at.gradient = true, at.direction = NULL;
    assert_int_equal(svdgp_prepare(&r->state->s, r->f.h.kernel, r->f.h.likes, r->f.h.like, &e), ANYGP_OK);
    at.coefficient = r->state->s.a.values;
    svdgp_layout o = svdgp_layout_of(&at);
    double *stat = malloc((size_t)o.size * sizeof *stat);
    assert_int_equal(driver_stat(r->state->driver, &at, 0, NULL, 1, stat, &e), ANYGP_OK);
    assert_true(svdgp_head(&at, stat) && svdgp_kl_mean(&at, 0, NULL, 1, &kl, stat, NULL));
    for (int64_t i = 0; i < svdgp_Ma(&at) * at.C; i++) most = fmax(most, fabs(stat[o.a + i]));
    for (int64_t i = 0; i < at.p * at.C; i++) most = fmax(most, fabs(stat[o.trend + i]));
    for (int64_t i = 0; in_L && i < at.C * at.Mt * at.Mt; i++) *in_L = fmax(*in_L, fabs(stat[o.S + i]));
    free(stat);
    return most;
}

/* Also where g is not linear in f and two latents share a likelihood, and with a preconditioner that rests on some bases alone. */
static void newton_steps_end_where_the_bounds_gradient_vanishes(void **unused)
{
    (void)unused;
    const variant pair = {"rbf", MEAN_CONSTANT, true, 1};
    for (int some = 0; some < 2; some++) {
        run r;
        double in_L = 0;
        run_open(&r, &model_svdgp, &pair, some ? 10 : ROWS, 3);
        if (some) r.state->coarse_most = 4;
        for (int t = 0; t < 1500; t++) run_step(&r, t, t > 100, false, 0);
        check_close(gradient_in_a(&r, &in_L), 0, 1e-8);
        check_close(in_L, 0, 1e-6); /* after a natural step of 1 over all rows */
        run_close(&r);
    }
}

static double bound_at(void *ctx, const double *value)
{
    run *r = ctx;
    anygp_error e;
    double bound;
    hyper_set(&r->f.h, (int64_t)value[1], *value);
    assert_int_equal(r->model->steps->bound(r->state, &r->f.h, &bound, &e), ANYGP_OK);
    return bound;
}

static void gradients_in_newton_equal_central_differences_of_the_bound(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v)
    {
        run r;
        anygp_error e;
        run_open(&r, &model_svdgp, v, ROWS, 3);
        for (int t = 0; t < 4; t++) run_step(&r, t, false, false, 0);
        svdgp *s = &r.state->s;
        double kl;
        s->gradient = s->learn = true, s->block.n = s->witness.seats = 0;
        assert_int_equal(svdgp_prepare(s, r.f.h.kernel, r.f.h.likes, r.f.h.like, &e), ANYGP_OK);
        svdgp_layout o = svdgp_layout_of(s);
        double *stat = malloc((size_t)o.size * sizeof *stat);
        assert_int_equal(driver_stat(r.state->driver, s, 0, NULL, 1, stat, &e), ANYGP_OK);
        assert_true(svdgp_head(s, stat) && svdgp_kl_mean(s, 0, NULL, 1, &kl, stat, NULL));
        for (int64_t i = 0; i < r.f.h.count; i++) {
            double x[2] = {hyper_get(&r.f.h, i), (double)i}, slope = central_difference(bound_at, &r, x, 0, 1e-5);
            hyper_set(&r.f.h, i, x[0]);
            check_close(i < s->params ? stat[o.kernel + i] : stat[o.like + i - s->params], slope, 2e-7);
        }
        free(stat);
        run_close(&r);
    }
}

/* With every row a basis of both kinds nothing is lost: the bound is the evidence, the posterior the exact one. */
static void with_all_rows_as_bases_the_posterior_is_exact(void **unused)
{
    (void)unused;
    run r;
    double x[D] = {0.3, -0.4}, mean, variance, truth, other, bound;
    anygp_error e;
    run_open(&r, &model_svdgp, &cases[1], ROWS, ROWS);
    for (int t = 0; t < 3; t++) run_step(&r, t, true, false, 0);
    posterior *p = run_posterior(&r, NULL);
    predict(p, 1, x, &mean, &variance);
    exact(&r.f, ROWS, r.f.X, r.f.y, 1, r.f.w, r.f.h.like[0], x, &truth, &other);
    check_close(mean, truth, 1e-8);
    check_close(variance, other, 1e-5);
    assert_int_equal(r.model->steps->bound(r.state, &r.f.h, &bound, &e), ANYGP_OK);
    assert_true(isfinite(bound));
    p->ops->free(p);
    run_close(&r);
}

/* A smooth kernel, whose K_beta is singular but for its jitter: the step of the covariance still ends at the exact posterior. */
static void a_smooth_kernels_covariance_is_as_exact_as_the_jitter(void **unused)
{
    (void)unused;
    const variant smooth = {"rbf(lengthscale=20,variance=2)", MEAN_ZERO, false, 1};
    run r;
    double mean, variance, truth, other;
    run_open(&r, &model_svdgp, &smooth, ROWS, ROWS);
    r.state->s.jitter = 1e-8;
    for (int t = 0; t < 6; t++) run_step(&r, t, true, false, 0);
    posterior *p = run_posterior(&r, NULL);
    for (int i = 0; i < 4; i++) {
        double x[D] = {0.4 * i - 0.5, 0.2 - 0.3 * i};
        predict(p, 1, x, &mean, &variance);
        exact(&r.f, ROWS, r.f.X, r.f.y, 1, r.f.w, r.f.h.like[0], x, &truth, &other);
        check_close(mean, truth, 1e-6);
        check_close(variance, other, 1e-6);
    }
    p->ops->free(p);
    run_close(&r);
}

/* No jitter was asked for, and places that coincide have no factor without: what it took is told. */
static void jitter_grows_until_there_is_a_factor_and_is_told(void **unused)
{
    (void)unused;
    run r;
    anygp_error e;
    double jitter = -1, X[2 * D] = {0.5, 0.5, 0.5, 0.5};
    posterior *p;
    run_open(&r, &model_svdgp, &cases[0], ROWS, 2);
    assert_int_equal(svdgp_add_beta(&r.state->s, 2, X, 0.1, &e), ANYGP_OK);
    for (int t = 0; t < 3; t++) run_step(&r, t, true, false, 0);
    assert_int_equal(r.model->steps->posteriors(r.state, &r.f.h, &jitter, &p, &e), ANYGP_OK);
    assert_true(jitter > 0 && jitter < 1e-6);
    assert_true(((svdgp_posterior *)p)->s.jitter == jitter);
    p->ops->free(p);
    run_close(&r);
}

static void a_covariance_step_that_is_not_finite_leaves_B_as_it_is(void **unused)
{
    (void)unused;
    fixture f;
    double S[MB * MB] = {NAN}, before[MB * (MB + 1) / 2];
    setup(&f, &cases[0], true);
    memcpy(before, f.s.L[0].values, sizeof before);
    assert_false(svdgp_natural_step(&f.s, S, 0.5, 0.5));
    assert_memory_equal(before, f.s.L[0].values, sizeof before);
    memset(S, 0, sizeof S);
    assert_true(svdgp_natural_step(&f.s, S, 1, 1));
    prepare(&f);
    for (int i = 0; i < MB * MB; i++) { /* B itself, whatever the signs of its factor */
        double B = 0, L[2][MB] = {{0}};
        for (int j = 0; j < MB; j++) {
            L[0][j] = j <= i / MB ? before[i / MB * (i / MB + 1) / 2 + j] : 0;
            L[1][j] = j <= i % MB ? before[i % MB * (i % MB + 1) / 2 + j] : 0;
            B += f.s.factor[0][i / MB + j * MB] * f.s.factor[0][i % MB + j * MB];
        }
        check_close(B, L[0][0] * L[1][0] + L[0][1] * L[1][1] + L[0][2] * L[1][2], 1e-9);
    }
    teardown(&f);
}

static void learning_raises_the_bound(void **unused)
{
    (void)unused;
    const model_ops *const models[] = {&model_svdgp, &model_svdgp_sga};
    for (int m = 0; m < 2; m++) {
        run r;
        double first, last;
        anygp_error e;
        run_open(&r, models[m], &cases[0], 8, 3);
        run_step(&r, 0, true, true, 0.02);
        assert_int_equal(r.model->steps->bound(r.state, &r.f.h, &first, &e), ANYGP_OK);
        for (int t = 1; t < 150; t++) run_step(&r, t, true, true, 0.02);
        assert_int_equal(r.model->steps->bound(r.state, &r.f.h, &last, &e), ANYGP_OK);
        assert_true(last > first + 1);
        run_close(&r);
    }
}

/* ------------------------------------------------------------------------------------ same bits */

static void check_same_bits(run *a, run *b)
{
    shelf x = shelf_of(a->model, a->state), y = shelf_of(b->model, b->state);
    shelf_check_same(&x, &y);
    for (int64_t i = 0; i < a->f.h.count; i++) assert_true(hyper_get(&a->f.h, i) == hyper_get(&b->f.h, i));
    shelf_clear(&x);
    shelf_clear(&y);
}

static void the_same_seed_gives_the_same_bits_and_a_restored_run_goes_on(void **unused)
{
    (void)unused;
    const model_ops *const models[] = {&model_svdgp, &model_svdgp_sga};
    for (int m = 0; m < 2; m++) {
        run whole, again, resumed;
        run_open(&whole, models[m], &cases[0], 10, 4), run_open(&again, models[m], &cases[0], 10, 4);
        run_open(&resumed, models[m], &cases[0], 10, 4);
        take_steps(&whole, 0, 2);
        take_steps(&again, 0, 2);
        shelf k = shelf_of(models[m], whole.state), broken = {checkpoint_new()};
        assert_true(models[m]->steps->restore(resumed.state, &resumed.f.h, k.c));
        take_steps(&whole, 2, 9), take_steps(&again, 2, 9), take_steps(&resumed, 2, 9);
        check_same_bits(&whole, &again);
        check_same_bits(&whole, &resumed);
        checkpoint_put(broken.c, "svdgp_size", 1, (double[]){5});
        checkpoint_put(broken.c, "svdgp", 5, (double[]){0, 0, 0, 0, 0});
        assert_false(models[m]->steps->restore(again.state, &again.f.h, broken.c));
        shelf_clear(&k);
        shelf_clear(&broken);
        run_close(&whole), run_close(&again), run_close(&resumed);
    }
}

/* Without a rate sga tries the paper's three; none of its trials leaves a trace. */
static void sga_chooses_its_first_rate(void **unused)
{
    (void)unused;
    run r, chosen;
    run_open(&r, &model_svdgp_sga, &cases[0], 6, 3), run_open(&chosen, &model_svdgp_sga, &cases[0], 6, 3);
    run_step(&r, 0, false, true, 0);
    assert_true(r.state->gamma == 0.1 || r.state->gamma == 0.01 || r.state->gamma == 0.001);
    chosen.state->gamma = r.state->gamma;
    run_step(&chosen, 0, false, true, 0);
    check_same_bits(&r, &chosen);
    run_close(&r), run_close(&chosen);
}

/* 001, appendix B.2.  Four places on a line have the distances 1, 2, 2, 3, 4, 5. */
static void sga_starts_at_the_median_distance_and_the_targets_variance(void **unused)
{
    (void)unused;
    fixture f;
    anygp_error e;
    double X[4 * D] = {0, 0, 1, 0, 3, 0, 5, 0}, y[8] = {1, 0, 3, 0, 1, 6, 3, 6}, wanted[] = {1, 9};
    dataset d = {.n = 4, .D = D, .Q = 2, .y = y};
    merged rows = {.n = 4, .D = D, .X = X, .y = y, .data = &d};
    setup_rows(&f, &(variant){"rbf(ard)", MEAN_ZERO, false, 2});
    f.p.rows = &rows;
    hyper_facts(&f.h, 1)->given = true;
    double before = hyper_get(&f.h, 1), variance = hyper_get(&f.h, 0);
    assert_true(model_svdgp_sga.start && !model_svdgp.start);
    assert_int_equal(model_svdgp_sga.start(&f.p, &f.h, &e), ANYGP_OK);
    assert_true(hyper_get(&f.h, 0) == variance && hyper_get(&f.h, 1) == before);
    check_close(hyper_get(&f.h, 2), 3, 1e-12);
    for (int t = 0; t < 2; t++) check_close(f.h.like[t], wanted[t], 1e-12);
    teardown(&f);
}

typedef struct patience {
    int asked, most;
} patience;

static bool at_its_end(void *ctx)
{
    patience *p = ctx;
    return ++p->asked > p->most;
}

/* Whoever stops it in the second trial has the rate of the first, which was tried to its end; at once, the middle one. */
static void sga_asks_whether_its_trials_should_end(void **unused)
{
    (void)unused;
    const patience most[] = {{0, 150}, {0, 0}};
    const double gamma[] = {0.1, 0.01};
    for (int i = 0; i < 2; i++) {
        run r;
        anygp_error e;
        double value;
        patience p = most[i];
        run_open(&r, &model_svdgp_sga, &cases[0], 6, 3);
        step_context c = {.seed = 3, .scale = 1, .rho = 1, .learn = true, .enough = at_its_end, .ctx = &p};
        assert_int_equal(r.model->steps->step(r.state, &r.f.h, &c, &value, &e), ANYGP_OK);
        assert_true(r.state->gamma == gamma[i]);
        assert_in_range(p.asked, p.most + 1, p.most + 3);
        run_close(&r);
    }
}

/* The sum of w (y - m)^2 over the rows, for the first target. */
static double squares(const run *r, const double *mean)
{
    double sum = 0;
    for (int i = 0; i < ROWS; i++) sum += r->f.w[i] * pow(r->f.y[i * r->f.p.targets] - (mean ? mean[i] : 0), 2);
    return sum;
}

/* Steps of one unit in every coefficient carry the mean far away.  What comes out is no worse than no mean; the run itself goes
   on from where it is. */
static void a_mean_that_overshot_is_shortened_on_its_way_out(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v)
    {
        run r;
        double mean[ROWS], variance[ROWS], largest = 0, before[ROWS * 2];
        run_open(&r, &model_svdgp_sga, v, ROWS, 3);
        r.f.p.targets = v->targets;
        for (int64_t t = 0; t < 6; t++) run_step(&r, t, false, false, 5.0);
        int64_t size = r.state->s.a.rows * r.state->s.a.cols;
        memcpy(before, r.state->s.a.values, (size_t)size * sizeof *before);
        for (int64_t i = 0; i < size; i++) largest = fmax(largest, fabs(before[i]));
        assert_true(largest > 5);
        posterior *second = NULL, *p = run_posterior(&r, &second);
        assert_memory_equal(before, r.state->s.a.values, (size_t)size * sizeof *before);
        predict(p, ROWS, r.f.X, mean, variance);
        assert_true(squares(&r, mean) <= squares(&r, NULL));
        p->ops->free(p);
        if (second) second->ops->free(second);
        run_close(&r);
    }
}

static void bases_are_no_more_than_rows(void **unused)
{
    (void)unused;
    const model_ops *const models[] = {&model_svdgp, &model_svdgp_sga};
    for (int m = 0; m < 2; m++) {
        run r;
        run_open(&r, models[m], &cases[0], 1000, 1000);
        for (int t = 0; t < 4; t++) run_step(&r, t, true, false, 0.01);
        assert_in_range(svdgp_Ma(&r.state->s), ROWS, BLOCKS * 5); /* 5: rows of the largest block */
        assert_in_range(svdgp_Mb(&r.state->s), ROWS, BLOCKS * 5);
        assert_true(model_bytes(r.model, &r.f.p) < 1e7);
        run_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_covariance_bases_the_mean_is_kernel_ridge_regression),
        cmocka_unit_test(few_bases_have_the_mean_of_dtc),
        cmocka_unit_test(newton_steps_end_where_the_bounds_gradient_vanishes),
        cmocka_unit_test(gradients_in_newton_equal_central_differences_of_the_bound),
        cmocka_unit_test(with_all_rows_as_bases_the_posterior_is_exact),
        cmocka_unit_test(a_smooth_kernels_covariance_is_as_exact_as_the_jitter),
        cmocka_unit_test(jitter_grows_until_there_is_a_factor_and_is_told),
        cmocka_unit_test(a_covariance_step_that_is_not_finite_leaves_B_as_it_is),
        cmocka_unit_test(learning_raises_the_bound),
        cmocka_unit_test(the_same_seed_gives_the_same_bits_and_a_restored_run_goes_on),
        cmocka_unit_test(sga_starts_at_the_median_distance_and_the_targets_variance),
        cmocka_unit_test(sga_chooses_its_first_rate),
        cmocka_unit_test(sga_asks_whether_its_trials_should_end),
        cmocka_unit_test(a_mean_that_overshot_is_shortened_on_its_way_out),
        cmocka_unit_test(bases_are_no_more_than_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
