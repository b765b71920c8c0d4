/* Predictions of the exact model (notation of exact.c):
       v = L^-1 k*,   g = R^-1 (h* - V'v)
       mean = k*'alpha + h*'beta,  beta = B H'alpha        (Rasmussen and Williams 2006, eq. 2.25 and section 2.7)
       variance = k** - v'v + g'g                          (eq. 2.26)
   Cost: n^2 per row; workspace n + p doubles per row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/exact/exact.h"
#include "model/exact/exact_iterative.h"
#include "model/exact/exact_posterior.h"
#include "model/exact/exact_steps.h"

static void exact_posterior_free(posterior *base)
{
    exact_posterior *p = (exact_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    double *const owned[] = {p->X, p->alpha, p->L, p->V, p->R, p->beta};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(p);
}

/* Rows predicted at a time: kernel columns, basis functions and V'v. */
static int64_t exact_work(const posterior *base, int64_t n)
{
    const exact_posterior *p = (const exact_posterior *)base;
    return n * (base->n + p->p);
}

/* k* (n x m), h* (p x m), and the means: all that is needed where no variance is wanted. */
static anygp_status means(const exact_posterior *p, int64_t m, const double *X, int64_t ldx, double *k, double *h,
                          double *mean, anygp_error *e)
{
    const posterior *b = &p->base;
    int64_t n = b->n;
    if (!kernel_gram(b->kernel, n, p->X, b->D, m, X, ldx, k, n)) return fail_memory(e, "kernel tiles", 0);
    la_gemv(LA_T, n, m, 1, k, n, p->alpha, 0, mean);
    if (p->p == 0) return ANYGP_OK;
    basis_fill(&b->mean, m, X, ldx, h, p->p, 1);
    la_gemv(LA_T, p->p, m, 1, h, p->p, p->beta, 1, mean);
    return ANYGP_OK;
}

/* From k* and h* in place: v = L^-1 k* (n x m), g = R^-1 (h* - V'v) (p x m). */
static void project(const exact_posterior *p, int64_t m, double *v, double *g)
{
    int64_t n = p->base.n;
    la_trsm(LA_LEFT, LA_N, n, m, 1, p->L, n, v, n);
    if (p->p == 0) return;
    la_gemm(LA_T, LA_N, p->p, m, n, -1, p->V, n, v, n, 1, g, p->p);
    la_trsm(LA_LEFT, LA_N, p->p, m, 1, p->R, p->p, g, p->p);
}

static anygp_status exact_marginal(const posterior *base, int64_t m, const double *X, int64_t ldx, double *work,
                                   double *mean, double *variance, anygp_error *e)
{
    const exact_posterior *p = (const exact_posterior *)base;
    int64_t n = base->n;
    double *v = work, *g = work + m * n;
    TRY(means(p, m, X, ldx, v, g, mean, e));
    if (!variance) return ANYGP_OK;
    project(p, m, v, g);
    kernel_diag(base->kernel, m, X, ldx, variance);
#pragma omp parallel for
    for (int64_t j = 0; j < m; j++) {
        double s = variance[j], added = 0;
        for (int64_t i = 0; i < n; i++) s -= v[i + j * n] * v[i + j * n];
        for (int64_t k = 0; k < p->p; k++) added += g[k + j * p->p] * g[k + j * p->p];
        variance[j] = fmax(s, 0) + added;
    }
    return ANYGP_OK;
}

static anygp_status exact_joint(const posterior *base, int64_t m, const double *X, int64_t ldx, double *work,
                                double *mean, double *covariance, int64_t ldc, anygp_error *e)
{
    const exact_posterior *p = (const exact_posterior *)base;
    int64_t n = base->n;
    double *v = work, *g = work + m * n;
    TRY(means(p, m, X, ldx, v, g, mean, e));
    project(p, m, v, g);
    if (!kernel_gram_sym(base->kernel, m, X, ldx, covariance, ldc)) return fail_memory(e, "kernel tiles", 0);
    for (int64_t i = 0; i < m; i++) covariance[i + i * ldc] -= kernel_white(base->kernel);
    la_syrk(LA_T, m, n, -1, v, n, 1, covariance, ldc);
    if (p->p) la_syrk(LA_T, m, p->p, 1, g, p->p, 1, covariance, ldc);
    return ANYGP_OK;
}

