/* Variational nearest-neighbour GPs: the bound and its gradient (vnngp.h). */
#include "model/local/vnngp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped.h"
#include "base/memory.h"
#include "base/random.h"
#include "linalg/jitter.h"
#include "linalg/linalg.h"
#include "model/local/vecchia.h"

/* ---------------------------------------------------------------------------------- rows and blocks */

/* G over the rows of a block, the own one last, G_NN factored, and b = G_jN G_NN^-1; returns d. */
static anygp_status condition(const vnngp *v, const row_block *b, double *G, double *weight, double *d, anygp_error *e)
{
    int64_t n = b->n, k = n - 1;
    if (!kernel_gram_sym(v->h->kernel, n, b->X, v->rows.D, G, n)) return fail_memory(e, "kernel tiles", 0);
    for (int64_t j = 0; j < n; j++) G[j + j * n] += v->added;
    bool factored = la_factor(k, G, n);
    for (int64_t j = 0; factored && j < k; j++) weight[j] = G[k + j * n];
    if (factored) la_trsv(LA_N, k, G, n, weight);
    *d = factored ? G[n * n - 1] - la_dot(k, weight, weight) : 0;
    if (!(*d > 0)) return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of neighbouring rows has no Cholesky factor");
    la_trsv(LA_T, k, G, n, weight);
    return ANYGP_OK;
}

static int64_t room(const void *shared, int64_t n) { return (void)shared, 2 * n * n + 2 * n; }
static double multiplications(const void *shared, int64_t n)
{
    return (void)shared, (double)n * (double)n * (double)n / 6 + 8 * (double)n * (double)n;
}

static int64_t nothing(const void *shared) { return (void)shared, 1; }

static anygp_status conditional_stat(const void *shared, const row_block *b, double *work, double *keep, double *stat,
                                     anygp_error *e)
{
    const vnngp *v = shared;
    (void)keep, (void)stat;
    return condition(v, b, work, v->b + b->index * v->k, v->d + b->index, e);
}

static const block_model conditionals = {
    .stat_size = nothing, .work_doubles = room, .work = multiplications, .stat = conditional_stat};

/* b bar and d bar of KL_j. */
static double adjoints(const vnngp *v, int64_t at, int64_t k, const double *b, double *bar)
{
    const int32_t *near = vnngp_given(v, at);
    double d = v->d[at], d_bar = 0;
    memset(bar, 0, (size_t)k * sizeof *bar);
    for (int64_t c = 0; c < v->C; c++) {
        const double *m = v->m + c * v->n, *s = v->s + c * v->n;
        double r = m[at], t = s[at];
        for (int64_t j = 0; j < k; j++) r -= b[j] * m[near[j]], t += b[j] * b[j] * s[near[j]];
        for (int64_t j = 0; j < k; j++) bar[j] += (b[j] * s[near[j]] - r * m[near[j]]) / d;
        d_bar += 0.5 * (1 - (t + r * r) / d) / d;
    }
    return d_bar;
}

static int64_t slope_size(const void *shared) { return hyper_kernel_params(((const vnngp *)shared)->h) + 1; }

