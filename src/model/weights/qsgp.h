/* Quadruply stochastic Gaussian processes (002): the bound of a linear model in m basis functions, estimated from a sample of rows
   and from samples of basis functions, so that a step costs the same whatever n and m are.

   f_c(x) = phi(x)'w_c for each latent function c, w_c ~ N(0, S^-1), q(w_c) = N(mu, C C'), C "chevron": its first K columns are dense lower
   triangles, the others have their diagonal element alone.  With Gaussian noise s the bound is -(L_mu + L_C + L_0) / 2,
       L_mu = (-2 y'Phi mu + |Phi mu|^2) / s + mu'S mu
       L_C  = sum_r [ |Phi c_r|^2 / s + c_r'S c_r - 2 log c_rr ]                                                            (002, eq. 2)
   mu and the dense columns are V = C (1 + K) vectors over the m functions, and are treated alike: only mu has targets y.

   A step samples rows l, with `scale` = all rows / sampled rows, and cells (cells.h) i and j of basis functions, independently of each
   other, with `over` = all cells / sampled cells.  For one vector v, with F_i = over Phi_li v_i and the same for j,
       v'Phi'Phi v  ~  scale F_i'F_j          y'Phi v  ~  scale y'(F_i + F_j) / 2                          (theorems 1 and 2)
   so that the gradient of the bound has R_i = dB/dF_i = scale (y - F_j) / 2s, and R_j likewise: what one sample leaves of the targets
   is fitted by the other one.  Sums over single functions (a diagonal S, the diagonal columns of C) are sums over i and over j, halved;
   they have the third sample r of theorem 2, which need not be independent of i and j there.  A cell has the same chance as any other, so
   everything is unbiased, value and gradient; where a sample is all cells, i and j are one, and nothing of the functions is random.
   Control variate (eq. 3, proposition 3): P support rows p, with a = Phi_p v over all m functions, add
       N sum_p w_p ( F_ip F_jp - a_p^2 ) / 2s,    R_ip = N w_p (F_jp - a_p) / 2s
   whose expectation is 0.  Each of i and j has its share of the gradient of |a|^2, times `over`; appendix F.1 scales by m / |i u j| instead,
   which is unbiased too and needs their union.  a moves with v at the cost of the sampled cells.  It keeps the basis
   functions of the first kernel (appendix F.3).  Where S = K_zz, its own term mu'S mu has one too (appendix F.2): with Phi_p = K_pz, Nystrom's
   K_zp K_pp^-1 K_pz in place of S adds
       ( F_i'K_pp^-1 F_j - a'K_pp^-1 a ) / 2 at rows p,    R_i = K_pp^-1 (F_j - a) / 2
   Diagonal columns are at their optimum (proposition 1), c_rr^2 = 1 / (s_rr + sum_l phi_lr^2 / s), from running means of phi_lr^2 over the rows
   that were sampled with r.

   Other likelihoods (theorem 3): sum_l E_z log g(mean_l + z sd_l), with mean and variance from one sample of cells.  For log-concave g
   and given variances that is no more than the sum over all functions, in expectation (Jensen).

   qsrvm: S = diag(s) with precisions of their own, which are learned (proposition 2; qsrvm.c). */
#ifndef MODEL_WEIGHTS_QSGP_H
#define MODEL_WEIGHTS_QSGP_H

#include "model/model.h"
#include "model/weights/cells.h"

/* How weights move (qsgp_steps.c). */
typedef enum qsgp_rule { RULE_BLOCK, RULE_PLAIN, RULE_ADAGRAD } qsgp_rule;

/* What an expression qsgp(...) says; model_ops.family. */
typedef struct qsgp_kind {
    int64_t dense;   /* K */
    int64_t batch;   /* basis functions of a sample; 0: the default */
    int64_t control; /* P; -1: the default */
    cells_kind basis;
    qsgp_rule rule;
    bool relevance; /* qsrvm: S = diag(s), learned */
} qsgp_kind;

static const double QSRVM_OUT = 1e30; /* s of a weight that is pinned to 0, as good as infinite */
enum { QSGP_BATCH = 100000, QSGP_CONTROL = 500, QSRVM_BATCH = 4096 };

/* Whether steps are those of qsrvm.c: the functions that are in, and some of the others, one after the other. */
static inline bool qsgp_in_turn(const qsgp_kind *k) { return k->relevance && k->rule == RULE_BLOCK; }
/* Basis functions of a sample where there are m, and control rows: wanted, before there are too few rows. */
int64_t qsgp_batch(const qsgp_kind *k, int64_t m);
int64_t qsgp_control(const qsgp_kind *k, int64_t m);

