/* From the summed statistics to the objective; notation and equations in sparse.h.  All of it is M x M: O(M^3). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/sparse/sparse_parts.h"

/* ------------------------------------------------------------------------------- the form of V */

anygp_status sparse_divide(sparse *s, sparse_form form, int64_t count, const int64_t *sizes, anygp_error *e)
{
    s->form = form;
    if (form == FORM_JOINT) return ANYGP_OK;
    s->J = mem_doubles(s->Mt, s->Mt);
    s->set = mem_zeroed(s->Mt, sizeof *s->set);
    if (!s->J || !s->set) return fail_memory(e, "the sets of inducing inputs", 8.0 * (double)s->Mt * (double)s->Mt);
    for (int64_t i = 0, k = 0, end = count > 0 ? sizes[0] : s->M; i < s->M; i++) {
        while (i >= end && k + 1 < count) end += sizes[++k];
        s->set[i] = k;
    }
    return ANYGP_OK;
}

/* Whether V_ij is as at the maximum; else it is the prior's. */
static bool is_free(const sparse *s, int64_t i, int64_t j)
{
    return s->set[i] == s->set[j] && !(s->form == FORM_MEANS && s->set[i] > 0);
}

/* B, the factor of V^-1, from S; returns the part of tr(S V) where V is the prior's, or 0. */
static double precision_of_form(sparse *s, const double *S)
{
    int64_t Mt = s->Mt;
    double held = 0;
    for (int64_t j = 0; j < Mt; j++) {
        for (int64_t i = j; i < Mt; i++) s->B[i + j * Mt] = (i == j) + (is_free(s, i, j) ? S[i + j * Mt] : 0);
        if (!is_free(s, j, j)) held += S[j + j * Mt];
    }
    return held;
}

/* ------------------------------------------------------------------------------------ evidence */

/* Where -2 sum A dbar A' is S, or sum_t rho_t S: its share of E. */
static void add_trace(sparse *s, const double *S)
{
    double times = s->targets > 1 ? s->many.shares : 1;
    for (int64_t j = 0; is_trace(s) && j < s->M; j++) la_axpy(s->M - j, times, S + j + j * s->Mt, s->E + j + j * s->Mt);
}

/* The factor of a I + S in B, and m = (a I + S)^-1 b; *fit = b'm. */
static bool joint_maximum(sparse *s, const double *S, const double *b, double *fit)
{
    int64_t Mt = s->Mt;
    memcpy(s->B, S, (size_t)(Mt * Mt) * sizeof(double));
    for (int64_t i = 0; i < Mt; i++) s->B[i + i * Mt] += s->prior;
    if (!la_factor(Mt, s->B, Mt)) return false;
    la_zero_upper(Mt, s->B, Mt);
    memcpy(s->m, b, (size_t)Mt * sizeof(double));
    la_trsv(LA_N, Mt, s->B, Mt, s->m);
    *fit = la_dot(Mt, s->m, s->m);
    la_trsv(LA_T, Mt, s->B, Mt, s->m);
    return true;
}

/* The joint factor goes to J; B becomes that of a V of the form asked for. */
static bool restrict_form(sparse *s, const double *S, double *held)
{
    memcpy(s->J, s->B, (size_t)(s->Mt * s->Mt) * sizeof(double));
    *held = precision_of_form(s, S);
    if (!la_factor(s->Mt, s->B, s->Mt)) return false;
    la_zero_upper(s->Mt, s->B, s->Mt);
    return true;
}

/* V and E.  With m at its maximum sum Abar A' = m m' - V S - 2 sum A Gbar A'; with V there too, V S = I - a V. */
static bool coefficients(sparse *s, const double *S)
{
    int64_t Mt = s->Mt;
    memcpy(s->V, s->B, (size_t)(Mt * Mt) * sizeof(double));
    if (la_potri(Mt, s->V, Mt) != 0) return false;
    la_mirror(Mt, s->V, Mt);
    bool joint = s->form == FORM_JOINT;
    for (int64_t j = 0; j < Mt; j++)
        for (int64_t i = 0; i < Mt; i++)
            s->E[i + j * Mt] = s->m[i] * s->m[j] + (joint ? s->V[i + j * Mt] - (i == j) : 0);
    if (!joint) la_symm(LA_RIGHT, Mt, Mt, -1, S, Mt, s->V, Mt, 1, s->E, Mt);
    add_trace(s, S);
    return true;
}

