/* Predictions of tree, and the model file (tree.h): the groups' arrays one after the other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/local/tree_posterior.h"

static void tree_free(posterior *base)
{
    tree_posterior *p = (tree_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    if (p->group) posteriors_free(p->count, p->group);
    router_free(p->route);
    void *const owned[] = {p->group, p->of, p->size, p->Z, p->m, p->L, p->B, p->sums.parent, p->sums.S, p->sums.b};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(p);
}

/* ---------------------------------------------------------------------------------------- predictions */

static int64_t tree_work(const posterior *base, int64_t n)
{
    const tree_posterior *p = (const tree_posterior *)base;
    return n * (4 + base->D) + n * p->most;
}

static anygp_status tree_marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *room,
                                  double *mean, double *variance, anygp_error *e)
{
    const tree_posterior *p = (const tree_posterior *)base;
    int64_t *part = (int64_t *)room, *row = part + n, D = base->D;
    double *m = room + 2 * n, *v = m + n, *own = v + n, *work = own + n * D;
    TRY(router_route(p->route, n, X, ldx, part, e));
    for (int64_t k = 0; k < p->count; k++) {
        int64_t count = 0;
        for (int64_t j = 0; j < n; j++) {
            if ((int64_t)p->of[part[j]] != k) continue;
            memcpy(own + count * D, X + j * ldx, (size_t)D * sizeof *own);
            row[count++] = j;
        }
        if (count == 0) continue;
        TRY(p->group[k]->ops->marginal(p->group[k], count, own, D, work, m, variance ? v : NULL, e));
        for (int64_t j = 0; j < count; j++) {
            mean[row[j]] = m[j];
            if (variance) variance[row[j]] = v[j];
        }
    }
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------------------- file */

static void tree_arrays(posterior *base, array_list *list)
{
    tree_posterior *p = (tree_posterior *)base;
    int64_t rows, cols;
    double *route = (double *)router_values(p->route, &rows, &cols);
    array_list_add(list, (named_array){"router", rows, cols, route, false});
    array_list_add(list, (named_array){"groups", router_blocks(p->route), 1, p->of, false});
    array_list_add(list, (named_array){"sizes", p->count, 1, p->size, false});
    array_list_add(list, (named_array){"Z", base->D, p->M, p->Z, false});
    array_list_add(list, (named_array){"m", p->M, 1, p->m, false});
    array_list_add(list, (named_array){"L", p->squares, 1, p->L, false});
    array_list_add(list, (named_array){"B", p->squares, 1, p->B, false});
    if (!p->sums.parent) return;
    array_list_add(list, (named_array){"parents", p->count, 1, p->sums.parent, false});
    array_list_add(list, (named_array){"S", p->squares, 1, p->sums.S, false});
    array_list_add(list, (named_array){"b", p->M, 1, p->sums.b, false});
    array_list_add(list, (named_array){"sums", 3, 1, p->sums.all, false});
}

static const posterior_ops tree_ops = {.work_doubles = tree_work,
                                       .marginal = tree_marginal,
                                       .joint = tree_joint,
                                       .arrays = tree_arrays,
                                       .free = tree_free};

static void measure(tree_posterior *p)
{
    for (int64_t k = 0; k < p->count; k++) {
        int64_t m = p->group[k]->n, work = p->group[k]->ops->work_doubles(p->group[k], 1);
        p->size[k] = (double)m;
        p->M += m, p->squares += m * m;
        if (work > p->most) p->most = work;
    }
}

/* The groups' arrays as the file has them. */
static bool gather(tree_posterior *p)
{
    int64_t D = p->base.D, at = 0, square = 0;
    p->Z = mem_doubles(p->M, D), p->m = mem_alloc(p->M, sizeof *p->m);
    p->L = mem_alloc(p->squares, sizeof *p->L), p->B = mem_alloc(p->squares, sizeof *p->B);
    if (!p->Z || !p->m || !p->L || !p->B) return false;
    for (int64_t k = 0; k < p->count; k++) {
        const sparse_posterior *g = (const sparse_posterior *)p->group[k];
        int64_t m = g->Mt;
        memcpy(p->Z + at * D, g->u.set.Z, (size_t)(m * D) * sizeof *p->Z);
        memcpy(p->m + at, g->m, (size_t)m * sizeof *p->m);
        memcpy(p->L + square, g->u.L, (size_t)(m * m) * sizeof *p->L);
        memcpy(p->B + square, g->B, (size_t)(m * m) * sizeof *p->B);
        at += m, square += m * m;
    }
    return true;
}

/* A posterior of each group goes in, and is taken over on success. */
static anygp_status posterior_new(int64_t count, posterior **group, int64_t parts, const int64_t *of,
                                  const router *route, posterior **out, anygp_error *e)
{
    tree_posterior *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    p->base = (posterior){.ops = &tree_ops, .noise = group[0]->noise, .D = group[0]->D};
    p->count = count, p->group = mem_alloc(count, sizeof *p->group);
    p->of = mem_alloc(parts, sizeof *p->of), p->size = mem_alloc(count, sizeof *p->size);
    p->base.kernel = kernel_copy(group[0]->kernel);
    bool ok = p->group && p->of && p->size && p->base.kernel;
    anygp_status status = ok ? basis_copy(&group[0]->mean, &p->base.mean, e) : fail_memory(e, "the posterior", 0);
    if (ok) memcpy(p->group, group, (size_t)count * sizeof *group);
    for (int64_t b = 0; ok && b < parts; b++) p->of[b] = (double)of[b];
    if (ok) measure(p), p->base.n = p->M;
    if (!ANYGP_FAILED(status)) status = router_copy(route, &p->route, e);
    if (!ANYGP_FAILED(status) && !gather(p)) status = fail_memory(e, "the posterior", 16.0 * (double)p->squares);
    if (!ANYGP_FAILED(status)) return *out = &p->base, ANYGP_OK;
    free(p->group), p->group = NULL; /* the caller's */
    tree_free(&p->base);
    return status;
}

/* ------------------------------------------------------------------------------------- from messages */

static const sparse_kind of_group = {.kept = KEPT_BLOCK, .power = 1, .test = TEST_EXACT};

/* The factor of V^-1 in place of V. */
static bool precision(int64_t m, double *V)
{
    if (!la_factor(m, V, m) || la_potri(m, V, m) != 0 || !la_factor(m, V, m)) return false;
    la_zero_upper(m, V, m);
    return true;
}

static anygp_status take_sums(tree_posterior *p, const tree_groups *t, double *stat, double rows, anygp_error *e)
{
    tree_sums *s = &p->sums;
    double *S, *b;
    s->parent = mem_alloc(p->count, sizeof *s->parent);
    S = s->S = mem_alloc(p->squares, sizeof *s->S), b = s->b = mem_alloc(p->M, sizeof *s->b);
    if (!s->parent || !S || !b) return fail_memory(e, "the posterior", 8.0 * (double)p->squares);
    for (int64_t k = 0; k < p->count; k++) {
        const tree_group *g = &t->at[k];
        double *own = stat + g->stat;
        s->parent[k] = (double)g->parent;
        memcpy(S, stat_S(&g->s, own), (size_t)(g->m * g->m) * sizeof *S);
        la_zero_upper(g->m, S, g->m);
        memcpy(b, stat_b(&g->s, own), (size_t)g->m * sizeof *b);
        s->all[SUM_L] += *stat_l(&g->s, own), s->all[SUM_Q] += *stat_q(&g->s, own);
        S += g->m * g->m, b += g->m;
    }
    s->all[SUM_ROWS] = rows;
    return ANYGP_OK;
}

anygp_status tree_to_posterior(tree_groups *t, double *stat, double rows, const router *route, posterior **out,
                               anygp_error *e)
{
    static const double no_sums[3] = {0};
    anygp_status status = ANYGP_OK;
    posterior *made = NULL, **group = mem_zeroed(t->count, sizeof *group);
    if (!group) return fail_memory(e, "the posterior", 8.0 * (double)t->count);
    for (int64_t k = 0; !ANYGP_FAILED(status) && k < t->count; k++) {
        tree_group *g = &t->at[k];
        status = precision(g->m, g->V)
                     ? sparse_posterior_new(&of_group, &g->s, g->mean, g->V, no_sums, &group[k], e)
                     : fail_with(e, ANYGP_ERR_NUMERIC, "the posterior of a group of inducing inputs has no factor");
    }
    if (!ANYGP_FAILED(status)) status = posterior_new(t->count, group, t->parts, t->of, route, &made, e);
    if (ANYGP_FAILED(status)) posteriors_free(t->count, group);
    free(group);
    if (ANYGP_FAILED(status)) return status;
    status = take_sums((tree_posterior *)made, t, stat, rows, e);
    if (ANYGP_FAILED(status))
        tree_free(made);
    else
        *out = made;
    return status;
}

/* ---------------------------------------------------------------------------------------- from a file */

enum { ROUTER, GROUPS, SIZES, PLACES, MEANS, FACTORS, PRECISIONS, ARRAYS };

static bool whole_between(const named_array *a, double least, double most)
{
    for (int64_t i = 0; i < a->rows; i++) {
        double v = a->values[i];
        if (!(v >= least && v <= most && v == floor(v))) return false;
    }
    return true;
}

/* Sizes that add up to the lengths of the other arrays. */
static anygp_status check_arrays(named_array *const a[ARRAYS], int64_t D, anygp_error *e)
{
    int64_t M = a[PLACES]->cols, left = M, squares = a[FACTORS]->rows, count = a[SIZES]->rows;
    TRY(named_array_check(a[PLACES], D, M, e));
    TRY(named_array_check(a[MEANS], M, 1, e));
    TRY(named_array_check(a[FACTORS], squares, 1, e));
    TRY(named_array_check(a[PRECISIONS], squares, 1, e));
    TRY(named_array_check(a[SIZES], count, 1, e));
    TRY(named_array_check(a[GROUPS], a[GROUPS]->rows, 1, e));
    bool ok = count > 0 && whole_between(a[GROUPS], 0, (double)count - 1) && whole_between(a[SIZES], 1, (double)M);
    for (int64_t k = 0; ok && k < count; k++) {
        int64_t m = (int64_t)a[SIZES]->values[k];
        ok = m <= left && m <= squares / m;
        left -= m, squares -= m * m;
    }
    if (ok && left == 0 && squares == 0) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_FILE, "the model file's groups of inducing inputs do not fit; it is damaged");
}

