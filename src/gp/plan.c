/* What each model would cost: the facts and the decision are those of --model auto (auto.h), the costs are those of the tables of the
   models, at the speed that was just measured and not at its class.  A model is ruled out by what a fit would refuse (its
   likelihood, its settings, rows that stay in their file), by memory or by time. */
#include "gp/plans.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quantity.h"

static const double RACE_WORTH =
    1; /* seconds: short fits that are predicted to take no longer are made, so that the choice is known */

void gp_plan_clear(gp_plan *p)
{
    free(p->line);
    p->line = NULL;
}

/* ------------------------------------------------------------------------------------------ a line */

/* The sentence of a refusal up to what to do about it, without the name of the setting. */
static void take_refusal(const anygp_error *why, plan_line *l)
{
    const char *colon = strstr(why->text, ": ");
    const char *text = colon && colon < strchr(why->text, ' ') ? colon + 2 : why->text;
    size_t n = strcspn(text, ";");
    snprintf(l->reason, sizeof l->reason, "%.*s", (int)(n < sizeof l->reason - 1 ? n : sizeof l->reason - 1), text);
}

/* Whether the model takes this kernel, likelihood and these inputs. */
static anygp_status admitted(const fit_task *f, const model_choice *c, const settings *s, const dataset *d,
                             anygp_error *why)
{
    kernel *k = NULL;
    TRY(fit_admits_rows(c->model, d, why));
    anygp_status status = fit_kernel_of(s, c->model, &d->schema, &k, why);
    if (!ANYGP_FAILED(status)) status = fit_admits_kernel(f, c->model, k, d, why);
    kernel_free(k);
    return status;
}

/* What a fit of this model would refuse, in the end of a sentence. */
static bool refused(const fit_task *f, const model_choice *c, const settings *s, const dataset *d, plan_line *l)
{
    anygp_error why;
    if (ANYGP_FAILED(choice_check_rows(c, s, fit_weighted(f->columns), &why)) ||
        ANYGP_FAILED(admitted(f, c, s, d, &why)))
        take_refusal(&why, l);
    else if (f->data->file && !model_over_blocks(c->model))
        snprintf(l->reason, sizeof l->reason, "it needs all rows at once, and they stay in their file");
    return *l->reason;
}

static void take_plan(const auto_plan *p, plan_line *l)
{
    l->inducing = p->sets[0] + p->sets[1];
    l->rows_of_block = p->part;
    l->iterations = p->iterations;
    l->steps = p->model->steps;
}

/* Inducing inputs, or rows of a subset, of which there are no more than rows. */
static int64_t size_of(const auto_facts *a, const model_choice *c)
{
    return (int64_t)fmin((double)choice_subset(c), a->rows);
}

static void rule_out(const auto_facts *a, double needed, bool in_time, plan_line *l)
{
    char cost[24], most[24];
    if (needed > a->bytes) {
        quantity_bytes(needed, cost, sizeof cost), quantity_bytes(a->bytes, most, sizeof most);
        snprintf(l->reason, sizeof l->reason, "it needs about %s of memory, and %s are allowed", cost, most);
    } else if (!in_time) {
        quantity_seconds(l->seconds, cost, sizeof cost), quantity_seconds(a->seconds, most, sizeof most);
        snprintf(l->reason, sizeof l->reason, "it takes about %s, and there are %s", cost, most);
    }
}

/* Costs of the model as the settings have it; entrant: auto's plan for it, or NULL. */
static void account(const auto_facts *a, const model_choice *c, const auto_plan *entrant, plan_line *l)
{
    auto_plan p;
    int64_t M = entrant ? entrant->sets[0] + entrant->sets[1] : size_of(a, c);
    int64_t J = entrant ? entrant->part : model_over_parts(c->model) ? a->part : 0;
    if (entrant && M == 0 && model_has_inducing(c->model)) M = a->inducing > 0 ? a->inducing : size_of(a, c);
    bool in_time = auto_account(a, c->model, M, J, &p);
    take_plan(&p, l);
    if (entrant && entrant->iterations < l->iterations) { /* those that there is time for */
        l->iterations = entrant->iterations;
        p.seconds = fmin(p.seconds, fmax(p.seconds * (double)entrant->iterations / (double)p.iterations, 0));
    }
    l->seconds = p.seconds, l->bytes = p.bytes;
    l->costed = isfinite(p.seconds) && isfinite(p.bytes);
    if (!l->costed)
        snprintf(l->reason, sizeof l->reason, "its cost is not known before it is fitted");
    else if (!entrant)
        rule_out(a, p.bytes - auto_scratch_bytes(a, c->model, M, J), in_time, l);
}

/* Its place among auto's candidates; -1: it is none. */
static int place_of(const auto_outlook *o, const model_ops *m)
{
    for (int i = 0; i < o->count; i++)
        if (o->list[i].model == m) return i;
    return -1;
}

static const auto_plan *entrant_of(const auto_outlook *o, const model_ops *m)
{
    return place_of(o, m) < 0 ? NULL : &o->list[place_of(o, m)];
}

