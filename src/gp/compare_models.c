/* Which models are compared where the user does not say: those of a short list that the plan allows, and auto's choice.  The mean
   is a Gaussian process with a constant kernel, so that there is one for every likelihood.  The linear model has a closed form
   (linear_model.h); where it has not, or as a model file, it is a process with the kernel linear, with as many inducing inputs as there are
   features, which is exact. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp/compare.h"
#include "gp/plans.h"

enum { NEAR_INPUTS = 4, COMMITTEE_ROWS = 2000 };

static anygp_status add(comparison *c, const char *model, int64_t inducing, anygp_error *e)
{
    compare_line l = {.inducing = inducing};
    int64_t index;
    snprintf(l.name, sizeof l.name, "%s", model);
    snprintf(l.model, sizeof l.model, "%s", model);
    return c->out->stopped ? ANYGP_OK : compare_add(c, &l, &index, e);
}

/* -------------------------------------------------------------------------------------- baselines */

static anygp_status add_baseline(comparison *c, const char *name, const char *covariance, bool linear, bool gaussian,
                                 anygp_error *e)
{
    compare_line l = {.baseline = true, .linear = linear};
    int64_t index;
    snprintf(l.name, sizeof l.name, "%s", name);
    snprintf(l.model, sizeof l.model, "%s", gaussian ? "vfe" : "svgp");
    snprintf(l.kernel, sizeof l.kernel, "%s", covariance);
    return c->out->stopped ? ANYGP_OK : compare_add(c, &l, &index, e);
}

anygp_status compare_baselines(comparison *c, anygp_error *e)
{
    bool gaussian = settings_is(c->s, SET_LIKELIHOOD, "gaussian");
    TRY(add_baseline(c, "mean", "constant", false, gaussian, e));
    if (!c->numbers && !c->texts) return ANYGP_OK;
    return add_baseline(c, "linear",
                        !c->texts     ? "constant + linear"
                        : !c->numbers ? "constant + categorical"
                                      : "constant + linear + categorical",
                        true, gaussian, e);
}

/* ------------------------------------------------------------------------------------------ models */

static const plan_line *line_named(const gp_plan *p, const char *name)
{
    for (int64_t i = 0; i < p->count; i++)
        if (!strcmp(p->line[i].name, name)) return &p->line[i];
    return NULL;
}

/* Neighbours are near in few inputs only, and a committee needs rows for its members. */
static bool suits(const gp_plan *p, const char *name)
{
    const plan_line *l = line_named(p, name);
    if (!l || *l->reason) return false;
    if (!strcmp(name, "vecchia")) return p->facts.inputs <= NEAR_INPUTS;
    if (!strcmp(name, "grbcm")) return p->facts.rows >= COMMITTEE_ROWS;
    return true;
}

/* As many inducing inputs as auto would take: where there are classes, fewer than the default, which would cost many times more. */
static int64_t fewer_inducing(const comparison *c, const gp_plan *p, const char *name)
{
    const plan_line *l = line_named(p, name);
    bool own = settings_given(c->s, SET_INDUCING) || settings_given(c->s, SET_INDUCING_FROM);
    return l->chosen && !own && !settings_is(c->s, SET_LIKELIHOOD, "gaussian") ? l->inducing : 0;
}

static anygp_status compare_default(comparison *c, const gp_plan *p, anygp_error *e)
{
    static const char *const list[] = {"exact", "vfe", "vecchia", "grbcm", "svgp"};
    const char *chosen = NULL;
    bool in_list = false;
    for (int64_t i = 0; i < p->count; i++)
        if (p->line[i].chosen) chosen = p->line[i].name;
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        in_list |= chosen && !strcmp(chosen, list[k]);
        if (suits(p, list[k])) TRY(add(c, list[k], fewer_inducing(c, p, list[k]), e));
    }
    return in_list ? ANYGP_OK : add(c, chosen ? chosen : "auto", 0, e);
}

/* Commas within parentheses belong to an expression. */
static size_t word_length(const char *list)
{
    int depth = 0;
    size_t n = 0;
    for (; list[n] && (depth > 0 || list[n] != ','); n++) depth += list[n] == '(' ? 1 : list[n] == ')' ? -1 : 0;
    return n;
}

static anygp_status compare_named(comparison *c, const char *list, anygp_error *e)
{
    while (*list) {
        char name[64];
        size_t n = word_length(list), blank = strspn(list, " ");
        if (n <= blank || n - blank >= sizeof name)
            return fail_with(e, ANYGP_ERR_ARGUMENT, "models: '%.80s' is not a list of models such as exact,vfe,svgp",
                             list);
        snprintf(name, sizeof name, "%.*s", (int)(n - blank), list + blank);
        name[strcspn(name, " ")] = 0;
        TRY(add(c, name, 0, e));
        list += n + (list[n] == ',');
    }
    return ANYGP_OK;
}

/* A name that is none is an error before the first fit. */
static anygp_status check_names(const char *list, anygp_error *e)
{
    while (*list) {
        char name[64];
        bool anytime;
        size_t n = word_length(list), blank = strspn(list, " ");
        snprintf(name, sizeof name, "%.*s", n > blank ? (int)(n - blank) : 0, list + blank);
        name[strcspn(name, " ")] = 0;
        const model_ops *m = model_named(name, &anytime);
        if (!m && strcmp(name, "auto"))
            return fail_with(e, ANYGP_ERR_ARGUMENT, "models: there is no model '%.63s'; see anygp models", name);
        model_free(m);
        list += n + (list[n] == ',');
    }
    return ANYGP_OK;
}

anygp_status compare_models(comparison *c, anygp_error *e)
{
    const char *named = settings_text(c->s, SET_MODELS);
    gp_plan p;
    TRY(check_names(named, e));
    TRY(gp_plan_make(c->data, c->s, &p,
                     e)); /* data that no model can be fitted to are refused here, once, by their own rows */
    anygp_status status = compare_baselines(c, e);
    if (!ANYGP_FAILED(status)) status = *named ? compare_named(c, named, e) : compare_default(c, &p, e);
    gp_plan_clear(&p);
    return status;
}
