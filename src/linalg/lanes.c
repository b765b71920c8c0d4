/* Small systems side by side (lanes.h): all eight lanes in one register where the processor has AVX-512, else four and four. */
#include "linalg/lanes.h"

#include <math.h>

#include "base/simd.h"

#ifdef ANYGP_NARROW_LANES /* for a test */
#undef SIMD_WIDE
#endif

enum {
    ROWS = 2,
    COLUMNS = 4
}; /* of a tile: its sums and what they need at a time fit into 16 registers; AVX-512 has 32 */

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

#ifdef SIMD_WIDE
#define WIDTH 8
#define NAME(f) f##_wide
#define HERE SIMD_WIDE
#define TALL 4
#include "linalg/lanes_body.h"
#undef WIDTH
#undef NAME
#undef HERE
#undef TALL
#endif

#define WIDTH 4
#define NAME(f) f##_half
#define HERE VECTORISED
#define TALL ROWS
#include "linalg/lanes_body.h"

static int failed_lane(int64_t n, const double *inverse)
{
    for (int lane = 0; lane < LANES; lane++)
        for (int64_t i = 0; i < n; i++)
            if (!(inverse[i * LANES + lane] > 0) || !isfinite(inverse[i * LANES + lane])) return lane;
    return -1;
}

int lanes_factor(int64_t n, int64_t more, double *A, double *inverse)
{
#ifdef SIMD_WIDE
    if (simd_is_wide()) {
        factor_wide(n, more, A, inverse);
        return failed_lane(n, inverse);
    }
#endif
    for (int half = 0; half < LANES; half += WIDTH) factor_half(n, more, A + half, inverse + half);
    return failed_lane(n, inverse);
}

void lanes_solve(int64_t n, int64_t m, const int64_t *last, const double *L, const double *inverse, double *R)
{
#ifdef SIMD_WIDE
    if (simd_is_wide()) {
        solve_wide(n, m, last, L, inverse, R);
        return;
    }
#endif
    for (int half = 0; half < LANES; half += WIDTH) solve_half(n, m, last, L + half, inverse + half, R + half);
}

void lanes_products(int64_t n, int64_t m, const int64_t *last, const double *W, const double *S, double *G)
{
#ifdef SIMD_WIDE
    if (simd_is_wide()) {
        products_wide(n, m, last, W, S, G);
        return;
    }
#endif
    for (int half = 0; half < LANES; half += WIDTH) products_half(n, m, last, W + half, S + half, G + half);
}
