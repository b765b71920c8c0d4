#include "infer/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "infer/start.h"

/* ------------------------------------------------------------------------------ leave-one-out */

static void loo_errors(const leave_one_out *l, double *rmse, double *mnlp)
{
    static const double LOG_2PI = 1.83787706640934548356;
    double squares = 0, log_density = 0, weight = 0;
    for (int64_t i = 0; i < l->n; i++) {
        double d = l->y[i] - l->mean[i];
        squares += l->weight[i] * d * d;
        log_density -= 0.5 * l->weight[i] * (LOG_2PI + log(l->variance[i]) + d * d / l->variance[i]);
        weight += l->weight[i];
    }
    *rmse = sqrt(squares / weight);
    *mnlp = -log_density / weight;
}

static void loo_keep(leave_one_out *to, const leave_one_out *from)
{
    size_t bytes = (size_t)from->n * sizeof(double);
    memcpy(to->y, from->y, bytes);
    memcpy(to->mean, from->mean, bytes);
    memcpy(to->variance, from->variance, bytes);
    memcpy(to->weight, from->weight, bytes);
    to->n = from->n;
}

/* ---------------------------------------------------------------------------------- callbacks */

/* Room must be left for one more evaluation and the posterior. */
static const double FIRST_SHARE = 0.5, POSTERIOR_SHARE = 0.5;
static bool out_of_time(const batch *q) { return clock_seconds() - q->o->began + 1.5 * q->longest > q->o->time_limit; }

static void keep_best(batch *q, const double *u, double objective, double log_prior)
{
    q->best = objective + log_prior;
    memcpy(q->best_u, u, (size_t)q->h->free * sizeof(double));
    q->r->objective = objective;
    q->r->log_prior = log_prior;
    q->r->jitter = q->jitter;
    if (q->quiet || !q->model->loo) return;
    loo_keep(&q->r->loo, q->model->loo(q->state, q->h));
}

enum { BROKEN = 1, LATE = 2 };

/* Heads are computed on each rank, perhaps by another processor to other last bits: rank 0's count, so that all take the
   same decisions. */
static anygp_status agree(batch *q, int *flags, double *value)
{
    const problem *p = q->p;
    TRY(train_agree(p, flags, &q->error));
    if (*flags & BROKEN) return ANYGP_OK;
    TRY(train_share(p, 1, value, &q->error));
    TRY(train_share(p, 1, &q->jitter, &q->error));
    return train_share(p, hyper_size(q->h), q->gp, &q->error);
}

/* When the evaluation that begins now is given up: it must leave time for a posterior, whose pass is like its first third. */
static void begin_pass(batch *q)
{
    deadline all = train_deadline(q->o);
    q->pass = q->longest > 0 ? all : deadline_part(&all, FIRST_SHARE);
    if (q->longest > 0) q->pass.limit -= POSTERIOR_SHARE * q->longest;
}

/* Minus (objective + log prior) in the free parameters. */
static int evaluate(void *ctx, const double *u, double *f, double *g)
{
    batch *q = ctx;
    double began = clock_seconds(), value;
    *f = INFINITY;
    hyper_unpack(q->h, u);
    q->evaluations++;
    int flags = 0;
    begin_pass(q);
    bool ok = q->model->evaluate(q->state, q->h, q->first, &q->jitter, &value, q->gp);
    q->first = false;
    if (!ok && q->model->failure && q->model->failure(q->state)->status == ANYGP_TIME_LIMIT)
        return q->status = ANYGP_TIME_LIMIT, 1;
    q->longest = fmax(q->longest, clock_seconds() - began);
    if (!ok && q->model->failure && ANYGP_FAILED(q->model->failure(q->state)->status)) {
        q->error = *q->model->failure(q->state);
        return q->status = q->error.status, 1;
    }
    flags = (ok ? 0 : BROKEN) | (out_of_time(q) ? LATE : 0);
    if (ANYGP_FAILED(agree(q, &flags, &value))) return q->status = q->error.status, 1;
    if (flags & BROKEN) return q->refused = true, 0;
    hyper_chain(q->h, q->gp, g);
    double log_prior = hyper_log_prior(q->h, g);
    for (int64_t i = 0; i < q->h->free; i++) {
        g[i] = -g[i];
        if (!isfinite(g[i])) return 0;
    }
    *f = -(value + log_prior);
    if (value + log_prior > q->best) keep_best(q, u, value, log_prior);
    if (!(flags & LATE)) return 0;
    return q->status = ANYGP_TIME_LIMIT, 1;
}

/* ------------------------------------------------------------------------------- checkpoints */

