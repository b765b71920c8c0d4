/* A Gaussian stand-in for a problem with another likelihood, to find a start (surrogate.h). */
#include "run/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Latent functions of classes are larger than the +1 and -1 they stand for: log odds of 2 are 88 %. */
static const double CLASS_VARIANCE = 4;

bool surrogate_needed(const problem *p) { return p->targets > 1 || !likelihood_is_gaussian(p->likelihood); }

static double stand_in(const likelihood *l, const double *y)
{
    bool ordered = !strcmp(l->ops->name, "ordinal");
    if (l->ops->target == TARGET_COUNT) return log((y[0] + 0.5) / (l->columns > 1 ? y[1] : 1));
    if (l->ops->target == TARGET_CLASS && !ordered) return (int64_t)y[0] % 2 ? 1 : -1;
    return y[0];
}

static anygp_status make_targets(const problem *p, int64_t target, dataset *d, anygp_error *e)
{
    const dataset *from = p->rows->data;
    int64_t Q = dataset_numbers(from), first = target * p->likelihood->columns;
    double mean = 0, weight = 0, *y = mem_alloc(from->n, sizeof *y);
    if (!y) return fail_memory(e, "the starting values", 8.0 * (double)from->n);
    for (int64_t i = 0; i < from->n; i++) {
        y[i] = stand_in(p->likelihood, from->y + i * Q + first);
        mean += from->w[i] * y[i], weight += from->w[i];
    }
    for (int64_t i = 0; i < from->n && !p->likelihood->ops->standardize; i++) y[i] -= mean / weight;
    *d = *from;
    d->y = y, d->Q = 1, d->targets = 1;
    d->schema.classes = 0;
    return ANYGP_OK;
}

anygp_status surrogate_open(const problem *p, int64_t target, const hyper *h, surrogate *s, anygp_error *e)
{
    *s = (surrogate){0};
    TRY(make_targets(p, target, &s->data, e));
    TRY(dataset_merge(&s->data, !kernel_has_white(h->kernel), &s->rows, e));
    double sd_y = 0;
    for (int64_t i = 0; i < s->data.n; i++) sd_y += s->data.y[i] * s->data.y[i] / (double)s->data.n;
    TRY(hyper_gaussian(h, sd_y > 0 ? sqrt(sd_y) : 1, &s->h, e));
    s->problem = *p;
    s->problem.rows = &s->rows, s->problem.likelihood = &s->like, s->problem.targets = 1;
    return likelihood_with_noise(s->h.like[0], &s->like, e);
}

void surrogate_close(surrogate *s)
{
    merged_clear(&s->rows);
    hyper_clear(&s->h);
    free(s->data.y);
    *s = (surrogate){0};
}

/* The shortest length and the largest variance of them all can explain every target. */
static double of_both(param_role role, double before, double found)
{
    return role == ROLE_LENGTH ? fmin(before, found) : role == ROLE_VARIANCE ? fmax(before, found) : before;
}

static void take_kernel(const surrogate *s, double factor, bool first, hyper *h)
{
    for (int64_t i = 0; i < hyper_kernel_params(h); i++) {
        const kernel_param *k = kernel_param_at(h->kernel, i);
        bool scaled =
            k->role == ROLE_VARIANCE && k->unit_variance && hyper_facts(h, i)->free && !hyper_facts(h, i)->given;
        double found = hyper_get(&s->h, i) * (scaled ? factor : 1);
        hyper_set(h, i, first ? found : of_both(k->role, hyper_get(h, i), found));
    }
}

void surrogate_take(const surrogate *s, const problem *p, int64_t target, hyper *h)
{
    const likelihood *l = p->likelihood;
    double noise = s->h.like[0];
    bool ordered = !strcmp(l->ops->name, "ordinal");
    take_kernel(s, l->ops->target == TARGET_CLASS && !ordered ? CLASS_VARIANCE : 1, target == 0, h);
    for (int64_t k = 0; k < l->params && l->ops->target == TARGET_REAL; k++) {
        const likelihood_param *q = &l->param[k];
        int64_t i = target * l->params + k;
        if (q->given || q->real || q->power == 0) continue;
        h->like[i] =
            fmax(q->power == 2 ? noise : sqrt(noise), 1.01 * hyper_facts(h, hyper_kernel_params(h) + i)->lower);
    }
}
