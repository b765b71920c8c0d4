/* Blocks with rows that are given (notation of sparse.h): each own row i of a block is conditioned on all rows before it there.

   G = (K - Q) + noise over all rows of the block, G = L_G L_G'; Z = L_G^-1 [y, A'].  Row i of Z is the residual of row i given the
   rows before it, over its standard deviation d_i^1/2 = (L_G)_ii.  So with sums over the own rows alone
       S = sum a~ a~',  b = sum a~ z,  l = sum log d,  q = sum z^2
   are the four statistics of a prior in which rows know of each other only through these conditionals: Vecchia's with the nearest
   earlier rows given, pitc's with none, the exact one with all.

   Reverse, at N(m, V): z bar = -(z - m'a~), a~ bar = -m z bar - V a~ of own rows, 0 of the others, and with X bar = [z bar, a~ bar]
       [y, A'] bar = L_G^-T X bar,      G bar = sym(L_G^-T T L_G^-1),   T = -X bar Z' - I_own, lower triangle, its diagonal halved,
   then Abar = A bar - 2 A Gbar as for whole blocks.  Without inducing inputs and basis functions there is nothing that the head
   would have to say first: one pass then does both (sparse_given_at_once). */
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/sparse/sparse_parts.h"

static bool is_own(const row_block *b, int64_t j) { return !b->own || b->own[j]; }

static void given_sums(const sparse *s, const row_block *b, const whole_parts *w, double *stat)
{
    for (int64_t j = 0; j < b->n; j++) {
        const double *a = w->A + j * s->Mt;
        if (!is_own(b, j)) continue;
        *stat_l(s, stat) += 2 * log(w->G[j + j * b->n]);
        if (b->w[j] != 1) *stat_l(s, stat) += (b->w[j] - 1) * log(s->noise) + log(b->w[j]);
        *stat_q(s, stat) += w->y[j] * w->y[j];
        if (s->Mt == 0) continue;
        la_syrk(LA_N, s->Mt, 1, 1, a, s->Mt, 1, stat_S(s, stat), s->Mt);
        la_axpy(s->Mt, w->y[j], a, stat_b(s, stat));
    }
}

