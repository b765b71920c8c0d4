/* Covariances between bases.  Points are treated like rows; where both sides have widths of their own, e differs from pair
   to pair and the exponent is no longer a product of matrices: one division per dim and element.

   The reverse, with W = G .* K, u = y_j - y_i and sums over i:
       y_j bar = -2 sum W e u                     log c_j bar = sum W (2 c^2 e^2 u^2 - c^2 e + 1/2)
       s_d bar = 2 / s_d sum W e u^2              v bar = sum W / v */
#include <math.h>
#include <string.h>

#include "inducing/functions.h"
#include "kernel/vector.h"

/* Rows as the loops want them: for each dim the places, the widths and their squares, n of them one after the other. */
typedef struct packed {
    int64_t n;
    double *y, *c, *square;
} packed;

static packed pack(const functions *f, function_set s, double *work)
{
    packed p = {s.M, work, work + f->D * s.M, work + 2 * f->D * s.M};
    for (int64_t d = 0; d < f->D; d++)
        for (int64_t m = 0; m < s.M; m++) {
            double c = s.C ? exp(s.C[m * f->D + d]) : 1;
            p.y[d * s.M + m] = (s.Z[m * f->D + d] - f->origin[d]) * f->inverse[d];
            p.c[d * s.M + m] = c;
            p.square[d * s.M + m] = c * c;
        }
    return p;
}

/* One dim of one basis (y, c) against n: r += e u^2, amplitude *= 2 c c' e. */
VECTORISED static void add_dim(int64_t n, const double *y, const double *c, const double *square, double y0, double c0,
                               double *r, double *amplitude)
{
    double own = c0 * c0, twice = 2 * c0;
    SIMD for (int64_t i = 0; i < n; i++)
    {
        double u = y0 - y[i], e = 1 / (own + square[i]);
        r[i] += e * u * u;
        amplitude[i] *= twice * c[i] * e;
    }
}

VECTORISED static void finish(int64_t n, double v, const double *amplitude, double *r)
{
    SIMD for (int64_t i = 0; i < n; i++) r[i] = v * sqrt(amplitude[i]) * exp_minus(r[i]);
}

static bool as_rows(const functions *f, function_set s, function_set rows, double *work, double *K)
{
    double *F = work + functions_work(f, 0, s.M);
    functions_features(f, rows.M, rows.Z, f->D, F);
    return functions_gram(f, s, rows.M, rows.Z, f->D, F, work, K);
}

bool functions_pair(const functions *f, function_set s, function_set rows, double *work, double *K)
{
    if (!f->rbf || !rows.C) return as_rows(f, s, rows, work, K);
    int64_t n = rows.M;
    packed p = pack(f, rows, work), own = pack(f, s, work + 3 * f->D * n);
    double *amplitude = work + 3 * f->D * (n + s.M);
    for (int64_t j = 0; j < s.M; j++) {
        double *r = K + j * n;
        memset(r, 0, (size_t)n * sizeof *r);
        for (int64_t i = 0; i < n; i++) amplitude[i] = 1;
        for (int64_t d = 0; d < f->D; d++)
            if (f->inverse[d] > 0)
                add_dim(n, p.y + d * n, p.c + d * n, p.square + d * n, own.y[d * s.M + j], own.c[d * s.M + j], r,
                        amplitude);
        finish(n, f->variance, amplitude, r);
    }
    return true;
}

/* sum W, of one basis. */
VECTORISED static double weigh(int64_t n, const double *K, double *G)
{
    double sum = 0;
    SIMD_SUM(sum) for (int64_t i = 0; i < n; i++)
    {
        G[i] *= K[i];
        sum += G[i];
    }
    return sum;
}

/* sum W e u, W e u^2, W e^2 u^2 and W e of one dim of one basis. */
VECTORISED static void pull_dim(int64_t n, const double *W, const double *y, const double *square, double y0, double c0,
                                double out[4])
{
    double own = c0 * c0, first = 0, second = 0, fourth = 0, plain = 0;
    SIMD_SUM(first, second, fourth, plain) for (int64_t i = 0; i < n; i++)
    {
        double u = y0 - y[i], e = 1 / (own + square[i]), we = W[i] * e, weu = we * u;
        plain += we;
        first += weu;
        second += weu * u;
        fourth += weu * u * e;
    }
    out[0] = first, out[1] = second, out[2] = fourth, out[3] = plain;
}

static void pull(const functions *f, int64_t j, function_set s, const packed *p, const packed *own, const double *W,
                 double total, double *gp, double *gZ, double *gC)
{
    gp[0] += total / f->variance;
    for (int64_t d = 0; d < f->D; d++) {
        if (!(f->inverse[d] > 0)) continue;
        double c = own->c[d * s.M + j], sum[4];
        pull_dim(p->n, W, p->y + d * p->n, p->square + d * p->n, own->y[d * s.M + j], c, sum);
        gp[f->length[d]] += 2 * f->inverse[d] * sum[1];
        if (gZ) gZ[j * f->D + d] -= 2 * f->inverse[d] * sum[0];
        if (gC) gC[j * f->D + d] += c * c * (2 * sum[2] - sum[3]) + 0.5 * total;
    }
}

bool functions_pair_reverse(const functions *f, function_set s, function_set rows, const double *K, double *G,
                            double *work, double *gp, double *gZ, double *gC)
{
    int64_t n = rows.M;
    if (!f->rbf || !rows.C) {
        double *F = work + functions_work(f, 0, s.M);
        functions_features(f, n, rows.Z, f->D, F);
        return functions_gram_reverse(f, s, n, rows.Z, f->D, F, K, G, work, gp, gZ, gC);
    }
    packed p = pack(f, rows, work), own = pack(f, s, work + 3 * f->D * n);
    for (int64_t j = 0; j < s.M; j++) {
        double total = weigh(n, K + j * n, G + j * n);
        pull(f, j, s, &p, &own, G + j * n, total, gp, gZ, gC);
    }
    return true;
}
