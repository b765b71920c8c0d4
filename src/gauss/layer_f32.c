/* The rows of a layer in float (layer_f32.h); equations in layer.h, names as in layer_rows.c. */
#include "gauss/layer_f32.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gauss/orthogonal.h"
#include "linalg/linalg_f32.h"

/* ------------------------------------------------------------------------------------------ copies */

bool layer_f32_fits(const layer *l) { return inducing_f32_fits(&l->u) && !l->q[0].R; }

static bool open_by_V(const layer *l, layer_f32 *s)
{
    int64_t square = l->Mt * l->Mt;
    s->V = mem_alloc(square, sizeof *s->V), s->G = mem_alloc(la_strips_size_f32(false, l->Mt), sizeof *s->G);
    s->S = mem_alloc(square, sizeof *s->S), s->E = mem_alloc(l->M * l->M, sizeof *s->E);
    s->w = mem_alloc(l->M, sizeof *s->w);
    return s->V && s->G && s->S && s->E && s->w;
}

bool layer_f32_open(layer *l)
{
    int64_t count = l->C * l->K;
    layer_f32 *s = calloc(1, sizeof *s);
    if (!(l->single = s)) return false;
    bool ok = inducing_f32_open(&s->u, l->M);
    s->F = mem_zeroed(count, sizeof *s->F), s->TF = mem_zeroed(count, sizeof *s->TF);
    ok = ok && s->F && s->TF && (count > 1 || open_by_V(l, s));
    for (int64_t i = 0; ok && i < count; i++) {
        int64_t M = l->q[i].M;
        s->F[i] = mem_alloc(M * M, sizeof(float)), s->TF[i] = mem_alloc(la_trsm_size(M), sizeof(float));
        ok = s->F[i] && s->TF[i];
    }
    return ok;
}

void layer_f32_close(layer *l)
{
    layer_f32 *s = l->single;
    if (!s) return;
    for (int64_t i = 0; s->F && s->TF && i < l->C * l->K; i++) free(s->F[i]), free(s->TF[i]);
    inducing_f32_clear(&s->u);
    free(s->F), free(s->TF), free(s->V), free(s->G), free(s->S), free(s->E), free(s->w);
    free(s);
    l->single = NULL;
}

/* V, G and w. */
static void prepare_by_V(const layer *l)
{
    const layer_f32 *s = l->single;
    int64_t M = l->M, Mt = l->Mt, p = l->p;
    la_round(Mt * Mt, l->q->V, s->V);
    memcpy(s->S, s->V, (size_t)(Mt * Mt) * sizeof *s->S);
    for (int64_t i = p; i < Mt; i++) s->S[i + i * Mt] = (float)(l->q->V[i + i * Mt] - 1);
    la_trsm_prepared_f32(LA_LEFT, LA_T, M, Mt, s->u.L, M, s->u.T, s->S + p, Mt);
    la_strips_prepare_f32(false, Mt, s->S, Mt, s->G);
    memcpy(s->w, l->m + p, (size_t)M * sizeof *s->w);
    la_trsv(LA_T, M, l->u.L, M, s->w);
}

void layer_f32_prepare(layer *l, bool factors)
{
    layer_f32 *s = l->single;
    inducing_f32_prepare(&s->u, &l->u);
    s->by_V = l->by_V && l->q->V && !factors;
    if (s->by_V) {
        prepare_by_V(l);
        return;
    }
    for (int64_t i = 0; i < l->C * l->K; i++) {
        const gauss *q = &l->q[i];
        la_round(q->M * q->M, q->F, s->F[i]);
        la_round(la_trsm_size(q->M), q->T, s->TF[i]);
    }
}

/* ---------------------------------------------------------------------------------------- workspace */

int64_t layer_f32_work(const layer *l) { return l->single ? (l->Mt * l->Mt + la_strips_work_f32(l->Mt) + 1) / 2 : 0; }

typedef struct pieces_f32 {
    float *A, *U, *Abar; /* as layer_pieces has them, in the same places */
    float *S;            /* Mt x Mt: sums over the rows of the piece */
    float *work;         /* of products with G */
} pieces_f32;

static pieces_f32 place(const layer *l, int64_t n, const layer_pieces *p)
{
    float *S = (float *)(void *)(p->G + l->O * n);
    return (pieces_f32){(float *)(void *)p->A, (float *)(void *)p->U, (float *)(void *)p->Abar, S, S + l->Mt * l->Mt};
}

/* ------------------------------------------------------------------------------------------ forward */

