/* The robust Bayesian committee machine (Deisenroth and Ng 2015; 003, section IV-B): the rows are cut into parts of the input
   space, each with an exact Gaussian process of its own, an expert; all experts have the same hyperparameters.

   Learning.  The experts are taken to be independent, so the objective is the sum of their log evidences: the statistic of a
   block.  With Ky = K + B H H' + s2 diag(1/w) = L L', a = L^-1 y, alpha = L^-T a
       log evidence = -1/2 [ a'a + log|Ky| + n log 2 pi ] - 1/2 sum_i [ (w_i - 1) log(2 pi s2) + log w_i ]
       dF/dKy       = (alpha alpha' - Ky^-1) / 2
   (a row of weight w stands for w rows of the same y).  Value and gradient come out of one pass: there is no reverse.

   Prediction.  Expert k predicts N(m_k, v_k) for f(x), the prior N(0, v_0).  Its weight is b_k = (log v_0 - log v_k) / 2, the
   entropy that its rows took away, so that experts far from x have none:
       1 / v = 1 / v_0 + sum_k b_k (1 / v_k - 1 / v_0),      m = v sum_k b_k m_k / v_k
   This is never less certain than the prior and returns to it far away.  There is no joint distribution: the experts do not say
   how two places vary together.

   Cost: n J^2 for parts of J rows, one pass per evaluation; n J numbers in memory and n J operations per prediction. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "base/special.h"
#include "linalg/jitter.h"
#include "linalg/linalg.h"
#include "model/block_model.h"
#include "model/model.h"

static const double LEAST = 1e-12; /* of the prior variance: what an expert leaves of it at least */

/* --------------------------------------------------------------------------------------- one expert */

/* What all experts share. */
typedef struct committee {
    const kernel *kernel;
    const basis *mean;
    double noise, jitter; /* jitter: relative to the mean diagonal of Ky */
    int64_t D;
    bool gradient;
} committee;

/* L of Ky in K[n,n], alpha and, where wanted, the log evidence; H: n x p of room. */
static anygp_status solve(const committee *c, int64_t n, const double *X, const double *y, const double *w, double *H,
                          double *K, double *alpha, double *value, anygp_error *e)
{
    double mean = 0, more = 0;
    if (!kernel_gram_sym(c->kernel, n, X, c->D, K, n)) return fail_memory(e, "kernel tiles", 0);
    basis_fill(c->mean, n, X, c->D, H, 1, n);
    if (c->mean->p) la_syrk(LA_N, n, c->mean->p, c->mean->B, H, n, 1, K, n);
    for (int64_t i = 0; i < n; i++) K[i + i * n] += c->noise / w[i], mean += K[i + i * n] / (double)n;
    for (int64_t i = 0; i < n; i++) K[i + i * n] += c->jitter * mean;
    if (!la_factor(n, K, n)) return fail_with(e, ANYGP_ERR_NUMERIC, "a block's covariance has no Cholesky factor");
    memcpy(alpha, y, (size_t)n * sizeof *alpha);
    la_trsv(LA_N, n, K, n, alpha);
    for (int64_t i = 0; value && i < n; i++) {
        more += w[i] * LOG_2PI + log(w[i]);
        if (w[i] != 1) more += (w[i] - 1) * log(c->noise); /* nothing for weight 1, even where the noise is 0 */
    }
    if (value) *value = -0.5 * (la_dot(n, alpha, alpha) + la_logdet(n, K, n) + more);
    la_trsv(LA_T, n, K, n, alpha);
    return ANYGP_OK;
}

/* From L to dF/dKy in place, with the share of the jitter, which depends on every diagonal element. */
static bool adjoint(const committee *c, int64_t n, const double *alpha, double *K)
{
    double trace = 0;
    if (la_potri(n, K, n) != 0) return false;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) K[i + j * n] = 0.5 * (alpha[i] * alpha[j] - K[i + j * n]);
    for (int64_t i = 0; i < n; i++) trace += K[i + i * n];
    for (int64_t i = 0; i < n; i++) K[i + i * n] += c->jitter * trace / (double)n;
    return true;
}

/* ------------------------------------------------------------------------------ the sum over blocks */

