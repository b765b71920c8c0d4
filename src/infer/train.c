#include "infer/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "infer/anytime.h"
#include "infer/lbfgs.h"
#include "infer/start.h"
#include "inducing/choose.h"

enum { WARM_ROWS = 800, WARM_ABOVE = 1600, WARM_ITERATIONS = 40 };

/* What the optimiser's callbacks share.  `best` survives restarts. */
typedef struct run {
    const model_ops *model;
    const problem *p;
    void *state;
    hyper *h;
    const train_options *o;
    lbfgs *optimiser;
    int64_t most;  /* iterations of the run of it that is under way */
    double *start; /* where the first run starts */
    double saved;  /* by the clock */
    bool quiet;    /* the warm-up does not report */
    int64_t restart;
    int64_t evaluations; /* of all runs */
    int64_t iterations;
    double jitter;  /* relative, fixed within a run */
    bool refused;   /* a Cholesky failed at this jitter */
    bool first;     /* the run's first evaluation may raise the jitter */
    double longest; /* seconds an evaluation takes */
    double *gp;     /* h->count */
    double best;    /* log objective + log prior */
    double *best_u;
    train_result *r;
    anygp_status status;
    anygp_error error; /* of a status that is a failure */
} run;

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

static bool loo_allocate(leave_one_out *l, int64_t n)
{
    l->y = mem_alloc(n, sizeof(double));
    l->mean = mem_alloc(n, sizeof(double));
    l->variance = mem_alloc(n, sizeof(double));
    l->weight = mem_alloc(n, sizeof(double));
    return l->y && l->mean && l->variance && l->weight;
}

void train_result_clear(train_result *r)
{
    free(r->loo.y);
    free(r->loo.mean);
    free(r->loo.variance);
    free(r->loo.weight);
    *r = (train_result){0};
}

/* ---------------------------------------------------------------------------------- callbacks */

/* Room must be left for one more evaluation and the posterior. */
static bool out_of_time(const run *q) { return clock_seconds() - q->o->began + 1.5 * q->longest > q->o->time_limit; }

static void keep_best(run *q, const double *u, double objective, double log_prior)
{
    q->best = objective + log_prior;
    memcpy(q->best_u, u, (size_t)q->h->free * sizeof(double));
    q->r->objective = objective;
    q->r->log_prior = log_prior;
    q->r->jitter = q->jitter;
    if (q->quiet || !q->model->loo) return;
    loo_keep(&q->r->loo, q->model->loo(q->state, q->h));
}

/* Minus (objective + log prior) in the free parameters. */
static int evaluate(void *ctx, const double *u, double *f, double *g)
{
    run *q = ctx;
    double began = clock_seconds(), value;
    *f = INFINITY;
    hyper_unpack(q->h, u);
    q->evaluations++;
    int flags = 0;
    bool ok = q->model->evaluate(q->state, q->h, q->first, &q->jitter, &value, q->gp);
    q->first = false;
    q->longest = fmax(q->longest, clock_seconds() - began);
    flags = out_of_time(q);
    if (ANYGP_FAILED(train_agree(q->p, &flags, NULL))) return q->status = ANYGP_ERR_INTERNAL, 1;
    if (!ok) return q->refused = true, 0;
    hyper_chain(q->h, q->gp, g);
    double log_prior = hyper_log_prior(q->h, g);
    for (int64_t i = 0; i < q->h->free; i++) {
        g[i] = -g[i];
        if (!isfinite(g[i])) return 0;
    }
    *f = -(value + log_prior);
    if (value + log_prior > q->best) keep_best(q, u, value, log_prior);
    if (!flags) return 0;
    return q->status = ANYGP_TIME_LIMIT, 1;
}

/* ------------------------------------------------------------------------------- checkpoints */

/* The posterior at the best point, where the model can make one and go on. */
static anygp_status best_so_far(run *q, posterior **out, anygp_error *e)
{
    double jitter = q->r->jitter;
    *out = NULL;
    if (!q->model->inducing) return ANYGP_OK;
    hyper_unpack(q->h, q->best_u);
    return q->model->posterior(q->state, q->h, &jitter, out, e);
}

