/* Joint predictions of patchwork (patchwork.h): f at rows of all cells and the differences delta at the borders are one Gaussian vector, so
   that, with c(x) = s o cov(f_k(x), f_k(b) | y_k) in the places of cell k, to which x belongs, and 0 in all others,
       cov(f(x), f(z)) = [same cell] cov(f_k(x), f_k(z) | y_k) - c(x)'S^-1 c(z).
   Its diagonal are the marginal variances.  Cost: q^2 operations per row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/local/experts.h"
#include "model/local/patchwork_posterior.h"

/* The covariances of rows of cell k given its own rows, own[count, count] of room, to their places. */
static anygp_status within_cell(const patch_posterior *p, int64_t k, int64_t count, const patch_visit *a, double *own,
                                double *C, int64_t ldc, anygp_error *e)
{
    expert x = expert_at(p->cells, k);
    int64_t D = p->base.D;
    if (!kernel_gram(x.kernel, count, a->X, D, count, a->X, D, own, count)) return fail_memory(e, "kernel tiles", 0);
    if (x.n > 0) la_syrk(LA_T, count, x.n, -1, a->k, x.n, 1, own, count);
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = j; i < count; i++) C[a->row[i] + a->row[j] * ldc] = own[i + j * count];
    return ANYGP_OK;
}

/* c(x) of rows of cell k into columns of R[q,n]. */
static void at_borders(const patch_posterior *p, int64_t k, int64_t count, const patch_visit *a, double *R)
{
    const patch_borders *b = &p->b;
    int64_t m = patch_places(b, k), first = b->start[k];
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < m; i++)
            R[b->place[first + i] + a->row[j] * b->at.count] = b->sign[first + i] * a->c[i + j * m];
}

static anygp_status join_all(const patch_posterior *p, int64_t n, const double *X, int64_t ldx, const patch_visit *a,
                             double *own, double *R, double *mean, double *C, int64_t ldc, anygp_error *e)
{
    int64_t D = p->base.D, q = p->b.at.count;
    TRY(router_route(p->cells->route, n, X, ldx, a->block, e));
    for (int64_t k = 0; k < p->b.cells; k++) {
        int64_t count = rows_of_part(a->block, k, n, X, ldx, D, a->X, a->row);
        if (count == 0) continue;
        TRY(patch_ask(p, k, count, a, e));
        for (int64_t j = 0; j < count; j++) mean[a->row[j]] = a->m[j];
        TRY(within_cell(p, k, count, a, own, C, ldc, e));
        at_borders(p, k, count, a, R);
    }
    if (q == 0) return ANYGP_OK;
    la_trsm(LA_LEFT, LA_N, q, n, 1, p->S, q, R, q);
    la_syrk(LA_T, n, q, -1, R, q, 1, C, ldc);
    return ANYGP_OK;
}

anygp_status patch_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                         double *covariance, int64_t ldc, anygp_error *e)
{
    const patch_posterior *p = (const patch_posterior *)base;
    int64_t q = p->b.at.count;
    double *own = mem_doubles(n, n), *R = mem_zeroed(q * n, sizeof *R);
    patch_visit a = patch_visit_place(p, n, work);
    anygp_status status = own && R ? ANYGP_OK : fail_memory(e, "a joint prediction", 8.0 * (double)n * (double)(n + q));
    for (int64_t j = 0; j < n; j++) memset(covariance + j + j * ldc, 0, (size_t)(n - j) * sizeof *covariance);
    if (!ANYGP_FAILED(status)) status = join_all(p, n, X, ldx, &a, own, R, mean, covariance, ldc, e);
    if (!ANYGP_FAILED(status)) kernel_diag(base->kernel, n, X, ldx, own);
    for (int64_t j = 0; !ANYGP_FAILED(status) && j < n; j++)
        covariance[j + j * ldc] = fmax(covariance[j + j * ldc], EXPERT_LEAST * own[j]);
    free(own);
    free(R);
    return status;
}
