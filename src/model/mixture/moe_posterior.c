/* Predictions of a mixture of experts (moe_posterior.h).  In the model file the arrays of the first expert stand by themselves, those of
   the others under expert<k>/. */
#include "model/mixture/moe_posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#define EXPERT "expert"

static void posterior_free(posterior *base)
{
    moe_posterior *p = (moe_posterior *)base;
    if (!p) return;
    posteriors_free(p->K, p->at);
    basis_clear(&base->mean);
    gate_clear(&p->gate);
    free(p->noise);
    free(p->observed);
    free(p->path);
    free(p);
}

static int64_t work_doubles(const posterior *base, int64_t n)
{
    const moe_posterior *p = (const moe_posterior *)base;
    int64_t most = gate_work(&p->gate, n);
    for (int64_t k = 0; k < p->K; k++) {
        int64_t size = p->at[k]->ops->work_doubles(p->at[k], n);
        most = size > most ? size : most;
    }
    return most;
}

static anygp_status marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, anygp_error *e)
{
    const moe_posterior *p = (const moe_posterior *)base;
    for (int64_t k = 0; k < p->K; k++)
        TRY(p->at[k]->ops->marginal(p->at[k], n, X, ldx, work, mean + k * n, variance ? variance + k * n : NULL, e));
    return ANYGP_OK;
}

static anygp_status joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                          double *covariance, int64_t ldc, anygp_error *e)
{
    const moe_posterior *p = (const moe_posterior *)base;
    for (int64_t k = 0; k < p->K; k++)
        TRY(p->at[k]->ops->joint(p->at[k], n, X, ldx, work, mean + k * n, covariance + k * ldc * n, ldc, e));
    return ANYGP_OK;
}

static void weights(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *weight)
{
    const moe_posterior *p = (const moe_posterior *)base;
    gate_weights(&p->gate, n, X, ldx, work, weight);
}

static int64_t experts(const posterior *base) { return ((const moe_posterior *)base)->K; }

static anygp_status opinions(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, double *weight, anygp_error *e)
{
    weights(base, n, X, ldx, work, weight);
    return marginal(base, n, X, ldx, work, mean, variance, e);
}

static const kernel *inner_kernel(const posterior *base, int64_t i)
{
    const moe_posterior *p = (const moe_posterior *)base;
    return i < p->K - 1 ? p->at[i + 1]->kernel : NULL;
}

static void arrays(posterior *base, array_list *list)
{
    moe_posterior *p = (moe_posterior *)base;
    p->at[0]->ops->arrays(p->at[0], list);
    for (int64_t k = 1; k < p->K; k++) nested_arrays(p->at[k], EXPERT, k + 1, &p->path[k], list);
    array_list_add(list, (named_array){"noises", p->K, 1, p->noise, false});
    gate_arrays(&p->gate, list);
}

/* ------------------------------------------------------------------------------------- condensed */

static posterior *condense(const posterior *base);

static const posterior_ops moe_posterior_ops = {.work_doubles = work_doubles,
                                                .marginal = marginal,
                                                .joint = joint,
                                                .arrays = arrays,
                                                .free = posterior_free,
                                                .condense = condense,
                                                .inner_kernel = inner_kernel,
                                                .experts = experts,
                                                .opinions = opinions,
                                                .weights = weights};
static const posterior_ops condensed_ops = {
    .work_doubles = work_doubles, .marginal = marginal, .free = posterior_free, .weights = weights};

/* What all have; the experts are there. */
static void complete(moe_posterior *p)
{
    posterior *first = p->at[0];
    p->base.kernel = first->kernel, p->base.noise = p->noise[0], p->base.D = first->D;
    p->base.components = p->K, p->base.latents = 1;
    for (int64_t k = 0; k < p->K; k++) {
        p->base.n = p->at[k]->n > p->base.n ? p->at[k]->n : p->base.n;
        p->observed[k] = p->noise[k] + kernel_white(p->at[k]->kernel);
    }
    p->base.noises = p->K > 1 ? p->observed : NULL;
}

