/* The factor in float, and what it lacks (exact_float.h). */
#include "model/exact/exact_float.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "kernel/kernel_operator.h"
#include "linalg/linalg_f32.h"
#include "model/exact/exact_iterative.h"

/* ---------------------------------------------------------------------------------- workspace */

void exact_float_free(exact_float *f)
{
    if (!f) return;
    double *const owned[] = {f->B, f->X, f->R, f->U, f->V, f->KX, f->at};
    la_operator_free(f->K);
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(f);
}

anygp_status exact_float_open(exact *s, const problem *p, const hyper *h, anygp_error *e)
{
    exact_float *f = s->single = calloc(1, sizeof *f);
    int64_t n = s->n, t = 1 + s->p + FLOAT_PROBES;
    kernel_rows rows = {n, s->rows->D, s->rows->X, s->rows->c};
    if (!f) return fail_memory(e, "the model", sizeof *f);
    f->on = true, f->seed = p->seed, f->t = t;
    TRY(kernel_operator_new(&rows, &(kernel_operator_options){0}, &f->K, e));
    double **const arrays[] = {&f->B, &f->X, &f->R, &f->U, &f->V, &f->KX};
    bool ok = (f->at = mem_doubles(h->count + 1, 1));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ok = (*arrays[i] = mem_doubles(n, t)) && ok;
    if (!ok) return fail_memory(e, "the workspace", 48.0 * (double)n * (double)t);
    f->at[0] = NAN;
    return ANYGP_OK;
}

bool exact_in_float(const exact *s) { return s->single && s->single->on; }

/* The first half of the square is L, then Q. */
static float *square_of(const exact *s) { return (float *)(void *)s->K; }

/* ------------------------------------------------------------------------------- the evidence */

static bool factorize(exact *s, const hyper *h, double jitter)
{
    exact_float *f = s->single;
    int64_t n = s->n;
    float *L = square_of(s);
    anygp_error e;
    kernel_operator_set(f->K, h->kernel, h->like[0], jitter, false);
    if (!kernel_gram_sym_f32(h->kernel, n, s->rows->X, s->rows->D, L, n)) return false;
    if (ANYGP_FAILED(f->K->ops->diagonal(f->K, f->R, &e))) return false;
    for (int64_t i = 0; i < n; i++) L[i + i * n] = (float)f->R[i];
    return la_factor_f32(n, L, n);
}

/* R = B - Ky X, of the first t columns. */
static bool residuals(const exact *s, int64_t t)
{
    const exact_float *f = s->single;
    anygp_error e;
    int64_t n = s->n;
    if (ANYGP_FAILED(f->K->ops->multiply(f->K, t, f->X, n, f->KX, n, &e))) return false;
    for (int64_t i = 0; i < n * t; i++) f->R[i] = f->B[i] - f->KX[i];
    return true;
}

/* KX = L^-1 R of the first t columns; those are what r'P^-1 r is of. */
static bool half_solved(const exact *s, int64_t t)
{
    const exact_float *f = s->single;
    memcpy(f->KX, f->R, (size_t)(s->n * t) * sizeof *f->R);
    return la_trsm_mixed(LA_N, s->n, t, square_of(s), s->n, f->KX, s->n);
}

/* X += P^-1 R, after half_solved. */
static bool correct(const exact *s, int64_t t)
{
    const exact_float *f = s->single;
    if (!la_trsm_mixed(LA_T, s->n, t, square_of(s), s->n, f->KX, s->n)) return false;
    la_axpy(s->n * t, 1, f->KX, f->X);
    return true;
}

