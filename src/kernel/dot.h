/* Kernels of the weighted dot product s = sum_d w_d x_d z_d; `spec` is the number of the weights among the leaf's
   parameters.  Inputs are clamped to LIMIT_DOT. */
#ifndef KERNEL_DOT_H
#define KERNEL_DOT_H

#include "kernel/tile.h"

double dot_define(const leaf *l, int spec, const double *x, const double *z);
/* S[rows,cols] = start + s */
void dot_tile(const leaf *l, int spec, const tile *t, double start, double *S, int64_t lds);
/* From H = dF/dS (leading dimension t->rows) to the gradients of weights and inputs. */
void dot_reverse(const leaf *l, int spec, const tile *t, const double *H, tile_gradient *g);
/* out[n] = start + sum_d w_d x_d^2, and its reverse from h[n]. */
void dot_diag(const leaf *l, int spec, int64_t n, const double *X, int64_t ldx, double start, double *out);
void dot_diag_reverse(const leaf *l, int spec, int64_t n, const double *X, int64_t ldx, const double *h, double *gp,
                      double *gX, int64_t ldgx);

#endif
