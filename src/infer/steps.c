#include "infer/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "infer/sampler.h"

enum {
    EPOCHS = 40,
    STEPS_LEAST = 400,
    STEPS_FIXED = 40,
    STEPS_MOST = 20000,
    WAIT = 10,
    RETRIES = 3,
    FAILURES_MOST = 20
};
static const double LEARNING_SHARE = 0.75, RATE = 0.05, ROWS_A_POINT = 20, RHO_MOST = 0.5, FORGETS = 3,
                    SMOOTHING = 0.05, LOOKING_SHARE = 0.25;

enum { FLAG_STOP = 1, FLAG_TIME = 2, FLAG_SAVE = 4 };

typedef struct run {
    const model_ops *model;
    const step_ops *ops;
    void *state;
    const problem *p;
    hyper *h;
    const train_options *o;
    posterior **out;
    int64_t T;           /* targets */
    int64_t P, S, steps; /* blocks: all, of a step */
    int64_t t;           /* steps done */
    double share;        /* of the run that is done, by steps or by the clock of rank 0 */
    int64_t turned;      /* the step from which hyperparameters stay; -1: not yet */
    double rho;          /* where the running mean stops */
    int64_t *which;
    double value;   /* a running estimate of the bound; NaN: none yet */
    int64_t valued; /* values it rests on */
    double jitter, longest, saved, paused;
    train_scores scores;
    double asked; /* when a step last asked whether it should end */
    int64_t next_record, failures;
    anygp_status status;
} run;

static bool whole(const run *w) { return w->S == w->P; }
static bool learns(const run *w) { return w->h->free > 0 && w->o->anytime.learn; }
static double elapsed(const run *w) { return clock_seconds() - w->o->began; }

/* ------------------------------------------------------------------------------------ schedules */

/* A natural step of size 1 over all rows is exact where noise is Gaussian and q has one factor. */
static bool one_step_arrives(const run *w)
{
    return whole(w) && likelihood_is_gaussian(w->p->likelihood) && w->p->set_count <= 1 && !w->model->own_rate;
}

static double default_rho(const run *w)
{
    double rows = w->p->blocks->total * (double)w->S / (double)w->P;
    if (whole(w)) return one_step_arrives(w) ? 1 : RHO_MOST;
    return fmin(RHO_MOST, fmax(rows / (ROWS_A_POINT * (double)w->h->M), 1e-3));
}

/* What is left of the first rate: falls in a line, to a twentieth where learning ends. */
static double fallen(const run *w) { return 1 - 0.95 * fmin(w->share / LEARNING_SHARE, 1); }

/* While hyperparameters are learned: as they move less q is given a longer memory, up to an epoch, and less of the sample's
   noise.  mnist's bound ended 280 higher for it (300 inducing inputs, 500 steps), kin40k's 390 lower (256, Gaussian noise), so
   it is done where noise is not Gaussian. */
static double rho_learning(const run *w)
{
    double epoch = (double)w->S / (double)w->P;
    if (likelihood_is_gaussian(w->p->likelihood)) return w->rho;
    return fmax(w->rho * fallen(w) * fallen(w), fmin(w->rho, epoch));
}

static double rho_now(const run *w)
{
    if (whole(w)) return w->rho;
    double mean = 1 / (2 + (double)w->t), rho = rho_learning(w);
    return fmax(mean, w->turned < 0 ? rho : rho / (1 + rho * (double)(w->t - w->turned)));
}

static double rate_now(const run *w)
{
    double first = isnan(w->o->anytime.step) ? RATE : w->o->anytime.step;
    if (w->model->own_rate && isnan(w->o->anytime.step)) return 0;
    return first * fallen(w);
}

static int64_t default_steps(const run *w)
{
    int64_t epoch = (w->P + w->S - 1) / w->S, steps = learns(w) ? EPOCHS * epoch : 4 * epoch;
    if (one_step_arrives(w) && !learns(w)) return 1;
    int64_t least = learns(w) || w->p->set_count > 1 ? STEPS_LEAST : STEPS_FIXED;
    return steps < least ? least : steps > STEPS_MOST ? STEPS_MOST : steps;
}

static double share_done(const run *w)
{
    return fmax((double)w->t / (double)w->steps, isinf(w->o->time_limit) ? 0 : elapsed(w) / w->o->time_limit);
}

/* ---------------------------------------------------------------------------------------- steps */

/* A running mean that first forgets the start, then has a fixed memory; a bound of all rows is what it is. */
static void smooth(run *w, double value)
{
    if (whole(w)) {
        w->value = value, w->valued++;
        return;
    }
    double gain = fmax(SMOOTHING, FORGETS / (FORGETS + (double)w->valued++));
    w->value = gain == 1 ? value : w->value + gain * (value - w->value);
}

