/*
 * anygp: Gaussian processes on large data.                              The whole public interface.
 *
 * Four verbs:   settings  ->  fit  ->  predict  ->  free
 *
 *     anygp_error e;
 *     anygp_settings *s = anygp_settings_new();
 *     anygp_set(s, "kernel", "rbf", &e);
 *     anygp_data *d;  anygp_data_read("train.csv", s, &d, &e);
 *     anygp_model *m; anygp_fit(s, d, &m, &e);
 *     anygp_predict(m, n, X, ldx, 0, mean, variance, &e);      each call returns a status: see ANYGP_FAILED
 *     anygp_model_free(m); anygp_data_free(d); anygp_settings_free(s);
 *
 * Conventions
 *   - Every call that can fail returns an anygp_status and, if `e` is not NULL, leaves one sentence in
 *     e->text that says what is wrong, where, and what to do.  The library never prints and never exits.
 *   - Handles are opaque; every *_free accepts NULL.  A call that fails sets the handle it should have made to NULL.
 *   - Where a call takes settings `s`, NULL means the defaults.
 *   - Inputs X are row-major with a stride (`ldx` doubles from one row to the next); other matrices are
 *     column-major.  Sizes are int64_t, numbers are double.
 *   - A handle may be used by one thread at a time; different handles are independent.  Simultaneous calls in several
 *     threads give the same bits as separate calls, except that sums may differ by rounding if BLAS has its own threads (an
 *     OpenBLAS that is not the openmp build), or if the calls use different numbers of threads above one, since BLAS
 *     then changes its number for the whole process.  Setting `threads` to 1 gives the same bits in these cases too.
 *   - In a process forked from the one that loaded the library every call runs on one thread: a fork does not copy
 *     the threads that a parallel region would wait for.
 */
#ifndef ANYGP_H
#define ANYGP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANYGP_VERSION_MAJOR 0
#define ANYGP_VERSION_MINOR 1
#define ANYGP_VERSION_PATCH 0
#define ANYGP_VERSION_NUMBER (ANYGP_VERSION_MAJOR * 10000 + ANYGP_VERSION_MINOR * 100 + ANYGP_VERSION_PATCH)

#if defined(__GNUC__)
#define ANYGP_API __attribute__((visibility("default")))
#else
#define ANYGP_API
#endif

/* ------------------------------------------------------------------------------------- statuses */

/* One list: expanded here as the enum, in the library as the messages of anygp_status_text().
   Values are part of the ABI and never change.  Below 100: a result, and the model is valid. */
#define ANYGP_STATUS_LIST(X)                                                                                           \
    X(OK, 0, "done")                                                                                                   \
    X(TIME_LIMIT, 1, "the time limit was reached; this is the best model so far")                                      \
    X(INTERRUPTED, 2, "stopped on request; this is the best model so far")                                             \
    X(ERR_ARGUMENT, 100, "an argument or a setting is wrong")                                                          \
    X(ERR_DATA, 101, "the data cannot be used")                                                                        \
    X(ERR_FILE, 102, "a file cannot be read or written")                                                               \
    X(ERR_MEMORY, 103, "not enough memory")                                                                            \
    X(ERR_NUMERIC, 104, "a numerical computation failed")                                                              \
    X(ERR_INTERNAL, 105, "an internal error; please report it")                                                        \
    X(ERR_STOPPED, 106, "stopped on request before there was a result")

typedef enum anygp_status {
#define ANYGP_STATUS_ENUM(name, value, text) ANYGP_##name = value,
    ANYGP_STATUS_LIST(ANYGP_STATUS_ENUM)
#undef ANYGP_STATUS_ENUM
} anygp_status;

/* True for the statuses that leave no result. */
#define ANYGP_FAILED(status) ((status) >= 100)

typedef struct anygp_error {
    anygp_status status;
    char text[508]; /* one sentence, always terminated */
} anygp_error;

ANYGP_API const char *anygp_status_text(anygp_status status);
ANYGP_API const char *anygp_version(void); /* "0.1.0" */

