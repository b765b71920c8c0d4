/* New rows for a posterior of Vecchia's approximation.  They come after all rows there are, each conditioned on the nearest of those before
   it, so the conditionals of the old rows stay, and the sums for v, the inducing variables and the mean's coefficients, go on:
       I + S = B B',   b = (I + S) m
   Rows come one by one: the result is the same in one update or in many.  A row with the inputs of an earlier one is conditioned on that,
   which is at distance 0, and then merged with it (data/table/dataset.h); so a row has versions, and the rows after it are conditioned on its
   last one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "data/neighbours/groups.h"
#include "linalg/linalg.h"
#include "model/local/vecchia_update.h"
#include "model/sparse/sparse.h"

void vecchia_update_close(void *state)
{
    vecchia_update *u = state;
    if (!u) return;
    free(u->X);
    free(u->y);
    free(u->w);
    free(u);
}

/* Room for n new rows. */
static anygp_status reserve(vecchia_update *u, int64_t n, anygp_error *e)
{
    int64_t D = u->from->base.D, old = u->from->base.n;
    if (n <= u->room) return ANYGP_OK;
    int64_t room = n < 2 * u->room ? 2 * u->room : n;
    if (!mem_grow(&u->X, old + room, D) || !mem_grow(&u->y, old + room, 1) || !mem_grow(&u->w, old + room, 1))
        return fail_memory(e, "the new rows", 8.0 * (double)(old + room) * (double)(D + 2));
    u->room = room;
    return ANYGP_OK;
}

anygp_status vecchia_update_open(const model_ops *self, const posterior *p, const likelihood *l, void **state,
                                 anygp_error *e)
{
    const vecchia_posterior *from = (const vecchia_posterior *)p;
    vecchia_update *u = calloc(1, sizeof *u);
    (void)l;
    if (!u) return fail_memory(e, "the update", sizeof *u);
    u->self = self, u->from = from;
    anygp_status status = reserve(u, 1, e);
    if (!ANYGP_FAILED(status)) {
        memcpy(u->X, from->X, (size_t)(p->n * p->D) * sizeof(double));
        memcpy(u->y, from->y, (size_t)p->n * sizeof(double));
        memcpy(u->w, from->w, (size_t)p->n * sizeof(double));
        *state = u;
    } else {
        vecchia_update_close(u);
    }
    return status;
}

anygp_status vecchia_update_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                                const int64_t *ids, anygp_error *e)
{
    vecchia_update *u = state;
    int64_t D = u->from->base.D, at = u->from->base.n + u->n;
    (void)ids;
    TRY(reserve(u, u->n + n, e));
    if (n == 0) return ANYGP_OK;
    memcpy(u->X + at * D, X, (size_t)(n * D) * sizeof *X);
    memcpy(u->y + at, y, (size_t)n * sizeof *y);
    memcpy(u->w + at, w, (size_t)n * sizeof *w);
    u->n += n;
    return ANYGP_OK;
}

double vecchia_update_held(const void *state)
{
    const vecchia_update *u = state;
    return 16.0 * (double)u->n * (double)(u->from->base.D + 2);
}

/* --------------------------------------------------------------------------- what each is given */

/* Rows and their versions: the old ones, the new ones as they came, and merged ones. */
typedef struct versions {
    int64_t n;
    double *X, *y, *w;
    int32_t *last; /* for each distinct row: its last one */
    row_groups groups;
} versions;

static void versions_clear(versions *v)
{
    row_groups_clear(&v->groups);
    free(v->X);
    free(v->y);
    free(v->w);
    free(v->last);
}

/* Those of the rows as they came. */
static anygp_status versions_open(const vecchia_update *u, const merged *m, int64_t k, versions *v, anygp_error *e)
{
    int64_t n = u->from->base.n + u->n, D = m->D;
    row_groups *g = &v->groups;
    v->n = n;
    v->X = mem_doubles(n + u->n, D), v->y = mem_alloc(n + u->n, sizeof *v->y), v->w = mem_alloc(n + u->n, sizeof *v->w);
    v->last = mem_alloc(m->n, sizeof *v->last);
    g->start = mem_alloc(u->n + 1, sizeof *g->start);
    g->row = mem_alloc(u->n, (size_t)(k + 1) * sizeof *g->row), g->own = mem_zeroed(u->n, (size_t)(k + 1));
    if (!v->X || !v->y || !v->w || !v->last || !g->start || !g->row || !g->own)
        return fail_memory(e, "the new rows", 8.0 * (double)(n + u->n) * (double)(D + 2));
    memcpy(v->X, u->X, (size_t)(n * D) * sizeof(double));
    memcpy(v->y, u->y, (size_t)n * sizeof(double));
    memcpy(v->w, u->w, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < u->from->base.n; i++) v->last[i] = (int32_t)i;
    return ANYGP_OK;
}

