/* From data and settings to fitted models, one per target; fit_whole.c has models with all rows in memory, fit_blocks.c those over
   blocks. */
#include "gp/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/plain.h"
#include "base/threads.h"
#include "gp/auto.h"
#include "gp/fit_blocks.h"
#include "gp/seen.h"
#include "gp/shares.h"

void gp_free(gp *g)
{
    if (!g) return;
    predictor_free(g->kept);
    schema_clear(&g->schema);
    if (g->posterior) g->posterior->ops->free(g->posterior);
    model_free(g->model);
    free(g->likelihood);
    local_scale_free(g->local);
    free(g->trace);
    free(g->name);
    free(g);
}

void gp_set_free(gp_set *m)
{
    if (!m) return;
    for (int64_t t = 0; m->gp && t < m->targets; t++) gp_free(m->gp[t]);
    free(m->gp);
    settings_free(m->settings);
    free(m);
}

/* ---------------------------------------------------------------------- what both ways share */

void note_left_out(const settings *s, int64_t rows, const char *which)
{
    if (rows > 0)
        settings_log(s, ANYGP_NOTE, "%lld row%s %s %s left out", (long long)rows, rows == 1 ? "" : "s", which,
                     rows == 1 ? "was" : "were");
}

static void note_constants(const settings *s, const schema *c)
{
    char label[96], list[256] = "";
    int64_t constants = 0;
    for (int64_t i = 0; i < c->inputs; i++) {
        if (c->input[i].position >= 0) continue;
        schema_label(&c->input[i], label);
        if (constants++ < 5 && strlen(list) + strlen(label) + 3 < sizeof list) {
            if (constants > 1) strcat(list, ", ");
            strcat(list, label);
        }
    }
    if (constants)
        settings_log(s, ANYGP_NOTE, "%lld constant column%s left out of the model: %s%s", (long long)constants,
                     constants == 1 ? " is" : "s are", list, constants > 5 ? ", ..." : "");
    if (constants == c->inputs)
        settings_log(s, ANYGP_WARNING, "%s, so all predictions will be the same",
                     c->inputs ? "no input varies" : "no column is an input");
}

/* What a user wants to know about the data before training. */
void fit_note_what_was_left_out(const fit_task *f, const dataset *d, bool all_equal)
{
    const settings *s = f->s;
    note_left_out(s, d->no_target, "without a target");
    note_left_out(s, d->no_weight, "of weight 0");
    note_constants(s, &d->schema);
    if (all_equal) settings_log(s, ANYGP_WARNING, "all targets are equal to %g; there is nothing to learn", d->y[0]);
}

/* Data and the values in the kernel to model units. */
static anygp_status standardize(const fit_task *f, dataset *d, kernel *k, anygp_error *e)
{
    const settings *s = f->s;
    bool both = settings_is(s, SET_STANDARDIZE, "both");
    int64_t *group = mem_alloc(d->D, sizeof *group);
    if (!group) return fail_memory(e, "column groups", 8.0 * (double)d->D);
    kernel_groups(k, group);
    anygp_status status =
        dataset_standardize(d, group, both || settings_is(s, SET_STANDARDIZE, "x"),
                            f->choice.like.ops->standardize && (both || settings_is(s, SET_STANDARDIZE, "y")), e);
    free(group);
    gp_given_to_model_units(k, &d->schema);
    return status;
}

static bool has_numbers(const schema *c)
{
    for (int64_t j = 0; j < c->D; j++)
        if (!schema_at(c, j)->text) return true;
    return false;
}

/* The kernel with the term that rows of one part share.  Each is read by itself first, for what there is to say about it.  A length-scale
   that is not given begins shorter than the kernel's own, so that the two terms are told apart. */
static anygp_status add_local(const schema *c, const char *text, const char *local, kernel **k, anygp_error *e)
{
    static const double SHORTER = 0.25;
    size_t size = strlen(text) + strlen(local) + 16;
    char *both = mem_alloc((int64_t)size, 1);
    kernel *alone = NULL;
    if (!both) return fail_memory(e, "the kernel", (double)size);
    snprintf(both, size, "(%s) + (%s)", text, local);
    if (!has_numbers(c)) {
        free(both), kernel_free(*k), *k = NULL;
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "model: its second term, %s, needs an input that is a number, and all are categories; use "
                         "--model exact or vfe",
                         local);
    }
    anygp_status status = gp_parse_kernel(local, c, &alone, e);
    kernel_free(alone);
    kernel_free(*k);
    *k = NULL;
    if (!ANYGP_FAILED(status)) status = gp_parse_kernel(both, c, k, e);
    free(both);
    if (ANYGP_FAILED(status)) return status;
    for (int64_t i = kernel_left_count(*k); i < kernel_count(*k); i++) {
        const kernel_param *p = kernel_param_at(*k, i);
        if (p->role == ROLE_LENGTH && !p->given && !p->fixed) kernel_values(*k)[i] *= SHORTER;
    }
    return ANYGP_OK;
}

