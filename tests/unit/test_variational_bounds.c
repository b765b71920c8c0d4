/* Collapsed variational bounds: solve and odvgp against 004 with full matrices, the bounds around the evidence, their
   gradients, limits and names.  That vfe and pep equal their definitions, in value, gradient and prediction, is with the
   sparse priors in test_sparse.c. */
#include "bounds_support.h"

#include <string.h>

static const double JITTER = 1e-8;

static const model_ops *const with_sets[] = {&model_solve_collapsed, &model_odvgp_collapsed};
static const int64_t one_set[] = {M}, two_sets[] = {4, 2}, three_sets[] = {2, 3, 1};
static const struct {
    int64_t count;
    const int64_t *sizes;
} divisions[] = {{1, one_set}, {2, two_sets}, {3, three_sets}};
enum { DIVISIONS = sizeof divisions / sizeof *divisions };

/* The state of `model` over these sets instead of the fixture's. */
static void *open_sets(fixture *f, const model_ops *model, int division)
{
    void *state;
    f->p.sets = divisions[division].sizes, f->p.set_count = divisions[division].count;
    assert_int_equal(model->open(model, &f->p, &f->h, &state, NULL), ANYGP_OK);
    return state;
}

static double value_of(fixture *f, const model_ops *model, int division)
{
    double value, jitter = JITTER;
    void *state = open_sets(f, model, division);
    assert_true(model->evaluate(state, &f->h, false, &jitter, &value, NULL));
    model->close(state);
    return value;
}

static const model_ops *made(const char *text)
{
    const model_ops *m;
    anygp_error e;
    if (model_make(text, &m, &e)) fail_msg("%s", e.text);
    return m;
}

/* ---------------------------------------------------------------------------- solve and odvgp */

static void collapsed_bounds_are_the_largest_values_of_equations_21_and_22(void **unused)
{
    (void)unused;
    real m[M], S[M * M];
    for (const variant *v = variants; v < variants + VARIANTS; v++) {
        fixture f;
        setup(&f, &model_vfe, v->expression, v->mean, v->weights, false);
        orthogonal *o = orthogonal_new(&f, 4, JITTER);
        check_close(value_of(&f, &model_solve_collapsed, 1), (double)largest_21(o, true, m, S), 1e-9);
        check_close(value_of(&f, &model_odvgp_collapsed, 1), (double)largest_21(o, false, m, S), 1e-9);
        free(o);
        teardown(&f, &model_vfe);
    }
}

/* With q(v_perp) the prior eq. 21 is vfe's bound on the first set (004, appendix D). */
static void equation_21_at_the_prior_is_vfe_on_the_first_set(void **unused)
{
    (void)unused;
    fixture f;
    setup(&f, &model_vfe, variants[0].expression, MEAN_LINEAR, true, false);
    orthogonal *o = orthogonal_new(&f, 4, 0);
    real zero[M] = {0};
    double value, jitter = 0;
    void *state;
    hyper few;
    assert_int_equal(hyper_copy(&f.h, &few, NULL), ANYGP_OK);
    assert_int_equal(hyper_set_inducing(&few, 4, D, f.h.Z, false, NULL), ANYGP_OK);
    assert_int_equal(model_vfe.open(&model_vfe, &f.p, &few, &state, NULL), ANYGP_OK);
    assert_true(model_vfe.evaluate(state, &few, false, &jitter, &value, NULL));
    check_close(value, (double)equation_21(o, zero, o->Cvv), 1e-10);
    model_vfe.close(state);
    hyper_clear(&few);
    free(o);
    teardown(&f, &model_vfe);
}

static void one_set_is_vfe(void **unused)
{
    (void)unused;
    for (const variant *v = variants; v < variants + VARIANTS; v++) {
        fixture f;
        setup(&f, &model_vfe, v->expression, v->mean, v->weights, false);
        for (int i = 0; i < 2; i++) check_close(value_of(&f, with_sets[i], 0), value_of(&f, &model_vfe, 0), 1e-13);
        teardown(&f, &model_vfe);
    }
}

