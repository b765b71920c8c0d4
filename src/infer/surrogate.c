#include "infer/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Latent functions of classes are larger than the +1 and -1 they stand for: log odds of 2 are 88 %. */
static const double CLASS_VARIANCE = 4;

bool surrogate_needed(const problem *p)
{
    return p->likelihood && (p->targets > 1 || !likelihood_is_gaussian(p->likelihood));
}

static double stand_in(const likelihood *l, const double *y)
{
    bool ordered = !strcmp(l->ops->name, "ordinal");
    if (l->ops->target == TARGET_COUNT) return log((y[0] + 0.5) / (l->columns > 1 ? y[1] : 1));
    if (l->ops->target == TARGET_CLASS && !ordered) return (int64_t)y[0] % 2 ? 1 : -1;
    return y[0];
}

static anygp_status make_targets(const problem *p, dataset *d, anygp_error *e)
{
    const dataset *from = p->rows->data;
    int64_t Q = dataset_numbers(from);
    double mean = 0, weight = 0, *y = mem_alloc(from->n, sizeof *y);
    if (!y) return fail_memory(e, "the starting values", 8.0 * (double)from->n);
    for (int64_t i = 0; i < from->n; i++) {
        y[i] = stand_in(p->likelihood, from->y + i * Q);
        mean += from->w[i] * y[i], weight += from->w[i];
    }
    for (int64_t i = 0; i < from->n && !p->likelihood->ops->standardize; i++) y[i] -= mean / weight;
    *d = *from;
    d->y = y, d->Q = 1, d->targets = 1;
    d->schema.classes = 0;
    return ANYGP_OK;
}

anygp_status surrogate_open(const problem *p, const hyper *h, surrogate *s, anygp_error *e)
{
    *s = (surrogate){0};
    TRY(make_targets(p, &s->data, e));
    TRY(dataset_merge(&s->data, !kernel_has_white(h->kernel), &s->rows, e));
    double sd_y = 0;
    for (int64_t i = 0; i < s->data.n; i++) sd_y += s->data.y[i] * s->data.y[i] / (double)s->data.n;
    TRY(hyper_gaussian(h, sd_y > 0 ? sqrt(sd_y) : 1, &s->h, e));
    s->problem = *p;
    s->problem.rows = &s->rows, s->problem.likelihood = NULL, s->problem.targets = 1;
    return ANYGP_OK;
}

void surrogate_close(surrogate *s)
{
    merged_clear(&s->rows);
    hyper_clear(&s->h);
    free(s->data.y);
    *s = (surrogate){0};
}

static void take_kernel(const surrogate *s, double factor, hyper *h)
{
    for (int64_t i = 0; i < hyper_kernel_params(h); i++) {
        const kernel_param *k = kernel_param_at(h->kernel, i);
        bool scaled = k->role == ROLE_VARIANCE && k->unit_variance && h->param[i].free && !h->param[i].given;
        hyper_set(h, i, hyper_get(&s->h, i) * (scaled ? factor : 1));
    }
}

void surrogate_take(const surrogate *s, const problem *p, bool unseen, hyper *h)
{
    const likelihood *l = p->likelihood;
    double noise = s->h.like[0];
    bool ordered = !strcmp(l->ops->name, "ordinal");
    take_kernel(s, l->ops->target == TARGET_CLASS && !ordered ? CLASS_VARIANCE : 1, h);
    for (int64_t i = 0; i < h->likes && l->ops->target == TARGET_REAL; i++) {
        const likelihood_param *q = &l->param[i % l->params];
        if (q->given || q->real || q->power == 0) continue;
        double least = 1.01 * h->param[hyper_kernel_params(h) + i].lower;
        if (unseen && i >= l->params) least = fmax(least, h->like[i]);
        h->like[i] = fmax(q->power == 2 ? noise : sqrt(noise), least);
    }
}
