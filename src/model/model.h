/* What a model is: an objective in the hyperparameters, and a posterior that predicts.
   One const table per model, one list of them in model_table.c.  A model knows nothing of files, units, optimisers, clocks
   or printing: rows come merged and standardised, predictions leave in model units. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/error.h"
#include "comm/comm.h"
#include "data/blocks/blocks.h"
#include "data/table/dataset.h"
#include "data/partition/partition.h"
#include "likelihood/likelihood.h"
#include "inducing/basis.h"
#include "model/cost.h"
#include "params/hyper.h"
#include "model/needs.h"
#include "params/checkpoint.h"

/* What a model conditioned on neighbours should take; 0 and NULL: its defaults. */
typedef struct nearness {
    int64_t learn, predict; /* neighbours of a row, and of one to predict */
    const char *order;      /* maximin, random, coordinate */
    const int64_t *given;   /* or a permutation of the distinct rows: the one that comes at each place */
    bool apart;             /* no groups */
} nearness;

/* What a committee or a mixture of experts should take. */
typedef struct expert_choice {
    int64_t count;         /* of a mixture; 0: its default */
    int64_t most;          /* of a mixture that finds how many it needs; 0: its default */
    int64_t communication; /* rows of the communication expert; 0: as many as a part has */
    int64_t near;          /* experts that a row is asked of; 0: all */
    bool observed;         /* y is aggregated instead of f */
    bool own;              /* each has hyperparameters of its own */
    const int64_t *start;  /* of a mixture: the expert that each row of the sample begins with; NULL: clusters */
} expert_choice;

/* What a model that solves by iteration should take. */
typedef struct solver_choice {
    const char *precond; /* its name; NULL or "auto": the best of those that are tried */
    double tolerance;    /* of the log evidence, in nats; 0: the default */
    bool keep_factor;    /* its posterior has the Cholesky factor of all rows */
} solver_choice;

/* The training problem; everything outlives the model's state. */
typedef struct problem {
    const merged *rows; /* all of them; for models over blocks, a sample to start from */
    const basis *mean;
    uint64_t seed;
    int64_t subset; /* rows of the subset, or inducing inputs, wanted */
    const char
        *select;  /* how they are chosen: random, kmeans, greedy, or best: the better of the latter two; NULL: not at
                           all, steps add them */
    int64_t grow; /* of them, that a step adds from its rows until all are there; 0: they are there from the start */
    const comm *comm;
    nearness near;
    expert_choice experts;
    solver_choice solver;
    bool learn_inducing;
    bool places_given; /* the inducing inputs, by the user */
    const char
        *fix; /* names of parameters that stay, with commas between; those that params/hyper.h has were heard already */
    /* Models that fit several targets at once, or have a likelihood of their own: Y of a block has `targets` times its
       columns, one target after the other. */
    const likelihood *likelihood; /* of each target, never NULL; its values are in hyper */
    int64_t targets;              /* 0 counts as 1 */
    const int64_t *sets;          /* K sizes of the sets of inducing inputs, at most MODEL_SETS_MOST; NULL: one */
    int64_t set_count;
    /* Models over blocks: */
    row_blocks *blocks;
    const router *route;      /* pic: the block of a row; else NULL */
    const int64_t *block_ids; /* names of the blocks where the user gave them; else NULL: 0, 1, ... */
    double keep;              /* bytes a batch pass may hold between its two halves */
    double memory;            /* bytes the whole run may plan with; 0: what the machine has */
    bool on_disk; /* the model's large arrays go to a scratch file (base/mapped.h), since memory is too small */
    bool mixed;   /* work over rows in float, where the model has that */
    bool leave_out_inputs; /* leave-one-out says where its rows are */
    int64_t leave_out;     /* rows of it at most, where a model does not leave out all; 0: LOO_MOST */
    const deadline *pass;  /* when a pass over the blocks has to end; whoever trains moves it.  NULL: any time */
} problem;

/* Leave-one-out predictions of y, one for each original row or for some of them (model units). */
enum { LOO_MOST = 5000 };
typedef struct leave_one_out {
    int64_t n;
    double *y, *mean, *variance, *weight;
    double
        *X; /* n x D, row-major: their inputs, where problem.leave_out_inputs asks for them; else NULL, or not used */
    int64_t D;
} leave_one_out;