typedef struct objective {
    fixture *f;
    const model_ops *model;
    void *state;
} objective;

static double bound_at(void *ctx, const double *u)
{
    objective *o = ctx;
    double jitter = 1e-6, value;
    hyper_unpack(&o->f->h, u);
    assert_true(o->model->evaluate(o->state, &o->f->h, false, &jitter, &value, NULL));
    return value;
}

static void check_gradient(fixture *f, const model_ops *model, void *state)
{
    double u[40], gp[40], gu[40], jitter = 1e-6, value;
    hyper_pack(&f->h, u);
    assert_true(model->evaluate(state, &f->h, false, &jitter, &value, gp));
    hyper_chain(&f->h, gp, gu);
    for (int64_t i = 0; i < f->h.free; i++)
        check_close(gu[i], central_difference(bound_at, &(objective){f, model, state}, u, i, 1e-5), 2e-7);
}

static void gradients_over_sets_equal_central_differences(void **unused)
{
    (void)unused;
    for (const variant *v = variants; v < variants + VARIANTS; v++)
        for (int i = 0; i < 2; i++)
            for (int d = 0; d < DIVISIONS; d++) {
                fixture f;
                setup(&f, with_sets[i], v->expression, v->mean, v->weights, true);
                void *state = open_sets(&f, with_sets[i], d);
                check_gradient(&f, with_sets[i], state);
                with_sets[i]->close(state);
                teardown(&f, with_sets[i]);
            }
}

static void inducing_inputs_are_learned_in_units_of_their_columns(void **unused)
{
    (void)unused;
    const double spread[D] = {1.5, 0.3};
    fixture f;
    double u[40];
    hyper copy;
    setup(&f, &model_vfe, variants[0].expression, MEAN_ZERO, false, true);
    assert_int_equal(hyper_set_units(&f.h, D, spread, NULL), ANYGP_OK);
    assert_int_equal(hyper_copy(&f.h, &copy, NULL), ANYGP_OK);
    hyper_pack(&copy, u);
    for (int i = 0; i < M * D; i++) check_close(u[copy.free - M * D + i] * spread[i % D], f.Z[i], 1e-15);
    check_gradient(&f, &model_vfe, f.state);
    hyper_clear(&copy);
    teardown(&f, &model_vfe);
}

/* 004, eq. 23 and 24, with q(u) at its maximum given the mean of q(v_perp). */
typedef struct prediction {
    real mean[NEW], covariance[NEW * NEW];
} prediction;

static void second_set_predicts(const fixture *f, const orthogonal *o, const real *m, const real *S, prediction *p)
{
    real P[NEW * M];
    int v = o->v;
    for (int s = 0; s < NEW; s++) second_of(f, JITTER, o, f->new + s *D, P + s * v);
    for (int s = 0; s < NEW; s++) {
        p->mean[s] = 0;
        for (int i = 0; i < v; i++) p->mean[s] += P[s * v + i] * m[i];
        for (int t = 0; t < NEW; t++) {
            const double *x = f->new + s *D, *z = f->new + t *D;
            real c = k_of(f, x, z) - q_first(f, o, x, z);
            for (int i = 0; i < v; i++)
                for (int j = 0; j < v; j++) c += P[s * v + i] * (S[i * v + j] - o->Cvv[i * v + j]) * P[t * v + j];
            p->covariance[s * NEW + t] = c;
        }
    }
}

