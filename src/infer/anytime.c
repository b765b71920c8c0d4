#include "infer/anytime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "infer/walk.h"

enum {
    STEPS_LEAST = 300, /* of a run that learns, where the user gives no number */
    EPOCHS = 3,
};
static const double LEARNING_SHARE = 0.7;

/* By the wall, which the time limit means; the trace leaves out what only the trace wants. */
static double elapsed(const walk *w) { return clock_seconds() - w->o->began; }

/* Where learning ends; decided by rank 0, since it may depend on a clock. */
static bool should_turn(const walk *w)
{
    double share = fmax((double)w->t / (double)w->steps, isinf(w->o->time_limit) ? 0 : elapsed(w) / w->o->time_limit);
    return walk_learns(w) && w->turned < 0 && share >= LEARNING_SHARE;
}

/* -------------------------------------------------------------------------------------- reports */

/* Only rank 0 has rows to score on. */
static anygp_status score(walk *w, anygp_error *e)
{
    double began = clock_seconds();
    posterior *now = NULL;
    anygp_status status =
        walk_ready(w, true, e); /* where nobody scores too: it may raise the jitter, which all ranks share */
    if (!ANYGP_FAILED(status) && w->o->score) status = walk_posterior(w, &now, e);
    if (now) { /* scores that cannot be had are missing in the trace */
        if (ANYGP_FAILED(w->o->score(w->o->ctx, now, &w->scores, e))) w->scores = train_scores_none();
        now->ops->free(now);
    }
    w->paused += clock_seconds() - began;
    return status;
}

static anygp_status save(walk *w, anygp_error *e)
{
    posterior *now = NULL;
    TRY(walk_posterior(w, &now, e)); /* which may raise the jitter */
    checkpoint *c = checkpoint_new();
    checkpoint_put_text(c, "run", "anytime");
    checkpoint_put_integer(c, "t", w->t);
    checkpoint_put_integer(c, "turned", w->turned);
    checkpoint_put_number(c, "rho_turn", w->rho_turn);
    checkpoint_put_number(c, "jitter", w->jitter);
    checkpoint_put_number(c, "value", isnan(w->value) ? 0 : w->value);
    checkpoint_put_integer(c, "has_value", !isnan(w->value));
    checkpoint_put_integer(c, "valued", w->valued);
    checkpoint_put_integer(c, "from", w->from);
    checkpoint_put_integer(c, "record", w->next_record);
    checkpoint_put_integer(c, "absorbing", w->absorbing);
    if (w->absorbing) {
        int64_t size;
        const double *sums = w->ops->sums(w->state, &size);
        checkpoint_put(c, "sums", size, sums);
    }
    checkpoint_put(c, "Lambda", w->q.M * w->q.M, w->q.Lambda);
    checkpoint_put(c, "theta1", w->q.M, w->q.theta1);
    checkpoint_put(c, "u", w->h->free, w->u);
    checkpoint_put_integer(c, "adam_t", w->adam.t);
    checkpoint_put(c, "adam_first", w->adam.n, w->adam.first);
    checkpoint_put(c, "adam_second", w->adam.n, w->adam.second);
    if (w->p->comm->rank == 0) w->o->save(w->o->ctx, c, w->h, w->value, w->jitter, &now);
    posteriors_free(1, &now);
    checkpoint_free(c);
    w->saved = clock_seconds();
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
    double *sums = w->ops->sums(w->state, &size);
    return checkpoint_get_finite(c, "sums", size, sums);
}

