/* Learning of committees (experts.h).  The statistic of a block: with Ky = K + B H H' + s2 diag(1/w) = L L', a = L^-1 y,
   alpha = L^-T a
       log evidence = -1/2 [ a'a + log|Ky| + n log 2 pi ] - 1/2 sum_i [ (w_i - 1) log(2 pi s2) + log w_i ]
       dF/dKy       = (alpha alpha' - Ky^-1) / 2
   (a row of weight w stands for w rows of the same y).  Value and gradient come out of one pass: there is no reverse. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "linalg/jitter.h"
#include "linalg/linalg.h"
#include "model/exact/exact.h"
#include "model/local/experts.h"

/* --------------------------------------------------------------------------------------- one expert */

/* Noise: nothing for weight 1, even where it is 0. */
double expert_row_terms(double w, double noise) { return w * LOG_2PI + log(w) + (w != 1 ? (w - 1) * log(noise) : 0); }

anygp_status expert_covariance(const committee *c, const expert_rows *r, double *H, double *K, anygp_error *e)
{
    int64_t n = r->n;
    double mean = 0;
    if (!kernel_gram_sym(c->kernel, n, r->X, c->D, K, n)) return fail_memory(e, "kernel tiles", 0);
    basis_fill(c->mean, n, r->X, c->D, H, 1, n);
    if (c->mean->p) la_syrk(LA_N, n, c->mean->p, c->mean->B, H, n, 1, K, n);
    for (int64_t i = 0; i < n; i++) mean += (K[i + i * n] + c->noise) / (double)n;
    for (int64_t i = 0; i < n; i++) K[i + i * n] += c->noise / r->w[i] + c->jitter * mean;
    return ANYGP_OK;
}

anygp_status expert_solve(const committee *c, const expert_rows *r, double *K, double *alpha, double *value,
                          anygp_error *e)
{
    int64_t n = r->n;
    double more = 0;
    if (!la_factor(n, K, n)) return fail_with(e, ANYGP_ERR_NUMERIC, "a block's covariance has no Cholesky factor");
    la_trsv(LA_N, n, K, n, alpha);
    for (int64_t i = 0; value && i < n; i++) more += expert_row_terms(r->w[i], c->noise);
    if (value) *value = -0.5 * (la_dot(n, alpha, alpha) + la_logdet(n, K, n) + more);
    la_trsv(LA_T, n, K, n, alpha);
    return ANYGP_OK;
}

/* Ky is K + noise / w + jitter * mean(K_ii + noise): a row of next to no weight leaves the jitter of the others alone. */
double expert_diagonal_adjoint(const committee *c, int64_t n, const double *w, double *K)
{
    double trace = 0, slope = 0;
    for (int64_t i = 0; i < n; i++) trace += K[i + i * n], slope += K[i + i * n] / w[i];
    for (int64_t i = 0; i < n; i++) K[i + i * n] += c->jitter * trace / (double)n;
    for (int64_t i = 0; i < n; i++)
        if (w[i] != 1) slope -= 0.5 * (w[i] - 1) / c->noise;
    return slope + c->jitter * trace;
}

/* From L to dF/dKy in place; q[n]: the diagonal of Ky^-1. */
static bool adjoint(int64_t n, const double *alpha, double *K, double *q)
{
    if (la_potri(n, K, n) != 0) return false;
    for (int64_t i = 0; i < n; i++) q[i] = K[i + i * n];
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) K[i + j * n] = 0.5 * (alpha[i] * alpha[j] - K[i + j * n]);
    return true;
}

/* ------------------------------------------------------------------------------ the sum over blocks */

/* stat: the value, then its gradient in the kernel's parameters and the noise; of each expert, where they have their own. */
static int64_t params_of(const committee *c) { return kernel_count(c->kernel); }

static int64_t stat_size(const void *shared)
{
    const committee *c = shared;
    return 1 + (1 + params_of(c)) * (c->own ? c->own->count : 1);
}