anygp_status fit_kernel_of(const settings *s, const model_ops *m, const schema *c, kernel **k, anygp_error *e)
{
    const char *text = settings_given(s, SET_KERNEL) ? settings_text(s, SET_KERNEL) : gp_default_kernel(c);
    TRY(gp_parse_kernel(text, c, k, e));
    return m && m->local ? add_local(c, text, m->local, k, e) : ANYGP_OK;
}

anygp_status fit_kernel(const fit_task *f, dataset *d, kernel **k, anygp_error *e)
{
    TRY(fit_kernel_of(f->s, f->choice.model, &d->schema, k, e));
    if (fit_weighted(f->columns) && kernel_has_white(*k))
        return fail_with(
            e, ANYGP_ERR_ARGUMENT,
            "a white kernel tells equal rows apart, so it cannot be used with --weights or --class-weight; "
            "use --noise alone");
    return standardize(f, d, *k, e);
}

/* -------------------------------------------------------------------------------------- targets */

static anygp_status name_model(const fit_task *f, gp *g, anygp_error *e)
{
    size_t size = strlen(g->model->name) + 2;
    if (!(g->name = malloc(size))) return fail_memory(e, "the model's name", (double)size);
    memcpy(g->name, g->model->name, size - 1);
    strcpy(g->name + size - 2, f->choice.anytime ? "+" : "");
    return ANYGP_OK;
}

static anygp_status take_model(const fit_task *f, gp *g, anygp_error *e)
{
    g->model = model_copy(f->choice.model);
    return g->model ? name_model(f, g, e) : fail_memory(e, "the model", 0);
}

anygp_status fit_some(fit_task *f, gp **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    f->began = clock_seconds();
    for (int64_t t = 0; t < f->together; t++) {
        if (!(out[t] = calloc(1, sizeof *out[t]))) {
            status = fail_memory(e, "the model", sizeof **out);
            goto done;
        }
        out[t]->bounds = evidence_bounds_none();
        out[t]->kl = out[t]->rounding.error = NAN;
        out[t]->promise = f->promise;
        TRY_DONE(take_model(f, out[t], e));
    }
    const model_ops *model = out[0]->model;
    TRY_DONE(model_over_blocks(model) ? fit_blocks(f, out, e) : fit_whole(f, out[0], e));
    for (int64_t t = 0; t < f->together; t++) { out[t]->seconds = clock_seconds() - f->began; }
done:
    for (int64_t t = 0; ANYGP_FAILED(status) && t < f->together; t++) gp_free(out[t]), out[t] = NULL;
    return status;
}

/* Models that share their features over targets fit them all at once.  Classes of different targets are not the same; a q by
   anytime steps is one target's; and a kernel that stays as it is given cannot be that of targets of different units. */
static int64_t how_many(const fit_task *f)
{
    const model_ops *m = f->choice.model;
    bool scaled = settings_is(f->s, SET_STANDARDIZE, "both") || settings_is(f->s, SET_STANDARDIZE, "y");
    bool may = model_by_steps(m) ? f->choice.like.ops->target != TARGET_CLASS
                                 : !f->choice.anytime && !(f->choice.fix_kernel && scaled);
    return model_takes_targets(m) && may ? f->columns->targets : 1;
}

static const double TIME_OVER = 1.05, SMALL_SECONDS = 2;

/* Classes and counts of few rows go to one thread: their steps are so short that waking the others, on a busy machine, takes longer
   than they do. */
static anygp_status fit_alone(fit_task *f, gp **out, anygp_error *e)
{
    double promised = f->promise.seconds;
    bool small = !likelihood_is_gaussian(&f->choice.like) && promised > 0 && promised < SMALL_SECONDS &&
                 settings_integer(f->s, SET_THREADS) == 0;
    int former = small ? threads_enter(1) : 0;
    anygp_status status = auto_fit(f, out, e);
    if (small) threads_enter(former);
    return status;
}

static double spent(const settings *s) { return settings_given(s, SET_SPENT) ? settings_number(s, SET_SPENT) : 0; }

/* One after the other, or all at once; each may take an equal share of the time that is left, and none once the caller said
   stop. */
static anygp_status fit_targets(fit_task *f, anygp_error *e)
{
    double began = clock_seconds(), limit = settings_number(f->s, SET_TIME) - spent(f->s);
    anygp_status worst = ANYGP_OK;
    gp_set *m = f->set;
    TRY(auto_choose(f, e));
    TRY(choice_check_rows(&f->choice, f->s, fit_weighted(f->columns), e));
    TRY(valid_settle(f, e));
    if (isnan(limit)) limit = INFINITY;
    if (f->budget > 0) limit = fmin(limit, f->budget);
    f->together = how_many(f);
    for (int64_t k = 0; k < f->columns->targets; k += f->together) {
        double share = (limit - (clock_seconds() - began)) * (double)f->together / (double)(f->columns->targets - k);
        fit_task some = *f;
        if (f->columns->targets > 1) some.start = NULL; /* it belongs to the first target only */
        some.target = k, some.limit = worst == ANYGP_INTERRUPTED ? 0 : fmax(share, 0);
        TRY(fit_alone(&some, m->gp + k, e));
        f->s = f->later;
        for (int64_t t = k; t < k + f->together; t++) {
            gp *g = m->gp[t];
            m->targets++;
            if (g->status > worst) worst = g->status;
            if (worst == ANYGP_INTERRUPTED) g->status = worst;
            valid_score(&some, g);
        }
    }
    return worst;
}

