/* Exact Gaussian process regression.

   Prior  f ~ GP(h(x)'b, k), b ~ N(0, B I);  data  ybar_i = f(x_i) + e_i, e_i ~ N(0, s2 / c_i)  (merged rows).
       Ky = K + s2 diag(1/c) = L L'            n x n
       V  = L^-1 H,   S = I/B + V'V = R R'     p x p      (H: n x p basis functions; p = 0 without a mean)
       a  = L^-1 y,   t = R^-1 V'a
       alpha = (Ky + B H H')^-1 y = L^-T (a - V R^-T t)
   Log evidence (Rasmussen and Williams 2006, eq. 2.30 and section 2.7), plus the terms of the merged rows:
       -1/2 [ a'a - t't + log|Ky| + log|S| + p log B + n log 2 pi ] - (C-n)/2 log(2 pi s2) - log_c/2 - SS/(2 s2)
   Gradient:  dF/dKy = (alpha alpha' - Q) / 2,   Q = (Ky + B H H')^-1 = Ky^-1 - W W',  W = L^-T V R^-T.
   Leave-one-out of one original row j in group i of count c (eq. 5.12 of the same book, for the system in which the part d
   that is left out is a row of its own, with noise s2/d):
       d = min(1, weight of j),   Q_jj = d (1 - d/c)/s2 + d^2/c^2 Q_ii,   alpha_j = d (y_j - ybar_i)/s2 + d/c alpha_i,
       mean = y_j - alpha_j/Q_jj,   variance = 1/Q_jj - s2/d + s2.
   A weight of 3 is three rows, of which one is left out; a row with a weight below 1 is left out entirely.  Predictions:
   exact_posterior.c.

   Cost: n^3/3 for the evidence, n^3 with its gradient; memory 8 n^2 bytes: one square serves K, L, Q and dF/dK. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/exact/exact.h"
#include "model/exact/exact_float.h"
#include "model/exact/exact_steps.h"

/* ---------------------------------------------------------------------------------- workspace */

void exact_close(void *state)
{
    exact *s = state;
    if (!s) return;
    free(s->at);
    exact_float_free(s->single);
    double *const owned[] = {s->K, s->diag,  s->a,        s->alpha,        s->q,          s->V,    s->W, s->R,
                             s->t, s->loo.y, s->loo.mean, s->loo.variance, s->loo.weight, s->loo.X};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    merged_clear(&s->subset);
    free(s);
}

static double square_bytes(int64_t n) { return 8.0 * (double)n * (double)n; }

model_cost exact_cost_of(const cost_facts *f, double n)
{
    static const double SHARE = 0.75; /* of R, which factorisations reach */
    double p = (double)f->basis, D = (double)f->inputs;
    return (model_cost){.rows = cost_of_work(f, SHARE, n * n * n, 2 * n * n),
                        .bytes = 8 * (n * n + p * p + n * (8 + D + 2 * p))};
}

static model_cost exact_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    (void)self, (void)s;
    return exact_cost_of(f, f->distinct);
}

static int64_t exact_size(const problem *p) { return p->rows->n; }

static int64_t rows_present(const merged *m)
{
    int64_t count = 0;
    for (int64_t i = 0; i < m->data->n; i++) count += m->group[i] >= 0;
    return count;
}

/* Workspace for s->rows. */
static anygp_status exact_allocate(exact *s, const basis *mean, anygp_error *e)
{
    int64_t n = s->n = s->rows->n, p = s->p = mean->p, r = rows_present(s->rows);
    s->mean = mean;
    if (!(s->K = mem_doubles(n, n))) return fail_memory(e, "the covariance matrix", square_bytes(n));
    struct {
        double **array;
        int64_t rows, cols;
    } const slices[] = {{&s->diag, n, 1},
                        {&s->a, n, 1},
                        {&s->alpha, n, 1},
                        {&s->q, n, 1},
                        {&s->V, n, p},
                        {&s->W, n, p},
                        {&s->R, p, p},
                        {&s->t, p, 1},
                        {&s->loo.y, r, 1},
                        {&s->loo.mean, r, 1},
                        {&s->loo.variance, r, 1},
                        {&s->loo.weight, r, 1},
                        {&s->loo.X, r, s->rows->D}};
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++)
        if (!(*slices[i].array = mem_doubles(slices[i].rows, slices[i].cols)))
            return fail_memory(e, "the workspace", 8.0 * (double)slices[i].rows * (double)slices[i].cols);
    return ANYGP_OK;
}