/* As the expert of block b sees it; *gradient: where in stat its own begins. */
static committee expert_view(const committee *c, int64_t b, int64_t *gradient)
{
    committee one = *c;
    *gradient = 1;
    if (!c->own) return one;
    one.kernel = c->own->kernel[b], one.noise = expert_hyper_noise(c->own, b);
    *gradient = 1 + b * c->own->params;
    return one;
}

static int64_t work_doubles(const void *shared, int64_t n)
{
    const committee *c = shared;
    return n * (n + c->mean->p + 2);
}

static double work(const void *shared, int64_t n)
{
    const committee *c = shared;
    return (c->gradient ? 1.0 : 1.0 / 3) * pow((double)n, 3) + (double)n * (double)n * (double)c->D;
}

/* Every row of a block by the others; blocks write to places of their own. */
static void leave_out(const committee *c, const row_block *b, const double *q, const double *alpha)
{
    leave_one_out *l = c->loo;
    for (int64_t i = 0, to = c->row_of[b->index]; i < b->n; i++, to++) {
        double off;
        exact_leave_out(b->w[i], fmin(1, b->w[i]), 0, c->noise, q[i], alpha[i], &off, &l->variance[to]);
        l->y[to] = b->y[i], l->mean[to] = b->y[i] - off, l->weight[to] = b->w[i];
        if (l->X) memcpy(l->X + to * c->D, b->X + i * c->D, (size_t)c->D * sizeof *l->X);
    }
}

static anygp_status stat(const void *shared, const row_block *b, double *room, double *keep, double *out,
                         anygp_error *e)
{
    int64_t n = b->n, at;
    const committee view = expert_view(shared, b->index, &at), *c = &view;
    const expert_rows r = {n, b->X, b->y, b->w};
    double *K = room, *H = K + n * n, *alpha = H + n * c->mean->p, *q = alpha + n, value;
    double *dkernel = out + at, *dnoise = dkernel + params_of(c);
    (void)keep;
    if (n == 0) return ANYGP_OK;
    memcpy(alpha, b->y, (size_t)n * sizeof *alpha);
    TRY(expert_covariance(c, &r, H, K, e));
    TRY(expert_solve(c, &r, K, alpha, &value, e));
    out[0] += value;
    if (!c->gradient) return ANYGP_OK;
    if (!adjoint(n, alpha, K, q)) return fail_with(e, ANYGP_ERR_NUMERIC, "a block's covariance has no inverse");
    if (c->loo) leave_out(c, b, q, alpha);
    *dnoise += expert_diagonal_adjoint(c, n, b->w, K);
    return kernel_gram_sym_reverse(c->kernel, n, b->X, c->D, K, n, dkernel, NULL, 0)
               ? ANYGP_OK
               : fail_memory(e, "kernel tiles", 0);
}

static const block_model experts = {.stat_size = stat_size, .work_doubles = work_doubles, .work = work, .stat = stat};

/* ------------------------------------------------------------------------------------------ state */

typedef struct experts_state {
    committee c;
    const aggregation *rule;
    const problem *problem;
    driver *driver;
    double *stat;
    expert_hyper *own;   /* NULL: experts share theirs */
    leave_one_out loo;   /* n = 0: there is none */
    bool loo_rows;       /* this rank has what loo says of the rows of all ranks: targets, weights, inputs */
    int64_t *row_of;     /* blocks + 1 */
    anygp_error failure; /* of the last evaluate, other than its numbers */
    double seen;         /* of the blocks, by the last pass */
} experts_state;

void experts_close(void *state)
{
    experts_state *q = state;
    if (!q) return;
    driver_close(q->driver);
    expert_hyper_free(q->own);
    void *const owned[] = {q->stat, q->row_of, q->loo.y, q->loo.mean, q->loo.variance, q->loo.weight, q->loo.X};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(q);
}

