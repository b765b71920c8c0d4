/* Steps of q(v) = N(m, V), Lambda = V^-1, theta1 = Lambda m, where p(v) = N(0, I / prior) and u = L v.

   Natural gradient (000, eq. 24-26; theta2 = -Lambda / 2, G' = 0, F' = prior I, F = S, G = b):
       Lambda <- (1 - rho) Lambda + rho (prior I + S),      theta1 <- (1 - rho) theta1 + rho b

   Plain gradient (000, eq. 14, 17, 18) of mu = L m and Sigma = L V L', where F' = prior L^-T L^-1, F = L^-T S L^-1, G = L^-T b:
       mu    <- mu + rho L^-T (b - (prior I + S) m)
       Sigma <- Sigma + rho/2 L^-T (Lambda - prior I - S) L^-1
   The steps are Euclidean in u, but are taken on m = L^-1 mu and V = L^-1 Sigma L^-T: with H = L^-1 L^-T
       m <- m + rho H (b - (prior I + S) m),      V <- V + rho/2 H (Lambda - prior I - S) H
   is the same step, Sigma is positive definite where V is, and no Sigma of a nearly singular K_uu is ever inverted.

   A step makes the next Lambda and theta1 in the workspace; they replace q only if there is a factor and a finite mean.
   Cost: natural M^3 / 3, lazily 4 M^2; plain 6 M^3, and M^3 for each halving. */
#include "infer/natural.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

enum { HALVINGS_MOST = 60 };

/* The workspace by name. */
typedef struct next_state {
    double *Lambda, *factor, *theta1, *m;
    double *toward; /* M: direction of the mean in a plain step */
} next_state;

static next_state next_of(const gaussian_q *q)
{
    int64_t M = q->M;
    double *vectors = q->work + 2 * M * M;
    return (next_state){q->work, q->work + M * M, vectors, vectors + M, vectors + 2 * M};
}

static void copy(int64_t n, const double *from, double *to) { memcpy(to, from, (size_t)n * sizeof *to); }

static bool all_finite(int64_t n, const double *x)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* ------------------------------------------------------------------------------------- the state */

static void set_prior(gaussian_q *q)
{
    int64_t M = q->M;
    size_t vector = (size_t)M * sizeof(double), matrix = (size_t)M * vector;
    memset(q->theta1, 0, vector);
    memset(q->m, 0, vector);
    memset(q->Lambda, 0, matrix);
    for (int64_t i = 0; i < M; i++) q->Lambda[i + i * M] = 1;
    copy(M * M, q->Lambda, q->factor);
    memset(q->work, 0, 2 * matrix + 3 * vector); /* for the zeros above the diagonal */
}

anygp_status gaussian_q_init(gaussian_q *q, int64_t M, anygp_error *e)
{
    *q = (gaussian_q){.M = M,
                      .theta1 = mem_doubles(M, 1),
                      .Lambda = mem_doubles(M, M),
                      .factor = mem_doubles(M, M),
                      .m = mem_doubles(M, 1),
                      .work = mem_doubles(M, 2 * M + 3)};
    if (!q->theta1 || !q->Lambda || !q->factor || !q->m || !q->work) {
        gaussian_q_clear(q);
        return fail_memory(e, "the distribution of the inducing variables", 8.0 * (double)M * (4.0 * (double)M + 5));
    }
    set_prior(q);
    return ANYGP_OK;
}

void gaussian_q_clear(gaussian_q *q)
{
    double *const owned[] = {q->theta1, q->Lambda, q->factor, q->m, q->work};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    *q = (gaussian_q){0};
}

/* The next Lambda and theta1 become those of q, if they are a distribution. */
static bool adopt(gaussian_q *q)
{
    int64_t M = q->M;
    next_state next = next_of(q);
    copy(M * M, next.Lambda, next.factor);
    if (!la_factor(M, next.factor, M)) return false;
    copy(M, next.theta1, next.m);
    la_trsv(LA_N, M, next.factor, M, next.m);
    la_trsv(LA_T, M, next.factor, M, next.m);
    if (!all_finite(M, next.theta1) || !all_finite(M, next.m)) return false;
    copy(M * M, next.Lambda, q->Lambda);
    copy(M * M, next.factor, q->factor);
    copy(M, next.theta1, q->theta1);
    copy(M, next.m, q->m);
    q->stale = false;
    return true;
}

bool gaussian_q_ready(gaussian_q *q)
{
    next_state next = next_of(q);
    if (!q->stale) return true;
    copy(q->M * q->M, q->Lambda, next.Lambda);
    copy(q->M, q->theta1, next.theta1);
    return adopt(q);
}

bool gaussian_q_set(gaussian_q *q, const double *Lambda, const double *theta1)
{
    next_state next = next_of(q);
    copy(q->M * q->M, Lambda, next.Lambda);
    la_zero_upper(q->M, next.Lambda, q->M);
    copy(q->M, theta1, next.theta1);
    return adopt(q);
}

/* ------------------------------------------------------------------------------- natural gradient */

