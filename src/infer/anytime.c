#include "infer/anytime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "infer/adam.h"
#include "infer/natural.h"
#include "infer/sampler.h"

enum {
    BURN_IN = 20,      /* steps before hyperparameters move: q must know something first */
    STEPS_LEAST = 300, /* of a run that learns, where the user gives no number */
    EPOCHS = 3,
    RETRIES = 6,
    FAILURES_MOST = 50 /* steps in a row that could not be taken */
};
static const double LEARNING_SHARE = 0.7, LEARNING_KAPPA = 0.6, ADAM_STEP = 0.02, ADAM_FADES = 100, SMOOTHING = 0.2;

typedef struct walk {
    const model_ops *model;
    const anytime_ops *ops;
    void *state;
    const problem *p;
    hyper *h;
    const train_options *o;
    int64_t P, S, steps;
    int64_t t;       /* steps done */
    int64_t turned;  /* the step from which hyperparameters stay; -1: not yet */
    double rho_turn; /* rho there */
    int64_t failures;
    int64_t *which;
    gaussian_q q;
    adam adam;
    double *u, *gu, *gp, *before; /* free parameters, their gradient, natural gradient, u before the step */
    double *V;                    /* M x M: covariance of q, or L */
    double jitter, value;         /* the running estimate of the bound; NaN: none yet */
    bool prepared;
    double paused;  /* seconds that do not count */
    double longest; /* seconds of a step */
    double saved;   /* by the clock */
    double rmse, mnlp;
    int64_t next_record;
    anygp_status status;
} walk;

static bool learns(const walk *w) { return w->o->anytime.learn && w->h->free > 0; }
static double elapsed(const walk *w) { return clock_seconds() - w->o->began - w->paused; }

/* ---------------------------------------------------------------------------------- step sizes */

static double given(double value, double otherwise) { return isnan(value) ? otherwise : value; }

static double rho_at(const walk *w, int64_t t)
{
    const anytime_options *a = &w->o->anytime;
    bool printed = !isnan(a->rho) || !isnan(a->tau) || !isnan(a->kappa);
    if (w->turned >= 0 && t >= w->turned && !printed) return 1 / (1 / w->rho_turn + (double)(t - w->turned));
    double kappa = given(a->kappa, learns(w) && !printed ? LEARNING_KAPPA : 1);
    return fmin(step_size(given(a->rho, 1), given(a->tau, 1), kappa, t), a->plain ? INFINITY : 1);
}

/* Where learning ends; decided by rank 0, since it may depend on a clock. */
static bool should_turn(const walk *w)
{
    double share = fmax((double)w->t / (double)w->steps, isinf(w->o->time_limit) ? 0 : elapsed(w) / w->o->time_limit);
    return learns(w) && w->turned < 0 && share >= LEARNING_SHARE;
}

/* ----------------------------------------------------------------------------------------- steps */

static anygp_status prepare(walk *w, bool grow, anygp_error *e)
{
    if (w->prepared) return ANYGP_OK;
    w->prepared = w->ops->prepare(w->state, w->h, grow, &w->jitter);
    return w->prepared ? ANYGP_OK
                       : fail_with(e, ANYGP_ERR_NUMERIC,
                                   "the covariance of the inducing inputs has no Cholesky factor, even with jitter; "
                                   "use fewer of them or another kernel");
}

static void smooth(walk *w, double value)
{
    w->value = isnan(w->value) ? value : w->value + SMOOTHING * (value - w->value);
}

/* The bound at q on the sample, and with `gradient` a step of Adam in u; h itself moves after q has. */
static anygp_status look_at_bound(walk *w, double scale, bool gradient, anygp_error *e)
{
    double value;
    if (!gaussian_q_ready(&w->q)) return fail_with(e, ANYGP_ERR_NUMERIC, "q is not a distribution any more");
    gaussian_q_covariance(&w->q, w->V);
    TRY(w->ops->bound(w->state, w->q.m, w->V, gaussian_q_kl(&w->q), w->S, w->which, scale, &value,
                      gradient ? w->gp : NULL, e));
    smooth(w, value);
    if (!gradient) return ANYGP_OK;
    hyper_chain(w->h, w->gp, w->gu);
    hyper_log_prior(w->h, w->gu);
    double rate = given(w->o->anytime.step, ADAM_STEP) / sqrt(1 + (double)w->t / ADAM_FADES);
    adam_step(&w->adam, rate, w->gu, w->u);
    return ANYGP_OK;
}

