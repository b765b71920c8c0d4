/* Covariances of generalised SE functions with rows, and their reverse (functions.h). */
#include "inducing/functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel/vector.h"
#include "linalg/linalg.h"

anygp_status functions_init(functions *f, int64_t D, anygp_error *e)
{
    *f = (functions){.D = D};
    f->inverse = mem_zeroed(D, sizeof(double));
    f->origin = mem_zeroed(D, sizeof(double));
    f->length = mem_zeroed(D, sizeof(int64_t));
    if (f->inverse && f->origin && f->length) return ANYGP_OK;
    functions_clear(f);
    return fail_memory(e, "the inducing functions", 24.0 * (double)D);
}

void functions_clear(functions *f)
{
    free(f->inverse);
    free(f->origin);
    free(f->length);
    *f = (functions){0};
}

void functions_prepare(functions *f, kernel *k, const double *origin)
{
    f->kernel = k;
    f->rbf = kernel_as_rbf(k, f->length);
    memcpy(f->origin, origin, (size_t)f->D * sizeof *origin);
    if (!f->rbf) return;
    f->variance = kernel_values(k)[0];
    for (int64_t d = 0; d < f->D; d++) f->inverse[d] = f->length[d] < 0 ? 0 : 1 / kernel_values(k)[f->length[d]];
}

function_set functions_part(function_set s, int64_t D, int64_t first, int64_t count)
{
    return (function_set){count, s.Z + first * D, s.C ? s.C + first * D : NULL};
}

static int64_t features(const functions *f) { return 2 * f->D + 1; }

int64_t functions_work(const functions *f, int64_t n, int64_t count)
{
    int64_t cross = count * features(f), pair = (4 * f->D + 8) * (n + count);
    return f->rbf ? (cross > pair ? cross : pair) : 0;
}

void functions_diag(const functions *f, function_set s, double *diag)
{
    if (!f->rbf) {
        kernel_diag(f->kernel, s.M, s.Z, f->D, diag);
        return;
    }
    for (int64_t m = 0; m < s.M; m++) diag[m] = f->variance;
}

/* ------------------------------------------------------------------------------- rows and bases */

void functions_features(const functions *f, int64_t n, const double *X, int64_t ldx, double *F)
{
    for (int64_t d = 0; f->rbf && d < f->D; d++)
        for (int64_t i = 0; i < n; i++) {
            double t = (X[i * ldx + d] - f->origin[d]) * f->inverse[d];
            F[i + d * n] = t * t;
            F[i + (f->D + d) * n] = t;
        }
    for (int64_t i = 0; f->rbf && i < n; i++) F[i + 2 * f->D * n] = 1;
}

static double width(function_set s, int64_t at) { return s.C ? exp(s.C[at]) : 1; }

static double place(const functions *f, function_set s, int64_t m, int64_t d)
{
    return (s.Z[m * f->D + d] - f->origin[d]) * f->inverse[d];
}

/* theta[2 D + 1, M] of the head comment. */
static void coefficients(const functions *f, function_set s, double *theta)
{
    for (int64_t m = 0; m < s.M; m++) {
        double *t = theta + m * features(f), last = 0;
        for (int64_t d = 0; d < f->D; d++) {
            double c = width(s, m * f->D + d), e = 1 / (1 + c * c), y = place(f, s, m, d);
            bool seen = f->inverse[d] > 0;
            t[d] = e;
            t[f->D + d] = -2 * e * y;
            last += e * y * y - (seen ? 0.5 * log(2 * c * e) : 0);
        }
        t[2 * f->D] = last;
    }
}

VECTORISED static void exponentials(int64_t n, double v, double *K)
{
    SIMD for (int64_t i = 0; i < n; i++) K[i] = v * exp_minus(K[i]);
}

bool functions_gram(const functions *f, function_set s, int64_t n, const double *X, int64_t ldx, const double *F,
                    double *work, double *K)
{
    if (!f->rbf) return kernel_gram(f->kernel, n, X, ldx, s.M, s.Z, f->D, K, n);
    coefficients(f, s, work);
    la_gemm(LA_N, LA_N, n, s.M, features(f), 1, F, n, work, features(f), 0, K, n);
    exponentials(n * s.M, f->variance, K);
    return true;
}