/* ------------------------------------------------------------------------------------- settings */

/* Settings are set by name, as text, and checked at once: anygp_set(s, "kernel", "matern32 + linear", &e).
   The names are those of the command line's options; docs/settings.md lists them. */
typedef struct anygp_settings anygp_settings;

ANYGP_API anygp_settings *anygp_settings_new(void); /* defaults; NULL: out of memory */
ANYGP_API void anygp_settings_free(anygp_settings *s);
/* Replaces the value; for a list ("target") adds an item. */
ANYGP_API anygp_status anygp_set(anygp_settings *s, const char *name, const char *value, anygp_error *e);
ANYGP_API const char *anygp_get(const anygp_settings *s, const char *name); /* NULL: no such setting; "" = not set */

/* The table itself.  field: name, type, default, lower, upper, choices, argument, commands, help, group (a title), brief (one line),
   common (yes: most people need it; no); NULL for any other.  The text of lower and upper is valid until the next call in the same
   thread. */
ANYGP_API int64_t anygp_setting_count(void);
ANYGP_API const char *anygp_setting_field(int64_t i, const char *field);
/* The k-th setting, 0 <= k < count, in the order of the help: those of a group follow each other.  -1: there is none. */
ANYGP_API int64_t anygp_setting_listed(int64_t k);

ANYGP_API const char *anygp_setting_nearest(const char *name); /* the setting probably meant, or NULL */

/* The models that the setting "model" takes, besides auto.  field: name, summary, expression (an example with options, or ""),
   likelihoods (gaussian, any), targets (one, several: in one fit), inducing (none, one, sets, pair, optional), learned (its inducing
   inputs: yes, no), rows (all, blocks, parts: blocks that are parts of the input space), learning (passes, steps, none), anytime, update,
   joint, mean, weights (yes, no), cost (of a pass or a step); NULL for any other.  docs/models.md explains them. */
ANYGP_API int64_t anygp_model_count(void);
ANYGP_API const char *anygp_model_field(int64_t i, const char *field);

/* The kernels that an expression is made of.  field: name, summary, options (names that may be given a value, separated by ", "); and the
   likelihoods.  field: name, summary, target (number, count, class), exposure (yes, no), options.  NULL for any other. */
ANYGP_API int64_t anygp_kernel_count(void);
ANYGP_API const char *anygp_kernel_field(int64_t i, const char *field);
ANYGP_API int64_t anygp_likelihood_count(void);
ANYGP_API const char *anygp_likelihood_field(int64_t i, const char *field);

/* Notes and warnings, one sentence each; without a callback they are dropped. */
typedef enum anygp_log_level { ANYGP_NOTE = 0, ANYGP_WARNING = 1 } anygp_log_level;
typedef void (*anygp_log_fn)(void *ctx, anygp_log_level level, const char *text);
ANYGP_API void anygp_on_log(anygp_settings *s, anygp_log_fn fn, void *ctx);

/* Called while training; a nonzero result stops it with the best model so far.  Later versions may add fields at
   the end. */
typedef struct anygp_progress {
    const char *stage;             /* "starting point" (objective still NaN while it scans), "learning" */
    int64_t iteration, iterations; /* done, and at most */
    int64_t restart, restarts;
    double objective;           /* log evidence or bound, for y in model units */
    double seconds, time_limit; /* NaN: no limit */
    double rmse, mnlp; /* leave-one-out or on validation rows, data units; NaN: not known; classes have no rmse */
    double coverage;   /* the share of these rows in their 95 % intervals; NaN: not known, or classes */
} anygp_progress;
typedef int (*anygp_progress_fn)(void *ctx, const anygp_progress *p);
ANYGP_API void anygp_on_progress(anygp_settings *s, anygp_progress_fn fn, void *ctx);
/* Whether models that learn by steps are scored on the held-out rows along the way for that function, as they are for the setting
   `trace`; the time it takes does not count. */
ANYGP_API void anygp_watch_scores(anygp_settings *s, int on);

