/* The covariance's steps in the space of functions, where they are short.

   The natural gradient of the covariance operator is sum_i -2 h_i k(x_i, .) k(x_i, .)' - Psi_beta B Psi_beta'; in the span
   of beta it moves B to (1 - rho) B + rho K_beta^-1 (-2 S) K_beta^-1, which for rho = 1 and all rows is the optimum.
   As it stands it has the condition of K_beta squared, which smooth functions make 1e16; with K_beta = T'T, T lower,
       T B T'  <-  (1 - rho) (T L)(T L)' + rho T^-T (-2 S) T^-1  =  C C',     L = T^-1 C
   both terms are positive semi-definite but for rounding, and L is lower again.  Where rounding has the better of them, which it can
   once K_beta's condition is above 1e10, K_beta gets more jitter: from there on it is part of the model, as it is anywhere else.

   Cost: M_beta^3. */
#include <math.h>

#include "linalg/linalg.h"
#include "model/decoupled/svdgp_state.h"

/* Of the mean diagonal: what rounding takes from a matrix that is positive semi-definite. */
static const double RIDGE = 1e-14;
/* Of C C', beside which the prior is I: more than that would be a certainty that no row has given. */
static const double ADDED_MOST = 1e-3;

/* X = T^-T (-2 S) T^-1: what S adds to T B T'. */
static void whitened_sums(const svdgp *s, const double *S, double *X)
{
    int64_t Mt = s->Mt;
    for (int64_t i = 0; i < Mt * Mt; i++) X[i] = -2 * S[i];
    la_trsm(LA_LEFT, LA_T, Mt, Mt, 1, s->T, Mt, X, Mt);
    la_trsm(LA_RIGHT, LA_N, Mt, Mt, 1, s->T, Mt, X, Mt);
}

/* L of T^-1 C, C C' = keep (T L)(T L)' + rho X.  False: rounding is all that is left of it, and L is as it was. */
static bool natural_latent(svdgp *s, int64_t c, const double *S, double keep, double rho)
{
    int64_t Mt = s->Mt, at = 0;
    double *X = s->work[0], *TL = s->work[1], *C = s->work[2], *diag = s->work[3], added;
    whitened_sums(s, S, X);
    la_gemm(LA_N, LA_N, Mt, Mt, Mt, 1, s->T, Mt, s->factor[c], Mt, 0, TL, Mt);
    la_gemm(LA_N, LA_T, Mt, Mt, Mt, keep, TL, Mt, TL, Mt, 0, C, Mt);
    for (int64_t j = 0; j < Mt; j++)
        for (int64_t i = j; i < Mt; i++) C[i + j * Mt] += 0.5 * rho * (X[i + j * Mt] + X[j + i * Mt]);
    if (!la_cholesky(Mt, C, Mt, RIDGE, diag, &added) || added > ADDED_MOST) return false;
    la_zero_upper(Mt, C, Mt);
    la_trsm(LA_LEFT, LA_N, Mt, Mt, 1, s->T, Mt, C, Mt);
    if (!isfinite(la_dot(Mt * Mt, C, C))) return false;
    for (int64_t i = 0; i < Mt; i++)
        for (int64_t j = 0; j <= i; j++) s->L[c].values[at++] = C[i + j * Mt] * s->scale;
    return true;
}

bool svdgp_natural_step(svdgp *s, const double *S, double keep, double rho)
{
    double given = s->jitter;
    if (s->Mt == 0) return true;
    if (!s->whitened && !svdgp_whiten(s)) return false;
    for (int64_t c = 0; c < s->C; c++)
        while (!natural_latent(s, c, S + c * s->Mt * s->Mt, keep, rho))
            if (!svdgp_more_jitter(s)) {
                svdgp_set_jitter(s, given);
                return false;
            }
    return true;
}
