/* L-BFGS, an iteration at a time (lbfgs.h). */
#include "run/lbfgs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "run/line_search.h"

static const double MAX_MOVE = 5;      /* of one coordinate in one iteration: a factor of e^5 */
static const double CURVATURE = 1e-12; /* a pair is kept if the cosine between s and y exceeds this */

/* Scalars of the state; they lead the saved array, in this order. */
enum { N, MEMORY, PAST, ITERATIONS, EVALUATIONS, PAIRS, NEWEST, VALUE, BEST_VALUE, SCALARS };

struct lbfgs {
    lbfgs_options o;
    int64_t n;
    bool started;        /* there is a state to go on from */
    double noise;        /* of f, beyond rounding in double */
    int64_t evaluations; /* live; state[EVALUATIONS] is that of the last whole iteration */
    /* one allocation: first the state, then the workspace of an iteration */
    double *state;
    int64_t state_size;
    double *x, *g, *best; /* n each */
    double *values;       /* past + 1: f after iteration i in values[i % (past + 1)] */
    double *S, *Y, *sy;   /* n x memory, n x memory, memory: steps, gradient differences, s'y; a ring */
    double *d, *xt, *gt;  /* n each: direction, trial point, its gradient */
    double *gl, *alpha;   /* n: gradient at the line search's `low`;  memory */
};

static int64_t or_default(int64_t value, int64_t fallback) { return value > 0 ? value : fallback; }

/* Slices `count` doubles off the store; with base NULL only counts. */
static double *slice(double *base, int64_t *used, int64_t count)
{
    double *p = base ? base + *used : NULL;
    *used += count;
    return p;
}

static int64_t layout(lbfgs *s, double *base)
{
    int64_t used = 0, n = s->n, m = s->o.memory;
    s->state = slice(base, &used, SCALARS);
    s->x = slice(base, &used, n);
    s->g = slice(base, &used, n);
    s->best = slice(base, &used, n);
    s->values = slice(base, &used, s->o.past + 1);
    s->S = slice(base, &used, n * m);
    s->Y = slice(base, &used, n * m);
    s->sy = slice(base, &used, m);
    s->state_size = used;
    s->d = slice(base, &used, n);
    s->xt = slice(base, &used, n);
    s->gt = slice(base, &used, n);
    s->gl = slice(base, &used, n);
    s->alpha = slice(base, &used, m);
    return used;
}

lbfgs *lbfgs_new(int64_t n, const lbfgs_options *o)
{
    lbfgs *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->n = n;
    s->o = *o;
    s->o.memory = or_default(o->memory, 10);
    s->o.past = or_default(o->past, 5);
    size_t checked;
    double *base = NULL;
    if (size_mul(n + s->o.past + 4, 2 * s->o.memory + SCALARS, &checked))
        base = mem_zeroed(layout(s, NULL), sizeof *base);
    if (!base) return free(s), NULL;
    layout(s, base);
    s->state[N] = (double)n;
    s->state[MEMORY] = (double)s->o.memory;
    s->state[PAST] = (double)s->o.past;
    return s;
}

void lbfgs_free(lbfgs *s)
{
    if (!s) return;
    free(s->state);
    free(s);
}

int64_t lbfgs_iterations(const lbfgs *s) { return (int64_t)s->state[ITERATIONS]; }
int64_t lbfgs_evaluations(const lbfgs *s) { return (int64_t)s->state[EVALUATIONS]; }

/* ------------------------------------------------------------------------------------ small vector pieces */

static double max_norm(int64_t n, const double *v)
{
    double m = 0;
    for (int64_t i = 0; i < n; i++) m = fmax(m, fabs(v[i]));
    return m;
}

static void copy(int64_t n, const double *from, double *to) { memcpy(to, from, (size_t)n * sizeof *to); }

/* ---------------------------------------------------------------------------------------------- evaluation */