/* The posteriors at the best point, out[targets], where the model can make them and go on; else they stay NULL. */
static anygp_status best_so_far(batch *q, posterior **out, anygp_error *e)
{
    double jitter = q->r->jitter;
    if (!q->model->inducing) return ANYGP_OK;
    hyper_unpack(q->h, q->best_u);
    return q->model->posterior(q->state, q->h, &jitter, out, e);
}

static void put_run(const batch *q, checkpoint *c)
{
    int64_t n = q->h->free, size = lbfgs_state_size(q->optimiser);
    double *state = mem_alloc(size, sizeof *state);
    if (state) lbfgs_state_save(q->optimiser, state);
    checkpoint_put_text(c, "run", "batch");
    checkpoint_put_integer(c, "restart", q->restart);
    checkpoint_put_integer(c, "evaluations", q->evaluations);
    checkpoint_put_integer(c, "iterations", q->iterations);
    checkpoint_put_integer(c, "most", q->most);
    checkpoint_put_integer(c, "allowed", q->o->iterations);
    checkpoint_put_number(c, "jitter", q->jitter);
    checkpoint_put_number(c, "best", q->best);
    checkpoint_put_number(c, "objective", q->r->objective);
    checkpoint_put_number(c, "log_prior", q->r->log_prior);
    checkpoint_put_number(c, "best_jitter", q->r->jitter);
    checkpoint_put(c, "best_u", n, q->best_u);
    checkpoint_put(c, "start", n, q->start);
    checkpoint_put(state ? c : NULL, "lbfgs", size, state);
    free(state);
}

static anygp_status save(batch *q, anygp_error *e)
{
    int64_t T = q->p->targets > 1 ? q->p->targets : 1;
    posterior **now = mem_zeroed(T, sizeof *now);
    if (!now) return fail_memory(e, "the posteriors", 8.0 * (double)T);
    checkpoint *c = checkpoint_new();
    put_run(q, c);
    anygp_status status = best_so_far(q, now, e);
    if (!ANYGP_FAILED(status) && q->p->comm->rank == 0)
        q->o->save(q->o->ctx, c, q->h, q->r->objective, q->r->jitter, now[0] ? now : NULL);
    posteriors_free(T, now);
    free(now);
    checkpoint_free(c);
    q->saved = clock_seconds();
    return status;
}

/* A place in the hyperparameters that a run can have been at. */
static bool get_point(batch *q, const char *name, double *u)
{
    if (!checkpoint_get_finite(q->o->resume, name, q->h->free, u)) return false;
    hyper_unpack(q->h, u);
    return hyper_is_sound(q->h);
}

/* Everything but the optimiser, which get_optimiser() restores once it is made. */
static anygp_status get_run(batch *q, anygp_error *e)
{
    const checkpoint *c = q->o->resume;
    const char *kind = checkpoint_text(c, "run");
    int64_t allowed = 0;
    bool ok = kind && !strcmp(kind, "batch") && checkpoint_get_counter(c, "allowed", 0, &allowed) &&
              checkpoint_get_counter(c, "restart", 0, &q->restart) &&
              checkpoint_get_counter(c, "evaluations", 0, &q->evaluations) &&
              checkpoint_get_counter(c, "iterations", 0, &q->iterations) &&
              checkpoint_get_counter(c, "most", 0, &q->most) && checkpoint_get_jitter(c, "jitter", &q->jitter) &&
              checkpoint_get_number(c, "best", &q->best) && q->best < INFINITY && /* -infinity: none yet */
              checkpoint_get_finite(c, "objective", 1, &q->r->objective) &&
              checkpoint_get_finite(c, "log_prior", 1, &q->r->log_prior) &&
              checkpoint_get_jitter(c, "best_jitter", &q->r->jitter) && get_point(q, "best_u", q->best_u) &&
              get_point(q, "start", q->start);
    if (!ok)
        return fail_with(e, ANYGP_ERR_FILE,
                         "the checkpoint is of another run; start without --resume, or with the options of the run "
                         "that wrote it");
    q->most += q->o->iterations - allowed; /* --iters may have changed */
    if (q->most < 0) q->most = 0;
    if (!q->model->loo) return ANYGP_OK;
    double value, jitter = q->r->jitter;
    hyper_unpack(q->h, q->best_u);
    if (q->model->evaluate(q->state, q->h, false, &jitter, &value, q->gp))
        loo_keep(&q->r->loo, q->model->loo(q->state, q->h));
    return ANYGP_OK;
}

static bool get_optimiser(const batch *q)
{
    int64_t size = checkpoint_count(q->o->resume, "lbfgs");
    double *state = size >= 0 ? mem_alloc(size, sizeof *state) : NULL;
    bool ok =
        state && checkpoint_get(q->o->resume, "lbfgs", size, state) && lbfgs_state_load(q->optimiser, state, size);
    free(state);
    return ok;
}

