/* Steps in the space of functions, where they are short.

   a.  The bound's gradient in the mean function is sum_i g_i k(x_i, .) - sum_m a_m k(alpha_m, .), so with bases at the rows the
   optimum has a_i = g_i(f_i), f = K a: what 001 leaves to stochastic gradients is the dual of kernel ridge regression (of
   kernel logistic regression, ...).  For the bases of a batch, with g linear around f and slopes -lambda = 2 h,
       a_B + d = g_B - Lambda (K_BB d),     (I + Lambda K_BB) d = g_B - a_B,
       d = r - Lambda^1/2 (I + Lambda^1/2 K_BB Lambda^1/2)^-1 Lambda^1/2 K_BB r
   a block of Gauss and Seidel's method: for Gaussian noise each step is exact in its block, the dual objective never falls,
   and the noise of the batch dies out as the optimum comes near.  Blocks have at most DUAL_BLOCK rows; those of a larger batch
   follow each other, each with what the former did to its f.  The prior mean's coefficients are sum_i a_i sqrt(s) h(x_i), so
   they belong to K_BB.

   B.  The natural gradient of the covariance operator is sum_i -2 h_i k(x_i, .) k(x_i, .)' - Psi_beta B Psi_beta'; in the span
   of beta it moves B to (1 - rho) B + rho K_beta^-1 (-2 S) K_beta^-1, which for rho = 1 and all rows is the optimum.
   As it stands it has the condition of K_beta squared, which smooth functions make 1e16; with K_beta = T'T, T lower,
       T B T'  <-  (1 - rho) (T L)(T L)' + rho T^-T (-2 S) T^-1  =  C C',     L = T^-1 C
   both terms are positive semi-definite whatever the rounding, and L is lower again.  A latent whose C is not finite keeps its B.

   Cost: |B|^3 / 3 a latent, |B|^2 (2 D + 1); M_beta^3. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/svdgp_state.h"

enum { DUAL_BLOCK = 1024 };
static const double MOVE_MOST = 2; /* of f, in one step, where g is not linear */
static const double RIDGE =
    1e-14; /* of the mean diagonal: what rounding takes from a matrix that is positive semi-definite */

typedef struct dual_work {
    int64_t n;      /* of the batch */
    double *Z, *H;  /* n x D, n x p column-major: places and the mean's functions */
    double *change; /* n x C: what f has moved by */
    double *K, *T;  /* block x block */
    double *r, *t;  /* block */
    double *tile;
} dual_work;

static void work_free(dual_work *w)
{
    double *const owned[] = {w->Z, w->H, w->change, w->K, w->T, w->r, w->t, w->tile};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static anygp_status work_new(const svdgp *s, int64_t n, const int64_t *bases, dual_work *w, anygp_error *e)
{
    int64_t most = n < DUAL_BLOCK ? n : DUAL_BLOCK;
    *w = (dual_work){.n = n};
    w->Z = mem_doubles(n, s->D), w->H = mem_doubles(n, s->p), w->change = mem_zeroed(n * s->C, sizeof(double));
    w->K = mem_doubles(most, most), w->T = mem_doubles(most, most);
    w->r = mem_alloc(most, sizeof(double)), w->t = mem_alloc(most, sizeof(double));
    w->tile = mem_alloc(functions_work(&s->f, most, most), sizeof(double));
    if (!w->Z || !w->H || !w->change || !w->K || !w->T || !w->r || !w->t || !w->tile)
        return fail_memory(e, "a step", 16.0 * (double)most * (double)most);
    for (int64_t i = 0; i < n; i++)
        memcpy(w->Z + i * s->D, s->alpha.x + bases[i] * s->D, (size_t)s->D * sizeof(double));
    basis_fill(s->mean, n, w->Z, s->D, w->H, 1, n);
    for (int64_t i = 0; i < n * s->p; i++) w->H[i] *= sqrt(s->mean->B);
    return ANYGP_OK;
}

/* K[rows, cols] of bases i0.. and j0.. of the batch, with the prior mean's share. */
static bool block_K(const svdgp *s, const dual_work *w, int64_t i0, int64_t rows, int64_t j0, int64_t cols, double *K)
{
    function_set all = {w->n, w->Z, NULL};
    if (!functions_pair(&s->f, functions_part(all, s->D, j0, cols), functions_part(all, s->D, i0, rows), w->tile, K))
        return false;
    if (s->p) la_gemm(LA_N, LA_T, rows, cols, s->p, 1, w->H + i0, w->n, w->H + j0, w->n, 1, K, rows);
    return true;
}

/* r becomes d; root[n] = Lambda^1/2. */
static bool solve(const dual_work *w, int64_t n, const double *root)
{
    double *r = w->r, *t = w->t, *T = w->T;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) T[i + j * n] = root[i] * w->K[i + j * n] * root[j] + (i == j);
    if (!la_factor(n, T, n)) return false;
    la_gemv(LA_N, n, n, 1, w->K, n, r, 0, t);
    for (int64_t i = 0; i < n; i++) t[i] *= root[i];
    la_trsv(LA_N, n, T, n, t);
    la_trsv(LA_T, n, T, n, t);
    for (int64_t i = 0; i < n; i++) r[i] -= root[i] * t[i];
    return true;
}