/* f at xt, its gradient to gt; f becomes infinite if any of them is not finite.  Nonzero: stop. */
static int evaluate(lbfgs *s, const lbfgs_problem *p, double *f)
{
    *f = INFINITY;
    int stop = p->evaluate(p->ctx, s->xt, f, s->gt);
    if (stop) return stop;
    s->evaluations++;
    if (!isfinite(*f) || !la_all_finite(s->n, s->gt)) *f = INFINITY;
    if (*f <= s->state[BEST_VALUE]) {
        s->state[BEST_VALUE] = *f;
        copy(s->n, s->xt, s->best);
    }
    return 0;
}

/* ----------------------------------------------------------------------------------------------- direction */

static void forget_pairs(lbfgs *s) { s->state[PAIRS] = s->state[NEWEST] = 0; }

/* Column of the ring that holds the pair `age` iterations old (0: the newest). */
static int64_t ring_column(const lbfgs *s, int64_t age)
{
    return ((int64_t)s->state[NEWEST] + s->o.memory - age) % s->o.memory;
}

/* H_0 d: the preconditioner's, or (s'y / y'y) d by the newest pair; false: there is neither. */
static bool first_guess(lbfgs *s, const lbfgs_problem *p)
{
    if (p->precondition && p->precondition(p->ctx, s->x, s->d)) return true;
    if (s->state[PAIRS] == 0) return false;
    int64_t newest = ring_column(s, 0);
    const double *y = s->Y + newest * s->n;
    la_scale(s->n, s->sy[newest] / la_dot(s->n, y, y), s->d);
    return true;
}

/* d = -H g by the two-loop recursion (Nocedal and Wright, algorithm 7.4); false: there is no H_0. */
static bool quasi_newton_direction(lbfgs *s, const lbfgs_problem *p)
{
    int64_t n = s->n, pairs = (int64_t)s->state[PAIRS];
    for (int64_t i = 0; i < n; i++) s->d[i] = -s->g[i];
    for (int64_t age = 0; age < pairs; age++) {
        int64_t c = ring_column(s, age);
        s->alpha[c] = la_dot(n, s->S + c * n, s->d) / s->sy[c];
        la_axpy(n, -s->alpha[c], s->Y + c * n, s->d);
    }
    if (!first_guess(s, p)) return false;
    for (int64_t age = pairs - 1; age >= 0; age--) {
        int64_t c = ring_column(s, age);
        double beta = la_dot(n, s->Y + c * n, s->d) / s->sy[c];
        la_axpy(n, s->alpha[c] - beta, s->S + c * n, s->d);
    }
    return true;
}

/* d = -g / |g|: a first trial of length one. */
static void steepest_direction(lbfgs *s)
{
    double scale = -1 / la_norm(s->n, s->g);
    for (int64_t i = 0; i < s->n; i++) s->d[i] = scale * s->g[i];
}

/* Fills d and returns its slope g'd < 0.  Pairs that give no finite descent direction are forgotten. */
static double choose_direction(lbfgs *s, const lbfgs_problem *p)
{
    if ((s->state[PAIRS] > 0 || p->precondition) && quasi_newton_direction(s, p)) {
        double slope = la_dot(s->n, s->g, s->d);
        if (isfinite(slope) && slope < -1e-15 * la_norm(s->n, s->g) * la_norm(s->n, s->d)) return slope;
        forget_pairs(s);
    }
    steepest_direction(s);
    return la_dot(s->n, s->g, s->d);
}

/* --------------------------------------------------------------------------------------------- line search */

typedef enum { STEP_TAKEN, STEP_FAILED, STEP_STOPPED, STEP_EVALUATIONS, STEP_CONVERGED } step_result;

static void set_trial(lbfgs *s, double a)
{
    for (int64_t i = 0; i < s->n; i++) s->xt[i] = s->x[i] + a * s->d[i];
}

static bool evaluations_spent(const lbfgs *s)
{
    return s->o.max_evaluations > 0 && s->evaluations >= s->o.max_evaluations;
}