/* stat: the value, then its gradient in the kernel's parameters and the noise. */
static int64_t params_of(const committee *c) { return kernel_count(c->kernel); }
static int64_t stat_size(const void *shared) { return 2 + params_of(shared); }
static int64_t expert_doubles(const committee *c, int64_t n) { return n * (n + c->mean->p + 1); }
static int64_t work_doubles(const void *shared, int64_t n) { return expert_doubles(shared, n); }

static double work(const void *shared, int64_t n)
{
    const committee *c = shared;
    return (c->gradient ? 1.0 : 1.0 / 3) * pow((double)n, 3) + (double)n * (double)n * (double)c->D;
}

static anygp_status stat(const void *shared, const row_block *b, double *room, double *keep, double *out,
                         anygp_error *e)
{
    const committee *c = shared;
    int64_t n = b->n, P = params_of(c);
    double *K = room, *H = K + n * n, *alpha = H + n * c->mean->p, value;
    (void)keep;
    if (n == 0) return ANYGP_OK;
    TRY(solve(c, n, b->X, b->y, b->w, H, K, alpha, &value, e));
    out[0] += value;
    if (!c->gradient) return ANYGP_OK;
    if (!adjoint(c, n, alpha, K)) return fail_with(e, ANYGP_ERR_NUMERIC, "a block's covariance has no inverse");
    for (int64_t i = 0; i < n; i++) {
        out[1 + P] += K[i + i * n] / b->w[i];
        if (b->w[i] != 1) out[1 + P] -= 0.5 * (b->w[i] - 1) / c->noise;
    }
    return kernel_gram_sym_reverse(c->kernel, n, b->X, c->D, K, n, out + 1, NULL, 0)
               ? ANYGP_OK
               : fail_memory(e, "kernel tiles", 0);
}

static const block_model experts = {.stat_size = stat_size, .work_doubles = work_doubles, .work = work, .stat = stat};

/* -------------------------------------------------------------------------------------- posterior */

typedef struct rbcm_posterior {
    posterior base;
    int64_t experts, largest; /* rows of the largest */
    double *X, *y, *w;        /* D x n, n, n: expert after expert */
    double *start;            /* experts + 1: their first rows */
    double *jitter;           /* 1 */
    double *L, *alpha;        /* their factors one after the other, n */
} rbcm_posterior;