static int iteration(void *ctx, int64_t iter, int64_t evaluations, double f, double gnorm)
{
    batch *q = ctx;
    (void)evaluations, (void)f, (void)gnorm;
    train_step step = {.stage = q->quiet ? TRAIN_WARM_UP : TRAIN_MAIN,
                       .iteration = iter,
                       .evaluations = q->evaluations,
                       .restart = q->restart,
                       .seconds = clock_seconds() - q->o->began,
                       .objective = isfinite(q->best) ? q->r->objective : NAN,
                       .scores = train_scores_none(),
                       .record = true};
    if (q->r->loo.n) loo_errors(&q->r->loo, &step.scores.rmse, &step.scores.mnlp);
    q->iterations++;
    enum { STOP = 1, SAVE = 2 };
    int flags = q->o->report && q->p->comm->rank == 0 && q->o->report(q->o->ctx, &step) ? STOP : 0;
    if (q->optimiser && !q->quiet && clock_seconds() - q->saved > q->o->save_every) flags |= SAVE;
    if (ANYGP_FAILED(train_agree(q->p, &flags, &q->error))) return q->status = q->error.status, 1;
    if (flags & SAVE && ANYGP_FAILED(save(q, &q->error))) return q->status = q->error.status, 1;
    return flags & STOP ? (q->status = ANYGP_INTERRUPTED, 1) : 0;
}

/* ---------------------------------------------------------------------------------------- runs */

anygp_status batch_open(batch *q, const model_ops *model, const problem *p, hyper *h, const train_options *o,
                        anygp_error *e)
{
    *q = (batch){.model = model, .p = p, .h = h, .o = o, .best = -INFINITY, .r = q->r, .quiet = q->quiet};
    q->jitter = o->jitter, q->saved = clock_seconds();
    q->gp = mem_alloc(hyper_size(h), sizeof(double));
    q->best_u = mem_alloc(h->free, sizeof(double));
    if (!q->gp || !q->best_u) return fail_memory(e, "the gradient", 16.0 * (double)h->count);
    hyper_pack(h, q->best_u);
    return model->open(model, p, h, &q->state, e);
}

void batch_close(batch *q)
{
    if (q->state) q->model->close(q->state);
    free(q->gp);
    free(q->best_u);
}

/* Curvature that L-BFGS remembers: inducing inputs are many, and depend on each other. */
enum { PAIRS = 10, PAIRS_INDUCING = 40 };

/* One L-BFGS from u, its best point coming out; *iterations: those it may make, and what is left of them. */
static anygp_status minimize(batch *q, double *u, bool resume, int64_t *iterations, lbfgs_result *result,
                             anygp_error *e)
{
    double f;
    lbfgs_options lo = {.memory = q->h->learn_Z ? PAIRS_INDUCING : PAIRS,
                        .max_iterations = *iterations,
                        .gradient_tolerance = 1e-5,
                        .value_tolerance = 1e-9};
    lbfgs_problem lp = {.n = q->h->free, .evaluate = evaluate, .iteration = iteration, .ctx = q};
    q->optimiser = lbfgs_new(q->h->free, &lo);
    q->most = *iterations;
    if (!q->optimiser) return fail_memory(e, "the optimiser", 16.0 * (double)lo.memory * (double)q->h->free);
    q->refused = false;
    anygp_status status = ANYGP_OK;
    if (resume && !get_optimiser(q))
        status = fail_with(e, ANYGP_ERR_FILE, "the checkpoint is damaged, or of a run with other options");
    if (!ANYGP_FAILED(status)) *result = lbfgs_minimize(q->optimiser, &lp, u, &f);
    *iterations -= lbfgs_iterations(q->optimiser);
    lbfgs_free(q->optimiser);
    q->optimiser = NULL;
    if (!ANYGP_FAILED(status) && ANYGP_FAILED(q->status)) return fail_with(e, q->status, "%s", q->error.text);
    return status;
}

/* A run from the values in h, or from the checkpoint.  When a Cholesky stopped it, it goes on from the best point with ten
   times the jitter: within a line search the objective stays one function. */
anygp_status batch_climb(batch *q, int64_t iterations, bool resume, anygp_error *e)
{
    double *u = mem_alloc(q->h->free, sizeof(double));
    if (!u) return fail_memory(e, "the optimiser", 8.0 * (double)q->h->free);
    anygp_status status = ANYGP_OK;
    hyper_pack(q->h, u);
    q->first = !resume;
    if (!resume) q->jitter = q->o->jitter;
    for (bool again = true; again && !ANYGP_FAILED(status); resume = false) {
        lbfgs_result result = LBFGS_STOPPED;
        status = minimize(q, u, resume, &iterations, &result, e);
        again = result == LBFGS_NO_PROGRESS && q->refused && q->jitter < 1e-3 && iterations > 0;
        if (again) q->jitter = q->jitter > 0 ? 10 * q->jitter : 1e-10;
    }
    free(u);
    return status;
}

