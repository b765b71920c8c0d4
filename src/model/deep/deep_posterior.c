/* Predictions of a deep GP (deep_posterior.h).  Every layer is a posterior of svgp; arrays of inner layer l stand under layer<l>/ in the
   model file, with the values of its kernel, which is written like the last layer's. */
#include "model/deep/deep_posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/special.h"
#include "linalg/linalg.h"
#include "model/inducing_arrays.h"

#define LAYER "layer"

static void posterior_free(posterior *base)
{
    deep_posterior *p = (deep_posterior *)base;
    if (!p) return;
    for (int64_t i = 0; i < p->L; i++)
        if (p->at[i]) p->at[i]->ops->free(p->at[i]);
    basis_clear(&base->mean);
    free(p->spread);
    free(p->e);
    free(p);
}

/* ------------------------------------------------------------------------------------- marginals */

static bool make_e(deep_posterior *p)
{
    int64_t D = p->base.D, S = DEEP_COMPONENTS;
    double z[DEEP_COMPONENTS], square = 0;
    if (!(p->e = mem_doubles((p->L - 1) * D, S))) return false;
    for (int64_t s = 0; s < S; s++) z[s] = normal_quantile(((double)s + 0.5) / (double)S), square += z[s] * z[s];
    for (int64_t k = 0; k < (p->L - 1) * D; k++) {
        random_stream order = {0, RANDOM_LAYERS, (uint64_t)k};
        for (int64_t s = 0; s < S; s++) p->e[k * S + s] = z[random_shuffled(order, S, s)] / sqrt(square / (double)S);
    }
    return true;
}

/* What goes into a layer and what comes out of an inner one, and the largest workspace of a layer. */
static int64_t work_doubles(const posterior *base, int64_t n)
{
    const deep_posterior *p = (const deep_posterior *)base;
    int64_t most = 0;
    for (int64_t i = 0; i < p->L; i++) {
        int64_t size = p->at[i]->ops->work_doubles(p->at[i], n);
        most = size > most ? size : most;
    }
    return most + 5 * n * base->D;
}

/* H += s (mu + sd e): the way of component s through inner layer i, whose marginals are mean and variance. */
static void pass_on(const deep_posterior *p, int64_t i, int64_t s, int64_t n, const double *mean,
                    const double *variance, double *H)
{
    int64_t D = p->base.D;
    double white = kernel_white(p->at[i]->kernel);
    for (int64_t c = 0; c < D; c++) {
        double e = p->e[(i * D + c) * DEEP_COMPONENTS + s];
        for (int64_t j = 0; j < n; j++) {
            double sd = sqrt(fmax(variance[c * n + j], 0) + white);
            H[j * D + c] += p->spread[c] * (mean[c * n + j] + sd * e);
        }
    }
}

