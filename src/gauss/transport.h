/* ivsgpr: stochastic mirror ascent (Cheng and Boots 2016; SMA in table 1 of 001).  The new q maximises
       E[log p(y | f)] on the sample - KL(q || p) - (1/gamma) KL(q || q_t)
   over processes, so that what q_t knows is kept as the kernel and the inducing inputs move: q_t is the prior times a Gaussian factor
   on f(Z_t),
       exp(h'u - u'P u / 2),   P = S_t^-1 - K_tt^-1 = L_t^-T (Lambda_t - I) L_t^-1,   h = L_t^-T theta_t,
   which the new prior is multiplied by.  In whitened coordinates, with W = L^-1 K(Z, Z_t) L_t^-T at the new kernel,
       Lambda = I + W (Lambda_t - I) W',      theta = W theta_t,
   and the natural step on the sample, rho = gamma / (1 + gamma), comes before.  Where nothing moves W is I, and this is svgp, where
   v stays fixed instead of f.  Cost: another 5 M^3 per step. */
#ifndef GAUSS_TRANSPORT_H
#define GAUSS_TRANSPORT_H

#include "gauss/layer.h"

/* From the variables of step t and their L_t to those of the last prepare.  One set of inducing inputs.  A q that would not stay a distribution stays as it is. */
bool layer_transport(layer *l, function_set old, const double *L); /* false: no memory */

#endif
