/* Y = L^-T E L^-1 for symmetric E, in n^3 operations rather than the 2 n^3 of two triangular solves (LAPACK's dsygst has
   L^-1 E L^-T and L' E L, not this side).  From L' Y L = E by blocks, lower triangles,
       E22 = L22' Y22 L22
       E21 = L22' W,                     W = Y21 L11 + Y22 L21
       E11 = L11' Y11 L11 + W' L21 + L21' W - L21' Y22 L21
   so that, from the last half to the first,
       Y22 = L22^-T E22 L22^-1                            by halves again
       W = L22^-T E21,   P = Y22 L21,   S = W - P/2
       E11 <- E11 - S' L21 - L21' S                       the lower triangle
       Y21 = (W - P) L11^-1
       Y11 = L11^-T E11 L11^-1                            by halves again,
   which costs 6 (n/2)^3 per level, down to TRIANGLE_BASE, where L^-1 is available and two small products suffice.
   Workspace: P, about (n/2)^2 doubles; without it P is computed twice. */
#include <stdlib.h>

#include "base/memory.h"
#include "linalg/blas.h"
#include "linalg/linalg.h"

enum { BASE = TRIANGLE_BASE };

static int64_t half(int64_t n) { return (n / 2 + BASE - 1) / BASE * BASE; }

static void solve(la_side side, la_op op, int64_t m, int64_t n, const double *L, int64_t ldl, const double *T,
                  double *B, int64_t ldb)
{
    if (T)
        la_trsm_prepared(side, op, m, n, L, ldl, T, B, ldb);
    else
        la_trsm(side, op, m, n, 1, L, ldl, B, ldb);
}

static void base(int64_t n, const double *L, int64_t ldl, const double *T, double *E, int64_t lde)
{
    double inverse[BASE * TRIANGLE_STRIDE], full[BASE * BASE], product[BASE * BASE];
    if (!T) triangle_invert(n, L, ldl, inverse);
    const double *R = T ? T : inverse;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) full[i + j * BASE] = full[j + i * BASE] = E[i + j * lde];
    la_gemm(LA_N, LA_N, n, n, n, 1, full, BASE, R, BASE, 0, product, BASE);
    la_gemm(LA_T, LA_N, n, n, n, 1, R, BASE, product, BASE, 0, full, BASE);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) E[i + j * lde] = full[i + j * BASE];
}

/* B -= P/2, P = Y22 L21[n2,n1]: from P[n2,n1] where there is memory for it. */
static void subtract_half(int64_t n2, int64_t n1, const double *P, const double *Y22, const double *L21, int64_t ldl,
                          double *B, int64_t lde)
{
    if (!P) la_symm(LA_LEFT, n2, n1, -0.5, Y22, lde, L21, ldl, 1, B, lde);
    for (int64_t j = 0; P && j < n1; j++)
        for (int64_t i = 0; i < n2; i++) B[i + j * lde] -= 0.5 * P[i + j * n2];
}

static void by_halves(int64_t n, const double *L, int64_t ldl, const double *T, double *E, int64_t lde, double *P)
{
    if (n <= BASE) {
        base(n, L, ldl, T, E, lde);
        return;
    }
    int64_t n1 = half(n), n2 = n - n1;
    const double *L21 = L + n1, *L22 = L21 + n1 * ldl, *T22 = T ? T + n1 * TRIANGLE_STRIDE : NULL;
    double *E21 = E + n1, *E22 = E21 + n1 * lde;
    by_halves(n2, L22, ldl, T22, E22, lde, P);
    solve(LA_LEFT, LA_T, n2, n1, L22, ldl, T22, E21, lde);
    if (P) la_symm(LA_LEFT, n2, n1, 1, E22, lde, L21, ldl, 0, P, n2);
    subtract_half(n2, n1, P, E22, L21, ldl, E21, lde);
    la_gemm_lower(LA_T, LA_N, n1, n2, -1, E21, lde, L21, ldl, 1, E, lde);
    la_gemm_lower(LA_T, LA_N, n1, n2, -1, L21, ldl, E21, lde, 1, E, lde);
    subtract_half(n2, n1, P, E22, L21, ldl, E21, lde);
    solve(LA_RIGHT, LA_N, n2, n1, L, ldl, T, E21, lde);
    by_halves(n1, L, ldl, T, E, lde, P);
}

/* Doubles of P: where the first half is much the larger one, its own halves need more. */
static int64_t room(int64_t n)
{
    int64_t n1 = half(n), here = n1 * (n - n1), inside = n1 * n1 / 4;
    return here > inside ? here : inside;
}

void la_congruence(int64_t n, const double *L, int64_t ldl, const double *T, double *E, int64_t lde)
{
    double *own = T ? NULL : mem_alloc(la_trsm_size(n), sizeof *own);
    double *P = mem_alloc(room(n), sizeof *P);
    if (own) la_trsm_prepare(n, L, ldl, own);
    by_halves(n, L, ldl, T ? T : own, E, lde, P);
    free(P);
    free(own);
}
