/* What a likelihood says about y where the latents of a row are a mixture of S Gaussians that are equally likely: S samples of
   the inner layers of a deep model, say; S = 1 for most models.  With one component every function is the likelihood's own.  With
   more, m_s, v_s, l_s, P_s being the mean, variance, log density and cdf of y by component s,
       mean        (1/S) sum m_s
       variance    (1/S) sum v_s + (1/S) sum (m_s - mean)^2
       density     log (1/S) sum exp(l_s)
       cdf         (1/S) sum P_s, and so are the probabilities of classes and E[log p(y | f)]
       quantile    where that cdf reaches p, which no mean of the components' quantiles gives
       crps        (1/S) sum A(y - m_s, v_s) - (1/2S^2) sum A(m_s - m_t, v_s + v_t),   A(d, v) = E|N(d, v)|
   the last for gaussian (Grimit et al. 2006, eq. 5).  Means are running ones, so that equal components give what one of them gives.
   Model units; nothing is allocated. */
#ifndef LIKELIHOOD_MIXTURE_H
#define LIKELIHOOD_MIXTURE_H

#include "likelihood/likelihood.h"

/* Marginals of the latents at n rows: row i of latent c by component s at [i + c * ld + s * stride]. */
typedef struct latents {
    int64_t n;
    const double *mean, *variance;
    int64_t ld;
    int64_t components, stride; /* S, at least 1 */
} latents;

latents latents_rows(const latents *f, int64_t i, int64_t n); /* rows i .. i+n-1 */
latents latents_one(const latents *f, int64_t c);             /* latent c alone */

/* Real and count targets; exposure: NULL, or n of them. */
void mixture_moments(const likelihood *l, const latents *f, const double *exposure, double *mean, double *variance);
void mixture_cdf(const likelihood *l, const latents *f, const double *y, const double *exposure, double *out);
/* The y with P(y <= .) = p, for lo95 and hi95; counts: the smallest whole number that reaches it. */
void mixture_quantiles(const likelihood *l, const latents *f, double p, const double *exposure, double *out);
/* For gaussian only. */
void mixture_crps(const likelihood *l, const latents *f, const double *y, double *out);

/* All targets, Y[n, columns] as the likelihood has it. */
void mixture_log_predictive(const likelihood *l, const latents *f, const double *Y, double *out);
/* Sum over rows of w E[log p(y | f)]; random and row as expect() has them; work: 2 C of latents, leading dimension f->ld. */
double mixture_expect(const likelihood *l, const latents *f, const double *Y, const double *w, random_stream random,
                      int64_t row, double *work);
/* Classes: P[n, K] with leading dimension ldp. */
void mixture_probabilities(const likelihood *l, const latents *f, double *P, int64_t ldp);

#endif
