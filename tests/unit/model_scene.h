/* A model over a few rows in model units, opened by its table: its objective, the bound at a fixed q of an anytime run, the bound
   and the steps of a model that learns by steps, and train().  Built from what the table says of the model, so that a new
   one needs no line here; signatures of model_ops, anytime_ops and step_ops are used nowhere else in the suite. */
#ifndef TEST_MODEL_SCENE_H
#define TEST_MODEL_SCENE_H

#include <string.h>

#include "model_traits.h"
#include "shelf.h"

#include "base/clock.h"
#include "run/train.h"

enum { ROWS = 40, D = 2, BLOCKS = 4, M = 8, M_COVARIANCE = 5, NEW = 7, SIZE_MOST = 256 };

typedef struct scene_kind {
    const char *kernel, *stationary; /* the second for models whose inducing variables ask for one that is */
    mean_kind mean;
    bool weights;
} scene_kind;

/* Values away from 1, so that no factor of 1 hides a mistake. */
static const scene_kind scene_kinds[] = {
    {"rbf(variance=1.3,lengthscale=[0.8,1.4])", "rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, false},
    {"matern32(variance=0.7,lengthscale=1.1) + linear(variance=[0.3,0.2])",
     "matern32(variance=0.7,lengthscale=1.1) + rq(variance=0.4,lengthscale=[0.9,1.6],alpha=0.8)*rbf(lengthscale=2) + "
     "white(variance=0.05)",
     MEAN_LINEAR, true}};
enum { SCENE_KINDS = sizeof scene_kinds / sizeof *scene_kinds };

typedef struct scene {
    const model_ops *model;
    void *state;
    problem p;
    hyper h;
    likelihood like;
    basis mean;
    dataset data;
    merged rows;
    row_blocks *blocks;
    router *route;
    input_spec columns[D];
    int64_t sets[2], at[D];
    double X[ROWS * D], y[ROWS], w[ROWS], Z[M * D];
} scene;

static const double scene_jitter = 1e-6;

/* Rows sorted by the nearest of four centres, as blocks of a partition are. */
static inline void scene_rows(scene *s, bool weights)
{
    static const double centres[BLOCKS * D] = {-1, -1, -1, 1, 1, -1, 1, 1};
    double X[ROWS * D], noise[ROWS];
    int64_t id[ROWS], start[BLOCKS + 1], n = 0;
    anygp_error e;
    fill_normal(1, ROWS * D, X);
    fill_normal(2, ROWS, noise);
    if (s->model->needs.cells) {
        assert_int_equal(router_whole(D, &s->route, &e), ANYGP_OK);
        for (int64_t b = 0; b < BLOCKS - 1; b++)
            assert_int_equal(router_cut(s->route, b ? b - 1 : 0, b > 0, 0, &e), ANYGP_OK);
    } else
        assert_int_equal(router_means(BLOCKS, D, centres, &s->route, &e), ANYGP_OK);
    assert_int_equal(router_route(s->route, ROWS, X, D, id, &e), ANYGP_OK);
    for (int64_t b = 0; b < BLOCKS; b++) {
        start[b] = n;
        for (int i = 0; i < ROWS; i++)
            if (id[i] == b) memcpy(s->X + D * n++, X + i * D, D * sizeof(double));
    }
    start[BLOCKS] = n;
    for (int i = 0; i < ROWS; i++) {
        s->y[i] = sin(2 * s->X[i * D]) + 0.5 * s->X[i * D + 1] + 0.2 * noise[i];
        s->w[i] = weights ? 1 + i % 2 : 1;
        s->data.total += s->w[i];
    }
    assert_int_equal(blocks_of_arrays(BLOCKS, start, D, 1, s->X, s->y, s->w, &s->blocks, &e), ANYGP_OK);
}

static inline void scene_data(scene *s)
{
    anygp_error e;
    for (int j = 0; j < D; j++) s->columns[j] = (input_spec){.number = j, .position = j, .scale = 1}, s->at[j] = j;
    s->data.schema = (schema){.inputs = D, .D = D, .input = s->columns, .at = s->at, .y_scale = 1, .y_sd = 1};
    s->data.n = s->data.used = ROWS, s->data.D = D;
    s->data.X = s->X, s->data.y = s->y, s->data.w = s->w;
    assert_int_equal(dataset_merge(&s->data, true, &s->rows, &e), ANYGP_OK);
}

/* Kernel, noise and, where the model has them, inducing inputs. */
static inline void scene_hyper(scene *s, const scene_kind *kind)
{
    const char *expression = s->model->variables ? kind->stationary : kind->kernel;
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    int64_t count = has_pair(s->model) ? M_COVARIANCE : M;
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(expression, in, D, D, &k, &e), ANYGP_OK);
    bool fixed = !learns(s->model);
    assert_int_equal(hyper_init(&s->h, k, 0.07, fixed, fixed, true, &e), ANYGP_OK);
    assert_int_equal(likelihood_with_noise(0.07, &s->like, &e), ANYGP_OK);
    if (by_steps(s->model)) assert_int_equal(hyper_set_likelihood(&s->h, &s->like, 1, false, &e), ANYGP_OK);
    fill_normal(3, M * D, s->Z);
    if (s->model->variables) assert_int_equal(hyper_set_kind(&s->h, s->model->variables, &e), ANYGP_OK);
    if (has_inducing(s->model))
        assert_int_equal(hyper_set_inducing(&s->h, count, D, s->Z, !fixed && !has_pair(s->model), &e), ANYGP_OK);
}