/* Called a few times per second while files are read, predicted or converted: a nonzero result ends the call with
   ANYGP_ERR_STOPPED, and nothing is written.  Training is ended by the progress callback instead, with a model; inside passes that take
   long, where there is no progress to tell, this one is called too, by the thread that called, and ends it in the same way. */
typedef int (*anygp_stop_fn)(void *ctx);
ANYGP_API void anygp_on_stop(anygp_settings *s, anygp_stop_fn fn, void *ctx);

/* ----------------------------------------------------------------------------------------- data */

typedef struct anygp_data anygp_data;

/* .csv .tsv (plain or .gz), .npy, .npz, .h5, .libsvm, idx; "-" is standard input. */
ANYGP_API anygp_status anygp_data_read(const char *path, const anygp_settings *s, anygp_data **out, anygp_error *e);
/* Copies X[n,d] (row-major, ldx doubles per row), y[n] and, if not NULL, weights[n].  NaN is a missing value. */
ANYGP_API anygp_status anygp_data_new(int64_t n, int64_t d, const double *X, int64_t ldx, const double *y,
                                      const double *weights, anygp_data **out, anygp_error *e);
/* What a header line and text cells would say: the name of a column, and the categories of a text column, whose cells are
   indices of these categories (NaN: missing).  Inputs are columns 0 .. d-1, the target is column d; the categories of a target
   are classes, for the likelihoods that take them.  All of it is copied. */
ANYGP_API anygp_status anygp_data_name(anygp_data *data, int64_t column, const char *name, anygp_error *e);
ANYGP_API anygp_status anygp_data_categories(anygp_data *data, int64_t column, int64_t count, const char *const *names,
                                             anygp_error *e);
ANYGP_API int64_t anygp_data_rows(const anygp_data *data);
ANYGP_API int64_t anygp_data_columns(const anygp_data *data);
ANYGP_API void anygp_data_free(anygp_data *data);

/* --------------------------------------------------------------------------- fit, predict, free */

typedef struct anygp_model anygp_model;

/* ANYGP_OK, ANYGP_TIME_LIMIT and ANYGP_INTERRUPTED all leave a valid model, which no longer needs `s` and `data`. */
ANYGP_API anygp_status anygp_fit(const anygp_settings *s, const anygp_data *data, anygp_model **out, anygp_error *e);

/* Mean and variance at each of n rows.  X has the training inputs in their order (constant ones too, without target
   and weights), in the units of the data; a text column is given by the index of its category.
   flags: 0 for the distribution of y, ANYGP_LATENT for that of f.  variance may be NULL.  Results are finite, or
   the call fails; then mean and variance are not usable.  Counts are for an exposure of 1.  A target that is a
   class has no mean: see anygp_predict_proba. */
#define ANYGP_LATENT 1u
ANYGP_API anygp_status anygp_predict(const anygp_model *m, int64_t n, const double *X, int64_t ldx, unsigned flags,
                                     double *mean, double *variance, anygp_error *e);
ANYGP_API void anygp_model_free(anygp_model *m);

/* One file with everything needed for prediction (docs/model-file.md).  It is written completely or not at all. */
ANYGP_API anygp_status anygp_save(const anygp_model *m, const char *path, anygp_error *e);
ANYGP_API anygp_status anygp_load(const char *path, anygp_model **out, anygp_error *e);

/* ------------------------------------------------------------------------------------- advanced */

/* The bytes of the model file in memory, for databases, messages and pickles; freed by anygp_bytes_free. */
ANYGP_API anygp_status anygp_save_bytes(const anygp_model *m, void **bytes, size_t *size, anygp_error *e);
ANYGP_API anygp_status anygp_load_bytes(const void *bytes, size_t size, anygp_model **out, anygp_error *e);
ANYGP_API void anygp_bytes_free(void *bytes);

/* A model of several targets holds one Gaussian process per target; `target` counts from 0. */
ANYGP_API int64_t anygp_model_targets(const anygp_model *m);
ANYGP_API const char *anygp_model_target_name(const anygp_model *m, int64_t target); /* "" without a header */
ANYGP_API int64_t anygp_model_inputs(const anygp_model *m);                          /* columns of X */

