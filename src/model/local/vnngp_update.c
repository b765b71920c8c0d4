/* New rows for a variational nearest-neighbour GP, at the same hyperparameters.  They come after all places there are, each conditioned on the
   nearest of those before it, so the conditionals of the old ones stay.  What the old rows of data said is in q: with P of the old places
       weight_j = 1 / s_j - P_jj,     site = (P + diag(weight)) m
   are Gaussians in u that lead to the same q again; for Gaussian noise they are the likelihood itself.  With them for the old data, and the likelihood of the
   new, q is found as in a fit (vnngp_q.c).  A row with the inputs of an earlier one shares its u. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/local/vecchia_update.h"
#include "model/local/vnngp.h"
#include "model/local/vnngp_posterior.h"

typedef struct vnngp_update {
    vecchia_update *rows; /* inputs and weights, */
    likelihood like;
    int64_t Q; /* and the numbers of y of the new ones */
    double *y;
    int64_t room;
} vnngp_update;

static void update_close(void *state)
{
    vnngp_update *u = state;
    if (!u) return;
    vecchia_update_close(u->rows);
    free(u->y);
    free(u);
}

static anygp_status update_open(const model_ops *self, const posterior *p, const likelihood *l, void **state,
                                anygp_error *e)
{
    void *rows = NULL;
    vnngp_update *u = calloc(1, sizeof *u);
    if (!u) return fail_memory(e, "the update", sizeof *u);
    anygp_status status = vecchia_update_open(self, p, l, &rows, e);
    u->rows = rows, u->like = *l, u->Q = l->columns;
    if (ANYGP_FAILED(status))
        update_close(u);
    else
        *state = u;
    return status;
}

static anygp_status update_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                               const int64_t *ids, anygp_error *e)
{
    vnngp_update *u = state;
    int64_t have = u->rows->n;
    if (have + n > u->room) {
        int64_t room = have + n > 2 * u->room ? have + n : 2 * u->room;
        size_t bytes;
        double *more = size_mul(room, u->Q * (int64_t)sizeof *more, &bytes) ? realloc(u->y, bytes) : NULL;
        if (!more) return fail_memory(e, "the new rows", 8.0 * (double)room * (double)u->Q);
        u->y = more, u->room = room;
    }
    if (n > 0) memcpy(u->y + have * u->Q, y, (size_t)(n * u->Q) * sizeof *y);
    return vecchia_update_add(u->rows, n, X, w, w, ids, e); /* its own y is not asked for */
}

static double update_held(const void *state)
{
    const vnngp_update *u = state;
    return vecchia_update_held(u->rows) + 8.0 * (double)(u->rows->n * u->Q);
}

/* ---------------------------------------------------------------------------------------------- finish */

/* The model of old and new places; what it points to, which has to outlive it. */
typedef struct model_of_all {
    dataset data, added; /* all inputs; the new rows */
    merged rows;         /* of which problem asks for the data alone */
    problem problem;
    hyper h;
    vnngp *v;
} model_of_all;

static void describe(const vnngp_update *u, model_of_all *a)
{
    const vecchia_posterior *from = u->rows->from;
    const posterior *b = &from->base;
    int64_t old = b->n, n = u->rows->n;
    a->data = (dataset){.n = old + n, .D = b->D, .X = u->rows->X, .y = u->rows->y, .w = u->rows->w};
    a->added = (dataset){.n = n, .D = b->D, .Q = u->Q, .y = u->y, .w = u->rows->w + old};
    for (int64_t i = 0; i < n; i++) a->added.total += a->added.w[i];
    a->rows = (merged){.data = &a->added};
    a->problem = (problem){.rows = &a->rows, .comm = comm_self(), .likelihood = &u->like};
    a->problem.near.predict = (int64_t)from->facts[FACT_PREDICT];
    a->h = (hyper){.kernel = b->kernel,
                   .like = (double *)u->like.value,
                   .likes = u->like.params,
                   .count = kernel_count(b->kernel) + u->like.params,
                   .D = b->D};
}

/* Places and neighbours: the old ones have theirs, since none of the new comes before them. */
static anygp_status place_rows(const vnngp_update *u, vnngp *v, anygp_error *e)
{
    const posterior *b = &u->rows->from->base;
    int64_t d;
    memcpy(v->X, v->rows.X, (size_t)(v->n * b->D) * sizeof *v->X);
    for (int64_t i = 0; i < v->N; i++) v->place[i] = v->rows.group[b->n + i];
    double *places = vecchia_places(b->kernel, v->n, b->D, v->X, &d);
    if (!places) return fail_memory(e, "the places of the rows", 8.0 * (double)(v->n * b->D));
    near_metric by = vecchia_metric(b->kernel, v->n);
    anygp_status status = neighbours_earlier(v->n, d, places, &by, v->k, &v->near, e);
    free(places);
    return ANYGP_FAILED(status) ? status : vnngp_open_places(v, e);
}

static anygp_status open_all(const vnngp_update *u, model_of_all *a, anygp_error *e)
{
    const vecchia_posterior *from = u->rows->from;
    vnngp *v = a->v = calloc(1, sizeof *v);
    if (!v) return fail_memory(e, "the update", sizeof *v);
    describe(u, a);
    v->problem = &a->problem, v->data = *a->rows.data, v->like = u->like, v->C = from->base.latents,
    v->k = vecchia_learned_near(from);
    TRY(dataset_merge(&a->data, !kernel_has_white(from->base.kernel), &v->rows, e));
    v->n = v->rows.n, v->N = u->rows->n;
    TRY(vnngp_allocate(v, &a->h, e));
    v->known_site = mem_zeroed(v->n * v->C, sizeof(double)), v->known_weight = mem_zeroed(v->n * v->C, sizeof(double));
    if (!v->known_site || !v->known_weight) return fail_memory(e, "the update", 16.0 * (double)(v->n * v->C));
    TRY(place_rows(u, v, e));
    v->h = &a->h, v->added = from->facts[FACT_JITTER];
    return vnngp_condition(v, 0, NULL, e);
}

/* *before: the bound of the old rows, but for what their Gaussians leave out. */
static void take_q(const vnngp_posterior *from, vnngp *v, double *before)
{
    int64_t old = from->near.base.n;
    for (int64_t c = 0; c < v->C; c++) {
        memcpy(v->m + c * v->n, from->m + c * old, (size_t)old * sizeof *v->m);
        memcpy(v->s + c * v->n, from->s + c * old, (size_t)old * sizeof *v->s);
    }
    v->seen = old;
    vnngp_sites_of_q(v, v->known_site, v->known_weight);
    *before = vnngp_known_bound(v);
    v->seen = v->n;
    vnngp_begin_places(v, old, v->n - old);
}

static anygp_status update_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    vnngp_update *u = state;
    model_of_all a = {0};
    double before;
    anygp_status status = open_all(u, &a, e);
    if (!ANYGP_FAILED(status)) {
        take_q((const vnngp_posterior *)u->rows->from, a.v, &before);
        status = vnngp_find_q(a.v, true, e);
    }
    if (!ANYGP_FAILED(status)) status = vnngp_posterior_new(a.v, out, e);
    if (!ANYGP_FAILED(status))
        *r = (update_report){.rows = a.added.total, .before = NAN, .after = a.v->value - before, .upper = NAN};
    vnngp_close(a.v);
    return status;
}

const update_ops vnngp_updates = {
    .open = update_open, .add = update_add, .held = update_held, .finish = update_finish, .close = update_close};