/* Some things cannot be cut short: reading, a pass over all rows, one factorisation.  A limit that was not kept is reported. */
static void warn_of_overrun(const fit_task *f, double seconds)
{
    double limit = settings_number(f->s, SET_TIME);
    if (!(seconds > TIME_OVER * limit + 1) || comm_world()->rank != 0) return;
    settings_log(
        f->s, ANYGP_WARNING,
        "the fit took %.*g s, longer than its limit of %.*g s: so many rows cannot be read, placed in blocks or "
        "factorised in less; give it more --time, or fit fewer rows",
        plain_digits(seconds, 3), seconds, plain_digits(limit, 3), limit);
}

static void note_kernel(const gp *g, const settings *s)
{
    const char *note = kernel_note(g->posterior->kernel);
    if (note && comm_world()->rank == 0) settings_log(s, ANYGP_NOTE, "%s", note);
}

static anygp_status fit_found(const gp_data *data, const fit_columns *c, const settings *s, const gp_hooks *hooks,
                              gp_set **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    bool told_unsaved = false;
    double began = clock_seconds();
    gp_set *m = calloc(1, sizeof *m);
    fit_task f = {.data = data, .columns = c, .s = s, .set = m, .hooks = hooks, .told_unsaved = &told_unsaved};
    if (!m) return fail_memory(e, "the model", sizeof *m);
    settings *later = settings_copy(s);
    if (!later) {
        status = fail_memory(e, "the settings", 0);
        goto done;
    }
    settings_on_stop(later, NULL, NULL);
    f.later = later;
    if (data->file) rows_stop(data->file, settings_stop(s));
    TRY_DONE(choice_parse(s, &f.choice, e));
    TRY_DONE(valid_parse(s, &f.valid, &f.hold_out, e));
    if (f.valid == VALID_FILE) TRY_DONE(valid_check_file(s, e));
    m->settings = settings_copy(s);
    m->gp = mem_zeroed(c->targets, sizeof *m->gp);
    if (!m->settings || !m->gp) {
        status = fail_memory(e, "the model", 8.0 * (double)c->targets);
        goto done;
    }
    settings_on_log(m->settings, NULL, NULL); /* the caller's contexts do not outlive this call */
    settings_on_progress(m->settings, NULL, NULL);
    settings_on_stop(m->settings, NULL, NULL);
    TRY_DONE(fit_targets(&f, e));
    if (f.valid == VALID_FILE && comm_world()->rank == 0) valid_score_file(m, later);
    anygp_status noted =
        data->file ? ANYGP_OK : seen_add_table(m, data->table, e); /* not TRY_DONE: a fit that was stopped stays so */
    if (ANYGP_FAILED(noted)) {
        status = noted;
        goto done;
    }
    for (int64_t t = 0; t < m->targets && !data->file; t++)
        fit_suits(data->table, c->target[t], s, m->gp[t]->suits, sizeof m->gp[t]->suits);
    note_kernel(m->gp[0], s);
    warn_of_overrun(&f, clock_seconds() - began + spent(s));
    for (int64_t t = 0; t < m->targets && comm_world()->rank == 0; t++) gp_warn_of_baseline(m->gp[t], s);
done:
    if (data->file) rows_stop(data->file, (stop_poll){0});
    settings_free(later);
    if (f.start) f.start->ops->free(f.start);
    model_free(f.choice.model);
    if (ANYGP_FAILED(status))
        gp_set_free(m);
    else
        *out = m;
    return status;
}

anygp_status gp_fit(const gp_data *data, const settings *s, const gp_hooks *hooks, gp_set **out, anygp_error *e)
{
    fit_columns c = {0};
    settings *implied = NULL, *round = NULL, *charged = NULL;
    double began = clock_seconds();
    anygp_status status = fit_columns_find(data->table, s, &c, e);
    if (!ANYGP_FAILED(status)) status = fit_find_sphere(data->table, s, &c, e);
    if (!ANYGP_FAILED(status)) status = fit_implied(data->table, &c, s, &implied, e);
    const settings *all = implied ? implied : s;
    if (!ANYGP_FAILED(status)) status = fit_balance(data, all, &c, e);
    if (!ANYGP_FAILED(status)) status = fit_transform(data, all, &c, e);
    if (!ANYGP_FAILED(status)) status = fit_isotropic(data, &c, all, &round, e);
    if (!ANYGP_FAILED(status)) status = fit_charge(round ? round : all, clock_seconds() - began, &charged, e);
    if (!ANYGP_FAILED(status)) status = fit_found(data, &c, charged ? charged : round ? round : all, hooks, out, e);
    settings_free(charged);
    settings_free(round);
    settings_free(implied);
    fit_columns_clear(&c);
    return status;
}
