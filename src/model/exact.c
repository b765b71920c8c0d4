/* Exact Gaussian process regression.

   Prior  f ~ GP(h(x)'b, k), b ~ N(0, B I);  data  ybar_i = f(x_i) + e_i, e_i ~ N(0, s2 / c_i)  (merged rows).
       Ky = K + s2 diag(1/c) = L L'            n x n
       V  = L^-1 H,   S = I/B + V'V = R R'     p x p      (H: n x p basis functions; p = 0 without a mean)
       a  = L^-1 y,   t = R^-1 V'a
       alpha = (Ky + B H H')^-1 y = L^-T (a - V R^-T t)
   Log evidence (Rasmussen and Williams 2006, eq. 2.30 and section 2.7), plus the terms of the merged rows:
       -1/2 [ a'a - t't + log|Ky| + log|S| + p log B + n log 2 pi ] - (C-n)/2 log(2 pi s2) - log_c/2 - SS/(2 s2)
   Gradient:  dF/dKy = (alpha alpha' - Q) / 2,   Q = (Ky + B H H')^-1 = Ky^-1 - W W',  W = L^-T V R^-T.
   Leave-one-out of one original row j in group i of count c (eq. 5.12 of the same book, for the unmerged system):
       Q_jj = (1 - 1/c)/s2 + Q_ii/c^2,   alpha_j = (y_j - ybar_i)/s2 + alpha_i/c,
       mean = y_j - alpha_j/Q_jj,   variance = 1/Q_jj.
   Predictions, v = L^-1 k*:  mean = k*'alpha + B h*'H'alpha,   variance = k** - v'v + |R^-1 (h* - V'v)|^2.

   Cost: n^3/3 for the evidence, n^3 with its gradient; memory 8 n^2 bytes: one square serves K, L, Q and dF/dK. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/exact.h"

static const double LOG_2PI = 1.83787706640934548356;

typedef struct exact {
    const merged *rows;
    merged subset; /* sod: its own rows; else empty */
    const basis *mean;
    int64_t n, p;
    double *K;             /* n x n: K, then L, then Q, then dF/dK (lower triangles) */
    double *diag;          /* n: workspace of the Cholesky */
    double *a, *alpha, *q; /* n: L^-1 y, Ky^-1 y, diag(Q) */
    double *V, *W;         /* n x p */
    double *R, *t;         /* p x p, p */
    leave_one_out loo;
} exact;

typedef struct exact_posterior {
    posterior base;
    int64_t n, p;
    double *X, *alpha, *L, *V, *R, *beta; /* X: D x n column-major (a row of inputs after the other) */
} exact_posterior;

/* ---------------------------------------------------------------------------------- workspace */

void exact_close(void *state)
{
    exact *s = state;
    if (!s) return;
    double *const owned[] = {s->K, s->diag,  s->a,        s->alpha,        s->q,         s->V, s->W, s->R,
                             s->t, s->loo.y, s->loo.mean, s->loo.variance, s->loo.weight};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    merged_clear(&s->subset);
    free(s);
}

static double square_bytes(int64_t n) { return 8.0 * (double)n * (double)n; }

double exact_bytes_for(int64_t n, int64_t D) { return square_bytes(n) + 8.0 * (double)n * (double)(8 + D); }

static double exact_bytes(const problem *p) { return exact_bytes_for(p->rows->n, p->rows->D); }

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
    size_t square;
    s->mean = mean;
    s->K = size_mul(n, n, &square) ? mem_alloc((int64_t)square, sizeof(double)) : NULL;
    if (!s->K) return fail_memory(e, "the covariance matrix", square_bytes(n));
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
                        {&s->loo.weight, r, 1}};
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++)
        if (!(*slices[i].array = mem_alloc(slices[i].rows * slices[i].cols, sizeof(double))))
            return fail_memory(e, "the workspace", 8.0 * (double)slices[i].rows * (double)slices[i].cols);
    return ANYGP_OK;
}

