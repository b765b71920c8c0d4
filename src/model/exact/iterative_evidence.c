/* From solutions to the log evidence, its bounds and its gradient (exact_iterative.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "kernel/kernel_operator.h"
#include "linalg/jitter.h"
#include "linalg/linalg.h"
#include "model/exact/exact.h"
#include "model/exact/iterative_parts.h"

/* ------------------------------------------------------------------------------- the evidence */

/* What is uncertain about log|S| - b'S b, for residuals whose squares over least_K are left[1 + p], that of y first: S grows by a matrix of a
   trace of at most sum left_k, H'Ky^-1 y by a vector whose square is at most left_0 sum left_k.  b is S^-1 H'Ky^-1 y. */
static double mean_slack(const exact_iterative *s, const cg *c)
{
    int64_t p = s->p;
    double sum = 0, trace = 0, length = la_norm(p, s->b), *unit = mem_zeroed(p, sizeof *unit);
    if (!unit) return INFINITY;
    for (int64_t k = 0; k < p; k++) {
        memset(unit, 0, (size_t)p * sizeof *unit);
        unit[k] = 1, sum += c->rr[1 + k] / s->least_K;
        la_trsv(LA_N, p, s->R, p, unit);
        trace += la_dot(p, unit, unit);
    }
    free(unit);
    double moved = sqrt(sum * c->rr[0] / s->least_K);
    return trace * sum + 2 * length * moved + trace * moved * moved + length * length * sum;
}

bool iterative_project_mean(exact_iterative *s, const cg *c, double *terms)
{
    const exact_solutions m = {s->n, s->p, s->mean->B, c->X, c->R, s->B + s->n, s->R, s->b, s->alpha, s->W};
    return exact_mean_of_solutions(&m, terms);
}

