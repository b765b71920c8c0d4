/* New rows for nene and lagp.  Rows have no order, so the result is what a fit to all rows would be at these hyperparameters.
       nene   the lists of old rows change, and with them all conditionals: the pseudo-likelihood and the mean's coefficients are
              computed again, from all rows
       lagp   hyperparameters and the mean's coefficients are those of the rows that it learned from, and stay */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/local/lagp_posterior.h"
#include "model/local/vecchia_state.h"
#include "model/local/vecchia_update.h"

/* ----------------------------------------------------------------------------------------------- nene */

/* The model of these rows at h, which is the posterior's; out: NULL where only the value is wanted. */
static anygp_status nene_at(const vecchia_update *u, const merged *m, const hyper *h, double *value, posterior **out,
                            anygp_error *e)
{
    const vecchia_posterior *from = u->from;
    int64_t near = vecchia_learned_near(from);
    problem p = {.rows = m, .mean = &from->base.mean, .comm = comm_self()};
    double variance;
    void *state = NULL;
    p.near = (nearness){.learn = near < m->n ? near : m->n - 1, .predict = (int64_t)from->facts[FACT_PREDICT]};
    TRY(vecchia_open(u->self, &p, h, &state, e));
    kernel_diag(h->kernel, 1, m->X, m->D, &variance);
    double jitter = variance > 0 ? from->facts[FACT_JITTER] / variance : 0;
    anygp_status status =
        vecchia_evaluate(state, h, true, &jitter, value, NULL)
            ? ANYGP_OK
            : fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of neighbouring rows has no Cholesky factor");
    if (out && !ANYGP_FAILED(status)) {
        status = vecchia_to_posterior(state, h, &jitter, out, e);
        if (!ANYGP_FAILED(status)) ((vecchia_posterior *)*out)->facts[FACT_LEARNED] = (double)near;
    }
    vecchia_close(state);
    return status;
}

static anygp_status nene_of(const vecchia_update *u, const merged *m, double *value, posterior **out, anygp_error *e)
{
    const posterior *b = &u->from->base;
    hyper h = {0};
    kernel *k = kernel_copy(b->kernel);
    if (!k) return fail_memory(e, "the kernel", 0);
    TRY(hyper_init(&h, k, b->noise, true, true, false, e));
    anygp_status status = nene_at(u, m, &h, value, out, e);
    hyper_clear(&h);
    return status;
}

static anygp_status value_before(const vecchia_update *u, double *value, anygp_error *e)
{
    vecchia_update old = *u;
    dataset data;
    merged m = {0};
    old.n = 0;
    anygp_status status = vecchia_update_merge(&old, &data, &m, e);
    if (!ANYGP_FAILED(status)) status = nene_of(u, &m, value, NULL, e);
    merged_clear(&m);
    return status;
}

static double added_rows(const vecchia_update *u)
{
    double sum = 0;
    for (int64_t i = 0; i < u->n; i++) sum += u->w[u->from->base.n + i];
    return sum;
}

static anygp_status nene_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    vecchia_update *u = state;
    dataset data;
    merged m = {0};
    double before, after;
    anygp_status status = vecchia_update_merge(u, &data, &m, e);
    if (!ANYGP_FAILED(status)) status = value_before(u, &before, e);
    if (!ANYGP_FAILED(status)) status = nene_of(u, &m, &after, out, e);
    if (!ANYGP_FAILED(status))
        *r = (update_report){.rows = added_rows(u), .before = NAN, .after = after - before, .upper = NAN};
    merged_clear(&m);
    return status;
}

/* ----------------------------------------------------------------------------------------------- lagp */

static anygp_status lagp_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    vecchia_update *u = state;
    const vecchia_posterior *from = u->from;
    const posterior *b = &from->base;
    dataset data;
    merged m = {0};
    anygp_status status = vecchia_update_merge(u, &data, &m, e);
    vecchia_rows rows = vecchia_update_rows(u, &m);
    if (!ANYGP_FAILED(status))
        status = vecchia_posterior_new(&lagp_form, b->kernel, b->noise, &b->mean, &rows, from->m, from->B, out, e);
    merged_clear(&m);
    if (ANYGP_FAILED(status)) return status;
    lagp_take_kind(*out, ((const lagp_posterior *)from)->kind);
    *r = (update_report){.rows = added_rows(u), .kept = true, .upper = NAN};
    return ANYGP_OK;
}

const update_ops nene_update_ops = {.open = vecchia_update_open,
                                    .add = vecchia_update_add,
                                    .held = vecchia_update_held,
                                    .finish = nene_finish,
                                    .close = vecchia_update_close},
                 lagp_update_ops = {.open = vecchia_update_open,
                                    .add = vecchia_update_add,
                                    .held = vecchia_update_held,
                                    .finish = lagp_finish,
                                    .close = vecchia_update_close};