/* precision = prior's + F'F / noise;  mean = that^-1 F'(y - P m) / noise */
static void first_set(const fixture *f, const orthogonal *o, const real *m, real *mean, real *covariance)
{
    int U = o->U, u = o->u;
    real b[WIDE] = {0};
    for (int i = 0; i < U; i++)
        for (int j = 0; j < U; j++) {
            covariance[i * U + j] = i < u && j < u ? o->Kuu[i * u + j] : i == j ? 1 / (real)f->mean.B : 0;
            for (int a = 0; a < o->n; a++) covariance[i * U + j] += o->F[a * U + i] * o->F[a * U + j] / o->noise;
        }
    dense_invert(U, covariance);
    for (int a = 0; a < o->n; a++) {
        real rest = o->y[a];
        for (int i = 0; i < o->v; i++) rest -= o->P[a * o->v + i] * m[i];
        for (int i = 0; i < U; i++) b[i] += o->F[a * U + i] * rest / o->noise;
    }
    for (int i = 0; i < U; i++) {
        mean[i] = 0;
        for (int j = 0; j < U; j++) mean[i] += covariance[i * U + j] * b[j];
    }
}

static void dense_prediction(const fixture *f, bool covariance_too, prediction *p)
{
    orthogonal *o = orthogonal_new(f, 4, JITTER);
    real m[M], S[M * M], mean[WIDE], V[WIDE * WIDE], F[NEW * WIDE];
    largest_21(o, covariance_too, m, S);
    second_set_predicts(f, o, m, S, p);
    first_set(f, o, m, mean, V);
    for (int s = 0; s < NEW; s++) first_of(f, o, f->new + s *D, F + s * o->U);
    for (int s = 0; s < NEW; s++) {
        for (int i = 0; i < o->U; i++) p->mean[s] += F[s * o->U + i] * mean[i];
        for (int t = 0; t < NEW; t++)
            p->covariance[s * NEW + t] += dense_quadratic(o->U, V, F + s * o->U, F + t * o->U);
    }
    free(o);
}

static posterior *posterior_over_sets(fixture *f, const model_ops *model, int division)
{
    double jitter = JITTER;
    posterior *q;
    void *state = open_sets(f, model, division);
    assert_int_equal(model->posterior(state, &f->h, &jitter, &q, NULL), ANYGP_OK);
    model->close(state);
    return q;
}

static void predictions_equal_equations_23_and_24(void **unused)
{
    (void)unused;
    for (const variant *v = variants; v < variants + VARIANTS; v++)
        for (int i = 0; i < 2; i++) {
            fixture f;
            prediction p;
            double mean[NEW], variance[NEW], same[NEW], cov[NEW * NEW];
            setup(&f, with_sets[i], v->expression, v->mean, v->weights, false);
            posterior *q = posterior_over_sets(&f, with_sets[i], 1);
            double *work = malloc((size_t)q->ops->work_doubles(q, NEW) * sizeof *work);
            assert_int_equal(q->ops->marginal(q, NEW, f.new, D, work, mean, variance, NULL), ANYGP_OK);
            assert_int_equal(q->ops->joint(q, NEW, f.new, D, work, same, cov, NEW, NULL), ANYGP_OK);
            dense_prediction(&f, i == 0, &p);
            for (int s = 0; s < NEW; s++)
                for (int t = 0; t <= s; t++) {
                    check_close(mean[s], (double)p.mean[s], 1e-8);
                    check_close(cov[s + t * NEW], (double)p.covariance[s * NEW + t], 1e-8);
                    if (s == t) check_close(variance[s], (double)p.covariance[s * NEW + s], 1e-8);
                }
            free(work);
            q->ops->free(q);
            teardown(&f, with_sets[i]);
        }
}

static void sets_survive_the_arrays_of_a_file(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        fixture f;
        array_list all = {0};
        posterior *back = NULL;
        basis mean;
        anygp_error e;
        setup(&f, with_sets[i], variants[1].expression, MEAN_LINEAR, true, false);
        posterior *q = posterior_over_sets(&f, with_sets[i], 2);
        q->ops->arrays(q, &all);
        named_array *list = all.at;
        int64_t count = all.count;
        assert_non_null(named_array_find(list, count, "J"));
        double *set = (double *)named_array_find(list, count, "set")->values;
        assert_int_equal(basis_copy(&f.mean, &mean, &e), ANYGP_OK);
        set[3] = 7; /* not a number of a set */
        assert_int_equal(with_sets[i]->load(with_sets[i], f.h.kernel, 0.07, &mean, D, list, count, &back, &e),
                         ANYGP_ERR_FILE);
        assert_non_null(strstr(e.text, "sets of inducing inputs are not valid"));
        assert_int_equal(with_sets[i]->load(with_sets[i], f.h.kernel, 0.07, &mean, D, list, count - 1, &back, &e),
                         ANYGP_ERR_FILE);
        assert_null(back);
        array_list_clear(&all);
        basis_clear(&mean);
        q->ops->free(q);
        teardown(&f, with_sets[i]);
    }
}