anygp_status exact_open_rows(const merged *rows, merged *owned, const basis *mean, void **state, anygp_error *e)
{
    exact *s = calloc(1, sizeof *s);
    if (!s) return fail_memory(e, "the model", sizeof *s);
    if (owned) s->subset = *owned, *owned = (merged){0};
    s->rows = owned ? &s->subset : rows;
    s->value = NAN;
    anygp_status status = exact_allocate(s, mean, e);
    if (ANYGP_FAILED(status))
        exact_close(s);
    else
        *state = s;
    return status;
}

static anygp_status exact_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    (void)self;
    TRY(exact_open_rows(p->rows, NULL, p->mean, state, e));
    anygp_status status = p->mixed ? exact_float_open(*state, p, h, e) : ANYGP_OK;
    if (ANYGP_FAILED(status)) exact_close(*state);
    return status;
}

double exact_rows(const void *state) { return ((const exact *)state)->rows->total; }

/* ------------------------------------------------------------------------------- the evidence */

/* L in the lower triangle of s->K.  *jitter is relative going in; grows only if allowed. */
static bool factorize(exact *s, const hyper *h, bool grow, double *jitter)
{
    int64_t n = s->n;
    if (!kernel_gram_sym(h->kernel, n, s->rows->X, s->rows->D, s->K, n)) return false;
    double mean = 0, added;
    for (int64_t i = 0; i < n; i++) {
        s->K[i + i * n] += h->like[0] / s->rows->c[i];
        mean += s->K[i + i * n] / (double)n;
    }
    if (!grow) {
        for (int64_t i = 0; i < n; i++) s->K[i + i * n] += *jitter * mean;
        return la_factor(n, s->K, n);
    }
    bool ok = la_cholesky(n, s->K, n, *jitter, s->diag, &added);
    if (ok) *jitter = added / mean;
    return ok;
}

/* The mean's share: V, R, t and the correction of a; returns log|S| + p log B - t't. */
static bool project_mean(exact *s, double *correction)
{
    int64_t n = s->n, p = s->p;
    double B = s->mean->B;
    basis_fill(s->mean, n, s->rows->X, s->rows->D, s->V, 1, n);
    la_trsm(LA_LEFT, LA_N, n, p, 1, s->K, n, s->V, n);
    la_syrk(LA_T, p, n, 1, s->V, n, 0, s->R, p);
    for (int64_t k = 0; k < p; k++) s->R[k + k * p] += 1 / B;
    if (!la_factor(p, s->R, p)) return false;
    la_gemv(LA_T, n, p, 1, s->V, n, s->a, 0, s->t);
    la_trsv(LA_N, p, s->R, p, s->t);
    *correction = la_logdet(p, s->R, p) + (double)p * log(B) - la_dot(p, s->t, s->t);
    la_trsv(LA_T, p, s->R, p, s->t); /* t = S^-1 V'a */
    memcpy(s->alpha, s->a, (size_t)n * sizeof(double));
    la_gemv(LA_N, n, p, -1, s->V, n, s->t, 1, s->alpha);
    return true;
}

double exact_repeated_terms(const merged *m, double noise)
{
    if (m->plain) return 0;
    return -0.5 * (m->extra * (LOG_2PI + log(noise)) + m->log_c + m->SS / noise);
}

double exact_repeated_slope(const merged *m, double noise)
{
    return m->plain ? 0 : 0.5 * (m->SS / noise - m->extra) / noise;
}

bool exact_evidence(exact *s, const hyper *h, bool grow, double *jitter, double *value)
{
    int64_t n = s->n;
    const merged *m = s->rows;
    double mean_terms = 0;
    if (!factorize(s, h, grow, jitter)) return false;
    memcpy(s->a, m->y, (size_t)n * sizeof(double));
    la_trsv(LA_N, n, s->K, n, s->a);
    memcpy(s->alpha, s->a, (size_t)n * sizeof(double));
    if (s->p && !project_mean(s, &mean_terms)) return false;
    la_trsv(LA_T, n, s->K, n, s->alpha);
    *value = -0.5 * (la_dot(n, s->a, s->a) + la_logdet(n, s->K, n) + mean_terms + (double)n * LOG_2PI);
    *value += exact_repeated_terms(m, h->like[0]);
    s->value = *value;
    return isfinite(*value);
}

/* From L to dF/dKy in place; leaves diag(Q). */
static bool adjoint(exact *s)
{
    int64_t n = s->n, p = s->p;
    if (p) {
        memcpy(s->W, s->V, (size_t)(n * p) * sizeof(double));
        la_trsm(LA_LEFT, LA_T, n, p, 1, s->K, n, s->W, n);
        la_trsm(LA_RIGHT, LA_T, n, p, 1, s->R, p, s->W, n);
    }
    if (la_potri(n, s->K, n) != 0) return false;
    if (p) la_syrk(LA_N, n, p, -1, s->W, n, 1, s->K, n);
    for (int64_t i = 0; i < n; i++) s->q[i] = s->K[i + i * n];
#pragma omp parallel for schedule(dynamic, 16)
    for (int64_t j = 0; j < n; j++) {
        double *Kj = s->K + j * n, aj = s->alpha[j];
        for (int64_t i = j; i < n; i++) Kj[i] = 0.5 * (s->alpha[i] * aj - Kj[i]);
    }
    return true;
}

