/* Groups of inducing variables, and the tree that joins them (tree.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/rows/rows.h"
#include "model/local/tree.h"

static void group_clear(tree_group *g)
{
    double *const owned[] = {g->h.Z, g->C, g->Cbar, g->R, g->P, g->Y, g->H, g->S, g->b, g->V, g->mean, g->a};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(g->member);
    sparse_clear(&g->s);
}

void tree_clear(tree_groups *t)
{
    for (int64_t k = 0; t->at && k < t->count; k++) group_clear(&t->at[k]);
    void *const owned[] = {t->at, t->order, t->of, t->work[0], t->work[1]};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    *t = (tree_groups){0};
}

static double distance(int64_t D, const double *x, const double *z)
{
    double sum = 0;
    for (int64_t j = 0; j < D; j++) sum += (x[j] - z[j]) * (x[j] - z[j]);
    return sum;
}

/* --------------------------------------------------------------------------------------------- groups */

/* One group for each part that has inducing inputs, and these; part[M]: where the route finds each. */
static bool make_groups(tree_groups *t, const int64_t *part)
{
    for (int64_t b = 0; b < t->parts; b++) t->of[b] = -1;
    for (int64_t i = 0; i < t->M; i++)
        if (t->of[part[i]] < 0) t->of[part[i]] = t->count++;
    if (!(t->at = mem_zeroed(t->count, sizeof *t->at))) return false;
    for (int64_t i = 0; i < t->M; i++) t->at[t->of[part[i]]].m++;
    for (int64_t k = 0; k < t->count; k++) {
        tree_group *g = &t->at[k];
        if (!(g->member = mem_alloc(g->m, sizeof *g->member))) return false;
        if (g->m > t->most) t->most = g->m;
        g->m = 0;
    }
    for (int64_t i = 0; i < t->M; i++) {
        tree_group *g = &t->at[t->of[part[i]]];
        g->member[g->m++] = i;
    }
    return true;
}

/* Parts without inducing inputs go to the group of the nearest part that has some. */
static void share_out_rest(tree_groups *t, int64_t D, const double *means)
{
    int64_t *rest = t->order; /* room that is not used yet */
    int64_t count = 0;
    for (int64_t b = 0; b < t->parts; b++)
        if (t->of[b] < 0) rest[count++] = b;
    for (int64_t i = 0; i < count; i++) {
        double least = INFINITY;
        int64_t to = 0;
        for (int64_t b = 0, next = 0; b < t->parts; b++) {
            if (next < count && rest[next] == b) {
                next++;
                continue;
            }
            double d = distance(D, means + rest[i] * D, means + b * D);
            if (d < least) least = d, to = t->of[b];
        }
        t->of[rest[i]] = to;
    }
}

static anygp_status find_groups(tree_groups *t, const problem *p, const hyper *h, anygp_error *e)
{
    int64_t *part = mem_alloc(t->M, sizeof *part);
    double *means = mem_doubles(t->parts, h->D);
    anygp_status status = part && means ? router_route(p->route, t->M, h->Z, h->D, part, e)
                                        : fail_memory(e, "the parts", 8.0 * (double)(t->M + t->parts * h->D));
    if (!ANYGP_FAILED(status) && !make_groups(t, part))
        status = fail_memory(e, "the groups of inducing inputs", 8.0 * (double)t->M);
    if (!ANYGP_FAILED(status) && t->count < t->parts) {
        status = rows_block_means(p->blocks, means, e);
        if (!ANYGP_FAILED(status)) share_out_rest(t, h->D, means);
    }
    free(part);
    free(means);
    return status;
}

/* ---------------------------------------------------------------------------------------------- the tree */

static void mean_place(const tree_group *g, const hyper *h, double *mean)
{
    memset(mean, 0, (size_t)h->D * sizeof *mean);
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < h->D; j++) mean[j] += h->Z[g->member[i] * h->D + j] / (double)g->m;
}

/* Prim's: from group 0, the nearest that is not in the tree joins it at the group it is nearest to. */
static anygp_status join_groups(tree_groups *t, const hyper *h, anygp_error *e)
{
    int64_t G = t->count, D = h->D, last = 0;
    double *centre = mem_doubles(G, D), *near = mem_alloc(G, sizeof *near);
    if (!centre || !near) {
        free(centre);
        free(near);
        return fail_memory(e, "the tree", 8.0 * (double)G * (double)(D + 1));
    }
    for (int64_t k = 0; k < G; k++) {
        mean_place(&t->at[k], h, centre + k * D);
        near[k] = INFINITY, t->at[k].parent = -1;
    }
    t->order[0] = 0, near[0] = -1; /* it is in */
    for (int64_t i = 1; i < G; i++) {
        int64_t next = -1;
        for (int64_t k = 0; k < G; k++) {
            if (near[k] < 0) continue;
            double d = distance(D, centre + k * D, centre + last * D);
            if (t->at[k].parent < 0 || d < near[k]) near[k] = d, t->at[k].parent = last;
            if (next < 0 || near[k] < near[next]) next = k;
        }
        near[next] = -1, t->order[i] = last = next;
    }
    free(centre);
    free(near);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------------ room */

anygp_status tree_group_open(tree_groups *t, tree_group *g, const basis *mean, const hyper *h, anygp_error *e)
{
    int64_t m = g->m, up = g->parent < 0 ? 0 : t->at[g->parent].m;
    double **const square[] = {&g->R, &g->P, &g->Y, &g->S, &g->V}, **const wide[] = {&g->C, &g->Cbar, &g->H};
    double **const vectors[] = {&g->b, &g->mean, &g->a};
    bool ok = true;
    g->h = *h, g->h.M = m;
    ok &= (g->h.Z = mem_doubles(m, h->D)) != NULL;
    for (size_t i = 0; i < sizeof square / sizeof *square; i++) ok &= (*square[i] = mem_doubles(m, m)) != NULL;
    for (size_t i = 0; up > 0 && i < sizeof wide / sizeof *wide; i++) ok &= (*wide[i] = mem_doubles(m, up)) != NULL;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) ok &= (*vectors[i] = mem_alloc(m, 8)) != NULL;
    if (!ok) return fail_memory(e, "the groups of inducing inputs", 64.0 * (double)m * (double)m);
    TRY(sparse_init(&g->s, KEPT_BLOCK, mean, &g->h, 0, e));
    g->s.h = &g->h;
    g->stat = t->stat, g->adjoint = t->adjoint;
    t->stat += sparse_whole.stat_size(&g->s), t->adjoint += sparse_whole.adjoint_size(&g->s);
    return ANYGP_OK;
}

anygp_status tree_open(tree_groups *t, const problem *p, const hyper *h, anygp_error *e)
{
    int64_t P = p->blocks->count;
    *t = (tree_groups){.M = h->M, .parts = P};
    t->of = mem_alloc(P, sizeof *t->of), t->order = mem_alloc(P, sizeof *t->order);
    if (!t->of || !t->order) return fail_memory(e, "the parts", 16.0 * (double)P);
    TRY(find_groups(t, p, h, e));
    TRY(join_groups(t, h, e));
    for (int64_t k = 0; k < t->count; k++) TRY(tree_group_open(t, &t->at[k], p->mean, h, e));
    return tree_room(t, e);
}

anygp_status tree_room(tree_groups *t, anygp_error *e)
{
    for (int i = 0; i < 2; i++)
        if (!(t->work[i] = mem_doubles(t->most, t->most)))
            return fail_memory(e, "the messages", 8.0 * (double)t->most * (double)t->most);
    return ANYGP_OK;
}