/* ------------------------------------------------------------------------------- the sandwich */

static evidence_bounds around(fixture *f, const model_ops *model, int division)
{
    double jitter = JITTER;
    evidence_bounds b;
    void *state = open_sets(f, model, division);
    assert_int_equal(model->bounds(state, &f->h, &jitter, &b, NULL), ANYGP_OK);
    model->close(state);
    return b;
}

/* With full matrices: M inducing inputs, all in one set. */
static real dense_upper(const fixture *f, const orthogonal *o)
{
    int n = o->n;
    real *A = calloc((size_t)(n * n), sizeof *A);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            const double *x = f->X + o->row[a] * D, *z = f->X + o->row[b] * D;
            A[a * n + b] = q_first(f, o, x, z) + basis_product(&f->mean, x, z) + (a == b ? o->noise + o->trace : 0);
        }
    dense_invert(n, A);
    real value = -0.5L * (n * 1.837877066409345483560659472811L + o->logdet_R + dense_quadratic(n, A, o->y, o->y));
    free(A);
    return value;
}

static void upper_bound_equals_its_definition(void **unused)
{
    (void)unused;
    for (const variant *v = variants; v < variants + VARIANTS; v++) {
        fixture f;
        setup(&f, &model_vfe, v->expression, v->mean, v->weights, false);
        orthogonal *o = orthogonal_new(&f, M, JITTER);
        double expected = (double)dense_upper(&f, o);
        check_close(around(&f, &model_vfe, 0).upper, expected, 1e-10);
        for (int i = 0; i < 2; i++) check_close(around(&f, with_sets[i], 2).upper, expected, 1e-10);
        free(o);
        teardown(&f, &model_vfe);
    }
}

/* 004, eq. 11 */
static real dense_tighter(const fixture *f, const orthogonal *o)
{
    real value = dense_log_normal(o->n, o->R, o->logdet_R, o->y);
    for (int a = 0; a < o->n; a++)
        for (int b = 0; b < o->n; b++) {
            const double *x = f->X + o->row[a] * D, *z = f->X + o->row[b] * D;
            value -= 0.5L * o->R[a * o->n + b] * (k_of(f, x, z) - q_first(f, o, x, z));
        }
    return value;
}

static void tighter_bound_equals_equation_11(void **unused)
{
    (void)unused;
    for (const variant *v = variants; v < variants + VARIANTS; v++) {
        fixture f;
        setup(&f, &model_vfe_tight, v->expression, v->mean, v->weights, true);
        orthogonal *o = orthogonal_new(&f, M, JITTER);
        check_close(value_of(&f, &model_vfe_tight, 0), (double)dense_tighter(&f, o), 1e-10);
        check_close(around(&f, &model_vfe, 0).tighter, (double)dense_tighter(&f, o), 1e-10);
        for (int i = 0; i < 2; i++)
            check_close(around(&f, with_sets[i], 1).tighter, (double)dense_tighter(&f, o), 1e-10);
        check_gradient(&f, &model_vfe_tight, f.state);
        free(o);
        teardown(&f, &model_vfe_tight);
    }
}