/* Adds the kernel's gradient of -KL_j, and behind it what its diagonal gets in all. */
static anygp_status slope_stat(const void *shared, const row_block *b, double *work, double *keep, double *stat,
                               anygp_error *e)
{
    const vnngp *v = shared;
    int64_t n = b->n, k = n - 1;
    double *G = work, *bar = G + n * n, *weight = bar + n * n, *a = weight + n, d, diagonal = 0;
    (void)keep;
    TRY(condition(v, b, G, weight, &d, e));
    double d_bar = adjoints(v, b->index, k, weight, a);
    la_trsv(LA_N, k, G, n, a);
    la_trsv(LA_T, k, G, n, a);
    for (int64_t j = 0; j < k; j++) {
        for (int64_t i = j; i < k; i++)
            bar[i + j * n] = 0.5 * (a[i] * weight[j] + weight[i] * a[j]) - d_bar * weight[i] * weight[j];
        bar[k + j * n] = d_bar * weight[j] - 0.5 * a[j];
    }
    bar[n * n - 1] = -d_bar;
    for (int64_t j = 0; j < n; j++) diagonal += bar[j + j * n];
    stat[hyper_kernel_params(v->h)] += diagonal;
    bool ok = kernel_gram_sym_reverse(v->h->kernel, n, b->X, v->rows.D, bar, n, stat, NULL, 0);
    return ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

static const block_model slopes = {
    .stat_size = slope_size, .work_doubles = room, .work = multiplications, .stat = slope_stat};

/* -------------------------------------------------------------------------------------------- order */

static void order_clear(vnngp *v)
{
    driver_close(v->conditionals);
    driver_close(v->slopes);
    blocks_free(v->blocks);
    row_groups_clear(&v->groups);
    near_rows_clear(&v->near);
    v->conditionals = v->slopes = NULL, v->blocks = NULL, v->groups = (row_groups){0}, v->near = (near_rows){0};
}

/* The given order is of the problem's rows, which may be more: the first of equal ones counts. */
static void take_order(const vnngp *v, int64_t *order)
{
    const merged *from = v->problem->rows;
    int64_t count = 0;
    bool *taken = (bool *)v->cells; /* there is room for more */
    memset(taken, 0, (size_t)v->n * sizeof *taken);
    for (int64_t i = 0; i < v->N; i++) v->place[from->group[i]] = v->rows.group[i];
    for (int64_t i = 0; i < from->n; i++) {
        int64_t row = v->place[v->problem->near.given[i]];
        if (!taken[row]) order[count++] = row, taken[row] = true;
    }
}

anygp_status vnngp_open_places(vnngp *v, anygp_error *e)
{
    const comm *c = v->problem->comm;
    TRY(groups_single(&v->near, NULL, &v->groups, e));
    TRY(blocks_of_groups(&v->groups, v->n, v->rows.D, v->X, v->one, v->one, &v->blocks, e));
    TRY(driver_open(&conditionals, v->blocks, c, 0, &v->conditionals, e));
    return driver_open(&slopes, v->blocks, c, 0, &v->slopes, e);
}

static anygp_status take_rows(vnngp *v, anygp_error *e)
{
    int64_t D = v->rows.D, *at = (int64_t *)v->cells; /* there is room for more */
    for (int64_t i = 0; i < v->n; i++) {
        memcpy(v->X + i * D, v->rows.X + v->order[i] * D, (size_t)D * sizeof(double));
        at[v->order[i]] = i;
    }
    for (int64_t i = 0; i < v->N; i++) v->place[i] = at[v->rows.group[i]];
    return vnngp_open_places(v, e);
}

anygp_status vnngp_arrange(vnngp *v, const kernel *k, anygp_error *e)
{
    const problem *p = v->problem;
    int64_t d;
    double *places = vecchia_places(k, v->n, v->rows.D, v->rows.X, &d);
    if (!places) return fail_memory(e, "the order of the rows", 8.0 * (double)v->n);
    order_clear(v);
    near_metric by = vecchia_metric(k, v->n);
    vecchia_marks(k, v->marks);
    anygp_status status = ANYGP_OK;
    if (p->near.given)
        take_order(v, v->order);
    else
        status = vecchia_order(p, v->n, d, places, &by, NULL, v->order, e);
    v->near = (near_rows){.on_disk = p->on_disk};
    if (!ANYGP_FAILED(status)) status = neighbours_in_order(v->n, d, places, &by, v->order, v->k, p->comm, &v->near, e);
    free(places);
    return ANYGP_FAILED(status) ? status : take_rows(v, e);
}

/* -------------------------------------------------------------------------------------------- state */

void vnngp_close(void *state)
{
    vnngp *v = state;
    if (!v) return;
    order_clear(v);
    vnngp_run_free(v);
    merged_clear(&v->rows);
    if (v->thinned) free(v->data.X), free(v->data.y), free(v->data.w);
    mapped_free(v->b);
    void *const owned[] = {v->order,  v->place, v->X,    v->one,      v->marks,      v->d,           v->pi,
                           v->m,      v->s,     v->g,    v->lambda,   v->step,       v->other,       v->before,
                           v->slower, v->cells, v->sums, v->like_bar, v->known_site, v->known_weight};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(v);
}

anygp_status vnngp_allocate(vnngp *v, const hyper *h, anygp_error *e)
{
    int64_t n = v->n, nC = v->n * v->C, N = v->N, params = v->like.params, chunks = N / 256 + 1;
    double **const many[] = {&v->m, &v->s, &v->g, &v->lambda, &v->step, &v->before, &v->slower};
    bool ok = true;
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) ok &= (*many[i] = mem_alloc(nC, sizeof(double))) != NULL;
    v->order = mem_alloc(n, sizeof *v->order), v->place = mem_alloc(N, sizeof *v->place);
    v->X = mem_doubles(n, v->rows.D), v->one = mem_alloc(n, sizeof *v->one);
    v->marks = mem_alloc(vecchia_mark_count(h->kernel), sizeof *v->marks);
    v->d = mem_alloc(n, sizeof *v->d), v->pi = mem_alloc(n, sizeof *v->pi);
    v->other = mem_doubles(n, 4);
    v->cells = mem_doubles(1, 4 * N * v->C + chunks * (1 + params));
    v->sums = mem_alloc(hyper_kernel_params(h) + 1, sizeof *v->sums);
    v->like_bar = mem_alloc(params + 1, sizeof *v->like_bar);
    ok &= v->order && v->place && v->X && v->one && v->marks && v->d && v->pi && v->other && v->cells && v->sums &&
          v->like_bar;
    for (int64_t i = 0; ok && i < n; i++) v->one[i] = 1;
    if (!ok) return fail_memory(e, "the model", 8.0 * (double)n * (double)(v->k + 8 * v->C));
    return mapped_doubles(v->problem->on_disk, n, v->k, "the weights of near rows", &v->b, e);
}

