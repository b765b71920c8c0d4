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

bool layer_f32_open(layer *l)
{
    int64_t count = l->C * l->K;
    layer_f32 *s = calloc(1, sizeof *s);
    if (!(l->single = s)) return false;
    bool ok = inducing_f32_open(&s->u, l->M);
    s->F = mem_zeroed(count, sizeof *s->F), s->TF = mem_zeroed(count, sizeof *s->TF);
    if (count == 1) s->V = mem_alloc(l->Mt * l->Mt, sizeof *s->V);
    ok = ok && s->F && s->TF && (s->V || count > 1);
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
    free(s->F), free(s->TF), free(s->V);
    free(s);
    l->single = NULL;
}

void layer_f32_prepare(layer *l)
{
    const layer_f32 *s = l->single;
    inducing_f32_prepare(&s->u, &l->u);
    for (int64_t i = 0; i < l->C * l->K; i++) {
        const gauss *q = &l->q[i];
        la_round(q->M * q->M, q->F, s->F[i]);
        la_round(la_trsm_size(q->M), q->T, s->TF[i]);
    }
    if (l->by_V && l->q->V) la_round(l->Mt * l->Mt, l->q->V, s->V);
}

/* ---------------------------------------------------------------------------------------- workspace */

int64_t layer_f32_work(const layer *l) { return l->single ? (l->Mt * l->Mt + 1) / 2 : 0; }

typedef struct pieces_f32 {
    float *A, *U, *Abar; /* as layer_pieces has them, in the same places */
    float *S;            /* Mt x Mt: sums over the rows of the piece */
} pieces_f32;

static pieces_f32 place(const layer *l, int64_t n, const layer_pieces *p)
{
    return (pieces_f32){(float *)(void *)p->A, (float *)(void *)p->U, (float *)(void *)p->Abar,
                        (float *)(void *)(p->G + l->O * n)};
}

/* ------------------------------------------------------------------------------------------ forward */

static bool features(const layer *l, int64_t n, const double *X, const layer_pieces *p, const pieces_f32 *f)
{
    float *A = f->A + l->p;
    if (!inducing_f32_features(&l->single->u, &l->u, n, X, l->D, A, l->Mt)) return false;
    basis_rows_f32(l->mean, n, X, l->D, f->A, l->Mt);
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

static void variances_by_V(const layer *l, int64_t n, const layer_pieces *p, const pieces_f32 *f)
{
    int64_t Mt = l->Mt;
    la_gemm_f32(LA_N, LA_N, Mt, n, Mt, 1, l->single->V, Mt, f->A, Mt, 0, f->U, Mt);
    for (int64_t j = 0; j < n; j++) p->var[j] = p->rest[j] + fmax(la_dot_f32(Mt, f->A + j * Mt, f->U + j * Mt), 0);
}

static anygp_status no_tiles(anygp_error *e) { return fail_memory(e, "kernel tiles", 0); }

anygp_status layer_forward_f32(const layer *l, int64_t n, const double *X, const layer_pieces *p, bool value_only,
                               anygp_error *e)
{
    pieces_f32 f = place(l, n, p);
    if (!features(l, n, X, p, &f)) return no_tiles(e);
    for (int64_t c = 0; c < l->C; c++)
        for (int64_t j = 0; j < n; j++) p->mu[c * n + j] = la_dot_mixed(l->Mt, f.A + j * l->Mt, l->mean_m + c * l->Mt);
    if (l->O && !orthogonal_forward(l, n, X, p->G, p->mu)) return no_tiles(e);
    if (l->by_V && !value_only)
        variances_by_V(l, n, p, &f);
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
    for (int64_t k = 0; k < l->K && !l->by_V; k++) {
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

static bool adjoints(const layer *l, int64_t n, const double *X, const layer_pieces *p, const pieces_f32 *f,
                     const layer_stat *stat, double *Xbar)
{
    int64_t M = l->M;
    inducing_grad g = layer_grad(l, stat);
    memset(p->rest, 0, (size_t)n * sizeof(double));
    for (int64_t c = 0; c < l->C; c++) la_axpy(n, 1, p->dvar + c * n, p->rest);
    begin_adjoint(l, n, p, f);
    for (int64_t c = 0; c < l->C; c++) spread(l, c, n, p, f);
    for (int64_t j = 0; j < n && l->noisy; j++) *stat->white += p->rest[j];
    if (!l->by_V) {
        la_gemm_lower_f32(LA_N, LA_T, M, n, 1, f->Abar, M, f->A + l->p, l->Mt, 0, f->S, M);
        la_add_lower_mixed(M, f->S, M, stat->E, M);
    }
    g.X = Xbar;
    return inducing_f32_reverse(&l->single->u, &l->u, n, X, l->D, f->Abar, M, p->rest, g);
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
