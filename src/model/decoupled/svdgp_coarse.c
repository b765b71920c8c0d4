/* The preconditioner of the mean's system  A = K_alpha + K_{alpha,x} Lambda K_{x,alpha}  (svdgp_solve.c), without a cube in M_alpha.

   S is a random subset of the bases, at most `most` of them, R the others, K_S = T T'.  In the coordinates u, b of
       a_S = T^-T u - K_S^-1 K_SR b,   a_R = b:     f(x) = k_xS T^-T u + c_xR b,   c(x, y) = k(x, y) - k_xS K_S^-1 k_Sy
   the prior is I for u, C_R for b, and they are uncorrelated: what is smooth is u's, and c is short.  With rows w that stand for all
   (the witnesses, their lambda scaled by n over their number), V = T^-1 K_Sw,
       of u    (I + V Lambda V')^-1                      of b    1 / (c_ii + sum_w lambda_w c(i, w)^2)
   Where S is all of the bases and the witnesses are all rows, it is the inverse of A; with fewer witnesses what is left has a condition
   that depends on witnesses / |S| alone (Rudi, Carratino, Rosasco 2017: FALKON, whose cube is |S|^3 here).
   The coefficients of the prior mean are coordinates of u with prior I.

   Cost: |S|^2 (witnesses + |S|) and |S|^2 M_alpha once, 2 |S| M_alpha kernel values for a product. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/decoupled/svdgp_state.h"

enum { WITNESSES_A_BASIS = 4, DIAGONAL_WITNESSES = 512, PIECE = 256 };
static const double JITTER = 1e-10; /* of K_S, relative: it decides how fast, not where to */

struct svdgp_coarse {
    int64_t m, n, p, D, C; /* |S|, M_alpha, of the prior mean */
    bool *inside;          /* n: of S */
    int64_t *which;        /* m */
    double *Z;             /* m x D */
    double *T;             /* m x m */
    double **factor;       /* C of (p + m) squared: of I + V Lambda V' */
    double *diagonal;      /* n x C: of b */
    double *K, *F, *tile;  /* m x PIECE, features, of functions.h */
    double *u, *v;         /* (p + m) x C */
};

void svdgp_coarse_free(svdgp_coarse *k)
{
    if (!k) return;
    for (int64_t c = 0; k->factor && c < k->C; c++) free(k->factor[c]);
    void *const owned[] = {k->inside, k->which, k->Z, k->T, k->factor, k->diagonal, k->K, k->F, k->tile, k->u, k->v, k};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

int64_t svdgp_coarse_witnesses(const svdgp *s, int64_t most)
{
    return WITNESSES_A_BASIS * (svdgp_Ma(s) < most ? svdgp_Ma(s) : most);
}

static bool reserve(const svdgp *s, svdgp_coarse *k)
{
    int64_t m = k->m, all = k->p + m;
    k->inside = mem_zeroed(k->n, sizeof *k->inside), k->which = mem_alloc(m, sizeof *k->which);
    k->Z = mem_doubles(m, k->D), k->T = mem_doubles(m, m), k->factor = mem_zeroed(k->C, sizeof *k->factor);
    k->diagonal = mem_doubles(k->n, k->C), k->K = mem_doubles(all, PIECE);
    k->F = mem_alloc(functions_features_size(&s->f, PIECE) + 1, sizeof(double));
    k->tile = mem_alloc(functions_work(&s->f, m > PIECE ? m : PIECE, m > PIECE ? m : PIECE), sizeof(double));
    k->u = mem_doubles(all, k->C), k->v = mem_doubles(all, k->C);
    bool ok =
        k->inside && k->which && k->Z && k->T && k->factor && k->diagonal && k->K && k->F && k->tile && k->u && k->v;
    for (int64_t c = 0; ok && c < k->C; c++) ok = (k->factor[c] = mem_doubles(all, all));
    return ok;
}

static function_set coarse_set(const svdgp_coarse *k) { return (function_set){k->m, k->Z, NULL}; }

static bool factor_K(const svdgp *s, const svdgp_coarse *k)
{
    double *diag = k->u, added;
    if (!functions_pair(&s->f, coarse_set(k), coarse_set(k), k->tile, k->T)) return false;
    bool ok = la_cholesky(k->m, k->T, k->m, JITTER, diag, &added);
    la_zero_upper(k->m, k->T, k->m);
    return ok;
}

/* ---------------------------------------------------------------------------------- what rows tell */

/* V of `rows` rows, (p + m) x rows: the prior mean's functions, then T^-1 K_Sw; H is their Kt's place. */
static bool fill_V(const svdgp *s, const svdgp_coarse *k, int64_t rows, const double *X, int64_t ldx, double *Kt,
                   double *V)
{
    int64_t all = k->p + k->m;
    if (!svdgp_fill(s, coarse_set(k), rows, X, ldx, k->F, k->tile, Kt)) return false;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < all; j++) V[j + i * all] = Kt[i + j * rows];
    la_trsm(LA_LEFT, LA_N, k->m, rows, 1, k->T, k->m, V + k->p, all);
    return true;
}