/* The relative jitter r adds r * mean(diag Ky) to every diagonal element, so its adjoint spreads over all of them. */
static void adjoint_of_jitter(exact *s, double r)
{
    double trace = 0;
    for (int64_t i = 0; i < s->n; i++) trace += s->K[i + i * s->n];
    for (int64_t i = 0; i < s->n; i++) s->K[i + i * s->n] += r * trace / (double)s->n;
}

static bool evidence_and_gradient(exact *s, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    const merged *m = s->rows;
    if (!exact_evidence(s, h, grow, jitter, value)) return false;
    if (!gp) return true;
    if (!adjoint(s)) return false;
    if (*jitter > 0) adjoint_of_jitter(s, *jitter);
    int64_t P = hyper_kernel_params(h);
    memset(gp, 0, (size_t)hyper_size(h) * sizeof(double));
    for (int64_t i = 0; i < s->n; i++) gp[P] += s->K[i + i * s->n] / m->c[i];
    gp[P] += exact_repeated_slope(m, h->like[0]);
    return kernel_gram_sym_reverse(h->kernel, s->n, m->X, m->D, s->K, s->n, gp, NULL, 0);
}

/* Notes the hyperparameters that the factor in s->K belongs to. */
static bool note_place(exact *s, const hyper *h, double jitter)
{
    if (!s->at && !(s->at = mem_alloc(h->count + 1, sizeof *s->at))) return false;
    hyper_natural(h, s->at);
    s->at[h->count] = jitter;
    return true;
}

bool exact_is_at(const exact *s, const hyper *h, double jitter)
{
    bool same = s->factored && s->at[h->count] == jitter;
    for (int64_t i = 0; same && i < h->count; i++) same = s->at[i] == hyper_get(h, i);
    return same;
}

bool exact_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    exact *s = state;
    int former = la_threads(threads_for(pow((double)s->n, 3)));
    bool narrow = exact_in_float(s) && exact_float_evaluate(s, h, *jitter, value, gp);
    bool ok = narrow || evidence_and_gradient(s, h, grow, jitter, value, gp);
    la_threads(former);
    s->factored = ok && !narrow && !gp && note_place(s, h, *jitter);
    return ok;
}

/* See the head of this file. */
void exact_leave_out(double c, double d, double apart, double noise, double q_row, double alpha_row, double *off,
                     double *variance)
{
    double q = d / c * (d / c) * q_row, alpha = d / c * alpha_row;
    if (c != d) q += d * (1 - d / c) / noise, alpha += d * apart / noise;
    *off = alpha / q;
    *variance = d == 1 ? 1 / q : noise + fmax(0, 1 / q - noise / d);
}

/* Row j, left out of its group. */
static void leave_out(const exact *s, double noise, int64_t j, double *mean, double *variance)
{
    const merged *m = s->rows;
    int64_t i = m->group[j];
    double y = m->data->y[j], off;
    exact_leave_out(m->c[i], fmin(1, m->data->w[j]), y - m->y[i], noise, s->q[i], s->alpha[i], &off, variance);
    *mean = y - off;
}

const leave_one_out *exact_loo(void *state, const hyper *h)
{
    exact *s = state;
    const dataset *data = s->rows->data;
    leave_one_out *l = &s->loo;
    l->n = 0, l->D = s->rows->D;
    for (int64_t j = 0; j < data->n; j++) {
        if (s->rows->group[j] < 0) continue;
        leave_out(s, h->like[0], j, &l->mean[l->n], &l->variance[l->n]);
        memcpy(l->X + l->n * l->D, s->rows->X + s->rows->group[j] * l->D, (size_t)l->D * sizeof *l->X);
        l->y[l->n] = data->y[j];
        l->weight[l->n++] = data->w[j];
    }
    return l;
}

const model_ops model_exact = {
    .name = "exact",
    .summary = "exact Gaussian process",
    .objective = "log evidence",
    .needs = {.rows = ROWS_ALL, .mean = true, .weights = true, .joint = true},
    .order = "n^3",
    .cost = exact_cost,
    .size = exact_size,
    .open = exact_open,
    .evaluate = exact_evaluate,
    .floats = &exact_floats,
    .loo = exact_loo,
    .posterior = exact_to_posterior,
    .rows = exact_rows,
    .close = exact_close,
    .load = exact_load,
    .update = &exact_updates,
    .iterative = &model_exact_iterative,
    .stepped = &model_exact_steps,
};
