/* Preconditioned conjugate gradients over many right-hand sides, with one product per iteration for all of them (Hestenes and Stiefel 1952;
   Gardner et al. 2018, mBCG), and what their coefficients say about log|P^-1 A| (lanczos.h).

   For each column b, with x_0 given or 0 and r_0 = b - A x_0:
       z = P^-1 r,  d = z + beta d,  alpha = r'z / d'Ad,  x += alpha d,  r -= alpha Ad,  beta = r'z / (the former r'z)
   A column rests once it is `settled`, or has reached `most` iterations.

   Bounds, for any x, with r = b - A x and 0 < least <= every eigenvalue of A:
       b'A^-1 b = b'x + x'r + r'A^-1 r,     0 <= r'A^-1 r <= r'r / least.
   Where `least` says little, r'A^-1 r can be estimated: it is what all further iterations would add to b'x, alpha_j r_j'z_j each (Hestenes and
   Stiefel 1952; Strakos and Tichy 2002). */
#ifndef LINALG_ITERATIVE_CG_H
#define LINALG_ITERATIVE_CG_H

#include <stdbool.h>

#include "linalg/operators/operator.h"

typedef struct cg cg;

typedef struct cg_options {
    int64_t most; /* iterations */
    /* Asked before every iteration; true: enough for now.  NULL: never. */
    bool (*enough)(void *ctx);
    /* Whether column k needs no more; asked after each of its iterations.  NULL: when |r| is 0. */
    bool (*settled)(void *ctx, const cg *c, int64_t k);
    void *ctx;
} cg_options;

struct cg {
    const la_operator *A, *P; /* P NULL: none */
    const la_operator *exact; /* what A is rounded from, for the residual of X that is there; NULL: A itself */
    int64_t n, t;
    double *X, *R;        /* n x t: solutions and residuals */
    double *Z, *D, *W;    /* n x t: workspace; D the directions */
    double *rz, *rr;      /* t: r'z and r'r now */
    double *first;        /* t: r_0'z_0 */
    int64_t room;         /* iterations that there are coefficients for */
    double *alpha, *beta; /* room x t */
    int64_t *steps;       /* t: iterations made */
    bool *rests;          /* t */
    int64_t products;     /* of A with a block, so far */
    bool broken;          /* d'Ad was not positive: A is not positive definite to rounding */
};

anygp_status cg_new(const la_operator *A, const la_operator *P, int64_t t, int64_t most, cg **out, anygp_error *e);
void cg_free(cg *c); /* accepts NULL */
/* Right-hand sides B[n,t]; from the X that is there (`warm`) or from 0. */
anygp_status cg_begin(cg *c, const double *B, int64_t ldb, bool warm, anygp_error *e);
/* Until all columns rest, or somebody says enough.  Can be called again. */
anygp_status cg_run(cg *c, const cg_options *o, anygp_error *e);
/* What the last `count` iterations of column k added to b'x; infinite if there were not as many. */
double cg_progress(const cg *c, int64_t k, int64_t count);

#endif
