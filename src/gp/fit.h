/* What the files of fitting share: choice.c, fit_columns.c, units.c, fit_hyper.c, monitor.c, hold_out.c, validate.c, and fit.c, fit_whole.c and fit_blocks.c,
   which call them in this order. */
#ifndef GP_FIT_H
#define GP_FIT_H

#include "base/deadline.h"
#include "gp/gp.h"

/* ----------------------------------------------------------------------------------- choice.c */

/* The model that the settings name. */
typedef struct model_choice {
    const model_ops *model; /* NULL: auto, which the number of rows decides; freed by model_free() */
    bool anytime;           /* a trailing + */
    bool collapsed;         /* the batch form of the model that was named */
    bool fix_kernel, fix_noise, fix_inducing;
    bool not_learned;                         /* the user did not ask for it, but this model learns nothing */
    likelihood like;                          /* before the data are known */
    bool grow;                                /* --inducing auto */
    bool added, divided;                      /* it has a +, a / */
    int64_t sets[MODEL_SETS_MOST], set_count; /* of inducing inputs, as --inducing has them; 0: not given */
} model_choice;

anygp_status choice_parse(const settings *s, model_choice *c, anygp_error *e);
/* c with this model, and what follows from it. */
void choice_take(model_choice *c, const settings *s, const model_ops *m);
/* Refuses a prior mean or weights, where the model takes none, and calibration, where it has nothing to calibrate by. */
anygp_status choice_check_rows(const model_choice *c, const settings *s, bool weighted, anygp_error *e);
/* Tells the user about settings that have no effect on this model. */
void choice_note_unused(const model_choice *c, const settings *s);
mean_kind choice_mean(const settings *s);
/* Inducing inputs or rows of a subset. */
int64_t choice_subset(const model_choice *c);
int64_t choice_grow(const model_choice *c, const settings *s);
const char *choice_select(const model_choice *c, const settings *s);
/* Whether --precision mixed has an effect: on passes over all rows and on steps that are the model's own, not on those of NAME+. */
bool choice_can_float(const model_choice *c);

/* ------------------------------------------------------------------------------------- suits.c */

/* Options that column j of the table suggests as a target, and why; "": none, or the user chose. */
void fit_suits(const table *t, int64_t j, const settings *s, char *text, size_t size);

/* -------------------------------------------------------------------------------- fit_columns.c */

typedef struct class_balance class_balance;

typedef struct fit_columns {
    int64_t targets, *target;
    int64_t weights;        /* -1: none */
    int64_t exposure;       /* -1: none */
    bool *skip;             /* columns of the table: it is a target or the exposure, or left out */
    bool *dropped;          /* columns of the table: left out by the settings */
    bool *category;         /* columns of the table: categories by the settings */
    class_balance *balance; /* targets: weights of their classes; NULL: none */
    warp *warp;             /* targets: their transforms; NULL: none */
    int64_t sphere[2];      /* longitude and latitude; -1: none */
} fit_columns;

/* Those named in the settings, or the file's own. */
anygp_status fit_columns_find(const table *t, const settings *s, fit_columns *c, anygp_error *e);
/* `count` of the targets, as this likelihood takes them; l outlives it. */
const int64_t *fit_columns_sphere(const fit_columns *c); /* the two columns; NULL: none */
target_columns fit_columns_some(const fit_columns *c, int64_t first, int64_t count, const likelihood *l);
const char *fit_objection(const void *like, double y); /* likelihood_objection, as the data ask it */
void fit_columns_clear(fit_columns *c);
/* mark[cols]: the columns in the list of a setting, by name or number. */
anygp_status fit_mark_listed(const table *t, const settings *s, setting_id id, bool *mark, anygp_error *e);

/* ----------------------------------------------------------------------------- class_weight.c */

/* What --class-weight wants, from the labels of all rows. */
anygp_status fit_balance(const gp_data *data, const settings *s, fit_columns *c, anygp_error *e);
void fit_balance_free(fit_columns *c);
void fit_balanced(const fit_columns *c, int64_t target, target_columns *y); /* y is that target alone */
static inline bool fit_weighted(const fit_columns *c) { return c->weights >= 0 || c->balance; }