typedef struct qsgp {
    cells cells;
    int64_t T, each, C; /* targets, latents of each, all of them */
    int64_t K, V;       /* dense columns; vectors, C (1 + K) */
    int64_t per;        /* cells of a sample; cells.count: all */
    double N;           /* rows, with their weights */
    bool gaussian;
    bool on_disk;     /* where its large arrays are: those of m numbers or more (base/mapped.h) */
    likelihood *like; /* T, with their values; with Gaussian noise that of white terms is in them */
    double white;

    double *v; /* m x V, row-major: mu of latent c is column c (1 + K), and its dense columns follow */
    double *
        square; /* m x C: what phi^2 is on average over rows, in units of cells_scale; with curvatures as weights unless gaussian */
    double *seen; /* cells.count: how often */

    double *s;     /* m x C: prior precisions of their own; NULL: S is that of the basis */
    double *power; /* C: what s is relative to: the mean square of the targets, 1 where noise is not Gaussian */

    double *Z; /* kernels: m x D, the places, which are rows, */
    double *Yz,
        *wz; /* and their targets and weights where they are all rows, so that mu can move by blocks; else NULL */

    int64_t P;
    double *Xp;  /* P x D, row-major, */
    double *wp;  /* P: and their weights, of all rows' 1 */
    double *a;   /* P x V, column-major */
    double *Lpp; /* P x P: factor of K_pp, where S = K_zz; else NULL */
} qsgp;

/* What its basis and its bound refuse. */
anygp_status qsgp_admits(const model_ops *self, const model_scope *q, anygp_error *e);
anygp_status qsgp_init(qsgp *q, const qsgp_kind *kind, const problem *p, int64_t D, anygp_error *e);
void qsgp_clear(qsgp *q);
/* Noise and white terms from h. */
void qsgp_take_values(qsgp *q, const hyper *h);
/* Room for control rows, and some of those of the problem. [qsgp_control.c] */
anygp_status qsgp_control_rows(qsgp *q, const problem *p, anygp_error *e);
/* Their places and weights, and a at the start, under this kernel: mu is 0, and dense columns have the weights of the first K functions alone. */
anygp_status qsgp_control_start(qsgp *q, const problem *p, const kernel *k, anygp_error *e);
/* s of the target that latent c belongs to; 1 where noise is not Gaussian. */
static inline double qsgp_noise(const qsgp *q, int64_t c) { return q->gaussian ? q->like[c / q->each].value[0] : 1; }
/* s_rr of function f of a cell, for latent c; whether S is diagonal at all. */
double qsgp_prior(const qsgp *q, const cells_hand *h, int64_t slot, int64_t f, int64_t c);
static inline bool qsgp_diagonal_prior(const qsgp *q) { return q->s || cells_are_waves(q->cells.kind); }
/* |phi_r|^2 / s over all rows, as far as is known. */
double qsgp_information(const qsgp *q, const cells_hand *h, int64_t slot, int64_t f, int64_t c);
/* c_rr^2 of diagonal column r = function f of a cell, for latent c; 0 for dense columns. */
double qsgp_diagonal(const qsgp *q, const cells_hand *h, int64_t slot, int64_t f, int64_t c);

/* ------------------------------------------------------------------------------------- [qsgp_sample.c] */

/* Rows and cells of a step. */
typedef struct qsgp_sample {
    int64_t n;      /* rows l; */
    int64_t P, R;   /* control rows and, for a basis of kernels, places of the sampled cells behind them */
    int64_t rows;   /* n + P + R */
    double *X, *XT; /* rows x D, row-major and column-major */
    double *y, *w;  /* n x Q row-major, n */
    int64_t *place; /* n: the row's among all of them, block after block */
    int64_t Q, index;
    double scale;
    int64_t count; /* cells of i or j */
    int64_t *cell;
    uint8_t *in; /* 1: of i, 2: of j, 3: of both */
    double over;
    int64_t room, cell_room; /* what there is room for: rows, cells */
    block_buffer buffer;
} qsgp_sample;

void qsgp_sample_clear(qsgp_sample *s);
/* Cells of step t, functions of (seed, t); `both`: one sample, which is i and j at once. */
anygp_status qsgp_sample_cells(const qsgp *q, uint64_t seed, uint64_t t, bool both, qsgp_sample *s, anygp_error *e);
/* The given cells instead. */
anygp_status qsgp_sample_given(const qsgp *q, int64_t count, const int64_t *cell, const uint8_t *in, double over,
                               qsgp_sample *s, anygp_error *e);
/* After the cells: `count` blocks of rows (which NULL: block 0 and on), and the rows that are always there. */
anygp_status qsgp_sample_rows(const qsgp *q, row_blocks *b, int64_t count, const int64_t *which, double scale,
                              bool control, qsgp_sample *s, anygp_error *e);

