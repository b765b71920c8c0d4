/* The exact model with its factor in float (problem.mixed), for learning; the posterior and the value that is reported are those of double.

   P = L L' is the factor of Ky rounded to float.  What it lacks is found in double, by products with Ky itself, whose tiles are made when they
   are needed.  With signs z_1 .. z_m of (seed, k), v = L^-T z, w = L z, and Delta = L^-1 Ky L^-T - I, which is small:
       Ky^-1 [y, H]    x += P^-1 r, r = b - Ky x, until r is small                                   (iterative refinement)
       log|Ky|         log|P| + tr Delta - |Delta|^2 / 2 and so on;  tr Delta by the mean of z'Delta z = v'Ky v - n,
                       |Delta|^2 by that of |Delta z|^2 = |L^-1 (w - Ky v)|^2
       tr Ky^-1 dKy    tr Q dKy + mean of (Ky^-1 w - Q w)'dKy v, Q the inverse of P in float, since E w v' = I
   All but Q's product with dKy is free of float's rounding, but for what the probes leave: with F = |Delta| the standard error of log|Ky| is
   sqrt(2/m) F at most, and the terms that are left out are less than F^2 as long as Delta is less than 1.

   Cost: n^3 operations in float, some n^2 in double. */
#ifndef MODEL_EXACT_EXACT_FLOAT_H
#define MODEL_EXACT_EXACT_FLOAT_H

#include "linalg/operators/operator.h"
#include "model/exact/exact.h"

enum { FLOAT_PROBES = 8 };

typedef struct exact_float {
    bool on;
    uint64_t seed;
    la_operator *K;                 /* Ky */
    int64_t t;                      /* right-hand sides: y, functions of the mean, probes */
    double *B, *X, *R, *U, *V, *KX; /* n x t: [y, H, w], solutions, residuals; the pairs of the gradient; workspace */
    double logdet, F2;              /* of the last evaluation: log|Ky|; |Delta|^2 */
    double *at; /* its hyperparameters and jitter, where it had a gradient; the first NaN: it had none */
} exact_float;

anygp_status exact_float_open(exact *s, const problem *p, const hyper *h, anygp_error *e);
void exact_float_free(exact_float *f); /* accepts NULL */
bool exact_in_float(const exact *s);
/* Log evidence and, if gp is not NULL, its gradient, diag(Q) and alpha; s->K is used up.  False: float has no number here. */
bool exact_float_evaluate(exact *s, const hyper *h, double jitter, double *value, double *gp);

extern const float_ops exact_floats;

#endif
