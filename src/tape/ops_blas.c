/* Products.  For C = op(A) op(B) the adjoints are dA = dC op(B)' and dB = op(A)' dC, transposed where op is.
   Reverse costs twice the forward. */
#include "tape/ops.h"

#include <string.h>

static la_op flip(la_op op) { return op == LA_N ? LA_T : LA_N; }

void add_lower(int64_t n, double alpha, const double *S, double *D)
{
    for (int64_t j = 0; j < n; j++) la_axpy(n - j, alpha, S + j * (n + 1), D + j * (n + 1));
}

/* -------------------------------------------------------------------------------------------- transpose */

static void transpose_forward(tape *t, node *n)
{
    (void)t;
    const double *A = n->inputs[0]->value;
    for (int64_t j = 0; j < n->cols; j++)
        for (int64_t i = 0; i < n->rows; i++) n->value[i + j * n->rows] = A[j + i * n->cols];
}

static void transpose_reverse(tape *t, node *n)
{
    double *dA = tape_grad(t, n->inputs[0]);
    if (!dA) return;
    for (int64_t j = 0; j < n->cols; j++)
        for (int64_t i = 0; i < n->rows; i++) dA[j + i * n->cols] += n->adjoint[i + j * n->rows];
}

/* ------------------------------------------------------------------------------------------ C = [A; B] */

static void stack_forward(tape *t, node *n)
{
    double *to = n->value;
    (void)t;
    for (int64_t j = 0; j < n->cols; j++)
        for (int i = 0; i < 2; to += n->inputs[i++]->rows) {
            int64_t rows = n->inputs[i]->rows;
            memcpy(to, n->inputs[i]->value + j * rows, (size_t)rows * sizeof *to);
        }
}

static void stack_reverse(tape *t, node *n)
{
    const double *from = n->adjoint;
    double *const d[2] = {tape_grad(t, n->inputs[0]), tape_grad(t, n->inputs[1])};
    for (int64_t j = 0; j < n->cols; j++)
        for (int i = 0; i < 2; from += n->inputs[i++]->rows) {
            int64_t rows = n->inputs[i]->rows;
            if (d[i]) la_axpy(rows, 1, from, d[i] + j * rows);
        }
}

/* ------------------------------------------------------------------------------- C[m,n] = op(A) op(B) */

static int64_t inner(const node *A, la_op opa) { return opa == LA_N ? A->cols : A->rows; }
static int64_t outer(const node *A, la_op opa) { return opa == LA_N ? A->rows : A->cols; }

static void gemm_forward(tape *t, node *n)
{
    (void)t;
    const node *A = n->inputs[0], *B = n->inputs[1];
    la_gemm(n->trans[0], n->trans[1], n->rows, n->cols, inner(A, n->trans[0]), 1, A->value, A->rows, B->value, B->rows,
            0, n->value, n->rows);
}

static void gemm_reverse(tape *t, node *n)
{
    node *A = n->inputs[0], *B = n->inputs[1];
    la_op opa = n->trans[0], opb = n->trans[1];
    int64_t m = n->rows, c = n->cols, k = inner(A, opa);
    double *dA = tape_grad(t, A), *dB = tape_grad(t, B), *dC = n->adjoint;
    if (dA && opa == LA_N) la_gemm(LA_N, flip(opb), m, k, c, 1, dC, m, B->value, B->rows, 1, dA, m);
    if (dA && opa == LA_T) la_gemm(opb, LA_T, k, m, c, 1, B->value, B->rows, dC, m, 1, dA, k);
    if (dB && opb == LA_N) la_gemm(flip(opa), LA_N, k, c, m, 1, A->value, A->rows, dC, m, 1, dB, k);
    if (dB && opb == LA_T) la_gemm(LA_T, opa, c, k, m, 1, dC, m, A->value, A->rows, 1, dB, c);
}

/* ----------------------------------------------------- C = A A' or A' A;  dA += (dC + dC') A or A (dC + dC') */

static void syrk_forward(tape *t, node *n)
{
    (void)t;
    const node *A = n->inputs[0];
    la_op op = n->trans[0];
    la_syrk(op, n->rows, inner(A, op), 1, A->value, A->rows, 0, n->value, n->rows);
    la_mirror(n->rows, n->value, n->rows);
}

