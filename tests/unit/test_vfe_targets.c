/* Several targets over one kernel and one set of inducing inputs: the joint bound is the sum of those of each target with full
   matrices (sparse_support.h), and each target's posterior and bounds are those of a model of it alone. */
#include "sparse_support.h"

enum { T = 3, MOST = 40 };
static const double noises[T] = {0.07, 0.9, 0.004};
static const definition *const vfe = &definitions[4];

typedef struct together {
    fixture f;       /* of the last target that was looked at */
    hyper h;         /* of all: a noise each */
    problem p;       /* of all */
    row_blocks *all; /* y is ROWS x T */
    double y[ROWS * T];
    void *state;
} together;

static void open_together(together *a, const variant *v, bool learn_Z)
{
    likelihood like;
    assert_ptr_equal(vfe->model, &model_vfe);
    setup(&a->f, &model_vfe, v->expression, v->mean, v->weights, learn_Z);
    fill_normal(20, ROWS * T, a->y);
    assert_int_equal(hyper_copy(&a->f.h, &a->h, NULL), ANYGP_OK);
    assert_int_equal(likelihood_parse("gaussian", &like, NULL), ANYGP_OK);
    assert_int_equal(likelihood_open(&like, 0, false, NULL), ANYGP_OK);
    assert_int_equal(hyper_set_likelihood(&a->h, &like, T, false, NULL), ANYGP_OK);
    for (int t = 0; t < T; t++) a->h.like[t] = noises[t];
    assert_int_equal(blocks_of_arrays(BLOCKS, a->f.start, D, T, a->f.X, a->y, a->f.w, &a->all, NULL), ANYGP_OK);
    a->p = a->f.p;
    a->p.blocks = a->all, a->p.targets = T;
    assert_int_equal(model_vfe.open(&model_vfe, &a->p, &a->h, &a->state, NULL), ANYGP_OK);
}

/* The fixture becomes that of target t alone. */
static fixture *target_alone(together *a, int t)
{
    for (int i = 0; i < ROWS; i++) a->f.y[i] = a->y[i * T + t];
    a->f.h.like[0] = a->h.like[t];
    return &a->f;
}

static void close_together(together *a)
{
    model_vfe.close(a->state);
    blocks_free(a->all);
    hyper_clear(&a->h);
    teardown(&a->f, &model_vfe);
}

static void joint_bound_is_the_sum_of_the_bounds_of_each_target(void **unused)
{
    (void)unused;
    for (const variant *v = variants; v < variants + VARIANTS; v++) {
        together a;
        double jitter = 1e-8, value;
        real sum = 0;
        open_together(&a, v, false);
        assert_true(model_vfe.evaluate(a.state, &a.h, true, &jitter, &value, NULL));
        for (int t = 0; t < T; t++) {
            fixture *f = target_alone(&a, t);
            dense_gp *g = dense_new(f, vfe, jitter);
            sum += dense_objective(f, vfe, g);
            free(g);
        }
        check_close(value, (double)sum, 1e-10);
        close_together(&a);
    }
}

static double value_at(void *ctx, const double *u)
{
    together *a = ctx;
    double jitter = 1e-6, value;
    hyper_unpack(&a->h, u);
    assert_true(model_vfe.evaluate(a->state, &a->h, false, &jitter, &value, NULL));
    return value;
}

static void gradient_in_kernel_noises_and_inducing_inputs_equals_central_differences(void **unused)
{
    (void)unused;
    for (const variant *v = variants; v < variants + VARIANTS; v++)
        for (int keep = 0; keep < 2; keep++) {
            together a;
            double u[MOST], gp[MOST], gu[MOST], jitter = 1e-6, value;
            void *other = NULL;
            open_together(&a, v, true);
            assert_true(a.h.free <= MOST && hyper_size(&a.h) <= MOST);
            assert_int_equal(a.h.free, hyper_size(&a.h));
            if (keep == 0) {
                a.p.keep = 0;
                assert_int_equal(model_vfe.open(&model_vfe, &a.p, &a.h, &other, NULL), ANYGP_OK);
            }
            hyper_pack(&a.h, u);
            assert_true(model_vfe.evaluate(other ? other : a.state, &a.h, false, &jitter, &value, gp));
            hyper_chain(&a.h, gp, gu);
            for (int64_t i = 0; i < a.h.free; i++)
                check_close(gu[i], central_difference(value_at, &a, u, i, 1e-5), 1e-6);
            model_vfe.close(other);
            close_together(&a);
        }
}

