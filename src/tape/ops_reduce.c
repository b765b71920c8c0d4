/* Sums, the two terms of a variational bound built from them, and slices.
   Costs are linear in the numbers read. */
#include "tape/ops.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------------ s = sum A */

static void sum_forward(tape *t, node *n)
{
    (void)t;
    const node *A = n->inputs[0];
    double s = 0;
    for (int64_t i = 0; i < node_size(A); i++) s += A->value[i];
    n->value[0] = s;
}

static void sum_reverse(tape *t, node *n)
{
    node *A = n->inputs[0];
    double *dA = tape_grad(t, A);
    for (int64_t i = 0; dA && i < node_size(A); i++) dA[i] += n->adjoint[0];
}

/* --------------------------------------------------------- s = sum A_ij B_ij;  dA += ds B,  dB += ds A */

static void dot_forward(tape *t, node *n)
{
    (void)t;
    const node *A = n->inputs[0], *B = n->inputs[1];
    n->value[0] = la_dot(node_size(A), A->value, B->value);
}

static void dot_reverse(tape *t, node *n)
{
    node *A = n->inputs[0], *B = n->inputs[1];
    double *dA = tape_grad(t, A), *dB = tape_grad(t, B), ds = n->adjoint[0];
    if (dA) la_axpy(node_size(A), ds, B->value, dA);
    if (dB) la_axpy(node_size(A), ds, A->value, dB);
}

/* --------------------------- v_i = k_i - |a_i|^2 + |c_i|^2: the marginal variance of f_i under q(u), whitened */

/* D(:,j) += alpha v_j S(:,j) */
static void add_scaled_columns(const node *S, double alpha, const double *v, double *D)
{
    for (int64_t j = 0; D && j < S->cols; j++) la_axpy(S->rows, alpha * v[j], S->value + j * S->rows, D + j * S->rows);
}

static double column_square(const node *A, int64_t j)
{
    return la_dot(A->rows, A->value + j * A->rows, A->value + j * A->rows);
}

static void marginal_forward(tape *t, node *n)
{
    (void)t;
    const node *k = n->inputs[0], *A = n->inputs[1], *C = n->n_inputs > 2 ? n->inputs[2] : NULL;
    for (int64_t j = 0; j < A->cols; j++)
        n->value[j] = k->value[j] - column_square(A, j) + (C ? column_square(C, j) : 0);
}

static void marginal_reverse(tape *t, node *n)
{
    node *k = n->inputs[0], *A = n->inputs[1];
    double *dk = tape_grad(t, k);
    if (dk) la_axpy(node_size(k), 1, n->adjoint, dk);
    add_scaled_columns(A, -2, n->adjoint, tape_grad(t, A));
    if (n->n_inputs > 2) add_scaled_columns(n->inputs[2], 2, n->adjoint, tape_grad(t, n->inputs[2]));
}

/* -------------------- KL(N(m, R R') || N(0, I)) = 1/2 (|m|^2 + |R|_F^2 - M) - sum log |R_ii|,  R lower M x M */

static void kl_white_forward(tape *t, node *n)
{
    (void)t;
    const node *m = n->inputs[0], *R = n->inputs[1];
    int64_t M = R->rows;
    double squares = la_dot(M, m->value, m->value), logs = 0;
    for (int64_t j = 0; j < M; j++) {
        const double *r = R->value + j * (M + 1);
        squares += la_dot(M - j, r, r);
        logs += log(fabs(*r));
    }
    n->value[0] = 0.5 * (squares - (double)M) - logs;
}

static void kl_white_reverse(tape *t, node *n)
{
    node *m = n->inputs[0], *R = n->inputs[1];
    int64_t M = R->rows;
    double *dm = tape_grad(t, m), *dR = tape_grad(t, R), ds = n->adjoint[0];
    if (dm) la_axpy(M, ds, m->value, dm);
    if (dR) add_lower(M, ds, R->value, dR);
    for (int64_t i = 0; dR && i < M; i++) dR[i * (M + 1)] -= ds / R->value[i * (M + 1)];
}

/* ---------------------------------------------------------------------------------- concat and slice */

static void concat_forward(tape *t, node *n)
{
    (void)t;
    double *to = n->value;
    for (int i = 0; i < n->n_inputs; to += node_size(n->inputs[i++]))
        memcpy(to, n->inputs[i]->value, (size_t)node_size(n->inputs[i]) * sizeof *to);
}

static void concat_reverse(tape *t, node *n)
{
    const double *from = n->adjoint;
    for (int i = 0; i < n->n_inputs; from += node_size(n->inputs[i++])) {
        double *d = tape_grad(t, n->inputs[i]);
        if (d) la_axpy(node_size(n->inputs[i]), 1, from, d);
    }
}

static void slice_forward(tape *t, node *n)
{
    (void)t;
    memcpy(n->value, n->inputs[0]->value + n->offset, (size_t)node_size(n) * sizeof(double));
}

static void slice_reverse(tape *t, node *n)
{
    double *d = tape_grad(t, n->inputs[0]);
    if (d) la_axpy(node_size(n), 1, n->adjoint, d + n->offset);
}

/* -------------------------------------------------------------------------------------------- the table */

enum { SUM, DOT, MARGINAL, KL_WHITE, CONCAT, SLICE };

static const tape_op OPS[] = {
    [SUM] = {"sum", sum_forward, sum_reverse},
    [DOT] = {"dot", dot_forward, dot_reverse},
    [MARGINAL] = {"marginal", marginal_forward, marginal_reverse},
    [KL_WHITE] = {"kl_white", kl_white_forward, kl_white_reverse},
    [CONCAT] = {"concat", concat_forward, concat_reverse},
    [SLICE] = {"slice", slice_forward, slice_reverse},
};

const tape_op_list tape_ops_reduce = {OPS, sizeof OPS / sizeof *OPS};

static node *reduce(tape *t, int op, bool fit, int64_t rows, int count, node *const *inputs)
{
    return tape_finish(t, tape_begin(t, &OPS[op], fit, rows, 1, count, inputs));
}

static bool square(const node *A) { return A->rows == A->cols; }

node *tape_sum(tape *t, node *A) { return reduce(t, SUM, true, 1, 1, &A); }
node *tape_dot(tape *t, node *A, node *B) { return reduce(t, DOT, same_shape(A, B), 1, 2, (node *[]){A, B}); }

node *tape_marginal(tape *t, node *kdiag, node *A, node *C)
{
    bool fit = node_size(kdiag) == A->cols && (!C || C->cols == A->cols);
    return reduce(t, MARGINAL, fit, A->cols, C ? 3 : 2, (node *[]){kdiag, A, C});
}

node *tape_kl_white(tape *t, node *m, node *R)
{
    return reduce(t, KL_WHITE, square(R) && node_size(m) == R->rows, 1, 2, (node *[]){m, R});
}

node *tape_concat(tape *t, int count, node *const *parts)
{
    int64_t rows = 0;
    for (int i = 0; i < count; i++) rows += node_size(parts[i]);
    return reduce(t, CONCAT, true, rows, count, parts);
}

node *tape_slice(tape *t, node *A, int64_t offset, int64_t rows, int64_t cols)
{
    size_t size;
    bool fit =
        offset >= 0 && offset <= node_size(A) && size_mul(rows, cols, &size) && (int64_t)size <= node_size(A) - offset;
    node *n = tape_begin(t, &OPS[SLICE], fit, rows, cols, 1, &A);
    n->offset = offset;
    return tape_finish(t, n);
}
