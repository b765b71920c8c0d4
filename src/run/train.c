/* From a model and a problem to a posterior: the start, inducing inputs, and the run that fits the model. */
#include "run/train.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "inducing/choose.h"
#include "run/climb.h"
#include "run/plan.h"
#include "run/start.h"
#include "run/sampled.h"
#include "run/stepwise.h"
#include "run/surrogate.h"
#include "run/walk.h"

static int64_t loo_room(const model_ops *model, const problem *p)
{
    int64_t n = p->rows->data->n;
    return !model_has_loo(model) ? 0 : model->loo_after && n < LOO_MOST ? LOO_MOST : n;
}

static bool result_allocate(train_result *r, const problem *p, int64_t targets, int64_t n)
{
    leave_one_out *l = &r->loo;
    l->D = p->blocks ? p->blocks->D : p->rows->D;
    if (p->leave_out_inputs && !(l->X = mem_doubles(n, l->D))) return false;
    r->bounds = mem_alloc(targets, sizeof *r->bounds);
    for (int64_t t = 0; r->bounds && t < targets; t++) r->bounds[t] = evidence_bounds_none();
    l->y = mem_alloc(n, sizeof(double));
    l->mean = mem_alloc(n, sizeof(double));
    l->variance = mem_alloc(n, sizeof(double));
    l->weight = mem_alloc(n, sizeof(double));
    return r->bounds && l->y && l->mean && l->variance && l->weight;
}

void train_result_clear(train_result *r)
{
    free(r->loo.y);
    free(r->loo.mean);
    free(r->loo.variance);
    free(r->loo.weight);
    free(r->loo.X);
    free(r->bounds);
    *r = (train_result){0};
}

deadline train_deadline(const train_options *o) { return (deadline){o->began, o->time_limit, o->stop}; }

void train_tell(const problem *p, const train_options *o, anygp_log_level level, const char *format, ...)
{
    char text[400];
    va_list args;
    if (!o->tell || p->comm->rank != 0) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    o->tell(o->ctx, level, text);
}

anygp_status train_agree(const problem *p, int *flags, anygp_error *e)
{
    return p->comm->size == 1 ? ANYGP_OK : p->comm->broadcast(p->comm->ctx, 0, sizeof *flags, flags, e);
}

anygp_status train_share(const problem *p, int64_t n, double *x, anygp_error *e)
{
    const comm *c = p->comm;
    return c->size == 1 ? ANYGP_OK : c->broadcast(c->ctx, 0, n * (int64_t)sizeof *x, x, e);
}

/* ------------------------------------------------------------------------------------ the start */

/* What ends the search for a starting point: the time limit, or the caller, who is asked now and then. */
typedef struct watch {
    const train_options *o;
    anygp_status status;
    double asked;   /* by the clock */
    deadline scan;  /* the scan's own */
    double seconds; /* an evaluation of all rows would take, by what fewer took; 0: not known */
} watch;

/* Shares of the time left: for the scan, for the run on a subset. */
static const double SCAN_SHARE = 0.15, WARM_SHARE = 0.35,
                    PLACES_SHARE = 0.5; /* of all of it: until when places are chosen with care */

static bool enough(void *ctx)
{
    watch *w = ctx;
    double now = clock_seconds();
    if (now - w->o->began > w->o->time_limit) w->status = ANYGP_TIME_LIMIT;
    if (w->status == ANYGP_OK && w->o->report && now - w->asked > 0.1) {
        train_step step = {
            .stage = TRAIN_SCAN, .seconds = now - w->o->began, .objective = NAN, .scores = train_scores_none()};
        if (w->o->report(w->o->ctx, &step)) w->status = ANYGP_INTERRUPTED;
        w->asked = now;
    }
    return w->status != ANYGP_OK || deadline_passed(&w->scan);
}

/* Whether places are hyperparameters: those of a decoupled model move by its own steps. */
static bool learned_places(const model_ops *model, const problem *p)
{
    return p->learn_inducing && !model_takes_pair(model);
}

static anygp_status choose(const problem *p, const hyper *h, int64_t M, const char *how, const deadline *until,
                           double *Z, int64_t *count, anygp_error *e)
{
    const merged *m = p->rows;
    bool text = false;
    for (int64_t j = 0; j < m->D; j++) text |= schema_at(&m->data->schema, j)->text;
    return choose_inducing(how, m->n, m->D, m->X, text, h->kernel, M, p->seed, until, Z, count, e);
}

