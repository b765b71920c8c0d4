/* Batch learning by L-BFGS: evaluations, restarts, checkpoints (climb.h). */
#include "run/climb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/constants.h"
#include "base/memory.h"
#include "base/plain.h"
#include "linalg/jitter.h"
#include "run/fisher.h"
#include "run/start.h"

/* ------------------------------------------------------------------------------ leave-one-out */

static void loo_errors(const leave_one_out *l, train_scores *out)
{
    double squares = 0, log_density = 0, weight = 0, inside = 0;
    for (int64_t i = 0; i < l->n; i++) {
        double d = l->y[i] - l->mean[i];
        if (fabs(d) <= Z95 * sqrt(l->variance[i])) inside += l->weight[i];
        squares += l->weight[i] * d * d;
        log_density -= 0.5 * l->weight[i] * (LOG_2PI + log(l->variance[i]) + d * d / l->variance[i]);
        weight += l->weight[i];
    }
    out->rmse = sqrt(squares / weight), out->mnlp = -log_density / weight, out->coverage = inside / weight;
}

/* ---------------------------------------------------------------------------------- evaluations */

static const double FIRST_SHARE = 0.5, POSTERIOR_SHARE = 0.5;

static void keep_best(climb *c, const double *u, double objective, double log_prior)
{
    run *r = &c->r;
    c->best = objective + log_prior;
    memcpy(c->best_u, u, (size_t)r->h->free * sizeof(double));
    r->value = objective, c->best_prior = log_prior, c->best_jitter = r->jitter;
    if (c->loo && r->model->loo) run_keep_loo(c->loo, r->model->loo(r->state, r->h));
}

enum { BROKEN = 1, LATE = 2 };

/* Heads are computed on each rank, perhaps by another processor to other last bits: rank 0's count, so that all take the
   same decisions. */
static anygp_status agree(climb *c, int *flags, double *value)
{
    const problem *p = c->r.p;
    TRY(train_agree(p, flags, &c->error));
    if (*flags & BROKEN) return ANYGP_OK;
    TRY(train_share(p, 1, value, &c->error));
    TRY(train_share(p, 1, &c->r.jitter, &c->error));
    return train_share(p, hyper_size(c->r.h), c->gp, &c->error);
}

/* When the evaluation that begins now is given up: it must leave time for a posterior, whose pass is like its first third. */
static void begin_pass(const climb *c)
{
    deadline all = train_deadline(c->r.o);
    if (!c->pass) return;
    *c->pass = c->r.longest > 0 ? all : deadline_part(&all, FIRST_SHARE);
    if (c->r.longest > 0) c->pass->limit -= POSTERIOR_SHARE * c->r.longest;
}

int climb_evaluate(void *ctx, const double *u, double *f, double *g)
{
    climb *c = ctx;
    run *r = &c->r;
    double began = clock_seconds(), value;
    *f = INFINITY;
    hyper_unpack(r->h, u);
    c->evaluations++;
    begin_pass(c);
    bool ok = r->model->evaluate(r->state, r->h, c->first, &r->jitter, &value, c->gp);
    const anygp_error *failure = !ok && r->model->failure ? r->model->failure(r->state) : NULL;
    c->first = false;
    if (failure && failure->status == ANYGP_TIME_LIMIT)
        return r->status = stop_heard(r->o->stop) ? ANYGP_INTERRUPTED : ANYGP_TIME_LIMIT, 1;
    run_worked(r, began, r->paused);
    if (failure && ANYGP_FAILED(failure->status)) return c->error = *failure, 1;
    int flags = (ok ? 0 : BROKEN) | (run_is_late(r) ? LATE : 0);
    if (ANYGP_FAILED(agree(c, &flags, &value))) return 1;
    if (flags & BROKEN) return c->refused = true, 0;
    hyper_chain(r->h, c->gp, g);
    double log_prior = hyper_log_prior(r->h, g);
    for (int64_t i = 0; i < r->h->free; i++) {
        g[i] = -g[i];
        if (!isfinite(g[i])) return 0;
    }
    *f = -(value + log_prior);
    if (value + log_prior > c->best) keep_best(c, u, value, log_prior);
    return flags & LATE ? (r->status = ANYGP_TIME_LIMIT, 1) : 0;
}

