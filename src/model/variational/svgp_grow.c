/* Inducing inputs that join a run.  With u = L v over old and new ones, the old ones first, L's first rows are as they were, and new
   elements of v are independent of the old ones under the prior: q(v) N(0, I) for them is q(u_old) p(u_new | u_old), and predicts
   what q did.  From there the next steps move it. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/gather.h"
#include "model/variational/svgp_state.h"

/* Two inducing inputs in one place would make K_uu singular. */
static bool is_new(const double *x, int64_t M, int64_t D, const double *Z)
{
    for (int64_t m = 0; m < M; m++)
        if (!memcmp(x, Z + m * D, (size_t)D * sizeof *x)) return false;
    return true;
}

static int64_t choose(const gathered *g, const hyper *h, int64_t most, double *Z)
{
    int64_t count = 0, D = h->D;
    for (int64_t k = 0; k < g->n && count < most; k++) {
        const double *x = g->X + g->order[k] * D;
        if (is_new(x, h->M, D, h->Z) && is_new(x, count, D, Z)) memcpy(Z + count++ * D, x, (size_t)D * sizeof *Z);
    }
    return count;
}

static anygp_status add(svgp_state *q, hyper *h, int64_t count, const double *Z, anygp_error *e)
{
    TRY(hyper_add_inducing(h, count, Z, e));
    TRY(chain_extend(&q->s, q->problem, h, e));
    TRY(svgp_state_allocate(q, h, e));
    q->prepared = false;
    return ascent_extend(&q->up, h, e);
}

anygp_status svgp_grow(svgp_state *q, hyper *h, const step_context *c, anygp_error *e)
{
    const problem *p = q->problem;
    int64_t all = p->subset / (c->t + 1) < p->grow ? p->subset : p->grow * (c->t + 1), more = all - h->M;
    if (p->grow == 0 || more <= 0) return ANYGP_OK;
    gathered g = {0};
    double *Z = mem_doubles(more, h->D);
    anygp_status status = Z ? ANYGP_OK : fail_memory(e, "the inducing inputs", 8.0 * (double)more * (double)h->D);
    if (!ANYGP_FAILED(status)) status = gather_rows(p->blocks, c, gather_most(p->blocks, c), &g, e);
    int64_t count = ANYGP_FAILED(status) ? 0 : choose(&g, h, more, Z);
    if (count > 0) status = add(q, h, count, Z, e);
    gathered_clear(&g);
    free(Z);
    return status;
}