static void put_run(const run *q, checkpoint *c)
{
    int64_t n = q->h->free, size = lbfgs_state_size(q->optimiser);
    double *state = mem_alloc(size, sizeof *state);
    if (state) lbfgs_state_save(q->optimiser, state);
    checkpoint_put_text(c, "run", "batch");
    checkpoint_put_integer(c, "restart", q->restart);
    checkpoint_put_integer(c, "evaluations", q->evaluations);
    checkpoint_put_integer(c, "iterations", q->iterations);
    checkpoint_put_integer(c, "most", q->most);
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

static anygp_status save(run *q, anygp_error *e)
{
    posterior *now = NULL;
    checkpoint *c = checkpoint_new();
    put_run(q, c);
    anygp_status status = best_so_far(q, &now, e);
    if (!ANYGP_FAILED(status) && q->p->comm->rank == 0)
        status = q->o->save(q->o->ctx, c, q->h, q->r->objective, q->r->jitter, now, e);
    else if (now)
        now->ops->free(now);
    checkpoint_free(c);
    q->saved = clock_seconds();
    return status;
}

/* Everything but the optimiser, which get_optimiser() restores once it is made. */
static anygp_status get_run(run *q, anygp_error *e)
{
    const checkpoint *c = q->o->resume;
    const char *kind = checkpoint_text(c, "run");
    int64_t n = q->h->free;
    bool ok = kind && !strcmp(kind, "batch") && checkpoint_get_integer(c, "restart", &q->restart) &&
              checkpoint_get_integer(c, "evaluations", &q->evaluations) &&
              checkpoint_get_integer(c, "iterations", &q->iterations) && checkpoint_get_integer(c, "most", &q->most) &&
              checkpoint_get_number(c, "jitter", &q->jitter) && checkpoint_get_number(c, "best", &q->best) &&
              checkpoint_get_number(c, "objective", &q->r->objective) &&
              checkpoint_get_number(c, "log_prior", &q->r->log_prior) &&
              checkpoint_get_number(c, "best_jitter", &q->r->jitter) && checkpoint_get(c, "best_u", n, q->best_u) &&
              checkpoint_get(c, "start", n, q->start);
    if (!ok)
        return fail_with(e, ANYGP_ERR_FILE,
                         "the checkpoint is of another run; start without --resume, or with the options of the run "
                         "that wrote it");
    if (!q->model->loo) return ANYGP_OK;
    double value, jitter = q->r->jitter;
    hyper_unpack(q->h, q->best_u);
    if (q->model->evaluate(q->state, q->h, false, &jitter, &value, q->gp))
        loo_keep(&q->r->loo, q->model->loo(q->state, q->h));
    return ANYGP_OK;
}

static bool get_optimiser(const run *q)
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
    run *q = ctx;
    (void)evaluations, (void)f, (void)gnorm;
    train_step step = {.stage = q->quiet ? TRAIN_WARM_UP : TRAIN_MAIN,
                       .iteration = iter,
                       .evaluations = q->evaluations,
                       .restart = q->restart,
                       .seconds = clock_seconds() - q->o->began,
                       .objective = isfinite(q->best) ? q->r->objective : NAN,
                       .rmse = NAN,
                       .mnlp = NAN,
                       .record = true};
    if (q->r->loo.n) loo_errors(&q->r->loo, &step.rmse, &step.mnlp);
    q->iterations++;
    enum { STOP = 1, SAVE = 2 };
    int flags = q->o->report && q->p->comm->rank == 0 && q->o->report(q->o->ctx, &step) ? STOP : 0;
    if (!q->quiet && clock_seconds() - q->saved > q->o->save_every) flags |= SAVE;
    if (ANYGP_FAILED(train_agree(q->p, &flags, &q->error))) return q->status = q->error.status, 1;
    if (flags & SAVE && ANYGP_FAILED(save(q, &q->error))) return q->status = q->error.status, 1;
    return flags & STOP ? (q->status = ANYGP_INTERRUPTED, 1) : 0;
}