/* I + V Lambda V' of each latent, and its factor.  witness: w, x[D], lambda[C]. */
static bool factor_rows(const svdgp *s, const svdgp_coarse *k, const param_segment *witness, double scale)
{
    int64_t all = k->p + k->m, width = witness->cols;
    double *Kt = mem_doubles(all, 2 * PIECE), *V = k->K, *weighted = Kt;
    bool ok = Kt;
    for (int64_t c = 0; ok && c < k->C; c++) {
        memset(k->factor[c], 0, (size_t)(all * all) * sizeof(double));
        for (int64_t i = 0; i < all; i++) k->factor[c][i + i * all] = 1;
    }
    for (int64_t i = 0; ok && i < witness->rows; i += PIECE) {
        int64_t rows = witness->rows - i < PIECE ? witness->rows - i : PIECE;
        const double *from = witness->values + i * width;
        ok = fill_V(s, k, rows, from + 1, width, Kt, V);
        for (int64_t c = 0; ok && c < k->C; c++) {
            for (int64_t r = 0; r < rows; r++) {
                double root = sqrt(scale * from[r * width + 1 + k->D + c]);
                for (int64_t j = 0; j < all; j++) weighted[j + r * all] = root * V[j + r * all];
            }
            la_syrk(LA_N, all, rows, 1, weighted, all, 1, k->factor[c], all);
        }
    }
    free(Kt);
    for (int64_t c = 0; ok && c < k->C; c++) ok = la_factor(all, k->factor[c], all);
    return ok;
}

/* c_ii + sum_w lambda_w c(i, w)^2 of bases first .. first + count - 1, with V of `rows` rows. */
static bool fill_diagonal(const svdgp *s, const svdgp_coarse *k, int64_t first, int64_t count, int64_t rows,
                          const param_segment *witness, double scale, const double *V, double *U, double *Kt)
{
    int64_t all = k->p + k->m, width = witness->cols;
    const double *Z = s->alpha.values + first * k->D;
    double prior[PIECE];
    if (!fill_V(s, k, count, Z, k->D, Kt, U)) return false;
    kernel_diag(s->kernel, count, Z, k->D, prior);
    for (int64_t j = 0; j < count; j++) {
        const double *u = U + k->p + j * all;
        double left = fmax(prior[j] - la_dot(k->m, u, u), JITTER * prior[j]);
        for (int64_t c = 0; c < k->C; c++) k->diagonal[(first + j) * k->C + c] = left;
    }
    function_set part = functions_part(svdgp_alpha(s), k->D, first, count);
    for (int64_t i = 0; i < rows; i += PIECE) {
        int64_t n = rows - i < PIECE ? rows - i : PIECE;
        const double *from = witness->values + i * width;
        functions_features(&s->f, n, from + 1, width, k->F);
        if (!functions_gram(&s->f, part, n, from + 1, width, k->F, k->tile, Kt)) return false;
        la_gemm(LA_T, LA_N, n, count, k->m, -1, V + k->p + i * all, all, U + k->p, all, 1, Kt, n);
        for (int64_t j = 0; j < count; j++)
            for (int64_t r = 0; r < n; r++)
                for (int64_t c = 0; c < k->C; c++)
                    k->diagonal[(first + j) * k->C + c] +=
                        scale * from[r * width + 1 + k->D + c] * Kt[r + j * n] * Kt[r + j * n];
    }
    return true;
}

static bool find_diagonal(const svdgp *s, const svdgp_coarse *k, const param_segment *witness, double scale)
{
    int64_t all = k->p + k->m, rows = witness->rows < DIAGONAL_WITNESSES ? witness->rows : DIAGONAL_WITNESSES;
    if (k->m == k->n) return true;
    double *V = mem_doubles(all, rows), *U = mem_doubles(all, PIECE),
           *Kt = mem_doubles(all > PIECE ? all : PIECE, PIECE);
    bool ok = V && U && Kt;
    for (int64_t i = 0; ok && i < rows; i += PIECE) {
        int64_t n = rows - i < PIECE ? rows - i : PIECE;
        ok = fill_V(s, k, n, witness->values + i * witness->cols + 1, witness->cols, Kt, V + i * all);
    }
    for (int64_t m = 0; ok && m < k->n; m += PIECE)
        ok = fill_diagonal(s, k, m, k->n - m < PIECE ? k->n - m : PIECE, rows, witness,
                           scale * (double)witness->rows / (double)rows, V, U, Kt);
    free(V);
    free(U);
    free(Kt);
    return ok;
}

