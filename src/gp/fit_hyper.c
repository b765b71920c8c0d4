/* What a fit begins with: the likelihood, the hyperparameters and the prior mean. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/neighbours/neighbours.h"
#include "gp/fit.h"

/* Values that were not given, from the numbers of one target. */
static anygp_status start_likelihood(const dataset *d, int64_t target, likelihood *l, anygp_error *e)
{
    int64_t n = d->n, columns = l->columns, Q = dataset_numbers(d);
    if (!l->ops->start) return ANYGP_OK;
    double *Y = mem_doubles(n, columns);
    if (!Y) return fail_memory(e, "the targets", 8.0 * (double)(n * columns));
    for (int64_t i = 0; i < n; i++)
        memcpy(Y + i * columns, d->y + i * Q + target * columns, (size_t)columns * sizeof *Y);
    l->ops->start(l, n, Y, d->w);
    free(Y);
    return ANYGP_OK;
}

anygp_status fit_likelihood(fit_task *f, const dataset *d, bool exposure, likelihood *l, anygp_error *e)
{
    *l = f->choice.like;
    TRY(likelihood_open(l, d->schema.classes, exposure, e));
    if (likelihood_is_gaussian(l) && settings_given(f->s, SET_NOISE) && !l->param[0].given)
        l->value[0] = settings_number(f->s, SET_NOISE), l->param[0].given = true;
    gp_given_likelihood_to_model_units(l, &d->schema);
    f->like = l;
    return start_likelihood(d, 0, l, e);
}

/* The same for the targets after the first. */
static anygp_status start_further_targets(const fit_task *f, const dataset *d, hyper *h, anygp_error *e)
{
    for (int64_t t = 1; f->like->ops->start && t < f->together; t++) {
        likelihood l = *f->like;
        TRY(start_likelihood(d, t, &l, e));
        for (int64_t k = 0; k < l.params; k++)
            if (!l.param[k].given) h->like[t * l.params + k] = l.value[k];
    }
    return ANYGP_OK;
}

/* A model that is still to be chosen has no kind of its own. */
static const inducing_ops *kind_of(const fit_task *f)
{
    const inducing_ops *own = f->choice.model ? f->choice.model->variables : NULL;
    return own ? own : inducing_find(settings_text(f->s, SET_INDUCING_KIND));
}

static mean_kind mean_of(const fit_task *f, const dataset *d)
{
    const model_ops *m = f->choice.model;
    bool open = !settings_changed(f->s, SET_MEAN) && m && m->ordinary > 0 && !f->choice.anytime;
    return open && d->used >= m->ordinary && d->D <= NEAR_SIDED ? MEAN_CONSTANT : choice_mean(f->s);
}

anygp_status fit_hyper(const fit_task *f, const dataset *d, kernel *k, hyper *h, basis *mean, anygp_error *e)
{
    const likelihood *l = f->like;
    double *sd_x = mem_alloc(d->D, sizeof *sd_x), rms_y;
    if (!sd_x) return kernel_free(k), fail_memory(e, "column scales", 8.0 * (double)d->D);
    anygp_status status =
        hyper_init(h, k, NAN, f->choice.fix_kernel, f->choice.fix_noise, settings_is(f->s, SET_PRIOR, "default"), e);
    if (!ANYGP_FAILED(status)) status = hyper_set_likelihood(h, l, f->together, f->choice.fix_noise, e);
    for (int64_t t = 1; !ANYGP_FAILED(status) && t < f->together; t++)
        gp_given_likelihood_of_target(l, &d->schema, dataset_target(d, t), h->like + t * l->params);
    if (!ANYGP_FAILED(status)) {
        dataset_spread(d, sd_x, &rms_y);
        if (!f->choice.like.ops->standardize) rms_y = 1; /* of the function, not of the target */
        hyper_defaults(h, sd_x, rms_y);
        status = hyper_set_units(h, d->D, sd_x, e);
        if (!ANYGP_FAILED(status)) status = hyper_set_kind(h, kind_of(f), e);
    }
    if (!ANYGP_FAILED(status)) status = start_further_targets(f, d, h, e);
    if (!ANYGP_FAILED(status)) status = basis_init(mean, mean_of(f, d), &d->schema, 100 * rms_y * rms_y, e);
    free(sd_x);
    return status;
}
