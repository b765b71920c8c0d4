/* The sparse priors of the unifying view (000, section 2 and appendix D; 003, section III-C) and the collapsed variational
   bounds (003, eq. 15 and 16; 004, eq. 7 and 21), over blocks.

   u = L v, K_uu = L L', so that v ~ N(0, I); A_i = L^-1 K_ui; in block i
       y_i | v ~ N(A_i'v, G_i),   G_i = kept part of (K - Q)_ii + noise,   Q = A'A
       sor, dtc     nothing is kept            G = noise I
       fitc, fic    the diagonal               G = diag(K - Q) + noise I
       pitc, pic    the whole block            G = (K - Q)_ii + noise I
       vfe, pep     a part of the diagonal     G = alpha diag(K - Q) + noise I, alpha from 0 (vfe) to 1 (fitc)
   A prior mean h(x)'b, b ~ N(0, B I), is p further rows sqrt(B) h(x) of A; below M counts them too.

   Statistics of a block, which add:  S = A G^-1 A',  b = A G^-1 y,  l = log|G|,  q = y'G^-1 y.
   For what alpha < 1 leaves out of G, l has in addition (d = k - q of a row)
       sum (1 - alpha) / alpha log(1 + alpha d / noise),   for alpha = 0 its limit  sum d / noise;
   it depends on rows alone, so nothing below changes but d's adjoint, alpha gbar - (1 - alpha) / (2 g), and the noise's,
   gbar + (1 - alpha) d / (2 g noise).  For alpha = 0 the sum -2 A dbar A' is S itself, and no block adds to it.
   Head:  with B = I + S, beta = B^-1 b,   log evidence = -(n log 2 pi + l + log|B| + q - b'beta) / 2     (003, eq. 8)
   and at an explicit q(v) = N(m, V) the bound
       -(n log 2 pi + l + q - 2 m'b + m'S m + tr(S V)) / 2 - KL(q || N(0, I)),
   affine in the statistics and equal to the evidence at its maximum m = beta, V = B^-1.  So one reverse serves both: with
   R = G^-1 A', T = V R' and r = G^-1 y - R m,
       Gbar = (R V R' - G^-1 + r r') / 2,      Abar = -T + m r' - 2 A Gbar  (the last where Q is taken off),
       K_uf bar = L^-T Abar,   K_uu bar = -L^-T E L^-1 / 2,   E = lower triangle of sum Abar A', mirrored,
   where sum Abar A' = -(V + m m') S + m b' - 2 sum A Gbar A'; no block needs a product with K_uu's adjoint.

   Rows with weight w count as w equal rows: w times in the sums where G is diagonal; within a block, where equal rows share
   their f, as one row with noise / w (data/table/dataset.h has the algebra).
   A linear combination of models that share the test conditional is a model too (000, section 4, remark 2): natural
   parameters add, so that with a = sum alpha_m and the sums of alpha_m times each model's statistics
       precision = a I + S,   precision times mean = b,
       sum of alpha_m times the bounds = -(a n log 2 pi + l + q - 2 m'b + m'S m + tr(S V)) / 2 - a KL,
   which at that mean and precision is  -(a n log 2 pi + l + a log|aI + S| + q - b'beta + (1 - a) M) / 2.
   Only for a = 1 is it the largest value there; for one model alone all of this is as above.

   V may be held to a form: a block for each set of inducing inputs, which follow one another in Z and share one
   L (solve; 004, appendix F), or a block for the first set and the prior's I for the others (odvgp).  At the maximum m is
   as before, each free block is V_k = (I + S_kk)^-1, and log|B| in the evidence becomes
       solve   sum_k log|I + S_kk|          odvgp   log|I + S_11| + sum_{k > 1} tr S_kk
   (basis functions go with the first set).  E is then m m' - V S - 2 sum A Gbar A'.

   For the bounds with alpha = 0, with c = sum d and Q from all sets, Titsias' upper bound on the log evidence (2014) is
       -(n log 2 pi + log|Q + noise I| + y'(Q + (c + noise) I)^-1 y) / 2
   with log|Q + noise I| = n log noise + log|I + S|,   y'(..)^-1 y = (q - b'(r I + S)^-1 b) / r,   r = 1 + c / noise.

   Several targets share A.  With the trace term only (alpha = 0), noise s_t of target t and rho_t = s_0 / s_t, a pass at noise
   s_0 has the statistics of all: S_t = rho_t S, b_t = rho_t b, q_t = rho_t q and l_t = n log s_t + rho_t (l - n log s_0).  The
   bound is the sum of theirs, each with a head of its own; a row is reversed once:
       Abar = -(sum rho_t V_t) R' + sum rho_t m_t r_t' - 2 A dbar,   dbar = -sum rho_t / (2 s_0),   E = sum E_t,
       s_t bar = (tr(S_t V_t) + q_t - 2 m_t'b_t + m_t'S_t m_t - n + c / s_t) / (2 s_t).

   Cost of a pass: n M^2 (triangular solve) + n M^2 (product); with the gradient three times that; a block of B rows adds
   B^2 M + B^3 / 3 where it is kept whole; a further target adds 3 n M and M^3. */