/* Where the rows of each block begin, and how many there are. */
static anygp_status count_rows(experts_state *q, int64_t *n, anygp_error *e)
{
    row_blocks *all = q->problem->blocks;
    anygp_status status = ANYGP_OK;
    block_buffer buffer = {0};
    row_block b;
    if (!(q->row_of = mem_alloc(all->count + 1, sizeof *q->row_of)))
        return fail_memory(e, "the blocks", 8.0 * (double)all->count);
    q->row_of[0] = 0;
    for (int64_t i = 0; i < all->count; i++) {
        TRY_DONE(blocks_get(all, i, &buffer, &b, e));
        q->row_of[i + 1] = q->row_of[i] + b.n;
    }
    *n = q->row_of[all->count];
done:
    block_buffer_clear(&buffer);
    return status;
}

static bool loo_room(experts_state *q, int64_t n)
{
    static const double SHARE = 1.0 / 16; /* of the memory, for these and a copy of them */
    const problem *p = q->problem;
    leave_one_out *l = &q->loo;
    if (p->memory > 0 && 64.0 * (double)n > SHARE * p->memory) return false;
    double **const arrays[] = {&l->y, &l->mean, &l->variance, &l->weight};
    bool ok = true;
    for (int i = 0; i < 4; i++) ok = (*arrays[i] = mem_zeroed(n, sizeof **arrays)) && ok;
    l->D = q->c.D;
    if (p->leave_out_inputs) ok = (l->X = mem_zeroed(n * l->D, sizeof *l->X)) && ok;
    return ok;
}

/* Leave-one-out, where every process has room; without it nothing else changes. */
static anygp_status make_loo(experts_state *q, int64_t n, anygp_error *e)
{
    const comm *c = q->problem->comm;
    double without = !loo_room(q, n);
    if (c->size > 1) TRY(c->sum(c->ctx, 1, &without, e));
    if (without > 0) return ANYGP_OK;
    q->loo.n = n;
    q->c.loo = &q->loo, q->c.row_of = q->row_of;
    return ANYGP_OK;
}

static anygp_status look_at_rows(experts_state *q, anygp_error *e)
{
    int64_t n = 0, wanted = q->problem->experts.communication;
    TRY(count_rows(q, &n, e));
    if (q->rule->communication && wanted > n)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "communication: %lld rows are more than the %lld there are to learn from; use fewer",
                         (long long)wanted, (long long)n);
    return make_loo(q, n, e);
}

anygp_status experts_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    experts_state *q = calloc(1, sizeof *q);
    if (!q) return fail_memory(e, "the model", sizeof *q);
    q->c = (committee){.kernel = h->kernel, .mean = p->mean, .D = p->blocks->D};
    q->problem = p, q->rule = self->family, q->seen = 1;
    anygp_status status = look_at_rows(q, e);
    if (!ANYGP_FAILED(status) && experts_own_segment(h))
        status = expert_hyper_new(h->kernel, h->like[0], p->blocks->count, 0, NULL, &q->own, e);
    q->c.own = q->own;
    if (!ANYGP_FAILED(status)) status = driver_open(&experts, p->blocks, p->comm, 0, &q->driver, e);
    q->stat = mem_alloc(stat_size(&q->c), sizeof *q->stat);
    if (!ANYGP_FAILED(status) && !q->stat) status = fail_memory(e, "the sums", 8.0 * (double)stat_size(&q->c));
    if (ANYGP_FAILED(status))
        experts_close(q);
    else
        *state = q;
    return status;
}

static void look_at(experts_state *q, const hyper *h, double jitter, bool gradient)
{
    q->c.kernel = h->kernel, q->c.noise = h->like[0], q->c.jitter = jitter, q->c.gradient = gradient;
    if (q->own) expert_hyper_set(q->own, experts_own_segment(h)->values);
}

/* Each rank has left out the rows of its own blocks, and the others' are 0 there.  Targets, weights and inputs stay as they are. */
static anygp_status share_loo(experts_state *q, anygp_error *e)
{
    const comm *c = q->problem->comm;
    leave_one_out *l = &q->loo;
    if (c->size == 1 || l->n == 0) return ANYGP_OK;
    TRY(c->sum(c->ctx, l->n, l->mean, e));
    TRY(c->sum(c->ctx, l->n, l->variance, e));
    if (q->loo_rows) return ANYGP_OK;
    TRY(c->sum(c->ctx, l->n, l->y, e));
    TRY(c->sum(c->ctx, l->n, l->weight, e));
    if (l->X) TRY(c->sum(c->ctx, l->n * l->D, l->X, e));
    q->loo_rows = true;
    return ANYGP_OK;
}

