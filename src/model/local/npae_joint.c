/* Joint predictions of npae (npae.c).  Its mean is linear in the targets, Lambda'y with the weights lambda_i u_i of expert i's rows, and
   so the covariance of its errors at several rows is known:
       K** - Lambda'K_n* - K_*n Lambda + Lambda'(K + noise) Lambda
   Its diagonal are the marginal variances. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/local/npae.h"

/* Lambda, N x n, from the slots. */
static void spread(const experts_posterior *p, const nesting *g, double *Lambda)
{
    int64_t N = p->base.n;
    memset(Lambda, 0, (size_t)(N * g->n) * sizeof *Lambda);
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t s = 0; s < g->Q; s++) {
            int64_t i = g->near[s + j * g->Q];
            if (i < 0) continue;
            expert x = expert_at(p, i);
            la_axpy(x.n, g->lambda[s + j * g->Q], npae_u(p, g, s, j), Lambda + j * N + x.first);
        }
}

/* The share of expert i by itself: its covariances with f, and L'Lambda, whose square has its noise. */
static anygp_status add_own(const experts_posterior *p, const expert *x, const double *X, int64_t ldx, nesting *g,
                            const double *Lambda, double *C, int64_t ldc, anygp_error *e)
{
    int64_t n = g->n, N = p->base.n;
    const double *l = Lambda + x->first;
    expert_query q;
    TRY(query_prepare(p, n, X, ldx, g->H, g->room, &q, e));
    TRY(expert_covariances(p, x, &q, g->H, g->V, e));
    la_gemm(LA_T, LA_N, n, n, x->n, -1, l, N, g->V, x->n, 1, C, ldc);
    la_gemm(LA_T, LA_N, n, n, x->n, -1, g->V, x->n, l, N, 1, C, ldc);
    for (int64_t j = 0; j < n; j++) memcpy(g->V + j * x->n, l + j * N, (size_t)x->n * sizeof *l);
    la_trmm(LA_LEFT, LA_T, x->n, n, 1, x->L, x->n, g->V, x->n);
    la_gemm(LA_T, LA_N, n, n, x->n, 1, g->V, x->n, g->V, x->n, 1, C, ldc);
    return ANYGP_OK;
}

static anygp_status add_between(const experts_posterior *p, const expert *x, const expert *z, nesting *g,
                                const double *Lambda, double *C, int64_t ldc, anygp_error *e)
{
    int64_t n = g->n, N = p->base.n;
    for (int64_t r = 0; r < x->n; r += NPAE_STRIP) {
        int64_t rows = x->n - r < NPAE_STRIP ? x->n - r : NPAE_STRIP;
        const double *l = Lambda + x->first + r;
        TRY(experts_between(p, rows, x->X + r * p->base.D, z->n, z->X, g->H, g->tile, e));
        la_gemm(LA_N, LA_N, rows, n, z->n, 1, g->tile, rows, Lambda + z->first, N, 0, g->W, rows);
        la_gemm(LA_T, LA_N, n, n, rows, 1, l, N, g->W, rows, 1, C, ldc);
        la_gemm(LA_T, LA_N, n, n, rows, 1, g->W, rows, l, N, 1, C, ldc);
    }
    return ANYGP_OK;
}

/* K**, both triangles. */
static anygp_status begin(const experts_posterior *p, const double *X, int64_t ldx, nesting *g, double *C, int64_t ldc,
                          anygp_error *e)
{
    const posterior *b = &p->base;
    int64_t m = b->mean.p;
    expert_query q;
    if (!kernel_gram(b->kernel, g->n, X, ldx, g->n, X, ldx, C, ldc)) return fail_memory(e, "kernel tiles", 0);
    TRY(query_prepare(p, g->n, X, ldx, g->H, g->room, &q, e));
    if (m) la_gemm(LA_T, LA_N, g->n, g->n, m, 1, q.h, m, q.h, m, 1, C, ldc);
    return ANYGP_OK;
}

anygp_status npae_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                        double *covariance, int64_t ldc, anygp_error *e)
{
    const experts_posterior *p = (const experts_posterior *)base;
    anygp_status status;
    nesting g;
    double *Lambda = mem_doubles(base->n, n);
    if (!Lambda) return fail_memory(e, "the joint distribution", 8.0 * (double)base->n * (double)n);
    TRY_DONE(npae_weigh(p, NULL, n, X, ldx, work, &g, e));
    for (int64_t j = 0; j < n; j++) mean[j] = la_dot(g.Q, g.lambda + j * g.Q, g.mean + j * g.Q);
    spread(p, &g, Lambda);
    TRY_DONE(begin(p, X, ldx, &g, covariance, ldc, e));
    for (int64_t i = 0; i < p->count; i++) {
        expert x = expert_at(p, i);
        if (x.n == 0) continue;
        TRY_DONE(add_own(p, &x, X, ldx, &g, Lambda, covariance, ldc, e));
        for (int64_t k = i + 1; k < p->count; k++) {
            expert z = expert_at(p, k);
            TRY_DONE(add_between(p, &x, &z, &g, Lambda, covariance, ldc, e));
        }
    }
done:
    free(Lambda);
    return status;
}
