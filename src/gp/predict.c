/* Rows in data units to predictions in data units: marginals block by block, joint distributions, draws. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "gp/gp.h"
#include "linalg/linalg.h"

/* -------------------------------------------------------------------------------------- scaling */

static long long row_number(const row_numbers *r, int64_t i)
{
    return (long long)(r->number ? r->number[i] : r->first + i) + 1;
}

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
                                 "row %lld, column %s: the input is %s; fill it, or use --missing mean",
                                 row_number(number, i), schema_label(c, label), isnan(x) ? "missing" : "infinite");
            X[i * s->D + c->position] = c->text ? x : schema_scale(x, c->shift, c->scale);
        }
    }
    /* Inputs absurdly far away are pulled in to where their squares are still numbers. */
    for (int64_t i = 0; i < n * s->D; i++) X[i] = fmin(fmax(X[i], -1e150), 1e150);
    return ANYGP_OK;
}

static anygp_status too_far(const row_numbers *number, int64_t i, anygp_error *e)
{
    return fail_with(
        e, ANYGP_ERR_NUMERIC,
        "row %lld: the prediction is too large to be written; its inputs are far outside the training data",
        row_number(number, i));
}

static anygp_status mean_to_data(const schema *s, int64_t n, const row_numbers *number, double *mean, anygp_error *e)
{
    for (int64_t i = 0; i < n; i++) {
        mean[i] = s->y_shift + s->y_scale * mean[i];
        if (!isfinite(mean[i])) return too_far(number, i, e);
    }
    return ANYGP_OK;
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

/* The caller holds the row as it was read and as it is given, besides. */
double predictor_row_bytes(const gp *g)
{
    const posterior *q = g->posterior;
    return 8.0 * (double)(q->ops->work_doubles(q, 1) + g->schema.D + 1 + 2 * g->schema.inputs);
}

anygp_status predictor_new(const gp *g, double bytes, predictor **out, anygp_error *e)
{
    const posterior *q = g->posterior;
    double row = predictor_row_bytes(g);
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

/* Marginals in model units, of rows in the blocks that are given or where they are routed to. */
static anygp_status marginals(const predictor *p, int64_t n, const int64_t *block, double *mean, double *variance,
                              anygp_error *e)
{
    const posterior *q = p->g->posterior;
    int64_t D = p->g->schema.D;
    return block ? q->ops->marginal_in(q, n, p->X, D, block, p->work, mean, variance, e)
                 : q->ops->marginal(q, n, p->X, D, p->work, mean, variance, e);
}

anygp_status predictor_run(predictor *p, int64_t n, const double *rows, int64_t ld, const row_numbers *number,
                           const int64_t *block, bool latent, double *mean, double *variance, anygp_error *e)
{
    const gp *g = p->g;
    double y2 = g->schema.y_scale * g->schema.y_scale, added = latent ? 0 : observation_variance(g);
    for (int64_t i = 0; i < n; i += p->block) {
        int64_t m = n - i < p->block ? n - i : p->block;
        row_numbers here = {number->first + i, number->number ? number->number + i : NULL};
        TRY(gp_scale_rows(g, m, rows + i * ld, ld, &here, p->X, e));
        TRY(marginals(p, m, block ? block + i : NULL, mean + i, variance ? p->variance : NULL, e));
        TRY(mean_to_data(&g->schema, m, &here, mean + i, e));
        for (int64_t k = 0; variance && k < m; k++) {
            variance[i + k] = y2 * (p->variance[k] + added);
            if (!isfinite(variance[i + k])) return too_far(&here, k, e);
        }
    }
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------------- joint */

double gp_joint_bytes(const gp *g, int64_t n)
{
    const posterior *q = g->posterior;
    return 8.0 * (double)n * ((double)n + (double)q->ops->work_doubles(q, 1) + (double)g->schema.D);
}

/* Mean and the lower triangle of the covariance in model units, and the mean prior variance of f. */
static anygp_status joint_of_f(const gp *g, int64_t n, const double *rows, int64_t ld, const int64_t *block,
                               double *mean, double *covariance, double *prior, anygp_error *e)
{
    const posterior *q = g->posterior;
    anygp_status status = ANYGP_OK;
    double *X = mem_doubles(n, g->schema.D), *work = mem_doubles(n, q->ops->work_doubles(q, 1));
    *prior = 0;
    if (!X || !work) {
        status = fail_memory(e, "the joint distribution", gp_joint_bytes(g, n));
        goto done;
    }
    TRY_DONE(gp_scale_rows(g, n, rows, ld, &(row_numbers){0, NULL}, X, e));
    kernel_diag(q->kernel, n, X, g->schema.D, mean);
    for (int64_t i = 0; i < n; i++) *prior += mean[i] / (double)n;
    TRY_DONE(block ? q->ops->joint_in(q, n, X, g->schema.D, block, work, mean, covariance, n, e)
                   : q->ops->joint(q, n, X, g->schema.D, work, mean, covariance, n, e));
    for (int64_t i = 0; i < n; i++) covariance[i + i * n] = fmax(covariance[i + i * n], 0);
done:
    free(X);
    free(work);
    return status;
}

anygp_status gp_joint(const gp *g, int64_t n, const double *rows, int64_t ld, bool latent, double *mean,
                      double *covariance, anygp_error *e)
{
    double prior, y2 = g->schema.y_scale * g->schema.y_scale, added = latent ? 0 : observation_variance(g);
    TRY(joint_of_f(g, n, rows, ld, NULL, mean, covariance, &prior, e));
    for (int64_t i = 0; i < n; i++) covariance[i + i * n] += added;
    la_mirror(n, covariance, n);
    for (int64_t i = 0; i < n * n; i++) covariance[i] *= y2;
    return mean_to_data(&g->schema, n, &(row_numbers){0, NULL}, mean, e);
}

/* The factor of the covariance in place.  That of a posterior is a difference, often singular, with rounding errors of the
   prior's size: jitter grows from there. */
static anygp_status factor_joint(int64_t n, double *covariance, double prior, double *diag, anygp_error *e)
{
    double jitter;
    bool certain = true; /* every draw is the mean */
    for (int64_t i = 0; i < n && certain; i++) certain = covariance[i + i * n] == 0;
    if (certain)
        memset(covariance, 0, (size_t)(n * n) * sizeof *covariance);
    else if (!la_cholesky_scaled(n, covariance, n, prior, 1e-14, diag, &jitter))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the joint covariance of %lld rows has no Cholesky factor",
                         (long long)n);
    return ANYGP_OK;
}

/* mean + chol(covariance) z */
anygp_status gp_sample(const gp *g, int64_t n, const double *rows, int64_t ld, const int64_t *block, bool latent,
                       uint64_t seed, int64_t S, double *out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    double *mean = mem_doubles(n, 1), *diag = mem_doubles(n, 1), *covariance = mem_doubles(n, n), prior;
    double added = latent ? 0 : observation_variance(g);
    if (!mean || !diag || !covariance) {
        status = fail_memory(e, "the joint distribution", gp_joint_bytes(g, n));
        goto done;
    }
    TRY_DONE(joint_of_f(g, n, rows, ld, block, mean, covariance, &prior, e));
    for (int64_t i = 0; i < n; i++) covariance[i + i * n] += added;
    TRY_DONE(factor_joint(n, covariance, prior + added, diag, e));
    for (int64_t k = 0; k < S; k++)
        for (int64_t i = 0; i < n; i++)
            out[i + k * n] = random_normal((random_stream){seed, RANDOM_SAMPLE, (uint64_t)k}, (uint64_t)i);
    la_trmm(LA_LEFT, LA_N, n, S, 1, covariance, n, out, n);
    for (int64_t k = 0; k < S; k++) {
        la_axpy(n, 1, mean, out + k * n);
        TRY_DONE(mean_to_data(&g->schema, n, &(row_numbers){0, NULL}, out + k * n, e));
    }
done:
    free(mean);
    free(diag);
    free(covariance);
    return status;
}
