/* Predictions of the relevance vector machine: with k the kernel between x and the M vectors, and F F' = A + beta Phi'Phi,
       mean = k'm,      covariance = (F^-1 k)'(F^-1 k')        (Tipping 2001, eq. 21 and 22)
   Cost: M^2 per row.  In the model file: "X" (D x M) the vectors, "s" and "m" (M), "F"; none of them where there is no vector. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/inducing_arrays.h"
#include "model/weights/rvm.h"

typedef struct rvm_posterior {
    posterior base; /* base.n = M */
    double *X, *s, *m, *F;
} rvm_posterior;

static void posterior_free(posterior *base)
{
    rvm_posterior *p = (rvm_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    double *const owned[] = {p->X, p->s, p->m, p->F};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(p);
}

static int64_t work_doubles(const posterior *base, int64_t n) { return n * base->n; }

/* k[M,n] and the means. */
static anygp_status means(const rvm_posterior *p, int64_t n, const double *X, int64_t ldx, double *k, double *mean,
                          anygp_error *e)
{
    int64_t M = p->base.n;
    memset(mean, 0, (size_t)n * sizeof *mean);
    if (M == 0) return ANYGP_OK;
    if (!kernel_gram(p->base.kernel, M, p->X, p->base.D, n, X, ldx, k, M)) return fail_memory(e, "kernel tiles", 0);
    la_gemv(LA_T, M, n, 1, k, M, p->m, 0, mean);
    return ANYGP_OK;
}

static anygp_status marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, anygp_error *e)
{
    const rvm_posterior *p = (const rvm_posterior *)base;
    int64_t M = base->n;
    TRY(means(p, n, X, ldx, work, mean, e));
    if (!variance) return ANYGP_OK;
    if (M) la_trsm(LA_LEFT, LA_N, M, n, 1, p->F, M, work, M);
    for (int64_t j = 0; j < n; j++) variance[j] = la_dot(M, work + j * M, work + j * M);
    return ANYGP_OK;
}

static anygp_status joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                          double *covariance, int64_t ldc, anygp_error *e)
{
    const rvm_posterior *p = (const rvm_posterior *)base;
    int64_t M = base->n;
    TRY(means(p, n, X, ldx, work, mean, e));
    for (int64_t j = 0; j < n; j++) memset(covariance + j * ldc, 0, (size_t)n * sizeof *covariance);
    if (M == 0) return ANYGP_OK;
    la_trsm(LA_LEFT, LA_N, M, n, 1, p->F, M, work, M);
    la_syrk(LA_T, n, M, 1, work, M, 0, covariance, ldc);
    return ANYGP_OK;
}

/* Of the weights: [tr(A Sigma) + m'A m - M + log|A + beta Phi'Phi| - log|A|] / 2. */
static double kl(const posterior *base)
{
    const rvm_posterior *p = (const rvm_posterior *)base;
    int64_t M = base->n;
    double sum = la_logdet(M, p->F, M) - (double)M, *inverse = mem_zeroed(M * M, sizeof *inverse);
    for (int64_t i = 0; i < M && inverse; i++) inverse[i + i * M] = 1;
    if (M && inverse) la_trsm(LA_LEFT, LA_N, M, M, 1, p->F, M, inverse, M);
    for (int64_t i = 0; i < M && inverse; i++)
        sum += p->s[i] * (la_dot(M, inverse + i * M, inverse + i * M) + p->m[i] * p->m[i]) - log(p->s[i]);
    free(inverse);
    return inverse ? 0.5 * sum : NAN;
}

static int64_t vectors(const posterior *base, const double **X, const double **s, const double **m)
{
    const rvm_posterior *p = (const rvm_posterior *)base;
    *X = p->X, *s = p->s, *m = p->m;
    return base->n;
}

static void arrays(posterior *base, array_list *list)
{
    rvm_posterior *p = (rvm_posterior *)base;
    int64_t M = base->n;
    if (M == 0) return;
    array_list_add(list, (named_array){"X", base->D, M, p->X, false});
    array_list_add(list, (named_array){"s", M, 1, p->s, false});
    array_list_add(list, (named_array){"m", M, 1, p->m, false});
    array_list_add(list, (named_array){"F", M, M, p->F, true});
}

