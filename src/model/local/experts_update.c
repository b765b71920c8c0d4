/* New rows for a committee, at the same hyperparameters (003, section V-B [213]; Nguyen-Tuong, Peters and Seeger 2009).  A row joins the
   expert whose centre is nearest, in the kernel's measure; where no centre is near, it opens an expert of its own, which later rows can
   join.  Near is within twice the expert's radius, the distance of its farthest row, or within a length-scale; a new expert is given the
   mean radius of the old ones.  Experts that got rows are factored again, J^3/3 operations each; the others stay as they are, as does
   the communication expert.  A part of nle is where its router says: no new ones are opened. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/partition/distance.h"
#include "linalg/jitter.h"
#include "model/local/experts.h"
#include "model/local/vecchia.h"

static const double NEAR = 2; /* radii */

typedef struct experts_rows_state {
    const experts_posterior *from;
    int64_t d;                     /* of places */
    int64_t experts, experts_room; /* old and new */
    double *centre, *radius;       /* experts x d, experts; a radius below 0: it has no rows, or takes none */
    double usual;                  /* the mean radius */
    double memory;                 /* for the factors */
    int64_t n, room;
    double *X, *y, *w; /* the new rows, and their experts */
    int64_t *block;
} experts_rows_state;

static void update_close(void *state)
{
    experts_rows_state *u = state;
    if (!u) return;
    void *const owned[] = {u->centre, u->radius, u->X, u->y, u->w, u->block};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(u);
}

/* Room for one more expert. */
static bool reserve_expert(experts_rows_state *u)
{
    if (u->experts < u->experts_room) return true;
    int64_t room = 2 * u->experts_room + 16;
    double *centre = realloc(u->centre, (size_t)(room * u->d) * sizeof *centre);
    if (centre) u->centre = centre;
    double *radius = realloc(u->radius, (size_t)room * sizeof *radius);
    if (radius) u->radius = radius;
    if (centre && radius) u->experts_room = room;
    return centre && radius;
}

static bool reserve_rows(experts_rows_state *u, int64_t more)
{
    if (u->n + more <= u->room) return true;
    size_t room = 2 * (size_t)u->room + (size_t)more, D = (size_t)u->from->base.D;
    double *X = realloc(u->X, (room * D + 1) * sizeof *X);
    if (X) u->X = X;
    double *y = realloc(u->y, room * sizeof *y);
    if (y) u->y = y;
    double *w = realloc(u->w, room * sizeof *w);
    if (w) u->w = w;
    int64_t *block = realloc(u->block, room * sizeof *block);
    if (block) u->block = block;
    if (X && y && w && block) u->room = (int64_t)room;
    return X && y && w && block;
}

static void find_usual(experts_rows_state *u)
{
    double sum = 0, count = 0;
    for (int64_t k = 0; k < u->experts; k++)
        if (u->radius[k] >= 0) sum += u->radius[k], count++;
    u->usual = count > 0 ? sum / count : 0;
}

static bool find_centres(experts_rows_state *u)
{
    const experts_posterior *p = u->from;
    double *places = vecchia_places(p->base.kernel, p->base.n, p->base.D, p->X, &u->d);
    bool ok = places != NULL;
    for (int64_t k = 0; ok && k < p->count && (ok = reserve_expert(u)); k++, u->experts++) {
        expert x = expert_at(p, k);
        double *c = u->centre + k * u->d, *radius = u->radius + k;
        const double *at = places + x.first * u->d;
        for (int64_t j = 0; j < u->d; j++) c[j] = 0;
        for (int64_t i = 0; i < x.n * u->d; i++) c[i % u->d] += at[i] / (double)x.n;
        *radius = x.n == 0 || (k == 0 && p->rule.communication) ? -1 : 0;
        for (int64_t i = 0; i < x.n && *radius >= 0; i++)
            *radius = fmax(*radius, sqrt(row_distance(u->d, at + i * u->d, c)));
    }
    free(places);
    find_usual(u);
    return ok;
}

static anygp_status update_open(const model_ops *self, const posterior *p, const likelihood *l, void **state,
                                anygp_error *e)
{
    experts_rows_state *u = calloc(1, sizeof *u);
    (void)self, (void)l;
    if (!u) return fail_memory(e, "the update", sizeof *u);
    anygp_status status = posterior_ready(p, e);
    if (ANYGP_FAILED(status)) return free(u), status;
    u->from = (const experts_posterior *)p;
    if (!find_centres(u)) return update_close(u), fail_memory(e, "the experts' centres", 8.0 * (double)p->n);
    *state = u;
    return ANYGP_OK;
}

static void update_given(void *state, double jitter, double memory, stop_poll stop)
{
    (void)jitter, (void)stop;
    ((experts_rows_state *)state)->memory = memory;
}

