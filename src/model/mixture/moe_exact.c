/* Exact local experts: moe(hard,exact) learns as moe(hard) does, and then gives every expert an inducing input at each of its rows.  With
   Gaussian noise one natural step of size 1 then leads to the exact posterior given these rows (up to the jitter of K_uu), and it is
   still an svgp's: predictions, files and updates are the same.
   Each process has all rows and makes the same experts.
   Cost: n_k^3 for an expert of n_k different rows, memory n_k^2; an expert of more than MOE_EXACT_MOST stays as it is. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/mixture/moe.h"
#include "model/variational/svgp_posterior.h"

enum { PIECE = 256 };
static const chain_kind plain = {0};
static const double JITTER = 1e-10; /* at first: more would show in the predictions */

/* The different places of expert k's rows, the first of them if there are more than MOE_EXACT_MOST: Z; how many. */
static int64_t take_places(const moe_state *s, int64_t k, const int64_t *expert, bool *seen, double *Z)
{
    const merged *m = s->problem->rows;
    const dataset *d = m->data;
    int64_t count = 0;
    memset(seen, 0, (size_t)m->n * sizeof *seen);
    for (int64_t i = 0; i < d->n && count <= MOE_EXACT_MOST; i++) {
        int64_t g = m->group[i];
        if (expert[i] != k || g < 0 || seen[g]) continue;
        seen[g] = true;
        if (count < MOE_EXACT_MOST) memcpy(Z + count * s->D, d->X + i * s->D, (size_t)s->D * sizeof *Z);
        count++;
    }
    return count;
}

/* Sums over the rows of expert k where its step looks for them. */
static anygp_status add_rows(const moe_state *s, int64_t k, const int64_t *expert, svgp_state *q, anygp_error *e)
{
    const dataset *d = s->problem->rows->data;
    int64_t D = s->D, n = 0;
    double *work = mem_alloc(chain_rows.work_doubles(&q->s, PIECE) + PIECE * (D + 2), sizeof *work);
    if (!work) return fail_memory(e, "an expert", 8.0 * (double)chain_rows.work_doubles(&q->s, PIECE));
    double *X = work + chain_rows.work_doubles(&q->s, PIECE), *y = X + PIECE * D, *w = y + PIECE;
    anygp_status status = ANYGP_OK;
    memset(q->stat, 0, (size_t)chain_rows.stat_size(&q->s) * sizeof *q->stat);
    for (int64_t i = 0; i <= d->n && !ANYGP_FAILED(status); i++) {
        if (n == PIECE || (i == d->n && n > 0)) {
            status = chain_rows.stat(&q->s, &(row_block){.n = n, .X = X, .y = y, .w = w}, work, NULL, q->stat, e);
            n = 0;
        }
        if (i == d->n || expert[i] != k) continue;
        memcpy(X + n * D, d->X + i * D, (size_t)D * sizeof *X);
        y[n] = d->y[i], w[n++] = d->w[i];
    }
    free(work);
    return status;
}

static anygp_status condition(const moe_state *s, int64_t k, const int64_t *expert, hyper *h, double *jitter,
                              posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    svgp_state *q = NULL;
    double value;
    const step_context all = {.seed = s->problem->seed, .scale = 1, .rho = 1};
    TRY_DONE(svgp_state_open(s->problem, h, &plain, &q, e));
    TRY_DONE(svgp_begin(q, h, JITTER, e));
    TRY_DONE(svgp_before_rows(q, h, &all, false, e));
    TRY_DONE(add_rows(s, k, expert, q, e));
    TRY_DONE(svgp_after_rows(q, h, &all, false, &value, e));
    *jitter = q->jitter;
    TRY_DONE(svgp_posterior_new(&q->s, 0, out, e));
done:
    svgp_close(q);
    return status;
}

anygp_status moe_exact(const moe_state *s, int64_t k, const int64_t *expert, const hyper *h, double *jitter,
                       posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    hyper own = {0};
    int64_t n = s->problem->rows->n, most = n < MOE_EXACT_MOST ? n : MOE_EXACT_MOST;
    bool *seen = mem_alloc(n, sizeof *seen);
    double *Z = mem_doubles(most, s->D > 0 ? s->D : 1);
    *out = NULL;
    if (!seen || !Z) {
        status = fail_memory(e, "the rows of an expert", 8.0 * (double)(most * s->D));
        goto done;
    }
    int64_t count = take_places(s, k, expert, seen, Z);
    if (count == 0 || count > MOE_EXACT_MOST) goto done;
    TRY_DONE(hyper_copy(h, &own, e));
    TRY_DONE(hyper_set_inducing(&own, count, s->D, Z, false, e));
    status = condition(s, k, expert, &own, jitter, out, e);
done:
    hyper_clear(&own);
    free(seen);
    free(Z);
    return status;
}
