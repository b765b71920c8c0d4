#include "likelihood/tape_expect.h"

#include <string.h>

enum { P, MU, VAR, INPUTS };

/* A likelihood gives its derivatives with its value: they wait here for the reverse. */
typedef struct expectation {
    likelihood l;
    expect_rows rows;
    double *d[INPUTS];
} expectation;

static void expect_forward(tape *t, node *n)
{
    expectation *x = n->ctx;
    (void)t;
    memcpy(x->l.value, n->inputs[P]->value, (size_t)x->l.params * sizeof(double));
    memset(x->d[P], 0, (size_t)x->l.params * sizeof(double));
    n->value[0] = x->l.ops->expect(&x->l, x->rows.n, x->rows.Y, x->rows.w, n->inputs[MU]->value, n->inputs[VAR]->value,
                                   x->rows.n, x->rows.random, x->rows.first, x->d[MU], x->d[VAR], x->d[P]);
}

static void expect_reverse(tape *t, node *n)
{
    const expectation *x = n->ctx;
    for (int i = 0; i < INPUTS; i++) {
        double *d = tape_grad(t, n->inputs[i]);
        if (d) la_axpy(n->inputs[i]->rows * n->inputs[i]->cols, n->adjoint[0], x->d[i], d);
    }
}

static const tape_op op_expect = {"expect", expect_forward, expect_reverse};

node *tape_expect(tape *t, const likelihood *l, node *p, const expect_rows *rows, node *mu, node *var)
{
    node *const in[INPUTS] = {p, mu, var};
    const int64_t wanted[INPUTS] = {l->params, rows->n * l->latents, rows->n * l->latents};
    expectation *x = tape_alloc(t, 1, sizeof *x);
    if (x) *x = (expectation){.l = *l, .rows = *rows};
    for (int i = 0; i < INPUTS; i++) {
        if (in[i]->rows * in[i]->cols != wanted[i])
            tape_fail(t, ANYGP_ERR_INTERNAL, "the operands of expect do not fit: %lld x %lld instead of %lld numbers",
                      (long long)in[i]->rows, (long long)in[i]->cols, (long long)wanted[i]);
        double *d = tape_doubles(t, in[i]->rows, in[i]->cols);
        if (x) x->d[i] = d;
    }
    return tape_custom(t, 1, 1, INPUTS, in, &op_expect, x);
}