/* ---------------------------------------------------------------------------------------- runs */

static anygp_status run_open(run *q, const model_ops *model, const problem *p, hyper *h, const train_options *o,
                             anygp_error *e)
{
    *q = (run){.model = model, .p = p, .h = h, .o = o, .best = -INFINITY, .r = q->r, .quiet = q->quiet};
    q->jitter = o->jitter, q->saved = clock_seconds();
    q->gp = mem_alloc(hyper_size(h), sizeof(double));
    q->best_u = mem_alloc(h->free, sizeof(double));
    if (!q->gp || !q->best_u) return fail_memory(e, "the gradient", 16.0 * (double)h->count);
    return model->open(model, p, h, &q->state, e);
}

static void run_close(run *q)
{
    if (q->state) q->model->close(q->state);
    free(q->gp);
    free(q->best_u);
}

/* One L-BFGS from u, its best point coming out; *iterations: those it may make, and what is left of them. */
static anygp_status minimize(run *q, double *u, bool resume, int64_t *iterations, lbfgs_result *result, anygp_error *e)
{
    double f;
    lbfgs_options lo = {
        .memory = 10, .max_iterations = *iterations, .gradient_tolerance = 1e-5, .value_tolerance = 1e-9};
    lbfgs_problem lp = {.n = q->h->free, .evaluate = evaluate, .iteration = iteration, .ctx = q};
    q->optimiser = lbfgs_new(q->h->free, &lo);
    q->most = *iterations;
    if (!q->optimiser) return fail_memory(e, "the optimiser", 160.0 * (double)q->h->free);
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
static anygp_status climb(run *q, int64_t iterations, bool resume, anygp_error *e)
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

/* A short run on a subset moves the starting point close to the optimum at a fraction of the cost. */
static anygp_status warm_up(const problem *p, hyper *h, const train_options *o, anygp_status *stopped, anygp_error *e)
{
    merged few = {0};
    train_result unused = {0};
    run q = {.r = &unused, .quiet = true};
    anygp_status status = ANYGP_OK;
    TRY_DONE(start_subset(p, WARM_ROWS, &few, e));
    problem small = *p;
    small.rows = &few;
    small.comm = comm_self();
    TRY_DONE(run_open(&q, &model_exact, &small, h, o, e));
    TRY_DONE(climb(&q, o->iterations < WARM_ITERATIONS ? o->iterations : WARM_ITERATIONS, false, e));
    if (isfinite(q.best)) hyper_unpack(h, q.best_u);
    *stopped = q.status;
done:
    run_close(&q);
    merged_clear(&few);
    return status;
}

/* Restart k starts from the first start moved at random; the best over all runs is what counts. */
static anygp_status climb_all(run *q, const problem *p, anygp_error *e)
{
    int64_t restarts = q->h->free ? q->o->restarts : 0;
    bool resume = q->o->resume != NULL;
    if (resume) TRY(get_run(q, e));
    for (int64_t k = q->restart; k == 0 || (k <= restarts && q->status == ANYGP_OK); k++) {
        q->restart = k;
        hyper_unpack(q->h, q->start);
        if (k > 0) start_perturb(q->h, p->seed, k);
        TRY(climb(q, q->status != ANYGP_OK ? 0 : resume ? q->most : q->o->iterations, resume, e));
        resume = false;
    }
    return ANYGP_OK;
}

/* To the best point of all runs.  Where no point had an objective and a gradient, the start may still have the former. */
static void settle(run *q)
{
    train_result *r = q->r;
    bool found = isfinite(q->best);
    hyper_unpack(q->h, found ? q->best_u : q->start);
    q->jitter = found ? r->jitter : q->o->jitter;
    if (!found && q->model->evaluate(q->state, q->h, true, &q->jitter, &r->objective, NULL))
        r->log_prior = hyper_log_prior(q->h, NULL);
    r->status = q->status;
    r->iterations = q->iterations;
    r->evaluations = q->evaluations;
    r->rows = q->model->rows(q->state);
    r->exact = true;
}

/* What ends the search for a starting point: the time limit, or the caller, who is asked now and then. */
typedef struct watch {
    const train_options *o;
    anygp_status status;
    double asked; /* by the clock */
} watch;

static bool enough(void *ctx)
{
    watch *w = ctx;
    double now = clock_seconds();
    if (now - w->o->began > w->o->time_limit) w->status = ANYGP_TIME_LIMIT;
    if (w->status == ANYGP_OK && w->o->report && now - w->asked > 0.1) {
        train_step step = {
            .stage = TRAIN_SCAN, .seconds = now - w->o->began, .objective = NAN, .rmse = NAN, .mnlp = NAN};
        if (w->o->report(w->o->ctx, &step)) w->status = ANYGP_INTERRUPTED;
        w->asked = now;
    }
    return w->status != ANYGP_OK;
}

anygp_status train_agree(const problem *p, int *flags, anygp_error *e)
{
    return p->comm->size == 1 ? ANYGP_OK : p->comm->broadcast(p->comm->ctx, 0, sizeof *flags, flags, e);
}

/* ------------------------------------------------------------------------------------ the start */

static anygp_status place_inducing(const model_ops *model, const problem *p, hyper *h, anygp_error *e)
{
    const merged *m = p->rows;
    int64_t M = p->subset, count = 0;
    if (!model->inducing || h->M > 0) return ANYGP_OK;
    double *Z = mem_doubles(M, m->D);
    if (!Z) return fail_memory(e, "the inducing inputs", 8.0 * (double)M * (double)m->D);
    bool text = false;
    for (int64_t j = 0; j < m->D; j++) text |= schema_at(&m->data->schema, j)->text;
    anygp_status status = choose_inducing(p->select, m->n, m->D, m->X, text, h->kernel, M, p->seed, Z, &count, e);
    if (!ANYGP_FAILED(status)) status = hyper_set_inducing(h, count, m->D, Z, p->learn_inducing, e);
    free(Z);
    return status;
}

/* Rank 0's hyperparameters and inducing inputs, to all. */
static anygp_status share_start(const problem *p, hyper *h, anygp_error *e)
{
    const comm *c = p->comm;
    double head[2] = {(double)h->M, (double)h->D};
    if (c->size == 1) return ANYGP_OK;
    double *values = mem_alloc(h->count, sizeof *values), *Z = NULL;
    anygp_status status = values ? ANYGP_OK : fail_memory(e, "the hyperparameters", 8.0 * (double)h->count);
    if (!values) return status;
    hyper_natural(h, values);
    TRY_DONE(c->broadcast(c->ctx, 0, h->count * (int64_t)sizeof *values, values, e));
    TRY_DONE(c->broadcast(c->ctx, 0, sizeof head, head, e));
    int64_t M = (int64_t)head[0], D = (int64_t)head[1];
    if (!(Z = mem_doubles(M, D))) {
        status = fail_memory(e, "the inducing inputs", 8.0 * head[0] * head[1]);
        goto done;
    }
    if (c->rank == 0) memcpy(Z, h->Z, (size_t)(M * D) * sizeof *Z);
    TRY_DONE(c->broadcast(c->ctx, 0, M * D * (int64_t)sizeof *Z, Z, e));
    for (int64_t i = 0; i < h->count; i++) hyper_set(h, i, values[i]);
    if (c->rank != 0) status = hyper_set_inducing(h, M, D, Z, p->learn_inducing, e);
done:
    free(values);
    free(Z);
    return status;
}

/* Starting values, on rank 0, from the rows in memory; the other ranks wait for them. */
static anygp_status find_start(const model_ops *model, const problem *p, hyper *h, const train_options *o, watch *w,
                               anygp_error *e)
{
    bool learns = h->free > 0 && !model->no_learning && (o->iterations > 0 || o->anytime.learn);
    if (p->comm->rank == 0) {
        if (learns) TRY(start_from_data(p, h, enough, w, e));
        if (learns && !w->status && (model->inducing || model->size(p) > WARM_ABOVE))
            TRY(warm_up(p, h, o, &w->status, e));
        TRY(place_inducing(model, p, h, e));
    }
    TRY(share_start(p, h, e));
    int flags = (int)w->status;
    TRY(train_agree(p, &flags, e));
    w->status = (anygp_status)flags;
    return ANYGP_OK;
}

/* A checkpoint has the inducing inputs of its run: they were chosen at hyperparameters that are gone. */
static anygp_status restore_inducing(const problem *p, hyper *h, const checkpoint *c, anygp_error *e)
{
    int64_t count = checkpoint_count(c, "Z"), D = p->rows->D;
    double *Z = count > 0 ? mem_alloc(count, sizeof *Z) : NULL;
    anygp_status status = ANYGP_OK;
    if (!Z || D < 1 || count % D || !checkpoint_get(c, "Z", count, Z))
        status = fail_with(e, ANYGP_ERR_FILE, "the checkpoint has no inducing inputs; it is of another run");
    else
        status = hyper_set_inducing(h, count / D, D, Z, p->learn_inducing, e);
    free(Z);
    return status;
}

static bool checkpoint_is_anytime(const checkpoint *c)
{
    const char *kind = c ? checkpoint_text(c, "run") : NULL;
    return kind && !strcmp(kind, "anytime");
}

/* Nothing to learn: one evaluation, without a gradient but where leave-one-out needs it. */
static void evaluate_only(run *q)
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
    if (q->model->evaluate(q->state, q->h, true, &q->jitter, &value, NULL)) keep_best(q, &u, value, 0);
    q->evaluations = 1;
    iteration(q, 1, 1, 0, 0);
    q->iterations = 0;
}