static inline void scene_open(scene *s, const model_ops *model, const scene_kind *kind)
{
    anygp_error e = {.text = ""};
    bool many = has_sets(model) || has_pair(model);
    *s = (scene){.model = model};
    scene_rows(s, kind->weights);
    scene_data(s);
    scene_hyper(s, kind);
    mean_kind mean = model->needs.mean ? kind->mean : MEAN_ZERO;
    assert_int_equal(basis_init(&s->mean, mean, &s->data.schema, 2.5, &e), ANYGP_OK);
    s->sets[0] = has_pair(model) ? 2 * M : M - 3, s->sets[1] = has_pair(model) ? M_COVARIANCE : 3;
    s->p = (problem){.rows = &s->rows,
                     .mean = &s->mean,
                     .seed = 5,
                     .subset = has_inducing(model) ? s->h.M : ROWS / 2,
                     .select = "random",
                     .comm = comm_self(),
                     .learn_inducing = true,
                     .likelihood = &s->like,
                     .targets = 1,
                     .sets = many ? s->sets : NULL,
                     .set_count = many ? 2 : 0,
                     .blocks = s->blocks,
                     .near = {.learn = 4}, /* of which there are then several groups */
                     .route = s->route,
                     .keep = 1e6,
                     .memory = 1e9};
    if (model_open(model, &s->p, &s->h, &s->state, &e)) fail_msg("%s: %s", model->name, e.text);
    assert_true(hyper_size(&s->h) <= SIZE_MOST);
}

static inline void scene_close(scene *s)
{
    s->model->close(s->state);
    blocks_free(s->blocks);
    router_free(s->route);
    merged_clear(&s->rows);
    basis_clear(&s->mean);
    hyper_clear(&s->h);
}

/* ------------------------------------------------------------------------------- natural parameters */

/* The one that stands at place i of a gradient. */
static inline double *scene_place(scene *s, int64_t i) { return i < s->h.count ? NULL : s->h.Z + (i - s->h.count); }

static inline double scene_get(scene *s, int64_t i)
{
    double *z = scene_place(s, i);
    return z ? *z : hyper_get(&s->h, i);
}

static inline void scene_set(scene *s, int64_t i, double value)
{
    double *z = scene_place(s, i);
    if (z)
        *z = value;
    else
        hyper_set(&s->h, i, value);
}

/* The slope of `value` in natural parameter i. */
static inline double scene_at(scene *s, int64_t i, double x, double (*value)(scene *s))
{
    double former = scene_get(s, i);
    scene_set(s, i, x);
    double v = value(s);
    scene_set(s, i, former);
    return v;
}

/* By a difference of fourth order: its step is long enough for rounding to be small. */
static inline double scene_slope(scene *s, int64_t i, double (*value)(scene *s))
{
    double x = scene_get(s, i), step = 2e-4 * (i < s->h.count ? fabs(x) : 1);
    double near = scene_at(s, i, x + step, value) - scene_at(s, i, x - step, value);
    double far = scene_at(s, i, x + 2 * step, value) - scene_at(s, i, x - 2 * step, value);
    return (8 * near - far) / (12 * step);
}

/* ------------------------------------------------------------------------- a model that learns by evaluate */

static inline double scene_objective(scene *s, double *gradient)
{
    double jitter = scene_jitter, value;
    if (!s->model->evaluate(s->state, &s->h, false, &jitter, &value, gradient))
        fail_msg("%s has no objective here", s->model->name);
    return value;
}

/* --------------------------------------------------------------------------- an anytime run, at a fixed q */

enum { Q_MOST = 24 };

/* N(m, V), its KL to the prior, and the blocks of the sample. */
typedef struct fixed_q {
    double m[Q_MOST], V[Q_MOST * Q_MOST], kl;
    int64_t count;
    const int64_t *which;
} fixed_q;

