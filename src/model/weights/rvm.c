/* The relevance vector machine (Tipping, "Sparse Bayesian learning and the relevance vector machine", JMLR 2001; 002, appendix I.3):
   f(x) = sum_i w_i k(x, x_i) over all training rows, w_i ~ N(0, 1/s_i), with the s that maximise the evidence (relevance.h).  The rows
   whose s_i is finite are the relevance vectors.

   The objective is the log evidence at these s, as a function of kernel and noise.  Each evaluation finds s anew from no vectors, so it
   depends on the hyperparameters alone.  Since it is at a maximum in s, its gradient is that at fixed s: with
   Phi (n x M) of the vectors, A = diag(s), beta = 1 / noise, Sigma = (A + beta Phi'Phi)^-1, m = beta Sigma Phi'y and r = beta (y - Phi m) = C^-1 y
       dF/dPhi = r m' - beta Phi Sigma,      dF/dnoise = [r'r - beta (n - M + sum_i s_i Sigma_ii)] / 2
   Where another set of vectors takes over the objective may have a small jump, at which L-BFGS may stop early.
   Rows that were merged (exact.c) have noise / c: rows of Phi and y are multiplied by sqrt(c).

   After the last evaluation vectors with s above 1e4 (002, appendix I.3) are taken out, in units in which the targets have
   variance 1 and k(x_i, x_i) = 1.

   Cost: n^2 M for each evaluation; memory 8 n^2 bytes, and 16 n M. */
#include "model/weights/rvm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/exact/exact.h"

static const double PRECISION_MOST = 1e4;
static const double GAIN_LEAST = 1e-13; /* of a step, in nats per row */

typedef struct rvm {
    const merged *rows;
    int64_t n;
    double *Phi;  /* n x n, all rows as vectors, times sqrt(c) */
    double *y;    /* n: times sqrt(c) */
    double *root; /* n: sqrt(c) */
    relevance r;
} rvm;

static void rvm_close(void *state)
{
    rvm *s = state;
    if (!s) return;
    relevance_close(&s->r);
    free(s->Phi);
    free(s->y);
    free(s);
}

/* How many vectors there will be is not known. */
static model_cost rvm_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    enum { VECTORS_GUESS = 256 };
    static const double SHARE = 0.2; /* of R, which products with vectors reach */
    double n = f->distinct, M = fmin(n, VECTORS_GUESS);
    (void)self, (void)s;
    return (model_cost){.rows = cost_of_work(f, SHARE, 2 * n * n * M, n * n + 2 * n * M),
                        .bytes = 8 * (n * n + 4 * n * M + 12 * n)};
}

static int64_t rvm_size(const problem *p) { return p->rows->n; }
static double rvm_rows(const void *state) { return ((const rvm *)state)->rows->total; }

static anygp_status rvm_admits(const model_ops *self, const model_scope *q, anygp_error *e)
{
    (void)self;
    if (!kernel_has_white(q->kernel)) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT, "rvm's likelihood has the noise; take white out of the kernel");
}

static anygp_status rvm_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    int64_t n = p->rows->n;
    (void)self;
    if (!(h->like[0] > 0)) return fail_with(e, ANYGP_ERR_ARGUMENT, "rvm needs noise; give a positive --noise");
    rvm *s = calloc(1, sizeof *s);
    if (!s) return fail_memory(e, "the model", sizeof *s);
    s->rows = p->rows, s->n = n;
    s->Phi = mem_doubles(n, n), s->y = mem_doubles(n, 2), s->root = s->y + n;
    anygp_status status = s->Phi && s->y ? relevance_open(&s->r, n, e)
                                         : fail_memory(e, "the basis functions", 8.0 * (double)n * (double)n);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < n; i++)
        s->root[i] = sqrt(p->rows->c[i]), s->y[i] = s->root[i] * p->rows->y[i];
    if (ANYGP_FAILED(status))
        rvm_close(s);
    else
        *state = s;
    return status;
}

/* ------------------------------------------------------------------------------------- the evidence */

/* s at these hyperparameters. */
static bool find_vectors(rvm *s, const hyper *h)
{
    int64_t n = s->n;
    const merged *m = s->rows;
    if (!kernel_gram(h->kernel, n, m->X, m->D, n, m->X, m->D, s->Phi, n)) return false;
    for (int64_t j = 0; j < n && !m->plain; j++)
        for (int64_t i = 0; i < n; i++) s->Phi[i + j * n] *= s->root[i];
    if (!(h->like[0] > 0) || !la_all_finite(n * n, s->Phi)) return false;
    relevance_begin(&s->r, s->Phi, s->y, 1 / h->like[0]);
    return relevance_climb(&s->r, true, GAIN_LEAST * (double)n);
}

