/* Chains of several layers: the bound from dense matrices with the same draws, its gradient by differences, one layer as svgp. */
#include "chain_stage.h"

#include <string.h>

#include "base/special.h"
#include "model/deep/deep_posterior.h"

enum { SIZE = 400 };

typedef struct trial {
    const char *expression, *likelihood;
    int classes, layers;
    bool weights;
} trial;

static const trial trials[] = {{"rbf", "gaussian", 0, 2, false},
                               {"matern52(variance=2) + white(variance=0.1)", "bernoulli", 2, 2, true},
                               {"matern32 + white(variance=0.2)", "gaussian", 0, 3, true},
                               {"rbf", "poisson", 0, 3, false},
                               {"rbf", "robustmax", 3, 2, true}};
#define FOR_EACH_TRIAL(v) for (const trial *v = trials; v < trials + sizeof trials / sizeof *trials; v++)

typedef struct stage {
    fixture f;
    likelihood like;
    chain s;
    driver *d;
    double *stat, y[ROWS];
} stage;

/* Every number of the inner layers somewhere that is no special place. */
static void scatter(stage *g)
{
    for (int64_t k = 0; k < g->f.h.all.count; k++) {
        param_segment *p = &g->f.h.all.at[k];
        int64_t n = param_segment_size(p);
        double *x = calloc((size_t)n, sizeof *x);
        fill_normal(400 + (uint64_t)k, n, x);
        const char *what = strchr(p->name, '.');
        for (int64_t i = 0; what && i < n; i++)
            p->values[i] = !strcmp(what, ".kernel") ? p->values[i] * exp(0.2 * x[i]) + 0.2
                           : !strcmp(what, ".R")    ? -0.5 + 0.3 * x[i]
                                                    : p->values[i] + 0.3 * x[i];
        free(x);
    }
}

static void set_stage(stage *g, const trial *v)
{
    anygp_error e;
    static const double spread[D] = {1.3, 0.7};
    *g = (stage){0};
    stage_rows(&g->f, &g->like, g->y, v->expression, v->likelihood, v->classes, MEAN_ZERO, v->weights);
    assert_int_equal(hyper_set_units(&g->f.h, D, spread, &e), ANYGP_OK);
    assert_int_equal(chain_define(&g->f.h, &g->f.p, v->layers, &e), ANYGP_OK);
    scatter(g);
    assert_int_equal(chain_init(&g->s, &g->f.p, &g->f.h, false, &e), ANYGP_OK);
    assert_int_equal(g->s.L, v->layers);
    assert_int_equal(driver_open(&chain_rows, g->f.blocks, comm_self(), 0, &g->d, &e), ANYGP_OK);
    chain_learn(&g->s, true);
    g->s.random = (random_stream){7, RANDOM_LIKELIHOOD, 3};
    g->stat = calloc((size_t)chain_rows.stat_size(&g->s), sizeof *g->stat);
    scatter_layer(g->s.f);
}

static void clear_stage(stage *g)
{
    driver_close(g->d);
    chain_clear(&g->s);
    free(g->stat);
    teardown(&g->f, &model_dtc);
}

/* The bound as the code has it; leaves the statistics. */
static double bound_of(stage *g, chain_stat *stat)
{
    anygp_error e;
    double jitter = 0;
    assert_true(chain_prepare(&g->s, &g->f.h, false, &jitter));
    assert_int_equal(driver_stat(g->d, &g->s, 0, NULL, 1, g->stat, &e), ANYGP_OK);
    chain_stat_place(&g->s, g->stat, stat);
    return *stat->value - chain_kl(&g->s);
}

static double bound_at(void *ctx, const double *u)
{
    chain_stat stat;
    stage *g = ctx;
    hyper_unpack(&g->f.h, u);
    return bound_of(g, &stat);
}

static void the_gradient_equals_differences_in_every_parameter_of_every_layer(void **state)
{
    (void)state;
    FOR_EACH_TRIAL(v)
    {
        stage g;
        chain_stat stat;
        double u[SIZE], gp[SIZE], gu[SIZE];
        set_stage(&g, v);
        assert_true(g.f.h.free <= SIZE && hyper_size(&g.f.h) <= SIZE);
        hyper_begin(&g.f.h, u);
        bound_of(&g, &stat);
        for (int i = 0; i < SIZE; i++) gp[i] = NAN;
        assert_true(chain_gradient(&g.s, &stat, gp));
        hyper_chain(&g.f.h, gp, gu);
        for (int64_t i = 0; i < g.f.h.free; i++) check_close(gu[i], central_difference(bound_at, &g, u, i, 1e-5), 1e-6);
        clear_stage(&g);
    }
}

