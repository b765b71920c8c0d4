/* q(v) = N(m, V) in the whitened space (u = L v, prior N(0, I)), and the two ways of paper 000 to improve it from sampled
   statistics S = c sum_s A_s G_s^-1 A_s', b = c sum_s A_s G_s^-1 y_s, c = P / |sample|:
       natural gradient (24-26)   Lambda <- (1 - rho) Lambda + rho (I + S),  theta1 <- (1 - rho) theta1 + rho b
       plain gradient (14, 17, 18) of the mean and covariance of u, as printed, the step halved while Sigma would not stay
                                  positive definite
   In the whitened space F' = I, so that 0 < rho <= 1 keeps the precision positive definite. */
#ifndef INFER_NATURAL_H
#define INFER_NATURAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Matrices are M x M, column-major, lower triangle, in q with zeros above; of S the lower triangle is read.  M counts the
   rows of A (inducing inputs and basis functions). */
typedef struct gaussian_q {
    int64_t M;
    double *theta1; /* Lambda m */
    double *Lambda; /* precision */
    double *factor; /* Cholesky factor of Lambda */
    double *m;      /* mean */
    bool lazy;      /* natural steps leave factor and m to gaussian_q_ready(): for S that is positive semidefinite */
    bool stale;     /* they are to be made from Lambda and theta1 */
    double *work;   /* two M x M and three M: the next state, until it is known to be a good one */
} gaussian_q;

anygp_status gaussian_q_init(gaussian_q *q, int64_t M, anygp_error *e); /* the prior: N(0, I) */
void gaussian_q_clear(gaussian_q *q);                                   /* accepts a half-built one */

/* From Lambda (lower triangle read) and theta1 alone, bit by bit what every step arrives at with them: these two are what
   a checkpoint has to keep.  False: as for a step. */
bool gaussian_q_set(gaussian_q *q, const double *Lambda, const double *theta1);

/* factor and m of a lazy q; everything below but natural_step needs them.  False: Lambda is not positive definite. */
bool gaussian_q_ready(gaussian_q *q);

/* One step of size 0 < rho <= 1, in M^2 operations where q is lazy; prior: the precision of the prior is that times I (1, but for combinations of models).
   False: the numbers are not finite or Lambda is not positive definite; q is then as before. */
bool natural_step(gaussian_q *q, double rho, double prior, const double *S, const double *b);

/* One step of plain gradient ascent in (mu, Sigma) of u; L: Cholesky factor of K_uu extended by an identity for basis
   functions.  *taken gets the step after halving (60 times at most), 0 where it fails.  False: as above. */
bool plain_step(gaussian_q *q, double rho, double prior, const double *L, int64_t ldl, const double *S, const double *b,
                double *taken);

void gaussian_q_covariance(const gaussian_q *q, double *V); /* both triangles of Lambda^-1 */
/* KL(q || N(0, I)); in the workspace of q, so not from two threads at once. */
double gaussian_q_kl(const gaussian_q *q);

/* rho_t = rho_0 / (1 + tau rho_0 t)^kappa */
double step_size(double rho0, double tau, double kappa, int64_t t);

#endif