/* An array that goes into the model file under this name; column-major. */
typedef struct named_array {
    const char *name;
    int64_t rows, cols;
    double *values;
    bool lower; /* square, zeros above the diagonal: stored packed */
} named_array;

/* Any number of them; their values are somebody else's.  Failure for want of memory is sticky. */
typedef struct array_list {
    named_array *at;
    int64_t count, room;
    bool failed;
} array_list;

void array_list_add(array_list *list, named_array a);
void array_list_clear(array_list *list); /* the list alone */

const named_array *named_array_find(const named_array *list, int64_t count, const char *name);
/* For loading a model file: NULL with a sentence where there is no such array; an error where it has another shape. */
named_array *named_array_need(named_array *list, int64_t count, const char *name, anygp_error *e);
anygp_status named_array_check(const named_array *a, int64_t rows, int64_t cols, anygp_error *e);
double *named_array_take(named_array *a); /* its values, which are the caller's from here on */
enum {
    MODEL_SETS_MOST = 8,
    MODEL_COVARIANCE_BASES = 128 /* of a decoupled model, where the user gives no number */
};

/* Shares M inducing inputs out to sets of the `wanted` sizes, the last of which get less, or none; how many have some. */
int64_t model_share_sets(int64_t M, int64_t wanted, const int64_t *size, int64_t *sets);

typedef struct posterior posterior;

/* A log evidence that is an estimate (docs/iterative.md); numbers of a model file. */
typedef struct evidence_estimate {
    double value, error; /* and its standard error */
    double lower, upper; /* where the exact value is */
    double probes, iterations;
    double precond;    /* its number in the table */
    double mean_error; /* no mean of a prediction is off by more, in model units */
} evidence_estimate;

/* Variances from nearest rows, corrected for all others by what solves for a few rows found (exact/near_gain.h); numbers of a model file. */
typedef struct variance_gain {
    double factor; /* at least 1, which changes nothing */
    double
        spread; /* the standard deviation of the logarithm of these variances over the exact ones, at the rows solved for */
    double rows; /* solved for; 0: none */
} variance_gain;

