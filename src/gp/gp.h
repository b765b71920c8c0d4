/* A fitted Gaussian process for one target: the data's description, the posterior, and what is reported about it.
   This is where model units and data units meet: everything below works in model units, everything above in data
   units.
       fit.c      table or file + settings -> gp (fit.h: choice.c, fit_columns.c, units.c, monitor.c, validate.c, fit_blocks.c)
       places.c   where raw rows have what a gp needs -> the conversion of a row into its units (data/rows/row_units.h)
       predict.c  gp + rows -> latents in model units, predictions in data units
       observe.c  latents -> what the likelihood says about y, in data units
       joint.c    joint distributions and draws
       bind.c     columns of a file -> places
       given_blocks.c  blocks of rows to predict, where the user gives them
       score.c    labelled rows -> scores
       output.c   the columns of a predictions file
       stream.c   file -> predictions file, in flat memory [stream.h]
       eval.c     file -> scores, in flat memory
       calibrate.c leave-one-out residuals -> a factor of the variances
       update.c   gp + labelled rows -> gp that has seen them too
       baseline.c scores -> a warning where the model predicts no better than the mean
       simulate.c draws from a known prior */
#ifndef GP_GP_H
#define GP_GP_H

#include <stdatomic.h>

#include "base/settings.h"
#include "data/neighbours/neighbours.h"
#include "data/rows/rows.h"
#include "data/table/dataset.h"
#include "likelihood/mixture.h"
#include "model/model.h"
#include "predict/scores.h"
#include "run/train.h"

typedef struct gp_scores {
    int count; /* 0: not computed */
    score list[SCORES_MOST];
    double trivial; /* for classes: the log loss of their frequencies among these rows; 0: not known */
} gp_scores;

/* What --model auto chose and said; reason "": it was not asked. */
typedef struct gp_promise {
    char reason[400];
    double seconds, bytes; /* of all targets */
} gp_promise;

/* Numbers of blocks that were tried, and the mean negative log density of held-out rows with each; NaN: that fit failed. */
typedef struct gp_tries {
    int64_t count; /* 0: --blocks was not a list */
    int64_t blocks[SETTING_COUNTS_MOST];
    double mnlp[SETTING_COUNTS_MOST];
} gp_tries;

/* Factors of the variances that vary over the inputs (--calibrate local), from the squared standardised leave-one-out residuals r2 of
   rows [local_scale.c]. */
typedef struct local_scale {
    int64_t n, D;
    double *X, *r2, *weight; /* n x D row-major, model units; n; n */
    int64_t near;            /* rows that a factor comes from */
    double shrink;           /* how many rows with r2 = 1 are added to them */
    int64_t d;               /* inputs that count, in units of the kernel: */
    double *places;          /* n x d */
    near_search search;
} local_scale;

/* Takes the three arrays over, also on failure. */
anygp_status local_scale_new(const kernel *k, int64_t n, int64_t D, double *X, double *r2, double *weight, int64_t near,
                             double shrink, local_scale **out, anygp_error *e);
void local_scale_free(local_scale *l); /* accepts NULL */
/* scale[n] at X[n,D]. */
anygp_status local_scale_at(const local_scale *l, const kernel *k, int64_t n, const double *X, double *scale,
                            anygp_error *e);
/* From leave-one-out predictions with their inputs: *out, or NULL where no factors that vary raise their mean log density, or there are
   too few rows; then l's variances have the effect, each row without itself, and *gain is how much that mean rose. */
anygp_status local_scale_learn(const kernel *k, uint64_t seed, leave_one_out *l, local_scale **out, double *gain,
                               anygp_error *e);

typedef struct predictor predictor; /* workspace for blocks of rows, under a byte budget */