/* Searches along d; when a step is taken, xt, gt and *f are its point. */
static step_result search(lbfgs *s, const lbfgs_problem *p, double slope, double *f)
{
    line_search l;
    line_begin(&l, s->state[VALUE], slope, 1, MAX_MOVE / max_norm(s->n, s->d));
    l.noise = fmax(l.noise, s->noise);
    if (p->begin_line_search) p->begin_line_search(p->ctx, s->x);
    line_result r;
    do {
        if (evaluations_spent(s)) return STEP_EVALUATIONS;
        double told = l.trial;
        set_trial(s, told);
        if (evaluate(s, p, f)) return STEP_STOPPED;
        r = line_tell(&l, *f, isfinite(*f) ? la_dot(s->n, s->gt, s->d) : INFINITY);
        if (line_trial_is_low(&l, told)) copy(s->n, s->gt, s->gl);
    } while (r == LINE_MORE);
    if (r == LINE_FAILED) return STEP_FAILED;
    if (r == LINE_DECREASE) {
        set_trial(s, l.low.a);
        copy(s->n, s->gl, s->gt);
        *f = l.low.f;
    }
    return STEP_TAKEN;
}

/* A quasi-Newton step, unless what it promises is too little, or where it fails one along the gradient with the history forgotten. */
static step_result take_step(lbfgs *s, const lbfgs_problem *p, double *f)
{
    double slope = choose_direction(s, p);
    if (p->precondition && -0.5 * slope <= s->o.gain_tolerance) return STEP_CONVERGED;
    if (s->state[PAIRS] > 0 && -0.5 * slope <= 0.1 * s->noise) return STEP_CONVERGED;
    step_result r = search(s, p, slope, f);
    if (r != STEP_FAILED || (s->state[PAIRS] == 0 && !p->precondition)) return r;
    forget_pairs(s);
    s->state[EVALUATIONS] = (double)s->evaluations; /* a state to resume from, too */
    steepest_direction(s);
    return search(s, p, la_dot(s->n, s->g, s->d), f);
}

/* ------------------------------------------------------------------------------------------------ iteration */

/* Stores s = xt - x, y = gt - g unless the curvature along s is not safely positive. */
static void remember_pair(lbfgs *s)
{
    int64_t n = s->n, pairs = (int64_t)s->state[PAIRS];
    int64_t c = pairs ? ring_column(s, -1) : 0;
    double *step = s->S + c * n, *y = s->Y + c * n;
    for (int64_t i = 0; i < n; i++) step[i] = s->xt[i] - s->x[i], y[i] = s->gt[i] - s->g[i];
    double sy = la_dot(n, step, y);
    if (!(sy > CURVATURE * la_norm(n, step) * la_norm(n, y)) || !isfinite(la_dot(n, y, y))) {
        memset(y, 0, (size_t)n * sizeof *y);
        if (pairs == s->o.memory) s->state[PAIRS]--; /* its column was the oldest pair's */
        return;
    }
    s->sy[c] = sy;
    s->state[NEWEST] = (double)c;
    if (pairs < s->o.memory) s->state[PAIRS]++;
}

/* f after iteration i, one of the last past + 1. */
static double *value_after(const lbfgs *s, int64_t i) { return &s->values[i % (s->o.past + 1)]; }

static void move_to_trial(lbfgs *s, double f)
{
    remember_pair(s);
    copy(s->n, s->xt, s->x);
    copy(s->n, s->gt, s->g);
    s->state[VALUE] = f;
    s->state[ITERATIONS]++;
    s->state[EVALUATIONS] = (double)s->evaluations;
    *value_after(s, lbfgs_iterations(s)) = f;
}

/* With a preconditioner what a step promises decides [take_step]: along a ridge a small gradient may promise much. */
static bool converged(const lbfgs *s, const lbfgs_problem *p)
{
    double f = s->state[VALUE], scale = fmax(1, fabs(f));
    if (!p->precondition && max_norm(s->n, s->g) <= s->o.gradient_tolerance * scale) return true;
    if (max_norm(s->n, s->g) == 0) return true;
    int64_t former = lbfgs_iterations(s) - s->o.past;
    return s->o.value_tolerance > 0 && former >= 0 &&
           *value_after(s, former) - f <= fmax(s->o.value_tolerance * scale, s->noise);
}

