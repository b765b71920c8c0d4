/* svdgp's posteriors: predictions, files, the held-out bound, and updates. */
#include "svdgp_runs.h"

enum { NEW = 5 };

static void joint_agrees_with_marginals_and_the_file_with_both(void **unused)
{
    (void)unused;
    const variant all[] = {cases[0], cases[1], {"rbf", MEAN_LINEAR, true, 1}};
    for (int i = 0; i < 3; i++) {
        run r;
        array_list list = {0};
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
        p->ops->arrays(p, &list);
        basis copy = {0};
        assert_int_equal(basis_copy(&r.f.mean, &copy, &e), ANYGP_OK);
        kernel *k = kernel_copy(r.f.h.kernel);
        assert_int_equal(r.model->load(r.model, k, p->noise, &copy, D, list.at, list.count, &q, &e), ANYGP_OK);
        predict(q, NEW, X, joint, again);
        for (int64_t j = 0; j < C * NEW; j++) assert_true(joint[j] == mean[j] && again[j] == variance[j]);
        array_list_clear(&list);
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
        double slope = 0, here = q->s.a.values[i];
        for (int side = -1; side <= 1; side += 2) {
            q->s.a.values[i] = here + side * 1e-4;
            assert_int_equal(svdgp_posterior_complete(q, &e), ANYGP_OK);
            slope += side * new_rows_bound(q, old, X, y, w) / 2e-4;
        }
        check_close(slope, 0, 1e-6);
        q->s.a.values[i] = here;
    }
    q->base.ops->free(&q->base), p->ops->free(p);
    run_close(&r);
}

/* The bases of a process, in the other order. */
static void reverse_rows(param_segment *g)
{
    for (int64_t i = 0, j = g->rows - 1; i < j; i++, j--)
        for (int64_t k = 0; k < g->cols; k++) {
            double t = g->values[i * g->cols + k];
            g->values[i * g->cols + k] = g->values[j * g->cols + k], g->values[j * g->cols + k] = t;
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
        cmocka_unit_test(joint_agrees_with_marginals_and_the_file_with_both),
        cmocka_unit_test(many_rows_are_predicted_as_each_of_them_alone),
        cmocka_unit_test(held_out_score_is_the_mean_expected_log_likelihood),
        cmocka_unit_test(update_of_an_exact_posterior_is_exact_in_the_mean),
        cmocka_unit_test(update_maximises_the_new_rows_bound_under_theorem_1),
        cmocka_unit_test(updates_tell_how_far_they_went_and_add_beta_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