typedef struct posterior_ops {
    /* NULL, or: makes what predictions need, where `later` says that it is not there yet.  Any thread may call it. */
    anygp_status (*make)(posterior *p, anygp_error *e);
    /* Marginals of the latents at X[n,D]: mean[n,C] and, unless NULL, variance[n,C], column-major, C = p->latents.
       With S = p->components more than 1 they are mixtures of S Gaussians, of weight 1/S each or as `weights` says: mean[n,C,S], variance[n,C,S],
       row i of latent c by component s at [i + (s C + c) n].  work: work_doubles(p, n). */
    int64_t (*work_doubles)(const posterior *p, int64_t n);
    anygp_status (*marginal)(const posterior *p, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, anygp_error *e);
    /* The joint distribution of f: mean[n] and the lower triangle of covariance[n,n].  With more latents than one: mean[n,C]
       and C such squares, one after the other.  With more components: mean[n,C,S] and S times C squares; a component is one
       for all rows, unless there are weights: then each row takes one of its own, and components are independent.  NULL: there is
       none, which is said in a sentence. */
    anygp_status (*joint)(const posterior *p, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                          double *covariance, int64_t ldc, anygp_error *e);
    void (*arrays)(posterior *p, array_list *list); /* adds what goes into the model file */
    void (*free)(posterior *p);
    /* A model may predict a row from the training rows of its block.  blocks: how many there are, 0 for other models, and
       their names, whole numbers.  The other two are marginal and joint with block[n], from 0, instead of the block that
       each row would be routed to.  NULL: as with no blocks. */
    int64_t (*blocks)(const posterior *p, const double **names);
    anygp_status (*marginal_in)(const posterior *p, int64_t n, const double *X, int64_t ldx, const int64_t *block,
                                double *work, double *mean, double *variance, anygp_error *e);
    anygp_status (*joint_in)(const posterior *p, int64_t n, const double *X, int64_t ldx, const int64_t *block,
                             double *work, double *mean, double *covariance, int64_t ldc, anygp_error *e);
    /* For many rows: a posterior of its own that has marginals alone, made for less time per row (condensed.h).  NULL, or
       returning NULL: there is none.  It has as many latents and components. */
    posterior *(*condense)(const posterior *p);
    /* The same for the mean alone, at the cost of about one row: its marginal is called without a variance.  NULL as above. */
    posterior *(*condense_mean)(const posterior *p);
    /* Kernels of inner layers, from 0; NULL: there are no more, or the model has no layers. */
    const kernel *(*inner_kernel)(const posterior *p, int64_t i);
    /* KL(q || p) of the process to its prior, in nats, all latents; NaN: it has none.  NULL: as for NaN.  Not for two threads. */
    double (*kl)(const posterior *p);
    /* Training rows that it is a sum of kernels at: how many, places X[M,D], prior precisions and means of their weights.  NULL: it
       is not one. */
    int64_t (*vectors)(const posterior *p, const double **X, const double **s, const double **m);
    /* A committee or a mixture: how many experts, M; mean and variance of f by each of them and their weights, [n, M] each.  NULL: it is none. */
    int64_t (*experts)(const posterior *p);
    anygp_status (*opinions)(const posterior *p, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, double *weight, anygp_error *e);
    /* Where the noise of y is not the same everywhere: marginals, in `block` unless that is NULL, with the variance that y has beyond f,
       noise[n], or noise[n,S] by the components; and that of y by expert k.  NULL: it is that of the likelihood and of the kernel's white terms. */
    anygp_status (*marginal_noise)(const posterior *p, int64_t n, const double *X, int64_t ldx, const int64_t *block,
                                   double *work, double *mean, double *variance, double *noise, anygp_error *e);
    double (*expert_noise)(const posterior *p, int64_t k);
    /* How the log evidence was estimated.  NULL, or returning NULL: it was computed. */
    const evidence_estimate *(*estimate)(const posterior *p);
    /* How its variances were corrected.  NULL, or returning NULL: they were not. */
    const variance_gain *(*gain)(const posterior *p);
    /* Weights of the S components of each row, which add up to 1: weight[n,S].  NULL: 1/S.  Called after the marginals of these rows, with
       `work` as they left it. */
    void (*weights)(const posterior *p, int64_t n, const double *X, int64_t ldx, double *work, double *weight);
} posterior_ops;

/* What every posterior starts with. */
struct posterior {
    const posterior_ops *ops;
    kernel *kernel; /* its own */
    double noise;
    basis mean; /* its own */
    int64_t D;
    int64_t n;            /* rows it rests on: the distinct training rows, or a subset of them */
    int64_t latents;      /* functions it is about; 0 counts as 1 */
    int64_t components;   /* S Gaussians that a marginal is a mixture of; 0 counts as 1 */
    const double *noises; /* S: what y has beyond f by each of them, white terms included; NULL: by all the same */
    int64_t beside;       /* further inducing inputs that the mean alone has */
    int64_t places;       /* inducing inputs besides the rows, which n counts */
    bool later;           /* predictions need more than is there: ops->make, since a fit had no time for it */
};

/* Before predictions. */
static inline anygp_status posterior_ready(const posterior *p, anygp_error *e)
{
    return p->later ? p->ops->make((posterior *)p, e) : ANYGP_OK;
}

void posteriors_free(int64_t count, posterior **list); /* accepts NULLs in it, and leaves nothing else */
double posterior_kl(const posterior *p);               /* ops->kl; NaN: the model has none, or there is no memory */

typedef struct model_ops model_ops;

