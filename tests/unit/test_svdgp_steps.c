/* svdgp by steps: what they converge to, that they can be taken up again, posteriors, files and updates. */
#include "shelf.h"
#include "svdgp_support.h"

#include "model/svdgp_posterior.h"
#include "model/svdgp_state.h"

enum { NEW = 5 };

typedef struct run {
    fixture f; /* its rows alone */
    const model_ops *model;
    svdgp_state *state;
    int64_t sets[2];
} run;

static void run_open(run *r, const model_ops *model, const variant *v, int64_t Ma, int64_t Mb)
{
    anygp_error e;
    void *state;
    setup_rows(&r->f, v);
    r->model = model, r->sets[0] = Ma, r->sets[1] = Mb;
    r->f.p.sets = r->sets, r->f.p.set_count = 2, r->f.p.learn_inducing = true, r->f.p.seed = 3;
    assert_int_equal(model->open(model, &r->f.p, &r->f.h, &state, &e), ANYGP_OK);
    r->state = state;
    assert_int_equal(model->steps->begin(state, &r->f.h, 0, &e), ANYGP_OK);
}

static void run_close(run *r)
{
    r->model->close(r->state);
    teardown(&r->f);
}

/* Block t % BLOCKS alone, or all of them. */
static double run_step(run *r, int64_t t, bool all, bool learn, double rate)
{
    anygp_error e;
    double value;
    int64_t which[] = {t % BLOCKS};
    step_context c = {.seed = 3, .t = t, .scale = all ? 1 : BLOCKS, .rho = all ? 1 : 0.5, .rate = rate, .learn = learn};
    if (!all) c.count = 1, c.which = which;
    assert_int_equal(r->model->steps->step(r->state, &r->f.h, &c, &value, &e), ANYGP_OK);
    return value;
}

static posterior *run_posterior(run *r, posterior **more)
{
    posterior *out[2] = {0};
    anygp_error e;
    double jitter = 0;
    assert_int_equal(r->model->steps->posteriors(r->state, &r->f.h, &jitter, out, &e), ANYGP_OK);
    if (more) *more = out[1];
    return out[0];
}

static void predict(const posterior *p, int64_t n, const double *X, double *mean, double *variance)
{
    anygp_error e;
    double *work = malloc((size_t)p->ops->work_doubles(p, n) * sizeof *work);
    assert_int_equal(p->ops->marginal(p, n, X, D, work, mean, variance, &e), ANYGP_OK);
    free(work);
}

/* The exact posterior of n rows with weights under k plus the mean's functions, at x. */
static void exact(const fixture *f, int64_t n, const double *X, const double *y, int64_t ldy, const double *w,
                  double noise, const double *x, double *mean, double *variance)
{
    int N = (int)n;
    real *K = calloc((size_t)(N * N), sizeof *K), *k = calloc((size_t)N, sizeof *k), m = 0;
    double h[4], g[4], hx[4];
    basis_fill(&f->mean, 1, x, D, hx, 1, 1);
    real prior = kernel_reference(f->h.kernel, x, x, false);
    for (int j = 0; j < f->mean.p; j++) prior += f->mean.B * hx[j] * hx[j];
    for (int i = 0; i < N; i++) {
        basis_fill(&f->mean, 1, X + i * D, D, h, 1, 1);
        k[i] = kernel_reference(f->h.kernel, x, X + i * D, false);
        for (int j = 0; j < f->mean.p; j++) k[i] += f->mean.B * hx[j] * h[j];
        for (int l = 0; l < N; l++) {
            basis_fill(&f->mean, 1, X + l * D, D, g, 1, 1);
            K[i * N + l] = kernel_reference(f->h.kernel, X + i * D, X + l * D, false) + (i == l ? noise / w[i] : 0);
            for (int j = 0; j < f->mean.p; j++) K[i * N + l] += f->mean.B * h[j] * g[j];
        }
    }
    dense_invert(N, K);
    for (int i = 0; i < N; i++)
        for (int l = 0; l < N; l++) m += k[i] * K[i * N + l] * y[l * ldy];
    *mean = (double)m, *variance = (double)(prior - dense_quadratic(N, K, k, k));
    free(K);
    free(k);
}

