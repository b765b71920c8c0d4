/* svdgp as a model: sizes, and a state for its steps. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/threads.h"
#include "model/decoupled/svdgp_posterior.h"
#include "model/decoupled/svdgp_state.h"

enum { COARSE = 2048 }; /* bases that the mean's preconditioner rests on, of a single latent: its squares stay small */
static const bool by_newton = true, by_sga = false; /* model_ops.family: how a moves */

/* Bases are rows to begin with. */
static int64_t at_most_rows(const problem *p, int64_t wanted)
{
    int64_t rows = p->blocks->count * p->blocks->largest;
    return wanted < rows ? wanted : rows;
}
static int64_t wanted_alpha(const problem *p) { return at_most_rows(p, p->set_count > 0 ? p->sets[0] : p->subset); }
static int64_t wanted_beta(const problem *p)
{
    return at_most_rows(p, p->set_count > 1 ? p->sets[1] : MODEL_COVARIANCE_BASES);
}

/* A step over B rows: a tile of K between them and the bases of the mean, several times by gradients; squares of the
   covariance's bases; by conjugate gradients two passes more.  Held: bases with their gradients and running means, squares of the
   covariance's, and a piece of rows for each thread. */
static model_cost svdgp_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    double Ma = fmin(s->first, f->rows), Mb = fmin(s->M - s->first, f->rows), Mt = Mb + (double)f->basis;
    double C = (double)(f->targets * f->latents), D = (double)f->inputs, B = f->batch, T = f->threads;
    bool newton = *(const bool *)self->family;
    double S = newton ? fmin(Ma, COARSE / sqrt(C)) : 0, kept = fmin(DRIVER_PIECE * Ma, 1 << 22);
    double own = Ma * (C + 2 * D), squares = Mt * Mt * (6 + 5 * C), piece = DRIVER_PIECE * (3 * Mt + 2 * SVDGP_TILE);
    return (model_cost){.rows = cost_of_work(f, 0.8, 3 * (1 + C) * Mb * Mb * B, (newton ? 3 : 5) * B * Ma + 4 * B * Mb),
                        .head = cost_of_work(f, 0.8, 2 * (2 + C) * pow(Mb, 3), 4 * Mb * Mb),
                        .bytes = 8 * (own * (5 + T) + squares + (1 + C) * S * S + T * (piece + kept + C * Mt * Mt))};
}

static int64_t svdgp_size(const problem *p) { return wanted_alpha(p); }

static void svdgp_close(void *state)
{
    svdgp_state *q = state;
    if (!q) return;
    driver_close(q->driver);
    svdgp_clear(&q->s);
    ascent_clear(&q->up);
    free(q->stat);
    param_segment *const owned[] = {&q->witness, &q->base, &q->residual, &q->direction, &q->sum, &q->rz};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) segment_clear(owned[i]);
    id_table_clear(&q->position);
    svdgp_coarse_free(q->coarse);
    free(q);
}

static anygp_status svdgp_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    anygp_status status;
    svdgp_state *q = calloc(1, sizeof *q);
    if (!q) return fail_memory(e, "the model", sizeof *q);
    q->problem = p;
    q->given = p->set_count == 2 && p->sets[0] > 0 && h->M == p->sets[0] + p->sets[1];
    q->Ma = q->given ? p->sets[0] : wanted_alpha(p), q->Mb = q->given ? p->sets[1] : wanted_beta(p);
    TRY_DONE(svdgp_init(&q->s, p, h->kernel, *(const bool *)self->family, e));
    q->witness = segment_that_grows("witness", svdgp_witness_width(&q->s) - 1);
    q->base = segment_that_grows("base", q->s.C), q->residual = segment_that_grows("residual", q->s.C);
    q->direction = segment_that_grows("direction", q->s.C), q->sum = segment_that_grows("sum", q->s.C);
    q->rz = segment_that_grows("rz", q->s.C);
    q->coarse_most = (int64_t)(COARSE / sqrt((double)q->s.C));
    TRY_DONE(driver_open(&svdgp_rows, p->blocks, p->comm, 0, &q->driver, e));
done:
    if (ANYGP_FAILED(status))
        svdgp_close(q);
    else
        *state = q;
    return status;
}

static double svdgp_rows_behind(const void *state) { return ((const svdgp_state *)state)->problem->blocks->total; }

static anygp_status svdgp_admits(const model_ops *self, const model_scope *q, anygp_error *e)
{
    (void)self;
    if (!kernel_has_white(q->kernel)) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT, "svdgp's likelihood has the noise; take white out of the kernel");
}

#define SVDGP_MODEL(id, name_, text, kind, own_rate_, start_, increment_)                                              \
    const model_ops model_##id = {.name = name_,                                                                       \
                                  .summary = text,                                                                     \
                                  .objective = "lower bound",                                                          \
                                  .family = kind,                                                                      \
                                  .needs = {.rows = ROWS_BLOCKS,                                                       \
                                            .likelihoods = LIKELIHOOD_ANY,                                             \
                                            .targets = TARGETS_SEVERAL,                                                \
                                            .inducing = INDUCING_PAIR,                                                 \
                                            .learned = true,                                                           \
                                            .own_rate = own_rate_,                                                     \
                                            .grows = true,                                                             \
                                            .mean = true,                                                              \
                                            .weights = true,                                                           \
                                            .joint = true},                                                            \
                                  .jitter = 1e-8,                                                                      \
                                  .subset = 16384,                                                                     \
                                  .increment = increment_,                                                             \
                                  .order = "b (ma+mb^2)",                                                              \
                                  .admits = svdgp_admits,                                                              \
                                  .cost = svdgp_cost,                                                                  \
                                  .size = svdgp_size,                                                                  \
                                  .open = svdgp_open,                                                                  \
                                  .start = start_,                                                                     \
                                  .rows = svdgp_rows_behind,                                                           \
                                  .close = svdgp_close,                                                                \
                                  .load = svdgp_load,                                                                  \
                                  .steps = &svdgp_steps,                                                               \
                                  .update = &svdgp_updates};

SVDGP_MODEL(svdgp, "svdgp", "decoupled bases of mean and covariance", &by_newton, false, NULL, 0)
SVDGP_MODEL(svdgp_sga, "svdgp-sga", "svdgp by gradients, with bases that move", &by_sga, true, svdgp_median_start, 128)
