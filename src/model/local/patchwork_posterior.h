/* What marginal and joint predictions of patchwork share (patchwork_posterior.c, patchwork_joint.c). */
#ifndef MODEL_LOCAL_PATCHWORK_POSTERIOR_H
#define MODEL_LOCAL_PATCHWORK_POSTERIOR_H

#include "model/local/patchwork.h"

typedef struct patch_posterior {
    posterior base;
    experts_posterior *cells; /* their own predictions; kernel and mean are this one's */
    patch_borders b;
    double *V; /* L^-1 K_b of the cells, one after the other */
    int64_t *at;
    double *A,
        *a; /* blocks of S^-1 of the cells' places, times their signs, one after the other; S^-1 t, times signs, of all places */
    int64_t *of;   /* where the blocks are */
    double *S;     /* q x q: its factor */
    double border; /* patch_border_value() */
} patch_posterior;

/* Room for n rows: those of one cell at a time. */
typedef struct patch_visit {
    int64_t *block, *row;           /* n */
    double *X, *m, *v, *k, *c, *Ac; /* n x D, n, n, largest x n, places x n, the same */
    double *places, *query;         /* places x D */
} patch_visit;

int64_t patch_work(const posterior *base, int64_t n);
patch_visit patch_visit_place(const patch_posterior *p, int64_t n, double *room); /* patch_work() */
/* Mean and variance at the `count` rows that a has of cell k; leaves a->k = L^-1 k of the cell's rows, and a->c[places, count], the covariances
   with f at the cell's border places, given its rows. */
anygp_status patch_ask(const patch_posterior *p, int64_t k, int64_t count, const patch_visit *a, anygp_error *e);

/* posterior_ops.joint [patchwork_joint.c]. */
anygp_status patch_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                         double *covariance, int64_t ldc, anygp_error *e);

#endif