/* -------------------------------------------------------------------------------- implied.c */

/* *out: the settings with a likelihood of classes, where s names none and all targets are texts that look like labels, with a note; else
   NULL. */
anygp_status fit_implied(const table *t, const fit_columns *c, const settings *s, settings **out, anygp_error *e);

/* ------------------------------------------------------------------------------- fit_sphere.c */

/* The columns of --sphere, once the others have their use: c->sphere. */
anygp_status fit_find_sphere(const table *t, const settings *s, fit_columns *c, anygp_error *e);
/* Columns that are longitude and latitude by their names; false: there are none. */
bool fit_looks_like_sphere(const table *t, const bool *skip, int64_t found[2]);

/* ---------------------------------------------------------------------------------- subset.c */

/* Some rows of one target, in memory. */
typedef struct fit_subset {
    fit_columns columns; /* of that target alone; owns nothing */
    settings *quiet;     /* of the fits, whose notes nobody sees */
    table rows;
    int64_t room;
    double labelled;      /* rows of the data with a target */
    int64_t not_positive; /* the first whose target is not above 0; -1: none */
    posterior *start;     /* of the last fit */
    double total;         /* weight of the rows of the last fit */
} fit_subset;

anygp_status fit_subset_take(const gp_data *data, const settings *s, const fit_columns *c, int64_t target,
                             fit_subset *u, anygp_error *e);
void fit_subset_clear(fit_subset *u);
anygp_status fit_subset_kernel(fit_subset *u, const char *text, anygp_error *e); /* from now on this one */
/* Log density of the targets, in the units of the data, by an exact model of g(y), whose hyperparameters are learned; NaN: the fit failed,
   for whatever reason; the fit of all rows will tell. */
double fit_subset_evidence(fit_subset *u, const warp *g);

/* ------------------------------------------------------------------------------- isotropic.c */

/* *out: the settings with a kernel of one length-scale, where s names none, two inputs are coordinates and it is better, with a note; else
   NULL. */
anygp_status fit_isotropic(const gp_data *data, const fit_columns *c, const settings *s, settings **out,
                           anygp_error *e);

/* -------------------------------------------------------------------------------- transform.c */

/* What --transform wants of each target: c->warp. */
anygp_status fit_transform(const gp_data *data, const settings *s, fit_columns *c, anygp_error *e);
/* The settings with these seconds taken from --time; NULL where there is no limit. */
anygp_status fit_charge(const settings *s, double seconds, settings **out, anygp_error *e);

/* ------------------------------------------------------------------------------------ units.c */

/* Scores on the way. */
train_scores fit_scores_to_data(const schema *s, train_scores m);
train_scores fit_scores_to_model(const schema *s, train_scores d);
/* matern52 over the numbers, times a categorical factor over the texts. */
const char *gp_default_kernel(const schema *s);
/* Values the user gave are in data units. */
void gp_given_to_model_units(kernel *k, const schema *s);
void gp_given_likelihood_to_model_units(likelihood *l, const schema *s);
/* What was given of l, in the model units of `first`, into the values of a target with units of its own. */
void gp_given_likelihood_of_target(const likelihood *l, const schema *first, const schema *s, double *values);

/* --------------------------------------------------------------------------------- hold_out.c */

/* What --valid is: a share of the rows, a file, nothing, or auto: the model decides. */
typedef enum valid_kind { VALID_NONE, VALID_SHARE, VALID_FILE, VALID_AUTO } valid_kind;

/* *share: for VALID_SHARE, else 0. */
anygp_status valid_parse(const settings *s, valid_kind *kind, double *share, anygp_error *e);
/* Rows that auto holds out of n; 0: too few to spare any. */
enum { VALID_AUTO_MOST = 1000 };
double valid_auto_rows(double n);
/* A missing validation file is reported before the training, not after it. */
anygp_status valid_check_file(const settings *s, anygp_error *e);
/* Rows of a table or of a file that stays on disk, one after another. */
anygp_status gp_data_walk(const gp_data *data, rows_visitor see, void *ctx, anygp_error *e);

/* --------------------------------------------------------------------------------- validate.c */

typedef struct valid_rows valid_rows; /* rows to score on, in memory */

