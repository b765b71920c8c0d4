/* Mean and covariance of y_i = h(t_i), h = g^-1 [base/warp.h], for normal t: t_i = m_i + s_i z_i, with correlations rho_ij of z.

   log:  E y_i = exp(m_i + s_i^2 / 2),  Cov(y_i, y_j) = E y_i E y_j (exp(s_i s_j rho_ij) - 1).
   boxcox, by the expansion in Hermite polynomials He_k, which are orthogonal under the normal distribution, also between correlated
   z (Mehler 1866), E He_k(z_i) He_l(z_j) = k! rho_ij^k for k = l, else 0:
       h(m_i + s_i z) = sum_k a_ik He_k(z) / sqrt(k!),     a_ik = E h(m_i + s_i z) He_k(z) / sqrt(k!)
       Cov(y_i, y_j)  = sum_{k >= 1} a_ik a_jk rho_ij^k
   after K terms the rest is taken as rho_ij^(K + 1) sqrt(r_i r_j), where r_i = Var y_i - sum_{1 <= k <= K} a_ik^2 is what these terms
   leave: that bounds it, and is exact for rho = 1.  Powers of a correlation matrix, element by element, are positive semidefinite
   (Schur 1911), and so is the sum.  For lambda = 1/2, 1/3 ... h is a polynomial where t is above the floor, and K terms are all.
   Cost n K places of quadrature and n^2 K. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/gp.h"

static void to_lognormal(int64_t n, double *mean, double *covariance)
{
    for (int64_t i = 0; i < n; i++) mean[i] = exp(mean[i] + 0.5 * covariance[i + i * n]);
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < n; i++) covariance[i + k * n] = mean[i] * mean[k] * expm1(covariance[i + k * n]);
}

/* What is needed of row i. */
enum { K = WARP_HERMITE };
typedef struct marginal {
    double sd;   /* of t */
    double a[K]; /* a_1 .. a_K */
    double rest; /* sqrt(r) */
    double variance;
} marginal;

static void expand(const warp *w, double variance, double *mean, marginal *out)
{
    double m = *mean, left;
    out->sd = sqrt(variance);
    warp_moments(w, m, variance, mean, &out->variance);
    warp_hermite(w, m, out->sd, out->a);
    left = out->variance;
    for (int k = 0; k < K; k++) left -= out->a[k] * out->a[k];
    out->rest = sqrt(fmax(left, 0));
}

static double covariance_of(const marginal *a, const marginal *b, double c)
{
    if (!(a->sd > 0) || !(b->sd > 0)) return 0;
    double rho = fmin(fmax(c / (a->sd * b->sd), -1), 1), sum = 0, power = rho;
    for (int k = 0; k < K; k++) sum += a->a[k] * b->a[k] * power, power *= rho;
    return sum + power * a->rest * b->rest;
}

anygp_status gp_joint_warp(const warp *w, int64_t n, double *mean, double *covariance, anygp_error *e)
{
    if (!(w->lambda > 0)) return to_lognormal(n, mean, covariance), ANYGP_OK;
    marginal *row = mem_alloc(n, sizeof *row);
    if (!row) return fail_memory(e, "the joint distribution", (double)n * sizeof *row);
    for (int64_t i = 0; i < n; i++) expand(w, covariance[i + i * n], &mean[i], &row[i]);
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < n; i++)
            covariance[i + k * n] = i == k ? row[i].variance : covariance_of(&row[i], &row[k], covariance[i + k * n]);
    free(row);
    return ANYGP_OK;
}