/* L-BFGS from the model's information, where it has it. */
static bool precondition(void *ctx, const double *u, double *d)
{
    climb *c = ctx;
    run *r = &c->r;
    hyper_unpack(r->h, u);
    int broken = !fisher_step(r->model, r->state, r->h, d);
    if (ANYGP_FAILED(train_agree(r->p, &broken, &c->error)) || broken) return false;
    return !ANYGP_FAILED(train_share(r->p, r->h->free, d, &c->error));
}

/* Seconds of one evaluation of a model that has all rows in one matrix: by what fewer rows took, or a guess; 0: no matter. */
static double expected_seconds(const climb *c)
{
    static const double CUBES = 1e10; /* n^3 per second */
    enum { QUICK_ROWS = 1600 };
    double n = (double)c->r.model->size(c->r.p);
    if (model_has_inducing(c->r.model) || c->r.model->needs.iterative || n <= QUICK_ROWS) return 0;
    return c->expected > 0 ? c->expected : n * n * n / CUBES;
}

/* Whether there is no time to learn, or the caller does not want to wait for it; the factorisation alone takes a third of an
   evaluation.  A limit that cannot be kept is reported. */
static bool too_long(climb *c)
{
    deadline until = train_deadline(c->r.o);
    double seconds = expected_seconds(c);
    if (seconds == 0) return false;
    if (c->r.status == ANYGP_INTERRUPTED) return true;
    if (deadline_fits(&until, seconds)) return false;
    c->r.status = ANYGP_TIME_LIMIT;
    if (deadline_fits(&until, seconds / 3))
        train_tell(c->r.p, c->r.o, ANYGP_WARNING,
                   "there is not enough time to learn from all rows, since one evaluation would take about %.*g s: the "
                   "hyperparameters are those of a subset; give it more --time, or use --model vfe",
                   plain_digits(seconds, 2), seconds);
    else
        train_tell(
            c->r.p, c->r.o, ANYGP_WARNING,
            "the time limit of %.*g s cannot be kept: one factorisation of %lld rows takes about %.*g s; give it "
            "--time %.0fs, or use --model vfe",
            plain_digits(c->r.o->time_limit, 3), c->r.o->time_limit, (long long)c->r.model->size(c->r.p),
            plain_digits(seconds / 3, 2), seconds / 3, ceil(1.5 * (clock_seconds() - c->r.o->began + seconds)));
    return true;
}

/* ---------------------------------------------------------------------------------------- climbs */

/* Restart k starts from the first start moved at random. */
static void aim(climb *c, int64_t restart)
{
    run *r = &c->r;
    hyper_unpack(r->h, c->start);
    if (restart > 0) start_perturb(r->h, r->p->seed, restart);
    hyper_pack(r->h, c->u);
    c->restart = restart;
    c->most = r->status == ANYGP_OK ? r->o->iterations : 0;
    c->first = true, r->jitter = r->o->jitter;
}

/* Curvature that L-BFGS remembers: inducing inputs are many, and depend on each other. */
enum { PAIRS = 10, PAIRS_INDUCING = 40 };

static anygp_status set_out(climb *c, anygp_error *e)
{
    const hyper *h = c->r.h;
    lbfgs_options lo = {.memory = h->learn_Z ? PAIRS_INDUCING : PAIRS,
                        .max_iterations = c->most,
                        .gradient_tolerance = 1e-5,
                        .value_tolerance = 1e-9,
                        .gain_tolerance = 1e-2};
    c->refused = false;
    c->optimiser = lbfgs_new(h->free, &lo);
    if (c->r.model->resolution) c->noise = c->r.model->resolution(c->r.state);
    climb_grant(c);
    return c->optimiser ? ANYGP_OK : fail_memory(e, "the optimiser", 16.0 * (double)lo.memory * (double)h->free);
}

enum { RENEWALS_MOST = 3 };

/* Neighbours and the like again, where parameters moved by more than this share in the first climb; whether the objective is another
   one now. */
static bool renewed(climb *c, double moved)
{
    run *r = &c->r;
    bool is_new;
    if (c->restart > 0 || c->renewals == RENEWALS_MOST || c->most <= 0) return false;
    hyper_unpack(r->h, c->u);
    if (ANYGP_FAILED(run_renew(r, moved, &is_new, &c->error)) || !is_new) return false;
    memcpy(c->made, c->u, (size_t)r->h->free * sizeof(double));
    c->renewals++, c->best = -INFINITY, c->first = true;
    return true;
}

static void end_climb(climb *c)
{
    lbfgs_best(c->optimiser, c->u);
    c->most -= lbfgs_iterations(c->optimiser);
    lbfgs_free(c->optimiser);
    c->optimiser = NULL;
}