ANYGP_API anygp_status anygp_predict_target(const anygp_model *m, int64_t target, int64_t n, const double *X,
                                            int64_t ldx, unsigned flags, double *mean, double *variance,
                                            anygp_error *e);
/* The same with an exposure per row, for counts; NULL: 1. */
ANYGP_API anygp_status anygp_predict_exposed(const anygp_model *m, int64_t target, int64_t n, const double *X,
                                             int64_t ldx, const double *exposure, unsigned flags, double *mean,
                                             double *variance, anygp_error *e);
/* Quantiles of y, or of f, at the given probabilities between 0 and 1: quantiles[n, count], column-major.  For counts the smallest
   whole number that is not exceeded with at least this probability.  Classes have none. */
ANYGP_API anygp_status anygp_predict_quantiles(const anygp_model *m, int64_t target, int64_t n, const double *X,
                                               int64_t ldx, const double *exposure, unsigned flags, int64_t count,
                                               const double *probability, double *quantiles, anygp_error *e);
/* How probable given targets y[n] are, in the units of the data: log p(y), for counts and classes the logarithm of a probability (of a class
   at least 1e-15, as in the log loss), and cdf, P(y' <= y), which classes do not have.  Either may be NULL.  Classes are given as for
   anygp_update.  The mean of -log_density is the score mnlp. */
ANYGP_API anygp_status anygp_predict_density(const anygp_model *m, int64_t target, int64_t n, const double *X,
                                             int64_t ldx, const double *exposure, const double *y, double *log_density,
                                             double *cdf, anygp_error *e);
/* anygp_predict_target for a pic model, with each row predicted from the given block instead of the one it lies in: 0, 1, ..., or
   the numbers that the setting blocks-from gave the blocks. */
ANYGP_API anygp_status anygp_predict_blocks(const anygp_model *m, int64_t target, int64_t n, const double *X,
                                            int64_t ldx, const int64_t *block, unsigned flags, double *mean,
                                            double *variance, anygp_error *e);
/* Targets that are classes: the number of classes (0: the target is a number), their names in order (texts as given,
   numbers as they are printed), and the probability of each at n rows: probabilities[n, classes], column-major. */
ANYGP_API int64_t anygp_classes(const anygp_model *m, int64_t target);
ANYGP_API const char *anygp_class_name(const anygp_model *m, int64_t target, int64_t i); /* NULL: there is none */
ANYGP_API anygp_status anygp_predict_proba(const anygp_model *m, int64_t target, int64_t n, const double *X,
                                           int64_t ldx, double *probabilities, anygp_error *e);
/* Committees and mixtures of experts: the number of experts (0: the model has none), and what each says at n rows:
   opinions[n, 3 experts], column-major, with mean, standard deviation and weight of the first, then of the second, ... */
ANYGP_API int64_t anygp_experts(const anygp_model *m, int64_t target);
ANYGP_API anygp_status anygp_predict_experts(const anygp_model *m, int64_t target, int64_t n, const double *X,
                                             int64_t ldx, unsigned flags, double *opinions, anygp_error *e);
/* Joint distribution: mean[n], covariance[n,n], both triangles.  For counts and classes only that of f, if there is one f. */
ANYGP_API anygp_status anygp_predict_joint(const anygp_model *m, int64_t target, int64_t n, const double *X,
                                           int64_t ldx, unsigned flags, double *mean, double *covariance,
                                           anygp_error *e);
/* S joint draws at n rows: draws[n,S], for classes their indices from 0.  Draw k is a function of (seed, k). */
ANYGP_API anygp_status anygp_sample(const anygp_model *m, int64_t target, int64_t n, const double *X, int64_t ldx,
                                    unsigned flags, uint64_t seed, int64_t S, double *draws, anygp_error *e);