/* What only the trace wants does not count as time of the run. */
static anygp_status look_for_trace(walk *w, double scale, anygp_error *e)
{
    double began = clock_seconds();
    anygp_status status = look_at_bound(w, scale, false, e);
    w->paused += clock_seconds() - began;
    return status;
}

static bool move_q(walk *w, const double *S, const double *b)
{
    double rho = rho_at(w, w->t), prior = w->ops->prior(w->state), taken;
    if (!w->o->anytime.plain) return natural_step(&w->q, rho, prior, S, b);
    w->ops->root(w->state, w->V);
    return plain_step(&w->q, rho, prior, w->V, w->q.M, S, b, &taken);
}

static anygp_status try_step(walk *w, anygp_error *e)
{
    const double *S, *b;
    double scale = (double)w->P / (double)w->S;
    bool learning = learns(w) && w->turned < 0 && w->t >= BURN_IN;
    memcpy(w->before, w->u, (size_t)w->h->free * sizeof *w->u);
    TRY(prepare(w, w->t == 0, e));
    TRY(w->ops->stat(w->state, w->S, w->which, scale, &S, &b, e));
    if (learning)
        TRY(look_at_bound(w, scale, true, e));
    else if (w->t + 1 >= w->next_record)
        TRY(look_for_trace(w, scale, e));
    if (!move_q(w, S, b))
        return fail_with(e, ANYGP_ERR_NUMERIC,
                         "a step leads to a precision that is not positive definite; look at more blocks a step "
                         "(--sample), take smaller steps (--rho) or, in a combination, use other coefficients");
    if (learning) {
        hyper_unpack(w->h, w->u);
        w->prepared = false;
    }
    return ANYGP_OK;
}

/* A step that breaks down is taken back and tried again with more jitter; one that cannot be taken at all is left out.  At
   the first step, or after too many of them, the run ends with the reason. */
static anygp_status step(walk *w, anygp_error *e)
{
    sample_blocks(w->p->seed, w->t, w->P, w->S, w->o->anytime.replace, w->which);
    for (int k = 0;; k++) {
        anygp_status status = try_step(w, e);
        if (status != ANYGP_ERR_NUMERIC) return w->failures = 0, status;
        if (w->model->no_learning) return status; /* its coefficients are the reason; jitter would change nothing */
        w->jitter = fmin(w->jitter > 0 ? 10 * w->jitter : 1e-10, 1e-3);
        w->prepared = false;
        memcpy(w->u, w->before, (size_t)w->h->free * sizeof *w->u);
        hyper_unpack(w->h, w->u);
        if (k < RETRIES) continue;
        if (w->t == 0 || ++w->failures > FAILURES_MOST) return status;
        return ANYGP_OK;
    }
}

/* -------------------------------------------------------------------------------------- reports */

static anygp_status posterior_now(walk *w, posterior **out, anygp_error *e)
{
    TRY(prepare(w, true, e));
    if (!gaussian_q_ready(&w->q))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the steps led to a precision that is not positive definite");
    return w->ops->posterior(w->state, w->q.m, w->q.factor, out, e);
}

static anygp_status score(walk *w, anygp_error *e)
{
    double began = clock_seconds();
    posterior *now = NULL;
    if (!w->o->score) return ANYGP_OK;
    TRY(posterior_now(w, &now, e));
    anygp_status status = w->p->comm->rank == 0 ? w->o->score(w->o->ctx, now, &w->rmse, &w->mnlp, e) : ANYGP_OK;
    now->ops->free(now);
    w->paused += clock_seconds() - began;
    return status;
}