anygp_status exact_open_rows(const merged *rows, merged *owned, const basis *mean, void **state, anygp_error *e)
{
    exact *s = calloc(1, sizeof *s);
    if (!s) return fail_memory(e, "the model", sizeof *s);
    if (owned) s->subset = *owned, *owned = (merged){0};
    s->rows = owned ? &s->subset : rows;
    anygp_status status = exact_allocate(s, mean, e);
    if (ANYGP_FAILED(status))
        exact_close(s);
    else
        *state = s;
    return status;
}

static anygp_status exact_open(const problem *p, const hyper *h, void **state, anygp_error *e)
{
    (void)h;
    return exact_open_rows(p->rows, NULL, p->mean, state, e);
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
        s->K[i + i * n] += h->noise / s->rows->c[i];
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

/* Log evidence with L, a, alpha, V, R in place. */
static bool evidence(exact *s, const hyper *h, bool grow, double *jitter, double *value)
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
    if (m->extra != 0 || m->SS > 0)
        *value -= 0.5 * (m->extra * (LOG_2PI + log(h->noise)) + m->log_c + m->SS / h->noise);
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
    if (!evidence(s, h, grow, jitter, value)) return false;
    if (!gp) return true;
    if (!adjoint(s)) return false;
    if (*jitter > 0) adjoint_of_jitter(s, *jitter);
    int64_t P = h->count - 1;
    memset(gp, 0, (size_t)h->count * sizeof(double));
    for (int64_t i = 0; i < s->n; i++) gp[P] += s->K[i + i * s->n] / m->c[i];
    if (m->extra != 0 || m->SS > 0) gp[P] += 0.5 * (m->SS / h->noise - m->extra) / h->noise;
    return kernel_gram_sym_reverse(h->kernel, s->n, m->X, m->D, s->K, s->n, gp, NULL, 0);
}

bool exact_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    exact *s = state;
    int former = la_threads(threads_for(pow((double)s->n, 3)));
    bool ok = evidence_and_gradient(s, h, grow, jitter, value, gp);
    la_threads(former);
    return ok;
}

const leave_one_out *exact_loo(void *state, const hyper *h)
{
    exact *s = state;
    const merged *m = s->rows;
    leave_one_out *l = &s->loo;
    l->n = 0;
    for (int64_t j = 0; j < m->data->n; j++) {
        int64_t i = m->group[j], k = l->n;
        if (i < 0) continue;
        double c = m->c[i], residual = m->data->y[j] - m->y[i];
        double q = s->q[i] / (c * c), alpha = s->alpha[i] / c;
        if (c != 1) q += (1 - 1 / c) / h->noise, alpha += residual / h->noise;
        l->y[k] = m->data->y[j];
        l->mean[k] = m->data->y[j] - alpha / q;
        l->variance[k] = 1 / q;
        l->weight[k] = m->data->w[j];
        l->n++;
    }
    return l;
}

/* ------------------------------------------------------------------------------ the posterior */