/* A q that is not the optimum: N(m, R R'). */
static inline fixed_q some_q(const scene *s)
{
    static const int64_t two_blocks[2] = {3, 1};
    int64_t n = s->model->anytime->size(s->state);
    double R[Q_MOST * Q_MOST] = {0}, r[Q_MOST * Q_MOST], prior = s->model->anytime->prior(s->state);
    fixed_q q = {.kl = -0.5 * (double)n * (1 + log(prior)), .count = 2, .which = two_blocks};
    assert_true(n <= Q_MOST);
    fill_normal(7, n * n, r);
    fill_normal(8, n, q.m);
    for (int64_t j = 0; j < n; j++) {
        q.m[j] *= 0.5;
        for (int64_t i = j; i < n; i++) R[i + j * n] = i == j ? 0.3 + fabs(r[i + j * n]) : 0.2 * r[i + j * n];
        q.kl += 0.5 * prior * q.m[j] * q.m[j] - log(R[j + j * n]);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            for (int64_t k = 0; k < n; k++) q.V[i + j * n] += R[i + k * n] * R[j + k * n];
            if (i == j) q.kl += 0.5 * prior * q.V[i + j * n];
        }
    return q;
}

static inline double scene_bound_at(scene *s, const fixed_q *q, double *gradient)
{
    const anytime_ops *a = s->model->anytime;
    const double *S, *b;
    double jitter = scene_jitter, value, scale = (double)BLOCKS / (double)q->count;
    anygp_error e;
    assert_true(a->prepare(s->state, &s->h, false, &jitter));
    assert_int_equal(a->stat(s->state, q->count, q->which, scale, &S, &b, &e), ANYGP_OK);
    assert_int_equal(a->bound(s->state, q->m, q->V, q->kl, q->count, q->which, scale, 1, &value, gradient, &e),
                     ANYGP_OK);
    return value;
}

/* ------------------------------------------------------------------------------ a model that learns by steps */

static inline void scene_begin(scene *s)
{
    anygp_error e;
    assert_int_equal(s->model->steps->begin(s->state, &s->h, scene_jitter, &e), ANYGP_OK);
}

static inline double scene_step(scene *s, int64_t t, double rho, double rate, bool learn)
{
    double value;
    anygp_error e;
    step_context c = {.seed = s->p.seed,
                      .t = t,
                      .steps = 1000,
                      .count = BLOCKS,
                      .scale = 1,
                      .rho = rho,
                      .rate = rate,
                      .learn = learn};
    if (s->model->steps->step(s->state, &s->h, &c, &value, &e)) fail_msg("%s: %s", s->model->name, e.text);
    return value;
}

static inline shelf scene_save(scene *s) { return shelf_of(s->model, s->state); }

/* The state that was saved: a state may remember what it made of the hyperparameters before. */
static inline void scene_restore(scene *s, const shelf *k)
{
    assert_true(s->model->steps->restore(s->state, &s->h, k->c));
}

/* The bound and the prior at the q of the shelf and at free parameters u. */
static inline double scene_bound(scene *s, const shelf *k, const double *u)
{
    double value;
    anygp_error e;
    scene_restore(s, k);
    hyper_unpack(&s->h, u);
    assert_int_equal(s->model->steps->bound(s->state, &s->h, &value, &e), ANYGP_OK);
    return value + hyper_log_prior(&s->h, NULL);
}

/* -------------------------------------------------------------------------------------------- train() */

static inline train_options scene_options(const scene *s, bool anytime)
{
    return (train_options){.iterations = 3,
                           .jitter = scene_jitter,
                           .time_limit = INFINITY,
                           .began = clock_seconds(),
                           .save_every = INFINITY,
                           .anytime = {.on = anytime,
                                       .learn = anytime || by_steps(s->model),
                                       .sample = 2,
                                       .steps = 5,
                                       .rho = NAN,
                                       .tau = NAN,
                                       .kappa = NAN,
                                       .step = NAN}};
}

/* A run of `model`, which has the state and the functions of the scene's, or fewer of them.  The means and variances at
   NEW rows go to out[2 NEW], the rest to *r, which is the caller's. */
static inline void scene_train(scene *s, const model_ops *model, bool anytime, double *out, train_result *r)
{
    double X[NEW * D];
    posterior *p = NULL;
    hyper h = {0};
    train_options o = scene_options(s, anytime);
    anygp_error e = {.text = ""};
    assert_int_equal(hyper_copy(&s->h, &h, &e), ANYGP_OK);
    if (train(model, &s->p, &h, &o, r, &p, &e)) fail_msg("%s: %s", model->name, e.text);
    fill_normal(9, NEW * D, X);
    double *work = calloc((size_t)p->ops->work_doubles(p, NEW) + 1, sizeof *work);
    int64_t S = p->components > 1 ? p->components : 1; /* the first of them is looked at */
    double *marginals = calloc((size_t)(2 * NEW * S), sizeof *marginals);
    assert_int_equal(p->ops->marginal(p, NEW, X, D, work, marginals, marginals + NEW * S, &e), ANYGP_OK);
    memcpy(out, marginals, NEW * sizeof *out);
    memcpy(out + NEW, marginals + NEW * S, NEW * sizeof *out);
    free(marginals);
    free(work);
    posteriors_free(1, &p);
    hyper_clear(&h);
}

#endif