/* Kernels at all rows: `count` of the rows instead, functions of (seed, t). */
anygp_status qsgp_sample_places(const qsgp *q, uint64_t seed, uint64_t t, int64_t count, qsgp_sample *s,
                                anygp_error *e);

/* --------------------------------------------------------------------------------------- [qsgp_pass.c] */

/* Room for a pass over the sample, and what it leaves. */
typedef struct qsgp_pass {
    qsgp *q;
    qsgp_sample *s;
    cells_hand now, first; /* the sampled cells; at the first kernel, for control rows */
    bool apart;            /* the kernel has moved since: `first` counts */
    random_stream random;
    /* Before the way back: R may be changed.  NULL: it stays. */
    anygp_status (*turn)(struct qsgp_pass *p, void *ctx, anygp_error *e);
    int threads;
    const comm *ranks; /* who share the cells of the sample; NULL: nobody */
    int64_t room;
    double *F;      /* rows x V x 3: over Phi v of i, of j; of both in between */
    double *R;      /* rows x V x 3: R_i, R_j and their sum */
    double *S;      /* n x C: variance of the diagonal columns; not for Gaussian noise */
    double *weight; /* n x C: curvature of a row, with scale and weight */
    double *Y;      /* n x columns of one target */
    double *sums;   /* threads x sum_size: what threads add up */
    double *tile;   /* threads x tile_size */
    double value;   /* the estimate of the bound */
    double *like;   /* its gradient in the likelihoods' parameters, those of one target after the other's, */
    double white;   /* and in the variance of white terms, where that is not noise */
    double *Wbar;   /* learning: waves x (D + 1), the amplitudes' behind all of W */
    int64_t Wbar_room;
    double *found; /* several ranks: G and squares of each cell */
    int64_t found_room;
} qsgp_pass;

/* Running means of squares, from those of the rows of this step, squares[size of the cell, C]. */
void qsgp_keep_squares(qsgp *q, const cells_hand *now, int64_t slot, const double *squares);

/* What is done with the gradient G[V, size of the cell], column-major, of a cell of the sample. */
typedef void qsgp_move(qsgp *q, const qsgp_pass *p, int64_t slot, const double *G, void *ctx);

anygp_status qsgp_pass_open(qsgp_pass *p, qsgp *q, qsgp_sample *s, const kernel *now, const kernel *first,
                            anygp_error *e);
void qsgp_pass_clear(qsgp_pass *p);
/* The bound's estimate; with move also the gradient, cell by cell, after which a follows; learn: also in the kernel (gp accumulates)
   and the likelihood.  means: running means of phi^2 are updated. */
anygp_status qsgp_run_pass(qsgp_pass *p, qsgp_move *move, void *ctx, bool means, const hyper *h, double *gp,
                           anygp_error *e);

/* ------------------------------------------------------------------------------------- [qsgp_ranks.c] */

bool qsgp_is_shared(
    const qsgp_pass *p); /* the cells of the sample, by several ranks: this one has slots begin <= slot < end */
int64_t qsgp_slots_begin(const qsgp_pass *p);
int64_t qsgp_slots_end(const qsgp_pass *p);
anygp_status qsgp_sum_over_ranks(const qsgp_pass *p, int64_t n, double *x, anygp_error *e);
/* G and squares of cells: begin, each rank its own, and then all ranks have all. */
anygp_status qsgp_share_begin(qsgp_pass *p, anygp_error *e);
void qsgp_share(const qsgp_pass *p, int64_t slot, const double *G, const double *squares);
anygp_status qsgp_share_finish(const qsgp_pass *p, anygp_error *e);
double *qsgp_shared(const qsgp_pass *p, int64_t slot, double **squares); /* G */

/* The likelihood's share of the value, R, weights and slopes, from F and S. [qsgp_rows.c] */
void qsgp_expect(qsgp_pass *p);

/* ---------------------------------------------------------------------------------- [qsgp_posterior.c] */

anygp_status qsgp_posterior_new(const qsgp *q, const hyper *h, int64_t t, posterior **out, anygp_error *e);
/* What a posterior predicts from: its basis functions, v[m, latents (1 + K)], each latent's mean and then its dense columns, and d[m, latents], the
   squares of the others' diagonal; augmented: a function more at the row itself counts. */
typedef struct qsgp_basis {
    cells cells;
    int64_t K;
    const double *v, *d;
    bool augmented;
} qsgp_basis;
qsgp_basis qsgp_posterior_basis(const posterior *p);
anygp_status qsgp_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                       int64_t count, posterior **out, anygp_error *e);

#endif
