/* Posteriors prepared for many rows (condensed.h). */
#include "model/condensed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"

/* Rows of the batch are shared out to threads by SLICE; EDGE keeps I - V_uu definite where q has learned nothing, and is
   the most that the variance can lose by it, relative to the prior's. */
enum { SLICE = 256 };
static const double EDGE = 1e-13;

typedef struct condensed {
    posterior base;
    int64_t M, All, p, C; /* inducing inputs; with those for the mean only; basis functions; latents */
    inducing_set u;       /* All of them */
    double *w, *m_h;      /* All x C, p x C */
    int64_t size;         /* of la_strips_prepare(R) */
    double *R;            /* that for each latent; NULL, as what follows: for the mean alone */
    double *N, *V_h;      /* M x p and p x p for each latent */
} condensed;

static void condensed_free(posterior *base)
{
    condensed *c = (condensed *)base;
    if (!c) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    inducing_clear(&c->u);
    double *const owned[] = {c->w, c->m_h, c->R, c->N, c->V_h};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(c);
}

/* ---------------------------------------------------------------------------------- predictions */

static int64_t slices(int64_t n) { return (n + SLICE - 1) / SLICE; }

/* K_uf with the places, the basis functions and N K, and what norms need. */
static int64_t work_doubles(const posterior *base, int64_t n)
{
    const condensed *c = (const condensed *)base;
    return n * (c->All + 2 * c->p) + slices(n) * (la_strips_work(c->M) + SLICE);
}

/* |R k|^2 of each of n rows, taken off its variance; a slice at a time, so that threads wait for each other only once. */
static void take_explained(const condensed *c, int64_t latent, int64_t n, const double *K, double *work,
                           double *variance)
{
    const double *R = c->R + latent * c->size;
    int64_t room = la_strips_work(c->M) + SLICE;
    int threads = n > SLICE ? threads_for((double)c->M * (double)c->M * (double)n) : 1;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic, 1)
    for (int64_t s = 0; s < slices(n); s++) {
        int64_t j = s * SLICE, rows = n - j < SLICE ? n - j : SLICE;
        double *norm = work + s * room;
        la_strips_norms(true, c->M, R, rows, K + j * c->All, c->All, norm + SLICE, norm);
        la_axpy(rows, -1, norm, variance + j);
    }
}

/* 2 k'N h + h'V_hh h of each row; room: p x n. */
static void add_of_basis(const condensed *c, int64_t latent, int64_t n, const double *K, const double *H, double *room,
                         double *variance)
{
    int64_t p = c->p;
    la_gemm(LA_T, LA_N, p, n, c->M, 2, c->N + latent * p * c->M, c->M, K, c->All, 0, room, p);
    la_gemm(LA_N, LA_N, p, n, p, 1, c->V_h + latent * p * p, p, H, p, 1, room, p);
    for (int64_t j = 0; j < n; j++) variance[j] += la_dot(p, room + j * p, H + j * p);
}

static anygp_status marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, anygp_error *e)
{
    const condensed *c = (const condensed *)base;
    int64_t p = c->p;
    double *K = work, *H = K + n * c->All, *room = H + n * p, *slice = room + n * p;
    if (!c->u.ops->cross(&c->u, n, X, ldx, K, c->All)) return fail_memory(e, "kernel tiles", 0);
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
        take_explained(c, latent, n, K, slice, v);
        if (p) add_of_basis(c, latent, n, K, H, room, v);
        for (int64_t j = 0; j < n; j++) v[j] = fmax(v[j], 0);
    }
    return ANYGP_OK;
}

static const posterior_ops condensed_ops = {.work_doubles = work_doubles, .marginal = marginal, .free = condensed_free};

/* ---------------------------------------------------------------------------------- from a posterior */

/* W, lower, zeros above, with W'W = I - V of the `own` inducing inputs whose covariance, lower triangle, begins at V; G[own,own]
   is workspace.  Rows and columns of I - V are put in reverse order, and so are those of its factor G afterwards, transposed:
   W_ij = G_(own-1-j)(own-1-i). */
static bool unexplained_root(int64_t own, const double *V, int64_t ldv, double *G, double *W)
{
    for (int64_t j = 0; j < own; j++)
        for (int64_t i = j; i < own; i++)
            G[own - 1 - j + (own - 1 - i) * own] = (i == j ? 1 + EDGE : 0) - V[i + j * ldv];
    if (!la_factor(own, G, own)) return false;
    for (int64_t j = 0; j < own; j++)
        for (int64_t i = 0; i < own; i++) W[i + j * own] = i < j ? 0 : G[own - 1 - j + (own - 1 - i) * own];
    return true;
}

/* Where a set's inducing inputs and its basis functions begin, of v and of the set. */
typedef struct place {
    int64_t size, own, first; /* of the set, of its inducing inputs, and the first of these among all */
    int64_t u, h;             /* within the set; h < 0: it has no basis functions */
} place;

static place place_of(const condensed_source *s, int64_t k, int64_t p)
{
    int64_t before = s->basis_first ? p : 0, last = s->K - 1;
    bool has = p > 0 && k == (s->basis_first ? 0 : last);
    place a = {.size = s->set[k + 1] - s->set[k], .first = k == 0 ? 0 : s->set[k] - before, .h = -1};
    a.own = a.size - (has ? p : 0);
    if (has) a.u = before, a.h = s->basis_first ? 0 : a.own;
    return a;
}