static anygp_status learn_batch(run *q, const problem *p, anygp_error *e)
{
    if ((q->h->free == 0 || q->model->no_learning) && !q->o->resume)
        evaluate_only(q);
    else
        TRY(climb_all(q, p, e));
    settle(q);
    return ANYGP_OK;
}

anygp_status train(const model_ops *model, const problem *p, hyper *h, const train_options *o, train_result *r,
                   posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    watch w = {.o = o, .asked = clock_seconds()};
    run q = {.r = r};
    double *start = NULL;
    *r = (train_result){0};
    *out = NULL;
    if (!loo_allocate(&r->loo, model->loo ? p->rows->data->n : 0)) {
        status = fail_memory(e, "leave-one-out", 32.0 * (double)p->rows->data->n);
        goto done;
    }
    if (!o->resume)
        TRY_DONE(find_start(model, p, h, o, &w, e));
    else if (model->inducing)
        TRY_DONE(restore_inducing(p, h, o->resume, e));
    if (!(start = mem_alloc(h->free, sizeof *start))) {
        status = fail_memory(e, "the start", 8.0 * (double)h->free);
        goto done;
    }
    hyper_pack(h, start);
    TRY_DONE(run_open(&q, model, p, h, o, e));
    q.status = w.status, q.start = start;
    bool batch = !o->anytime.on || (!o->anytime.learn && h->free > 0 && !checkpoint_is_anytime(o->resume));
    if (batch) TRY_DONE(learn_batch(&q, p, e));
    if (o->anytime.on) {
        train_options steps = *o;
        if (batch) steps.resume = NULL; /* a checkpoint of the learning before them has been used */
        status = anytime_run(model, q.state, p, h, &steps, q.status, r, out, e);
    } else {
        TRY_DONE(model->posterior(q.state, h, &q.jitter, out, e));
        r->jitter = q.jitter;
    }
done:
    run_close(&q);
    free(start);
    if (ANYGP_FAILED(status)) {
        if (*out) (*out)->ops->free(*out), *out = NULL;
        train_result_clear(r);
    }
    return status;
}
