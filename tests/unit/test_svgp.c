/* The variational family at an explicit q, against its definition with full matrices in the space of u (unwhitened), in
   extended precision; gradients against central differences; limits. */
#include "condensed_support.h"
#include "chain_stage.h"

#include "linalg/linalg.h"
#include "gauss/layer_f32.h"
#include "gauss/orthogonal.h"
#include "model/variational/svgp_posterior.h"
#include "gauss/transport.h"

enum { LATENTS = 3 };

typedef struct trial {
    const char *expression, *likelihood;
    int64_t classes, sets;
    mean_kind mean;
    bool weights, orthogonal;
} trial;

static const trial trials[] = {
    {"rbf", "gaussian", 0, 1, MEAN_ZERO, false, false},
    {"rbf", "gaussian", 0, 2, MEAN_ZERO, false, true},
    {"matern52(variance=2) + white(variance=0.1)", "bernoulli", 2, 2, MEAN_CONSTANT, true, true},
    {"rbf", "softmax", LATENTS, 2, MEAN_ZERO, true, true},
    {"rbf", "robustmax", LATENTS, 2, MEAN_ZERO, true, true},
    {"matern52 + white(variance=0.3)", "gaussian", 0, 2, MEAN_CONSTANT, true, false},
    {"rbf(variance=2)", "bernoulli", 2, 1, MEAN_ZERO, true, false},
    {"rbf + white(variance=0.2)", "gaussian", 0, 1, MEAN_LINEAR, true, false},
    {"matern32 + white(variance=0.2)", "poisson", 0, 3, MEAN_LINEAR, false, false},
    {"rbf", "studentt", 0, 2, MEAN_ZERO, true, false},
    {"rbf", "softmax", LATENTS, 1, MEAN_ZERO, false, false},
    {"rbf(variance=1.5)", "robustmax", LATENTS, 2, MEAN_CONSTANT, true, false},
    {"matern52", "heteroscedastic", 0, 2, MEAN_ZERO, true, false},
    {SCALED "rbf(lengthscale=[0.8,1.4])", "gaussian", 0, 1, MEAN_ZERO, false, false},
    {SCALED "rbf(variance=2)", "bernoulli", 2, 2, MEAN_CONSTANT, true, false},
    {SCALED "rbf", "gaussian", 0, 2, MEAN_LINEAR, true, true},
};
#define FOR_EACH_TRIAL(v) for (const trial *v = trials; v < trials + sizeof trials / sizeof *trials; v++)

static const int64_t cuts[3][3] = {{6, 0, 0}, {4, 2, 0}, {2, 3, 1}};

typedef struct stage {
    fixture f;
    likelihood like;
    chain s;
    driver *d;
    double *stat, y[ROWS];
} stage;

static void set_stage(stage *g, const trial *v)
{
    anygp_error e;
    *g = (stage){0};
    stage_rows(&g->f, &g->like, g->y, v->expression, v->likelihood, v->classes, v->mean, v->weights);
    g->f.p.sets = cuts[v->sets - 1], g->f.p.set_count = v->sets;
    assert_int_equal(chain_init(&g->s, &g->f.p, &g->f.h, v->orthogonal, &e), ANYGP_OK);
    assert_int_equal(driver_open(&chain_rows, g->f.blocks, comm_self(), 0, &g->d, &e), ANYGP_OK);
    g->s.f->learn = true;
    g->stat = calloc((size_t)chain_rows.stat_size(&g->s), sizeof *g->stat);
    scatter_layer(g->s.f);
    if (g->s.f->O) fill_normal(300, g->s.f->O * g->s.f->C, g->s.f->a);
}

static void clear_stage(stage *g)
{
    driver_close(g->d);
    chain_clear(&g->s);
    free(g->stat);
    teardown(&g->f, &model_dtc);
}

/* The bound as the code has it; leaves the statistics. */
static double bound_of(stage *g, double jitter, chain_stat *stat)
{
    anygp_error e;
    assert_true(chain_prepare(&g->s, &g->f.h, false, &jitter));
    assert_true(g->s.f->O == 0 || orthogonal_prepare(g->s.f, 0, 0));
    assert_int_equal(driver_stat(g->d, &g->s, 0, NULL, 1, g->stat, &e), ANYGP_OK);
    chain_stat_place(&g->s, g->stat, stat);
    return *stat->value - chain_kl(&g->s);
}

