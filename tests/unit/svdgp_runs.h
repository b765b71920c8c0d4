/* Runs of svdgp's steps over the rows of svdgp_support.h, and the exact posterior to compare with. */
#ifndef TEST_SVDGP_RUNS_H
#define TEST_SVDGP_RUNS_H

#include "svdgp_support.h"

#include "model/decoupled/svdgp_posterior.h"
#include "model/decoupled/svdgp_state.h"

typedef struct run {
    fixture f; /* its rows alone */
    const model_ops *model;
    svdgp_state *state;
    int64_t sets[2];
} run;

static inline void run_open(run *r, const model_ops *model, const variant *v, int64_t Ma, int64_t Mb)
{
    anygp_error e;
    void *state;
    setup_rows(&r->f, v);
    r->model = model, r->sets[0] = Ma, r->sets[1] = Mb;
    r->f.p.sets = r->sets, r->f.p.set_count = 2, r->f.p.learn_inducing = true, r->f.p.seed = 3;
    assert_int_equal(model->open(model, &r->f.p, &r->f.h, &state, &e), ANYGP_OK);
    r->state = state;
    assert_int_equal(model->steps->begin(state, &r->f.h, 0, &e), ANYGP_OK);
}

static inline void run_close(run *r)
{
    r->model->close(r->state);
    teardown(&r->f);
}

/* Block t % BLOCKS alone, or all of them. */
static inline double run_step(run *r, int64_t t, bool all, bool learn, double rate)
{
    anygp_error e;
    double value;
    int64_t which[] = {t % BLOCKS};
    step_context c = {.seed = 3, .t = t, .scale = all ? 1 : BLOCKS, .rho = all ? 1 : 0.5, .rate = rate, .learn = learn};
    if (!all) c.count = 1, c.which = which;
    assert_int_equal(r->model->steps->step(r->state, &r->f.h, &c, &value, &e), ANYGP_OK);
    return value;
}

static inline posterior *run_posterior(run *r, posterior **more)
{
    posterior *out[2] = {0};
    anygp_error e;
    double jitter = 0;
    assert_int_equal(r->model->steps->posteriors(r->state, &r->f.h, &jitter, out, &e), ANYGP_OK);
    if (more) *more = out[1];
    return out[0];
}

static inline void predict(const posterior *p, int64_t n, const double *X, double *mean, double *variance)
{
    anygp_error e;
    double *work = malloc((size_t)p->ops->work_doubles(p, n) * sizeof *work);
    assert_int_equal(p->ops->marginal(p, n, X, D, work, mean, variance, &e), ANYGP_OK);
    free(work);
}

/* The exact posterior of n rows with weights under k plus the mean's functions, at x. */
static inline void exact(const fixture *f, int64_t n, const double *X, const double *y, int64_t ldy, const double *w,
                         double noise, const double *x, double *mean, double *variance)
{
    int N = (int)n;
    real *K = calloc((size_t)(N * N), sizeof *K), *k = calloc((size_t)N, sizeof *k), m = 0;
    double h[4], g[4], hx[4];
    basis_fill(&f->mean, 1, x, D, hx, 1, 1);
    real prior = kernel_reference(f->h.kernel, x, x, false);
    for (int j = 0; j < f->mean.p; j++) prior += f->mean.B * hx[j] * hx[j];
    for (int i = 0; i < N; i++) {
        basis_fill(&f->mean, 1, X + i * D, D, h, 1, 1);
        k[i] = kernel_reference(f->h.kernel, x, X + i * D, false);
        for (int j = 0; j < f->mean.p; j++) k[i] += f->mean.B * hx[j] * h[j];
        for (int l = 0; l < N; l++) {
            basis_fill(&f->mean, 1, X + l * D, D, g, 1, 1);
            K[i * N + l] = kernel_reference(f->h.kernel, X + i * D, X + l * D, false) + (i == l ? noise / w[i] : 0);
            for (int j = 0; j < f->mean.p; j++) K[i * N + l] += f->mean.B * h[j] * g[j];
        }
    }
    dense_invert(N, K);
    for (int i = 0; i < N; i++)
        for (int l = 0; l < N; l++) m += k[i] * K[i * N + l] * y[l * ldy];
    *mean = (double)m, *variance = (double)(prior - dense_quadratic(N, K, k, k));
    free(K);
    free(k);
}

/* The mean that maximises the bound over functions of these bases, by its definition: phi = (sqrt(B) h, k(., alpha)) with the prior
   diag(I, K_alpha), at x. */
static inline double dense_mean(const fixture *f, int64_t n, const double *X, const double *y, int64_t ldy,
                                const double *w, double noise, int64_t Ma, const double *alpha, const double *x)
{
    int p = (int)f->mean.p, N = p + (int)Ma;
    real *A = calloc((size_t)(N * N), sizeof *A), *b = calloc((size_t)N, sizeof *b),
         *phi = calloc((size_t)N, sizeof *phi);
    real sum = 0;
    double h[4];
    for (int i = 0; i < N * N; i++) {
        int r = i / N, c = i % N;
        A[i] = r == c;
        if (r >= p && c >= p) A[i] = kernel_reference(f->h.kernel, alpha + (r - p) * D, alpha + (c - p) * D, false);
    }
    for (int64_t i = 0; i <= n; i++) { /* the last one is x */
        const double *at = i < n ? X + i * D : x;
        basis_fill(&f->mean, 1, at, D, h, 1, 1);
        for (int j = 0; j < p; j++) phi[j] = sqrtl(f->mean.B) * h[j];
        for (int j = p; j < N; j++) phi[j] = kernel_reference(f->h.kernel, at, alpha + (j - p) * D, false);
        for (int j = 0; i < n && j < N; j++) {
            b[j] += w[i] * y[i * ldy] * phi[j] / noise;
            for (int k = 0; k < N; k++) A[j * N + k] += w[i] * phi[j] * phi[k] / noise;
        }
    }
    dense_invert(N, A);
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++) sum += phi[j] * A[j * N + k] * b[k];
    free(A), free(b), free(phi);
    return (double)sum;
}

static const variant cases[] = {{"rbf(ard,variance=1.3)", MEAN_ZERO, false, 1},
                                {"matern32", MEAN_LINEAR, false, 1},
                                {"rbf + linear", MEAN_CONSTANT, false, 2}};

#define FOR_EACH_CASE(v) for (const variant *v = cases; v < cases + sizeof cases / sizeof *cases; v++)

static inline void take_steps(run *r, int64_t from, int64_t to)
{
    for (int64_t t = from; t < to; t++) run_step(r, t, false, true, 0.01);
}

#endif
