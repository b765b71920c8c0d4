/* Shared by the tests of q(v): random blocks, and the formulas of the space of u (000, eq. 14, 17, 18) with explicit inverses,
   in extended precision. */
#ifndef TEST_NATURAL_SUPPORT_H
#define TEST_NATURAL_SUPPORT_H

#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "dense.h"
#include "gauss/gauss.h"

enum { M_MOST = 70, P_MOST = 5, SQUARE = M_MOST * M_MOST, LDL = M_MOST + 3 };

/* P blocks, and a factor of K_uu.  What no function may read is NaN: the triangles above. */
typedef struct problem {
    int M, P;
    double L[M_MOST * LDL];
    double S[P_MOST][SQUARE], b[P_MOST][M_MOST]; /* A_s G_s^-1 A_s', A_s G_s^-1 y_s */
} problem;

typedef struct moments {
    real mu[M_MOST], Sigma[SQUARE]; /* of u */
} moments;

static inline void make_block(int M, uint64_t stream, double *S, double *b)
{
    enum { ROWS = 3 };
    double A[ROWS * M_MOST], y[ROWS];
    fill_normal(stream, ROWS * M, A);
    fill_normal(stream + 1, ROWS, y);
    for (int i = 0; i < M; i++) {
        b[i] = 0;
        for (int r = 0; r < ROWS; r++) b[i] += A[i + r * M] * y[r];
        for (int j = 0; j < M; j++) {
            S[i + j * M] = i < j ? NAN : 0;
            for (int r = 0; r < ROWS; r++) S[i + j * M] += A[i + r * M] * A[j + r * M];
        }
    }
}

static inline void make_problem(problem *p, int M, int P)
{
    *p = (problem){.M = M, .P = P};
    for (int s = 0; s < P; s++) make_block(M, (uint64_t)(100 + 2 * s), p->S[s], p->b[s]);
    fill_normal(99, M_MOST * LDL, p->L);
    for (int j = 0; j < M; j++)
        for (int i = 0; i < LDL; i++) {
            double *l = &p->L[i + j * LDL];
            *l = i < j || i >= M ? NAN : i == j ? 1 + 0.3 * fabs(sin(i)) : 0.4 * *l / M;
        }
}

/* c times the sum over the blocks of a sample */
static inline void gather(const problem *p, double c, int count, const int *block, double *S, double *b)
{
    for (int k = 0; k < p->M * p->M; k++) {
        S[k] = 0;
        for (int s = 0; s < count; s++) S[k] += c * p->S[block[s]][k];
    }
    for (int i = 0; i < p->M; i++) {
        b[i] = 0;
        for (int s = 0; s < count; s++) b[i] += c * p->b[block[s]][i];
    }
}

static inline void gather_all(const problem *p, double *S, double *b)
{
    const int all[P_MOST] = {0, 1, 2, 3, 4};
    gather(p, 1, p->P, all, S, b);
}

/* A start that is neither the prior nor the optimum. */
static inline void start(const problem *p, gauss *q)
{
    anygp_error e;
    double S[SQUARE], b[M_MOST];
    assert_int_equal(gauss_init(q, p->M, &e), ANYGP_OK);
    make_block(p->M, 500, S, b);
    assert_true(natural_step(q, 0.4, 1, S, b));
}

static inline real lower(const double *A, int M, int i, int j) { return i >= j ? A[i + j * M] : A[j + i * M]; }

/* C = op(A) B, row-major */
static inline void multiply(int M, bool transposed, const real *A, const real *B, real *C)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            C[i * M + j] = 0;
            for (int k = 0; k < M; k++) C[i * M + j] += (transposed ? A[k * M + i] : A[i * M + k]) * B[k * M + j];
        }
}

static inline void dense_factor(const problem *p, real *L)
{
    for (int i = 0; i < p->M; i++)
        for (int j = 0; j < p->M; j++) L[i * p->M + j] = i >= j ? p->L[i + j * LDL] : 0;
}

