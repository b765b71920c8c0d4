/* The exact model by iteration against dense computations: conjugate gradients, Lanczos quadrature, evidence, gradient, brackets. */
#include <string.h>

#include "exact_case.h"

#include "linalg/iterative/cg.h"
#include "linalg/iterative/lanczos.h"
#include "model/exact/exact_iterative.h"
#include "model/exact/iterative_parts.h"
#include "model/local/vecchia_posterior.h"
#include "model/model.h"

static double evaluate(case_ *c, const model_ops *m, double *gp, evidence_estimate *estimate)
{
    void *state;
    anygp_error e = {.text = ""};
    double jitter = 0, value;
    if (m->open(m, &c->p, &c->h, &state, &e)) fail_msg("%s", e.text);
    assert_true(m->evaluate(state, &c->h, false, &jitter, &value, gp));
    if (estimate) *estimate = ((exact_iterative *)state)->estimate;
    m->close(state);
    return value;
}

static la_operator *precondition(case_ *c, const precond_ops *ops, const la_operator *K, precond_plan **plan,
                                 double *least)
{
    la_operator *P = NULL;
    anygp_error e;
    *plan = NULL;
    if (ops->plan) assert_int_equal(ops->plan(ops, &c->p, c->h.kernel, plan, &e), ANYGP_OK);
    assert_int_equal(ops->make(&c->p, *plan, c->h.kernel, kernel_operator_added(K), &P, least, &e), ANYGP_OK);
    return P;
}

static void n_iterations_equal_cholesky(void **state)
{
    enum { N = 60, T = 3 };
    case_ c;
    anygp_error e;
    double B[N * T], X[N * T], least;
    (void)state;
    case_open(&c, N, "matern32(variance=1.3,lengthscale=0.9)", 0.3, true, MEAN_ZERO);
    la_operator *K = field_tiles(&c.f, 0, false);
    double *L = field_dense(&c.f);
    fill_normal(31, N * T, B);
    memcpy(X, B, sizeof B);
    assert_true(la_factor(N, L, N));
    la_trsm(LA_LEFT, LA_N, N, T, 1, L, N, X, N);
    la_trsm(LA_LEFT, LA_T, N, T, 1, L, N, X, N);
    for (int64_t i = 0; i < precond_count(); i++) {
        precond_plan *plan;
        la_operator *P = precondition(&c, precond_at(i), K, &plan, &least);
        cg *s;
        assert_int_equal(cg_new(K, P, T, N, &s, &e), ANYGP_OK);
        assert_int_equal(cg_begin(s, B, N, false, &e), ANYGP_OK);
        assert_int_equal(cg_run(s, &(cg_options){.most = N}, &e), ANYGP_OK);
        for (int j = 0; j < N * T; j++) check_close(s->X[j], X[j], 1e-9);
        for (int k = 0; k < T; k++) { /* what all iterations added to b'x, where none of them was cut off */
            double all = cg_progress(s, k, s->steps[k]), now = la_dot(N, B + k * N, s->X + k * N);
            if (s->rz[k] > 0) check_close(all, now, 1e-9);
            assert_true(isinf(cg_progress(s, k, s->steps[k] + 1)));
        }
        /* and from there nothing is left to do */
        assert_int_equal(cg_begin(s, B, N, true, &e), ANYGP_OK);
        for (int k = 0; k < T; k++) assert_true(s->rr[k] < 1e-16 * N);
        cg_free(s);
        la_operator_free(P);
        if (plan) precond_at(i)->clear(plan);
    }
    la_operator_free(K);
    free(L);
    case_close(&c);
}