/* --------------------------------------------------------------------------- the other road */

enum { MOST = M + 3 };

/* q of one latent over (u, b): N(mu, S), and the prior N(0, K); from the whitened one by u = L v in extended precision. */
typedef struct dense_q {
    int n;
    real mu[MOST], S[MOST * MOST], K[MOST * MOST], Kinverse[MOST * MOST];
} dense_q;

static void dense_factor(int n, const real *A, real *L)
{
    memset(L, 0, (size_t)(n * n) * sizeof *L);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            real s = A[i * n + j];
            for (int k = 0; k < j; k++) s -= L[i * n + k] * L[j * n + k];
            L[i * n + j] = i == j ? sqrtl(s) : s / L[j * n + j];
        }
}

/* Where entry i of v is in (u, b): v has the basis functions first. */
static int turned(const layer *s, int64_t i) { return (int)(i < s->p ? s->M + i : i - s->p); }

/* Covariance of q(v), block-diagonal, and its mean. */
static void whitened(const layer *s, int64_t c, int n, real *V, real *m)
{
    memset(V, 0, (size_t)(n * n) * sizeof *V);
    for (int64_t k = 0; k < s->K; k++) {
        const gauss *q = &s->q[c * s->K + k];
        int size = (int)q->M;
        int64_t at = s->set[k];
        real block[MOST * MOST], theta[MOST];
        for (int i = 0; i < size; i++) {
            theta[i] = q->theta[i];
            for (int j = 0; j < size; j++)
                block[i * size + j] = i >= j ? q->Lambda[i + j * size] : q->Lambda[j + i * size];
        }
        dense_invert(size, block);
        for (int i = 0; i < size; i++) {
            int to = turned(s, at + i);
            m[to] = 0;
            for (int j = 0; j < size; j++) {
                V[to * n + turned(s, at + j)] = block[i * size + j];
                m[to] += block[i * size + j] * theta[j];
            }
        }
    }
}

static void dense_of(const stage *g, int64_t c, double jitter, dense_q *q)
{
    const fixture *f = &g->f;
    int U = (int)g->s.f->M, p = (int)f->mean.p, n = q->n = U + p;
    real mean = 0, L[MOST * MOST], V[MOST * MOST], m[MOST];
    memset(q->K, 0, sizeof q->K);
    for (int i = 0; i < U; i++) mean += k_of(f, f->h.Z + i * D, f->h.Z + i * D) / U;
    for (int i = 0; i < U; i++)
        for (int j = 0; j < U; j++)
            q->K[i * n + j] = k_of(f, f->h.Z + i * D, f->h.Z + j * D) + (i == j ? jitter * mean : 0);
    for (int i = U; i < n; i++) q->K[i * n + i] = f->mean.B;
    memcpy(q->Kinverse, q->K, sizeof q->K);
    dense_invert(n, q->Kinverse);
    dense_factor(n, q->K, L);
    whitened(g->s.f, c, n, V, m);
    for (int i = 0; i < n; i++) {
        q->mu[i] = 0;
        for (int k = 0; k < n; k++) q->mu[i] += L[i * n + k] * m[k];
        for (int j = 0; j < n; j++) {
            real s = 0;
            for (int k = 0; k < n; k++)
                for (int l = 0; l < n; l++) s += L[i * n + k] * V[k * n + l] * L[j * n + l];
            q->S[i * n + j] = s;
        }
    }
}

/* k(x, (u, b)) */
static void cross(const stage *g, const double *x, real *k)
{
    const fixture *f = &g->f;
    int U = (int)g->s.f->M;
    for (int i = 0; i < U; i++) k[i] = k_of(f, x, f->h.Z + i * D);
    for (int64_t b = 0; b < f->mean.p; b++)
        k[U + b] = f->mean.B * (f->mean.column[b] < 0 ? 1 : (real)x[f->mean.column[b]]);
}

/* The place of orthogonal input o. */
static const double *place(const stage *g, int64_t o) { return g->f.h.Z + (g->s.f->M + o) * D; }

