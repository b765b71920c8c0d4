/* The reverse of the sparse priors' statistics; equations in sparse.h.  Adjoints of a block (adjoint_parts):
       gp      kernel parameters            noise, white   of the noise, and the excess in the kernel's reverses
       variables  places and widths         C              -2 sum A Gbar A' (M x M, lower triangle), where the head does not have it */
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/sparse/sparse_parts.h"

static int64_t kernel_params(const sparse *s) { return hyper_kernel_params(s->h); }

adjoint_parts adjoint_place(const sparse *s, double *at)
{
    adjoint_parts a = {.gp = at};
    a.noise = a.gp + kernel_params(s);
    a.white = a.noise + s->targets;
    a.variables = a.white + 1;
    a.C = a.variables + hyper_variables(s->h);
    return a;
}

bool sparse_has_C(const sparse *s) { return s->kept != KEPT_NOTHING && !is_trace(s); }

int64_t sparse_adjoint_size(const void *shared)
{
    const sparse *s = shared;
    return kernel_params(s) + s->targets + 1 + hyper_variables(s->h) + (sparse_has_C(s) ? s->M * s->M : 0);
}

anygp_status reverse_features(const sparse *s, const row_block *b, double *Abar, const double *dbar,
                              const adjoint_parts *a, anygp_error *e)
{
    inducing_grad g = hyper_grad(s->h, a->gp, a->variables);
    bool ok = s->u.ops->reverse(&s->u, b->n, b->X, s->D, Abar, s->Mt, dbar, g);
    return ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

/* ---------------------------------------------------------------------------------- diagonal G */

rows_parts rows_place(const sparse *s, int64_t n, double *at)
{
    rows_parts r = {.A = at};
    r.g = r.A + s->Mt * n;
    r.y = r.g + n;
    r.d = r.y + n * s->targets;
    return r;
}

int64_t rows_keep(const void *shared, int64_t n)
{
    const sparse *s = shared;
    return n * (s->Mt + s->targets + 2);
}

int64_t rows_work(const void *shared, int64_t n)
{
    const sparse *s = shared;
    int64_t single = s->single ? (s->Mt * s->Mt + 1) / 2 : 0;
    return rows_keep(shared, n) + n * (s->Mt + (s->M > s->targets ? s->M : s->targets) + 1) + single;
}

/* gbar = (a'V a w/g + (w/g) (y - a'm)^2 - w) / (2 g) */
double rows_gbar(const sparse *s, const row_block *b, const rows_parts *r, int64_t j, double aVa, double rest,
                 double *dbar)
{
    double left = 1 - s->power, gbar = 0.5 * (aVa + rest * rest - b->w[j]) / r->g[j];
    if (s->kept != KEPT_DIAGONAL) return gbar;
    dbar[j] = s->power * gbar - 0.5 * left * b->w[j] / r->g[j];
    return gbar + 0.5 * left * b->w[j] * r->d[j] / (r->g[j] * s->noise);
}

/* Abar = V A in T, dbar[n] of the kept diagonal; returns the noise's.  A is scaled by (w/g)^1/2 throughout. */
static double rows_adjoints(const sparse *s, const row_block *b, const rows_parts *r, double *T, double *dbar)
{
    double noise = 0;
    la_gemm(LA_N, LA_N, s->Mt, b->n, s->Mt, 1, s->V, s->Mt, r->A, s->Mt, 0, T, s->Mt);
    for (int64_t j = 0; j < b->n; j++) {
        const double *a = r->A + j * s->Mt;
        double *t = T + j * s->Mt, root = sqrt(b->w[j] / r->g[j]), rest = r->y[j] - la_dot(s->Mt, s->m, a);
        noise += rows_gbar(s, b, r, j, la_dot(s->Mt, a, t), rest, dbar);
        la_scale(s->Mt, -root, t);
        la_axpy(s->Mt, root * rest, s->m, t);
        if (s->kept == KEPT_DIAGONAL) la_axpy(s->M, -2 * dbar[j] / root, a, t);
    }
    return noise;
}

/* C -= 2 sum dbar a a': columns of one sign come after those of the other, so that two rank-k updates do it. */
static void rows_outer(const sparse *s, const row_block *b, const rows_parts *r, const double *dbar, double *U,
                       double *C)
{
    int64_t n = b->n, M = s->M, front = 0, back = n;
    for (int64_t j = 0; j < n; j++) {
        double *u = U + (dbar[j] < 0 ? front++ : --back) * M, c = sqrt(2 * fabs(dbar[j]) * r->g[j] / b->w[j]);
        const double *a = r->A + j * s->Mt;
        for (int64_t i = 0; i < M; i++) u[i] = c * a[i];
    }
    la_syrk(LA_N, M, front, 1, U, M, 1, C, M);
    la_syrk(LA_N, M, n - front, -1, U + front * M, M, 1, C, M);
}

anygp_status rows_reverse(const void *shared, const row_block *b, double *work, const double *keep, double *adjoint,
                          anygp_error *e)
{
    const sparse *s = shared;
    adjoint_parts a = adjoint_place(s, adjoint);
    rows_parts r = rows_place(s, b->n, keep ? (double *)keep : work);
    double *T = work + rows_keep(s, b->n), *dbar = T + s->Mt * b->n, *U = dbar + b->n;
    if (!keep) TRY(rows_forward(s, b, &r, e));
    if (sparse_in_float(s)) {
        double *room = U + (s->M > s->targets ? s->M : s->targets) * b->n;
        return rows_reverse_f32(s, b, &r, T, dbar, U, room, &a, e);
    }
    if (s->targets > 1)
        rows_adjoints_many(s, b, &r, U, T, dbar);
    else
        *a.noise += rows_adjoints(s, b, &r, T, dbar);
    if (sparse_has_C(s)) rows_outer(s, b, &r, dbar, U, a.C);
    return reverse_features(s, b, T, s->kept == KEPT_DIAGONAL ? dbar : NULL, &a, e);
}

/* ------------------------------------------------------------------------------------- whole G */

whole_parts whole_place(const sparse *s, int64_t n, double *at)
{
    whole_parts w = {.A = at};
    w.G = w.A + s->Mt * n;
    w.y = w.G + n * n;
    return w;
}

int64_t whole_keep(const void *shared, int64_t n) { return n * (((const sparse *)shared)->Mt + n + 1); }

int64_t whole_work(const void *shared, int64_t n)
{
    const sparse *s = shared;
    return whole_keep(shared, n) + n * (2 * s->Mt + s->M + n + 1) + (s->single ? whole_room_f32(s, n) : 0);
}

static whole_adjoints adjoints_place(const sparse *s, int64_t n, double *at)
{
    whole_adjoints to = {.R = at};
    to.T = to.R + s->Mt * n;
    to.F = to.T + s->Mt * n;
    to.Gbar = to.F + s->M * n;
    to.r = to.Gbar + n * n;
    return to;
}

/* R' = A L_G^-T L_G^-1 (Mt x n), r = G^-1 y - R m, T = V R'. */
static void whole_projections(const sparse *s, int64_t n, const whole_parts *w, const whole_adjoints *to)
{
    memcpy(to->R, w->A, (size_t)(s->Mt * n) * sizeof(double));
    la_trsm(LA_RIGHT, LA_N, s->Mt, n, 1, w->G, n, to->R, s->Mt);
    memcpy(to->r, w->y, (size_t)n * sizeof(double));
    la_trsv(LA_T, n, w->G, n, to->r);
    la_gemv(LA_T, s->Mt, n, -1, to->R, s->Mt, s->m, 1, to->r);
    la_gemm(LA_N, LA_N, s->Mt, n, s->Mt, 1, s->V, s->Mt, to->R, s->Mt, 0, to->T, s->Mt);
}

anygp_status whole_inverse(const row_block *b, const double *G, double *Gbar, anygp_error *e)
{
    int64_t n = b->n;
    memcpy(Gbar, G, (size_t)(n * n) * sizeof(double));
    if (la_potri(n, Gbar, n) != 0)
        return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of block %lld of the rows has no inverse",
                         (long long)b->index);
    la_mirror(n, Gbar, n);
    return ANYGP_OK;
}

