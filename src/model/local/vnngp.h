/* Variational nearest-neighbour Gaussian processes (Wu, Pleiss and Cunningham 2022): any likelihood, inducing variables at all rows.

   u_j is the function at distinct row j.  In an order of the rows the prior is Vecchia's, of u and without noise, and q is mean-field:
       p(u) = prod_j N(u_j | b_j u_N(j), d_j),   b_j = K_jN K_NN^-1,   d_j = K_jj - b_j K_Nj;      q(u) = prod_j N(m_j, s_j)
       bound = sum_i w_i E_q log p(y_i | u_i) - sum_j KL_j
       KL_j  = (log d_j - log s_j - 1 + (s_j + r_j^2 + sum_k b_jk^2 s_k) / d_j) / 2,     r = (I - B) m
   With the precision P = (I - B)'D^-1 (I - B) of the prior, its diagonal pi, and g, lambda = sums over a row's data of dE/dmu and -2 dE/dvar,
       1 / s_j = pi_j + lambda_j,          (P + diag(lambda)) (m' - m) = g - P m
   are the best s at given m and Newton's step for m.  The latter is solved by conjugate gradients: P is never made, a product takes 2 n k
   operations.  With Gaussian noise one step arrives at the posterior mean of the prior above.
   evaluate() is the bound at its maximum over q, so that its gradient is that at fixed q:
       b bar = (b s - r m_N) / d,   d bar = (1 / d - (s + r^2 + sum b^2 s) / d^2) / 2  of KL_j, each summed over latents; a = K_NN^-1 b bar
       K_NN bar = d bar b b' - (a b' + b a') / 2,    k_N bar = a - 2 d bar b,    k_jj bar = d bar
   Both sums of the bound are over rows, so it also learns by steps over samples of them (vnngp_steps.c).

   Cost: n k^3 operations per evaluation, with the gradient twice that, and 4 n k for each step of conjugate gradients and latent. */
#ifndef MODEL_LOCAL_VNNGP_H
#define MODEL_LOCAL_VNNGP_H

#include "data/neighbours/groups.h"
#include "data/neighbours/neighbours.h"
#include "model/block_model.h"
#include "model/model.h"
#include "params/ascent.h"

typedef struct vnngp {
    const problem *problem;
    const model_ops *self;
    dataset data; /* the problem's, or with a time limit some of its rows, which are its own: */
    bool thinned;
    char remark[200];
    bool to_end;   /* q is found whatever the time limit */
    dataset plain; /* a view of the data in which all equal inputs may be merged */
    merged rows;   /* distinct rows */
    int64_t n, N, C, k;
    /* What depends on the order: */
    int64_t *order; /* n: the row at each place; arrays below are by place */
    int64_t *place; /* N: of a row of the data */
    double *X, *one;
    near_rows near;
    row_groups groups;
    row_blocks *blocks;
    driver *conditionals, *slopes;
    double *marks; /* of the order (vecchia_marks()) */
    /* At h: */
    const hyper *h;
    likelihood like;
    double added;  /* to the diagonal of K */
    int64_t seen;  /* places that the sums are over, from the first on: all but for the first steps of a run */
    double *b, *d; /* n x k, n */
    double *pi;    /* n: the diagonal of P */
    double *m, *s; /* n x C */
    /* Workspace, n x C each but for cells: */
    double *g, *lambda, *step, *other, *before, *slower;
    double *cells; /* N x C: mu, var, dmu, dvar */
    double *sums;  /* of slopes */
    double *like_bar;
    double value, jitter;
    anygp_error failure;
    /* What else is known, in an update: Gaussians in u, exp(site u - weight u^2 / 2) of each place and latent; NULL: nothing. */
    double *known_site, *known_weight;
    struct vnngp_run *run; /* of steps; NULL: there are none */
} vnngp;

/* The places that place i is given, in the order of b; near.count[i] of them.  (near has them by distance.) */
static inline const int32_t *vnngp_given(const vnngp *v, int64_t i) { return v->groups.row + v->groups.start[i]; }

/* Where b and d are found. */
void vnngp_look_at(vnngp *v, const hyper *h, double jitter);
/* b and d there of the `count` places in `which` (NULL: of all), each rank its share. */
anygp_status vnngp_condition(vnngp *v, int64_t count, const int64_t *which, anygp_error *e);
/* The bound's gradient at q over these places, times `scale`, with like_bar at hand. */
anygp_status vnngp_gradient(vnngp *v, int64_t count, const int64_t *which, double scale, double *gp, anygp_error *e);
/* Arrays of n places, N rows of data and k neighbours. */
anygp_status vnngp_allocate(vnngp *v, const hyper *h, anygp_error *e);
/* What runs over places, with X and near at hand. */
anygp_status vnngp_open_places(vnngp *v, anygp_error *e);
void vnngp_close(void *state);
/* Order and neighbours at this kernel; no b and d are known then. */
anygp_status vnngp_arrange(vnngp *v, const kernel *k, anygp_error *e);

/* q at the largest bound, with b and d at hand, from the q at hand or from nothing; leaves value and like_bar [vnngp_q.c]. */
anygp_status vnngp_find_q(vnngp *v, bool from_q, anygp_error *e);
/* KL_i of latent c. */
double vnngp_divergence(const vnngp *v, int64_t c, int64_t i);
/* What q knows of the places seen beyond their prior: (P + diag(weight)) m = site, 1 / s = pi + weight; no weight is negative. */
void vnngp_sites_of_q(vnngp *v, double *site, double *weight);
/* The bound of what is known, without data: sum of E log of its Gaussians - KL_j over the places seen. */
double vnngp_known_bound(const vnngp *v);
/* `count` new places from this one on: m and s as those before them say, with b and d at hand. */
void vnngp_begin_places(vnngp *v, int64_t from, int64_t count);
/* (P + diag(lambda)) m = site over the places seen, by a few steps of conjugate gradients from the m at hand, and its s. */
void vnngp_settle(vnngp *v, const double *site);

/* ---------------------------------------------------------------------------------------- [vnngp_steps.c] */

extern const step_ops vnngp_steps;
/* The bound as these places tell it, at q and at b and d, and unless gp is NULL its gradient. */
anygp_status vnngp_estimate(vnngp *v, int64_t count, const int64_t *which, double scale, double *value, double *gp,
                            anygp_error *e);
void vnngp_run_free(vnngp *v);

/* ------------------------------------------------------------------------------------ [vnngp_posterior.c] */

anygp_status vnngp_posterior_new(const vnngp *v, posterior **out, anygp_error *e);
anygp_status vnngp_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                        int64_t count, posterior **out, anygp_error *e);

extern const update_ops vnngp_updates; /* [vnngp_update.c] */

#endif
