/* Linear models on the rows of a scene, by five-fold cross-validation: each fifth is predicted from the other four.

   z are the features of a row: 1, the number columns in model units, and an indicator for each category but the first.  Sums over folds
       G_k = sum z z',  b_k = sum z t,  q_k = sum t^2         t: standardised target, or the indicators of the classes
   are taken once; fold k is predicted from the differences to their totals.
       regression    w = G^-1 b, noise (q - b'w)/(n - F), and noise (1 + z'G^-1 z) for a new row
       discriminants of classes with means m_k, common covariance W and shares p_k: log p_k + z'W^-1 m_k - m_k'W^-1 m_k / 2    */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/special.h"
#include "linalg/linalg.h"
#include "report/report.h"

enum { FOLDS = 5, FEATURES_MOST = 1000, LEVELS_MOST = 30, LEAST_ROWS = 20 };
static const double JITTER = 1e-8;

typedef struct folds {
    const scene *c;
    int64_t F, T;             /* features, columns of t */
    double *Z;                /* F x n: a row's features are a column */
    double *t;                /* T x n */
    double *G, *b, *q, *rows; /* sums by fold: F x F, F x T, T, 1 each; the totals last */
    double *A, *w, *diag;     /* to work with */
} folds;

static int64_t levels_of(const scene *c, int64_t j)
{
    int64_t levels = schema_at(&c->g->schema, j)->levels;
    return levels < LEVELS_MOST ? levels : LEVELS_MOST;
}

static int64_t features_of(const scene *c)
{
    int64_t F = 1;
    for (int64_t j = 0; j < c->D; j++) F += !scene_is_text(c, j) ? 1 : levels_of(c, j) > 1 ? levels_of(c, j) - 1 : 0;
    return F;
}

static void take_features(const scene *c, int64_t i, double *z)
{
    int64_t D = c->D;
    *z++ = 1;
    for (int64_t j = 0; j < D; j++) {
        double x = c->X[i * D + j];
        if (!scene_is_text(c, j))
            *z++ = fmin(fmax(x, -1e6), 1e6);
        else
            for (int64_t l = 1; l < levels_of(c, j); l++) *z++ = x == (double)l;
    }
}

