/* tree as a model: sums over parts by the driver, messages as the head (tree.h). */
#include "model/local/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/constants.h"
#include "base/memory.h"
#include "linalg/jitter.h"
#include "linalg/linalg.h"

/* ----------------------------------------------------------------------------------- sums of the parts */

static const tree_group *group_of(const tree_groups *t, const row_block *b) { return &t->at[t->of[b->index]]; }

static int64_t stat_size(const void *shared) { return ((const tree_groups *)shared)->stat; }
static int64_t adjoint_size(const void *shared) { return ((const tree_groups *)shared)->adjoint; }

/* Any group must find room in it. */
static const sparse *largest(const tree_groups *t)
{
    int64_t k = 0;
    while (t->at[k].m < t->most) k++;
    return &t->at[k].s;
}

static int64_t work_doubles(const void *shared, int64_t n) { return sparse_whole.work_doubles(largest(shared), n); }
static int64_t keep_doubles(const void *shared, int64_t n) { return sparse_whole.keep_doubles(largest(shared), n); }
static double work(const void *shared, int64_t n) { return sparse_whole.work(largest(shared), n); }

static anygp_status stat(const void *shared, const row_block *b, double *room, double *keep, double *out,
                         anygp_error *e)
{
    const tree_groups *t = shared;
    const tree_group *g = group_of(t, b);
    row_block some = *b;
    if (t->few > 0 && some.n > t->few) some.n = t->few;
    return sparse_whole.stat(&g->s, &some, room, keep, out + g->stat, e);
}

static anygp_status reverse(const void *shared, const row_block *b, double *room, const double *keep, double *adjoint,
                            anygp_error *e)
{
    const tree_group *g = group_of(shared, b);
    return sparse_whole.reverse(&g->s, b, room, keep, adjoint + g->adjoint, e);
}

const block_model tree_parts = {.stat_size = stat_size,
                                .adjoint_size = adjoint_size,
                                .work_doubles = work_doubles,
                                .keep_doubles = keep_doubles,
                                .work = work,
                                .stat = stat,
                                .reverse = reverse};

/* --------------------------------------------------------------------------------------------- state */

typedef struct tree_state {
    tree_groups t;
    const problem *problem;
    driver *driver;
    double *stat, *adjoint;
    anygp_error failure;
    double seen; /* of the parts, by the last pass */
} tree_state;

static void state_close(void *state)
{
    tree_state *q = state;
    if (!q) return;
    driver_close(q->driver);
    tree_clear(&q->t);
    free(q->stat);
    free(q->adjoint);
    free(q);
}

static anygp_status state_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    tree_state *q = calloc(1, sizeof *q);
    (void)self;
    if (!q) return fail_memory(e, "the model", sizeof *q);
    q->problem = p, q->seen = 1;
    TRY_DONE(tree_open(&q->t, p, h, e));
    TRY_DONE(driver_open(&tree_parts, p->blocks, p->comm, p->keep, &q->driver, e));
    q->stat = mem_alloc(q->t.stat, sizeof *q->stat), q->adjoint = mem_alloc(q->t.adjoint, sizeof *q->adjoint);
    if (!q->stat || !q->adjoint) status = fail_memory(e, "the sums", 8.0 * (double)(q->t.stat + q->t.adjoint));
done:
    if (ANYGP_FAILED(status))
        state_close(q);
    else
        *state = q;
    return status;
}

/* Sums over all parts, or over those that there is time for. */
static anygp_status sum_up(tree_state *q, bool reverse, anygp_error *e)
{
    driver_until(q->driver, q->problem->pass, &q->seen);
    anygp_status status = reverse ? driver_reverse(q->driver, &q->t, 0, NULL, 1, q->adjoint, e)
                                  : driver_stat(q->driver, &q->t, 0, NULL, 1, q->stat, e);
    driver_until(q->driver, NULL, NULL);
    return status;
}

/* partly: from what was seen of the rows; else ANYGP_TIME_LIMIT where that is not all. */
static anygp_status pass(tree_state *q, const hyper *h, double jitter, bool partly, double *value, double *gp,
                         anygp_error *e)
{
    if (!tree_prepare(&q->t, h, jitter)) return inducing_no_factor(e);
    driver_expect_reverse(q->driver, gp != NULL);
    TRY(sum_up(q, false, e));
    if (q->seen < 1 && !partly) return ANYGP_TIME_LIMIT;
    if (!tree_messages(&q->t, q->stat, gp != NULL, value))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the log evidence is not a number");
    *value -= 0.5 * q->problem->blocks->total * LOG_2PI;
    if (!gp) return ANYGP_OK;
    TRY(sum_up(q, true, e));
    if (q->seen < 1) return ANYGP_TIME_LIMIT;
    return tree_finish(&q->t, h, q->adjoint, gp) ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

static anygp_status climb_jitter(tree_state *q, const hyper *h, bool grow, bool partly, double *jitter, double *value,
                                 double *gp, anygp_error *e)
{
    anygp_status status = pass(q, h, *jitter, partly, value, gp, e);
    while (status == ANYGP_ERR_NUMERIC && grow && *jitter < JITTER_MOST) {
        *jitter = jitter_next(*jitter);
        status = pass(q, h, *jitter, partly, value, gp, e);
    }
    return status;
}

static bool evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    tree_state *q = state;
    anygp_error why = {0};
    anygp_status status = climb_jitter(q, h, grow, false, jitter, value, gp, &why);
    q->failure = model_failure(status, &why);
    return status == ANYGP_OK;
}