/* B = [y, H, w], X = [P^-1 y, P^-1 H, v]. */
static bool begin(const exact *s)
{
    const exact_float *f = s->single;
    const float *L = square_of(s);
    int64_t n = s->n, q = 1 + s->p;
    memcpy(f->B, s->rows->y, (size_t)n * sizeof *f->B);
    basis_fill(s->mean, n, s->rows->X, s->rows->D, f->B + n, 1, n);
    memcpy(f->X, f->B, (size_t)(n * q) * sizeof *f->B);
    for (int64_t k = 0; k < FLOAT_PROBES; k++) probe_signs(f->seed, k, n, f->X + (q + k) * n);
    return la_trmm_mixed(n, FLOAT_PROBES, L, n, f->X + q * n, n, f->B + q * n, n) &&
           la_trsm_mixed(LA_N, n, q, L, n, f->X, n) && la_trsm_mixed(LA_T, n, f->t, L, n, f->X, n);
}

/* log|Ky| and F2; all solutions are corrected once, and the probes' v go to V. */
static bool log_determinant(exact *s)
{
    exact_float *f = s->single;
    const float *L = square_of(s);
    int64_t n = s->n, q = 1 + s->p;
    double trace = 0;
    if (!residuals(s, f->t) || !half_solved(s, f->t)) return false;
    f->logdet = f->F2 = 0;
    for (int64_t k = q; k < f->t; k++) {
        trace -= la_dot(n, f->X + k * n, f->R + k * n) / FLOAT_PROBES;
        f->F2 += la_dot(n, f->KX + k * n, f->KX + k * n) / FLOAT_PROBES;
    }
    for (int64_t i = 0; i < n; i++) f->logdet += 2 * log((double)L[i + i * n]);
    f->logdet += trace - 0.5 * f->F2;
    memcpy(f->V + q * n, f->X + q * n, (size_t)(n * FLOAT_PROBES) * sizeof *f->X);
    return correct(s, f->t);
}

/* Until what is left of y'Ky^-1 y and of the mean's precision is nothing; false: it does not get less. */
static bool refine(const exact *s)
{
    static const double LEFT = 1e-12, FASTER = 0.25;
    const exact_float *f = s->single;
    int64_t n = s->n, q = 1 + s->p;
    for (double former = INFINITY, left = 0;; former = left) {
        if (!residuals(s, q) || !half_solved(s, q)) return false;
        left = 0;
        for (int64_t k = 0; k < q; k++) {
            const double *b = f->B + k * n, *r = f->KX + k * n;
            double scale = k == 0 ? (double)n : fmax(la_dot(n, b, f->X + k * n), 1e-300);
            left = fmax(left, la_dot(n, r, r) / scale);
        }
        if (left <= LEFT) return true;
        if (!(left <= FASTER * former)) return false;
        if (!correct(s, q)) return false;
    }
}

static bool evidence(exact *s, const hyper *h, double *value)
{
    const exact_float *f = s->single;
    int64_t n = s->n;
    double terms;
    const exact_solutions m = {n, s->p, s->mean->B, f->X, f->R, f->B + n, s->R, s->t, s->alpha, s->W};
    if (!begin(s) || !log_determinant(s) || !refine(s) || !exact_mean_of_solutions(&m, &terms)) return false;
    double quadratic = la_dot(n, f->B, f->X) + la_dot(n, f->X, f->R) + la_dot(n, f->KX, f->KX);
    *value = -0.5 * (quadratic + f->logdet + terms + (double)n * LOG_2PI);
    *value += exact_repeated_terms(s->rows, h->like[0]);
    return isfinite(*value);
}

/* ------------------------------------------------------------------------------- the gradient */

