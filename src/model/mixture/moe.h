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
   row is left to is at its prior, with kernel and noise as they were; at some steps it is offered half of another one's rows, and
   experts that say the same are merged [moe_reform.c].  Predictions leave out those that no row is left to.
   With a gate by stick breaking, K is the most experts that there may be, and merges find how many are needed [moe_join.c].

   Cost of a step: K times that of svgp.  Memory: the same. */
#ifndef MODEL_MIXTURE_MOE_H
#define MODEL_MIXTURE_MOE_H

#include "model/mixture/gate.h"
#include "model/variational/svgp_state.h"

enum { MOE_EXPERTS_MOST = 64, MOE_EXPERTS = 4, MOE_EXPERTS_FOUND = 8, MOE_EXACT_MOST = 2000 };

/* What tells the models apart [model_ops.family]. */
typedef struct moe_kind {
    gate_kind gate;
    bool hard, exact; /* exact: experts are those of all their rows in the end */
} moe_kind;

/* How the next pass shares rows out otherwise than by their probabilities. */
typedef struct moe_change {
    enum {
        MOE_UNCHANGED,
        MOE_SPLIT,
        MOE_JOIN
    } kind; /* split: rows of `from` that are nearer to the second of the halves are those of `to`; join: all of them are, and the
               spare expert learns them in the place of `to` */
    int64_t from, to;
    bool by_residual; /* halves are of y - f; else of x, in units of their spread */
} moe_change;

typedef struct moe_state {
    const problem *problem;
    moe_kind kind;
    int64_t K, D;
    svgp_state **expert; /* K */
    hyper *h;            /* K: those of the experts; the first's are the run's own from begin() on */
    svgp_state *spare;   /* gates by stick breaking: what a merge makes of two experts; else NULL */
    hyper spare_h;
    gate gate;
    double *centres; /* K x (D + 1): of (x, y), in units of their spread */
    double *frame;   /* (D + 1) x 2: means and spreads of x and y; 0: a column that does not count */
    double spread;   /* of y; in frame it is the part of it that counts as much as that of an input */
    bool
        by_centres; /* r is 1 for the nearest centre or, where the user gives blocks, for that of the nearest row of the sample */
    int64_t *name; /* K: the block that each expert began with */
    bool looking;  /* a pass sums up cross */
    moe_change change;
    double *halves; /* 2 x (D + 1): centres of the halves of a split */
    driver *driver;
    double *stat;
    double *rows;  /* K: weight of the rows of each expert, as the last pass saw it, */
    double *usual; /* and a running mean over the steps */
    char remark[320];
} moe_state;

static inline bool moe_finds(const moe_kind *k) { return k->gate == GATE_STICK; } /* how many experts there are */
/* Those asked for, or the usual number where there are as many different rows. */
static inline int64_t moe_experts(const problem *p, const moe_kind *k)
{
    int64_t asked = moe_finds(k) ? p->experts.most : p->experts.count;
    int64_t usual = moe_finds(k) ? MOE_EXPERTS_FOUND : MOE_EXPERTS;
    return asked > 0 ? asked : usual < p->rows->n ? usual : p->rows->n;
}

/* Statistics of a block: sum w r (log g - log r), sum w r of each expert, those of the gate, then those of each expert and, where
   someone looks, sum w r_i E_j [moe_rows.c]. */
extern const block_model moe_rows;
typedef struct moe_stat {
    double *value; /* 1 */
    double *rows;  /* K */
    double *gate;
    double *expert[MOE_EXPERTS_MOST];
    double *cross; /* K x K */
} moe_stat;
void moe_stat_place(const moe_state *s, double *at, moe_stat *stat);
/* For rows in memory, after a pass: the most probable expert of each, and y minus the mean of expert `from`. */
anygp_status moe_assign(const moe_state *s, const dataset *d, int64_t from, int64_t *expert, double *residual,
                        anygp_error *e);
/* What halves are told apart by: one number, or D. */
void moe_features(const moe_state *s, const moe_change *c, const double *x, double residual, double *F);

/* Centres, inducing inputs of every expert and the gate, from the rows in memory of rank 0 [moe_start.c]; the experts' h are there,
   without places of their own. */
anygp_status moe_start(moe_state *s, anygp_error *e);
/* Inducing inputs among the rows of cluster k, at most problem.subset; none where it has no row. */
anygp_status moe_choose_places(const moe_state *s, int64_t k, const int64_t *cluster, double *Z, int64_t *count,
                               anygp_error *e);
/* The same, but always as many as expert k has: where the cluster has too few rows, others help. */
anygp_status moe_fill_places(const moe_state *s, int64_t k, const int64_t *cluster, double *Z, int64_t *count,
                             anygp_error *e);
/* Rank 0's numbers of 8 bytes, to all; and what one rank may have found, agreed on before anyone waits for it. */
anygp_status moe_share(const comm *c, int64_t count, void *at, anygp_error *e);
anygp_status moe_agree(const comm *c, anygp_status status, anygp_error *e);
/* Length-scales of expert k for the rows of its cluster, and the log evidence per row that they have [moe_scales.c]. */
anygp_status moe_scale_start(const moe_state *s, int64_t k, const int64_t *cluster, hyper *h, double *evidence,
                             anygp_error *e);

/* The exact log evidence at h of some rows of the clusters a and b, which may be the same; -INFINITY where it has none. */
anygp_status moe_evidence(const moe_state *s, int64_t a, int64_t b, const int64_t *cluster, const hyper *h,
                          double *value, anygp_error *e);

/* What expert k with the hyperparameters h says given the rows that are its own, by expert[rows in memory]; *out is NULL where it has
   none, or too many [moe_exact.c]. */
anygp_status moe_exact(const moe_state *s, int64_t k, const int64_t *expert, const hyper *h, double *jitter,
                       posterior **out, anygp_error *e);

/* step_ops [moe_steps.c]. */
anygp_status moe_begin(void *state, hyper *h, double jitter, anygp_error *e);
anygp_status moe_step(void *state, hyper *h, const step_context *c, double *value, anygp_error *e);
anygp_status moe_bound(void *state, const hyper *h, double *value, anygp_error *e);
anygp_status moe_save(void *state, checkpoint *to, anygp_error *e);
bool moe_restore(void *state, hyper *h, const checkpoint *from);
/* A step without what it leaves behind but the state, and the bound over some rows, with their sums. */
anygp_status moe_move(moe_state *s, hyper *h, const step_context *c, bool learn, double *value, anygp_error *e);
anygp_status moe_value(moe_state *s, const hyper *h, const step_context *c, moe_stat *stat, double *value,
                       anygp_error *e);

/* The spare expert and expert k change places, and so do their hyperparameters. */
void moe_adopt(moe_state *s, hyper *h, int64_t k);
/* Expert k as the first, whose values are the run's, and the first as expert k. */
void moe_put_first(moe_state *s, hyper *h, int64_t k);

/* Splits and merges before step c->t, which is one that looks for them [moe_reform.c]. */
bool moe_looks(const moe_state *s, const step_context *c);
anygp_status moe_reform(moe_state *s, hyper *h, const step_context *c, bool *changed, anygp_error *e);

#endif
