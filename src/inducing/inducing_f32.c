/* Inducing variables with their rows in float (inducing_f32.h). */
#include "inducing/inducing_f32.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg_f32.h"

bool inducing_f32_fits(const inducing_set *v) { return v->ops == &inducing_points && v->T; }

bool inducing_f32_open(inducing_f32 *f, int64_t M)
{
    f->L = mem_alloc(M * M, sizeof *f->L);
    f->T = mem_alloc(la_trsm_size(M), sizeof *f->T);
    return f->L && f->T;
}

void inducing_f32_clear(inducing_f32 *f)
{
    free(f->L), free(f->T);
    *f = (inducing_f32){0};
}

void inducing_f32_prepare(const inducing_f32 *f, const inducing_set *v)
{
    la_round(v->M * v->M, v->L, f->L);
    la_round(la_trsm_size(v->M), v->T, f->T);
}

bool inducing_f32_features(const inducing_f32 *f, const inducing_set *v, int64_t n, const double *X, int64_t ldx,
                           float *A, int64_t lda, float *K)
{
    if (!kernel_gram_f32(v->kernel, v->M, v->set.Z, v->D, n, X, ldx, A, lda)) return false;
    for (int64_t j = 0; K && j < n; j++) memcpy(K + j * v->M, A + j * lda, (size_t)v->M * sizeof *K);
    la_trsm_prepared_f32(LA_LEFT, LA_N, v->M, n, f->L, v->M, f->T, A, lda);
    return true;
}

void inducing_f32_residual(const inducing_set *v, int64_t n, const double *X, int64_t ldx, const float *A, int64_t lda,
                           double *d)
{
    kernel_diag(v->kernel, n, X, ldx, d);
    for (int64_t j = 0; j < n; j++) d[j] = fmax(d[j] - la_dot_f32(v->M, A + j * lda, A + j * lda), 0);
}

bool inducing_f32_reverse(const inducing_f32 *f, const inducing_set *v, int64_t n, const double *X, int64_t ldx,
                          float *Abar, int64_t lda, bool of_A, const double *dbar, inducing_grad g)
{
    if (dbar) kernel_diag_reverse(v->kernel, n, X, ldx, dbar, g.kernel, g.X, v->D);
    if (of_A) la_trsm_prepared_f32(LA_LEFT, LA_T, v->M, n, f->L, v->M, f->T, Abar, lda);
    return kernel_gram_reverse_f32(v->kernel, v->M, v->set.Z, v->D, n, X, ldx, Abar, lda, g.kernel, g.Z, v->D, g.X,
                                   v->D);
}

void basis_rows_f32(const basis *b, int64_t n, const double *X, int64_t ldx, float *H, int64_t ldh)
{
    double root = sqrt(b->B);
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < b->p; k++)
            H[k + j * ldh] = (float)(root * (b->column[k] < 0 ? 1 : X[j * ldx + b->column[k]]));
}