/* The average over every vector of signs: log|K| and its gradient, whatever the preconditioner. */
static void all_sign_probes_give_the_log_determinant(void **state)
{
    enum { N = 8, ALL = 1 << N };
    case_ c;
    anygp_error e;
    static double Z[N * ALL], W[N * ALL], V[N * ALL], U[N * ALL];
    (void)state;
    case_open(&c, N, "matern52(variance=1.3,lengthscale=[0.8,1.4])", 0.2, true, MEAN_ZERO);
    la_operator *K = field_tiles(&c.f, 0, false);
    double *L = field_dense(&c.f), least, G[N * N], exact[PARAMS_MOST] = {0};
    assert_true(la_factor(N, L, N));
    double logdet = la_logdet(N, L, N);
    for (int i = 0; i < N * N; i++) G[i] = i % (N + 1) == 0;
    la_trsm(LA_LEFT, LA_N, N, N, 1, L, N, G, N);
    la_trsm(LA_LEFT, LA_T, N, N, 1, L, N, G, N);
    double unit[N * N] = {0};
    for (int i = 0; i < N; i++) unit[i + i * N] = 1;
    assert_int_equal(K->ops->reverse(K, N, G, N, unit, N, 1, exact, &e), ANYGP_OK); /* tr(K^-1 dK) */
    for (int m = 0; m < ALL; m++)
        for (int i = 0; i < N; i++) Z[i + m * N] = m >> i & 1 ? 1 : -1;
    for (int64_t i = 0; i < precond_count(); i++) {
        precond_plan *plan;
        la_operator *P = precondition(&c, precond_at(i), K, &plan, &least);
        cg *s;
        double upper = P ? P->ops->logdet(P) : 0, lower = upper, gp[PARAMS_MOST] = {0};
        memcpy(W, Z, sizeof W);
        if (P) assert_int_equal(P->ops->root(P, ALL, Z, N, W, N, &e), ANYGP_OK);
        memcpy(V, W, sizeof V);
        if (P) assert_int_equal(P->ops->solve(P, ALL, V, N, &e), ANYGP_OK);
        assert_int_equal(cg_new(K, P, ALL, N, &s, &e), ANYGP_OK);
        assert_int_equal(cg_begin(s, W, N, false, &e), ANYGP_OK);
        assert_int_equal(cg_run(s, &(cg_options){.most = N}, &e), ANYGP_OK);
        for (int m = 0; m < ALL; m++) {
            log_quadrature q =
                lanczos_log(s->steps[m], s->alpha + m * s->room, s->beta + m * s->room, s->first[m], least);
            upper += q.upper / ALL, lower += q.lower / ALL;
        }
        check_close(upper, logdet, 1e-9);
        check_close(lower, logdet, 1e-6);
        memcpy(U, s->X, sizeof U);
        assert_int_equal(K->ops->reverse(K, ALL, U, N, V, N, 1.0 / ALL, gp, &e), ANYGP_OK);
        if (P) assert_int_equal(P->ops->reverse(P, ALL, V, N, V, N, -1.0 / ALL, gp, &e), ANYGP_OK);
        if (P) assert_int_equal(P->ops->logdet_reverse(P, 1, gp, &e), ANYGP_OK);
        for (int64_t k = 0; k < field_params(&c.f); k++) check_close(gp[k], exact[k], 1e-8);
        cg_free(s);
        la_operator_free(P);
        if (plan) precond_at(i)->clear(plan);
    }
    la_operator_free(K);
    free(L);
    case_close(&c);
}

/* With fewer rows than probes nothing is random: the exact model's evidence and gradient. */
static void few_rows_have_the_exact_evidence(void **state)
{
    static const int sizes[] = {1, 2, 9, PROBES};
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int64_t i = 0; i < precond_count(); i++)
            for (int counts = 0; counts < 2; counts++) {
                case_ c;
                double gp[PARAMS_MOST], ge[PARAMS_MOST];
                case_open(&c, sizes[k], "matern32(variance=0.7,lengthscale=1.1) + linear(variance=[0.3,0.2])", 0.2,
                          counts, counts ? MEAN_LINEAR : MEAN_ZERO);
                c.p.solver = (solver_choice){.precond = precond_at(i)->name, .tolerance = 1e-13};
                double exact = evaluate(&c, &model_exact, ge, NULL);
                double value = evaluate(&c, &model_exact_iterative, gp, NULL);
                check_close(value, exact, 1e-7);
                for (int64_t j = 0; j < hyper_size(&c.h); j++) check_close(gp[j], ge[j], 1e-6);
                case_close(&c);
            }
}

