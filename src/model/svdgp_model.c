/* svdgp as a model: sizes, and a state for its steps. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/threads.h"
#include "model/svdgp_posterior.h"
#include "model/svdgp_state.h"

static const bool by_dual = true, by_sga = false; /* model_ops.family: how a moves */

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

/* Bases with their gradients and running means, squares of the covariance's, and a piece of rows a thread. */
static double svdgp_bytes(const problem *p)
{
    double Ma = (double)wanted_alpha(p), Mt = (double)(wanted_beta(p) + p->mean->p), D = (double)p->blocks->D;
    double targets = (double)(p->targets > 0 ? p->targets : 1), threads = threads_max();
    double C = targets * (double)(p->likelihood ? p->likelihood->latents : 1);
    double own = Ma * (C + 2 * D), squares = Mt * Mt * (6 + 5 * C), piece = DRIVER_PIECE * (3 * Mt + 2 * SVDGP_TILE);
    return 8.0 * (own * (5 + threads) + squares + threads * (piece + C * Mt * Mt));
}

static int64_t svdgp_size(const problem *p) { return wanted_alpha(p); }

static void svdgp_close(void *state)
{
    svdgp_state *q = state;
    if (!q) return;
    driver_close(q->driver);
    svdgp_clear(&q->s);
    segment_clear(&q->u);
    free(q->stat);
    free(q->fresh);
    free(q->packed);
    free(q);
}

static anygp_status svdgp_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    anygp_status status;
    svdgp_state *q = calloc(1, sizeof *q);
    if (!q) return fail_memory(e, "the model", sizeof *q);
    q->problem = p;
    q->Ma = wanted_alpha(p), q->Mb = wanted_beta(p);
    TRY_DONE(svdgp_init(&q->s, p, h->kernel, *(const bool *)self->family, e));
    TRY_DONE(driver_open(&svdgp_rows, p->blocks, p->comm, 0, &q->driver, e));
done:
    if (ANYGP_FAILED(status))
        svdgp_close(q);
    else
        *state = q;
    return status;
}

static double svdgp_rows_behind(const void *state) { return ((const svdgp_state *)state)->problem->blocks->total; }

const model_ops model_svdgp = {.name = "svdgp",
                               .summary = "decoupled Gaussian process: separate bases for mean and covariance",
                               .objective = "lower bound",
                               .family = &by_dual,
                               .inducing = true,
                               .learns_inducing = true,
                               .sets = true,
                               .decoupled = true,
                               .jitter = 1e-8,
                               .subset = 16384,
                               .bytes = svdgp_bytes,
                               .size = svdgp_size,
                               .open = svdgp_open,
                               .rows = svdgp_rows_behind,
                               .close = svdgp_close,
                               .load = svdgp_load,
                               .steps = &svdgp_steps,
                               .update = &svdgp_updates};

const model_ops model_svdgp_sga = {.name = "svdgp-sga",
                                   .summary = "the same by stochastic gradients, with bases that move",
                                   .objective = "lower bound",
                                   .family = &by_sga,
                                   .inducing = true,
                                   .learns_inducing = true,
                                   .sets = true,
                                   .decoupled = true,
                                   .own_rate = true,
                                   .jitter = 1e-8,
                                   .subset = 16384,
                                   .bytes = svdgp_bytes,
                                   .size = svdgp_size,
                                   .open = svdgp_open,
                                   .start = svdgp_median_start,
                                   .rows = svdgp_rows_behind,
                                   .close = svdgp_close,
                                   .load = svdgp_load,
                                   .steps = &svdgp_steps,
                                   .update = &svdgp_updates};