/* These of its rows, in arrays of its own. */
static anygp_status thin(vnngp *v, int64_t count, anygp_error *e)
{
    const dataset *all = v->problem->rows->data;
    dataset *d = &v->data;
    int64_t Q = dataset_numbers(all), *chosen = mem_alloc(count, sizeof *chosen);
    v->thinned = true, d->n = d->used = count, d->total = 0;
    d->X = mem_doubles(count, d->D), d->y = mem_doubles(count, Q), d->w = mem_alloc(count, sizeof *d->w);
    bool ok = chosen && d->X && d->y && d->w;
    if (ok) random_subset((random_stream){v->problem->seed, RANDOM_SUBSET, 0}, all->n, count, chosen);
    for (int64_t i = 0; ok && i < count; i++) {
        memcpy(d->X + i * d->D, all->X + chosen[i] * d->D, (size_t)d->D * sizeof *d->X);
        memcpy(d->y + i * Q, all->y + chosen[i] * Q, (size_t)Q * sizeof *d->y);
        d->total += d->w[i] = all->w[chosen[i]];
    }
    free(chosen);
    return ok ? ANYGP_OK : fail_memory(e, "the rows", 8.0 * (double)count * (double)(d->D + Q + 1));
}

/* With a time limit, no more rows than there is time for: q is of all of them in each evaluation, which takes about ten times as long as
   their order and lists, and twice that with the posterior's. */
static anygp_status take_data(vnngp *v, const kernel *k, anygp_error *e)
{
    enum { LEAST = 2000 };
    static const double SHARE = 0.015, SHARE_STEPS = 0.15; /* steps look at some rows at a time */
    const merged *m = v->problem->rows;
    int64_t rows;
    v->data = *m->data;
    TRY(vecchia_rows_in_time(v->problem, m, k, v->k, v->self->steps ? SHARE_STEPS : SHARE, LEAST, &rows, e));
    if (rows >= m->n) return ANYGP_OK;
    snprintf(v->remark, sizeof v->remark,
             "there was time for %lld of the %lld distinct rows only, which the model rests on; give it more --time, "
             "or use --model svgp%s",
             (long long)rows, (long long)m->n, v->self->steps ? "" : " or vnngp+");
    return thin(v, (int64_t)((double)rows / (double)m->n * (double)v->data.n), e);
}

/* A white kernel does not help: it is part of f. */
static anygp_status check_noise(const problem *p, const hyper *h, anygp_error *e)
{
    if (!likelihood_is_gaussian(p->likelihood) || h->like[0] > 0) return ANYGP_OK;
    return fail_with(
        e, ANYGP_ERR_ARGUMENT,
        "noise 0 is fixed, but vnngp's bound is that of a likelihood with noise; give a positive --noise, or "
        "use --model vecchia, which needs none");
}

