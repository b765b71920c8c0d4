/* The whitening of variables whose K_uu has no structure: a Cholesky factor.  Private to the kinds that use it. */
#ifndef INDUCING_WHITEN_H
#define INDUCING_WHITEN_H

#include "inducing/inducing.h"

/* From K_uu in v->L, lower triangle, to L. */
bool whiten_factor(inducing_set *v, bool grow, double *jitter);
/* Entries of the table, from `cross` and its reverse: A = L^-1 K_uf, K_uf bar = L^-T Abar. */
bool whiten_features(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *A, int64_t lda);
bool whiten_reverse(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *Abar, int64_t lda,
                    const double *dbar, inducing_grad g);
/* K_uu bar = -L^-T E L^-1 / 2 in place of E, lower triangles, with the share of the jitter, which is relative to the mean
   diagonal; returns its trace. */
double whiten_bar(const inducing_set *v, double *E);
/* The gradient of the white terms' variance, times g: any place will do, since they do not look at inputs. */
bool white_reverse(const inducing_set *v, double g, double *gp);

#endif
