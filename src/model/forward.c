/* Three tapes and a driver; how they work together is in forward.h. */
#include "model/forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"

struct forward {
    const forward_model *model;
    const problem *problem;
    int own, nodes;
    const forward_param *param;
    driver *driver;
    tape *shared, *head;
    int threads;
    tape **thread; /* the blocks' */
    forward_view at;
    int64_t stat_size, adjoint_size;
    double *stat, *adjoint; /* stat_size and adjoint_size numbers; NULL before the first pass */
    const double *sum_bar;  /* the adjoint of the sum: where every block's reverse begins */
    anygp_error failure;    /* of the last forward_evaluate, other than its numbers */
};

static int64_t size_of(const node *n) { return n->rows * n->cols; }

/* ------------------------------------------------------------------------------------- parameters */

/* v[i] as a leaf: the model's parameters as they are now, Z constant where it is not learned. */
static void parameters(const forward *f, tape *t, const hyper *h, forward_view *g)
{
    kernel *k = h->kernel;
    if (h->C) tape_fail(t, ANYGP_ERR_INTERNAL, "a model written forward has inducing points, and no other variables");
    g->v[FORWARD_KERNEL] = tape_variable(t, hyper_kernel_params(h), 1, kernel_values(k));
    g->v[FORWARD_LIKE] = tape_variable(t, h->likes, 1, h->like);
    g->v[FORWARD_Z] = (h->learn_Z ? tape_variable : tape_constant)(t, h->D, h->M, h->Z);
    for (int i = 0; i < f->own; i++)
        g->v[FORWARD_OWN + i] = tape_variable(t, f->param[i].rows, f->param[i].cols, f->param[i].value);
}

/* The nodes of prepare as leaves of another tape, variable where something variable feeds them. */
static void borrow(const forward *f, tape *t, bool variable, forward_view *g)
{
    *g = f->at;
    for (int i = 0; i < f->nodes; i++) {
        const node *n = f->at.v[i];
        g->v[i] = (variable && n->active ? tape_variable : tape_constant)(t, n->rows, n->cols, n->value);
    }
}

/* to += the adjoints of all nodes, one after the other. */
static void collect(const forward *f, const forward_view *g, double *to)
{
    for (int i = 0; i < f->nodes; to += size_of(g->v[i++]))
        if (tape_adjoint(g->v[i])) la_axpy(size_of(g->v[i]), 1, tape_adjoint(g->v[i]), to);
}

/* ----------------------------------------------------------------------------------------- blocks */

static node *basis_rows(const forward *f, tape *t, const row_block *b)
{
    const basis *mean = f->problem->mean;
    double *H = tape_doubles(t, mean->p, b->n);
    if (!H) return tape_constant(t, 0, 0, NULL);
    if (mean->p) basis_fill(mean, b->n, b->X, f->problem->blocks->D, H, mean->p, 1);
    la_scale(mean->p * b->n, sqrt(mean->B), H);
    return tape_constant(t, mean->p, b->n, H);
}

static node *record(const forward *f, tape *t, const row_block *b, bool variable, forward_view *g)
{
    int64_t n = b->n, D = f->problem->blocks->D, Q = f->problem->blocks->Q;
    tape_reset(t);
    borrow(f, t, variable, g);
    forward_block rows = {.n = n,
                          .X = tape_constant(t, D, n, b->X),
                          .y = tape_constant(t, Q == 1 ? n : Q, Q == 1 ? 1 : n, b->y),
                          .w = tape_constant(t, n, 1, b->w),
                          .H = basis_rows(f, t, b),
                          .first = b->index * f->problem->blocks->largest + b->first};
    return f->model->stat(t, g, &rows);
}

static node *record_checked(const forward *f, tape *t, const row_block *b, bool variable, forward_view *g)
{
    node *s = record(f, t, b, variable, g);
    if (!tape_failed(t) && size_of(s) != f->stat_size)
        tape_fail(t, ANYGP_ERR_INTERNAL, "the statistic of %lld rows has %lld numbers and that of one row %lld",
                  (long long)b->n, (long long)size_of(s), (long long)f->stat_size);
    return s;
}

/* A tape has no numbers of its own, so any tape will do as long as no two threads share it. */
static tape *tape_of_thread(const forward *f) { return f->thread[threads_id() < f->threads ? threads_id() : 0]; }

static anygp_status block_stat(const void *shared, const row_block *b, double *work, double *keep, double *stat,
                               anygp_error *e)
{
    const forward *f = shared;
    tape *t = tape_of_thread(f);
    forward_view g;
    (void)work, (void)keep;
    node *s = record_checked(f, t, b, false, &g);
    if (tape_failed(t)) return tape_status(t, e);
    la_axpy(f->stat_size, 1, s->value, stat);
    return ANYGP_OK;
}