static anygp_status save(walk *w, anygp_error *e)
{
    posterior *now = NULL;
    checkpoint *c = checkpoint_new();
    checkpoint_put_text(c, "run", "anytime");
    checkpoint_put_integer(c, "t", w->t);
    checkpoint_put_integer(c, "turned", w->turned);
    checkpoint_put_number(c, "rho_turn", w->rho_turn);
    checkpoint_put_number(c, "jitter", w->jitter);
    checkpoint_put_number(c, "value", isnan(w->value) ? 0 : w->value);
    checkpoint_put_integer(c, "valued", !isnan(w->value));
    checkpoint_put_integer(c, "record", w->next_record);
    checkpoint_put(c, "Lambda", w->q.M * w->q.M, w->q.Lambda);
    checkpoint_put(c, "theta1", w->q.M, w->q.theta1);
    checkpoint_put(c, "u", w->h->free, w->u);
    checkpoint_put_integer(c, "adam_t", w->adam.t);
    checkpoint_put(c, "adam_first", w->adam.n, w->adam.first);
    checkpoint_put(c, "adam_second", w->adam.n, w->adam.second);
    anygp_status status = posterior_now(w, &now, e);
    if (!ANYGP_FAILED(status) && w->p->comm->rank == 0)
        status = w->o->save(w->o->ctx, c, w->h, w->value, w->jitter, now, e);
    else if (now)
        now->ops->free(now);
    checkpoint_free(c);
    w->saved = clock_seconds();
    return status;
}

static anygp_status restore(walk *w, anygp_error *e)
{
    const checkpoint *c = w->o->resume;
    const char *run = checkpoint_text(c, "run");
    int64_t valued = 0, MM = w->q.M * w->q.M, n = w->h->free;
    double *Lambda = mem_alloc(MM, sizeof *Lambda), *theta1 = mem_alloc(w->q.M, sizeof *theta1);
    bool ok = Lambda && theta1 && run && !strcmp(run, "anytime") && checkpoint_get_integer(c, "t", &w->t) &&
              checkpoint_get_integer(c, "turned", &w->turned) && checkpoint_get_number(c, "rho_turn", &w->rho_turn) &&
              checkpoint_get_number(c, "jitter", &w->jitter) && checkpoint_get_number(c, "value", &w->value) &&
              checkpoint_get_integer(c, "valued", &valued) && checkpoint_get_integer(c, "record", &w->next_record) &&
              checkpoint_get(c, "Lambda", MM, Lambda) && checkpoint_get(c, "theta1", w->q.M, theta1) &&
              checkpoint_get(c, "u", n, w->u) && checkpoint_get_integer(c, "adam_t", &w->adam.t) &&
              checkpoint_get(c, "adam_first", n, w->adam.first) &&
              checkpoint_get(c, "adam_second", n, w->adam.second) && w->t >= 0 && gaussian_q_set(&w->q, Lambda, theta1);
    if (!valued) w->value = NAN;
    if (ok) hyper_unpack(w->h, w->u);
    free(Lambda);
    free(theta1);
    return ok ? ANYGP_OK
              : fail_with(e, ANYGP_ERR_FILE,
                          "the checkpoint is of another run; start without --resume, or with the "
                          "options of the run that wrote it");
}

enum { FLAG_STOP = 1, FLAG_TIME = 2, FLAG_TURN = 4, FLAG_SAVE = 8 };

/* What rank 0 sees of clock and caller. */
static int look_around(walk *w)
{
    bool record = w->t >= w->next_record || w->t == w->steps;
    train_step now = {.stage = TRAIN_MAIN,
                      .iteration = w->t,
                      .evaluations = w->t,
                      .seconds = elapsed(w),
                      .objective = w->value,
                      .rmse = w->rmse,
                      .mnlp = w->mnlp,
                      .record = record};
    int flags = 0;
    if (w->o->report && w->o->report(w->o->ctx, &now)) flags |= FLAG_STOP;
    if (elapsed(w) + 1.5 * w->longest > w->o->time_limit) flags |= FLAG_TIME;
    if (should_turn(w)) flags |= FLAG_TURN;
    if (clock_seconds() - w->saved > w->o->save_every) flags |= FLAG_SAVE;
    return flags;
}

/* Row 0 of the trace: when the steps begin. */
static void begin_trace(const walk *w)
{
    train_step now = {
        .stage = TRAIN_MAIN, .seconds = elapsed(w), .objective = NAN, .rmse = NAN, .mnlp = NAN, .record = true};
    if (w->o->report && w->p->comm->rank == 0) w->o->report(w->o->ctx, &now);
}

