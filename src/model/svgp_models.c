/* svgp, solve, odvgp and ivsgpr as models that learn by steps. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/threads.h"
#include "model/svgp_orthogonal.h"
#include "model/svgp_posterior.h"
#include "model/svgp_state.h"

/* What tells the models apart. */
static const char orthogonal = 1, transported = 2;

/* ---------------------------------------------------------------------------------------- state */

static int64_t latents_of(const problem *p)
{
    return (p->targets > 1 ? p->targets : 1) * (p->likelihood ? p->likelihood->latents : 1);
}

/* M x M arrays, and for each thread its sums and a piece of rows. */
static double svgp_bytes(const problem *p)
{
    double Mt = (double)(p->subset + p->mean->p), C = (double)latents_of(p), threads = threads_max();
    double rows = (double)(p->blocks->largest < DRIVER_PIECE ? p->blocks->largest : DRIVER_PIECE);
    double sums = Mt * Mt * (C + 1), piece = rows * (Mt * (C + 2) + (double)p->blocks->D + 5 * C);
    return 8.0 * (Mt * Mt * (2 * C + 2 + 2 * fmin(C, threads)) + sums * (1 + threads) + threads * piece);
}

/* The inducing inputs of the mean alone make no square. */
static double odvgp_bytes(const problem *p)
{
    problem first = *p;
    first.subset = p->set_count > 1 ? p->sets[0] : p->subset - p->subset / 2;
    double O = (double)(p->subset - first.subset), C = (double)latents_of(p), D = (double)p->blocks->D;
    return svgp_bytes(&first) + 8.0 * O *
                                    (orthogonal_row(first.subset, p->subset - first.subset) + 4 * (C + D) +
                                     (double)threads_max() * (DRIVER_PIECE + D));
}

static int64_t svgp_size(const problem *p) { return p->subset; }
static double svgp_rows_behind(const void *state) { return ((const svgp_state *)state)->problem->blocks->total; }

static void svgp_close(void *state)
{
    svgp_state *q = state;
    if (!q) return;
    svgp_clear(&q->s);
    driver_close(q->driver);
    adam_clear(&q->adam);
    adam_clear(&q->adam_a);
    double *const owned[] = {q->stat, q->u, q->gu, q->before, q->gp, q->ga, q->numbers, q->old_L, q->old_Z, q->kept};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(q);
}

static anygp_status allocate(svgp_state *q, const hyper *h, anygp_error *e)
{
    q->s.learn = true; /* the longest statistics */
    int64_t size = svgp_rows.stat_size(&q->s);
    q->stat = mem_alloc(size, sizeof(double));
    q->u = mem_alloc(h->free, sizeof(double));
    q->gu = mem_alloc(h->free, sizeof(double));
    q->before = mem_alloc(h->free, sizeof(double));
    q->gp = mem_alloc(hyper_size(h), sizeof(double));
    q->numbers = mem_zeroed(SVGP_NUMBERS, sizeof(double));
    q->ga = mem_alloc(q->s.O * q->s.C, sizeof(double));
    if (!q->s.gaussian) q->kept = mem_alloc(svgp_kept_size(&q->s), sizeof(double));
    if (q->stat && q->u && q->gu && q->before && q->gp && q->ga && q->numbers && (q->kept || q->s.gaussian)) {
        TRY(adam_init(&q->adam_a, q->s.O * q->s.C, e));
        return adam_init(&q->adam, h->free, e);
    }
    return fail_memory(e, "the sums", 8.0 * (double)size);
}

static anygp_status allocate_old(svgp_state *q, const hyper *h, anygp_error *e)
{
    q->old_L = mem_doubles(h->M, h->M);
    q->old_Z = mem_doubles(h->M, h->D);
    return q->old_L && q->old_Z ? ANYGP_OK : fail_memory(e, "the former step", 8.0 * (double)(h->M * h->M));
}

static anygp_status svgp_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    svgp_state *q = calloc(1, sizeof *q);
    if (!q) return fail_memory(e, "the model", sizeof *q);
    q->problem = p;
    TRY_DONE(svgp_init(&q->s, p, h, self->family == &orthogonal, e));
    TRY_DONE(driver_open(&svgp_rows, p->blocks, p->comm, 0, &q->driver, e));
    TRY_DONE(allocate(q, h, e));
    if (self->family == &transported) TRY_DONE(allocate_old(q, h, e));
done:
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
    if (q->s.O && !orthogonal_prepare(&q->s, q->problem->seed, 0)) return fail_memory(e, "kernel tiles", 0);
    *jitter = q->jitter;
    for (int64_t t = 0; t < q->s.T; t++) {
        anygp_status status = svgp_posterior_new(&q->s, t, &out[t], e);
        for (int64_t i = 0; ANYGP_FAILED(status) && i < t; i++) out[i]->ops->free(out[i]), out[i] = NULL;
        if (ANYGP_FAILED(status)) return status;
    }
    return ANYGP_OK;
}

static const step_ops svgp_steps = {.begin = svgp_begin,
                                    .step = svgp_step,
                                    .bound = svgp_bound,
                                    .posteriors = svgp_posteriors,
                                    .save = svgp_save,
                                    .restore = svgp_restore};

/* ---------------------------------------------------------------------------------- the models */

#define SVGP_MODEL(id, text, kind, many, memory)                                                                       \
    const model_ops model_##id = {.name = #id,                                                                         \
                                  .summary = text,                                                                     \
                                  .objective = "lower bound",                                                          \
                                  .family = kind,                                                                      \
                                  .inducing = true,                                                                    \
                                  .learns_inducing = true,                                                             \
                                  .sets = many,                                                                        \
                                  .jitter = 1e-8,                                                                      \
                                  .subset = 512,                                                                       \
                                  .bytes = memory,                                                                     \
                                  .size = svgp_size,                                                                   \
                                  .open = svgp_open,                                                                   \
                                  .rows = svgp_rows_behind,                                                            \
                                  .close = svgp_close,                                                                 \
                                  .load = svgp_load,                                                                   \
                                  .steps = &svgp_steps,                                                                \
                                  .update = &svgp_updates};

SVGP_MODEL(svgp, "stochastic variational GP", NULL, false, svgp_bytes)
SVGP_MODEL(solve, "sparse orthogonal variational inference", NULL, true, svgp_bytes)
SVGP_MODEL(ivsgpr, "incremental variational sparse GP: mirror ascent", &transported, false, svgp_bytes)
SVGP_MODEL(odvgp, "orthogonally decoupled variational GP", &orthogonal, true, odvgp_bytes)