/* On the way there is no need to climb to the end what will be another objective; the last renewal is for the end. */
static bool renewed_on_the_way(climb *c)
{
    static const double MOVED_FAR = 1;
    if (!c->r.model->renew || c->renewals >= RENEWALS_MOST - 1) return false;
    lbfgs_best(c->optimiser, c->u);
    int64_t most = c->most;
    c->most -= lbfgs_iterations(c->optimiser);
    bool is_new = renewed(c, MOVED_FAR);
    c->most = most;
    return is_new;
}

/* At iterations 1, 2, 4, 8, ... */
static bool leaves_float_on_the_way(climb *c)
{
    int64_t t = c->r.t + 1;
    if (t & (t - 1)) return false;
    lbfgs_best(c->optimiser, c->u);
    return climb_leaves_float(c);
}

/* A climb has ended; whether there is another one.  When a Cholesky stopped it, it goes on from the best point in
   double, if float was to blame, or with ten times the jitter: within a line search the objective stays one function. */
static bool next_climb(climb *c, lbfgs_result result)
{
    run *r = &c->r;
    bool refused = result == LBFGS_NO_PROGRESS && c->refused && c->most > 0;
    end_climb(c);
    if (refused && climb_leaves_float(c)) return true;
    if (refused && r->jitter < JITTER_MOST) return r->jitter = jitter_next(r->jitter), true;
    if (renewed(c, RENEW_MOVED)) return true;
    if (r->status == ANYGP_OK && climb_leaves_float(c) && c->most > 0) return true;
    if (r->status == ANYGP_OK && c->most > 0 && climb_ends_in_double(c)) return true;
    if (ANYGP_FAILED(c->error.status)) return false;
    if (r->status != ANYGP_OK || r->h->free == 0 || c->restart >= r->o->restarts) return false;
    return aim(c, c->restart + 1), true;
}

/* Without a gradient. */
static void evaluate_once(climb *c)
{
    run *r = &c->r;
    double value;
    begin_pass(c);
    if (r->model->evaluate(r->state, r->h, true, &r->jitter, &value, NULL)) keep_best(c, c->start, value, 0);
    c->evaluations = 1;
}

static anygp_status step(run *r, int attempt, anygp_error *e)
{
    climb *c = (climb *)r;
    lbfgs_problem lp = {.n = r->h->free, .evaluate = climb_evaluate, .ctx = c};
    if (r->model->information) lp.precondition = precondition;
    (void)attempt;
    if (c->once) return evaluate_once(c), ANYGP_OK;
    for (;;) {
        if (!c->optimiser) TRY(set_out(c, e));
        lbfgs_result result = lbfgs_step(c->optimiser, &lp, c->u);
        if (result == LBFGS_MORE) {
            bool is_new = renewed_on_the_way(c) || leaves_float_on_the_way(c);
            if (ANYGP_FAILED(c->error.status)) return fail_with(e, c->error.status, "%s", c->error.text);
            if (!is_new) return ANYGP_OK;
            end_climb(c);
            continue;
        }
        if (ANYGP_FAILED(c->error.status)) return fail_with(e, c->error.status, "%s", c->error.text);
        if (r->status != ANYGP_OK && lbfgs_evaluations(c->optimiser) > 0)
            return r->done = true, ANYGP_OK; /* after a whole iteration: a checkpoint has it */
        r->saves &= r->status == ANYGP_OK;
        bool more = next_climb(c, result);
        if (ANYGP_FAILED(c->error.status)) return fail_with(e, c->error.status, "%s", c->error.text);
        if (!more) return r->done = true, ANYGP_OK;
    }
}

/* Where there is nothing to learn, leave-one-out needs a gradient all the same. */
static anygp_status begin(run *r, anygp_error *e)
{
    climb *c = (climb *)r;
    double f;
    if (r->o->resume) return ANYGP_OK;
    if (too_long(c)) {
        hyper_unpack(r->h, c->start);
        r->done = true;
    } else if (r->h->free > 0 && !r->model->needs.given) {
        aim(c, 0);
    } else if (r->model->loo) {
        c->first = r->done = true;
        climb_rounding_once(c);
        climb_evaluate(c, c->start, &f, c->u);
        if (ANYGP_FAILED(c->error.status)) return fail_with(e, c->error.status, "%s", c->error.text);
    } else {
        c->once = true, r->steps = 1, r->saves = false;
        climb_rounding_once(c);
    }
    return ANYGP_OK;
}