/* A model over blocks can be run anytime: an explicit q(v) = N(m, V), improved from sampled statistics. */
typedef struct anytime_ops {
    int64_t (*blocks)(const void *state); /* it has blocks of its own, so many, and needs none; NULL: the problem's */
    int64_t (*size)(const void *state);   /* of v */
    double (*prior)(const void *state);   /* the prior's precision is that times I */
    /* L at h, to be called whenever h has changed.  Jitter is relative; it grows only if allowed.  False: no factor. */
    bool (*prepare)(void *state, const hyper *h, bool grow, double *jitter);
    /* Statistics of the `count` blocks in `which`, times `scale`: S (lower triangle) and b, of the state. */
    anygp_status (*stat)(void *state, int64_t count, const int64_t *which, double scale, const double **S,
                         const double **b, anygp_error *e);
    /* From the last stat (or what was absorbed), times `times`: the bound at N(m, V), both triangles of V, kl its KL to the prior; with gp also the gradient in
       the hyper_size(h) natural parameters. */
    anygp_status (*bound)(void *state, const double *m, const double *V, double kl, int64_t count, const int64_t *which,
                          double scale, double times, double *value, double *gp, anygp_error *e);
    /* L of the last prepare, extended by the identity to size x size. */
    void (*root)(const void *state, double *L);
    /* The posterior at the last prepare with this mean and this factor of the precision. */
    anygp_status (*posterior)(void *state, const double *m, const double *factor, posterior **out, anygp_error *e);

    /* Optional, all or none.  Adds the statistics of these blocks to what was absorbed before; `first`: to nothing. */
    anygp_status (*absorb)(void *state, int64_t count, const int64_t *which, bool first, anygp_error *e);
    void (*absorbed)(const void *state, const double **S, const double **b);
    double *(*sums)(void *state, int64_t *size); /* all of it, for a checkpoint */
    /* Statistics of rows taken one by one, whatever the model keeps of blocks: S (lower triangle), b. */
    anygp_status (*start)(void *state, int64_t n, const double *X, const double *y, const double *w, double *S,
                          double *b, anygp_error *e);
} anytime_ops;

/* A model whose objective is a sum over blocks, such as the log evidence of experts, or conditionals of groups of rows.  A sample of the
   blocks then gives it without bias, value and gradient, and no q stands between: it is run anytime by Adam on the hyperparameters. */
typedef struct sum_ops {
    int64_t (*blocks)(const void *state); /* how many there are; after renew they may be others */
    bool mean;                            /* it is a sum with a prior mean too */
    double last;                          /* what the posterior takes, in passes over all blocks */
    /* Over the `count` blocks in `which`, times `scale`.  ANYGP_ERR_NUMERIC: not finite here, at this jitter. */
    anygp_status (*estimate)(void *state, const hyper *h, double jitter, int64_t count, const int64_t *which,
                             double scale, double *value, double *gp, anygp_error *e);
} sum_ops;

/* A model that learns by steps, each over a sample of the blocks: its q, the hyperparameters and bases of its own move
   together.  After every step there is a valid model. */
typedef struct step_context {
    uint64_t seed;
    int64_t t;     /* the step, from 0 */
    int64_t steps; /* of the run, as far as is known */
    double share;  /* of the run that is done, by steps or by the clock */
    int64_t count; /* blocks of the sample, and which; NULL: all of them */
    const int64_t *which;
    double scale; /* of the sample's sums: blocks there are / blocks sampled */
    double rho;   /* natural gradient: 0 < rho <= 1 */
    double rate;  /* Adam's, of the rest; with a schedule of its own the first one, or 0: the model's choice */
    bool learn;   /* hyperparameters and inducing inputs move too */
    bool settle;  /* else: of them what has natural steps of its own, such as the noise, still does */
    /* Asked by a step that takes long, by all ranks at once: whether it should come to its end.  NULL: no need to ask. */
    bool (*enough)(void *ctx);
    void *ctx;
} step_context;

/* What float in the work over rows did to the bound. */
typedef struct rounding {
    double error; /* the largest error seen, nats per row; NaN: rows were in double from the start */
    bool left;    /* it was too large, and the run went on in double */
} rounding;
#define ROUNDING_MOST 1e-3 /* nats per row: from here on it is too large */

/* The same at one point: of the objective, and of its slopes in the logarithms of kernel parameters and noise, the largest.  Infinite: only
   double has a number. */
typedef struct float_error {
    double value, slope; /* nats per row */
} float_error;