static const variant cases[] = {{"rbf(ard,variance=1.3)", MEAN_ZERO, false, 1},
                                {"matern32", MEAN_LINEAR, false, 1},
                                {"rbf + linear", MEAN_CONSTANT, false, 2}};

#define FOR_EACH_CASE(v) for (const variant *v = cases; v < cases + sizeof cases / sizeof *cases; v++)

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

/* Fewer bases than rows: those of the first batches, which are solved for also while batches have none of them. */
static void few_bases_are_solved_without_waiting_for_their_rows(void **unused)
{
    (void)unused;
    run r;
    double X[9 * D], y[9], w[9], x[D] = {0.3, -0.4}, mean, variance, truth, other;
    run_open(&r, &model_svdgp, &cases[1], 9, 2);
    for (int t = 0; t < 2; t++) run_step(&r, t, false, false, 0);
    for (int t = 0; t < 30; t++) run_step(&r, 2, false, false, 0);
    const svdgp *s = &r.state->s;
    assert_int_equal(svdgp_Ma(s), 9);
    for (int m = 0; m < 9; m++) {
        assert_true(s->rows.id[m] >> 32 < 2);
        memcpy(X + m * D, s->alpha.x + m * D, D * sizeof *X);
        y[m] = s->target.x[m], w[m] = s->weight.x[m];
    }
    posterior *p = run_posterior(&r, NULL);
    predict(p, 1, x, &mean, &variance);
    exact(&r.f, 9, X, y, 1, w, r.f.h.like[0], x, &truth, &other);
    check_close(mean, truth, 1e-9);
    p->ops->free(p);
    run_close(&r);
}

/* A batch of more rows than a block of the dual: its last block has seen what the others did, so there y - f = noise a. */
static void blocks_of_a_large_batch_follow_each_other(void **unused)
{
    (void)unused;
    enum { MANY = 1100, LAST = 76 };
    double *X = malloc(MANY * D * sizeof *X), *y = malloc(MANY * sizeof *y), value;
    int64_t start[] = {0, MANY}, sets[] = {MANY, 0};
    anygp_error e;
    fixture f;
    void *state;
    setup_rows(&f, &cases[0]);
    blocks_free(f.blocks);
    fill_normal(80, MANY * D, X), fill_normal(81, MANY, y);
    assert_int_equal(blocks_of_arrays(1, start, D, 1, X, y, NULL, &f.blocks, &e), ANYGP_OK);
    f.p.blocks = f.blocks, f.p.sets = sets, f.p.set_count = 2;
    assert_int_equal(model_svdgp.open(&model_svdgp, &f.p, &f.h, &state, &e), ANYGP_OK);
    assert_int_equal(model_svdgp.steps->begin(state, &f.h, 0, &e), ANYGP_OK);
    step_context c = {.seed = 3, .scale = 1, .rho = 1};
    assert_int_equal(model_svdgp.steps->step(state, &f.h, &c, &value, &e), ANYGP_OK);
    const svdgp *s = &((svdgp_state *)state)->s;
    for (int64_t i = MANY - LAST; i < MANY; i += 25) {
        double sum = 0;
        for (int64_t m = 0; m < MANY; m++)
            sum += kernel_reference(f.h.kernel, s->alpha.x + i * D, s->alpha.x + m * D, false) * s->a.x[m];
        check_close(y[s->rows.id[i] & UINT32_MAX] - sum, f.h.like[0] * s->a.x[i], 1e-9);
    }
    model_svdgp.close(state);
    free(X), free(y);
    teardown(&f);
}

