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

/* The copies for one width of the vectors; each call does `width` lanes. */
typedef struct lanes_code {
    int width;
    void (*factor)(int64_t n, int64_t more, double *A, double *inverse);
    void (*solve)(int64_t n, int64_t m, const int64_t *last, const double *L, const double *inverse, double *R);
    void (*forward)(int64_t n, int64_t m, const int64_t *last, const double *L, const double *inverse, double *R);
    void (*symmetric)(int64_t n, int64_t m, const int64_t *last, const double *W, const double *S, double *T);
    void (*products)(int64_t n, int64_t m, const int64_t *last, const double *W, const double *S, double *G);
} lanes_code;

static lanes_code chosen(void)
{
#ifdef SIMD_WIDE
    if (simd_is_wide())
        return (lanes_code){LANES, factor_wide, solve_wide, forward_wide, symmetric_wide, products_wide};
#endif
    return (lanes_code){WIDTH, factor_half, solve_half, forward_half, symmetric_half, products_half};
}

int lanes_factor(int64_t n, int64_t more, double *A, double *inverse)
{
    lanes_code c = chosen();
    for (int at = 0; at < LANES; at += c.width) c.factor(n, more, A + at, inverse + at);
    return failed_lane(n, inverse);
}

void lanes_solve(int64_t n, int64_t m, const int64_t *last, const double *L, const double *inverse, double *R)
{
    lanes_code c = chosen();
    for (int at = 0; at < LANES; at += c.width) c.solve(n, m, last, L + at, inverse + at, R + at);
}

void lanes_forward(int64_t n, int64_t m, const int64_t *last, const double *L, const double *inverse, double *R)
{
    lanes_code c = chosen();
    for (int at = 0; at < LANES; at += c.width) c.forward(n, m, last, L + at, inverse + at, R + at);
}

void lanes_symmetric(int64_t n, int64_t m, const int64_t *last, const double *W, const double *S, double *T)
{
    lanes_code c = chosen();
    for (int at = 0; at < LANES; at += c.width) c.symmetric(n, m, last, W + at, S + at, T + at);
}

void lanes_products(int64_t n, int64_t m, const int64_t *last, const double *W, const double *S, double *G)
{
    lanes_code c = chosen();
    for (int at = 0; at < LANES; at += c.width) c.products(n, m, last, W + at, S + at, G + at);
}