static anygp_status place(const model_ops *model, const problem *p, hyper *h, const char *how, const deadline *until,
                          anygp_error *e)
{
    const merged *m = p->rows;
    bool grows = p->grow > 0 && p->grow < p->subset && !model_takes_pair(model); /* the others join on the way */
    int64_t M = grows ? p->grow : p->subset, count = 0;
    double *Z = mem_doubles(M, m->D);
    if (!Z) return fail_memory(e, "the inducing inputs", 8.0 * (double)M * (double)m->D);
    anygp_status status = h->kind->draw ? h->kind->draw(h->kernel, how, p->seed, count = M, Z, e)
                                        : choose(p, h, M, how, until, Z, &count, e);
    if (!ANYGP_FAILED(status)) status = hyper_set_inducing(h, count, m->D, Z, learned_places(model, p), e);
    free(Z);
    return status;
}

/* The one of two choices that leaves less of the prior variance, which is what a bound pays for. */
static anygp_status place_best(const model_ops *model, const problem *p, hyper *h, const deadline *until,
                               inducing_start *s, anygp_error *e)
{
    hyper first = {0};
    double left, share;
    TRY(place(model, p, h, "kmeans", until, e));
    TRY(start_left_by_inducing(p, h, &left, &share, e));
    if (deadline_passed(until)) return *s = (inducing_start){"kmeans", left, share, NAN}, ANYGP_OK;
    anygp_status status = hyper_copy(h, &first, e);
    if (!ANYGP_FAILED(status)) status = place(model, p, h, "greedy", until, e);
    if (!ANYGP_FAILED(status)) status = start_left_by_inducing(p, h, &s->left, &s->share, e);
    s->how = "greedy", s->other = share;
    if (!ANYGP_FAILED(status) && left <= s->left) {
        *s = (inducing_start){"kmeans", left, share, s->share};
        status = hyper_set_inducing(h, first.M, first.D, first.Z, learned_places(model, p), e);
    }
    hyper_clear(&first);
    return status;
}

static anygp_status place_inducing(const model_ops *model, const problem *p, hyper *h, const train_options *o,
                                   inducing_start *s, anygp_error *e)
{
    bool best = p->select && !strcmp(p->select, "best");
    deadline until = train_deadline(o);
    until.limit *= PLACES_SHARE;
    if (!model_has_inducing(model) || p->subset == 0 || !p->select) return ANYGP_OK;
    if (h->M == 0 && best && !deadline_passed(&until)) return place_best(model, p, h, &until, s, e);
    if (h->M == 0) {
        s->how = best ? "kmeans" : p->select;
        TRY(place(model, p, h, s->how, &until, e));
    }
    return model_learns_inducing(model) ? start_left_by_inducing(p, h, &s->left, &s->share, e) : ANYGP_OK;
}

/* Rank 0's hyperparameters and inducing inputs, to all. */
static anygp_status share_start(const model_ops *model, const problem *p, hyper *h, anygp_error *e)
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
    if (c->rank != 0 && M > 0) status = hyper_set_inducing(h, M, D, Z, learned_places(model, p), e);
done:
    free(values);
    free(Z);
    return status;
}

static anygp_status search(const model_ops *model, const problem *p, hyper *h, watch *w, anygp_error *e)
{
    deadline all = train_deadline(w->o);
    train_options brief = *w->o;
    anygp_status stopped = ANYGP_OK;
    double cubic = 0;
    if (brief.anytime.on && brief.anytime.learn)
        brief.iterations = INT64_MAX; /* those given are of steps, not of climbs */
    w->scan = deadline_part(&all, SCAN_SHARE);
    brief.time_limit = fmin(all.limit, w->scan.limit);
    TRY(start_from_data(p, h, &brief, enough, w, e));
    /* Steps over kernels at rows keep the kernel that they are given: they need the warm-up however few rows there are. */
    bool kept = model->needs.kept,
         of_rows = !model_has_inducing(model) && !model->variables && !model_by_steps(model) && !kept,
         near = model_has_neighbours(model) && !kept;
    if (w->status || (of_rows && !near && model->size(p) <= PLAN_WARM_ABOVE)) return ANYGP_OK;
    brief.time_limit = fmin(all.limit, deadline_part(&all, WARM_SHARE).limit);
    TRY(near   ? start_near(model, p, h, &brief, &stopped, e)
        : kept ? start_to_keep(p, h, &brief, &stopped, &cubic, e)
               : start_warm_up(p, h, &brief, &stopped, &cubic, e));
    if (!stopped && model->warm > 0) {
        brief.time_limit = fmin(all.limit, deadline_part(&all, WARM_SHARE).limit);
        TRY(start_warm_more(p, h, &brief, model->warm, &stopped, e));
    }
    if (stopped != ANYGP_TIME_LIMIT || deadline_passed(&all)) w->status = stopped; /* else: its share of the time */
    w->seconds = cubic * pow((double)model->size(p), 3);
    return ANYGP_OK;
}