typedef struct group_source {
    const kernel *kernel;
    const basis *mean;
    double noise, *Z, *m, *L, *B; /* the group's first numbers */
    int64_t D, size;
} group_source;

/* The posterior of one group, from copies. */
static anygp_status load_group(const group_source *s, posterior **out, anygp_error *e)
{
    int64_t m = s->size;
    static const double no_sums[3] = {0};
    kernel *k = kernel_copy(s->kernel);
    basis mean = {0};
    named_array list[] = {{"Z", s->D, m, mem_copied(m, s->D, s->Z), false},
                          {"L", m, m, mem_copied(m, m, s->L), true},
                          {"m", m, 1, mem_copied(m, 1, s->m), false},
                          {"B", m, m, mem_copied(m, m, s->B), true},
                          {"sums", 3, 1, mem_copied(3, 1, no_sums), false}};
    enum { COUNT = sizeof list / sizeof *list };
    bool ok = k != NULL;
    for (int i = 0; i < COUNT; i++) ok = ok && list[i].values;
    anygp_status status = ok ? basis_copy(s->mean, &mean, e) : fail_memory(e, "the posterior", 16.0 * (double)(m * m));
    if (!ANYGP_FAILED(status)) status = sparse_load(&model_pitc, k, s->noise, &mean, s->D, list, COUNT, out, e);
    if (ANYGP_FAILED(status)) kernel_free(k), basis_clear(&mean);
    for (int i = 0; i < COUNT; i++) free(list[i].values);
    return status;
}