/* The bracket has the exact value: 1000 problems, from easy ones to noise that is hardly there. */
static void brackets_contain_the_exact_evidence(void **state)
{
    static const char *const kernels[] = {"matern12(variance=%g,lengthscale=%g)", "rbf(variance=%g,lengthscale=%g)",
                                          "matern52(variance=%g,lengthscale=%g)"};
    random_stream s = {9, RANDOM_TEST, 77};
    (void)state;
    for (int i = 0; i < 1000; i++) {
        case_ c;
        char text[80];
        evidence_estimate found;
        uint64_t r = 8 * (uint64_t)i;
        int n = 4 + (int)random_below(s, r, 40);
        snprintf(text, sizeof text, kernels[i % 3], exp(random_normal(s, r + 1)), exp(random_normal(s, r + 2)));
        case_open(&c, n, text, pow(10, -5 * random_uniform(s, r + 3)), i % 2, i % 4 == 3 ? MEAN_CONSTANT : MEAN_ZERO);
        if (i % 5 == 0 && n > 6) memcpy(c.f.X + 2 * D, c.f.X, 2 * D * sizeof(double)); /* repeated places */
        c.p.seed = (uint64_t)i;
        c.p.solver = (solver_choice){.precond = precond_at(i % precond_count())->name, .tolerance = i % 7 ? 0 : 3};
        double exact = evaluate(&c, &model_exact, NULL, NULL);
        double value = evaluate(&c, &model_exact_iterative, NULL, &found);
        if (!(found.lower <= exact && exact <= found.upper))
            fail_msg("problem %d: %.10g is not between %.10g and %.10g (%s, %d rows, %g probes, error %g)", i, exact,
                     found.lower, found.upper, c.p.solver.precond, n, found.probes, found.error);
        check_close(value, found.value, 0);
        case_close(&c);
    }
}

/* Stopped as for learning: the bracket has the exact value still, and the estimate is as near as its errors say. */
static void rough_estimates_are_near_and_bracketed(void **state)
{
    enum { PROBLEMS = 60 };
    int few = 0, more = 0;
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        case_ c;
        void *run;
        anygp_error e;
        double gp[PARAMS_MOST], value, jitter = 0;
        case_open(&c, 60 + i, i % 2 ? "matern32(variance=2,lengthscale=0.7)" : "rbf(variance=1,lengthscale=1.5)",
                  pow(10, -1 - i % 4), false, i % 3 ? MEAN_ZERO : MEAN_LINEAR);
        c.p.seed = (uint64_t)i;
        c.p.solver = (solver_choice){.precond = precond_at(i % precond_count())->name};
        double exact = evaluate(&c, &model_exact, NULL, NULL);
        assert_int_equal(iterative_open(&c.p, &run, &e), ANYGP_OK);
        exact_iterative *s = run;
        s->rough = true;
        assert_int_equal(iterative_resize(s, PROBES_FEW, &e), ANYGP_OK);
        assert_true(iterative_evaluate(run, &c.h, false, &jitter, &value, gp));
        const evidence_estimate *found = &s->estimate;
        assert_in_range(s->probes, PROBES_FEW, PROBES);
        few += s->probes == PROBES_FEW, more += s->probes > PROBES_FEW;
        /* those that were asked for are enough by the norm of the logarithm, or there are no more */
        if (s->probes < PROBES && found->error > 2 * iterative_tolerance(s))
            fail_msg("problem %d: %d probes have an error of %g", i, (int)s->probes, found->error);
        assert_true(found->lower <= exact && exact <= found->upper);
        if (!(fabs(value - exact) <= 0.5 + 5 * found->error))
            fail_msg("problem %d: %.10g, exact %.10g, error %.3g", i, value, exact, found->error);
        iterative_close(run);
        case_close(&c);
    }
    assert_true(few > 0 && more > 0);
}