VECTORISED static void multiply(int64_t n, const double *K, double *G)
{
    SIMD for (int64_t i = 0; i < n; i++) G[i] *= K[i];
}

/* From theta bar of one basis; d theta = (de, -2 y de - 2 e dy, y^2 de + 2 e y dy - d log(2 c e) / 2). */
static void pull_basis(const functions *f, function_set s, int64_t m, const double *bar, double *gp, double *gZ,
                       double *gC)
{
    double last = bar[2 * f->D];
    gp[0] -= last / f->variance;
    for (int64_t d = 0; d < f->D; d++) {
        if (!(f->inverse[d] > 0)) continue;
        int64_t at = m * f->D + d;
        double c = width(s, at), e = 1 / (1 + c * c), y = place(f, s, m, d);
        double de = bar[d] - 2 * y * bar[f->D + d] + y * y * last, dy = -2 * e * (bar[f->D + d] - y * last);
        gp[f->length[d]] -= 2 * f->inverse[d] * e * de;
        if (gZ) gZ[at] += dy * f->inverse[d];
        if (gC) gC[at] -= 2 * c * c * e * e * de + 0.5 * last * (1 - 2 * c * c * e);
    }
}

bool functions_gram_reverse(const functions *f, function_set s, int64_t n, const double *X, int64_t ldx,
                            const double *F, const double *K, double *G, double *work, double *gp, double *gZ,
                            double *gC)
{
    if (!f->rbf) return kernel_gram_reverse(f->kernel, n, X, ldx, s.M, s.Z, f->D, G, n, gp, NULL, 0, gZ, f->D);
    multiply(n * s.M, K, G);
    la_gemm(LA_T, LA_N, features(f), s.M, n, -1, F, n, G, n, 0, work, features(f));
    for (int64_t m = 0; m < s.M; m++) pull_basis(f, s, m, work + m * features(f), gp, gZ, gC);
    return true;
}

/* ------------------------------------------------------------------------------- bases and rows */

/* Features of the rows and their adjoints, theta and its. */
int64_t functions_cross_work(const functions *f, int64_t n, int64_t count) { return 2 * (n + count) * features(f); }

void functions_cross(const functions *f, function_set s, int64_t n, const double *X, int64_t ldx, double *work,
                     double *K, int64_t ldk)
{
    double *F = work, *theta = F + n * features(f);
    functions_features(f, n, X, ldx, F);
    coefficients(f, s, theta);
    la_gemm(LA_T, LA_T, s.M, n, features(f), 1, theta, features(f), F, n, 0, K, ldk);
    for (int64_t j = 0; j < n; j++) exponentials(s.M, f->variance, K + j * ldk);
}

/* t = (x - origin) / s. */
static void pull_rows(const functions *f, int64_t n, const double *F, const double *Fbar, double *gX)
{
    for (int64_t d = 0; d < f->D; d++)
        for (int64_t i = 0; i < n; i++)
            gX[i * f->D + d] +=
                f->inverse[d] * (2 * F[i + (f->D + d) * n] * Fbar[i + d * n] + Fbar[i + (f->D + d) * n]);
}

void functions_cross_reverse(const functions *f, function_set s, int64_t n, const double *X, int64_t ldx,
                             const double *G, int64_t ldg, double *work, double *K, double *gp, double *gZ, double *gC,
                             double *gX)
{
    double *F = work, *theta = F + n * features(f), *bar = theta + s.M * features(f), *Fbar = bar + s.M * features(f);
    functions_cross(f, s, n, X, ldx, work, K, s.M);
    for (int64_t j = 0; j < n; j++) multiply(s.M, G + j * ldg, K + j * s.M);
    la_gemm(LA_T, LA_T, features(f), s.M, n, -1, F, n, K, s.M, 0, bar, features(f));
    for (int64_t m = 0; m < s.M; m++) pull_basis(f, s, m, bar + m * features(f), gp, gZ, gC);
    if (!gX) return;
    la_gemm(LA_T, LA_T, n, features(f), s.M, -1, K, s.M, theta, features(f), 0, Fbar, n);
    pull_rows(f, n, F, Fbar, gX);
}
