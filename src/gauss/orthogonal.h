/* odvgp: orthogonally decoupled inducing inputs (004, section 2.2 and appendix H; Salimbeni et al. 2018): O further inducing
   inputs o for the mean only, whose v_perp has the prior's covariance C_oo and the mean C_oo a.  With w_c = L^-1 K_uo a_c,
       mu_c = A'm_c + C_fo a_c = A'(m_c - w_c) + K_fo a_c,      variances as without,      KL larger by a'C_oo a / 2
       = (a'K_oo a - w'w) / 2,
   so that only vectors meet K_oo and no factor of C_oo is made: time and memory are linear in O.  C_oo a is sampled, `columns` of
   its columns P per step, drawn without replacement and scaled by s = O / columns: r = s K_oP a_P and w~ = s L^-1 K_uP a_P, so
   that a'C_oo a is about a'r - w'w~: unbiased for the bound and its gradient.  (Sampling only K_oo a, with w'w as it is, would be
   unbiased too, but where u knows most of o the two nearly cancel, and the noise is that of K_oo.)

   With g as in layer.h, per latent:
       a bar = K_of g - r + K_ou L^-T (w~ - b),     K_of bar = a g',
       K_uo bar = L^-T (w~ / 2 - b) a' and, in the sampled columns, s L^-T w a_P' / 2,     E larger by (w~ / 2 - b) w' + w w~' / 2,
       K_oo bar = -a a' / 2 in the sampled columns, times s. */
#ifndef GAUSS_ORTHOGONAL_H
#define GAUSS_ORTHOGONAL_H

#include "gauss/layer.h"

/* Numbers of workspace for each of O inducing inputs of the mean, besides M others. */
double orthogonal_row(int64_t M, int64_t O);
anygp_status orthogonal_init(layer *l, anygp_error *e); /* l->O, C, Mt are set */
void orthogonal_clear(layer *l);

/* w, l->mean_m = m - w and the sampled columns of this step; after L and m.  False: no memory. */
bool orthogonal_prepare(layer *l, uint64_t seed, int64_t t);
/* After it, all columns in the place of the sampled ones, for a value that is exact: O^2 covariances. */
bool orthogonal_whole(layer *l);
/* a'C_oo a / 2 for all latents, as sampled. */
double orthogonal_kl(const layer *l);
/* Adds to the adjoints in stat what does not come from the rows; abar[O,C] is the gradient in a.  False: no memory. */
bool orthogonal_gradient(layer *l, layer_stat *stat, double *abar);

/* For n rows: G[O,n] = K_of, mu += G'a. */
bool orthogonal_forward(const layer *l, int64_t n, const double *X, double *G, double *mu);
/* o += G g; then G becomes K_of bar, and goes to the kernel's parameters and the places. */
bool orthogonal_reverse(const layer *l, int64_t n, const double *X, double *G, const double *dmu,
                        const layer_stat *stat);

#endif
