/* Every likelihood with every model that learns by steps: the bound rises, predictions are numbers, a saved state goes on to the
   same bits, arrays come back as the same posterior, new rows are taken. */
#include <string.h>

#include "condensed_support.h"
#include "shelf.h"

#include "model/model.h"

enum { ROWS = 40, D = 2, PARTS = 4, MANY = 9, NEW = 5, CLASSES = 3, LONG = 1920, MOST = 700 };

static const model_ops *const stepping[] = {&model_svgp, &model_solve, &model_odvgp, &model_ivsgpr, &model_svdgp};
static const int64_t two[] = {6, 3};

typedef struct scene {
    likelihood like;
    hyper h;
    basis mean;
    row_blocks *blocks;
    problem p;
    void *state;
    const model_ops *model;
    int rows;
    double X[LONG * D], Y[LONG * 2], w[LONG], Z[MOST * D], new[NEW * D];
} scene;

/* A smooth function of the inputs, as this likelihood would have it. */
static void fill_targets(scene *s)
{
    for (int i = 0; i < s->rows; i++) {
        double f = sin(2 * s->X[i * D]) + 0.5 * s->X[i * D + 1];
        double y = s->like.ops->target == TARGET_REAL    ? f + 0.1 * cos(31.0 * i)
                   : s->like.ops->target == TARGET_COUNT ? floor(exp(f) + 0.5)
                                                         : (f > 0.3) + (s->like.classes > 2 && f > 0.8);
        s->Y[i * s->like.columns] = y;
        if (s->like.columns > 1) s->Y[i * s->like.columns + 1] = 1 + 0.5 * (i % 3);
        s->w[i] = 1 + i % 2;
    }
}

/* The kind of inducing variables in the scenes that are opened from here on. */
static const inducing_ops *kind = &inducing_points;

/* MANY inducing inputs, or MOST: those are one set, over many rows, and with a variance that changes on its way to its
   logarithm and back. */
static void open_with(scene *s, const model_ops *model, const likelihood_ops *of, int64_t M)
{
    int64_t start[PARTS + 1];
    kernel_input in[D] = {{NULL, 0, INPUT_NUMBER, 0}, {NULL, 1, INPUT_NUMBER, 1}};
    kernel *k;
    anygp_error e;
    *s = (scene){.model = model, .rows = M == MANY ? ROWS : LONG};
    for (int i = 0; i <= PARTS; i++) start[i] = s->rows * i / PARTS;
    fill_normal(1, s->rows * D, s->X);
    fill_normal(2, M * D, s->Z);
    fill_normal(3, NEW * D, s->new);
    assert_int_equal(likelihood_parse(of->name, &s->like, &e), ANYGP_OK);
    int64_t classes = of->target != TARGET_CLASS ? 0 : !strcmp(of->name, "bernoulli") ? 2 : CLASSES;
    assert_int_equal(likelihood_open(&s->like, classes, of->exposure, &e), ANYGP_OK);
    fill_targets(s);
    if (of->start) of->start(&s->like, s->rows, s->Y, s->w);
    assert_int_equal(kernel_parse(M == MANY ? "rbf" : "rbf(variance=321)", in, D, D, &k, &e), ANYGP_OK);
    assert_int_equal(hyper_init(&s->h, k, NAN, false, false, true, &e), ANYGP_OK);
    assert_int_equal(hyper_set_likelihood(&s->h, &s->like, 1, false, &e), ANYGP_OK);
    assert_int_equal(hyper_set_kind(&s->h, kind, &e), ANYGP_OK);
    assert_int_equal(hyper_set_inducing(&s->h, M, D, s->Z, true, &e), ANYGP_OK);
    assert_int_equal(blocks_of_arrays(PARTS, start, D, s->like.columns, s->X, s->Y, s->w, &s->blocks, &e), ANYGP_OK);
    s->p = (problem){.mean = &s->mean,
                     .likelihood = &s->like,
                     .targets = 1,
                     .subset = M,
                     .sets = two,
                     .set_count = (model_takes_sets(model) || model_takes_pair(model)) && M == MANY ? 2 : 0,
                     .blocks = s->blocks,
                     .comm = comm_self()};
    assert_int_equal(model->open(model, &s->p, &s->h, &s->state, &e), ANYGP_OK);
    assert_int_equal(model->steps->begin(s->state, &s->h, 1e-8, &e), ANYGP_OK);
}