/* Makes a model ready for many calls with few rows each (up to 64): it spends about two rows' time per inducing input once, and each
   variance then takes about half the time.  Results may change in the last digits.  Not needed for correctness, and of no use for
   models that are not over inducing inputs. */
ANYGP_API anygp_status anygp_prepare(const anygp_model *m, anygp_error *e);

/* The inputs of a model, in the order of X: their names ("" without a header), the categories of those that are texts (0: a number), and
   where the training values of a number were: about centre - 2 spread to centre + 2 spread (spread 0: not used by the model). */
ANYGP_API const char *anygp_input_name(const anygp_model *m, int64_t i);
ANYGP_API int64_t anygp_input_categories(const anygp_model *m, int64_t i);
ANYGP_API const char *anygp_input_category(const anygp_model *m, int64_t i, int64_t k);
ANYGP_API void anygp_input_scale(const anygp_model *m, int64_t i, double *centre, double *spread);
/* The columns of a file of predictions, from arrays, for all targets at once: how many, their names, and out[n, count] column-major.
   exposure may be NULL.  The text of a label that is one, given its number in `out`; NULL: the column has numbers. */
ANYGP_API int64_t anygp_output_count(const anygp_model *m, unsigned flags);
ANYGP_API void anygp_output_name(const anygp_model *m, unsigned flags, int64_t i, char *buffer, size_t size);
ANYGP_API const char *anygp_output_text(const anygp_model *m, unsigned flags, int64_t i, double value);
ANYGP_API anygp_status anygp_predict_output(const anygp_model *m, int64_t n, const double *X, int64_t ldx,
                                            const double *exposure, unsigned flags, double *out, anygp_error *e);

/* From file to file, in constant memory for any length.  out = NULL or "-" is standard output.  in = NULL where the setting "grid"
   says where to predict. */
ANYGP_API anygp_status anygp_predict_file(const anygp_model *m, const anygp_settings *s, const char *in,
                                          const char *out, anygp_error *e);
/* The same by all processes of a run, which have the same model and settings: each predicts its share of the rows, and rank 0 writes. */
ANYGP_API anygp_status anygp_predict_file_shared(const anygp_model *m, const anygp_settings *s, const char *in,
                                                 const char *out, anygp_error *e);
/* Adds labelled rows to a fitted sparse or variational model, without the rows it was fitted to (docs/updating.md).
   Hyperparameters, scales and inducing inputs are kept.  On failure the model is unchanged.
   From arrays: X as for anygp_predict, Y[n, targets] (one target: y[n]), NaN for a missing target; weights may be NULL. */
ANYGP_API anygp_status anygp_update_file(anygp_model *m, const anygp_settings *s, const char *in, anygp_error *e);
ANYGP_API anygp_status anygp_update(anygp_model *m, const anygp_settings *s, int64_t n, const double *X, int64_t ldx,
                                    const double *Y, const double *weights, anygp_error *e);
/* The same with an exposure per row, for counts; NULL: 1.  The labels of classes that are texts are indices of anygp_class_name. */
ANYGP_API anygp_status anygp_update_exposed(anygp_model *m, const anygp_settings *s, int64_t n, const double *X,
                                            int64_t ldx, const double *Y, const double *weights, const double *exposure,
                                            anygp_error *e);
ANYGP_API anygp_status anygp_simulate_file(const anygp_settings *s, const char *out, anygp_error *e);
/* Converts any readable table to .h5, .npy, .csv or .tsv (also .gz), with its column names if the format has a place for
   them.  A .h5 or .npy file can be used for training without loading it. */
ANYGP_API anygp_status anygp_convert_file(const anygp_settings *s, const char *in, const char *out, anygp_error *e);
/* The columns of a table as a fit with these settings would take them: as a page, or as JSON; freed by anygp_text_free. */
ANYGP_API anygp_status anygp_look_file(const anygp_settings *s, const char *in, int json, char **text, anygp_error *e);

/* Scores on labelled data: a list of names and values, in the units of the data. */
typedef struct anygp_scores anygp_scores;
/* anygp_update_file, with the scores of the new rows under the model before them; *before = NULL where they cannot be had, and a note says
   why. */
