/* Anytime runs: the learner, its checkpoints (walk.h). */
#include "run/walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "run/plan.h"

enum { RETRIES = 6, FAILURES_MOST = 50 };
static const double LEARNING_SHARE = 0.7;

/* ---------------------------------------------------------------------------------- the learner */

static anygp_status begin(run *r, anygp_error *e) { return walk_begin((walk *)r, e); }

static anygp_status step(run *r, int attempt, anygp_error *e)
{
    (void)attempt;
    return walk_step((walk *)r, e);
}

static void take_back(run *r) { walk_take_back((walk *)r); }
static void turn(run *r) { ((walk *)r)->rho_turn = walk_rho((walk *)r, r->t); }

static anygp_status posteriors(run *r, double *jitter, posterior **out, anygp_error *e)
{
    anygp_status status = walk_posterior((walk *)r, out, e); /* which may raise the jitter */
    *jitter = r->jitter;
    return status;
}

static anygp_status save(run *r, checkpoint *to, anygp_error *e)
{
    walk *w = (walk *)r;
    (void)e;
    checkpoint_put_number(to, "rho_turn", w->rho_turn);
    checkpoint_put_integer(to, "from", w->from);
    checkpoint_put_integer(to, "absorbing", w->absorbing);
    if (w->absorbing) {
        int64_t size;
        const double *sums = w->ops->sums(w->r.state, &size);
        checkpoint_put(to, "sums", size, sums);
    }
    if (r->made) run_made_save(r, to);
    gauss_save(&w->q, "", to);
    ascent_save(&w->up, to);
    return ANYGP_OK;
}

/* What was absorbed; the start is made again. */
static bool restore_sums(walk *w, const checkpoint *c)
{
    int64_t absorbing = 0, size;
    if (!checkpoint_get_integer(c, "absorbing", &absorbing)) return false;
    w->behind = absorbing;
    if (!absorbing) return true;
    if (!w->ops->sums) return false;
    double *sums = w->ops->sums(w->r.state, &size);
    return checkpoint_get_finite(c, "sums", size, sums);
}

static int64_t default_steps(const walk *w)
{
    if (!w->r.learns) return w->epoch;
    int64_t steps = PLAN_ANYTIME_EPOCHS * w->epoch;
    return steps > PLAN_ANYTIME_LEAST ? steps : PLAN_ANYTIME_LEAST;
}

/* For the blocks that there are now. */
static anygp_status plan_steps(walk *w, anygp_error *e)
{
    run *r = &w->r;
    TRY(run_sample_init(r, e));
    w->epoch = (r->P + r->S - 1) / r->S;
    r->steps = r->o->anytime.steps > 0 ? r->o->anytime.steps : default_steps(w);
    return ANYGP_OK;
}

static bool restore(run *r, const checkpoint *from, anygp_error *e)
{
    walk *w = (walk *)r;
    if (r->made && (!run_made_restore(r, from, e) || ANYGP_FAILED(plan_steps(w, e)))) return false;
    return checkpoint_get_finite(from, "rho_turn", 1, &w->rho_turn) && (r->turned < 0 || w->rho_turn > 0) &&
           checkpoint_get_counter(from, "from", 0, &w->from) && w->from <= r->t && restore_sums(w, from) &&
           gauss_restore(&w->q, NULL, "", from) && ascent_restore(&w->up, r->h, from);
}

static const learner walk_learner = {.name = "walk",
                                     .learning = LEARNING_SHARE,
                                     .scored = true,
                                     .begin = begin,
                                     .step = step,
                                     .take_back = take_back,
                                     .turn = turn,
                                     .posteriors = posteriors,
                                     .save = save,
                                     .restore = restore};

/* ------------------------------------------------------------------------------------------ run */

static void walk_close(walk *w)
{
    gauss_clear(&w->q);
    ascent_clear(&w->up);
    double *const owned[] = {w->V, w->start_S, w->start_b};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    run_clear(&w->r);
}

/* Who is near whom, at these hyperparameters. */
static anygp_status make_given(run *r, anygp_error *e)
{
    bool is_new;
    if (!r->model->renew) return ANYGP_OK;
    TRY(r->model->renew(r->state, r->h, 0, &is_new, e));
    return run_made_here(r, e);
}

static anygp_status walk_open(walk *w, anygp_error *e)
{
    run *r = &w->r;
    const anytime_options *a = &r->o->anytime;
    TRY(make_given(r, e));
    TRY(plan_steps(w, e));
    if (!r->model->needs.given) /* else its coefficients are the reason; more jitter would change nothing */
        r->retries = RETRIES, r->failures_most = FAILURES_MOST;
    TRY(gauss_init(&w->q, w->ops->size(r->state), e));
    w->q.lazy = !a->plain && w->ops->prior(r->state) == 1;
    TRY(ascent_init(&w->up, r->h, e));
    if (!(w->V = mem_doubles(w->q.M, w->q.M))) return fail_memory(e, "the steps", 8.0 * (double)(w->q.M * w->q.M));
    return ascent_begin(&w->up, r->h, e);
}

/* Plain steps are as short as the worst direction of K_uu demands, which may be too short to get anywhere. */
static void tell_if_stuck(const walk *w)
{
    static const double LEAST = 1; /* nats that q has left its prior by */
    double kl = w->r.o->anytime.plain ? gauss_kl(&w->q) : INFINITY;
    if (kl < LEAST)
        train_tell(w->r.p, w->r.o, ANYGP_WARNING,
                   "the model has hardly left its prior (by %.2g nats): steps of --optimizer sga that would not lower "
                   "its bound are too short here; use --optimizer natural, or more steps (--iters)",
                   kl);
}

anygp_status walk_run(const model_ops *model, void *state, const problem *p, hyper *h, const train_options *o,
                      anygp_status stopped, train_result *result, posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    walk w = {.ops = model->anytime};
    run_init(&w.r, &walk_learner, model, state, p, h, o, stopped);
    TRY_DONE(walk_open(&w, e));
    TRY_DONE(run_go(&w.r, e));
    run_keep(&w.r, result);
    result->exact = w.exact;
    TRY_DONE(walk_posterior(&w, out, e));
    tell_if_stuck(&w);
    if (model->loo_after) TRY_DONE(model->loo_after(out[0], p, &result->loo, e));
done:
    walk_close(&w);
    return status;
}
