/* Predictions of the variational models (svgp_posterior.h). */
#include "model/variational/svgp_posterior.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/condensed.h"
#include "model/inducing_arrays.h"
#include "model/sparse/sparse.h"

static int64_t set_size(const svgp_posterior *p, int64_t k) { return p->set[k + 1] - p->set[k]; }

static void posterior_free(posterior *base)
{
    svgp_posterior *p = (svgp_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    for (int k = 0; k < MODEL_SETS_MOST; k++) free(p->F[k]);
    inducing_clear(&p->u);
    inducing_clear(&p->o);
    double *const owned[] = {p->m, p->sizes, p->a};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(p);
}

/* A, and a copy that F^-1 is applied to. */
static int64_t work_doubles(const posterior *base, int64_t n)
{
    const svgp_posterior *p = (const svgp_posterior *)base;
    return n * (p->Mt + (p->O > p->Mt ? p->O : p->Mt));
}

static anygp_status features(const svgp_posterior *p, int64_t n, const double *X, int64_t ldx, double *A,
                             anygp_error *e)
{
    return basis_features(&p->u, &p->base.mean, n, X, ldx, A + p->base.mean.p, A, e);
}

/* a'm, and K_xo a of odvgp; room: n x O. */
static anygp_status means(const svgp_posterior *p, int64_t n, const double *X, int64_t ldx, const double *A,
                          double *room, double *mean, anygp_error *e)
{
    int64_t C = p->base.latents;
    la_gemm(LA_T, LA_N, n, C, p->Mt, 1, A, p->Mt, p->m, p->Mt, 0, mean, n);
    if (p->O == 0) return ANYGP_OK;
    if (!p->o.ops->cross(&p->o, n, X, ldx, room, p->O)) return fail_memory(e, "kernel tiles", 0);
    la_gemm(LA_T, LA_N, n, C, p->O, 1, room, p->O, p->a, p->O, 1, mean, n);
    return ANYGP_OK;
}

/* U = F^-1 A of latent c, or R'A. */
static void spread(const svgp_posterior *p, int64_t c, int64_t n, const double *A, double *U)
{
    memcpy(U, A, (size_t)(p->Mt * n) * sizeof *U);
    for (int64_t k = 0; k < p->K; k++) {
        int64_t M = set_size(p, k);
        if (p->by_covariance)
            la_trmm(LA_LEFT, LA_T, M, n, 1, p->F[k] + c * M * M, M, U + p->set[k], p->Mt);
        else
            la_trsm(LA_LEFT, LA_N, M, n, 1, p->F[k] + c * M * M, M, U + p->set[k], p->Mt);
    }
}

static anygp_status marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, anygp_error *e)
{
    const svgp_posterior *p = (const svgp_posterior *)base;
    double *A = work, *U = work + n * p->Mt;
    TRY(features(p, n, X, ldx, A, e));
    TRY(means(p, n, X, ldx, A, U, mean, e));
    if (!variance) return ANYGP_OK;
    inducing_residual(&p->u, n, X, ldx, A + base->mean.p, p->Mt, variance);
    for (int64_t c = base->latents; c-- > 0;) { /* the first one last: it holds what all begin with */
        spread(p, c, n, A, U);
        for (int64_t j = 0; j < n; j++) variance[c * n + j] = variance[j] + la_dot(p->Mt, U + j * p->Mt, U + j * p->Mt);
    }
    return ANYGP_OK;
}

static anygp_status joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                          double *covariance, int64_t ldc, anygp_error *e)
{
    const svgp_posterior *p = (const svgp_posterior *)base;
    double *A = work, *U = work + n * p->Mt;
    TRY(features(p, n, X, ldx, A, e));
    TRY(means(p, n, X, ldx, A, U, mean, e));
    for (int64_t c = 0; c < base->latents; c++) {
        double *S = covariance + c * ldc * n;
        if (!kernel_gram_sym(base->kernel, n, X, ldx, S, ldc)) return fail_memory(e, "kernel tiles", 0);
        for (int64_t j = 0; j < n; j++) S[j + j * ldc] -= kernel_white(base->kernel);
        la_syrk(LA_T, n, base->n, -1, A + base->mean.p, p->Mt, 1, S, ldc);
        spread(p, c, n, A, U);
        la_syrk(LA_T, n, p->Mt, 1, U, p->Mt, 1, S, ldc);
    }
    return ANYGP_OK;
}

/* Of odvgp, per latent c: m from m - w, with w = L^-1 K_uo a, and a'C_oo a / 2 = (a'K_oo a - w'w) / 2 (gauss/orthogonal.h).
   G: M x O, or O x O a column at a time. */
