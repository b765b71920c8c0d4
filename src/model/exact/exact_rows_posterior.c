/* Predictions of the exact model without its factor:
       mean      k*'alpha + h*'beta, that of all rows
       variance  that of f(x) given its nearest rows alone, which is never below the exact one but for the mean's share, that of
                 all rows; then corrected for all other rows by a number (near_gain.h)
   What the neighbours say is Vecchia's (local/vecchia_posterior.h); joint distributions are its own, around this mean.
   Cost: n kernel entries and k^3 operations per row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/exact/exact.h"
#include "model/exact/exact_iterative.h"
#include "model/exact/near_gain.h"
#include "model/local/vecchia_posterior.h"

typedef struct rows_posterior {
    vecchia_posterior near;
    double *alpha;
    evidence_estimate estimate;
    variance_gain gain;
} rows_posterior;

enum { CHUNK = 1024 }; /* training rows whose kernel columns are made at a time */

static void rows_free(posterior *base)
{
    if (base) free(((rows_posterior *)base)->alpha);
    vecchia_free(base);
}

static int64_t rows_work(const posterior *base, int64_t n)
{
    int64_t tiles = n * (CHUNK + base->mean.p + 1), near = vecchia_work(base, n);
    return tiles > near ? tiles : near;
}

/* m[p] of the vecchia_posterior is beta / sqrt(B). */
static anygp_status means(const posterior *base, int64_t m, const double *X, int64_t ldx, double *work, double *mean,
                          anygp_error *e)
{
    const rows_posterior *p = (const rows_posterior *)base;
    int64_t n = base->n, D = base->D, q = base->mean.p;
    double *K = work, *H = work + m * CHUNK;
    memset(mean, 0, (size_t)m * sizeof *mean);
    for (int64_t i0 = 0; i0 < n; i0 += CHUNK) {
        int64_t some = n - i0 < CHUNK ? n - i0 : CHUNK;
        if (!kernel_gram(base->kernel, some, p->near.X + i0 * D, D, m, X, ldx, K, some))
            return fail_memory(e, "kernel tiles", 0);
        la_gemv(LA_T, some, m, 1, K, some, p->alpha + i0, 1, mean);
    }
    if (q == 0) return ANYGP_OK;
    basis_fill(&base->mean, m, X, ldx, H, q, 1);
    la_gemv(LA_T, q, m, sqrt(base->mean.B), H, q, p->near.m, 1, mean);
    return ANYGP_OK;
}

/* variance[m], ld apart, from those of nearest rows; work: m.  share[m] unless NULL: the root of what they are multiplied by. */
static void correct(const posterior *base, int64_t m, const double *X, int64_t ldx, double *prior, double *variance,
                    int64_t ld, double *share)
{
    const variance_gain *g = &((const rows_posterior *)base)->gain;
    kernel_diag(base->kernel, m, X, ldx, prior);
    for (int64_t i = 0; i < m; i++) {
        double before = variance[i * ld];
        variance[i * ld] = gained_variance(g, prior[i], before);
        if (share) share[i] = before > 0 ? sqrt(variance[i * ld] / before) : 1;
    }
}

static anygp_status rows_marginal(const posterior *base, int64_t m, const double *X, int64_t ldx, double *work,
                                  double *mean, double *variance, anygp_error *e)
{
    if (variance) {
        TRY(vecchia_marginal(base, m, X, ldx, work, mean, variance, e));
        correct(base, m, X, ldx, work, variance, 1, NULL);
    }
    return means(base, m, X, ldx, work, mean, e);
}

static anygp_status rows_joint(const posterior *base, int64_t m, const double *X, int64_t ldx, double *work,
                               double *mean, double *covariance, int64_t ldc, anygp_error *e)
{
    TRY(vecchia_joint(base, m, X, ldx, work, mean, covariance, ldc, e));
    double *share = mem_doubles(m, 2);
    if (!share) return fail_memory(e, "the covariance", 16.0 * (double)m);
    correct(base, m, X, ldx, share + m, covariance, ldc + 1, share);
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = j + 1; i < m; i++) covariance[i + j * ldc] *= share[i] * share[j];
    free(share);
    return means(base, m, X, ldx, work, mean, e);
}