/* diag[n] of Q = (Ky + B H H')^-1 = L^-T (I - V R^-T R^-1 V') L^-1, in columns of L^-1 that begin at their diagonals: n^3/3
   operations.  False: no memory. */
static bool inverse_diagonal(const exact_posterior *p, double *diag)
{
    enum { COLUMNS = 64 };
    int64_t n = p->base.n, wide = p->p > COLUMNS ? p->p : COLUMNS;
    double *W = mem_doubles(n, wide);
    for (int64_t j = 0; W && j < n; j += COLUMNS) {
        int64_t rest = n - j, some = rest < COLUMNS ? rest : COLUMNS;
        memset(W, 0, (size_t)(rest * some) * sizeof *W);
        for (int64_t i = 0; i < some; i++) W[i + i * rest] = 1;
        la_trsm(LA_LEFT, LA_N, rest, some, 1, p->L + j + j * n, n, W, rest);
        for (int64_t i = 0; i < some; i++) diag[j + i] = la_dot(rest, W + i * rest, W + i * rest);
    }
    if (W && p->p) {
        memcpy(W, p->V, (size_t)(n * p->p) * sizeof *W);
        la_trsm(LA_RIGHT, LA_T, n, p->p, 1, p->R, p->p, W, n);
        la_trsm(LA_LEFT, LA_T, n, p->p, 1, p->L, n, W, n);
        for (int64_t k = 0; k < p->p; k++)
            for (int64_t i = 0; i < n; i++) diag[i] -= W[i + k * n] * W[i + k * n];
    }
    free(W);
    return W != NULL;
}

/* With K' = K + B H H' and the noise N of the rows, all of what Ky has beyond K,
       KL = [ tr(Q N) - n + alpha'K'alpha + log|K' + N| - log|N| ] / 2,    K'^-1 (posterior covariance) = Q N */
static double exact_kl(const posterior *base)
{
    const exact_posterior *p = (const exact_posterior *)base;
    int64_t n = base->n;
    double *q = mem_alloc(3 * n, sizeof *q), *noise = q + n, *t = noise + n, sum = NAN;
    if (q && inverse_diagonal(p, q)) {
        memcpy(t, p->alpha, (size_t)n * sizeof *t);
        la_trmm(LA_LEFT, LA_T, n, 1, 1, p->L, n, t, n);
        kernel_diag(base->kernel, n, p->X, base->D, noise);
        sum = la_dot(n, t, t) + la_logdet(n, p->L, n) - (double)n;
        if (p->p)
            sum += la_dot(p->p, p->beta, p->beta) / base->mean.B + la_logdet(p->p, p->R, p->p) +
                   (double)p->p * log(base->mean.B);
        for (int64_t i = 0; i < n; i++) {
            double N = -noise[i];
            for (int64_t j = 0; j <= i; j++) N += p->L[i + j * n] * p->L[i + j * n];
            sum += N * (q[i] - p->alpha[i] * p->alpha[i]) - log(N);
        }
    }
    free(q);
    return 0.5 * sum;
}

static void exact_arrays(posterior *base, array_list *list)
{
    exact_posterior *p = (exact_posterior *)base;
    int64_t n = base->n;
    array_list_add(list, (named_array){"X", base->D, n, p->X, false});
    array_list_add(list, (named_array){"alpha", n, 1, p->alpha, false});
    array_list_add(list, (named_array){"L", n, n, p->L, true});
    if (p->p == 0) return;
    array_list_add(list, (named_array){"V", n, p->p, p->V, false});
    array_list_add(list, (named_array){"R", p->p, p->p, p->R, true});
    array_list_add(list, (named_array){"beta", p->p, 1, p->beta, false});
}

static const posterior_ops exact_posterior_ops = {.work_doubles = exact_work,
                                                  .marginal = exact_marginal,
                                                  .joint = exact_joint,
                                                  .arrays = exact_arrays,
                                                  .free = exact_posterior_free,
                                                  .kl = exact_kl};