/* by_V: K_uf stays beside A, and the residuals are not needed. */
static bool features(const layer *l, int64_t n, const double *X, const layer_pieces *p, const pieces_f32 *f)
{
    float *A = f->A + l->p;
    bool by_V = l->single->by_V;
    if (!inducing_f32_features(&l->single->u, &l->u, n, X, l->D, A, l->Mt, by_V ? f->Abar : NULL)) return false;
    basis_rows_f32(l->mean, n, X, l->D, f->A, l->Mt);
    if (by_V) return true;
    inducing_f32_residual(&l->u, n, X, l->D, A, l->Mt, p->rest);
    for (int64_t j = 0; j < n && l->noisy; j++) p->rest[j] += l->white;
    return true;
}

static void variances(const layer *l, int64_t c, int64_t n, const layer_pieces *p, const pieces_f32 *f)
{
    int64_t Mt = l->Mt;
    float *U = f->U + c * Mt * n;
    memcpy(U, f->A, (size_t)(Mt * n) * sizeof *U);
    for (int64_t k = 0; k < l->K; k++) {
        const layer_f32 *s = l->single;
        int64_t i = c * l->K + k, M = l->q[i].M;
        la_trsm_prepared_f32(LA_LEFT, LA_N, M, n, s->F[i], M, s->TF[i], U + l->set[k], Mt);
    }
    for (int64_t j = 0; j < n; j++) p->var[c * n + j] = p->rest[j] + la_dot_f32(Mt, U + j * Mt, U + j * Mt);
}

/* K = K_uf, which stands where Abar will: U = G A, var = k_ii + h'u_h + k'u_u. */
static void variances_by_V(const layer *l, int64_t n, const double *X, const layer_pieces *p, const pieces_f32 *f)
{
    int64_t M = l->M, Mt = l->Mt;
    la_strips_product_f32(false, Mt, l->single->G, n, f->A, Mt, f->work, f->U, Mt);
    kernel_diag(l->u.kernel, n, X, l->D, p->var);
    for (int64_t j = 0; j < n; j++) {
        const float *u = f->U + j * Mt;
        double f_part =
            fmax(p->var[j] + la_dot_f32(l->p, f->A + j * Mt, u) + la_dot_f32(M, f->Abar + j * M, u + l->p), 0);
        p->var[j] = f_part + (l->noisy ? l->white : 0);
    }
}

static anygp_status no_tiles(anygp_error *e) { return fail_memory(e, "kernel tiles", 0); }

