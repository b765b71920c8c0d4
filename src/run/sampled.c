/* Anytime runs of objectives that are sums (sampled.h). */
#include "run/sampled.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "linalg/jitter.h"
#include "params/ascent.h"
#include "run/plan.h"
#include "run/run.h"
#include "run/sampler.h"

enum { RETRIES = 6, FAILURES_MOST = 50, FIRST_RENEWAL = 10 };
static const double RATE = 0.05, LEFT = 0.05;

typedef struct sampled {
    run r;
    ascent up;
    double pass; /* seconds, that all blocks would take */
} sampled;

/* ---------------------------------------------------------------------------------------- blocks */

/* The blocks that there are now. */
static anygp_status count_blocks(run *r, anygp_error *e)
{
    int64_t wanted = r->o->anytime.sample;
    r->P = r->model->sum->blocks(r->state);
    if (wanted == 0) wanted = run_default_sample(r);
    r->S = wanted < r->P ? wanted : r->P;
    free(r->which);
    r->which = mem_alloc(r->S, sizeof *r->which);
    return r->which ? ANYGP_OK : fail_memory(e, "the steps", 8.0 * (double)r->S);
}

static bool renewal_is_due(const run *r)
{
    int64_t t = FIRST_RENEWAL;
    while (t < r->t) t *= 2;
    return t == r->t;
}

static anygp_status renew(sampled *s, anygp_error *e)
{
    run *r = &s->r;
    bool is_new;
    TRY(run_renew(r, RENEW_MOVED, &is_new, e));
    if (!is_new) return ANYGP_OK;
    TRY(run_made_here(r, e));
    return count_blocks(r, e);
}

/* ----------------------------------------------------------------------------------------- steps */

static double rate_now(const run *r)
{
    double first = r->o->anytime.step;
    return (isnan(first) ? RATE : first) * (1 - (1 - LEFT) * fmin(r->share, 1));
}

/* The objective as the sample tells it, and its gradient. */
static anygp_status look(sampled *s, double *value, anygp_error *e)
{
    run *r = &s->r;
    double began = clock_seconds(), scale = (double)r->P / (double)r->S;
    bool all = run_sees_all(r), finite = true;
    sample_blocks(r->p->seed, r->t, r->P, r->S, r->o->anytime.replace, r->which);
    TRY(r->model->sum->estimate(r->state, r->h, r->jitter, r->S, all ? NULL : r->which, scale, value, s->up.gp, e));
    for (int64_t i = 0; i < hyper_size(r->h); i++) finite &= isfinite(s->up.gp[i]);
    if (!finite || !isfinite(*value)) return fail_with(e, ANYGP_ERR_NUMERIC, "the objective is not a number");
    s->pass = scale * (clock_seconds() - began);
    r->longest = fmax(r->longest, r->model->sum->last * s->pass); /* the time limit leaves room for the posterior */
    return ANYGP_OK;
}

static anygp_status step(run *r, int attempt, anygp_error *e)
{
    sampled *s = (sampled *)r;
    double value;
    if (attempt == 0 && renewal_is_due(r)) TRY(renew(s, e));
    ascent_keep(&s->up);
    TRY(look(s, &value, e));
    if (run_sees_all(r))
        r->value = value;
    else
        run_smooth(r, value);
    ascent_slope(&s->up, r->h);
    ascent_step(&s->up, rate_now(r));
    TRY(train_share(r->p, r->h->free, s->up.u, e));
    hyper_unpack(r->h, s->up.u);
    return ANYGP_OK;
}

/* Back to where the step began, with more jitter. */
static void take_back(run *r)
{
    r->jitter = fmin(jitter_next(r->jitter), JITTER_MOST);
    ascent_back(&((sampled *)r)->up, r->h);
}

/* A posterior may use up the state. */
static anygp_status posteriors(run *r, double *jitter, posterior **out, anygp_error *e)
{
    (void)out, (void)e;
    *jitter = r->jitter;
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------- checkpoints */

static anygp_status save(run *r, checkpoint *to, anygp_error *e)
{
    const sampled *s = (const sampled *)r;
    (void)e;
    ascent_save(&s->up, to);
    run_made_save(r, to);
    return ANYGP_OK;
}

static bool restore(run *r, const checkpoint *from, anygp_error *e)
{
    sampled *s = (sampled *)r;
    if (!run_made_restore(r, from, e) || ANYGP_FAILED(count_blocks(r, e))) return false;
    return ascent_restore(&s->up, r->h, from);
}

/* ------------------------------------------------------------------------------------------ run */

static const learner sampled_learner = {.name = "sampled",
                                        .learning = 1,
                                        .step = step,
                                        .take_back = take_back,
                                        .posteriors = posteriors,
                                        .save = save,
                                        .restore = restore};

static anygp_status open_run(sampled *s, anygp_error *e)
{
    run *r = &s->r;
    TRY(count_blocks(r, e));
    int64_t steps = PLAN_ANYTIME_EPOCHS * ((r->P + r->S - 1) / r->S);
    r->learns = true;
    r->steps = r->o->anytime.steps > 0 ? r->o->anytime.steps : steps < PLAN_ANYTIME_LEAST ? PLAN_ANYTIME_LEAST : steps;
    r->retries = RETRIES, r->failures_most = FAILURES_MOST;
    TRY(ascent_init(&s->up, r->h, e));
    TRY(run_made_here(r, e));
    return ascent_begin(&s->up, r->h, e);
}

/* The objective over all blocks, where a pass takes no longer than the steps did; else the running estimate. */
static anygp_status final_value(sampled *s, train_result *result, anygp_error *e)
{
    run *r = &s->r;
    double value, rest = (1 + r->model->sum->last) * s->pass;
    int affordable;
    TRY(run_affords_pass(r, rest, &affordable, e));
    if (!affordable) return ANYGP_OK;
    bool found = r->model->evaluate(r->state, r->h, true, &r->jitter, &value, r->model->loo ? s->up.gp : NULL);
    if (found) result->objective = value, result->exact = true;
    if (found && r->model->loo) run_keep_loo(&result->loo, r->model->loo(r->state, r->h));
    result->jitter = r->jitter;
    const anygp_error *why = found || !r->model->failure ? NULL : r->model->failure(r->state);
    return why && ANYGP_FAILED(why->status) ? fail_with(e, why->status, "%s", why->text) : ANYGP_OK;
}

anygp_status sampled_run(const model_ops *model, void *state, const problem *p, hyper *h, const train_options *o,
                         anygp_status stopped, train_result *result, posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    sampled s = {0};
    run *r = &s.r;
    run_init(r, &sampled_learner, model, state, p, h, o, stopped);
    TRY_DONE(open_run(&s, e));
    TRY_DONE(run_go(r, e));
    run_keep(r, result);
    TRY_DONE(final_value(&s, result, e));
    TRY_DONE(model->posterior(state, h, &r->jitter, out, e));
    result->jitter = r->jitter;
    run_remark(r);
    if (model->loo_after) TRY_DONE(run_leave_out(r, out[0], &result->loo, e));
done:
    ascent_clear(&s.up);
    run_clear(r);
    return status;
}