/* A row of weight 25 is 25 rows, and those do not fit into one tile. */
static void tighter_bound_of_many_tiles_is_that_of_weighted_rows(void **unused)
{
    (void)unused;
    enum { TIMES = 25 };
    fixture f;
    double X[TIMES * ROWS * D], y[TIMES * ROWS], value[2], gp[2][40], jitter = JITTER;
    int64_t start[] = {0, 300, TIMES * ROWS};
    row_blocks *many;
    void *state;
    setup(&f, &model_vfe_tight, variants[1].expression, MEAN_LINEAR, true, true);
    for (int i = 0; i < TIMES * ROWS; i++) {
        memcpy(X + i * D, f.X + i % ROWS * D, D * sizeof *X);
        y[i] = f.y[i % ROWS], f.w[i % ROWS] = TIMES;
    }
    assert_int_equal(blocks_of_arrays(2, start, D, 1, X, y, NULL, &many, NULL), ANYGP_OK);
    for (int i = 0; i < 2; i++) {
        problem p = f.p;
        row_blocks *weighted = NULL;
        assert_int_equal(blocks_of_arrays(BLOCKS, f.start, D, 1, f.X, f.y, f.w, &weighted, NULL), ANYGP_OK);
        p.blocks = i ? many : weighted;
        assert_int_equal(model_vfe_tight.open(&model_vfe_tight, &p, &f.h, &state, NULL), ANYGP_OK);
        assert_true(model_vfe_tight.evaluate(state, &f.h, false, &jitter, &value[i], gp[i]));
        model_vfe_tight.close(state);
        blocks_free(weighted);
    }
    check_close(value[1], value[0], 1e-11);
    for (int64_t i = 0; i < hyper_size(&f.h); i++) check_close(gp[1][i], gp[0][i], 1e-9);
    blocks_free(many);
    teardown(&f, &model_vfe_tight);
}

static double vfe_on_the_first(fixture *f, int64_t count)
{
    hyper all = f->h, few;
    assert_int_equal(hyper_copy(&all, &few, NULL), ANYGP_OK);
    assert_int_equal(hyper_set_inducing(&few, count, D, all.Z, false, NULL), ANYGP_OK);
    f->h = few;
    double value = value_of(f, &model_vfe, 0);
    hyper_clear(&f->h);
    f->h = all;
    return value;
}

static void bounds_are_in_their_order_around_the_evidence(void **unused)
{
    (void)unused;
    static const double noises[] = {0.003, 0.07, 1.5};
    for (const variant *v = variants; v < variants + VARIANTS; v++)
        for (int k = 0; k < 3; k++)
            for (uint64_t draw = 0; draw < 4; draw++) {
                fixture f;
                setup(&f, &model_vfe, v->expression, v->mean, v->weights, false);
                f.h.like[0] = noises[k];
                fill_normal(50 + draw, M * D, f.h.Z);
                orthogonal *o = orthogonal_new(&f, M, 0);
                const double order[] = {vfe_on_the_first(&f, 4),
                                        value_of(&f, &model_odvgp_collapsed, 1),
                                        value_of(&f, &model_solve_collapsed, 1),
                                        value_of(&f, &model_vfe, 0),
                                        value_of(&f, &model_vfe_tight, 0),
                                        (double)exact_evidence(&f, o),
                                        around(&f, &model_vfe, 0).upper};
                for (int i = 0; i < 6; i++) assert_true(order[i] < order[i + 1]);
                free(o);
                teardown(&f, &model_vfe);
            }
}

/* ----------------------------------------------------------------------------- limits and names */

static void pep_goes_from_vfe_to_fitc(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        const model_ops *same;
        double tolerance;
    } ends[] = {{"pep(alpha=1)", &model_fitc, 1e-13},
                {"pep(alpha=0)", &model_vfe, 1e-13},
                {"pep(alpha=1e-9)", &model_vfe, 1e-6},
                {"pep(alpha=0.5)", &model_pep, 1e-13}};
    for (const variant *v = variants; v < variants + VARIANTS; v++)
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            fixture f;
            const model_ops *m = made(ends[i].text);
            setup(&f, m, v->expression, v->mean, v->weights, true);
            check_close(value_of(&f, m, 0), value_of(&f, ends[i].same, 0), ends[i].tolerance);
            check_gradient(&f, m, f.state);
            teardown(&f, m);
            model_free(m);
        }
}