/* Without experts yet. */
static moe_posterior *make(int64_t K, const posterior_ops *ops)
{
    moe_posterior *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->base.ops = ops, p->K = K;
    p->noise = mem_zeroed(K, sizeof *p->noise);
    p->observed = mem_zeroed(K, sizeof *p->observed);
    p->path = mem_zeroed(K, sizeof *p->path);
    if (p->noise && p->observed && p->path) return p;
    posterior_free(&p->base);
    return NULL;
}

/* Every expert condensed. */
static posterior *condense(const posterior *base)
{
    const moe_posterior *from = (const moe_posterior *)base;
    moe_posterior *p = make(from->K, &condensed_ops);
    if (!p) return NULL;
    int64_t all[MOE_EXPERTS_MOST];
    for (int64_t k = 0; k < p->K; k++) all[k] = k;
    bool ok = !ANYGP_FAILED(gate_select(&from->gate, p->K, all, &p->gate, NULL));
    for (int64_t k = 0; ok && k < p->K; k++) {
        ok = (p->at[k] = from->at[k]->ops->condense(from->at[k])) != NULL;
        p->noise[k] = from->noise[k];
    }
    if (ok) return complete(p), &p->base;
    posterior_free(&p->base);
    return NULL;
}

/* ----------------------------------------------------------------------- from the training, from a file */

static anygp_status no_memory(int64_t K, anygp_error *e)
{
    return fail_memory(e, "the posterior", (double)K * sizeof(nested_paths));
}

anygp_status moe_posterior_new(int64_t K, const int64_t *kept, posterior **at, const gate *g, posterior **out,
                               anygp_error *e)
{
    moe_posterior *p = make(K, &moe_posterior_ops);
    if (!p) return no_memory(K, e);
    anygp_status status = gate_select(g, K, kept, &p->gate, e);
    if (!ANYGP_FAILED(status)) status = basis_copy(&at[0]->mean, &p->base.mean, e);
    if (ANYGP_FAILED(status)) return posterior_free(&p->base), status;
    for (int64_t k = 0; k < K; k++) p->at[k] = at[k], p->noise[k] = at[k]->noise, at[k] = NULL;
    complete(p);
    *out = &p->base;
    return ANYGP_OK;
}

static anygp_status damaged(anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE, "the model file's experts are not valid; it is damaged");
}

/* One expert has one function; svgp_load would take more. */
static anygp_status load_expert(const model_ops *self, const kernel *like, int64_t k, moe_posterior *p,
                                const basis *mean, int64_t D, named_array *list, int64_t count, anygp_error *e)
{
    basis own = {0};
    TRY(basis_copy(mean, &own, e));
    anygp_status status = nested_load(self, EXPERT, k + 1, like, p->noise[k], &own, D, list, count, &p->at[k], e);
    basis_clear(&own);
    TRY(status);
    return p->at[k]->latents == 1 ? ANYGP_OK : damaged(e);
}

anygp_status moe_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                      int64_t count, posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    const moe_kind *kind = self->family;
    named_array *noises = named_array_need(list, count, "noises", e);
    if (!noises) return ANYGP_ERR_FILE;
    int64_t K = noises->rows;
    if (noises->cols != 1 || K < 1 || K > MOE_EXPERTS_MOST) return damaged(e);
    for (int64_t i = 0; i < K; i++)
        if (!(noises->values[i] >= 0) || !isfinite(noises->values[i])) return damaged(e);
    moe_posterior *p = make(K, &moe_posterior_ops);
    if (!p) return no_memory(K, e);
    memcpy(p->noise, noises->values, (size_t)K * sizeof *p->noise);
    p->noise[0] = noise;
    TRY_DONE(gate_load(&p->gate, kind->gate, K, D, list, count, e));
    for (int64_t i = 1; i < K; i++) TRY_DONE(load_expert(self, k, i, p, mean, D, list, count, e));
    named_array *m = named_array_need(list, count, "m", e);
    if (!m || m->cols != 1) {
        status = m ? damaged(e) : ANYGP_ERR_FILE;
        goto done;
    }
    TRY_DONE(basis_copy(mean, &p->base.mean, e));
    TRY_DONE(
        svgp_load(self, k, noise, mean, D, list, count, &p->at[0], e)); /* which takes the kernel: the last to fail */
    complete(p);
done:
    if (ANYGP_FAILED(status))
        posterior_free(&p->base);
    else
        *out = &p->base;
    return status;
}