static anygp_status search_surrogate(const model_ops *model, const problem *p, hyper *h, watch *w, anygp_error *e)
{
    hyper first = {0};
    anygp_status status = hyper_copy(h, &first, e);
    for (int64_t t = 0; !ANYGP_FAILED(status) && !w->status && t < (p->targets > 1 ? p->targets : 1); t++) {
        surrogate s;
        status = surrogate_open(p, t, &first, &s, e);
        if (!ANYGP_FAILED(status)) status = search(model, &s.problem, &s.h, w, e);
        if (!ANYGP_FAILED(status)) surrogate_take(&s, p, t, h);
        surrogate_close(&s);
    }
    hyper_clear(&first);
    return status;
}

/* Starting values, on rank 0, from the rows in memory; the other ranks wait for them. */
static anygp_status find_start(const model_ops *model, const problem *p, hyper *h, const train_options *o, watch *w,
                               inducing_start *s, anygp_error *e)
{
    bool learns = !o->started && h->free > 0 && !model->needs.given &&
                  (o->anytime.on || model->steps ? o->anytime.learn || o->iterations > 0 : o->iterations > 0);
    if (p->comm->rank == 0) {
        if (learns && model->start)
            TRY(model->start(p, h, e));
        else if (learns)
            TRY(surrogate_needed(p) ? search_surrogate(model, p, h, w, e) : search(model, p, h, w, e));
        TRY(place_inducing(model, p, h, o, s, e));
        if (learns && model_learns_inducing(model) && !model->start) start_noise_of_inducing(h, s->left);
    }
    TRY(share_start(model, p, h, e));
    int flags = (int)w->status;
    TRY(train_agree(p, &flags, e));
    w->status = (anygp_status)flags;
    return ANYGP_OK;
}

/* A checkpoint has the inducing inputs of its run: they were chosen at hyperparameters that are gone. */
static anygp_status restore_inducing(const model_ops *model, const problem *p, hyper *h, const checkpoint *c,
                                     anygp_error *e)
{
    if (p->subset == 0 || !p->select) return ANYGP_OK; /* a decoupled model with none, or none yet */
    int64_t count = checkpoint_count(c, "Z"), D = p->rows->D;
    double *Z = count > 0 ? mem_alloc(count, sizeof *Z) : NULL;
    anygp_status status = ANYGP_OK;
    if (!Z || D < 1 || count % D || !checkpoint_get_finite(c, "Z", count, Z))
        status = fail_with(e, ANYGP_ERR_FILE, "the checkpoint has no inducing inputs; it is from another run");
    else
        status = hyper_set_inducing(h, count / D, D, Z, learned_places(model, p), e);
    free(Z);
    return status;
}

/* p with sets of the inducing inputs that there are: where distinct rows are few, the last ones get fewer, or none.  Not for a
   decoupled model, where the bases of the mean are not among them. */
static problem with_sets(const model_ops *model, const problem *p, const hyper *h, int64_t sets[MODEL_SETS_MOST])
{
    problem fitted = *p;
    if (!model_takes_sets(model) || !p->sets) return fitted;
    fitted.sets = sets, fitted.set_count = model_share_sets(h->M, p->set_count, p->sets, sets);
    return fitted;
}

/* ------------------------------------------------------------------------------------------- runs */

static bool checkpoint_is_walk(const checkpoint *c)
{
    const char *kind = c ? checkpoint_text(c, "run") : NULL;
    return kind && !strcmp(kind, "walk");
}

/* Steps of NAME+ by themselves, or after learning by batch; a checkpoint of that learning has been used then. */
static anygp_status run_anytime(climb *c, train_result *result, posterior **out, anygp_error *e)
{
    const run *r = &c->r;
    train_options steps = *r->o;
    if (!steps.anytime.learn && r->h->free > 0 && !checkpoint_is_walk(steps.resume)) {
        TRY(run_go(&c->r, e));
        climb_finish(c, result);
        steps.resume = NULL;
    }
    return walk_run(r->model, r->state, r->p, r->h, &steps, r->status, result, out, e);
}

/* The other bound on the evidence is left out where there is no time for it, or the caller wants to stop. */
static anygp_status add_bounds(run *r, train_result *result, anygp_error *e)
{
    deadline until = train_deadline(r->o);
    int affordable = r->status != ANYGP_INTERRUPTED && deadline_fits(&until, r->longest);
    if (!r->model->bounds) return ANYGP_OK;
    TRY(train_agree(r->p, &affordable, e));
    if (affordable) return r->model->bounds(r->state, r->h, &r->jitter, result->bounds, e);
    train_tell(r->p, r->o, ANYGP_NOTE, "there was no time for the upper bound on the log evidence");
    return ANYGP_OK;
}