/* Row `own` joins the distinct row of this number, which has come before. */
static void merge_version(versions *v, int64_t D, int64_t own, int64_t distinct)
{
    int64_t last = v->last[distinct], at = v->n++;
    memcpy(v->X + at * D, v->X + own * D, (size_t)D * sizeof(double));
    v->w[at] = v->w[last] + v->w[own];
    v->y[at] = v->y[last] + v->w[own] / v->w[at] * (v->y[own] - v->y[last]);
    v->last[distinct] = (int32_t)at;
}

/* One group per new row: the last versions of those in its list, and itself. */
static void condition_rows(const vecchia_update *u, const merged *m, int64_t k, const int32_t *near,
                           const int32_t *count, versions *v)
{
    row_groups *g = &v->groups;
    int64_t old = u->from->base.n, distinct = old, at = 0;
    for (int64_t i = 0; i < u->n; i++) {
        int64_t own = old + i, group = m->group[own];
        g->start[g->count++] = at;
        for (int64_t j = 0; j < count[i]; j++) g->row[at++] = v->last[near[i * k + j]];
        g->own[at] = true, g->row[at++] = (int32_t)own;
        if (count[i] + 1 > g->largest) g->largest = count[i] + 1;
        if (group == distinct)
            v->last[distinct++] = (int32_t)own;
        else
            merge_version(v, m->D, own, group);
    }
    g->start[g->count] = at;
}

/* The nearest distinct rows that came before each new one. */
static anygp_status find_near(const vecchia_update *u, const merged *m, int64_t k, int32_t *near, int32_t *count,
                              anygp_error *e)
{
    int64_t old = u->from->base.n, d, distinct = old, *before = mem_alloc(u->n, sizeof *before);
    double *all = vecchia_places(u->from->base.kernel, m->n, m->D, m->X, &d), *x = all ? mem_doubles(u->n, d) : NULL;
    near_metric by = vecchia_metric(u->from->base.kernel, m->n);
    near_search s = {0};
    anygp_status status = before && all && x ? ANYGP_OK : fail_memory(e, "the places of the rows", 8.0 * (double)m->n);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < u->n; i++) {
        int64_t group = m->group[old + i];
        memcpy(x + i * d, all + group * d, (size_t)d * sizeof *x);
        before[i] = distinct, distinct += group == distinct;
    }
    if (!ANYGP_FAILED(status)) status = near_search_open(m->n, d, all, &by, &s, e);
    if (!ANYGP_FAILED(status)) status = near_search_find(&s, u->n, x, before, k, near, count, e);
    near_search_clear(&s);
    free(before);
    free(all);
    free(x);
    return status;
}

static anygp_status condition_new_rows(const vecchia_update *u, const merged *m, int64_t k, versions *v, anygp_error *e)
{
    int32_t *near = mem_alloc(u->n, (size_t)k * sizeof *near), *count = mem_alloc(u->n, sizeof *count);
    anygp_status status = near && count ? ANYGP_OK : fail_memory(e, "the nearest rows", 4.0 * (double)(u->n * k));
    if (!ANYGP_FAILED(status)) status = find_near(u, m, k, near, count, e);
    if (!ANYGP_FAILED(status)) status = versions_open(u, m, k, v, e);
    if (!ANYGP_FAILED(status)) condition_rows(u, m, k, near, count, v);
    free(near);
    free(count);
    return status;
}

/* ----------------------------------------------------------------------------------------- sums */

/* Statistics of the new rows, added to those that S and b of v have. */
static anygp_status sums_of(const vecchia_update *u, sparse *s, const versions *v, double *stat, anygp_error *e)
{
    row_blocks *blocks = NULL;
    driver *d = NULL;
    int64_t D = u->from->base.D;
    anygp_status status = blocks_of_groups(&v->groups, v->n, D, v->X, v->y, v->w, &blocks, e);
    if (!ANYGP_FAILED(status)) status = driver_open(&sparse_given, blocks, comm_self(), 0, &d, e);
    if (!ANYGP_FAILED(status)) status = driver_stat_more(d, s, 0, NULL, 1, stat, e);
    driver_close(d);
    blocks_free(blocks);
    return status;
}

/* Of v: S = B B' - I and b; l and q begin at 0. */
static void old_sums(const vecchia_posterior *p, sparse *s, double *stat)
{
    int64_t q = s->Mt;
    memset(stat, 0, (size_t)sparse_given.stat_size(s) * sizeof *stat);
    if (q == 0) return;
    la_syrk(LA_N, q, q, 1, p->B, q, 0, stat_S(s, stat), q);
    for (int64_t i = 0; i < q; i++) stat_S(s, stat)[i + i * q] -= 1;
    la_gemv(LA_T, q, q, 1, p->B, q, p->m, 0, s->diag);
    la_gemv(LA_N, q, q, 1, p->B, q, s->diag, 0, stat_b(s, stat));
}

