/* Collapsed sparse models (000, section 2; 003, eq. 8 and 15):  A = L^-1 K_uf,  y | v ~ N(A'v, G) with v ~ N(0, I),
       vfe    G = noise, and in addition -sum d / (2 noise) with d = k - |a|^2
       fitc   G = d + noise
       pitc   G = K - A'A + noise within a block
   Statistics, with F = A G^-1/2, r = G^-1/2 y:   S = F F',   b = F r,   l = n log 2 pi + log|G| + r'r (+ sum d / noise);
       log evidence = -(l + log|I + S| - b'(I + S)^-1 b) / 2.
   A prior mean is p rows H below A, in S and b but not in d and A'A.
   A row of weight w counts as w equal rows, in a block that is kept whole as one with noise / w.  sparse.h has the same by hand. */
#include <math.h>

#include "base/constants.h"
#include "kernel/tape_gram.h"
#include "model/reference/forward_models.h"

enum { L = FORWARD_OWN, NOISE, MADE = 2 };
static const double ONE = 1, TWO_PI = 2 * PI;

static void prepare(tape *t, forward_view *g)
{
    const kernel *k = g->h->kernel;
    node *p = g->v[FORWARD_KERNEL];
    g->v[L] = tape_cholesky(t, tape_gram_sym(t, k, p, g->v[FORWARD_Z]));
    g->v[NOISE] = tape_add(t, g->v[FORWARD_LIKE], tape_white(t, k, p));
}

static node *features(tape *t, const forward_view *g, const forward_block *b)
{
    return tape_solve_lower(t, g->v[L], tape_gram(t, g->h->kernel, g->v[FORWARD_KERNEL], g->v[FORWARD_Z], b->X));
}

/* F = A G^-1/2, r = G^-1/2 y */
static node *statistics(tape *t, node *F, node *r, node *logdet)
{
    node *S = tape_syrk(t, LA_N, F), *b = tape_gemm(t, LA_N, F, LA_N, r);
    return tape_concat(t, 3, (node *[]){S, b, tape_add(t, logdet, tape_dot(t, r, r))});
}

/* d = k - |a|^2 */
static node *residual(tape *t, const forward_view *g, const forward_block *b, node *A)
{
    return tape_marginal(t, tape_gram_diag(t, g->h->kernel, g->v[FORWARD_KERNEL], b->X), A, NULL);
}

/* G = diag(d); rest: what else counts in l, or NULL. */
static node *diagonal(tape *t, const forward_block *b, node *A, node *d, node *rest)
{
    node *root = tape_sqrt(t, tape_mul(t, b->w, tape_reciprocal(t, d)));
    node *l = tape_dot(t, b->w, tape_log(t, tape_scale(t, d, TWO_PI)));
    if (rest) l = tape_add(t, l, rest);
    return statistics(t, tape_scale_columns(t, tape_stack(t, A, b->H), root), tape_mul(t, root, b->y), l);
}

static node *vfe_stat(tape *t, const forward_view *g, const forward_block *b)
{
    node *A = features(t, g, b), *noise = tape_fill(t, g->v[NOISE], b->n, 1);
    node *shares = tape_mul(t, residual(t, g, b, A), tape_reciprocal(t, noise));
    return diagonal(t, b, A, noise, tape_dot(t, b->w, shares));
}

static node *fitc_stat(tape *t, const forward_view *g, const forward_block *b)
{
    node *A = features(t, g, b), *noise = tape_fill(t, g->v[NOISE], b->n, 1);
    return diagonal(t, b, A, tape_add(t, residual(t, g, b, A), noise), NULL);
}

static node *pitc_stat(tape *t, const forward_view *g, const forward_block *b)
{
    node *A = features(t, g, b), *K = tape_gram_sym(t, g->h->kernel, g->v[FORWARD_KERNEL], b->X);
    node *noise = tape_fill(t, g->v[NOISE], b->n, 1), *logs = tape_log(t, noise);
    node *G = tape_add_diagonal(t, tape_sub(t, K, tape_syrk(t, LA_T, A)), tape_mul(t, noise, tape_reciprocal(t, b->w)));
    node *root = tape_cholesky(t, G), *all = tape_stack(t, A, b->H);
    node *F = tape_transpose(t, tape_solve_lower(t, root, tape_transpose(t, all)));
    node *repeated = tape_sub(t, tape_dot(t, b->w, logs), tape_sum(t, logs)); /* sum (w - 1) log noise */
    node *constants = tape_add(t, tape_sum(t, tape_log(t, b->w)), tape_scale(t, tape_sum(t, b->w), log(TWO_PI)));
    node *l = tape_add(t, tape_logdet(t, root), tape_add(t, repeated, constants));
    return statistics(t, F, tape_solve_lower(t, root, b->y), l);
}

static node *head(tape *t, const forward_view *g, node *sum)
{
    int64_t M = g->h->M + g->mean->p;
    node *S = tape_slice(t, sum, 0, M, M), *b = tape_slice(t, sum, M * M, M, 1);
    node *B = tape_cholesky(t, tape_add_diagonal(t, S, tape_constant(t, 1, 1, &ONE)));
    node *beta = tape_solve_lower(t, B, b), *l = tape_slice(t, sum, M * M + M, 1, 1);
    return tape_scale(t, tape_sub(t, tape_add(t, l, tape_logdet(t, B)), tape_dot(t, beta, beta)), -0.5);
}

const forward_model forward_vfe = {
    .rows_alone = true, .made = MADE, .prepare = prepare, .stat = vfe_stat, .head = head};
const forward_model forward_fitc = {
    .rows_alone = true, .made = MADE, .prepare = prepare, .stat = fitc_stat, .head = head};
const forward_model forward_pitc = {
    .rows_alone = false, .made = MADE, .prepare = prepare, .stat = pitc_stat, .head = head};
