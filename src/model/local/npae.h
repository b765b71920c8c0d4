/* What marginals and joint predictions of npae share (npae.c, npae_joint.c). */
#ifndef MODEL_LOCAL_NPAE_H
#define MODEL_LOCAL_NPAE_H

#include "model/local/experts.h"

enum { NPAE_STRIP = 32 }; /* rows of a tile K_ij at a time */

/* n rows to predict, each from Q experts.  u of slot s and row j: u_i = K_i^-1 k_i* of expert i = near[s + Q j]. */
typedef struct nesting {
    int64_t n, Q;
    int64_t *near;      /* Q x n, ascending */
    int64_t *row, *at;  /* n: rows that ask an expert, or two of them, and their slots; */
    int64_t *other;     /* n: of the second one */
    double *u;          /* Q largest, n */
    double *mean, *k_A; /* Q x n: M(x), and their covariances with f(x), which are their variances */
    double *K_A;        /* Q x Q x n, lower triangles */
    double *lambda;     /* Q x n: the weights */
    double *v0;         /* n: prior variance */
    double *X;          /* D x n of room, as below */
    double *tile, *H;   /* NPAE_STRIP x largest, 2 largest x p */
    double *V, *U, *W;  /* largest x n, the same, NPAE_STRIP x n */
    double *room;       /* query_doubles, also Q (Q + 3) */
    const int64_t
        *own; /* n: rows of experts, by number, each left out where it is predicted; NULL: they are nobody's */
} nesting;

int64_t npae_work(const posterior *p, int64_t n);
/* Everything up to lambda; own: NULL, or as above. */
anygp_status npae_weigh(const experts_posterior *p, const int64_t *own, int64_t n, const double *X, int64_t ldx,
                        double *work, nesting *g, anygp_error *e);
/* Mean and variance, which may be NULL, of f. */
anygp_status npae_predict(const experts_posterior *p, const int64_t *own, int64_t n, const double *X, int64_t ldx,
                          double *work, double *mean, double *variance, anygp_error *e);
double *npae_u(const experts_posterior *p, const nesting *g, int64_t slot, int64_t row);
anygp_status npae_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                        double *covariance, int64_t ldc, anygp_error *e);

#endif