/* --------------------------------------------------------------------------- the other road */

/* Mean and variance of f_c at x given u = L v, q(v_c) = N(m, V), from explicit inverses in extended precision:
       k_u' K^-1 mu,   k - k_u' K^-1 k_u + k_u' K^-1 S K^-1 k_u,      mu = L m,  S = L V L'. */
static void dense_marginal(const layer *l, int64_t c, const double *x, double *mean, double *variance)
{
    const gauss *q = &l->q[c];
    const kernel *k = l->u.kernel;
    real K[M * M], inverse[M * M], V[M * M], mu[M] = {0}, S[M * M] = {0}, row[M], w[M] = {0};
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            K[i + j * M] = kernel_reference(k, l->u.set.Z + i * D, l->u.set.Z + j * D, false);
            V[i + j * M] = 0;
            for (int n = 0; q->R && n < M; n++) V[i + j * M] += (real)q->R[i + n * M] * q->R[j + n * M];
            if (!q->R) V[i + j * M] = i >= j ? q->Lambda[i + j * M] : q->Lambda[j + i * M];
        }
    memcpy(inverse, K, sizeof K);
    dense_invert(M, inverse);
    if (!q->R) dense_invert(M, V);
    const double *L = l->u.L;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            mu[i] += (real)L[i + j * M] * q->m[j];
            for (int a = 0; a < M; a++)
                for (int b = 0; b < M; b++) S[i + j * M] += (real)L[i + a * M] * V[a + b * M] * L[j + b * M];
        }
    real f = 0, v = kernel_reference(k, x, x, false) + (l->noisy ? kernel_white(k) : 0);
    for (int i = 0; i < M; i++) row[i] = kernel_reference(k, l->u.set.Z + i * D, x, false);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) w[i] += inverse[i + j * M] * row[j];
    for (int i = 0; i < M; i++) f += w[i] * mu[i], v -= w[i] * row[i];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) v += w[i] * S[i + j * M] * w[j];
    *mean = (double)f, *variance = (double)v;
}

/* The draw e that the code has for function c of layer i at a row. */
static double draw_of(const chain *s, int64_t row, int64_t i, int64_t c)
{
    random_stream r = {s->random.seed, RANDOM_LAYERS, s->random.sub};
    return random_normal(r, (uint64_t)((row * s->L + i) * D + c));
}

/* The expected log likelihood, row after row. */
static double dense_value(stage *g)
{
    double sum = 0;
    for (int64_t b = 0; b < BLOCKS; b++)
        for (int64_t i = g->f.start[b]; i < g->f.start[b + 1]; i++) {
            double x[D], mean, variance, mu[3], var[3], dmu[3], dvar[3], dparam[LIKELIHOOD_PARAMS] = {0};
            int64_t row = b * g->s.rows + i - g->f.start[b];
            memcpy(x, g->f.X + i * D, sizeof x);
            for (int64_t l = 0; l < g->s.L - 1; l++) {
                double next[D];
                for (int64_t c = 0; c < D; c++) {
                    dense_marginal(&g->s.at[l], c, x, &mean, &variance);
                    next[c] = x[c] + g->s.s[c] * (mean + sqrt(variance) * draw_of(&g->s, row, l, c));
                }
                memcpy(x, next, sizeof x);
            }
            for (int64_t c = 0; c < g->s.f->C; c++) dense_marginal(g->s.f, c, x, &mu[c], &var[c]);
            sum += g->like.ops->expect(g->s.like, 1, &g->y[i], &g->f.w[i], mu, var, 1, g->s.random, row, dmu, dvar,
                                       dparam);
        }
    return sum;
}

