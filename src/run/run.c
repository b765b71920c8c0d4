/* The loop of all runs (run.h). */
#include "run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

static const double SMOOTHING = 0.05, FORGETS = 3;
static const double ROOM = 1.5; /* pieces of work that must still fit before the limit: one, and the posterior */

enum { FLAG_STOP = 1, FLAG_TIME = 2, FLAG_SAVE = 4 };

void run_init(run *r, const learner *l, const model_ops *model, void *state, const problem *p, hyper *h,
              const train_options *o, anygp_status stopped)
{
    *r = (run){.learner = l, .model = model, .state = state, .p = p, .h = h, .o = o, .stage = TRAIN_MAIN};
    r->targets = p->targets > 1 ? p->targets : 1;
    r->turned = -1, r->value = NAN, r->jitter = o->jitter, r->scores = train_scores_none(), r->next_record = 1;
    r->saved = clock_seconds(), r->status = stopped, r->failures_most = -1;
    r->saves = isfinite(o->save_every) && stopped == ANYGP_OK;
    r->renewal = run_elapsed(r); /* all that was done so far */
}

int64_t run_default_sample(const run *r)
{
    static const double ROWS = 2000, SHARE = 0.01;
    double rows = r->model->rows(r->state) / (double)r->P; /* of a block */
    return (int64_t)ceil(fmax(ROWS / rows, SHARE * (double)r->P));
}

anygp_status run_sample_init(run *r, anygp_error *e)
{
    const model_ops *m = r->model;
    int64_t (*own)(const void *state) = m->steps ? m->steps->blocks : m->anytime ? m->anytime->blocks : NULL;
    int64_t wanted = r->o->anytime.sample;
    r->P = own ? own(r->state) : r->p->blocks->count;
    if (wanted == 0) wanted = run_default_sample(r);
    r->S = wanted < r->P ? wanted : r->P;
    r->learns = r->h->free > 0 && r->o->anytime.learn;
    free(r->which);
    r->which = mem_alloc(r->S, sizeof *r->which);
    return r->which ? ANYGP_OK : fail_memory(e, "the steps", 8.0 * (double)r->S);
}

void run_clear(run *r)
{
    free(r->which);
    free(r->made);
    r->which = NULL, r->made = NULL;
}

anygp_status run_made_here(run *r, anygp_error *e)
{
    if (!r->made) r->made = mem_alloc(r->h->free, sizeof *r->made);
    if (!r->made) return fail_memory(e, "the steps", 8.0 * (double)r->h->free);
    hyper_pack(r->h, r->made);
    return ANYGP_OK;
}

void run_made_save(const run *r, checkpoint *to) { checkpoint_put(to, "made", r->h->free, r->made); }

bool run_made_restore(run *r, const checkpoint *from, anygp_error *e)
{
    bool is_new;
    if (!checkpoint_get_finite(from, "made", r->h->free, r->made)) return false;
    hyper_unpack(r->h, r->made);
    if (!hyper_is_sound(r->h)) return fail_with(e, ANYGP_ERR_FILE, "the checkpoint is damaged"), false;
    return !r->model->renew || !ANYGP_FAILED(r->model->renew(r->state, r->h, 0, &is_new, e));
}

/* ----------------------------------------------------------------------------------------- clock and caller */

double run_elapsed(const run *r) { return clock_seconds() - r->o->began; }

void run_worked(run *r, double began, double paused)
{
    double asked = fmax(began, r->asked); /* what it tried before it last asked is not part of its usual time */
    r->longest = fmax(r->longest, clock_seconds() - asked - (r->paused - paused));
}

bool run_is_late(const run *r) { return run_elapsed(r) + ROOM * r->longest > r->o->time_limit; }

void run_smooth(run *r, double value)
{
    double gain = fmax(SMOOTHING, FORGETS / (FORGETS + (double)r->valued++));
    r->value = gain == 1 ? value : r->value + gain * (value - r->value);
}

anygp_status run_affords_pass(run *r, double seconds, int *affordable, anygp_error *e)
{
    *affordable = run_elapsed(r) + seconds < r->o->time_limit && r->P / r->S <= r->t && r->status != ANYGP_INTERRUPTED;
    return train_agree(r->p, affordable, e);
}