static anygp_status vnngp_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    TRY(check_noise(p, h, e));
    vnngp *v = calloc(1, sizeof *v);
    if (!v) return fail_memory(e, "the model", sizeof *v);
    v->problem = p, v->self = self, v->like = *p->likelihood, v->C = p->likelihood->latents;
    v->k = p->near.learn > 0 ? p->near.learn : VECCHIA_NEAR;
    TRY_DONE(take_data(v, h->kernel, e));
    v->plain = v->data, v->N = v->plain.n;
    v->plain.Q = 1, v->plain.schema.classes = 0;
    TRY_DONE(dataset_merge(&v->plain, !kernel_has_white(h->kernel), &v->rows, e));
    v->n = v->rows.n;
    TRY_DONE(vnngp_allocate(v, h, e));
    TRY_DONE(vnngp_arrange(v, h->kernel, e));
done:
    if (ANYGP_FAILED(status))
        vnngp_close(v);
    else
        *state = v;
    return status;
}

static anygp_status vnngp_renew(void *state, const hyper *h, double moved, bool *renewed, anygp_error *e)
{
    vnngp *v = state;
    int64_t count = vecchia_mark_count(h->kernel);
    double *now = mem_alloc(count, sizeof *now);
    if (!now) return fail_memory(e, "the length-scales", 8.0 * (double)count);
    vecchia_marks(h->kernel, now);
    *renewed = vecchia_moved_apart(count, v->marks, now, moved);
    free(now);
    return *renewed ? vnngp_arrange(v, h->kernel, e) : ANYGP_OK;
}

/* A mean-field q pays for every correlation of the prior, sum log(P_jj d_j) / 2: the bound is largest where rows know nothing of each other,
   or where the prior says next to nothing.  So the kernel stays where the start has put it, and Gaussian noise with it; parameters of other
   likelihoods are learned by the bound.  A list of --fix says
   itself what stays: with none everything is learned. */
static anygp_status vnngp_define(const model_ops *self, const problem *p, hyper *h, anygp_error *e)
{
    int64_t P = hyper_kernel_params(h), kept = likelihood_is_gaussian(p->likelihood) ? h->count : P;
    (void)self, (void)e;
    if (p->fix && *p->fix) return ANYGP_OK;
    for (int64_t i = 0; i < kept; i++) hyper_facts(h, i)->free = false;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- evaluations */

void vnngp_look_at(vnngp *v, const hyper *h, double jitter)
{
    double variance;
    kernel_diag(h->kernel, 1, v->X, v->rows.D, &variance);
    v->h = h, v->jitter = jitter, v->added = jitter * variance;
    memcpy(v->like.value, h->like, (size_t)v->like.params * sizeof *h->like);
}

/* Every rank has found some of these rows: together, in room[count, k + 1]. */
static anygp_status share_conditionals(vnngp *v, int64_t count, const int64_t *which, double *room, anygp_error *e)
{
    const comm *c = v->problem->comm;
    int64_t k = v->k, each = k + 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = which ? which[i] : i;
        memcpy(room + i * each, v->b + at * k, (size_t)k * sizeof *room);
        room[i * each + k] = v->d[at];
    }
    TRY(c->sum(c->ctx, count * each, room, e));
    for (int64_t i = 0; i < count; i++) {
        int64_t at = which ? which[i] : i;
        memcpy(v->b + at * k, room + i * each, (size_t)k * sizeof *room);
        v->d[at] = room[i * each + k];
    }
    return ANYGP_OK;
}

anygp_status vnngp_condition(vnngp *v, int64_t count, const int64_t *which, anygp_error *e)
{
    double unused;
    if (!which) count = v->n;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = which ? which[i] : i;
        memset(v->b + at * v->k, 0, (size_t)v->k * sizeof *v->b);
        v->d[at] = 0;
    }
    TRY(driver_stat(v->conditionals, v, which ? count : 0, which, 1, &unused, e));
    if (v->problem->comm->size == 1) return ANYGP_OK;
    double *room = mem_doubles(count, v->k + 1);
    anygp_status status = room ? share_conditionals(v, count, which, room, e)
                               : fail_memory(e, "the conditionals", 8.0 * (double)count * (double)(v->k + 1));
    free(room);
    return status;
}

