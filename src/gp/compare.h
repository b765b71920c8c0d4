/* Several models, or kernels, fitted to the same rows under equal limits of time and scored on the same rows: `anygp compare`.
       compare.c         the rows, the fits, the scores
       compare_models.c  which models; the mean and the linear model
       compare_linear.c  the linear model, in closed form
       compare_kernels.c the search over kernel expressions
       compare_words.c   the result in sentences */
#ifndef GP_COMPARE_H
#define GP_COMPARE_H

#include <stdio.h>

#include "gp/gp.h"

typedef struct compare_line {
    char name[200];   /* of the model, or the kernel expression */
    char model[64];   /* what --model and --kernel would be */
    char kernel[200]; /* "": the default, or the user's */
    int64_t inducing; /* what --inducing would be; 0: the default, or the user's */
    bool baseline;    /* the mean, the linear model */
    bool linear;   /* the latter: in closed form where there are enough rows, and `model` what a file of it would be */
    bool frontier; /* no other is better in both time and score */
    bool stopped;  /* by the caller, before it was done */
    bool limited;  /* by the time */
    int64_t step;  /* of the search for a kernel */
    bool taken;    /* the search went on from here */
    int64_t parts; /* that were scored; 0: it failed, and why: */
    char reason[240];
    double rows;          /* scored, in all parts */
    double mnlp, mnlp_sd; /* mean over the parts and standard deviation; sd 0 where there is one part */
    double *part_mnlp;    /* [parts], freed with the comparison */
    double rmse, rmse_sd; /* NaN for classes */
    double accuracy;      /* NaN for others */
    double coverage95;    /* NaN for classes */
    double evidence;      /* log evidence or bound per row, less ln(n) / 2n per parameter; NaN: not comparable */
    double seconds;       /* of the fits, in all parts */
    double bytes;         /* of the model file */
} compare_line;

typedef struct gp_compare {
    char target[200]; /* the column, "": it has no name */
    bool classes, kernels;
    bool options;         /* the user gave some that a fit needs again */
    int64_t folds;        /* 0: rows were held out once, or are those of a file */
    int64_t fitted, held; /* rows of the table; held 0: a file has the test rows */
    double limit;         /* seconds of each */
    bool stopped;         /* by the caller */
    int64_t count, room;
    compare_line *line; /* by mnlp, those that failed last; a search for kernels: step by step */
    bool keep;          /* the best model is wanted */
    gp_set *best;       /* if so; NULL with folds */
    int64_t best_line;
    double (*file_bytes)(const gp_set *m); /* the model file lies above this folder; NULL: not asked */
} gp_compare;

/* out->file_bytes and out->keep are the caller's; everything else is filled in.  ANYGP_INTERRUPTED: the caller stopped it, and there is something. */
anygp_status gp_compare_run(const gp_data *data, const settings *s, gp_compare *out, anygp_error *e);
void gp_compare_clear(gp_compare *c);

/* The result in sentences, for a page and a report: without a newline. */
void compare_say_rows(FILE *f, const gp_compare *c); /* what was fitted to how many rows, and scored on which */
void compare_say_advice(FILE *f,
                        const gp_compare *c); /* how to fit the best one to all rows; nothing where there is none */
void compare_say_path(FILE *f, const gp_compare *c); /* the kernels that the search took */
int64_t compare_last_taken(const gp_compare *c);     /* the result of a search for kernels, or -1 */

/* ------------------------------------------------------------------------------- between the files */

typedef struct comparison {
    const settings *s;
    const gp_data *data; /* all rows */
    int64_t weights;     /* their column, or -1 */
    uint64_t seed;
    double share;     /* held out, where there are no folds and no file */
    const char *file; /* with the test rows; "": none */
    double limit;     /* seconds of each line */
    int64_t inputs;
    bool numbers, texts; /* there are such inputs */
    gp_compare *out;
} comparison;

/* Adds a line (name, model, kernel, baseline, step) and fits it: its index.  A fit that fails is a line with its reason.  Not called
   any more once out->stopped. */
anygp_status compare_add(comparison *c, const compare_line *what, int64_t *index, anygp_error *e);
/* Fits line `index` once more, for out->best: kernels are chosen when their models are gone. */
anygp_status compare_again(comparison *c, int64_t index, anygp_error *e);
anygp_status compare_models(comparison *c, anygp_error *e);
anygp_status compare_kernels(comparison *c, anygp_error *e);
/* Fits the linear model to one table and scores it on the other, or on the file with the test rows.  mean: any model of the same columns.
   *done false: there are too few rows, or too many features. */
anygp_status compare_linear(const comparison *c, const gp_set *mean, const table *train, const table *test,
                            gp_scores *scores, double *seconds, bool *done, anygp_error *e);
/* The mean and the linear model. */
anygp_status compare_baselines(comparison *c, anygp_error *e);

#endif
