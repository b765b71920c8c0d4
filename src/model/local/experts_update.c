/* New rows for a committee, at the same hyperparameters (003, section V-B [213]; Nguyen-Tuong, Peters and Seeger 2009).  A row joins the
   expert whose centre is nearest, in the kernel's measure; where no centre is near, it opens an expert of its own, which later rows can
   join.  Near is within twice the expert's radius, the distance of its farthest row, or within a length-scale; a new expert is given the
   mean radius of the old ones.  Experts that got rows are factored again, J^3/3 operations each; the others stay as they are, as does
   the communication expert.  For nle the expert that a row would be predicted by takes the place of the nearest one, and the part that a new one
   opens is where predictions are nearer to its centre (experts_opened.c); new rows move no centre then. */
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
    bool keeps;                    /* no expert is opened */
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
    for (int64_t k = 0; ok && p->opened && k < u->experts; k++) { /* as they were when the first part was opened */
        const double *at = p->opened + k * (u->d + 1);
        memcpy(u->centre + k * u->d, at, (size_t)u->d * sizeof *at);
        u->radius[k] = at[u->d];
    }
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

void experts_keep_parts(void *update) { ((experts_rows_state *)update)->keeps = true; }

static double distance_to(const experts_rows_state *u, int64_t k, const double *place)
{
    return u->radius[k] >= 0 ? row_distance(u->d, place, u->centre + k * u->d) : INFINITY;
}

/* An expert at this place, the last; -1: no memory. */
static int64_t open_expert(experts_rows_state *u, const double *place)
{
    if (!reserve_expert(u)) return -1;
    memcpy(u->centre + u->experts * u->d, place, (size_t)u->d * sizeof *place);
    u->radius[u->experts] = u->usual;
    return u->experts++;
}

static bool is_near(const experts_rows_state *u, int64_t k, double square)
{
    return sqrt(square) <= fmax(NEAR * u->radius[k], 1);
}

/* The expert of a row at this place; it may be a new one; -1: no memory. */
static int64_t expert_for(experts_rows_state *u, const double *place)
{
    int64_t best = -1;
    double least = INFINITY;
    for (int64_t k = 0; k < u->experts; k++) {
        double r = distance_to(u, k, place);
        if (r < least) best = k, least = r;
    }
    return best >= 0 && is_near(u, best, least) ? best : open_expert(u, place);
}

/* The same for a row of nle, whose part is that of the router unless an opened one is nearer, wherever any centre is near: then the rows of no part
   are nearer to a new centre than to their own.  A part without rows takes all that are routed to it. */
static int64_t part_for(experts_rows_state *u, const double *place, int64_t part)
{
    double least = distance_to(u, part, place);
    if (u->radius[part] < 0) return part;
    for (int64_t k = router_blocks(u->from->route); k < u->experts; k++) {
        double r = distance_to(u, k, place);
        if (r < least) part = k, least = r;
    }
    bool near = u->keeps;
    for (int64_t k = 0; !near && k < u->experts; k++) near = is_near(u, k, distance_to(u, k, place));
    return near ? part : open_expert(u, place);
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
    double *places = ok ? vecchia_places(u->from->base.kernel, n, D, X, &d) : NULL;
    anygp_status status = ok && alone ? router_route(u->from->route, n, X, D, u->block + u->n, e) : ANYGP_OK;
    ok = places != NULL;
    for (int64_t i = 0; ok && !ANYGP_FAILED(status) && i < n; i++) {
        int64_t *block = &u->block[u->n + i];
        *block = alone ? part_for(u, places + i * d, *block) : expert_for(u, places + i * d);
        ok = *block >= 0;
    }
    free(places);
    if (ANYGP_FAILED(status)) return status;
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
    r->blocks = r->opened = u->experts - u->from->count, r->largest = u->from->largest;
    for (int64_t k = 0; k < made->count; k++)
        if (expert_at(made, k).n > r->biggest) r->biggest = expert_at(made, k).n, r->biggest_id = k;
}

/* Names of all parts, those that were opened after the largest so far. */
static double *names_of(const experts_rows_state *u)
{
    const experts_posterior *p = u->from;
    double *names = mem_alloc(u->experts, sizeof *names), largest = 0;
    for (int64_t k = 0; names && k < u->experts; k++) {
        names[k] = k < p->count ? p->names[k] : largest + 1;
        largest = fmax(largest, names[k]);
    }
    return names;
}

/* Centres and radii as the posterior has them; NULL: no memory, or nothing was opened. */
static double *opened_of(const experts_rows_state *u)
{
    int64_t d = u->d;
    bool any = u->from->rule.alone && u->experts > router_blocks(u->from->route);
    double *opened = any ? mem_doubles(d + 1, u->experts) : NULL;
    for (int64_t k = 0; opened && k < u->experts; k++) {
        memcpy(opened + k * (d + 1), u->centre + k * d, (size_t)d * sizeof *opened);
        opened[k * (d + 1) + d] = u->radius[k];
    }
    return opened;
}

/* Where new rows are too close to old ones for the jitter so far, all experts get more. */
static anygp_status update_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    const experts_rows_state *u = state;
    const experts_posterior *p = u->from;
    double jitter = *p->jitter, *names = p->rule.alone ? names_of(u) : NULL, *opened = opened_of(u);
    anygp_status status = ANYGP_OK;
    *r = (update_report){.upper = NAN};
    if (p->rule.alone && (!names || (!opened && u->experts > router_blocks(p->route))))
        status = fail_memory(e, "the parts", 8.0 * (double)u->experts);
    if (ANYGP_FAILED(status)) goto done;
    do {
        experts_source s = {.rule = &p->rule,
                            .kernel = p->base.kernel,
                            .mean = &p->base.mean,
                            .noise = p->base.noise,
                            .jitter = jitter,
                            .D = p->base.D,
                            .count = u->experts,
                            .route = p->route,
                            .names = names,
                            .opened = opened,
                            .own_count = p->own ? p->own->count : 0,
                            .own = p->own ? p->own->values : NULL,
                            .memory = u->memory,
                            .from = p};
        memcpy(s.asked, p->asked, sizeof s.asked);
        TRY_DONE(gather(u, &s.rows, e));
        status = experts_new(&s, out, e);
    } while (status == ANYGP_ERR_NUMERIC && jitter < JITTER_MOST && (jitter = jitter_next(jitter)) > 0);
    if (ANYGP_FAILED(status)) goto done;
    report_sizes(u, (const experts_posterior *)*out, r);
    status = experts_total(p, &r->before, e);
    if (!ANYGP_FAILED(status)) status = experts_total((const experts_posterior *)*out, &r->after, e);
    if (ANYGP_FAILED(status)) posteriors_free(1, out);
done:
    free(names);
    free(opened);
    return status;
}

const update_ops experts_update = {.open = update_open,
                                   .given = update_given,
                                   .add = update_add,
                                   .held = update_held,
                                   .finish = update_finish,
                                   .close = update_close};