static exact_posterior *posterior_new(kernel *k, double noise, int64_t D, int64_t n, int64_t p)
{
    exact_posterior *q = calloc(1, sizeof *q);
    if (q) *q = (exact_posterior){.base = {&exact_posterior_ops, k, noise, {0}, D, n}, .p = p};
    return q;
}

bool exact_has_factor(const posterior *p) { return p->ops == &exact_posterior_ops; }

anygp_status exact_posterior_new(const kernel *k, double noise, const basis *mean, int64_t D, int64_t n,
                                 exact_posterior **out, anygp_error *e)
{
    int64_t p = mean->p;
    kernel *copy = kernel_copy(k);
    exact_posterior *q = copy ? posterior_new(copy, noise, D, n, p) : NULL;
    if (!q) return kernel_free(copy), fail_memory(e, "the posterior", 0);
    q->X = mem_doubles(n, D), q->alpha = mem_doubles(n, 1), q->beta = mem_doubles(p, 1);
    q->L = mem_doubles(n, n), q->V = mem_doubles(n, p), q->R = mem_doubles(p, p);
    anygp_status status = basis_copy(mean, &q->base.mean, e);
    if (!ANYGP_FAILED(status) && (!q->X || !q->alpha || !q->beta || !q->L || !q->V || !q->R))
        status = fail_memory(e, "the posterior", 8.0 * (double)n * (double)(n + D + p));
    if (ANYGP_FAILED(status))
        exact_posterior_free(&q->base);
    else
        *out = q;
    return status;
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
    if (!exact_is_at(s, h, *jitter) && !exact_evidence(s, h, true, jitter, &value))
        return fail_with(
            e, ANYGP_ERR_NUMERIC,
            "the covariance matrix is not positive definite at the final hyperparameters, even with jitter; "
            "try a larger --noise or another kernel");
    kernel *k = kernel_copy(h->kernel);
    exact_posterior *q = k ? posterior_new(k, h->like[0], s->rows->D, s->n, s->p) : NULL;
    if (!q) return kernel_free(k), fail_memory(e, "the posterior", 0);
    *out = &q->base;
    TRY(basis_copy(s->mean, &q->base.mean, e));
    q->X = mem_doubles(s->n, s->rows->D);
    q->beta = mem_alloc(s->p, sizeof(double));
    if (!q->X || !q->beta) return fail_memory(e, "the posterior", 8.0 * (double)s->n * (double)s->rows->D);
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

static bool is_factor(const named_array *a)
{
    for (int64_t i = 0; i < a->rows; i++)
        if (!(a->values[i + i * a->rows] > 0)) return false;
    return true;
}

/* A posterior from a file: shapes are checked against each other before anything is taken. */
anygp_status exact_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                        int64_t count, posterior **out, anygp_error *e)
{
    static const char *const names[] = {"X", "alpha", "L", "V", "R", "beta"};
    enum { REQUIRED = 3, ALL = 6 };
    named_array *a[ALL];
    int64_t n = 0, p = mean->p;
    (void)self;
    if (!named_array_find(list, count, "L") && named_array_find(list, count, "estimate"))
        return rows_posterior_load(k, noise, mean, D, list, count, out, e);
    if (!named_array_find(list, count, "L") && named_array_find(list, count, "S"))
        return steps_posterior_load(k, noise, mean, D, list, count, out, e);
    for (int i = 0; i < ALL; i++) {
        bool needed = i < REQUIRED || p > 0;
        a[i] = needed ? named_array_need(list, count, names[i], e)
                      : (named_array *)named_array_find(list, count, names[i]);
        if (needed && !a[i]) return ANYGP_ERR_FILE;
    }
    n = a[0]->cols;
    const int64_t shape[ALL][2] = {{D, n}, {n, 1}, {n, n}, {n, p}, {p, p}, {p, 1}};
    for (int i = 0; i < ALL; i++)
        if (a[i]) TRY(named_array_check(a[i], shape[i][0], shape[i][1], e));
    if (!is_factor(a[2]) || (p > 0 && !is_factor(a[4])))
        return fail_with(e, ANYGP_ERR_FILE, "the model file's Cholesky factors are not valid; it is damaged");
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