static void posterior_free(posterior *base)
{
    rbcm_posterior *p = (rbcm_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    double *const owned[] = {p->X, p->y, p->w, p->start, p->jitter, p->L, p->alpha};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(p);
}

/* Expert k: its rows, and its place among the factors. */
typedef struct expert {
    int64_t first, n;
    const double *X, *alpha, *L;
} expert;

static int64_t first_of(const rbcm_posterior *p, int64_t k) { return (int64_t)p->start[k]; }

/* Experts come in order: *at counts the numbers of the factors so far. */
static expert next_expert(const rbcm_posterior *p, int64_t k, int64_t *at)
{
    int64_t first = first_of(p, k), n = first_of(p, k + 1) - first;
    expert x = {first, n, p->X + first * p->base.D, p->alpha + first, p->L + *at};
    *at += n * n;
    return x;
}

static int64_t posterior_work(const posterior *base, int64_t n)
{
    const rbcm_posterior *p = (const rbcm_posterior *)base;
    return n * (p->largest + base->mean.p + 4) + p->largest * base->mean.p;
}

/* The prior at the rows of X: variance, and the mean's functions times sqrt(B), p x n. */
static void prior_of(const posterior *b, int64_t n, const double *X, int64_t ldx, double *variance, double *h)
{
    int64_t p = b->mean.p;
    kernel_diag(b->kernel, n, X, ldx, variance);
    basis_fill(&b->mean, n, X, ldx, h, p, 1);
    for (int64_t i = 0; i < n * p; i++) h[i] *= sqrt(b->mean.B);
    for (int64_t j = 0; j < n; j++) variance[j] += la_dot(p, h + j * p, h + j * p);
}

/* m_k and v_k of n rows; k: x.n x n of room, H: x.n x p. */
static anygp_status ask_expert(const posterior *b, const expert *x, int64_t n, const double *X, int64_t ldx,
                               const double *h, const double *prior, double *k, double *H, double *m, double *v,
                               anygp_error *e)
{
    int64_t p = b->mean.p;
    if (!kernel_gram(b->kernel, x->n, x->X, b->D, n, X, ldx, k, x->n)) return fail_memory(e, "kernel tiles", 0);
    if (p) {
        basis_fill(&b->mean, x->n, x->X, b->D, H, 1, x->n);
        la_gemm(LA_N, LA_N, x->n, n, p, sqrt(b->mean.B), H, x->n, h, p, 1, k, x->n);
    }
    la_gemv(LA_T, x->n, n, 1, k, x->n, x->alpha, 0, m);
    la_trsm(LA_LEFT, LA_N, x->n, n, 1, x->L, x->n, k, x->n);
    for (int64_t j = 0; j < n; j++) v[j] = fmax(prior[j] - la_dot(x->n, k + j * x->n, k + j * x->n), LEAST * prior[j]);
    return ANYGP_OK;
}

static anygp_status marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *room, double *mean,
                             double *variance, anygp_error *e)
{
    const rbcm_posterior *p = (const rbcm_posterior *)base;
    double *prior = room, *precision = prior + n, *m = precision + n, *v = m + n, *h = v + n;
    double *H = h + n * base->mean.p, *k = H + p->largest * base->mean.p;
    prior_of(base, n, X, ldx, prior, h);
    for (int64_t j = 0; j < n; j++) mean[j] = 0, precision[j] = prior[j] > 0 ? 1 / prior[j] : INFINITY;
    for (int64_t i = 0, at = 0; i < p->experts; i++) {
        expert x = next_expert(p, i, &at);
        if (x.n == 0) continue;
        TRY(ask_expert(base, &x, n, X, ldx, h, prior, k, H, m, v, e));
        for (int64_t j = 0; j < n && prior[j] > 0; j++) {
            double say = 0.5 * (log(prior[j]) - log(v[j]));
            precision[j] += say * (1 / v[j] - 1 / prior[j]);
            mean[j] += say * m[j] / v[j];
        }
    }
    for (int64_t j = 0; j < n; j++) {
        mean[j] /= precision[j];
        if (variance) variance[j] = 1 / precision[j];
    }
    return ANYGP_OK;
}

static void arrays(posterior *base, array_list *list)
{
    rbcm_posterior *p = (rbcm_posterior *)base;
    array_list_add(list, (named_array){"X", base->D, base->n, p->X, false});
    array_list_add(list, (named_array){"y", base->n, 1, p->y, false});
    array_list_add(list, (named_array){"w", base->n, 1, p->w, false});
    array_list_add(list, (named_array){"start", p->experts + 1, 1, p->start, false});
    array_list_add(list, (named_array){"jitter", 1, 1, p->jitter, false});
}

static const posterior_ops rbcm_posterior_ops = {
    .work_doubles = posterior_work, .marginal = marginal, .arrays = arrays, .free = posterior_free};

/* The factors of all experts, from their rows. */
static anygp_status factorize(rbcm_posterior *p, anygp_error *e)
{
    posterior *b = &p->base;
    committee c = {.kernel = b->kernel, .mean = &b->mean, .noise = b->noise, .jitter = *p->jitter, .D = b->D};
    double size = 0;
    for (int64_t k = 0; k < p->experts; k++) {
        int64_t n = first_of(p, k + 1) - first_of(p, k);
        size += (double)n * (double)n, p->largest = n > p->largest ? n : p->largest;
    }
    if (size > 1e15) return fail_memory(e, "the experts", 8 * size);
    p->L = mem_alloc((int64_t)size, sizeof *p->L), p->alpha = mem_alloc(b->n, sizeof *p->alpha);
    double *H = mem_doubles(p->largest, b->mean.p);
    anygp_status status = p->L && p->alpha && H ? ANYGP_OK : fail_memory(e, "the experts", 8 * size);
    for (int64_t k = 0, at = 0; !ANYGP_FAILED(status) && k < p->experts; k++) {
        expert x = next_expert(p, k, &at);
        if (x.n == 0) continue;
        status = solve(&c, x.n, x.X, p->y + x.first, p->w + x.first, H, (double *)x.L, (double *)x.alpha, NULL, e);
        la_zero_upper(x.n, (double *)x.L, x.n);
    }
    free(H);
    return status;
}