static void report_now(run *w, bool record, int *flags)
{
    if (train_report_step(w->o, w->t, w->steps, elapsed(w) - w->paused, w->value, w->scores, record))
        *flags |= FLAG_STOP;
}

/* What a step tries before it begins has a share of the time; a caller who wants to stop is heard at once. */
static bool enough(void *ctx)
{
    run *w = ctx;
    int flags = 0;
    anygp_error unused;
    if (w->p->comm->rank == 0) report_now(w, false, &flags);
    if (elapsed(w) > LOOKING_SHARE * w->o->time_limit) flags |= FLAG_TIME;
    w->asked = clock_seconds();
    return ANYGP_FAILED(train_agree(w->p, &flags, &unused)) || flags;
}

static anygp_status one_step(run *w, double smaller, anygp_error *e)
{
    double value;
    step_context c = {.seed = w->p->seed,
                      .t = w->t,
                      .steps = w->steps,
                      .count = w->S,
                      .which = whole(w) ? NULL : w->which,
                      .scale = (double)w->P / (double)w->S,
                      .rho = smaller * rho_now(w),
                      .rate = smaller * rate_now(w),
                      .learn = learns(w) && w->turned < 0 && (w->t >= WAIT || whole(w)),
                      .settle = learns(w) && w->turned >= 0,
                      .enough = enough,
                      .ctx = w};
    if (!whole(w)) sample_blocks(w->p->seed, w->t, w->P, w->S, w->o->anytime.replace, w->which);
    TRY(w->ops->step(w->state, w->h, &c, &value, e));
    if (isfinite(value)) smooth(w, value);
    return ANYGP_OK;
}

/* A step that breaks down is tried again, smaller; one that cannot be taken is left out.  At the first step, or after too many
   of them, the run ends with the reason. */
static anygp_status step(run *w, anygp_error *e)
{
    double smaller = 1;
    for (int k = 0;; k++, smaller *= 0.1) {
        anygp_status status = one_step(w, smaller, e);
        if (status == ANYGP_OK) return w->failures = 0, ANYGP_OK;
        if (status != ANYGP_ERR_NUMERIC) return status;
        if (k < RETRIES) continue;
        return w->t == 0 || ++w->failures > FAILURES_MOST ? status : ANYGP_OK;
    }
}

/* -------------------------------------------------------------------------------------- reports */

static anygp_status score(run *w, anygp_error *e)
{
    double began = clock_seconds();
    if (!w->o->score) return ANYGP_OK;
    TRY(w->ops->posteriors(w->state, w->h, &w->jitter, w->out, e));
    if (ANYGP_FAILED(w->o->score(w->o->ctx, w->out[0], &w->scores, e))) w->scores = train_scores_none();
    posteriors_free(w->T, w->out);
    w->paused += clock_seconds() - began;
    return ANYGP_OK;
}

static void put(void *ctx, const char *name, int64_t count, const double *values)
{
    checkpoint_put(ctx, name, count, values);
}

static bool get(const void *ctx, const char *name, int64_t count, double *values)
{
    return checkpoint_get_finite(ctx, name, count, values);
}

static anygp_status save(run *w, anygp_error *e)
{
    anygp_status status = w->ops->posteriors(w->state, w->h, &w->jitter, w->out, e);
    if (ANYGP_FAILED(status)) return status;
    checkpoint *c = checkpoint_new();
    checkpoint_put_text(c, "run", "steps");
    checkpoint_put_integer(c, "t", w->t);
    checkpoint_put_integer(c, "turned", w->turned);
    checkpoint_put_number(c, "share", w->share);
    checkpoint_put_number(c, "value", isnan(w->value) ? 0 : w->value);
    checkpoint_put_integer(c, "valued", w->valued);
    checkpoint_put_integer(c, "record", w->next_record);
    status = w->ops->save(w->state, put, c, e);
    if (!ANYGP_FAILED(status) && w->p->comm->rank == 0) w->o->save(w->o->ctx, c, w->h, w->value, w->jitter, w->out);
    posteriors_free(w->T, w->out);
    checkpoint_free(c);
    w->saved = clock_seconds();
    return status;
}

static anygp_status restore(run *w, anygp_error *e)
{
    const checkpoint *c = w->o->resume;
    const char *kind = checkpoint_text(c, "run");
    bool ok = kind && !strcmp(kind, "steps") && checkpoint_get_counter(c, "t", 0, &w->t) &&
              checkpoint_get_counter(c, "turned", -1, &w->turned) && w->turned <= w->t &&
              checkpoint_get_finite(c, "share", 1, &w->share) && w->share >= 0 &&
              checkpoint_get_finite(c, "value", 1, &w->value) && checkpoint_get_counter(c, "valued", 0, &w->valued) &&
              checkpoint_get_counter(c, "record", 0, &w->next_record) && w->ops->restore(w->state, w->h, get, c) &&
              hyper_is_sound(w->h);
    if (ok && w->valued == 0) w->value = NAN;
    return ok ? ANYGP_OK
              : fail_with(e, ANYGP_ERR_FILE,
                          "the checkpoint is of another run; start without --resume, or with the options of the run "
                          "that wrote it");
}