typedef struct gp {
    schema schema;
    char *name;             /* of the model as the user writes it: dtc+ */
    const model_ops *model; /* its own, where it was made */
    posterior *posterior;
    likelihood *likelihood; /* its own, with its values */
    double objective, objective_rows, log_prior, jitter, rows, seconds;
    evidence_bounds bounds;
    double calibration; /* that multiplies variances of f; 0 counts as 1 */
    local_scale *local; /* that multiply those of f and of the noise; NULL: none */
    rounding rounding;
    double kl; /* of the posterior process to its prior, nats; NaN: not known */
    gp_promise promise;
    char suits[200]; /* what the values of the target suggest [suits.c]; not kept in the file */
    gp_tries tries;
    bool estimate;    /* the objective is a running estimate */
    int64_t inducing; /* rows or inducing inputs the posterior rests on */
    int64_t blocks;   /* that the rows were in; 0: none */
    int64_t iterations, evaluations;
    anygp_status status;  /* OK, TIME_LIMIT or INTERRUPTED */
    gp_scores loo, valid; /* leave-one-out; on rows held out, or on a file */
    gp_scores training;   /* on rows it was fitted on, where there is nothing better */
    double held_out;      /* after a fit, the share of the rows that was held out of it; not kept in the file */
    int64_t steps;        /* of the trace */
    train_step *trace;
    _Atomic(predictor *) kept; /* for calls with few rows: a cache; NULL: none, or in use by another thread */
} gp;

/* The fitted models of one file: one per target. */
struct anygp_model {
    int64_t targets;
    gp **gp;
    settings *settings;
};
typedef struct anygp_model gp_set;

void gp_free(gp *g);
void gp_set_free(gp_set *m);

/* Training data: a table, or one without values whose rows stay in a file. */
typedef struct gp_data {
    const table *table;
    row_source *file; /* NULL: all is in the table */
} gp_data;

/* What a fit cannot do itself: it lies below the model file. */
typedef struct gp_hooks {
    const char *checkpoint; /* path of the run's state; NULL: none is written or read */
    anygp_status (*save)(void *ctx, const gp_set *so_far, anygp_error *e);
    void *ctx;
    void (*step)(void *ctx, int64_t targets, int64_t target, const train_step *s); /* a row of the trace; NULL: none */
} gp_hooks;

/* Each target of a run has a checkpoint of its own. */
void gp_checkpoint_name(const char *first, int64_t target, char *path, size_t size);

/* How the settings want tables to be read; for the others (blocks, inducing inputs) the first line is judged by itself. */
read_options gp_read_options(const settings *s);
read_options gp_side_options(const settings *s);

/* table_read for a fit with these settings: labels of a class likelihood that are not all numbers are texts. */
anygp_status gp_read_table(const char *path, const read_options *o, const settings *s, table **out, anygp_error *e);
/* Of a table just read, or a file just opened (and then the table has no values): texts that are numbers become numbers,
   columns that are no inputs by their looks are marked, and the user is told. */
anygp_status gp_settle_columns(table *t, row_source *file, const settings *s, anygp_error *e);

/* Options to add to those of the fit, and why [advice.c]; "": there is nothing to say.  resumable: there is a checkpoint.  Freed by free(). */
anygp_status gp_advice(const gp *g, const settings *s, bool resumable, char **text, anygp_error *e);

/* hooks may be NULL. */
anygp_status gp_fit(const gp_data *data, const settings *s, const gp_hooks *hooks, gp_set **out, anygp_error *e);

/* dtc+ and the like to its model, which the caller gives back by model_free(); NULL: there is none. */
const model_ops *model_named(const char *name, bool *anytime);

/* The kernel as an expression with values in data units (digits significant ones); freed by free(). */
anygp_status gp_kernel_text(const gp *g, int digits, char **text, anygp_error *e);
/* The kernel of an inner layer, from 0; NULL: there is none. */
anygp_status gp_inner_kernel_text(const gp *g, int64_t i, int digits, char **text, anygp_error *e);
double gp_noise(const gp *g); /* data units */
/* Its likelihood in data units: the value of parameter i, and the whole as an expression; freed by free(). */
double gp_likelihood_value(const gp *g, int64_t i);
anygp_status gp_likelihood_text(const gp *g, int digits, char **text, anygp_error *e);

/* Parses against the inputs of s. */
anygp_status gp_parse_kernel(const char *text, const schema *s, kernel **out, anygp_error *e);