/* Work over rows in float, in a model that learns by evaluate (for problem.mixed); whoever trains asks now and then what it costs. */
typedef struct float_ops {
    bool (*on)(const void *state); /* whether rows are in float now */
    /* Over a sample of blocks at h.  ANYGP_TIME_LIMIT: there was no time. */
    anygp_status (*measure)(void *state, const hyper *h, double jitter, float_error *error, anygp_error *e);
    void (*leave)(void *state);         /* rows are in double from here on */
    double (*value)(const void *state); /* the objective by the last pass over all blocks; NaN: there was none */
} float_ops;

typedef struct step_ops {
    /* Whether its bound over all blocks is an estimate all the same, over random draws; NULL: never. */
    bool (*sampled)(const void *state);
    bool by_changes; /* its state is large, and save() says what of it has changed (checkpoint_put_parts) */
    double frozen;   /* the share of the run before which hyperparameters stay */
    int64_t (*blocks)(const void *state); /* it has blocks of its own, so many, and needs none; NULL: the problem's */
    /* Once, before the first step, from the hyperparameters' start; jitter is relative. */
    anygp_status (*begin)(void *state, hyper *h, double jitter, anygp_error *e);
    /* One step: *value gets the bound as the sample tells it, before the step.  ANYGP_ERR_NUMERIC: nothing has moved. */
    anygp_status (*step)(void *state, hyper *h, const step_context *c, double *value, anygp_error *e);
    /* The bound over all blocks. */
    anygp_status (*bound)(void *state, const hyper *h, double *value, anygp_error *e);
    /* The posteriors so far, out[targets]; the state goes on. */
    anygp_status (*posteriors)(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e);
    /* Into a checkpoint, with the hyperparameters; restore, after begin(), takes the same numbers back and moves h.  False: they
       are of another run. */
    anygp_status (*save)(void *state, checkpoint *to, anygp_error *e);
    bool (*restore)(void *state, hyper *h, const checkpoint *from);
    /* What the user should know about the posteriors that were made last, in a sentence; NULL, or returning NULL: nothing. */
    const char *(*remark)(const void *state);
    rounding (*rounding)(const void *state); /* for problem.mixed; NULL: rows are always in double */
} step_ops;

/* Around the log evidence of a target, besides an objective that is a lower bound on it; NaN: not known. */
typedef struct evidence_bounds {
    double tighter; /* a lower bound that takes longer */
    double upper;
    double own; /* its share of an objective that is the sum over several targets; NaN: there is one target */
} evidence_bounds;

static inline evidence_bounds evidence_bounds_none(void) { return (evidence_bounds){NAN, NAN, NAN}; }

/* What an update did. */
typedef struct update_report {
    double rows;    /* original rows that were added */
    int64_t blocks; /* the rows are in so many more, */
    int64_t opened; /* so many of which are experts that were opened where no other is near */
    double before,
        after; /* log evidence of the rows so far, without and with the new ones; before NaN: after is what these add */
    bool kept; /* the objective is still that of the rows it was learned from */
    double upper;             /* on the latter, where `after` is a lower bound; NaN: none */
    int64_t largest, biggest; /* rows of the largest block before, and of the one that is now; 0: not kept */
    int64_t biggest_id;       /* its name */
    double moved;             /* KL of the new process to the old one; 0: not known */
} update_report;

/* New rows for a posterior, without the old ones, at the same hyperparameters. */
typedef struct update_ops {
    /* p and its likelihood l outlive the state. */
    anygp_status (*open)(const model_ops *self, const posterior *p, const likelihood *l, void **state, anygp_error *e);
    /* Before the first row; may be NULL: the jitter of the fit, relative; the bytes that the update may take; who may end it, which then fails
       with fail_stopped(). */
    void (*given)(void *state, double jitter, double memory, stop_poll stop);
    /* n rows in model units, y as the likelihood has it, all weights > 0; ids: the block of each by its name, or NULL: the model finds it. */
    anygp_status (*add)(void *state, int64_t n, const double *X, const double *y, const double *w, const int64_t *ids,
                        anygp_error *e);
    double (*held)(const void *state); /* bytes of rows that wait for finish */
    /* The posterior of old and new rows; the old one is as it was. */
    anygp_status (*finish)(void *state, posterior **out, update_report *r, anygp_error *e);
    void (*close)(void *state); /* accepts NULL */
} update_ops;

