/* The expected log likelihood as a tape operation. */
#ifndef LIKELIHOOD_TAPE_EXPECT_H
#define LIKELIHOOD_TAPE_EXPECT_H

#include "likelihood/likelihood.h"
#include "tape/tape.h"

/* Rows as a likelihood sees them: Y[n, columns] row-major, weights (NULL: ones), the number of the first, for Monte Carlo.  All
   of it must stay until the tape is reset. */
typedef struct expect_rows {
    int64_t n;
    const double *Y, *w;
    random_stream random;
    int64_t first;
} expect_rows;

/* sum_i w_i E[log p(y_i | f_i)], f_i ~ N(mu_i, var_i); mu and var: n numbers for each latent, one latent after the other.
   p: the likelihood's parameters, natural values; those in l are not used. */
node *tape_expect(tape *t, const likelihood *l, node *p, const expect_rows *rows, node *mu, node *var);

#endif