/* At the hyperparameters of the last evaluation the last solve begins where that ended; elsewhere from nothing.  The mean is the same. */
static void last_solve_goes_on_from_the_evaluation(void **state)
{
    (void)state;
    case_ c;
    anygp_error e;
    int64_t products[2];
    double alpha[2][200];
    case_open(&c, 200, "matern32(variance=2,lengthscale=0.7)", 1e-3, false, MEAN_LINEAR);
    c.p.solver = (solver_choice){.precond = "pivoted", .tolerance = 0.01};
    for (int warm = 0; warm < 2; warm++) {
        void *run;
        posterior *made = NULL;
        double value, jitter = 0;
        assert_int_equal(iterative_open(&c.p, &run, &e), ANYGP_OK);
        exact_iterative *s = run;
        assert_true(iterative_evaluate(run, &c.h, false, &jitter, &value, NULL));
        s->solved &= warm;
        assert_int_equal(iterative_to_posterior(run, &c.h, &jitter, &made, &e), ANYGP_OK);
        products[warm] = s->solver->products;
        memcpy(alpha[warm], s->alpha, sizeof alpha[warm]);
        made->ops->free(made);
        iterative_close(run);
    }
    assert_true(products[1] < products[0]);
    for (int i = 0; i < 200; i++) check_close(alpha[1][i], alpha[0][i], 1e-3);
    case_close(&c);
}

/* Estimates of value and gradient over many seeds have the exact ones as their mean, once the solves are accurate: what they lack is a bias. */
static void gradients_are_unbiased(void **state)
{
    enum { N = 120, SEEDS = 60 };
    (void)state;
    for (int64_t i = 0; i < precond_count(); i++) {
        case_ c;
        double exact[PARAMS_MOST], mean[PARAMS_MOST] = {0}, square[PARAMS_MOST] = {0}, gp[PARAMS_MOST];
        case_open(&c, N, "matern32(variance=0.9,lengthscale=[0.5,0.8])", 0.1, false, MEAN_ZERO);
        evaluate(&c, &model_exact, exact, NULL);
        c.p.solver = (solver_choice){.precond = precond_at(i)->name, .tolerance = 0.01};
        for (int k = 0; k < SEEDS; k++) {
            c.p.seed = (uint64_t)k;
            evaluate(&c, &model_exact_iterative, gp, NULL);
            for (int64_t j = 0; j < hyper_size(&c.h); j++) mean[j] += gp[j] / SEEDS, square[j] += gp[j] * gp[j] / SEEDS;
        }
        for (int64_t j = 0; j < hyper_size(&c.h); j++) {
            double error = sqrt(fmax(square[j] - mean[j] * mean[j], 0) / SEEDS);
            if (!(fabs(mean[j] - exact[j]) <= 4.5 * error + 1e-2 * fmax(1, fabs(exact[j]))))
                fail_msg("%s, parameter %d: %.8g, exact %.8g, error %.3g", precond_at(i)->name, (int)j, mean[j],
                         exact[j], error);
        }
        case_close(&c);
    }
}

/* ------------------------------------------------------------------------------------------ exact+ */

enum { NEW = 9 };

/* Predictions of f at NEW places. */
static void predict(const posterior *q, double *mean, double *variance)
{
    anygp_error e;
    double X[NEW * D], *work = mem_alloc(q->ops->work_doubles(q, NEW), sizeof *work);
    fill_normal(55, NEW * D, X);
    assert_int_equal(q->ops->marginal(q, NEW, X, D, work, mean, variance, &e), ANYGP_OK);
    free(work);
}

static void predict_exactly(case_ *c, double *mean, double *variance)
{
    void *state;
    posterior *q = NULL;
    anygp_error e;
    double jitter = 0;
    assert_int_equal(model_exact.open(&model_exact, &c->p, &c->h, &state, &e), ANYGP_OK);
    assert_int_equal(model_exact.posterior(state, &c->h, &jitter, &q, &e), ANYGP_OK);
    predict(q, mean, variance);
    q->ops->free(q);
    model_exact.close(state);
}

