/* Training as the caller sees it: progress, trace, scores on the way, checkpoints. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "gp/fit.h"

typedef struct monitor {
    const fit_task *f;
    gp *g;    /* the first of those that are fitted together */
    gp **all; /* f->together of them */
    const dataset *d;
    const valid_rows *valid;
    const hyper *h;
    likelihood now; /* with the values in h, for scores */
    checkpoint_trail trail;
    int64_t capacity;
} monitor;

/* -------------------------------------------------------------------------------------- trace */

static bool keep_step(monitor *m, const train_step *step)
{
    gp *g = m->g;
    if (g->steps == m->capacity) {
        int64_t grown = m->capacity ? 2 * m->capacity : 64;
        train_step *moved = realloc(g->trace, (size_t)grown * sizeof *moved);
        if (!moved) return false;
        g->trace = moved;
        m->capacity = grown;
    }
    g->trace[g->steps++] = *step;
    const gp_hooks *hooks = m->f->hooks;
    if (hooks && hooks->step) hooks->step(hooks->ctx, m->f->columns->targets, m->f->target, step);
    return true;
}

static int64_t iterations_of(const fit_task *f)
{
    return f->iterations > 0 ? f->iterations : settings_integer(f->s, SET_ITERS);
}

static int on_step(void *ctx, const train_step *step)
{
    monitor *m = ctx;
    const settings *s = m->f->s;
    train_step data = *step;
    data.scores = fit_scores_to_data(&m->d->schema, step->scores);
    if (step->record && step->stage == TRAIN_MAIN && !keep_step(m, &data)) return 1;
    anygp_progress progress = {.stage = step->stage == TRAIN_MAIN ? "learning" : "starting point",
                               .iteration = step->iteration,
                               .iterations = step->most ? step->most : iterations_of(m->f),
                               .restart = step->restart,
                               .restarts = settings_integer(s, SET_RESTARTS),
                               .objective = step->objective,
                               .seconds = step->seconds,
                               .time_limit = isinf(m->f->limit) ? NAN : m->f->limit,
                               .rmse = data.scores.rmse,
                               .mnlp = data.scores.mnlp,
                               .coverage = data.scores.coverage};
    return settings_progress(s, &progress);
}

static void on_tell(void *ctx, anygp_log_level level, const char *sentence)
{
    const monitor *m = ctx;
    settings_log(m->f->s, level, "%s", sentence);
}

/* The share of the time left that scores on the way may take. */
static const double SCORE_SHARE = 0.05;

