#include "infer/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "infer/lbfgs.h"
#include "infer/start.h"

enum { WARM_ROWS = 800, WARM_ABOVE = 1600, WARM_ITERATIONS = 40 };

/* What the optimiser's callbacks share.  `best` survives restarts. */
typedef struct run {
    const model_ops *model;
    void *state;
    hyper *h;
    const train_options *o;
    bool quiet; /* the warm-up does not report */
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
    bool ok = q->model->evaluate(q->state, q->h, q->first, &q->jitter, &value, q->gp);
    q->first = false;
    q->longest = fmax(q->longest, clock_seconds() - began);
    if (!ok) return q->refused = true, 0;
    hyper_chain(q->h, q->gp, g);
    double log_prior = hyper_log_prior(q->h, g);
    for (int64_t i = 0; i < q->h->free; i++) {
        g[i] = -g[i];
        if (!isfinite(g[i])) return 0;
    }
    *f = -(value + log_prior);
    if (value + log_prior > q->best) keep_best(q, u, value, log_prior);
    if (!out_of_time(q)) return 0;
    return q->status = ANYGP_TIME_LIMIT, 1;
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
                       .objective = q->r->objective,
                       .rmse = NAN,
                       .mnlp = NAN};
    if (q->r->loo.n) loo_errors(&q->r->loo, &step.rmse, &step.mnlp);
    q->iterations++;
    if (!q->o->report || !q->o->report(q->o->ctx, &step)) return 0;
    return q->status = ANYGP_INTERRUPTED, 1;
}

/* ---------------------------------------------------------------------------------------- runs */

static anygp_status run_open(run *q, const model_ops *model, const problem *p, hyper *h, const train_options *o,
                             anygp_error *e)
{
    *q = (run){.model = model, .h = h, .o = o, .best = -INFINITY, .jitter = o->jitter, .r = q->r, .quiet = q->quiet};
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
static anygp_status minimize(run *q, double *u, int64_t *iterations, lbfgs_result *result, anygp_error *e)
{
    double f;
    lbfgs_options lo = {
        .memory = 10, .max_iterations = *iterations, .gradient_tolerance = 1e-5, .value_tolerance = 1e-9};
    lbfgs_problem lp = {.n = q->h->free, .evaluate = evaluate, .iteration = iteration, .ctx = q};
    lbfgs *s = lbfgs_new(q->h->free, &lo);
    if (!s) return fail_memory(e, "the optimiser", 160.0 * (double)q->h->free);
    q->refused = false;
    *result = lbfgs_minimize(s, &lp, u, &f);
    *iterations -= lbfgs_iterations(s);
    lbfgs_free(s);
    return ANYGP_OK;
}

/* A run from the values in h.  When a Cholesky stopped it, it goes on from the best point with ten times the jitter:
   within a line search the objective stays one function. */
static anygp_status climb(run *q, int64_t iterations, anygp_error *e)
{
    double *u = mem_alloc(q->h->free, sizeof(double));
    if (!u) return fail_memory(e, "the optimiser", 8.0 * (double)q->h->free);
    anygp_status status = ANYGP_OK;
    hyper_pack(q->h, u);
    q->first = true;
    q->jitter = q->o->jitter;
    for (bool again = true; again && !ANYGP_FAILED(status);) {
        lbfgs_result result = LBFGS_STOPPED;
        status = minimize(q, u, &iterations, &result, e);
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
    TRY_DONE(run_open(&q, &model_exact, &small, h, o, e));
    TRY_DONE(climb(&q, o->iterations < WARM_ITERATIONS ? o->iterations : WARM_ITERATIONS, e));
    if (isfinite(q.best)) hyper_unpack(h, q.best_u);
    *stopped = q.status;
done:
    run_close(&q);
    merged_clear(&few);
    return status;
}

/* Restart k starts from the first start moved at random; the best over all runs is what counts. */
static anygp_status climb_all(run *q, const problem *p, const double *start, anygp_error *e)
{
    int64_t restarts = q->h->free ? q->o->restarts : 0;
    for (int64_t k = 0; k == 0 || (k <= restarts && q->status == ANYGP_OK); k++) {
        q->restart = k;
        hyper_unpack(q->h, start);
        if (k > 0) start_perturb(q->h, p->seed, k);
        TRY(climb(q, q->status == ANYGP_OK ? q->o->iterations : 0, e));
    }
    return ANYGP_OK;
}

/* To the best point of all runs.  Where no point had an objective and a gradient, the start may still have the former. */
static void settle(run *q, const double *start)
{
    train_result *r = q->r;
    bool found = isfinite(q->best);
    hyper_unpack(q->h, found ? q->best_u : start);
    q->jitter = found ? r->jitter : q->o->jitter;
    if (!found && q->model->evaluate(q->state, q->h, true, &q->jitter, &r->objective, NULL))
        r->log_prior = hyper_log_prior(q->h, NULL);
    r->status = q->status;
    r->iterations = q->iterations;
    r->evaluations = q->evaluations;
    r->rows = q->model->rows(q->state);
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

anygp_status train(const model_ops *model, const problem *p, hyper *h, const train_options *o, train_result *r,
                   posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    watch w = {.o = o, .asked = clock_seconds()};
    bool learns = h->free > 0 && o->iterations > 0;
    double *start = mem_alloc(h->free, sizeof(double));
    run q = {.r = r};
    *r = (train_result){0};
    *out = NULL;
    if (!start || !loo_allocate(&r->loo, model->loo ? p->rows->data->n : 0)) {
        status = fail_memory(e, "leave-one-out", 32.0 * (double)p->rows->data->n);
        goto done;
    }
    if (learns) TRY_DONE(start_from_data(p, h, enough, &w, e));
    if (learns && !w.status && model->size(p) > WARM_ABOVE) TRY_DONE(warm_up(p, h, o, &w.status, e));
    hyper_pack(h, start);
    TRY_DONE(run_open(&q, model, p, h, o, e));
    q.status = w.status;
    TRY_DONE(climb_all(&q, p, start, e));
    settle(&q, start);
    TRY_DONE(model->posterior(q.state, h, &q.jitter, out, e));
    r->jitter = q.jitter;
done:
    run_close(&q);
    free(start);
    if (ANYGP_FAILED(status)) {
        if (*out) (*out)->ops->free(*out), *out = NULL;
        train_result_clear(r);
    }
    return status;
}