/* The pairs of all that is not Q: alpha, W and the probes; Q in place of L. */
static bool make_pairs(exact *s)
{
    const exact_float *f = s->single;
    int64_t n = s->n, q = 1 + s->p;
    double *U = f->U + q * n;
    float *Q = square_of(s);
    if (!la_potri_f32(n, Q, n)) return false;
    if (!la_symm_mixed(n, FLOAT_PROBES, Q, n, f->B + q * n, n, U, n)) return false;
    for (int64_t i = 0; i < n * FLOAT_PROBES; i++) U[i] = f->X[q * n + i] - U[i];
    la_scale(n * FLOAT_PROBES, -1.0 / FLOAT_PROBES, f->V + q * n);
    memcpy(f->U, s->alpha, (size_t)n * sizeof *f->U);
    memcpy(f->U + n, s->W, (size_t)(n * s->p) * sizeof *f->U);
    memcpy(f->V, f->U, (size_t)(n * q) * sizeof *f->U);
    for (int64_t i = 0; i < n; i++) {
        s->q[i] = Q[i + i * n];
        for (int64_t k = 0; k < s->p; k++) s->q[i] -= s->W[i + k * n] * s->W[i + k * n];
    }
    return true;
}

static bool gradient(exact *s, const hyper *h, double *gp)
{
    const exact_float *f = s->single;
    anygp_error e;
    memset(gp, 0, (size_t)hyper_size(h) * sizeof *gp);
    if (!make_pairs(s)) return false;
    if (ANYGP_FAILED(kernel_operator_reverse_square(f->K, square_of(s), -0.5, f->t, f->U, f->V, 0.5, gp, &e)))
        return false;
    gp[hyper_kernel_params(h)] += exact_repeated_slope(s->rows, h->like[0]);
    return true;
}

bool exact_float_evaluate(exact *s, const hyper *h, double jitter, double *value, double *gp)
{
    exact_float *f = s->single;
    f->at[0] = NAN;
    if (!factorize(s, h, jitter) || !evidence(s, h, value) || (gp && !gradient(s, h, gp))) return false;
    if (gp) hyper_natural(h, f->at), f->at[h->count] = jitter;
    return true;
}

/* ------------------------------------------------------------------------------------ its error */

static bool is_on(const void *state) { return exact_in_float(state); }
static void leave(void *state) { ((exact *)state)->single->on = false; }
static double last_value(const void *state) { return ((const exact *)state)->value; }

static bool is_at(const exact_float *f, const hyper *h, double jitter)
{
    bool same = f->at[h->count] == jitter;
    for (int64_t i = 0; same && i < h->count; i++) same = f->at[i] == hyper_get(h, i);
    return same;
}

/* By what the probes correct the slopes, which is more than what they leave. */
static anygp_status slope_error(const exact *s, const hyper *h, double *most, anygp_error *e)
{
    const exact_float *f = s->single;
    int64_t n = s->n, q = 1 + s->p, size = hyper_size(h);
    double *gp = mem_zeroed(2 * size, sizeof *gp), *now = gp + size;
    if (!gp) return fail_memory(e, "the gradient", 16.0 * (double)size);
    anygp_status status = f->K->ops->reverse(f->K, FLOAT_PROBES, f->U + q * n, n, f->V + q * n, n, 0.5, gp, e);
    hyper_natural(h, now);
    *most = 0;
    for (int64_t i = 0; i < h->count; i++) *most = fmax(*most, fabs(gp[i] * now[i]));
    free(gp);
    return status;
}

static anygp_status measure(void *state, const hyper *h, double jitter, float_error *error, anygp_error *e)
{
    exact *s = state;
    const exact_float *f = s->single;
    bool there = is_at(f, h, jitter);
    double value, *gp = there ? NULL : mem_doubles(hyper_size(h), 1);
    if (!there && !gp) return fail_memory(e, "the gradient", 8.0 * (double)hyper_size(h));
    s->factored = false;
    there = there || exact_float_evaluate(s, h, jitter, &value, gp);
    free(gp);
    *error = (float_error){INFINITY, INFINITY};
    if (!there) return ANYGP_OK;
    TRY(slope_error(s, h, &error->slope, e));
    error->value = (sqrt(2 * f->F2 / FLOAT_PROBES) + 0.5 * f->F2) / s->rows->total; /* two standard errors */
    error->slope /= s->rows->total;
    return ANYGP_OK;
}

const float_ops exact_floats = {.on = is_on, .measure = measure, .leave = leave, .value = last_value};
