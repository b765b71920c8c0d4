/* Experts with hyperparameters of their own against an exact model of the rows of each, with dense matrices. */
#include "experts_support.h"

static const expert_choice own = {.own = true};
static const char *const models[] = {"poe", "gpoe", "gpoe(beta=entropy)", "gpoe(uniform)"};
#define FOR_EACH_MODEL(m) for (const char *const *m = models; m < models + sizeof models / sizeof *models; m++)

/* Every expert gets values that no other has. */
static void set_own(scene *f, const char *model, const struct variant *v, expert_choice experts)
{
    scene_set(f, model, v->kernel, v->mean, v->weights, BLOCKS, some_blocks, experts);
    const param_segment *s = experts_own_segment(&f->h);
    assert_non_null(s);
    assert_int_equal(s->rows, BLOCKS * f->h.count);
    for (int64_t i = 0; i < s->rows; i++) s->values[i] *= exp(0.3 * sin(7.0 * (double)i));
}

/* The scene's common hyperparameters, which the dense matrices are made of, as those of expert k. */
static void look_through(scene *f, int64_t k)
{
    const double *values = experts_own_segment(&f->h)->values + k * f->h.count;
    for (int64_t i = 0; i < f->h.count; i++) hyper_set(&f->h, i, values[i]);
}

static void objective_is_the_sum_over_exact_models_of_their_rows(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        scene f;
        double value, half[2], jitter = 0;
        real sum = 0;
        anygp_error e;
        set_own(&f, "poe", v, own);
        (void)scene_posterior(&f);
        for (int64_t k = 0; k < BLOCKS; k++) {
            look_through(&f, k);
            dense_rows rows = rows_of_expert(&f, k);
            if (rows.n) sum += dense_log_normal(rows.n, rows.K, rows.logdet, rows.y);
        }
        assert_true(f.model->evaluate(f.state, &f.h, false, &jitter, &value, NULL));
        check_close(value, (double)sum, 1e-11);
        const int64_t first[] = {0, 3}, second[] = {1, 2};
        assert_int_equal(f.model->sum->estimate(f.state, &f.h, 0, 2, first, 2, half, NULL, &e), ANYGP_OK);
        assert_int_equal(f.model->sum->estimate(f.state, &f.h, 0, 2, second, 2, half + 1, NULL, &e), ANYGP_OK);
        check_close((half[0] + half[1]) / 2, value, 1e-12);
        scene_clear(&f);
    }
}

static double value_at(scene *f)
{
    double value, jitter = 0;
    assert_true(f->model->evaluate(f->state, &f->h, false, &jitter, &value, NULL));
    return value;
}

static void gradient_is_that_of_differences_and_the_common_ones_stay(void **unused)
{
    (void)unused;
    scene f;
    double g[64], value, jitter = 0;
    set_own(&f, "gpoe", &variants[1], own);
    const param_segment *s = experts_own_segment(&f.h);
    assert_true(hyper_size(&f.h) <= 64);
    assert_int_equal(f.h.free, s->rows);
    assert_true(f.model->evaluate(f.state, &f.h, false, &jitter, &value, g));
    for (int64_t i = 0; i < f.h.count; i++) assert_true(g[i] == 0);
    for (int64_t i = 0; i < s->rows; i++) {
        double at = s->values[i], step = 1e-5 * at;
        s->values[i] = at + step;
        double up = value_at(&f);
        s->values[i] = at - step;
        double down = value_at(&f);
        s->values[i] = at;
        assert_true(fabs(g[params_place(&f.h.all, s) + i] - (up - down) / (2 * step)) < 1e-6);
    }
    scene_clear(&f);
}

/* eq. 27 with a prior of its own for each expert; the noise of y is averaged as the mean is. */
static void by_definition(scene *f, const char *model, bool observed, const double *x, double out[3])
{
    const experts_posterior *p = scene_posterior(f);
    real total = 0, precision = 0, mean = 0, noise = 0;
    for (int64_t k = 0; k < BLOCKS; k++) {
        if (expert_at(p, k).n == 0) continue;
        look_through(f, k);
        dense_rows rows = rows_of_expert(f, k);
        real own_noise = f->h.like[0] + kernel_white(f->h.kernel), more = observed ? own_noise : 0;
        real v = covariance_given(f, &rows, x, x) + more, v0 = scene_prior(f, x, x, false) + more;
        real beta = strchr(model, 'u') || !strcmp(model, "poe") ? 1 : 0.5L * logl(v0 / v);
        total += beta, precision += beta / v;
        mean += beta / v * mean_given(f, &rows, x), noise += beta / v * own_noise;
    }
    bool divided = !strcmp(model, "gpoe") || strchr(model, 'u');
    out[0] = (double)(mean / precision), out[2] = (double)(noise / precision);
    out[1] = fmax(0, (double)((divided ? total : 1) / precision) - (observed ? out[2] : 0));
}