/* N = L^-T V_uh and V_hh; both triangles of V are there. */
static void basis_of(condensed *c, int64_t latent, const place *a, const double *V, const double *Li)
{
    int64_t p = c->p, M = c->M;
    double *V_h = c->V_h + latent * p * p;
    la_gemm(LA_T, LA_N, M, p, a->own, 1, Li + a->first, M, V + a->u + a->h * a->size, a->size, 0, c->N + latent * p * M,
            M);
    for (int64_t j = 0; j < p; j++) memcpy(V_h + j * p, V + a->h + (a->h + j) * a->size, (size_t)p * sizeof *V_h);
}

/* What the set adds to R[M,M], and to N and V_h, from its factor F. */
static bool condense_set(condensed *c, int64_t latent, const place *a, const double *F, const double *Li, double *R)
{
    int64_t M = c->M, own = a->own;
    double *V = mem_copied(a->size, a->size, F), *G = mem_doubles(own, own), *W = mem_doubles(own, own);
    bool ok = V && G && W && la_potri(a->size, V, a->size) == 0;
    ok = ok && unexplained_root(own, V + a->u * (a->size + 1), a->size, G, W);
    if (ok) la_gemm(LA_N, LA_N, own, a->first + own, own, 1, W, own, Li + a->first, M, 0, R + a->first, M);
    if (ok && a->h >= 0) {
        la_mirror(a->size, V, a->size);
        basis_of(c, latent, a, V, Li);
    }
    free(V);
    free(G);
    free(W);
    return ok;
}

static bool condense(condensed *c, const condensed_source *s, const double *Li)
{
    double *R = mem_zeroed(c->M * c->M, sizeof *R);
    bool ok = R != NULL;
    for (int64_t latent = 0; ok && latent < c->C; latent++) {
        for (int64_t k = 0; ok && k < s->K; k++) {
            place a = place_of(s, k, c->p);
            ok = condense_set(c, latent, &a, s->F[k] + latent * a.size * a.size, Li, R);
        }
        if (ok) la_strips_prepare(true, c->M, R, c->M, c->R + latent * c->size);
    }
    free(R);
    return ok;
}

/* Of w: a; and m_h. */
static void weights_beside(condensed *c, const condensed_source *s)
{
    int64_t M = c->M, Mt = M + c->p, h = s->basis_first ? 0 : M;
    for (int64_t k = 0; k < c->C; k++) {
        if (s->o) memcpy(c->w + M + k * c->All, s->a + k * s->o->M, (size_t)s->o->M * sizeof(double));
        if (c->p) memcpy(c->m_h + k * c->p, s->m + h + k * Mt, (size_t)c->p * sizeof(double));
    }
}

/* w = L^-T m_u above a, from L^-1, or by solves. */
static void weights(condensed *c, const condensed_source *s, const double *Li)
{
    int64_t M = c->M, Mt = M + c->p;
    la_gemm(LA_T, LA_N, M, c->C, M, 1, Li, M, s->m + (s->basis_first ? c->p : 0), Mt, 0, c->w, c->All);
    weights_beside(c, s);
}

static void solve_weights(condensed *c, const condensed_source *s)
{
    int64_t M = c->M, Mt = M + c->p;
    for (int64_t k = 0; k < c->C; k++) {
        double *w = c->w + k * c->All;
        memcpy(w, s->m + (s->basis_first ? c->p : 0) + k * Mt, (size_t)M * sizeof *w);
        la_trsv(LA_T, M, s->u->L, M, w);
    }
    weights_beside(c, s);
}

static bool allocate(condensed *c, bool variances)
{
    int64_t p = c->p, M = c->M, C = c->C;
    c->w = mem_doubles(c->All, C);
    c->m_h = mem_doubles(p, C);
    if (!variances) return c->w && (!p || c->m_h);
    c->size = la_strips_size(true, M);
    c->R = mem_doubles(c->size, C);
    c->N = mem_doubles(p, M * C);
    c->V_h = mem_doubles(p, p * C);
    return c->w && c->R && (!p || (c->m_h && c->N && c->V_h));
}

/* All but the numbers; NULL: there is no memory, or no K_uf. */
static condensed *begin(const condensed_source *s, bool variances)
{
    const posterior *of = s->of;
    condensed *c = s->u->ops->cross ? calloc(1, sizeof *c) : NULL;
    if (!c) return NULL;
    c->base = (posterior){.ops = &condensed_ops, .noise = of->noise, .D = of->D, .n = of->n, .latents = of->latents};
    c->M = s->M, c->All = s->M + (s->o ? s->o->M : 0), c->p = of->mean.p, c->C = of->latents ? of->latents : 1;
    c->base.kernel = kernel_copy(of->kernel);
    bool ok = c->base.kernel && !ANYGP_FAILED(basis_copy(&of->mean, &c->base.mean, NULL)) && allocate(c, variances);
    if (ok && !ANYGP_FAILED(inducing_join(s->u, s->o, c->base.kernel, &c->u, NULL))) return c;
    condensed_free(&c->base);
    return NULL;
}

posterior *condensed_mean_new(const condensed_source *s)
{
    condensed *c = begin(s, false);
    if (c) solve_weights(c, s);
    return (posterior *)c;
}

posterior *condensed_new(const condensed_source *s)
{
    condensed *c = begin(s, true);
    double *Li = c ? mem_copied(s->M, s->M, s->u->L) : NULL;
    if (Li) la_zero_upper(s->M, Li, s->M);
    bool ok = Li && la_trtri(s->M, Li, s->M) == 0 && condense(c, s, Li);
    if (ok) weights(c, s, Li);
    free(Li);
    if (!ok) condensed_free((posterior *)c), c = NULL;
    return (posterior *)c;
}