/* The state at iteration 0; false with the reason if there is none. */
static bool start(lbfgs *s, const lbfgs_problem *p, const double *x, lbfgs_result *why)
{
    forget_pairs(s);
    s->evaluations = 0;
    s->state[ITERATIONS] = 0;
    s->state[BEST_VALUE] = INFINITY;
    copy(s->n, x, s->best);
    copy(s->n, x, s->xt);
    if (p->begin_line_search) p->begin_line_search(p->ctx, x);
    double f;
    *why = LBFGS_STOPPED;
    if (evaluate(s, p, &f)) return false;
    *why = LBFGS_BAD_START;
    if (!isfinite(f)) return false;
    copy(s->n, s->xt, s->x);
    copy(s->n, s->gt, s->g);
    s->state[VALUE] = s->values[0] = f;
    s->state[EVALUATIONS] = 1;
    return true;
}

static bool out_of_iterations(const lbfgs *s)
{
    return s->o.max_iterations >= 0 && lbfgs_iterations(s) >= s->o.max_iterations;
}

static int report(const lbfgs *s, const lbfgs_problem *p)
{
    if (!p->iteration) return 0;
    return p->iteration(p->ctx, lbfgs_iterations(s), lbfgs_evaluations(s), s->state[VALUE], max_norm(s->n, s->g));
}

lbfgs_result lbfgs_step(lbfgs *s, const lbfgs_problem *p, const double *x)
{
    static const lbfgs_result ending[] = {[STEP_FAILED] = LBFGS_NO_PROGRESS,
                                          [STEP_STOPPED] = LBFGS_STOPPED,
                                          [STEP_EVALUATIONS] = LBFGS_ITERATIONS,
                                          [STEP_CONVERGED] = LBFGS_CONVERGED};
    lbfgs_result why;
    double f;
    if (!s->started && !start(s, p, x, &why)) return why;
    s->started = true;
    if (converged(s, p)) return LBFGS_CONVERGED;
    if (out_of_iterations(s) || evaluations_spent(s)) return LBFGS_ITERATIONS;
    step_result r = take_step(s, p, &f);
    if (r != STEP_TAKEN) return ending[r];
    move_to_trial(s, f);
    return LBFGS_MORE;
}

void lbfgs_grant(lbfgs *s, double noise) { s->noise = noise; }

double lbfgs_best(const lbfgs *s, double *x)
{
    copy(s->n, s->best, x);
    return s->state[BEST_VALUE];
}

lbfgs_result lbfgs_minimize(lbfgs *s, const lbfgs_problem *p, double *x, double *f_best)
{
    lbfgs_result r;
    do {
        r = lbfgs_step(s, p, x);
        if (r == LBFGS_MORE && report(s, p)) r = LBFGS_STOPPED;
    } while (r == LBFGS_MORE);
    s->started = false;
    *f_best = lbfgs_best(s, x);
    return r;
}

/* ------------------------------------------------------------------------------------------------ the state */

int64_t lbfgs_state_size(const lbfgs *s) { return s->state_size; }

void lbfgs_state_save(const lbfgs *s, double *state) { copy(s->state_size, s->state, state); }

static bool whole_between(double v, double low, double high) { return v >= low && v <= high && v == floor(v); }

static bool state_is_sound(const lbfgs *s, const double *state, int64_t size)
{
    const double many = 0x1p53, m = (double)s->o.memory;
    return size == s->state_size && la_all_finite(size, state) && state[N] == s->state[N] && state[MEMORY] == m &&
           state[PAST] == s->state[PAST] && whole_between(state[ITERATIONS], 0, many) &&
           whole_between(state[EVALUATIONS], 1, many) && whole_between(state[PAIRS], 0, m) &&
           whole_between(state[NEWEST], 0, m - 1);
}

bool lbfgs_state_load(lbfgs *s, const double *state, int64_t size)
{
    if (!state_is_sound(s, state, size)) return false;
    copy(size, state, s->state);
    s->evaluations = lbfgs_evaluations(s);
    return s->started = true;
}
