#include "model/condensed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

/* PANEL rows of R meet all rows of the batch in one product; EDGE keeps I - S definite where q has learned nothing, and is
   what the variance can lose by it, relative to the prior's. */
enum { PANEL = 128 };
static const double EDGE = 1e-13;

typedef struct condensed {
    posterior base;
    int64_t M, All, p, C; /* inducing inputs; with those of the mean alone; basis functions; latents */
    double *Z;            /* D x All */
    double *w, *m_h;      /* All x C, p x C */
    double *R;            /* M x M for each latent, zeros above */
    double *N, *F_h;      /* p x M and p x p for each latent */
} condensed;

static void condensed_free(posterior *base)
{
    condensed *c = (condensed *)base;
    if (!c) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    double *const owned[] = {c->Z, c->w, c->m_h, c->R, c->N, c->F_h};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(c);
}

/* ---------------------------------------------------------------------------------- predictions */

/* K_uf with the places, a panel of R K or N K, and the basis functions. */
static int64_t work_doubles(const posterior *base, int64_t n)
{
    const condensed *c = (const condensed *)base;
    return n * (c->All + PANEL + 2 * c->p);
}

/* |R k|^2 of each row, taken off its variance.  The corner of a panel has zeros above its diagonal. */
static void take_explained(const condensed *c, int64_t latent, int64_t n, const double *K, double *panel,
                           double *variance)
{
    const double *R = c->R + latent * c->M * c->M;
    for (int64_t i = 0; i < c->M; i += PANEL) {
        int64_t rows = c->M - i < PANEL ? c->M - i : PANEL;
        la_gemm(LA_N, LA_N, rows, n, i + rows, 1, R + i, c->M, K, c->All, 0, panel, rows);
        for (int64_t j = 0; j < n; j++) variance[j] -= la_dot(rows, panel + j * rows, panel + j * rows);
    }
}

/* |F_h^-1 h - N k|^2 added; room: p x n. */
static void add_of_basis(const condensed *c, int64_t latent, int64_t n, const double *K, const double *H, double *room,
                         double *variance)
{
    int64_t p = c->p;
    memcpy(room, H, (size_t)(p * n) * sizeof *room);
    la_trsm(LA_LEFT, LA_N, p, n, 1, c->F_h + latent * p * p, p, room, p);
    la_gemm(LA_N, LA_N, p, n, c->M, -1, c->N + latent * p * c->M, p, K, c->All, 1, room, p);
    for (int64_t j = 0; j < n; j++) variance[j] += la_dot(p, room + j * p, room + j * p);
}

static anygp_status marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, anygp_error *e)
{
    const condensed *c = (const condensed *)base;
    int64_t p = c->p;
    double *K = work, *panel = K + n * c->All, *H = panel + n * PANEL, *room = H + n * p;
    if (!kernel_gram(base->kernel, c->All, c->Z, base->D, n, X, ldx, K, c->All))
        return fail_memory(e, "kernel tiles", 0);
    la_gemm(LA_T, LA_N, n, c->C, c->All, 1, K, c->All, c->w, c->All, 0, mean, n);
    if (p) {
        basis_fill(&base->mean, n, X, ldx, H, p, 1);
        la_scale(p * n, sqrt(base->mean.B), H);
        la_gemm(LA_T, LA_N, n, c->C, p, 1, H, p, c->m_h, p, 1, mean, n);
    }
    if (!variance) return ANYGP_OK;
    kernel_diag(base->kernel, n, X, ldx, variance);
    for (int64_t latent = c->C; latent-- > 0;) { /* the first one last: it holds what all begin with */
        double *v = variance + latent * n;
        if (latent) memcpy(v, variance, (size_t)n * sizeof *v);
        take_explained(c, latent, n, K, panel, v);
        for (int64_t j = 0; j < n; j++) v[j] = fmax(v[j], 0);
        if (p) add_of_basis(c, latent, n, K, H, room, v);
    }
    return ANYGP_OK;
}

static const posterior_ops condensed_ops = {.work_doubles = work_doubles, .marginal = marginal, .free = condensed_free};

/* ---------------------------------------------------------------------------------- from a posterior */

/* W, lower, zeros above, with W'W = I - (F F')^-1; F is used up.  Rows and columns of I - S are put in reverse order, and
   so are those of its factor G afterwards, transposed: W_ij = G_(M-1-j)(M-1-i). */
static bool unexplained_root(int64_t M, double *F, double *W)
{
    double *G = F;
    if (la_potri(M, F, M)) return false;
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = j; i < M; i++) W[i + j * M] = (i == j ? 1 + EDGE : 0) - F[i + j * M];
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = j; i < M; i++) G[M - 1 - j + (M - 1 - i) * M] = W[i + j * M];
    if (!la_factor(M, G, M)) return false;
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = 0; i < M; i++) W[i + j * M] = i < j ? 0 : G[M - 1 - j + (M - 1 - i) * M];
    return true;
}