static anygp_status block_reverse(const void *shared, const row_block *b, double *work, const double *keep,
                                  double *adjoint, anygp_error *e)
{
    const forward *f = shared;
    tape *t = tape_of_thread(f);
    forward_view g;
    (void)work, (void)keep;
    node *s = record_checked(f, t, b, true, &g);
    if (tape_failed(t)) return tape_status(t, e);
    tape_seed(t, s, f->sum_bar);
    TRY(tape_sweep(t, e));
    collect(f, &g, adjoint);
    return ANYGP_OK;
}

static int64_t stat_size(const void *shared) { return ((const forward *)shared)->stat_size; }
static int64_t adjoint_size(const void *shared) { return ((const forward *)shared)->adjoint_size; }
static int64_t nothing(const void *shared, int64_t n) { return (void)shared, (void)n, 0; }

/* A guess: the driver does not know what a model does with a block. */
static double block_work(const void *shared, int64_t n)
{
    const problem *p = ((const forward *)shared)->problem;
    double M = (double)p->subset;
    return (double)n * (M * M + M * (double)p->blocks->D);
}

#define BLOCKS(alone)                                                                                                  \
    {                                                                                                                  \
        .rows_alone = alone, .stat_size = stat_size, .adjoint_size = adjoint_size, .work_doubles = nothing,            \
        .keep_doubles = nothing, .work = block_work, .stat = block_stat, .reverse = block_reverse                      \
    }
static const block_model whole_blocks = BLOCKS(false), any_rows = BLOCKS(true);

static anygp_status pass(forward *f, bool reverse, int64_t count, const int64_t *which, double scale, anygp_error *e)
{
    double seen = 1;
    driver_until(f->driver, f->problem->pass, &seen);
    anygp_status status = reverse ? driver_reverse(f->driver, f, count, which, scale, f->adjoint, e)
                                  : driver_stat(f->driver, f, count, which, scale, f->stat, e);
    driver_until(f->driver, NULL, NULL);
    return !ANYGP_FAILED(status) && seen < 1 ? ANYGP_TIME_LIMIT : status;
}

/* ------------------------------------------------------------------------------------------ state */

void forward_close(void *state)
{
    forward *f = state;
    if (!f) return;
    driver_close(f->driver);
    for (int i = 0; f->thread && i < f->threads; i++) tape_free(f->thread[i]);
    tape_free(f->shared);
    tape_free(f->head);
    free(f->thread);
    free(f->stat);
    free(f->adjoint);
    free(f);
}

/* Factors of blocks and heads have noise on their diagonal, and get no jitter. */
static tape *plain_tape(void)
{
    tape *t = tape_new();
    if (t) tape_set_jitter(t, 0, false);
    return t;
}

anygp_status forward_open(const forward_model *m, const void *model, int count, const forward_param *own,
                          const problem *p, forward **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    forward *f = calloc(1, sizeof *f);
    if (!f) return fail_memory(e, "the model", sizeof *f);
    *f = (forward){.model = m,
                   .problem = p,
                   .own = count,
                   .param = own,
                   .at = {.model = model, .mean = p->mean},
                   .threads = threads_max()};
    f->nodes = FORWARD_OWN + count + m->made;
    TRY_DONE(f->nodes <= FORWARD_NODES ? ANYGP_OK : fail_with(e, ANYGP_ERR_INTERNAL, "a model has too many nodes"));
    TRY_DONE(driver_open(m->rows_alone ? &any_rows : &whole_blocks, p->blocks, p->comm, 0, &f->driver, e));
    f->thread = mem_zeroed(f->threads, sizeof *f->thread);
    bool ok = f->thread && (f->shared = tape_new()) && (f->head = plain_tape());
    for (int i = 0; ok && i < f->threads; i++) ok = (f->thread[i] = plain_tape()) != NULL;
    if (!ok) status = fail_memory(e, "the model", 0);
done:
    if (ANYGP_FAILED(status))
        forward_close(f);
    else
        *out = f;
    return status;
}

static anygp_status make_room(forward *f, int64_t stat, int64_t adjoint, anygp_error *e)
{
    if (f->stat && stat == f->stat_size && adjoint == f->adjoint_size) return ANYGP_OK;
    free(f->stat);
    free(f->adjoint);
    f->stat_size = stat, f->adjoint_size = adjoint;
    f->stat = mem_alloc(stat, sizeof(double));
    f->adjoint = mem_alloc(adjoint, sizeof(double));
    return f->stat && f->adjoint ? ANYGP_OK : fail_memory(e, "the sums", 8.0 * (double)(stat + adjoint));
}

