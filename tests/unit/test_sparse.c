/* The sparse priors against their definitions with full matrices (sparse_support.h). */
#include "condensed_support.h"
#include "sparse_support.h"

static void evidence_equals_the_normal_density_of_all_original_rows(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v, d)
    {
        fixture f;
        double jitter = 1e-8, value;
        setup(&f, d->model, v->expression, v->mean, v->weights, false);
        assert_true(d->model->evaluate(f.state, &f.h, true, &jitter, &value, NULL));
        dense_gp *g = dense_new(&f, d, jitter);
        check_close(value, (double)dense_objective(&f, d, g), 1e-10);
        free(g);
        teardown(&f, d->model);
    }
}

typedef struct objective {
    fixture *f;
    const model_ops *model;
} objective;

static double evidence_at(void *ctx, const double *u)
{
    objective *o = ctx;
    double jitter = 1e-6, value;
    hyper_unpack(&o->f->h, u);
    assert_true(o->model->evaluate(o->f->state, &o->f->h, false, &jitter, &value, NULL));
    return value;
}

static void gradient_equals_central_differences(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v, d)
    {
        fixture f;
        double u[40], gp[40], gu[40], jitter = 1e-6, value;
        setup(&f, d->model, v->expression, v->mean, v->weights, true);
        assert_true(f.h.free <= 40 && hyper_size(&f.h) <= 40);
        hyper_pack(&f.h, u);
        assert_true(d->model->evaluate(f.state, &f.h, false, &jitter, &value, gp));
        hyper_chain(&f.h, gp, gu);
        for (int64_t i = 0; i < f.h.free; i++)
            check_close(gu[i], central_difference(evidence_at, &(objective){&f, d->model}, u, i, 1e-5), 2e-7);
        teardown(&f, d->model);
    }
}

/* What is kept between the two passes, and how blocks are cut, changes nothing. */
static void gradient_is_the_same_when_nothing_is_kept(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v, d)
    {
        fixture f;
        double gp[40], again[40], jitter = 1e-6, value, same;
        void *other;
        setup(&f, d->model, v->expression, v->mean, v->weights, true);
        f.p.keep = 0;
        assert_int_equal(d->model->open(d->model, &f.p, &f.h, &other, NULL), ANYGP_OK);
        assert_true(d->model->evaluate(f.state, &f.h, false, &jitter, &value, gp));
        assert_true(d->model->evaluate(other, &f.h, false, &jitter, &same, again));
        check_close(value, same, 1e-13);
        for (int64_t i = 0; i < hyper_size(&f.h); i++) check_close(gp[i], again[i], 1e-11);
        d->model->close(other);
        teardown(&f, d->model);
    }
}

static void predictions_equal_the_conditional_of_the_full_joint(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v, d)
    {
        fixture f;
        posterior *q;
        double jitter = 1e-8, mean[NEW], variance[NEW], same[NEW], cov[NEW * NEW];
        setup(&f, d->model, v->expression, v->mean, v->weights, false);
        assert_int_equal(d->model->posterior(f.state, &f.h, &jitter, &q, NULL), ANYGP_OK);
        double *work = malloc((size_t)q->ops->work_doubles(q, NEW) * sizeof *work);
        assert_int_equal(q->ops->marginal(q, NEW, f.new, D, work, mean, variance, NULL), ANYGP_OK);
        assert_int_equal(q->ops->joint(q, NEW, f.new, D, work, same, cov, NEW, NULL), ANYGP_OK);
        dense_gp *g = dense_new(&f, d, jitter);
        for (int s = 0; s < NEW; s++)
            for (int t = 0; t <= s; t++) {
                real m, c;
                dense_predict(&f, d, g, s, t, &m, &c);
                check_close(mean[s], (double)m, 1e-9);
                check_close(same[s], (double)m, 1e-9);
                check_close(cov[s + t * NEW], (double)c, 1e-9);
                if (s == t) check_close(variance[s], (double)c, 1e-9);
            }
        bool alone = d->model != &model_sor && d->model != &model_pic; /* rows with a variance beside what u explains */
        assert_int_equal(check_condensed(q, NEW, f.new, D), alone);
        free(g);
        free(work);
        q->ops->free(q);
        teardown(&f, d->model);
    }
}

