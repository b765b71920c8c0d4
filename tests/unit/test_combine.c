/* Linear combinations of sparse models against full matrices, in the space of u and the coefficients of the mean: each
   model's natural parameters by their definition, added, inverted by Gauss-Jordan in extended precision. */
#include "sparse_support.h"

#include "gauss/gauss.h"

enum { WIDE = M + 3, NAMES = 64 };

typedef struct combination {
    const char *text, *normal;
    int count;
    kept keeps[3];
    double alpha[3];
    bool variance_of_new, between_new;
} combination;

static const combination combinations[] = {
    {"combine(dtc=0.3,fitc=0.7)", "combine(dtc=0.3,fitc=0.7)", 2, {NOTHING, DIAGONAL}, {0.3, 0.7}, true, true},
    {"combine( pitc = 0.5 , dtc=.25,fitc=+1.5e0 )",
     "combine(dtc=0.25,fitc=1.5,pitc=0.5)",
     3,
     {NOTHING, DIAGONAL, BLOCK},
     {0.25, 1.5, 0.5},
     true,
     true},
    {"combine(pitc=1.1,fitc=-0.1)", "combine(fitc=-0.1,pitc=1.1)", 2, {DIAGONAL, BLOCK}, {-0.1, 1.1}, true, true},
    {"combine(fic=2)", "combine(fic=2)", 1, {DIAGONAL}, {2}, true, false},
    {"combine(sor=0.5)", "combine(sor=0.5)", 1, {NOTHING}, {0.5}, false, false},
};
enum { COMBINATIONS = sizeof combinations / sizeof *combinations };

#define FOR_EACH_COMBINATION(v, c)                                                                                     \
    for (const variant *v = variants; v < variants + VARIANTS; v++)                                                    \
        for (const combination *c = combinations; c < combinations + COMBINATIONS; c++)

static const model_ops *model_of(const char *text)
{
    const model_ops *m;
    anygp_error e;
    if (model_make(text, &m, &e)) fail_msg("%s", e.text);
    return m;
}

/* --------------------------------------------------------------------------- the other road */

/* C[n,m] = A[n,k] B[k,m], row-major */
static void multiply(int n, int m, int k, const real *A, const real *B, real *C)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            C[i * m + j] = 0;
            for (int l = 0; l < k; l++) C[i * m + j] += A[i * k + l] * B[l * m + j];
        }
}

typedef struct combined_gp {
    int n, U; /* original rows; inducing inputs and coefficients of the mean */
    dense_gp g;
    real W[WIDE * WIDE], logdet_prior; /* inverse of the prior covariance of u, b */
    real F[OBSERVED * WIDE];           /* K_fu W */
    real precision[WIDE * WIDE], theta[WIDE];
    real C[WIDE * WIDE], mu[WIDE], logdet_precision;
} combined_gp;

/* Covariance of f(x) with u and with the coefficients of the mean. */
static void cross(const fixture *f, const double *x, real *k)
{
    for (int i = 0; i < M; i++) k[i] = k_of(f, x, f->h.Z + i * D);
    for (int64_t i = 0; i < f->mean.p; i++)
        k[M + i] = (real)f->mean.B * (f->mean.column[i] < 0 ? 1 : (real)x[f->mean.column[i]]);
}

static void prior_of(const fixture *f, double jitter, combined_gp *c)
{
    real K[M * M];
    c->U = M + (int)f->mean.p;
    invert_Kuu(f, jitter, &c->g);
    memcpy(K, c->g.Kuu_inverse, sizeof K);
    c->logdet_prior = -dense_invert(M, K);
    for (int i = 0; i < M; i++) memcpy(c->W + i * c->U, c->g.Kuu_inverse + i * M, M * sizeof(real));
    for (int i = M; i < c->U; i++) {
        c->W[i * c->U + i] = 1 / (real)f->mean.B;
        c->logdet_prior += logl((real)f->mean.B);
    }
}

/* Inverse of G over the original rows; returns log|G|. */
static real inverse_of_G(const fixture *f, const combined_gp *c, kept keeps, real *G)
{
    for (int a = 0; a < c->n; a++)
        for (int b = 0; b < c->n; b++) {
            int i = c->g.row[a], j = c->g.row[b];
            const double *x = f->X + i * D, *z = f->X + j * D;
            bool keep = keeps == BLOCK ? f->block[i] == f->block[j] : keeps == DIAGONAL && a == b;
            G[a * c->n + b] = keep ? k_of(f, x, z) - q_of(f, &c->g, x, z) : 0;
            if (a == b) G[a * c->n + b] += f->h.like[0] + kernel_white(f->h.kernel);
        }
    return dense_invert(c->n, G);
}