/* ------------------------------------------------------------------------------------------ state */

typedef struct rbcm_state {
    committee c;
    const problem *problem;
    driver *driver;
    double *stat;
    anygp_error failure; /* of the last evaluate, other than its numbers */
    double seen;         /* of the blocks, by the last pass */
} rbcm_state;

static void rbcm_close(void *state)
{
    rbcm_state *q = state;
    if (!q) return;
    driver_close(q->driver);
    free(q->stat);
    free(q);
}

static anygp_status rbcm_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    rbcm_state *q = calloc(1, sizeof *q);
    (void)self;
    if (!q) return fail_memory(e, "the model", sizeof *q);
    q->c = (committee){.kernel = h->kernel, .mean = p->mean, .D = p->blocks->D};
    q->problem = p, q->seen = 1;
    anygp_status status = driver_open(&experts, p->blocks, p->comm, 0, &q->driver, e);
    q->stat = mem_alloc(stat_size(&q->c), sizeof *q->stat);
    if (!ANYGP_FAILED(status) && !q->stat) status = fail_memory(e, "the sums", 8.0 * (double)stat_size(&q->c));
    if (ANYGP_FAILED(status))
        rbcm_close(q);
    else
        *state = q;
    return status;
}

static void look_at(rbcm_state *q, const hyper *h, double jitter, bool gradient)
{
    q->c.kernel = h->kernel, q->c.noise = h->like[0], q->c.jitter = jitter, q->c.gradient = gradient;
}

static void take_gradient(const rbcm_state *q, const hyper *h, double *gp)
{
    memset(gp, 0, (size_t)hyper_size(h) * sizeof *gp);
    memcpy(gp, q->stat + 1, (size_t)(hyper_kernel_params(h) + 1) * sizeof *gp);
}

static anygp_status pass(rbcm_state *q, const hyper *h, double jitter, bool gradient, anygp_error *e)
{
    look_at(q, h, jitter, gradient);
    driver_until(q->driver, q->problem->pass, &q->seen);
    anygp_status status = driver_stat(q->driver, &q->c, 0, NULL, 1, q->stat, e);
    driver_until(q->driver, NULL, NULL);
    if (ANYGP_FAILED(status)) return status;
    return q->seen < 1 ? ANYGP_TIME_LIMIT : ANYGP_OK;
}

static bool rbcm_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    rbcm_state *q = state;
    anygp_error why = {0};
    anygp_status status = pass(q, h, *jitter, gp != NULL, &why);
    while (status == ANYGP_ERR_NUMERIC && grow && *jitter < JITTER_MOST) {
        *jitter = jitter_next(*jitter);
        status = pass(q, h, *jitter, gp != NULL, &why);
    }
    q->failure = model_failure(status, &why);
    if (status != ANYGP_OK || !isfinite(q->stat[0])) return false;
    *value = q->stat[0];
    if (gp) take_gradient(q, h, gp);
    return true;
}

static int64_t rbcm_blocks(const void *state) { return ((const rbcm_state *)state)->problem->blocks->count; }

static anygp_status rbcm_estimate(void *state, const hyper *h, double jitter, int64_t count, const int64_t *which,
                                  double scale, double *value, double *gp, anygp_error *e)
{
    rbcm_state *q = state;
    look_at(q, h, jitter, true);
    TRY(driver_stat(q->driver, &q->c, count, which, scale, q->stat, e));
    *value = q->stat[0];
    take_gradient(q, h, gp);
    return ANYGP_OK;
}

static const sum_ops rbcm_sum = {.blocks = rbcm_blocks, .mean = true, .last = 0.5, .estimate = rbcm_estimate};

static const anygp_error *rbcm_failure(const void *state) { return &((const rbcm_state *)state)->failure; }
static double rbcm_rows(const void *state) { return ((const rbcm_state *)state)->problem->blocks->total; }
static int64_t rbcm_size(const problem *p) { return p->blocks->largest; }