static void describe(const run *r, train_step *now)
{
    const climb *c = (const climb *)r;
    if (c->optimiser) now->iteration = lbfgs_iterations(c->optimiser);
    now->evaluations = c->evaluations, now->restart = c->restart, now->most = r->o->iterations;
    if (c->loo && c->loo->n) loo_errors(c->loo, &now->scores);
}

/* ------------------------------------------------------------------------------- checkpoints */

/* At the best point, where the model can make them and go on. */
static anygp_status posteriors(run *r, double *jitter, posterior **out, anygp_error *e)
{
    const climb *c = (const climb *)r;
    *jitter = c->best_jitter;
    if (!model_has_inducing(r->model)) return ANYGP_OK;
    double grown = c->best_jitter;
    hyper_unpack(r->h, c->best_u);
    return r->model->posterior(r->state, r->h, &grown, out, e);
}

static anygp_status save_settled(const run *r, checkpoint *to, anygp_error *e)
{
    if (!r->model->settled) return ANYGP_OK;
    int64_t count = r->model->settled(r->state, NULL);
    double *numbers = mem_alloc(count, sizeof *numbers);
    if (!numbers) return fail_memory(e, "a checkpoint", 8.0 * (double)count);
    r->model->settled(r->state, numbers);
    checkpoint_put(to, "settled", count, numbers);
    free(numbers);
    return ANYGP_OK;
}

static anygp_status save(run *r, checkpoint *to, anygp_error *e)
{
    const climb *c = (const climb *)r;
    int64_t n = r->h->free, size = lbfgs_state_size(c->optimiser);
    double *state = mem_alloc(size, sizeof *state);
    if (!state) return fail_memory(e, "a checkpoint", 8.0 * (double)size);
    if (ANYGP_FAILED(save_settled(r, to, e))) return free(state), e->status;
    lbfgs_state_save(c->optimiser, state);
    checkpoint_put_integer(to, "restart", c->restart);
    checkpoint_put_integer(to, "evaluations", c->evaluations);
    checkpoint_put_integer(to, "most", c->most);
    checkpoint_put_integer(to, "allowed", r->o->iterations);
    checkpoint_put_number(to, "best", c->best);
    checkpoint_put_number(to, "log_prior", c->best_prior);
    checkpoint_put_number(to, "best_jitter", c->best_jitter);
    checkpoint_put(to, "best_u", n, c->best_u);
    checkpoint_put(to, "start", n, c->start);
    checkpoint_put(to, "made", n, c->made);
    checkpoint_put_integer(to, "renewals", c->renewals);
    checkpoint_put(to, "lbfgs", size, state);
    climb_rounding_save(c, to);
    free(state);
    return ANYGP_OK;
}

/* A place in the hyperparameters that a run can have been at. */
static bool get_point(const climb *c, const checkpoint *from, const char *name, double *u)
{
    if (!checkpoint_get_finite(from, name, c->r.h->free, u)) return false;
    hyper_unpack(c->r.h, u);
    return hyper_is_sound(c->r.h);
}

static bool get_optimiser(const climb *c, const checkpoint *from)
{
    int64_t size = checkpoint_count(from, "lbfgs");
    double *state = size >= 0 ? mem_alloc(size, sizeof *state) : NULL;
    bool ok = state && checkpoint_get(from, "lbfgs", size, state) && lbfgs_state_load(c->optimiser, state, size);
    free(state);
    return ok;
}

/* That of the best point, which is not in the checkpoint. */
static void restore_loo(climb *c)
{
    run *r = &c->r;
    double value, jitter = c->best_jitter;
    if (!c->loo || !r->model->loo) return;
    hyper_unpack(r->h, c->best_u);
    if (r->model->evaluate(r->state, r->h, false, &jitter, &value, c->gp))
        run_keep_loo(c->loo, r->model->loo(r->state, r->h));
}

static bool settle_again(climb *c, const checkpoint *from, anygp_error *e)
{
    run *r = &c->r;
    if (!r->model->settle) return true;
    int64_t count = checkpoint_count(from, "settled");
    double *numbers = count >= 0 ? mem_alloc(count, sizeof *numbers) : NULL;
    bool ok = numbers && checkpoint_get(from, "settled", count, numbers) &&
              r->model->settle(r->state, r->h, count, numbers, e);
    free(numbers);
    return ok;
}

