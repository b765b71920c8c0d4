/* Messages along the tree and their reverse; equations in tree.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/local/tree.h"

static tree_group *parent_of(const tree_groups *t, const tree_group *g)
{
    return g->parent < 0 ? NULL : &t->at[g->parent];
}

static void set_identity(int64_t n, double *A)
{
    memset(A, 0, (size_t)(n * n) * sizeof *A);
    for (int64_t i = 0; i < n; i++) A[i + i * n] = 1;
}

/* ------------------------------------------------------------------------------------------- prepare */

/* C = L_k^-1 K_kp L_p^-T, and R. */
static bool join(const tree_groups *t, tree_group *g)
{
    const tree_group *up = parent_of(t, g);
    int64_t m = g->m;
    set_identity(m, g->R);
    if (!up) return true;
    if (!g->s.u.ops->pair(&g->s.u, up->s.u.set, g->C, m)) return false;
    la_trsm(LA_LEFT, LA_N, m, up->m, 1, g->s.u.L, m, g->C, m);
    la_trsm(LA_RIGHT, LA_T, m, up->m, 1, up->s.u.L, up->m, g->C, m);
    la_syrk(LA_N, m, up->m, -1, g->C, m, 1, g->R, m);
    if (!la_factor(m, g->R, m)) return false;
    la_zero_upper(m, g->R, m);
    return true;
}

bool tree_prepare(tree_groups *t, const hyper *h, double jitter)
{
    for (int64_t k = 0; k < t->count; k++) {
        tree_group *g = &t->at[k];
        double *Z = g->h.Z, j = jitter;
        g->h = *h, g->h.M = g->m, g->h.Z = Z;
        for (int64_t i = 0; i < g->m; i++) memcpy(Z + i * h->D, h->Z + g->member[i] * h->D, (size_t)h->D * sizeof *Z);
        if (!sparse_prepare(&g->s, &g->h, false, &j)) return false;
    }
    return tree_join(t);
}

bool tree_join(tree_groups *t)
{
    for (int64_t i = 0; i < t->count; i++)
        if (!join(t, &t->at[t->order[i]])) return false;
    return true;
}

/* ---------------------------------------------------------------------------------------------- up */

/* P = R F^-1 R', and log|F| - b'P b. */
static bool solve(const tree_groups *t, tree_group *g, double *value)
{
    int64_t m = g->m;
    double *F = t->work[0], *T = t->work[1];
    la_gemm(LA_N, LA_N, m, m, m, 1, g->S, m, g->R, m, 0, T, m);
    la_gemm(LA_T, LA_N, m, m, m, 1, g->R, m, T, m, 0, F, m);
    for (int64_t i = 0; i < m; i++) F[i + i * m] += 1;
    if (!la_factor(m, F, m)) return false;
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < m; i++) T[i + j * m] = g->R[j + i * m];
    la_trsm(LA_LEFT, LA_N, m, m, 1, F, m, T, m); /* F's factor^-1 R' */
    la_gemm(LA_T, LA_N, m, m, m, 1, T, m, T, m, 0, g->P, m);
    la_gemv(LA_N, m, m, 1, g->P, m, g->b, 0, g->a); /* P b */
    *value += la_logdet(m, F, m) - la_dot(m, g->b, g->a);
    return true;
}

/* Y and H, and to the parent C'Y C and H'b. */
static void send(const tree_groups *t, tree_group *g)
{
    tree_group *up = parent_of(t, g);
    int64_t m = g->m;
    double *T = t->work[0];
    if (!up) return;
    int64_t u = up->m;
    la_gemm(LA_N, LA_N, m, m, m, 1, g->P, m, g->S, m, 0, T, m);
    memcpy(g->Y, g->S, (size_t)(m * m) * sizeof *T);
    la_gemm(LA_N, LA_N, m, m, m, -1, g->S, m, T, m, 1, g->Y, m);
    memcpy(g->H, g->C, (size_t)(m * u) * sizeof *T);
    la_gemm(LA_N, LA_N, m, u, m, -1, T, m, g->C, m, 1, g->H, m);
    la_gemm(LA_N, LA_N, m, u, m, 1, g->Y, m, g->C, m, 0, T, m);
    la_gemm(LA_T, LA_N, u, u, m, 1, g->C, m, T, m, 1, up->S, u);
    la_gemv(LA_T, m, u, 1, g->H, m, g->b, 1, up->b);
}

/* -------------------------------------------------------------------------------------------- down */

static void receive(const tree_groups *t, tree_group *g)
{
    const tree_group *up = parent_of(t, g);
    int64_t m = g->m;
    double *T = t->work[0];
    memcpy(g->mean, g->a, (size_t)m * sizeof *T); /* P b */
    memcpy(g->V, g->P, (size_t)(m * m) * sizeof *T);
    if (!up) return;
    la_gemv(LA_N, m, up->m, 1, g->H, m, up->mean, 1, g->mean);
    la_gemm(LA_N, LA_N, m, up->m, up->m, 1, g->H, m, up->V, up->m, 0, T, m);
    la_gemm(LA_N, LA_T, m, m, up->m, 1, T, m, g->H, m, 1, g->V, m);
    for (int64_t j = 0; j < m; j++) /* rounding */
        for (int64_t i = 0; i < j; i++) g->V[i + j * m] = g->V[j + i * m];
}

/* ----------------------------------------------------------------------------------------- reverse */

