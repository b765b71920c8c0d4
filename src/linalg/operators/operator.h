/* Symmetric positive definite matrices that need not be stored: a const table of what can be done with one.

   An operator A[n,n] depends on parameters; `reverse` gives the gradient of sum_k u_k'A v_k in them, which is all that a
   gradient of log|A| or of y'A^-1 y needs.  Optional entries are those of matrices for which they are cheap; an operator that has
   solve, logdet, logdet_reverse and root can be a preconditioner (linalg/iterative/cg.h).
   Shapes: blocks of vectors V[n,t], column-major with a leading dimension.  Gradients accumulate: gp += scale * gradient.
   Over several ranks all of them call the same functions in the same order, and have the same bits afterwards. */
#ifndef LINALG_OPERATORS_OPERATOR_H
#define LINALG_OPERATORS_OPERATOR_H

#include <stdint.h>

#include "base/error.h"

typedef struct la_operator la_operator;

typedef struct la_operator_ops {
    const char *name;
    /* W = A V; W is no part of V. */
    anygp_status (*multiply)(const la_operator *a, int64_t t, const double *V, int64_t ldv, double *W, int64_t ldw,
                             anygp_error *e);
    anygp_status (*diagonal)(const la_operator *a, double *d, anygp_error *e);
    anygp_status (*columns)(const la_operator *a, int64_t count, const int64_t *which, double *C, int64_t ldc,
                            anygp_error *e);
    /* The gradient of sum_k u_k'A v_k.  NULL: no parameters. */
    anygp_status (*reverse)(const la_operator *a, int64_t t, const double *U, int64_t ldu, const double *V, int64_t ldv,
                            double scale, double *gp, anygp_error *e);
    void (*free)(la_operator *a);

    /* optional */
    anygp_status (*solve)(const la_operator *a, int64_t t, double *B, int64_t ldb, anygp_error *e); /* in place */
    double (*logdet)(const la_operator *a);
    anygp_status (*logdet_reverse)(const la_operator *a, double scale, double *gp, anygp_error *e);
    /* Both in one: the gradient of logdet_scale log|A| + scale sum_k u_k'A v_k.  NULL: one after the other. */
    anygp_status (*both_reverse)(const la_operator *a, double logdet_scale, int64_t t, const double *U, int64_t ldu,
                                 const double *V, int64_t ldv, double scale, double *gp, anygp_error *e);
    /* W = R Z with A = R R', R[n,n]. */
    anygp_status (*root)(const la_operator *a, int64_t t, const double *Z, int64_t ldz, double *W, int64_t ldw,
                         anygp_error *e);
} la_operator_ops;

/* What every operator starts with. */
struct la_operator {
    const la_operator_ops *ops;
    int64_t n;
};

static inline void la_operator_free(la_operator *a)
{
    if (a) a->ops->free(a);
}

/* ---------------------------------------------------------------------------------------- entries */

/* A[n,n], its lower triangle, copied.  No parameters.  Has solve, logdet and root if it is positive definite. [dense.c] */
anygp_status dense_operator_new(int64_t n, const double *A, int64_t lda, la_operator **out, anygp_error *e);

/* The sum of these, which it takes over, also where it fails; their parameters are the same ones. [sum.c] */
anygp_status sum_operator_new(int64_t count, la_operator *const *terms, la_operator **out, anygp_error *e);

/* A'A + diag(d) with A[M,n] and d[n] > 0, both taken over, also where it fails. [low_rank.c]  The owner makes gradients in its
   parameters from those in A and d, columns first .. first + count - 1 at a time; `done` is called after the last of them, with the lower
   triangle of E = Abar A', which costs nothing here. */
typedef struct low_rank_owner {
    void *ctx;
    /* Abar[M,count] is used up. */
    anygp_status (*columns)(void *ctx, int64_t first, int64_t count, double *Abar, const double *dbar, double *gp,
                            anygp_error *e);
    anygp_status (*done)(void *ctx, double *E, double *gp, anygp_error *e);
    void (*free)(void *ctx);
} low_rank_owner;

anygp_status low_rank_operator_new(int64_t n, int64_t M, double *A, double *d, const low_rank_owner *owner,
                                   la_operator **out, anygp_error *e);

#endif