/* C = k - k_x K^-1 k_z over the inducing inputs without the basis functions, of which the prior is not a part. */
static real residual(const stage *g, const dense_q *q, const double *x, const double *z)
{
    int U = (int)g->s.f->M, n = q->n;
    real kx[MOST], kz[MOST], sum = k_of(&g->f, x, z);
    cross(g, x, kx);
    cross(g, z, kz);
    for (int i = 0; i < U; i++)
        for (int j = 0; j < U; j++) sum -= kx[i] * q->Kinverse[i * n + j] * kz[j];
    return sum;
}

/* Mean, and covariance of f(x) and f(z) without white: k - k_x K^-1 (K - S) K^-1 k_z. */
static void dense_moments(const stage *g, int64_t c, const dense_q *q, const double *x, const double *z, real *mean,
                          real *covariance)
{
    const fixture *f = &g->f;
    int n = q->n;
    real kx[MOST], kz[MOST], ax[MOST] = {0}, az[MOST] = {0};
    cross(g, x, kx);
    cross(g, z, kz);
    *mean = 0, *covariance = k_of(f, x, z) + basis_product(&f->mean, x, z);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) ax[i] += q->Kinverse[i * n + j] * kx[j], az[i] += q->Kinverse[i * n + j] * kz[j];
    for (int i = 0; i < n; i++) {
        *mean += ax[i] * q->mu[i];
        for (int j = 0; j < n; j++) *covariance += ax[i] * (q->S[i * n + j] - q->K[i * n + j]) * az[j];
    }
    for (int64_t o = 0; o < g->s.f->O; o++) *mean += residual(g, q, x, place(g, o)) * g->s.f->a[c * g->s.f->O + o];
}

static real dense_kl(const dense_q *q)
{
    int n = q->n;
    real S[MOST * MOST], K[MOST * MOST], sum = -n;
    memcpy(S, q->S, sizeof S);
    memcpy(K, q->K, sizeof K);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) sum += q->Kinverse[i * n + j] * (q->S[j * n + i] + q->mu[i] * q->mu[j]);
    return (sum + dense_invert(n, K) - dense_invert(n, S)) / 2;
}

/* The expectations are the likelihood's, which has tests of its own; row i has the draws that the code gives it. */
static double dense_bound(stage *g, double jitter)
{
    int64_t C = g->like.latents;
    dense_q *q = calloc((size_t)C, sizeof *q);
    real bound = 0;
    for (int64_t c = 0; c < C; c++) {
        dense_of(g, c, jitter, &q[c]);
        bound -= dense_kl(&q[c]);
        for (int64_t a = 0; a < g->s.f->O; a++)
            for (int64_t b = 0; b < g->s.f->O; b++)
                bound -= residual(g, &q[c], place(g, a), place(g, b)) * g->s.f->a[c * g->s.f->O + a] *
                         g->s.f->a[c * g->s.f->O + b] / 2;
    }
    for (int i = 0; i < ROWS; i++) {
        double mu[LATENTS], var[LATENTS], dmu[LATENTS], dvar[LATENTS], dparam[LIKELIHOOD_PARAMS] = {0};
        for (int64_t c = 0; c < C; c++) {
            real m, v;
            dense_moments(g, c, &q[c], g->f.X + i * D, g->f.X + i * D, &m, &v);
            mu[c] = (double)m, var[c] = (double)v + (g->s.gaussian ? 0 : g->s.f->white);
        }
        int64_t row = g->f.block[i] * g->s.rows + (i - g->f.start[g->f.block[i]]);
        bound +=
            g->like.ops->expect(g->s.like, 1, &g->y[i], &g->f.w[i], mu, var, 1, g->s.random, row, dmu, dvar, dparam);
    }
    free(q);
    return (double)bound;
}

/* -------------------------------------------------------------------------------------- tests */

static void bound_equals_its_definition(void **unused)
{
    (void)unused;
    FOR_EACH_TRIAL(v)
    {
        stage g;
        chain_stat stat;
        set_stage(&g, v);
        double value = bound_of(&g, 1e-6, &stat);
        check_close(value, dense_bound(&g, 1e-6), 1e-9);
        clear_stage(&g);
    }
}

static double bound_at(void *ctx, const double *u)
{
    stage *g = ctx;
    chain_stat stat;
    hyper_unpack(&g->f.h, u);
    return bound_of(g, 1e-6, &stat);
}