/* The expert of a row at this place; it may be a new one, the last; -1: no memory. */
static int64_t expert_for(experts_rows_state *u, const double *place)
{
    int64_t best = -1;
    double least = INFINITY;
    for (int64_t k = 0; k < u->experts; k++) {
        double r = u->radius[k] >= 0 ? row_distance(u->d, place, u->centre + k * u->d) : INFINITY;
        if (r < least) best = k, least = r;
    }
    if (best >= 0 && sqrt(least) <= fmax(NEAR * u->radius[best], 1)) return best;
    if (!reserve_expert(u)) return -1;
    memcpy(u->centre + u->experts * u->d, place, (size_t)u->d * sizeof *place);
    u->radius[u->experts] = u->usual;
    return u->experts++;
}

static anygp_status update_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                               const int64_t *ids, anygp_error *e)
{
    experts_rows_state *u = state;
    int64_t d, D = u->from->base.D;
    if (ids)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "blocks-from: a committee finds the experts of new rows by itself; leave --blocks-from out");
    if (n == 0) return ANYGP_OK;
    bool ok = reserve_rows(u, n), alone = u->from->rule.alone;
    double *places = ok && !alone ? vecchia_places(u->from->base.kernel, n, D, X, &d) : NULL;
    if (ok && alone) TRY(router_route(u->from->route, n, X, D, u->block + u->n, e));
    for (int64_t i = 0; places && ok && i < n; i++) ok = (u->block[u->n + i] = expert_for(u, places + i * d)) >= 0;
    ok = ok && (places || alone);
    free(places);
    if (!ok) return fail_memory(e, "the new rows", 8.0 * (double)(u->n + n) * (double)(D + 3));
    memcpy(u->X + u->n * D, X, (size_t)(n * D) * sizeof *X);
    memcpy(u->y + u->n, y, (size_t)n * sizeof *y);
    memcpy(u->w + u->n, w, (size_t)n * sizeof *w);
    u->n += n;
    return ANYGP_OK;
}

static double update_held(const void *state)
{
    const experts_rows_state *u = state;
    return 8.0 * (double)u->room * (double)(u->from->base.D + 3);
}

/* All rows, expert after expert, the old ones first. */
static anygp_status gather(const experts_rows_state *u, gathered_rows *g, anygp_error *e)
{
    const experts_posterior *p = u->from;
    int64_t *start = mem_alloc(p->count + 1, sizeof *start);
    row_blocks *old = NULL, *all = NULL;
    anygp_status status = start ? ANYGP_OK : fail_memory(e, "the experts", 8.0 * (double)p->count);
    for (int64_t k = 0; start && k <= p->count; k++) start[k] = (int64_t)p->start[k];
    if (start) status = blocks_of_arrays(p->count, start, p->base.D, 1, p->X, p->y, p->w, &old, e);
    if (!ANYGP_FAILED(status))
        status = blocks_join(old, u->experts, p->base.D, 1, u->n, u->X, u->y, u->w, u->block, &all, e);
    if (!ANYGP_FAILED(status)) status = blocks_gather(all, "the experts' rows", g, e);
    blocks_free(all);
    blocks_free(old);
    free(start);
    return status;
}

static void report_sizes(const experts_rows_state *u, const experts_posterior *made, update_report *r)
{
    for (int64_t i = 0; i < u->n; i++) r->rows += u->w[i];
    r->blocks = u->experts - u->from->count, r->largest = u->from->largest;
    for (int64_t k = 0; k < made->count; k++)
        if (expert_at(made, k).n > r->biggest) r->biggest = expert_at(made, k).n, r->biggest_id = k;
}

/* Where new rows are too close to old ones for the jitter so far, all experts get more. */
static anygp_status update_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    const experts_rows_state *u = state;
    const experts_posterior *p = u->from;
    double jitter = *p->jitter;
    anygp_status status;
    *r = (update_report){.upper = NAN};
    do {
        experts_source s = {.rule = &p->rule,
                            .kernel = p->base.kernel,
                            .mean = &p->base.mean,
                            .noise = p->base.noise,
                            .jitter = jitter,
                            .D = p->base.D,
                            .count = u->experts,
                            .route = p->route,
                            .names = p->names,
                            .own_count = p->own ? p->own->count : 0,
                            .own = p->own ? p->own->values : NULL,
                            .memory = u->memory,
                            .from = p};
        memcpy(s.asked, p->asked, sizeof s.asked);
        TRY(gather(u, &s.rows, e));
        status = experts_new(&s, out, e);
    } while (status == ANYGP_ERR_NUMERIC && jitter < JITTER_MOST && (jitter = jitter_next(jitter)) > 0);
    if (ANYGP_FAILED(status)) return status;
    report_sizes(u, (const experts_posterior *)*out, r);
    status = experts_total(p, &r->before, e);
    if (!ANYGP_FAILED(status)) status = experts_total((const experts_posterior *)*out, &r->after, e);
    if (ANYGP_FAILED(status)) posteriors_free(1, out);
    return status;
}

const update_ops experts_update = {.open = update_open,
                                   .given = update_given,
                                   .add = update_add,
                                   .held = update_held,
                                   .finish = update_finish,
                                   .close = update_close};
