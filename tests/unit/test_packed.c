/* Products with packed matrices, in both widths of vectors, against plain sums. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/packed.h"

/* The narrow loops of the same file under other names. */
#define ANYGP_NARROW_PACKED
#define la_unpack narrow_unpack
#define la_both_products_packed narrow_both_products_packed
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "linalg/packed.c"
#undef la_unpack
#undef la_both_products_packed

typedef void both_products(int64_t, int64_t, const int32_t *, int64_t, int64_t, const double *, const double *, int64_t,
                           double *, double *, int64_t);
static both_products *const widths[] = {la_both_products_packed, narrow_both_products_packed};

enum { LDT = 300, MOST_VECTORS = 21 };

/* Rows of V and X stand first in blocks of ld rows; so do those of W and U.  `shared`: U is W. */
static void check_products(both_products *products, int64_t m, int64_t n, int64_t t, bool shared)
{
    int64_t ld = (m > n ? m : n) + 3, size = 2 * ld * t;
    int32_t *T = calloc((size_t)(LDT * n), sizeof *T);
    double *V = calloc((size_t)size, sizeof *V), *W = calloc((size_t)size, sizeof *W);
    assert_true(T && V && W);
    fill_normal(3, size, V);
    fill_normal(4, size, W);
    double *numbers = calloc((size_t)(LDT * n), sizeof *numbers), *before = malloc((size_t)size * sizeof *before);
    assert_true(numbers && before);
    fill_normal(5, LDT * n, numbers);
    for (int64_t i = 0; i < LDT * n; i++) T[i] = (int32_t)(numbers[i] * 3e8);
    memcpy(before, W, (size_t)size * sizeof *before);
    const double *X = V + ld * t;
    double *U = shared ? W : W + ld * t;
    products(m, n, T, LDT, t, V, X, ld, W, U, ld);
    for (int64_t k = 0; k < t; k++)
        for (int64_t i = 0; i < ld; i++) {
            double w = before[i + k * ld], u = (shared ? 0 : before[i + (k + t) * ld]), size_w = 0, size_u = 0;
            for (int64_t j = 0; i < m && j < n; j++)
                w += T[i + j * LDT] * V[j + k * ld], size_w += fabs(T[i + j * LDT] * V[j + k * ld]);
            for (int64_t j = 0; i < n && j < m; j++)
                u += T[j + i * LDT] * X[j + k * ld], size_u += fabs(T[j + i * LDT] * X[j + k * ld]);
            if (shared) w += u;
            assert_true(fabs(W[i + k * ld] - w) <= 1e-14 * (1 + size_w + size_u));
            if (!shared) assert_true(fabs(U[i + k * ld] - u) <= 1e-14 * (1 + size_u));
        }
    free(T);
    free(V);
    free(W);
    free(numbers);
    free(before);
}

static void products_are_plain_sums(void **state)
{
    static const int64_t sizes[][2] = {{1, 1}, {3, 5}, {8, 4}, {17, 3}, {40, 131}, {256, 256}, {259, 30}};
    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int64_t t = 1; t <= MOST_VECTORS; t += sizes[s][0] > 100 ? 4 : 1) {
                check_products(widths[w], sizes[s][0], sizes[s][1], t, false);
                check_products(widths[w], sizes[s][0], sizes[s][1], t, true);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_plain_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
