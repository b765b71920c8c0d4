/* Predictions of the sparse models (sparse_posterior.h). */
#include "model/sparse/sparse_posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gauss/gauss.h"
#include "linalg/linalg.h"
#include "model/condensed.h"
#include "model/inducing_arrays.h"

static void sparse_posterior_free(posterior *base)
{
    sparse_posterior *p = (sparse_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    pic_rows_free(p->rows);
    inducing_clear(&p->u);
    double *const owned[] = {p->m, p->B, p->J, p->set};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(p);
}

static int64_t sparse_work(const posterior *base, int64_t n) { return n * ((const sparse_posterior *)base)->Mt; }

static anygp_status features(const sparse_posterior *p, int64_t n, const double *X, int64_t ldx, double *A,
                             anygp_error *e)
{
    return basis_features(&p->u, &p->base.mean, n, X, ldx, A, A + p->u.M, e);
}

/* The bracket of the head comment for each row. */
static void row_variances(const sparse_posterior *p, int64_t n, const double *X, int64_t ldx, const double *A,
                          double *variance)
{
    if (p->test == TEST_NOTHING) {
        memset(variance, 0, (size_t)n * sizeof *variance);
        return;
    }
    inducing_residual(&p->u, n, X, ldx, A, p->Mt, variance);
}

static anygp_status marginal_in(const posterior *base, int64_t n, const double *X, int64_t ldx, const int64_t *block,
                                double *work, double *mean, double *variance, anygp_error *e)
{
    const sparse_posterior *p = (const sparse_posterior *)base;
    double *A = work;
    TRY(features(p, n, X, ldx, A, e));
    memset(mean, 0, (size_t)n * sizeof *mean);
    if (p->test == TEST_BLOCK)
        TRY(pic_correct(p, n, X, ldx, block, A, mean, variance, NULL, 0, e));
    else if (variance)
        row_variances(p, n, X, ldx, A, variance);
    la_gemv(LA_T, p->Mt, n, 1, A, p->Mt, p->m, 1, mean);
    if (!variance) return ANYGP_OK;
    la_trsm(LA_LEFT, LA_N, p->Mt, n, 1, p->B, p->Mt, A, p->Mt);
    for (int64_t j = 0; j < n; j++) variance[j] += la_dot(p->Mt, A + j * p->Mt, A + j * p->Mt);
    return ANYGP_OK;
}

static anygp_status sparse_marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work,
                                    double *mean, double *variance, anygp_error *e)
{
    return marginal_in(base, n, X, ldx, NULL, work, mean, variance, e);
}

/* The bracket between rows, lower triangle. */
static anygp_status row_covariances(const sparse_posterior *p, int64_t n, const double *X, int64_t ldx, const double *A,
                                    double *cov, int64_t ldc, anygp_error *e)
{
    for (int64_t j = 0; j < n; j++) memset(cov + j * ldc, 0, (size_t)n * sizeof *cov);
    if (p->test == TEST_NOTHING) return ANYGP_OK;
    if (p->test == TEST_DIAGONAL) {
        double *variance = mem_alloc(n, sizeof *variance);
        if (!variance) return fail_memory(e, "the variances", 8.0 * (double)n);
        row_variances(p, n, X, ldx, A, variance);
        for (int64_t j = 0; j < n; j++) cov[j + j * ldc] = variance[j];
        free(variance);
        return ANYGP_OK;
    }
    if (!kernel_gram_sym(p->base.kernel, n, X, ldx, cov, ldc)) return fail_memory(e, "kernel tiles", 0);
    for (int64_t j = 0; j < n; j++) cov[j + j * ldc] -= kernel_white(p->base.kernel);
    la_syrk(LA_T, n, p->u.M, -1, A, p->Mt, 1, cov, ldc);
    return ANYGP_OK;
}

static anygp_status joint_in(const posterior *base, int64_t n, const double *X, int64_t ldx, const int64_t *block,
                             double *work, double *mean, double *covariance, int64_t ldc, anygp_error *e)
{
    const sparse_posterior *p = (const sparse_posterior *)base;
    double *A = work;
    TRY(features(p, n, X, ldx, A, e));
    memset(mean, 0, (size_t)n * sizeof *mean);
    if (p->test == TEST_BLOCK) {
        for (int64_t j = 0; j < n; j++) memset(covariance + j * ldc, 0, (size_t)n * sizeof *covariance);
        TRY(pic_correct(p, n, X, ldx, block, A, mean, NULL, covariance, ldc, e));
    } else {
        TRY(row_covariances(p, n, X, ldx, A, covariance, ldc, e));
    }
    la_gemv(LA_T, p->Mt, n, 1, A, p->Mt, p->m, 1, mean);
    la_trsm(LA_LEFT, LA_N, p->Mt, n, 1, p->B, p->Mt, A, p->Mt);
    la_syrk(LA_T, n, p->Mt, 1, A, p->Mt, 1, covariance, ldc);
    return ANYGP_OK;
}

