/* svdgp's mean where there are fewer bases than rows: the bound's own optimum, whatever the sample, the likelihood and the
   preconditioner. */
#include "shelf.h"
#include "svdgp_runs.h"

enum { MANY = 120, SEVERAL = 6, FEW = MANY / 3 };

typedef struct scene {
    fixture f;
    svdgp_state *state;
    int64_t sets[2];
    likelihood like;
    double X[MANY * D], y[MANY], w[MANY];
} scene;

/* Labels are 0 and 1.  places NULL: bases are rows; else Ma of them for the mean, then Mb for the
   covariance. */
static void scene_open(scene *c, const char *text, mean_kind mean, const char *likelihood_name, int64_t Ma, int64_t Mb,
                       const double *places)
{
    int64_t start[SEVERAL + 1];
    anygp_error e;
    void *state;
    setup_rows(&c->f, &(variant){text, mean, false, 1});
    blocks_free(c->f.blocks);
    fill_normal(31, MANY * D, c->X), fill_normal(32, MANY, c->y);
    for (int i = 0; i < MANY; i++) {
        c->y[i] = sin(2 * c->X[i * D]) + 0.3 * c->y[i], c->w[i] = 1 + i % 3;
        if (likelihood_name) c->y[i] = c->y[i] > 0;
    }
    for (int i = 0; i <= SEVERAL; i++) start[i] = i * MANY / SEVERAL;
    assert_int_equal(blocks_of_arrays(SEVERAL, start, D, 1, c->X, c->y, c->w, &c->f.blocks, &e), ANYGP_OK);
    c->f.p.blocks = c->f.blocks, c->f.p.seed = 5;
    if (likelihood_name) {
        assert_int_equal(likelihood_parse(likelihood_name, &c->like, &e), ANYGP_OK);
        assert_int_equal(likelihood_open(&c->like, 2, false, &e), ANYGP_OK);
        c->f.p.likelihood = &c->like;
        assert_int_equal(hyper_set_likelihood(&c->f.h, &c->like, 1, false, &e), ANYGP_OK);
    }
    c->sets[0] = Ma, c->sets[1] = Mb, c->f.p.sets = c->sets, c->f.p.set_count = 2;
    if (places) assert_int_equal(hyper_set_inducing(&c->f.h, Ma + Mb, D, places, false, &e), ANYGP_OK);
    assert_int_equal(model_svdgp.open(&model_svdgp, &c->f.p, &c->f.h, &state, &e), ANYGP_OK);
    c->state = state;
    assert_int_equal(model_svdgp.steps->begin(state, &c->f.h, 1e-10, &e), ANYGP_OK);
}

static void scene_close(scene *c)
{
    model_svdgp.close(c->state);
    teardown(&c->f);
}

/* Two blocks, or all of them. */
static void scene_step(scene *c, int64_t t, bool all)
{
    anygp_error e;
    double value;
    int64_t which[] = {2 * t % SEVERAL, (2 * t + 1) % SEVERAL};
    step_context k = {.seed = 5, .t = t, .scale = all ? 1 : SEVERAL / 2.0, .rho = all ? 1 : 0.5};
    if (!all) k.count = 2, k.which = which;
    assert_int_equal(model_svdgp.steps->step(c->state, &c->f.h, &k, &value, &e), ANYGP_OK);
}

/* |gradient in a and t| over all rows, at these coefficients (NULL: 0). */
static double gradient_norm(scene *c, const double *a)
{
    svdgp at;
    anygp_error e;
    double kl, sum = 0, zero[FEW + 4] = {0};
    assert_int_equal(svdgp_prepare(&c->state->s, c->f.h.kernel, c->f.h.likes, c->f.h.like, &e), ANYGP_OK);
    at = c->state->s;
    at.newton = at.learn = at.places = false, at.gradient = true, at.direction = NULL;
    if (!a) at.coefficient = zero, at.trend.values = zero + FEW;
    svdgp_layout o = svdgp_layout_of(&at);
    double *stat = malloc((size_t)o.size * sizeof *stat);
    assert_int_equal(driver_stat(c->state->driver, &at, 0, NULL, 1, stat, &e), ANYGP_OK);
    assert_true(svdgp_head(&at, stat) && svdgp_kl_mean(&at, 0, NULL, 1, &kl, stat, NULL));
    for (int64_t i = 0; i < FEW; i++) sum += stat[o.a + i] * stat[o.a + i];
    for (int64_t i = 0; i < at.p; i++) sum += stat[o.trend + i] * stat[o.trend + i];
    free(stat);
    return sqrt(sum);
}