static void predictions_are_those_of_the_definitions(void **unused)
{
    (void)unused;
    FOR_EACH_MODEL(m) FOR_EACH_VARIANT(v) for (int observed = 0; observed < 2; observed++)
    {
        scene f;
        double mean[NEW], variance[NEW], noise[NEW], expected[3];
        anygp_error e;
        set_own(&f, *m, v, (expert_choice){.own = true, .observed = observed});
        scene_predict(&f, NEW, f.new, mean, variance);
        double *work = malloc((size_t)f.q->ops->work_doubles(f.q, NEW) * sizeof *work);
        assert_int_equal(f.q->ops->marginal_noise(f.q, NEW, f.new, D, NULL, work, mean, variance, noise, &e), ANYGP_OK);
        for (int i = 1; i < NEW; i++) {
            by_definition(&f, *m, observed, f.new + i *D, expected);
            check_close(mean[i], expected[0], 1e-9);
            check_close(variance[i], expected[1], 1e-9);
            check_close(noise[i], expected[2], 1e-9);
        }
        free(work);
        scene_clear(&f);
    }
}

/* ------------------------------------------------------------------------------------------- file, update */

static named_array *own_array(array_list *list)
{
    return (named_array *)named_array_find(list->at, list->count, "own");
}

static void a_file_has_them_and_damage_is_found(void **unused)
{
    (void)unused;
    scene f;
    posterior *again = NULL;
    array_list list = {0};
    double a[NEW], b[NEW], v[NEW], w[NEW];
    anygp_error e;
    set_own(&f, "gpoe", &variants[0], own);
    scene_predict(&f, NEW, f.new, a, v);
    f.q->ops->arrays(f.q, &list);
    assert_int_equal(scene_load(&f, &list, 0, &again), ANYGP_OK);
    double *work = malloc((size_t)again->ops->work_doubles(again, NEW) * sizeof *work);
    assert_int_equal(again->ops->marginal(again, NEW, f.new, D, work, b, w, &e), ANYGP_OK);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(v, w, sizeof v);
    free(work);
    again->ops->free(again);
    named_array *o = own_array(&list);
    const double bad[] = {-1, 0, NAN, INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double kept = o->values[1];
        o->values[1] = bad[i];
        assert_int_equal(scene_load(&f, &list, 0, &again), ANYGP_ERR_FILE);
        o->values[1] = kept;
    }
    o->cols--;
    assert_int_equal(scene_load(&f, &list, 0, &again), ANYGP_ERR_FILE);
    o->cols++;
    const model_ops *mine = f.model;
    f.model = &model_bcm; /* which has none */
    assert_int_equal(scene_load(&f, &list, 0, &again), ANYGP_ERR_FILE);
    f.model = mine;
    array_list_clear(&list);
    scene_clear(&f);
}

static void an_expert_that_new_rows_open_takes_medians(void **unused)
{
    (void)unused;
    scene f;
    void *u;
    posterior *out;
    update_report r;
    anygp_error e;
    likelihood l = {0};
    const double X[2 * D] = {0.1, 0.2, 1e3, 1e3}, y[2] = {0.5, -1}, w[2] = {1, 1};
    set_own(&f, "gpoe", &variants[0], own);
    const experts_posterior *p = scene_posterior(&f);
    assert_int_equal(f.model->update->open(f.model, f.q, &l, &u, &e), ANYGP_OK);
    assert_int_equal(f.model->update->add(u, 2, X, y, w, NULL, &e), ANYGP_OK);
    assert_int_equal(f.model->update->finish(u, &out, &r, &e), ANYGP_OK);
    const experts_posterior *made = (const experts_posterior *)out;
    int64_t params = p->own->params;
    assert_int_equal(made->count, BLOCKS + 1);
    assert_memory_equal(made->own->values, p->own->values, (size_t)(BLOCKS * params) * sizeof(double));
    for (int64_t i = 0; i < params; i++) {
        double below = 0, value = made->own->values[BLOCKS * params + i];
        for (int64_t k = 0; k < BLOCKS; k++) below += p->own->values[k * params + i] < value;
        assert_true(below == BLOCKS / 2);
    }
    out->ops->free(out);
    f.model->update->close(u);
    scene_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(objective_is_the_sum_over_exact_models_of_their_rows),
                                       cmocka_unit_test(gradient_is_that_of_differences_and_the_common_ones_stay),
                                       cmocka_unit_test(predictions_are_those_of_the_definitions),
                                       cmocka_unit_test(a_file_has_them_and_damage_is_found),
                                       cmocka_unit_test(an_expert_that_new_rows_open_takes_medians)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
