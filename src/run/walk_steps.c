/* The steps of an anytime run; walk.h says what they do. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "run/sampler.h"
#include "run/plan.h"
#include "run/walk.h"
#include "inducing/inducing.h"
#include "linalg/jitter.h"

enum {
    BURN_IN = 20,       /* steps before hyperparameters move: q must know something first */
    START_LEAST = 1000, /* rows that stand for blocks not seen yet: so many, or twice the size of q */
};
static const double LEARNING_KAPPA = 0.6, ADAM_STEP = 0.02, ADAM_FADES = 100;

static bool learns_now(const walk *w) { return w->r.learns && w->r.turned < 0 && w->r.t >= BURN_IN; }

static double given(double value, double otherwise) { return isnan(value) ? otherwise : value; }

/* The user gave the schedule. */
static bool printed(const anytime_options *a) { return !isnan(a->rho) || !isnan(a->tau) || !isnan(a->kappa); }

double walk_rho(const walk *w, int64_t t)
{
    const anytime_options *a = &w->r.o->anytime;
    if (w->r.turned >= 0 && t >= w->r.turned && !printed(a)) return 1 / (1 / w->rho_turn + (double)(t - w->r.turned));
    double kappa = given(a->kappa, w->r.learns && !printed(a) ? LEARNING_KAPPA : 1);
    return fmin(step_size(given(a->rho, 1), given(a->tau, 1), kappa, t), a->plain ? INFINITY : 1);
}

/* ------------------------------------------------------------------------------------- absorbing */

/* Statistics of a few random rows, where blocks are parts of space and a few of them know nothing of the rest. */
static anygp_status make_start(walk *w, anygp_error *e)
{
    const merged *m = w->r.p->rows;
    int64_t M = w->q.M, n = 2 * M > START_LEAST ? 2 * M : START_LEAST, *chosen = NULL;
    merged few = {0};
    anygp_status status = ANYGP_OK;
    if (!model_over_parts(w->r.model) || !w->ops->start) return ANYGP_OK;
    if (n > m->n) n = m->n;
    free(w->start_S), free(w->start_b);
    chosen = mem_alloc(n, sizeof *chosen);
    w->start_S = mem_doubles(M, M);
    w->start_b = mem_alloc(M, sizeof(double));
    if (!chosen || !w->start_S || !w->start_b) {
        status = fail_memory(e, "the start", 8.0 * (double)(M * M));
        goto done;
    }
    random_subset((random_stream){w->r.p->seed, RANDOM_SUBSET, 3}, m->n, n, chosen);
    TRY_DONE(merged_select(m, n, chosen, &few, e));
    status = w->ops->start(w->r.state, few.n, few.X, few.y, few.c, w->start_S, w->start_b, e);
done:
    merged_clear(&few);
    free(chosen);
    return status;
}

anygp_status walk_begin(walk *w, anygp_error *e)
{
    const anytime_options *a = &w->r.o->anytime;
    w->absorbing = w->ops->absorb && w->ops->prior(w->r.state) == 1 && !printed(a) && !a->plain && !a->replace &&
                   !w->r.learns && (w->behind || w->r.t == 0);
    if (!w->absorbing) return ANYGP_OK;
    w->prepared = w->ops->prepare(w->r.state, w->r.h, w->r.t == 0, &w->r.jitter);
    if (!w->prepared) return ANYGP_OK; /* the first step says so */
    return make_start(w, e);
}

/* Whether q claims the certainty of all rows before it has met them. */
static bool claims_too_much(const walk *w)
{
    const anytime_options *a = &w->r.o->anytime;
    return w->r.learns && !printed(a) && !a->plain && w->r.t * w->r.S < w->r.P;
}

/* prior x (likelihood as q has it)^c x (likelihood of the start)^(1 - c), c the share of the blocks seen. */
static bool tempered(const walk *w, gauss *out)
{
    int64_t M = w->q.M;
    double c = (double)(w->r.t * w->r.S) / (double)w->r.P, rest = w->start_S ? 1 - c : 0,
           prior = w->ops->prior(w->r.state);
    double *theta1 = mem_alloc(M, sizeof *theta1);
    for (int64_t j = 0; theta1 && j < M; j++) {
        for (int64_t i = j, k = j + j * M; i < M; i++, k++)
            w->V[k] = c * w->q.Lambda[k] + (i == j ? (1 - c) * prior : 0) + (rest > 0 ? rest * w->start_S[k] : 0);
        theta1[j] = c * w->q.theta[j] + (rest > 0 ? rest * w->start_b[j] : 0);
    }
    bool ok = theta1 && gauss_set(out, NULL, w->V, theta1);
    free(theta1);
    return ok;
}