/* What the model takes as given, as it was at c->made. */
static bool make_again(climb *c, const checkpoint *from, anygp_error *e)
{
    run *r = &c->r;
    bool is_new;
    hyper_unpack(r->h, c->made);
    if (r->model->renew && ANYGP_FAILED(r->model->renew(r->state, r->h, 0, &is_new, e))) return false;
    return settle_again(c, from, e);
}

static bool restore(run *r, const checkpoint *from, anygp_error *e)
{
    climb *c = (climb *)r;
    int64_t allowed = 0;
    bool ok = checkpoint_get_counter(from, "allowed", 0, &allowed) &&
              checkpoint_get_counter(from, "restart", 0, &c->restart) &&
              checkpoint_get_counter(from, "evaluations", 0, &c->evaluations) &&
              checkpoint_get_counter(from, "most", 0, &c->most) && checkpoint_get_number(from, "best", &c->best) &&
              c->best < INFINITY && /* -infinity: none yet */
              checkpoint_get_finite(from, "log_prior", 1, &c->best_prior) &&
              checkpoint_get_jitter(from, "best_jitter", &c->best_jitter) && get_point(c, from, "best_u", c->best_u) &&
              get_point(c, from, "start", c->start) && checkpoint_get_counter(from, "renewals", 0, &c->renewals) &&
              get_point(c, from, "made", c->made) && climb_rounding_restore(c, from);
    if (!ok || !make_again(c, from, e)) return false;
    c->most += r->o->iterations - allowed; /* --iters may have changed */
    if (c->most < 0) c->most = 0;
    restore_loo(c);
    r->done = c->restart > 0 && c->restart > r->o->restarts;
    if (ANYGP_FAILED(set_out(c, e))) return false;
    if (!get_optimiser(c, from))
        return fail_with(e, ANYGP_ERR_FILE, "the checkpoint is damaged, or from a run with other options"), false;
    return true;
}

/* ---------------------------------------------------------------------------------------- the run */

static const learner climb_learner = {.name = "climb",
                                      .begin = begin,
                                      .step = step,
                                      .describe = describe,
                                      .posteriors = posteriors,
                                      .save = save,
                                      .restore = restore};

anygp_status climb_init(climb *c, const model_ops *model, void *state, const problem *p, hyper *h,
                        const train_options *o, anygp_status stopped, leave_one_out *loo, anygp_error *e)
{
    *c = (climb){.best = -INFINITY, .loo = loo, .rounding.error = NAN, .lost = INFINITY};
    run_init(&c->r, &climb_learner, model, state, p, h, o, stopped);
    c->gp = mem_alloc(hyper_size(h), sizeof(double));
    c->best_u = mem_alloc(h->free, sizeof(double));
    c->start = mem_alloc(h->free, sizeof(double));
    c->u = mem_alloc(h->free, sizeof(double));
    c->made = mem_alloc(h->free, sizeof(double));
    if (!c->gp || !c->best_u || !c->start || !c->u || !c->made)
        return fail_memory(e, "the gradient", 32.0 * (double)h->count);
    if (model->floats && model->floats->on(state)) c->rounding.error = 0;
    hyper_pack(h, c->start);
    hyper_pack(h, c->best_u);
    hyper_pack(h, c->made);
    return ANYGP_OK;
}

void climb_clear(climb *c)
{
    double *const owned[] = {c->gp, c->best_u, c->start, c->u, c->made};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    lbfgs_free(c->optimiser);
    run_clear(&c->r);
}

/* Where no point had an objective and a gradient, the start may still have the former; NaN: there was no time to find out, and what is left
   of it is for the posterior. */
void climb_finish(climb *c, train_result *result)
{
    run *r = &c->r;
    bool found = isfinite(c->best), late = r->status != ANYGP_OK && (r->model->seen || r->model->remark);
    double value;
    hyper_unpack(r->h, found ? c->best_u : c->start);
    r->jitter = found ? c->best_jitter : r->o->jitter;
    result->objective = found ? r->value : NAN, result->log_prior = c->best_prior;
    late |= r->status != ANYGP_OK && model_has_inducing(r->model);
    if (!found && !late && r->model->evaluate(r->state, r->h, true, &r->jitter, &value, NULL))
        result->objective = value, result->log_prior = hyper_log_prior(r->h, NULL);
    result->status = r->status;
    result->iterations = c->once ? 0 : r->t;
    result->evaluations = c->evaluations;
    result->rows = r->model->rows(r->state);
    result->jitter = r->jitter;
    result->exact = true;
}
