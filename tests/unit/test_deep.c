/* Chains of several layers: the bound from dense matrices with the same draws, its gradient by differences, one layer as svgp. */
#include "sparse_support.h"

#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/chain.h"
#include "model/deep_posterior.h"

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

static void fit_targets(stage *g)
{
    for (int i = 0; i < ROWS; i++) {
        double y = g->f.y[i];
        if (g->like.ops->target == TARGET_COUNT) y = floor(fabs(3 * y));
        if (g->like.ops->target == TARGET_CLASS) y = (double)(i % g->like.classes);
        g->y[i] = y;
    }
}

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

static void scatter_last(layer *l)
{
    for (int64_t i = 0; i < l->C; i++) {
        int64_t n = l->q[i].M;
        double R[M * M], Lambda[M * M] = {0}, theta[M];
        fill_normal(100 + (uint64_t)i, n * n, R);
        fill_normal(200 + (uint64_t)i, n, theta);
        la_syrk(LA_N, n, n, 0.7, R, n, 0, Lambda, n);
        for (int64_t j = 0; j < n; j++) Lambda[j + j * n] += 1;
        assert_true(layer_q_set(l, &l->q[i], Lambda, theta));
    }
}

static void set_stage(stage *g, const trial *v)
{
    anygp_error e;
    static const double spread[D] = {1.3, 0.7};
    *g = (stage){0};
    setup(&g->f, &model_dtc, v->expression, MEAN_ZERO, v->weights, true);
    model_dtc.close(g->f.state), g->f.state = NULL;
    assert_int_equal(likelihood_parse(v->likelihood, &g->like, &e), ANYGP_OK);
    assert_int_equal(likelihood_open(&g->like, v->classes, false, &e), ANYGP_OK);
    fit_targets(g);
    if (g->like.ops->start) g->like.ops->start(&g->like, ROWS, g->y, g->f.w);
    blocks_free(g->f.blocks);
    assert_int_equal(blocks_of_arrays(BLOCKS, g->f.start, D, 1, g->f.X, g->y, g->f.w, &g->f.blocks, &e), ANYGP_OK);
    assert_int_equal(hyper_set_likelihood(&g->f.h, &g->like, 1, false, &e), ANYGP_OK);
    assert_int_equal(hyper_set_units(&g->f.h, D, spread, &e), ANYGP_OK);
    g->f.p.blocks = g->f.blocks, g->f.p.likelihood = &g->like;
    assert_int_equal(chain_define(&g->f.h, &g->f.p, v->layers, &e), ANYGP_OK);
    scatter(g);
    assert_int_equal(chain_init(&g->s, &g->f.p, &g->f.h, false, &e), ANYGP_OK);
    assert_int_equal(g->s.L, v->layers);
    assert_int_equal(driver_open(&chain_rows, g->f.blocks, comm_self(), 0, &g->d, &e), ANYGP_OK);
    chain_learn(&g->s, true);
    g->s.random = (random_stream){7, RANDOM_LIKELIHOOD, 3};
    g->stat = calloc((size_t)chain_rows.stat_size(&g->s), sizeof *g->stat);
    scatter_last(g->s.f);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_equals_differences_in_every_parameter_of_every_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