static anygp_status load_groups(const group_source *first, int64_t count, const double *sizes, posterior **group,
                                anygp_error *e)
{
    group_source s = *first;
    for (int64_t k = 0; k < count; k++) {
        s.size = (int64_t)sizes[k];
        TRY(load_group(&s, &group[k], e));
        s.Z += s.size * s.D, s.m += s.size, s.L += s.size * s.size, s.B += s.size * s.size;
    }
    return ANYGP_OK;
}

/* Every group has a way to the one root. */
static bool is_tree(const named_array *parents)
{
    int64_t count = parents->rows, roots = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t up = k, steps = 0;
        roots += parents->values[k] < 0;
        while (up >= 0 && steps++ <= count) up = (int64_t)parents->values[up];
        if (up >= 0) return false;
    }
    return roots == 1;
}

static bool all_finite(const named_array *a)
{
    for (int64_t i = 0; i < a->rows; i++)
        if (!isfinite(a->values[i])) return false;
    return true;
}

/* The rows' statistics, which files of the first versions do not have. */
static anygp_status load_sums(tree_posterior *p, named_array *list, int64_t count, anygp_error *e)
{
    enum { PARENTS, OWN_S, OWN_B, SUMS, ALL };
    static const char *const names[ALL] = {"parents", "S", "b", "sums"};
    const int64_t rows[ALL] = {p->count, p->squares, p->M, 3};
    named_array *a[ALL];
    if (!named_array_find(list, count, names[PARENTS])) return ANYGP_OK;
    for (int i = 0; i < ALL; i++) {
        if (!(a[i] = named_array_need(list, count, names[i], e))) return ANYGP_ERR_FILE;
        TRY(named_array_check(a[i], rows[i], 1, e));
    }
    bool ok = whole_between(a[PARENTS], -1, (double)p->count - 1) && is_tree(a[PARENTS]) && all_finite(a[OWN_S]) &&
              all_finite(a[OWN_B]) && all_finite(a[SUMS]) && a[SUMS]->values[SUM_ROWS] > 0;
    if (!ok) return fail_with(e, ANYGP_ERR_FILE, "the model file's tree of groups makes no sense; it is damaged");
    memcpy(p->sums.all, a[SUMS]->values, sizeof p->sums.all);
    p->sums.parent = named_array_take(a[PARENTS]);
    p->sums.S = named_array_take(a[OWN_S]), p->sums.b = named_array_take(a[OWN_B]);
    return ANYGP_OK;
}