static void add_term(const fixture *f, combined_gp *c, kept keeps, real alpha)
{
    int n = c->n, U = c->U;
    static real G[OBSERVED * OBSERVED], GF[OBSERVED * WIDE];
    inverse_of_G(f, c, keeps, G);
    multiply(n, U, n, G, c->F, GF);
    for (int i = 0; i < U; i++) {
        for (int j = 0; j < U; j++) {
            c->precision[i * U + j] += alpha * c->W[i * U + j];
            for (int a = 0; a < n; a++) c->precision[i * U + j] += alpha * c->F[a * U + i] * GF[a * U + j];
        }
        for (int a = 0; a < n; a++) c->theta[i] += alpha * GF[a * U + i] * c->g.y[a];
    }
}

static combined_gp *combined_new(const fixture *f, const combination *what, double jitter)
{
    combined_gp *c = calloc(1, sizeof *c);
    prior_of(f, jitter, c);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < (int)f->w[i]; k++) c->g.y[c->n] = f->y[i], c->g.row[c->n++] = i;
    for (int a = 0; a < c->n; a++) {
        real k[WIDE];
        cross(f, f->X + c->g.row[a] * D, k);
        multiply(1, c->U, c->U, k, c->W, c->F + a * c->U);
    }
    for (int i = 0; i < what->count; i++) add_term(f, c, what->keeps[i], what->alpha[i]);
    memcpy(c->C, c->precision, sizeof c->C);
    c->logdet_precision = dense_invert(c->U, c->C);
    multiply(c->U, 1, c->U, c->C, c->theta, c->mu);
    return c;
}

/* sum of alpha_m (E_q log N(y; F u, G_m) - KL(q || prior)) */
static real combined_bound(const fixture *f, const combination *what, const combined_gp *c)
{
    int n = c->n, U = c->U;
    static real G[OBSERVED * OBSERVED], FC[OBSERVED * WIDE];
    real r[OBSERVED], kl = c->logdet_prior + c->logdet_precision - U, sum = 0;
    multiply(n, 1, U, c->F, c->mu, r);
    multiply(n, U, U, c->F, c->C, FC);
    for (int a = 0; a < n; a++) r[a] = c->g.y[a] - r[a];
    for (int i = 0; i < U; i++)
        for (int j = 0; j < U; j++) kl += c->W[i * U + j] * (c->C[i * U + j] + c->mu[i] * c->mu[j]);
    for (int m = 0; m < what->count; m++) {
        real term = inverse_of_G(f, c, what->keeps[m], G) + n * 1.837877066409345483560659472811L;
        term += dense_quadratic(n, G, r, r);
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                for (int i = 0; i < U; i++) term += G[a * n + b] * FC[a * U + i] * c->F[b * U + i];
        sum -= what->alpha[m] * (term + kl) / 2;
    }
    return sum;
}

static void combined_predict(const fixture *f, const combination *what, const combined_gp *c, int s, int t, real *mean,
                             real *cov)
{
    const double *x = f->new + s *D, *z = f->new + t *D;
    real kx[WIDE], kz[WIDE], ax[WIDE], az[WIDE];
    cross(f, x, kx);
    cross(f, z, kz);
    multiply(1, c->U, c->U, kx, c->W, ax);
    multiply(1, c->U, c->U, kz, c->W, az);
    *mean = 0;
    for (int i = 0; i < c->U; i++) *mean += ax[i] * c->mu[i];
    *cov = dense_quadratic(c->U, c->C, ax, az);
    if (s == t ? what->variance_of_new : what->between_new) *cov += k_of(f, x, z) - q_of(f, &c->g, x, z);
}

/* ------------------------------------------------------------------------------------- tests */

