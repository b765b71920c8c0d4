/* The rows of a layer: the conditional forward, and back to statistics and adjoints; equations in layer.h. */
#include <math.h>
#include <string.h>

#include "gauss/layer.h"
#include "gauss/layer_f32.h"
#include "gauss/orthogonal.h"
#include "linalg/linalg.h"

/* ----------------------------------------------------------------------------------- statistics */

/* Squares of all S. */
static int64_t squares(const layer *l)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < l->K; k++) sum += (l->set[k + 1] - l->set[k]) * (l->set[k + 1] - l->set[k]);
    return l->C * sum;
}

layer_stat layer_stat_place(const layer *l, double *at)
{
    layer_stat t = {.b = at};
    t.o = t.b + l->Mt * l->C;
    t.S = t.o + l->O * l->C;
    if (!l->learn) return t;
    t.kernel = t.S + squares(l);
    t.white = t.kernel + l->params;
    t.variables = t.white + 1;
    t.E = t.variables + l->variables;
    return t;
}

int64_t layer_stat_size(const layer *l)
{
    int64_t size = (l->Mt + l->O) * l->C + squares(l);
    return l->learn ? size + l->params + 1 + l->variables + (l->by_V ? 0 : l->M * l->M) : size;
}

inducing_grad layer_grad(const layer *l, const layer_stat *stat)
{
    double *Z = l->variables ? stat->variables : NULL;
    return (inducing_grad){stat->kernel, Z, Z && l->widths ? Z + (l->M + l->O) * l->D : NULL, NULL};
}

/* ------------------------------------------------------------------------------------ workspace */

layer_pieces layer_place(const layer *l, int64_t n, double *work)
{
    layer_pieces p = {.A = work};
    p.Abar = p.A + l->Mt * n;
    p.U = p.Abar + l->Mt * n;
    p.mu = p.U + l->Mt * n * l->C;
    p.var = p.mu + n * l->C;
    p.dmu = p.var + n * l->C;
    p.dvar = p.dmu + n * l->C;
    p.rest = p.dvar + n * l->C;
    p.G = p.rest + n;
    return p;
}

int64_t layer_work(const layer *l, int64_t n)
{
    return n * (l->Mt * (2 + l->C) + 4 * l->C + 1 + l->O) + layer_f32_work(l);
}

/* Solves with L and, for each function, F; its S; to learn, V A of each, E and the solve with L'. */
double layer_multiplications(const layer *l, int64_t n, bool value_only)
{
    double C = (double)l->C, halves = 1 + C + (value_only ? 0 : C + (l->learn ? C + 2 : 0));
    return (double)n * ((double)(l->Mt * l->Mt) * halves / 2 + (double)l->O * (C + (double)l->D));
}

/* --------------------------------------------------------------------------------------- forward */

/* U = V A, var = rest + a'u.  Its error, about epsilon |V| |a|^2, is no larger than that of `rest`: V <= I unless curvatures are
   negative, as studentt's can be. */
static void variances_by_V(const layer *l, int64_t n, const layer_pieces *p)
{
    int64_t Mt = l->Mt;
    la_gemm(LA_N, LA_N, Mt, n, Mt, 1, l->q->V, Mt, p->A, Mt, 0, p->U, Mt);
    for (int64_t j = 0; j < n; j++) p->var[j] = p->rest[j] + fmax(la_dot(Mt, p->A + j * Mt, p->U + j * Mt), 0);
}

/* U = V^1/2' A by sets, var = rest + |u|^2. */
static void variances(const layer *l, int64_t c, int64_t n, const layer_pieces *p)
{
    double *U = p->U + c * l->Mt * n, *var = p->var + c * n;
    memcpy(U, p->A, (size_t)(l->Mt * n) * sizeof *U);
    for (int64_t k = 0; k < l->K; k++) gauss_half(&l->q[c * l->K + k], n, U + l->set[k], l->Mt);
    for (int64_t j = 0; j < n; j++) var[j] = p->rest[j] + la_dot(l->Mt, U + j * l->Mt, U + j * l->Mt);
}

static anygp_status no_tiles(anygp_error *e) { return fail_memory(e, "kernel tiles", 0); }