/* ----------------------------------------------------------------------------------- prediction */

/* Where rows come from, for messages: row i is number[i] where that is not NULL, else first + i; from 0. */
typedef struct row_numbers {
    int64_t first;
    const int64_t *number;
} row_numbers;

/* Where raw rows have what a gp needs; rows_part says which of them. */
typedef struct row_places {
    const column *columns;             /* of the rows; NULL: numbers without names, and no target */
    const int64_t *input;              /* columns of the schema's inputs; NULL: those of the training file, */
    bool in_order;                     /* or 0, 1, ... */
    int64_t target, weights, exposure; /* -1: none; without an exposure it is 1 */
    bool scored;                       /* y stays in data units */
    double hold_out, below;            /* as in rows_part */
    uint64_t seed;
} row_places;
anygp_status gp_row_units(const gp *g, const row_places *p, row_units *u, anygp_error *e);

double gp_calibration(const gp *g); /* the factor of variances of f */
/* Whether y is f plus Gaussian noise. */
bool gp_is_gaussian(const gp *g);
int64_t gp_latents(const gp *g);    /* C, at least 1 */
int64_t gp_components(const gp *g); /* S, at least 1 */
/* Whether f and y are normal: Gaussian noise, one component, and no transform of the target. */
bool gp_is_normal(const gp *g);
/* gp_is_gaussian: the variance y has beyond f's, model units: the noise, and white terms of the kernel. */
double gp_observation_variance(const gp *g);
double gp_noise_by(const gp *g, int64_t s);     /* the same by component s */
double gp_expert_noise(const gp *g, int64_t s); /* of a mixture, in data units, without white terms of the kernel */
bool gp_is_class(const gp *g);                  /* the target is one of schema.classes */

/* Model units to those a user sees, and nowhere else but in units.c: data = shift + scale * model.  The first latent of a real
   target is in its units; counts, classes and all other latents are what they are. */
target_scale gp_target_unit(const gp *g);
target_scale gp_latent_unit(const gp *g, int64_t c);
void unit_means(target_scale u, int64_t n, const double *model, double *data); /* may be one array, as below */
void unit_variances(target_scale u, int64_t n, const double *model, double *data);
double unit_variance(target_scale u, double model);
double unit_log_density(target_scale u, double model); /* of one row */

/* Rows to predict. */
typedef struct row_batch {
    int64_t n;
    const double *X;        /* in model units; or NULL, and then */
    const double *rows;     /* raw rows, */
    int64_t ld;             /* from one to the next, */
    const row_units *units; /* and their conversion; NULL: the rows are all inputs in the order of the schema */
    row_numbers number;
    const int64_t *block;   /* of each row, from 0 [block_map_find]; NULL: where it is routed to */
    const double *exposure; /* NULL: 1 */
} row_batch;

anygp_status predictor_new(const gp *g, double bytes, predictor **out, anygp_error *e);
void predictor_free(predictor *p); /* accepts NULL */
/* Calls with few rows would spend most of their time on workspace: one predictor per gp is kept between calls, which also has what makes
   means alone cheap.  Taken and given back it may be used by several threads, each of which has its own then. */
bool predictor_keeps(const row_batch *b); /* whether they are few */
anygp_status predictor_take_kept(const gp *g, predictor **out, anygp_error *e);
void predictor_give_back(predictor *p);
/* Spends the time of about two rows per inducing input now, so that variances of few rows take less from here on. */
anygp_status predictor_prepare(const gp *g, anygp_error *e);
double predictor_work(const gp *g, int64_t n, bool variances); /* about how many operations */
double predictor_row_bytes(const gp *g);                       /* of the budget, per row of a block */
int64_t predictor_block(const predictor *p);                   /* rows at a time that run best */
/* For one block of rows at most, model units; valid until the next call.  observed: with the white terms, as y sees them, and the noises
   of components that have their own. */
anygp_status predictor_latents(predictor *p, const row_batch *b, bool observed, latents *out, anygp_error *e);
/* Mean and variance (or NULL) of y in data units, for any number of rows; latent: of f, where there is one.  An error where
   the target is a class. */