static void check_predictions(const fixture *f, const combination *what, const combined_gp *c, posterior *q)
{
    double mean[NEW], variance[NEW], same[NEW], cov[NEW * NEW];
    double *work = malloc((size_t)q->ops->work_doubles(q, NEW) * sizeof *work);
    assert_int_equal(q->ops->marginal(q, NEW, f->new, D, work, mean, variance, NULL), ANYGP_OK);
    assert_int_equal(q->ops->joint(q, NEW, f->new, D, work, same, cov, NEW, NULL), ANYGP_OK);
    for (int s = 0; s < NEW; s++)
        for (int t = 0; t <= s; t++) {
            real m, v;
            combined_predict(f, what, c, s, t, &m, &v);
            check_close(mean[s], (double)m, 1e-9);
            check_close(same[s], (double)m, 1e-9);
            check_close(cov[s + t * NEW], (double)v, 1e-9);
            if (s == t) check_close(variance[s], (double)v, 1e-9);
        }
    free(work);
    q->ops->free(q);
}

static void predictions_equal_those_of_the_summed_natural_parameters(void **unused)
{
    (void)unused;
    FOR_EACH_COMBINATION(v, c)
    {
        fixture f;
        posterior *q;
        double jitter = 1e-8;
        const model_ops *m = model_of(c->text);
        setup(&f, m, v->expression, v->mean, v->weights, false);
        assert_int_equal(m->posterior(f.state, &f.h, &jitter, &q, NULL), ANYGP_OK);
        combined_gp *dense = combined_new(&f, c, jitter);
        check_predictions(&f, c, dense, q);
        free(dense);
        teardown(&f, m);
        model_free(m);
    }
}

static void objective_is_the_weighted_sum_of_the_bounds_at_the_combined_q(void **unused)
{
    (void)unused;
    FOR_EACH_COMBINATION(v, c)
    {
        fixture f;
        double jitter = 1e-8, value;
        const model_ops *m = model_of(c->text);
        setup(&f, m, v->expression, v->mean, v->weights, false);
        assert_true(m->evaluate(f.state, &f.h, true, &jitter, &value, NULL));
        combined_gp *dense = combined_new(&f, c, jitter);
        check_close(value, (double)combined_bound(&f, c, dense), 1e-9);
        free(dense);
        teardown(&f, m);
        model_free(m);
    }
}

static const int64_t all_blocks[BLOCKS] = {0, 1, 2, 3};

/* rho = 1 with all blocks: the batch result, and the bound there is the objective. */
static void one_step_of_size_one_with_all_blocks_is_the_batch_result(void **unused)
{
    (void)unused;
    FOR_EACH_COMBINATION(v, c)
    {
        fixture f;
        gauss q;
        posterior *p;
        const double *S, *b;
        double jitter = 1e-8, value, bound, V[WIDE * WIDE];
        const model_ops *m = model_of(c->text);
        const anytime_ops *a = m->anytime;
        setup(&f, m, v->expression, v->mean, v->weights, false);
        assert_true(m->evaluate(f.state, &f.h, true, &jitter, &value, NULL));
        assert_int_equal(gauss_init(&q, a->size(f.state), NULL), ANYGP_OK);
        assert_int_equal(a->stat(f.state, BLOCKS, all_blocks, 1, &S, &b, NULL), ANYGP_OK);
        assert_true(natural_step(&q, 1, a->prior(f.state), S, b));
        gauss_covariance(&q, V);
        assert_int_equal(a->bound(f.state, q.m, V, gauss_kl(&q), BLOCKS, all_blocks, 1, 1, &bound, NULL, NULL),
                         ANYGP_OK);
        check_close(bound, value, 1e-10);
        assert_int_equal(a->posterior(f.state, q.m, q.F, &p, NULL), ANYGP_OK);
        combined_gp *dense = combined_new(&f, c, jitter);
        check_predictions(&f, c, dense, p);
        free(dense);
        gauss_clear(&q);
        teardown(&f, m);
        model_free(m);
    }
}

static void predict_with(const model_ops *m, const variant *v, double *value, double *mean, double *variance)
{
    fixture f;
    posterior *q;
    double jitter = 1e-8;
    setup(&f, m, v->expression, v->mean, v->weights, false);
    assert_true(m->evaluate(f.state, &f.h, true, &jitter, value, NULL));
    assert_int_equal(m->posterior(f.state, &f.h, &jitter, &q, NULL), ANYGP_OK);
    double *work = malloc((size_t)q->ops->work_doubles(q, NEW) * sizeof *work);
    assert_int_equal(q->ops->marginal(q, NEW, f.new, D, work, mean, variance, NULL), ANYGP_OK);
    free(work);
    q->ops->free(q);
    teardown(&f, m);
}