/* What is wrong with the rows shows only after the training, and is no reason to throw the model away: a warning. */
void valid_score_file(gp_set *m, const settings *s);

/* Rows of --valid for the trace of an anytime run, 20 000 of them at most, at random; NULL for none.  g needs its schema and its
   likelihood only, of which the former must outlive them. */
anygp_status valid_rows_read(const gp *g, const gp_data *data, int64_t weights, double share, const settings *s,
                             valid_rows **out, anygp_error *e);
void valid_rows_free(valid_rows *v); /* accepts NULL */
/* For classes rmse is NaN, and mnlp is the mean of -log p(label).  Only some of the rows, at random, where the time is short. */
anygp_status valid_rows_score(const valid_rows *v, const gp *g, const deadline *until, train_scores *out,
                              anygp_error *e);
/* Scores on the rows of the data whose number (rows_part) is from hold_out up to below.  scored: NULL, and then a row that
   cannot be predicted is an error; or it gets how many could. */
anygp_status valid_score_part(const gp *g, const gp_data *data, int64_t weights, uint64_t seed, double hold_out,
                              double below, int64_t *scored, gp_scores *out, anygp_error *e);

/* ------------------------------------------------------------------------------------- fit.c */

/* The fit of one target, or of several together. */
typedef struct fit_task {
    const gp_data *data;
    const fit_columns *columns;
    int64_t target;   /* which of columns->target is the first */
    int64_t together; /* how many share one fit */
    valid_kind valid;
    double hold_out;       /* this share of the rows */
    const settings *s;     /* once there is a model, these no longer ask whether to stop */
    const settings *later; /* the ones used from then on */
    model_choice choice;
    const likelihood *like; /* once the data are known */
    double began, limit;    /* seconds */
    int64_t iterations;     /* that auto planned; 0: as the settings say */
    bool started;           /* the hyperparameters are a good start already */
    bool start_only;        /* and only that is looked for */
    posterior *start;       /* whose hyperparameters those of the first target begin with; NULL: they are looked for */
    const int64_t *order;   /* --order-from: rows of the dataset as they come; NULL: not given */
    int64_t part;           /* rows of a block that auto planned; 0: as the settings say */
    gp_promise promise;     /* of auto */
    double budget;          /* seconds for all targets, by auto; 0: no limit but the settings' */
    gp_set *set;            /* the targets before this one */
    const gp_hooks *hooks;
    bool *told_unsaved; /* that a checkpoint could not be written */
} fit_task;

/* Once the model is known: the share of the rows that auto holds out of it, f->hold_out. */
anygp_status valid_settle(fit_task *f, anygp_error *e);
/* The rows held out or, for a model that has no other score, some of the training rows. */
void valid_score(const fit_task *f, gp *g);

/* Those that are fitted together, in f->limit seconds, into out[together]. */
anygp_status fit_some(fit_task *f, gp **out, anygp_error *e);
/* The same with each number of --blocks, where that is a list: out is the one with the best log density on the rows of --valid
   [fit_listed.c]. */
anygp_status fit_listed(fit_task *f, gp **out, anygp_error *e);
/* Kernel of the settings, or the default one, with the term that the model (or NULL) adds. */
anygp_status fit_kernel_of(const settings *s, const model_ops *m, const schema *c, kernel **k, anygp_error *e);
/* The same over the columns of d; then data and kernel to model units. */
anygp_status fit_kernel(const fit_task *f, dataset *d, kernel **k, anygp_error *e);
/* For a model of neighbours without a given kernel: the smoothness that suits the rows, in place of *k [near_kernel.c]. */
anygp_status fit_choose_kernel(const fit_task *f, const dataset *d, const merged *rows, kernel **k, anygp_error *e);
/* "3 rows of weight 0 were left out", if there are any. */
void note_left_out(const settings *s, int64_t rows, const char *which);
void fit_note_what_was_left_out(const fit_task *f, const dataset *d, bool all_equal);
/* share: of the memory, that is not for the model.  Where its state alone is too much, that goes to a scratch file [fit_memory.c]. */
anygp_status fit_check_memory(const fit_task *f, const model_ops *model, problem *p, double share, anygp_error *e);
enum { FIT_MEMORY_TEXT = 16 };
void fit_memory_text(double bytes, char to[FIT_MEMORY_TEXT]); /* a --memory that allows so many */

