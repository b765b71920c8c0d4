/* patchwork (Park and Apley 2018; 003 [118]): an exact Gaussian process f_k in every cell of a kd-tree, independent of each other but for
   this: at q places b_p on the borders, neighbours i and j have equal values,
       delta_p = f_i(b_p) - f_j(b_p) = 0.
   Let P_k and mu_k be covariance and mean of f_k at its border places given the cell's own rows, K_k their prior covariance, and s the
   signs with which they stand in delta.  Given all rows, delta is normal with covariance and mean
       S = sum_k ss' o P_k,  t = sum_k s o mu_k,        and C = sum_k ss' o K_k without them,
   sums over cells, so that
       log p(y | delta = 0) = sum_k log N(y_k; 0, Ky_k) - (t'S^-1 t + log|S| - log|C|) / 2
   and at x in cell k, with c = s o cov(f_k(x), f_k(b) | y_k),
       mean m_k(x) - c'S^-1 t,    variance v_k(x) - c'S^-1 c.
   Both S and C have `jitter` times the mean of C's diagonal on theirs: delta is 0 to about that precision.

   Reverse: with a = S^-1 t, Sbar = (aa' - S^-1)/2, tbar = -a, Cbar = C^-1/2, their elements of a cell times its signs, and
   W = Ky^-1 K_b, alpha = Ky^-1 y,
       K_bb bar = Sbar + Cbar,   K_b bar = -2 W Sbar + alpha tbar',
       Ky bar = W Sbar W' - (W tbar alpha' + alpha tbar'W')/2 + (alpha alpha' - Ky^-1)/2.

   Cost: n J^2 + n J B for cells of J rows and B places each, twice for a gradient, and q^3. */
#ifndef MODEL_LOCAL_PATCHWORK_H
#define MODEL_LOCAL_PATCHWORK_H

#include "model/local/experts.h"

enum { PATCHWORK_INPUTS = 3, PATCHWORK_EACH = 5 };

/* What tells these models apart: places along a border. */
typedef struct patch_kind {
    int64_t each;
} patch_kind;

/* Which border places each cell has. */
typedef struct patch_borders {
    int64_t D, cells, largest; /* places of the cell with the most */
    border_points at;
    int64_t *start, *place; /* cells + 1; those of cell k are place[start[k] ..] */
    double *sign;           /* of each, in delta */
} patch_borders;

/* Takes over b->at, on failure too. */
anygp_status patch_borders_index(patch_borders *b, int64_t D, int64_t P, anygp_error *e);
void patch_borders_clear(patch_borders *b);
static inline int64_t patch_places(const patch_borders *b, int64_t k) { return b->start[k + 1] - b->start[k]; }
/* X[m,D]: the places of cell k. */
void patch_places_of(const patch_borders *b, int64_t k, double *X);

/* S or C of the sums to its factor, with jitter; false: it has none. */
bool patch_factor(int64_t q, double jitter, double mean, double *S);

/* cells: of nle, taken over on success, with the jitter of both.  later: they are made equal at their borders before the first prediction,
   and may not have their factors either. */
anygp_status patch_posterior_new(posterior *cells, const patch_borders *b, bool later, posterior **out, anygp_error *e);
/* Its cells by themselves, its borders, and -(t'S^-1 t + log|S|) / 2: what depends on the rows of the borders' share of the evidence. */
const posterior *patch_cells(const posterior *p);
const patch_borders *patch_borders_of(const posterior *p);
double patch_border_value(const posterior *p);
extern const update_ops patch_update_ops; /* [patchwork_update.c] */
anygp_status patch_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                        int64_t count, posterior **out, anygp_error *e);
anygp_status patch_load_within(const model_ops *self, double memory, kernel *k, double noise, basis *mean, int64_t D,
                               named_array *list, int64_t count, posterior **out, anygp_error *e);

#endif
