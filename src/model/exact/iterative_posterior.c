/* The last solve, to the accuracy of predictions, and the posterior that it gives (exact_iterative.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel/kernel_operator.h"
#include "linalg/linalg.h"
#include "model/exact/exact.h"
#include "model/exact/iterative_parts.h"
#include "model/exact/near_gain.h"

typedef struct finish {
    exact_iterative *s;
    double target; /* r'r of y */
} finish;

/* Iterations, whatever the clock says, and where someone waits for the end: the first of them is the preconditioner's own model of the rows. */
enum { LAST_LEAST = 20, STOPPED_LEAST = 2 };

static bool finished(void *ctx, const cg *c, int64_t k)
{
    const finish *f = ctx;
    double scale = k == 0 ? 1 : la_dot(c->n, f->s->B + k * c->n, f->s->B + k * c->n) / (double)c->n;
    return c->rr[k] <= f->target * scale;
}

static bool time_is_up(void *ctx)
{
    const finish *f = ctx;
    anygp_status before = f->s->failure.status;
    bool enough = iterative_enough(f->s) && f->s->solver->steps[0] >= (f->s->stopped ? STOPPED_LEAST : LAST_LEAST);
    if (!enough) f->s->failure.status = before;
    return enough;
}

/* r'r of y that is enough: no mean is off by more than a hundredth of the noise's standard deviation, as the bound below has it, to which
   each function of the mean may add as much as y; or the residual is a millionth of y, where that asks for more than rounding allows. */
static double last_target(const exact_iterative *s, const hyper *h)
{
    static const double RELATIVE = 1e-6;
    const double SHARE = 1e-2 / (double)(1 + s->p);
    double noise = h->like[0] + kernel_white(h->kernel), largest = fmax(kernel_operator_largest(s->K), 1e-300);
    return fmax(SHARE * SHARE * noise * s->least_K / largest,
                RELATIVE * RELATIVE * la_dot(s->n, s->rows->y, s->rows->y));
}

/* Until all columns are `finished` by the residual of the matrix itself, which `unrounded` makes again where tiles are packed; the solver has its
   last residual then. */
static anygp_status solve_until(exact_iterative *s, const cg_options *o, bool warm, const la_operator *unrounded,
                                anygp_error *e)
{
    enum { ROUNDS = 4 };
    cg *c = s->solver;
    TRY(cg_begin(c, s->B, s->n, warm, e));
    for (int64_t k = 0; warm && k < c->t; k++) c->rests[k] |= o->settled(o->ctx, c, k);
    TRY(cg_run(c, o, e));
    if (!kernel_operator_packed(s->K)) return ANYGP_OK;
    c->exact = unrounded;
    for (int round = 0; round < ROUNDS; round++) {
        bool all = true;
        TRY(cg_begin(c, s->B, s->n, true, e));
        for (int64_t k = 0; k < c->t; k++) all &= o->settled(o->ctx, c, k);
        if (all || o->enough(o->ctx) || round + 1 == ROUNDS) break;
        TRY(cg_run(c, o, e));
    }
    c->exact = NULL;
    return ANYGP_OK;
}

/* A solution to begin with, where rows were added: alpha is Ky^-1 (y - H beta), so that is what is solved for. */
typedef struct warm_start {
    int64_t n; /* rows, the first ones */
    const double *alpha;
    const double *beta;
} warm_start;

/* To the first of these columns: H beta, where the others are H, or a solution for it, times a factor. */
static void add_mean(const exact_iterative *s, const warm_start *from, double factor, double *columns)
{
    for (int64_t j = 0; j < s->p; j++) la_axpy(s->n, factor * from->beta[j], columns + (1 + j) * s->n, columns);
}

/* r'r of alpha, whose right-hand side is y less its mean. */
static double residual_of_alpha(const exact_iterative *s)
{
    const double *R = s->solver->R;
    double sum = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double r = R[i];
        for (int64_t j = 0; j < s->p; j++) r -= R[i + (1 + j) * s->n] * s->b[j];
        sum += r * r;
    }
    return sum;
}

/* alpha to the accuracy of predictions; *error: no mean is off by more than sqrt(k** r'r / least_K) (Cauchy and Schwarz in the norm of
   Ky^-1), given the coefficients of its functions. */