/* The variance falls with every step and is never below the exact one; the bound rises; at the end both are exact. */
static void stopped_after_any_step_it_is_computation_aware(void **state)
{
    static const int sizes[] = {1, 20, 75};
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int64_t i = 0; i < precond_count(); i++) {
            case_ c;
            void *run;
            anygp_error e;
            double mean[NEW], variance[NEW], exact_mean[NEW], exact_variance[NEW], former[NEW], value, last = -INFINITY;
            const model_ops *m = model_exact.stepped;
            case_open(&c, sizes[k], "matern32(variance=0.9,lengthscale=[0.5,0.8])", 0.05, k == 1,
                      i % 2 ? MEAN_LINEAR : MEAN_ZERO);
            c.p.solver.precond = precond_at(i)->name;
            predict_exactly(&c, exact_mean, exact_variance);
            assert_int_equal(m->open(m, &c.p, &c.h, &run, &e), ANYGP_OK);
            assert_int_equal(m->steps->begin(run, &c.h, 0, &e), ANYGP_OK);
            for (int j = 0; j < NEW; j++) former[j] = INFINITY;
            for (int t = 0; t < 8; t++) {
                posterior *q = NULL;
                double jitter;
                assert_int_equal(m->steps->posteriors(run, &c.h, &jitter, &q, &e), ANYGP_OK);
                predict(q, mean, variance);
                q->ops->free(q);
                for (int j = 0; j < NEW; j++) {
                    if (!(variance[j] >= exact_variance[j] - 1e-9))
                        fail_msg("%d rows, %s, step %d: %.12g is below %.12g", sizes[k], precond_at(i)->name, t,
                                 variance[j], exact_variance[j]);
                    assert_true(variance[j] <= former[j] + 1e-12);
                    former[j] = variance[j];
                }
                assert_int_equal(m->steps->step(run, &c.h, &(step_context){.t = t}, &value, &e), ANYGP_OK);
                assert_true(value >= last - 1e-9 * fabs(last));
                last = value;
            }
            for (int j = 0; j < NEW; j++) {
                check_close(mean[j], exact_mean[j], 1e-7);
                check_close(variance[j], exact_variance[j], 1e-7);
            }
            check_close(last, evaluate(&c, &model_exact, NULL, NULL), 1e-7);
            m->close(run);
            case_close(&c);
        }
}

/* The mean of a model solved by iteration is the exact one, and its variance near it. */
static void predictions_are_those_of_all_rows(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 2 * precond_count(); i++) {
        case_ c;
        void *run;
        anygp_error e;
        posterior *q = NULL;
        bool plain = i < precond_count();
        double mean[NEW], variance[NEW], exact_mean[NEW], exact_variance[NEW], jitter = 0;
        case_open(&c, 200, "matern52(variance=0.9,lengthscale=[0.5,0.8])", 0.05, true, plain ? MEAN_ZERO : MEAN_LINEAR);
        c.p.solver.precond = precond_at(i % precond_count())->name;
        predict_exactly(&c, exact_mean, exact_variance);
        assert_int_equal(iterative_open(&c.p, &run, &e), ANYGP_OK);
        assert_int_equal(iterative_to_posterior(run, &c.h, &jitter, &q, &e), ANYGP_OK);
        predict(q, mean, variance);
        for (int j = 0; j < NEW; j++) {
            assert_true(fabs(mean[j] - exact_mean[j]) <= 0.01 * sqrt(0.05)); /* as it promises */
            assert_true(fabs(variance[j] / exact_variance[j] - 1) <= 0.1);
        }
        q->ops->free(q);
        iterative_close(run);
        case_close(&c);
    }
}

/* The variance of f at row i given these rows, from dense matrices. */
static double dense_variance(const case_ *c, int i, int count, const int *row)
{
    int n = c->f.n;
    double *K = field_dense(&c->f), *G = mem_doubles(count, count), *k = mem_doubles(count, 1);
    double prior = kernel_reference(c->h.kernel, c->f.X + i * D, c->f.X + i * D, false);
    for (int a = 0; a < count; a++) {
        k[a] = K[row[a] + i * n];
        for (int b = 0; b < count; b++) G[a + b * count] = K[row[a] + row[b] * n];
    }
    assert_true(la_factor(count, G, count));
    la_trsv(LA_N, count, G, count, k);
    double variance = prior - la_dot(count, k, k);
    free(K);
    free(G);
    free(k);
    return variance;
}