static anygp_status restore(walk *w, anygp_error *e)
{
    const checkpoint *c = w->o->resume;
    const char *run = checkpoint_text(c, "run");
    int64_t MM = w->q.M * w->q.M, n = w->h->free, has_value = 0;
    double *Lambda = mem_alloc(MM, sizeof *Lambda), *theta1 = mem_alloc(w->q.M, sizeof *theta1);
    bool ok = Lambda && theta1 && run && !strcmp(run, "anytime") && checkpoint_get_counter(c, "t", 0, &w->t) &&
              checkpoint_get_counter(c, "turned", -1, &w->turned) && w->turned <= w->t &&
              checkpoint_get_finite(c, "rho_turn", 1, &w->rho_turn) && (w->turned < 0 || w->rho_turn > 0) &&
              checkpoint_get_jitter(c, "jitter", &w->jitter) && checkpoint_get_finite(c, "value", 1, &w->value) &&
              checkpoint_get_integer(c, "has_value", &has_value) && checkpoint_get_counter(c, "from", 0, &w->from) &&
              checkpoint_get_counter(c, "valued", 0, &w->valued) &&
              checkpoint_get_counter(c, "record", 0, &w->next_record) &&
              checkpoint_get_finite(c, "Lambda", MM, Lambda) && checkpoint_get_finite(c, "theta1", w->q.M, theta1) &&
              checkpoint_get_finite(c, "u", n, w->u) && checkpoint_get_counter(c, "adam_t", 0, &w->adam.t) &&
              checkpoint_get_finite(c, "adam_first", n, w->adam.first) &&
              checkpoint_get_finite(c, "adam_second", n, w->adam.second) && adam_is_sound(&w->adam) &&
              w->from <= w->t && restore_sums(w, c) && gaussian_q_set(&w->q, Lambda, theta1);
    if (!has_value) w->value = NAN;
    if (ok) hyper_unpack(w->h, w->u);
    ok = ok && hyper_is_sound(w->h);
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
    int flags = 0;
    if (train_report_step(w->o, w->t, w->steps, elapsed(w) - w->paused, w->value, w->scores, record))
        flags |= FLAG_STOP;
    if (elapsed(w) + 1.5 * w->longest > w->o->time_limit) flags |= FLAG_TIME;
    if (should_turn(w)) flags |= FLAG_TURN;
    if (clock_seconds() - w->saved > w->o->save_every) flags |= FLAG_SAVE;
    return flags;
}

/* Row 0 of the trace: when the steps begin. */
static void begin_trace(const walk *w)
{
    train_step now = {.stage = TRAIN_MAIN,
                      .seconds = elapsed(w) - w->paused,
                      .objective = NAN,
                      .scores = train_scores_none(),
                      .record = true};
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
    if (flags & FLAG_TURN) w->rho_turn = walk_rho(w, w->t), w->turned = w->t; /* in this order */
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
    double *const owned[] = {w->u, w->gu, w->gp, w->before, w->V, w->start_S, w->start_b};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(w->which);
}

static int64_t default_steps(const walk *w)
{
    if (!walk_learns(w)) return w->epoch;
    return EPOCHS * w->epoch > STEPS_LEAST ? EPOCHS * w->epoch : STEPS_LEAST;
}

static anygp_status walk_open(walk *w, anygp_error *e)
{
    int64_t n = w->h->free;
    w->P = w->p->blocks->count;
    w->S = w->o->anytime.sample < w->P ? w->o->anytime.sample : w->P;
    w->epoch = (w->P + w->S - 1) / w->S;
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
    hyper_begin(w->h, w->u);
    if (w->o->resume) TRY(restore(w, e));
    return walk_begin(w, e);
}

static void keep_result(const walk *w, train_result *r)
{
    r->status = w->status;
    r->objective = w->value, r->exact = w->exact;
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
    w.jitter = o->jitter, w.value = NAN, w.scores = train_scores_none(), w.saved = clock_seconds(), w.next_record = 1;
    TRY_DONE(walk_open(&w, e));
    if (w.t == 0) begin_trace(&w);
    for (bool first = w.t == 0; first || (w.status == ANYGP_OK && w.t < w.steps); first = false) {
        double began = clock_seconds(), paused = w.paused;
        TRY_DONE(walk_step(&w, e));
        w.t++;
        w.longest = fmax(w.longest, clock_seconds() - began - (w.paused - paused));
        TRY_DONE(after_step(&w, e));
        if (w.status == ANYGP_OK) w.status = stopped; /* out of time before the first step: that one is still made */
    }
    keep_result(&w, r);
    status = walk_posterior(&w, out, e);
done:
    walk_close(&w);
    return status;
}
