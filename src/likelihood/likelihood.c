/* What is the same for all likelihoods: completing one, its targets. */
#include "likelihood/likelihood.h"

#include <stdio.h>
#include <string.h>

#include "likelihood/parts.h"

/* ------------------------------------------------------------------------------------------- open */

/* The i-th of a series is called name1, name2, ...; the first of one alone has the name itself. */
static void add_param(likelihood *l, const likelihood *given, const likelihood_param *p, int64_t number)
{
    int64_t k = l->params++;
    l->param[k] = *p;
    l->value[k] = p->start;
    if (number) snprintf(l->param[k].name, sizeof l->param[k].name, "%.16s%d", p->name, (int)number);
    for (int64_t g = 0; g < given->params; g++)
        if (given->param[g].given && !strcmp(given->param[g].name, l->param[k].name))
            l->value[k] = given->value[g], l->param[k].given = true;
}

static void add_params(likelihood *l, const likelihood *given)
{
    l->params = 0;
    for (int64_t i = 0; i < l->ops->n_options; i++) {
        const likelihood_option *o = &l->ops->options[i];
        if (o->kind == OPTION_PARAM) add_param(l, given, &o->param, 0);
        for (int64_t k = 1; o->kind == OPTION_SERIES && k <= l->classes - 2; k++) add_param(l, given, &o->param, k);
    }
}

static anygp_status check_given(const likelihood *l, const likelihood *given, anygp_error *e)
{
    int64_t used = 0, wanted = 0;
    for (int64_t i = 0; i < l->params; i++) used += l->param[i].given;
    for (int64_t i = 0; i < given->params; i++) wanted += given->param[i].given;
    if (used == wanted) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "likelihood: %s was given %d values, but with %d classes it has %d parameters to take them",
                     l->ops->name, (int)wanted, (int)l->classes, (int)l->params);
}

static anygp_status check_classes(const likelihood_ops *o, int64_t classes, anygp_error *e)
{
    if (o->target != TARGET_CLASS) return ANYGP_OK;
    if (classes < 2)
        return fail_with(e, ANYGP_ERR_DATA, "likelihood: %s needs a target of at least two classes; this one has %d",
                         o->name, (int)classes);
    if (classes > o->most_classes)
        return fail_with(e, ANYGP_ERR_DATA, "likelihood: %s takes at most %d classes; the target has %lld%s", o->name,
                         (int)o->most_classes, (long long)classes,
                         o->most_classes < LIKELIHOOD_LATENTS ? ", use softmax" : "");
    return ANYGP_OK;
}

anygp_status likelihood_open(likelihood *l, int64_t classes, bool exposure, anygp_error *e)
{
    const likelihood_ops *o = l->ops;
    const likelihood given = *l;
    TRY(check_classes(o, classes, e));
    if (exposure && !o->exposure)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "likelihood: %s takes no exposure; only counts do", o->name);
    l->classes = o->target == TARGET_CLASS ? classes : 0;
    l->latents = o->latents ? o->latents : classes;
    l->columns = exposure ? 2 : 1;
    add_params(l, &given);
    return check_given(l, &given, e);
}

/* ---------------------------------------------------------------------------------------- targets */

const char *likelihood_objection(const likelihood *l, double y)
{
    bool whole = y >= 0 && y == floor(y);
    if (!isfinite(y)) return "is not a finite number";
    if (l->ops->target == TARGET_COUNT && !whole) return "is not a count (a whole number from 0 on)";
    if (l->ops->target == TARGET_CLASS && !(whole && y < (double)l->classes)) return "is not one of the classes";
    return NULL;
}

bool likelihood_at_bound(const likelihood *l, double mean)
{
    return l->ops->target == TARGET_COUNT && !(fabs(log(mean)) < EXPONENT_MOST * (1 - 1e-12));
}

/* --------------------------------------------------------------------------------------- gaussian */

bool likelihood_is_gaussian(const likelihood *l) { return !strcmp(l->ops->name, "gaussian"); }

anygp_status likelihood_with_noise(double noise, likelihood *out, anygp_error *e)
{
    TRY(likelihood_parse("gaussian", out, e));
    TRY(likelihood_open(out, 0, false, e));
    out->value[0] = noise;
    return ANYGP_OK;
}