/* What is known before a row is used, for what a model may refuse. */
typedef struct model_scope {
    const kernel *kernel;
    const likelihood *likelihood;
    int64_t D;            /* inputs */
    const schema *inputs; /* NULL: not known */
} model_scope;

struct model_ops {
    const char *name;
    const char *summary;
    const char *objective; /* its name: "log evidence" */
    const void *family;    /* what tells apart the members of a family that share their functions */
    model_needs needs;
    const inducing_ops *variables; /* the one kind of inducing variables it has; NULL: the user's choice */
    const char *local;             /* a further term of the kernel, which rows of one part alone share; NULL: none */
    double jitter;                 /* relative, to begin with */
    int64_t subset;                /* inducing inputs or rows of the subset, where the user gives no number */
    int64_t increment;             /* problem.grow, where the user gives no number */
    const char *order;             /* of an evaluation or a step, in words: "n m^2"; see docs/models.md */

    /* Refuses, in a sentence, a kernel, a likelihood or inputs that it cannot have.  NULL: it takes all that `needs` allows. */
    anygp_status (*admits)(const model_ops *self, const model_scope *q, anygp_error *e);
    model_cost (*cost)(const model_ops *self, const cost_facts *f, const cost_size *s);
    int64_t (*size)(const problem *p); /* rows or inducing inputs that a step works on */
    /* Parameters of its own, as segments behind those of h, before open().  NULL: none. */
    anygp_status (*define)(const model_ops *self, const problem *p, hyper *h, anygp_error *e);
    /* Workspace, sized once.  h: for choices that need a kernel; not kept. */
    anygp_status (*open)(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e);
    /* Starting values of its own, of what the user did not give.  NULL: those of an exact model of a subset. */
    anygp_status (*start)(const problem *p, hyper *h, anygp_error *e);
    /* Objective at h and, if gp is not NULL, its gradient in the hyper_size(h) natural parameters.  Jitter is `*jitter`
       times the mean diagonal; with `grow` it may be raised on failure.  False: not finite here. */
    bool (*evaluate)(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp);
    /* About Fisher's information in the h->count natural parameters at h, F[count,count], lower triangle, for steps of an optimiser; false: not
       now.  NULL: it has none. */
    bool (*information)(void *state, const hyper *h, double *F);
    /* What evaluate takes from the hyperparameters but does not differentiate, such as who is near whom, made again at h where they
       have moved by more than this share of themselves; *renewed: the objective is another one now.  NULL: there is nothing of the kind. */
    anygp_status (*renew)(void *state, const hyper *h, double moved, bool *renewed, anygp_error *e);
    /* What the evaluations so far have settled for the rest of the run, for a checkpoint: how many numbers, written to `to` unless it is NULL;
       and taken from there into a new state, h being where the first of them was; false: e, or else they are of another run.  NULL: there is
       nothing of the kind. */
    int64_t (*settled)(const void *state, double *to);
    bool (*settle)(void *state, const hyper *h, int64_t count, const double *from, anygp_error *e);
    /* Why the last evaluate failed, where that was not the numbers: an error to end with, or ANYGP_TIME_LIMIT: problem.pass
       ended it.  NULL: it cannot. */
    const anygp_error *(*failure)(const void *state);
    /* How far evaluations nearby may be off from one smooth function: no smaller gain is looked for.  NULL: by rounding alone. */
    double (*resolution)(const void *state);
    /* Leave-one-out at the last evaluate with gradient; the arrays belong to the state.  NULL: the model has none. */
    const leave_one_out *(*loo)(void *state, const hyper *h);
    /* The same where it is not a by-product: once, from the posterior, for at most LOO_MOST rows drawn at random, which `out` has room
       for; fewer where q->pass ends it.  NULL: as loo, or none. */
    anygp_status (*loo_after)(const posterior *p, const problem *q, leave_one_out *out, anygp_error *e);
    /* The posteriors at h, out[targets], NULL before; takes what it can from the state, which can only be closed afterwards. */
    anygp_status (*posterior)(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e);
    /* What else bounds the log evidence, at h, out[targets].  NULL: the objective is no lower bound on it. */
    anygp_status (*bounds)(void *state, const hyper *h, double *jitter, evidence_bounds *out, anygp_error *e);
    double (*rows)(const void *state); /* original rows the objective is a total of */
    /* The share of the blocks that the posterior rests on: less than 1 where problem.pass ended before it had all.  NULL: 1. */
    double (*seen)(const void *state);
    const char *(*remark)(const void *state);  /* NULL, or: what the user should know of how it was made, or NULL */
    const char *(*caution)(const void *state); /* NULL, or: what it did not reach that was asked for, or NULL */
    void (*close)(void *state);