static void open_scene(scene *s, const model_ops *model, const likelihood_ops *of) { open_with(s, model, of, MANY); }

static void close_scene(scene *s)
{
    s->model->close(s->state);
    blocks_free(s->blocks);
    hyper_clear(&s->h);
}

static double take_step(scene *s, int64_t t, bool sampled)
{
    const int64_t pairs[2][2] = {{0, 2}, {1, 3}};
    double value;
    anygp_error e;
    step_context c = {.seed = 7,
                      .t = t,
                      .steps = 100,
                      .count = sampled ? 2 : PARTS,
                      .which = sampled ? pairs[t % 2] : NULL,
                      .scale = sampled ? 2 : 1,
                      .rho = 0.2,
                      .rate = 0.01,
                      .learn = t % 5 != 0 && t % 5 != 4}; /* else q alone, as at the ends of a run */
    assert_int_equal(s->model->steps->step(s->state, &s->h, &c, &value, &e), ANYGP_OK);
    assert_true(isfinite(value));
    return value;
}

static double bound_now(scene *s)
{
    double value;
    anygp_error e;
    assert_int_equal(s->model->steps->bound(s->state, &s->h, &value, &e), ANYGP_OK);
    return value;
}

static posterior *posterior_now(scene *s)
{
    posterior *p = NULL;
    double jitter;
    anygp_error e;
    assert_int_equal(s->model->steps->posteriors(s->state, &s->h, &jitter, &p, &e), ANYGP_OK);
    assert_int_equal(p->latents, s->like.latents);
    return p;
}

static void predict(const posterior *p, const scene *s, double *mean, double *variance)
{
    anygp_error e;
    double *work = calloc((size_t)p->ops->work_doubles(p, NEW), sizeof *work);
    assert_int_equal(p->ops->marginal(p, NEW, s->new, D, work, mean, variance, &e), ANYGP_OK);
    for (int64_t i = 0; i < NEW * p->latents; i++) assert_true(isfinite(mean[i]) && variance[i] >= 0);
    free(work);
}

#define FOR_EACH_PAIR(m, l)                                                                                            \
    for (size_t m = 0; m < sizeof stepping / sizeof *stepping; m++)                                                    \
        for (int64_t l = 0; l < likelihood_count(); l++)

/* -------------------------------------------------------------------------------------- tests */

static void bound_rises_and_predictions_are_numbers(void **unused)
{
    (void)unused;
    FOR_EACH_PAIR(m, l)
    {
        scene s;
        double mean[NEW * CLASSES], variance[NEW * CLASSES];
        open_scene(&s, stepping[m], likelihood_at(l));
        double first = bound_now(&s);
        for (int64_t t = 0; t < 40; t++) take_step(&s, t, t < 20);
        assert_true(bound_now(&s) > first);
        posterior *p = posterior_now(&s);
        predict(p, &s, mean, variance);
        bool condensed = check_condensed(p, NEW, s.new, D);
        if (likelihood_is_gaussian(&s.like)) assert_int_equal(condensed, stepping[m] != &model_svdgp);
        p->ops->free(p);
        close_scene(&s);
    }
}

static void check_same_predictions(scene *a, scene *b)
{
    double mean[2][NEW * CLASSES], variance[2][NEW * CLASSES];
    posterior *p = posterior_now(a), *q = posterior_now(b);
    predict(p, a, mean[0], variance[0]);
    predict(q, b, mean[1], variance[1]);
    assert_memory_equal(mean[0], mean[1], (size_t)(NEW * p->latents) * sizeof(double));
    assert_memory_equal(variance[0], variance[1], (size_t)(NEW * p->latents) * sizeof(double));
    p->ops->free(p);
    q->ops->free(q);
}