/* pic with each new row in a block that it is not routed to. */
static void predictions_in_given_blocks_equal_the_conditional_for_those_blocks(void **unused)
{
    (void)unused;
    const definition *d = &definitions[DEFINITIONS - 1];
    const int64_t block[NEW] = {3, 0, 0, 2, 1, 3, 3};
    for (const variant *v = variants; v < variants + VARIANTS; v++) {
        fixture f;
        posterior *q;
        double jitter = 1e-8, mean[NEW], variance[NEW], same[NEW], cov[NEW * NEW];
        setup(&f, d->model, v->expression, v->mean, v->weights, false);
        assert_int_equal(d->model->posterior(f.state, &f.h, &jitter, &q, NULL), ANYGP_OK);
        double *work = malloc((size_t)q->ops->work_doubles(q, NEW) * sizeof *work);
        assert_int_equal(q->ops->marginal_in(q, NEW, f.new, D, block, work, mean, variance, NULL), ANYGP_OK);
        assert_int_equal(q->ops->joint_in(q, NEW, f.new, D, block, work, same, cov, NEW, NULL), ANYGP_OK);
        dense_gp *g = dense_new(&f, d, jitter);
        for (int s = 0; s < NEW; s++)
            for (int t = 0; t <= s; t++) {
                real m, c;
                dense_predict_in(&f, d, g, s, block[s], t, block[t], &m, &c);
                check_close(mean[s], (double)m, 1e-9);
                check_close(same[s], (double)m, 1e-9);
                check_close(cov[s + t * NEW], (double)c, 1e-9);
                if (s == t) check_close(variance[s], (double)c, 1e-9);
            }
        free(g);
        free(work);
        q->ops->free(q);
        teardown(&f, d->model);
    }
}

static void giving_the_blocks_that_rows_are_routed_to_changes_nothing(void **unused)
{
    (void)unused;
    fixture f;
    posterior *q;
    int64_t block[NEW];
    const double *names;
    double jitter = 1e-8, mean[2][NEW], variance[2][NEW];
    setup(&f, &model_pic, variants[1].expression, MEAN_LINEAR, true, false);
    assert_int_equal(model_pic.posterior(f.state, &f.h, &jitter, &q, NULL), ANYGP_OK);
    assert_int_equal(q->ops->blocks(q, &names), BLOCKS);
    for (int b = 0; b < BLOCKS; b++) assert_true(names[b] == b);
    double *work = malloc((size_t)q->ops->work_doubles(q, NEW) * sizeof *work);
    assert_int_equal(router_route(f.route, NEW, f.new, D, block, NULL), ANYGP_OK);
    assert_int_equal(q->ops->marginal(q, NEW, f.new, D, work, mean[0], variance[0], NULL), ANYGP_OK);
    assert_int_equal(q->ops->marginal_in(q, NEW, f.new, D, block, work, mean[1], variance[1], NULL), ANYGP_OK);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(variance[0], variance[1], sizeof variance[0]);
    free(work);
    q->ops->free(q);
    teardown(&f, &model_pic);
}

/* ------------------------------------------------------------------------ the bound at q(v) */

/* A q that is not the optimum: N(m, R R'). */
static void some_q(int64_t n, double *m, double *V, double *kl)
{
    double R[16 * 16] = {0}, r[16 * 16];
    fill_normal(7, n * n, r);
    fill_normal(8, n, m);
    *kl = -0.5 * (double)n;
    for (int64_t j = 0; j < n; j++) {
        m[j] *= 0.5;
        for (int64_t i = j; i < n; i++) R[i + j * n] = i == j ? 0.3 + fabs(r[i + j * n]) : 0.2 * r[i + j * n];
        *kl += 0.5 * m[j] * m[j] - log(R[j + j * n]);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            V[i + j * n] = 0;
            for (int64_t k = 0; k < n; k++) V[i + j * n] += R[i + k * n] * R[j + k * n];
            if (i == j) *kl += 0.5 * V[i + j * n];
        }
}

static const int64_t all_blocks[BLOCKS] = {0, 1, 2, 3}, two_blocks[2] = {3, 1};

typedef struct bound_case {
    objective o;
    int64_t count;
    const int64_t *which;
    double m[16], V[256], kl;
} bound_case;

static double bound_value(bound_case *c, double *gp)
{
    const double *S, *b;
    double jitter = 1e-6, value;
    const anytime_ops *a = c->o.model->anytime;
    fixture *f = c->o.f;
    double scale = (double)BLOCKS / (double)c->count;
    assert_true(a->prepare(f->state, &f->h, false, &jitter));
    assert_int_equal(a->stat(f->state, c->count, c->which, scale, &S, &b, NULL), ANYGP_OK);
    assert_int_equal(a->bound(f->state, c->m, c->V, c->kl, c->count, c->which, scale, 1, &value, gp, NULL), ANYGP_OK);
    return value;
}