static anygp_status given_stat(const void *shared, const row_block *b, double *work, double *keep, double *stat,
                               anygp_error *e)
{
    const sparse *s = shared;
    whole_parts w = whole_place(s, b->n, keep ? keep : work);
    TRY(whole_forward(s, b, &w, e));
    given_sums(s, b, &w, stat);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- reverse */

/* X bar: of z in zbar[n], of a~ in Xbar[Mt,n]. */
static void given_adjoints(const sparse *s, const row_block *b, const whole_parts *w, double *zbar, double *Xbar)
{
    int64_t Mt = s->Mt, n = b->n;
    if (Mt) la_gemm(LA_N, LA_N, Mt, n, Mt, -1, s->V, Mt, w->A, Mt, 0, Xbar, Mt);
    for (int64_t j = 0; j < n; j++) {
        double *x = Xbar + j * Mt;
        zbar[j] = is_own(b, j) ? la_dot(Mt, s->m, w->A + j * Mt) - w->y[j] : 0;
        if (is_own(b, j))
            la_axpy(Mt, -zbar[j], s->m, x);
        else
            memset(x, 0, (size_t)Mt * sizeof *x);
    }
}

/* G bar, lower triangle, from T's own rows alone: T_o[o,n] and W = L_G^-T E[n,o] are room, n^2 each at most. */
static void given_Gbar(const sparse *s, const row_block *b, const whole_parts *w, const double *zbar,
                       const double *Xbar, double *T, double *W, double *Gbar)
{
    int64_t n = b->n, Mt = s->Mt, o = 0;
    for (int64_t j = 0; j < n; j++) o += is_own(b, j);
    memset(W, 0, (size_t)(n * o) * sizeof *W);
    for (int64_t i = 0, a = 0; i < n; i++) {
        if (!is_own(b, i)) continue;
        const double *x = Xbar + i * Mt;
        for (int64_t j = 0; j < n; j++) T[a + j * o] = j <= i ? -zbar[i] * w->y[j] - la_dot(Mt, x, w->A + j * Mt) : 0;
        T[a + i * o] = 0.5 * (T[a + i * o] - 1);
        W[i + n * a++] = 1;
    }
    la_trsm(LA_RIGHT, LA_N, o, n, 1, w->G, n, T, o);
    la_trsm(LA_LEFT, LA_T, n, o, 1, w->G, n, W, n);
    la_gemm(LA_N, LA_N, n, n, o, 0.5, W, n, T, o, 0, Gbar, n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) Gbar[i + j * n] += Gbar[j + i * n];
}

static void given_noise(const sparse *s, const row_block *b, const double *Gbar, const adjoint_parts *a)
{
    for (int64_t j = 0; j < b->n; j++) {
        *a->noise += Gbar[j + j * b->n] / b->w[j];
        if (is_own(b, j) && b->w[j] != 1) *a->noise -= 0.5 * (b->w[j] - 1) / s->noise;
        *a->white -= Gbar[j + j * b->n];
    }
}

/* From X bar and G bar to the inducing variables; F[M,n] and A[Mt,n] are room. */
static anygp_status given_features(const sparse *s, const row_block *b, const whole_parts *w, double *Gbar,
                                   double *Xbar, double *A, double *F, const adjoint_parts *a, anygp_error *e)
{
    int64_t n = b->n, Mt = s->Mt, M = s->M;
    la_trsm(LA_RIGHT, LA_N, Mt, n, 1, w->G, n, Xbar, Mt);
    memcpy(A, w->A, (size_t)(Mt * n) * sizeof *A);
    la_trmm(LA_RIGHT, LA_T, Mt, n, 1, w->G, n, A, Mt);
    la_mirror(n, Gbar, n);
    la_gemm(LA_N, LA_N, M, n, n, -2, A, Mt, Gbar, n, 0, F, M);
    la_gemm(LA_N, LA_T, M, M, n, 1, F, M, A, Mt, 1, a->C, M);
    for (int64_t j = 0; j < n; j++) la_axpy(M, 1, F + j * M, Xbar + j * Mt);
    return reverse_features(s, b, Xbar, NULL, a, e);
}

static anygp_status reverse_of(const sparse *s, const row_block *b, const whole_parts *w, double *room, double *adjoint,
                               anygp_error *e)
{
    int64_t n = b->n, Mt = s->Mt;
    adjoint_parts a = adjoint_place(s, adjoint);
    double *Xbar = room, *A = Xbar + Mt * n, *F = A + Mt * n, *Gbar = F + s->M * n, *zbar = Gbar + n * n;
    double *T = zbar + n, *W = T + n * n;
    given_adjoints(s, b, w, zbar, Xbar);
    given_Gbar(s, b, w, zbar, Xbar, T, W, Gbar);
    given_noise(s, b, Gbar, &a);
    if (!kernel_gram_sym_reverse(s->h->kernel, n, b->X, s->D, Gbar, n, a.gp, NULL, 0))
        return fail_memory(e, "kernel tiles", 0);
    return s->M ? given_features(s, b, w, Gbar, Xbar, A, F, &a, e) : ANYGP_OK;
}

static anygp_status given_reverse(const void *shared, const row_block *b, double *work, const double *keep,
                                  double *adjoint, anygp_error *e)
{
    const sparse *s = shared;
    whole_parts w = whole_place(s, b->n, keep ? (double *)keep : work);
    if (!keep) TRY(whole_forward(s, b, &w, e));
    return reverse_of(s, b, &w, work + whole_keep(s, b->n), adjoint, e);
}

/* ------------------------------------------------------------------------------------ the tables */

static int64_t given_work(const void *shared, int64_t n) { return whole_work(shared, n) + 2 * n * n; }

/* G's factor, its reverse by two solves, and the matrices A. */
static double given_multiplications(const void *shared, int64_t rows)
{
    const sparse *s = shared;
    double n = (double)rows, Mt = (double)s->Mt;
    return n * n * n * 7 / 6 + n * n * (Mt + (double)s->D) + n * Mt * (Mt + 1);
}

const block_model sparse_given = {.stat_size = sparse_stat_size,
                                  .adjoint_size = sparse_adjoint_size,
                                  .work_doubles = given_work,
                                  .keep_doubles = whole_keep,
                                  .work = given_multiplications,
                                  .stat = given_stat,
                                  .reverse = given_reverse};

static int64_t both_size(const void *shared) { return sparse_stat_size(shared) + sparse_adjoint_size(shared); }

static anygp_status both(const void *shared, const row_block *b, double *work, double *keep, double *out,
                         anygp_error *e)
{
    const sparse *s = shared;
    whole_parts w = whole_place(s, b->n, work);
    (void)keep;
    TRY(whole_forward(s, b, &w, e));
    given_sums(s, b, &w, out);
    return reverse_of(s, b, &w, work + whole_keep(s, b->n), out + sparse_stat_size(s), e);
}

const block_model sparse_given_at_once = {
    .stat_size = both_size, .work_doubles = given_work, .work = given_multiplications, .stat = both};