/* All rows but i, the `count` nearest of them first. */
static void others_by_distance(const case_ *c, int i, int *row)
{
    int n = 0;
    double far[ROWS_MOST];
    for (int j = 0; j < c->f.n; j++) {
        double d = hypot(c->f.X[j * D] - c->f.X[i * D], c->f.X[j * D + 1] - c->f.X[i * D + 1]);
        if (j == i) continue;
        int at = n++;
        for (; at > 0 && far[at - 1] > d; at--) far[at] = far[at - 1], row[at] = row[at - 1];
        far[at] = d, row[at] = j;
    }
}

/* What solves say of all rows but the nearest ones is what dense matrices say, and variances anywhere profit from it; far from all rows they
   are the prior's. */
static void gain_is_that_of_leaving_rows_out(void **state)
{
    enum { N = 60, NEAR = 6 };
    (void)state;
    for (int64_t i = 0; i < precond_count(); i++) {
        case_ c;
        void *run;
        anygp_error e;
        posterior *q = NULL;
        double sum = 0, square = 0, jitter = 0, mean[NEW], variance[NEW], exact[NEW], before = 0, after = 0;
        case_open(&c, N, "matern52(variance=0.9,lengthscale=1.3)", 0.02, i % 2, MEAN_ZERO);
        c.p.solver.precond = precond_at(i)->name;
        c.p.near.predict = NEAR;
        assert_int_equal(iterative_open(&c.p, &run, &e), ANYGP_OK);
        assert_int_equal(iterative_to_posterior(run, &c.h, &jitter, &q, &e), ANYGP_OK);
        const variance_gain *g = q->ops->gain(q);
        for (int k = 0; k < N; k++) {
            int row[N];
            others_by_distance(&c, k, row);
            double v = dense_variance(&c, k, NEAR, row), w = dense_variance(&c, k, N - 1, row);
            double own = log((1 / w - 1 / 0.9) / (1 / v - 1 / 0.9));
            sum += own / N, square += pow(log((1 / 0.9 + g->factor * (1 / v - 1 / 0.9)) * w), 2) / N;
        }
        assert_true(g->rows == N);
        check_close(g->factor, exp(sum), 0.02);
        check_close(g->spread, sqrt(square), 0.02);
        predict_exactly(&c, mean, exact);
        predict(q, mean, variance);
        for (int j = 0; j < NEW; j++) {
            double v = 1 / (1 / 0.9 + (1 / variance[j] - 1 / 0.9) / g->factor); /* that of the nearest rows */
            before += pow(log(v / exact[j]), 2), after += pow(log(variance[j] / exact[j]), 2);
        }
        if (!(after < 0.5 * before)) fail_msg("%s: %g, without %g", precond_at(i)->name, after, before);
        double away[D] = {50, -70}, *work = mem_alloc(q->ops->work_doubles(q, 1), sizeof *work);
        assert_int_equal(q->ops->marginal(q, 1, away, D, work, mean, variance, &e), ANYGP_OK);
        check_close(variance[0], 0.9, 1e-9);
        free(work);
        q->ops->free(q);
        iterative_close(run);
        case_close(&c);
    }
}

/* What an update takes from a file is checked: old rows that are equal would be fewer than their solution. */
static void equal_rows_of_a_model_are_no_update(void **state)
{
    enum { N = 60 };
    (void)state;
    case_ c;
    void *run, *update;
    anygp_error e;
    posterior *q = NULL, *more = NULL;
    const update_ops *ops = model_exact_iterative.update;
    update_report r;
    double jitter = 0;
    case_open(&c, N, "matern52(variance=0.9,lengthscale=1.3)", 0.02, false, MEAN_ZERO);
    assert_int_equal(iterative_open(&c.p, &run, &e), ANYGP_OK);
    assert_int_equal(iterative_to_posterior(run, &c.h, &jitter, &q, &e), ANYGP_OK);
    double *X = ((vecchia_posterior *)q)->X;
    memcpy(X + 7 * D, X + 3 * D, D * sizeof *X);
    assert_int_equal(ops->open(&model_exact_iterative, q, &c.like, &update, &e), ANYGP_OK);
    assert_int_equal(ops->add(update, 1, (double[D]){5, 5}, (double[]){1}, (double[]){1}, NULL, &e), ANYGP_OK);
    assert_int_equal(ops->finish(update, &more, &r, &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "row 8 of the model"));
    assert_null(more);
    ops->close(update);
    q->ops->free(q);
    iterative_close(run);
    case_close(&c);
}