/* The settings with this model. */
static anygp_status line_of(const fit_task *f, const auto_outlook *o, const auto_facts *a, const char *name,
                            plan_line *l, anygp_error *e)
{
    model_choice c;
    anygp_error why;
    settings *s = settings_copy(f->s);
    anygp_status status = s ? settings_set(s, "model", name, e) : fail_memory(e, "the settings", 0);
    *l = (plan_line){0};
    snprintf(l->name, sizeof l->name, "%s", name);
    if (!ANYGP_FAILED(status)) {
        if (ANYGP_FAILED(choice_parse(s, &c, &why)))
            take_refusal(&why, l);
        else if (!refused(f, &c, s, &o->seen, l))
            account(a, &c, entrant_of(o, c.model), l);
        model_free(c.model);
    }
    settings_free(s);
    return status;
}

/* ------------------------------------------------------------------------------------------ choice */

/* Short fits that decide take no longer than a second, or they are announced. */
static anygp_status decide(const fit_task *f, const auto_outlook *o, gp_plan *p, const model_ops **chosen,
                           anygp_error *e)
{
    auto_outcome outcome = {.winner = o->race.otherwise};
    bool race = !*o->race.skipped, worth = o->race.seconds <= RACE_WORTH;
    if (o->list[0].bytes > o->facts.bytes) {
        snprintf(p->why, sizeof p->why, "no model fits the memory that is allowed");
        return ANYGP_OK;
    }
    if (race && worth) TRY(auto_hold_race(f, o, auto_race_most(&o->facts), &outcome, e));
    if (outcome.start) outcome.start->ops->free(outcome.start);
    if (race && (!outcome.ran || outcome.cut))
        *chosen = NULL, p->race_seconds = o->race.seconds;
    else
        *chosen = o->list[outcome.winner].model;
    snprintf(p->why, sizeof p->why, "%s%s", o->list[outcome.winner].reason, outcome.ran ? ", and by short fits" : "");
    return ANYGP_OK;
}

/* Auto's own first, in its order, then what is possible, by time, then the rest, as they come. */
static bool comes_before(const plan_line *a, const plan_line *b)
{
    int mine = a->chosen     ? 0
               : a->raced    ? 1
               : !*a->reason ? 2
                             : 3,
        other = b->chosen     ? 0
                : b->raced    ? 1
                : !*b->reason ? 2
                              : 3;
    if (mine != other) return mine < other;
    return mine == 1 ? a->place < b->place : mine == 2 && a->seconds < b->seconds;
}

static void sort_lines(gp_plan *p)
{
    for (int64_t i = 1; i < p->count; i++) {
        plan_line l = p->line[i];
        int64_t k = i;
        for (; k > 0 && comes_before(&l, &p->line[k - 1]); k--) p->line[k] = p->line[k - 1];
        p->line[k] = l;
    }
}

static anygp_status mark_choice(const fit_task *f, const auto_outlook *o, gp_plan *p, anygp_error *e)
{
    const model_ops *chosen = NULL;
    if (!p->wanted) return ANYGP_OK;
    TRY(decide(f, o, p, &chosen, e));
    for (int64_t i = 0; i < p->count; i++) {
        const model_ops *m = model_find(p->line[i].name);
        p->line[i].chosen = m && m == chosen;
        p->line[i].place = m ? place_of(o, m) : -1;
        p->line[i].raced = p->line[i].place >= 0;
    }
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------- plan */

static anygp_status list_models(const fit_task *f, const auto_outlook *o, gp_plan *p, anygp_error *e)
{
    auto_facts *a = &p->facts;
    *a = o->facts;
    if (a->products_measured > 0) a->products = a->products_measured, a->entries = a->entries_measured;
    p->count = p->wanted ? model_count() : 1;
    if (!(p->line = mem_zeroed(p->count, sizeof *p->line))) return fail_memory(e, "the plan", 0);
    for (int64_t i = 0; i < p->count; i++)
        TRY(line_of(f, o, a, p->wanted ? model_at(i)->name : settings_text(f->s, SET_MODEL), &p->line[i], e));
    return ANYGP_OK;
}

static anygp_status make(fit_task *f, gp_plan *p, anygp_error *e)
{
    auto_outlook o;
    anygp_status status = auto_look(f, true, &o, e);
    snprintf(p->likelihood, sizeof p->likelihood, "%s", f->choice.like.ops->name);
    if (!ANYGP_FAILED(status)) status = list_models(f, &o, p, e);
    if (!ANYGP_FAILED(status)) status = mark_choice(f, &o, p, e);
    if (!ANYGP_FAILED(status)) sort_lines(p);
    dataset_clear(&o.seen);
    return status;
}

anygp_status gp_plan_make(const gp_data *data, const settings *s, gp_plan *out, anygp_error *e)
{
    fit_columns c = {0};
    fit_task f = {.data = data, .columns = &c};
    settings *implied = NULL;
    anygp_status status = ANYGP_OK;
    *out = (gp_plan){.wanted = settings_is(s, SET_MODEL, "auto")};
    TRY_DONE(fit_columns_find(data->table, s, &c, e));
    TRY_DONE(fit_find_sphere(data->table, s, &c, e));
    TRY_DONE(fit_implied(data->table, &c, s, &implied, e));
    f.s = f.later = implied ? implied : s;
    TRY_DONE(fit_balance(data, f.s, &c, e));
    TRY_DONE(choice_parse(f.s, &f.choice, e));
    TRY_DONE(valid_parse(f.s, &f.valid, &f.hold_out, e));
    TRY_DONE(make(&f, out, e));
done:
    fit_columns_clear(&c);
    settings_free(implied);
    model_free(f.choice.model);
    if (ANYGP_FAILED(status)) gp_plan_clear(out);
    return status;
}