anygp_status vnngp_gradient(vnngp *v, int64_t count, const int64_t *which, double scale, double *gp, anygp_error *e)
{
    int64_t P = hyper_kernel_params(v->h);
    TRY(driver_stat(v->slopes, v, count, which, scale, v->sums, e));
    memset(gp, 0, (size_t)hyper_size(v->h) * sizeof *gp);
    memcpy(gp, v->sums, (size_t)P * sizeof *gp);
    double share = v->jitter * v->sums[P];
    kernel_diag_reverse(v->h->kernel, 1, v->X, v->rows.D, &share, gp, NULL, 0);
    memcpy(gp + P, v->like_bar, (size_t)v->like.params * sizeof *gp);
    return ANYGP_OK;
}

static anygp_status bound(vnngp *v, const hyper *h, double jitter, double *value, double *gp, anygp_error *e)
{
    vnngp_look_at(v, h, jitter);
    TRY(vnngp_condition(v, 0, NULL, e));
    v->seen = v->n;
    anygp_status status = vnngp_find_q(v, false, e);
    *value = v->value;
    if (status != ANYGP_OK) return status;
    return gp ? vnngp_gradient(v, 0, NULL, 1, gp, e) : ANYGP_OK;
}

static bool vnngp_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    vnngp *v = state;
    anygp_error why = {0};
    anygp_status status = bound(v, h, *jitter, value, gp, &why);
    while (status == ANYGP_ERR_NUMERIC && grow && *jitter < JITTER_MOST) {
        *jitter = jitter_next(*jitter);
        status = bound(v, h, *jitter, value, gp, &why);
    }
    v->failure = model_failure(status, &why);
    return status == ANYGP_OK;
}

static const anygp_error *vnngp_failure(const void *state) { return &((const vnngp *)state)->failure; }
static double vnngp_total(const void *state) { return ((const vnngp *)state)->data.total; }
static const char *vnngp_remark(const void *state)
{
    const vnngp *v = state;
    return *v->remark ? v->remark : NULL;
}
static int64_t vnngp_size(const problem *p) { return p->near.learn > 0 ? p->near.learn : VECCHIA_NEAR; }

static anygp_status vnngp_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    vnngp *v = state;
    double value;
    v->to_end = true;
    if (!vnngp_evaluate(state, h, true, jitter, &value, NULL))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of neighbouring rows has no Cholesky factor");
    return vnngp_posterior_new(state, out, e);
}

/* ------------------------------------------------------------------------------------------- table */

static model_cost vnngp_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    static const double SHARE = 0.1, STEPS = 200; /* of R: small matrices; of conjugate gradients */
    double k = VECCHIA_NEAR, D = (double)f->inputs, C = (double)f->latents, run = self->steps ? 3 + C : 0;
    (void)s;
    return (model_cost){.rows = cost_of_work(f, SHARE, f->rows * k * (2 * k * k + 4 * STEPS * C), 2 * f->rows * k * k),
                        .bytes = f->rows * (8 * (3 * D + 11 * C + 9 + run) + 20 * k) + 8 * f->threads * 4 * k * k,
                        .state = f->rows * 20 * k, /* lists, and weights of near rows */
                        .last = 8 * f->rows * (2 * D + 2 * C + 4)};
}

#define VNNGP                                                                                                          \
    .name = "vnngp", .summary = "variational, rows given neighbours", .objective = "lower bound", .order = "n k^3",    \
    .jitter = 1e-6, .cost = vnngp_cost, .size = vnngp_size, .define = vnngp_define, .open = vnngp_open,                \
    .evaluate = vnngp_evaluate, .failure = vnngp_failure, .posterior = vnngp_to_posterior, .rows = vnngp_total,        \
    .remark = vnngp_remark, .close = vnngp_close, .load = vnngp_load, .update = &vnngp_updates
#define VNNGP_NEEDS                                                                                                    \
    .rows = ROWS_ALL, .local = true, .likelihoods = LIKELIHOOD_ANY, .weights = true, .near = true, .ordered = true,    \
    .kept = true, .joint = true

static const model_ops stepped = {VNNGP, .needs = {VNNGP_NEEDS, .own_rate = true}, .steps = &vnngp_steps};
const model_ops model_vnngp = {VNNGP, .needs = {VNNGP_NEEDS}, .renew = vnngp_renew, .stepped = &stepped};