static const posterior_ops rvm_posterior_ops = {.work_doubles = work_doubles,
                                                .marginal = marginal,
                                                .joint = joint,
                                                .arrays = arrays,
                                                .free = posterior_free,
                                                .kl = kl,
                                                .vectors = vectors};

static rvm_posterior *posterior_new(kernel *k, double noise, int64_t D, int64_t M)
{
    rvm_posterior *p = calloc(1, sizeof *p);
    if (p) p->base = (posterior){.ops = &rvm_posterior_ops, .kernel = k, .noise = noise, .D = D, .n = M};
    return p;
}

static void fill(const relevance *r, const double *X, rvm_posterior *p)
{
    int64_t M = r->M, D = p->base.D;
    for (int64_t j = 0; j < M; j++) {
        int64_t i = r->at[j];
        if (D) memcpy(p->X + j * D, X + i * D, (size_t)D * sizeof *X);
        p->s[j] = r->s[i], p->m[j] = r->m[j];
        for (int64_t k = 0; k < M; k++) p->F[k + j * M] = r->beta * r->G[r->at[k] + j * r->n];
        p->F[j + j * M] += r->s[i];
    }
}

anygp_status rvm_posterior_new(const relevance *r, const double *X, const hyper *h, posterior **out, anygp_error *e)
{
    int64_t M = r->M, D = kernel_inputs(h->kernel);
    kernel *k = kernel_copy(h->kernel);
    rvm_posterior *p = k ? posterior_new(k, h->like[0], D, M) : NULL;
    if (!p) return kernel_free(k), fail_memory(e, "the posterior", 0);
    p->X = mem_doubles(M, D), p->s = mem_alloc(M, sizeof(double)), p->m = mem_alloc(M, sizeof(double));
    p->F = mem_doubles(M, M);
    anygp_status status = ANYGP_OK;
    if (!p->X || !p->s || !p->m || !p->F) status = fail_memory(e, "the posterior", 8.0 * (double)(M * (M + D)));
    if (!ANYGP_FAILED(status)) {
        fill(r, X, p);
        if (M && !la_factor(M, p->F, M))
            status = fail_with(e, ANYGP_ERR_NUMERIC, "the precision of the weights is not positive definite");
    }
    if (ANYGP_FAILED(status)) return posterior_free(&p->base), status;
    la_zero_upper(M, p->F, M);
    *out = &p->base;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------ from a file */

static anygp_status check(const named_array *s, const named_array *F, anygp_error *e)
{
    bool ok = is_factor(F->rows, F->values);
    for (int64_t i = 0; i < s->rows; i++) ok = ok && s->values[i] > 0;
    return ok ? ANYGP_OK
              : fail_with(e, ANYGP_ERR_FILE, "the model file's relevance vectors are not valid; it is damaged");
}

anygp_status rvm_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                      int64_t count, posterior **out, anygp_error *e)
{
    static const char *const names[] = {"X", "s", "m", "F"};
    named_array *a[4] = {NULL};
    int64_t M = 0;
    (void)self;
    if (count > 0) {
        for (int i = 0; i < 4; i++)
            if (!(a[i] = named_array_need(list, count, names[i], e))) return ANYGP_ERR_FILE;
        M = a[0]->cols;
        const int64_t shape[4][2] = {{D, M}, {M, 1}, {M, 1}, {M, M}};
        for (int i = 0; i < 4; i++) TRY(named_array_check(a[i], shape[i][0], shape[i][1], e));
        TRY(check(a[1], a[3], e));
    }
    rvm_posterior *p = posterior_new(k, noise, D, M);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    double **const home[] = {&p->X, &p->s, &p->m, &p->F};
    for (int i = 0; i < 4 && a[0]; i++) *home[i] = named_array_take(a[i]);
    p->base.mean = *mean;
    *mean = (basis){0};
    *out = &p->base;
    return ANYGP_OK;
}
