/* Stochastic variational Gaussian processes (003, eq. 17; 004, eq. 4 and 6): svgp, solve, ivsgpr, odvgp.

   u = L v, K_uu = L L' over all inducing inputs Z, so that v ~ N(0, I); A = L^-1 K_uf (M x n); a prior mean h(x)'b with
   b ~ N(0, B I) is p rows sqrt(B) h(x) of A before those, and Mt = p + M.  Each of C latent functions has
       q(v_c) = N(m_c, V_c),   V_c block-diagonal over K sets,   Lambda_ck = V_ck^-1 = F F',
       mu_c = A'm_c,           var_ci = k_ii - |a_i|^2 + sum_k |F_ck^-1 a_ik|^2
   and the bound is  sum_i w_i E[log p(y_i | f_i)] - sum_ck KL(q(v_ck) || N(0, I)).

   One set is SVGP.  Several are SOLVE-GP: L is the joint factor, whose k-th block row is what 004 calls the orthogonal process of
   set k, C_vv = K_vv - K_vu K_uu^-1 K_uv, so that v of set k is v_perp whitened (its appendix F; predictions eq. 23, 24).

   With g = w dE/dmu, d = w dE/dvar the statistics of a block are
       b_c = A g_c,   S_ck = -2 A_k diag(d_c) A_k'            natural gradient of q (step rho; exact for Gaussian noise at rho = 1):
           Lambda_ck <- (1 - rho) Lambda_ck + rho (I + S_ck),   theta_ck <- (1 - rho) theta_ck + rho (b_ck + S_ck m_ck)
       Abar = sum_c [m_c g_c' + 2 V_c A diag(d_c)] - 2 A diag(sum_c d_c)        (the last in the M rows of L^-1 K_uf)
       K_uf bar = L^-T Abar,   E = lower triangle of sum Abar A', mirrored,   K_uu bar = -L^-T E L^-1 / 2.
   All of it only adds over rows, so value, gradient and step take one pass of the driver.  For C = K = 1
       sum Abar A' = m b' + S - V S,
   which a step over more than 4/3 M rows makes of the sums rather than row by row; V itself is then at hand.

   Cost of a step over n rows, C = K = 1: 6 M^2 n (three pairs of triangular solves and products) + 2 M^3 (factors of K_uu and
   Lambda, tr V, K_uu bar), or 5 M^2 n + 10/3 M^3 if that is less; each further latent 3 M^2 n.
   Memory: (3 C + 4) M^2, C + 1 more for each further thread, and a piece of rows a thread; with V one more and one less. */
#ifndef MODEL_SVGP_H
#define MODEL_SVGP_H

#include "model/block_model.h"
#include "model/model.h"

/* q of one latent and set, natural parameters first. */
typedef struct svgp_q {
    int64_t M;
    double *Lambda; /* M x M, lower triangle */
    double *F;      /* its factor, zeros above */
    double *T;      /* of la_trsm_prepare(F) */
    double *theta;  /* Lambda m */
    double *m;      /* a part of svgp.m */
    double trace;   /* of V */
    double *V;      /* M x M, both triangles; NULL unless svgp_hold_V asked for it */
} svgp_q;

/* Room of one thread for the next q, which changes places with the old one; between steps nothing is in it. */
typedef struct svgp_spare {
    double *Lambda, *F; /* squares of the largest set */
    double *work;       /* 3 of its sides */
} svgp_spare;

