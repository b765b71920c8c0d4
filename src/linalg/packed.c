/* Products with packed matrices (packed.h).  With few vectors the cost is reading T: once for one vector, and an integer is made a double
   once for four products of two.  From SEVERAL vectors on, sums stay in registers (packed_body.h). */
#include "linalg/packed.h"

#include "base/simd.h"

#ifdef ANYGP_NARROW_PACKED /* for a test */
#undef SIMD_WIDE
#endif

enum {
    SEVERAL = 4,
    AT_ONCE = 128 /* columns of T, whose numbers of V are gathered */
};

#ifdef SIMD_WIDE /* 32 registers */
#define WIDTH 8
#define NAME(f) f##_wide
#define HERE SIMD_WIDE
#define TALL 2
#define WIDE 8
#define BROAD 4
#define NARROW 4
#include "linalg/packed_body.h"
#undef WIDTH
#undef NAME
#undef HERE
#undef TALL
#undef WIDE
#undef BROAD
#undef NARROW
#endif

#define WIDTH 4 /* 16 registers */
#define NAME(f) f##_half
#define HERE VECTORISED
#define TALL 2
#define WIDE 4
#define BROAD 3
#define NARROW 4
#include "linalg/packed_body.h"

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

/* The same for two vectors each, ldv and ldw apart. */
VECTORISED static void four_columns_twice(int64_t m, const int32_t *T, int64_t ldt, const double *v, const double *x,
                                          int64_t ldv, double *w, double *u, int64_t ldw)
{
    const int32_t *a = T, *b = a + ldt, *c = b + ldt, *d = c + ldt;
    const double *v2 = v + ldv, *x2 = x + ldv;
    double p = v[0], q = v[1], r = v[2], s = v[3], ua = 0, ub = 0, uc = 0, ud = 0, *w2 = w + ldw, *u2 = u + ldw;
    double p2 = v2[0], q2 = v2[1], r2 = v2[2], s2 = v2[3], ua2 = 0, ub2 = 0, uc2 = 0, ud2 = 0;
    SIMD_SUM(ua, ub, uc, ud, ua2, ub2, uc2, ud2) for (int64_t i = 0; i < m; i++)
    {
        double xi = x[i], yi = x2[i], ai = a[i], bi = b[i], ci = c[i], di = d[i];
        w[i] += (p * ai + q * bi) + (r * ci + s * di);
        w2[i] += (p2 * ai + q2 * bi) + (r2 * ci + s2 * di);
        ua += ai * xi, ub += bi * xi, uc += ci * xi, ud += di * xi;
        ua2 += ai * yi, ub2 += bi * yi, uc2 += ci * yi, ud2 += di * yi;
    }
    u[0] += ua, u[1] += ub, u[2] += uc, u[3] += ud;
    u2[0] += ua2, u2[1] += ub2, u2[2] += uc2, u2[3] += ud2;
}

static void one_vector(int64_t m, int64_t n, int64_t from, const int32_t *T, int64_t ldt, const double *v,
                       const double *x, double *w, double *u)
{
    int64_t j = from;
    for (; j + 4 <= n; j += 4) four_columns(m, T + j * ldt, ldt, v + j, w, x, u + j);
    for (; j < n; j++) one_column(m, T + j * ldt, v[j], w, x, u + j);
}

static void few_vectors(int64_t m, int64_t n, const int32_t *T, int64_t ldt, int64_t t, const double *V,
                        const double *X, int64_t ldv, double *W, double *U, int64_t ldw)
{
    int64_t k = 0, whole = n - n % 4;
    for (; k + 2 <= t; k += 2) {
        const double *v = V + k * ldv, *x = X + k * ldv;
        double *w = W + k * ldw, *u = U + k * ldw;
        for (int64_t j = 0; j < whole; j += 4) four_columns_twice(m, T + j * ldt, ldt, v + j, x, ldv, w, u + j, ldw);
        one_vector(m, n, whole, T, ldt, v, x, w, u);
        one_vector(m, n, whole, T, ldt, v + ldv, x + ldv, w + ldw, u + ldw);
    }
    if (k < t) one_vector(m, n, 0, T, ldt, V + k * ldv, X + k * ldv, W + k * ldw, U + k * ldw);
}

void la_both_products_packed(int64_t m, int64_t n, const int32_t *T, int64_t ldt, int64_t t, const double *V,
                             const double *X, int64_t ldv, double *W, double *U, int64_t ldw)
{
    int64_t whole = 0;
#ifdef SIMD_WIDE
    if (t >= SEVERAL && simd_is_wide()) {
        whole = m - m % 8;
        products_wide(whole, n, T, ldt, t, V, X, ldv, W, U, ldw);
    } else
#endif
        if (t >= SEVERAL) {
        whole = m - m % 4;
        products_half(whole, n, T, ldt, t, V, X, ldv, W, U, ldw);
    }
    if (whole < m) few_vectors(m - whole, n, T + whole, ldt, t, V, X + whole, ldv, W + whole, U, ldw);
}
