/* svgp, solve, odvgp and ivsgpr as models that learn by steps. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/threads.h"
#include "gauss/orthogonal.h"
#include "model/deep/deep_posterior.h"
#include "model/variational/svgp_posterior.h"
#include "model/variational/svgp_state.h"

static const chain_kind plain = {0}, orthogonal = {.orthogonal = true}, transported = {.transported = true},
                        deep = {.layers = 2};

static const chain_kind *kind_of(const model_ops *m) { return m->family; }

/* ----------------------------------------------------------------------------------------- cost */

static double latents_of(const cost_facts *f) { return (double)(f->targets * f->latents); }

/* M x M arrays, and for each thread its sums and a piece of rows. */
static double svgp_bytes(const cost_facts *f, double C, double M, double largest)
{
    double Mt = M + (double)f->basis, T = f->threads, rows = fmin(largest, DRIVER_PIECE);
    double sums = Mt * Mt * (C + 1), piece = rows * (Mt * (C + 2) + (double)f->inputs + 5 * C);
    return 8 * (Mt * Mt * (2 * C + 2 + 2 * fmin(C, T)) + sums * (1 + T) + T * piece);
}

/* A step over B rows: (3 (1 + C) M^2 B + 2 C M^3) operations and 4 (B + M) M kernel entries, with their reverse.  In sets q has
   smaller factors. */
static model_cost svgp_cost_of(const cost_facts *f, double C, double M, double largest, double saved)
{
    static const double SHARE = 0.8; /* of R */
    double B = f->batch, bytes = svgp_bytes(f, C, M, largest);
    return (model_cost){.rows = saved * cost_of_work(f, SHARE, 3 * (1 + C) * M * M * B, 4 * B * M),
                        .head = saved * cost_of_work(f, SHARE, 2 * C * M * M * M, 4 * M * M),
                        .bytes = bytes};
}

static model_cost svgp_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    model_cost c = svgp_cost_of(f, latents_of(f), s->M, s->largest, model_takes_sets(self) ? 0.8 : 1);
    if (kind_of(self)->transported) { /* the factor of the step before, and q moved from there */
        c.head += cost_of_work(f, 0.8, 5 * pow(s->M, 3), 0);
        c.bytes += 8 * s->M * (s->M + (double)f->inputs);
    }
    return c;
}

/* The inducing inputs of the mean alone make no square. */
static model_cost odvgp_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    (void)self;
    double M = s->first > 0 ? s->first : s->M - floor(s->M / 2), O = s->M - M, C = latents_of(f), D = (double)f->inputs;
    model_cost c = svgp_cost_of(f, latents_of(f), M, s->largest, 1);
    c.rows += cost_of_work(f, 0.8, 4 * C * O * f->batch, 4 * O * f->batch);
    c.head += cost_of_work(f, 0.8, 4 * O * M, 4 * O * M);
    c.bytes += 8 * O * (orthogonal_row((int64_t)M, (int64_t)O) + 4 * (C + D) + (double)f->threads * (DRIVER_PIECE + D));
    return c;
}

/* Inner layers have a function for each input, with Adam's means for each number of R. */
static model_cost deep_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    double inner = (double)(kind_of(self)->layers - 1), D = (double)f->inputs;
    model_cost c = svgp_cost_of(f, latents_of(f), s->M, s->largest, 1);
    model_cost more = svgp_cost_of(f, D, s->M, s->largest, 1);
    return (model_cost){.rows = c.rows + inner * more.rows,
                        .head = c.head + inner * more.head,
                        .bytes = c.bytes + inner * (more.bytes + 8 * 4 * D * s->M * s->M)};
}

/* ---------------------------------------------------------------------------------------- state */

static anygp_status deep_define(const model_ops *self, const problem *p, hyper *h, anygp_error *e)
{
    return chain_define(h, p, kind_of(self)->layers, e);
}

static int64_t svgp_size(const problem *p) { return p->subset; }
static double svgp_rows_behind(const void *state) { return ((const svgp_state *)state)->problem->blocks->total; }

static void release(svgp_state *q)
{
    double **const owned[] = {&q->stat, &q->ga, &q->old_L, &q->old_Z, &q->kept};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(*owned[i]), *owned[i] = NULL;
}

void svgp_close(void *state)
{
    svgp_state *q = state;
    if (!q) return;
    chain_clear(&q->s);
    driver_close(q->driver);
    ascent_clear(&q->up);
    adam_clear(&q->adam_a);
    release(q);
    free(q);
}

anygp_status svgp_state_allocate(svgp_state *q, const hyper *h, anygp_error *e)
{
    chain_learn(&q->s, true); /* the longest statistics */
    int64_t size = chain_rows.stat_size(&q->s);
    release(q);
    q->stat = mem_alloc(size, sizeof(double));
    q->ga = mem_alloc(q->s.f->O * q->s.f->C, sizeof(double));
    if (!q->s.gaussian) q->kept = mem_alloc(layer_kept_size(q->s.f), sizeof(double));
    if (q->transported) q->old_L = mem_doubles(h->M, h->M), q->old_Z = mem_doubles(h->M, 2 * h->D);
    bool ok = q->stat && q->ga && (q->kept || q->s.gaussian) && ((q->old_L && q->old_Z) || !q->transported);
    return ok ? ANYGP_OK : fail_memory(e, "the sums", 8.0 * (double)size);
}