static void one_model_with_coefficient_one_is_that_model(void **unused)
{
    (void)unused;
    for (const variant *v = variants; v < variants + VARIANTS; v++)
        for (const definition *d = definitions; d < definitions + DEFINITIONS; d++) {
            double value[2], mean[2][NEW], variance[2][NEW];
            char text[NAMES];
            snprintf(text, sizeof text, "combine(%s=1)", d->model->name);
            const model_ops *m = model_of(text);
            predict_with(d->model, v, &value[0], mean[0], variance[0]);
            predict_with(m, v, &value[1], mean[1], variance[1]);
            check_close(value[1], value[0], 1e-13);
            for (int i = 0; i < NEW; i++) {
                check_close(mean[1][i], mean[0][i], 1e-13);
                check_close(variance[1][i], variance[0][i], 1e-13);
            }
            model_free(m);
        }
}

static void names_have_a_normal_form_that_parses_to_itself(void **unused)
{
    (void)unused;
    for (int i = 0; i < COMBINATIONS; i++) {
        const model_ops *m = model_of(combinations[i].text), *again = model_of(m->name), *copy = model_copy(m);
        assert_string_equal(m->name, combinations[i].normal);
        assert_string_equal(again->name, m->name);
        model_free(m);
        assert_string_equal(copy->name, again->name);
        model_free(again);
        model_free(copy);
    }
    assert_ptr_equal(model_copy(&model_dtc), &model_dtc);
    model_free(&model_dtc);
    model_free(NULL);
}

static void a_partition_is_needed_where_a_model_needs_one(void **unused)
{
    (void)unused;
    const model_ops *rows = model_of("combine(dtc=1,fitc=1)"), *parts = model_of("combine(dtc=1,pitc=1)");
    assert_false(model_over_parts(rows));
    assert_true(model_over_parts(parts));
    assert_true(rows->needs.given && model_has_inducing(rows));
    model_free(rows);
    model_free(parts);
}

static void what_is_no_combination_is_refused_with_a_sentence(void **unused)
{
    (void)unused;
    static const char *const bad[][2] = {
        {"combine", "is not a combination"},         {"combine()", "cannot be part"},
        {"combine(dtc)", "is not a combination"},    {"combine(dtc=x)", "is not a combination"},
        {"combine(dtc=1", "is not a combination"},   {"combine(dtc=1,", "cannot be part"},
        {"combine(dtc=1))", "is not a combination"}, {"combine(dtc=1)+", "is not a combination"},
        {"combine(exact=1)", "cannot be part"},      {"combine(averyveryverylongname=1)", "cannot be part"},
        {"combine(dtc=1,dtc=2)", "twice"},           {"combine(dtc=1,fic=2)", "dtc and fic"},
        {"combine(pic=1,pitc=2)", "pic and pitc"},   {"combine(sor=1,dtc=2)", "sor and dtc"},
        {"combine(dtc=1e999)", "too large"},         {"combine(dtc=nan)", "is not a combination"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const model_ops *m = NULL;
        anygp_error e;
        assert_int_equal(model_make(bad[i][0], &m, &e), ANYGP_ERR_ARGUMENT);
        assert_null(m);
        if (!strstr(e.text, bad[i][1])) fail_msg("%s: %s", bad[i][0], e.text);
    }
}

static void precision_that_is_not_positive_definite_is_refused(void **unused)
{
    (void)unused;
    fixture f;
    posterior *q = NULL;
    anygp_error e;
    double jitter = 1e-8, value;
    const model_ops *m = model_of("combine(dtc=-0.5,fitc=0.6)");
    setup(&f, m, variants[0].expression, MEAN_ZERO, false, false);
    assert_false(m->evaluate(f.state, &f.h, true, &jitter, &value, NULL));
    assert_int_equal(m->posterior(f.state, &f.h, &jitter, &q, &e), ANYGP_ERR_NUMERIC);
    assert_non_null(strstr(e.text, "not positive definite"));
    teardown(&f, m);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_equal_those_of_the_summed_natural_parameters),
        cmocka_unit_test(objective_is_the_weighted_sum_of_the_bounds_at_the_combined_q),
        cmocka_unit_test(one_step_of_size_one_with_all_blocks_is_the_batch_result),
        cmocka_unit_test(one_model_with_coefficient_one_is_that_model),
        cmocka_unit_test(names_have_a_normal_form_that_parses_to_itself),
        cmocka_unit_test(a_partition_is_needed_where_a_model_needs_one),
        cmocka_unit_test(what_is_no_combination_is_refused_with_a_sentence),
        cmocka_unit_test(precision_that_is_not_positive_definite_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