/* Without bases of the covariance nothing but the mean is left to learn from samples. */
static void check_gradient_vanishes(const char *text, const char *likelihood_name, int64_t Mb, bool all, int64_t coarse,
                                    int64_t steps)
{
    scene c;
    scene_open(&c, text, Mb ? MEAN_CONSTANT : MEAN_ZERO, likelihood_name, FEW, Mb, NULL);
    if (coarse) c.state->coarse_most = coarse;
    for (int64_t t = 0; t < steps; t++) scene_step(&c, t, all);
    assert_int_equal(svdgp_Ma(&c.state->s), FEW);
    assert_true(gradient_norm(&c, c.state->s.a.values) < 1e-6 * gradient_norm(&c, NULL));
    scene_close(&c);
}

static void with_a_third_of_the_rows_as_bases_the_bounds_gradient_vanishes(void **unused)
{
    (void)unused;
    const char *const smooth = "rbf(lengthscale=0.8)";
    check_gradient_vanishes(smooth, NULL, 8, true, 0, 3);
    check_gradient_vanishes(smooth, NULL, 8, false, 0, 20);
    check_gradient_vanishes(smooth, "bernoulli", 8, true, 0, 12);
    check_gradient_vanishes(smooth, "bernoulli", 0, false, 0, 60);
}

/* The preconditioner rests on 10 of the 40 bases, with the witnesses that belong to these. */
static void a_preconditioner_of_few_bases_leads_to_the_same_place(void **unused)
{
    (void)unused;
    const char *const rough = "matern12(lengthscale=0.5)";
    check_gradient_vanishes(rough, NULL, 8, false, 10, 240);
    check_gradient_vanishes(rough, "bernoulli", 0, false, 10, 300);
}

/* Its product is symmetric and positive, and with all bases and rows the inverse of the system. */
static void the_preconditioner_is_symmetric_and_with_all_bases_exact(void **unused)
{
    (void)unused;
    enum { N = FEW + 1 };
    double P[N * N], r[N] = {0};
    scene c;
    for (int64_t most = 10; most <= FEW; most += 30) {
        scene_open(&c, "matern32", MEAN_CONSTANT, NULL, FEW, 2, NULL);
        c.state->coarse_most = most;
        for (int64_t t = 0; t < 3; t++) scene_step(&c, t, true);
        const svdgp *s = &c.state->s;
        for (int i = 0; i < N; i++) {
            r[i] = 1;
            assert_true(svdgp_coarse_apply(s, c.state->coarse, false, r, P + i * N));
            r[i] = 0;
        }
        for (int i = 0; i < N; i++) {
            assert_true(P[i + i * N] > 0);
            for (int j = 0; j < i; j++) check_close(P[i + j * N], P[j + i * N], 1e-9);
        }
        for (int i = 0; i < N && most == FEW; i++) /* P A = I, a column of A at a time */
            for (int j = 0; j < FEW; j += 13) {
                double sum = 0;
                for (int k = 0; k < N; k++) {
                    const double *z = s->alpha.values + j * D;
                    double A = k < FEW ? kernel_reference(c.f.h.kernel, s->alpha.values + k * D, z, false) : 0;
                    for (int l = 0; l < MANY; l++) {
                        double f = k < FEW ? kernel_reference(c.f.h.kernel, s->alpha.values + k * D, c.X + l * D, false)
                                           : sqrt(c.f.mean.B);
                        A += c.w[l] / c.f.h.like[0] * f * kernel_reference(c.f.h.kernel, z, c.X + l * D, false);
                    }
                    sum += P[i + k * N] * A;
                }
                check_close(sum, i == j, 1e-5);
            }
        scene_close(&c);
    }
}

static double mean_of(scene *c, const double *x)
{
    double mean, variance, jitter;
    posterior *p;
    anygp_error e;
    assert_int_equal(model_svdgp.steps->posteriors(c->state, &c->f.h, &jitter, &p, &e), ANYGP_OK);
    predict(p, 1, x, &mean, &variance);
    p->ops->free(p);
    return mean;
}

static double dense_at(const scene *c, const double *x)
{
    const param_segment *alpha = &c->state->s.alpha;
    return dense_mean(&c->f, MANY, c->X, c->y, 1, c->w, c->f.h.like[0], alpha->rows, alpha->values, x);
}

static void the_mean_is_that_of_dtc_on_the_same_bases(void **unused)
{
    (void)unused;
    const double x[D] = {0.2, -0.7};
    for (int all = 0; all < 2; all++) {
        scene c;
        scene_open(&c, "matern52(lengthscale=1.5)", MEAN_CONSTANT, NULL, FEW, 8, NULL);
        for (int64_t t = 0; t < (all ? 3 : 20); t++) scene_step(&c, t, all);
        check_close(mean_of(&c, x), dense_at(&c, x), 1e-6);
        scene_close(&c);
    }
}