static void forget_loo(experts_state *q)
{
    leave_one_out *l = &q->loo;
    if (q->problem->comm->size == 1 || l->n == 0) return;
    memset(l->mean, 0, (size_t)l->n * sizeof *l->mean);
    memset(l->variance, 0, (size_t)l->n * sizeof *l->variance);
}

static anygp_status pass(experts_state *q, const hyper *h, double jitter, bool gradient, anygp_error *e)
{
    look_at(q, h, jitter, gradient);
    if (gradient) forget_loo(q);
    driver_until(q->driver, q->problem->pass, &q->seen);
    anygp_status status = driver_stat(q->driver, &q->c, 0, NULL, 1, q->stat, e);
    driver_until(q->driver, NULL, NULL);
    if (ANYGP_FAILED(status)) return status;
    if (q->seen < 1) return ANYGP_TIME_LIMIT;
    return gradient ? share_loo(q, e) : ANYGP_OK;
}

static void take_sums(const experts_state *q, const hyper *h, double *value, double *gp)
{
    const param_segment *own = experts_own_segment(h);
    size_t count = (size_t)stat_size(&q->c) - 1;
    *value = q->stat[0];
    if (!gp) return;
    memset(gp, 0, (size_t)hyper_size(h) * sizeof *gp);
    memcpy(gp + (own ? params_place(&h->all, own) : 0), q->stat + 1, count * sizeof *gp);
}

bool experts_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    experts_state *q = state;
    anygp_error why = {0};
    anygp_status status = pass(q, h, *jitter, gp != NULL, &why);
    while (status == ANYGP_ERR_NUMERIC && grow && *jitter < JITTER_MOST) {
        *jitter = jitter_next(*jitter);
        status = pass(q, h, *jitter, gp != NULL, &why);
    }
    q->failure = model_failure(status, &why);
    if (status != ANYGP_OK || !isfinite(q->stat[0])) return false;
    take_sums(q, h, value, gp);
    return true;
}

static int64_t sum_blocks(const void *state) { return experts_problem(state)->blocks->count; }

static anygp_status sum_estimate(void *state, const hyper *h, double jitter, int64_t count, const int64_t *which,
                                 double scale, double *value, double *gp, anygp_error *e)
{
    experts_state *q = state;
    look_at(q, h, jitter, gp != NULL);
    committee sample = q->c;
    sample.loo = NULL; /* it is of all rows */
    TRY(driver_stat(q->driver, &sample, count, which, scale, q->stat, e));
    take_sums(q, h, value, gp);
    return ANYGP_OK;
}

const sum_ops experts_sum = {.blocks = sum_blocks, .mean = true, .last = 0.5, .estimate = sum_estimate};

const leave_one_out *experts_loo(void *state, const hyper *h)
{
    (void)h;
    return &((experts_state *)state)->loo;
}

const anygp_error *experts_failure(const void *state) { return &((const experts_state *)state)->failure; }
const problem *experts_problem(const void *state) { return ((const experts_state *)state)->problem; }
const aggregation *experts_rule(const void *state) { return ((const experts_state *)state)->rule; }
double experts_rows(const void *state) { return experts_problem(state)->blocks->total; }
int64_t experts_size(const problem *p) { return p->blocks->largest; }

model_cost experts_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    static const double SHARE = 0.75; /* of R, which factorisations reach */
    const aggregation *g = self->family;
    double J = s->part, B = s->largest, D = (double)f->inputs, p = (double)f->basis;
    return (model_cost){.rows = cost_of_work(f, SHARE, f->rows * J * J, 2 * f->rows * J),
                        .bytes = 8 * (f->threads * B * (B + p + D + 3) + f->rows * (D + 3)),
                        .last = 8 * f->rows * (g->communication ? 2 : 1) * B};
}
