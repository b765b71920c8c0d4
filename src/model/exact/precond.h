/* Preconditioners of K + noise: operators P with a solve, a log determinant and a root (linalg/operators/operator.h), one table.
   What they take as given, such as pivots or neighbours, is planned once, at the first hyperparameters; P itself is made at each.

       none      the identity
       jacobi    blocks of rows that are near each other
       pivoted   partial Cholesky with pivoting: Q + noise, Q = K_nu K_uu^-1 K_un at rows u of the largest conditional variance
       fitc      Q + diag(K - Q) + noise at inducing inputs chosen by k-means
       pivoted_small, fitc_small   the same with fewer columns
       vecchia   each row given its nearest earlier rows: P^-1 = U U' with U sparse and triangular (local/vecchia.h) */
#ifndef MODEL_EXACT_PRECOND_H
#define MODEL_EXACT_PRECOND_H

#include "linalg/operators/operator.h"
#include "model/model.h"

typedef struct precond_plan precond_plan;

typedef struct precond_ops precond_ops;
struct precond_ops {
    const char *name, *summary;
    double columns; /* of low rank: per root of the number of rows; 0: no such */
    /* From the rows and the first kernel.  NULL: there is nothing to plan. */
    anygp_status (*plan)(const precond_ops *self, const problem *p, const kernel *k, precond_plan **out,
                         anygp_error *e);
    void (*clear)(precond_plan *plan);
    /* P at this kernel and these additions to the diagonal, both of which outlive it; parameters as those of a
       kernel operator.  *least: no eigenvalue of P^-1/2 (K + added) P^-1/2 is below; 0: not known.  *out NULL: the identity. */
    anygp_status (*make)(const problem *p, const precond_plan *plan, kernel *k, const double *added, la_operator **out,
                         double *least, anygp_error *e);
};

extern const precond_ops precond_none, precond_jacobi, precond_pivoted, precond_fitc, precond_vecchia,
    precond_pivoted_small, precond_fitc_small;

enum { PRECOND_COLUMNS = 12, PRECOND_COLUMNS_SMALL = 5 };
int64_t precond_rank(double columns, int64_t n); /* of those of low rank */
int64_t precond_rank_most(int64_t n);            /* of any of them */
int64_t precond_count(void);
const precond_ops *precond_at(int64_t i);
const precond_ops *precond_find(const char *name); /* NULL: no such one, or "auto" */

#endif