static void exact_posterior_free(posterior *base)
{
    exact_posterior *p = (exact_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    double *const owned[] = {p->X, p->alpha, p->L, p->V, p->R, p->beta, false};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(p);
}

/* Rows predicted at a time: kernel columns, basis functions and V'v. */
static int64_t exact_work(const posterior *base, int64_t n)
{
    const exact_posterior *p = (const exact_posterior *)base;
    return n * (p->n + p->p);
}

/* v = L^-1 k* (n x m), g = R^-1 (h* - V'v) (p x m), and the means. */
static anygp_status project(const exact_posterior *p, int64_t m, const double *X, int64_t ldx, double *v, double *g,
                            double *mean, anygp_error *e)
{
    const posterior *b = &p->base;
    if (!kernel_gram(b->kernel, p->n, p->X, b->D, m, X, ldx, v, p->n)) return fail_memory(e, "kernel tiles", 0);
    la_gemv(LA_T, p->n, m, 1, v, p->n, p->alpha, 0, mean);
    la_trsm(LA_LEFT, LA_N, p->n, m, 1, p->L, p->n, v, p->n);
    if (p->p == 0) return ANYGP_OK;
    basis_fill(&b->mean, m, X, ldx, g, p->p, 1);
    la_gemv(LA_T, p->p, m, 1, g, p->p, p->beta, 1, mean);
    la_gemm(LA_T, LA_N, p->p, m, p->n, -1, p->V, p->n, v, p->n, 1, g, p->p);
    la_trsm(LA_LEFT, LA_N, p->p, m, 1, p->R, p->p, g, p->p);
    return ANYGP_OK;
}

static anygp_status exact_marginal(const posterior *base, int64_t m, const double *X, int64_t ldx, double *work,
                                   double *mean, double *variance, anygp_error *e)
{
    const exact_posterior *p = (const exact_posterior *)base;
    double *v = work, *g = work + m * p->n;
    TRY(project(p, m, X, ldx, v, g, mean, e));
    kernel_diag(base->kernel, m, X, ldx, variance);
#pragma omp parallel for
    for (int64_t j = 0; j < m; j++) {
        double s = variance[j], added = 0;
        for (int64_t i = 0; i < p->n; i++) s -= v[i + j * p->n] * v[i + j * p->n];
        for (int64_t k = 0; k < p->p; k++) added += g[k + j * p->p] * g[k + j * p->p];
        variance[j] = fmax(s, 0) + added;
    }
    return ANYGP_OK;
}

static anygp_status exact_joint(const posterior *base, int64_t m, const double *X, int64_t ldx, double *work,
                                double *mean, double *covariance, int64_t ldc, anygp_error *e)
{
    const exact_posterior *p = (const exact_posterior *)base;
    double *v = work, *g = work + m * p->n;
    TRY(project(p, m, X, ldx, v, g, mean, e));
    if (!kernel_gram_sym(base->kernel, m, X, ldx, covariance, ldc)) return fail_memory(e, "kernel tiles", 0);
    for (int64_t i = 0; i < m; i++) covariance[i + i * ldc] -= kernel_white(base->kernel);
    la_syrk(LA_T, m, p->n, -1, v, p->n, 1, covariance, ldc);
    if (p->p) la_syrk(LA_T, m, p->p, 1, g, p->p, 1, covariance, ldc);
    return ANYGP_OK;
}

static int64_t exact_arrays(posterior *base, named_array *list)
{
    exact_posterior *p = (exact_posterior *)base;
    int64_t k = 0;
    list[k++] = (named_array){"X", base->D, p->n, p->X, false};
    list[k++] = (named_array){"alpha", p->n, 1, p->alpha, false};
    list[k++] = (named_array){"L", p->n, p->n, p->L, true};
    if (p->p == 0) return k;
    list[k++] = (named_array){"V", p->n, p->p, p->V, false};
    list[k++] = (named_array){"R", p->p, p->p, p->R, true};
    list[k++] = (named_array){"beta", p->p, 1, p->beta, false};
    return k;
}

static const posterior_ops exact_posterior_ops = {.work_doubles = exact_work,
                                                  .marginal = exact_marginal,
                                                  .joint = exact_joint,
                                                  .arrays = exact_arrays,
                                                  .free = exact_posterior_free};

static exact_posterior *posterior_new(kernel *k, double noise, int64_t D, int64_t n, int64_t p)
{
    exact_posterior *q = calloc(1, sizeof *q);
    if (q) *q = (exact_posterior){.base = {&exact_posterior_ops, k, noise, {0}, D}, .n = n, .p = p};
    return q;
}

/* L, alpha, V and R move from the state to the posterior. */
static double *move(double **from)
{
    double *a = *from;
    *from = NULL;
    return a;
}

anygp_status exact_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    exact *s = state;
    double value;
    if (!evidence(s, h, true, jitter, &value))
        return fail_with(
            e, ANYGP_ERR_NUMERIC,
            "the covariance matrix is not positive definite at the final hyperparameters, even with jitter; "
            "try a larger --noise or another kernel");
    kernel *k = kernel_copy(h->kernel);
    exact_posterior *q = k ? posterior_new(k, h->noise, s->rows->D, s->n, s->p) : NULL;
    if (!q) return kernel_free(k), fail_memory(e, "the posterior", 0);
    *out = &q->base;
    TRY(basis_copy(s->mean, &q->base.mean, e));
    q->X = mem_alloc(s->n * s->rows->D, sizeof(double));
    q->beta = mem_alloc(s->p, sizeof(double));
    if (!q->X || !q->beta) return fail_memory(e, "the posterior", 8.0 * (double)(s->n * s->rows->D));
    memcpy(q->X, s->rows->X, (size_t)(s->n * s->rows->D) * sizeof(double));
    la_zero_upper(s->n, s->K, s->n);
    if (s->p) {
        la_zero_upper(s->p, s->R, s->p);
        basis_fill(s->mean, s->n, s->rows->X, s->rows->D, s->W, 1, s->n);
        la_gemv(LA_T, s->n, s->p, s->mean->B, s->W, s->n, s->alpha, 0, q->beta);
    }
    q->L = move(&s->K);
    q->alpha = move(&s->alpha);
    q->V = move(&s->V);
    q->R = move(&s->R);
    return ANYGP_OK;
}

