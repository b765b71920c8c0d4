/* The collapsed bounds by their definitions with full matrices in extended precision: the orthogonal decomposition of 004
   over all original rows, without whitening.  Coefficients of a prior mean go with the first set of inducing variables. */
#ifndef TEST_BOUNDS_SUPPORT_H
#define TEST_BOUNDS_SUPPORT_H

#include "sparse_support.h"

enum { WIDE = M + 3, SECOND_MOST = M };

/* Matrices are row-major. */
typedef struct orthogonal {
    int n, row[OBSERVED]; /* original rows */
    int u, v;             /* inducing inputs of the first and of the second set */
    int U;                /* u and the coefficients of the mean */
    real noise, y[OBSERVED];
    real Kuu[M * M];                       /* inverse of K_uu */
    real C[M * M], logdet_C;               /* inverse of C_vv */
    real Cvv[M * M];                       /* C_vv */
    real F[OBSERVED * WIDE];               /* what multiplies (u, coefficients) */
    real P[OBSERVED * SECOND_MOST];        /* C_fv C_vv^-1 */
    real R[OBSERVED * OBSERVED], logdet_R; /* inverse of Q + basis + noise I */
    real trace;                            /* of K - Q */
} orthogonal;

/* K_zz with jitter between inducing inputs i and j. */
static inline real k_inducing(const fixture *f, double jitter, int i, int j)
{
    real mean = 0;
    for (int k = 0; k < M; k++) mean += k_of(f, f->h.Z + k * D, f->h.Z + k * D) / M;
    return k_of(f, f->h.Z + i * D, f->h.Z + j * D) + (i == j ? jitter * mean : 0);
}

/* w[u]: k(x, Z_u) K_uu^-1 */
static inline void weights_of(const fixture *f, const orthogonal *o, const double *x, real *w)
{
    for (int i = 0; i < o->u; i++) {
        w[i] = 0;
        for (int j = 0; j < o->u; j++) w[i] += k_of(f, x, f->h.Z + j * D) * o->Kuu[j * o->u + i];
    }
}

/* c[v]: covariance of f(x) and the second set given the first. */
static inline void cross_of(const fixture *f, double jitter, const orthogonal *o, const double *x, real *c)
{
    real w[M];
    weights_of(f, o, x, w);
    for (int i = 0; i < o->v; i++) {
        c[i] = k_of(f, x, f->h.Z + (o->u + i) * D);
        for (int j = 0; j < o->u; j++) c[i] -= w[j] * k_inducing(f, jitter, j, o->u + i);
    }
}

/* Row of (u, coefficients) for x. */
static inline void first_of(const fixture *f, const orthogonal *o, const double *x, real *row)
{
    weights_of(f, o, x, row);
    for (int64_t i = 0; i < f->mean.p; i++) row[o->u + i] = f->mean.column[i] < 0 ? 1 : (real)x[f->mean.column[i]];
}

/* p[v] = c C_vv^-1 */
static inline void second_of(const fixture *f, double jitter, const orthogonal *o, const double *x, real *p)
{
    real c[M];
    cross_of(f, jitter, o, x, c);
    for (int i = 0; i < o->v; i++) {
        p[i] = 0;
        for (int j = 0; j < o->v; j++) p[i] += c[j] * o->C[j * o->v + i];
    }
}

static inline void make_Cvv(const fixture *f, double jitter, orthogonal *o)
{
    for (int i = 0; i < o->v; i++)
        for (int j = 0; j < o->v; j++) {
            real c = k_inducing(f, jitter, o->u + i, o->u + j);
            for (int a = 0; a < o->u; a++)
                for (int b = 0; b < o->u; b++)
                    c -= k_inducing(f, jitter, o->u + i, a) * o->Kuu[a * o->u + b] * k_inducing(f, jitter, b, o->u + j);
            o->C[i * o->v + j] = o->Cvv[i * o->v + j] = c;
        }
    o->logdet_C = dense_invert(o->v, o->C);
}

/* q(x, z) of the first set alone */
static inline real q_first(const fixture *f, const orthogonal *o, const double *x, const double *z)
{
    real w[M], q = 0;
    weights_of(f, o, x, w);
    for (int i = 0; i < o->u; i++) q += w[i] * k_of(f, f->h.Z + i * D, z);
    return q;
}

static inline void make_rows(const fixture *f, double jitter, orthogonal *o)
{
    for (int a = 0; a < o->n; a++) {
        const double *x = f->X + o->row[a] * D;
        first_of(f, o, x, o->F + a * o->U);
        second_of(f, jitter, o, x, o->P + a * o->v);
        o->trace += k_of(f, x, x) - q_first(f, o, x, x);
        for (int b = 0; b < o->n; b++) {
            const double *z = f->X + o->row[b] * D;
            o->R[a * o->n + b] = q_first(f, o, x, z) + basis_product(&f->mean, x, z) + (a == b ? o->noise : 0);
        }
    }
    o->logdet_R = dense_invert(o->n, o->R);
}

/* The first `u` inducing inputs, and all the others. */
static inline orthogonal *orthogonal_new(const fixture *f, int u, double jitter)
{
    orthogonal *o = calloc(1, sizeof *o);
    o->u = u, o->v = M - u, o->U = u + (int)f->mean.p;
    o->noise = f->h.like[0] + kernel_white(f->h.kernel);
    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < (int)f->w[i]; c++) o->y[o->n] = f->y[i], o->row[o->n++] = i;
    for (int i = 0; i < u; i++)
        for (int j = 0; j < u; j++) o->Kuu[i * u + j] = k_inducing(f, jitter, i, j);
    dense_invert(u, o->Kuu);
    make_Cvv(f, jitter, o);
    make_rows(f, jitter, o);
    return o;
}

