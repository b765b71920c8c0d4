/* What predictions of tree (tree_posterior.c), joint ones (tree_joint.c) and new rows (tree_update.c) share. */
#ifndef MODEL_LOCAL_TREE_POSTERIOR_H
#define MODEL_LOCAL_TREE_POSTERIOR_H

#include "model/local/tree.h"

typedef struct tree_posterior {
    posterior base;
    int64_t count;     /* groups */
    posterior **group; /* count: sparse ones */
    router *route;
    double *of;               /* parts: the group of each */
    double *size;             /* count: inducing inputs */
    double *Z, *m, *L, *B;    /* of all groups, for the file */
    int64_t M, squares, most; /* sums of sizes and of their squares, the largest work of a row */
    tree_sums sums;           /* parent NULL: the file does not have them */
} tree_posterior;

/* The groups as they were when p was made, with the rows' statistics in stat[t->stat], which the caller frees; views of p, which outlives
   them.  h: room for the hyperparameters, which lasts as long. */
anygp_status tree_restore(const tree_posterior *p, hyper *h, tree_groups *t, double **stat, anygp_error *e);

anygp_status tree_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                        double *covariance, int64_t ldc, anygp_error *e);

#endif