#ifndef MODEL_SPARSE_SPARSE_H
#define MODEL_SPARSE_SPARSE_H

#include "inducing/inducing_f32.h"
#include "model/block_model.h"
#include "model/model.h"

typedef enum sparse_kept { KEPT_NOTHING, KEPT_DIAGONAL, KEPT_BLOCK } sparse_kept;

/* For a combination: what G keeps in each of its models, and their coefficients.  No more than five models have the same
   test conditional. */
enum { TERMS_MOST = 5 };
typedef struct sparse_term {
    sparse_kept kept;
    double power; /* of the diagonal: alpha above */
    double alpha; /* coefficient */
} sparse_term;
typedef struct sparse_terms {
    int64_t count; /* 0: one model, no combination */
    sparse_term term[TERMS_MOST];
} sparse_terms;

/* What V may be: anything; one block per set; the prior's for all sets but the first. */
typedef enum sparse_form { FORM_JOINT, FORM_BLOCKS, FORM_MEANS } sparse_form;

/* For several targets: what each has, and room for one of them. */
typedef struct sparse_many {
    double *noise, *bar; /* T: with the white terms; adjoints */
    double *stat;        /* of one target */
    double *V, *E;       /* Mt x Mt: of one target */
    double shares;       /* sum rho_t */
} sparse_many;

/* Rows in float [sparse_f32.c, sparse_whole_f32.c]: rounded copies of what they need. */
typedef struct sparse_f32 {
    bool on; /* rows are in float now */
    inducing_f32 u;
    float *V, *m; /* Mt x Mt, Mt x T */
} sparse_f32;

/* What all blocks share. */
typedef struct sparse {
    sparse_kept kept;
    double power;              /* of a kept diagonal: alpha; 1 after sparse_init */
    const sparse_terms *terms; /* of a combination; else NULL */
    sparse_form form;
    int64_t *set; /* Mt: the set of each element of v; NULL: one */
    double *J;    /* Mt x Mt: factor of I + S where V has another form, whose factor is B; else NULL */
    double prior; /* a: the prior's precision is that times I */
    const basis *mean;
    const hyper *h;  /* of the last prepare */
    int64_t M, p, D; /* inducing variables, basis functions, inputs */
    int64_t Mt;      /* M + p */
    double noise;    /* with the white terms of the kernel */
    double total;    /* original rows */
    inducing_set u;  /* L, A and their reverses */
    double *diag;    /* Mt: workspace */
    double *B;       /* Mt x Mt: factor of a I + S, or of its blocks that the form keeps */
    double *V, *m;   /* Mt x Mt (both triangles), Mt x T: coefficients of the reverse; V is sum rho_t V_t */
    double *E;       /* Mt x Mt: head's share of sum Abar A' */
    double *work;    /* Mt x Mt */
    int64_t targets; /* T: 1 after sparse_init */
    int64_t target;  /* for one alone: which it is */
    sparse_many many;
    sparse_f32 *single; /* NULL: rows are in double */
} sparse;

/* h: the kind and number of inducing variables; not kept. */
anygp_status sparse_init(sparse *s, sparse_kept kept, const basis *mean, const hyper *h, double total, anygp_error *e);
void sparse_clear(sparse *s); /* accepts a half-built one */

/* Whether the bound has a term of its own for what G leaves out; if so, and G keeps nothing, the head can do its reverse. */
static inline bool has_rest(const sparse *s) { return s->kept == KEPT_DIAGONAL && s->power < 1; }
static inline bool is_trace(const sparse *s) { return s->kept == KEPT_DIAGONAL && s->power == 0; }

/* L at h; *jitter is relative and grows only if allowed.  False: K_uu has no factor. */
bool sparse_prepare(sparse *s, const hyper *h, bool grow, double *jitter);

/* Places in the vector of statistics: S (Mt x Mt, lower triangle), b (Mt x T), l, q (T). */
static inline double *stat_S(const sparse *s, double *stat) { return (void)s, stat; }
static inline double *stat_b(const sparse *s, double *stat) { return stat + s->Mt * s->Mt; }
static inline double *stat_l(const sparse *s, double *stat) { return stat_b(s, stat) + s->Mt * s->targets; }
static inline double *stat_q(const sparse *s, double *stat) { return stat_l(s, stat) + 1; }