/* 004, eq. 21, at q(v_perp) = N(m, S), S[v,v]. */
static inline real equation_21(const orthogonal *o, const real *m, const real *S)
{
    int n = o->n, v = o->v;
    real y[OBSERVED], covariance[M * M], change = 0, kl = -v;
    memcpy(covariance, S, (size_t)(v * v) * sizeof(real));
    for (int a = 0; a < n; a++) {
        y[a] = o->y[a];
        for (int i = 0; i < v; i++) {
            y[a] -= o->P[a * v + i] * m[i];
            for (int j = 0; j < v; j++)
                change += o->P[a * v + i] * (S[i * v + j] - o->Cvv[i * v + j]) * o->P[a * v + j];
        }
    }
    kl += o->logdet_C - dense_invert(v, covariance) + dense_quadratic(v, o->C, m, m);
    for (int i = 0; i < v; i++)
        for (int j = 0; j < v; j++) kl += o->C[i * v + j] * S[j * v + i];
    return dense_log_normal(n, o->R, o->logdet_R, y) - (o->trace + change) / (2 * o->noise) - kl / 2;
}

/* log N(y; 0, K + basis + noise I): the truth that the bounds are about. */
static inline real exact_evidence(const fixture *f, const orthogonal *o)
{
    real *K = calloc((size_t)(o->n * o->n), sizeof *K);
    for (int a = 0; a < o->n; a++)
        for (int b = 0; b < o->n; b++) {
            const double *x = f->X + o->row[a] * D, *z = f->X + o->row[b] * D;
            K[a * o->n + b] = k_of(f, x, z) + basis_product(&f->mean, x, z) + (a == b ? o->noise : 0);
        }
    real logdet = dense_invert(o->n, K), value = dense_log_normal(o->n, K, logdet, o->y);
    free(K);
    return value;
}

/* ------------------------------------------------------------------------------ its maximum */

enum { POINT_MOST = M + M * (M + 1) / 2 };

/* q(v_perp) as numbers: m, and the lower triangle of a factor of S with logs on the diagonal; without the latter S = C_vv. */
static inline void point_to_q(const orthogonal *o, bool covariance, const real *at, real *m, real *S)
{
    int v = o->v, k = v;
    real R[M * M] = {0};
    memcpy(m, at, (size_t)v * sizeof *m);
    memcpy(S, o->Cvv, (size_t)(v * v) * sizeof *S);
    if (!covariance) return;
    for (int i = 0; i < v; i++)
        for (int j = 0; j <= i; j++, k++) R[i * v + j] = i == j ? expl(at[k]) : at[k];
    for (int i = 0; i < v; i++)
        for (int j = 0; j < v; j++) {
            S[i * v + j] = 0;
            for (int l = 0; l < v; l++) S[i * v + j] += R[i * v + l] * R[j * v + l];
        }
}

static inline real at_point(const orthogonal *o, bool covariance, const real *at)
{
    real m[M], S[M * M];
    point_to_q(o, covariance, at, m, S);
    return equation_21(o, m, S);
}

/* Gradient and the inverse of minus the Hessian by central differences; extended precision has digits to spare. */
static inline void differences(const orthogonal *o, bool covariance, int n, real *at, real *g, real *H)
{
    const real h = 1e-5L;
    for (int i = 0; i < n; i++) {
        real x = at[i];
        at[i] = x + h;
        real up = at_point(o, covariance, at);
        at[i] = x - h;
        g[i] = (up - at_point(o, covariance, at)) / (2 * h);
        at[i] = x;
        for (int j = 0; j <= i; j++) {
            real sum = 0;
            for (int c = 0; c < 4; c++) {
                real xi = at[i], xj = at[j];
                at[i] += c & 1 ? h : -h;
                at[j] += c & 2 ? h : -h;
                sum += (c == 0 || c == 3 ? 1 : -1) * at_point(o, covariance, at);
                at[j] = xj;
                at[i] = xi;
            }
            H[i * n + j] = H[j * n + i] = -sum / (4 * h * h);
        }
    }
    dense_invert(n, H);
}

/* The largest value of eq. 21 over q(v_perp), or over its mean alone (eq. 22); Newton's method, steps halved until better. */
static inline real largest_21(const orthogonal *o, bool covariance, real *m, real *S)
{
    int v = o->v, n = v + (covariance ? v * (v + 1) / 2 : 0);
    real at[POINT_MOST] = {0}, g[POINT_MOST], H[POINT_MOST * POINT_MOST], next[POINT_MOST];
    for (int i = 0, k = v; covariance && i < v; i++)
        for (int j = 0; j <= i; j++, k++) at[k] = i == j ? -0.5L : 0;
    real value = at_point(o, covariance, at);
    for (int round = 0; round < 40; round++) {
        differences(o, covariance, n, at, g, H);
        for (real step = 1; step > 1e-6L; step /= 2) {
            for (int i = 0; i < n; i++) {
                next[i] = at[i];
                for (int j = 0; j < n; j++) next[i] += step * H[i * n + j] * g[j];
            }
            real there = at_point(o, covariance, next);
            if (!(there > value)) continue;
            value = there;
            memcpy(at, next, sizeof at);
            break;
        }
    }
    point_to_q(o, covariance, at, m, S);
    return value;
}

#endif