/* After each step: scores and a row of the trace now and then, stopping, saving. */
static anygp_status after_step(walk *w, anygp_error *e)
{
    bool record = w->t >= w->next_record || w->t == w->steps;
    if (record) TRY(score(w, e));
    int flags = w->p->comm->rank == 0 ? look_around(w) : 0;
    TRY(train_agree(w->p, &flags, e));
    if (record) w->next_record = w->t + 1 + w->t / 20;
    if (flags & FLAG_TURN) w->turned = w->t, w->rho_turn = rho_at(w, w->t);
    if (flags & FLAG_SAVE) TRY(save(w, e));
    if (flags & FLAG_TIME) w->status = ANYGP_TIME_LIMIT;
    if (flags & FLAG_STOP) w->status = ANYGP_INTERRUPTED;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------ run */

static void walk_close(walk *w)
{
    gaussian_q_clear(&w->q);
    adam_clear(&w->adam);
    double *const owned[] = {w->u, w->gu, w->gp, w->before, w->V};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(w->which);
}

static int64_t default_steps(const walk *w)
{
    int64_t epoch = (w->P + w->S - 1) / w->S;
    if (!learns(w)) return epoch;
    return EPOCHS * epoch > STEPS_LEAST ? EPOCHS * epoch : STEPS_LEAST;
}

static anygp_status walk_open(walk *w, anygp_error *e)
{
    int64_t n = w->h->free;
    w->P = w->p->blocks->count;
    w->S = w->o->anytime.sample < w->P ? w->o->anytime.sample : w->P;
    w->steps = w->o->anytime.steps > 0 ? w->o->anytime.steps : default_steps(w);
    TRY(gaussian_q_init(&w->q, w->ops->size(w->state), e));
    w->q.lazy = !w->o->anytime.plain && w->ops->prior(w->state) == 1;
    TRY(adam_init(&w->adam, n, e));
    w->u = mem_alloc(n, sizeof(double));
    w->gu = mem_alloc(n, sizeof(double));
    w->before = mem_alloc(n, sizeof(double));
    w->gp = mem_alloc(hyper_size(w->h), sizeof(double));
    w->V = mem_doubles(w->q.M, w->q.M);
    w->which = mem_alloc(w->S, sizeof *w->which);
    if (!w->u || !w->gu || !w->before || !w->gp || !w->V || !w->which)
        return fail_memory(e, "the steps", 8.0 * (double)(w->q.M * w->q.M + 4 * n));
    hyper_pack(w->h, w->u);
    return w->o->resume ? restore(w, e) : ANYGP_OK;
}

static void keep_result(const walk *w, train_result *r)
{
    r->status = w->status;
    r->objective = w->value, r->exact = false;
    r->log_prior = hyper_log_prior(w->h, NULL);
    r->iterations = r->evaluations = w->t;
    r->rows = w->model->rows(w->state);
    r->jitter = w->jitter;
}

anygp_status anytime_run(const model_ops *model, void *state, const problem *p, hyper *h, const train_options *o,
                         anygp_status stopped, train_result *r, posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    walk w = {.model = model, .ops = model->anytime, .state = state, .p = p, .h = h, .o = o, .turned = -1};
    w.jitter = o->jitter, w.value = w.rmse = w.mnlp = NAN, w.saved = clock_seconds(), w.next_record = 1;
    TRY_DONE(walk_open(&w, e));
    if (w.t == 0) begin_trace(&w);
    for (bool first = w.t == 0; first || (w.status == ANYGP_OK && w.t < w.steps); first = false) {
        double began = clock_seconds(), paused = w.paused;
        TRY_DONE(step(&w, e));
        w.t++;
        w.longest = fmax(w.longest, clock_seconds() - began - (w.paused - paused));
        TRY_DONE(after_step(&w, e));
        if (w.status == ANYGP_OK) w.status = stopped; /* out of time before the first step: that one is still made */
    }
    keep_result(&w, r);
    status = posterior_now(&w, out, e);
done:
    walk_close(&w);
    return status;
}