static bool orthogonal_part(const svgp_posterior *p, int64_t c, double *G, double *m, double *kl)
{
    int64_t M = p->u.M, O = p->O, first = p->base.mean.p;
    const double *a = p->a + c * O;
    double *w = m + p->Mt, form = 0;
    if (!p->u.ops->pair(&p->u, p->o.set, G, M)) return false;
    la_gemv(LA_N, M, O, 1, G, M, a, 0, w);
    la_trsv(LA_N, M, p->u.L, M, w);
    la_axpy(M, 1, w, m + first);
    for (int64_t j = 0; j < O; j++) {
        if (!p->o.ops->pair(&p->o, functions_part(p->o.set, p->base.D, j, 1), G, O)) return false;
        form += a[j] * la_dot(O, G, a);
    }
    *kl += 0.5 * (form - la_dot(M, w, w));
    return true;
}

static double kl(const posterior *base)
{
    const svgp_posterior *p = (const svgp_posterior *)base;
    int64_t most = p->O > p->Mt ? p->O : p->Mt;
    double sum = 0, *room = mem_doubles(most, p->Mt), *m = mem_alloc(2 * p->Mt, sizeof *m);
    bool ok = room && m;
    for (int64_t c = 0; ok && c < base->latents; c++) {
        memcpy(m, p->m + c * p->Mt, (size_t)p->Mt * sizeof *m);
        ok = p->O == 0 || orthogonal_part(p, c, room, m, &sum);
        for (int64_t k = 0; ok && k < p->K; k++) {
            int64_t M = set_size(p, k);
            double *factor = p->F[k] + c * M * M;
            gauss q = {.M = M, .m = m + p->set[k], .own = {.F = room}};
            *(p->by_covariance ? &q.R : &q.F) = factor;
            sum += gauss_kl(&q);
        }
    }
    free(room);
    free(m);
    return ok ? sum : NAN;
}

static condensed_source source_of(const posterior *base)
{
    const svgp_posterior *p = (const svgp_posterior *)base;
    return (condensed_source){.of = base,
                              .M = base->n,
                              .K = p->K,
                              .set = p->set,
                              .basis_first = true,
                              .u = &p->u,
                              .m = p->m,
                              .F = p->F,
                              .o = p->O ? &p->o : NULL,
                              .a = p->a};
}

static posterior *condense(const posterior *base)
{
    condensed_source s = source_of(base);
    return ((const svgp_posterior *)base)->by_covariance ? NULL : condensed_new(&s);
}

static posterior *condense_mean(const posterior *base)
{
    condensed_source s = source_of(base);
    return condensed_mean_new(&s);
}

static void arrays(posterior *base, array_list *list)
{
    static const char *const names[MODEL_SETS_MOST] = {"F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8"};
    svgp_posterior *p = (svgp_posterior *)base;
    int64_t C = base->latents;
    inducing_arrays(&p->u, INDUCING_FIRST, list);
    array_list_add(list, (named_array){"m", p->Mt, C, p->m, false});
    array_list_add(list, (named_array){"sets", p->K, 1, p->sizes, false});
    for (int64_t i = 0; i < p->K; i++)
        array_list_add(list, (named_array){p->by_covariance ? "R" : names[i], set_size(p, i), set_size(p, i) * C,
                                           p->F[i], C == 1});
    if (p->O) {
        inducing_arrays(&p->o, INDUCING_SECOND, list);
        array_list_add(list, (named_array){"a", p->O, C, p->a, false});
    }
}

static const posterior_ops svgp_posterior_ops = {.work_doubles = work_doubles,
                                                 .marginal = marginal,
                                                 .joint = joint,
                                                 .arrays = arrays,
                                                 .free = posterior_free,
                                                 .condense = condense,
                                                 .condense_mean = condense_mean,
                                                 .kl = kl};

/* ------------------------------------------------------------------------------- from the training */

/* Functions first .. first + p->base.latents - 1. */
static bool copy_q(const layer *l, int64_t first, svgp_posterior *p)
{
    for (int64_t k = 0; k < l->K; k++) {
        int64_t M = set_size(p, k);
        if (!(p->F[k] = mem_doubles(M, M * p->base.latents))) return false;
        p->sizes[k] = (double)M;
        for (int64_t c = 0; c < p->base.latents; c++) {
            const gauss *q = &l->q[(first + c) * l->K + k];
            memcpy(p->F[k] + c * M * M, q->R ? q->R : q->F, (size_t)(M * M) * sizeof(double));
        }
    }
    return true;
}

anygp_status svgp_posterior_of(const layer *l, int64_t first, int64_t count, double noise, posterior **out,
                               anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    svgp_posterior *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    p->base =
        (posterior){.ops = &svgp_posterior_ops, .D = l->D, .n = l->M, .latents = count, .noise = noise, .beside = l->O};
    p->Mt = l->Mt, p->K = l->K, p->O = l->O, p->by_covariance = l->q->R != NULL;
    memcpy(p->set, l->set, sizeof p->set);
    TRY_DONE(basis_copy(l->mean, &p->base.mean, e));
    p->base.kernel = kernel_copy(l->u.kernel);
    p->m = mem_copied(l->Mt, count, l->mean_m + first * l->Mt);
    if (l->O) p->a = mem_copied(l->O, count, l->a + first * l->O);
    p->sizes = mem_alloc(l->K, sizeof(double));
    if ((l->O && !p->a) || !p->base.kernel || !p->m || !p->sizes || !copy_q(l, first, p)) {
        status = fail_memory(e, "the posterior", 8.0 * (double)(l->Mt * l->Mt) * (double)(1 + count));
        goto done;
    }
    TRY_DONE(inducing_copy(&l->u, p->base.kernel, &p->u, e));
    if (l->O) TRY_DONE(inducing_copy(&l->o, p->base.kernel, &p->o, e));
done:
    if (ANYGP_FAILED(status))
        posterior_free(&p->base);
    else
        *out = &p->base;
    return status;
}

