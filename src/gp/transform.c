/* --transform: which transform g [base/warp.h] each target gets.  log and boxcox(lambda=V) are taken as they are.  Else lambda is learned by
   maximum likelihood of y itself: with the evidence p(g(y)) of an exact GP on a random subset of the training rows, its hyperparameters learned
   anew for each lambda,
       L(lambda) = log p(y) = log p(g(y)) + sum_i log g'(y_i),
   which is comparable between transforms since all are densities of y.  L is found on a grid, and between its points from the parabola
   through the best three.  boxcox takes the best lambda; auto takes
       none     lambda = 1, a shift of y by 1, unless another is better by more than MARGIN
       log      lambda = 0, the same
       boxcox   where L is larger than both by more than MARGIN + log(n) / 2, the price of one more parameter (Schwarz 1978).
   The subset is that of subset.c.  All these fits may take a share of --time, and fit_charge takes what they took from it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "gp/fit.h"

enum { LEAST = 20, GRID = 7, AT_LOG = 0, AT_NONE = 4 };
static const double grid_at[GRID] = {[AT_LOG] = 0, 0.25, 0.5, 0.75, [AT_NONE] = 1, 1.5, 2};
static const double MARGIN = 2, TIME_SHARE = 0.5;

typedef struct search {
    fit_subset rows;
    const settings *s;
    const char *which;  /* target, for sentences */
    double found[GRID]; /* L at grid_at; NaN: not known */
    double until;       /* on the clock: no further fit begins after it */
} search;

/* ---------------------------------------------------------------------------------------- lambda */

/* Where the parabola through three points has its top; NaN: it has none between them. */
static double top_of(const double *x, const double *y)
{
    double a = (y[1] - y[0]) / (x[1] - x[0]), b = (y[2] - y[1]) / (x[2] - x[1]), curve = (b - a) / (x[2] - x[0]);
    double top = 0.5 * (x[0] + x[1]) - 0.5 * a / curve;
    return curve < 0 && top > x[0] && top < x[2] ? top : NAN;
}

static double evidence_at(search *s, double lambda)
{
    warp g;
    warp_named("boxcox", lambda, &g);
    return fit_subset_evidence(&s->rows, &g);
}

/* The best lambda, and L there; false: no fit succeeded. */
static bool best_lambda(search *s, double *lambda, double *value)
{
    int best = -1;
    for (int i = GRID - 1; i >= 0; i--) {
        if (clock_seconds() > s->until) return false;
        s->found[i] = evidence_at(s, grid_at[i]);
        if (isfinite(s->found[i]) && (best < 0 || s->found[i] > s->found[best])) best = i;
    }
    if (best < 0) return false;
    *lambda = grid_at[best], *value = s->found[best];
    if (best == 0 || best == GRID - 1) return true;
    double top = top_of(grid_at + best - 1, s->found + best - 1), there = isnan(top) ? NAN : evidence_at(s, top);
    if (there > *value) *lambda = top, *value = there;
    return true;
}

/* What auto takes, given that of boxcox. */
static void choose(const search *s, double value, warp *g)
{
    double none = s->found[AT_NONE], logged = s->found[AT_LOG], price = MARGIN + 0.5 * log(s->rows.total);
    if (value > fmax(none, logged) + price) return;
    warp_named(logged > none + MARGIN ? "log" : "none", 0, g);
}

static void tell(const search *s, bool automatic, const warp *g, double value)
{
    char text[40];
    double none = s->found[AT_NONE], logged = s->found[AT_LOG], n = s->rows.total;
    warp_print(g, text, sizeof text);
    if (automatic)
        settings_log(s->s, ANYGP_NOTE,
                     "transform%s: %s; log density of %.15g rows: none %.1f, log %.1f, boxcox %.1f at its best lambda",
                     s->which, text, n, none, logged, value);
    else
        settings_log(s->s, ANYGP_NOTE, "transform%s: %s, by the evidence of %.15g rows, %.1f (none: %.1f, log: %.1f)",
                     s->which, text, n, value, none, logged);
}