anygp_status run_renew(run *r, double moved, bool *renewed, anygp_error *e)
{
    double began = clock_seconds();
    int affordable = r->status == ANYGP_OK && run_elapsed(r) + 2 * r->renewal + ROOM * r->longest < r->o->time_limit;
    *renewed = false;
    if (!r->model->renew) return ANYGP_OK;
    TRY(train_agree(r->p, &affordable, e));
    if (!affordable) return ANYGP_OK;
    TRY(r->model->renew(r->state, r->h, moved, renewed, e));
    if (!*renewed) return ANYGP_OK;
    r->renewal = clock_seconds() - began;
    if (r->o->traced)
        train_tell(r->p, r->o, ANYGP_NOTE,
                   "neighbours were found again, since length-scales have moved: the objective in the trace is another "
                   "one from here on");
    return ANYGP_OK;
}

bool run_report(run *r, bool record)
{
    train_step now = {.stage = r->stage,
                      .iteration = r->t,
                      .evaluations = r->t,
                      .most = r->steps,
                      .seconds = run_elapsed(r) - r->paused,
                      .objective = r->value,
                      .scores = r->scores,
                      .record = record};
    if (r->learner->describe) r->learner->describe(r, &now);
    return r->o->report && r->o->report(r->o->ctx, &now);
}

/* ---------------------------------------------------------------------------------- scores, checkpoints */

typedef anygp_status (*looker)(run *r, checkpoint *c, double jitter, posterior **now, anygp_error *e);

/* Posteriors so far, for someone to look at. */
static anygp_status with_posteriors(run *r, looker look, checkpoint *c, anygp_error *e)
{
    double jitter = r->jitter;
    posterior **now = mem_zeroed(r->targets, sizeof *now);
    if (!now) return fail_memory(e, "the posteriors", 8.0 * (double)r->targets);
    anygp_status status = r->learner->posteriors(r, &jitter, now, e);
    if (!ANYGP_FAILED(status)) status = look(r, c, jitter, now, e);
    posteriors_free(r->targets, now);
    free(now);
    return status;
}

/* Only rank 0 has rows to score on, but posteriors are made by all.  Scores that cannot be had are missing in the trace. */
static anygp_status look_at_scores(run *r, checkpoint *c, double jitter, posterior **now, anygp_error *e)
{
    (void)c, (void)jitter;
    if (r->o->score && ANYGP_FAILED(r->o->score(r->o->ctx, now[0], &r->scores, e))) r->scores = train_scores_none();
    return ANYGP_OK;
}

/* What is done for the trace only does not count as time of the run. */
static anygp_status score(run *r, anygp_error *e)
{
    double began = clock_seconds();
    anygp_status status = with_posteriors(r, look_at_scores, NULL, e);
    r->paused += clock_seconds() - began;
    return status;
}

/* Hyperparameters that are not learned are nowhere else: the search for a start may have moved them, and a resumed run does not search. */
static anygp_status save_fixed(const hyper *h, checkpoint *c, anygp_error *e)
{
    double *values = mem_alloc(h->count, sizeof *values);
    if (!values) return fail_memory(e, "a checkpoint", 8.0 * (double)h->count);
    for (int64_t i = 0; i < h->count; i++) values[i] = hyper_facts(h, i)->free ? 0 : hyper_get(h, i);
    checkpoint_put(c, "fixed", h->count, values);
    free(values);
    return ANYGP_OK;
}

static bool restore_fixed(hyper *h, const checkpoint *c)
{
    double *values = mem_alloc(h->count, sizeof *values);
    bool ok = values && checkpoint_get_finite(c, "fixed", h->count, values);
    for (int64_t i = 0; ok && i < h->count; i++)
        if (!hyper_facts(h, i)->free) hyper_set(h, i, values[i]);
    free(values);
    return ok && hyper_is_sound(h);
}

static anygp_status fill(run *r, checkpoint *c, anygp_error *e)
{
    checkpoint_put_text(c, "run", r->learner->name);
    checkpoint_put_integer(c, "t", r->t);
    checkpoint_put_integer(c, "turned", r->turned);
    checkpoint_put_number(c, "share", r->share);
    checkpoint_put_number(c, "value", isnan(r->value) ? 0 : r->value);
    checkpoint_put_integer(c, "has_value", !isnan(r->value));
    checkpoint_put_integer(c, "valued", r->valued);
    checkpoint_put_integer(c, "record", r->next_record);
    checkpoint_put_number(c, "jitter", r->jitter);
    TRY(save_fixed(r->h, c, e));
    return r->learner->save(r, c, e);
}

/* *whole: all of the state, not what has changed. */
static anygp_status save_state(run *r, checkpoint *c, int *whole, anygp_error *e)
{
    TRY(fill(r, c, e));
    *whole = r->p->comm->rank == 0 && r->o->save(r->o->ctx, c, r->h);
    return ANYGP_OK;
}