static double bound_at_a(void *ctx, const double *a)
{
    stage *g = ctx;
    chain_stat stat;
    memcpy(g->s.f->a, a, (size_t)(g->s.f->O * g->s.f->C) * sizeof *a);
    return bound_of(g, 1e-6, &stat);
}

/* odvgp: the gradient in a; leaves what the other adjoints need. */
static void check_coefficients(stage *g, chain_stat *stat)
{
    double a[3 * LATENTS], abar[3 * LATENTS];
    assert_true(g->s.f->O * g->s.f->C <= 3 * LATENTS);
    memcpy(a, g->s.f->a, (size_t)(g->s.f->O * g->s.f->C) * sizeof *a);
    assert_true(orthogonal_gradient(g->s.f, stat->f, abar));
    for (int64_t i = 0; i < g->s.f->O * g->s.f->C; i++)
        check_close(abar[i], central_difference(bound_at_a, g, a, i, 1e-5), 3e-7);
    bound_at_a(g, a);
    chain_stat_place(&g->s, g->stat, stat);
    assert_true(orthogonal_gradient(g->s.f, stat->f, abar));
}

/* Softmax's Monte Carlo gradient is that of the expectation, not of the sample: it has its own test. */
static void gradient_equals_central_differences(void **unused)
{
    (void)unused;
    FOR_EACH_TRIAL(v)
    {
        stage g;
        chain_stat stat;
        double u[60], gp[60], gu[60];
        if (!strcmp(v->likelihood, "softmax")) continue;
        set_stage(&g, v);
        assert_true(g.f.h.free <= 60 && hyper_size(&g.f.h) <= 60);
        hyper_pack(&g.f.h, u);
        bound_of(&g, 1e-6, &stat);
        if (g.s.f->O) check_coefficients(&g, &stat);
        assert_true(chain_gradient(&g.s, &stat, gp));
        hyper_chain(&g.f.h, gp, gu);
        for (int64_t i = 0; i < g.f.h.free; i++) check_close(gu[i], central_difference(bound_at, &g, u, i, 1e-5), 3e-7);
        clear_stage(&g);
    }
}

/* E from the sums, at q and after a step of q, which V has to follow. */
static void statistics_are_the_same_by_V(void **unused)
{
    (void)unused;
    int tried = 0;
    FOR_EACH_TRIAL(v)
    {
        stage g;
        chain_stat stat;
        double rows[60], sums[60];
        set_stage(&g, v);
        for (int t = 0; t < 2 && g.s.f->C * g.s.f->K == 1 && g.s.f->O == 0; t++, tried++) {
            g.s.f->by_V = false;
            double bound = bound_of(&g, 1e-6, &stat);
            assert_true(chain_gradient(&g.s, &stat, rows));
            assert_true(layer_hold_V(g.s.f));
            g.s.f->by_V = true;
            check_close(bound_of(&g, 1e-6, &stat), bound, 1e-12);
            layer_E(g.s.f, stat.f);
            assert_true(chain_gradient(&g.s, &stat, sums));
            for (int64_t i = 0; i < hyper_size(&g.f.h); i++) check_close(sums[i], rows[i], 1e-9);
            assert_true(layer_move(g.s.f, stat.f, 0.3, NULL, NULL));
        }
        clear_stage(&g);
    }
    assert_true(tried > 0);
}

/* Bound and gradient at this q, for rows as they are now. */
static double bound_and_gradient(stage *g, bool by_V, double *gp)
{
    chain_stat stat;
    if (by_V) assert_true(layer_hold_V(g->s.f));
    g->s.f->by_V = by_V;
    double jitter = 1e-6;
    assert_true(chain_prepare(&g->s, &g->f.h, false, &jitter));
    if (g->s.f->single) layer_f32_prepare(g->s.f, false);
    double bound = bound_of(g, 1e-6, &stat);
    if (by_V) layer_E(g->s.f, stat.f);
    assert_true(chain_gradient(&g->s, &stat, gp));
    return bound;
}

/* The largest difference as a share of the largest number. */
static double off_by(int64_t n, const double *a, const double *b)
{
    double off = 0, size = 1;
    for (int64_t i = 0; i < n; i++) off = fmax(off, fabs(a[i] - b[i])), size = fmax(size, fabs(b[i]));
    return off / size;
}

