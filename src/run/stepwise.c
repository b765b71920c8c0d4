/* Runs of models that have steps of their own (stepwise.h). */
#include "run/stepwise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "run/plan.h"
#include "run/run.h"
#include "run/sampler.h"

enum { STEPS_FIXED = 40, WAIT = 10, RETRIES = 3, FAILURES_MOST = 20 };
static const double LEARNING_SHARE = 0.75, RATE = 0.05, ROWS_A_POINT = 20, RHO_MOST = 0.5, LOOKING_SHARE = 0.25;

typedef struct stepwise {
    run r;
    double rho; /* where the running mean stops */
} stepwise;

/* ------------------------------------------------------------------------------------ schedules */

/* A natural step of size 1 over all rows is exact where noise is Gaussian and q has one factor. */
static bool one_step_arrives(const stepwise *w)
{
    return run_sees_all(&w->r) && likelihood_is_gaussian(w->r.p->likelihood) && w->r.p->set_count <= 1 &&
           !w->r.model->needs.own_rate && w->r.p->grow == 0;
}

static double default_rho(const stepwise *w)
{
    double rows = w->r.model->rows(w->r.state) * (double)w->r.S / (double)w->r.P;
    double M = (double)(w->r.p->grow > 0 ? w->r.p->subset : w->r.h->M);
    if (run_sees_all(&w->r)) return one_step_arrives(w) ? 1 : RHO_MOST;
    return fmin(RHO_MOST, fmax(rows / (ROWS_A_POINT * M), 1e-3));
}

/* What is left of the first rate: falls linearly, to a twentieth where learning ends. */
static double fallen(const stepwise *w) { return 1 - 0.95 * fmin(w->r.share / LEARNING_SHARE, 1); }

/* While hyperparameters are learned: as they move less q is given a longer memory, up to an epoch, and less of the sample's
   noise.  mnist's bound ended 280 higher for it (300 inducing inputs, 500 steps), kin40k's 390 lower (256, Gaussian noise), so
   it is done where noise is not Gaussian. */
static double rho_learning(const stepwise *w)
{
    double epoch = (double)w->r.S / (double)w->r.P;
    if (likelihood_is_gaussian(w->r.p->likelihood)) return w->rho;
    return fmax(w->rho * fallen(w) * fallen(w), fmin(w->rho, epoch));
}

static double rho_now(const stepwise *w)
{
    if (run_sees_all(&w->r)) return w->rho;
    double mean = 1 / (2 + (double)w->r.t), rho = rho_learning(w);
    return fmax(mean, w->r.turned < 0 ? rho : rho / (1 + rho * (double)(w->r.t - w->r.turned)));
}

static double rate_now(const stepwise *w)
{
    double first = w->r.o->anytime.step;
    if (w->r.model->needs.own_rate) return isnan(first) ? 0 : first;
    return (isnan(first) ? RATE : first) * fallen(w);
}

/* Whether hyperparameters move in this step: once q has seen a few samples, and until the last quarter. */
static bool learns_now(const stepwise *w)
{
    const run *r = &w->r;
    double frozen = r->model->steps->frozen;
    if (r->model->needs.own_rate && frozen == 0) return true; /* of what is not fixed */
    return r->learns && r->turned < 0 && (r->t >= WAIT || run_sees_all(r)) && r->share >= frozen;
}

static int64_t default_steps(const stepwise *w)
{
    int64_t epoch = (w->r.P + w->r.S - 1) / w->r.S, steps = w->r.learns ? PLAN_EPOCHS * epoch : 4 * epoch;
    if (one_step_arrives(w) && !w->r.learns && !model_is_mixture(w->r.model)) return 1;
    int64_t least = w->r.learns || w->r.p->set_count > 1 ? PLAN_STEPS_LEAST : STEPS_FIXED, N = w->r.p->grow;
    if (N > 0 && 2 * (w->r.p->subset / N) > least)
        least = 2 * (w->r.p->subset / N); /* half of them with all there are */
    return steps < least ? least : steps > PLAN_STEPS_MOST ? PLAN_STEPS_MOST : steps;
}

/* ---------------------------------------------------------------------------------------- steps */

/* What a step tries before it begins gets a share of the time; a caller who wants to stop is heard at once. */
static bool enough(void *ctx)
{
    run *r = ctx;
    anygp_error unused;
    int flags = r->p->comm->rank == 0 && run_report(r, false);
    flags |= run_elapsed(r) > LOOKING_SHARE * r->o->time_limit;
    r->asked = clock_seconds();
    return ANYGP_FAILED(train_agree(r->p, &flags, &unused)) || flags;
}