static void syrk_reverse(tape *t, node *n)
{
    node *A = n->inputs[0];
    double *dA = tape_grad(t, A), *dC = n->adjoint;
    int64_t m = A->rows, k = A->cols;
    for (la_op half = LA_N; dA && half <= LA_T; half++)
        if (n->trans[0] == LA_N)
            la_gemm(half, LA_N, m, k, m, 1, dC, m, A->value, m, 1, dA, m);
        else
            la_gemm(LA_N, half, m, k, k, 1, A->value, m, dC, k, 1, dA, m);
}

/* ------------------------------------------------------- C = L'B;  dB += L dC;  dL += lower(B dC') */

static void mul_lower_t_forward(tape *t, node *n)
{
    (void)t;
    const node *L = n->inputs[0], *B = n->inputs[1];
    memcpy(n->value, B->value, (size_t)node_size(n) * sizeof(double));
    la_trmm(LA_LEFT, LA_T, n->rows, n->cols, 1, L->value, L->rows, n->value, n->rows);
}

static void mul_lower_t_reverse(tape *t, node *n)
{
    node *L = n->inputs[0], *B = n->inputs[1];
    int64_t m = n->rows, c = n->cols;
    double *dL = tape_grad(t, L), *dB = tape_grad(t, B);
    double *work = tape_doubles(t, m, dL && m > c ? m : c);
    if (!work) return;
    if (dL) {
        la_gemm(LA_N, LA_T, m, m, c, 1, B->value, m, n->adjoint, m, 0, work, m);
        add_lower(m, 1, work, dL);
    }
    if (dB) {
        memcpy(work, n->adjoint, (size_t)node_size(n) * sizeof *work);
        la_trmm(LA_LEFT, LA_N, m, c, 1, L->value, m, work, m);
        la_axpy(m * c, 1, work, dB);
    }
}

/* -------------------------------------------------------------------------------------------- the table */

enum { TRANSPOSE, STACK, GEMM, SYRK, MUL_LOWER_T };

static const tape_op OPS[] = {
    [TRANSPOSE] = {"transpose", transpose_forward, transpose_reverse},
    [STACK] = {"stack", stack_forward, stack_reverse},
    [GEMM] = {"gemm", gemm_forward, gemm_reverse},
    [SYRK] = {"syrk", syrk_forward, syrk_reverse},
    [MUL_LOWER_T] = {"mul_lower_t", mul_lower_t_forward, mul_lower_t_reverse},
};

const tape_op_list tape_ops_blas = {OPS, sizeof OPS / sizeof *OPS};

node *tape_transpose(tape *t, node *A)
{
    return tape_finish(t, tape_begin(t, &OPS[TRANSPOSE], true, A->cols, A->rows, 1, &A));
}

node *tape_stack(tape *t, node *A, node *B)
{
    node *const in[2] = {A, B};
    return tape_finish(t, tape_begin(t, &OPS[STACK], A->cols == B->cols, A->rows + B->rows, A->cols, 2, in));
}

node *tape_gemm(tape *t, la_op opa, node *A, la_op opb, node *B)
{
    bool fit = inner(A, opa) == outer(B, opb);
    node *n = tape_begin(t, &OPS[GEMM], fit, outer(A, opa), inner(B, opb), 2, (node *[]){A, B});
    n->trans[0] = opa;
    n->trans[1] = opb;
    return tape_finish(t, n);
}

node *tape_mul_tv(tape *t, node *A, node *v) { return tape_gemm(t, LA_T, A, LA_N, v); }

node *tape_syrk(tape *t, la_op op, node *A)
{
    node *n = tape_begin(t, &OPS[SYRK], true, outer(A, op), outer(A, op), 1, &A);
    n->trans[0] = op;
    return tape_finish(t, n);
}

node *tape_mul_lower_t(tape *t, node *L, node *B)
{
    bool fit = L->rows == L->cols && L->rows == B->rows;
    return tape_finish(t, tape_begin(t, &OPS[MUL_LOWER_T], fit, B->rows, B->cols, 2, (node *[]){L, B}));
}
