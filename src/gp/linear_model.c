/* Least squares and linear discriminants (linear_model.h). */
#include "gp/linear_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/special.h"
#include "linalg/linalg.h"

enum { FEATURES_MOST = 1000, LEVELS_MOST = 30, LEAST_ROWS = 16, BLOCK = 128 };
static const double JITTER = 1e-8, ROWS_PER_FEATURE = 1.25;

struct linear_model {
    const schema *s;
    int64_t F, T, parts;      /* features, columns of t */
    double *G, *b, *q, *rows; /* sums by part: F x F, F x T, T, 1 each; the totals last */
    double *Z, *t;            /* BLOCK features and targets, a row's are a column; both times the root of its weight */
    double *A, *w, *u, *diag; /* the solution: factor, F x T coefficients; to work with */
    double *means, *share;    /* of classes: F x K; logarithms of their shares, then room for K levels */
    double noise;
};

void linear_free(linear_model *l)
{
    if (!l) return;
    double *const owned[] = {l->G, l->b, l->q, l->rows, l->Z, l->t, l->A, l->w, l->u, l->diag, l->means, l->share};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(l);
}

/* ------------------------------------------------------------------------------------------ features */

/* 0: column j of X is a number. */
static int64_t levels_of(const schema *s, int64_t j)
{
    if (sphere_has(&s->sphere, j) || !schema_at(s, j)->text) return 0;
    int64_t levels = schema_at(s, j)->levels;
    return levels < 1 ? 1 : levels < LEVELS_MOST ? levels : LEVELS_MOST;
}

static int64_t features_of(const schema *s)
{
    int64_t F = 1;
    for (int64_t j = 0; j < s->D; j++) F += levels_of(s, j) ? levels_of(s, j) - 1 : 1;
    return F;
}

static void take_features(const schema *s, const double *x, double *z)
{
    *z++ = 1;
    for (int64_t j = 0; j < s->D; j++) {
        int64_t levels = levels_of(s, j);
        if (!levels) *z++ = fmin(fmax(x[j], -1e6), 1e6);
        for (int64_t k = 1; k < levels; k++) *z++ = x[j] == (double)k;
    }
}

anygp_status linear_new(const schema *s, int64_t parts, linear_model **out, anygp_error *e)
{
    int64_t F = features_of(s), T = s->classes > 0 ? s->classes : 1, sums = parts + 1;
    *out = NULL;
    if (F > FEATURES_MOST) return ANYGP_OK;
    linear_model *l = mem_zeroed(1, sizeof *l);
    if (!l) return fail_memory(e, "a linear model", sizeof *l);
    *l = (linear_model){.s = s, .F = F, .T = T, .parts = parts};
    l->G = mem_zeroed(sums * F * F, sizeof(double)), l->b = mem_zeroed(sums * F * T, sizeof(double));
    l->q = mem_zeroed(sums * T, sizeof(double)), l->rows = mem_zeroed(sums, sizeof(double));
    l->Z = mem_doubles(F, BLOCK), l->t = mem_doubles(T, BLOCK);
    l->A = mem_doubles(F, F), l->w = mem_doubles(F, T), l->u = mem_doubles(F, 1), l->diag = mem_doubles(F, 1);
    l->means = mem_doubles(F, T), l->share = mem_doubles(2, T);
    if (!l->G || !l->b || !l->q || !l->rows || !l->Z || !l->t || !l->A || !l->w || !l->u || !l->diag || !l->means ||
        !l->share)
        return linear_free(l), fail_memory(e, "a linear model", 8.0 * (double)(sums * F * (F + T)));
    *out = l;
    return ANYGP_OK;
}

/* -------------------------------------------------------------------------------------------- sums */

static double exposure_of(const linear_rows *r, int64_t i) { return r->exposure ? r->exposure[i] : 1; }

static void take_target(const linear_model *l, const linear_rows *r, int64_t i, double *t)
{
    if (l->s->classes == 0) {
        *t = (r->y[i] / exposure_of(r, i) - l->s->y_mean) / l->s->y_sd;
        return;
    }
    memset(t, 0, (size_t)l->T * sizeof *t);
    if (r->y[i] >= 0 && r->y[i] < (double)l->T) t[(int64_t)r->y[i]] = 1;
}

static void add_block(linear_model *l, int64_t sum, int64_t m)
{
    int64_t F = l->F, T = l->T;
    la_syrk(LA_N, F, m, 1, l->Z, F, 1, l->G + sum * F * F, F);
    la_gemm(LA_N, LA_T, F, T, m, 1, l->Z, F, l->t, T, 1, l->b + sum * F * T, F);
    for (int64_t k = 0; k < m; k++)
        for (int64_t j = 0; j < T; j++) l->q[sum * T + j] += l->t[k * T + j] * l->t[k * T + j];
}

void linear_add(linear_model *l, int64_t part, const linear_rows *r)
{
    int64_t F = l->F, T = l->T;
    for (int64_t first = 0, m; first < r->n; first += m) {
        m = r->n - first < BLOCK ? r->n - first : BLOCK;
        for (int64_t k = 0; k < m; k++) {
            int64_t i = r->list ? r->list[first + k] : first + k;
            double weight = r->w ? r->w[i] : 1, root = sqrt(weight * exposure_of(r, i));
            take_features(l->s, r->X + i * l->s->D, l->Z + k * F);
            take_target(l, r, i, l->t + k * T);
            la_scale(F, root, l->Z + k * F);
            la_scale(T, root, l->t + k * T);
            l->rows[part] += weight, l->rows[l->parts] += weight;
        }
        add_block(l, part, m);
        add_block(l, l->parts, m);
    }
}

