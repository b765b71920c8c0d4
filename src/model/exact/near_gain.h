/* Variances of the exact model from nearest rows and, by one number, from all others.

   Given its nearest rows f(x) has the variance v, given all rows less: w.  In many dimensions it is far less, since neighbours are far
   away.  What the nearest rows add to the prior's precision is taken times a factor g, so that far from all rows nothing changes:
       1/w = 1/k** + g (1/v - 1/k**)
   g is the geometric mean of what it is at a few training rows left out, drawn at random, for which w is known by a solve (Rasmussen and Williams 2006, eq. 5.12):
       w_i = 1 / Q_ii - N_ii,   Q = (Ky + B H H')^-1,   N the noise of row i.
   e_i'Ky^-1 e_i grows with every iteration (cg.h): a solve that is stopped early says that w is larger than it is.
   It is an estimate, which may be below the exact variance; its spread over these rows is kept with it. */
#ifndef MODEL_EXACT_NEAR_GAIN_H
#define MODEL_EXACT_NEAR_GAIN_H

#include "model/exact/exact_iterative.h"

/* w from v; v where it is not below the prior, or there is no gain. */
double gained_variance(const variance_gain *g, double prior, double v);
/* At the hyperparameters of the last solve, for a posterior of these rows. */
anygp_status near_gain_find(exact_iterative *s, const hyper *h, const posterior *made, variance_gain *out,
                            anygp_error *e);

#endif
