/* Posteriors of committees from the rows of a fit, and from a model file (experts.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "linalg/jitter.h"
#include "model/local/experts.h"
#include "model/local/vecchia.h"

/* ------------------------------------------------------------------------------ communication expert */

/* Rows to[0 ..] of `out` are those of g that are wanted. */
static void move_rows(const gathered_rows *g, int64_t D, const bool *common, bool wanted, int64_t from, int64_t end,
                      gathered_rows *out, int64_t *to)
{
    for (int64_t i = from; i < end; i++) {
        if (common[i] != wanted) continue;
        memcpy(out->X + *to * D, g->X + i * D, (size_t)D * sizeof *g->X);
        out->y[*to] = g->y[i], out->w[*to] = g->w[i], ++*to;
    }
}

/* k rows at random come first, as a block of their own. */
static anygp_status put_first(int64_t k, uint64_t seed, int64_t D, int64_t count, gathered_rows *g, anygp_error *e)
{
    int64_t *chosen = mem_alloc(k, sizeof *chosen), to = 0;
    bool *common = mem_zeroed(g->n, sizeof *common);
    gathered_rows out = {g->n, mem_doubles(g->n, D), mem_doubles(g->n, 1), mem_doubles(g->n, 1),
                         mem_doubles(count + 2, 1)};
    bool ok = chosen && common && out.X && out.y && out.w && out.start;
    if (ok) {
        random_subset((random_stream){seed, RANDOM_COMMUNICATION, 0}, g->n, k, chosen);
        for (int64_t i = 0; i < k; i++) common[chosen[i]] = true;
        out.start[0] = 0;
        move_rows(g, D, common, true, 0, g->n, &out, &to);
        for (int64_t b = 0; b <= count; b++) {
            out.start[b + 1] = (double)to;
            if (b < count) move_rows(g, D, common, false, (int64_t)g->start[b], (int64_t)g->start[b + 1], &out, &to);
        }
    }
    free(chosen);
    free(common);
    gathered_rows_clear(ok ? g : &out);
    if (ok) *g = out;
    return ok ? ANYGP_OK : fail_memory(e, "the experts' rows", 8.0 * (double)g->n * (double)(D + 3));
}

/* As many as a part has, unless the user gives a number. */
static int64_t communication_rows(const problem *p, int64_t n)
{
    int64_t P = p->blocks->count, k = p->experts.communication > 0 ? p->experts.communication : (n + P - 1) / P;
    return k < n ? k : n;
}

/* ------------------------------------------------------------------------------------------- a fit */

static anygp_status gather(const problem *p, const aggregation *rule, experts_source *s, anygp_error *e)
{
    s->D = p->blocks->D, s->count = p->blocks->count;
    TRY(blocks_gather(p->blocks, "the experts' rows", &s->rows, e));
    if (!rule->communication) return ANYGP_OK;
    anygp_status status = put_first(communication_rows(p, s->rows.n), p->seed, s->D, s->count, &s->rows, e);
    if (ANYGP_FAILED(status)) gathered_rows_clear(&s->rows);
    s->count++;
    return status;
}

/* Of the parts: 0, 1, ... where the user gave none. */
static double *names_of(const problem *p)
{
    double *names = mem_alloc(p->blocks->count, sizeof *names);
    for (int64_t k = 0; names && k < p->blocks->count; k++) names[k] = (double)(p->block_ids ? p->block_ids[k] : k);
    return names;
}

/* Rows given the communication expert's are more alike than they were when learning, and may need more jitter. */
anygp_status experts_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    const problem *p = experts_problem(state);
    const aggregation *rule = experts_rule(state);
    const param_segment *own = experts_own_segment(h);
    double *names = names_of(p), noise = h->like[0];
    kernel *k = kernel_copy(h->kernel);
    anygp_status status = names && k ? ANYGP_OK : fail_memory(e, "the parts", 8.0 * (double)p->blocks->count);
    if (!ANYGP_FAILED(status) && own) status = experts_own_median(own, k, &noise, e);
    if (ANYGP_FAILED(status)) goto done;
    do {
        experts_source s = {.rule = rule,
                            .kernel = k,
                            .mean = p->mean,
                            .noise = noise,
                            .own_count = own ? own->rows / h->count : 0,
                            .own = own ? own->values : NULL,
                            .jitter = *jitter,
                            .memory = p->memory,
                            .until = p->pass,
                            .route = p->route,
                            .names = names,
                            .asked = {p->experts.observed, (double)p->experts.near}};
        status = gather(p, rule, &s, e);
        if (!ANYGP_FAILED(status)) status = experts_new(&s, out, e);
    } while (status == ANYGP_ERR_NUMERIC && *jitter < JITTER_MOST && (*jitter = jitter_next(*jitter)) > 0);
done:
    kernel_free(k);
    free(names);
    return status;
}

/* ------------------------------------------------------------------------------------------- file */

/* Numbers of a centre, and its radius; 0: no memory. */
static int64_t opened_rows(const kernel *k, int64_t D, const double *X)
{
    int64_t d;
    double *one = vecchia_places(k, 1, D, X, &d);
    free(one);
    return one ? d + 1 : 0;
}

