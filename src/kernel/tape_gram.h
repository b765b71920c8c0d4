/* Kernel matrices as tape operations.  Nodes: p[P,1] natural parameters (kernel_count of them; the kernel must hold
   the same values), X[D,n] and Z[D,m] with one row of inputs per column.  Gradients flow to p, X and Z. */
#ifndef KERNEL_TAPE_GRAM_H
#define KERNEL_TAPE_GRAM_H

#include "kernel/kernel.h"
#include "tape/tape.h"

node *tape_gram(tape *t, const kernel *k, node *p, node *X, node *Z); /* K[n,m] = k(X, Z) */
node *tape_gram_sym(tape *t, const kernel *k, node *p, node *X);      /* K[n,n] = k(X, X), both triangles */
node *tape_gram_diag(tape *t, const kernel *k, node *p, node *X);     /* [n,1]: k(x_i, x_i) */
/* All of these without white terms, which belong to rows: their variance, to be added to the noise or to a diagonal. */
node *tape_white(tape *t, const kernel *k, node *p);

#endif
