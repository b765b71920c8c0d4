/* With pivots p_1 .. p_m and L[n,m] the factor so far, the variance left is v_i = K_ii - sum_j L_ij^2; a new pivot p
   adds the column  l = (K_:p - L L_p:') / sqrt(v_p). */
#include "inducing/greedy.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "linalg/linalg.h"

static const double ROUNDING = 1e-14; /* of the largest K_ii: what is left below that is noise */

static int64_t largest(int64_t n, const double *v)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (v[i] > v[best]) best = i;
    return best;
}

/* Column m of L for pivot p, and the variances after it. */
static void add_pivot(int64_t n, int64_t m, int64_t p, double *L, double *row, double *left)
{
    double *l = L + m * n, scale = 1 / sqrt(left[p]);
    for (int64_t j = 0; j < m; j++) row[j] = L[p + j * n];
    if (m > 0) la_gemv(LA_N, n, m, -1, L, n, row, 1, l);
    for (int64_t i = 0; i < n; i++) {
        l[i] *= scale;
        left[i] -= l[i] * l[i];
    }
    left[p] = -INFINITY; /* never again */
}

anygp_status greedy_select(int64_t n, int64_t k, greedy_diag *diag, greedy_column *column, void *ctx, double tolerance,
                           int64_t *chosen, int64_t *count, anygp_error *e)
{
    *count = 0;
    if (k > n) k = n;
    if (k < 1) return ANYGP_OK;
    size_t size;
    double *L = size_mul(n, k, &size) ? mem_alloc((int64_t)size, sizeof *L) : NULL;
    double *row = mem_alloc(k, sizeof *row), *left = mem_alloc(n, sizeof *left);
    anygp_status status = ANYGP_OK;
    if (!L || !row || !left) {
        status = fail_memory(e, "the greedy choice of rows", 8.0 * (double)n * (double)k);
        goto done;
    }
    diag(ctx, left);
    double least = fmax(tolerance, ROUNDING) * left[largest(n, left)];
    for (int64_t m = 0; m < k; m++) {
        int64_t p = largest(n, left);
        if (!(left[p] > least)) break;
        column(ctx, p, L + m * n);
        add_pivot(n, m, p, L, row, left);
        chosen[(*count)++] = p;
    }
done:
    free(L);
    free(row);
    free(left);
    return status;
}
