/* New rows for a decoupled posterior p = GP(m, k') without the old ones: q maximises sum E[log p(y_i | f_i)] - KL(q || p) over the new
   rows, with the KL of theorem 1 of 001 (svdgp_kl.c).  The best q has a site for each row (sites.h), and so, of each latent, the mean
       m(x) + k'(x, X) d,    d = (I + diag(lambda) k'(X, X))^-1 (nu - lambda m(X)),    k'(x, X) = k(x, X) - k(x, beta) R k(beta, X):
   the rows become bases with coefficients d, and the bases beta join the mean's with -R k(beta, X) d.  The precision gains
   sum_i lambda_i k(x_i, .) k(x_i, .)', of which B takes what lies in the span of beta.  With Gaussian noise lambda is 1 / noise and
   d = (k' + noise)^-1 (y - m).  Rows come in chunks, each on what the former left; M_alpha grows by the new rows and, in
   the first update, by M_beta.  Cost: n M_alpha, n CHUNK^2, n M_beta^2; each latent. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/decoupled/svdgp_posterior.h"
#include "model/decoupled/svdgp_state.h"
#include "model/sites.h"

enum { CHUNK = 512, CHUNK_ROUNDS = 256 }; /* rows: the second where they take several rounds */

typedef struct svdgp_update {
    const svdgp_posterior *from;
    svdgp_posterior *now;
    likelihood like;
    int64_t beta_at; /* where beta stands among the mean's bases; -1: nowhere yet */
    update_report report;
} svdgp_update;

static void update_close(void *state)
{
    svdgp_update *u = state;
    if (!u) return;
    if (u->now) u->now->base.ops->free(&u->now->base);
    free(u);
}

static anygp_status copy_posterior(const svdgp_posterior *p, svdgp_posterior **out, anygp_error *e)
{
    const posterior *b = &p->base;
    TRY(svdgp_posterior_make(&b->mean, b->D, p->s.C, b->noise, p->s.widths, out, e));
    svdgp_posterior *q = *out;
    q->rows = p->rows, q->s.alpha_widths = p->s.alpha_widths;
    if (!(q->base.kernel = kernel_copy(b->kernel))) return fail_memory(e, "the kernel", 0);
    TRY(svdgp_copy_parameters(&q->s, &p->s, 0, e));
    return svdgp_posterior_complete(q, e);
}

/* Where an update before this one has put beta among the mean's bases; -1: none has. */
static int64_t find_beta(const svdgp *s)
{
    int64_t Mb = svdgp_Mb(s), D = s->D;
    size_t size = (size_t)(Mb * D) * sizeof(double);
    if (size == 0 || s->widths != s->alpha_widths) return -1;
    for (int64_t m = 0; m + Mb <= svdgp_Ma(s); m++)
        if (!memcmp(s->alpha.values + m * D, s->beta.values, size) &&
            (!s->widths || !memcmp(s->alpha_width.values + m * D, s->beta_width.values, size)))
            return m;
    return -1;
}

static anygp_status update_open(const model_ops *self, const posterior *p, const likelihood *l, void **state,
                                anygp_error *e)
{
    const svdgp_posterior *from = (const svdgp_posterior *)p;
    svdgp_update *u = calloc(1, sizeof *u);
    (void)self;
    if (!u) return fail_memory(e, "the update", sizeof *u);
    u->from = from;
    anygp_status status = l ? (u->like = *l, ANYGP_OK) : likelihood_with_noise(p->noise, &u->like, e);
    if (!ANYGP_FAILED(status)) status = copy_posterior(from, &u->now, e);
    if (ANYGP_FAILED(status)) {
        update_close(u);
        return status;
    }
    u->beta_at = find_beta(&u->now->s);
    *state = u;
    return status;
}

/* -------------------------------------------------------------------------------------- a chunk */

typedef struct chunk {
    int64_t n;
    const double *X, *y, *w;
    double *m, *d, *lambda; /* n x C */
    double *cov, *work;     /* C of n x n; of the posterior */
    double *Kb, *RKb, *S;   /* n x Mt; C of Mt x n, of Mt x Mt */
} chunk;