static anygp_status save_model(run *r, checkpoint *c, double jitter, posterior **now, anygp_error *e)
{
    (void)e;
    if (r->p->comm->rank == 0 && now[0]) r->o->save_model(r->o->ctx, c, r->h, r->value, jitter, now);
    return ANYGP_OK;
}

static anygp_status save_both(run *r, checkpoint *c, double jitter, posterior **now, anygp_error *e)
{
    int whole;
    TRY(save_state(r, c, &whole, e));
    return whole ? save_model(r, c, jitter, now, e) : ANYGP_OK;
}

/* A state of which only changes are saved is large, and so are its posteriors: they are made and saved where all of it was. */
static anygp_status save_large(run *r, checkpoint *c, anygp_error *e)
{
    int whole;
    TRY(save_state(r, c, &whole, e));
    TRY(train_agree(r->p, &whole, e));
    return whole ? with_posteriors(r, save_model, c, e) : ANYGP_OK;
}

static anygp_status save(run *r, anygp_error *e)
{
    checkpoint *c = checkpoint_new();
    bool large = r->model->steps && r->model->steps->by_changes;
    anygp_status status = large ? save_large(r, c, e) : with_posteriors(r, save_both, c, e);
    checkpoint_free(c);
    r->saved = clock_seconds();
    return status;
}

/* Without the model, which the caller writes. */
static anygp_status save_last(run *r, anygp_error *e)
{
    checkpoint *c = checkpoint_new();
    int whole;
    anygp_status status = save_state(r, c, &whole, e);
    checkpoint_free(c);
    return status;
}

static anygp_status restore(run *r, anygp_error *e)
{
    const checkpoint *c = r->o->resume;
    const char *kind = checkpoint_text(c, "run");
    int64_t has_value = 0;
    anygp_error reason = {0};
    bool ok = kind && !strcmp(kind, r->learner->name) && checkpoint_get_counter(c, "t", 0, &r->t) &&
              checkpoint_get_counter(c, "turned", -1, &r->turned) && r->turned <= r->t &&
              checkpoint_get_finite(c, "share", 1, &r->share) && r->share >= 0 &&
              checkpoint_get_finite(c, "value", 1, &r->value) && checkpoint_get_integer(c, "has_value", &has_value) &&
              checkpoint_get_counter(c, "valued", 0, &r->valued) &&
              checkpoint_get_counter(c, "record", 0, &r->next_record) &&
              checkpoint_get_jitter(c, "jitter", &r->jitter) && restore_fixed(r->h, c) &&
              r->learner->restore(r, c, &reason) && hyper_is_sound(r->h);
    if (!has_value) r->value = NAN;
    if (ANYGP_FAILED(reason.status)) return fail_with(e, reason.status, "%s", reason.text);
    if (ok) return ANYGP_OK;
    return fail_with(
        e, ANYGP_ERR_FILE,
        "the checkpoint is from another run; start without --resume, or with the options of the run that wrote it");
}

/* ------------------------------------------------------------------------------------------------ the loop */

/* A step that breaks down is tried again; one that cannot be taken at all is left out.  At the first step, or after too many of
   them, the run ends with the reason. */
static anygp_status step(run *r, anygp_error *e)
{
    for (int attempt = 0;; attempt++) {
        anygp_status status = r->learner->step(r, attempt, e);
        if (status == ANYGP_OK) return r->failures = 0, ANYGP_OK;
        if (status != ANYGP_ERR_NUMERIC) return status;
        if (r->learner->take_back) r->learner->take_back(r);
        if (attempt < r->retries) continue;
        return r->t == 0 || ++r->failures > r->failures_most ? status : ANYGP_OK;
    }
}

/* What rank 0 sees of clock and caller. */
static int look_around(run *r, bool record)
{
    int flags = run_report(r, record) ? FLAG_STOP : 0;
    if (run_is_late(r)) flags |= FLAG_TIME;
    if (r->saves && clock_seconds() - r->saved > r->o->save_every) flags |= FLAG_SAVE;
    return flags;
}

static anygp_status turn(run *r, anygp_error *e)
{
    double by_clock = isinf(r->o->time_limit) ? 0 : run_elapsed(r) / r->o->time_limit;
    r->share = fmax((double)r->t / (double)r->steps, by_clock);
    TRY(train_share(r->p, 1, &r->share, e));
    if (!r->learns || r->turned >= 0 || r->share < r->learner->learning) return ANYGP_OK;
    if (r->learner->turn) r->learner->turn(r);
    r->turned = r->t;
    return ANYGP_OK;
}

