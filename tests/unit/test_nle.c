/* Naive local experts against the exact model of each part with dense matrices. */
#include "dense_prior.h"
#include "model_scene.h"

enum { PAGE = 3 };

static void open_nle(scene *s, const scene_kind *kind, posterior **p)
{
    double jitter = 0;
    anygp_error e;
    scene_open(s, &model_nle, kind);
    assert_int_equal(s->model->posterior(s->state, &s->h, &jitter, p, &e), ANYGP_OK);
}

/* f(x) by the rows first .. end - 1. */
static void by_part(const scene *s, const double *x, int64_t first, int64_t end, double *mean, double *variance)
{
    static real K[ROWS * ROWS], k[ROWS], y[ROWS];
    int n = (int)(end - first);
    for (int i = 0; i < n; i++) {
        const double *a = s->X + (first + i) * D;
        k[i] = dense_prior(s->h.kernel, &s->mean, D, a, x, false), y[i] = s->y[first + i];
        for (int j = 0; j < n; j++)
            K[i * n + j] = dense_prior(s->h.kernel, &s->mean, D, a, s->X + (first + j) * D, i == j) +
                           (i == j ? s->h.like[0] / s->w[first + i] : 0);
    }
    dense_invert(n, K);
    *mean = (double)dense_quadratic(n, K, k, y);
    *variance = (double)(dense_prior(s->h.kernel, &s->mean, D, x, x, false) - dense_quadratic(n, K, k, k));
}

static void first_rows(const scene *s, int64_t *start)
{
    block_buffer buffer = {0};
    start[0] = 0;
    for (int64_t b = 0; b < BLOCKS; b++) {
        row_block r;
        anygp_error e;
        assert_int_equal(blocks_get(s->blocks, b, &buffer, &r, &e), ANYGP_OK);
        start[b + 1] = start[b] + r.n;
    }
    block_buffer_clear(&buffer);
}

static void check_predictions(const scene_kind *kind, bool given)
{
    scene s;
    posterior *p;
    anygp_error e;
    double X[NEW * D], mean[NEW], variance[NEW], m, v;
    int64_t block[NEW], start[BLOCKS + 1];
    open_nle(&s, kind, &p);
    assert_null(p->ops->joint);
    fill_normal(9, NEW * D, X);
    assert_int_equal(router_route(s.route, NEW, X, D, block, &e), ANYGP_OK);
    for (int i = 0; given && i < NEW; i++) block[i] = i % PAGE;
    double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
    if (given)
        assert_int_equal(p->ops->marginal_in(p, NEW, X, D, block, work, mean, variance, &e), ANYGP_OK);
    else
        assert_int_equal(p->ops->marginal(p, NEW, X, D, work, mean, variance, &e), ANYGP_OK);
    first_rows(&s, start);
    for (int i = 0; i < NEW; i++) {
        by_part(&s, X + i * D, start[block[i]], start[block[i] + 1], &m, &v);
        check_close(mean[i], m, 1e-9);
        check_close(variance[i], v, 1e-9);
    }
    free(work);
    p->ops->free(p);
    scene_close(&s);
}

static void a_prediction_is_the_exact_model_of_the_part(void **unused)
{
    (void)unused;
    for (int k = 0; k < SCENE_KINDS; k++) check_predictions(&scene_kinds[k], false);
}

static void a_part_that_is_given_is_the_one_that_predicts(void **unused)
{
    (void)unused;
    check_predictions(&scene_kinds[1], true);
}

/* The last rows of every part come later. */
static void an_update_equals_the_experts_of_all_rows(void **unused)
{
    (void)unused;
    enum { LATER = 2 };
    scene s;
    posterior *all, *some, *updated;
    anygp_error e;
    update_report r;
    void *state;
    int64_t start[BLOCKS + 1], early[BLOCKS + 1] = {0}, n = 0, late = 0;
    double X[ROWS * D], y[ROWS], w[ROWS], lateX[ROWS * D], latey[ROWS], latew[ROWS], new[NEW * D], cell[4][NEW];
    double jitter = 0;
    open_nle(&s, &scene_kinds[1], &all);
    first_rows(&s, start);
    for (int b = 0; b < BLOCKS; b++) {
        for (int64_t i = start[b]; i < start[b + 1]; i++) {
            bool is_late = i >= start[b + 1] - LATER;
            int64_t at = is_late ? late++ : n++;
            memcpy((is_late ? lateX : X) + at * D, s.X + i * D, D * sizeof *X);
            (is_late ? latey : y)[at] = s.y[i], (is_late ? latew : w)[at] = s.w[i];
        }
        early[b + 1] = n;
    }
    s.model->close(s.state);
    blocks_free(s.blocks);
    assert_int_equal(blocks_of_arrays(BLOCKS, early, D, 1, X, y, w, &s.blocks, &e), ANYGP_OK);
    s.p.blocks = s.blocks;
    assert_int_equal(model_open(s.model, &s.p, &s.h, &s.state, &e), ANYGP_OK);
    assert_int_equal(s.model->posterior(s.state, &s.h, &jitter, &some, &e), ANYGP_OK);
    const update_ops *ops = s.model->update;
    assert_int_equal(ops->open(s.model, some, &s.like, &state, &e), ANYGP_OK);
    assert_int_equal(ops->add(state, late, lateX, latey, latew, NULL, &e), ANYGP_OK);
    assert_int_equal(ops->finish(state, &updated, &r, &e), ANYGP_OK);
    assert_int_equal(r.blocks, 0);
    fill_normal(9, NEW * D, new);
    double *work = malloc((size_t)all->ops->work_doubles(all, NEW) * sizeof *work);
    assert_int_equal(all->ops->marginal(all, NEW, new, D, work, cell[0], cell[1], &e), ANYGP_OK);
    assert_int_equal(updated->ops->marginal(updated, NEW, new, D, work, cell[2], cell[3], &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) check_close(cell[0][i], cell[2][i], 1e-9), check_close(cell[1][i], cell[3][i], 1e-9);
    free(work);
    ops->close(state);
    posteriors_free(3, (posterior *[]){all, some, updated});
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_prediction_is_the_exact_model_of_the_part),
                                       cmocka_unit_test(a_part_that_is_given_is_the_one_that_predicts),
                                       cmocka_unit_test(an_update_equals_the_experts_of_all_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