static void rows_in_float_give_the_bound_and_gradient_of_double(void **unused)
{
    (void)unused;
    int tried = 0;
    FOR_EACH_TRIAL(v)
    {
        stage g;
        double whole[60], narrow[60];
        set_stage(&g, v);
        bool one = g.s.f->C * g.s.f->K == 1 && g.s.f->O == 0;
        for (int by_V = 0; layer_f32_fits(g.s.f) && by_V < 1 + one; by_V++, tried++) {
            double bound = bound_and_gradient(&g, by_V, whole);
            assert_true(layer_f32_open(g.s.f));
            g.s.f->single->on = true;
            check_close(bound_and_gradient(&g, by_V, narrow), bound, 1e-5);
            assert_true(off_by(hyper_size(&g.f.h), narrow, whole) < 2e-4);
            assert_true(off_by(hyper_size(&g.f.h), narrow, whole) > 1e-12); /* it was in float */
            layer_f32_close(g.s.f);
        }
        clear_stage(&g);
    }
    assert_true(tried > 10);
}

static void predictions_equal_their_definition(void **unused)
{
    (void)unused;
    FOR_EACH_TRIAL(v)
    {
        stage g;
        chain_stat stat;
        posterior *p = NULL;
        anygp_error e;
        double mean[NEW * LATENTS], variance[NEW * LATENTS], joint[NEW * NEW * LATENTS], again[NEW * LATENTS];
        set_stage(&g, v);
        bound_of(&g, 1e-6, &stat);
        assert_int_equal(svgp_posterior_new(&g.s, 0, &p, &e), ANYGP_OK);
        double *work = calloc((size_t)p->ops->work_doubles(p, NEW), sizeof *work);
        assert_int_equal(p->ops->marginal(p, NEW, g.f.new, D, work, mean, variance, &e), ANYGP_OK);
        assert_int_equal(p->ops->joint(p, NEW, g.f.new, D, work, again, joint, NEW, &e), ANYGP_OK);
        for (int64_t c = 0; c < p->latents; c++) {
            dense_q q;
            dense_of(&g, c, 1e-6, &q);
            for (int i = 0; i < NEW; i++)
                for (int j = 0; j <= i; j++) {
                    real m, s;
                    dense_moments(&g, c, &q, g.f.new + i *D, g.f.new + j *D, &m, &s);
                    check_close(mean[c * NEW + i], (double)m, 1e-9);
                    check_close(again[c * NEW + i], (double)m, 1e-9);
                    if (i == j) check_close(variance[c * NEW + i], (double)s, 1e-9);
                    check_close(joint[c * NEW * NEW + i + j * NEW], (double)s, 1e-9);
                }
        }
        free(work);
        p->ops->free(p);
        clear_stage(&g);
    }
}

/* log N(y; 0, Q + s2) - tr(K - Q) / (2 s2) over the original rows (004, eq. 7). */
static double vfe_of(const stage *g, double jitter)
{
    const fixture *f = &g->f;
    dense_gp d;
    real s2 = g->s.like[0].value[0], trace = 0;
    invert_Kuu(f, jitter, &d);
    d.n = 0;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < f->w[i]; k++) d.row[d.n] = i, d.y[d.n++] = g->y[i];
    for (int a = 0; a < d.n; a++)
        for (int b = 0; b < d.n; b++) {
            const double *x = f->X + d.row[a] * D, *z = f->X + d.row[b] * D;
            real Q = q_of(f, &d, x, z);
            d.inverse[a * d.n + b] = Q + basis_product(&f->mean, x, z) + (a == b ? s2 : 0);
            if (a == b) trace += k_of(f, x, x) - Q;
        }
    d.logdet = dense_invert(d.n, d.inverse);
    return (double)(dense_log_normal(d.n, d.inverse, d.logdet, d.y) - trace / (2 * s2));
}

static void one_natural_step_of_size_one_is_the_collapsed_bound(void **unused)
{
    (void)unused;
    FOR_EACH_TRIAL(v)
    {
        stage g;
        chain_stat stat;
        trial one = *v;
        if (strcmp(v->likelihood, "gaussian")) continue;
        one.sets = 1, one.orthogonal = false;
        set_stage(&g, &one);
        bound_of(&g, 1e-6, &stat);
        assert_true(layer_move(g.s.f, stat.f, 1, NULL, NULL));
        check_close(bound_of(&g, 1e-6, &stat), vfe_of(&g, 1e-6), 1e-9);
        clear_stage(&g);
    }
}

