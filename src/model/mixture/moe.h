/* A mixture of K Gaussian processes, each a sparse variational one with a kernel, a noise and inducing inputs of its own (003, eq. 21
   to 24):
       p(y | x) = sum_i g_i(x) N(y; f_i(x), s_i^2)
   with the gates of gate.h.  With q(z_n = i) = r_ni and q(f_i) as in svgp the bound on log p(y | X) is, over rows of weight w_n,
       sum_n w_n sum_i r_ni [E_i,n + log g_i(x_n) - log r_ni] - sum_i KL(q(v_i) || N(0, I)) + log prior of the gate
       E_i,n = E[log N(y_n; f_i(x_n), s_i^2)]
   (for a generative gate on log p(y, X)).  A step is one of variational EM over the sample's rows:
       E   r_ni prop. to g_i(x_n) exp(E_i,n);  moe(hard): 1 for the largest of them and 0 for the others
       M   a natural step of every expert, whose rows have the weights w_n r_ni, and of the gate; kernels, noises and inducing inputs
           as in svgp
   Over all rows with steps of size 1 and hyperparameters that stay, the bound never falls.  With one expert it is svgp, bit for bit.

   The first steps take r from clusters of (x, y) by k-means, which the experts' inducing inputs are chosen from too.  An expert that no
   row is left to is at its prior, with kernel and noise as they were; predictions leave it out.

   Cost of a step: K times that of svgp.  Memory: the same. */
#ifndef MODEL_MIXTURE_MOE_H
#define MODEL_MIXTURE_MOE_H

#include "model/mixture/gate.h"
#include "model/variational/svgp_state.h"

enum { MOE_EXPERTS_MOST = 64, MOE_EXPERTS = 4 };

/* What tells the models apart [model_ops.family]. */
typedef struct moe_kind {
    gate_kind gate;
    bool hard;
} moe_kind;

typedef struct moe_state {
    const problem *problem;
    moe_kind kind;
    int64_t K, D;
    svgp_state **expert; /* K */
    hyper *h;            /* K: those of the experts; the first's are the run's own from begin() on */
    gate gate;
    double *centres; /* K x (D + 1): of (x, y), in units of their spread */
    double *frame;   /* (D + 1) x 2: means and spreads of x and y; 0: a column that does not count */
    double spread;   /* of y; in frame it is the part of it that counts as much as that of an input */
    bool by_centres; /* r is 1 for the nearest centre */
    driver *driver;
    double *stat;
    double *rows;  /* K: weight of the rows of each expert, as the last pass saw it, */
    double *usual; /* and a running mean over the steps */
    char remark[160];
} moe_state;

static inline int64_t moe_experts(const problem *p) { return p->experts.count > 0 ? p->experts.count : MOE_EXPERTS; }

/* Statistics of a block: sum w r (log g - log r), sum w r of each expert, those of the gate, then those of each expert
   [moe_rows.c]. */
extern const block_model moe_rows;
typedef struct moe_stat {
    double *value; /* 1 */
    double *rows;  /* K */
    double *gate;
    double *expert[MOE_EXPERTS_MOST];
} moe_stat;
void moe_stat_place(const moe_state *s, double *at, moe_stat *stat);

/* Centres, inducing inputs of every expert and the gate, from the rows in memory of rank 0 [moe_start.c]; the experts' h are there,
   without places of their own. */
anygp_status moe_start(moe_state *s, anygp_error *e);
/* Length-scales of expert k for the rows of its cluster, and the log evidence per row that they have [moe_scales.c]. */
anygp_status moe_scale_start(const moe_state *s, int64_t k, const int64_t *cluster, hyper *h, double *evidence,
                             anygp_error *e);

/* step_ops [moe_steps.c]. */
anygp_status moe_begin(void *state, hyper *h, double jitter, anygp_error *e);
anygp_status moe_step(void *state, hyper *h, const step_context *c, double *value, anygp_error *e);
anygp_status moe_bound(void *state, const hyper *h, double *value, anygp_error *e);
anygp_status moe_save(void *state, checkpoint *to, anygp_error *e);
bool moe_restore(void *state, hyper *h, const checkpoint *from);

#endif