/* Into g, which is boxcox without a lambda. */
static void learn_lambda(search *s, bool automatic, warp *g)
{
    double value;
    if (s->rows.rows.rows < LEAST || !best_lambda(s, &g->lambda, &value)) {
        settings_log(s->s, ANYGP_NOTE, "transform%s: %s, since %s", s->which, automatic ? "none" : "log",
                     clock_seconds() > s->until
                         ? "--time is too short to compare; with more of it, or by its name, another can be had"
                         : "there are too few complete rows to learn from");
        warp_named(automatic ? "none" : "log", 0, g);
        return;
    }
    if (automatic) choose(s, value, g);
    tell(s, automatic, g, value);
}

static void find_warp(search *s, bool automatic, warp *g)
{
    int64_t refused = s->rows.not_positive;
    if (refused < 0) {
        learn_lambda(s, automatic, g);
    } else if (automatic) {
        settings_log(s->s, ANYGP_NOTE, "transform%s: none, since the target of row %lld is not above 0", s->which,
                     (long long)refused + 1);
        warp_named("none", 0, g);
    } else
        g->lambda = 1; /* the fit says which row it is, and what to do */
}

static anygp_status find_target(const gp_data *data, const settings *s, const fit_columns *c, int64_t t, bool automatic,
                                double until, warp *g, anygp_error *e)
{
    char which[120] = "", label[96];
    search one = {.s = s, .which = which, .until = until};
    const input_spec target = {.name = data->table->columns[c->target[t]].name, .number = c->target[t]};
    if (c->targets > 1) snprintf(which, sizeof which, " of %s", schema_label(&target, label));
    TRY(fit_subset_take(data, s, c, t, &one.rows, e));
    find_warp(&one, automatic, g);
    fit_subset_clear(&one.rows);
    return ANYGP_OK;
}

/* -------------------------------------------------------------------------------------- settings */

static double seconds_spent(const settings *s)
{
    return settings_given(s, SET_SPENT) ? settings_number(s, SET_SPENT) : 0;
}

anygp_status fit_charge(const settings *s, double seconds, settings **out, anygp_error *e)
{
    char text[32];
    *out = NULL;
    if (!settings_given(s, SET_TIME)) return ANYGP_OK;
    snprintf(text, sizeof text, "%.6f", seconds_spent(s) + seconds);
    if (!(*out = settings_copy(s))) return fail_memory(e, "the settings", 0);
    return settings_set(*out, "spent", text, e);
}

static anygp_status check_likelihood(const settings *s, anygp_error *e)
{
    likelihood l;
    TRY(likelihood_parse(settings_text(s, SET_LIKELIHOOD), &l, e));
    if (likelihood_is_gaussian(&l)) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "transform: only targets with the likelihood gaussian are transformed, and this is %s; leave "
                     "--transform or --likelihood out",
                     l.ops->name);
}

anygp_status fit_transform(const gp_data *data, const settings *s, fit_columns *c, anygp_error *e)
{
    bool automatic = settings_is(s, SET_TRANSFORM, "auto"), some = false;
    warp asked = {0};
    TRY(warp_parse(automatic ? "boxcox" : settings_text(s, SET_TRANSFORM), &asked, e));
    if (!warp_is(&asked)) return ANYGP_OK;
    TRY(check_likelihood(s, e));
    if (!(c->warp = mem_zeroed(c->targets, sizeof *c->warp)))
        return fail_memory(e, "the transforms", (double)c->targets * sizeof *c->warp);
    warp *found = c->warp;
    c->warp = NULL; /* until all are known */
    anygp_status status = ANYGP_OK;
    double limit = settings_number(s, SET_TIME) - seconds_spent(s);
    /* ranks have to agree, and clocks do not */
    double until = isnan(limit) || comm_world()->size > 1 ? INFINITY : clock_seconds() + TIME_SHARE * limit;
    for (int64_t t = 0; t < c->targets && !ANYGP_FAILED(status); t++) {
        found[t] = asked;
        if (warp_has_lambda(&asked) && isnan(asked.lambda))
            status = find_target(data, s, c, t, automatic, until, &found[t], e);
        some |= warp_is(&found[t]);
    }
    c->warp = some ? found : NULL;
    if (!some) free(found);
    return status;
}