static int at_once(void *ctx)
{
    ++*(int *)ctx;
    return 1;
}

static void a_stopped_update_is_none(void **state)
{
    enum { N = 60 };
    (void)state;
    case_ c;
    void *run, *update;
    anygp_error e;
    posterior *q = NULL, *more = NULL;
    const update_ops *ops = model_exact_iterative.update;
    update_report r;
    int asked = 0;
    double jitter = 0;
    case_open(&c, N, "matern52(variance=0.9,lengthscale=1.3)", 0.02, false, MEAN_ZERO);
    assert_int_equal(iterative_open(&c.p, &run, &e), ANYGP_OK);
    assert_int_equal(iterative_to_posterior(run, &c.h, &jitter, &q, &e), ANYGP_OK);
    assert_int_equal(ops->open(&model_exact_iterative, q, &c.like, &update, &e), ANYGP_OK);
    ops->given(update, 0, 1e9, (stop_poll){at_once, &asked});
    assert_int_equal(ops->add(update, 1, (double[D]){5, 5}, (double[]){1}, (double[]){1}, NULL, &e), ANYGP_OK);
    assert_int_equal(ops->finish(update, &more, &r, &e), ANYGP_ERR_STOPPED);
    assert_true(asked > 0);
    assert_null(more);
    ops->close(update);
    q->ops->free(q);
    iterative_close(run);
    case_close(&c);
}

static void hostile_gains_are_refused(void **state)
{
    enum { N = 60 };
    static const double gains[][3] = {{0.5, 0, 9}, {-2, 0, 9},    {NAN, 0, 9}, {INFINITY, 0, 9},
                                      {2, -1, 9},  {2, 1e308, 9}, {2, NAN, 9}, {2, 0, N + 1.0},
                                      {2, 0, -9},  {2, 0, 1.5},   {2, 0, NAN}, {2, 0, 1e300}};
    (void)state;
    case_ c;
    void *run;
    anygp_error e;
    posterior *q = NULL, *again = NULL;
    array_list list = {0};
    double jitter = 0;
    case_open(&c, N, "matern52(variance=0.9,lengthscale=1.3)", 0.02, false, MEAN_ZERO);
    assert_int_equal(iterative_open(&c.p, &run, &e), ANYGP_OK);
    assert_int_equal(iterative_to_posterior(run, &c.h, &jitter, &q, &e), ANYGP_OK);
    q->ops->arrays(q, &list);
    const named_array *gain = named_array_find(list.at, list.count, "gain");
    for (size_t i = 0; i < sizeof gains / sizeof *gains; i++) {
        memcpy(gain->values, gains[i], sizeof gains[i]);
        assert_int_equal(rows_posterior_load(q->kernel, q->noise, &q->mean, D, list.at, list.count, &again, &e),
                         ANYGP_ERR_FILE);
        assert_non_null(strstr(e.text, "gain of the variances"));
    }
    array_list_clear(&list);
    q->ops->free(q);
    iterative_close(run);
    case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(n_iterations_equal_cholesky),
                                       cmocka_unit_test(all_sign_probes_give_the_log_determinant),
                                       cmocka_unit_test(few_rows_have_the_exact_evidence),
                                       cmocka_unit_test(brackets_contain_the_exact_evidence),
                                       cmocka_unit_test(rough_estimates_are_near_and_bracketed),
                                       cmocka_unit_test(last_solve_goes_on_from_the_evaluation),
                                       cmocka_unit_test(gradients_are_unbiased),
                                       cmocka_unit_test(stopped_after_any_step_it_is_computation_aware),
                                       cmocka_unit_test(predictions_are_those_of_all_rows),
                                       cmocka_unit_test(gain_is_that_of_leaving_rows_out),
                                       cmocka_unit_test(equal_rows_of_a_model_are_no_update),
                                       cmocka_unit_test(hostile_gains_are_refused),
                                       cmocka_unit_test(a_stopped_update_is_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