static void rows_arrays(posterior *base, array_list *list)
{
    rows_posterior *p = (rows_posterior *)base;
    vecchia_arrays(base, list);
    array_list_add(list, (named_array){"alpha", base->n, 1, p->alpha, false});
    array_list_add(list,
                   (named_array){"estimate", sizeof p->estimate / sizeof(double), 1, (double *)&p->estimate, false});
    array_list_add(list, (named_array){"gain", sizeof p->gain / sizeof(double), 1, (double *)&p->gain, false});
}

static const evidence_estimate *rows_estimate(const posterior *base)
{
    const rows_posterior *p = (const rows_posterior *)base;
    return p->estimate.probes > 0 ? &p->estimate : NULL;
}

static const variance_gain *rows_gain(const posterior *base)
{
    const rows_posterior *p = (const rows_posterior *)base;
    return p->gain.rows > 0 ? &p->gain : NULL;
}

static const posterior_ops rows_ops = {.work_doubles = rows_work,
                                       .marginal = rows_marginal,
                                       .joint = rows_joint,
                                       .arrays = rows_arrays,
                                       .free = rows_free,
                                       .estimate = rows_estimate,
                                       .gain = rows_gain};
static const posterior_form rows_form = {&rows_ops, sizeof(rows_posterior)};

const double *rows_posterior_alpha(const posterior *p)
{
    return p->ops == &rows_ops ? ((const rows_posterior *)p)->alpha : NULL;
}

void rows_posterior_beta(const posterior *p, double *beta)
{
    for (int64_t j = 0; j < p->mean.p; j++) beta[j] = sqrt(p->mean.B) * ((const rows_posterior *)p)->near.m[j];
}

void rows_posterior_correct(posterior *p, const variance_gain *g) { ((rows_posterior *)p)->gain = *g; }

/* Files have finite numbers only: what is not known is 0. */
static void make_finite(evidence_estimate *s)
{
    double *x = (double *)s;
    for (size_t i = 0; i < sizeof *s / sizeof *x; i++)
        if (!isfinite(x[i])) *s = (evidence_estimate){.mean_error = isfinite(s->mean_error) ? s->mean_error : 0};
}

anygp_status rows_posterior_new(const problem *p, const hyper *h, const rows_solution *s, posterior **out,
                                anygp_error *e)
{
    const merged *m = p->rows;
    int64_t q = p->mean->p, n = m->n;
    double B = p->mean->B, *H = mem_doubles(n, q), *b = mem_doubles(q, 1), *R = mem_doubles(q, q);
    int64_t near = p->near.predict > 0 ? p->near.predict : m->D < VECCHIA_WIDE ? VECCHIA_PREDICT : VECCHIA_PREDICT_WIDE;
    vecchia_rows rows = {n, m->D, m->X, m->y, m->c, near, VECCHIA_NEAR, s->jitter, NULL};
    anygp_status status = H && b && R ? ANYGP_OK : fail_memory(e, "the posterior", 8.0 * (double)n * (double)q);
    if (status == ANYGP_OK) {
        basis_fill(p->mean, n, m->X, m->D, H, 1, n);
        la_gemv(LA_T, n, q, sqrt(B), H, n, s->alpha, 0, b); /* beta / sqrt(B) */
        for (int64_t i = 0; i < q * q; i++) R[i] = sqrt(B) * s->R[i];
        la_zero_upper(q, R, q);
        status = vecchia_posterior_new(&rows_form, h->kernel, h->like[0], p->mean, &rows, b, R, out, e);
    }
    if (!ANYGP_FAILED(status)) {
        rows_posterior *made = (rows_posterior *)*out;
        made->alpha = mem_copied(n, 1, s->alpha), made->estimate = s->estimate;
        made->gain = (variance_gain){.factor = 1};
        make_finite(&made->estimate);
        if (!made->alpha) status = fail_memory(e, "the posterior", 8.0 * (double)n);
    }
    free(H);
    free(b);
    free(R);
    return status;
}

