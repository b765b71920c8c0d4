/* Experts with hyperparameters of their own (003, section IV-C): the objective is the sum over experts of
       log N(y_k; 0, K_k(theta_k) + s2_k I) + log prior(theta_k),
   each term of which is the objective of an exact model of the expert's rows alone.  They are a segment of the hyperparameters:
   the kernel's parameters and the noise of the first expert, then those of the next.  All begin where the common ones were found, which then stay there.

   The posterior's kernel and noise are medians over the experts, which an expert that new rows open takes. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "model/local/experts.h"

#define SEGMENT "experts"

const param_segment *experts_own_segment(const hyper *h) { return params_find(&h->all, SEGMENT); }

/* ------------------------------------------------------------------------------------- what is learned */

static anygp_status put_segment(const problem *p, hyper *h, anygp_error *e)
{
    int64_t count = p->blocks->count, params = h->count, all = count * params;
    param_segment s = {.name = SEGMENT,
                       .rows = all,
                       .cols = 1,
                       .values = mem_doubles(count, params),
                       .facts = mem_alloc(all, sizeof *s.facts)};
    if (!s.values || !s.facts) {
        segment_clear(&s);
        return fail_memory(e, "the experts' hyperparameters", (double)all * sizeof *s.facts);
    }
    for (int64_t i = 0; i < all; i++) s.values[i] = hyper_get(h, i % params), s.facts[i] = *hyper_facts(h, i % params);
    return params_put(&h->all, s, e);
}

anygp_status experts_define(const model_ops *self, const problem *p, hyper *h, anygp_error *e)
{
    (void)self;
    if (!p->experts.own || experts_own_segment(h)) return ANYGP_OK;
    TRY(put_segment(p, h, e));
    for (int64_t i = 0; i < h->count; i++) hyper_facts(h, i)->free = false;
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------------- kernels of them */

void expert_hyper_free(expert_hyper *o)
{
    if (!o) return;
    for (int64_t k = 0; o->kernel && k < o->count; k++) kernel_free(o->kernel[k]);
    free(o->kernel);
    free(o->values);
    free(o);
}

void expert_hyper_set(expert_hyper *o, const double *values)
{
    memmove(o->values, values, (size_t)(o->count * o->params) * sizeof *values);
    for (int64_t k = 0; k < o->count; k++)
        memcpy(kernel_values(o->kernel[k]), o->values + k * o->params, (size_t)(o->params - 1) * sizeof *values);
}

anygp_status expert_hyper_new(const kernel *k, double noise, int64_t count, int64_t given, const double *values,
                              expert_hyper **out, anygp_error *e)
{
    expert_hyper *o = calloc(1, sizeof *o);
    if (!o) return fail_memory(e, "the experts' hyperparameters", sizeof *o);
    *o = (expert_hyper){.count = count, .params = kernel_count(k) + 1};
    o->kernel = mem_zeroed(count, sizeof *o->kernel), o->values = mem_doubles(count, o->params);
    bool ok = o->kernel && o->values;
    for (int64_t i = 0; ok && i < count; i++) {
        double *to = o->values + i * o->params;
        ok = (o->kernel[i] = kernel_copy(k)) != NULL;
        if (ok) memcpy(to, kernel_values(o->kernel[i]), (size_t)(o->params - 1) * sizeof *to);
        to[o->params - 1] = noise;
    }
    if (!ok) {
        expert_hyper_free(o);
        return fail_memory(e, "the experts' hyperparameters", 8.0 * (double)count * (double)kernel_count(k));
    }
    if (given > 0) memcpy(o->values, values, (size_t)(given * o->params) * sizeof *values);
    expert_hyper_set(o, o->values);
    return *out = o, ANYGP_OK;
}

/* ---------------------------------------------------------------------------------------------- medians */

anygp_status experts_own_median(const param_segment *s, kernel *k, double *noise, anygp_error *e)
{
    int64_t params = kernel_count(k) + 1, n = s->rows / params;
    double *x = mem_alloc(n, sizeof *x);
    if (!x) return fail_memory(e, "the experts' hyperparameters", 8.0 * (double)n);
    for (int64_t i = 0; i < params; i++) {
        for (int64_t j = 0; j < n; j++) x[j] = s->values[j * params + i];
        qsort(x, (size_t)n, sizeof *x, by_double);
        double middle = x[n / 2] + 0.5 * (x[(n - 1) / 2] - x[n / 2]);
        *(i < params - 1 ? kernel_values(k) + i : noise) = middle;
    }
    free(x);
    return ANYGP_OK;
}

bool expert_hyper_makes_sense(const named_array *a, const kernel *k, int64_t count)
{
    int64_t params = kernel_count(k) + 1;
    if (a->rows != params || a->cols != count) return false;
    for (int64_t i = 0; i < params * count; i++) {
        double v = a->values[i];
        bool noise = i % params == params - 1;
        if (!(v > 0 || (noise && v == 0)) || v > DBL_MAX) return false;
    }
    return true;
}