ANYGP_API anygp_status anygp_update_scored(anygp_model *m, const anygp_settings *s, const char *in,
                                           anygp_scores **before, anygp_error *e);
ANYGP_API anygp_status anygp_eval_file(const anygp_model *m, const anygp_settings *s, const char *in,
                                       anygp_scores **out, anygp_error *e);
/* The same from arrays, Y[n, targets] column-major, as anygp_update_exposed takes them: rows without a target, or with the weight 0, do not count.
   weights and exposure may be NULL. */
ANYGP_API anygp_status anygp_eval(const anygp_model *m, const anygp_settings *s, int64_t n, const double *X,
                                  int64_t ldx, const double *Y, const double *weights, const double *exposure,
                                  anygp_scores **out, anygp_error *e);
/* The same by all processes of a run, which have the same model and settings: each predicts its share of the rows, and all get the
   scores. */
ANYGP_API anygp_status anygp_eval_file_shared(const anygp_model *m, const anygp_settings *s, const char *in,
                                              anygp_scores **out, anygp_error *e);
/* The scores of a fit: kind "leave_one_out", "valid" (on held-out rows or a file), or "training" (on rows it was fitted to,
   if there is nothing better); count 0 if there is none. */
ANYGP_API anygp_status anygp_model_scores(const anygp_model *m, const char *kind, anygp_scores **out, anygp_error *e);
ANYGP_API int64_t anygp_scores_count(const anygp_scores *s, int64_t target);
ANYGP_API const char *anygp_scores_name(const anygp_scores *s, int64_t target, int64_t i);
ANYGP_API double anygp_scores_value(const anygp_scores *s, int64_t target, int64_t i);
ANYGP_API void anygp_scores_free(anygp_scores *s);

/* The content of a model, for people (a page of text) or for programs (a JSON object); freed by anygp_text_free. */
ANYGP_API anygp_status anygp_info(const anygp_model *m, int json, char **text, anygp_error *e);
ANYGP_API void anygp_text_free(char *text);
/* A number as all tables of the library write it: the shortest decimal that reads back as x, without a final zero byte; returns its length,
   at most ANYGP_NUMBER_TEXT. */
enum { ANYGP_NUMBER_TEXT = 32 };
ANYGP_API size_t anygp_number_text(double x, char *text);
/* What to try next: options to add to those of the fit, and why, in one sentence such as "--inducing 1024, since ..."; "": nothing.
   Freed by anygp_text_free. */
ANYGP_API anygp_status anygp_advice(const anygp_model *m, int64_t target, char **text, anygp_error *e);
/* The trace of training as a table (.csv or .jsonl).  With the setting `trace` anygp_fit writes it as it goes. */
ANYGP_API anygp_status anygp_save_trace(const anygp_model *m, const char *path, anygp_error *e);

/* A report as one page of HTML that needs no other file, and one of its pictures (.svg, or .png where librsvg is there): predictions
   against targets, calibration, residuals, effects of the inputs, ... (docs/report.md).  in: a table of rows, or NULL; without rows, or
   without targets in them, the pictures that need these are left out.  out = NULL or "-" is standard output.  anygp_plot_list: the names
   of the pictures that apply, a line each with what they show; freed by anygp_text_free. */
ANYGP_API anygp_status anygp_report(const anygp_model *m, const anygp_settings *s, const char *in, const char *out,
                                    anygp_error *e);
ANYGP_API anygp_status anygp_plot(const anygp_model *m, const anygp_settings *s, const char *in, const char *what,
                                  const char *out, anygp_error *e);
ANYGP_API anygp_status anygp_plot_list(const anygp_model *m, const anygp_settings *s, const char *in, char **text,
                                       anygp_error *e);

/* Before a fit: what each model would cost with these data and settings (docs/plan.md), in seconds and bytes on this machine, which are
   ruled out and why, and what auto would choose; as a page, or as JSON; freed by anygp_text_free.  Nothing is fitted, except short
   fits of at most a second where auto would decide by them. */
