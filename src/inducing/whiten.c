#include "inducing/whiten.h"

#include <stdlib.h>

#include "base/memory.h"
#include "linalg/linalg.h"

bool whiten_factor(inducing_set *v, bool grow, double *jitter)
{
    int64_t M = v->M;
    double *L = v->L, mean = 0, added;
    for (int64_t i = 0; i < M; i++) mean += L[i + i * M] / (double)M;
    if (grow) {
        if (!la_cholesky(M, L, M, *jitter, v->diag, &added)) return false;
        *jitter = mean > 0 ? added / mean : 0;
    } else {
        for (int64_t i = 0; i < M; i++) L[i + i * M] += *jitter * mean;
        if (!la_factor(M, L, M)) return false;
    }
    la_zero_upper(M, L, M);
    if (v->T) la_trsm_prepare(M, L, M, v->T);
    v->jitter = *jitter;
    return true;
}

static void solve(const inducing_set *v, la_op op, int64_t n, double *A, int64_t lda)
{
    if (v->T)
        la_trsm_prepared(LA_LEFT, op, v->M, n, v->L, v->M, v->T, A, lda);
    else
        la_trsm(LA_LEFT, op, v->M, n, 1, v->L, v->M, A, lda);
}

bool whiten_features(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *A, int64_t lda)
{
    if (!v->ops->cross(v, n, X, ldx, A, lda)) return false;
    solve(v, LA_N, n, A, lda);
    return true;
}

bool whiten_reverse(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *Abar, int64_t lda,
                    const double *dbar, inducing_grad g)
{
    if (dbar) kernel_diag_reverse(v->kernel, n, X, ldx, dbar, g.kernel, g.X, v->D);
    solve(v, LA_T, n, Abar, lda);
    return v->ops->cross_reverse(v, n, X, ldx, Abar, lda, g);
}

double whiten_bar(const inducing_set *v, double *E)
{
    int64_t M = v->M;
    double trace = 0, share = 0;
    la_congruence(M, v->L, M, v->T, E, M);
    for (int64_t j = 0; j < M; j++) la_scale(M - j, -0.5, E + j + j * M);
    for (int64_t i = 0; i < M; i++) share += v->jitter * E[i + i * M] / (double)M;
    for (int64_t i = 0; i < M; i++) trace += E[i + i * M] += share;
    return trace;
}

/* Only the diagonal of kernel_gram_sym has white terms: g times the gradient of what it has there beyond kernel_diag. */
bool white_reverse(const inducing_set *v, double g, double *gp)
{
    double minus = -g;
    if (!kernel_has_white(v->kernel)) return true;
    double *place = mem_zeroed(v->D, sizeof *place);
    bool ok = place != NULL;
    if (ok) kernel_diag_reverse(v->kernel, 1, place, v->D, &minus, gp, NULL, 0);
    ok = ok && kernel_gram_sym_reverse(v->kernel, 1, place, v->D, &g, 1, gp, NULL, 0);
    free(place);
    return ok;
}
