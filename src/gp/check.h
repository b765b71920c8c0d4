/* Whether a fitted model is still right on the rows of a file: `anygp check`.
       check.c        one pass over the file: inputs, predictions, scores
       check_inputs.c how inputs compare with the training rows
       check_sums.c   how targets compare with their predictions
       check_judge.c  what these numbers mean: findings and a verdict
   Reports ask the last three too, about rows of their own. */
#ifndef GP_CHECK_H
#define GP_CHECK_H

#include "gp/gp.h"

/* An input in the file, beside the training rows: model units are standard deviations of these, where inputs were standardised. */
typedef struct check_input {
    const input_spec *spec;
    bool known;      /* the file says what the training rows were like */
    double mean, sd; /* numbers: of (x - training mean) / training sd */
    double far;      /* share of the rows that are far outside */
    double unseen;   /* texts: share of the rows with a category that the training rows had not */
} check_input;

enum { CHECK_LEVELS = 4, CHECK_FINDINGS_MOST = 16 };
extern const double check_levels[CHECK_LEVELS]; /* 0.5, 0.8, 0.9, 0.95 */

typedef struct check_target {
    const gp *g;
    double n;                       /* rows with a target; 0: inputs only */
    double z_mean, z_square;        /* of (y - mean) / sd, and the mean of its square; NaN for classes */
    double coverage[CHECK_LEVELS];  /* NaN for classes */
    double accuracy, confidence;    /* of classes: of the most probable one; else NaN */
    double new_labels;              /* share of rows with a class that the model does not know */
    double density, density_at_fit; /* mean negative log density now and then; NaN: not known */
    bool drifted;                   /* it is much worse, as an update would say */
    double as_prior; /* share of rows where f is hardly less uncertain than before any data; NaN: not known */
    gp_scores scores;
} check_target;

typedef struct check_finding {
    anygp_verdict level;
    char text[200];
} check_finding;

typedef struct gp_check {
    int64_t rows, bad; /* of the file; that cannot be predicted */
    int64_t inputs;    /* that the model uses */
    check_input *input;
    double far;    /* share of rows that are far outside in some input */
    bool labelled; /* the file has targets; if not, why: */
    char unlabelled[200];
    int64_t targets;
    check_target *target;
    int findings;
    check_finding finding[CHECK_FINDINGS_MOST]; /* the worst first */
    anygp_verdict verdict;
} gp_check;

anygp_status gp_check_file(const gp_set *m, const settings *s, const char *in, gp_check *out, anygp_error *e);
void gp_check_clear(gp_check *c);

/* The inputs of rows beside those of the training rows. */
typedef struct input_sums {
    const schema *s;
    double *sum, *square, *far, *unseen; /* D */
    double rows, far_rows;
} input_sums;
int64_t input_sums_count(const schema *s); /* inputs, a place on the sphere being one */
anygp_status input_sums_open(input_sums *u, const schema *s, anygp_error *e);
void input_sums_add(input_sums *u, const double *x); /* a row in model units */
/* fitted: the settings of the fit; list[D]; *far: share of rows that are far outside in some input, NaN: not known. */
void input_sums_finish(const input_sums *u, const settings *fitted, check_input *list, double *far);
void input_sums_clear(input_sums *u);

/* The rows of a target and what was predicted for them. */
typedef struct check_sums {
    double rows, as_prior;                         /* all */
    double weight, z, square, confidence, correct; /* those with a target */
} check_sums;
void check_sums_row(check_sums *s, double unexplained); /* the share of the prior variance of f that is left */
void check_sums_number(check_sums *s, double z,
                       double w); /* z = (y - mean) / sd, of g(y) where y was transformed by g */
void check_sums_class(check_sums *s, int64_t classes, const double *P, int64_t ldp, int64_t label, double w);
void check_sums_finish(const check_sums *s, const gp *g, const gp_scores *scores, check_target *out);

extern const double
    check_as_prior; /* the share of the prior variance of f above which a row is as unknown as before any data */

/* Findings and verdict from the numbers. */
void check_judge(gp_check *c);

#endif
