/* Decoupled Gaussian processes (001): mean and covariance have bases of their own,
       m(x) = k_{x,alpha} a,      k'(x, x') = k(x, x') - k_{x,beta} R k_{beta,x'},   R = (B^-1 + K_beta)^-1          (8)
   with B = L L', H = I + L'K_beta L = J J', R = L H^-1 L' = W'W, W = J^-1 L': the process needs no inverse of K_beta or of B.
   The bound on the log evidence is
       sum_i E[log p(y_i | f_i)] - a'K_alpha a / 2 - log|H| / 2 + (M_beta - tr H^-1) / 2                        (9, 10)
   since tr(K_beta R) = tr(I - H^-1).  C latent functions have an a and an L each and share alpha, beta and the kernel.
   Jitter.  K_beta stands for K_beta + j I, j relative to its mean diagonal, in the bound, its gradients and predictions alike: the
   bases are then f(beta) with a little noise, and the bound is a bound all the same.  K_beta = T'T with T lower, so that
   H = I + (T L)'(T L) and a step of B in the coordinates T B T' (svdgp_natural.c) are positive definite by construction.
   A prior mean h(x)'b, b ~ N(0, s I), is p further bases sqrt(s) h(x) of both kinds, uncorrelated with the others and of
   variance 1; Mt = p + M_beta, those of the mean first.

   Gradients, linear in M_alpha.  With g = dE/dmu, h = dE/dvar of a row, S = sum h_i k_i k_i' and
   P = I - R K_beta (so that P L = L H^-1):
       a bar       = K_{alpha,x} g - K_alpha a                           columns of K_alpha sampled, N_m of them
       L bar       = -2 P'S L H^-1 - K_beta L H^-1 (I - H^-1)
       K_beta bar  = R S R - R K_beta R / 2
       k_i bar     = -2 h_i R k_i
   (001, propositions 2 and 3, in a form without cancellation.)
   Cost of a step with N_m rows: N_m M_alpha (2 D + 1) several times, N_m M_beta^2, M_beta^3; memory M_alpha (C + 2 D) and
   M_beta^2.

   Two ways to move a:
       sga      the paper's: Adam on a, the places alpha and their widths, K_alpha's columns sampled; a = a0 / k(x, x) and
                L = L0 / k(x, x) (the Jacobi preconditioner of appendix A.1.1, for stationary kernels); under a single rbf over
                the root of k(x, x), for the functions of appendix B.1 are ours over that root, and K_alpha's diagonal is 1
       newton   places stay, and a goes to the bound's own optimum: Newton steps for a block of the a at a time from sampled rows
                while hyperparameters learn (svdgp_block.c), conjugate gradients over all rows where they stay (svdgp_solve.c);
                B by natural gradients (svdgp_natural.c) */
#ifndef MODEL_DECOUPLED_SVDGP_H
#define MODEL_DECOUPLED_SVDGP_H

#include "data/table/id_table.h"
#include "inducing/functions.h"
#include "model/block_model.h"
#include "model/gather.h"
#include "model/model.h"

enum {
    SVDGP_TILE = 256
}; /* bases looked at together: their covariances with a piece of rows stay in the second cache */

/* Bases of the mean that a step moves. */
typedef struct svdgp_block {
    int64_t n, *which; /* in increasing order */
    double *Z;         /* n x D: their places */
} svdgp_block;

/* Rows of a sample that a pass keeps, for their curvature: every stride-th of them.  The k-th block of the sample has its rows at
   k * largest and after. */
typedef struct svdgp_witness {
    int64_t seats, stride, largest;
    const id_table *position; /* of a block in the sample; NULL: all blocks are in it */
} svdgp_witness;

typedef struct svdgp {
    /* what it is */
    const basis *mean;
    int64_t D, p;
    int64_t C; /* latents of all targets */
    int64_t targets;
    likelihood *likelihood; /* of each target, at the last prepare; NULL: no pass over rows will be made */
    bool newton;
    bool widths, alpha_widths; /* bases of the covariance, of the mean have widths of their own */
    bool precondition;         /* a and L are the segments' over `scale` */
    double jitter;             /* of K_beta, relative; grows where K_beta has to have a factor and has none */

    /* its parameters */
    param_segment a;                  /* M_alpha x C */
    param_segment trend;              /* p x C: coefficients of sqrt(s) h */
    param_segment alpha, alpha_width; /* M_alpha x D: places, logarithms of c (none in newton) */
    param_segment beta, beta_width;   /* M_beta x D */
    param_segment *L;                 /* C of them: lower triangle by rows, Mt (Mt + 1) / 2 */
    id_table rows;                    /* newton: rows that have become bases (gathered_id), so that none does twice */

    /* of the last prepare */
    functions f;
    kernel *kernel;
    int64_t likes, params; /* of the likelihoods, of the kernel */
    double scale;          /* of the preconditioner, or 1 */
    int64_t Mt, room;      /* room: size of the squares below */
    double *K;             /* Mt x Mt, both triangles, with the jitter */
    double *T;             /* K = T'T, lower, where `whitened` */
    bool whitened;
    double mean_diagonal, nugget; /* of K_beta without jitter; what is in K of it */
    double **factor, **J, **W;    /* C of each: L, chol H, J^-1 L' */
    double *work[4];              /* Mt x Mt */
    double *coefficient;          /* a, M_alpha x C */
    int64_t coefficient_room;

    /* what a pass over rows is for */
    bool gradient;         /* else the value alone */
    bool learn;            /* kernel, likelihood, beta */
    bool places;           /* alpha */
    svdgp_block block;     /* newton: what moves */
    svdgp_witness witness; /* newton: the rows that are kept */
    const double *direction,
        *direction_trend; /* g becomes -2 h k_{x,alpha} direction: the curvature's product; NULL: no */
    random_stream random;
} svdgp;