void whole_noise(const sparse *s, const row_block *b, const double *Gbar, const adjoint_parts *a)
{
    for (int64_t j = 0; j < b->n; j++) {
        double g = Gbar[j + j * b->n];
        *a->noise += g / b->w[j] - 0.5 * (b->w[j] - 1) / s->noise;
        *a->white -= g;
    }
}

/* Gbar = (R V R' - G^-1 + r r') / 2, both triangles. */
static anygp_status whole_Gbar(const sparse *s, const row_block *b, const whole_parts *w, const whole_adjoints *to,
                               anygp_error *e)
{
    int64_t n = b->n;
    TRY(whole_inverse(b, w->G, to->Gbar, e));
    la_gemm(LA_T, LA_N, n, n, s->Mt, 0.5, to->R, s->Mt, to->T, s->Mt, -0.5, to->Gbar, n);
    for (int64_t j = 0; j < n; j++) la_axpy(n, 0.5 * to->r[j], to->r, to->Gbar + j * n);
    return ANYGP_OK;
}

/* Abar = -T + m r' - 2 A Gbar in T, and C -= 2 A Gbar A'. */
static void whole_Abar(const sparse *s, int64_t n, const whole_parts *w, const whole_adjoints *to, double *C)
{
    int64_t Mt = s->Mt, M = s->M;
    double *A = to->R; /* R is done: A = (A L_G^-T) L_G' */
    memcpy(A, w->A, (size_t)(Mt * n) * sizeof(double));
    la_trmm(LA_RIGHT, LA_T, Mt, n, 1, w->G, n, A, Mt);
    la_gemm(LA_N, LA_N, M, n, n, -2, A, Mt, to->Gbar, n, 0, to->F, M);
    la_gemm_lower(LA_N, LA_T, M, n, 1, to->F, M, A, Mt, 1, C, M);
    for (int64_t j = 0; j < n; j++) {
        la_scale(Mt, -1, to->T + j * Mt);
        la_axpy(Mt, to->r[j], s->m, to->T + j * Mt);
        la_axpy(M, 1, to->F + j * M, to->T + j * Mt);
    }
}