/* The bound's own gradient in a vanishes there, also where g is not linear in f and two latents share a likelihood. */
static void dual_steps_end_where_the_bounds_gradient_in_a_vanishes(void **unused)
{
    (void)unused;
    const variant pair = {"rbf", MEAN_CONSTANT, true, 1};
    run r;
    anygp_error e;
    double kl;
    run_open(&r, &model_svdgp, &pair, ROWS, 3);
    for (int t = 0; t < 2000; t++) run_step(&r, t, t > 1000, false, 0);
    svdgp *s = &r.state->s;
    s->dual = false, s->gradient = true;
    assert_int_equal(svdgp_prepare(s, r.f.h.kernel, r.f.h.likes, r.f.h.like, &e), ANYGP_OK);
    svdgp_layout o = svdgp_layout_of(s);
    double *stat = malloc((size_t)o.size * sizeof *stat);
    assert_int_equal(driver_stat(r.state->driver, s, 0, NULL, 1, stat, &e), ANYGP_OK);
    assert_true(svdgp_head(s, stat) && svdgp_kl_mean(s, 0, NULL, 1, &kl, stat));
    for (int64_t i = 0; i < ROWS * s->C; i++) check_close(stat[o.a + i], 0, 1e-8);
    for (int64_t i = 0; i < s->p * s->C; i++) check_close(stat[o.trend + i], 0, 1e-8);
    /* and so does L's, after a natural step of 1 over all rows */
    for (int64_t i = 0; i < s->C * s->Mt * s->Mt; i++) check_close(stat[o.S + i], 0, 1e-6);
    s->dual = true;
    free(stat);
    run_close(&r);
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

/* The rows of a batch that are bases stand for the columns of K_alpha; over all rows they are all of them. */
static void gradients_in_dual_equal_central_differences_of_the_bound(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v)
    {
        run r;
        anygp_error e;
        run_open(&r, &model_svdgp, v, ROWS, 3);
        for (int t = 0; t < 4; t++) run_step(&r, t, false, false, 0);
        svdgp *s = &r.state->s;
        s->gradient = s->learn = true;
        assert_int_equal(svdgp_prepare(s, r.f.h.kernel, r.f.h.likes, r.f.h.like, &e), ANYGP_OK);
        svdgp_layout o = svdgp_layout_of(s);
        double *stat = malloc((size_t)o.size * sizeof *stat);
        assert_int_equal(driver_stat(r.state->driver, s, 0, NULL, 1, stat, &e), ANYGP_OK);
        assert_true(svdgp_head(s, stat));
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
    memcpy(before, f.s.L[0].x, sizeof before);
    svdgp_natural_step(&f.s, S, 0.5, 0.5);
    assert_memory_equal(before, f.s.L[0].x, sizeof before);
    memset(S, 0, sizeof S);
    svdgp_natural_step(&f.s, S, 1, 1);
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

static void take_steps(run *r, int64_t from, int64_t to)
{
    for (int64_t t = from; t < to; t++) run_step(r, t, false, true, 0.01);
}

static void check_same_bits(run *a, run *b)
{
    shelf x = {0}, y = {0};
    anygp_error e;
    assert_int_equal(a->model->steps->save(a->state, shelf_put, &x, &e), ANYGP_OK);
    assert_int_equal(b->model->steps->save(b->state, shelf_put, &y, &e), ANYGP_OK);
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
        shelf k = {0};
        anygp_error e;
        run_open(&whole, models[m], &cases[0], 10, 4), run_open(&again, models[m], &cases[0], 10, 4);
        run_open(&resumed, models[m], &cases[0], 10, 4);
        take_steps(&whole, 0, 2);
        take_steps(&again, 0, 2);
        assert_int_equal(models[m]->steps->save(whole.state, shelf_put, &k, &e), ANYGP_OK);
        assert_true(models[m]->steps->restore(resumed.state, &resumed.f.h, shelf_get, &k));
        take_steps(&whole, 2, 9), take_steps(&again, 2, 9), take_steps(&resumed, 2, 9);
        check_same_bits(&whole, &again);
        check_same_bits(&whole, &resumed);
        k.values[0][0] = 5, k.size[1] = 5;
        assert_false(models[m]->steps->restore(again.state, &again.f.h, shelf_get, &k));
        shelf_clear(&k);
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
    f.h.param[1].given = true;
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
        assert_true(r.model->bytes(&r.f.p) < 1e7);
        run_close(&r);
    }
}

/* --------------------------------------------------------------------------- posteriors and files */

static void joint_agrees_with_marginals_and_the_file_with_both(void **unused)
{
    (void)unused;
    const variant all[] = {cases[0], cases[1], {"rbf", MEAN_LINEAR, true, 1}};
    for (int i = 0; i < 3; i++) {
        run r;
        named_array list[MODEL_ARRAYS_MAX];
        anygp_error e;
        posterior *q;
        double X[NEW * D], mean[2 * NEW], variance[2 * NEW], joint[2 * NEW], cov[2 * NEW * NEW], again[2 * NEW];
        fill_normal(50, NEW * D, X);
        run_open(&r, i == 1 ? &model_svdgp : &model_svdgp_sga, &all[i], 8, 3);
        take_steps(&r, 0, 6);
        posterior *p = run_posterior(&r, NULL);
        int64_t C = p->latents;
        predict(p, NEW, X, mean, variance);
        double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
        assert_int_equal(p->ops->joint(p, NEW, X, D, work, joint, cov, NEW, &e), ANYGP_OK);
        for (int64_t k = 0; k < C * NEW; k++) {
            check_close(joint[k], mean[k], 1e-12);
            check_close(cov[k / NEW * NEW * NEW + k % NEW * (NEW + 1)], variance[k], 1e-12);
        }
        int64_t count = p->ops->arrays(p, list);
        basis copy = {0};
        assert_int_equal(basis_copy(&r.f.mean, &copy, &e), ANYGP_OK);
        kernel *k = kernel_copy(r.f.h.kernel);
        assert_int_equal(r.model->load(r.model, k, p->noise, &copy, D, list, count, &q, &e), ANYGP_OK);
        predict(q, NEW, X, joint, again);
        for (int64_t j = 0; j < C * NEW; j++) assert_true(joint[j] == mean[j] && again[j] == variance[j]);
        q->ops->free(q), p->ops->free(p), free(work);
        run_close(&r);
    }
}

static void many_rows_are_predicted_as_each_of_them_alone(void **unused)
{
    (void)unused;
    enum { MANY = 700 };
    const variant pair = {"rbf", MEAN_LINEAR, true, 1};
    run r;
    double *X = malloc(MANY * D * sizeof *X), *mean = malloc(4 * MANY * sizeof *mean), m[2], v[2];
    double *variance = mean + 2 * MANY;
    run_open(&r, &model_svdgp, &pair, 8, 3);
    take_steps(&r, 0, 6);
    posterior *p = run_posterior(&r, NULL);
    fill_normal(90, MANY * D, X);
    predict(p, MANY, X, mean, variance);
    for (int64_t i = 0; i < MANY; i += 99) {
        predict(p, 1, X + i * D, m, v);
        for (int c = 0; c < 2; c++) {
            check_close(mean[i + c * MANY], m[c], 1e-13);
            check_close(variance[i + c * MANY], v[c], 1e-12);
        }
    }
    free(X), free(mean);
    p->ops->free(p);
    run_close(&r);
}

static void held_out_score_is_the_mean_expected_log_likelihood(void **unused)
{
    (void)unused;
    run r;
    anygp_error e;
    double mean[ROWS], variance[ROWS], sum = 0, weight = 0, score;
    run_open(&r, &model_svdgp, &cases[0], 8, 3);
    take_steps(&r, 0, 6);
    posterior *p = run_posterior(&r, NULL);
    predict(p, ROWS, r.f.X, mean, variance);
    for (int i = 0; i < ROWS; i++) {
        double u = r.f.y[i] - mean[i];
        sum -= 0.5 * r.f.w[i] * (log(6.283185307179586477 * p->noise) + (u * u + variance[i]) / p->noise);
        weight += r.f.w[i];
    }
    assert_int_equal(svdgp_held_out(p, NULL, ROWS, r.f.X, D, r.f.y, r.f.w, &score, &e), ANYGP_OK);
    check_close(score, sum / weight, 1e-12);
    p->ops->free(p);
    run_close(&r);
}

/* ---------------------------------------------------------------------------------------- updates */

static posterior *updated(const model_ops *model, const posterior *p, int64_t n, const double *X, const double *y,
                          const double *w, double *gain)
{
    void *state;
    posterior *out;
    update_report report;
    anygp_error e;
    assert_int_equal(model->update->open(model, p, NULL, &state, &e), ANYGP_OK);
    assert_int_equal(model->update->add(state, n, X, y, w, NULL, &e), ANYGP_OK);
    assert_int_equal(model->update->finish(state, &out, &report, &e), ANYGP_OK);
    model->update->close(state);
    *gain = report.after - report.before;
    return out;
}

/* Where the old posterior is exact (all its rows are bases of both kinds) an update is conditioning on the new rows. */
static void update_of_an_exact_posterior_is_exact_in_the_mean(void **unused)
{
    (void)unused;
    run r;
    double X[(ROWS + NEW) * D], y[ROWS + NEW], w[ROWS + NEW], mean, variance, truth, other, before, gain;
    run_open(&r, &model_svdgp, &cases[1], ROWS, ROWS);
    for (int t = 0; t < 3; t++) run_step(&r, t, true, false, 0);
    posterior *p = run_posterior(&r, NULL);
    memcpy(X, r.f.X, sizeof r.f.X), memcpy(y, r.f.y, ROWS * sizeof *y), memcpy(w, r.f.w, sizeof r.f.w);
    fill_normal(60, NEW * D, X + ROWS * D), fill_normal(61, NEW, y + ROWS);
    for (int i = ROWS; i < ROWS + NEW; i++) w[i] = 1.5;
    posterior *q = updated(&model_svdgp, p, NEW, X + ROWS * D, y + ROWS, w + ROWS, &gain);
    for (int i = 0; i < 4; i++) {
        double x[D] = {0.4 * i - 0.5, 0.2 - 0.3 * i};
        predict(q, 1, x, &mean, &variance), predict(p, 1, x, &truth, &before);
        exact(&r.f, ROWS + NEW, X, y, 1, w, p->noise, x, &truth, &other);
        check_close(mean, truth, 1e-5);
        assert_true(variance < before);
    }
    q->ops->free(q), p->ops->free(p);
    run_close(&r);
}

static double new_rows_bound(const svdgp_posterior *q, const svdgp_posterior *p, const double *X, const double *y,
                             const double *w)
{
    double score, weight = 0;
    anygp_error e;
    for (int i = 0; i < NEW; i++) weight += w[i];
    assert_int_equal(svdgp_held_out(&q->base, NULL, NEW, X, D, y, w, &score, &e), ANYGP_OK);
    return score * weight - svdgp_kl(&q->s, &p->s, 0);
}

/* It is the best mean for sum E[log p] - KL(new || old): no move of a coefficient raises that. */
static void update_maximises_the_new_rows_bound_under_theorem_1(void **unused)
{
    (void)unused;
    run r;
    double X[NEW * D], y[NEW], w[NEW], gain;
    anygp_error e;
    run_open(&r, &model_svdgp_sga, &cases[0], 6, 3);
    take_steps(&r, 0, 20);
    posterior *p = run_posterior(&r, NULL);
    fill_normal(70, NEW * D, X), fill_normal(71, NEW, y);
    for (int i = 0; i < NEW; i++) w[i] = 1 + 0.5 * i;
    svdgp_posterior *q = (svdgp_posterior *)updated(&model_svdgp_sga, p, NEW, X, y, w, &gain);
    const svdgp_posterior *old = (const svdgp_posterior *)p;
    double best = new_rows_bound(q, old, X, y, w);
    assert_true(best > new_rows_bound(old, old, X, y, w));
    for (int64_t i = 0; i < q->s.a.rows; i++) {
        double slope = 0, here = q->s.a.x[i];
        for (int side = -1; side <= 1; side += 2) {
            q->s.a.x[i] = here + side * 1e-4;
            assert_int_equal(svdgp_posterior_complete(q, &e), ANYGP_OK);
            slope += side * new_rows_bound(q, old, X, y, w) / 2e-4;
        }
        check_close(slope, 0, 1e-6);
        q->s.a.x[i] = here;
    }
    q->base.ops->free(&q->base), p->ops->free(p);
    run_close(&r);
}

/* The bases of a process, in the other order. */
static void reverse_rows(segment *g)
{
    for (int64_t i = 0, j = g->rows - 1; i < j; i++, j--)
        for (int64_t k = 0; k < g->width; k++) {
            double t = g->x[i * g->width + k];
            g->x[i * g->width + k] = g->x[j * g->width + k], g->x[j * g->width + k] = t;
        }
}

/* Theorem 1 over the bases that moved equals that over all of them; beta joins the mean's bases in the first update only. */
static void updates_tell_how_far_they_went_and_add_beta_once(void **unused)
{
    (void)unused;
    const model_ops *const models[] = {&model_svdgp, &model_svdgp_sga};
    for (int m = 0; m < 2; m++) {
        run r;
        double X[NEW * D], y[NEW], w[NEW] = {1, 1, 2, 1, 1};
        update_report report;
        anygp_error e;
        run_open(&r, models[m], &cases[0], 6, 3);
        r.state->s.jitter = 1e-3;
        take_steps(&r, 0, 20);
        posterior *p = run_posterior(&r, NULL);
        for (int k = 1; k <= 3; k++) {
            void *state;
            posterior *q;
            fill_normal(70 + (uint64_t)k, NEW * D, X), fill_normal(80, NEW, y);
            assert_int_equal(models[m]->update->open(models[m], p, NULL, &state, &e), ANYGP_OK);
            assert_true(models[m]->update->held(state) == 0);
            assert_int_equal(models[m]->update->add(state, NEW, X, y, w, NULL, &e), ANYGP_OK);
            assert_true(models[m]->update->held(state) >= 8 * NEW * (1 + D));
            assert_int_equal(models[m]->update->finish(state, &q, &report, &e), ANYGP_OK);
            models[m]->update->close(state);
            assert_int_equal(q->n, 6 + 3 + k * NEW);
            svdgp *old = &((svdgp_posterior *)p)->s;
            reverse_rows(&old->a), reverse_rows(&old->alpha), reverse_rows(&old->alpha_width);
            assert_int_equal(svdgp_posterior_complete((svdgp_posterior *)p, &e), ANYGP_OK);
            assert_true(report.moved > 0.01);
            check_close(report.moved, svdgp_kl(&((svdgp_posterior *)q)->s, old, 0), 1e-8);
            p->ops->free(p);
            p = q;
        }
        assert_true(fabs(svdgp_kl(&((svdgp_posterior *)p)->s, &((svdgp_posterior *)p)->s, 0)) < 1e-9);
        p->ops->free(p);
        run_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_covariance_bases_the_mean_is_kernel_ridge_regression),
        cmocka_unit_test(few_bases_are_solved_without_waiting_for_their_rows),
        cmocka_unit_test(blocks_of_a_large_batch_follow_each_other),
        cmocka_unit_test(dual_steps_end_where_the_bounds_gradient_in_a_vanishes),
        cmocka_unit_test(gradients_in_dual_equal_central_differences_of_the_bound),
        cmocka_unit_test(with_all_rows_as_bases_the_posterior_is_exact),
        cmocka_unit_test(a_smooth_kernels_covariance_is_as_exact_as_the_jitter),
        cmocka_unit_test(jitter_grows_until_there_is_a_factor_and_is_told),
        cmocka_unit_test(a_covariance_step_that_is_not_finite_leaves_B_as_it_is),
        cmocka_unit_test(learning_raises_the_bound),
        cmocka_unit_test(the_same_seed_gives_the_same_bits_and_a_restored_run_goes_on),
        cmocka_unit_test(sga_starts_at_the_median_distance_and_the_targets_variance),
        cmocka_unit_test(sga_chooses_its_first_rate),
        cmocka_unit_test(sga_asks_whether_its_trials_should_end),
        cmocka_unit_test(bases_are_no_more_than_rows),
        cmocka_unit_test(joint_agrees_with_marginals_and_the_file_with_both),
        cmocka_unit_test(many_rows_are_predicted_as_each_of_them_alone),
        cmocka_unit_test(held_out_score_is_the_mean_expected_log_likelihood),
        cmocka_unit_test(update_of_an_exact_posterior_is_exact_in_the_mean),
        cmocka_unit_test(update_maximises_the_new_rows_bound_under_theorem_1),
        cmocka_unit_test(updates_tell_how_far_they_went_and_add_beta_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