/* The size of the statistic, from one row of zeros, and from two whether it depends on the rows: so that errors in a model are
   found before any pass, on every rank. */
static anygp_status measure(forward *f, anygp_error *e)
{
    int64_t D = f->problem->blocks->D, Q = f->problem->blocks->Q, adjoint = 0;
    anygp_status status = ANYGP_OK;
    forward_view g;
    double *zeros = mem_zeroed(2, (size_t)(D + Q) * sizeof *zeros);
    if (!zeros) return fail_memory(e, "a row", 16.0 * (double)(D + Q));
    row_block b = {.n = 1, .X = zeros, .y = zeros + 2 * D, .w = (const double[]){1, 1}};
    for (int i = 0; i < f->nodes; i++) adjoint += size_of(f->at.v[i]);
    int64_t stat = size_of(record(f, f->head, &b, false, &g));
    TRY_DONE(tape_status(f->head, e));
    TRY_DONE(make_room(f, stat, adjoint, e));
    b.n = 2;
    record_checked(f, f->head, &b, false, &g);
    status = tape_status(f->head, e);
done:
    free(zeros);
    return status;
}

/* --------------------------------------------------------------------------------------- gradient */

static anygp_status prepare(forward *f, const hyper *h, bool grow, double *jitter, anygp_error *e)
{
    tape_reset(f->shared);
    tape_set_jitter(f->shared, *jitter, grow);
    f->at.h = h;
    parameters(f, f->shared, h, &f->at);
    f->model->prepare(f->shared, &f->at);
    TRY(tape_status(f->shared, e));
    if (grow) *jitter = tape_jitter(f->shared);
    return measure(f, e);
}

/* The value; with `reverse` also the adjoints that head itself gives to the nodes, and that of the sum. */
static anygp_status head(forward *f, bool reverse, forward_view *g, double *value, anygp_error *e)
{
    tape *t = f->head;
    tape_reset(t);
    borrow(f, t, reverse, g);
    node *sum = (reverse ? tape_variable : tape_constant)(t, f->stat_size, 1, f->stat),
         *out = f->model->head(t, g, sum);
    TRY(tape_status(t, e));
    *value = tape_value(out);
    if (!isfinite(*value)) return fail_with(e, ANYGP_ERR_NUMERIC, "the objective is not a number");
    if (!reverse) return ANYGP_OK;
    TRY(tape_backward(t, out, e));
    f->sum_bar = tape_grad(t, sum);
    return tape_status(t, e);
}

/* From the adjoints of all nodes to the gradient in those that are parameters. */
static anygp_status finish(forward *f, const hyper *h, double *g, anygp_error *e)
{
    const double *from = f->adjoint;
    for (int i = 0; i < f->nodes; from += size_of(f->at.v[i++])) tape_seed(f->shared, f->at.v[i], from);
    TRY(tape_sweep(f->shared, e));
    for (int i = 0; i < FORWARD_OWN + f->own; i++) {
        const node *n = f->at.v[i];
        if (i == FORWARD_Z && !h->learn_Z) continue;
        memcpy(g, tape_adjoint(n), (size_t)size_of(n) * sizeof *g);
        g += size_of(n);
    }
    return ANYGP_OK;
}

anygp_status forward_gradient(forward *f, const hyper *h, int64_t count, const int64_t *which, double scale, bool grow,
                              double *jitter, double *value, double *g, anygp_error *e)
{
    forward_view view;
    TRY(prepare(f, h, grow, jitter, e));
    anygp_status status = pass(f, false, count, which, scale, e);
    if (status != ANYGP_OK) return status;
    TRY(head(f, g != NULL, &view, value, e));
    if (!g) return ANYGP_OK;
    status = pass(f, true, count, which, scale, e);
    if (status != ANYGP_OK) return status;
    collect(f, &view, f->adjoint);
    return finish(f, h, g, e);
}

/* ------------------------------------------------------------------------------------ as a model */

bool forward_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    forward *f = state;
    anygp_error why;
    anygp_status status = f->own > 0 ? fail_with(&why, ANYGP_ERR_INTERNAL,
                                                 "a model with parameters of its own has no place for their gradient")
                                     : forward_gradient(f, h, 0, NULL, 1, grow, jitter, value, gp, &why);
    f->failure = (anygp_error){.status = ANYGP_OK};
    if (status == ANYGP_TIME_LIMIT) f->failure.status = status;
    if (ANYGP_FAILED(status) && status != ANYGP_ERR_NUMERIC) f->failure = why;
    return status == ANYGP_OK;
}

const anygp_error *forward_failure(const void *state) { return &((const forward *)state)->failure; }
double forward_rows(const void *state) { return ((const forward *)state)->problem->blocks->total; }
