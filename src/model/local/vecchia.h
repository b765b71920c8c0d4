/* Vecchia's approximation (Vecchia 1988; Datta et al. 2016, NNGP; Guinness 2018; Katzfuss and Guinness 2021; 003, section III-B [108],
   [113]).  The rows are put in an order, and each is conditioned on no more than k nearest rows before it:
       log p(y) = sum_i log p(y_i | y_N(i)),   y_i | y_N(i) ~ N(b_i y_N(i), d_i),   b_i = G_iN G_NN^-1,   d_i = G_ii - b_i G_Ni
   with G = K + noise.  This is a prior of its own, with a sparse factor of its precision; with k = n - 1 it is the exact one.  Rows that
   share neighbours are grouped (data/neighbours/groups.h): each row is then conditioned on a few more, at less work.
   A prior mean h(x)'b is not approximated: its p x p sums over all rows are those of the sparse models (sparse.h) with no inducing inputs.
   With inducing inputs (vecchia_full.c) G is that of the residual kernel, K - Q + noise, and the sums are (M + p) x (M + p).

   Nearness is that of the kernel: inputs over their length-scales, or correlation for a kernel without them, at the start and again where
   these have moved.
   Prediction: x comes after all rows and is conditioned on the nearest of them; several x, jointly, also on each other.

   Cost: n (k^2 + k^3 / g) operations per evaluation, g the rows per group; k numbers per row in memory. */
#ifndef MODEL_LOCAL_VECCHIA_H
#define MODEL_LOCAL_VECCHIA_H

#include "data/neighbours/near_metric.h"
#include "model/model.h"

/* Neighbours where the user gives no number; more inputs have more directions that a prediction looks in.  Where there are
   GAP_ROWS training rows or more, predictions in gaps have more of them (data/neighbours/directions.c). */
enum { VECCHIA_NEAR = 30, VECCHIA_PREDICT = 60, VECCHIA_PREDICT_WIDE = 150, VECCHIA_WIDE = 4, VECCHIA_GAP_ROWS = 5000 };

/* nene on this many of the rows and without predictions to score: to compare kernels by [nene.c]. */
enum { NEAR_TRIAL_ROWS = 2000 };
extern const model_ops model_near_trial;

/* weight[D]: the kernel's closeness, or 1 for all inputs of a kernel without length-scales; returns how many are not 0. */
int64_t vecchia_weights(const kernel *k, int64_t D, double *weight);
/* X scaled by these weights, columns without effect left out: *d of them; NULL: no memory. */
double *vecchia_places(const kernel *k, int64_t n, int64_t D, const double *X, int64_t *d);

/* How far apart places are: Euclidean, or for a kernel without length-scales, which has to outlive the metric, correlation.  A search by
   it takes n^2 steps: of more rows than CORRELATION_ROWS the inputs as they are decide. */
enum { CORRELATION_ROWS = 100000 };
near_metric vecchia_metric(const kernel *k, int64_t n);
bool vecchia_ignores_correlation(const kernel *k, int64_t n); /* since there are too many rows */

/* An order of n rows with these places as the problem asks for it, but for one that is given. */
anygp_status vecchia_order(const problem *p, int64_t n, int64_t d, const double *places, const near_metric *by,
                           stop_watch *stop, int64_t *order, anygp_error *e);

/* How many of the rows `m` can be put in order and get their lists of `near` others in this share of the time that is left, but not fewer
   than `least`; all of them without a limit [vecchia_time.c]. */
anygp_status vecchia_rows_in_time(const problem *p, const merged *m, const kernel *k, int64_t near, double share,
                                  int64_t least, int64_t *rows, anygp_error *e);

/* What nearness depends on, vecchia_mark_count() numbers: closeness of the inputs, and for a kernel without length-scales its values. */
int64_t vecchia_mark_count(const kernel *k);
void vecchia_marks(const kernel *k, double *marks);
/* Whether marks are others than before by more than this share; scaled together, the same rows are near. */
bool vecchia_moved_apart(int64_t count, const double *was, const double *now, double moved);

/* What a posterior rests on; all copied.  m and B: mean and factor of the precision of v, the M inducing variables and the p coefficients
   of the mean. */
typedef struct vecchia_rows {
    int64_t n, D;
    const double *X, *y, *w; /* row-major; in any order */
    int64_t near, learned;   /* neighbours of a prediction, and of a row */
    double jitter;           /* added to the noise */
    const inducing_set *u;   /* with their factor; NULL: none */
} vecchia_rows;

anygp_status vecchia_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                          int64_t count, posterior **out, anygp_error *e);

#endif