svdgp_coarse *svdgp_coarse_new(const svdgp *s, int64_t most, const param_segment *witness, double scale,
                               random_stream random)
{
    svdgp_coarse *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    *k =
        (svdgp_coarse){.m = svdgp_Ma(s) < most ? svdgp_Ma(s) : most, .n = svdgp_Ma(s), .p = s->p, .D = s->D, .C = s->C};
    bool ok = reserve(s, k);
    if (ok) random_subset(random, k->n, k->m, k->which);
    for (int64_t j = 0; ok && j < k->m; j++) {
        k->inside[k->which[j]] = true;
        memcpy(k->Z + j * k->D, s->alpha.values + k->which[j] * k->D, (size_t)k->D * sizeof *k->Z);
    }
    ok = ok && factor_K(s, k) && factor_rows(s, k, witness, scale) && find_diagonal(s, k, witness, scale);
    if (ok) return k;
    svdgp_coarse_free(k);
    return NULL;
}

/* ------------------------------------------------------------------------------------------ product */

/* K_SR of bases first .. first + count - 1, m x count, with zeros for those of S. */
static bool fill_K(const svdgp *s, const svdgp_coarse *k, int64_t first, int64_t count)
{
    if (!functions_pair(&s->f, functions_part(svdgp_alpha(s), k->D, first, count), coarse_set(k), k->tile, k->K))
        return false;
    for (int64_t j = 0; j < count; j++)
        if (k->inside[first + j]) memset(k->K + j * k->m, 0, (size_t)k->m * sizeof *k->K);
    return true;
}

/* u[C x (p + m)]: the prior mean's and S's of r, the latter through T^-1; v: K_S^-1 r_S. */
static void gather(const svdgp_coarse *k, const double *r)
{
    int64_t C = k->C, p = k->p, m = k->m, all = p + m;
    for (int64_t c = 0; c < C; c++) {
        double *u = k->u + c * all, *v = k->v + c * all;
        for (int64_t i = 0; i < p; i++) u[i] = r[(k->n + i) * C + c];
        for (int64_t j = 0; j < m; j++) u[p + j] = r[k->which[j] * C + c];
        la_trsv(LA_N, m, k->T, m, u + p);
        memcpy(v, u, (size_t)all * sizeof *v);
        la_trsv(LA_T, m, k->T, m, v + p);
    }
}

/* z_R = D^-1 (r_R - K_RS v), and t = K_SR z_R in the place of v. */
static bool fine(const svdgp *s, const svdgp_coarse *k, const double *r, double *z, double *t)
{
    int64_t C = k->C, all = k->p + k->m;
    memset(t, 0, (size_t)(all * C) * sizeof *t);
    for (int64_t m = 0; m < k->n; m += PIECE) {
        int64_t count = k->n - m < PIECE ? k->n - m : PIECE;
        if (!fill_K(s, k, m, count)) return false;
        for (int64_t c = 0; c < C; c++)
            for (int64_t j = 0; j < count; j++) {
                int64_t at = (m + j) * C + c;
                if (k->inside[m + j]) continue;
                z[at] = (r[at] - la_dot(k->m, k->K + j * k->m, k->v + c * all + k->p)) / k->diagonal[at];
                la_axpy(k->m, z[at], k->K + j * k->m, t + c * all + k->p);
            }
    }
    return true;
}

bool svdgp_coarse_apply(const svdgp *s, const svdgp_coarse *k, bool alone, const double *r, double *z)
{
    int64_t C = k->C, p = k->p, m = k->m, all = p + m;
    double *t = mem_zeroed(all * C, sizeof *t);
    if (!t) return false;
    gather(k, r);
    if (alone) memset(z, 0, (size_t)(k->n * C) * sizeof *z);
    bool ok = alone || k->m == k->n || fine(s, k, r, z, t);
    for (int64_t c = 0; ok && c < C; c++) {
        double *u = k->u + c * all, *back = t + c * all + p;
        la_trsv(LA_N, all, k->factor[c], all, u);
        la_trsv(LA_T, all, k->factor[c], all, u);
        la_trsv(LA_N, m, k->T, m, back);
        la_axpy(m, -1, back, u + p);
        la_trsv(LA_T, m, k->T, m, u + p);
        for (int64_t i = 0; i < p; i++) z[(k->n + i) * C + c] = u[i];
        for (int64_t j = 0; j < m; j++) z[k->which[j] * C + c] = u[p + j];
    }
    free(t);
    return ok;
}