/* rows_alone: the two with a diagonal G; whole: G a block. */
extern const block_model sparse_rows, sparse_whole;
/* G a block, some of whose rows are given [sparse_given.c]; at once: where Mt is 0, the statistics and behind them the adjoints. */
extern const block_model sparse_given, sparse_given_at_once;
/* The same, several blocks side by side, without inducing inputs and for kernels that kernel_has_lanes() [given_lanes.c]. */
extern const block_model sparse_lanes, sparse_lanes_at_once;

/* Fisher's information in such blocks [sparse_information.c]: statistics of sparse_given_information, over this, are the P x P matrix
   (lower triangle; kernel parameters, then the noise) and the number of own rows.  sparse_lanes_information is the same for kernels that
   kernel_has_lanes(), LANES blocks at a time [information_lanes.c]. */
enum { INFORMATION_MOST = 32 }; /* kernel parameters */
typedef struct sparse_information {
    const sparse *s;
    int64_t kernel, count;                      /* kernel parameters; P */
    struct kernel *moved[2 * INFORMATION_MOST]; /* the kernel with each parameter larger, smaller */
} sparse_information;
anygp_status sparse_information_open(const sparse *s, sparse_information *f, anygp_error *e);
void sparse_information_clear(sparse_information *f);
int64_t sparse_information_size(const void *shared);
extern const block_model sparse_given_information, sparse_lanes_information;

/* A combination of terms from here on; they outlive s. */
void sparse_combine(sparse *s, const sparse_terms *terms);
/* Their block model: blocks may be cut anywhere unless some G is a block.  It has no reverse: nothing is learned. */
const block_model *sparse_combined(const sparse_terms *terms);

/* Heads (the bound of the statistics times `times`, which is 1 where a gradient is wanted): the collapsed evidence, which leaves B and beta = m; and the bound at q(v) = N(m, V), V both triangles, kl its KL
   to N(0, I).  With `gradient` they leave V, m and E for the reverse. */
bool sparse_evidence(sparse *s, const double *stat, bool gradient, double *value);
bool sparse_bound(sparse *s, const double *stat, double times, const double *m, const double *V, double kl,
                  bool gradient, double *value);

/* The share of the bound at the last head's m and V that rows with these statistics have, up to a constant.  The head's derivatives in
   the statistics are those of this bound: so for two versions of the same rows, say in float and in double, the difference is to first order
   that of the objective.  With `gradient` it leaves E, for the reverse and sparse_finish. */
double sparse_rows_bound(sparse *s, const double *stat, bool gradient);

/* Another form of V: sets of these sizes.  Where they add up to more than M, the last ones are smaller; where to less, the
   last is larger. */
anygp_status sparse_divide(sparse *s, sparse_form form, int64_t count, const int64_t *sizes, anygp_error *e);
/* T targets from here on, each with its noise in hyper.like; for bounds with the trace term only and V of any form
   [sparse_many.c]. */
anygp_status sparse_share(sparse *s, int64_t T, anygp_error *e);
void sparse_share_clear(sparse *s);
/* Its part of sparse_prepare: false where a target has no noise. */
bool sparse_share_prepare(sparse *s, const hyper *h);
/* Target t alone, for the heads: the same matrices, with its noise and m; *one gets its statistics.  One of them at a time. */
sparse sparse_target(const sparse *s, const double *stat, int64_t t, const double **one);
/* The sum of the targets' bounds.  With `gradient` it leaves V, m, E and the noises' adjoints. */
bool sparse_evidence_many(sparse *s, const double *stat, bool gradient, double *value);
/* Titsias' upper bound, after sparse_evidence of a bound with alpha = 0. */
bool sparse_upper(sparse *s, const double *stat, double *value);

/* Rows in float from the next prepare on; for variables that inducing_f32_fits(), and not where rows are given. */
anygp_status sparse_f32_open(sparse *s, anygp_error *e);
void sparse_f32_close(sparse *s); /* accepts one without */
static inline bool sparse_in_float(const sparse *s) { return s->single && s->single->on; }
/* The copies of L, after prepare; of V and m, after a head with `gradient` and before the reverse. */
void sparse_f32_prepare(const sparse *s);
void sparse_f32_head(const sparse *s);

/* L of the inducing variables, extended by the identity to Mt x Mt. */
void sparse_root(const sparse *s, double *L);
/* From the summed adjoints to gp[hyper_size(h)]; adjoint is used up. */
bool sparse_finish(sparse *s, double *adjoint, double *gp);

#endif
