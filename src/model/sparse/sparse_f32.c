/* A diagonal G with rows in float; notation and equations in sparse.h, the same in double in sparse.c and sparse_reverse.c.  A whole G
   is in sparse_whole_f32.c.

   In float are A = L^-1 K_uf, the products A A', V A and -2 A dbar A' over the rows of a piece, and Abar with its reverse; in double
   what is one number for a row (d, g, gbar, residuals), sums over pieces, and everything in the head.  Each row's a is off by about
   6e-8 |L^-1| |k|, and so is its share of the bound, times w/g: the model measures what that comes to (sparse_models.c). */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/simd.h"
#include "linalg/linalg.h"
#include "linalg/linalg_f32.h"
#include "model/sparse/sparse_parts.h"

/* ------------------------------------------------------------------------------------------ copies */

anygp_status sparse_f32_open(sparse *s, anygp_error *e)
{
    sparse_f32 *f = calloc(1, sizeof *f);
    if ((s->single = f)) {
        bool ok = inducing_f32_open(&f->u, s->M);
        f->V = mem_alloc(s->Mt * s->Mt, sizeof *f->V);
        f->m = mem_alloc(s->Mt * s->targets, sizeof *f->m);
        f->on = true;
        if (ok && f->V && f->m) return ANYGP_OK;
    }
    return fail_memory(e, "copies in float", 8.0 * (double)s->Mt * (double)s->Mt);
}

void sparse_f32_close(sparse *s)
{
    if (!s->single) return;
    inducing_f32_clear(&s->single->u);
    free(s->single->V), free(s->single->m);
    free(s->single);
    s->single = NULL;
}

void sparse_f32_prepare(const sparse *s) { inducing_f32_prepare(&s->single->u, &s->u); }

void sparse_f32_head(const sparse *s)
{
    la_round(s->Mt * s->Mt, s->V, s->single->V);
    la_round(s->Mt * s->targets, s->m, s->single->m);
}

/* ----------------------------------------------------------------------------------------- forward */

anygp_status sparse_features_f32(const sparse *s, const row_block *b, float *A, anygp_error *e)
{
    if (!inducing_f32_features(&s->single->u, &s->u, b->n, b->X, s->D, A, s->Mt, NULL))
        return fail_memory(e, "kernel tiles", 0);
    basis_rows_f32(s->mean, b->n, b->X, s->D, A + s->M, s->Mt);
    return ANYGP_OK;
}

anygp_status rows_features_f32(const sparse *s, const row_block *b, const rows_parts *r, anygp_error *e)
{
    float *A = in_float(r->A);
    TRY(sparse_features_f32(s, b, A, e));
    if (s->kept != KEPT_NOTHING) inducing_f32_residual(&s->u, b->n, b->X, s->D, A, s->Mt, r->d);
    return ANYGP_OK;
}

VECTORISED static void scale(int64_t n, float by, const float *from, float *to)
{
    SIMD for (int64_t i = 0; i < n; i++) to[i] = by * from[i];
}

void rows_scale_f32(const sparse *s, const rows_parts *r, int64_t j, double root)
{
    float *a = in_float(r->A) + j * s->Mt;
    scale(s->Mt, (float)root, a, a);
}

void rows_sums_f32(const sparse *s, const row_block *b, const rows_parts *r, double *work, double *stat)
{
    int64_t Mt = s->Mt;
    float *A = in_float(r->A), *S = in_float(work);
    la_gemm_lower_f32(LA_N, LA_T, Mt, b->n, 1, A, Mt, A, Mt, 0, S, Mt); /* a tenth faster than ssyrk on 256 rows */
    la_add_lower_mixed(Mt, S, Mt, stat_S(s, stat), Mt);
    for (int64_t t = 0; t < s->targets; t++)
        for (int64_t j = 0; j < b->n; j++) la_axpy_mixed(Mt, r->y[j + t * b->n], A + j * Mt, stat_b(s, stat) + t * Mt);
}

/* ----------------------------------------------------------------------------------------- reverse */

/* t = c t + d a, t += r m */
VECTORISED static void combine(int64_t n, float c, float *t, float d, const float *a)
{
    SIMD for (int64_t i = 0; i < n; i++) t[i] = c * t[i] + d * a[i];
}

VECTORISED static void add(int64_t n, float r, const float *m, float *t)
{
    SIMD for (int64_t i = 0; i < n; i++) t[i] += r * m[i];
}

/* Abar of row j in T, which has V a; returns the noise's adjoint, which for several targets the heads have. */
static double row_adjoint(const sparse *s, const row_block *b, const rows_parts *r, int64_t j, float *t, double *dbar)
{
    const float *a = in_float(r->A) + j * s->Mt;
    double root = sqrt(b->w[j] / r->g[j]), noise = 0, rest = r->y[j] - la_dot_mixed(s->Mt, a, s->m);
    if (s->targets > 1)
        dbar[j] = -0.5 * s->many.shares * b->w[j] / r->g[j];
    else
        noise = rows_gbar(s, b, r, j, la_dot_f32(s->Mt, a, t), rest, dbar);
    combine(s->M, (float)-root, t, s->kept == KEPT_DIAGONAL ? (float)(-2 * dbar[j] / root) : 0, a);
    for (int64_t k = 0; k < s->targets; k++) {
        if (k > 0) rest = r->y[j + k * b->n] - la_dot_mixed(s->Mt, a, s->m + k * s->Mt);
        add(s->M, (float)(root * sparse_share_of(s, k) * rest), s->single->m + k * s->Mt, t);
    }
    return noise;
}

/* C -= 2 sum dbar a a', as rows_outer in sparse_reverse.c has it. */
static void rows_outer_f32(const sparse *s, const row_block *b, const rows_parts *r, const double *dbar, float *U,
                           float *sum, double *C)
{
    int64_t n = b->n, M = s->M, front = 0, back = n;
    for (int64_t j = 0; j < n; j++) {
        float *u = U + (dbar[j] < 0 ? front++ : --back) * M;
        scale(M, (float)sqrt(2 * fabs(dbar[j]) * r->g[j] / b->w[j]), in_float(r->A) + j * s->Mt, u);
    }
    la_syrk_f32(LA_N, M, front, 1, U, M, 0, sum, M);
    la_syrk_f32(LA_N, M, n - front, -1, U + front * M, M, 1, sum, M);
    la_add_lower_mixed(M, sum, M, C, M);
}

anygp_status rows_reverse_f32(const sparse *s, const row_block *b, const rows_parts *r, double *T, double *dbar,
                              double *U, double *work, const adjoint_parts *a, anygp_error *e)
{
    int64_t Mt = s->Mt, n = b->n;
    float *t = in_float(T);
    inducing_grad g = hyper_grad(s->h, a->gp, a->variables);
    la_gemm_f32(LA_N, LA_N, Mt, n, Mt, 1, s->single->V, Mt, in_float(r->A), Mt, 0, t, Mt);
    for (int64_t j = 0; j < n; j++) *a->noise += row_adjoint(s, b, r, j, t + j * Mt, dbar);
    if (sparse_has_C(s)) rows_outer_f32(s, b, r, dbar, in_float(U), in_float(work), a->C);
    bool ok = inducing_f32_reverse(&s->single->u, &s->u, n, b->X, s->D, t, Mt, true,
                                   s->kept == KEPT_DIAGONAL ? dbar : NULL, g);
    return ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}
