/* The plain gradient of 000 (eq. 14, 17, 18), in mu = L m and Sigma = L V L' of u = L v, whose prior is N(0, L L' / prior):
   F' = prior L^-T L^-1, F = L^-T S L^-1, G = L^-T b,
       mu    <- mu + rho L^-T (b - (prior I + S) m)
       Sigma <- Sigma + rho/2 L^-T (Lambda - prior I - S) L^-1
   The steps are Euclidean in u, but are taken on m = L^-1 mu and V = L^-1 Sigma L^-T: with H = L^-1 L^-T
       m <- m + rho H (b - (prior I + S) m),      V <- V + rho/2 H (Lambda - prior I - S) H
   is the same step, Sigma is positive definite where V is, and no Sigma of a nearly singular K_uu is ever inverted.
   A step is halved until V is positive definite and the bound of its own statistics does not fall: with P = prior I + S and the
   directions d of m, D of V that bound, b'm - tr(P (V + m m')) / 2 + log|V| / 2, gains
       rho (b - P m)'d - rho^2 d'P d / 2 + (log|V + rho/2 D| - log|V|) / 2 - rho tr(P D) / 4.
   Without that, steps that suit the covariance carry the mean away.
   Cost: 6 M^3, and M^3 for each halving. */
#include <math.h>
#include <string.h>

#include "gauss/gauss.h"
#include "linalg/linalg.h"

enum { HALVINGS_MOST = 60 };
static const double ROUNDING = 1e-12;

/* The spare room, named by what a step keeps there. */
typedef struct next_state {
    double *V;         /* becomes the next Lambda */
    double *direction; /* of V; a factor is tried in its place */
    double *m, *toward, *theta;
} next_state;

/* What the bound gains along a step, but for log|V|. */
typedef struct slopes {
    double mean, curvature; /* (b - P m)'d, d'P d */
    double trace;           /* tr(P D) */
} slopes;

static next_state next_of(const gauss *q)
{
    double *work = q->own.work;
    return (next_state){q->own.Lambda, q->own.F, work, work + q->M, work + 2 * q->M};
}

static void copy(int64_t n, const double *from, double *to) { memcpy(to, from, (size_t)n * sizeof *to); }

/* D = H D H,  D symmetric, both triangles */
static void between_inverses(int64_t M, const double *L, int64_t ldl, double *D)
{
    la_trsm(LA_LEFT, LA_T, M, M, 1, L, ldl, D, M);
    la_trsm(LA_LEFT, LA_N, M, M, 1, L, ldl, D, M);
    la_trsm(LA_RIGHT, LA_N, M, M, 1, L, ldl, D, M);
    la_trsm(LA_RIGHT, LA_T, M, M, 1, L, ldl, D, M);
}

/* tr((prior I + S) D), D symmetric */
static double trace_with(int64_t M, double prior, const double *S, const double *D)
{
    double sum = 0;
    for (int64_t j = 0; j < M; j++)
        sum += (S[j + j * M] + prior) * D[j + j * M] + 2 * la_dot(M - j - 1, S + j + 1 + j * M, D + j + 1 + j * M);
    return sum;
}

/* H (Lambda - prior I - S) H */
static void covariance_direction(const gauss *q, double prior, const double *L, int64_t ldl, const double *S)
{
    int64_t M = q->M;
    double *D = next_of(q).direction;
    for (int64_t j = 0; j < M; j++) {
        for (int64_t i = j, k = j + j * M; i < M; i++, k++) D[k] = q->Lambda[k] - S[k];
        D[j + j * M] -= prior;
    }
    la_mirror(M, D, M);
    between_inverses(M, L, ldl, D);
}

/* H (b - (prior I + S) m), and its slope and curvature */
static void mean_direction(const gauss *q, double prior, const double *L, int64_t ldl, const double *S, const double *b,
                           slopes *s)
{
    int64_t M = q->M;
    double *d = next_of(q).toward, *half = next_of(q).m, *Sd = next_of(q).theta;
    copy(M, b, d);
    la_axpy(M, -prior, q->m, d);
    la_symm(LA_LEFT, M, 1, -1, S, M, q->m, M, 1, d, M);
    la_trsv(LA_T, M, L, ldl, d);
    copy(M, d, half);
    la_trsv(LA_N, M, L, ldl, d);
    la_symm(LA_LEFT, M, 1, 1, S, M, d, M, 0, Sd, M);
    s->mean = la_dot(M, half, half);
    s->curvature = la_dot(M, d, Sd) + prior * la_dot(M, d, d);
}

/* Whether the bound does not fall but for rounding; log_ratio: of the determinants of V after and before. */
static bool gains(const slopes *s, double rho, double log_ratio)
{
    double up = rho * s->mean, down = 0.5 * rho * rho * s->curvature, trace = 0.25 * rho * s->trace;
    return up - down + 0.5 * log_ratio - trace >= -ROUNDING * (up + down + fabs(log_ratio) + fabs(trace) + 1);
}

/* The next Lambda and theta after a step of size rho; false where the covariance would not stay positive definite, or the bound
   would fall. */
static bool move(const gauss *q, double rho, const slopes *s)
{
    int64_t M = q->M;
    next_state next = next_of(q);
    const double *D = next.direction;
    double *V = next.V;
    copy(M * M, q->F, V);
    if (la_potri(M, V, M)) return false;
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = j, k = j + j * M; i < M; i++, k++) V[k] += rho / 2 * D[k];
    if (!la_factor(M, V, M) || !gains(s, rho, la_logdet(M, V, M) + la_logdet(M, q->F, M)) || la_potri(M, V, M))
        return false;
    copy(M, q->m, next.m);
    la_axpy(M, rho, next.toward, next.m);
    la_symm(LA_LEFT, M, 1, 1, next.V, M, next.m, M, 0, next.theta, M);
    return true;
}

bool plain_step(gauss *q, double rho, double prior, const double *L, int64_t ldl, const double *S, const double *b,
                double *taken)
{
    int64_t M = q->M;
    next_state next = next_of(q);
    slopes s;
    *taken = 0;
    covariance_direction(q, prior, L, ldl, S);
    mean_direction(q, prior, L, ldl, S, b, &s);
    s.trace = trace_with(M, prior, S, next.direction);
    if (!isfinite(rho) || !la_all_finite(M * M, next.direction) || !la_all_finite(M, next.toward)) return false;
    for (int halvings = 0; halvings <= HALVINGS_MOST; halvings++, rho /= 2) {
        if (!move(q, rho, &s)) continue;
        if (gauss_take_next(q, next.theta)) return *taken = rho, true;
        covariance_direction(q, prior, L, ldl, S); /* a factor was tried in its place */
    }
    return false;
}