/* mu = L m, Sigma = L Lambda^-1 L' */
static inline void moments_of(const problem *p, const gauss *q, moments *u)
{
    int M = p->M;
    real L[SQUARE], V[SQUARE], LV[SQUARE];
    dense_factor(p, L);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) V[i * M + j] = lower(q->Lambda, M, i, j);
    dense_invert(M, V);
    multiply(M, false, L, V, LV);
    for (int i = 0; i < M; i++) {
        u->mu[i] = 0;
        for (int j = 0; j < M; j++) u->mu[i] += L[i * M + j] * (real)q->m[j];
        for (int j = 0; j < M; j++) {
            u->Sigma[i * M + j] = 0;
            for (int k = 0; k < M; k++) u->Sigma[i * M + j] += LV[i * M + k] * L[j * M + k];
        }
    }
}

/* F' + F = L^-T (prior I + S) L^-1 and G = L^-T b */
static inline void dense_terms(const problem *p, real prior, const double *S, const double *b, real *F, real *G)
{
    int M = p->M;
    real inverse[SQUARE], T[SQUARE], B[SQUARE];
    dense_factor(p, inverse);
    dense_invert(M, inverse);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) B[i * M + j] = lower(S, M, i, j) + (i == j ? prior : 0);
    multiply(M, false, B, inverse, T);
    multiply(M, true, inverse, T, F);
    for (int i = 0; i < M; i++) {
        G[i] = 0;
        for (int j = 0; j < M; j++) G[i] += inverse[j * M + i] * (real)b[j];
    }
}

/* (14), (17), (18) as printed */
static inline void dense_plain(const problem *p, real rho, real prior, const double *S, const double *b, moments *u)
{
    int M = p->M;
    real F[SQUARE], G[M_MOST], inverse[SQUARE], step[M_MOST];
    dense_terms(p, prior, S, b, F, G);
    memcpy(inverse, u->Sigma, (size_t)(M * M) * sizeof *inverse);
    dense_invert(M, inverse);
    for (int i = 0; i < M; i++) {
        step[i] = G[i];
        for (int j = 0; j < M; j++) step[i] -= F[i * M + j] * u->mu[j];
    }
    for (int i = 0; i < M; i++) u->mu[i] += rho * step[i];
    for (int k = 0; k < M * M; k++) u->Sigma[k] += rho / 2 * (inverse[k] - F[k]);
}

static inline void check_moments(int M, const moments *a, const moments *b, double tolerance)
{
    for (int i = 0; i < M; i++) check_close((double)a->mu[i], (double)b->mu[i], tolerance);
    for (int k = 0; k < M * M; k++) check_close((double)a->Sigma[k], (double)b->Sigma[k], tolerance);
}

/* What holds between the parts of any q. */
static inline void check_consistent(const gauss *q, double tolerance)
{
    int M = (int)q->M;
    for (int i = 0; i < M; i++) {
        real t = 0;
        for (int j = 0; j < M; j++) t += lower(q->Lambda, M, i, j) * (real)q->m[j];
        check_close((double)t, q->theta[i], tolerance);
        assert_true(q->F[i + i * M] > 0);
        for (int j = 0; j <= i; j++) {
            real s = 0;
            for (int k = 0; k <= j; k++) s += (real)q->F[i + k * M] * q->F[j + k * M];
            check_close((double)s, q->Lambda[i + j * M], tolerance);
        }
        for (int j = i + 1; j < M; j++) assert_true(q->F[i + j * M] == 0 && q->Lambda[i + j * M] == 0);
    }
}

/* q = N((prior I + S)^-1 b, (prior I + S)^-1) */
static inline void check_optimum(const gauss *q, real prior, const double *S, const double *b, double tolerance)
{
    int M = (int)q->M;
    real C[SQUARE];
    double V[SQUARE];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) C[i * M + j] = lower(S, M, i, j) + (i == j ? prior : 0);
    dense_invert(M, C);
    gauss_covariance(q, V);
    for (int i = 0; i < M; i++) {
        real m = 0;
        for (int j = 0; j < M; j++) m += C[i * M + j] * (real)b[j];
        check_close(q->m[i], (double)m, tolerance);
        for (int j = 0; j < M; j++) check_close(V[i + j * M], (double)C[i * M + j], tolerance);
    }
}

#endif