/* How the exact model of these rows is solved: *model, and what is set about it in p [fit_solver.c]. */
/* Whether a factor of n rows, which needs so many bytes, suits the memory and the time; else it is iterated. */
bool fit_factor_suits(double n, double needed, double memory, double seconds);
anygp_status fit_solver(const fit_task *f, const hyper *h, problem *p, const model_ops **model, anygp_error *e);

/* What a local model refuses of its rows: [local_rows.c].  A single one, or all at one place; */
anygp_status fit_admits_rows(const model_ops *m, const dataset *d, anygp_error *e);
/* as many neighbours as distinct rows; */
anygp_status fit_admits_neighbours(const model_ops *m, int64_t neighbours, int64_t distinct, anygp_error *e);
/* so many blocks that some would have one row; and blocks of one row in the file, ids[n]. */
anygp_status fit_admits_blocks(const model_ops *m, int64_t blocks, int64_t rows, anygp_error *e);
anygp_status fit_admits_given_blocks(const model_ops *m, const char *path, int64_t n, const int64_t *ids,
                                     anygp_error *e);
/* What the model refuses of the kernel and the columns of d, before anything is counted or learned. */
anygp_status fit_admits_kernel(const fit_task *f, const model_ops *m, const kernel *k, const dataset *d,
                               anygp_error *e);

/* --order-from: the rows of d, which are those of `part`, as they come; NULL: not given [given_order.c]. */
anygp_status fit_order(const fit_task *f, const dataset *d, const rows_part *part, int64_t **out, anygp_error *e);
/* The same for distinct rows: the first of the equal ones counts. */
anygp_status fit_distinct_order(const merged *m, const int64_t *rows, int64_t **out, anygp_error *e);
/* Inducing inputs of --inducing-from, in the data's units there, into h; *M: how many [fit_blocks.c]. */
anygp_status fit_read_inducing(const fit_task *f, const dataset *d, hyper *h, int64_t *M, anygp_error *e);
/* The block of each of n rows, from a table of one column. */
anygp_status blocks_from_file(const char *path, const settings *s, int64_t n, int64_t **out, anygp_error *e);
/* A model over blocks; g[together]. */
anygp_status fit_blocks(const fit_task *f, gp **g, anygp_error *e);

/* The same for a model that has all rows in memory [fit_whole.c]. */
anygp_status fit_whole(const fit_task *task, gp *g, anygp_error *e);

/* -------------------------------------------------------------------------------- fit_hyper.c */

/* f->like, once classes and exposure are known: into l, which outlives f, with starting values from the rows of d. */
anygp_status fit_likelihood(fit_task *f, const dataset *d, bool exposure, likelihood *l, anygp_error *e);
/* h with its defaults, and the prior mean.  Takes the kernel over. */
anygp_status fit_hyper(const fit_task *f, const dataset *d, kernel *k, hyper *h, basis *mean, anygp_error *e);

/* ---------------------------------------------------------------------------------- monitor.c */

/* Runs the training as the caller sees it: progress, trace, scores, checkpoints.  d->schema: of the rows. */
anygp_status fit_train(const fit_task *f, gp **g, const dataset *d, const problem *p, hyper *h, const valid_rows *valid,
                       train_result *r, anygp_error *e);
/* What the result says about target t of those that are fitted together, into g. */
void fit_keep_result(gp *g, const dataset *d, const train_result *r, int64_t t);
/* What --calibrate wants, once g is described: the factor of its variances, and l, with their effect. */
anygp_status fit_calibrate(const fit_task *f, gp *g, leave_one_out *l, anygp_error *e);
/* Whether it needs the inputs of rows that are left out, and of more of them: problem.leave_out_inputs and leave_out. */
bool fit_leaves_inputs(const fit_task *f);
enum { CALIBRATE_ROWS = 50000 };
/* Schema and likelihood of target t of those that are fitted together, with the values in h. */
anygp_status fit_describe(const fit_task *f, const dataset *d, const hyper *h, int64_t t, gp *g, anygp_error *e);

#endif
