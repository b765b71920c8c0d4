/* What a likelihood says about y where the latents of a row are a mixture of S Gaussians; S = 1 for most models.  Their weights g_s are
   1/S each (S samples of the inner layers of a deep model, say) or differ from row to row (the gates of experts).  With one component
   every function is the likelihood's own.  With more, m_s, v_s, l_s, P_s being the mean, variance, log density and cdf of y by component s,
       mean        sum g_s m_s
       variance    sum g_s v_s + sum g_s (m_s - mean)^2
       density     log sum g_s exp(l_s)
       cdf         sum g_s P_s, and so are the probabilities of classes and E[log p(y | f)]
       quantile    where that cdf reaches p, which no mean of the components' quantiles gives
       crps        sum g_s A(y - m_s, v_s) - (1/2) sum g_s g_t A(m_s - m_t, v_s + v_t),   A(d, v) = E|N(d, v)|
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
    const double *weight;       /* of row i and component s at [i + s * stride], adding up to 1; NULL: 1/S */
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
