/* Joint predictions of tree, from messages that go again (tree.h). */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/local/tree_posterior.h"

/* ---------------------------------------------------------------------------------- the tree again */

/* Parents before their children. */
static void order_groups(tree_groups *t, bool *placed)
{
    memset(placed, 0, (size_t)t->count * sizeof *placed);
    for (int64_t at = 0; at < t->count;)
        for (int64_t k = 0; k < t->count; k++)
            if (!placed[k] && (t->at[k].parent < 0 || placed[t->at[k].parent])) placed[k] = true, t->order[at++] = k;
}

static anygp_status make_room(const tree_posterior *p, tree_groups *t, anygp_error *e)
{
    *t = (tree_groups){.M = p->M, .parts = router_blocks(p->route)};
    t->at = mem_zeroed(p->count, sizeof *t->at), t->order = mem_alloc(p->count, sizeof *t->order);
    t->of = mem_alloc(t->parts, sizeof *t->of);
    bool *placed = mem_alloc(p->count, sizeof *placed);
    bool ok = t->at && t->order && t->of && placed;
    if (ok) t->count = p->count;
    for (int64_t k = 0; k < t->count; k++) {
        t->at[k].m = (int64_t)p->size[k], t->at[k].parent = (int64_t)p->sums.parent[k];
        if (t->at[k].m > t->most) t->most = t->at[k].m;
    }
    for (int64_t b = 0; ok && b < t->parts; b++) t->of[b] = (int64_t)p->of[b];
    if (ok) order_groups(t, placed);
    free(placed);
    return ok ? ANYGP_OK : fail_memory(e, "the groups of inducing inputs", 8.0 * (double)p->M);
}

/* L of the group, and what its rows said. */
static void take_group(const tree_posterior *p, int64_t k, tree_group *g, const double *S, const double *b,
                       double *stat)
{
    const sparse_posterior *from = (const sparse_posterior *)p->group[k];
    int64_t m = g->m;
    double *own = stat + g->stat;
    g->s.noise = p->base.noise + kernel_white(p->base.kernel);
    memcpy(g->h.Z, from->u.set.Z, (size_t)(m * p->base.D) * sizeof *own);
    inducing_set_factor(&g->s.u, p->base.kernel, from->u.set, from->u.L);
    memcpy(stat_S(&g->s, own), S, (size_t)(m * m) * sizeof *own);
    memcpy(stat_b(&g->s, own), b, (size_t)m * sizeof *own);
    *stat_l(&g->s, own) = k ? 0 : p->sums.all[SUM_L], *stat_q(&g->s, own) = k ? 0 : p->sums.all[SUM_Q];
}

anygp_status tree_restore(const tree_posterior *p, hyper *h, tree_groups *t, double **stat, anygp_error *e)
{
    const double *S = p->sums.S, *b = p->sums.b;
    *stat = NULL, *t = (tree_groups){0};
    if (!p->sums.parent)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "the model file was written before tree had joint predictions and took new rows; fit again");
    *h = (hyper){.kernel = p->base.kernel,
                 .like = (double *)&p->base.noise,
                 .likes = 1,
                 .D = p->base.D,
                 .kind = ((const sparse_posterior *)p->group[0])->u.ops};
    TRY(make_room(p, t, e));
    for (int64_t k = 0; k < t->count; k++) {
        h->M = t->at[k].m;
        TRY(tree_group_open(t, &t->at[k], &p->base.mean, h, e));
    }
    TRY(tree_room(t, e));
    if (!(*stat = mem_zeroed(t->stat, sizeof **stat))) return fail_memory(e, "the sums", 8.0 * (double)t->stat);
    for (int64_t k = 0; k < t->count; k++) {
        tree_group *g = &t->at[k];
        take_group(p, k, g, S, b, *stat);
        S += g->m * g->m, b += g->m;
    }
    return tree_join(t) ? ANYGP_OK : inducing_no_factor(e);
}

/* ------------------------------------------------------------------------------------------- joint */