/* After each step: scores and a row of the trace now and then, stopping, saving. */
static anygp_status after_step(run *r, anygp_error *e)
{
    bool record = r->steps == 0 || r->t >= r->next_record || r->t == r->steps;
    if (record && r->scored) TRY(score(r, e));
    int flags = r->p->comm->rank == 0 ? look_around(r, record) : 0;
    TRY(train_agree(r->p, &flags, e));
    if (record) r->next_record = r->t + 1 + r->t / 20;
    if (r->steps > 0) TRY(turn(r, e));
    if (flags & FLAG_SAVE) TRY(save(r, e));
    if (flags & FLAG_TIME) r->status = ANYGP_TIME_LIMIT;
    if (flags & FLAG_STOP) r->status = ANYGP_INTERRUPTED;
    return ANYGP_OK;
}

static bool is_over(const run *r) { return r->steps > 0 && r->t >= r->steps; }

/* Out of time before the first step: that one is still made.  A run that was stopped leaves a checkpoint of where it got to; the
   model itself is written by the caller. */
anygp_status run_go(run *r, anygp_error *e)
{
    int scored = r->learner->scored && r->o->score;
    TRY(train_agree(r->p, &scored, e));
    r->scored = scored;
    if (r->o->resume) TRY(restore(r, e));
    if (r->learner->begin) TRY(r->learner->begin(r, e));
    if (r->t == 0 && r->steps > 0 && r->p->comm->rank == 0) run_report(r, true);
    if (r->t > 0) r->done |= is_over(r); /* a resumed run may be past its end */
    for (bool first = r->t == 0; !r->done && (first || r->status == ANYGP_OK); first = false) {
        double began = clock_seconds(), paused = r->paused;
        TRY(step(r, e));
        if (r->done) break;
        r->t++;
        if (r->steps > 0) run_worked(r, began, paused);
        TRY(after_step(r, e));
        r->done = is_over(r);
    }
    return r->saves && r->t > 0 && r->status != ANYGP_OK ? save_last(r, e) : ANYGP_OK;
}

/* Models over blocks know their rows better than who made room for them; without room there is none. */
static bool reserve_loo(leave_one_out *to, int64_t n)
{
    double **const arrays[] = {&to->y, &to->mean, &to->variance, &to->weight};
    for (int i = 0; i < 4; i++) {
        double *more = realloc(*arrays[i], (size_t)(n + 1) * sizeof **arrays);
        if (!more) return false;
        *arrays[i] = more;
    }
    if (!to->X) return true;
    double *more = mem_doubles(n + 1, to->D);
    if (!more) return false;
    free(to->X);
    to->X = more;
    return true;
}

void run_keep_loo(leave_one_out *to, const leave_one_out *from)
{
    size_t bytes = (size_t)from->n * sizeof(double);
    if (from->n > to->n && !reserve_loo(to, from->n)) return;
    to->n = from->n;
    if (from->n == 0) return; /* there may be no arrays */
    memcpy(to->y, from->y, bytes);
    memcpy(to->mean, from->mean, bytes);
    memcpy(to->variance, from->variance, bytes);
    memcpy(to->weight, from->weight, bytes);
    if (to->X && from->X) memcpy(to->X, from->X, bytes * (size_t)to->D);
}

anygp_status run_leave_out(run *r, const posterior *from, leave_one_out *out, anygp_error *e)
{
    static const double BEYOND = 1.1;
    deadline until = train_deadline(r->o);
    until.limit *= BEYOND, until.stop = NULL;
    problem timed = *r->p;
    timed.pass = &until;
    int late = deadline_passed(&until) || from->later;
    TRY(train_agree(r->p, &late, e));
    if (!late) return r->model->loo_after(from, &timed, out, e);
    out->n = 0;
    train_tell(r->p, r->o, ANYGP_NOTE,
               "there was no time for leave-one-out scores; eval scores the model on other rows");
    return ANYGP_OK;
}

void run_remark(const run *r)
{
    const char *remark = r->model->remark ? r->model->remark(r->state) : NULL;
    const char *caution = r->model->caution ? r->model->caution(r->state) : NULL;
    if (remark) train_tell(r->p, r->o, r->model->needs.iterative ? ANYGP_NOTE : ANYGP_WARNING, "%s", remark);
    if (caution) train_tell(r->p, r->o, ANYGP_WARNING, "%s", caution);
}

void run_keep(const run *r, train_result *result)
{
    result->status = r->status;
    result->objective = r->value;
    result->log_prior = hyper_log_prior(r->h, NULL);
    result->iterations = result->evaluations = r->t;
    result->rows = r->model->rows(r->state);
    result->jitter = r->jitter;
}