static anygp_status head(sparse *s, double *stat, double *value, anygp_error *e)
{
    *value = -0.5 * (s->total * LOG_2PI + *stat_l(s, stat) + *stat_q(s, stat));
    if ((s->Mt == 0 || sparse_evidence(s, stat, false, value)) && isfinite(*value)) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_NUMERIC, "the log evidence of old and new rows is not a number; fit them together");
}

/* s, whose B and m are those of all rows then; *added: to the log evidence. */
static anygp_status add_up(const vecchia_update *u, sparse *s, const versions *v, double *added, anygp_error *e)
{
    double before = 0, after = 0, *stat = mem_alloc(sparse_given.stat_size(s), sizeof *stat);
    if (!stat) return fail_memory(e, "the sums", 8.0 * (double)s->Mt * (double)s->Mt);
    old_sums(u->from, s, stat);
    anygp_status status = head(s, stat, &before, e);
    for (int64_t i = 0; i < u->n; i++) s->total += u->w[u->from->base.n + i];
    if (!ANYGP_FAILED(status)) status = sums_of(u, s, v, stat, e);
    if (!ANYGP_FAILED(status)) status = head(s, stat, &after, e);
    free(stat);
    *added = after - before;
    return status;
}

/* Old rows are distinct, and so the first ones of all: what follows takes their numbers from that. */
static anygp_status check_old_rows(int64_t old, const merged *m, anygp_error *e)
{
    for (int64_t i = 0; i < old; i++)
        if (m->group[i] != i)
            return fail_with(e, ANYGP_ERR_FILE,
                             "row %lld of the model has the inputs of an earlier one; the model file is damaged",
                             (long long)i + 1);
    return ANYGP_OK;
}

anygp_status vecchia_update_merge(const vecchia_update *u, dataset *data, merged *out, anygp_error *e)
{
    const posterior *b = &u->from->base;
    *data = (dataset){.n = b->n + u->n, .D = b->D, .X = u->X, .y = u->y, .w = u->w};
    TRY(dataset_merge(data, !kernel_has_white(b->kernel), out, e));
    TRY(check_old_rows(b->n, out, e));
    if (out->plain || vecchia_noise(u->from) > 0) return ANYGP_OK;
    return fail_with(
        e, ANYGP_ERR_DATA,
        "the model has no noise, and without noise rows with equal inputs or with weights have no density");
}

vecchia_rows vecchia_update_rows(const vecchia_update *u, const merged *m)
{
    const vecchia_posterior *p = u->from;
    return (vecchia_rows){.n = m->n,
                          .D = m->D,
                          .X = m->X,
                          .y = m->y,
                          .w = m->c,
                          .near = (int64_t)p->facts[FACT_PREDICT],
                          .learned = vecchia_learned_near(p),
                          .jitter = p->facts[FACT_JITTER],
                          .u = p->u.M ? &p->u : NULL};
}

/* L of the posterior. */
static anygp_status take_factor(const vecchia_posterior *p, const hyper *h, sparse *s, anygp_error *e)
{
    double none = 0;
    if (p->u.M == 0)
        return inducing_prepare(&s->u, h->kernel, hyper_set_of(h), false, &none) ? ANYGP_OK : inducing_no_factor(e);
    inducing_set_factor(&s->u, h->kernel, hyper_set_of(h), p->u.L);
    return ANYGP_OK;
}

static anygp_status update_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    vecchia_update *u = state;
    const vecchia_posterior *p = u->from;
    const posterior *b = &p->base;
    dataset data;
    double noise = b->noise, added = 0;
    hyper h = {.kernel = b->kernel, .like = &noise, .likes = 1, .D = b->D, .kind = &inducing_points};
    if (p->u.M) h.kind = p->u.ops, h.M = p->u.set.M, h.Z = (double *)p->u.set.Z, h.C = (double *)p->u.set.C;
    merged m = {0};
    versions v = {0};
    sparse s = {0};
    anygp_status status;
    TRY_DONE(vecchia_update_merge(u, &data, &m, e));
    TRY_DONE(condition_new_rows(u, &m, vecchia_learned_near(p), &v, e));
    TRY_DONE(sparse_init(&s, KEPT_BLOCK, &b->mean, &h, 0, e));
    s.h = &h, s.noise = vecchia_noise(p);
    TRY_DONE(take_factor(p, &h, &s, e));
    TRY_DONE(add_up(u, &s, &v, &added, e));
    vecchia_rows rows = vecchia_update_rows(u, &m);
    TRY_DONE(vecchia_posterior_new(&vecchia_form, b->kernel, b->noise, &b->mean, &rows, s.m, s.B, out, e));
    *r = (update_report){.rows = s.total, .before = NAN, .after = added, .upper = NAN};
done:
    sparse_clear(&s);
    versions_clear(&v);
    merged_clear(&m);
    return status;
}

const update_ops vecchia_update_ops = {.open = vecchia_update_open,
                                       .add = vecchia_update_add,
                                       .held = vecchia_update_held,
                                       .finish = update_finish,
                                       .close = vecchia_update_close};
