/* Inducing functions: what a basis is, beyond a point.

   Under a single rbf a basis is a place z and a width of its own in each input, l_d = s_d c_d (the generalised SE functions,
   001, eq. 15; Walder et al. 2008).  With y = z / s and t = x / s
       k(m, n) = v prod_d sqrt(2 c_m c_n e) exp(-sum_d e (y_m - y_n)^2),    e = 1 / (c_m^2 + c_n^2)
       k(m, x) = the same with c_n = 1, y_n = t:  a row is a basis of width 1
   so that c = 1 is the kernel itself.  (001, appendix B.1, leaves the variance out of k(m, n) and takes its root in k(m, x): the
   same functions divided by sqrt(v).)  Other kernels have points only.

   Against rows the exponent is linear in the features F = (t^2, t, 1):
       k(m, x) = v exp(-F(x)'theta_m),   theta = (e, -2 e y, sum e y^2 - sum log(2 c e) / 2),   e = 1 / (1 + c^2)
   so a tile is a product of matrices and one exponential per element, and its reverse another product:
       theta bar = -(G .* K)'F.                                                      cost: (2 D + 1) multiplications per element
   Inputs are centred, so that the expansion of (t - y)^2 loses no more digits than the spread of the data over s costs.

   Shapes: Z[M,D], C[M,D] (logarithms of c) row-major; K, G [n, count] column-major, leading dimension n. */
#ifndef INDUCING_FUNCTIONS_H
#define INDUCING_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/* M bases.  C NULL: points. */
typedef struct function_set {
    int64_t M;
    const double *Z, *C;
} function_set;

/* The bases first .. first + count - 1. */
function_set functions_part(function_set s, int64_t D, int64_t first, int64_t count);

/* A kernel, ready for bases of it. */
typedef struct functions {
    const kernel *kernel;
    int64_t D;
    bool rbf;
    double variance;
    double *inverse; /* D: 1 / s, 0 where the kernel does not look */
    double *origin;  /* D */
    int64_t *length; /* D: the parameter, or -1 */
} functions;

anygp_status functions_init(functions *f, int64_t D, anygp_error *e);
void functions_clear(functions *f); /* accepts a half-built one */
/* At the kernel's current values; k outlives f.  origin[D]: some place among the data; kept by value. */
void functions_prepare(functions *f, kernel *k, const double *origin);

/* Workspace of the functions below, for n rows and `count` bases. */
int64_t functions_work(const functions *f, int64_t n, int64_t count);

/* Features of rows, F[n, 2 D + 1]: once for all tiles of bases.  Nothing for kernels other than rbf. */
static inline int64_t functions_features_size(const functions *f, int64_t n) { return f->rbf ? n * (2 * f->D + 1) : 0; }
void functions_features(const functions *f, int64_t n, const double *X, int64_t ldx, double *F);

/* K[n, s.M] = covariances of rows and bases.  False: no memory. */
bool functions_gram(const functions *f, function_set s, int64_t n, const double *X, int64_t ldx, const double *F,
                    double *work, double *K);
/* From K and G = dF/dK, which is used up: adds to gp (kernel parameters), gZ and gC (M x D; NULL: not wanted). */
bool functions_gram_reverse(const functions *f, function_set s, int64_t n, const double *X, int64_t ldx,
                            const double *F, const double *K, double *G, double *work, double *gp, double *gZ,
                            double *gC);

/* The same the other way round, for a single rbf: K[s.M, n] with leading dimension ldk.  The reverse makes K again, in K[s.M, n], and
   takes G with it; gX (n x D, or NULL) gets the gradient in the rows.  work: functions_cross_work. */
int64_t functions_cross_work(const functions *f, int64_t n, int64_t count);
void functions_cross(const functions *f, function_set s, int64_t n, const double *X, int64_t ldx, double *work,
                     double *K, int64_t ldk);
void functions_cross_reverse(const functions *f, function_set s, int64_t n, const double *X, int64_t ldx,
                             const double *G, int64_t ldg, double *work, double *K, double *gp, double *gZ, double *gC,
                             double *gX);

/* Covariances of bases, K[n.M, s.M], `rows` being bases too; and the reverse, which goes to s only: gZ and gC get
   sum_i G_ij dk(i, j)/dj, gp the derivative in the kernel's parameters.  [functions_pair.c] */
bool functions_pair(const functions *f, function_set s, function_set rows, double *work, double *K);
bool functions_pair_reverse(const functions *f, function_set s, function_set rows, const double *K, double *G,
                            double *work, double *gp, double *gZ, double *gC);

/* k(x, x) of rows is the kernel's; for bases: diag[M]. */
void functions_diag(const functions *f, function_set s, double *diag);

#endif