/* The step in place: Lambda stays positive definite, since S and the prior are. */
static bool natural_step_lazily(gaussian_q *q, double rho, double prior, const double *S, const double *b)
{
    int64_t M = q->M;
    double sum = 0; /* of sizes: squares of numbers that can be used may not be finite */
    for (int64_t j = 0; j < M; j++) {
        sum += fabs(b[j]);
        for (int64_t i = j; i < M; i++) sum += fabs(S[i + j * M]);
    }
    if (!isfinite(sum)) return false;
    for (int64_t j = 0; j < M; j++) {
        for (int64_t i = j, k = j + j * M; i < M; i++, k++) q->Lambda[k] += rho * (S[k] - q->Lambda[k]);
        q->Lambda[j + j * M] += rho * prior;
        q->theta1[j] += rho * (b[j] - q->theta1[j]);
    }
    return q->stale = true;
}

bool natural_step(gaussian_q *q, double rho, double prior, const double *S, const double *b)
{
    int64_t M = q->M;
    next_state next = next_of(q);
    if (q->lazy) return natural_step_lazily(q, rho, prior, S, b);
    for (int64_t j = 0; j < M; j++) {
        for (int64_t i = j, k = j + j * M; i < M; i++, k++) next.Lambda[k] = (1 - rho) * q->Lambda[k] + rho * S[k];
        next.Lambda[j + j * M] += rho * prior;
        next.theta1[j] = (1 - rho) * q->theta1[j] + rho * b[j];
    }
    return adopt(q);
}

/* --------------------------------------------------------------------------------- plain gradient */

/* D = H D H,  D symmetric, both triangles */
static void between_inverses(int64_t M, const double *L, int64_t ldl, double *D)
{
    la_trsm(LA_LEFT, LA_T, M, M, 1, L, ldl, D, M);
    la_trsm(LA_LEFT, LA_N, M, M, 1, L, ldl, D, M);
    la_trsm(LA_RIGHT, LA_N, M, M, 1, L, ldl, D, M);
    la_trsm(LA_RIGHT, LA_T, M, M, 1, L, ldl, D, M);
}

/* H (Lambda - prior I - S) H, in the place of the next factor */
static void covariance_direction(const gaussian_q *q, double prior, const double *L, int64_t ldl, const double *S)
{
    int64_t M = q->M;
    double *D = next_of(q).factor;
    for (int64_t j = 0; j < M; j++) {
        for (int64_t i = j, k = j + j * M; i < M; i++, k++) D[k] = q->Lambda[k] - S[k];
        D[j + j * M] -= prior;
    }
    la_mirror(M, D, M);
    between_inverses(M, L, ldl, D);
}

/* H (b - (prior I + S) m) */
static void mean_direction(const gaussian_q *q, double prior, const double *L, int64_t ldl, const double *S,
                           const double *b)
{
    int64_t M = q->M;
    double *d = next_of(q).toward;
    copy(M, b, d);
    la_axpy(M, -prior, q->m, d);
    la_symm(LA_LEFT, M, 1, -1, S, M, q->m, M, 1, d, M);
    la_trsv(LA_T, M, L, ldl, d);
    la_trsv(LA_N, M, L, ldl, d);
}

/* The next Lambda and theta1 after a step of size rho; false where the covariance would not stay positive definite. */
static bool move(const gaussian_q *q, double rho)
{
    int64_t M = q->M;
    next_state next = next_of(q);
    const double *D = next.factor;
    double *V = next.Lambda;
    copy(M * M, q->factor, V);
    if (la_potri(M, V, M)) return false;
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = j, k = j + j * M; i < M; i++, k++) V[k] += rho / 2 * D[k];
    if (!la_factor(M, V, M) || la_potri(M, V, M)) return false;
    copy(M, q->m, next.m);
    la_axpy(M, rho, next.toward, next.m);
    la_symm(LA_LEFT, M, 1, 1, next.Lambda, M, next.m, M, 0, next.theta1, M);
    return true;
}

bool plain_step(gaussian_q *q, double rho, double prior, const double *L, int64_t ldl, const double *S, const double *b,
                double *taken)
{
    int64_t M = q->M;
    next_state next = next_of(q);
    *taken = 0;
    covariance_direction(q, prior, L, ldl, S);
    mean_direction(q, prior, L, ldl, S, b);
    if (!isfinite(rho) || !all_finite(M * M, next.factor) || !all_finite(M, next.toward)) return false;
    for (int halvings = 0; halvings <= HALVINGS_MOST; halvings++, rho /= 2) {
        if (!move(q, rho)) continue;
        if (adopt(q)) {
            *taken = rho;
            return true;
        }
        covariance_direction(q, prior, L, ldl, S); /* a factor was tried in its place */
    }
    return false;
}

/* ----------------------------------------------------------------------------- what others look at */

void gaussian_q_covariance(const gaussian_q *q, double *V)
{
    copy(q->M * q->M, q->factor, V);
    la_potri(q->M, V, q->M);
    la_mirror(q->M, V, q->M);
}

/* (tr V + m'm - M + log det Lambda) / 2 */
double gaussian_q_kl(const gaussian_q *q)
{
    int64_t M = q->M;
    double *V = next_of(q).Lambda, terms = la_dot(M, q->m, q->m) + la_logdet(M, q->factor, M);
    copy(M * M, q->factor, V);
    la_potri(M, V, M);
    for (int64_t i = 0; i < M; i++) terms += V[i + i * M] - 1;
    return terms / 2;
}

double step_size(double rho0, double tau, double kappa, int64_t t)
{
    return rho0 / pow(1 + tau * rho0 * (double)t, kappa);
}