anygp_status predictor_run(predictor *p, const row_batch *b, bool latent, double *mean, double *variance,
                           anygp_error *e);
/* The same with noise[n], the variance of y beyond f, of normal predictions. */
anygp_status predictor_run_noise(predictor *p, const row_batch *b, bool latent, double *mean, double *variance,
                                 double *noise, anygp_error *e);
/* Quantiles of y or f at probabilities at[count]: out[n, count] column-major. */
anygp_status predictor_quantiles(predictor *p, const row_batch *b, bool latent, int64_t count, const double *at,
                                 double *out, anygp_error *e);
/* For a target that is a class: P[n,K] column-major. */
anygp_status predictor_classes(predictor *p, const row_batch *b, double *P, int64_t ldp, anygp_error *e);
/* A committee or a mixture: how many experts, 0 for other models; out[n, 3 M] column-major: mean, standard deviation and weight of each, in data
   units, of y or f. */
int64_t gp_experts(const gp *g);
anygp_status gp_check_experts(const gp *g, anygp_error *e); /* a sentence where there are none */
enum { OPINION_COLUMNS = 3 };
anygp_status predictor_opinions(predictor *p, const row_batch *b, bool latent, double *out, anygp_error *e);
/* X[n, D] of rows that are not there yet. */
anygp_status gp_take_inputs(const gp *g, const row_batch *b, double *X, anygp_error *e);
/* The error for a prediction that is not finite, where one of x[n] is not. */
anygp_status predictor_check(const row_batch *b, int64_t n, const double *x, anygp_error *e);

/* What is predicted from the latents, and its units: y by the likelihood, or the first latent itself. */
typedef struct observer {
    const likelihood *like;
    target_scale unit;
    warp warp; /* what the target was transformed by: y = g^-1(shift + scale * model's) */
} observer;
observer gp_observer(const gp *g, bool latent);
/* As in scores.h a gaussian density that has no width gets one, here by noise of 1e-24 of the training variance: the likelihood in *seen,
   which has to outlive *o [score.c]. */
void gp_see_width(const gp *g, observer *o, likelihood *seen);
observer gp_latent_observer(const gp *g, int64_t c); /* of latent c, whose means and variances come first in f */

/* What an observer says about y given the latents [likelihood/mixture.h], real and count targets, data units.  exposure: NULL, or
   n of them. */
void observe_moments(const observer *o, const latents *f, const double *exposure, double *mean, double *variance);
void observe_quantile(const observer *o, const latents *f, const double *exposure, double p, double *out);
/* log p(y), Y[n, columns] as the likelihood has it [observe_target]; P(y' <= y), y[n] in model units; for gaussian the crps. */
void observe_density(const observer *o, const latents *f, const double *Y, double *out);
void observe_cdf(const observer *o, const latents *f, const double *y, const double *exposure, double *out);
void observe_crps(const observer *o, const latents *f, const double *y, double *out);
/* For classes: P[n, classes] with leading dimension ldp. */
void observe_classes(const observer *o, const latents *f, double *P, int64_t ldp);
/* Sum of w E[log p(y | f)], Y as above, classes too; row: the first one's number, for draws.  work: 2 C + 1 per row. */
double observe_expected(const observer *o, const latents *f, const double *Y, const double *w, int64_t row,
                        double *work);
/* log p(y) in data units less that in units of the model. */
double observe_log_slope(const observer *o, double y);
/* Y of one target y in data units. */
void observe_target(const observer *o, double y, double exposure, double *Y);

/* A row with its target: x in model units, y in data units, for classes the index. */
typedef struct labelled_row {
    const double *x;
    double y, exposure, weight;
    int64_t number; /* from 0, for messages */
    int64_t block;  /* from 0; -1: where it is routed to, and then for all rows */
} labelled_row;