/* Of a model of n rows.  Files of earlier versions have none. */
static anygp_status load_gain(const named_array *list, int64_t count, int64_t n, variance_gain *g, anygp_error *e)
{
    static const double SPREAD_MOST = 700; /* whose exp() is a number */
    const named_array *a = named_array_find(list, count, "gain");
    *g = (variance_gain){.factor = 1};
    if (!a) return ANYGP_OK;
    TRY(named_array_check(a, sizeof *g / sizeof(double), 1, e));
    memcpy(g, a->values, sizeof *g);
    bool sound = g->factor >= 1 && isfinite(g->factor) && g->spread >= 0 && g->spread <= SPREAD_MOST && g->rows >= 0 &&
                 g->rows <= (double)n && g->rows == floor(g->rows);
    if (!sound) return fail_with(e, ANYGP_ERR_FILE, "the model file's gain of the variances is none; it is damaged");
    return ANYGP_OK;
}

anygp_status rows_posterior_load(kernel *k, double noise, basis *mean, int64_t D, named_array *list, int64_t count,
                                 posterior **out, anygp_error *e)
{
    named_array *alpha = named_array_need(list, count, "alpha", e),
                *estimate = alpha ? named_array_need(list, count, "estimate", e) : NULL;
    evidence_estimate found;
    variance_gain gain;
    if (!estimate) return ANYGP_ERR_FILE;
    TRY(named_array_check(estimate, sizeof found / sizeof(double), 1, e));
    memcpy(&found, estimate->values, sizeof found);
    if (!(found.precond >= 0 && found.precond < (double)precond_count()))
        return fail_with(e, ANYGP_ERR_FILE, "the model file's estimate of the log evidence is none; it is damaged");
    const named_array *X = named_array_need(list, count, "X", e);
    if (!X) return ANYGP_ERR_FILE;
    TRY(load_gain(list, count, X->cols, &gain, e));
    TRY(named_array_check(alpha, X->cols, 1, e));
    TRY(vecchia_load_as(&rows_form, k, noise, mean, D, list, count, out, e));
    rows_posterior *p = (rows_posterior *)*out;
    p->alpha = named_array_take(alpha), p->estimate = found, p->gain = gain;
    return ANYGP_OK;
}

/* 1 / Q_ii is the variance of y_i given all other rows: that given the nearest ones, corrected, stands for it.  The residual of a row that is left out is
   then alpha_i / Q_ii; for merged rows as in exact.c. */
anygp_status rows_posterior_loo(const posterior *base, const problem *q, leave_one_out *out, anygp_error *e)
{
    const rows_posterior *p = (const rows_posterior *)base;
    const merged *m = q->rows;
    int64_t *row = mem_alloc(LOO_MOST, sizeof *row);
    if (base->ops != &rows_ops) return free(row), out->n = 0, ANYGP_OK; /* with a factor */
    if (!row) return fail_memory(e, "leave-one-out", 8.0 * LOO_MOST);
    anygp_status status = vecchia_loo_of(base, q, out, row, e);
    for (int64_t j = 0; !ANYGP_FAILED(status) && j < out->n; j++) {
        int64_t i = m->group[row[j]];
        double c = m->c[i], d = fmin(1, m->data->w[row[j]]), noise = vecchia_noise(&p->near), off, variance;
        double beside = base->noise + kernel_white(base->kernel), prior;
        kernel_diag(base->kernel, 1, m->X + i * m->D, m->D, &prior);
        double f = gained_variance(&p->gain, prior, out->variance[j] - beside);
        out->variance[j] = f + beside;
        double s = f + noise / d + beside - noise; /* of the part that is left out, given the rest and the others */
        /* Q_jj of that part is 1/s; from it Q_ii of the merged row */
        double q_row = (1 / s - (c != d ? d * (1 - d / c) / noise : 0)) / (d / c * (d / c));
        if (!(q_row > 0)) continue;
        exact_leave_out(c, d, out->y[j] - m->y[i], noise, q_row, p->alpha[i], &off, &variance);
        out->mean[j] = out->y[j] - off;
    }
    free(row);
    return status;
}