/* Places that are given are the bases; those of the mean come first.  With the same ones for both it is svgp, whose
   variance is k - k'K^-1 k + k'(K + K_zx K_xz / noise)^-1 k, and whose mean is dtc's. */
static void given_places_are_the_bases_and_the_same_for_both_give_svgp(void **unused)
{
    (void)unused;
    enum { M = 7 };
    const double x[D] = {0.2, -0.7};
    double Z[2 * M * D], mean, variance, jitter;
    real A[M * M], K[M * M], k[M], prior;
    posterior *p;
    anygp_error e;
    scene c;
    fill_normal(33, M * D, Z);
    memcpy(Z + M * D, Z, M * D * sizeof *Z);
    scene_open(&c, "matern32", MEAN_ZERO, NULL, M, M, Z);
    for (int64_t t = 0; t < 20; t++) scene_step(&c, t, t > 12);
    assert_memory_equal(c.state->s.alpha.values, Z, M * D * sizeof *Z);
    assert_memory_equal(c.state->s.beta.values, Z, M * D * sizeof *Z);
    assert_int_equal(svdgp_Ma(&c.state->s), M);
    assert_int_equal(svdgp_Mb(&c.state->s), M);
    assert_int_equal(model_svdgp.steps->posteriors(c.state, &c.f.h, &jitter, &p, &e), ANYGP_OK);
    predict(p, 1, x, &mean, &variance);
    check_close(mean, dense_at(&c, x), 1e-8);
    prior = kernel_reference(c.f.h.kernel, x, x, false);
    for (int i = 0; i < M; i++) {
        k[i] = kernel_reference(c.f.h.kernel, x, Z + i * D, false);
        for (int j = 0; j < M; j++)
            K[i * M + j] = A[i * M + j] = kernel_reference(c.f.h.kernel, Z + i * D, Z + j * D, false);
    }
    for (int l = 0; l < MANY; l++)
        for (int i = 0; i < M; i++)
            for (int j = 0; j < M; j++)
                A[i * M + j] += c.w[l] / c.f.h.like[0] * kernel_reference(c.f.h.kernel, c.X + l * D, Z + i * D, false) *
                                kernel_reference(c.f.h.kernel, c.X + l * D, Z + j * D, false);
    dense_invert(M, A), dense_invert(M, K);
    check_close(variance, (double)(prior - dense_quadratic(M, K, k, k) + dense_quadratic(M, A, k, k)), 1e-6);
    p->ops->free(p);
    scene_close(&c);
}

/* Stopped in the middle of a gradient, of a product, between them: the preconditioner is made again, and the bits are the same. */
static void a_run_taken_up_in_the_middle_of_an_iteration_goes_on_with_the_same_bits(void **unused)
{
    (void)unused;
    for (int64_t stop = 5; stop < 11; stop++) {
        scene whole, resumed;
        scene_open(&whole, "matern32", MEAN_CONSTANT, stop % 2 ? "bernoulli" : NULL, FEW, 4, NULL);
        scene_open(&resumed, "matern32", MEAN_CONSTANT, stop % 2 ? "bernoulli" : NULL, FEW, 4, NULL);
        whole.state->coarse_most = resumed.state->coarse_most = 25;
        for (int64_t t = 0; t < stop; t++) scene_step(&whole, t, false);
        shelf k = shelf_of(&model_svdgp, whole.state);
        assert_true(model_svdgp.steps->restore(resumed.state, &resumed.f.h, k.c));
        for (int64_t t = stop; t < 16; t++) scene_step(&whole, t, false), scene_step(&resumed, t, false);
        shelf x = shelf_of(&model_svdgp, whole.state), y = shelf_of(&model_svdgp, resumed.state);
        shelf_check_same(&x, &y);
        shelf_clear(&k), shelf_clear(&x), shelf_clear(&y);
        scene_close(&whole), scene_close(&resumed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_a_third_of_the_rows_as_bases_the_bounds_gradient_vanishes),
        cmocka_unit_test(a_preconditioner_of_few_bases_leads_to_the_same_place),
        cmocka_unit_test(the_preconditioner_is_symmetric_and_with_all_bases_exact),
        cmocka_unit_test(the_mean_is_that_of_dtc_on_the_same_bases),
        cmocka_unit_test(given_places_are_the_bases_and_the_same_for_both_give_svgp),
        cmocka_unit_test(a_run_taken_up_in_the_middle_of_an_iteration_goes_on_with_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