/* Predicts labelled rows block by block and scores them.  Over several processes each has all rows and gets the scores. */
typedef struct scorer scorer;
anygp_status scorer_new(const gp *g, const comm *c, double bytes, bool latent, scorer **out, anygp_error *e);
void scorer_free(scorer *r);
anygp_status scorer_add(scorer *r, const labelled_row *row, anygp_error *e);
/* A raw row, by units that are `scored`; rows without a target or weight do not count. */
anygp_status scorer_take(scorer *r, const row_units *u, int64_t number, const double *row, int64_t block,
                         anygp_error *e);
anygp_status scorer_flush(scorer *r, anygp_error *e); /* scores what was added so far */
anygp_status scorer_finish(scorer *r, gp_scores *out, anygp_error *e);
const class_scores *scorer_classes(const scorer *r); /* NULL: the target is a number */

/* The score of that name; NaN: there is none. */
double gp_score_named(const gp_scores *s, const char *name);
/* The best scores the fit has: on rows held out, leave-one-out, or on the training rows; NULL: none. */
const gp_scores *gp_best_scores(const gp *g);
/* Whether rows with these scores were predicted much worse, by more than a nat each, than rows that the fit had not seen; the two mean
   negative log densities, NaN: not known. */
bool gp_drifted(const gp *g, const gp_scores *scores, double *then, double *now);
double gp_density_at_fit(const gp *g); /* the former of the two */
/* One warning where these show that the mean of the target, or the frequencies of its classes, would do as well. */
void gp_warn_of_baseline(const gp *g, const settings *s);

double gp_joint_bytes(const gp *g, int64_t n); /* what the two below need */
/* Joint mean[n] and covariance[n,n] (full, column-major) in data units; for a mixture, its moments.  An error where that of y has
   no closed form: counts and classes; for f where there are several. */
/* Mean and covariance of y = g^-1(t), in place of those of t, normal, in data units: both triangles [joint_warp.c]. */
anygp_status gp_joint_warp(const warp *w, int64_t n, double *mean, double *covariance, anygp_error *e);
anygp_status gp_joint(const gp *g, const row_batch *b, bool latent, double *mean, double *covariance, anygp_error *e);
/* S joint draws: out[n,S] column-major; classes by their indices.  For a mixture each is from one component, chosen at random, or each
   row of it from one of its own where components have weights. */
anygp_status gp_sample(const gp *g, const row_batch *b, bool latent, uint64_t seed, int64_t S, double *out,
                       anygp_error *e);

/* From the names of a model's blocks to their numbers from 0: 0, 1, ... or what the user called them when fitting. */
typedef struct block_map block_map;
anygp_status block_map_new(const gp *g, block_map **out, anygp_error *e); /* an error where the model has no blocks */
void block_map_free(block_map *m);                                        /* accepts NULL */
/* first: number of the first row, for messages. */
anygp_status block_map_find(const block_map *m, int64_t n, const int64_t *name, int64_t first, int64_t *block,
                            anygp_error *e);

/* ---------------------------------------------------------------------------------------- files */

/* Blocks of rows to predict, from a file of one column read beside the data `in`.  path "": none, and *out is NULL, which
   all of these accept. */
typedef struct block_file block_file;
anygp_status block_file_open(const gp_set *m, const settings *s, const char *path, const char *in, block_file **out,
                             anygp_error *e);
void block_file_close(block_file *b);
anygp_status block_file_next(block_file *b, int64_t n, anygp_error *e); /* the next n rows */
const int64_t *block_file_of(const block_file *b, int64_t target);      /* their blocks; NULL: routed */
anygp_status block_file_end(block_file *b, anygp_error *e);             /* an error if there are more */

/* A file whose columns are matched to the inputs of a model; see bind.c. */
typedef struct binding binding;
anygp_status binding_open(const gp_set *m, const char *path, const settings *s, binding **out, anygp_error *e);
/* From now on rows have their targets, weights and exposures; an error where the file has no target, `what_for`. */
anygp_status binding_labels(binding *b, bool scored, const char *what_for, anygp_error *e);
/* After binding_labels, for rows that are both learned from and scored. */
anygp_status binding_score(binding *b, anygp_error *e);
const row_units *binding_scored_units(const binding *b, int64_t target);
/* The next raw rows, (*cells)[got, columns], and their conversion into the model's units, which learns new texts with every
   call. */
