/* The search over kernel expressions (Duvenaud et al. 2013, greedily): from the base kernel that does best, sums and products with a
   base kernel, as long as they do better.  Better is more log evidence per row, less ln(n) / 2n per parameter (BIC), without a loss
   of log density on the test rows; where the model has no evidence to compare, more log density. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gp/compare.h"
#include "gp/plans.h"

enum { STEPS_MOST = 4 };
static const double LEAST_GAIN = 1e-3; /* nats per row */
static const char *const bases[] = {"matern52", "matern32", "matern12", "rbf", "rq", "linear", "periodic"};
enum { BASES = sizeof bases / sizeof *bases };

/* Texts have a factor of their own. */
static void whole_kernel(const comparison *c, const char *expression, char *to, size_t size)
{
    snprintf(to, size, c->texts ? "(%s) * categorical" : "%s", expression);
}

static anygp_status try_kernel(comparison *c, const char *model, const char *expression, int64_t step, int64_t *index,
                               anygp_error *e)
{
    compare_line l = {.step = step};
    snprintf(l.name, sizeof l.name, "%s", expression);
    snprintf(l.model, sizeof l.model, "%s", model);
    whole_kernel(c, expression, l.kernel, sizeof l.kernel);
    return compare_add(c, &l, index, e);
}

/* Whether b is better than a; a NULL: than none. */
static bool better(const compare_line *a, const compare_line *b)
{
    if (b->parts == 0) return false;
    if (!a) return true;
    if (!isnan(a->evidence) && !isnan(b->evidence)) return b->evidence > a->evidence + LEAST_GAIN;
    return b->mnlp < a->mnlp - LEAST_GAIN;
}

/* A step must not lose on the test rows what it gains in evidence. */
static bool holds(const compare_line *before, const compare_line *l) { return !before || l->mnlp <= before->mnlp; }

/* One step: all candidates from the expression so far ("" at first); the index of the best, or `now` where none is better. */
static anygp_status take_step(comparison *c, const char *model, int64_t step, int64_t now, int64_t *best,
                              anygp_error *e)
{
    static const char *const forms[] = {"%s + %s", "(%s) * %s"};
    gp_compare *out = c->out;
    char so_far[200] = "", expression[200];
    if (now >= 0) snprintf(so_far, sizeof so_far, "%s", out->line[now].name);
    *best = now;
    for (int form = 0; form < (now < 0 ? 1 : 2); form++)
        for (int b = 0; b < BASES && !out->stopped; b++) {
            int64_t i;
            bool single = !strpbrk(so_far, "+*");
            if (now < 0)
                snprintf(expression, sizeof expression, "%s", bases[b]);
            else if (form == 1 && single)
                snprintf(expression, sizeof expression, "%.150s * %s", so_far, bases[b]);
            else
                snprintf(expression, sizeof expression, forms[form], so_far, bases[b]);
            TRY(try_kernel(c, model, expression, step, &i, e));
            const compare_line *l = &out->line[i], *before = now < 0 ? NULL : &out->line[now];
            if (holds(before, l) && better(*best < 0 ? NULL : &out->line[*best], l)) *best = i;
        }
    return ANYGP_OK;
}

/* exact where there is time for it, else vfe; other likelihoods have svgp.  The first of --models, if there is one. */
static anygp_status find_model(const comparison *c, char *model, size_t size, anygp_error *e)
{
    gp_plan p;
    const char *named = settings_text(c->s, SET_MODELS);
    bool gaussian = settings_is(c->s, SET_LIKELIHOOD, "gaussian"), exact = false;
    if (strchr(named, ','))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "models: kernels are compared with one model; name one");
    if (*named) return snprintf(model, size, "%s", named), ANYGP_OK;
    TRY(gp_plan_make(c->data, c->s, &p, e));
    for (int64_t i = 0; i < p.count; i++)
        exact |= !strcmp(p.line[i].name, "exact") && !*p.line[i].reason && p.line[i].seconds <= c->limit;
    gp_plan_clear(&p);
    snprintf(model, size, "%s", !gaussian ? "svgp" : exact ? "exact" : "vfe");
    return ANYGP_OK;
}

anygp_status compare_kernels(comparison *c, anygp_error *e)
{
    gp_compare *out = c->out;
    char model[64];
    int64_t now = -1, best;
    if (settings_given(c->s, SET_KERNEL))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "kernel: the search chooses it; leave --kernel or --kernels out");
    if (!c->numbers)
        return fail_with(e, ANYGP_ERR_DATA, "kernels: there is no number among the inputs to search a kernel for");
    TRY(find_model(c, model, sizeof model, e));
    TRY(compare_baselines(c, e));
    for (int64_t step = 1; step <= STEPS_MOST && !out->stopped; step++) {
        TRY(take_step(c, model, step, now, &best, e));
        if (best == now) break;
        out->line[best].taken = true;
        now = best;
    }
    return out->keep && out->folds == 0 && now >= 0 ? compare_again(c, now, e) : ANYGP_OK;
}
