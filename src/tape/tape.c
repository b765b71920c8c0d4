/* The graph, its memory and the backward sweep.  Recording order is a topological order, so the sweep is a walk
   from the newest node to the oldest. */
#include "tape/tape.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tape/ops.h"

tape *tape_new(void)
{
    tape *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->memory = arena_new();
    if (!t->memory) return tape_free(t), NULL;
    t->grow = true;
    tape_reset(t);
    return t;
}

void tape_free(tape *t)
{
    if (!t) return;
    arena_free(t->memory);
    free(t);
}

void tape_reset(tape *t)
{
    arena_reset(t->memory);
    t->newest = NULL;
    t->jitter = 0;
    t->failure = (anygp_error){.status = ANYGP_OK};
    t->dead_value = NAN;
    t->dead = (node){.value = &t->dead_value};
}

void tape_set_jitter(tape *t, double relative, bool grow) { t->relative = relative, t->grow = grow; }
double tape_jitter(const tape *t) { return t->jitter; }

/* ---------------------------------------------------------------------------------------------- failure */

void tape_fail(tape *t, anygp_status status, const char *format, ...)
{
    if (tape_failed(t)) return;
    va_list args;
    va_start(args, format);
    vsnprintf(t->failure.text, sizeof t->failure.text, format, args);
    va_end(args);
    t->failure.status = status;
}

bool tape_failed(const tape *t) { return ANYGP_FAILED(t->failure.status); }

anygp_status tape_status(const tape *t, anygp_error *e)
{
    if (e && tape_failed(t)) *e = t->failure;
    return t->failure.status;
}

/* ----------------------------------------------------------------------------------------------- memory */

void *tape_alloc(tape *t, int64_t count, size_t size)
{
    if (tape_failed(t)) return NULL;
    void *p = arena_alloc(t->memory, count, size);
    if (!p) tape_fail(t, ANYGP_ERR_MEMORY, "not enough memory for one step of the computation; use smaller blocks");
    return p;
}

double *tape_doubles(tape *t, int64_t rows, int64_t cols)
{
    size_t count;
    if (size_mul(rows, cols, &count)) return tape_alloc(t, (int64_t)count, sizeof(double));
    tape_fail(t, ANYGP_ERR_MEMORY, "a matrix of %lld x %lld is larger than any memory", (long long)rows,
              (long long)cols);
    return NULL;
}

double *tape_grad(tape *t, node *n)
{
    if (!n->active || tape_failed(t)) return NULL;
    if (!n->adjoint) {
        n->adjoint = tape_doubles(t, n->rows, n->cols);
        if (n->adjoint) memset(n->adjoint, 0, (size_t)node_size(n) * sizeof(double));
    }
    return n->adjoint;
}

/* -------------------------------------------------------------------------------------------- recording */

static node *record(tape *t, int64_t rows, int64_t cols)
{
    node *n = tape_alloc(t, 1, sizeof *n);
    if (!n) return &t->dead;
    *n = (node){.rows = rows, .cols = cols, .previous = t->newest};
    t->newest = n;
    return n;
}

/* Leaves have no forward function, so the caller's numbers are never written. */
static node *leaf(tape *t, int64_t rows, int64_t cols, const double *values, bool active)
{
    node *n = record(t, rows, cols);
    if (n == &t->dead) return n;
    n->value = (double *)values;
    n->active = active;
    return n;
}

node *tape_constant(tape *t, int64_t rows, int64_t cols, const double *values)
{
    return leaf(t, rows, cols, values, false);
}

node *tape_variable(tape *t, int64_t rows, int64_t cols, const double *values)
{
    return leaf(t, rows, cols, values, true);
}

static void fail_shapes(tape *t, const char *name, int n_inputs, node *const *inputs)
{
    const node *a = inputs[0], *b = inputs[n_inputs - 1];
    tape_fail(t, ANYGP_ERR_INTERNAL, "the operands of %s do not fit: %lld x %lld and %lld x %lld", name,
              (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols);
}

node *tape_begin(tape *t, const tape_op *op, bool fit, int64_t rows, int64_t cols, int n_inputs, node *const *inputs)
{
    if (!fit) fail_shapes(t, op->name, n_inputs, inputs);
    node *n = record(t, rows, cols);
    node **in = tape_alloc(t, n_inputs, sizeof *in);
    double *value = tape_doubles(t, rows, cols);
    if (tape_failed(t)) return &t->dead;
    n->op = op;
    n->value = value;
    n->inputs = in;
    n->n_inputs = n_inputs;
    for (int i = 0; i < n_inputs; i++) {
        in[i] = inputs[i];
        n->active |= in[i]->active;
    }
    return n;
}

node *tape_finish(tape *t, node *n)
{
    if (tape_failed(t)) return &t->dead;
    n->op->forward(t, n);
    return tape_failed(t) ? &t->dead : n;
}

node *tape_custom(tape *t, int64_t rows, int64_t cols, int n_inputs, node *const *inputs, const tape_op *op, void *ctx)
{
    node *n = tape_begin(t, op, true, rows, cols, n_inputs, inputs);
    n->ctx = ctx;
    return tape_finish(t, n);
}

/* ------------------------------------------------------------------------------------------ the reverse */

void tape_seed(tape *t, node *n, const double *seed)
{
    double *adjoint = tape_grad(t, n);
    if (adjoint) la_axpy(node_size(n), 1, seed, adjoint);
}

anygp_status tape_sweep(tape *t, anygp_error *e)
{
    for (node *n = t->newest; n && !tape_failed(t); n = n->previous)
        if (n->op && n->adjoint) n->op->reverse(t, n);
    return tape_status(t, e);
}

anygp_status tape_backward(tape *t, node *scalar, anygp_error *e)
{
    if (!tape_failed(t) && !node_is_scalar(scalar))
        tape_fail(t, ANYGP_ERR_INTERNAL, "only a scalar has a gradient, this is %lld x %lld", (long long)scalar->rows,
                  (long long)scalar->cols);
    tape_seed(t, scalar, &(double){1});
    return tape_sweep(t, e);
}

double tape_value(const node *scalar) { return scalar->value[0]; }
const double *tape_adjoint(const node *n) { return n->adjoint; }

/* --------------------------------------------------------------------------------------- all operations */

static const tape_op_list *const LISTS[] = {&tape_ops_element, &tape_ops_blas, &tape_ops_factor, &tape_ops_reduce};
enum { N_LISTS = sizeof LISTS / sizeof *LISTS };

int tape_op_count(void)
{
    int count = 0;
    for (int l = 0; l < N_LISTS; l++) count += LISTS[l]->count;
    return count;
}

const tape_op *tape_op_at(int i)
{
    int l = 0;
    for (; l < N_LISTS - 1 && i >= LISTS[l]->count; l++) i -= LISTS[l]->count;
    return &LISTS[l]->ops[i];
}