static void the_bound_equals_the_one_from_dense_matrices_with_the_same_draws(void **state)
{
    (void)state;
    FOR_EACH_TRIAL(v)
    {
        stage g;
        chain_stat stat;
        set_stage(&g, v);
        double bound = bound_of(&g, &stat);
        check_close(*stat.value, dense_value(&g), 1e-8);
        double kl = 0; /* (tr V + m'm - M - log det V) / 2 */
        for (int64_t l = 0; l < g.s.L; l++)
            for (int64_t c = 0; c < g.s.at[l].C; c++) kl += gauss_kl(&g.s.at[l].q[c]);
        check_close(bound, *stat.value - kl, 1e-12);
        clear_stage(&g);
    }
}

/* V = R R' against the same q by its precision. */
static void both_forms_of_q_have_one_kl(void **state)
{
    (void)state;
    stage g;
    chain_stat stat;
    set_stage(&g, &trials[0]);
    bound_of(&g, &stat);
    gauss other;
    const gauss *q = &g.s.at[0].q[1];
    double Lambda[M * M], theta[M];
    anygp_error e;
    memcpy(Lambda, q->R, sizeof Lambda);
    assert_int_equal(la_potri(M, Lambda, M), 0);
    la_mirror(M, Lambda, M);
    la_gemv(LA_N, M, M, 1, Lambda, M, q->m, 0, theta);
    assert_int_equal(gauss_init(&other, M, &e), ANYGP_OK);
    assert_true(gauss_set(&other, NULL, Lambda, theta));
    check_close(gauss_kl(q), gauss_kl(&other), 1e-9);
    gauss_clear(&other);
    clear_stage(&g);
}

/* A component of a prediction is the way through the layers with the e of that component; S of them are N(0, 1) to two moments. */
static void predictions_are_the_ways_through_the_layers(void **state)
{
    (void)state;
    enum { S = DEEP_COMPONENTS };
    stage g;
    chain_stat stat;
    posterior *p;
    anygp_error e;
    set_stage(&g, &trials[0]);
    bound_of(&g, &stat);
    assert_int_equal(deep_posterior_new(&g.s, 0, &p, &e), ANYGP_OK);
    assert_int_equal(p->components, S);
    double *work = calloc((size_t)p->ops->work_doubles(p, NEW), sizeof *work), mean[NEW * S], variance[NEW * S];
    assert_int_equal(p->ops->marginal(p, NEW, g.f.new, D, work, mean, variance, &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) {
        double inner[D], spread[D], sum = 0, square = 0;
        for (int c = 0; c < D; c++) dense_marginal(&g.s.at[0], c, g.f.new + i *D, &inner[c], &spread[c]);
        /* e of the components, solved for from nothing: the same points for each input, each in another order */
        for (int s = 0; s < S; s++) {
            double z = normal_quantile((s + 0.5) / S);
            sum += z, square += z * z;
        }
        check_close(sum, 0, 1e-10);
        int found = 0;
        for (int a = 0; a < S; a++)
            for (int b = 0; b < S; b++) {
                double x[D], m, v, scale = sqrt(square / S);
                int at[D] = {a, b};
                for (int c = 0; c < D; c++)
                    x[c] = g.f.new[i * D + c] +
                           g.s.s[c] * (inner[c] + sqrt(spread[c]) * normal_quantile((at[c] + 0.5) / S) / scale);
                dense_marginal(g.s.f, 0, x, &m, &v);
                for (int s = 0; s < S; s++)
                    found += fabs(mean[s * NEW + i] - m) < 1e-9 && fabs(variance[s * NEW + i] - v) < 1e-9;
            }
        assert_true(found >= S);
    }
    free(work);
    p->ops->free(p);
    clear_stage(&g);
}

static void mistakes_in_the_number_of_layers_are_told(void **state)
{
    (void)state;
    static const char *const wrong[] = {"deep()",         "deep(layers=0)", "deep(layers=2.5)",
                                        "deep(layers=9)", "deep(depth=2)",  "deep(2,3)"};
    anygp_error e;
    const model_ops *m;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(model_make(wrong[i], &m, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(model_make("deep( 3 )", &m, &e), ANYGP_OK);
    assert_string_equal(m->name, "deep(layers=3)");
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_equals_differences_in_every_parameter_of_every_layer),
        cmocka_unit_test(the_bound_equals_the_one_from_dense_matrices_with_the_same_draws),
        cmocka_unit_test(both_forms_of_q_have_one_kl),
        cmocka_unit_test(predictions_are_the_ways_through_the_layers),
        cmocka_unit_test(mistakes_in_the_number_of_layers_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