void experts_arrays(posterior *base, array_list *list)
{
    experts_posterior *p = (experts_posterior *)base;
    array_list_add(list, (named_array){"X", base->D, base->n, p->X, false});
    array_list_add(list, (named_array){"y", base->n, 1, p->y, false});
    array_list_add(list, (named_array){"w", base->n, 1, p->w, false});
    array_list_add(list, (named_array){"start", p->count + 1, 1, p->start, false});
    array_list_add(list, (named_array){"jitter", 1, 1, p->jitter, false});
    if (p->asked[EXPERTS_OBSERVED] || p->asked[EXPERTS_NEAR]) /* not the defaults */
        array_list_add(list, (named_array){"asked", EXPERTS_ASKED, 1, p->asked, false});
    if (p->own) array_list_add(list, (named_array){"own", p->own->params, p->count, p->own->values, false});
    if (!p->route) return;
    int64_t rows, cols;
    double *route = (double *)router_values(p->route, &rows, &cols);
    array_list_add(list, (named_array){"ids", p->count, 1, p->names, false});
    array_list_add(list, (named_array){"router", rows, cols, route, false});
    if (p->opened)
        array_list_add(list,
                       (named_array){"opened", opened_rows(p->base.kernel, base->D, p->X), p->count, p->opened, false});
}

static bool asked_makes_sense(const named_array *a)
{
    const double *v = a->values;
    return a->rows == EXPERTS_ASKED && a->cols == 1 && (v[EXPERTS_OBSERVED] == 0 || v[EXPERTS_OBSERVED] == 1) &&
           v[EXPERTS_NEAR] >= 0 && v[EXPERTS_NEAR] <= 1e12 && v[EXPERTS_NEAR] == floor(v[EXPERTS_NEAR]);
}

/* Of nle: names of P parts and the router to them, which is the caller's. */
static anygp_status load_parts(const kernel *from, const double *X, int64_t D, int64_t P, named_array *list,
                               int64_t count, experts_source *s, router **route, anygp_error *e)
{
    const named_array *opened = named_array_find(list, count, "opened");
    const named_array *ids = named_array_need(list, count, "ids", e), *r = named_array_need(list, count, "router", e);
    int64_t name;
    if (!ids || !r) return ANYGP_ERR_FILE;
    TRY(named_array_check(ids, P, 1, e));
    for (int64_t k = 0; k < P; k++)
        if (!block_name_of(ids->values[k], &name))
            return fail_with(e, ANYGP_ERR_FILE, "the model file's parts have no names; it is damaged");
    TRY(router_from_values(r->rows, r->cols, r->values, D, route, e));
    s->names = ids->values, s->opened = opened ? opened->values : NULL;
    bool fits = !opened || (opened->cols == P && opened->rows == opened_rows(from, D, X) && router_blocks(*route) < P);
    for (int64_t i = 0; fits && opened && i < opened->rows * P; i++) fits = isfinite(opened->values[i]);
    if (fits && (opened || router_blocks(*route) == P)) return ANYGP_OK;
    router_free(*route), *route = NULL;
    return fail_with(e, ANYGP_ERR_FILE, "the model file's parts and its router to them differ; it is damaged");
}

anygp_status experts_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                          int64_t count, posterior **out, anygp_error *e)
{
    return experts_load_within(self, 0, k, noise, mean, D, list, count, out, e);
}

anygp_status experts_load_within(const model_ops *self, double memory, kernel *k, double noise, basis *mean, int64_t D,
                                 named_array *list, int64_t count, posterior **out, anygp_error *e)
{
    static const char *const names[] = {"X", "y", "w", "start", "jitter"};
    enum { ALL = 5 };
    const aggregation *rule = self->family;
    named_array *a[ALL];
    const named_array *asked = named_array_find(list, count, "asked"), *own = named_array_find(list, count, "own");
    for (int i = 0; i < ALL; i++)
        if (!(a[i] = named_array_need(list, count, names[i], e))) return ANYGP_ERR_FILE;
    int64_t n = a[0]->cols, P = a[3]->rows - 1;
    if (a[0]->rows != D || a[1]->rows != n || a[1]->cols != 1 || a[2]->rows != n || a[2]->cols != 1 || P < 1 ||
        a[3]->cols != 1 || a[4]->rows != 1 || a[4]->cols != 1 || !(*a[4]->values >= 0 && *a[4]->values <= 1) ||
        !blocks_make_sense(P, a[3]->values, n, a[2]->values) || (asked && !asked_makes_sense(asked)) ||
        (own && !(self->needs.own && expert_hyper_makes_sense(own, k, P))))
        return fail_with(e, ANYGP_ERR_FILE, "the model file's experts do not fit together; it is damaged");
    experts_source s = {
        .rule = rule, .kernel = k, .mean = mean, .noise = noise, .jitter = *a[4]->values, .D = D, .count = P};
    const deadline now = {0, 0, NULL};
    s.memory = memory,
    s.until = &now; /* factors are made below, with more jitter where a fit had no time to find out */
    if (asked) memcpy(s.asked, asked->values, sizeof s.asked);
    if (own) s.own_count = P, s.own = own->values;
    router *route = NULL;
    if (rule->alone) TRY(load_parts(k, a[0]->values, D, P, list, count, &s, &route, e));
    s.route = route, *out = NULL;
    s.rows = (gathered_rows){n, named_array_take(a[0]), named_array_take(a[1]), named_array_take(a[2]),
                             named_array_take(a[3])};
    anygp_status status = experts_new(&s, out, e);
    router_free(route);
    if (!ANYGP_FAILED(status)) status = experts_make(*out, e);
    if (ANYGP_FAILED(status)) return experts_free(*out), *out = NULL, status;
    kernel_free(k);
    basis_clear(mean);
    return ANYGP_OK;
}