static anygp_status sparse_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work,
                                 double *mean, double *covariance, int64_t ldc, anygp_error *e)
{
    return joint_in(base, n, X, ldx, NULL, work, mean, covariance, ldc, e);
}

static int64_t sparse_blocks(const posterior *base, const double **names)
{
    const sparse_posterior *p = (const sparse_posterior *)base;
    return p->rows ? pic_blocks(p->rows, names) : 0;
}

/* Where a test row is predicted from the inducing inputs only and has a variance of its own. */
static posterior *sparse_condense(const posterior *base)
{
    const sparse_posterior *p = (const sparse_posterior *)base;
    if (p->test == TEST_BLOCK || p->test == TEST_NOTHING) return NULL;
    return condensed_new(&(condensed_source){.of = base,
                                             .M = base->n,
                                             .K = 1,
                                             .set = (int64_t[]){0, p->Mt},
                                             .u = &p->u,
                                             .m = p->m,
                                             .F = (double *[]){p->B}});
}

static posterior *sparse_condense_mean(const posterior *base)
{
    const sparse_posterior *p = (const sparse_posterior *)base;
    if (p->test == TEST_BLOCK) return NULL;
    return condensed_mean_new(&(condensed_source){.of = base, .M = p->u.M, .u = &p->u, .m = p->m});
}

/* That of v, where a row depends on nothing else: not for pic, whose rows also know those of their block. */
static double sparse_kl(const posterior *base)
{
    const sparse_posterior *p = (const sparse_posterior *)base;
    gauss q = {.M = p->Mt, .m = p->m, .F = p->B};
    if (p->test == TEST_BLOCK || !(q.own.F = mem_doubles(p->Mt, p->Mt))) return NAN;
    double kl = gauss_kl(&q);
    free(q.own.F);
    return kl;
}

static void sparse_arrays(posterior *base, array_list *list)
{
    sparse_posterior *p = (sparse_posterior *)base;
    inducing_arrays(&p->u, INDUCING_FIRST, list);
    array_list_add(list, (named_array){"m", p->Mt, 1, p->m, false});
    array_list_add(list, (named_array){"B", p->Mt, p->Mt, p->B, true});
    array_list_add(list, (named_array){"sums", 3, 1, p->sums, false});
    if (p->J) array_list_add(list, (named_array){"J", p->Mt, p->Mt, p->J, true});
    if (p->J) array_list_add(list, (named_array){"set", base->n, 1, p->set, false});
    if (p->rows) pic_arrays(p->rows, list);
}

static const posterior_ops sparse_posterior_ops = {.work_doubles = sparse_work,
                                                   .marginal = sparse_marginal,
                                                   .joint = sparse_joint,
                                                   .arrays = sparse_arrays,
                                                   .free = sparse_posterior_free,
                                                   .condense = sparse_condense,
                                                   .condense_mean = sparse_condense_mean,
                                                   .blocks = sparse_blocks,
                                                   .marginal_in = marginal_in,
                                                   .joint_in = joint_in,
                                                   .kl = sparse_kl};

/* The sets, and with them all that an update needs. */
static bool copy_sets(const sparse *s, sparse_posterior *p)
{
    if (s->form == FORM_JOINT) return true;
    p->J = mem_copied(s->Mt, s->Mt, s->J);
    p->set = mem_alloc(s->M, sizeof *p->set);
    for (int64_t i = 0; p->set && i < s->M; i++) p->set[i] = (double)s->set[i];
    return p->J && p->set;
}