/* Restart k starts from the first start moved at random; the best over all runs is what counts. */
static anygp_status climb_all(batch *q, anygp_error *e)
{
    int64_t restarts = q->h->free ? q->o->restarts : 0;
    bool resume = q->o->resume != NULL;
    if (resume) TRY(get_run(q, e));
    for (int64_t k = q->restart; k == 0 || (k <= restarts && q->status == ANYGP_OK); k++) {
        q->restart = k;
        hyper_unpack(q->h, q->start);
        if (k > 0) start_perturb(q->h, q->p->seed, k);
        TRY(batch_climb(q, q->status != ANYGP_OK ? 0 : resume ? q->most : q->o->iterations, resume, e));
        resume = false;
    }
    return ANYGP_OK;
}

/* To the best point of all runs.  Where no point had an objective and a gradient, the start may still have the former. */
static void settle(batch *q)
{
    train_result *r = q->r;
    bool found = isfinite(q->best);
    hyper_unpack(q->h, found ? q->best_u : q->start);
    q->jitter = found ? r->jitter : q->o->jitter;
    if (!found && q->status == ANYGP_TIME_LIMIT && q->model->inducing)
        r->objective = NAN; /* what time there is is the posterior's */
    else if (!found && q->model->evaluate(q->state, q->h, true, &q->jitter, &r->objective, NULL))
        r->log_prior = hyper_log_prior(q->h, NULL);
    r->status = q->status;
    r->iterations = q->iterations;
    r->evaluations = q->evaluations;
    r->rows = q->model->rows(q->state);
    r->exact = true;
}

/* Nothing to learn: one evaluation, without a gradient but where leave-one-out needs it. */
static void evaluate_only(batch *q)
{
    double u = 0;
    if (q->model->loo) {
        double f, g;
        q->first = true;
        evaluate(q, &u, &f, &g);
        return;
    }
    double value;
    iteration(q, 0, 0, 0, 0);
    begin_pass(q);
    if (q->model->evaluate(q->state, q->h, true, &q->jitter, &value, NULL)) keep_best(q, &u, value, 0);
    q->evaluations = 1;
    iteration(q, 1, 1, 0, 0);
    q->iterations = 0;
}

/* Seconds of one evaluation of a model that has all rows in one matrix: by what fewer rows took, or a guess; 0: no matter. */
static double expected_seconds(const batch *q)
{
    static const double CUBES = 1e10; /* n^3 a second */
    enum { QUICK_ROWS = 1600 };
    double n = (double)q->model->size(q->p);
    if (q->model->inducing || n <= QUICK_ROWS) return 0;
    return q->expected > 0 ? q->expected : n * n * n / CUBES;
}

/* Whether there is no time to learn, or no wish to wait for it; the factorisation alone takes a third of an evaluation.  A limit
   that cannot be kept is said. */
static bool too_long(batch *q)
{
    deadline until = train_deadline(q->o);
    double seconds = expected_seconds(q);
    if (seconds == 0 || q->o->resume) return false;
    if (q->status == ANYGP_INTERRUPTED) return true;
    if (deadline_fits(&until, seconds)) return false;
    q->status = ANYGP_TIME_LIMIT;
    if (deadline_fits(&until, seconds / 3))
        train_tell(
            q->p, q->o, ANYGP_WARNING,
            "the time does not suffice to learn on all rows, one evaluation of which would take about %.2g s: the "
            "hyperparameters are those of a subset; give it more --time, or use --model vfe",
            seconds);
    else
        train_tell(
            q->p, q->o, ANYGP_WARNING,
            "the time limit of %.3g s cannot be kept: one factorisation of %lld rows takes about %.2g s; give it "
            "--time %.0fs, or use --model vfe",
            q->o->time_limit, (long long)q->model->size(q->p), seconds / 3,
            ceil(1.5 * (clock_seconds() - q->o->began + seconds)));
    return true;
}

anygp_status batch_learn(batch *q, anygp_error *e)
{
    if (too_long(q))
        hyper_unpack(q->h, q->start);
    else if ((q->h->free == 0 || q->model->no_learning) && !q->o->resume)
        evaluate_only(q);
    else
        TRY(climb_all(q, e));
    settle(q);
    return ANYGP_OK;
}