anygp_status layer_forward(const layer *l, int64_t n, const double *X, const layer_pieces *p, bool value_only,
                           anygp_error *e)
{
    if (l->single && l->single->on) return layer_forward_f32(l, n, X, p, e);
    TRY(basis_features(&l->u, l->mean, n, X, l->D, p->A + l->p, p->A, e));
    inducing_residual(&l->u, n, X, l->D, p->A + l->p, l->Mt, p->rest);
    for (int64_t j = 0; j < n && l->noisy; j++) p->rest[j] += l->white;
    la_gemm(LA_T, LA_N, n, l->C, l->Mt, 1, p->A, l->Mt, l->mean_m, l->Mt, 0, p->mu, n);
    if (l->O && !orthogonal_forward(l, n, X, p->G, p->mu)) return no_tiles(e);
    if (l->by_V && !value_only)
        variances_by_V(l, n, p);
    else
        for (int64_t c = 0; c < l->C; c++) variances(l, c, n, p);
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------------- reverse */

/* S += -2 A diag(d) A': columns of one sign come after those of the other, so that two rank-k updates do it. */
static void curvature(const layer *l, int64_t c, int64_t n, const layer_pieces *p, double *S)
{
    double *U = p->U + c * l->Mt * n;
    const double *d = p->dvar + c * n;
    int64_t front = 0, back = n;
    for (int64_t j = 0; j < n; j++) {
        double *u = U + (d[j] <= 0 ? front++ : --back) * l->Mt, root = sqrt(2 * fabs(d[j]));
        const double *a = p->A + j * l->Mt;
        for (int64_t i = 0; i < l->Mt; i++) u[i] = root * a[i];
    }
    for (int64_t k = 0; k < l->K; k++) {
        int64_t M = l->set[k + 1] - l->set[k];
        la_syrk(LA_N, M, front, 1, U + l->set[k], l->Mt, 1, S, M);
        if (front < n) la_syrk(LA_N, M, n - front, -1, U + front * l->Mt + l->set[k], l->Mt, 1, S, M);
        S += M * M;
    }
}

/* Abar += 2 V A diag(d) of one function; U becomes V A. */
static void spread(const layer *l, int64_t c, int64_t n, const layer_pieces *p)
{
    double *U = p->U + c * l->Mt * n;
    const double *d = p->dvar + c * n;
    for (int64_t k = 0; k < l->K && !l->by_V; k++) gauss_other_half(&l->q[c * l->K + k], n, U + l->set[k], l->Mt);
    for (int64_t j = 0; j < n; j++) la_axpy(l->M, 2 * d[j], U + l->p + j * l->Mt, p->Abar + j * l->M);
}

/* Abar, and from it E, the kernel's parameters, the inducing variables and X. */
static bool adjoints(const layer *l, int64_t n, const double *X, const layer_pieces *p, const layer_stat *stat,
                     double *Xbar)
{
    int64_t M = l->M;
    const double *A = p->A + l->p;
    inducing_grad g = layer_grad(l, stat);
    la_gemm(LA_N, LA_T, M, n, l->C, 1, l->mean_m + l->p, l->Mt, p->dmu, n, 0, p->Abar, M);
    memset(p->rest, 0, (size_t)n * sizeof(double));
    for (int64_t c = 0; c < l->C; c++) {
        spread(l, c, n, p);
        la_axpy(n, 1, p->dvar + c * n, p->rest);
    }
    for (int64_t j = 0; j < n; j++) {
        la_axpy(M, -2 * p->rest[j], A + j * l->Mt, p->Abar + j * M);
        if (l->noisy) *stat->white += p->rest[j];
    }
    if (!l->by_V) la_gemm_lower(LA_N, LA_T, M, n, 1, p->Abar, M, A, l->Mt, 1, stat->E, M);
    g.X = Xbar;
    return l->u.ops->reverse(&l->u, n, X, l->D, p->Abar, M, p->rest, g);
}

anygp_status layer_reverse(const layer *l, int64_t n, const double *X, const layer_pieces *p, const layer_stat *stat,
                           double *Xbar, anygp_error *e)
{
    double *S = stat->S;
    if (l->single && l->single->on) return layer_reverse_f32(l, n, X, p, stat, Xbar, e);
    la_gemm(LA_N, LA_N, l->Mt, l->C, n, 1, p->A, l->Mt, p->dmu, n, 1, stat->b, l->Mt);
    if (l->O && !orthogonal_reverse(l, n, X, p->G, p->dmu, stat)) return no_tiles(e);
    if (l->learn && !adjoints(l, n, X, p, stat, Xbar))
        return no_tiles(e); /* which needs U; the curvature then takes its place */
    for (int64_t c = 0; c < l->C; c++) {
        curvature(l, c, n, p, S);
        S += squares(l) / l->C;
    }
    return ANYGP_OK;
}