anygp_status walk_posterior(walk *w, posterior **out, anygp_error *e)
{
    gauss honest = {0};
    TRY(walk_ready(w, true, e));
    if (!claims_too_much(w)) return w->ops->posterior(w->r.state, w->q.m, w->q.F, out, e);
    anygp_status status = ANYGP_OK;
    TRY_DONE(gauss_init(&honest, w->q.M, e));
    TRY_DONE(make_start(w, e));
    if (!tempered(w, &honest))
        status = fail_with(e, ANYGP_ERR_NUMERIC, "the precision of the rows seen so far is not positive definite");
    else
        status = w->ops->posterior(w->r.state, honest.m, honest.F, out, e);
done:
    gauss_clear(&honest);
    return status;
}

/* Blocks absorbed so far. */
static int64_t seen_of(const walk *w)
{
    int64_t seen = (w->r.t - w->from) * w->r.S;
    return seen < w->r.P ? seen : w->r.P;
}

/* q = prior x likelihood of the blocks seen x (likelihood of the start)^(share of blocks not seen) */
static bool catch_up(walk *w)
{
    const double *S, *b;
    int64_t M = w->q.M, seen = seen_of(w);
    double rest = w->start_S ? 1 - (double)seen / (double)w->r.P : 0, *theta1 = mem_alloc(M, sizeof *theta1);
    if (!theta1) return false;
    w->ops->absorbed(w->r.state, &S, &b);
    for (int64_t j = 0; j < M; j++) {
        for (int64_t i = j; i < M; i++)
            w->V[i + j * M] = S[i + j * M] + (i == j) + (rest > 0 ? rest * w->start_S[i + j * M] : 0);
        theta1[j] = b[j] + (rest > 0 ? rest * w->start_b[j] : 0);
    }
    bool ok = gauss_set(&w->q, NULL, w->V, theta1);
    w->behind = w->behind && !ok;
    free(theta1);
    return ok;
}

/* Block after block of the first epoch's permutation. */
static anygp_status absorb(walk *w, anygp_error *e)
{
    random_stream s = {w->r.p->seed, RANDOM_STEP, 0};
    int64_t first = seen_of(w), count = w->r.P - first < w->r.S ? w->r.P - first : w->r.S;
    for (int64_t i = 0; i < count; i++) w->r.which[i] = random_shuffled(s, w->r.P, first + i);
    w->behind = true;
    return w->ops->absorb(w->r.state, count, w->r.which, first == 0, e);
}

/* ------------------------------------------------------------------------------------------ ready */

anygp_status walk_ready(walk *w, bool grow, anygp_error *e)
{
    if (!w->prepared) w->prepared = w->ops->prepare(w->r.state, w->r.h, grow, &w->r.jitter);
    if (!w->prepared) return inducing_no_factor(e);
    if (w->behind ? catch_up(w) : gauss_ready(&w->q)) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_NUMERIC,
                     "a step leads to a precision that is not positive definite; look at more blocks per step "
                     "(--sample), take smaller steps (--rho) or, in a combination, use other coefficients");
}

/* ----------------------------------------------------------------------------------------- bound */

/* The bound at q on the sample, and with `gradient` a step of Adam in u; h itself moves after q has. */
static anygp_status look_at_bound(walk *w, double scale, double times, bool gradient, anygp_error *e)
{
    double value;
    gauss_covariance(&w->q, w->V);
    TRY(w->ops->bound(w->r.state, w->q.m, w->V, gauss_kl(&w->q), w->r.S, w->r.which, scale, times, &value,
                      gradient ? w->up.gp : NULL, e));
    if (w->absorbing)
        w->r.value = value; /* it rests on all that was seen */
    else
        run_smooth(&w->r, value);
    if (!gradient) return ANYGP_OK;
    ascent_slope(&w->up, w->r.h);
    double rate = given(w->r.o->anytime.step, ADAM_STEP) / sqrt(1 + (double)w->r.t / ADAM_FADES);
    ascent_step(&w->up, rate);
    return ANYGP_OK;
}