/* Student's quantile at 99.99 % on both sides, for so many degrees of freedom (Cornish and Fisher's expansion). */
static double student(double freedom)
{
    double z = 3.8906, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    if (freedom < 1) return INFINITY;
    return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

/* Quadratures of all probes, and the squared norm of log(R^-1 Ky R^-T); false: one of them broke down. */
static bool integrate(exact_iterative *s, double *square)
{
    const cg *c = s->solver;
    bool ok = true;
    *square = 0;
    for (int64_t k = 0; k < s->probes; k++) {
        int64_t at = 1 + s->p + k;
        log_quadrature q =
            lanczos_log(c->steps[at], c->alpha + at * c->room, c->beta + at * c->room, c->first[at], s->least);
        s->low[k] = q.lower, s->high[k] = q.upper, *square += q.square / (double)s->probes;
        ok &= isfinite(q.lower) && isfinite(q.upper);
    }
    return ok;
}

/* The quadrature of a probe: the middle of its bounds; if these are wide, Gauss's. */
static double quadrature(const exact_iterative *s, int64_t k)
{
    return s->rough ? s->high[k] : 0.5 * (s->low[k] + s->high[k]);
}

typedef struct average {
    double mean, low, high; /* over the probes: of quadratures and their bounds */
    double error;           /* standard error of the mean */
} average;

static average average_of(const exact_iterative *s)
{
    double m = (double)s->probes, squares = 0;
    average a = {0, 0, 0, 0};
    for (int64_t k = 0; k < s->probes; k++)
        a.mean += quadrature(s, k) / m, a.low += s->low[k] / m, a.high += s->high[k] / m;
    for (int64_t k = 0; k < s->probes; k++) squares += pow(quadrature(s, k) - a.mean, 2);
    a.error = s->probes == s->n ? 0 : sqrt(squares / (m * fmax(m - 1, 1)));
    return a;
}

/* What packed tiles may change, in nats.  Elements off the diagonal are off by E_ij, at most u and as good as independent, so that
   tr(Ky^-1 E) + alpha'E alpha has a standard deviation of at most sqrt(2/3) u (|Ky^-1| + |alpha|^2), of which half counts, and four times that
   is certain enough.  |Ky^-1| <= sqrt(n) / least_K. */
static double packing_error(const exact_iterative *s, double alpha2)
{
    if (!kernel_operator_packed(s->K)) return 0;
    double u = PACKED_ERROR * kernel_operator_largest(s->K);
    return 2 * sqrt(2.0 / 3) * u * (sqrt((double)s->n) / s->least_K + alpha2);
}

static bool evidence(exact_iterative *s, const hyper *h, double *value)
{
    const cg *c = s->solver;
    int64_t n = s->n;
    double terms, fixed, square, left = c->rr[0] / s->least_K, some = s->rough ? 0 : 0.5 * left;
    if (!iterative_project_mean(s, c, &terms) || !integrate(s, &square)) return false;
    average a = average_of(s);
    double logdet = a.mean + (s->P ? s->P->ops->logdet(s->P) : 0);
    double quadratic = la_dot(n, s->B, c->X) + la_dot(n, c->X, c->R); /* and up to `left` more */
    fixed = exact_repeated_terms(s->rows, h->like[0]) - 0.5 * ((double)n * LOG_2PI + terms);
    *value = fixed - 0.5 * (quadratic + some + logdet);
    /* The variance of a probe is at most 2 |log|^2, which is known better than the spread of a few of them. */
    double probable = s->probes == n ? 0 : fmax(a.error, sqrt(2 * square / (double)s->probes));
    double spread = 0.5 * mean_slack(s, c) + packing_error(s, la_dot(n, s->alpha, s->alpha)) +
                    (probable > 0 ? 0.5 * student((double)s->probes - 1) * probable : 0);
    double noise_floor = 1e-10 * (fabs(quadratic) + fabs(logdet) + (double)n);
    s->estimate = (evidence_estimate){.value = *value,
                                      .error = 0.5 * a.error,
                                      .lower = *value - 0.5 * (left - some + a.high - a.mean) - spread - noise_floor,
                                      .upper = *value + 0.5 * (some + a.mean - a.low) + spread + noise_floor,
                                      .probes = (double)s->probes,
                                      .precond = 0};
    for (int64_t k = 0; k < s->t; k++) s->estimate.iterations = fmax(s->estimate.iterations, (double)c->steps[k]);
    for (int64_t i = 0; i < precond_count(); i++)
        if (precond_at(i) == s->precond) s->estimate.precond = (double)i;
    return isfinite(*value);
}

/* ------------------------------------------------------------------------------- the gradient */

/* log|P| and what the probes correct of it: their mean of v'dP v. */
static anygp_status precondition_reverse(const exact_iterative *s, double *gp, anygp_error *e)
{
    const la_operator *P = s->P;
    int64_t n = s->n, m = s->probes;
    double share = 0.5 / (double)m;
    if (P->ops->both_reverse) return P->ops->both_reverse(P, -0.5, m, s->V, n, s->V, n, share, gp, e);
    TRY(P->ops->reverse(P, m, s->V, n, s->V, n, share, gp, e));
    return P->ops->logdet_reverse(P, -0.5, gp, e);
}

/* One pass over the tiles: sum over alpha and W of u'dKy u / 2, and over the probes of -(Ky^-1 w)'dKy (P^-1 w) / (2 m). */
static anygp_status gradient(exact_iterative *s, const hyper *h, double *gp, anygp_error *e)
{
    int64_t n = s->n, p = s->p, m = s->probes, t = s->t;
    double *U = mem_doubles(n, t), *V = mem_doubles(n, t);
    anygp_status status = U && V ? ANYGP_OK : fail_memory(e, "the gradient", 16.0 * (double)n * (double)t);
    if (status != ANYGP_OK) goto done;
    memset(gp, 0, (size_t)hyper_size(h) * sizeof *gp);
    memcpy(U, s->alpha, (size_t)n * sizeof *U);
    memcpy(U + n, s->W, (size_t)(n * p) * sizeof *U);
    memcpy(V, U, (size_t)(n * (1 + p)) * sizeof *V);
    memcpy(U + n * (1 + p), s->solver->X + n * (1 + p), (size_t)(n * m) * sizeof *U);
    for (int64_t i = 0; i < n * m; i++) V[n * (1 + p) + i] = -s->V[i] / (double)m;
    TRY_DONE(s->K->ops->reverse(s->K, t, U, n, V, n, 0.5, gp, e));
    if (s->P) TRY_DONE(precondition_reverse(s, gp, e));
    gp[hyper_kernel_params(h)] += exact_repeated_slope(s->rows, h->like[0]);
done:
    free(U);
    free(V);
    return status;
}

/* ------------------------------------------------------------------------------- an evaluation */

int64_t iterative_width(const hyper *h) { return h->count + 1 + (int64_t)(sizeof(evidence_estimate) / sizeof(double)); }

/* The estimate of this evaluation, under the hyperparameters and the jitter. */
static void note(exact_iterative *s, const hyper *h, double jitter)
{
    s->width = iterative_width(h);
    if (s->kept == s->room) {
        int64_t room = s->room ? 2 * s->room : 16;
        double *more = realloc(s->history, (size_t)(room * s->width) * sizeof *more);
        if (!more) return;
        s->history = more, s->room = room;
    }
    double *at = s->history + s->kept++ * s->width;
    hyper_natural(h, at);
    at[h->count] = jitter;
    memcpy(at + h->count + 1, &s->estimate, sizeof s->estimate);
    s->solved = true;
}

/* The k-th estimate is of this place. */
static bool was_at(const exact_iterative *s, int64_t k, const hyper *h, double jitter)
{
    const double *at = s->history + k * s->width;
    bool same = at[h->count] == jitter;
    for (int64_t i = 0; same && i < h->count; i++) same = at[i] == hyper_get(h, i);
    return same;
}

evidence_estimate iterative_recall(const exact_iterative *s, const hyper *h, double jitter)
{
    evidence_estimate found = {.value = NAN, .error = NAN, .lower = NAN, .upper = NAN};
    for (int64_t k = s->kept - 1; k >= 0; k--)
        if (was_at(s, k, h, jitter)) {
            memcpy(&found, s->history + k * s->width + h->count + 1, sizeof found);
            break;
        }
    return found;
}

bool iterative_is_at(const exact_iterative *s, const hyper *h, double jitter)
{
    return s->solved && was_at(s, s->kept - 1, h, jitter);
}

bool iterative_was_at(const exact_iterative *s, const hyper *h, double jitter)
{
    return s->lost && was_at(s, s->kept - 1, h, jitter);
}

/* Operator and preconditioner at h.  Tiles are packed where their rounding is a small part of the tolerance. */
anygp_status iterative_prepare(exact_iterative *s, const hyper *h, double jitter, anygp_error *e)
{
    static const double SHARE = 0.05;
    kernel_operator_set(s->K, h->kernel, h->like[0], jitter, true);
    const double *added = kernel_operator_added(s->K);
    s->least_K = INFINITY;
    for (int64_t i = 0; i < s->n; i++) s->least_K = fmin(s->least_K, added[i]);
    s->least_K += kernel_white(h->kernel);
    if (!(s->least_K > 0))
        return fail_with(e, ANYGP_ERR_NUMERIC, "without noise there is no bound on the error of an iteration");
    if (packing_error(s, 0) > SHARE * iterative_tolerance(s))
        kernel_operator_set(s->K, h->kernel, h->like[0], jitter, false);
    return iterative_precondition(s, h, e);
}

static anygp_status begin(exact_iterative *s, anygp_error *e)
{
    s->solver->P = s->P;
    TRY(iterative_fill(s, e));
    return cg_begin(s->solver, s->B, s->n, false, e);
}

/* Rough, the first time: as many probes as the tolerance needs by the norm of the logarithm, which a few iterations show. */
static anygp_status few_or_more_probes(exact_iterative *s, anygp_error *e)
{
    enum { LOOK = 8 };
    double square, tolerance = iterative_tolerance(s);
    s->settled = true;
    TRY(cg_run(s->solver, &(cg_options){LOOK, iterative_enough, iterative_settled, s}, e));
    if (ANYGP_FAILED(s->failure.status) || s->failure.status == ANYGP_TIME_LIMIT) return ANYGP_OK;
    bool ok = integrate(s, &square);
    double wanted = ok ? 2 * square / (tolerance * tolerance) : PROBES;
    if (wanted <= (double)s->probes) return ANYGP_OK;
    TRY(iterative_resize(s, wanted < PROBES ? (int64_t)ceil(wanted) : PROBES, e));
    return begin(s, e);
}

static anygp_status solve_all(exact_iterative *s, anygp_error *e)
{
    cg_options o = {ITERATIONS_MOST, iterative_enough, iterative_settled, s};
    TRY(begin(s, e));
    if (s->rough && !s->settled) TRY(few_or_more_probes(s, e));
    TRY(cg_run(s->solver, &o, e));
    if (ANYGP_FAILED(s->failure.status)) return *e = s->failure, s->failure.status;
    if (s->failure.status == ANYGP_TIME_LIMIT) return fail_with(e, ANYGP_ERR_NUMERIC, "there was no time");
    return s->solver->broken ? fail_with(e, ANYGP_ERR_NUMERIC, "the covariance matrix is not positive definite")
                             : ANYGP_OK;
}

/* More probes, once, where the first ones leave too large an error and a reasonable number would mend that; *more: the evaluation is to be
   made again. */
static anygp_status settle_probes(exact_iterative *s, bool *more, anygp_error *e)
{
    double ratio = s->estimate.error / (0.5 * iterative_tolerance(s)), wanted = (double)s->probes * ratio * ratio;
    *more = false;
    if (s->settled || s->rough || s->probes == s->n) return ANYGP_OK;
    s->settled = true;
    if (ratio <= 1) return ANYGP_OK;
    *more = true;
    return iterative_resize(s, wanted < PROBES_MOST ? (int64_t)ceil(wanted) + 1 : PROBES_MOST, e);
}

static anygp_status evaluate_at(exact_iterative *s, const hyper *h, double jitter, double *value, double *gp,
                                anygp_error *e)
{
    bool more = false;
    TRY(iterative_prepare(s, h, jitter, e));
    do {
        TRY(solve_all(s, e));
        if (!evidence(s, h, value)) return fail_with(e, ANYGP_ERR_NUMERIC, "the log evidence is not finite");
        if (s->reference == 0) s->reference = fabs(*value);
        TRY(settle_probes(s, &more, e));
    } while (more);
    return gp ? gradient(s, h, gp, e) : ANYGP_OK;
}

bool iterative_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    exact_iterative *s = state;
    anygp_error e = {0};
    double now = *jitter;
    for (;; now = jitter_next(now)) {
        s->failure = (anygp_error){0}, s->solved = s->lost = false;
        anygp_status status = evaluate_at(s, h, now, value, gp, &e);
        if (!ANYGP_FAILED(status)) {
            *jitter = now;
            note(s, h, now);
            return true;
        }
        bool late = s->failure.status == ANYGP_TIME_LIMIT;
        if (!late) s->failure = model_failure(status, &e);
        if (late || status != ANYGP_ERR_NUMERIC || !grow || now >= JITTER_MOST) return false;
    }
}
