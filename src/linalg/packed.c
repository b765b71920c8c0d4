/* Products with packed matrices (packed.h).  Cost: reading T; the work is less where T comes from memory. */
#include "linalg/packed.h"

#include "base/simd.h"

VECTORISED void la_unpack(int64_t n, const int32_t *from, double *to)
{
    SIMD for (int64_t i = 0; i < n; i++) to[i] = from[i];
}

/* Four columns at a time: w is read and written once for all of them. */
VECTORISED static void four_columns(int64_t m, const int32_t *T, int64_t ldt, const double *v, double *w,
                                    const double *x, double *u)
{
    const int32_t *a = T, *b = a + ldt, *c = b + ldt, *d = c + ldt;
    double p = v[0], q = v[1], r = v[2], s = v[3], ua = 0, ub = 0, uc = 0, ud = 0;
    SIMD_SUM(ua, ub, uc, ud) for (int64_t i = 0; i < m; i++)
    {
        double xi = x[i], ai = a[i], bi = b[i], ci = c[i], di = d[i];
        w[i] += (p * ai + q * bi) + (r * ci + s * di);
        ua += ai * xi, ub += bi * xi, uc += ci * xi, ud += di * xi;
    }
    u[0] += ua, u[1] += ub, u[2] += uc, u[3] += ud;
}

VECTORISED static void one_column(int64_t m, const int32_t *T, double v, double *w, const double *x, double *u)
{
    double sum = 0;
    SIMD_SUM(sum) for (int64_t i = 0; i < m; i++)
    {
        double a = T[i];
        w[i] += v * a;
        sum += a * x[i];
    }
    *u += sum;
}

void la_both_products_packed(int64_t m, int64_t n, const int32_t *T, int64_t ldt, const double *v, double *w,
                             const double *x, double *u)
{
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) four_columns(m, T + j * ldt, ldt, v + j, w, x, u + j);
    for (; j < n; j++) one_column(m, T + j * ldt, v[j], w, x, u + j);
}