static void compare_marginals(const fixture *f, posterior *p, posterior *q)
{
    double mean[2][NEW], variance[2][NEW], *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
    assert_int_equal(p->ops->marginal(p, NEW, f->new, D, work, mean[0], variance[0], NULL), ANYGP_OK);
    assert_int_equal(q->ops->marginal(q, NEW, f->new, D, work, mean[1], variance[1], NULL), ANYGP_OK);
    for (int i = 0; i < NEW; i++) {
        check_close(mean[0][i], mean[1][i], 1e-9);
        check_close(variance[0][i], variance[1][i], 1e-9);
    }
    free(work);
}

/* All that a file or an update has of it. */
static void compare_arrays(posterior *p, posterior *q)
{
    array_list of_p = {0}, of_q = {0};
    p->ops->arrays(p, &of_p);
    q->ops->arrays(q, &of_q);
    assert_int_equal(of_p.count, of_q.count);
    for (int64_t k = 0; k < of_p.count; k++) {
        const named_array *a = &of_p.at[k], *b = &of_q.at[k];
        assert_string_equal(a->name, b->name);
        for (int64_t i = 0; i < a->rows * a->cols; i++) check_close(a->values[i], b->values[i], 1e-9);
    }
    array_list_clear(&of_p);
    array_list_clear(&of_q);
}

static void posterior_of_each_target_is_that_of_a_model_of_it_alone(void **unused)
{
    (void)unused;
    for (const variant *v = variants; v < variants + VARIANTS; v++) {
        together a;
        posterior *all[T] = {NULL}, *alone;
        double jitter = 1e-8;
        open_together(&a, v, false);
        assert_int_equal(model_vfe.posterior(a.state, &a.h, &jitter, all, NULL), ANYGP_OK);
        for (int t = 0; t < T; t++) {
            fixture *f = target_alone(&a, t);
            double gp[MOST],
                value; /* another point first, so that sums of the target before are not taken for its own */
            f->h.like[0] *= 2;
            assert_true(model_vfe.evaluate(f->state, &f->h, false, &jitter, &value, gp));
            f->h.like[0] = noises[t];
            assert_int_equal(model_vfe.posterior(f->state, &f->h, &jitter, &alone, NULL), ANYGP_OK);
            assert_true(all[t]->noise == noises[t] && alone->noise == noises[t]);
            compare_marginals(f, all[t], alone);
            compare_arrays(all[t], alone);
            alone->ops->free(alone);
            all[t]->ops->free(all[t]);
        }
        close_together(&a);
    }
}

static void bounds_of_each_target_are_those_of_a_model_of_it_alone(void **unused)
{
    (void)unused;
    for (const variant *v = variants; v < variants + VARIANTS; v++) {
        together a;
        evidence_bounds all[T], alone;
        double jitter = 1e-8, value, sum = 0, joint;
        open_together(&a, v, false);
        assert_int_equal(model_vfe.bounds(a.state, &a.h, &jitter, all, NULL), ANYGP_OK);
        assert_true(model_vfe.evaluate(a.state, &a.h, false, &jitter, &joint, NULL));
        for (int t = 0; t < T; t++) {
            fixture *f = target_alone(&a, t);
            assert_true(model_vfe.evaluate(f->state, &f->h, false, &jitter, &value, NULL));
            assert_int_equal(model_vfe.bounds(f->state, &f->h, &jitter, &alone, NULL), ANYGP_OK);
            check_close(all[t].own, value, 1e-9);
            check_close(all[t].upper, alone.upper, 1e-9);
            check_close(all[t].tighter, alone.tighter, 1e-9);
            assert_true(isnan(alone.own));
            sum += all[t].own;
        }
        check_close(joint, sum, 1e-12);
        close_together(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joint_bound_is_the_sum_of_the_bounds_of_each_target),
        cmocka_unit_test(gradient_in_kernel_noises_and_inducing_inputs_equals_central_differences),
        cmocka_unit_test(posterior_of_each_target_is_that_of_a_model_of_it_alone),
        cmocka_unit_test(bounds_of_each_target_are_those_of_a_model_of_it_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