/* A bound over all rows is taken as it is; bounds on samples have a running mean. */
static void keep_value(run *r, double value)
{
    if (!isfinite(value)) return;
    if (!run_sees_all(r))
        run_smooth(r, value);
    else
        r->value = value, r->valued++;
}

/* A step that broke down is tried again, smaller. */
static anygp_status step(run *r, int attempt, anygp_error *e)
{
    const stepwise *w = (const stepwise *)r;
    bool all = run_sees_all(r);
    double value, smaller = pow(0.1, attempt);
    step_context c = {.seed = r->p->seed,
                      .t = r->t,
                      .steps = r->steps,
                      .share = r->share,
                      .count = r->S,
                      .which = all ? NULL : r->which,
                      .scale = (double)r->P / (double)r->S,
                      .rho = smaller * rho_now(w),
                      .rate = smaller * rate_now(w),
                      .learn = learns_now(w),
                      .settle = r->learns && r->turned >= 0,
                      .enough = enough,
                      .ctx = r};
    if (!all) sample_blocks(r->p->seed, r->t, r->P, r->S, r->o->anytime.replace, r->which);
    TRY(r->model->steps->step(r->state, r->h, &c, &value, e));
    keep_value(r, value);
    return ANYGP_OK;
}

static anygp_status posteriors(run *r, double *jitter, posterior **out, anygp_error *e)
{
    anygp_status status = r->model->steps->posteriors(r->state, r->h, &r->jitter, out, e);
    *jitter = r->jitter;
    return status;
}

/* ---------------------------------------------------------------------------------- checkpoints */

static anygp_status save(run *r, checkpoint *to, anygp_error *e) { return r->model->steps->save(r->state, to, e); }

static bool restore(run *r, const checkpoint *from, anygp_error *e)
{
    (void)e;
    return r->model->steps->restore(r->state, r->h, from);
}

/* ------------------------------------------------------------------------------------------ run */

static const learner stepwise_learner = {.name = "steps",
                                         .learning = LEARNING_SHARE,
                                         .scored = true,
                                         .step = step,
                                         .posteriors = posteriors,
                                         .save = save,
                                         .restore = restore};

static anygp_status open_run(stepwise *w, anygp_error *e)
{
    run *r = &w->r;
    const anytime_options *a = &r->o->anytime;
    TRY(run_sample_init(r, e));
    w->rho = isnan(a->rho) ? default_rho(w) : fmin(a->rho, 1);
    r->steps = a->steps > 0 ? a->steps : default_steps(w);
    r->retries = RETRIES, r->failures_most = FAILURES_MOST;
    return r->model->steps->begin(r->state, r->h, r->jitter, e);
}

/* The bound over all rows, where a pass over them takes no longer than the steps did; else the running estimate. */
static anygp_status final_bound(run *r, train_result *result, anygp_error *e)
{
    double value, pass = r->longest * (double)r->P / (double)r->S;
    int affordable;
    TRY(run_affords_pass(r, pass, &affordable, e));
    if (!affordable) return ANYGP_OK;
    anygp_status status = r->model->steps->bound(r->state, r->h, &value, e);
    const step_ops *steps = r->model->steps;
    if (status == ANYGP_OK) result->objective = value, result->exact = !(steps->sampled && steps->sampled(r->state));
    return status == ANYGP_ERR_NUMERIC ? ANYGP_OK : status;
}

anygp_status stepwise_run(const model_ops *model, void *state, const problem *p, hyper *h, const train_options *o,
                          anygp_status stopped, train_result *result, posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    stepwise w = {0};
    run *r = &w.r;
    run_init(r, &stepwise_learner, model, state, p, h, o, stopped);
    TRY_DONE(open_run(&w, e));
    TRY_DONE(run_go(r, e));
    run_keep(r, result);
    TRY_DONE(final_bound(r, result, e));
    TRY_DONE(posteriors(r, &result->jitter, out, e));
    run_remark(r);
    if (model->steps->rounding) result->rounding = model->steps->rounding(state);
    const char *remark = model->steps->remark ? model->steps->remark(state) : NULL;
    if (remark) train_tell(p, o, model->needs.finds ? ANYGP_NOTE : ANYGP_WARNING, "%s", remark);
done:
    run_clear(r);
    return status;
}
