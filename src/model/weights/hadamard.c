/* Structured orthogonal features (hadamard.h). */
#include "model/weights/hadamard.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/simd.h"
#include "kernel/draws.h"

enum {
    ROWS = 8,
    LEAST = 64,
    NEAR = 256,
    SIGNS = 3,
    DRAWS = 64
}; /* ROWS at a time; NEAR: a part that fits the nearest cache */

int64_t hadamard_size(int64_t D)
{
    int64_t P = LEAST;
    while (P < D) P *= 2;
    return P;
}

double hadamard_length(uint64_t seed, int64_t P, int64_t transform, int64_t k)
{
    draws r = {{seed, RANDOM_CELLS, 2}, (uint64_t)(transform * P + k) * DRAWS};
    return sqrt(2 * draw_gamma(&r, 0.5 * (double)P)) / ((double)P * sqrt((double)P));
}

/* ------------------------------------------------------------------------------------------- transforms */

/* Two levels of butterflies: `count` parts, each of four quarters of h numbers. */
VECTORISED static void fours(int64_t count, int64_t h, double *restrict a)
{
    for (int64_t part = 0; part < count; part++, a += 4 * h) {
        double *b = a + h, *c = a + 2 * h, *d = a + 3 * h;
        SIMD for (int64_t i = 0; i < h; i++)
        {
            double p = a[i] + b[i], q = a[i] - b[i], r = c[i] + d[i], s = c[i] - d[i];
            a[i] = p + r, b[i] = q + s, c[i] = p - r, d[i] = q - s;
        }
    }
}

VECTORISED static void twos(int64_t count, int64_t h, double *restrict a)
{
    for (int64_t part = 0; part < count; part++, a += 2 * h) {
        double *b = a + h;
        SIMD for (int64_t i = 0; i < h; i++)
        {
            double p = a[i], q = b[i];
            a[i] = p + q, b[i] = p - q;
        }
    }
}

/* H a of a[P,ROWS], row-major: ROWS vectors side by side. */
static void transform_rows(int64_t P, double *a)
{
    if (P > NEAR) {
        fours(1, P / 4 * ROWS, a);
        for (int i = 0; i < 4; i++) transform_rows(P / 4, a + i * (P / 4) * ROWS);
        return;
    }
    int64_t n = P;
    for (; n >= 4; n /= 4) fours(P / n, n / 4 * ROWS, a);
    if (n == 2) twos(P / 2, ROWS, a);
}

/* ------------------------------------------------------------------------------------------------ products */

int64_t hadamard_doubles(int64_t P) { return (SIGNS + ROWS) * P; }

/* 64 bits as signs of 1.0. */
VECTORISED static void spread(uint64_t bits, double *restrict sign)
{
    SIMD for (int64_t i = 0; i < 64; i++) sign[i] = (bits >> i & 1) ? -1.0 : 1.0;
}

/* Signs of the three diagonals of a transform, P of each, four words of bits at a time. */
static void draw_signs(uint64_t seed, int64_t P, int64_t transform, double *sign)
{
    int64_t words = SIGNS * P / 64, calls = (words + 3) / 4;
    for (int64_t call = 0; call < calls; call++) {
        uint64_t bits[4];
        random_words((random_stream){seed, RANDOM_CELLS, 3}, (uint64_t)(transform * calls + call), bits);
        for (int64_t i = 0; i < 4 && 4 * call + i < words; i++) spread(bits[i], sign + 64 * (4 * call + i));
    }
}

VECTORISED static void scale_rows(int64_t count, const double *s, double *restrict a)
{
    for (int64_t k = 0; k < count; k++) SIMD for (int64_t i = 0; i < ROWS; i++) a[k * ROWS + i] *= s[k];
}

/* a[P,ROWS] = D_3 x, with zeros behind the inputs; where there is no row, the first stands in its place. */
static void take_rows(int64_t n, int64_t D, int64_t P, const double *X, const double *over, const double *sign,
                      double *a)
{
    const double *x[ROWS];
    for (int64_t i = 0; i < ROWS; i++) x[i] = X + (i < n ? i : 0) * D;
    for (int64_t d = 0; d < D; d++) {
        double by = over[d] * sign[d];
        for (int64_t i = 0; i < ROWS; i++) a[d * ROWS + i] = by * x[i][d];
    }
    memset(a + D * ROWS, 0, (size_t)((P - D) * ROWS) * sizeof *a);
}

void hadamard_products(uint64_t seed, int64_t P, int64_t transform, int64_t n, int64_t D, const double *X,
                       const double *over, int64_t waves, const double *scale, double *T, int64_t ldt, double *room)
{
    double *sign = room, *a = room + SIGNS * P;
    draw_signs(seed, P, transform, sign);
    for (int64_t first = 0; first < n; first += ROWS) {
        int64_t rows = n - first < ROWS ? n - first : ROWS;
        take_rows(rows, D, P, X + first * D, over, sign, a);
        for (int round = 1; round <= SIGNS; round++) {
            transform_rows(P, a);
            if (round < SIGNS) scale_rows(P, sign + round * P, a);
        }
        scale_rows(waves, scale, a);
        for (int64_t k = 0; k < waves; k++) memcpy(T + k * ldt + first, a + k * ROWS, (size_t)rows * sizeof *T);
    }
}