/* Takes over X, y, w and start, on failure too. */
static anygp_status make_posterior(const kernel *k, double noise, const basis *mean, int64_t D, int64_t count,
                                   const gathered_rows *g, double jitter, posterior **out, anygp_error *e)
{
    gathered_rows owned = *g;
    rbcm_posterior *p = calloc(1, sizeof *p);
    if (!p) return gathered_rows_clear(&owned), fail_memory(e, "the posterior", sizeof *p);
    *p = (rbcm_posterior){.base = {.ops = &rbcm_posterior_ops, .noise = noise, .D = D, .n = g->n}, .experts = count};
    p->X = g->X, p->y = g->y, p->w = g->w, p->start = g->start;
    p->base.kernel = kernel_copy(k);
    p->jitter = mem_alloc(1, sizeof *p->jitter);
    anygp_status status =
        p->base.kernel && p->jitter ? basis_copy(mean, &p->base.mean, e) : fail_memory(e, "the posterior", sizeof *p);
    if (!ANYGP_FAILED(status)) *p->jitter = jitter, status = factorize(p, e);
    if (ANYGP_FAILED(status))
        posterior_free(&p->base);
    else
        *out = &p->base;
    return status;
}

static anygp_status rbcm_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    const problem *p = ((const rbcm_state *)state)->problem;
    gathered_rows g;
    TRY(blocks_gather(p->blocks, "the experts' rows", &g, e));
    return make_posterior(h->kernel, h->like[0], p->mean, p->blocks->D, p->blocks->count, &g, *jitter, out, e);
}

/* ------------------------------------------------------------------------------------------- file */

static anygp_status rbcm_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                              int64_t count, posterior **out, anygp_error *e)
{
    static const char *const names[] = {"X", "y", "w", "start", "jitter"};
    enum { ALL = 5 };
    named_array *a[ALL];
    (void)self;
    for (int i = 0; i < ALL; i++)
        if (!(a[i] = named_array_need(list, count, names[i], e))) return ANYGP_ERR_FILE;
    int64_t n = a[0]->cols, P = a[3]->rows - 1;
    if (a[0]->rows != D || a[1]->rows != n || a[1]->cols != 1 || a[2]->rows != n || a[2]->cols != 1 || P < 1 ||
        a[3]->cols != 1 || a[4]->rows != 1 || a[4]->cols != 1 || !(*a[4]->values >= 0 && *a[4]->values <= 1) ||
        !blocks_make_sense(P, a[3]->values, n, a[2]->values))
        return fail_with(e, ANYGP_ERR_FILE, "the model file's experts do not fit together; it is damaged");
    gathered_rows g = {n, named_array_take(a[0]), named_array_take(a[1]), named_array_take(a[2]),
                       named_array_take(a[3])};
    TRY(make_posterior(k, noise, mean, D, P, &g, *a[4]->values, out, e));
    kernel_free(k);
    basis_clear(mean);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------- table */

static model_cost rbcm_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    static const double SHARE = 0.75; /* of R, which factorisations reach */
    double J = s->part, B = s->largest, D = (double)f->inputs, p = (double)f->basis;
    (void)self;
    return (model_cost){.rows = cost_of_work(f, SHARE, f->rows * J * J, 2 * f->rows * J),
                        .bytes = 8 * (f->threads * B * (B + p + D + 3) + f->rows * (D + 3)),
                        .last = 8 * f->rows * B};
}

const model_ops model_rbcm = {
    .name = "rbcm",
    .summary = "committee of exact experts, one per part",
    .objective = "log evidence of the experts",
    .needs = {.rows = ROWS_PARTS, .mean = true, .weights = true},
    .order = "n j^2",
    .jitter = 1e-8,
    .cost = rbcm_cost,
    .size = rbcm_size,
    .open = rbcm_open,
    .evaluate = rbcm_evaluate,
    .failure = rbcm_failure,
    .posterior = rbcm_to_posterior,
    .rows = rbcm_rows,
    .close = rbcm_close,
    .load = rbcm_load,
    .sum = &rbcm_sum,
};
