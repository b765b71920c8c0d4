/* The rows of a layer in float: covariances with the rows, whitening, products with q's factors, and their reverses; sums over the rows of
   a piece are float, sums of pieces, marginals and derivatives are double.  The factors themselves, and all that is made of the sums,
   stay double; here are rounded copies of them, made once for a pass.

   For variables that are values of the function (inducing/points.c) and q by precision.  A row's a = L^-1 k is off by about
   eps |L^-1| |k|, eps = 6e-8: the jitter in L bounds that, and svgp_precision.c measures what it does to the bound. */
#ifndef GAUSS_LAYER_F32_H
#define GAUSS_LAYER_F32_H

#include "gauss/layer.h"
#include "inducing/inducing_f32.h"

typedef struct layer_f32 {
    inducing_f32 u;
    float **F, **TF; /* of each q: its F and T */
    float *V;        /* of the only q there is, for by_V; else NULL */
    bool on;         /* rows are in float now */
} layer_f32;

bool layer_f32_fits(const layer *l); /* whether this layer can have its rows in float */
/* Room for them; false: no memory. */
bool layer_f32_open(layer *l);
void layer_f32_close(layer *l);
/* The copies, after L or q have changed and before rows. */
void layer_f32_prepare(layer *l);
/* Doubles of workspace beyond layer_work. */
int64_t layer_f32_work(const layer *l);

anygp_status layer_forward_f32(const layer *l, int64_t n, const double *X, const layer_pieces *p, bool value_only,
                               anygp_error *e);
anygp_status layer_reverse_f32(const layer *l, int64_t n, const double *X, const layer_pieces *p,
                               const layer_stat *stat, double *Xbar, anygp_error *e);

#endif
