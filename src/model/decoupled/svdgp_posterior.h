/* What a decoupled Gaussian process predicts (001, eq. 8): one target's latents, with all they need of their own. */
#ifndef MODEL_DECOUPLED_SVDGP_POSTERIOR_H
#define MODEL_DECOUPLED_SVDGP_POSTERIOR_H

#include "model/decoupled/svdgp.h"

typedef struct svdgp_posterior {
    posterior base; /* base.n = M_alpha */
    svdgp s;        /* prepared; s.mean is base.mean */
    double rows;    /* original rows behind it */
    double *L;      /* triangles of the latents by rows, one after the other: what the file has */
} svdgp_posterior;

/* Target t of s, which was prepared at h; its mean times a factor. */
anygp_status svdgp_posterior_new(const svdgp *s, const hyper *h, int64_t t, double factor, double rows, posterior **out,
                                 anygp_error *e);
anygp_status svdgp_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                        int64_t count, posterior **out, anygp_error *e);
extern const update_ops svdgp_updates; /* svdgp_update.c */

/* Empty, with its mean; then, once base.kernel and the parameters of s stand, complete. */
anygp_status svdgp_posterior_make(const basis *mean, int64_t D, int64_t C, double noise, bool rbf,
                                  svdgp_posterior **out, anygp_error *e);
anygp_status svdgp_posterior_complete(svdgp_posterior *p, anygp_error *e);
/* Latents first .. first + to->C - 1 of a prepared process. */
anygp_status svdgp_copy_parameters(svdgp *to, const svdgp *from, int64_t first, anygp_error *e);

/* Kb[n, Mt] = (sqrt(s) h, K_{x,beta}) of any number of rows; work: that of the posterior. */
bool svdgp_fill_Kb(const svdgp *s, int64_t n, const double *X, int64_t ldx, double *work, double *Kb);

/* KL(q || p) of two decoupled Gaussian processes under one kernel and prior mean, both prepared (001, theorem 1); latent c of
   each.  NAN: no memory.  [svdgp_kl.c] */
double svdgp_kl(const svdgp *q, const svdgp *p, int64_t c);

/* The mean over held-out rows of E[log p(y | f)]: the bound's share of the rows, as a score.  l NULL: gaussian with the
   posterior's noise.  X[n,D], Y[n, columns], w[n] or NULL. */
anygp_status svdgp_held_out(const posterior *p, const likelihood *l, int64_t n, const double *X, int64_t ldx,
                            const double *Y, const double *w, double *score, anygp_error *e);

#endif