anygp_status svgp_posterior_new(const chain *s, int64_t t, posterior **out, anygp_error *e)
{
    return svgp_posterior_of(s->f, t * s->each, s->each, s->gaussian ? s->h->like[t] : 0, out, e);
}

/* ------------------------------------------------------------------------------------ from a file */

static anygp_status damaged(const char *what, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE, "the model file's %s are not valid; it is damaged", what);
}

/* Sizes that are whole, positive and add up to Mt. */
static bool read_sets(const named_array *sizes, int64_t Mt, svgp_posterior *p)
{
    if (sizes->cols != 1 || sizes->rows < 1 || sizes->rows > MODEL_SETS_MOST) return false;
    p->K = sizes->rows;
    for (int64_t k = 0; k < p->K; k++) {
        double M = sizes->values[k];
        if (!(M >= 1) || M != floor(M) || M > (double)(Mt - p->set[k])) return false;
        p->set[k + 1] = p->set[k] + (int64_t)M;
    }
    return p->set[p->K] == Mt;
}

/* The factors of all sets, checked; taken by the caller once everything is known to be there. */
static anygp_status find_factors(const svgp_posterior *p, named_array *list, int64_t count, int64_t C,
                                 named_array **factor, anygp_error *e)
{
    for (int64_t k = 0; k < p->K; k++) {
        char name[24];
        int64_t M = set_size(p, k);
        snprintf(name, sizeof name, p->by_covariance ? "R" : "F%lld", (long long)k + 1);
        if (!(factor[k] = named_array_need(list, count, name, e))) return ANYGP_ERR_FILE;
        if (factor[k]->rows != M || factor[k]->cols != M * C) return damaged("factors", e);
        for (int64_t c = 0; c < C; c++)
            if (!is_factor(M, factor[k]->values + c * M * M)) return damaged("factors", e);
    }
    return ANYGP_OK;
}

anygp_status svgp_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                       int64_t count, posterior **out, anygp_error *e)
{
    named_array *m = named_array_need(list, count, "m", e), *sizes = named_array_need(list, count, "sets", e),
                *factor[MODEL_SETS_MOST];
    svgp_posterior found = {0};
    inducing_found u, o = {0};
    anygp_status status;
    (void)self;
    if (!m || !sizes) return ANYGP_ERR_FILE;
    TRY(inducing_find_arrays(list, count, INDUCING_FIRST, k, D, &u, e));
    if (mean->p && named_array_find(list, count, "white")) /* of the time when basis functions stood behind */
        return fail_with(e, ANYGP_ERR_FILE,
                         "the model file is of an earlier version that kept its mean in another order; "
                         "fit the model again");
    int64_t Mt = u.M + mean->p;
    if (m->rows != Mt || m->cols < 1) return damaged("inducing inputs", e);
    if (!read_sets(sizes, Mt, &found)) return damaged("sets of inducing inputs", e);
    found.by_covariance = found.K == 1 && named_array_find(list, count, "R") != NULL;
    TRY(find_factors(&found, list, count, m->cols, factor, e));
    named_array *a = (named_array *)named_array_find(list, count, "a");
    if (a) TRY(inducing_find_arrays(list, count, INDUCING_SECOND, k, D, &o, e));
    if (a && (a->rows != o.M || a->cols != m->cols || o.kind != u.kind))
        return damaged("orthogonal inducing inputs", e);
    svgp_posterior *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    TRY_DONE(inducing_empty(&p->u, u.kind, k, D, e));
    if (a) TRY_DONE(inducing_empty(&p->o, o.kind, k, D, e));
    p->base = (posterior){
        .ops = &svgp_posterior_ops, .kernel = k, .noise = noise, .mean = *mean, .D = D, .n = u.M, .latents = m->cols};
    *mean = (basis){0};
    p->Mt = Mt, p->K = found.K, p->by_covariance = found.by_covariance;
    memcpy(p->set, found.set, sizeof p->set);
    p->m = named_array_take(m), p->sizes = named_array_take(sizes);
    inducing_take_arrays(&u, &p->u);
    if (a) inducing_take_arrays(&o, &p->o), p->O = p->base.beside = o.M, p->a = named_array_take(a);
    for (int64_t i = 0; i < p->K; i++) p->F[i] = named_array_take(factor[i]);
    *out = &p->base;
    return ANYGP_OK;
done:
    posterior_free(&p->base);
    return status;
}