anygp_status binding_next(binding *b, int64_t max_rows, const double **cells, int64_t *got, anygp_error *e);
const row_units *binding_units(const binding *b, int64_t target);
int64_t binding_row_number(const binding *b);                    /* rows delivered so far */
int64_t binding_columns(const binding *b);                       /* of the file */
int64_t binding_input_column(const binding *b, int64_t i);       /* of the file; -1: it is not there */
int64_t binding_target_column(const binding *b, int64_t target); /* the same */
/* The exposure of n rows from their cells, which all targets share; ones where the file has none, with one note. */
void binding_exposure(binding *b, int64_t n, const double *cells, double *exposure);
/* All rows of a file, X[n, D] in model units; freed by free(). */
anygp_status gp_read_inputs(const gp *g, const char *path, const settings *s, int64_t *n, double **X, anygp_error *e);
/* The categories that were new become the model's, by the indices they had; the binding is not used after that. */
anygp_status binding_keep_levels(const binding *b, gp_set *m, anygp_error *e);
void binding_close(binding *b);

/* Class k as a cell: the number it is, or for classes that are texts its index, the level of a text column. */
double label_cell(const schema *s, int64_t k);

/* The columns of a predictions file that one target has: mean, variance, lo95, hi95; label, and p_ with the name of each class; with
   latent and C > 1 mean_1, variance_1, ....  The name of column i as snprintf would have it. */
int64_t output_width(const gp *g, bool latent);
int output_suffix(const gp *g, bool latent, int64_t i, char *buffer, size_t size);
/* The whole name: behind that of the target where there are several; freed by free(), NULL: no memory. */
char *output_name(const gp_set *m, int64_t target, bool latent, int64_t i);
/* A name that ends so, as above. */
char *output_named(const gp_set *m, int64_t target, const char *suffix);
/* Those of one block of rows: out[n, width] column-major; labels as label_cell has them. */
anygp_status output_block(predictor *p, const gp *g, const row_batch *b, bool latent, double *out, anygp_error *e);

/* Bytes for blocks of rows: more than that does not help. */
double gp_block_budget(const settings *s);
anygp_status gp_predict_file(const gp_set *m, const settings *s, const comm *c, const char *in, const char *out,
                             anygp_error *e);
/* Recall and precision of each class, by names such as recall_bronze: those that are defined, and none for numbers and for
   very many classes. */
typedef struct gp_class_scores {
    int64_t count;
    char **name;
    double *value;
} gp_class_scores;
void gp_class_scores_clear(gp_class_scores *c);
/* blocks: "", or a block_file's path; scores[targets]; by_class[targets], or NULL: not asked for */
anygp_status gp_eval_file(const gp_set *m, const settings *s, const comm *c, const char *in, const char *blocks,
                          gp_scores *scores, gp_class_scores *by_class, anygp_error *e);
/* The same from arrays, as for gp_update_rows. */
anygp_status gp_eval_rows(const gp_set *m, const settings *s, int64_t n, const double *rows, int64_t ld,
                          const double *Y, const double *weights, const double *exposure, gp_scores *scores,
                          gp_class_scores *by_class, anygp_error *e);

/* Adds labelled rows to every target that has some; kernel, noise, scales and inducing inputs stay.  On failure the model
   is as it was. */
/* scores[targets] gets those of the rows under the model before them; NULL: they are not wanted.  *scored: whether it did. */
anygp_status gp_update_file(gp_set *m, const settings *s, const char *in, gp_scores *scores, bool *scored,
                            anygp_error *e);
/* The same from arrays: rows[n, inputs] as for prediction, Y[n, targets] column-major, NaN: none; weights and exposure may be NULL. */
anygp_status gp_update_rows(gp_set *m, const settings *s, int64_t n, const double *rows, int64_t ld, const double *Y,
                            const double *weights, const double *exposure, anygp_error *e);

anygp_status gp_simulate_file(const settings *s, const char *out, anygp_error *e);

#endif