anygp_status whole_reverse(const void *shared, const row_block *b, double *work, const double *keep, double *adjoint,
                           anygp_error *e)
{
    const sparse *s = shared;
    int64_t n = b->n;
    adjoint_parts a = adjoint_place(s, adjoint);
    whole_parts w = whole_place(s, n, keep ? (double *)keep : work);
    whole_adjoints to = adjoints_place(s, n, work + whole_keep(s, n));
    double *room = to.r + n;
    if (sparse_in_float(s)) {
        if (!keep) TRY(whole_forward_f32(s, b, &w, room, e));
        return whole_reverse_f32(s, b, &w, &to, room, &a, e);
    }
    if (!keep) TRY(whole_forward(s, b, &w, e));
    whole_projections(s, n, &w, &to);
    TRY(whole_Gbar(s, b, &w, &to, e));
    whole_noise(s, b, to.Gbar, &a);
    whole_Abar(s, n, &w, &to, a.C);
    if (!kernel_gram_sym_reverse(s->h->kernel, n, b->X, s->D, to.Gbar, n, a.gp, NULL, 0))
        return fail_memory(e, "kernel tiles", 0);
    return reverse_features(s, b, to.T, NULL, &a, e);
}

/* -------------------------------------------------------------------------------------- finish */

/* E in s->work: the head's, and what the blocks add to it. */
static void gather_E(sparse *s, const double *C)
{
    int64_t M = s->M, Mt = s->Mt;
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = j; i < M; i++) s->work[i + j * M] = s->E[i + j * Mt] + (C ? C[i + j * M] : 0);
}

bool sparse_finish(sparse *s, double *adjoint, double *gp)
{
    adjoint_parts a = adjoint_place(s, adjoint);
    int64_t P = kernel_params(s);
    double noise = 0;
    gather_E(s, sparse_has_C(s) ? a.C : NULL);
    for (int64_t t = 0; t < s->targets; t++) {
        if (s->targets > 1) a.noise[t] = s->many.bar[t]; /* for several targets the heads have it */
        gp[P + t] = a.noise[t], noise += a.noise[t];
    }
    inducing_grad g = hyper_grad(s->h, a.gp, a.variables);
    if (!s->u.ops->finish(&s->u, s->work, noise + *a.white, g)) return false;
    memcpy(gp, a.gp, (size_t)P * sizeof(double));
    memcpy(gp + P + s->targets, a.variables, (size_t)hyper_variables(s->h) * sizeof(double));
    return true;
}