/* Where steps do not look at the bound anyway: now and then, at the new q, so that a run over all blocks gives the evidence.
   A NaN is not reported, and what is done for the trace only does not count as time of the run. */
static anygp_status note_bound(walk *w, anygp_error *e)
{
    double began = clock_seconds();
    if (learns_now(w) || (w->r.t + 1 < w->r.next_record && w->r.t + 1 < w->r.steps)) return ANYGP_OK;
    w->r.t++; /* what is seen counts this step */
    anygp_status status = walk_ready(w, false, e);
    double seen = (double)seen_of(w);
    w->r.t--;
    if (!ANYGP_FAILED(status))
        status = look_at_bound(w, (double)w->r.P / (double)w->r.S, w->absorbing ? (double)w->r.P / seen : 1, false, e);
    w->exact = !ANYGP_FAILED(status) && w->absorbing && seen == (double)w->r.P;
    w->r.paused += clock_seconds() - began;
    return status == ANYGP_ERR_NUMERIC ? ANYGP_OK : status;
}

/* ----------------------------------------------------------------------------------------- steps */

static bool move_q(walk *w, const double *S, const double *b)
{
    double rho = walk_rho(w, w->r.t), prior = w->ops->prior(w->r.state), taken;
    if (!w->r.o->anytime.plain) return natural_step(&w->q, rho, prior, S, b);
    w->ops->root(w->r.state, w->V);
    return plain_step(&w->q, rho, prior, w->V, w->q.M, S, b, &taken);
}

/* Adam's u on every rank; it does not go to a place where K_uu has no factor. */
static anygp_status move_hyper(walk *w, anygp_error *e)
{
    TRY(train_share(w->r.p, w->r.h->free, w->up.u, e));
    hyper_unpack(w->r.h, w->up.u);
    w->prepared = w->ops->prepare(w->r.state, w->r.h, false, &w->r.jitter);
    int broken = !w->prepared;
    TRY(train_agree(w->r.p, &broken, e));
    if (!broken) return ANYGP_OK;
    ascent_back(&w->up, w->r.h);
    w->prepared = false;
    return ANYGP_OK;
}

static anygp_status gradient_step(walk *w, anygp_error *e)
{
    const double *S, *b;
    double scale = (double)w->r.P / (double)w->r.S;
    bool learning = learns_now(w);
    sample_blocks(w->r.p->seed, w->r.t, w->r.P, w->r.S, w->r.o->anytime.replace, w->r.which);
    TRY(w->ops->stat(w->r.state, w->r.S, w->r.which, scale, &S, &b, e));
    if (learning) {
        TRY(walk_ready(w, false, e));
        TRY(look_at_bound(w, scale, 1, true, e));
    }
    if (!move_q(w, S, b))
        return fail_with(e, ANYGP_ERR_NUMERIC,
                         "a step leads to a precision that is not positive definite; look at more blocks per step "
                         "(--sample), take smaller steps (--rho) or, in a combination, use other coefficients");
    return learning ? move_hyper(w, e) : ANYGP_OK;
}

/* At a new L: the epoch from its start, and as many steps more. */
static anygp_status begin_again(walk *w, anygp_error *e)
{
    w->r.steps += w->r.t - w->from;
    w->from = w->r.t;
    w->again = false;
    return make_start(w, e);
}

static anygp_status try_step(walk *w, anygp_error *e)
{
    ascent_keep(&w->up);
    if (w->absorbing && w->r.t - w->from == w->epoch) {
        TRY(walk_ready(w, false, e));
        w->absorbing = false;
    }
    if (!w->prepared) TRY(walk_ready(w, w->r.t == 0, e));
    if (w->again) TRY(begin_again(w, e));
    w->exact = false;
    return w->absorbing ? absorb(w, e) : gradient_step(w, e);
}

anygp_status walk_step(walk *w, anygp_error *e)
{
    TRY(try_step(w, e));
    return note_bound(w, e);
}

/* Back to where the step began, with more jitter.  What was absorbed holds for the old L only, and is absorbed again. */
void walk_take_back(walk *w)
{
    w->r.jitter = fmin(jitter_next(w->r.jitter), JITTER_MOST);
    w->prepared = w->behind = false;
    w->again = w->absorbing;
    ascent_back(&w->up, w->r.h);
}
