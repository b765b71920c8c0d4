/* Scores of predictions, streamed: feed blocks of rows, then ask for the list.  Always marginal (one row at a time).
   Rows may carry a weight w (multiplicity; NULL: ones); a row with w <= 0 or a target that is not finite is absent.
   All means below are weighted, with N = sum w.  No score is ever NaN or infinite. */
#ifndef PREDICT_SCORES_H
#define PREDICT_SCORES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct score {
    const char *name;
    double value;
} score;

/* ------------------------------------------------------------------------------ regression, y ~ N(m, v)

   rmse     sqrt(mean (y - m)^2)
   mae      mean |y - m|
   nmse     mean (y - m)^2 / mean (y - training mean)^2:  1 is what the training mean alone would score
   smse     mean (y - m)^2 / variance of the test targets about their own mean   (Rasmussen and Williams, sec. 2.5)
   mnlp     mean negative log predictive density:  mean [ log(2 pi v)/2 + (y - m)^2 / (2 v) ]
   msll     mnlp minus that of the trivial N(training mean, training variance);  below 0 is better than trivial
   crps     mean of  s [ z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi) ],  z = (y - m)/s, s = sqrt(v);  for mixtures of normals see
            likelihood/mixture.h;  other distributions have none
   coverageP  share of targets in the central P % interval
   width95  mean width of the 95 % interval
   n        N

   A variance below 1e-24 of the training variance counts as that; a training sd of 0 as 1.  A denominator of nmse or
   smse that is zero (one test row, equal targets) is replaced by the training variance.                           */

enum { REGRESSION_SCORES = 14, COVERAGE_LEVELS = 5 };

/* A running sum with its rounding error (Neumaier). */
typedef struct exact_sum {
    double sum, error;
} exact_sum;

typedef struct regression_scores {
    double train_mean, train_sd;
    exact_sum weight, square, absolute, from_train, nlp, crps, sd, covered[COVERAGE_LEVELS];
    bool no_crps;            /* some rows had none */
    double y_mean, y_square; /* Welford: mean of (y - train_mean)/train_sd, and sum of squares about it */
} regression_scores;

void regression_scores_begin(regression_scores *s, double train_mean, double train_sd);
/* y, mean, variance (of y), weight or NULL: n each */
void regression_scores_add(regression_scores *s, int64_t n, const double *y, const double *mean, const double *variance,
                           const double *weight);
/* The same where y is not normal: what its own distribution says. */
typedef struct predicted {
    const double *mean;
    const double *log_density;   /* of y in data units; for counts the log probability */
    const double *below, *up_to; /* P(y' < y) and P(y' <= y): equal for real targets */
    const double *width95;       /* of the central 95 % interval */
    const double *crps;          /* of y; NULL: not known */
} predicted;
/* The central P % interval ends at the quantiles of (1 - P)/2 and (1 + P)/2, for counts at the smallest whole numbers that
   reach them.  msll compares with the density of the trivial normal, for counts too. */
void regression_scores_add_predicted(regression_scores *s, int64_t n, const double *y, const predicted *p,
                                     const double *weight);
/* Whether the central interval of probability `level` holds y, by P(y' < y) and P(y' <= y). */
bool score_interval_holds(double below, double up_to, double level);
/* The standard deviation that a variance counts as, in the same units. */
double score_sd(double variance, double train_sd);
/* Fills out[REGRESSION_SCORES] in the order above; returns how many: only `n` if no row was fed. */
int regression_scores_list(const regression_scores *s, score *out);

/* --------------------------------------------------------------------------------------- classification

   accuracy  share of rows whose most probable class (the lowest on ties) is the label
   balanced_accuracy  mean over the classes that occur of their recall: the share of their rows that is predicted as them
   logloss   mean -log p(label), p clipped below at 1e-15
   mnlp      the same number, so that all models can be compared under one name
   brier     mean sum_c (p_c - [label = c])^2;  two classes: mean (p_1 - label)^2, which is half of it
   ece       expected calibration error: 15 equal bins of the top class's probability, sum_b N_b/N |accuracy - confidence|
   auc       area under the ROC curve by ranks, ties count half;  more classes: mean over one class against the rest,
             of the classes that have both.  0.5 where only one class occurs.  Keeps the scores: 8 bytes per row and class.
   n         N                                                                                                    */

enum { CLASS_SCORES = 8 };

/* ------------------------------------------------------------------------------------------ of f, both kinds

   mell      mean E[log p(y | f)] under the marginal of f: what a row held out would add to the variational bound.  Above it lies
             -mnlp, the mean of log E[p(y | f)].  For Gaussian noise s^2, f ~ N(m, u): mean -[ log(2 pi s^2) + ((y - m)^2 + u) / s^2 ]/2.
             The caller, who knows the likelihood, feeds its sum; it comes before n, where it is finite.
   bound     mell - KL(q || p) / N_train, the KL of the posterior process to its prior in nats: the variational bound (001, eq. 5) per
             training row, with the mean over the rows held out in place of that over the training rows.  After mell, where the
             model has a KL.                                                                                                    */

/* The longer of the two lists with both, and the names of all, NULL after the last. */
enum { SCORES_MOST = REGRESSION_SCORES + 2 };
const char *score_name(int i);

typedef struct class_scores class_scores;
class_scores *class_scores_new(int64_t classes); /* at least 2; NULL: out of memory */
void class_scores_free(class_scores *s);         /* accepts NULL */
/* label[n] in 0 .. classes-1 (a row with any other is absent); p[n, classes] column-major */
anygp_status class_scores_add(class_scores *s, int64_t n, const int64_t *label, const double *p, int64_t ldp,
                              const double *weight, anygp_error *e);
/* The log loss of the frequencies of the classes among these rows, which do not depend on their inputs; 0: no memory. */
double class_scores_trivial(const class_scores *s);
/* Fills out[CLASS_SCORES]; *count gets how many: only `n` if no row was fed. */
anygp_status class_scores_list(const class_scores *s, score *out, int *count, anygp_error *e);

/* One class among all rows: recall, the share of its rows that is predicted as it; precision, the share of the rows predicted as it
   that are of it.  NaN where there are no such rows. */
typedef struct class_score {
    double recall, precision, rows;
} class_score;
class_score class_scores_of(const class_scores *s, int64_t c);

void exact_add(exact_sum *s, double x);
double exact_value(exact_sum s);

#endif