/* Saved after `saved` steps and restored into another, which then takes the same steps to `end`. */
static void check_restored(const model_ops *model, const likelihood_ops *of, int64_t M, int64_t saved, int64_t end)
{
    scene a, b;
    open_with(&a, model, of, M);
    for (int64_t t = 0; t < saved; t++) take_step(&a, t, true);
    shelf k = shelf_of(a.model, a.state);
    open_with(&b, model, of, M);
    assert_true(b.model->steps->restore(b.state, &b.h, k.c));
    check_same_predictions(&a, &b);
    for (int64_t t = saved; t < end; t++) assert_true(take_step(&a, t, true) == take_step(&b, t, true));
    check_same_predictions(&a, &b);
    shelf_clear(&k);
    close_scene(&a);
    close_scene(&b);
}

static void restored_state_goes_on_to_the_same_bits(void **unused)
{
    (void)unused;
    FOR_EACH_PAIR(m, l) check_restored(stepping[m], likelihood_at(l), MANY, 5, 8);
}

static void restored_state_of_scaled_variables_too(void **unused)
{
    (void)unused;
    kind = &inducing_scaled;
    FOR_EACH_PAIR(m, l)
    if (stepping[m] != &model_svdgp && l < 2) check_restored(stepping[m], likelihood_at(l), MANY, 5, 8);
    kind = &inducing_points;
}

/* At sizes where threads share the work: the factors of q are the same, made in a step or from a checkpoint; before
   anything was learned, while it is and right after. */
static void restored_state_of_many_inducing_inputs_too(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        int64_t saved;
    } runs[] = {{"gaussian", 1}, {"gaussian", 3}, {"gaussian", 4}, {"heteroscedastic", 3}, {"softmax", 3}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        check_restored(&model_svgp, likelihood_find(runs[i].name), MOST, runs[i].saved, 6);
}

static void arrays_come_back_as_the_same_posterior(void **unused)
{
    (void)unused;
    FOR_EACH_PAIR(m, l)
    {
        scene s;
        anygp_error e;
        array_list all = {0};
        posterior *q = NULL;
        double mean[2][NEW * CLASSES], variance[2][NEW * CLASSES];
        basis none = {0};
        open_scene(&s, stepping[m], likelihood_at(l));
        for (int64_t t = 0; t < 3; t++) take_step(&s, t, true);
        posterior *p = posterior_now(&s);
        p->ops->arrays(p, &all);
        named_array *list = all.at;
        int64_t count = all.count;
        for (int64_t i = 0; i < count; i++) {
            size_t bytes = (size_t)(list[i].rows * list[i].cols) * sizeof(double);
            list[i].values = memcpy(malloc(bytes), list[i].values, bytes);
        }
        assert_int_equal(s.model->load(s.model, kernel_copy(p->kernel), p->noise, &none, D, list, count, &q, &e),
                         ANYGP_OK);
        predict(p, &s, mean[0], variance[0]);
        predict(q, &s, mean[1], variance[1]);
        assert_memory_equal(mean[0], mean[1], (size_t)(NEW * p->latents) * sizeof(double));
        assert_memory_equal(variance[0], variance[1], (size_t)(NEW * p->latents) * sizeof(double));
        for (int64_t i = 0; i < count; i++) free(list[i].values);
        array_list_clear(&all);
        p->ops->free(p);
        q->ops->free(q);
        close_scene(&s);
    }
}

/* Expected log likelihood of the training rows. */
static double fit_of(const posterior *p, const scene *s)
{
    enum { CELLS = ROWS * CLASSES };
    double mean[CELLS], variance[CELLS], dmu[CELLS], dvar[CELLS], dparam[LIKELIHOOD_PARAMS] = {0};
    anygp_error e;
    double *work = calloc((size_t)p->ops->work_doubles(p, ROWS), sizeof *work);
    assert_int_equal(p->ops->marginal(p, ROWS, s->X, D, work, mean, variance, &e), ANYGP_OK);
    free(work);
    return s->like.ops->expect(&s->like, ROWS, s->Y, s->w, mean, variance, ROWS, (random_stream){0}, 0, dmu, dvar,
                               dparam);
}