static double bound_at(void *ctx, const double *u)
{
    bound_case *c = ctx;
    hyper_unpack(&c->o.f->h, u);
    return bound_value(c, NULL);
}

static void gradient_of_the_sampled_bound_equals_central_differences(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v, d)
    {
        fixture f;
        bound_case c = {.o = {&f, d->model}, .count = 2, .which = two_blocks};
        double u[40], gp[40], gu[40];
        setup(&f, d->model, v->expression, v->mean, v->weights, true);
        some_q(d->model->anytime->size(f.state), c.m, c.V, &c.kl);
        hyper_pack(&f.h, u);
        bound_value(&c, gp);
        hyper_chain(&f.h, gp, gu);
        for (int64_t i = 0; i < f.h.free; i++) check_close(gu[i], central_difference(bound_at, &c, u, i, 1e-5), 2e-7);
        teardown(&f, d->model);
    }
}

/* Averaged over every sample of two of the four blocks, bound and gradient are those of all rows. */
static void sampled_bound_and_gradient_are_unbiased(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v, d)
    {
        fixture f;
        bound_case c = {.o = {&f, d->model}, .count = BLOCKS, .which = all_blocks};
        double full, sum = 0, gp[40], mean[40] = {0}, one[40];
        setup(&f, d->model, v->expression, v->mean, v->weights, true);
        some_q(d->model->anytime->size(f.state), c.m, c.V, &c.kl);
        full = bound_value(&c, gp);
        for (int64_t i = 0; i < BLOCKS; i++)
            for (int64_t j = 0; j < i; j++) {
                c.count = 2, c.which = (const int64_t[]){i, j};
                sum += bound_value(&c, one) / 6;
                for (int64_t k = 0; k < hyper_size(&f.h); k++) mean[k] += one[k] / 6;
            }
        check_close(sum, full, 1e-11);
        for (int64_t k = 0; k < hyper_size(&f.h); k++) check_close(mean[k], gp[k], 1e-10);
        teardown(&f, d->model);
    }
}

/* At q* = N((I+S)^-1 b, (I+S)^-1) the bound is the evidence; anywhere else it is less. */
static void bound_touches_the_evidence_at_its_maximum(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v, d)
    {
        fixture f;
        const double *S, *b;
        double jitter = 1e-8, evidence, value, kl, m[16], V[256];
        real P[256];
        setup(&f, d->model, v->expression, v->mean, v->weights, false);
        const anytime_ops *a = d->model->anytime;
        int n = (int)a->size(f.state);
        assert_true(d->model->evaluate(f.state, &f.h, true, &jitter, &evidence, NULL));
        assert_int_equal(a->stat(f.state, BLOCKS, all_blocks, 1, &S, &b, NULL), ANYGP_OK);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) P[i * n + j] = (i == j) + S[i > j ? i + j * n : j + i * n];
        kl = 0.5 * ((double)dense_invert(n, P) - n);
        for (int i = 0; i < n; i++) {
            m[i] = 0;
            for (int j = 0; j < n; j++) m[i] += (double)P[i * n + j] * b[j], V[i + j * n] = (double)P[i * n + j];
            kl += 0.5 * (m[i] * m[i] + V[i + i * n]);
        }
        assert_int_equal(a->bound(f.state, m, V, kl, BLOCKS, all_blocks, 1, 1, &value, NULL, NULL), ANYGP_OK);
        check_close(value, evidence, 1e-10);
        some_q(n, m, V, &kl);
        assert_int_equal(a->bound(f.state, m, V, kl, BLOCKS, all_blocks, 1, 1, &value, NULL, NULL), ANYGP_OK);
        assert_true(value < evidence);
        teardown(&f, d->model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence_equals_the_normal_density_of_all_original_rows),
        cmocka_unit_test(gradient_equals_central_differences),
        cmocka_unit_test(gradient_is_the_same_when_nothing_is_kept),
        cmocka_unit_test(predictions_equal_the_conditional_of_the_full_joint),
        cmocka_unit_test(predictions_in_given_blocks_equal_the_conditional_for_those_blocks),
        cmocka_unit_test(giving_the_blocks_that_rows_are_routed_to_changes_nothing),
        cmocka_unit_test(gradient_of_the_sampled_bound_equals_central_differences),
        cmocka_unit_test(sampled_bound_and_gradient_are_unbiased),
        cmocka_unit_test(bound_touches_the_evidence_at_its_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