    /* From the arrays of a file back to a posterior: takes kernel, mean and the arrays' memory over (and sets them to
       NULL) on success only. */
    anygp_status (*load)(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                         int64_t count, posterior **out, anygp_error *e);
    /* The same, with so many bytes of memory; of what is made from the arrays, more than a share goes to a scratch file.  0: what is free.
       NULL: nothing is made that could. */
    anygp_status (*load_within)(const model_ops *self, double memory, kernel *k, double noise, basis *mean, int64_t D,
                                named_array *list, int64_t count, posterior **out, anygp_error *e);
    const anytime_ops *anytime; /* the two ways to be run anytime, of which a model has one or none */
    const sum_ops *sum;
    const step_ops *steps;    /* it learns by these; NULL: by evaluate */
    const float_ops *floats;  /* NULL: its evaluations are always in double */
    const update_ops *update; /* NULL: cannot */
    /* The same model with inducing inputs, for those who ask for some; it has the same name and files.  NULL: there is none. */
    const model_ops *with_inducing;
    /* The same model learning by steps of its own: NAME+; it has the same name and files.  NULL: there is none. */
    const model_ops *stepped;
    /* The same model without a factor of all rows, solving by iteration; it has the same name and files.  NULL: there is none. */
    const model_ops *iterative;
    int64_t
        warm; /* rows that it learns from, by the exact model, before it looks at all of them; 0: the usual number */
    int64_t refine; /* iterations over all rows after that, where the user gives no number; 0: as many as he allows */
    /* With as many rows of three inputs or fewer the mean is a constant where the user says nothing of it (ordinary kriging): predictions
       in wide gaps return to the mean of the process, which is not that of the rows.  0: it is zero. */
    int64_t ordinary;
};

/* ----------------------------------------------------------------------------- questions to a table */

static inline bool model_over_blocks(const model_ops *m) { return m->needs.rows != ROWS_ALL; }
static inline bool model_over_parts(const model_ops *m) { return m->needs.rows == ROWS_PARTS; }
static inline bool model_is_local(const model_ops *m) { return m->needs.local; }
static inline bool model_has_inducing(const model_ops *m) { return m->needs.inducing != INDUCING_NONE; }
/* Places are drawn, not chosen among rows. */
static inline bool model_draws_inducing(const model_ops *m) { return m->variables && m->variables->draw; }
static inline bool model_takes_sets(const model_ops *m) { return m->needs.inducing == INDUCING_SETS; }
static inline bool model_takes_pair(const model_ops *m) { return m->needs.inducing == INDUCING_PAIR; }
static inline bool model_learns_inducing(const model_ops *m) { return m->needs.learned; }
static inline bool model_can_grow(const model_ops *m) { return m->needs.grows; }
static inline bool model_can_float(const model_ops *m)
{
    return m->steps ? m->steps->rounding != NULL : m->floats != NULL;
}
static inline bool model_by_steps(const model_ops *m) { return m->steps != NULL; }
static inline bool model_can_anytime(const model_ops *m) { return m->anytime || m->sum || m->stepped; }
static inline bool model_takes_likelihoods(const model_ops *m) { return m->needs.likelihoods == LIKELIHOOD_ANY; }
static inline bool model_takes_targets(const model_ops *m) { return m->needs.targets == TARGETS_SEVERAL; }
static inline bool model_has_neighbours(const model_ops *m) { return m->needs.near; }
static inline bool model_has_loo(const model_ops *m) { return m->loo || m->loo_after; }
static inline bool model_has_experts(const model_ops *m) { return m->needs.experts; }
static inline bool model_has_communication(const model_ops *m) { return m->needs.communication; }
static inline bool model_finds_experts(const model_ops *m) { return m->needs.finds; }
static inline bool model_takes_own(const model_ops *m) { return m->needs.own; }
static inline bool model_asks_near(const model_ops *m) { return m->needs.nested; }
static inline bool model_is_mixture(const model_ops *m) { return m->needs.mixture; }
static inline bool model_is_committee(const model_ops *m) { return m->needs.experts || m->needs.nested; }
static inline bool model_has_opinions(const model_ops *m) { return model_is_committee(m) || m->needs.mixture; }
/* Leave-one-out is that of predictions, not of a single expert, as `loo` of a committee is. */
static inline bool model_whole_loo(const model_ops *m) { return m->loo_after || (m->loo && !model_is_committee(m)); }
static inline bool model_has_order(const model_ops *m) { return m->needs.ordered; }
/* Rows that share neighbours are conditioned together. */
static inline bool model_groups_rows(const model_ops *m) { return m->needs.ordered && !model_takes_likelihoods(m); }
static inline bool model_takes_rows(const model_ops *m) { return m->update != NULL; } /* new ones, once it is fitted */