ANYGP_API anygp_status anygp_plan(const anygp_settings *s, const anygp_data *data, int json, char **text,
                                  anygp_error *e);

/* Fits several models, the mean and a linear model to the same rows under equal limits of time and scores them on the same rows held out,
   or by cross-validation (docs/compare.md); with the setting kernels, kernel expressions instead of models.  The settings models, folds,
   test and time say which and how; report names a file, or is empty: the result as a page of HTML with pictures.  The result as a page
   of text, or as JSON, freed by anygp_text_free; best: NULL, or gets the model with the
   best log density, fitted to the rows that were not held out (NULL with folds).  ANYGP_INTERRUPTED: the progress callback stopped
   it, and what was fitted before is in the result. */
ANYGP_API anygp_status anygp_compare(const anygp_settings *s, const anygp_data *data, int json, char **text,
                                     anygp_model **best, anygp_error *e);

/* Whether a model is still right on the rows of a file, with or without targets (docs/check.md): calibration, drift of the inputs,
   extrapolation, and the score beside that of the fit; as a page, or as JSON, freed by anygp_text_free. */
typedef enum anygp_verdict { ANYGP_FINE = 0, ANYGP_WATCH = 2, ANYGP_REFIT = 3 } anygp_verdict;
ANYGP_API anygp_status anygp_check_file(const anygp_model *m, const anygp_settings *s, const char *in, int json,
                                        char **text, anygp_verdict *verdict, anygp_error *e);
/* 1 if labelled rows were predicted much worse, by more than a nat each, than rows that the fit had not seen: *then and *now get the two
   mean negative log densities (either may be NULL).  0 if not, or if there is nothing to compare with. */
ANYGP_API int anygp_drifted(const anygp_model *m, const anygp_scores *scores, int64_t target, double *then,
                            double *now);

/* A model as source text, freed by anygp_text_free (docs/export.md).  C: plain C99 with no library but libm, whose functions begin with `name`;
   header: the name of a file that has the declarations, which go into *declarations, or NULL: they are in the source.  JSON: the arrays
   and the steps of a prediction, for other languages.  A kind of model that cannot be written so is refused. */
ANYGP_API anygp_status anygp_export_c(const anygp_model *m, const char *name, const char *header, char **source,
                                      char **declarations, anygp_error *e);
ANYGP_API anygp_status anygp_export_json(const anygp_model *m, char **text, anygp_error *e);

/* Several processes share one fit (docs/mpi.md): mpirun starts R copies of a program, each calls anygp_world_begin once,
   then anygp_fit with the same settings and data, and gets the same model (for pic only that of rank 0 has the rows needed for prediction).  Between
   begin and end, all processes call anygp_fit, in the same order; other calls concern one process only.
   Begin does nothing in a process that was started alone, and in a library built without MPI; MPI that the program has
   started itself is used and left running.  argc and argv are those of main, or NULL. */
ANYGP_API anygp_status anygp_world_begin(int *argc, char ***argv, anygp_error *e);
ANYGP_API void anygp_world_end(void); /* waits for all processes; call it before main returns, if nothing failed */
ANYGP_API int anygp_world_rank(void); /* 0 <= rank < size; 0 of 1 in a single process */
ANYGP_API int anygp_world_size(void);
/* Ends all processes, including this one, so that the others do not wait for one that has failed: mpirun then returns 1,
   or 2 for ANYGP_ERR_INTERNAL.  In a single process it does nothing and returns. */
ANYGP_API void anygp_world_abort(anygp_status status);

/* As anygp_load, with the settings `memory`, for what a model makes of its file before it predicts, and `threads`.  Factors of experts (poe,
   gpoe, bcm, rbcm, grbcm, npae, nle, patchwork) that take more memory than that are kept in a scratch file; predictions are the same. */
ANYGP_API anygp_status anygp_load_with(const char *path, const anygp_settings *s, anygp_model **out, anygp_error *e);

#ifdef __cplusplus
}
#endif
#endif
