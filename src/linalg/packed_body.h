/* The loops of packed.c over vectors of WIDTH numbers, which it includes once for each width.  Sums stay in registers: of TALL vectors of
   rows and WIDE columns of W, 8 or 4, and of BROAD columns of T and NARROW columns of U, 4.

   NAME(f): the name of f for this width;  HERE: the attributes of its functions. */

typedef double NAME(vector) __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));
typedef int32_t NAME(integers) __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
#define VECTOR NAME(vector)
#define READ(at) __builtin_convertvector(*(const NAME(integers) *)(at), VECTOR)

/* W[tall WIDTH, count] += T[tall WIDTH, n] V', v having row after row of V[n, count]. */
INLINE void NAME(down_strip)(const int tall, const int count, int64_t n, const int32_t *T, int64_t ldt, const double *v,
                             double *W, int64_t ldw)
{
    VECTOR sum[TALL][WIDE];
    UNROLL for (int r = 0; r < tall; r++) UNROLL for (int k = 0; k < count; k++) sum[r][k] = (VECTOR){0};
    for (int64_t j = 0; j < n; j++, T += ldt, v += count) {
        VECTOR a[TALL];
        UNROLL for (int r = 0; r < tall; r++) a[r] = READ(T + r * WIDTH);
        UNROLL for (int k = 0; k < count; k++) UNROLL for (int r = 0; r < tall; r++) sum[r][k] += a[r] * v[k];
    }
    UNROLL for (int k = 0; k < count; k++) UNROLL for (int r = 0; r < tall; r++) *
        (VECTOR *)(W + r * WIDTH + k * ldw) += sum[r][k];
}

/* `count` columns of W += T V; m is a multiple of WIDTH. */
INLINE void NAME(down)(const int count, int64_t m, int64_t n, const int32_t *T, int64_t ldt, const double *V,
                       int64_t ldv, double *W, int64_t ldw)
{
    double v[AT_ONCE * WIDE];
    for (int64_t j0 = 0; j0 < n; j0 += AT_ONCE) {
        int64_t some = n - j0 < AT_ONCE ? n - j0 : AT_ONCE, i = 0;
        for (int64_t j = 0; j < some; j++)
            UNROLL for (int k = 0; k < count; k++) v[j * count + k] = V[j0 + j + k * ldv];
        for (; i + TALL * WIDTH <= m; i += TALL * WIDTH)
            NAME(down_strip)(TALL, count, some, T + i + j0 * ldt, ldt, v, W + i, ldw);
        for (; i < m; i += WIDTH) NAME(down_strip)(1, count, some, T + i + j0 * ldt, ldt, v, W + i, ldw);
    }
}

/* U[broad, count] += T[m, broad]'X[m, count]; m is a multiple of WIDTH. */
INLINE void NAME(across_strip)(const int broad, const int count, int64_t m, const int32_t *T, int64_t ldt,
                               const double *X, int64_t ldv, double *U, int64_t ldw)
{
    VECTOR sum[BROAD][NARROW];
    UNROLL for (int j = 0; j < broad; j++) UNROLL for (int k = 0; k < count; k++) sum[j][k] = (VECTOR){0};
    for (int64_t i = 0; i < m; i += WIDTH) {
        VECTOR a[BROAD];
        UNROLL for (int j = 0; j < broad; j++) a[j] = READ(T + i + j * ldt);
        UNROLL for (int k = 0; k < count; k++)
        {
            VECTOR x = *(const VECTOR *)(X + i + k * ldv);
            UNROLL for (int j = 0; j < broad; j++) sum[j][k] += a[j] * x;
        }
    }
    UNROLL for (int j = 0; j < broad; j++) UNROLL for (int k = 0; k < count; k++)
    {
        double total = 0;
        UNROLL for (int l = 0; l < WIDTH; l++) total += sum[j][k][l];
        U[j + k * ldw] += total;
    }
}

/* `broad` columns of T with all t columns of X, while they are in the cache. */
INLINE void NAME(across)(const int broad, int64_t m, const int32_t *T, int64_t ldt, int64_t t, const double *X,
                         int64_t ldv, double *U, int64_t ldw)
{
    int64_t k = 0;
    for (; k + NARROW <= t; k += NARROW)
        NAME(across_strip)(broad, NARROW, m, T, ldt, X + k * ldv, ldv, U + k * ldw, ldw);
    X += k * ldv, U += k * ldw;
    switch (t - k) { /* NARROW is 4 */
    case 3: NAME(across_strip)(broad, 3, m, T, ldt, X, ldv, U, ldw); break;
    case 2: NAME(across_strip)(broad, 2, m, T, ldt, X, ldv, U, ldw); break;
    case 1: NAME(across_strip)(broad, 1, m, T, ldt, X, ldv, U, ldw); break;
    default: break;
    }
}

HERE static void NAME(products)(int64_t m, int64_t n, const int32_t *T, int64_t ldt, int64_t t, const double *V,
                                const double *X, int64_t ldv, double *W, double *U, int64_t ldw)
{
    int64_t k = 0, j = 0;
    for (; k + WIDE <= t; k += WIDE) NAME(down)(WIDE, m, n, T, ldt, V + k * ldv, ldv, W + k * ldw, ldw);
    if (k + 4 <= t) NAME(down)(4, m, n, T, ldt, V + k * ldv, ldv, W + k * ldw, ldw), k += 4;
    V += k * ldv, W += k * ldw;
    switch (t - k) {
    case 3: NAME(down)(3, m, n, T, ldt, V, ldv, W, ldw); break;
    case 2: NAME(down)(2, m, n, T, ldt, V, ldv, W, ldw); break;
    case 1: NAME(down)(1, m, n, T, ldt, V, ldv, W, ldw); break;
    default: break;
    }
    for (; j + BROAD <= n; j += BROAD) NAME(across)(BROAD, m, T + j * ldt, ldt, t, X, ldv, U + j, ldw);
    for (; j < n; j++) NAME(across)(1, m, T + j * ldt, ldt, t, X, ldv, U + j, ldw);
}

#undef VECTOR
#undef READ