/* The bound after a step of rho from a given start. */
static double after_step(const trial *v, double rho)
{
    stage g;
    chain_stat stat;
    set_stage(&g, v);
    bound_of(&g, 1e-6, &stat);
    assert_true(layer_move(g.s.f, stat.f, rho, NULL, NULL));
    double value = bound_of(&g, 1e-6, &stat);
    clear_stage(&g);
    return value;
}

/* A natural gradient is a direction of ascent. */
static void small_natural_steps_raise_the_bound(void **unused)
{
    (void)unused;
    FOR_EACH_TRIAL(v)
    {
        if (!strcmp(v->likelihood, "softmax")) continue;
        assert_true(after_step(v, 1e-4) > after_step(v, 0));
    }
}

static void statistics_average_over_every_sample_to_those_of_all_rows(void **unused)
{
    (void)unused;
    FOR_EACH_TRIAL(v)
    {
        stage g;
        chain_stat stat;
        anygp_error e;
        set_stage(&g, v);
        bound_of(&g, 1e-6, &stat);
        int64_t size = chain_rows.stat_size(&g.s), samples = 0;
        double *all = calloc((size_t)size, sizeof *all), *one = calloc((size_t)size, sizeof *one);
        for (int64_t a = 0; a < BLOCKS; a++)
            for (int64_t b = a + 1; b < BLOCKS; b++, samples++) {
                assert_int_equal(driver_stat(g.d, &g.s, 2, (const int64_t[]){a, b}, BLOCKS / 2.0, one, &e), ANYGP_OK);
                la_axpy(size, 1, one, all);
            }
        for (int64_t i = 0; i < size; i++) check_close(all[i] / (double)samples, g.stat[i], 1e-10);
        free(all);
        free(one);
        clear_stage(&g);
    }
}

/* ivsgpr: q after the kernel and the inducing inputs have moved, against the product of the new prior and the factor on
   f(Z_old) that q was, by their definitions in u. */
static void transport_keeps_what_q_knows(void **unused)
{
    (void)unused;
    stage g;
    chain_stat stat;
    trial v = {"rbf", "gaussian", 0, 1, MEAN_ZERO, false, false};
    dense_q old, now;
    double L[M * M], Z[M * D], u[40], jitter = 1e-6;
    set_stage(&g, &v);
    bound_of(&g, jitter, &stat);
    dense_of(&g, 0, jitter, &old);
    memcpy(L, g.s.f->u.L, sizeof L);
    memcpy(Z, g.f.h.Z, sizeof Z);
    hyper_pack(&g.f.h, u);
    for (int64_t i = 0; i < g.f.h.free; i++) u[i] += 0.1 * sin((double)i);
    hyper_unpack(&g.f.h, u);
    assert_true(chain_prepare(&g.s, &g.f.h, false, &jitter) && layer_transport(g.s.f, (function_set){M, Z, NULL}, L));
    dense_of(&g, 0, jitter, &now);
    real P[M * M], S[M * M], mean[M] = {0}, h[M] = {0}, A[M * M] = {0};
    memcpy(P, old.S, sizeof P);
    dense_invert(M, P);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) h[i] += P[i * M + j] * old.mu[j];
    for (int i = 0; i < M * M; i++) P[i] -= old.Kinverse[i];
    for (int i = 0; i < M; i++) /* A = K^-1 K(Z, Z_old) */
        for (int j = 0; j < M; j++)
            for (int k = 0; k < M; k++)
                A[i * M + j] += now.Kinverse[i * M + k] * k_of(&g.f, g.f.h.Z + k * D, Z + j * D);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            S[i * M + j] = now.Kinverse[i * M + j];
            for (int k = 0; k < M; k++)
                for (int l = 0; l < M; l++) S[i * M + j] += A[i * M + k] * P[k * M + l] * A[j * M + l];
        }
    dense_invert(M, S);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++)
            for (int k = 0; k < M; k++) mean[i] += S[i * M + j] * A[j * M + k] * h[k];
    for (int i = 0; i < M; i++) {
        check_close((double)now.mu[i], (double)mean[i], 1e-8);
        for (int j = 0; j < M; j++) check_close((double)now.S[i * M + j], (double)S[i * M + j], 1e-8);
    }
    clear_stage(&g);
}

