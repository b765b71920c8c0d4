/* Elementwise operations: y = f(x) for every element; reverse: dx += f'(x) dy.  All shapes equal; O(rows cols). */
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

/* y = s A:  dA += s dy,  ds += sum A dy */
static void scale_by_forward(tape *t, node *n)
{
    (void)t;
    unary u = forward_of(n);
    double s = n->inputs[1]->value[0];
    for (int64_t i = 0; i < u.size; i++) u.out[i] = s * u.x[i];
}

static void scale_by_reverse(tape *t, node *n)
{
    double *ds = tape_grad(t, n->inputs[1]);
    if (ds) *ds += la_dot(node_size(n), n->inputs[0]->value, n->adjoint);
    pass_on(t, n, 0, n->inputs[1]->value[0]);
}

/* ----------------------------------------------------------------------------------- one, and a constant */

static void scale_forward(tape *t, node *n)
{
    (void)t;
    unary u = forward_of(n);
    for (int64_t i = 0; i < u.size; i++) u.out[i] = n->scalar * u.x[i];
}

static void scale_reverse(tape *t, node *n) { pass_on(t, n, 0, n->scalar); }

static void add_scalar_forward(tape *t, node *n)
{
    (void)t;
    unary u = forward_of(n);
    for (int64_t i = 0; i < u.size; i++) u.out[i] = u.x[i] + n->scalar;
}

static void add_scalar_reverse(tape *t, node *n) { pass_on(t, n, 0, 1); }

static void power_forward(tape *t, node *n)
{
    (void)t;
    unary u = forward_of(n);
    for (int64_t i = 0; i < u.size; i++) u.out[i] = pow(u.x[i], n->scalar);
}

static void power_reverse(tape *t, node *n)
{
    unary u = reverse_of(t, n);
    for (int64_t i = 0; i < u.size; i++) u.dx[i] += u.dy[i] * n->scalar * pow(u.x[i], n->scalar - 1);
}

/* p = lower + exp(u): the positive parameters of a model, never at or below their floor */
static void constrain_forward(tape *t, node *n)
{
    (void)t;
    unary u = forward_of(n);
    const double *lower = n->ctx;
    for (int64_t i = 0; i < u.size; i++) u.out[i] = lower[i] + exp(u.x[i]);
}

static void constrain_reverse(tape *t, node *n)
{
    unary u = reverse_of(t, n);
    for (int64_t i = 0; i < u.size; i++) u.dx[i] += u.dy[i] * exp(u.x[i]);
}

/* --------------------------------------------------------------------------------------------- functions */

static void exp_forward(tape *t, node *n)
{
    (void)t;
    unary u = forward_of(n);
    for (int64_t i = 0; i < u.size; i++) u.out[i] = exp(u.x[i]);
}

static void exp_reverse(tape *t, node *n) { pass_on_times(t, n, 0, n->value); }

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

static void square_forward(tape *t, node *n)
{
    (void)t;
    unary u = forward_of(n);
    for (int64_t i = 0; i < u.size; i++) u.out[i] = u.x[i] * u.x[i];
}

static void square_reverse(tape *t, node *n)
{
    unary u = reverse_of(t, n);
    for (int64_t i = 0; i < u.size; i++) u.dx[i] += 2 * u.dy[i] * u.x[i];
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

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|): no overflow, no cancellation */
static void softplus_forward(tape *t, node *n)
{
    (void)t;
    unary u = forward_of(n);
    for (int64_t i = 0; i < u.size; i++) u.out[i] = fmax(u.x[i], 0) + log1p(exp(-fabs(u.x[i])));
}

static void softplus_reverse(tape *t, node *n)
{
    unary u = reverse_of(t, n);
    for (int64_t i = 0; i < u.size; i++) u.dx[i] += u.dy[i] / (1 + exp(-u.x[i]));
}

/* ------------------------------------------------------------------------------------------------ the table */

enum { ADD, SUB, MUL, SCALE, SCALE_BY, ADD_SCALAR, EXP, LOG, SQRT, SQUARE, RECIPROCAL, SOFTPLUS, POWER, CONSTRAIN };

static const tape_op OPS[] = {
    [ADD] = {"add", add_forward, add_reverse},
    [SUB] = {"sub", sub_forward, sub_reverse},
    [MUL] = {"mul", mul_forward, mul_reverse},
    [SCALE] = {"scale", scale_forward, scale_reverse},
    [SCALE_BY] = {"scale_by", scale_by_forward, scale_by_reverse},
    [ADD_SCALAR] = {"add_scalar", add_scalar_forward, add_scalar_reverse},
    [EXP] = {"exp", exp_forward, exp_reverse},
    [LOG] = {"log", log_forward, log_reverse},
    [SQRT] = {"sqrt", sqrt_forward, sqrt_reverse},
    [SQUARE] = {"square", square_forward, square_reverse},
    [RECIPROCAL] = {"reciprocal", reciprocal_forward, reciprocal_reverse},
    [SOFTPLUS] = {"softplus", softplus_forward, softplus_reverse},
    [POWER] = {"power", power_forward, power_reverse},
    [CONSTRAIN] = {"constrain", constrain_forward, constrain_reverse},
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
node *tape_scale_by(tape *t, node *A, node *s) { return binary(t, SCALE_BY, node_is_scalar(s), A, s); }
node *tape_scale(tape *t, node *A, double c) { return with_constant(t, SCALE, A, c); }
node *tape_add_scalar(tape *t, node *A, double c) { return with_constant(t, ADD_SCALAR, A, c); }
node *tape_power(tape *t, node *A, double p) { return with_constant(t, POWER, A, p); }
node *tape_exp(tape *t, node *A) { return with_constant(t, EXP, A, 0); }
node *tape_log(tape *t, node *A) { return with_constant(t, LOG, A, 0); }
node *tape_sqrt(tape *t, node *A) { return with_constant(t, SQRT, A, 0); }
node *tape_square(tape *t, node *A) { return with_constant(t, SQUARE, A, 0); }
node *tape_reciprocal(tape *t, node *A) { return with_constant(t, RECIPROCAL, A, 0); }
node *tape_softplus(tape *t, node *A) { return with_constant(t, SOFTPLUS, A, 0); }

node *tape_constrain(tape *t, node *u, const double *lower)
{
    node *n = tape_begin(t, &OPS[CONSTRAIN], true, u->rows, u->cols, 1, &u);
    n->ctx = (void *)lower;
    return tape_finish(t, n);
}
