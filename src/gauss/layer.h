/* A layer: C functions of X that share a kernel and inducing variables, each with a Gaussian q of its own, and the conditional of
   the functions given these, forward and back.

   u = L v, K_uu = L L' over all inducing inputs Z, so that v ~ N(0, I); A = L^-1 K_uf (M x n); a prior mean h(x)'b with
   b ~ N(0, B I) is p rows sqrt(B) h(x) of A before those, and Mt = p + M.  Function c has
       q(v_c) = N(m_c, V_c),   V_c block-diagonal over K sets,   Lambda_ck = V_ck^-1 = F F',
       mu_c = A'm_c,           var_ci = k_ii - |a_i|^2 + sum_k |F_ck^-1 a_ik|^2
   One set is SVGP.  Several are SOLVE-GP: L is the joint factor, whose k-th block row is what 004 calls the orthogonal process of
   set k, C_vv = K_vv - K_vu K_uu^-1 K_uv, so that v of set k is v_perp whitened (its appendix F; predictions eq. 23, 24).
   odvgp's second set, for the mean only, is in orthogonal.h.

   With g, d the derivatives of an objective E in mu and var, the statistics of rows are
       b_c = A g_c,   S_ck = -2 A_k diag(d_c) A_k'            natural gradient of q (gauss.h)
       Abar = sum_c [m_c g_c' + 2 V_c A diag(d_c)] - 2 A diag(sum_c d_c)        (the last in the M rows of L^-1 K_uf)
       K_uf bar = L^-T Abar,   E = lower triangle of sum Abar A', mirrored,   K_uu bar = -L^-T E L^-1 / 2.
   All of it only adds over rows.  For C = K = 1
       sum Abar A' = m b' + S - V S,
   which a step over more than 4/3 M rows computes from the sums rather than row by row; V itself is then at hand.

   A q by covariance (V = R R', gauss.h) has the same statistics: the gradient in m is b - m, that in R is the lower triangle of
   -S R - R, and 1 / R_ii more in its diagonal.

   Cost over n rows, C = K = 1: 6 M^2 n (three pairs of triangular solves and products) + 2 M^3 (factors of K_uu and
   Lambda, tr V, K_uu bar), or 5 M^2 n + 10/3 M^3 if that is less; each further function 3 M^2 n.
   Memory: (3 C + 4) M^2, C + 1 more for each further thread, and a piece of rows per thread; with V one more and one less. */
#ifndef GAUSS_LAYER_H
#define GAUSS_LAYER_H

#include "gauss/gauss.h"
#include "inducing/basis.h"
#include "inducing/inducing.h"

enum { LAYER_SETS_MOST = 8 };

typedef struct layer {
    const basis *mean;
    int64_t C;           /* functions */
    int64_t M, p, Mt, D; /* inducing inputs, basis functions, both, inputs */
    int64_t K,
        set[LAYER_SETS_MOST + 1]; /* set k is rows set[k] .. set[k+1]-1 of A; the basis functions belong to the first */
    int64_t params;               /* of the kernel */
    int64_t variables;            /* numbers of the inducing variables that are learned; 0: they stay */
    bool widths;                  /* half of these are widths */
    double white;
    bool noisy; /* white terms of the kernel are noise of f, not of y */
    bool learn; /* statistics have the adjoints */
    bool by_V; /* and V is at hand: V A takes one product, and E is not among them: layer_E computes it from the rest */
    inducing_set u;           /* the M inducing variables: L, A and their reverses */
    double *m;                /* Mt x C */
    gauss *q;                 /* C x K, the sets of a function one after the other */
    double *work;             /* 4 Mt */
    struct layer_f32 *single; /* its rows may be in float [layer_f32.h]; NULL: never */
    int spares;               /* threads that move q at once */
    bool beside;              /* q, the only one, moves on a thread beside that of the gradient */
    gauss_spare *spare;

    /* odvgp [orthogonal.h] */
    int64_t O;      /* inducing inputs for the mean only, after the M others in Z; 0: none */
    inducing_set o; /* these, without a factor */
    int64_t columns;
    double *a, *Ka; /* O x C */
    double *w;      /* Mt x C */
    double *w_part; /* Mt x C: that of the sampled columns, scaled like them */
    double *mean_m; /* Mt x C: m - w; where O is 0, m itself */
    double *t;      /* M x C */
    int64_t *chosen;
    double *picked; /* of the sampled columns: places, widths, coefficients */
    double *G;      /* workspace: O times the larger of M and columns */
} layer;