static anygp_status solve_last(exact_iterative *s, const hyper *h, double jitter, const warm_start *from, double *error,
                               anygp_error *e)
{
    double terms;
    la_operator *unrounded = NULL;
    kernel_rows rows = {s->n, s->rows->D, s->rows->X, s->rows->c};
    cg *before = s->solver;
    bool there = iterative_is_at(s, h, jitter);
    if (!there) TRY(iterative_prepare(s, h, jitter, e));
    TRY(cg_new(s->K, s->P, 1 + s->p, ITERATIONS_MOST, &s->solver, e));
    if (there) memcpy(s->solver->X, before->X, (size_t)(s->n * s->solver->t) * sizeof(double));
    cg_free(before);
    TRY(kernel_operator_new(&rows, &(kernel_operator_options){.comm = s->problem->comm}, &unrounded, e));
    kernel_operator_set(unrounded, h->kernel, h->like[0], jitter, false);
    finish f = {s, last_target(s, h)};
    memcpy(s->B, s->rows->y, (size_t)s->n * sizeof *s->B);
    basis_fill(s->mean, s->n, s->rows->X, s->rows->D, s->B + s->n, 1, s->n);
    if (from) {
        memset(s->solver->X, 0, (size_t)(s->n * s->solver->t) * sizeof(double));
        memcpy(s->solver->X, from->alpha, (size_t)from->n * sizeof(double));
        add_mean(s, from, -1, s->B);
    }
    anygp_status status =
        solve_until(s, &(cg_options){ITERATIONS_MOST, time_is_up, finished, &f}, from || there, unrounded, e);
    la_operator_free(unrounded);
    TRY(status);
    if (from) add_mean(s, from, 1, s->B), add_mean(s, from, 1, s->solver->X), add_mean(s, from, 1, s->solver->R);
    if (!iterative_project_mean(s, s->solver, &terms))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the mean has no precision");
    *error = sqrt(kernel_operator_largest(s->K) * residual_of_alpha(s) / s->least_K);
    return ANYGP_OK;
}

/* The tolerance of the log evidence was asked for and not reached.  Half of it may be the standard error of the probes, and a quarter each
   what the quadratures and y'Ky^-1 y may be off. */
static void caution_of_tolerance(exact_iterative *s, const evidence_estimate *found)
{
    double asked = s->problem->solver.tolerance;
    *s->caution = 0;
    if (asked > 0 && found->error > asked)
        snprintf(s->caution, sizeof s->caution,
                 "the standard error of the log evidence is %.3g with %.0f probes, and --tolerance asks for %.3g; the "
                 "value is between %.8g and %.8g",
                 found->error, found->probes, asked, found->lower, found->upper);
}

/* The clock cut the last solve short. */
static void caution_of_solve(exact_iterative *s, const hyper *h)
{
    double rr = s->solver->rr[0], target = last_target(s, h);
    size_t used = strlen(s->caution);
    if (rr > 1.01 * target)
        snprintf(
            s->caution + used, sizeof s->caution - used,
            "%sthe last solve ended after %lld products with the kernel matrix, with a residual %.3g times the one "
            "aimed at, so that predicted means are off by more than they could be; give it more --time",
            used ? "; " : "", (long long)s->solver->products, sqrt(rr / target));
}

/* The factor after all: by the model that has it. */
static anygp_status factor_posterior(const problem *p, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    void *state = NULL;
    TRY(exact_open_rows(p->rows, NULL, p->mean, &state, e));
    anygp_status status = exact_to_posterior(state, h, jitter, out, e);
    exact_close(state);
    return status;
}

anygp_status iterative_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    exact_iterative *s = state;
    rows_solution found = {.estimate = iterative_recall(s, h, *jitter)};
    caution_of_tolerance(s, &found.estimate);
    double value, same = *jitter;
    if (iterative_was_at(s, h, same))
        iterative_evaluate(s, h, false, &same, &value, NULL); /* what a resumed run has lost */
    if (s->problem->solver.keep_factor) return factor_posterior(s->problem, h, jitter, out, e);
    if (s->solver->broken) return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance matrix is not positive definite");
    TRY(solve_last(s, h, *jitter, NULL, &found.estimate.mean_error, e));
    caution_of_solve(s, h);
    found.alpha = s->alpha, found.R = s->R;
    found.jitter = kernel_operator_added(s->K)[0] - h->like[0] / s->rows->c[0];
    TRY(rows_posterior_new(s->problem, h, &found, out, e));
    variance_gain gain;
    anygp_status status = near_gain_find(s, h, *out, &gain, e);
    if (!ANYGP_FAILED(status)) return rows_posterior_correct(*out, &gain), ANYGP_OK;
    (*out)->ops->free(*out);
    *out = NULL;
    return status;
}

anygp_status iterative_again(exact_iterative *s, const hyper *h, const posterior *before, double jitter,
                             posterior **out, anygp_error *e)
{
    rows_solution found = {.jitter = jitter};
    const evidence_estimate *estimate = before->ops->estimate(before);
    if (estimate) found.estimate = *estimate;
    /* as a share of the mean diagonal, which is what the operator takes */
    kernel_operator_set(s->K, h->kernel, h->like[0], 0, false);
    double mean = kernel_operator_mean(s->K), relative = mean > 0 ? jitter / mean : 0;
    warm_start from = {before->n, rows_posterior_alpha(before), NULL};
    double *beta = mem_doubles(s->p, 1);
    if (!beta) return fail_memory(e, "the posterior", 8.0 * (double)s->p);
    rows_posterior_beta(before, beta);
    from.beta = beta;
    anygp_status status = solve_last(s, h, relative, &from, &found.estimate.mean_error, e);
    free(beta);
    TRY(status);
    if (s->solver->broken) return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance matrix is not positive definite");
    found.alpha = s->alpha, found.R = s->R;
    TRY(rows_posterior_new(s->problem, h, &found, out, e));
    const variance_gain *gain = before->ops->gain(before);
    if (gain) rows_posterior_correct(*out, gain); /* that of the former rows */
    return ANYGP_OK;
}