/* log p is quadratic in f. */
static inline bool svdgp_quadratic(const svdgp *s) { return likelihood_is_gaussian(s->likelihood); }
static inline int64_t svdgp_Ma(const svdgp *s) { return s->alpha.rows; }
static inline int64_t svdgp_Mb(const svdgp *s) { return s->beta.rows; }
static inline function_set svdgp_alpha(const svdgp *s)
{
    return (function_set){s->alpha.rows, s->alpha.values, s->alpha_widths ? s->alpha_width.values : NULL};
}
static inline function_set svdgp_beta(const svdgp *s)
{
    return (function_set){s->beta.rows, s->beta.values, s->widths ? s->beta_width.values : NULL};
}

/* All parameters: those six, then L of each latent.  [svdgp.c] */
enum { SVDGP_TABLES = 6 };
param_segment *svdgp_table(svdgp *s, int64_t i);

/* Without bases, likelihood or a way to learn. */
anygp_status svdgp_init_bare(svdgp *s, const basis *mean, int64_t D, int64_t C, bool rbf, anygp_error *e);
anygp_status svdgp_init(svdgp *s, const problem *p, const kernel *k, bool newton, anygp_error *e);
void svdgp_clear(svdgp *s); /* accepts a half-built one */

/* New bases at the end, of width 1; the mean stays what it is, and new columns of L are `small` times the identity. */
anygp_status svdgp_add_alpha(svdgp *s, int64_t count, const double *Z, anygp_error *e);
/* newton: one basis at row `id` (gathered_id), unless it is one already. */
anygp_status svdgp_add_row(svdgp *s, int64_t id, const double *x, anygp_error *e);
anygp_status svdgp_add_beta(svdgp *s, int64_t count, const double *Z, double small, anygp_error *e);

/* Everything that all rows share; to be called whenever parameters have changed.  like[likes]: of all targets; NULL: no pass over
   rows will follow. */
anygp_status svdgp_prepare(svdgp *s, kernel *k, int64_t likes, const double *like, anygp_error *e);

/* T of the last prepare, with as much more jitter as it takes.  False: K_beta is not finite, or far from positive definite. */
bool svdgp_whiten(svdgp *s);
/* The same with the next jitter; false: it is the largest. */
bool svdgp_more_jitter(svdgp *s);
void svdgp_set_jitter(svdgp *s, double jitter); /* in K, without T */

/* ------------------------------------------------------------------- sums over rows [svdgp_rows.c] */

/* Places in the vector of sums; what a pass is not for has size 0. */
typedef struct svdgp_layout {
    int64_t value, like, kernel; /* the last two in natural parameters */
    int64_t a, trend, S;         /* S: C squares of Mt */
    int64_t beta, beta_width, alpha, alpha_width;
    int64_t block;   /* newton: K_{block,x} g, n x C */
    int64_t witness; /* newton: seats x svdgp_witness_width */
    int64_t size;
} svdgp_layout;

/* For each seat: how often the row is in the sample, then so many times w, x[D], -2 h [C]. */
static inline int64_t svdgp_witness_width(const svdgp *s) { return 2 + s->D + s->C; }

svdgp_layout svdgp_layout_of(const svdgp *s);
extern const block_model svdgp_rows;

/* out[n, p + set.M] = (sqrt(s) h, K_{x,set}) of n rows, whose features are left in F; tile: functions_work of both.  False: no
   memory. */
bool svdgp_fill(const svdgp *s, function_set set, int64_t n, const double *X, int64_t ldx, double *F, double *tile,
                double *out);

/* For n rows: mean and, unless NULL, variance [n, C] of the latents; K and W'W as they are used, from the workspace. */
int64_t svdgp_marginal_work(const svdgp *s, int64_t n);
bool svdgp_marginal(const svdgp *s, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                    double *variance);

/* ----------------------------------------------------------------------------- KL [svdgp_head.c] */

/* Takes KL_beta off the value and turns the sums of a pass into gradients in place: S of each latent becomes L's (square, lower
   triangle; not in newton), beta, widths and kernel get their share of K_beta.  False: no memory. */
bool svdgp_head(svdgp *s, double *stat);
/* (log|H| - Mt + tr H^-1) / 2 of latent c; of all of them, with |trend|^2 / 2. */
double svdgp_kl_latent(const svdgp *s, int64_t c);
double svdgp_kl_covariance(const svdgp *s);
/* a'K_alpha a / 2 with gradients from `count` columns of K_alpha, times `scale` = M_alpha / count; takes them off stat.  NULL: all
   columns.  stat NULL: the value alone.  pull, unless NULL: K_{columns,alpha} a, count x C, without the scale. */
bool svdgp_kl_mean(const svdgp *s, int64_t count, const int64_t *columns, double scale, double *value, double *stat,
                   double *pull);
/* Last of all, where there is a preconditioner: the kernel's gradient through a = a0 / scale, L = L0 / scale. */
void svdgp_pull_scale(const svdgp *s, double *stat);

#endif