/* Cbar, and its shares of E. */
static void reverse(const tree_groups *t, tree_group *g)
{
    tree_group *up = parent_of(t, g);
    int64_t m = g->m, u = up ? up->m : 0;
    double *X = t->work[0], *YC = t->work[1];
    if (!up) return;
    la_gemm(LA_N, LA_N, m, u, m, 1, g->Y, m, g->C, m, 0, YC, m);
    la_gemm(LA_N, LA_N, m, u, u, 1, YC, m, up->V, u, 0, X, m);
    double *a = g->a, *Ca = up->s.diag; /* P b goes in; b - S P b - Y C m_p, and C'a */
    la_gemv(LA_N, m, m, 1, g->S, m, a, 0, g->s.diag);
    for (int64_t i = 0; i < m; i++) a[i] = g->b[i] - g->s.diag[i];
    la_gemv(LA_N, m, u, -1, YC, m, up->mean, 1, a);
    la_gemv(LA_T, m, u, 1, g->C, m, a, 0, Ca);
    for (int64_t j = 0; j < u; j++)
        for (int64_t i = 0; i < m; i++)
            g->Cbar[i + j * m] = a[i] * (up->mean[j] - Ca[j]) - X[i + j * m] + YC[i + j * m];
    double *CYC = g->H; /* H is done; u x u, in room for m x u */
    if (u > m) {        /* then the other way round */
        la_gemm(LA_N, LA_T, m, m, u, 1, X, m, g->C, m, 0, g->P, m);
        la_gemm(LA_N, LA_N, m, u, m, -1, g->P, m, YC, m, 1, g->Cbar, m);
    } else {
        la_gemm(LA_T, LA_N, u, u, m, 1, g->C, m, YC, m, 0, CYC, u);
        la_gemm(LA_N, LA_N, m, u, u, -1, X, m, CYC, u, 1, g->Cbar, m);
    }
    la_gemm(LA_N, LA_T, m, m, u, 1, g->Cbar, m, g->C, m, 1, g->s.E, m);
    la_gemm(LA_T, LA_N, u, u, m, 1, g->Cbar, m, g->C, m, 1, up->s.E, u);
}

bool tree_messages(tree_groups *t, double *stat, bool gradient, double *value)
{
    double ignored;
    *value = 0;
    for (int64_t k = 0; k < t->count; k++) {
        tree_group *g = &t->at[k];
        double *own = stat + g->stat;
        *value += *stat_l(&g->s, own) + *stat_q(&g->s, own);
        memcpy(g->S, stat_S(&g->s, own), (size_t)(g->m * g->m) * sizeof *own);
        la_mirror(g->m, g->S, g->m);
        memcpy(g->b, stat_b(&g->s, own), (size_t)g->m * sizeof *own);
    }
    for (int64_t i = t->count - 1; i >= 0; i--) {
        tree_group *g = &t->at[t->order[i]];
        if (!solve(t, g, value)) return false;
        send(t, g);
    }
    *value *= -0.5;
    for (int64_t i = 0; i < t->count; i++) receive(t, &t->at[t->order[i]]);
    for (int64_t k = 0; gradient && k < t->count; k++) {
        tree_group *g = &t->at[k];
        if (!sparse_bound(&g->s, stat + g->stat, 1, g->mean, g->V, 0, true, &ignored)) return false;
    }
    for (int64_t k = 0; gradient && k < t->count; k++) reverse(t, &t->at[k]);
    return isfinite(*value);
}

/* The gradient of a group, gp[hyper_size]: what its own sums say, to that of all. */
static void add_gradient(const tree_group *g, const hyper *h, const double *own, double *gp)
{
    int64_t P = h->count, D = h->D;
    la_axpy(P, 1, own, gp);
    for (int64_t i = 0; h->learn_Z && i < g->m; i++) la_axpy(D, 1, own + P + i * D, gp + P + g->member[i] * D);
}

/* Cbar to K_kp bar and on to the kernel and the places of both groups: own[] of g, and of its parent. */
static bool reverse_pair(const tree_groups *t, tree_group *g, double *own, double *ups)
{
    tree_group *up = parent_of(t, g);
    int64_t m = g->m, P = g->h.count;
    inducing_grad mine = {.kernel = own, .Z = g->h.learn_Z ? own + P : NULL};
    inducing_grad other = {.kernel = own, .Z = g->h.learn_Z ? ups + P : NULL};
    la_trsm(LA_LEFT, LA_T, m, up->m, 1, g->s.u.L, m, g->Cbar, m);
    la_trsm(LA_RIGHT, LA_N, m, up->m, 1, up->s.u.L, up->m, g->Cbar, m);
    return g->s.u.ops->pair_reverse(&g->s.u, up->s.u.set, g->Cbar, m, mine, other);
}

bool tree_finish(tree_groups *t, const hyper *h, double *adjoint, double *gp)
{
    int64_t size = h->count + t->most * h->D;
    double *own = mem_alloc(size, sizeof *own), *ups = mem_alloc(size, sizeof *ups);
    bool ok = own && ups;
    memset(gp, 0, (size_t)hyper_size(h) * sizeof *gp);
    for (int64_t k = 0; ok && k < t->count; k++) {
        tree_group *g = &t->at[k], *up = parent_of(t, g);
        ok = sparse_finish(&g->s, adjoint + g->adjoint, own);
        memset(ups, 0, (size_t)size * sizeof *ups);
        if (ok && up) ok = reverse_pair(t, g, own, ups);
        if (ok) add_gradient(g, h, own, gp);
        if (ok && up) add_gradient(up, h, ups, gp);
    }
    free(own);
    free(ups);
    return ok;
}