anygp_status svgp_state_open(const problem *p, const hyper *h, const chain_kind *kind, svgp_state **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    svgp_state *q = calloc(1, sizeof *q);
    if (!q) return fail_memory(e, "the model", sizeof *q);
    q->problem = p, q->transported = kind->transported, q->rows = p->blocks->total;
    TRY_DONE(chain_init(&q->s, p, h, kind->orthogonal, e));
    TRY_DONE(svgp_state_allocate(q, h, e));
    TRY_DONE(adam_init(&q->adam_a, q->s.f->O * q->s.f->C, e));
    TRY_DONE(ascent_init(&q->up, h, e));
done:
    if (ANYGP_FAILED(status))
        svgp_close(q);
    else
        *out = q;
    return status;
}

static anygp_status svgp_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    svgp_state *q;
    TRY(svgp_state_open(p, h, kind_of(self), &q, e));
    svgp_precision_begin(q);
    anygp_status status = driver_open(&chain_rows, p->blocks, p->comm, 0, &q->driver, e);
    if (ANYGP_FAILED(status))
        svgp_close(q);
    else
        *state = q;
    return status;
}

static anygp_status svgp_posteriors(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    svgp_state *q = state;
    TRY(svgp_state_prepare(q, h, e));
    if (q->s.f->O && !orthogonal_prepare(q->s.f, q->problem->seed, 0)) return fail_memory(e, "kernel tiles", 0);
    TRY(svgp_precision_end(q, e));
    *jitter = q->jitter;
    for (int64_t t = 0; t < q->s.T; t++) {
        anygp_status status = (q->s.L > 1 ? deep_posterior_new : svgp_posterior_new)(&q->s, t, &out[t], e);
        for (int64_t i = 0; ANYGP_FAILED(status) && i < t; i++) out[i]->ops->free(out[i]), out[i] = NULL;
        if (ANYGP_FAILED(status)) return status;
    }
    return ANYGP_OK;
}

#define SVGP_STEPS                                                                                                     \
    .begin = svgp_begin, .step = svgp_step, .bound = svgp_bound, .posteriors = svgp_posteriors, .save = svgp_save,     \
    .restore = svgp_restore

static const step_ops svgp_steps = {.rounding = svgp_rounding, .remark = svgp_remark, SVGP_STEPS};
static bool always(const void *state) { return (void)state, true; }

static const step_ops deep_steps = {.sampled = always, SVGP_STEPS};

/* ---------------------------------------------------------------------------------- the models */

/* What all of them have. */
#define SVGP_MODEL(id, text, kind, order_, cost_)                                                                      \
    .name = #id, .summary = text, .objective = "lower bound", .family = kind, .jitter = 1e-8, .order = order_,         \
    .cost = cost_, .size = svgp_size, .open = svgp_open, .rows = svgp_rows_behind, .close = svgp_close
#define SVGP_NEEDS                                                                                                     \
    .rows = ROWS_BLOCKS, .likelihoods = LIKELIHOOD_ANY, .targets = TARGETS_SEVERAL, .learned = true, .weights = true
/* And those of one layer. */
#define ONE_LAYER(inducing_)                                                                                           \
    .needs = {SVGP_NEEDS, .inducing = inducing_, .grows = inducing_ == INDUCING_ONE, .mean = true, .joint = true},     \
    .subset = 512, .load = svgp_load, .steps = &svgp_steps, .update = &svgp_updates

const model_ops model_svgp = {SVGP_MODEL(svgp, "stochastic variational GP", &plain, "b m^2+m^3", svgp_cost),
                              ONE_LAYER(INDUCING_ONE)};
const model_ops model_solve = {
    SVGP_MODEL(solve, "sparse orthogonal variational inference", &plain, "b m^2+m^3", svgp_cost),
    ONE_LAYER(INDUCING_SETS)};
const model_ops model_ivsgpr = {
    SVGP_MODEL(ivsgpr, "incremental variational GP, mirror ascent", &transported, "b m^2+m^3", svgp_cost),
    ONE_LAYER(INDUCING_ONE)};
const model_ops model_odvgp = {
    SVGP_MODEL(odvgp, "orthogonally decoupled variational GP", &orthogonal, "b (m^2+o)", odvgp_cost),
    ONE_LAYER(INDUCING_SETS)};
const model_ops model_deep = {SVGP_MODEL(deep, "deep GP of two layers", &deep, "d (b+m) m^2", deep_cost),
                              .needs = {SVGP_NEEDS, .inducing = INDUCING_ONE},
                              .subset = 128,
                              .define = deep_define,
                              .load = deep_load,
                              .steps = &deep_steps};