/* The first layer meets the same rows in every component. */
static anygp_status marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, anygp_error *e)
{
    const deep_posterior *p = (const deep_posterior *)base;
    int64_t D = base->D, C = base->latents, last = p->L - 1;
    double *first_mean = work, *first_variance = first_mean + n * D, *inner_mean = first_variance + n * D;
    double *inner_variance = inner_mean + n * D, *H = inner_variance + n * D, *rest = H + n * D;
    TRY(p->at[0]->ops->marginal(p->at[0], n, X, ldx, rest, first_mean, first_variance, e));
    for (int64_t s = 0; s < DEEP_COMPONENTS; s++) {
        for (int64_t j = 0; j < n; j++) memcpy(H + j * D, X + j * ldx, (size_t)D * sizeof *H);
        pass_on(p, 0, s, n, first_mean, first_variance, H);
        for (int64_t i = 1; i < last; i++) {
            TRY(p->at[i]->ops->marginal(p->at[i], n, H, D, rest, inner_mean, inner_variance, e));
            pass_on(p, i, s, n, inner_mean, inner_variance, H);
        }
        TRY(p->at[last]->ops->marginal(p->at[last], n, H, D, rest, mean + s * C * n,
                                       variance ? variance + s * C * n : NULL, e));
    }
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------------- arrays */

static void arrays(posterior *base, array_list *list)
{
    deep_posterior *p = (deep_posterior *)base;
    p->at[p->L - 1]->ops->arrays(p->at[p->L - 1], list);
    for (int64_t i = 0; i < p->L - 1; i++) nested_arrays(p->at[i], LAYER, i + 1, &p->path[i], list);
    array_list_add(list, (named_array){"spreads", base->D, 1, p->spread, false});
}

static const kernel *inner_kernel(const posterior *base, int64_t i)
{
    const deep_posterior *p = (const deep_posterior *)base;
    return i < p->L - 1 ? p->at[i]->kernel : NULL;
}

static double kl(const posterior *base)
{
    const deep_posterior *p = (const deep_posterior *)base;
    double sum = 0;
    for (int64_t i = 0; i < p->L; i++) sum += posterior_kl(p->at[i]);
    return sum;
}

static const posterior_ops deep_posterior_ops = {.work_doubles = work_doubles,
                                                 .marginal = marginal,
                                                 .arrays = arrays,
                                                 .free = posterior_free,
                                                 .inner_kernel = inner_kernel,
                                                 .kl = kl};

/* What all have; the last layer is there. */
static void complete(deep_posterior *p)
{
    const posterior *last = p->at[p->L - 1];
    p->base.kernel = last->kernel, p->base.noise = last->noise, p->base.n = last->n, p->base.latents = last->latents;
    p->base.ops = &deep_posterior_ops, p->base.D = last->D, p->base.components = DEEP_COMPONENTS;
}

/* ------------------------------------------------------------------------------- from the training */

anygp_status deep_posterior_new(const chain *s, int64_t t, posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    deep_posterior *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    p->L = s->L;
    for (int64_t i = 0; i < s->L - 1; i++) TRY_DONE(svgp_posterior_of(&s->at[i], 0, s->f->D, 0, &p->at[i], e));
    TRY_DONE(svgp_posterior_new(s, t, &p->at[s->L - 1], e));
    complete(p);
    p->spread = mem_copied(s->f->D, 1, s->s);
    if (!p->spread || !make_e(p)) status = fail_memory(e, "the posterior", 8.0 * (double)s->f->D);
    if (!ANYGP_FAILED(status)) status = basis_copy(s->f->mean, &p->base.mean, e);
done:
    if (ANYGP_FAILED(status))
        posterior_free(&p->base);
    else
        *out = &p->base;
    return status;
}

/* ------------------------------------------------------------------------------------ from a file */

static anygp_status damaged(const char *what, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE, "the model file's %s are not valid; it is damaged", what);
}

static anygp_status load_inner(const model_ops *self, const kernel *like, int64_t D, int64_t i, named_array *list,
                               int64_t count, posterior **out, anygp_error *e)
{
    basis none = {0};
    TRY(nested_load(self, LAYER, i + 1, like, 0, &none, D, list, count, out, e));
    return (*out)->latents == D ? ANYGP_OK : damaged("inner layers", e);
}

anygp_status deep_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                       int64_t count, posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    int64_t inner = nested_count(LAYER, 1, list, count);
    if (inner == 0) return svgp_load(self, k, noise, mean, D, list, count, out, e);
    named_array *spread = named_array_need(list, count, "spreads", e);
    if (!spread) return ANYGP_ERR_FILE;
    if (inner >= CHAIN_LAYERS_MOST || spread->rows != D || spread->cols != 1) return damaged("layers", e);
    deep_posterior *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    p->L = inner + 1;
    p->base.D = D;
    for (int64_t i = 0; i < inner; i++) TRY_DONE(load_inner(self, k, D, i, list, count, &p->at[i], e));
    TRY_DONE(basis_copy(mean, &p->base.mean, e));
    if (!make_e(p)) {
        status = fail_memory(e, "the posterior", 8.0 * (double)D);
        goto done;
    }
    TRY_DONE(svgp_load(self, k, noise, mean, D, list, count, &p->at[inner],
                       e)); /* which takes the kernel: the last to fail */
    p->spread = named_array_take(spread);
    complete(p);
done:
    if (ANYGP_FAILED(status))
        posterior_free(&p->base);
    else
        *out = &p->base;
    return status;
}
