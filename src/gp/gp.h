/* A fitted Gaussian process for one target: the data's description, the posterior, and what is to be told about it.
   This is where model units and data units meet: everything below works in model units, everything above in data
   units.
       fit.c      table or file + settings -> gp (fit.h: choice.c, columns.c, units.c, monitor.c, validate.c, fit_blocks.c)
       predict.c  gp + rows in data units -> predictions in data units
       bind.c     columns of a file -> inputs of a gp
       blocks.c   blocks of rows to predict, where the user gives them
       score.c    labelled rows -> scores
       stream.c   file -> predictions file or scores, in flat memory
       update.c   gp + labelled rows -> gp that has seen them too
       simulate.c draws from a known prior */
#ifndef GP_GP_H
#define GP_GP_H

#include "base/settings.h"
#include "data/dataset.h"
#include "data/rows.h"
#include "infer/train.h"
#include "model/model.h"
#include "predict/scores.h"

typedef struct gp_scores {
    int count; /* 0: not computed */
    score list[REGRESSION_SCORES];
} gp_scores;

typedef struct gp {
    schema schema;
    char *name;             /* of the model as the user writes it: dtc+ */
    const model_ops *model; /* its own, where it was made */
    posterior *posterior;
    likelihood *likelihood; /* its own; NULL: gaussian, with the posterior's noise */
    double objective, objective_rows, log_prior, jitter, rows, seconds;
    evidence_bounds bounds;
    bool estimate;    /* the objective is a running estimate */
    int64_t inducing; /* rows or inducing inputs the posterior rests on */
    int64_t blocks;   /* the rows were in so many; 0: not in blocks */
    int64_t iterations, evaluations;
    anygp_status status; /* OK, TIME_LIMIT or INTERRUPTED */
    gp_scores loo, valid;
    int64_t steps; /* of the trace */
    train_step *trace;
} gp;

/* The fitted models of one file: one a target. */
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
} gp_hooks;

/* Each target of a run has a checkpoint of its own. */
void gp_checkpoint_name(const char *first, int64_t target, char *path, size_t size);

/* hooks may be NULL. */
anygp_status gp_fit(const gp_data *data, const settings *s, const gp_hooks *hooks, gp_set **out, anygp_error *e);

/* dtc+ and the like to its model, which the caller gives back by model_free(); NULL: there is none. */
const model_ops *model_named(const char *name, bool *anytime);

/* The kernel as an expression with values in data units (digits significant ones); freed by free(). */
anygp_status gp_kernel_text(const gp *g, int digits, char **text, anygp_error *e);
double gp_noise(const gp *g); /* data units */

/* Parses against the inputs of s. */
anygp_status gp_parse_kernel(const char *text, const schema *s, kernel **out, anygp_error *e);

/* ----------------------------------------------------------------------------------- prediction */

/* Where rows come from, for sentences: row i is number[i] where that is not NULL, else first + i; from 0. */
typedef struct row_numbers {
    int64_t first;
    const int64_t *number;
} row_numbers;

/* Rows of all inputs (schema order, data units, text as level index) to columns of X in model units. */
anygp_status gp_scale_rows(const gp *g, int64_t n, const double *rows, int64_t ld, const row_numbers *number, double *X,
                           anygp_error *e);

typedef struct predictor predictor; /* workspace for blocks of rows, under a byte budget */
anygp_status predictor_new(const gp *g, double bytes, predictor **out, anygp_error *e);
void predictor_free(predictor *p);
double predictor_row_bytes(const gp *g);     /* of the budget, a row of a block */
int64_t predictor_block(const predictor *p); /* rows at a time that run best */
/* Marginals in data units; latent: of f instead of y.  block: NULL, or the block of each row, from 0 [block_map_find]. */
anygp_status predictor_run(predictor *p, int64_t n, const double *rows, int64_t ld, const row_numbers *number,
                           const int64_t *block, bool latent, double *mean, double *variance, anygp_error *e);

