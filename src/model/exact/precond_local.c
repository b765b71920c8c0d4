/* Kernel matrices of some of the rows, and columns of an operator by products (precond_local.h). */
#include "model/exact/precond_local.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

bool local_gram(const local_rows *l, int64_t m, const int64_t *row, double *X, double *G)
{
    int64_t D = l->rows->D;
    for (int64_t i = 0; i < m; i++) memcpy(X + i * D, l->rows->X + row[i] * D, (size_t)D * sizeof *X);
    if (!kernel_gram_sym(l->k, m, X, D, G, m)) return false;
    for (int64_t i = 0; i < m; i++) G[i + i * m] += l->added[row[i]];
    return true;
}

bool local_reverse(const local_rows *l, int64_t m, const int64_t *row, const double *X, const double *Gbar, double *gp)
{
    double *noise = gp + kernel_count(l->k);
    for (int64_t i = 0; i < m; i++) *noise += Gbar[i + i * m] / l->rows->c[row[i]];
    return kernel_gram_sym_reverse(l->k, m, X, l->rows->D, Gbar, m, gp, NULL, 0);
}

anygp_status columns_by_products(const la_operator *a, int64_t count, const int64_t *which, double *C, int64_t ldc,
                                 anygp_error *e)
{
    double *unit = mem_zeroed(a->n * count, sizeof *unit);
    if (!unit) return fail_memory(e, "columns", 8.0 * (double)(a->n * count));
    for (int64_t k = 0; k < count; k++) unit[which[k] + k * a->n] = 1;
    anygp_status status = a->ops->multiply(a, count, unit, a->n, C, ldc, e);
    free(unit);
    return status;
}