/* The posterior of a file: shapes are checked against each other before anything is taken. */
anygp_status exact_load(kernel *k, double noise, basis *mean, int64_t D, named_array *list, int64_t count,
                        posterior **out, anygp_error *e)
{
    static const char *const names[] = {"X", "alpha", "L", "V", "R", "beta"};
    enum { REQUIRED = 3, ALL = 6 };
    named_array *a[ALL];
    int64_t n = 0, p = mean->p;
    for (int i = 0; i < ALL; i++) {
        a[i] = (named_array *)named_array_find(list, count, names[i]);
        if (!a[i] && (i < REQUIRED || p > 0))
            return fail_with(e, ANYGP_ERR_FILE, "the model file has no array '%s'; it is damaged or not complete",
                             names[i]);
    }
    n = a[0]->cols;
    const int64_t shape[ALL][2] = {{D, n}, {n, 1}, {n, n}, {n, p}, {p, p}, {p, 1}};
    for (int i = 0; i < ALL; i++)
        if (a[i] && (a[i]->rows != shape[i][0] || a[i]->cols != shape[i][1]))
            return fail_with(e, ANYGP_ERR_FILE, "the model file's array '%s' is %lld x %lld instead of %lld x %lld",
                             names[i], (long long)a[i]->rows, (long long)a[i]->cols, (long long)shape[i][0],
                             (long long)shape[i][1]);
    for (int64_t i = 0; i < n; i++)
        if (!(a[2]->values[i + i * n] > 0))
            return fail_with(e, ANYGP_ERR_FILE, "the model file's factor L is not valid");
    exact_posterior *q = posterior_new(k, noise, D, n, p);
    if (!q) return fail_memory(e, "the posterior", sizeof *q);
    q->base.mean = *mean;
    *mean = (basis){0};
    double **const home[ALL] = {&q->X, &q->alpha, &q->L, &q->V, &q->R, &q->beta};
    for (int i = 0; i < ALL; i++)
        if (a[i]) *home[i] = move(&a[i]->values);
    *out = &q->base;
    return ANYGP_OK;
}

const model_ops model_exact = {
    .name = "exact",
    .summary = "exact Gaussian process: n^3 time, 8 n^2 bytes",
    .objective = "log evidence",
    .bytes = exact_bytes,
    .open = exact_open,
    .evaluate = exact_evaluate,
    .loo = exact_loo,
    .posterior = exact_to_posterior,
    .rows = exact_rows,
    .close = exact_close,
    .load = exact_load,
};