/* Q is K, for every bound. */
static void inducing_inputs_at_the_rows_give_the_evidence(void **unused)
{
    (void)unused;
    static const model_ops *const models[] = {&model_vfe, &model_pep, &model_fitc};
    fixture f;
    setup(&f, &model_vfe, variants[1].expression, MEAN_LINEAR, true, false);
    orthogonal *o = orthogonal_new(&f, M, 0);
    double evidence = (double)exact_evidence(&f, o), jitter = 1e-14, value;
    evidence_bounds b;
    assert_int_equal(hyper_set_inducing(&f.h, ROWS, D, f.X, false, NULL), ANYGP_OK);
    for (int i = 0; i < 3; i++) {
        void *state;
        assert_int_equal(models[i]->open(models[i], &f.p, &f.h, &state, NULL), ANYGP_OK);
        assert_true(models[i]->evaluate(state, &f.h, false, &jitter, &value, NULL));
        check_close(value, evidence, 1e-8);
        if (models[i]->bounds) {
            assert_int_equal(models[i]->bounds(state, &f.h, &jitter, &b, NULL), ANYGP_OK);
            check_close(b.upper, evidence, 1e-8);
            check_close(b.tighter, evidence, 1e-8);
        }
        models[i]->close(state);
    }
    free(o);
    teardown(&f, &model_vfe);
}

static void pep_is_named_by_its_power(void **unused)
{
    (void)unused;
    static const char *const names[][2] = {{"pep( 0.25 )", "pep(alpha=0.25)"},
                                           {"pep(alpha = .5)", "pep(alpha=0.5)"},
                                           {"pep(alpha=1e-3)", "pep(alpha=0.001)"},
                                           {"pep(alpha=0)", "pep(alpha=0)"}};
    static const char *const bad[][2] = {
        {"pep()", "not of the form"},           {"pep(alpha=)", "not of the form"},
        {"pep(alpha=0.5", "not of the form"},   {"pep(alpha=0.5)x", "not of the form"},
        {"pep(beta=0.5)", "not of the form"},   {"pep(alpha=1.5)", "from 0 (vfe) to 1"},
        {"pep(alpha=-0.1)", "from 0 (vfe) to"}, {"power(0.5)", "not an expression"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const model_ops *m = made(names[i][0]), *again = made(m->name), *copy = model_copy(m);
        assert_string_equal(m->name, names[i][1]);
        assert_string_equal(again->name, names[i][1]);
        model_free(m);
        assert_string_equal(copy->name, names[i][1]);
        model_free(again);
        model_free(copy);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const model_ops *m = NULL;
        anygp_error e;
        assert_int_equal(model_make(bad[i][0], &m, &e), ANYGP_ERR_ARGUMENT);
        assert_non_null(strstr(e.text, bad[i][1]));
        assert_null(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collapsed_bounds_are_the_largest_values_of_equations_21_and_22),
        cmocka_unit_test(equation_21_at_the_prior_is_vfe_on_the_first_set),
        cmocka_unit_test(one_set_is_vfe),
        cmocka_unit_test(gradients_over_sets_equal_central_differences),
        cmocka_unit_test(inducing_inputs_are_learned_in_units_of_their_columns),
        cmocka_unit_test(predictions_equal_equations_23_and_24),
        cmocka_unit_test(sets_survive_the_arrays_of_a_file),
        cmocka_unit_test(upper_bound_equals_its_definition),
        cmocka_unit_test(tighter_bound_equals_equation_11),
        cmocka_unit_test(tighter_bound_of_many_tiles_is_that_of_weighted_rows),
        cmocka_unit_test(bounds_are_in_their_order_around_the_evidence),
        cmocka_unit_test(pep_goes_from_vfe_to_fitc),
        cmocka_unit_test(inducing_inputs_at_the_rows_give_the_evidence),
        cmocka_unit_test(pep_is_named_by_its_power),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
