/* Elementwise operations: y = f(x) for every element; reverse: dx += f'(x) dy.  O(rows cols). */
#include "tape/ops.h"

#include <math.h>

/* The arrays of a node with one input, by name. */
typedef struct unary {
    int64_t size; /* 0 if no adjoint is wanted */
    const double *x, *y, *dy;
    double *out, *dx;
} unary;

static unary forward_of(const node *n)
{
    return (unary){.size = node_size(n), .x = n->inputs[0]->value, .out = n->value};
}

static unary reverse_of(tape *t, const node *n)
{
    double *dx = tape_grad(t, n->inputs[0]);
    return (unary){dx ? node_size(n) : 0, n->inputs[0]->value, n->value, n->adjoint, NULL, dx};
}

/* D += alpha dy for input i */
static void pass_on(tape *t, node *n, int i, double alpha)
{
    double *d = tape_grad(t, n->inputs[i]);
    if (d) la_axpy(node_size(n), alpha, n->adjoint, d);
}

/* D += dy * v elementwise for input i */
static void pass_on_times(tape *t, node *n, int i, const double *v)
{
    double *d = tape_grad(t, n->inputs[i]);
    for (int64_t j = 0; d && j < node_size(n); j++) d[j] += n->adjoint[j] * v[j];
}

/* ---------------------------------------------------------------------------------------- two operands */

static void add_forward(tape *t, node *n)
{
    (void)t;
    const double *a = n->inputs[0]->value, *b = n->inputs[1]->value;
    for (int64_t i = 0; i < node_size(n); i++) n->value[i] = a[i] + b[i];
}

static void add_reverse(tape *t, node *n)
{
    pass_on(t, n, 0, 1);
    pass_on(t, n, 1, 1);
}

static void sub_forward(tape *t, node *n)
{
    (void)t;
    const double *a = n->inputs[0]->value, *b = n->inputs[1]->value;
    for (int64_t i = 0; i < node_size(n); i++) n->value[i] = a[i] - b[i];
}

static void sub_reverse(tape *t, node *n)
{
    pass_on(t, n, 0, 1);
    pass_on(t, n, 1, -1);
}

static void mul_forward(tape *t, node *n)
{
    (void)t;
    const double *a = n->inputs[0]->value, *b = n->inputs[1]->value;
    for (int64_t i = 0; i < node_size(n); i++) n->value[i] = a[i] * b[i];
}

static void mul_reverse(tape *t, node *n)
{
    pass_on_times(t, n, 0, n->inputs[1]->value);
    pass_on_times(t, n, 1, n->inputs[0]->value);
}

/* ---------------------------------------------------------------------------------------- one operand */

static void scale_forward(tape *t, node *n)
{
    (void)t;
    unary u = forward_of(n);
    for (int64_t i = 0; i < u.size; i++) u.out[i] = n->scalar * u.x[i];
}

static void scale_reverse(tape *t, node *n) { pass_on(t, n, 0, n->scalar); }

static void log_forward(tape *t, node *n)
{
    (void)t;
    unary u = forward_of(n);
    for (int64_t i = 0; i < u.size; i++) u.out[i] = log(u.x[i]);
}

static void log_reverse(tape *t, node *n)
{
    unary u = reverse_of(t, n);
    for (int64_t i = 0; i < u.size; i++) u.dx[i] += u.dy[i] / u.x[i];
}

static void sqrt_forward(tape *t, node *n)
{
    (void)t;
    unary u = forward_of(n);
    for (int64_t i = 0; i < u.size; i++) u.out[i] = sqrt(u.x[i]);
}

static void sqrt_reverse(tape *t, node *n)
{
    unary u = reverse_of(t, n);
    for (int64_t i = 0; i < u.size; i++) u.dx[i] += 0.5 * u.dy[i] / u.y[i];
}

static void reciprocal_forward(tape *t, node *n)
{
    (void)t;
    unary u = forward_of(n);
    for (int64_t i = 0; i < u.size; i++) u.out[i] = 1 / u.x[i];
}

static void reciprocal_reverse(tape *t, node *n)
{
    unary u = reverse_of(t, n);
    for (int64_t i = 0; i < u.size; i++) u.dx[i] -= u.dy[i] * u.y[i] * u.y[i];
}

