/* Gauss quadrature for v'log(M)v from the coefficients of conjugate gradients (Golub and Meurant 2010, chapters 6 and 8; Ubaru, Chen and
   Saad 2017).  M = P^-1/2 A P^-1/2 and v = P^-1/2 b: the coefficients of a column b are those of Lanczos' tridiagonal matrix T,
       T_jj = 1/alpha_j + beta_{j-1}/alpha_{j-1},   T_{j,j+1} = sqrt(beta_j)/alpha_j,   v'v = r_0'z_0,
       v'log(M)v  <=  v'v e_1'log(T)e_1                          Gauss: all even derivatives of log are negative
                  >=  the same with a node at 0 < least <= every eigenvalue of M     Gauss-Radau
   Both are equal to it once Lanczos has ended. */
#ifndef LINALG_ITERATIVE_LANCZOS_H
#define LINALG_ITERATIVE_LANCZOS_H

#include <stdint.h>

typedef struct log_quadrature {
    double upper, lower;
    double square;   /* v'log(M)^2 v, by Gauss: the mean over vectors of signs is the squared norm of log(M) */
    double smallest; /* eigenvalue of T */
} log_quadrature;

/* From `steps` coefficients.  least 0: not known, a tenth of the smallest eigenvalue of T stands for it, and `lower` is an estimate.
   NaN: no memory, or T is not positive definite. */
log_quadrature lanczos_log(int64_t steps, const double *alpha, const double *beta, double norm2, double least);

#endif