static void folds_clear(folds *f)
{
    double *const owned[] = {f->Z, f->t, f->G, f->b, f->q, f->rows, f->A, f->w, f->diag};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static anygp_status folds_room(folds *f, anygp_error *e)
{
    int64_t n = f->c->n, F = f->F, T = f->T;
    f->Z = mem_doubles(F, n), f->t = mem_zeroed(T * n, sizeof(double));
    f->G = mem_zeroed((FOLDS + 1) * F * F, sizeof(double)), f->b = mem_zeroed((FOLDS + 1) * F * T, sizeof(double));
    f->q = mem_zeroed((FOLDS + 1) * T, sizeof(double)), f->rows = mem_zeroed(FOLDS + 1, sizeof(double));
    f->A = mem_doubles(F, F), f->w = mem_doubles(F, T + 1), f->diag = mem_alloc(F, sizeof(double));
    if (f->Z && f->t && f->G && f->b && f->q && f->rows && f->A && f->w && f->diag) return ANYGP_OK;
    return fail_memory(e, "a linear model", 8.0 * (double)F * (double)(n + 6 * F));
}

static int64_t fold_start(const folds *f, int64_t k) { return k * f->c->n / FOLDS; }

/* Folds are runs of the rows in a random order. */
static anygp_status folds_sum(folds *f, const int64_t *order)
{
    int64_t F = f->F, T = f->T;
    for (int64_t i = 0; i < f->c->n; i++) take_features(f->c, order[i], f->Z + i * F);
    for (int64_t k = 0; k < FOLDS; k++) {
        int64_t first = fold_start(f, k), m = fold_start(f, k + 1) - first;
        double *G = f->G + k * F * F, *b = f->b + k * F * T;
        la_syrk(LA_N, F, m, 1, f->Z + first * F, F, 0, G, F);
        la_gemm(LA_N, LA_T, F, T, m, 1, f->Z + first * F, F, f->t + first * T, T, 0, b, F);
        for (int64_t i = first; i < first + m; i++)
            for (int64_t j = 0; j < T; j++) f->q[k * T + j] += f->t[i * T + j] * f->t[i * T + j];
        f->rows[k] = (double)m, f->rows[FOLDS] += (double)m;
        la_axpy(F * F, 1, G, f->G + FOLDS * F * F);
        la_axpy(F * T, 1, b, f->b + FOLDS * F * T);
        la_axpy(T, 1, f->q + k * T, f->q + FOLDS * T);
    }
    return ANYGP_OK;
}

/* f->A and f->w become the sums over all folds but k. */
static void without_fold(folds *f, int64_t k)
{
    int64_t F = f->F, T = f->T;
    memcpy(f->A, f->G + FOLDS * F * F, (size_t)(F * F) * sizeof(double));
    memcpy(f->w, f->b + FOLDS * F * T, (size_t)(F * T) * sizeof(double));
    la_axpy(F * F, -1, f->G + k * F * F, f->A);
    la_axpy(F * T, -1, f->b + k * F * T, f->w);
}

/* ------------------------------------------------------------------------------------ regression */

static bool regress_fold(folds *f, int64_t k, const int64_t *order, double *mean, double *variance)
{
    const schema *s = &f->c->g->schema;
    int64_t F = f->F;
    double jitter, *w = f->w, *u = f->w + F, explained, n = f->rows[FOLDS] - f->rows[k];
    without_fold(f, k);
    if (!la_cholesky(F, f->A, F, JITTER, f->diag, &jitter)) return false;
    la_trsv(LA_N, F, f->A, F, w);
    explained = la_dot(F, w, w);
    la_trsv(LA_T, F, f->A, F, w);
    double noise = fmax(f->q[FOLDS] - f->q[k] - explained, 1e-12 * n) / fmax(n - (double)F, 1);
    for (int64_t i = fold_start(f, k); i < fold_start(f, k + 1); i++) {
        const double *z = f->Z + i * F;
        memcpy(u, z, (size_t)F * sizeof *u);
        la_trsv(LA_N, F, f->A, F, u);
        mean[order[i]] = s->y_mean + s->y_sd * la_dot(F, z, w);
        variance[order[i]] = s->y_sd * s->y_sd * noise * (1 + la_dot(F, u, u));
    }
    return true;
}

static anygp_status folds_open(folds *f, const scene *c, int64_t T, int64_t **order, bool *usable, anygp_error *e)
{
    *f = (folds){.c = c, .F = features_of(c), .T = T};
    *order = NULL;
    *usable = c->n >= LEAST_ROWS && f->F <= FEATURES_MOST;
    if (!*usable) return ANYGP_OK;
    if (!(*order = mem_alloc(c->n, sizeof **order))) return fail_memory(e, "a linear model", 8.0 * (double)c->n);
    random_permutation((random_stream){.use = RANDOM_REPORT, .sub = 2}, c->n, *order);
    return folds_room(f, e);
}

anygp_status linear_numbers(const scene *c, double *mean, double *variance, bool *done, anygp_error *e)
{
    folds f;
    int64_t *order;
    const schema *s = &c->g->schema;
    anygp_status status = folds_open(&f, c, 1, &order, done, e);
    if (*done && !ANYGP_FAILED(status)) {
        for (int64_t i = 0; i < c->n; i++) f.t[i] = (c->y[order[i]] - s->y_mean) / s->y_sd;
        status = folds_sum(&f, order);
        for (int64_t k = 0; k < FOLDS && *done; k++) *done = regress_fold(&f, k, order, mean, variance);
    }
    folds_clear(&f);
    free(order);
    return status;
}

/* ---------------------------------------------------------------------------------- discriminants */

/* Columns of w: the means of the classes, then W^-1 times them; shares into log_share.  The first feature, 1, takes no part. */
static bool discriminate(folds *f, int64_t k, double *means, double *log_share)
{
    int64_t F = f->F, K = f->T;
    double jitter, all = f->rows[FOLDS] - f->rows[k];
    without_fold(f, k);
    for (int64_t j = 0; j < K; j++) {
        double *m = f->w + j * F, rows = m[0]; /* the sum of the feature that is 1 */
        log_share[j] = log((rows + 0.5) / (all + 0.5 * (double)K));
        la_scale(F, rows > 0 ? 1 / rows : 0, m);
        for (int64_t a = 0; a < F; a++) /* the covariance about the means */
            for (int64_t b = a; b < F; b++) f->A[b + a * F] -= rows * m[a] * m[b];
    }
    la_scale(F * F, 1 / fmax(all - (double)K, 1), f->A);
    for (int64_t a = 0; a < F; a++) f->A[a] = 0;
    double mean_diagonal = 0;
    for (int64_t a = 1; a < F; a++) mean_diagonal += f->A[a + a * F] / (double)(F > 1 ? F - 1 : 1);
    f->A[0] = mean_diagonal > 0 ? mean_diagonal : 1;
    for (int64_t a = 1; a < F; a++) f->A[a + a * F] += 1e-4 * f->A[0];
    memcpy(means, f->w, (size_t)(F * K) * sizeof *means);
    for (int64_t j = 0; j < K; j++) f->w[j * F] = means[j * F] = 0;
    if (!la_cholesky(F, f->A, F, JITTER, f->diag, &jitter)) return false;
    la_trsm(LA_LEFT, LA_N, F, K, 1, f->A, F, f->w, F);
    la_trsm(LA_LEFT, LA_T, F, K, 1, f->A, F, f->w, F);
    return true;
}

static void classify_fold(const folds *f, int64_t k, const int64_t *order, const double *means, const double *log_share,
                          double *level, double *P)
{
    int64_t F = f->F, K = f->T, n = f->c->n;
    for (int64_t i = fold_start(f, k); i < fold_start(f, k + 1); i++) {
        const double *z = f->Z + i * F;
        for (int64_t j = 0; j < K; j++) {
            const double *w = f->w + j * F;
            level[j] = log_share[j] + la_dot(F, z, w) - la_dot(F, means + j * F, w) / 2;
        }
        double all = log_sum_exp(K, level);
        for (int64_t j = 0; j < K; j++) P[order[i] + j * n] = exp(level[j] - all);
    }
}

anygp_status linear_classes(const scene *c, double *P, bool *done, anygp_error *e)
{
    folds f;
    int64_t *order, K = c->g->schema.classes;
    double *means = NULL, *log_share = NULL;
    anygp_status status = folds_open(&f, c, K, &order, done, e);
    if (*done && !ANYGP_FAILED(status)) {
        means = mem_doubles(f.F, K), log_share = mem_alloc(2 * K, sizeof *log_share);
        if (!means || !log_share) status = fail_memory(e, "a linear model", 8.0 * (double)f.F * (double)K);
    }
    if (*done && !ANYGP_FAILED(status)) {
        for (int64_t i = 0; i < c->n; i++) f.t[i * K + (int64_t)c->y[order[i]]] = 1;
        status = folds_sum(&f, order);
        for (int64_t k = 0; k < FOLDS && *done; k++) {
            if ((*done = discriminate(&f, k, means, log_share)))
                classify_fold(&f, k, order, means, log_share, log_share + K, P);
        }
    }
    folds_clear(&f);
    free(order);
    free(means);
    free(log_share);
    return status;
}
