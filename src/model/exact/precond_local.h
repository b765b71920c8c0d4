/* Small kernel matrices of some of the rows, for preconditioners made of many of them. */
#ifndef MODEL_EXACT_PRECOND_LOCAL_H
#define MODEL_EXACT_PRECOND_LOCAL_H

#include "model/exact/precond.h"

typedef struct local_rows {
    const merged *rows;
    const kernel *k;
    const double *added;
} local_rows;

/* G[m,m], lower, of the rows row[m]; X[m,D] is workspace and gets their inputs.  False: no memory. */
bool local_gram(const local_rows *l, int64_t m, const int64_t *row, double *X, double *G);
/* gp += the gradient of sum_ij Gbar_ij G_ij, the sum over all i, j, of the lower triangle of a symmetric Gbar. */
bool local_reverse(const local_rows *l, int64_t m, const int64_t *row, const double *X, const double *Gbar, double *gp);
/* Columns of an operator that has none at hand, by products with unit vectors. */
anygp_status columns_by_products(const la_operator *a, int64_t count, const int64_t *which, double *C, int64_t ldc,
                                 anygp_error *e);

#endif
