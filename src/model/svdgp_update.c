/* New rows for a decoupled posterior p = GP(m, k') without the old ones: q maximises sum E[log p(y_i | f_i)] - KL(q || p) over the new
   rows, with the KL of theorem 1 of 001 (svdgp_kl.c).  For Gaussian noise the best mean is the old one conditioned on them,
       m(x) + k'(x, X) d,    d = (k'(X, X) + noise)^-1 (y - m(X)),    k'(x, X) = k(x, X) - k(x, beta) R k(beta, X):
   the rows become bases with coefficients d, and the bases beta join the mean's with -R k(beta, X) d.  The precision gains
   sum_i k(x_i, .) k(x_i, .)' / noise, of which B takes what lies in the span of beta.  Rows come in chunks, each on what the
   former left; M_alpha grows by the new rows and once by M_beta.  Cost: n M_alpha, n CHUNK^2, n M_beta^2. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/svdgp_posterior.h"
#include "model/svdgp_state.h"

enum { CHUNK = 512 };

typedef struct svdgp_update {
    svdgp_posterior *now;
    int64_t beta_at; /* where beta stands among the mean's bases; -1: not yet */
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

static anygp_status update_open(const model_ops *self, const posterior *p, void **state, anygp_error *e)
{
    const svdgp_posterior *from = (const svdgp_posterior *)p;
    svdgp_update *u = calloc(1, sizeof *u);
    (void)self;
    if (!u) return fail_memory(e, "the update", sizeof *u);
    u->beta_at = -1;
    anygp_status status =
        from->s.C == 1
            ? copy_posterior(from, &u->now, e)
            : fail_with(e, ANYGP_ERR_ARGUMENT, "svdgp takes new rows for a single function with Gaussian noise only");
    if (ANYGP_FAILED(status))
        update_close(u);
    else
        *state = u;
    return status;
}

/* -------------------------------------------------------------------------------------- a chunk */

typedef struct chunk {
    int64_t n;
    const double *X, *y, *w;
    double *d, *cov, *work; /* n, n x n, of the posterior */
    double *Kb, *t, *S;     /* n x Mt, Mt, Mt x Mt */
} chunk;