/* A posterior from some of the rows is worth less than a few seconds. */
static deadline posterior_deadline(const train_options *o)
{
    static const double BEYOND = 1.3;
    deadline until = train_deadline(o);
    until.limit *= BEYOND, until.stop = NULL; /* it is made whatever the caller wants */
    return until;
}

static anygp_status run_batch(climb *c, train_result *result, posterior **out, anygp_error *e)
{
    run *r = &c->r;
    TRY(run_go(r, e));
    climb_finish(c, result);
    if (c->pass) *c->pass = posterior_deadline(r->o);
    climb_rounding_before(c);
    TRY(add_bounds(r, result, e));
    TRY(r->model->posterior(r->state, r->h, &r->jitter, out, e));
    climb_rounding_after(c, result);
    run_remark(r);
    if (r->model->loo_after) TRY(run_leave_out(r, out[0], &result->loo, e));
    double seen = r->model->seen ? r->model->seen(r->state) : 1;
    if (seen < 1)
        train_tell(
            r->p, r->o, ANYGP_WARNING,
            "there was time for %.2g %% of the rows only, which the model is based on; give it more --time, fewer "
            "--inducing, or use an anytime model: --model %s+ or svgp",
            100 * seen, model_can_anytime(r->model) ? r->model->name : "vfe");
    if (seen < 1) result->exact = false, result->status = ANYGP_TIME_LIMIT;
    if (r->model->needs.iterative) result->exact = false;
    result->jitter = r->jitter;
    return ANYGP_OK;
}

static anygp_status run_passes(const model_ops *model, void *state, const problem *p, hyper *h, const train_options *o,
                               const watch *w, deadline *pass, train_result *result, posterior **out, anygp_error *e)
{
    climb c;
    train_options few = *o;
    if (model->refine > 0 && p->rows->n > model->warm && !o->iterations_given && few.iterations > model->refine)
        few.iterations = model->refine, o = &few; /* the rows of the warm-up have said most */
    if (o->anytime.on && model->sum && h->free > 0)
        return sampled_run(model, state, p, h, o, w->status, result, out, e);
    anygp_status status = climb_init(&c, model, state, p, h, o, w->status, &result->loo, e);
    c.expected = w->seconds, c.pass = pass;
    if (!ANYGP_FAILED(status)) status = (o->anytime.on && model->anytime ? run_anytime : run_batch)(&c, result, out, e);
    climb_clear(&c);
    return status;
}

static anygp_status run_model(const model_ops *model, const problem *p, hyper *h, const train_options *o,
                              const watch *w, train_result *result, posterior **out, anygp_error *e)
{
    void *state;
    deadline pass = train_deadline(o);
    problem timed = *p;
    bool timed_out = isfinite(o->time_limit) || o->stop;
    if (timed_out) timed.pass = &pass;
    TRY(model_open(model, &timed, h, &state, e));
    anygp_status status = model->steps
                              ? stepwise_run(model, state, &timed, h, o, w->status, result, out, e)
                              : run_passes(model, state, &timed, h, o, w, timed_out ? &pass : NULL, result, out, e);
    model->close(state);
    return status;
}

anygp_status train(const model_ops *model, const problem *p, hyper *h, const train_options *o, train_result *r,
                   posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    watch w = {.o = o, .asked = clock_seconds(), .scan = train_deadline(o)};
    int64_t T = p->targets > 1 ? p->targets : 1, sets[MODEL_SETS_MOST];
    *r = (train_result){.places = {NULL, NAN, NAN, NAN}, .rounding = {.error = NAN}};
    for (int64_t t = 0; t < T; t++) out[t] = NULL;
    if (!result_allocate(r, p, T, loo_room(model, p))) {
        status = fail_memory(e, "leave-one-out", 32.0 * (double)p->rows->data->n);
        goto done;
    }
    if (!o->resume)
        TRY_DONE(find_start(model, p, h, o, &w, &r->places, e));
    else if (model_has_inducing(model))
        TRY_DONE(restore_inducing(model, p, h, o->resume, e));
    problem fitted = with_sets(model, p, h, sets);
    train_options rest = *o;
    if (o->start_only) rest.iterations = 0;
    status = run_model(model, &fitted, h, &rest, &w, r, out, e);
done:
    if (ANYGP_FAILED(status)) {
        posteriors_free(T, out);
        train_result_clear(r);
    }
    return status;
}