anygp_status sparse_posterior_new(const sparse_kind *kind, const sparse *s, const double *m, const double *B,
                                  const double sums[3], posterior **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    sparse_posterior *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    p->base = (posterior){.ops = &sparse_posterior_ops, .noise = s->h->like[s->target], .D = s->D, .n = s->u.set.M};
    p->test = kind->test, p->Mt = s->Mt;
    memcpy(p->sums, sums, sizeof p->sums);
    TRY_DONE(basis_copy(s->mean, &p->base.mean, e));
    p->base.kernel = kernel_copy(s->h->kernel);
    p->m = mem_copied(s->Mt, 1, m);
    p->B = mem_copied(s->Mt, s->Mt, B);
    if (!p->base.kernel || !p->m || !p->B || !copy_sets(s, p)) {
        status = fail_memory(e, "the posterior", 16.0 * (double)s->Mt * (double)s->Mt);
        goto done;
    }
    TRY_DONE(inducing_copy(&s->u, p->base.kernel, &p->u, e));
done:
    if (ANYGP_FAILED(status))
        sparse_posterior_free(&p->base);
    else
        *out = &p->base;
    return status;
}

/* ------------------------------------------------------------------------------------ from a file */

enum { ARRAYS = 5, ARRAYS_JOINT = 3 };

/* Sets are numbered from 0 in the order of the inducing inputs. */
static bool are_sets(const named_array *a)
{
    for (int64_t i = 0; i < a->rows; i++) {
        double step = a->values[i] - (i > 0 ? a->values[i - 1] : 0);
        if (!(step == 0 || (step == 1 && i > 0))) return false;
    }
    return true;
}

/* Shapes are checked against each other before anything is taken. */
static anygp_status find_arrays(named_array *list, int64_t count, int64_t M, int64_t p, int wanted,
                                named_array *found[ARRAYS], anygp_error *e)
{
    static const char *const names[ARRAYS] = {"m", "B", "sums", "J", "set"};
    for (int i = 0; i < wanted; i++)
        if (!(found[i] = named_array_need(list, count, names[i], e))) return ANYGP_ERR_FILE;
    int64_t Mt = M + p;
    const int64_t shape[ARRAYS][2] = {{Mt, 1}, {Mt, Mt}, {3, 1}, {Mt, Mt}, {M, 1}};
    for (int i = 0; i < wanted; i++) TRY(named_array_check(found[i], shape[i][0], shape[i][1], e));
    if (!is_factor(Mt, found[1]->values) || (wanted > ARRAYS_JOINT && !is_factor(Mt, found[3]->values)))
        return fail_with(e, ANYGP_ERR_FILE, "the model file's Cholesky factors are not valid; it is damaged");
    if (wanted > ARRAYS_JOINT && !are_sets(found[4]))
        return fail_with(e, ANYGP_ERR_FILE, "the model file's sets of inducing inputs are not valid; it is damaged");
    return ANYGP_OK;
}

anygp_status sparse_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                         int64_t count, posterior **out, anygp_error *e)
{
    return sparse_load_within(self, 0, k, noise, mean, D, list, count, out, e);
}

anygp_status sparse_load_within(const model_ops *self, double memory, kernel *k, double noise, basis *mean, int64_t D,
                                named_array *list, int64_t count, posterior **out, anygp_error *e)
{
    const sparse_kind *kind = self->family;
    named_array *a[ARRAYS] = {0};
    bool joint = kind->form == FORM_JOINT;
    inducing_found found;
    anygp_status status;
    pic_rows *rows = NULL;
    TRY(inducing_find_arrays(list, count, INDUCING_FIRST, k, D, &found, e));
    if (self->variables == &inducing_left && found.kind == &inducing_points) found.kind = self->variables;
    TRY(find_arrays(list, count, found.M * found.kind->each, mean->p, joint ? ARRAYS_JOINT : ARRAYS, a, e));
    sparse_posterior *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    TRY_DONE(inducing_empty(&p->u, found.kind, k, D, e));
    if (kind->test == TEST_BLOCK) TRY_DONE(pic_load(D, kind->order, list, count, &rows, e));
    if (rows && memory > 0) pic_rows_limit(rows, memory);
    p->base =
        (posterior){.ops = &sparse_posterior_ops, .kernel = k, .noise = noise, .mean = *mean, .D = D, .n = found.M};
    *mean = (basis){0};
    p->test = kind->test, p->Mt = a[0]->rows, p->rows = rows;
    memcpy(p->sums, a[2]->values, sizeof p->sums);
    inducing_take_arrays(&found, &p->u);
    p->m = named_array_take(a[0]), p->B = named_array_take(a[1]);
    if (!joint) p->J = named_array_take(a[3]), p->set = named_array_take(a[4]);
    *out = &p->base;
    return ANYGP_OK;
done:
    sparse_posterior_free(&p->base);
    return status;
}