/* What rank 0 sees of clock and caller. */
static int look_around(run *w, bool record)
{
    int flags = 0;
    report_now(w, record, &flags);
    if (elapsed(w) + 1.5 * w->longest > w->o->time_limit) flags |= FLAG_TIME;
    if (clock_seconds() - w->saved > w->o->save_every) flags |= FLAG_SAVE;
    return flags;
}

/* After each step: scores and a row of the trace now and then, stopping, saving. */
static anygp_status after_step(run *w, anygp_error *e)
{
    bool record = w->t >= w->next_record || w->t == w->steps;
    if (record) TRY(score(w, e));
    int flags = w->p->comm->rank == 0 ? look_around(w, record) : 0;
    TRY(train_agree(w->p, &flags, e));
    w->share = share_done(w);
    TRY(train_share(w->p, 1, &w->share, e));
    if (record) w->next_record = w->t + 1 + w->t / 20;
    if (learns(w) && w->turned < 0 && w->share >= LEARNING_SHARE) w->turned = w->t;
    if (flags & FLAG_SAVE) TRY(save(w, e));
    if (flags & FLAG_TIME) w->status = ANYGP_TIME_LIMIT;
    if (flags & FLAG_STOP) w->status = ANYGP_INTERRUPTED;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------ run */

static anygp_status open_run(run *w, anygp_error *e)
{
    w->P = w->p->blocks->count;
    w->S = w->o->anytime.sample < w->P ? w->o->anytime.sample : w->P;
    w->T = w->p->targets > 1 ? w->p->targets : 1;
    w->rho = isnan(w->o->anytime.rho) ? default_rho(w) : fmin(w->o->anytime.rho, 1);
    w->steps = w->o->anytime.steps > 0 ? w->o->anytime.steps : default_steps(w);
    if (!(w->which = mem_alloc(w->S, sizeof *w->which))) return fail_memory(e, "the steps", 8.0 * (double)w->S);
    TRY(w->ops->begin(w->state, w->h, w->jitter, e));
    return w->o->resume ? restore(w, e) : ANYGP_OK;
}

/* The bound of all rows, where a pass over them is no longer than what the steps took; else the running estimate. */
static anygp_status final_bound(run *w, train_result *r, anygp_error *e)
{
    double value, pass = w->longest * (double)w->P / (double)w->S;
    int affordable = elapsed(w) + pass < w->o->time_limit && w->P / w->S <= w->t && w->status != ANYGP_INTERRUPTED;
    r->objective = w->value;
    TRY(train_agree(w->p, &affordable, e));
    if (!affordable) return ANYGP_OK;
    anygp_status status = w->ops->bound(w->state, w->h, &value, e);
    if (status == ANYGP_OK) r->objective = value, r->exact = true;
    return status == ANYGP_ERR_NUMERIC ? ANYGP_OK : status;
}

static anygp_status finish(run *w, train_result *r, anygp_error *e)
{
    r->status = w->status;
    r->log_prior = hyper_log_prior(w->h, NULL);
    r->iterations = r->evaluations = w->t;
    r->rows = w->model->rows(w->state);
    TRY(final_bound(w, r, e));
    TRY(w->ops->posteriors(w->state, w->h, &w->jitter, w->out, e));
    r->jitter = w->jitter;
    return ANYGP_OK;
}

anygp_status steps_run(const model_ops *model, void *state, const problem *p, hyper *h, const train_options *o,
                       anygp_status stopped, train_result *r, posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    int unused = 0;
    run w = {.model = model, .ops = model->steps, .state = state, .p = p, .h = h, .o = o, .out = out, .turned = -1};
    w.jitter = o->jitter, w.value = NAN, w.scores = train_scores_none(), w.saved = clock_seconds(), w.next_record = 1;
    TRY_DONE(open_run(&w, e));
    if (w.t == 0 && p->comm->rank == 0) report_now(&w, true, &unused);
    for (bool first = w.t == 0; first || (w.status == ANYGP_OK && w.t < w.steps); first = false) {
        double began = clock_seconds();
        TRY_DONE(step(&w, e));
        w.t++;
        w.longest = fmax(w.longest, clock_seconds() - fmax(began, w.asked));
        TRY_DONE(after_step(&w, e));
        if (w.status == ANYGP_OK) w.status = stopped; /* out of time before the first step: that one is still made */
    }
    status = finish(&w, r, e);
done:
    free(w.which);
    return status;
}