/* What all blocks share. */
typedef struct svgp {
    const basis *mean;
    const hyper *h;      /* of the last prepare */
    int64_t T;           /* targets */
    likelihood *like;    /* T, with the values of h */
    int64_t C, each;     /* latents: all, and those of a target */
    int64_t Q;           /* numbers of y a row has */
    int64_t M, p, Mt, D; /* inducing inputs, basis functions, both, inputs */
    int64_t K,
        set[MODEL_SETS_MOST + 1]; /* set k is rows set[k] .. set[k+1]-1 of A; the basis functions belong to the first */
    int64_t rows;                 /* a block has at most so many: numbers the rows */
    double white;
    bool gaussian;   /* white noise then is noise of y, else of f */
    bool value_only; /* statistics are the expected log likelihood and nothing else */
    bool learn;      /* statistics have the hyperparameters' gradient */
    bool by_V;       /* and V is at hand: V A takes one product, and E is not among them: svgp_E makes it of the rest */
    random_stream random;
    inducing_set u; /* the M inducing variables: L, A and their reverses */
    double *m;      /* Mt x C */
    svgp_q *q;      /* C x K, the sets of a latent one after the other */
    double *work;   /* 4 Mt */
    int spares;     /* threads that move q at once */
    bool beside;    /* q, the only one, moves on a thread beside that of the gradient */
    svgp_spare *spare;

    /* odvgp [svgp_orthogonal.h] */
    int64_t O;      /* inducing inputs of the mean alone, behind the M others in Z; 0: none */
    inducing_set o; /* these, without a factor */
    int64_t columns;
    double *a, *Ka; /* O x C */
    double *w;      /* Mt x C */
    double *mean_m; /* Mt x C: m - w; where O is 0, m itself */
    double *t;      /* M x C */
    int64_t *chosen;
    double *picked; /* of the sampled columns: places, widths, coefficients */
    double *G;      /* workspace: O times the larger of M and columns */
} svgp;

/* orthogonal: the second set of inducing inputs is of the mean alone. */
anygp_status svgp_init(svgp *s, const problem *p, const hyper *h, bool orthogonal, anygp_error *e);
void svgp_clear(svgp *s); /* accepts a half-built one */

/* L at h and the likelihoods' values; *jitter is relative and grows only if allowed.  False: K_uu has no factor. */
bool svgp_prepare(svgp *s, const hyper *h, bool grow, double *jitter);

/* Statistics of a block: the expected log likelihood, its gradient, b, S, and with `learn` the adjoints. */
extern const block_model svgp_rows;

typedef struct svgp_stat {
    double *value;     /* 1 */
    double *like;      /* T params: gradient of the likelihoods' parameters */
    double *b;         /* Mt x C */
    double *o;         /* O x C: K_of g */
    double *S;         /* for each latent and set M_k x M_k, lower triangles */
    double *kernel;    /* kernel parameters; this and what follows with `learn` only */
    double *white;     /* 1: adjoint of the variance of white terms */
    double *variables; /* of all M + O inducing inputs, as hyper_grad has them; none where they are not learned */
    double *E;         /* M x M, lower triangle; with by_V not a sum, but room for svgp_E */
} svgp_stat;
svgp_stat svgp_stat_place(const svgp *s, double *at);
/* Where the gradients of u go; those of o follow. */
static inline inducing_grad svgp_grad(const svgp *s, const svgp_stat *stat)
{
    return hyper_grad(s->h, stat->kernel, stat->variables);
}

/* Sum of the KL of all q to their priors. */
double svgp_kl(const svgp *s);
/* The likelihoods' values and the white noise of h: what prepare does besides L. */
void svgp_take_values(svgp *s, const hyper *h);
/* All that prepare does, with an L that is known. */
void svgp_take_factor(svgp *s, const hyper *h, const double *L);

/* One natural step of every q, each halved until its Lambda is positive definite; false: one of them cannot move at all. */
bool svgp_move(svgp *s, const svgp_stat *stat, double rho);
/* The same where the prior is not N(0, I) but has these natural parameters, those of all q one after the other. */
bool svgp_move_from(svgp *s, const svgp_stat *stat, double rho, const double *Lambda, const double *theta);
/* From here on V of the only q there is (C = K = 1) is at hand, until it is dropped.  False: no memory. */
bool svgp_hold_V(svgp *s);
void svgp_drop_V(svgp *s);
/* E from m, b, S and V, for by_V.  S gets its upper triangle. */
void svgp_E(const svgp *s, svgp_stat *stat);
/* From the summed adjoints, which are used up, to gp[hyper_size(h)].  False: no memory. */
bool svgp_gradient(svgp *s, svgp_stat *stat, double *gp);

/* q before a step, kept[svgp_kept_size()], to be taken back to; far: the means have moved so far, in whitened units, that the
   step of a likelihood that is not quadratic should be looked at. */
int64_t svgp_kept_size(const svgp *s);
void svgp_keep(const svgp *s, double *kept);
void svgp_take_back(svgp *s, const double *kept);
bool svgp_far_moved(const svgp *s, const double *kept);

/* q from Lambda and theta alone; false: it is no distribution, and q is as before. */
bool svgp_q_set(svgp *s, svgp_q *q, const double *Lambda, const double *theta);

#endif
