/* A run of svdgp: the process, what is wanted of it, and what its steps need. */
#ifndef MODEL_SVDGP_STATE_H
#define MODEL_SVDGP_STATE_H

#include "model/svdgp.h"

#define SVDGP_SMALL 1e-2 /* the diagonal of new columns of L: at 0 they would have no gradient */

typedef struct svdgp_state {
    svdgp s;
    const problem *problem;
    int64_t Ma, Mb; /* bases wanted */
    driver *driver;
    segment u;    /* free hyperparameters */
    double gamma; /* sga: the first step size */
    double *stat; /* sums over rows */
    int64_t stat_room;
    double *fresh; /* those over rows of the dual's bases */
    int64_t fresh_room;
    double *packed; /* the state as one array */
    int64_t packed_room;
} svdgp_state;

extern const step_ops svdgp_steps;

/* Room for `size` numbers in *array; what was in it is lost. */
anygp_status svdgp_room(double **array, int64_t *room, int64_t size, anygp_error *e);

/* How many blocks have about 1024 rows together: what a look at the bound is worth. */
int64_t svdgp_sample_blocks(const row_blocks *b);

/* Algorithm 1, line 4: rows of the sample become bases until there are enough; *grew: some of the covariance's did. */
anygp_status svdgp_grow(svdgp_state *q, const step_context *c, bool *grew, anygp_error *e);

/* ------------------------------------------------------------------------------- [svdgp_dual.c] */

/* New a of these n bases from their g and -2 h (svdgp_layout.own), each times its weight[n].  quadratic: log p is, in f. */
anygp_status svdgp_dual_step(svdgp *s, int64_t n, const int64_t *bases, const double *own, const double *weight,
                             bool quadratic, anygp_error *e);
/* B becomes keep B + rho K_beta^-1 (-2 S) K_beta^-1, for the sums S (C squares of Mt, both triangles): with keep = 1 - rho a
   step towards its optimum, with keep = rho = 1 the rows of S are added.  A latent whose step is not finite keeps its B. */
void svdgp_natural_step(svdgp *s, const double *S, double keep, double rho);

/* ------------------------------------------------------------------------- [svdgp_shorten.c] */

/* sga: a mean that is worse than none is shortened until it is not, for the model that is put out; *kept is what it was, or NULL
   if it stays.  svdgp_lengthen gives it back to the run and frees it. */
anygp_status svdgp_shorten(svdgp_state *q, const hyper *h, double **kept, anygp_error *e);
void svdgp_lengthen(svdgp_state *q, double *kept);

/* ---------------------------------------------------------------------------- [svdgp_pack.c] */

anygp_status svdgp_save(void *state, checkpoint *to, anygp_error *e);
bool svdgp_restore(void *state, hyper *h, const checkpoint *from);

/* --------------------------------------------------------------------------- [svdgp_start.c] */

/* The paper's start (001, appendix B.2): length-scales at the median distance of the first rows, Gaussian noise at the variance of
   their targets; what the user gave stays. */
anygp_status svdgp_median_start(const problem *p, hyper *h, anygp_error *e);

#endif