static const anygp_error *failure(const void *state) { return &((const tree_state *)state)->failure; }
static double rows_behind(const void *state) { return ((const tree_state *)state)->problem->blocks->total; }
static double seen(const void *state) { return ((const tree_state *)state)->seen; }
static int64_t size(const problem *p) { return p->subset; }

/* ----------------------------------------------------------------------------------------- posterior */

/* How many rows of a part come next: all of them where there is time, by what `few` took, or twice as many; a part costs no more than the
   cube of its rows.  -1: there is time for no more. */
static int64_t more_rows(const tree_state *q, int64_t few, double took)
{
    const deadline *until = q->problem->pass;
    double times = (double)q->problem->blocks->largest / (double)few;
    if (deadline_fits(until, took * pow(times, 3))) return 0;
    return deadline_fits(until, 3 * took) ? 2 * few : -1;
}

/* With a time limit: from the first rows of each part, as many as there is time for.  Rows of some parts alone would leave the others to
   what can be extrapolated from there, which is worse than the mean where they are few. */
static anygp_status sums_in_time(tree_state *q, const hyper *h, double *jitter, double *value, anygp_error *e)
{
    enum { FIRST = 32 };
    const problem *p = q->problem;
    bool limited = deadline_left(p->pass) < INFINITY && p->comm->size == 1 && p->blocks->largest > FIRST;
    if (!limited) return climb_jitter(q, h, true, true, jitter, value, NULL, e);
    double all = (double)p->rows->data->used, parts = (double)p->blocks->count;
    problem patient = *p;
    patient.pass = NULL; /* a pass that has begun is ended */
    for (int64_t few = FIRST; few >= 0;) {
        double began = clock_seconds();
        q->t.few = few, q->problem = &patient;
        anygp_status status = climb_jitter(q, h, true, true, jitter, value, NULL, e);
        q->t.few = 0, q->problem = p;
        TRY(status);
        q->seen = few > 0 ? fmin(1, (double)few * parts / all) : 1;
        if (few == 0) break;
        few = more_rows(q, few, clock_seconds() - began);
    }
    return ANYGP_OK;
}

static anygp_status to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    tree_state *q = state;
    double value;
    TRY(sums_in_time(q, h, jitter, &value, e));
    return tree_to_posterior(&q->t, q->stat, q->problem->blocks->total, q->problem->route, out, e);
}

/* --------------------------------------------------------------------------------------------- table */

static model_cost cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    static const double SHARE = 0.75; /* of R */
    double J = s->part, L = s->largest, P = fmax(f->rows / fmax(J, 1), 1), D = (double)f->inputs;
    double m = fmin(s->M, fmax(s->M / P, J / 4)); /* of the larger groups: places are not shared out evenly */
    double sums = 2 * m * s->M, block = L * (D + 2) + 3 * m * L + 2 * L * L;
    (void)self;
    return (model_cost){
        .rows = cost_of_work(f, SHARE, f->rows * (6 * m * m + 6 * J * m + 2 * J * J), 4 * f->rows * (m + J)),
        .head = cost_of_work(f, SHARE, 40 * s->M * m * m, 0),
        .bytes = 8 * (13 * m * s->M + f->threads * (sums + block)),
        .kept = 8 * (m + J)};
}

const model_ops model_tree = {
    .name = "tree",
    .summary = "inducing inputs in groups along a tree",
    .objective = "log evidence",
    .needs = {.rows = ROWS_PARTS, .local = true, .weights = true, .inducing = INDUCING_ONE, .joint = true},
    .variables = &inducing_points,
    .subset = 512,
    .order = "n j^2",
    .jitter = 1e-8,
    .cost = cost,
    .size = size,
    .open = state_open,
    .evaluate = evaluate,
    .failure = failure,
    .posterior = to_posterior,
    .rows = rows_behind,
    .seen = seen,
    .close = state_close,
    .load = tree_load,
    .update = &tree_update_ops,
};