/* Predicts labelled rows block by block and scores them; rows without a target do not count. */
typedef struct scorer scorer;
anygp_status scorer_new(const gp *g, double bytes, bool latent, scorer **out, anygp_error *e);
void scorer_free(scorer *r);
/* block: that of the row, from 0; -1: where it is routed to, and then so for all rows. */
anygp_status scorer_add(scorer *r, const double *row, double y, double weight, int64_t row_number, int64_t block,
                        anygp_error *e);
anygp_status scorer_finish(scorer *r, gp_scores *out, anygp_error *e);

double gp_joint_bytes(const gp *g, int64_t n); /* what the two below need */
/* Joint mean[n] and covariance[n,n] (full, column-major) in data units. */
anygp_status gp_joint(const gp *g, int64_t n, const double *rows, int64_t ld, bool latent, double *mean,
                      double *covariance, anygp_error *e);
/* S joint draws: out[n,S] column-major; block as for predictor_run. */
anygp_status gp_sample(const gp *g, int64_t n, const double *rows, int64_t ld, const int64_t *block, bool latent,
                       uint64_t seed, int64_t S, double *out, anygp_error *e);

/* From the names of a model's blocks to their numbers from 0: 0, 1, ... or what the user called them when fitting. */
typedef struct block_map block_map;
anygp_status block_map_new(const gp *g, block_map **out, anygp_error *e); /* an error where the model has no blocks */
void block_map_free(block_map *m);                                        /* accepts NULL */
/* first: number of the first row, for sentences. */
anygp_status block_map_find(const block_map *m, int64_t n, const int64_t *name, int64_t first, int64_t *block,
                            anygp_error *e);

/* ---------------------------------------------------------------------------------------- files */

/* Blocks of rows to predict, from a file of one column read beside the data `in`.  path "": none, and *out is NULL, which
   all of these accept. */
typedef struct block_file block_file;
anygp_status block_file_open(const gp_set *m, const char *path, const char *in, block_file **out, anygp_error *e);
void block_file_close(block_file *b);
anygp_status block_file_next(block_file *b, int64_t n, anygp_error *e); /* the next n rows */
const int64_t *block_file_of(const block_file *b, int64_t target);      /* their blocks; NULL: routed */
anygp_status block_file_end(block_file *b, anygp_error *e);             /* an error if there are more */

/* How the columns of a file become the inputs of a model; see bind.c. */
typedef struct binding binding;
anygp_status binding_open(const gp_set *m, const char *path, const settings *s, binding **out, anygp_error *e);
/* The next rows[got, inputs] in data units and, if it is not NULL, the cells[got, columns] as they were read. */
anygp_status binding_next(binding *b, int64_t max_rows, double *rows, const double **cells, int64_t *got,
                          anygp_error *e);
int64_t binding_row_number(const binding *b);             /* rows delivered so far */
int64_t binding_columns(const binding *b);                /* of the file */
int64_t binding_target(const binding *b, int64_t target); /* column of the file, or -1 */
anygp_status binding_column(const binding *b, const char *spec, int64_t *column, anygp_error *e);
bool binding_is_text(const binding *b, int64_t column);
/* The categories that were new become the model's, by the indices they had; the binding is not used after that. */
anygp_status binding_keep_levels(const binding *b, gp_set *m, anygp_error *e);
void binding_close(binding *b);

anygp_status gp_predict_file(const gp_set *m, const settings *s, const char *in, const char *out, anygp_error *e);
/* blocks: "", or a block_file's path; scores[targets] */
anygp_status gp_eval_file(const gp_set *m, const settings *s, const char *in, const char *blocks, gp_scores *scores,
                          anygp_error *e);

/* Adds labelled rows to every target that has some; kernel, noise, scales and inducing inputs stay.  On failure the model
   is as it was. */
anygp_status gp_update_file(gp_set *m, const settings *s, const char *in, anygp_error *e);
/* The same from arrays: rows[n, inputs] as for prediction, Y[n, targets] column-major, NaN: none; weights may be NULL. */
anygp_status gp_update_rows(gp_set *m, const settings *s, int64_t n, const double *rows, int64_t ld, const double *Y,
                            const double *weights, anygp_error *e);

anygp_status gp_simulate_file(const settings *s, const char *out, anygp_error *e);

#endif