/* What a layer is made for. */
typedef struct layer_shape {
    const inducing_ops *kind;
    const basis *mean;
    int64_t D, C, M, O;
    int64_t params;      /* of the kernel */
    bool learned;        /* the inducing variables are */
    const int64_t *sets; /* set_count sizes of sets of the M; NULL: one */
    int64_t set_count;
    bool noisy;
    double *R; /* q by covariance: C of R, Mt x Mt each, the caller's; NULL: by precision */
} layer_shape;

anygp_status layer_init(layer *l, const layer_shape *s, anygp_error *e);
void layer_clear(layer *l); /* accepts a half-built one */

/* L under this kernel and for these variables, all M + O of them, which outlive l; *jitter is relative and grows only if allowed.
   False: K_uu has no factor. */
bool layer_prepare(layer *l, kernel *k, function_set all, bool grow, double *jitter);
/* The same with an L that is known. */
void layer_take_factor(layer *l, kernel *k, function_set all, const double *L);

/* ---------------------------------------------------------------------------- the rows [layer_rows.c] */

typedef struct layer_stat {
    double *b;         /* Mt x C */
    double *o;         /* O x C: K_of g */
    double *S;         /* for each function and set M_k x M_k, lower triangles */
    double *kernel;    /* kernel parameters; this and what follows with `learn` only */
    double *white;     /* 1: adjoint of the variance of white terms */
    double *variables; /* for all M + O inducing inputs: places, then widths; none where they are not learned */
    double *E;         /* M x M, lower triangle; with by_V not a sum, but room for layer_E */
} layer_stat;
layer_stat layer_stat_place(const layer *l, double *at);
int64_t layer_stat_size(const layer *l); /* of the sums; with by_V the room of E follows them */
/* Where the gradients of u go; those of o follow. */
inducing_grad layer_grad(const layer *l, const layer_stat *stat);

/* Workspace of n rows.  U: F^-1 A of each function, later or at once V A, later A (-2 d)^1/2. */
typedef struct layer_pieces {
    double *A, *U;                 /* Mt x n, U for each function */
    double *Abar;                  /* M x n */
    double *mu, *var, *dmu, *dvar; /* n x C */
    double *rest;                  /* n: k - |a|^2, later sum_c d_c */
    double *G;                     /* O x n: K_of */
} layer_pieces;
layer_pieces layer_place(const layer *l, int64_t n, double *work);
int64_t layer_work(const layer *l, int64_t n);
double layer_multiplications(const layer *l, int64_t n, bool value_only);

/* mu and var of the rows; value_only: no reverse follows. */
anygp_status layer_forward(const layer *l, int64_t n, const double *X, const layer_pieces *p, bool value_only,
                           anygp_error *e);
/* From dmu and dvar to the statistics and, unless NULL, Xbar[n,D], which is added to. */
anygp_status layer_reverse(const layer *l, int64_t n, const double *X, const layer_pieces *p, const layer_stat *stat,
                           double *Xbar, anygp_error *e);

/* --------------------------------------------------------------------------------------------- q */

double layer_kl(const layer *l); /* sum of the KL of all q to their priors */
/* One natural step of every q, each halved until its Lambda is positive definite; false: one of them cannot move at all.  Lambda,
   theta: natural parameters of a prior that is not N(0, I), those of all q one after the other; or NULL. */
bool layer_move(layer *l, const layer_stat *stat, double rho, const double *Lambda, const double *theta);
bool layer_q_set(layer *l, gauss *q, const double *Lambda, const double *theta); /* as gauss_set */
int layer_threads(const layer *l);                                               /* that make the factors of one q */
/* From here on V of the only q there is (C = K = 1) is at hand, until it is dropped.  False: no memory. */
bool layer_hold_V(layer *l);
void layer_drop_V(layer *l);
/* E from m, b, S and V, for by_V.  S may get its upper triangle. */
void layer_E(const layer *l, layer_stat *stat);
/* The adjoint of L to kernel and variables; white: as for inducing_ops.finish.  E is used up.  False: no memory. */
bool layer_finish(layer *l, layer_stat *stat, double white);

/* [layer_keep.c]  q before a step, kept[layer_kept_size()], to be taken back to; far: the means have moved so far, in whitened
   units, that the step of a likelihood that is not quadratic should be looked at. */
int64_t layer_kept_size(const layer *l);
void layer_keep(const layer *l, double *kept);
void layer_take_back(layer *l, const double *kept);
bool layer_far_moved(const layer *l, const double *kept);
/* q of a layer with fewer variables of one set, which are the first of l's, and for the others the prior given those: in whitened
   variables they are independent.  Marginals are those of `from`.  False: no memory. */
bool layer_take_q(layer *l, const layer *from);
void layer_save(const layer *l, checkpoint *to);
bool layer_restore(layer *l, const checkpoint *from);

#endif