/* N and F_h of a latent from the factor F, M_k x M_k, of the last set, whose inducing inputs begin at `first`. */
static bool basis_rows(condensed *c, int64_t latent, int64_t first, int64_t Mk, const double *F, const double *Li)
{
    int64_t p = c->p, M = c->M, own = Mk - p;
    double *N = c->N + latent * p * M, *F_h = c->F_h + latent * p * p, *T = mem_doubles(p, own);
    if (!T) return false;
    for (int64_t j = 0; j < p; j++) memcpy(F_h + j * p, F + own + (own + j) * Mk, (size_t)p * sizeof *F_h);
    for (int64_t j = 0; j < own; j++) memcpy(T + j * p, F + own + j * Mk, (size_t)p * sizeof *T);
    la_trsm(LA_RIGHT, LA_N, p, own, 1, F, Mk, T, p);
    la_trsm(LA_LEFT, LA_N, p, own, 1, F_h, p, T, p);
    la_gemm(LA_N, LA_N, p, M, own, 1, T, p, Li + first, M, 0, N, p);
    free(T);
    return true;
}

/* Rows first .. of R = W L^-1, of the `own` inducing inputs of a set with the factor F. */
static bool explained_rows(condensed *c, int64_t latent, int64_t first, int64_t own, const double *F, int64_t ldf,
                           const double *Li)
{
    double *copy = mem_doubles(own, own), *W = mem_doubles(own, own);
    bool ok = copy && W;
    for (int64_t j = 0; ok && j < own; j++) memcpy(copy + j * own, F + j * ldf, (size_t)own * sizeof *copy);
    ok = ok && unexplained_root(own, copy, W);
    if (ok)
        la_gemm(LA_N, LA_N, own, first + own, own, 1, W, own, Li + first, c->M, 0, c->R + latent * c->M * c->M + first,
                c->M);
    free(copy);
    free(W);
    return ok;
}

static bool condense(condensed *c, const condensed_source *s, const double *Li)
{
    int64_t last = s->K - 1;
    for (int64_t latent = 0; latent < c->C; latent++)
        for (int64_t k = 0; k < s->K; k++) {
            int64_t first = s->set[k], Mk = s->set[k + 1] - first;
            const double *F = s->F[k] + latent * Mk * Mk;
            if (!explained_rows(c, latent, first, Mk - (k == last ? c->p : 0), F, Mk, Li)) return false;
            if (k == last && c->p && !basis_rows(c, latent, first, Mk, F, Li)) return false;
        }
    return true;
}

/* w = L^-T m_u above a, and m_h. */
static void weights(condensed *c, const condensed_source *s, const double *Li)
{
    int64_t M = c->M, Mt = M + c->p;
    la_gemm(LA_T, LA_N, M, c->C, M, 1, Li, M, s->m, Mt, 0, c->w, c->All);
    for (int64_t k = 0; k < c->C; k++) {
        if (s->O) memcpy(c->w + M + k * c->All, s->a + k * s->O, (size_t)s->O * sizeof(double));
        if (c->p) memcpy(c->m_h + k * c->p, s->m + M + k * Mt, (size_t)c->p * sizeof(double));
    }
}

static bool allocate(condensed *c)
{
    int64_t p = c->p, M = c->M, C = c->C;
    c->Z = mem_doubles(c->base.D, c->All);
    c->w = mem_doubles(c->All, C);
    c->R = mem_zeroed(M * M * C, sizeof *c->R);
    c->m_h = mem_doubles(p, C);
    c->N = mem_doubles(p, M * C);
    c->F_h = mem_doubles(p, p * C);
    return c->Z && c->w && c->R && (!p || (c->m_h && c->N && c->F_h));
}

posterior *condensed_new(const condensed_source *s)
{
    const posterior *of = s->of;
    int64_t C = of->latents ? of->latents : 1, D = of->D;
    condensed *c = calloc(1, sizeof *c);
    double *Li = mem_copied(s->M, s->M, s->L);
    if (!c || !Li) goto none;
    c->base = (posterior){.ops = &condensed_ops, .noise = of->noise, .D = D, .n = of->n, .latents = of->latents};
    c->M = s->M, c->All = s->M + s->O, c->p = of->mean.p, c->C = C;
    c->base.kernel = kernel_copy(of->kernel);
    if (!c->base.kernel || ANYGP_FAILED(basis_copy(&of->mean, &c->base.mean, NULL)) || !allocate(c)) goto none;
    memcpy(c->Z, s->Z, (size_t)(s->M * D) * sizeof *c->Z);
    if (s->O) memcpy(c->Z + s->M * D, s->places, (size_t)(s->O * D) * sizeof *c->Z);
    la_zero_upper(s->M, Li, s->M);
    if (la_trtri(s->M, Li, s->M) || !condense(c, s, Li)) goto none;
    weights(c, s, Li);
    free(Li);
    return &c->base;
none:
    free(Li);
    condensed_free((posterior *)c);
    return NULL;
}