static void shorten(const dual_work *w, int64_t n)
{
    double largest = 0;
    la_gemv(LA_N, n, n, 1, w->K, n, w->r, 0, w->t);
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(w->t[i]));
    if (largest > MOVE_MOST) la_scale(n, MOVE_MOST / largest, w->r);
}

/* What the step r of a block does to the f of the bases after it. */
static bool pass_on(const svdgp *s, const dual_work *w, int64_t c, int64_t first, int64_t n)
{
    double *K = w->T; /* the factor has served */
    for (int64_t i = first + n; i < w->n; i += DUAL_BLOCK) {
        int64_t rows = w->n - i < DUAL_BLOCK ? w->n - i : DUAL_BLOCK;
        if (!block_K(s, w, i, rows, first, n, K)) return false;
        la_gemv(LA_N, rows, n, 1, K, rows, w->r, 1, w->change + i + c * w->n);
    }
    return true;
}

static bool step_block(svdgp *s, const dual_work *w, int64_t first, int64_t n, const int64_t *bases, const double *own,
                       const double *weight, bool quadratic)
{
    double root[DUAL_BLOCK];
    int64_t size = svdgp_Ma(s) * s->C;
    if (!block_K(s, w, first, n, first, n, w->K)) return false;
    for (int64_t c = 0; c < s->C; c++) {
        for (int64_t i = 0; i < n; i++) {
            int64_t at = bases[first + i] * s->C + c;
            double lambda = own[size + at] * weight[first + i], moved = w->change[first + i + c * w->n];
            root[i] = sqrt(lambda);
            w->r[i] = own[at] * weight[first + i] - lambda * moved - s->a.x[at];
        }
        if (!solve(w, n, root)) return false;
        if (!quadratic) shorten(w, n);
        for (int64_t i = 0; i < n; i++) s->a.x[bases[first + i] * s->C + c] += w->r[i];
        for (int64_t k = 0; k < s->p; k++) s->trend.x[k * s->C + c] += la_dot(n, w->H + first + k * w->n, w->r);
        if (!pass_on(s, w, c, first, n)) return false;
    }
    return true;
}

anygp_status svdgp_dual_step(svdgp *s, int64_t n, const int64_t *bases, const double *own, const double *weight,
                             bool quadratic, anygp_error *e)
{
    dual_work w = {0};
    anygp_status status = ANYGP_OK;
    TRY_DONE(work_new(s, n, bases, &w, e));
    for (int64_t first = 0; first < n; first += DUAL_BLOCK) {
        int64_t block = n - first < DUAL_BLOCK ? n - first : DUAL_BLOCK;
        if (!step_block(s, &w, first, block, bases, own, weight, quadratic)) {
            status = fail_with(e, ANYGP_ERR_NUMERIC, "the mean's step is not finite");
            goto done;
        }
    }
done:
    work_free(&w);
    return status;
}

/* ----------------------------------------------------------------------------------- covariance */

/* X = T^-T (-2 S) T^-1: what S adds to T B T'. */
static void whitened_sums(const svdgp *s, const double *S, double *X)
{
    int64_t Mt = s->Mt;
    for (int64_t i = 0; i < Mt * Mt; i++) X[i] = -2 * S[i];
    la_trsm(LA_LEFT, LA_T, Mt, Mt, 1, s->T, Mt, X, Mt);
    la_trsm(LA_RIGHT, LA_N, Mt, Mt, 1, s->T, Mt, X, Mt);
}

/* L of T^-1 C, C C' = keep (T L)(T L)' + rho X; where that is not finite, L as it was. */
static void natural_latent(svdgp *s, int64_t c, const double *S, double keep, double rho)
{
    int64_t Mt = s->Mt, at = 0;
    double *X = s->work[0], *TL = s->work[1], *C = s->work[2], *diag = s->work[3], added;
    whitened_sums(s, S, X);
    la_gemm(LA_N, LA_N, Mt, Mt, Mt, 1, s->T, Mt, s->factor[c], Mt, 0, TL, Mt);
    la_gemm(LA_N, LA_T, Mt, Mt, Mt, keep, TL, Mt, TL, Mt, 0, C, Mt);
    for (int64_t j = 0; j < Mt; j++)
        for (int64_t i = j; i < Mt; i++) C[i + j * Mt] += 0.5 * rho * (X[i + j * Mt] + X[j + i * Mt]);
    if (!la_cholesky(Mt, C, Mt, RIDGE, diag, &added)) return;
    la_zero_upper(Mt, C, Mt);
    la_trsm(LA_LEFT, LA_N, Mt, Mt, 1, s->T, Mt, C, Mt);
    if (!isfinite(la_dot(Mt * Mt, C, C))) return;
    for (int64_t i = 0; i < Mt; i++)
        for (int64_t j = 0; j <= i; j++) s->L[c].x[at++] = C[i + j * Mt] * s->scale;
}

void svdgp_natural_step(svdgp *s, const double *S, double keep, double rho)
{
    if (s->Mt == 0 || !(s->whitened || svdgp_whiten(s))) return;
    for (int64_t c = 0; c < s->C; c++) natural_latent(s, c, S + c * s->Mt * s->Mt, keep, rho);
}