static void new_rows_are_learned_from(void **unused)
{
    (void)unused;
    FOR_EACH_PAIR(m, l)
    {
        scene s;
        void *update = NULL;
        posterior *q = NULL;
        update_report r;
        anygp_error e;
        open_scene(&s, stepping[m], likelihood_at(l));
        const update_ops *ops = s.model->update;
        posterior *p = posterior_now(&s); /* the prior: no step was taken */
        assert_int_equal(ops->open(s.model, p, &s.like, &update, &e), ANYGP_OK);
        assert_int_equal(ops->add(update, ROWS / 2, s.X, s.Y, s.w, NULL, &e), ANYGP_OK);
        assert_int_equal(
            ops->add(update, ROWS / 2, s.X + ROWS / 2 * D, s.Y + ROWS / 2 * s.like.columns, s.w + ROWS / 2, NULL, &e),
            ANYGP_OK);
        assert_int_equal(ops->finish(update, &q, &r, &e), ANYGP_OK);
        assert_true(fit_of(q, &s) > fit_of(p, &s));
        check_close(r.rows, s.blocks->total, 1e-12);
        ops->close(update);
        p->ops->free(p);
        q->ops->free(q);
        close_scene(&s);
    }
}

/* Gaussian noise: rows that come later count as if they had been there. */
static void gaussian_updates_equal_one_step_over_all_rows(void **unused)
{
    (void)unused;
    scene s;
    void *update = NULL;
    posterior *q = NULL;
    update_report r;
    anygp_error e;
    double value, mean[2][NEW], variance[2][NEW];
    step_context c = {.count = PARTS, .scale = 1, .rho = 1};
    open_scene(&s, &model_svgp, likelihood_find("gaussian"));
    posterior *p = posterior_now(&s);
    assert_int_equal(s.model->update->open(s.model, p, &s.like, &update, &e), ANYGP_OK);
    for (int i = 0; i < ROWS; i += 10)
        assert_int_equal(s.model->update->add(update, 10, s.X + i * D, s.Y + i, s.w + i, NULL, &e), ANYGP_OK);
    assert_int_equal(s.model->update->finish(update, &q, &r, &e), ANYGP_OK);
    assert_int_equal(s.model->steps->step(s.state, &s.h, &c, &value, &e), ANYGP_OK);
    posterior *whole = posterior_now(&s);
    predict(q, &s, mean[0], variance[0]);
    predict(whole, &s, mean[1], variance[1]);
    for (int i = 0; i < NEW; i++) {
        check_close(mean[0][i], mean[1][i], 1e-9);
        check_close(variance[0][i], variance[1][i], 1e-9);
    }
    s.model->update->close(update);
    p->ops->free(p);
    q->ops->free(q);
    whole->ops->free(whole);
    close_scene(&s);
}

/* Counts far from what the model expects: natural steps of any fixed size lead away, to rates that are no numbers. */
static void counts_that_surprise_are_learned_from(void **unused)
{
    (void)unused;
    for (int m = 0; m < 4; m++) { /* svdgp takes its own steps */
        scene s;
        void *update = NULL;
        posterior *q = NULL;
        update_report r;
        anygp_error e;
        double mean[NEW], variance[NEW];
        const double Y[4] = {100000, 1, 0, 1}, w[2] = {1, 1};
        open_scene(&s, stepping[m], likelihood_find("poisson"));
        for (int64_t t = 0; t < 20; t++) take_step(&s, t, false);
        posterior *p = posterior_now(&s);
        assert_int_equal(s.model->update->open(s.model, p, &s.like, &update, &e), ANYGP_OK);
        assert_int_equal(s.model->update->add(update, 2, s.new, Y, w, NULL, &e), ANYGP_OK);
        assert_int_equal(s.model->update->finish(update, &q, &r, &e), ANYGP_OK);
        predict(q, &s, mean, variance);
        check_close(mean[0] + s.like.value[0], log(100000), 0.2);
        s.model->update->close(update);
        p->ops->free(p);
        q->ops->free(q);
        close_scene(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_rises_and_predictions_are_numbers),
        cmocka_unit_test(restored_state_goes_on_to_the_same_bits),
        cmocka_unit_test(restored_state_of_scaled_variables_too),
        cmocka_unit_test(restored_state_of_many_inducing_inputs_too),
        cmocka_unit_test(arrays_come_back_as_the_same_posterior),
        cmocka_unit_test(new_rows_are_learned_from),
        cmocka_unit_test(gaussian_updates_equal_one_step_over_all_rows),
        cmocka_unit_test(counts_that_surprise_are_learned_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