bool sparse_evidence(sparse *s, const double *stat, bool gradient, double *value)
{
    double *sums = (double *)stat, fit, held = 0;
    const double *S = stat_S(s, sums);
    if (!joint_maximum(s, S, stat_b(s, sums), &fit)) return false;
    if (s->form != FORM_JOINT && !restrict_form(s, S, &held)) return false;
    *value = -0.5 * (s->prior * (s->total * LOG_2PI + la_logdet(s->Mt, s->B, s->Mt)) + held + *stat_l(s, sums) +
                     *stat_q(s, sums) - fit + (1 - s->prior) * (double)s->Mt);
    if (!isfinite(*value)) return false;
    return !gradient || coefficients(s, S);
}

/* ------------------------------------------------------------------------------------- bound */

/* sum_ij S_ij C_ij, S by its lower triangle, C symmetric */
static double symmetric_dot(int64_t n, const double *S, const double *C)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        sum += S[j + j * n] * C[j + j * n];
        sum += 2 * la_dot(n - j - 1, S + j + 1 + j * n, C + j + 1 + j * n);
    }
    return sum;
}

/* C = V + sum_t rho_t m_t m_t' in s->work, and sum_t rho_t (l + q_t - 2 m_t'b_t) + tr(S C); V is sum_t rho_t V_t. */
static double data_term(sparse *s, const double *stat, const double *m, const double *V)
{
    int64_t Mt = s->Mt;
    double *sums = (double *)stat, *C = s->work, data = 0;
    memcpy(C, V, (size_t)(Mt * Mt) * sizeof *C);
    for (int64_t t = 0; t < s->targets; t++) {
        const double *one = m + t * Mt;
        double rho = sparse_share_of(s, t);
        for (int64_t j = 0; j < Mt; j++) la_axpy(Mt, rho * one[j], one, C + j * Mt);
        data += rho * (*stat_l(s, sums) + stat_q(s, sums)[t] - 2 * la_dot(Mt, one, stat_b(s, sums) + t * Mt));
    }
    return data + symmetric_dot(Mt, stat_S(s, sums), C);
}

/* E = sum_t rho_t m_t b_t' - C S, after data_term. */
static void bound_E(sparse *s, const double *stat, const double *m)
{
    int64_t Mt = s->Mt;
    double *sums = (double *)stat;
    const double *S = stat_S(s, sums), *b = stat_b(s, sums);
    memset(s->E, 0, (size_t)(Mt * Mt) * sizeof *s->E);
    for (int64_t t = 0; t < s->targets; t++)
        for (int64_t j = 0; j < Mt; j++) la_axpy(Mt, sparse_share_of(s, t) * b[j + t * Mt], m + t * Mt, s->E + j * Mt);
    la_symm(LA_RIGHT, Mt, Mt, -1, S, Mt, s->work, Mt, 1, s->E, Mt);
    add_trace(s, S);
}

bool sparse_bound(sparse *s, const double *stat, double times, const double *m, const double *V, double kl,
                  bool gradient, double *value)
{
    int64_t Mt = s->Mt;
    double data = data_term(s, stat, m, V);
    *value = -0.5 * (s->prior * s->total * LOG_2PI + times * data) - s->prior * kl;
    if (!isfinite(*value)) return false;
    if (!gradient) return true;
    memcpy(s->V, V, (size_t)(Mt * Mt) * sizeof(double));
    memcpy(s->m, m, (size_t)Mt * sizeof(double));
    bound_E(s, stat, m);
    return true;
}

double sparse_rows_bound(sparse *s, const double *stat, bool gradient)
{
    double data = data_term(s, stat, s->m, s->V);
    if (gradient) bound_E(s, stat, s->m);
    return -0.5 * data;
}

/* --------------------------------------------------------------------------------- upper bound */

bool sparse_upper(sparse *s, const double *stat, double *value)
{
    int64_t Mt = s->Mt;
    double *sums = (double *)stat, *P = s->work, *x = s->diag;
    const double *joint = s->form == FORM_JOINT ? s->B : s->J;
    double dtc = s->total * log(s->noise), ratio = 1 + fmax(*stat_l(s, sums) - dtc, 0);
    memcpy(P, stat_S(s, sums), (size_t)(Mt * Mt) * sizeof *P);
    for (int64_t i = 0; i < Mt; i++) P[i + i * Mt] += ratio;
    if (!la_factor(Mt, P, Mt)) return false;
    memcpy(x, stat_b(s, sums), (size_t)Mt * sizeof *x);
    la_trsv(LA_N, Mt, P, Mt, x);
    double fit = (*stat_q(s, sums) - la_dot(Mt, x, x)) / ratio;
    *value = -0.5 * (s->total * LOG_2PI + dtc + la_logdet(Mt, joint, Mt) + fit);
    return isfinite(*value);
}