anygp_status layer_forward_f32(const layer *l, int64_t n, const double *X, const layer_pieces *p, anygp_error *e)
{
    pieces_f32 f = place(l, n, p);
    if (!features(l, n, X, p, &f)) return no_tiles(e);
    for (int64_t c = 0; c < l->C; c++)
        for (int64_t j = 0; j < n; j++) p->mu[c * n + j] = la_dot_mixed(l->Mt, f.A + j * l->Mt, l->mean_m + c * l->Mt);
    if (l->O && !orthogonal_forward(l, n, X, p->G, p->mu)) return no_tiles(e);
    if (l->single->by_V)
        variances_by_V(l, n, X, p, &f);
    else
        for (int64_t c = 0; c < l->C; c++) variances(l, c, n, p, &f);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------ reverse */

/* S += -2 A diag(d) A': columns of one sign come after those of the other. */
static void curvature(const layer *l, int64_t c, int64_t n, const layer_pieces *p, const pieces_f32 *f, double *S)
{
    int64_t Mt = l->Mt, front = 0, back = n;
    float *U = f->U + c * Mt * n;
    const double *d = p->dvar + c * n;
    for (int64_t j = 0; j < n; j++) {
        float *u = U + (d[j] <= 0 ? front++ : --back) * Mt, root = (float)sqrt(2 * fabs(d[j]));
        const float *a = f->A + j * Mt;
        for (int64_t i = 0; i < Mt; i++) u[i] = root * a[i];
    }
    for (int64_t k = 0; k < l->K; k++) {
        int64_t M = l->set[k + 1] - l->set[k];
        la_syrk_f32(LA_N, M, front, 1, U + l->set[k], Mt, 0, f->S, M);
        if (front < n) la_syrk_f32(LA_N, M, n - front, -1, U + front * Mt + l->set[k], Mt, 1, f->S, M);
        la_add_lower_mixed(M, f->S, M, S, M);
        S += M * M;
    }
}

/* Abar += 2 V A diag(d) of one function; U becomes V A. */
static void spread(const layer *l, int64_t c, int64_t n, const layer_pieces *p, const pieces_f32 *f)
{
    float *U = f->U + c * l->Mt * n;
    for (int64_t k = 0; k < l->K; k++) {
        int64_t i = c * l->K + k, M = l->q[i].M;
        la_trsm_prepared_f32(LA_LEFT, LA_T, M, n, l->single->F[i], M, l->single->TF[i], U + l->set[k], l->Mt);
    }
    for (int64_t j = 0; j < n; j++) {
        float twice = (float)(2 * p->dvar[c * n + j]), *to = f->Abar + j * l->M;
        const float *u = U + l->p + j * l->Mt;
        for (int64_t i = 0; i < l->M; i++) to[i] += twice * u[i];
    }
}

/* Abar = m g' - 2 A diag(sum_c d_c), to begin with. */
static void begin_adjoint(const layer *l, int64_t n, const layer_pieces *p, const pieces_f32 *f)
{
    for (int64_t j = 0; j < n; j++) {
        float *to = f->Abar + j * l->M, twice = (float)(-2 * p->rest[j]);
        const float *a = f->A + l->p + j * l->Mt;
        for (int64_t i = 0; i < l->M; i++) to[i] = twice * a[i];
        for (int64_t c = 0; c < l->C; c++) {
            const double *m = l->mean_m + l->p + c * l->Mt;
            float g = (float)p->dmu[c * n + j];
            for (int64_t i = 0; i < l->M; i++) to[i] += g * (float)m[i];
        }
    }
}

/* K_uf bar in place of Abar. */
static void covariance_adjoint(const layer *l, int64_t n, const layer_pieces *p, const pieces_f32 *f)
{
    const double *w = l->single->w;
    for (int64_t j = 0; j < n; j++) {
        float *to = f->Abar + j * l->M, twice = (float)(2 * p->dvar[j]), g = (float)p->dmu[j];
        const float *u = f->U + l->p + j * l->Mt;
        for (int64_t i = 0; i < l->M; i++) to[i] = g * (float)w[i] + twice * u[i];
    }
}

static bool adjoints(const layer *l, int64_t n, const double *X, const layer_pieces *p, const pieces_f32 *f,
                     const layer_stat *stat, double *Xbar)
{
    int64_t M = l->M;
    inducing_grad g = layer_grad(l, stat);
    memset(p->rest, 0, (size_t)n * sizeof(double));
    for (int64_t c = 0; c < l->C; c++) la_axpy(n, 1, p->dvar + c * n, p->rest);
    if (l->by_V)
        covariance_adjoint(l, n, p, f);
    else
        begin_adjoint(l, n, p, f);
    for (int64_t c = 0; c < l->C && !l->by_V; c++) spread(l, c, n, p, f);
    for (int64_t j = 0; j < n && l->noisy; j++) *stat->white += p->rest[j];
    if (!l->by_V) {
        la_gemm_lower_f32(LA_N, LA_T, M, n, 1, f->Abar, M, f->A + l->p, l->Mt, 0, f->S, M);
        la_add_lower_mixed(M, f->S, M, stat->E, M);
    }
    g.X = Xbar;
    return inducing_f32_reverse(&l->single->u, &l->u, n, X, l->D, f->Abar, M, !l->by_V, p->rest, g);
}

anygp_status layer_reverse_f32(const layer *l, int64_t n, const double *X, const layer_pieces *p,
                               const layer_stat *stat, double *Xbar, anygp_error *e)
{
    pieces_f32 f = place(l, n, p);
    double *S = stat->S;
    for (int64_t c = 0; c < l->C; c++)
        for (int64_t j = 0; j < n; j++) la_axpy_mixed(l->Mt, p->dmu[c * n + j], f.A + j * l->Mt, stat->b + c * l->Mt);
    if (l->O && !orthogonal_reverse(l, n, X, p->G, p->dmu, stat)) return no_tiles(e);
    if (l->learn && !adjoints(l, n, X, p, &f, stat, Xbar)) return no_tiles(e);
    for (int64_t c = 0; c < l->C; c++) {
        curvature(l, c, n, p, &f, S);
        for (int64_t k = 0; k < l->K; k++) S += (l->set[k + 1] - l->set[k]) * (l->set[k + 1] - l->set[k]);
    }
    return ANYGP_OK;
}

/* -------------------------------------------------------------------------------- the adjoint of L */

void layer_E_f32(const layer *l, layer_stat *stat)
{
    const layer_f32 *s = l->single;
    int64_t M = l->M, Mt = l->Mt, p = l->p;
    const double *m = l->m + p, *b = stat->b + p;
    la_round_lower(Mt, stat->S, Mt, s->S, Mt);
    la_mirror_f32(Mt, s->S, Mt);
    la_gemm_lower_f32(LA_N, LA_N, M, Mt, -1, s->V + p, Mt, s->S + p * Mt, Mt, 0, s->E, M);
    for (int64_t j = 0; j < M; j++) {
        const double *of_S = stat->S + p + (p + j) * Mt;
        double *E = stat->E + j * M;
        for (int64_t i = j; i < M; i++) E[i] = m[i] * b[j] + of_S[i] + (double)s->E[i + j * M];
    }
}