/* Rows of one group after the other. */
typedef struct rows_by_group {
    int64_t n, *part, *row, *start; /* n, n: places in X, count + 1 */
    double **A;                     /* count: m x its rows */
    double *W;                      /* M x the most rows of a group: cov(v, v_k) a of all groups */
    double *r[2];                   /* room for r */
} rows_by_group;

static void rows_clear(rows_by_group *r, int64_t count)
{
    for (int64_t k = 0; r->A && k < count; k++) free(r->A[k]);
    void *const owned[] = {r->part, r->row, r->start, r->A, r->W, r->r[0], r->r[1]};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static int64_t rows_of(const rows_by_group *r, int64_t k) { return r->start[k + 1] - r->start[k]; }

static anygp_status sort_rows(const tree_posterior *p, const tree_groups *t, const double *X, int64_t ldx,
                              rows_by_group *r, anygp_error *e)
{
    int64_t G = t->count, n = r->n;
    r->part = mem_alloc(n, sizeof *r->part), r->row = mem_alloc(n, sizeof *r->row);
    r->start = mem_zeroed(G + 2, sizeof *r->start), r->A = mem_zeroed(G, sizeof *r->A);
    if (!r->part || !r->row || !r->start || !r->A) return fail_memory(e, "the rows", 8.0 * (double)(2 * n + G));
    TRY(router_route(p->route, n, X, ldx, r->part, e));
    for (int64_t i = 0; i < n; i++) r->start[t->of[r->part[i]] + 2]++; /* counts, then first places: */
    for (int64_t k = 0; k < G; k++) r->start[k + 2] += r->start[k + 1];
    for (int64_t i = 0; i < n; i++) r->row[r->start[t->of[r->part[i]] + 1]++] = i;
    return ANYGP_OK;
}

/* a of all rows, and their means. */
static anygp_status features(const tree_posterior *p, const tree_groups *t, const double *X, int64_t ldx,
                             rows_by_group *r, double *mean, anygp_error *e)
{
    int64_t D = p->base.D, largest = 0;
    for (int64_t k = 0; k < t->count; k++) {
        const sparse_posterior *g = (const sparse_posterior *)p->group[k];
        int64_t n = rows_of(r, k), m = t->at[k].m;
        double *own = mem_doubles(n, D);
        r->A[k] = mem_doubles(n, m);
        bool ok = own && r->A[k];
        for (int64_t i = 0; ok && i < n; i++)
            memcpy(own + i * D, X + r->row[r->start[k] + i] * ldx, (size_t)D * sizeof *own);
        ok = ok && (n == 0 || g->u.ops->features(&g->u, n, own, D, r->A[k], m));
        free(own);
        if (!ok) return fail_memory(e, "the rows' features", 8.0 * (double)n * (double)(m + D));
        for (int64_t i = 0; i < n; i++) mean[r->row[r->start[k] + i]] = la_dot(m, r->A[k] + i * m, g->m);
        if (n > largest) largest = n;
    }
    r->W = mem_doubles(largest, t->M);
    for (int i = 0; i < 2; i++) r->r[i] = mem_doubles(largest, t->most);
    return r->W && r->r[0] && r->r[1] ? ANYGP_OK : fail_memory(e, "the covariance", 8.0 * (double)(largest * t->M));
}

/* W of all groups for the rows of group k; at[count]: where each begins.  done: room for flags. */
static void spread(const tree_groups *t, int64_t k, rows_by_group *r, const int64_t *at, bool *done)
{
    int64_t n = rows_of(r, k), now = 0;
    memset(done, 0, (size_t)t->count * sizeof *done);
    memcpy(r->r[0], r->A[k], (size_t)(t->at[k].m * n) * sizeof *r->W);
    for (int64_t g = k; g >= 0; now = !now) {
        const tree_group *a = &t->at[g];
        la_gemm(LA_N, LA_N, a->m, n, a->m, 1, a->V, a->m, r->r[now], a->m, 0, r->W + at[g] * n, a->m);
        done[g] = true;
        if (a->parent >= 0) {
            int64_t up = t->at[a->parent].m;
            la_gemm(LA_T, LA_N, up, n, a->m, 1, a->H, a->m, r->r[now], a->m, 0, r->r[!now], up);
        }
        g = a->parent;
    }
    for (int64_t i = 0; i < t->count; i++) {
        const tree_group *a = &t->at[t->order[i]];
        int64_t up = a->parent;
        if (done[t->order[i]]) continue;
        la_gemm(LA_N, LA_N, a->m, n, t->at[up].m, 1, a->H, a->m, r->W + at[up] * n, t->at[up].m, 0,
                r->W + at[t->order[i]] * n, a->m);
    }
}

/* cov(f_i, f_j) for j of group k, from W, and all i at j or after it. */
static void fill_columns(const tree_groups *t, int64_t k, const rows_by_group *r, const int64_t *at, double *cov,
                         int64_t ldc)
{
    int64_t n = rows_of(r, k);
    for (int64_t g = 0; g < t->count; g++)
        for (int64_t a = 0, m = t->at[g].m; a < rows_of(r, g); a++)
            for (int64_t b = 0; b < n; b++) {
                int64_t i = r->row[r->start[g] + a], j = r->row[r->start[k] + b];
                if (i >= j) cov[i + j * ldc] = la_dot(m, r->A[g] + a * m, r->W + at[g] * n + b * m);
            }
}

/* What rows of one part share besides: k - a'a'. */
static anygp_status add_own(const tree_posterior *p, const tree_groups *t, const double *X, int64_t ldx,
                            const rows_by_group *r, double *cov, int64_t ldc, anygp_error *e)
{
    for (int64_t k = 0; k < t->count; k++)
        for (int64_t a = 0, m = t->at[k].m; a < rows_of(r, k); a++)
            for (int64_t b = 0; b < rows_of(r, k); b++) {
                int64_t i = r->row[r->start[k] + a], j = r->row[r->start[k] + b];
                double prior;
                if (i < j || r->part[i] != r->part[j]) continue;
                if (!kernel_gram(p->base.kernel, 1, X + i * ldx, ldx, 1, X + j * ldx, ldx, &prior, 1))
                    return fail_memory(e, "kernel tiles", 0);
                cov[i + j * ldc] += prior - la_dot(m, r->A[k] + a * m, r->A[k] + b * m);
            }
    return ANYGP_OK;
}

static anygp_status all_columns(const tree_groups *t, rows_by_group *r, double *cov, int64_t ldc, anygp_error *e)
{
    int64_t *at = mem_alloc(t->count, sizeof *at), first = 0;
    bool *done = mem_alloc(t->count, sizeof *done);
    for (int64_t k = 0; at && k < t->count; k++) at[k] = first, first += t->at[k].m;
    for (int64_t k = 0; at && done && k < t->count; k++) {
        if (rows_of(r, k) == 0) continue;
        spread(t, k, r, at, done);
        fill_columns(t, k, r, at, cov, ldc);
    }
    anygp_status status = at && done ? ANYGP_OK : fail_memory(e, "the covariance", 9.0 * (double)t->count);
    free(at);
    free(done);
    return status;
}

anygp_status tree_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                        double *covariance, int64_t ldc, anygp_error *e)
{
    const tree_posterior *p = (const tree_posterior *)base;
    rows_by_group r = {.n = n};
    tree_groups t;
    hyper h;
    double *stat = NULL, value;
    anygp_status status = tree_restore(p, &h, &t, &stat, e);
    (void)work;
    if (!ANYGP_FAILED(status) && !tree_messages(&t, stat, false, &value))
        status = fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of the inducing variables is not a number");
    if (!ANYGP_FAILED(status)) status = sort_rows(p, &t, X, ldx, &r, e);
    if (!ANYGP_FAILED(status)) status = features(p, &t, X, ldx, &r, mean, e);
    if (!ANYGP_FAILED(status)) status = all_columns(&t, &r, covariance, ldc, e);
    if (!ANYGP_FAILED(status)) status = add_own(p, &t, X, ldx, &r, covariance, ldc, e);
    rows_clear(&r, p->count);
    tree_clear(&t);
    free(stat);
    return status;
}
