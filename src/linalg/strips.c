/* Products of one matrix R[n,n] with many columns, and norms |R k|^2 of them without storing R k.  R may be lower triangular, for half of the
   operations.

   R is packed once, in strips of so many rows as a tile has: column after column of the strip, of a triangle up to its last row's diagonal.
   Strips are read one after the other, each for all columns of B that are at hand, which are in the second-level cache beside it; sums
   stay in registers (strips_body.h).  BLAS would pack both sides again for every call, and products with blocks of a triangle would be up to an
   eighth more work.
   What comes of a column does not depend on those beside it, to the bit.
   In double and in float (linalg_f32.h). */
#include <string.h>

#include "base/simd.h"
#include "linalg/linalg.h"

#ifdef REAL_FLOAT
#include "linalg/linalg_f32.h"
typedef float real;
#define la_strips_size la_strips_size_f32
#define la_strips_prepare la_strips_prepare_f32
#define la_strips_work la_strips_work_f32
#define la_strips_product la_strips_product_f32
#define la_strips_norms la_strips_norms_f32
#else
typedef double real;
#endif

#ifdef ANYGP_NARROW_STRIPS /* for a test */
#undef SIMD_WIDE
#endif

enum {
    TALL = 3,
    HALF = 32 / (int)sizeof(real), /* numbers of a vector */
    FULL = 2 * HALF,
    MOST = 8,                            /* columns of a tile at most */
    AT_ONCE = 64,                        /* columns of B, a multiple of MOST, */
    CACHED = 524288 / (int)sizeof(real), /* and numbers in them, if that leaves MOST columns */
    LINE = 64 / (int)sizeof(real)
};

#ifdef SIMD_WIDE /* 32 registers */
#define WIDTH FULL
#define WIDE 8
#define NAME(f) f##_wide
#define HERE SIMD_WIDE
#include "linalg/strips_body.h"
#undef WIDTH
#undef WIDE
#undef NAME
#undef HERE
#endif

#define WIDTH HALF /* 16 registers */
#define WIDE 4
#define NAME(f) f##_half
#define HERE VECTORISED
#include "linalg/strips_body.h"

typedef struct strips_code {
    int64_t strip;
    void (*columns)(bool lower, int64_t n, const real *P, int64_t m, const real *B, int64_t ldb, real *work, real *C,
                    int64_t ldc, real *norm);
} strips_code;

static strips_code chosen(void)
{
#ifdef SIMD_WIDE
    if (simd_is_wide()) return (strips_code){TALL * FULL, columns_wide};
#endif
    return (strips_code){TALL * HALF, columns_half};
}

static int64_t depth_of(bool lower, int64_t n, int64_t first, int64_t strip)
{
    return lower && first + strip < n ? first + strip : n;
}

/* Rows of the last strip beyond the n-th are 0.  For strips of either size. */
int64_t la_strips_size(bool lower, int64_t n)
{
    int64_t size = 0;
    for (int64_t strip = TALL * HALF; strip <= TALL * FULL; strip += TALL * HALF) {
        int64_t here = 0;
        for (int64_t first = 0; first < n; first += strip) here += strip * depth_of(lower, n, first, strip);
        size = here > size ? here : size;
    }
    return size + LINE;
}

/* Where strips begin: vectors of them do not lie across two lines of the cache. */
static int64_t padding(const real *P) { return (LINE - (int64_t)((uintptr_t)P / sizeof *P % LINE)) % LINE; }

void la_strips_prepare(bool lower, int64_t n, const real *R, int64_t ldr, real *P)
{
    int64_t strip = chosen().strip;
    P += padding(P);
    for (int64_t first = 0; first < n; first += strip) {
        int64_t depth = depth_of(lower, n, first, strip), rows = n - first < strip ? n - first : strip;
        for (int64_t j = 0; j < depth; j++, P += strip) {
            int64_t above = lower && j > first ? j - first : 0; /* the diagonal */
            memset(P, 0, (size_t)strip * sizeof *P);
            if (above < rows) memcpy(P + above, R + first + above + j * ldr, (size_t)(rows - above) * sizeof *P);
        }
    }
}

static int64_t at_once(int64_t n)
{
    int64_t fit = CACHED / (n > 0 ? n : 1) / MOST * MOST;
    return fit > AT_ONCE ? AT_ONCE : fit < MOST ? MOST : fit;
}

int64_t la_strips_work(int64_t n) { return at_once(n) * (n + FULL); }

static void walk(bool lower, int64_t n, const real *P, int64_t m, const real *B, int64_t ldb, real *work, real *C,
                 int64_t ldc, real *norm)
{
    strips_code code = chosen();
    int64_t some = at_once(n);
    P += padding(P);
    for (int64_t c = 0; c < m; c += some)
        code.columns(lower, n, P, m - c < some ? m - c : some, B + c * ldb, ldb, work, C ? C + c * ldc : NULL, ldc,
                     norm ? norm + c : NULL);
}

void la_strips_product(bool lower, int64_t n, const real *P, int64_t m, const real *B, int64_t ldb, real *work, real *C,
                       int64_t ldc)
{
    walk(lower, n, P, m, B, ldb, work, C, ldc, NULL);
}

void la_strips_norms(bool lower, int64_t n, const real *P, int64_t m, const real *B, int64_t ldb, real *work,
                     real *norm)
{
    walk(lower, n, P, m, B, ldb, work, NULL, 0, norm);
}