static anygp_status on_score(void *ctx, const posterior *p, train_scores *out, anygp_error *e)
{
    monitor *m = ctx;
    for (int64_t i = 0; i < m->now.params; i++) m->now.value[i] = m->h->like[i];
    deadline all = {m->f->began, m->f->limit, NULL}, until = deadline_part(&all, SCORE_SHARE);
    gp now = {.schema = m->d->schema,
              .posterior = (posterior *)p,
              .likelihood = &m->now,
              .kl = NAN,
              .rounding = {.error = NAN}};
    TRY(valid_rows_score(m->valid, &now, &until, out, e));
    *out = fit_scores_to_model(&m->d->schema, *out);
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------- checkpoints */

/* What must be the same to resume a run: the settings that matter, and the data, every cell of them.  Their moments are
   rounded, since a different number of ranks adds them up in a different order. */
static anygp_status fingerprint(const monitor *m, char **text, anygp_error *e)
{
    static const setting_id free_to_change[] = {SET_SPENT,   SET_TIME,   SET_ITERS, SET_CHECKPOINT,
                                                SET_RESUME,  SET_TRACE,  SET_VALID, SET_MEMORY,
                                                SET_THREADS, SET_OUTPUT, SET_REPORT};
    size_t size;
    FILE *out = open_memstream(text, &size);
    if (!out) return fail_memory(e, "the checkpoint", 0);
    for (setting_id i = 0; i < SETTING_COUNT; i++) {
        bool counts = true;
        for (size_t k = 0; k < sizeof free_to_change / sizeof *free_to_change; k++) counts &= i != free_to_change[k];
        if (counts) fprintf(out, "%s=%s\n", setting_at(i)->name, settings_text(m->f->s, i));
    }
    fprintf(out, "%s, %lld\n", m->g->model->name, (long long)choice_subset(&m->f->choice)); /* as auto may choose */
    fprintf(out, "target %lld, %lld inputs, %.12g rows, mean %.6g, sd %.6g\n", (long long)m->f->target,
            (long long)m->d->D, m->d->total, m->d->schema.y_mean, m->d->schema.y_sd);
    fprintf(out, "cells %016llx, texts %016llx\n", (unsigned long long)m->d->digest,
            (unsigned long long)schema_digest(&m->d->schema));
    fclose(out);
    return *text ? ANYGP_OK : fail_memory(e, "the checkpoint", 0);
}

static void fill_in(const monitor *m, const checkpoint *c, const hyper *h, double objective, double jitter, gp *now)
{
    now->objective = objective;
    now->objective_rows = now->rows = m->d->total, now->jitter = jitter;
    now->inducing = now->posterior->n + now->posterior->beside;
    now->log_prior = hyper_log_prior(h, NULL), now->seconds = clock_seconds() - m->f->began;
    if (!checkpoint_get_integer(c, "t", &now->iterations)) checkpoint_get_integer(c, "iterations", &now->iterations);
    now->estimate = m->f->choice.anytime || now->model->steps, now->status = ANYGP_INTERRUPTED;
}

/* The model file too, where this is the last target: a set without some targets would be a different model.  m->all is a part of
   the set that is being made, so what is saved is a list of its own. */
static anygp_status save_model(monitor *m, const checkpoint *c, const hyper *h, double objective, double jitter,
                               posterior *const *p, anygp_error *e)
{
    int64_t n = m->f->together, before = m->f->set->targets;
    anygp_status status = ANYGP_OK;
    if (!m->f->hooks->save || m->f->target + n < m->f->columns->targets) return ANYGP_OK;
    gp *now = mem_zeroed(n, sizeof *now);
    gp_set whole = *m->f->set;
    whole.gp = mem_zeroed(before + n, sizeof *whole.gp);
    if (!now || !whole.gp) {
        status = fail_memory(e, "the model", (double)n * sizeof *now);
        goto done;
    }
    for (int64_t t = 0; t < before; t++) whole.gp[t] = m->f->set->gp[t];
    for (int64_t t = 0; t < n; t++) {
        now[t] = *m->all[t];
        now[t].posterior = p[t];
        TRY_DONE(fit_describe(m->f, m->d, h, t, &now[t], e));
        fill_in(m, c, h, objective, jitter, &now[t]);
        whole.gp[before + t] = &now[t];
    }
    whole.targets = before + n;
    status = m->f->hooks->save(m->f->hooks->ctx, &whole, e);
done:
    for (int64_t t = 0; now && t < n; t++) {
        schema_clear(&now[t].schema);
        free(now[t].likelihood);
    }
    free(now);
    free(whole.gp);
    return status;
}

/* The first target's file, or that of a later one. */
static anygp_status file_of(const monitor *m, char **path, anygp_error *e)
{
    size_t size = strlen(m->f->hooks->checkpoint) + 24;
    if (!(*path = malloc(size))) return fail_memory(e, "the checkpoint's name", (double)size);
    gp_checkpoint_name(m->f->hooks->checkpoint, m->f->target, *path, size);
    return ANYGP_OK;
}

void gp_checkpoint_name(const char *first, int64_t target, char *path, size_t size)
{
    if (target == 0)
        snprintf(path, size, "%s", first);
    else
        snprintf(path, size, "%s-%lld", first, (long long)target);
}

static anygp_status save_state(monitor *m, checkpoint *c, const hyper *h, bool *whole, anygp_error *e)
{
    char *text = NULL, *path = NULL;
    anygp_status status = ANYGP_OK;
    TRY_DONE(fingerprint(m, &text, e));
    checkpoint_put_text(c, "settings", text);
    if (h->M) checkpoint_put(c, "Z", h->M * h->D, h->Z);
    TRY_DONE(file_of(m, &path, e));
    status = checkpoint_save(c, &m->trail, path, whole, e);
done:
    free(text);
    free(path);
    return status;
}

/* Hours of training are worth more than a checkpoint: the user is told, once, and the next one may succeed. */
static bool is_saved(const monitor *m, anygp_status status, const anygp_error *e)
{
    if (!ANYGP_FAILED(status)) return true;
    if (!*m->f->told_unsaved)
        settings_log(m->f->s, ANYGP_WARNING, "training goes on without a checkpoint until one can be saved: %s",
                     e->text);
    *m->f->told_unsaved = true;
    return false;
}

static bool on_save(void *ctx, checkpoint *c, const hyper *h)
{
    monitor *m = ctx;
    anygp_error e;
    bool whole = true;
    return is_saved(m, save_state(m, c, h, &whole, &e), &e) && whole;
}

static void on_save_model(void *ctx, const checkpoint *c, const hyper *h, double objective, double jitter,
                          posterior *const *p)
{
    monitor *m = ctx;
    anygp_error e;
    is_saved(m, save_model(m, c, h, objective, jitter, p, &e), &e);
}

/* NULL: this one of several targets had not begun, or is done and is fitted again. */
static anygp_status read_checkpoint(const monitor *m, bool on_disk, checkpoint **out, anygp_error *e)
{
    char *text = NULL, *path = NULL;
    anygp_status status = ANYGP_OK;
    TRY_DONE(file_of(m, &path, e));
    if (m->f->columns->targets > 1 && access(path, F_OK) != 0) goto done;
    TRY_DONE(checkpoint_read(path, on_disk, out, e));
    TRY_DONE(fingerprint(m, &text, e));
    const char *was = checkpoint_text(*out, "settings");
    if (was && !strcmp(was, text)) goto done;
    checkpoint_free(*out), *out = NULL;
    status = fail_with(e, ANYGP_ERR_ARGUMENT,
                       "%.200s is from a run with other settings or other data; start without --resume, or give the "
                       "options of that run",
                       path);
done:
    free(text);
    free(path);
    return status;
}

/* ----------------------------------------------------------------------------------------- run */

/* Those that someone asked for; a model needs one.  0: as many as the model wants. */
static int64_t given_steps(const fit_task *f)
{
    int64_t steps = iterations_of(f);
    if (f->iterations == 0 && !settings_changed(f->s, SET_ITERS)) return 0;
    return steps > 0 ? steps : 1;
}

/* Blocks that make a batch of rows; where the model's own blocks are rows, 0: as many as it would have. */
static int64_t blocks_a_step(const settings *s, const problem *p)
{
    int64_t rows = settings_integer(s, SET_BATCH);
    if (!p->blocks) return !settings_changed(s, SET_BATCH) ? 0 : rows > 0 ? rows : INT64_MAX;
    int64_t most = p->blocks->largest > 0 ? p->blocks->largest : 1;
    if (rows == 0) return p->blocks->count;
    return rows < most ? 1 : rows / most;
}

static anytime_options anytime_of(const fit_task *f, const model_ops *model, const problem *p)
{
    const settings *s = f->s;
    return (anytime_options){.on = f->choice.anytime,
                             .learn = model->steps || model->sum || settings_is(s, SET_LEARN, "anytime"),
                             .plain = settings_is(s, SET_OPTIMIZER, "sga"),
                             .replace = settings_number(s, SET_REPLACE) == 1,
                             .sample = model->steps ? blocks_a_step(s, p)
                                       : (model->sum || (model->anytime && model->anytime->blocks)) &&
                                               !settings_changed(s, SET_SAMPLE)
                                           ? 0
                                           : settings_integer(s, SET_SAMPLE),
                             .steps = given_steps(f),
                             .rho = settings_number(s, SET_RHO),
                             .tau = settings_number(s, SET_TAU),
                             .kappa = settings_number(s, SET_KAPPA),
                             .step = settings_number(s, SET_STEP)};
}

/* The share of a time limit for what comes after the training: scores, the file. */
static const double END_SHARE = 0.04, END_MOST = 2;

/* Rounding in float is amplified by the inverse root of the smallest eigenvalue of K_uu, which the jitter bounds. */
static const double MIXED_JITTER = 1e-6;

/* Relative, from the start on. */
static double first_jitter(const model_ops *m, const problem *p)
{
    return fmax(m->jitter, p->mixed && model_has_inducing(m) ? MIXED_JITTER : 0);
}

anygp_status fit_train(const fit_task *f, gp **g, const dataset *d, const problem *p, hyper *h, const valid_rows *valid,
                       train_result *r, anygp_error *e)
{
    const settings *s = f->s;
    double jitter = settings_number(s, SET_JITTER);
    const model_ops *model = g[0]->model;
    monitor m = {.f = f, .g = g[0], .all = g, .d = d, .valid = valid, .h = h, .now = *f->like};
    if (f->data->file) rows_stop(f->data->file, (stop_poll){0}); /* from here on, an early end leaves a model */
    stop_watch stop = {.poll = settings_stop(s)};
    bool named = f->hooks && f->hooks->checkpoint;
    checkpoint *resume = NULL;
    if (named && settings_number(s, SET_RESUME) == 1) TRY(read_checkpoint(&m, p->on_disk, &resume, e));
    train_options o = {.iterations = iterations_of(f),
                       .iterations_given = settings_changed(f->s, SET_ITERS),
                       .traced = settings_given(f->s, SET_TRACE),
                       .restarts = settings_integer(s, SET_RESTARTS),
                       .jitter = isnan(jitter) ? first_jitter(model, p) : jitter,
                       .time_limit = f->limit - fmin(END_SHARE * f->limit, END_MOST),
                       .began = f->began,
                       .stop = stop.poll.asked && p->comm->size == 1 ? &stop : NULL,
                       .started = f->started,
                       .start_only = f->start_only,
                       .report = on_step,
                       .tell = on_tell,
                       .score = valid ? on_score : NULL,
                       .save_every =
                           named && settings_given(s, SET_CHECKPOINT) ? settings_number(s, SET_CHECKPOINT) : INFINITY,
                       .save = on_save,
                       .save_model = on_save_model,
                       .resume = resume,
                       .ctx = &m,
                       .anytime = anytime_of(f, model, p)};
    posterior **out = mem_zeroed(f->together, sizeof *out);
    anygp_status status = out ? ANYGP_OK : fail_memory(e, "the posteriors", 8.0 * (double)f->together);
    if (out) status = train(model, p, h, &o, r, out, e);
    for (int64_t t = 0; out && t < f->together; t++) g[t]->posterior = out[t];
    free(out);
    checkpoint_free(resume);
    return status;
}

/* Where y was transformed: row by row, as an observer of f with the noise among its variance has it. */
static void score_loo_transformed(gp *g, const schema *c, const leave_one_out *l)
{
    const observer o = {&likelihood_of_f, {c->y_shift, c->y_scale}, c->warp};
    regression_scores acc;
    regression_scores_begin(&acc, c->y_mean, c->y_sd);
    for (int64_t i = 0; i < l->n; i++) {
        double t, y, mean, variance, density, cdf, low, high, crps;
        latents f = {1, &l->mean[i], &l->variance[i], 1, 1, 1, NULL};
        unit_means(o.unit, 1, &l->y[i], &t);
        y = warp_inverse(&c->warp, t);
        observe_moments(&o, &f, NULL, &mean, &variance);
        observe_density(&o, &f, &l->y[i], &density);
        observe_cdf(&o, &f, &l->y[i], NULL, &cdf);
        observe_quantile(&o, &f, NULL, 0.025, &low);
        observe_quantile(&o, &f, NULL, 0.975, &high);
        observe_crps(&o, &f, &l->y[i], &crps);
        double width = high - low;
        predicted p = {&mean, &density, &cdf, &cdf, &width, &crps};
        regression_scores_add_predicted(&acc, 1, &y, &p, &l->weight[i]);
    }
    g->loo.count = regression_scores_list(&acc, g->loo.list);
}

static void score_loo(gp *g, const schema *c, const leave_one_out *l)
{
    if (l->n == 0) return;
    if (warp_is(&c->warp)) {
        score_loo_transformed(g, c, l);
        return;
    }
    const target_scale unit = {c->y_shift, c->y_scale};
    regression_scores acc;
    regression_scores_begin(&acc, c->y_mean, c->y_sd);
    for (int64_t i = 0; i < l->n; i++) {
        double y, mean, variance;
        unit_means(unit, 1, &l->y[i], &y);
        unit_means(unit, 1, &l->mean[i], &mean);
        unit_variances(unit, 1, &l->variance[i], &variance);
        regression_scores_add(&acc, 1, &y, &mean, &variance, &l->weight[i]);
    }
    g->loo.count = regression_scores_list(&acc, g->loo.list);
}

anygp_status fit_describe(const fit_task *f, const dataset *d, const hyper *h, int64_t t, gp *g, anygp_error *e)
{
    likelihood *l = malloc(sizeof *l);
    g->schema = (schema){0}, g->likelihood = l;
    if (!l) return fail_memory(e, "the likelihood", sizeof *l);
    *l = *f->like;
    for (int64_t i = 0; i < l->params; i++) l->value[i] = h->like[t * l->params + i];
    if (g->posterior->ops->marginal_noise) l->value[0] = g->posterior->noise; /* of no expert in particular */
    return dataset_schema(d, t, &g->schema, e);
}

/* Where all rows are in one matrix it takes a third of an evaluation, for which there is no time once the limit is over. */
static double kl_of(const gp *g)
{
    bool late = g->status == ANYGP_TIME_LIMIT && !model_over_blocks(g->model);
    return late ? NAN : posterior_kl(g->posterior);
}

void fit_keep_result(gp *g, const dataset *d, const train_result *r, int64_t t)
{
    g->bounds = r->bounds[t];
    g->objective = isnan(g->bounds.own) ? r->objective : g->bounds.own, g->objective_rows = r->rows,
    g->log_prior = r->log_prior;
    g->estimate = !r->exact;
    g->jitter = r->jitter, g->rounding = r->rounding, g->rows = d->total;
    g->inducing = g->posterior->n + g->posterior->beside;
    g->iterations = r->iterations, g->evaluations = r->evaluations, g->status = r->status;
    g->kl = kl_of(g);
    score_loo(g, &d->schema, &r->loo);
}