static void chunk_clear(chunk *c)
{
    double *const owned[] = {c->d, c->cov, c->work, c->Kb, c->t, c->S};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static anygp_status chunk_make(const svdgp_posterior *p, chunk *c, anygp_error *e)
{
    int64_t n = c->n, Mt = p->s.Mt;
    c->d = mem_alloc(n, sizeof(double)), c->cov = mem_doubles(n, n);
    c->work = mem_alloc(p->base.ops->work_doubles(&p->base, n), sizeof(double));
    c->Kb = mem_doubles(n, Mt), c->t = mem_alloc(Mt, sizeof(double)), c->S = mem_doubles(Mt, Mt);
    if (c->d && c->cov && c->work && c->Kb && c->t && c->S) return ANYGP_OK;
    return fail_memory(e, "the new rows", 8.0 * (double)(n * n));
}

/* d, and the log density of the chunk under what is known: added to *density. */
static anygp_status condition(const svdgp_posterior *p, chunk *c, double *density, anygp_error *e)
{
    static const double LOG_2PI = 1.837877066409345483560659472811;
    int64_t n = c->n;
    TRY(p->base.ops->joint(&p->base, n, c->X, p->base.D, c->work, c->d, c->cov, n, e));
    for (int64_t i = 0; i < n; i++) {
        c->d[i] = c->y[i] - c->d[i];
        c->cov[i + i * n] += p->base.noise / c->w[i];
    }
    if (!la_factor(n, c->cov, n))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of the new rows is not positive definite");
    la_trsv(LA_N, n, c->cov, n, c->d);
    *density -= 0.5 * (la_dot(n, c->d, c->d) + la_logdet(n, c->cov, n) + (double)n * LOG_2PI);
    la_trsv(LA_T, n, c->cov, n, c->d);
    return ANYGP_OK;
}

/* Kb, t = R Kb'd and S = -Kb' diag(w / noise) Kb / 2. */
static anygp_status project(const svdgp_posterior *p, chunk *c, anygp_error *e)
{
    const svdgp *s = &p->s;
    int64_t n = c->n, Mt = s->Mt;
    double *v = s->work[0], *half = s->work[1];
    if (!svdgp_fill_Kb(s, n, c->X, s->D, c->work, c->Kb)) return fail_memory(e, "kernel tiles", 0);
    la_gemv(LA_T, n, Mt, 1, c->Kb, n, c->d, 0, v);
    la_gemv(LA_N, Mt, Mt, 1, s->W[0], Mt, v, 0, half);
    la_gemv(LA_T, Mt, Mt, 1, s->W[0], Mt, half, 0, c->t);
    double *weighted = c->work; /* n x Mt: joint's workspace is larger */
    for (int64_t j = 0; j < Mt; j++)
        for (int64_t i = 0; i < n; i++) weighted[i + j * n] = -0.5 * c->w[i] / p->base.noise * c->Kb[i + j * n];
    la_gemm(LA_T, LA_N, Mt, Mt, n, 1, weighted, n, c->Kb, n, 0, c->S, Mt);
    return ANYGP_OK;
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
    TRY(svdgp_add_alpha(s, svdgp_Mb(s), s->beta.x, e));
    if (s->widths && svdgp_Mb(s))
        memcpy(s->alpha_width.x + u->beta_at * s->D, s->beta_width.x, (size_t)(svdgp_Mb(s) * s->D) * sizeof(double));
    return ANYGP_OK;
}

static anygp_status take_in(svdgp_update *u, const chunk *c, anygp_error *e)
{
    svdgp *s = &u->now->s;
    int64_t p = s->p, first;
    TRY(svdgp_natural_step(s, c->S, 1, 1, e));
    TRY(add_beta(u, e));
    first = svdgp_Ma(s);
    TRY(svdgp_add_alpha(s, c->n, c->X, e));
    memcpy(s->a.x + first, c->d, (size_t)c->n * sizeof(double));
    for (int64_t k = 0; k < p; k++) s->trend.x[k] += la_dot(c->n, c->Kb + k * c->n, c->d) - c->t[k];
    for (int64_t k = 0; k < svdgp_Mb(s); k++) s->a.x[u->beta_at + k] -= c->t[p + k];
    return svdgp_posterior_complete(u->now, e);
}

static anygp_status add_chunk(svdgp_update *u, int64_t n, const double *X, const double *y, const double *w,
                              anygp_error *e)
{
    chunk c = {.n = n, .X = X, .y = y, .w = w};
    anygp_status status;
    TRY_DONE(chunk_make(u->now, &c, e));
    TRY_DONE(condition(u->now, &c, &u->report.after, e));
    TRY_DONE(project(u->now, &c, e));
    TRY_DONE(take_in(u, &c, e));
    for (int64_t i = 0; i < n; i++) u->report.rows += w[i], u->now->rows += w[i];
done:
    chunk_clear(&c);
    return status;
}

static anygp_status update_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                               const int64_t *ids, anygp_error *e)
{
    svdgp_update *u = state;
    int64_t D = u->now->base.D;
    (void)ids;
    for (int64_t i = 0; i < n; i += CHUNK) TRY(add_chunk(u, n - i < CHUNK ? n - i : CHUNK, X + i * D, y + i, w + i, e));
    return ANYGP_OK;
}

static double update_held(const void *state) { return (void)state, 0; }

static anygp_status update_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    svdgp_update *u = state;
    (void)e;
    *r = u->report; /* before is 0: the evidence counts from the old rows on */
    *out = &u->now->base;
    u->now = NULL;
    return ANYGP_OK;
}

const update_ops svdgp_updates = {
    .open = update_open, .add = update_add, .held = update_held, .finish = update_finish, .close = update_close};