/* What failure() says after an evaluation that ended so: numbers that broke down are none. */
static inline anygp_error model_failure(anygp_status status, const anygp_error *why)
{
    if (ANYGP_FAILED(status) && status != ANYGP_ERR_NUMERIC) return *why;
    return (anygp_error){.status = status == ANYGP_TIME_LIMIT ? status : ANYGP_OK};
}

/* What the model, or its kind of inducing variables, refuses; model_open() asks too. */
anygp_status model_admits(const model_ops *m, const model_scope *q, anygp_error *e);
/* admits(), define() and open(). */
anygp_status model_open(const model_ops *m, const problem *p, hyper *h, void **state, anygp_error *e);

/* Bytes of memory that the model holds at most while it learns from these rows, besides them; those on disk do not count. */
double model_bytes(const model_ops *m, const problem *p);
/* More blocks than these, so many that it needs no more bytes, with `least` rows or more in each on average, where the
   largest may have `oversize` times as many; 0: no number is enough. */
int64_t model_blocks_within(const model_ops *m, const problem *p, double oversize, double least, double bytes);

extern const model_ops model_exact, model_exact_iterative, model_sod, model_vecchia, model_rbcm, model_sor, model_ssgp,
    model_dtc, model_fitc, model_fic, model_pitc, model_pic, model_hier, model_vfe, model_pep, model_vfe_tight,
    model_solve_collapsed, model_odvgp_collapsed, model_svgp, model_solve, model_odvgp, model_ivsgpr, model_deep,
    model_svdgp, model_svdgp_sga, model_rvm, model_qsgp, model_poe, model_gpoe, model_bcm, model_grbcm, model_npae,
    model_nene, model_lagp, model_nle, model_qsrvm, model_lma, model_moe, model_vnngp, model_patchwork, model_tree;

const model_ops *model_find(const char *name); /* NULL: no such model */
int64_t model_count(void);
const model_ops *model_at(int64_t i);
/* The names of those that are wanted (NULL: all) in a sentence, `last` before the last one; freed by free(), NULL: no memory. */
char *model_names(bool (*wanted)(const model_ops *m), const char *last);

/* Expressions that make a model: an example of each, NULL after the last; all of them in a sentence, as model_names(). */
const char *model_expression(int64_t i);
char *model_expressions(const char *last);
bool model_is_expression(const char *text); /* or is meant to be one */

/* "combine(dtc=0.3,fitc=0.7)" [combine.c] or "pep(alpha=0.2)" [pep.c] to a model of its own, which the caller frees; its
   name is that expression in a normal form. */
anygp_status model_make(const char *text, const model_ops **out, anygp_error *e);
const model_ops *model_copy(const model_ops *m); /* one of the list: itself; NULL: no memory */
void model_free(const model_ops *m);             /* accepts NULL, and those of the list */

#endif