/* A and w become the sums over all parts but one. */
static double sums_without(linear_model *l, int64_t part)
{
    int64_t F = l->F, T = l->T, all = l->parts;
    memcpy(l->A, l->G + all * F * F, (size_t)(F * F) * sizeof(double));
    memcpy(l->w, l->b + all * F * T, (size_t)(F * T) * sizeof(double));
    if (part < 0) return l->rows[all];
    la_axpy(F * F, -1, l->G + part * F * F, l->A);
    la_axpy(F * T, -1, l->b + part * F * T, l->w);
    return l->rows[all] - l->rows[part];
}

/* ---------------------------------------------------------------------------------------- solutions */

static bool regress(linear_model *l, int64_t without, double n)
{
    double jitter, explained, q = l->q[l->parts] - (without < 0 ? 0 : l->q[without]);
    if (!la_cholesky(l->F, l->A, l->F, JITTER, l->diag, &jitter)) return false;
    la_trsv(LA_N, l->F, l->A, l->F, l->w);
    explained = la_dot(l->F, l->w, l->w);
    la_trsv(LA_T, l->F, l->A, l->F, l->w);
    l->noise = fmax(q - explained, 1e-12 * n) / fmax(n - (double)l->F, 1);
    return true;
}

/* Columns of w: W^-1 times the means of the classes.  The first feature, 1, takes no part. */
static bool discriminate(linear_model *l, double n)
{
    int64_t F = l->F, K = l->T;
    double jitter, mean_diagonal = 0;
    for (int64_t j = 0; j < K; j++) {
        double *m = l->w + j * F, rows = m[0]; /* the sum of the feature that is 1 */
        l->share[j] = log((rows + 0.5) / (n + 0.5 * (double)K));
        la_scale(F, rows > 0 ? 1 / rows : 0, m);
        for (int64_t a = 0; a < F; a++) /* the covariance about the means */
            for (int64_t b = a; b < F; b++) l->A[b + a * F] -= rows * m[a] * m[b];
    }
    la_scale(F * F, 1 / fmax(n - (double)K, 1), l->A);
    for (int64_t a = 0; a < F; a++) l->A[a] = 0;
    for (int64_t a = 1; a < F; a++) mean_diagonal += l->A[a + a * F] / (double)(F > 1 ? F - 1 : 1);
    l->A[0] = mean_diagonal > 0 ? mean_diagonal : 1;
    for (int64_t a = 1; a < F; a++) l->A[a + a * F] += 1e-4 * l->A[0];
    memcpy(l->means, l->w, (size_t)(F * K) * sizeof *l->means);
    for (int64_t j = 0; j < K; j++) l->w[j * F] = l->means[j * F] = 0;
    if (!la_cholesky(F, l->A, F, JITTER, l->diag, &jitter)) return false;
    la_trsm(LA_LEFT, LA_N, F, K, 1, l->A, F, l->w, F);
    la_trsm(LA_LEFT, LA_T, F, K, 1, l->A, F, l->w, F);
    return true;
}

bool linear_solve(linear_model *l, int64_t without)
{
    double n = sums_without(l, without);
    if (n < LEAST_ROWS || n < ROWS_PER_FEATURE * (double)l->F) return false;
    return l->s->classes > 0 ? discriminate(l, n) : regress(l, without, n);
}

/* --------------------------------------------------------------------------------------- predictions */

void linear_numbers(linear_model *l, const linear_rows *r, double *mean, double *variance)
{
    const schema *s = l->s;
    for (int64_t k = 0; k < r->n; k++) {
        int64_t i = r->list ? r->list[k] : k;
        double exposure = exposure_of(r, i);
        take_features(s, r->X + i * s->D, l->u);
        mean[i] = exposure * (s->y_mean + s->y_sd * la_dot(l->F, l->u, l->w));
        la_trsv(LA_N, l->F, l->A, l->F, l->u);
        variance[i] = s->y_sd * s->y_sd * l->noise * exposure * (1 + exposure * la_dot(l->F, l->u, l->u));
    }
}

void linear_classes(linear_model *l, const linear_rows *r, double *P, int64_t ldp)
{
    int64_t F = l->F, K = l->T;
    double *level = l->share + K;
    for (int64_t k = 0; k < r->n; k++) {
        int64_t i = r->list ? r->list[k] : k;
        take_features(l->s, r->X + i * l->s->D, l->u);
        for (int64_t j = 0; j < K; j++) {
            const double *w = l->w + j * F;
            level[j] = l->share[j] + la_dot(F, l->u, w) - la_dot(F, l->means + j * F, w) / 2;
        }
        double all = log_sum_exp(K, level);
        for (int64_t j = 0; j < K; j++) P[i + j * ldp] = exp(level[j] - all);
    }
}

void rounded_normal(int64_t n, const double *y, const double *mean, const double *variance, double *below,
                    double *up_to, double *log_density)
{
    for (int64_t i = 0; i < n; i++) {
        double sd = sqrt(variance[i]), low = (y[i] - 0.5 - mean[i]) / sd, high = (y[i] + 0.5 - mean[i]) / sd;
        below[i] = y[i] > 0 ? normal_cdf(low) : 0;
        up_to[i] = normal_cdf(high);
        if (low > 0) { /* the same interval in the lower tail, where differences keep their digits */
            double swap = -low;
            low = -high, high = swap;
        }
        double upper = log_normal_cdf(high), lower = log_normal_cdf(low);
        log_density[i] = y[i] > 0 ? upper + log1p(-exp(lower - upper)) : log_normal_cdf((0.5 - mean[i]) / sd);
    }
}