static void chunk_clear(chunk *c)
{
    double *const owned[] = {c->m, c->cov, c->work, c->Kb, c->RKb, c->S};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static anygp_status chunk_make(const svdgp_posterior *p, chunk *c, anygp_error *e)
{
    int64_t n = c->n, Mt = p->s.Mt, C = p->s.C, work = p->base.ops->work_doubles(&p->base, n);
    c->m = mem_alloc(3 * n * C, sizeof(double)), c->cov = mem_doubles(n, n * C);
    c->work = mem_alloc(work > n * Mt ? work : n * Mt, sizeof(double));
    c->Kb = mem_doubles(n, Mt), c->RKb = mem_doubles(Mt, n * C), c->S = mem_doubles(Mt, Mt * C);
    if (!c->m || !c->cov || !c->work || !c->Kb || !c->RKb || !c->S)
        return fail_memory(e, "the new rows", 8.0 * (double)(n * n * C));
    c->d = c->m + n * C, c->lambda = c->d + n * C;
    return ANYGP_OK;
}

/* d and lambda of the chunk, at the variances of the best q; what it is worth under what is known is added to *density. */
static anygp_status condition(const svdgp_posterior *p, const likelihood *l, chunk *c, double *density, anygp_error *e)
{
    double worth;
    TRY(p->base.ops->joint(&p->base, c->n, c->X, p->base.D, c->work, c->m, c->cov, c->n, e));
    TRY(sites_find(l, c->n, c->y, c->w, c->m, c->cov, NULL, c->d, c->lambda, &worth, e));
    *density += worth;
    return ANYGP_OK;
}

/* Kb, and of each latent R Kb' and S = -Kb' diag(lambda) Kb / 2. */
static anygp_status project(const svdgp_posterior *p, chunk *c, anygp_error *e)
{
    const svdgp *s = &p->s;
    int64_t n = c->n, Mt = s->Mt;
    double *half = c->work;
    if (!svdgp_fill_Kb(s, n, c->X, s->D, c->work, c->Kb)) return fail_memory(e, "kernel tiles", 0);
    for (int64_t k = 0; k < s->C; k++) {
        la_gemm(LA_N, LA_T, Mt, n, Mt, 1, s->W[k], Mt, c->Kb, n, 0, half, Mt);
        la_gemm(LA_T, LA_N, Mt, n, Mt, 1, s->W[k], Mt, half, Mt, 0, c->RKb + k * Mt * n, Mt);
        double *weighted = c->work;
        for (int64_t j = 0; j < Mt; j++)
            for (int64_t i = 0; i < n; i++) weighted[i + j * n] = -0.5 * c->lambda[i + k * n] * c->Kb[i + j * n];
        la_gemm(LA_T, LA_N, Mt, Mt, n, 1, weighted, n, c->Kb, n, 0, c->S + k * Mt * Mt, Mt);
    }
    return ANYGP_OK;
}

/* The covariance learns of the rows first, as far as beta allows; then d again, at the variances that it really has: a likelihood
   that is not Gaussian would be sure of its mean for the sake of variances that are not there. */
static anygp_status take_covariance(svdgp_update *u, chunk *c, anygp_error *e)
{
    posterior *p = &u->now->base;
    double *mean, *var, unused;
    if (!svdgp_natural_step(&u->now->s, c->S, 1, 1))
        return fail_with(e, ANYGP_ERR_NUMERIC,
                         "the covariance cannot take the new rows: its kernel matrix has no factor");
    TRY(svdgp_posterior_complete(u->now, e));
    if (likelihood_is_gaussian(&u->like)) return ANYGP_OK;
    if (!(mean = mem_doubles(c->n, 2 * u->now->s.C))) return fail_memory(e, "the new rows", 16.0 * (double)c->n);
    var = mean + c->n * u->now->s.C;
    anygp_status status = p->ops->marginal(p, c->n, c->X, p->D, c->work, mean, var, e);
    if (!ANYGP_FAILED(status))
        status = sites_find(&u->like, c->n, c->y, c->w, c->m, c->cov, var, c->d, c->lambda, &unused, e);
    free(mean);
    return status;
}

/* The bases of the covariance among the mean's, with coefficients 0 to begin with. */
static anygp_status add_beta(svdgp_update *u, anygp_error *e)
{
    svdgp *s = &u->now->s;
    if (u->beta_at >= 0) return ANYGP_OK;
    u->beta_at = svdgp_Ma(s);
    if (s->widths && !s->alpha_widths) {
        s->alpha_widths = true;
        TRY(segment_append(&s->alpha_width, svdgp_Ma(s), NULL, e));
    }
    TRY(svdgp_add_alpha(s, svdgp_Mb(s), s->beta.values, e));
    if (s->widths && svdgp_Mb(s))
        memcpy(s->alpha_width.values + u->beta_at * s->D, s->beta_width.values,
               (size_t)(svdgp_Mb(s) * s->D) * sizeof(double));
    return ANYGP_OK;
}

static anygp_status take_mean(svdgp_update *u, const chunk *c, anygp_error *e)
{
    svdgp *s = &u->now->s;
    int64_t p = s->p, C = s->C, Mt = s->Mt, n = c->n;
    double *t = mem_alloc(Mt, sizeof *t);
    anygp_status status = t ? add_beta(u, e) : fail_memory(e, "the new rows", 8.0 * (double)Mt);
    int64_t first = svdgp_Ma(s);
    if (!ANYGP_FAILED(status)) status = svdgp_add_alpha(s, n, c->X, e);
    for (int64_t l = 0; l < C && !ANYGP_FAILED(status); l++) {
        const double *d = c->d + l * n;
        la_gemv(LA_N, Mt, n, 1, c->RKb + l * Mt * n, Mt, d, 0, t);
        for (int64_t i = 0; i < n; i++) s->a.values[(first + i) * C + l] = d[i];
        for (int64_t k = 0; k < p; k++) s->trend.values[k * C + l] += la_dot(n, c->Kb + k * n, d) - t[k];
        for (int64_t k = 0; k < svdgp_Mb(s); k++) s->a.values[(u->beta_at + k) * C + l] -= t[p + k];
    }
    free(t);
    return ANYGP_FAILED(status) ? status : svdgp_posterior_complete(u->now, e);
}

static anygp_status add_chunk(svdgp_update *u, int64_t n, const double *X, const double *y, const double *w,
                              anygp_error *e)
{
    chunk c = {.n = n, .X = X, .y = y, .w = w};
    anygp_status status;
    TRY_DONE(chunk_make(u->now, &c, e));
    TRY_DONE(condition(u->now, &u->like, &c, &u->report.after, e));
    TRY_DONE(project(u->now, &c, e));
    TRY_DONE(take_covariance(u, &c, e));
    TRY_DONE(take_mean(u, &c, e));
    for (int64_t i = 0; i < n; i++) u->report.rows += w[i], u->now->rows += w[i];
done:
    chunk_clear(&c);
    return status;
}

static anygp_status update_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                               const int64_t *ids, anygp_error *e)
{
    svdgp_update *u = state;
    int64_t D = u->now->base.D, Q = u->like.columns;
    int64_t most = !likelihood_is_gaussian(&u->like) ? CHUNK_ROUNDS : CHUNK;
    (void)ids;
    for (int64_t i = 0; i < n; i += most)
        TRY(add_chunk(u, n - i < most ? n - i : most, X + i * D, y + i * Q, w + i, e));
    return ANYGP_OK;
}

/* Rows become bases, which stay. */
static double update_held(const void *state)
{
    const svdgp_update *u = state;
    const svdgp *s = &u->now->s;
    int64_t each = s->C + s->D * (s->alpha_widths ? 2 : 1);
    return 8.0 * (double)(svdgp_Ma(s) - svdgp_Ma(&u->from->s)) * (double)each;
}

static anygp_status tell_distance(svdgp_update *u, anygp_error *e)
{
    for (int64_t c = 0; c < u->now->s.C; c++) u->report.moved += svdgp_kl(&u->now->s, &u->from->s, c);
    return isnan(u->report.moved) ? fail_memory(e, "the distance to the process before", 0) : ANYGP_OK;
}

static anygp_status update_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    svdgp_update *u = state;
    TRY(tell_distance(u, e));
    *r = u->report; /* before is 0: the evidence counts from the old rows on */
    *out = &u->now->base;
    u->now = NULL;
    return ANYGP_OK;
}

const update_ops svdgp_updates = {
    .open = update_open, .add = update_add, .held = update_held, .finish = update_finish, .close = update_close};
