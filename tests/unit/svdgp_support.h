/* A small decoupled Gaussian process with all of its parameters set at random, and its objective over all rows. */
#ifndef TEST_SVDGP_SUPPORT_H
#define TEST_SVDGP_SUPPORT_H

#include "dense.h"
#include "support.h"

#include "model/decoupled/svdgp.h"

enum { ROWS = 14, D = 2, MA = 5, MB = 3, BLOCKS = 3 };

/* ------------------------------------------- a likelihood of two latents and one parameter, in closed form */

/* log p(y | f) = -(y - f1 - q f2)^2 / 2 - f2^2 / 10, no density, but all that the contract asks of expect. */
static inline double pair_expect(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                                 const double *var, int64_t ld, random_stream random, int64_t row, double *dmu,
                                 double *dvar, double *dparam)
{
    double sum = 0, q = l->value[0];
    (void)random, (void)row;
    for (int64_t i = 0; i < n; i++) {
        double m1 = mu[i], m2 = mu[i + ld], v1 = var[i], v2 = var[i + ld], wt = w ? w[i] : 1, r = Y[i] - m1 - q * m2;
        sum -= wt * (0.5 * (r * r + v1 + q * q * v2) + 0.1 * (m2 * m2 + v2));
        dmu[i] = wt * r, dmu[i + ld] = wt * (q * r - 0.2 * m2);
        dvar[i] = -0.5 * wt, dvar[i + ld] = -wt * (0.5 * q * q + 0.1);
        dparam[0] += wt * (r * m2 - q * v2);
    }
    return sum;
}

static const likelihood_ops pair_ops = {.name = "pair", .concave = true, .expect = pair_expect};

/* ------------------------------------------------------------------------------------------ fixture */

typedef struct variant {
    const char *kernel;
    mean_kind mean;
    bool pair; /* two latents */
    int64_t targets;
} variant;

typedef struct fixture {
    basis mean;
    hyper h;
    problem p;
    svdgp s;
    likelihood like;
    row_blocks *blocks;
    driver *driver;
    double X[ROWS * D], y[ROWS * 2], w[ROWS];
} fixture;

static inline kernel *parse_kernel(const char *text)
{
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(text, in, D, D, &k, &e), ANYGP_OK);
    return k;
}

static inline void prepare(fixture *f)
{
    anygp_error e;
    assert_int_equal(svdgp_prepare(&f->s, f->h.kernel, f->h.likes, f->h.like, &e), ANYGP_OK);
}

static inline void scatter(param_segment *s, uint64_t stream, double size)
{
    fill_normal(stream, s->rows * s->cols, s->values);
    for (int64_t i = 0; i < s->rows * s->cols; i++) s->values[i] *= size;
}

static inline void setup_rows(fixture *f, const variant *v)
{
    static const int64_t start[BLOCKS + 1] = {0, 4, 9, ROWS};
    input_spec columns[D] = {{.number = 0, .position = 0, .scale = 1}, {.number = 1, .position = 1, .scale = 1}};
    schema s = {.inputs = D, .D = D, .input = columns, .y_scale = 1};
    anygp_error e;
    int64_t Q = v->pair ? 1 : v->targets;
    *f = (fixture){0};
    fill_normal(1, ROWS * D, f->X);
    fill_normal(2, ROWS * Q, f->y);
    for (int i = 0; i < ROWS; i++) f->w[i] = 1 + i % 2;
    assert_int_equal(basis_init(&f->mean, v->mean, &s, 0.7, &e), ANYGP_OK);
    assert_int_equal(blocks_of_arrays(BLOCKS, start, D, Q, f->X, f->y, f->w, &f->blocks, &e), ANYGP_OK);
    assert_int_equal(hyper_init(&f->h, parse_kernel(v->kernel), 0.3, false, false, true, &e), ANYGP_OK);
    f->like = (likelihood){.ops = &pair_ops, .latents = 2, .columns = 1, .params = 1, .value = {0.6}};
    f->like.param[0] = (likelihood_param){.name = "q", .start = 0.6, .lower = 1e-6, .prior_sd = 1};
    if (!v->pair) {
        assert_int_equal(likelihood_with_noise(0.3, &f->like, &e), ANYGP_OK);
        f->like.param[0] = (likelihood_param){.name = "noise", .start = 0.3, .lower = 1e-6, .prior_sd = 1};
    }
    assert_int_equal(hyper_set_likelihood(&f->h, &f->like, v->targets, false, &e), ANYGP_OK);
    f->p = (problem){.mean = &f->mean, .blocks = f->blocks, .comm = comm_self(), .targets = v->targets};
    f->p.likelihood = &f->like;
}

static inline void setup(fixture *f, const variant *v, bool newton)
{
    anygp_error e;
    double Z[MA * D];
    setup_rows(f, v);
    assert_int_equal(svdgp_init(&f->s, &f->p, f->h.kernel, newton, &e), ANYGP_OK);
    fill_normal(3, MA * D, Z);
    assert_int_equal(svdgp_add_alpha(&f->s, MA, Z, &e), ANYGP_OK);
    fill_normal(4, MB * D, Z);
    assert_int_equal(svdgp_add_beta(&f->s, MB, Z, 0.1, &e), ANYGP_OK);
    scatter(&f->s.a, 5, 0.5), scatter(&f->s.trend, 6, 0.5);
    scatter(&f->s.alpha_width, 7, 0.3), scatter(&f->s.beta_width, 8, 0.3);
    for (int64_t c = 0; c < f->s.C; c++) scatter(&f->s.L[c], 9 + (uint64_t)c, 1);
    assert_int_equal(driver_open(&svdgp_rows, f->blocks, comm_self(), 0, &f->driver, &e), ANYGP_OK);
    f->s.gradient = f->s.learn = true, f->s.places = !newton;
    prepare(f);
}

static inline void teardown(fixture *f)
{
    driver_close(f->driver);
    svdgp_clear(&f->s);
    blocks_free(f->blocks);
    basis_clear(&f->mean);
    hyper_clear(&f->h);
}

/* The bound and, in *stat (freed by the caller), its gradients; all rows, these columns of K_alpha (NULL: all). */
static inline double objective(fixture *f, int64_t count, const int64_t *columns, double **stat)
{
    anygp_error e;
    double kl;
    prepare(f);
    svdgp_layout o = svdgp_layout_of(&f->s);
    double *sums = malloc((size_t)o.size * sizeof *sums);
    assert_int_equal(driver_stat(f->driver, &f->s, 0, NULL, 1, sums, &e), ANYGP_OK);
    assert_true(svdgp_head(&f->s, sums));
    assert_true(svdgp_kl_mean(&f->s, count, columns, count ? (double)MA / (double)count : 1, &kl, sums, NULL));
    double value = sums[o.value];
    if (stat)
        *stat = sums;
    else
        free(sums);
    return value;
}

#endif
