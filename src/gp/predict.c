#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "gp/gp.h"
#include "linalg/linalg.h"

/* -------------------------------------------------------------------------------------- scaling */

anygp_status gp_scale_rows(const gp *g, int64_t n, const double *rows, int64_t ld, const row_numbers *number, double *X,
                           anygp_error *e)
{
    const schema *s = &g->schema;
    for (int64_t j = 0; j < s->inputs; j++) {
        const input_spec *c = &s->input[j];
        if (c->position < 0) continue;
        for (int64_t i = 0; i < n; i++) {
            double x = rows[i * ld + j];
            char label[96];
            if (isnan(x) && s->fill_missing) x = c->fill;
            if (!isfinite(x))
                return fail_with(e, ANYGP_ERR_DATA,
                                 "row %lld, column %s: the input is %s; fill it, or fit with --missing mean",
                                 (long long)(number->number ? number->number[i] : number->first + i) + 1,
                                 schema_label(c, label), isnan(x) ? "missing" : "infinite");
            X[i * s->D + c->position] = c->text ? x : schema_scale(x, c->shift, c->scale);
        }
    }
    /* Inputs absurdly far away are pulled in to where the posterior is the prior to every digit anyway. */
    for (int64_t i = 0; i < n * s->D; i++) X[i] = fmin(fmax(X[i], -1e150), 1e150);
    return ANYGP_OK;
}

static void mean_to_data(const schema *s, int64_t n, double *mean)
{
    for (int64_t i = 0; i < n; i++) mean[i] = s->y_shift + s->y_scale * mean[i];
}

/* What y has beyond f: the noise, and white terms of the kernel. */
static double observation_variance(const gp *g) { return g->posterior->noise + kernel_white(g->posterior->kernel); }

/* ------------------------------------------------------------------------------------- marginals */

struct predictor {
    const gp *g;
    int64_t block;
    double *X, *work, *variance;
};

enum { BLOCK_LEAST = 16, BLOCK_MOST = 2048 };

anygp_status predictor_new(const gp *g, double bytes, predictor **out, anygp_error *e)
{
    const posterior *q = g->posterior;
    double row = 8.0 * (double)(q->ops->work_doubles(q, 1) + g->schema.D + 1);
    predictor *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "prediction", sizeof *p);
    double fits = bytes / row;
    p->g = g;
    p->block = fits < BLOCK_LEAST ? BLOCK_LEAST : fits > BLOCK_MOST ? BLOCK_MOST : (int64_t)fits;
    p->X = mem_alloc(p->block * g->schema.D, sizeof(double));
    p->work = mem_alloc(q->ops->work_doubles(q, p->block), sizeof(double));
    p->variance = mem_alloc(p->block, sizeof(double));
    if (p->X && p->work && p->variance) return *out = p, ANYGP_OK;
    predictor_free(p);
    return fail_memory(e, "prediction", row * BLOCK_LEAST);
}

void predictor_free(predictor *p)
{
    if (!p) return;
    free(p->X);
    free(p->work);
    free(p->variance);
    free(p);
}

int64_t predictor_block(const predictor *p) { return p->block; }

anygp_status predictor_run(predictor *p, int64_t n, const double *rows, int64_t ld, const row_numbers *number,
                           bool latent, double *mean, double *variance, anygp_error *e)
{
    const gp *g = p->g;
    const posterior *q = g->posterior;
    double y2 = g->schema.y_scale * g->schema.y_scale, added = latent ? 0 : observation_variance(g);
    for (int64_t i = 0; i < n; i += p->block) {
        int64_t m = n - i < p->block ? n - i : p->block;
        row_numbers here = {number->first + i, number->number ? number->number + i : NULL};
        TRY(gp_scale_rows(g, m, rows + i * ld, ld, &here, p->X, e));
        TRY(q->ops->marginal(q, m, p->X, g->schema.D, p->work, mean + i, p->variance, e));
        for (int64_t k = 0; variance && k < m; k++) variance[i + k] = y2 * (p->variance[k] + added);
    }
    mean_to_data(&g->schema, n, mean);
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------------- joint */

anygp_status gp_joint(const gp *g, int64_t n, const double *rows, int64_t ld, bool latent, double *mean,
                      double *covariance, anygp_error *e)
{
    const posterior *q = g->posterior;
    double y2 = g->schema.y_scale * g->schema.y_scale;
    double *X = mem_alloc(n * g->schema.D, sizeof *X), *work = mem_alloc(q->ops->work_doubles(q, n), sizeof *work);
    anygp_status status =
        X && work ? ANYGP_OK : fail_memory(e, "the joint distribution", 8.0 * (double)q->ops->work_doubles(q, n));
    if (!ANYGP_FAILED(status)) status = gp_scale_rows(g, n, rows, ld, &(row_numbers){0, NULL}, X, e);
    if (!ANYGP_FAILED(status)) status = q->ops->joint(q, n, X, g->schema.D, work, mean, covariance, n, e);
    free(X);
    free(work);
    if (ANYGP_FAILED(status)) return status;
    for (int64_t i = 0; i < n; i++) {
        if (covariance[i + i * n] < 0) covariance[i + i * n] = 0;
        if (!latent) covariance[i + i * n] += observation_variance(g);
    }
    la_mirror(n, covariance, n);
    for (int64_t i = 0; i < n * n; i++) covariance[i] *= y2;
    mean_to_data(&g->schema, n, mean);
    return ANYGP_OK;
}

/* mean + chol(covariance) z; a posterior covariance is often singular, which the jitter policy answers. */
anygp_status gp_sample(const gp *g, int64_t n, const double *rows, int64_t ld, bool latent, uint64_t seed, int64_t S,
                       double *out, anygp_error *e)
{
    size_t square;
    if (!size_mul(n, n, &square)) return fail_memory(e, "the joint distribution", INFINITY);
    double *mean = mem_alloc(n, sizeof *mean), *diag = mem_alloc(n, sizeof *diag), jitter;
    double *covariance = mem_alloc((int64_t)square, sizeof *covariance);
    anygp_status status =
        mean && diag && covariance ? ANYGP_OK : fail_memory(e, "the joint distribution", 8.0 * (double)square);
    if (!ANYGP_FAILED(status)) status = gp_joint(g, n, rows, ld, latent, mean, covariance, e);
    if (!ANYGP_FAILED(status)) {
        bool zero = true; /* nothing is uncertain: every draw is the mean */
        for (int64_t i = 0; i < n && zero; i++) zero = covariance[i + i * n] == 0;
        if (zero)
            memset(covariance, 0, square * sizeof *covariance);
        else if (!la_cholesky(n, covariance, n, 0, diag, &jitter))
            status = fail_with(e, ANYGP_ERR_NUMERIC, "the joint covariance of %lld rows has no Cholesky factor",
                               (long long)n);
    }
    for (int64_t k = 0; k < S && !ANYGP_FAILED(status); k++)
        for (int64_t i = 0; i < n; i++)
            out[i + k * n] = random_normal((random_stream){seed, RANDOM_SAMPLE, (uint64_t)k}, (uint64_t)i);
    if (!ANYGP_FAILED(status)) {
        la_trmm(LA_LEFT, LA_N, n, S, 1, covariance, n, out, n);
        for (int64_t k = 0; k < S; k++) la_axpy(n, 1, mean, out + k * n);
    }
    free(mean);
    free(diag);
    free(covariance);
    return status;
}
