/* Variational models as a chain of layers and a likelihood per target (003, eq. 17; 004, eq. 4 and 6): svgp, solve, ivsgpr and odvgp
   have one layer, deep has several (Salimbeni and Deisenroth 2017).

   f^0 = x.  An inner layer l (gauss/layer.h) has as many functions as inputs, and from its marginals at f^(l-1) one draw is made per row:
       f^l_ic = f^(l-1)_ic + s_c (mu_ic + sqrt(var_ic) e_ic),      e ~ N(0, 1), a function of (seed, step, row, layer, c)
   with s_c the spread of input c, so that inner layers know no units; it is 0 for text, which no layer changes.
   The last layer's marginals at f^(L-1) are those of the likelihood's latents, and the bound is
       sum_i w_i E[log p(y_i | f_i)] - sum over layers of KL(q(v) || N(0, I)),
   for L = 1 exactly, else unbiased over e.  With gbar = dE/df^l from the layer above (its X bar) the derivatives of layer l are
       dmu = s gbar,   dvar = s gbar e / (2 sd),   f^(l-1) bar = gbar + X bar of layer l.

   The last layer's q is moved by natural steps; an inner one is by covariance, its m and R are parameters like any other and move by
   Adam.  Value, gradient and step take one pass of the driver over the rows. */
#ifndef MODEL_VARIATIONAL_CHAIN_H
#define MODEL_VARIATIONAL_CHAIN_H

#include "gauss/layer.h"
#include "model/block_model.h"
#include "model/model.h"

enum { CHAIN_LAYERS_MOST = 8 };

/* What all blocks share. */
typedef struct chain {
    const hyper *h;   /* of the last prepare */
    int64_t L;        /* layers */
    layer *at;        /* L */
    layer *f;         /* the last of them */
    double **R;       /* L - 1: squares R of the inner q, Mt x Mt each */
    const double *s;  /* D: the spreads; L > 1 only */
    int64_t T;        /* targets */
    likelihood *like; /* T, with the values of h */
    int64_t each;     /* latents of a target */
    int64_t Q;        /* numbers of y a row has */
    int64_t rows;     /* a block has at most so many: numbers the rows */
    bool gaussian;    /* white noise then is noise of y, else of f */
    bool value_only;  /* statistics are the expected log likelihood and nothing else */
    random_stream random;
} chain;

/* What tells the models apart [model_ops.family]. */
typedef struct chain_kind {
    bool orthogonal;  /* odvgp: the second set of inducing inputs is of the mean alone */
    bool transported; /* ivsgpr: q follows the inducing variables */
    int64_t layers;   /* 0 counts as 1 */
} chain_kind;

anygp_status chain_init(chain *s, const problem *p, const hyper *h, bool orthogonal, anygp_error *e);
void chain_clear(chain *s); /* accepts a half-built one */
/* h has more inducing variables than before, at the end; one layer, one set.  Its q is as layer_take_q says. */
anygp_status chain_extend(chain *s, const problem *p, const hyper *h, anygp_error *e);

/* L of every layer at h, the inner q and the likelihoods' values; *jitter is relative and grows only if allowed.  False: some K_uu
   has no factor. */
bool chain_prepare(chain *s, const hyper *h, bool grow, double *jitter);
/* The likelihoods' values and the white noise of h: what prepare does besides the layers. */
void chain_take_values(chain *s, const hyper *h);
/* All that prepare does for one layer, with an L that is known. */
void chain_take_factor(chain *s, const hyper *h, const double *L);
void chain_learn(chain *s, bool learn); /* whether statistics have the hyperparameters' gradient */

/* Statistics of a block: the expected log likelihood, its gradient, and those of the layers. */
extern const block_model chain_rows;
/* The two halves of it, for a block whose weights depend on the marginals, which are those of the last layer: the workspace of the
   first is that of the second, and b->w may be other ones there, some of them 0. */
anygp_status chain_marginals(const chain *s, const row_block *b, double *work, const double **mu, const double **var,
                             anygp_error *e);
anygp_status chain_add_rows(const chain *s, const row_block *b, double *work, double *stat, anygp_error *e);

typedef struct chain_stat {
    double *value;                    /* 1 */
    double *like;                     /* T params: gradient of the likelihoods' parameters */
    layer_stat at[CHAIN_LAYERS_MOST]; /* inner ones while learning only */
    layer_stat *f;                    /* the last one's */
} chain_stat;
void chain_stat_place(const chain *s, double *at, chain_stat *stat);

double chain_kl(const chain *s);
/* From the summed adjoints, which are used up, to gp[hyper_size(h)].  False: no memory. */
bool chain_gradient(chain *s, chain_stat *stat, double *gp);

/* ------------------------------------------------------------------------------- inner layers [chain_inner.c] */

/* Segments of L - 1 inner layers, named layer1.kernel, layer1.Z, layer1.m, layer1.R, ..., behind those of h, whose kernel and places
   they begin with.  What is learned of h's is learned of theirs. */
anygp_status chain_define(hyper *h, const problem *p, int64_t L, anygp_error *e);
const double *chain_spreads(const hyper *h); /* of the inputs; NULL: there is one layer */
int64_t chain_layers(const hyper *h);        /* 1, and one for each inner layer among its segments */

/* Kernel and inducing variables of a layer, and where their gradients stand; the last layer's are h's own. */
typedef struct chain_prior {
    kernel *kernel;
    function_set set;
    bool learned;
    int64_t at_kernel, at_variables;
} chain_prior;
chain_prior chain_prior_of(const hyper *h, int64_t i);

/* m and R of an inner layer, i < L - 1, from their segments; and their gradients at gp. */
void chain_take_inner(chain *s, const hyper *h, int64_t i);
bool chain_inner_gradient(const chain *s, int64_t i, const layer_stat *stat, double *gp);

#endif