/* The columns of the vectors one after the other, and their places [M,D]. */
static void gather(const rvm *s, double *Phi, double *Z)
{
    int64_t n = s->n, D = s->rows->D;
    for (int64_t k = 0; k < s->r.M; k++) {
        memcpy(Phi + k * n, s->Phi + s->r.at[k] * n, (size_t)n * sizeof *Phi);
        if (D) memcpy(Z + k * D, s->rows->X + s->r.at[k] * D, (size_t)D * sizeof *Z);
    }
}

/* gp is zero.  Phi, G: n x M; Z: M x D; r: n. */
static bool add_gradient(const rvm *s, const hyper *h, double *Phi, double *G, double *Z, double *r, double *gp)
{
    const relevance *v = &s->r;
    const merged *rows = s->rows;
    int64_t n = s->n, M = v->M, D = rows->D;
    double beta = v->beta, spent = 0;
    gather(s, Phi, Z);
    memcpy(r, s->y, (size_t)n * sizeof *r);
    la_gemv(LA_N, n, M, -beta, Phi, n, v->m, beta, r);
    la_gemm(LA_N, LA_N, n, M, M, -beta, Phi, n, v->Sigma, v->room, 0, G, n);
    for (int64_t k = 0; k < M; k++) {
        la_axpy(n, v->m[k], r, G + k * n);
        for (int64_t i = 0; i < n; i++) G[i + k * n] *= s->root[i];
        spent += v->s[v->at[k]] * v->Sigma[k + k * v->room];
    }
    gp[hyper_kernel_params(h)] = 0.5 * (la_dot(n, r, r) - beta * ((double)(n - M) + spent));
    return kernel_gram_reverse(h->kernel, n, rows->X, D, M, Z, D, G, n, gp, NULL, 0, NULL, 0);
}

static bool gradient(const rvm *s, const hyper *h, double *gp)
{
    int64_t n = s->n, M = s->r.M, D = s->rows->D;
    double *Phi = mem_doubles(n, M), *G = mem_doubles(n, M), *Z = mem_doubles(M, D), *r = mem_alloc(n, sizeof *r);
    memset(gp, 0, (size_t)hyper_size(h) * sizeof *gp);
    bool ok = Phi && G && Z && r && add_gradient(s, h, Phi, G, Z, r, gp);
    gp[hyper_kernel_params(h)] += exact_repeated_slope(s->rows, h->like[0]);
    double *const owned[] = {Phi, G, Z, r};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    return ok;
}

static bool rvm_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    rvm *s = state;
    int former = la_threads(threads_for(pow((double)s->n, 2)));
    (void)grow;
    *jitter = 0; /* the precision of the weights needs none: every s is positive */
    bool ok = find_vectors(s, h);
    double logs = 0;
    for (int64_t i = 0; i < s->n; i++) logs += log(s->root[i]);
    *value = s->r.evidence + logs + exact_repeated_terms(s->rows, h->like[0]);
    ok = ok && isfinite(*value) && (!gp || gradient(s, h, gp));
    la_threads(former);
    return ok;
}

/* ------------------------------------------------------------------------------------ the posterior */

static bool prune(rvm *s, const hyper *h)
{
    int64_t n = s->n;
    double *limit = mem_alloc(n, sizeof *limit), variance = s->r.yy / s->rows->total;
    bool ok = limit != NULL;
    if (ok) {
        kernel_diag(h->kernel, n, s->rows->X, s->rows->D, limit);
        for (int64_t i = 0; i < n; i++) limit[i] *= PRECISION_MOST * limit[i] / variance;
        ok = relevance_prune(&s->r, limit, GAIN_LEAST * (double)n) >= 0;
    }
    free(limit);
    return ok;
}

static anygp_status rvm_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    rvm *s = state;
    double value;
    if (!rvm_evaluate(s, h, true, jitter, &value, NULL) || !prune(s, h))
        return fail_with(e, ANYGP_ERR_NUMERIC,
                         "the evidence is not finite at the final hyperparameters, or there is no memory for so many "
                         "relevance vectors; try a larger --noise or another kernel");
    return rvm_posterior_new(&s->r, s->rows->X, h, out, e);
}

const model_ops model_rvm = {
    .name = "rvm",
    .summary = "relevance vector machine",
    .objective = "log evidence",
    .needs = {.rows = ROWS_ALL, .weights = true, .joint = true, .no_jitter = true},
    .order = "n^2",
    .admits = rvm_admits,
    .cost = rvm_cost,
    .size = rvm_size,
    .open = rvm_open,
    .evaluate = rvm_evaluate,
    .posterior = rvm_to_posterior,
    .rows = rvm_rows,
    .close = rvm_close,
    .load = rvm_load,
};
