/* A run of svdgp: the process, what is wanted of it, and what its steps need. */
#ifndef MODEL_DECOUPLED_SVDGP_STATE_H
#define MODEL_DECOUPLED_SVDGP_STATE_H

#include "model/decoupled/svdgp.h"
#include "params/ascent.h"

#define SVDGP_SMALL 1e-2 /* the diagonal of new columns of L: at 0 they would have no gradient */

typedef struct svdgp_coarse svdgp_coarse;

/* Where conjugate gradients are. */
enum { SOLVE_NONE, SOLVE_GRADIENT, SOLVE_PRODUCT };
typedef struct svdgp_solve {
    int stage;          /* what is being summed */
    int64_t blocks;     /* that are in the sum */
    int64_t iterations; /* since the base */
    int64_t begun;      /* the step at which it did */
    double sum_value;   /* of the bound, less KL_beta */
    double value;       /* that of the base; NaN: there is none yet */
} svdgp_solve;

typedef struct svdgp_state {
    svdgp s;
    const problem *problem;
    int64_t Ma, Mb; /* bases wanted */
    bool given;     /* hyper.Z has the places of both, the mean's first */
    driver *driver;
    ascent up;      /* of the hyperparameters */
    double gamma;   /* sga: the first step size */
    bool shortened; /* sga: the mean of the last posteriors */
    double *stat;   /* sums over rows */
    int64_t stat_room;
    param_segment witness; /* newton: rows of the last samples (svdgp_block.c); */
    int64_t oldest;        /* where the next of them goes */
    id_table position;
    svdgp_solve solve;                            /* newton: the system over all rows (svdgp_solve.c), with */
    param_segment base, residual, direction, sum; /* M_alpha + p of each, */
    param_segment rz;                             /* 2: r'z now, and at the base; */
    svdgp_coarse *coarse;                         /* its preconditioner; NULL: to be made of the witnesses */
    int64_t coarse_most;                          /* bases that one rests on */
} svdgp_state;

extern const step_ops svdgp_steps;

/* Room for `size` numbers in *array; what was in it is lost. */
anygp_status svdgp_room(double **array, int64_t *room, int64_t size, anygp_error *e);

/* How many blocks have about 1024 rows together: what a look at the bound is worth. */
int64_t svdgp_sample_blocks(const row_blocks *b);

/* Algorithm 1, line 4: rows of the sample become bases until there are enough; *grew: some of the covariance's did. */
anygp_status svdgp_grow(svdgp_state *q, const step_context *c, bool *grew, anygp_error *e);

/* ------------------------------------------------------------------------------ [svdgp_block.c] */

/* Before the pass: which bases move, and where the pass puts its rows. */
anygp_status svdgp_block_choose(svdgp_state *q, const step_context *c, anygp_error *e);
/* After it, from q->stat and pull = K_{block,alpha} a, block x C.  ANYGP_ERR_NUMERIC: nothing of that latent has moved. */
anygp_status svdgp_block_step(svdgp_state *q, const step_context *c, const double *pull, anygp_error *e);

/* Seats of a pass over these blocks (NULL: all), at most so many; what it left there takes the place of the oldest witnesses. */
anygp_status svdgp_witness_seat(svdgp_state *q, int64_t count, const int64_t *which, int64_t most, anygp_error *e);
anygp_status svdgp_witness_keep(svdgp_state *q, const double *seats, int64_t most, anygp_error *e);

double svdgp_witness_scale(const svdgp_state *q); /* from the witnesses' sums to those of all rows */

/* ------------------------------------------------------------------------------ [svdgp_solve.c] */

/* The mean's coefficients, all of them: the bases', then the prior mean's; how many. */
int64_t svdgp_coefficients(const svdgp_state *q);
void svdgp_read_coefficients(const svdgp_state *q, double *to);
/* The process of the last prepare with others, for passes over rows; what it owns stays q->s's. */
svdgp svdgp_at(const svdgp_state *q, double *coefficients);

/* A step's share of the blocks, after svdgp_prepare; q->stat is used up. */
anygp_status svdgp_solve_step(svdgp_state *q, const step_context *c, anygp_error *e);
/* Hyperparameters or bases have changed. */
void svdgp_solve_drop(svdgp_state *q);
/* The likelihood is not finite at the coefficients as they are: half of the way back.  False: there is nothing to go back to. */
bool svdgp_solve_retreat(svdgp_state *q);

/* ----------------------------------------------------------------------------- [svdgp_coarse.c] */

/* Rests on at most so many bases, and wants as many witnesses as this. */
int64_t svdgp_coarse_witnesses(const svdgp *s, int64_t most);
/* scale: of the witnesses' sums to those of all rows.  NULL: no memory, or K_S is not positive definite. */
svdgp_coarse *svdgp_coarse_new(const svdgp *s, int64_t most, const param_segment *witness, double scale,
                               random_stream random);
/* z = P r, (M_alpha + p) x C of each, the prior mean's last.  alone: of S and the prior mean, with 0 for other bases, which is the
   optimum over those by the witnesses.  False: no memory. */
bool svdgp_coarse_apply(const svdgp *s, const svdgp_coarse *k, bool alone, const double *r, double *z);
void svdgp_coarse_free(svdgp_coarse *k); /* accepts NULL */

/* ---------------------------------------------------------------------------- [svdgp_natural.c] */

/* B becomes keep B + rho K_beta^-1 (-2 S) K_beta^-1, for the sums S (C squares of Mt, both triangles): with keep = 1 - rho a
   step towards its optimum, with keep = rho = 1 the rows of S are added.  Jitter grows until the step is
   finite; false: it is not with any, and B is as it was. */
bool svdgp_natural_step(svdgp *s, const double *S, double keep, double rho);

/* ------------------------------------------------------------------------- [svdgp_shorten.c] */

/* sga: what the mean of the model that is put out is to be multiplied by, so that it is no worse than none; at the last prepare. */
anygp_status svdgp_shorten(svdgp_state *q, double *factor, anygp_error *e);

/* ---------------------------------------------------------------------------- [svdgp_pack.c] */

anygp_status svdgp_save(void *state, checkpoint *to, anygp_error *e);
bool svdgp_restore(void *state, hyper *h, const checkpoint *from);

/* --------------------------------------------------------------------------- [svdgp_start.c] */

/* The paper's start (001, appendix B.2): length-scales at the median distance of the first rows, Gaussian noise at the variance of
   their targets; what the user gave stays. */
anygp_status svdgp_median_start(const problem *p, hyper *h, anygp_error *e);

#endif
