/* Gram matrices as an operation of the tape. */
#include "kernel/tape_gram.h"

#include <string.h>

#include "linalg/linalg.h"

enum { P, X, Z }; /* inputs */

static void out_of_memory(tape *t) { tape_fail(t, ANYGP_ERR_MEMORY, "not enough memory for kernel tiles"); }

static void gram_forward(tape *t, node *n)
{
    const node *x = n->inputs[X], *z = n->inputs[Z];
    if (!kernel_gram(n->ctx, x->cols, x->value, x->rows, z->cols, z->value, z->rows, n->value, n->rows))
        out_of_memory(t);
}

static void gram_reverse(tape *t, node *n)
{
    node *x = n->inputs[X], *z = n->inputs[Z];
    if (!kernel_gram_reverse(n->ctx, x->cols, x->value, x->rows, z->cols, z->value, z->rows, n->adjoint, n->rows,
                             tape_grad(t, n->inputs[P]), tape_grad(t, x), x->rows, tape_grad(t, z), z->rows))
        out_of_memory(t);
}

/* gp += g times the gradient of the variance of white terms: what kernel_gram_sym includes for every row and kernel_diag does not. */
static void add_white(tape *t, const kernel *k, double g, double *gp)
{
    int64_t D = kernel_inputs(k);
    double *x = gp && kernel_has_white(k) ? tape_doubles(t, D, 1) : NULL, minus = -g;
    if (!x) return;
    memset(x, 0, (size_t)D * sizeof *x);
    kernel_diag_reverse(k, 1, x, D, &minus, gp, NULL, 0);
    if (!kernel_gram_sym_reverse(k, 1, x, D, &g, 1, gp, NULL, 0)) out_of_memory(t);
}

static void white_forward(tape *t, node *n)
{
    (void)t;
    n->value[0] = kernel_white(n->ctx);
}

static void white_reverse(tape *t, node *n) { add_white(t, n->ctx, n->adjoint[0], tape_grad(t, n->inputs[P])); }

static void sym_forward(tape *t, node *n)
{
    const node *x = n->inputs[X];
    double white = kernel_white(n->ctx);
    if (!kernel_gram_sym(n->ctx, x->cols, x->value, x->rows, n->value, n->rows)) {
        out_of_memory(t);
        return;
    }
    for (int64_t i = 0; i < n->rows; i++) n->value[i * (n->rows + 1)] -= white;
    la_mirror(n->rows, n->value, n->rows);
}

/* The matrix is full and symmetric, its adjoint need not be: both triangles count. */
static void sym_reverse(tape *t, node *n)
{
    node *x = n->inputs[X];
    int64_t size = n->rows;
    double *G = tape_doubles(t, size, size), *gp = tape_grad(t, n->inputs[P]), trace = 0;
    if (!G) return;
    for (int64_t j = 0; j < size; j++)
        for (int64_t i = j; i < size; i++)
            G[i + j * size] = 0.5 * (n->adjoint[i + j * size] + n->adjoint[j + i * size]);
    if (!kernel_gram_sym_reverse(n->ctx, size, x->value, x->rows, G, size, gp, tape_grad(t, x), x->rows))
        out_of_memory(t);
    for (int64_t i = 0; i < size; i++) trace += G[i * (size + 1)];
    add_white(t, n->ctx, -trace, gp);
}

static void diag_forward(tape *t, node *n)
{
    const node *x = n->inputs[X];
    (void)t;
    kernel_diag(n->ctx, x->cols, x->value, x->rows, n->value);
}

static void diag_reverse(tape *t, node *n)
{
    node *x = n->inputs[X];
    kernel_diag_reverse(n->ctx, x->cols, x->value, x->rows, n->adjoint, tape_grad(t, n->inputs[P]), tape_grad(t, x),
                        x->rows);
}

static const tape_op op_gram = {"gram", gram_forward, gram_reverse};
static const tape_op op_gram_sym = {"gram_sym", sym_forward, sym_reverse};
static const tape_op op_white = {"white", white_forward, white_reverse};
static const tape_op op_gram_diag = {"gram_diag", diag_forward, diag_reverse};

node *tape_gram(tape *t, const kernel *k, node *p, node *x, node *z)
{
    return tape_custom(t, x->cols, z->cols, 3, (node *[]){p, x, z}, &op_gram, (void *)k);
}

node *tape_gram_sym(tape *t, const kernel *k, node *p, node *x)
{
    return tape_custom(t, x->cols, x->cols, 2, (node *[]){p, x}, &op_gram_sym, (void *)k);
}

node *tape_gram_diag(tape *t, const kernel *k, node *p, node *x)
{
    return tape_custom(t, x->cols, 1, 2, (node *[]){p, x}, &op_gram_diag, (void *)k);
}

node *tape_white(tape *t, const kernel *k, node *p) { return tape_custom(t, 1, 1, 1, &p, &op_white, (void *)k); }