static anygp_status load_route(const named_array *r, const named_array *groups, int64_t D, router **out, anygp_error *e)
{
    TRY(router_from_values(r->rows, r->cols, r->values, D, out, e));
    if (router_blocks(*out) == groups->rows) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_FILE, "the model file's parts and its router to them differ; it is damaged");
}

anygp_status tree_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                       int64_t count, posterior **out, anygp_error *e)
{
    static const char *const names[ARRAYS] = {"router", "groups", "sizes", "Z", "m", "L", "B"};
    named_array *a[ARRAYS];
    router *route = NULL;
    (void)self;
    for (int i = 0; i < ARRAYS; i++)
        if (!(a[i] = named_array_need(list, count, names[i], e))) return ANYGP_ERR_FILE;
    TRY(check_arrays(a, D, e));
    int64_t G = a[SIZES]->rows, P = a[GROUPS]->rows, *of = mem_alloc(P, sizeof *of);
    posterior **group = mem_zeroed(G, sizeof *group);
    const group_source s = {
        k, mean, noise, a[PLACES]->values, a[MEANS]->values, a[FACTORS]->values, a[PRECISIONS]->values, D, 0};
    anygp_status status = of && group ? load_route(a[ROUTER], a[GROUPS], D, &route, e)
                                      : fail_memory(e, "the groups", 8.0 * (double)(P + G));
    if (!ANYGP_FAILED(status)) status = load_groups(&s, G, a[SIZES]->values, group, e);
    for (int64_t b = 0; of && b < P; b++) of[b] = (int64_t)a[GROUPS]->values[b];
    posterior *made = NULL;
    if (!ANYGP_FAILED(status)) status = posterior_new(G, group, P, of, route, &made, e);
    if (ANYGP_FAILED(status) && group) posteriors_free(G, group);
    free(group);
    free(of);
    router_free(route);
    if (!ANYGP_FAILED(status)) status = load_sums((tree_posterior *)made, list, count, e);
    if (ANYGP_FAILED(status)) {
        if (made) tree_free(made);
        return status;
    }
    *out = made;
    kernel_free(k);
    basis_clear(mean);
    return ANYGP_OK;
}
