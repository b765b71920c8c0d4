/* The rows of a layer in float: covariances with the rows, whitening, products with q's factors, and their reverses; sums over the rows of
   a piece are float, sums of pieces, marginals and derivatives are double.  Of what is made of the sums, V S in E is float, where errors are as
   those of sums over rows.  All else stays double: the factors, of which rounded copies are made here once for a pass, q's own steps, and the
   congruence L^-T E L^-1, whose numbers are up to |L^-1|^2 times as large as what is left of them in a gradient.

   With V at hand, and G = L^-T (V - I), w = L^-T m, for one function without basis functions
       K_uf bar = w g' + 2 G A diag(d),          var_i = k_ii + k_i'G a_i,
   so that one product serves both and no row is solved with L'.  Of p basis functions G has the rows V_h before the others, and
   V_uh in those.

   For variables that are values of the function (inducing/points.c) and q by precision.  A row's a = L^-1 k is off by about
   eps |L^-1| |k|, eps = 6e-8: the jitter in L bounds that, and svgp_precision.c measures what it does to the bound. */
#ifndef GAUSS_LAYER_F32_H
#define GAUSS_LAYER_F32_H

#include "gauss/layer.h"
#include "inducing/inducing_f32.h"

typedef struct layer_f32 {
    inducing_f32 u;
    float **F, **TF; /* of each q: its F and T */
    float *V, *S, *E,
        *G; /* of the only q there is, for by_V: V and room for S or G, Mt x Mt; room for V S, M x M; G packed; else NULL */
    double *w;
    bool on;   /* rows are in float now */
    bool by_V; /* by the copies of V */
} layer_f32;

bool layer_f32_fits(const layer *l); /* whether this layer can have its rows in float */
/* Room for them; false: no memory. */
bool layer_f32_open(layer *l);
void layer_f32_close(layer *l);
/* The copies, after L or q have changed and before rows: of V where it is at hand, else or with `factors` of q's factors, which cost less where
   only values are wanted. */
void layer_f32_prepare(layer *l, bool factors);
/* layer_E. */
void layer_E_f32(const layer *l, layer_stat *stat);
/* Doubles of workspace beyond layer_work. */
int64_t layer_f32_work(const layer *l);

anygp_status layer_forward_f32(const layer *l, int64_t n, const double *X, const layer_pieces *p, anygp_error *e);
anygp_status layer_reverse_f32(const layer *l, int64_t n, const double *X, const layer_pieces *p,
                               const layer_stat *stat, double *Xbar, anygp_error *e);

#endif