/* K_oo a and its share of the gradient, by every sample of one column of two. */
static void sampled_columns_average_to_all_of_them(void **unused)
{
    (void)unused;
    stage g;
    chain_stat stat;
    trial v = {"matern52", "gaussian", 0, 2, MEAN_ZERO, false, true};
    double exact[60], mean[60] = {0}, one[60], abar[2], kl = 0;
    set_stage(&g, &v);
    bound_of(&g, 1e-6, &stat);
    double kl_exact = orthogonal_kl(g.s.f);
    assert_true(orthogonal_gradient(g.s.f, stat.f, abar) && chain_gradient(&g.s, &stat, exact));
    g.s.f->columns = 1;
    bool seen[2] = {false, false};
    for (int64_t t = 0; !seen[0] || !seen[1]; t++) {
        double jitter = 1e-6;
        bound_of(&g, jitter, &stat);
        assert_true(orthogonal_prepare(g.s.f, 0, t));
        if (seen[g.s.f->chosen[0]]) continue;
        seen[g.s.f->chosen[0]] = true;
        kl += orthogonal_kl(g.s.f) / 2;
        assert_true(orthogonal_gradient(g.s.f, stat.f, abar) && chain_gradient(&g.s, &stat, one));
        for (int64_t i = 0; i < hyper_size(&g.f.h); i++) mean[i] += one[i] / 2;
    }
    check_close(kl, kl_exact, 1e-12);
    for (int64_t i = 0; i < hyper_size(&g.f.h); i++) check_close(mean[i], exact[i], 1e-10);
    clear_stage(&g);
}

/* All columns, whatever was sampled before. */
static void the_whole_of_the_orthogonal_kl_is_that_of_every_sample(void **unused)
{
    (void)unused;
    stage g;
    chain_stat stat;
    trial v = {"matern52", "gaussian", 0, 2, MEAN_ZERO, false, true};
    set_stage(&g, &v);
    bound_of(&g, 1e-6, &stat);
    double exact = orthogonal_kl(g.s.f);
    g.s.f->columns = 1;
    for (int64_t t = 0; t < 8; t++) {
        assert_true(orthogonal_prepare(g.s.f, 0, t));
        assert_true(fabs(orthogonal_kl(g.s.f) - exact) > 1e-6);
        assert_true(orthogonal_whole(g.s.f));
        check_close(orthogonal_kl(g.s.f), exact, 1e-12);
    }
    clear_stage(&g);
}

/* Where o lies upon u there is nothing left of it, and every sample says so. */
static void a_sample_has_no_noise_where_nothing_is_orthogonal(void **unused)
{
    (void)unused;
    stage g;
    chain_stat stat;
    trial v = {"matern52", "gaussian", 0, 2, MEAN_ZERO, false, true};
    set_stage(&g, &v);
    int64_t first = g.s.f->M * g.s.f->D, both = 2 * g.s.f->D;
    memcpy(g.f.h.Z + first, g.f.h.Z, (size_t)both * sizeof *g.f.h.Z);
    bound_of(&g, 1e-10, &stat);
    g.s.f->columns = 1;
    for (int64_t t = 0; t < 8; t++) {
        assert_true(orthogonal_prepare(g.s.f, 0, t));
        check_close(orthogonal_kl(g.s.f), 0, 1e-6);
    }
    clear_stage(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_equals_its_definition),
        cmocka_unit_test(gradient_equals_central_differences),
        cmocka_unit_test(statistics_are_the_same_by_V),
        cmocka_unit_test(rows_in_float_give_the_bound_and_gradient_of_double),
        cmocka_unit_test(predictions_equal_their_definition),
        cmocka_unit_test(one_natural_step_of_size_one_is_the_collapsed_bound),
        cmocka_unit_test(small_natural_steps_raise_the_bound),
        cmocka_unit_test(transport_keeps_what_q_knows),
        cmocka_unit_test(sampled_columns_average_to_all_of_them),
        cmocka_unit_test(the_whole_of_the_orthogonal_kl_is_that_of_every_sample),
        cmocka_unit_test(a_sample_has_no_noise_where_nothing_is_orthogonal),
        cmocka_unit_test(statistics_average_over_every_sample_to_those_of_all_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