/* ------------------------------------------------------------- a scalar everywhere, and one number for each column */

/* C_ij = s:  ds += sum dC */
static void fill_forward(tape *t, node *n)
{
    (void)t;
    for (int64_t i = 0; i < node_size(n); i++) n->value[i] = n->inputs[0]->value[0];
}

static void fill_reverse(tape *t, node *n)
{
    double *ds = tape_grad(t, n->inputs[0]);
    for (int64_t i = 0; ds && i < node_size(n); i++) *ds += n->adjoint[i];
}

/* C = A diag(s):  dA += dC diag(s),  ds_j += a_j'dc_j */
static void scale_columns_forward(tape *t, node *n)
{
    (void)t;
    const double *A = n->inputs[0]->value, *s = n->inputs[1]->value;
    for (int64_t j = 0, at = 0; j < n->cols; j++)
        for (int64_t i = 0; i < n->rows; i++, at++) n->value[at] = A[at] * s[j];
}

static void scale_columns_reverse(tape *t, node *n)
{
    double *dA = tape_grad(t, n->inputs[0]), *ds = tape_grad(t, n->inputs[1]);
    for (int64_t j = 0, at = 0; j < n->cols; j++, at += n->rows) {
        if (dA) la_axpy(n->rows, n->inputs[1]->value[j], n->adjoint + at, dA + at);
        if (ds) ds[j] += la_dot(n->rows, n->adjoint + at, n->inputs[0]->value + at);
    }
}

/* ------------------------------------------------------------------------------------------------ the table */

enum { ADD, SUB, MUL, SCALE, LOG, SQRT, RECIPROCAL, FILL, SCALE_COLUMNS };

static const tape_op OPS[] = {
    [ADD] = {"add", add_forward, add_reverse},
    [SUB] = {"sub", sub_forward, sub_reverse},
    [MUL] = {"mul", mul_forward, mul_reverse},
    [SCALE] = {"scale", scale_forward, scale_reverse},
    [LOG] = {"log", log_forward, log_reverse},
    [SQRT] = {"sqrt", sqrt_forward, sqrt_reverse},
    [RECIPROCAL] = {"reciprocal", reciprocal_forward, reciprocal_reverse},
    [FILL] = {"fill", fill_forward, fill_reverse},
    [SCALE_COLUMNS] = {"scale_columns", scale_columns_forward, scale_columns_reverse},
};

const tape_op_list tape_ops_element = {OPS, sizeof OPS / sizeof *OPS};

static node *binary(tape *t, int op, bool fit, node *A, node *B)
{
    return tape_finish(t, tape_begin(t, &OPS[op], fit, A->rows, A->cols, 2, (node *[]){A, B}));
}

static node *with_constant(tape *t, int op, node *A, double c)
{
    node *n = tape_begin(t, &OPS[op], true, A->rows, A->cols, 1, &A);
    n->scalar = c;
    return tape_finish(t, n);
}

node *tape_add(tape *t, node *A, node *B) { return binary(t, ADD, same_shape(A, B), A, B); }
node *tape_sub(tape *t, node *A, node *B) { return binary(t, SUB, same_shape(A, B), A, B); }
node *tape_mul(tape *t, node *A, node *B) { return binary(t, MUL, same_shape(A, B), A, B); }
node *tape_scale(tape *t, node *A, double c) { return with_constant(t, SCALE, A, c); }
node *tape_log(tape *t, node *A) { return with_constant(t, LOG, A, 0); }
node *tape_sqrt(tape *t, node *A) { return with_constant(t, SQRT, A, 0); }
node *tape_reciprocal(tape *t, node *A) { return with_constant(t, RECIPROCAL, A, 0); }

node *tape_scale_columns(tape *t, node *A, node *s) { return binary(t, SCALE_COLUMNS, node_size(s) == A->cols, A, s); }

node *tape_fill(tape *t, node *s, int64_t rows, int64_t cols)
{
    return tape_finish(t, tape_begin(t, &OPS[FILL], node_is_scalar(s), rows, cols, 1, &s));
}
